"""Frames on a pipe: a length of four bytes, then that many bytes."""

from __future__ import annotations

import struct
from typing import Any, Protocol

MAX_BYTES = 64 * 2**20
"""Most bytes of an answer."""


class Readable(Protocol):
    """A file to read from."""

    def read(self, count: int, /) -> bytes | None:
        """Return at most `count` bytes."""


class Writable(Protocol):
    """A file to write to."""

    def write(self, data: bytes, /) -> Any:
        """Write bytes."""

    def flush(self) -> None:
        """Write what is buffered."""


def write_frame(file: Writable, data: bytes) -> None:
    """Write one frame and flush."""
    file.write(struct.pack("<I", len(data)) + data)
    file.flush()


def read_frame(file: Readable, limit: int) -> bytes | None:
    """Return the next frame; None at the end, for an incomplete frame, and for one of more than `limit` bytes."""
    header = _read(file, 4)
    if header is None:
        return None
    (length,) = struct.unpack("<I", header)
    return _read(file, length) if length <= limit else None


def _read(file: Readable, count: int) -> bytes | None:
    parts = []
    while count:
        part = file.read(min(count, 2**20))
        if not part:
            return None
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
