"""Compiled code: kept in a folder, found again, and compiled for one process if it cannot be kept."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from headway.kernels.cpu import instructions, native, runtime

NAME = "memory.wait_for_change"
WITHOUT_NUMBA = """
import sys
from pathlib import Path
from headway.kernels.cpu import native
native.load([sys.argv[2]], Path(sys.argv[1]), lambda *reported: sys.exit(reported))
assert not [name for name in sys.modules if name.startswith("numba")]
"""
LOAD = """
import sys
from pathlib import Path
from headway.kernels.cpu import native
native.load([sys.argv[2]], Path(sys.argv[1]), lambda what, done, total: print(what, flush=True))
"""
HOLD = """
import sys, time
from pathlib import Path
from headway.kernels.cpu.file_lock import file_lock
with file_lock(Path(sys.argv[1]) / ".lock", "", print):
    print("held", flush=True)
    time.sleep(600)
"""
LOG = """
import sys
from pathlib import Path
from headway.kernels.cpu import native
native.load([sys.argv[2]], Path(sys.argv[1]))
"""


def load(folder):
    reports = []
    native.load([NAME], folder, lambda what, done, total: reports.append(what))
    return reports


def python(code, *arguments):
    return subprocess.Popen([sys.executable, "-c", code, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_code_is_compiled_once_and_found_again(tmp_path):
    assert load(tmp_path / "new") == [native.COMPILING]
    assert load(tmp_path / "new") == []


def test_kept_code_is_loaded_without_numba(tmp_path):
    load(tmp_path)
    subprocess.run([sys.executable, "-c", WITHOUT_NUMBA, tmp_path, NAME], check=True)


def test_loading_twice_links_once(tmp_path):
    first, second = (native.load([NAME], tmp_path, lambda *_: None)[NAME] for _ in range(2))
    assert first is second


def test_the_first_start_is_logged_when_nothing_else_reports_it(tmp_path):
    process = python(LOG, tmp_path, NAME)
    assert process.communicate()[1] == f"{native.COMPILING}, once\n"


@pytest.mark.parametrize("spoil", [lambda code: code[:-7], lambda code: b"", lambda code: code[:100] + bytes([code[100] ^ 1]) + code[101:]])
def test_a_broken_file_is_replaced(tmp_path, spoil):
    load(tmp_path)
    (path,) = tmp_path.glob("*.o")
    path.write_bytes(spoil(path.read_bytes()))
    assert load(tmp_path) == [native.COMPILING]
    assert load(tmp_path) == []


def test_a_folder_that_cannot_be_written_compiles_for_this_process(tmp_path):
    (tmp_path / "a file").write_text("")
    first, note = load(tmp_path / "a file" / "folder")
    assert first == native.COMPILING
    assert "cannot be kept" in note
    assert load(None) == [native.COMPILING]


@pytest.mark.slow
def test_of_processes_that_start_together_one_compiles_and_the_others_wait(tmp_path):
    processes = [python(LOAD, tmp_path, "packer.run") for _ in range(3)]
    reports = [process.communicate(timeout=600)[0].splitlines() for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert sum(report.count(native.COMPILING) for report in reports) == 1
    waiting = f"waiting for another process, which is {native.COMPILING}"
    assert all(report in ([native.COMPILING], [waiting], []) for report in reports)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="the holder is killed with a POSIX signal")
def test_a_process_that_dies_releases_its_lock(tmp_path):
    holder = python(HOLD, tmp_path)
    assert holder.stdout.readline() == "held\n"
    waiter = python(LOAD, tmp_path, NAME)
    assert waiter.stdout.readline().startswith("waiting for another process")
    time.sleep(0.2)
    assert waiter.poll() is None
    holder.send_signal(signal.SIGKILL)
    assert native.COMPILING in waiter.communicate(timeout=600)[0]
    assert waiter.returncode == 0
    holder.communicate()


def test_different_sources_have_different_digests(tmp_path, monkeypatch):
    monkeypatch.setattr(native, "SOURCES", tmp_path)
    (tmp_path / "memory.py").write_text("from headway.kernels.cpu import layout\n")
    digests = []
    for text in ("X = 1", "X = 2"):
        (tmp_path / "layout.py").write_text(text)
        digests.append(native._digest.__wrapped__(NAME))
    assert digests[0] != digests[1]


@pytest.mark.parametrize("name", runtime.ENTRIES)
def test_the_digest_covers_every_module_that_the_code_is_made_of(name):
    code = f"import sys, headway.kernels.cpu.{name.split('.')[0]}; print(*[name for name in sys.modules if 'kernels.cpu.' in name])"
    imported = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert native._modules(name.split(".")[0]) == {module.rpartition(".")[2] for module in imported}


def test_the_last_instruction_set_needs_no_feature():
    assert instructions.ALL[-1].features == ()
    assert instructions.detect() in instructions.ALL
