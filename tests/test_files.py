"""Files are replaced whole; links and devices stay what they are."""

import errno
import os
import threading
from pathlib import Path

import numpy
import pytest

from headway.files import emptied_on_error, write_array, write_text


def test_a_block_that_raises_leaves_the_file(tmp_path: Path) -> None:
    file = tmp_path / "out.txt"
    file.write_text("before")
    with pytest.raises(UnicodeEncodeError):
        write_text(file, "part \ud800")
    assert file.read_text() == "before"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("is_new", [True, False])
def test_what_a_block_that_raises_adds_to_a_folder_is_removed(tmp_path: Path, is_new: bool) -> None:
    folder = tmp_path / "out"
    if not is_new:
        write_text(folder / "before.txt", "before")
    with pytest.raises(UnicodeEncodeError), emptied_on_error(folder):
        _write_two(folder, "part \ud800")
    assert list(tmp_path.rglob("*")) == ([] if is_new else [folder, folder / "before.txt"])
    with emptied_on_error(folder):
        _write_two(folder, "text")
    assert (folder / "deeper" / "added.txt").exists()


def _write_two(folder: Path, second: str) -> None:
    write_text(folder / "deeper" / "added.txt", "text")
    write_text(folder / "added.txt", second)


def test_a_link_stays_and_its_target_is_replaced(tmp_path: Path) -> None:
    target, link = tmp_path / "folder" / "target.txt", tmp_path / "link.txt"
    target.parent.mkdir()
    link.symlink_to(target)
    write_text(link, "text")
    assert link.is_symlink()
    assert target.read_text() == "text"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe, received = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: received.append(pipe.read_text()))
    reader.start()
    write_text(pipe, "text")
    reader.join()
    assert received == ["text"]
    assert pipe.is_fifo()


@pytest.mark.parametrize("array", [numpy.arange(12, dtype="int32").reshape(3, 4).T, numpy.zeros((0, 3), "float16"), numpy.ones((2, 3))])
def test_a_written_array_is_loaded_again(tmp_path: Path, array: numpy.ndarray) -> None:
    write_array(tmp_path / "array.npy", array)
    loaded = numpy.load(tmp_path / "array.npy")
    assert loaded.dtype == array.dtype
    numpy.testing.assert_array_equal(loaded, array)


def test_an_array_that_does_not_fit_is_an_error_with_the_cause(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large") as caught:
            write_array(tmp_path / "array.npy", numpy.zeros(1000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert caught.value.errno == errno.EFBIG
    assert not list(tmp_path.iterdir())
