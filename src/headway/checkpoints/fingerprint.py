"""What a checkpoint's files are, told from the others without reading them whole."""

from __future__ import annotations

import hashlib
from pathlib import Path

SAMPLES = 64
SAMPLE_BYTES = 4096


def fingerprint(path: Path) -> str:
    """A digest of a model's folder or file: of each file's size, time of change, beginning, end, and 64 places between.

    Reading a checkpoint whole takes longer than using it; a file that was changed in place has another time.
    """
    digest = hashlib.sha256()
    files = [path] if path.is_file() else sorted([*path.glob("*.safetensors"), *path.glob("*.bin"), *path.glob("config.json")])
    for file in files:
        status = file.stat()
        digest.update(f"{file.name} {status.st_size} {status.st_mtime_ns}\n".encode())
        with file.open("rb") as content:
            for sample in range(SAMPLES + 1):
                content.seek(sample * max(status.st_size - SAMPLE_BYTES, 0) // SAMPLES)
                digest.update(content.read(SAMPLE_BYTES))
    return digest.hexdigest()
