"""Hostile hand-ins: none is accepted, none outlives the time limit, none changes a file outside its own folder.

hand_ins/wrong     files whose softmax is not one, each with another way to be called correct
hand_ins/endless   files that start processes or never return
hand_ins/files     files that change other files

Their names end in .txt so that nothing imports them.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
import time
from pathlib import Path

import pytest

import headway
from headway.practice.diagnosis import sandbox
from headway.practice.diagnosis.sandbox import CheckFailedError, check_file
from headway.practice.judge import confinement, process

HAND_INS = Path(__file__).parent / "hand_ins"
ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="other systems limit time only")


def files(folder):
    return [pytest.param(path, id=path.stem) for path in sorted((HAND_INS / folder).glob("*.txt"))]


def check(path, tmp_path, **options):
    folder = tmp_path / "hand_in"
    folder.mkdir()
    return check_file(Path(shutil.copy(path, folder / f"{path.stem}.py")), **options)


def idle_servers():
    """Return the processes of servers that wait for the next file: each of them and the first process of its own tree."""
    found = set()
    for server, _ in process._IDLE.values():
        below = confinement.descendants(server.pid)
        found |= {server.pid, *(below if len(below) == 1 else ())}
    return found


def is_accepted(verdicts):
    return bool(verdicts) and all(verdict.is_correct for verdict in verdicts)


def test_there_are_enough_of_them():
    assert len(list(HAND_INS.glob("*/*.txt"))) >= 60


@pytest.mark.slow
@pytest.mark.parametrize("path", files("wrong"))
def test_a_wrong_function_is_not_accepted(path, tmp_path):
    if "import torch" in path.read_text():
        pytest.importorskip("torch")
    Path("/tmp/headway-was-unpickled").unlink(missing_ok=True)
    try:
        verdicts = check(path, tmp_path, timeout_seconds=5)
    except CheckFailedError:  # exit code 3: the file broke a library that the diagnosis needs
        return
    assert not is_accepted(verdicts), verdicts
    assert not any(verdict.is_correct for verdict in verdicts if verdict.subject == "softmax")
    assert not Path("/tmp/headway-was-unpickled").exists()


@ON_LINUX
@pytest.mark.slow
@pytest.mark.parametrize("path", files("endless"))
def test_no_process_outlives_the_check(path, tmp_path, monkeypatch):
    monkeypatch.setattr(sandbox, "LEAST_CONFIRMING_SECONDS", 1.0)
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # orphans become children of this process
    before, begun = set(confinement.descendants(os.getpid())), time.monotonic()
    try:
        verdicts = check(path, tmp_path, timeout_seconds=1)
    finally:
        left = set(confinement.descendants(os.getpid())) - before - idle_servers()
        ctypes.CDLL(None).prctl(36, 0, 0, 0, 0)
    assert not is_accepted(verdicts)
    assert time.monotonic() - begun < 250  # the files sleep for 300 seconds
    assert not {each for each in left if Path(f"/proc/{each}/stat").read_text().split(") ")[1][0] != "Z"}


@ON_LINUX
@pytest.mark.slow
@pytest.mark.parametrize("path", files("files"))
def test_no_file_is_changed(path, tmp_path, monkeypatch):
    if confinement.landlock_version() == 0 and os.getuid() != 0:
        pytest.skip("this kernel has no Landlock")
    folder = tmp_path / "course" / "hand_in"
    folder.mkdir(parents=True)
    for each in (folder, folder.parent):
        (each / "victim.txt").write_text("unchanged")
    copied = Path(shutil.copy(path, folder / f"{path.stem}.py"))
    monkeypatch.chdir(folder)
    package, home = Path(headway.__file__).parent, Path.home()
    before = snapshot(tmp_path), planted(package), planted(home)
    verdicts = check_file(copied, timeout_seconds=5)
    assert not is_accepted(verdicts)
    assert (snapshot(tmp_path), planted(package), planted(home)) == before


def planted(folder):
    """Return the files that a hand-in may have added; other programs add others at any time."""
    return [name for name in os.listdir(folder) if "planted" in name]


def snapshot(folder):
    found = {}
    for path in sorted(folder.rglob("*")):
        state = path.lstat()
        found[path] = (state.st_mode, state.st_mtime_ns, path.read_bytes() if path.is_file() else None)
    return found
