"""A lock between processes, so that one of them does a piece of work and the others wait for its result."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headway.kernels.cpu.progress import Progress

TIMEOUT = 600.0
"""Seconds to wait for another process."""


@contextmanager
def file_lock(path: Path, what: str, progress: Progress) -> Iterator[None]:
    """Hold an exclusive lock of the operating system on the file `path`.

    what       the work, for the note to `progress` if another process holds the lock

    The system releases the lock of a process that dies. The lock only saves work, because files are replaced whole: without one (a
    folder that cannot be written, a file system without locks, a holder that takes longer than TIMEOUT) the block runs all the same.
    """
    from filelock import FileLock, Timeout  # slow to import, and rarely needed

    lock, is_held = FileLock(path), True
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            progress(f"waiting for another process, which is {what}", 0, 0)
            lock.acquire(timeout=TIMEOUT)
    except (OSError, NotImplementedError):  # Timeout is an OSError
        is_held = False
    try:
        yield
    finally:
        if is_held:
            lock.release()
