"""Compiled code: kept, found again, and done without where it cannot be kept."""

from __future__ import annotations

import subprocess
import sys

import pytest

from headway.kernels.cpu import instructions, native

NAME = "memory.watch"
COMPILED = ["compiling kernels"]
WITHOUT_NUMBA = """
import sys
from pathlib import Path
from headway.kernels.cpu import native
native.load(sys.argv[2], Path(sys.argv[1]), lambda *said: sys.exit(said))
assert not [name for name in sys.modules if name.startswith("numba")]
"""


def load(folder):
    said = []
    native.load(NAME, folder, lambda what, done, total: said.append(what))
    return said


def test_code_is_compiled_once_and_found_again(tmp_path):
    assert load(tmp_path / "new") == COMPILED
    assert load(tmp_path / "new") == []


def test_kept_code_is_loaded_without_numba(tmp_path):
    load(tmp_path)
    subprocess.run([sys.executable, "-c", WITHOUT_NUMBA, tmp_path, NAME], check=True)


@pytest.mark.parametrize("spoil", [lambda code: code[:-7], lambda code: b"", lambda code: code[:100] + b"\0" + code[101:]])
def test_a_broken_file_is_compiled_anew(tmp_path, spoil):
    load(tmp_path)
    (path,) = tmp_path.iterdir()
    path.write_bytes(spoil(path.read_bytes()))
    assert load(tmp_path) == COMPILED
    assert load(tmp_path) == []


def test_a_folder_that_cannot_be_written_compiles_for_this_process(tmp_path):
    (tmp_path / "a file").write_text("")
    first, note = load(tmp_path / "a file" / "folder")
    assert first == COMPILED[0]
    assert "cannot be kept" in note
    assert load(None) == COMPILED


def test_other_sources_are_other_code(tmp_path, monkeypatch):
    monkeypatch.setattr(native, "SOURCES", tmp_path)
    before = native._digest.__wrapped__(NAME)
    (tmp_path / "new.py").write_text("x = 1")
    assert native._digest.__wrapped__(NAME) != before


def test_the_last_set_of_instructions_needs_no_feature():
    assert instructions.ALL[-1].features == ()
    assert instructions.here() in instructions.ALL
