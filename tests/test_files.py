"""Files are replaced whole; links and devices stay what they are."""

import os
import threading
from pathlib import Path

import pytest

from headway.files import write_text


def test_a_block_that_raises_leaves_the_file(tmp_path: Path) -> None:
    file = tmp_path / "out.txt"
    file.write_text("before")
    with pytest.raises(UnicodeEncodeError):
        write_text(file, "part \ud800")
    assert file.read_text() == "before"
    assert list(tmp_path.iterdir()) == [file]


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
