"""headway practice as a person uses it, in a process of its own."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from headway.cli import main
from headway.practice.workbook.parts import NAMES, part
from headway.practice.workbook.solution import solution

COMMAND = [sys.executable, "-m", "headway", "practice"]


def environment(**more):
    clean = {name: value for name, value in os.environ.items() if name not in ("LC_ALL", "LC_MESSAGES", "LANG")}
    return clean | {"OMP_NUM_THREADS": "1"} | more


def practice_in_a_process(*arguments, cwd, **more):
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, cwd=cwd, env=environment(**more), timeout=600)


@pytest.fixture
def practice(monkeypatch, capsys):
    """The command in this process, which is quick: practice(*arguments, cwd=…) gives what a process would."""
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments, cwd, **more):
        with monkeypatch.context() as patch:
            for name, value in more.items():
                patch.setenv(name, value)
            patch.chdir(cwd)
            patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
            patch.setattr("sys.argv", ["headway", "practice", *arguments])
            with pytest.raises(SystemExit) as left:
                main()
        return SimpleNamespace(returncode=left.value.code, **capsys.readouterr()._asdict())

    return run


def write_solutions(folder, *names):
    for name in names:
        (folder / f"{name}.py").write_text(solution(part(name), "numpy", "en"))


@pytest.mark.slow
def test_from_an_empty_folder_to_the_story(tmp_path):
    folder = tmp_path / "headway-practice"
    begun = practice_in_a_process(cwd=tmp_path)
    assert begun.returncode == 1
    assert begun.stdout.startswith("13 files in headway-practice for numpy")
    assert "0 of 13 solved\nnext: headway-practice/softmax.py" in begun.stdout

    wrong = solution(part("softmax"), "numpy", "en").replace("x - np.max(x, axis=axis, keepdims=True)", "x")
    (folder / "softmax.py").write_text(wrong)
    first = practice_in_a_process(cwd=tmp_path)
    assert first.returncode == 1
    assert "the maximum is not subtracted" in first.stdout

    write_solutions(folder, *NAMES)
    last = practice_in_a_process(cwd=tmp_path)
    assert last.returncode == 0, last.stdout
    assert "\n\nOnce upon a time, " in last.stdout
    assert "calls of your functions: softmax × " in last.stdout
    assert "13 of 13 solved\nall parts are solved" in last.stdout
    assert all(each["is_solved"] for each in json.loads((folder / ".headway.json").read_text())["parts"].values())
    assert practice_in_a_process("list", cwd=folder).stdout.count("✓") == 13


def test_list_hint_solution_and_reset(tmp_path, practice):
    practice("start", "mine", "--array", "torch", cwd=tmp_path)
    folder = tmp_path / "mine"
    (folder / "softmax.py").write_text("mine = 1\n")

    listed = practice("list", "--folder", "mine", cwd=tmp_path)
    assert listed.returncode == 0
    assert "→ softmax.py — softmax: not solved yet\n· linear.py — linear layer: not begun\n" in listed.out

    hints = [practice("hint", "-f", "mine", cwd=tmp_path).out for _ in range(4)]
    assert [hint.partition(": ")[0] for hint in hints] == [f"softmax, hint {number} of 3" for number in (1, 2, 3, 3)]
    assert hints[2].endswith(": " + part("softmax").hints[2].en + "\n")
    assert practice("hint", "gelu", "--lang", "zh", cwd=folder).out.startswith("GELU，提示 1/3：")

    shown = practice("solution", "softmax", "-f", "mine", cwd=tmp_path)
    assert shown.out == solution(part("softmax"), "torch", "en")
    assert "→ softmax.py — softmax: not solved yet, 3 of 3 hints, solution seen" in practice("list", "--folder", "mine", cwd=tmp_path).out

    written = practice("reset", "softmax", cwd=folder)
    assert written.out == "wrote softmax.py again; the previous version is in softmax.old.py\n"
    assert (folder / "softmax.old.py").read_text() == "mine = 1\n"


def test_a_deleted_file_is_written_again_and_reported(tmp_path, practice):
    practice(cwd=tmp_path)
    (tmp_path / "headway-practice" / "gelu.py").unlink()
    assert "wrote deleted files again: gelu.py\n" in practice(cwd=tmp_path).out


def test_a_bug_is_written_and_its_repair_checked(tmp_path, practice):
    written = practice("bug", "softmax", "--seed", "2", "-f", "hunt", cwd=tmp_path)
    assert written.returncode == 0
    assert "wrote hunt/find_the_bug.py, which has one mistake (seed 2): softmax" in written.out
    assert practice("bug", "-f", "hunt", cwd=tmp_path).returncode == 1
    assert practice("hint", "find_the_bug", "-f", "hunt", cwd=tmp_path).out.startswith("hint 1 of 3")
    assert practice("solution", "find_the_bug", cwd=tmp_path / "hunt").out.startswith("replace\n")

    write_solutions(tmp_path / "hunt", "softmax")
    (tmp_path / "hunt" / "softmax.py").rename(tmp_path / "hunt" / "find_the_bug.py")
    repaired = practice("bug", "--lang", "zh", cwd=tmp_path / "hunt")
    assert repaired.returncode == 0
    assert repaired.out.startswith("已改正。")


def test_the_old_options_still_work(tmp_path, practice):
    assert practice(cwd=tmp_path).out.startswith("13 files in headway-practice")
    with pytest.warns(DeprecationWarning, match="headway practice bug"):
        found = practice("--find-the-bug", "--seed", "2", cwd=tmp_path)
    assert "find_the_bug.py" in found.out


def test_the_language_is_the_locales_unless_asked_otherwise(tmp_path, practice):
    assert "13 个文件" in practice("start", cwd=tmp_path, LANG="zh_CN.UTF-8").out
    assert practice("list", "--lang", "en", cwd=tmp_path, LANG="zh_CN.UTF-8").out.startswith("→ softmax.py — softmax: not begun")
    assert "1/13：softmax" in (tmp_path / "headway-practice" / "softmax.py").read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["start", "file"], "got file, which is a file, expected a folder"),
        (["start", "file/within"], "Not a directory"),
        (["start", "foreign"], "cannot be read as progress"),
        (["start", "begun", "--array", "mlx"], "numpy"),
        (["start", "--array", "tinygrad"], "tinygrad"),
        (["start", "--lang", "fr"], "got --lang fr, expected en or zh"),
        (["list", "-f", "nowhere"], "headway practice start nowhere"),
        (["hint", "sofmax", "-f", "begun"], "did you mean softmax"),
        (["hint", "sofmax"], "did you mean softmax"),
        (["solution", "nothing", "-f", "begun"], "expected one of softmax, linear"),
        (["reset", "-f", "begun"], "Missing argument"),
        (["reset", "find_the_bug", "-f", "begun"], "headway practice bug --seed N"),
        (["hint", "find_the_bug", "-f", "begun"], "no bug"),
        (["hint", "softmax", "more"], "unexpected extra argument"),
        (["list", "--array", "mlx"], "No such option"),
        (["bug", "sofmax", "-f", "begun"], "did you mean softmax"),
        (["begin"], "No such command"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2_and_writes_nothing(tmp_path, practice, arguments, said):
    from headway.practice.workbook.folder import begin

    (tmp_path / "file").write_text("")
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / ".headway.json").write_text('{"other": true}')
    begin(tmp_path / "begun", None, "en")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    done = practice(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.err
    assert "Traceback" not in done.err
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs a POSIX terminal")
def test_in_a_terminal_it_watches_and_ctrl_c_says_where_one_stands(tmp_path):
    import pty

    ours, theirs = pty.openpty()
    process = subprocess.Popen(COMMAND, stdin=theirs, stdout=theirs, stderr=theirs, cwd=tmp_path, env=environment())
    os.close(theirs)
    screen = Screen(ours)
    try:
        screen.wait_for("next: headway-practice/softmax.py")
        (tmp_path / "headway-practice" / "softmax.py").write_text("def softmax(x):\n    return x\n")
        screen.wait_for("✗ softmax (line 1)")
        write_solutions(tmp_path / "headway-practice", "softmax")
        screen.wait_for("✓ softmax (line 5)")
        screen.wait_for("next: headway-practice/linear.py")
        process.send_signal(signal.SIGINT)
        screen.wait_for("1 of 13 solved. To resume: headway practice start headway-practice")
        assert process.wait(600) == 130
    finally:
        process.kill()
        process.wait()
        os.close(ours)


class Screen:
    """The output of a terminal."""

    def __init__(self, file: int) -> None:
        self.file, self.text = file, ""

    def wait_for(self, said: str, seconds: float = 600.0) -> None:
        """Read until this text appears."""
        import select

        until = time.monotonic() + seconds
        while said not in self.text:
            ready, _, _ = select.select([self.file], [], [], max(until - time.monotonic(), 0))
            assert ready, f"never said: {said!r}; but: {self.text}"
            self.text += os.read(self.file, 4096).decode(errors="ignore").replace("\r\n", "\n")


def test_translations_lists_no_gap(practice, tmp_path):
    run = practice("translations", cwd=tmp_path)
    assert (run.returncode, run.out) == (0, "every sentence is in English and in Chinese\n")


def test_a_new_exercise_needs_a_checkout(practice, tmp_path):
    run = practice("new-exercise", "new_part", cwd=tmp_path)
    assert run.returncode == 2
    assert "expected a checkout of Headway" in run.err
