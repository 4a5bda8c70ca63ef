"""A fingerprint of a checkpoint's files, made without reading all of them."""

from __future__ import annotations

import hashlib
from pathlib import Path

SAMPLES = 64
SAMPLE_BYTES = 4096


def fingerprint(path: Path) -> str:
    """Return a digest of a model's folder or file: the name, size, modification time and 65 samples of 4 KiB of each file.

    Reading a whole checkpoint can take longer than using it. Changing a file in place changes its modification time.
    """
    digest = hashlib.sha256()
    files = (
        [path]
        if path.is_file()
        else sorted([*path.glob("*.safetensors"), *path.glob("*.bin"), *path.glob("*.gguf"), *path.glob("config.json")])
    )
    for file in files:
        status = file.stat()
        digest.update(f"{file.name} {status.st_size} {status.st_mtime_ns}\n".encode())
        with file.open("rb") as content:
            for sample in range(SAMPLES + 1):
                content.seek(sample * max(status.st_size - SAMPLE_BYTES, 0) // SAMPLES)
                digest.update(content.read(SAMPLE_BYTES))
    return digest.hexdigest()
