"""Atomic file writes: a reader sees the previous file or the complete next one, never a part."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path in the folder of `path`; rename it to `path` if the block succeeds, remove it if the block raises.

    A symbolic link stays, and its target is replaced. A device or a pipe, such as /dev/stdout, is written to: a rename would replace it by a file.

    Errors   OSError if writing fails (no permission, no space); a previous file at `path` is then unchanged.
    """
    if path.exists() and not path.is_file():
        with _copied_to(path) as temporary:
            yield temporary
        return
    path = Path(os.path.realpath(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.chmod(0o666 & ~_umask())  # libraries that write with mmap create a file that only its owner can read
        os.replace(temporary, path)
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Yield a temporary folder next to `path`; rename it to `path`, which must not exist, if the block succeeds, remove it if the block raises."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    temporary.mkdir(parents=True)
    try:
        yield temporary
        temporary.rename(path)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


@contextmanager
def emptied_on_error(folder: Path) -> Iterator[None]:
    """Remove what the block adds to a folder if the block raises, and the folder itself if it is new."""
    before = set(folder.iterdir()) if folder.is_dir() else None
    try:
        yield
    except BaseException:
        if before is None:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            for added in set(folder.iterdir()) - before:
                shutil.rmtree(added, ignore_errors=True) if added.is_dir() else added.unlink(missing_ok=True)
        raise


@contextmanager
def _copied_to(device: Path) -> Iterator[Path]:
    """Yield a temporary path; write its bytes to the device if the block succeeds."""
    with tempfile.TemporaryDirectory() as folder:
        temporary = Path(folder) / device.name
        yield temporary
        with temporary.open("rb") as file, device.open("wb") as target:
            shutil.copyfileobj(file, target)


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 text file atomically."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def write_array(path: Path, array: numpy.ndarray) -> None:
    """Write an array atomically as a .npy file.

    numpy.save writes arrays without Python's file object, and its error for a full disk does not name the cause.
    """
    import numpy

    array = numpy.ascontiguousarray(array)
    with replacing(path) as temporary, temporary.open("wb") as file:
        numpy.lib.format.write_array_header_1_0(file, numpy.lib.format.header_data_from_array_1_0(array))
        file.write(array.data)


def _umask() -> int:
    """Return the umask of the process, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
