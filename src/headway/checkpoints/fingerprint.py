"""A fingerprint of a checkpoint's files, made without reading all of them."""

from __future__ import annotations

import hashlib
from pathlib import Path

PATTERNS = ("*.safetensors", "*.bin", "*.gguf", "config.json", "adapter_config.json")
SAMPLES = 64
SAMPLE_BYTES = 4096


def fingerprint(*paths: Path) -> str:
    """Return a digest of models' folders or files: the name, size, modification time and 65 samples of 4 KiB of each file.

    Reading a whole checkpoint can take longer than using it. Changing a file in place changes its modification time.
    """
    digest = hashlib.sha256()
    files = [file for path in paths for file in _files(path)]
    for file in files:
        status = file.stat()
        digest.update(f"{file.name} {status.st_size} {status.st_mtime_ns}\n".encode())
        with file.open("rb") as content:
            for sample in range(SAMPLES + 1):
                content.seek(sample * max(status.st_size - SAMPLE_BYTES, 0) // SAMPLES)
                digest.update(content.read(SAMPLE_BYTES))
    return digest.hexdigest()


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    return sorted(file for pattern in PATTERNS for file in path.glob(pattern))
