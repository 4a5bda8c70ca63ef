from __future__ import annotations

import json
import os

import pytest

from headway.errors import OptionError
from headway.practice.workbook.folder import begin, is_untouched, next_part, progress_of, reset
from headway.practice.workbook.parts import NAMES, PARTS, part
from headway.practice.workbook.progress import FILE, read_progress, write_progress


def test_a_new_folder_holds_a_file_per_part_and_the_progress(tmp_path):
    begun = begin(tmp_path / "new" / "folder", "torch", "zh")
    assert begun.is_new
    assert sorted(os.listdir(tmp_path / "new" / "folder")) == sorted([FILE, *(f"{name}.py" for name in NAMES)])
    assert progress_of(tmp_path / "new" / "folder").array == "torch"
    assert all(is_untouched(tmp_path / "new" / "folder", each, "torch") for each in PARTS)


def test_existing_files_are_kept_and_listed(tmp_path):
    (tmp_path / "softmax.py").write_text("mine = 1\n")
    (tmp_path / "notes.txt").write_text("mine too\n")
    begun = begin(tmp_path, None, "en")
    assert begun.kept == ("softmax.py",)
    assert (tmp_path / "softmax.py").read_text() == "mine = 1\n"
    assert (tmp_path / "notes.txt").read_text() == "mine too\n"


def test_resuming_changes_no_file(tmp_path):
    begin(tmp_path, None, "en")
    (tmp_path / "softmax.py").write_text("mine = 1\n")
    write_progress(tmp_path, progress_of(tmp_path).changed("softmax", is_solved=True, num_hints=2))
    begun = begin(tmp_path, None, "en")
    assert not begun.is_new
    assert (begun.kept, begun.restored) == ((), ())
    assert begun.progress.of("softmax").num_hints == 2
    assert next_part(begun.progress).name == "linear"
    assert (tmp_path / "softmax.py").read_text() == "mine = 1\n"


def test_a_deleted_file_is_restored_as_an_unsolved_stub(tmp_path):
    begin(tmp_path, "mlx", "en")
    write_progress(tmp_path, progress_of(tmp_path).changed("softmax", is_solved=True))
    (tmp_path / "softmax.py").unlink()
    begun = begin(tmp_path, None, "en")
    assert begun.restored == ("softmax.py",)
    assert next_part(progress_of(tmp_path)).name == "softmax"
    assert is_untouched(tmp_path, part("softmax"), "mlx")


def test_a_folder_has_one_array_library(tmp_path):
    begin(tmp_path, "numpy", "en")
    assert begin(tmp_path, "numpy", "en").progress.array == "numpy"
    with pytest.raises(OptionError, match=r"got --array torch, expected numpy, the array library of "):
        begin(tmp_path, "torch", "en")


def test_a_missing_library_is_an_error_before_anything_is_written(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "array_api_compat.torch", None)
    with pytest.raises(OptionError, match="got the array library torch, expected one that is installed") as raised:
        begin(tmp_path / "new", "torch", "en")
    assert raised.value.hint == "run: pip install 'headway[torch]'"
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"workbook": 2}', '{"workbook": 1, "array": "tinygrad", "parts": {}, "is_begun": true, "hunt": null}']
)
def test_an_unreadable_progress_file_is_an_error_and_is_kept(tmp_path, text):
    (tmp_path / FILE).write_text(text)
    with pytest.raises(OptionError, match=r"cannot be read as progress") as raised:
        begin(tmp_path, None, "en")
    assert "nothing was changed" in raised.value.hint
    assert os.listdir(tmp_path) == [FILE]
    assert (tmp_path / FILE).read_text() == text


def test_progress_survives_a_round_trip(tmp_path):
    begin(tmp_path, "jax", "en")
    progress = progress_of(tmp_path).changed("gelu", is_solved=True, saw_solution=True)
    write_progress(tmp_path, progress)
    assert read_progress(tmp_path) == progress
    assert json.loads((tmp_path / FILE).read_text())["parts"]["gelu"]["saw_solution"] is True


def test_a_file_and_a_folder_without_progress_are_errors(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OptionError, match="which is a file, expected a folder"):
        begin(tmp_path / "file", None, "en")
    with pytest.raises(OptionError, match=r"expected a practice folder with \.headway\.json") as raised:
        progress_of(tmp_path)
    assert raised.value.hint == f"run headway practice start {tmp_path}"


def test_reset_writes_the_stub_and_keeps_the_previous_version(tmp_path):
    begin(tmp_path, None, "en")
    chosen = part("softmax")
    assert reset(tmp_path, chosen, progress_of(tmp_path), "en") is None
    for number, name in enumerate(("softmax.old.py", "softmax.old2.py")):
        (tmp_path / "softmax.py").write_text(f"mine = {number}\n")
        write_progress(tmp_path, progress_of(tmp_path).changed("softmax", is_solved=True))
        assert reset(tmp_path, chosen, progress_of(tmp_path), "en") == tmp_path / name
        assert (tmp_path / name).read_text() == f"mine = {number}\n"
        assert is_untouched(tmp_path, chosen, "numpy")
        assert not progress_of(tmp_path).of("softmax").is_solved
