from __future__ import annotations

import pytest

from headway.practice.verdict import Verdict
from headway.practice.workbook.folder import begin, next_part, progress_of
from headway.practice.workbook.judging import Judgement, judge
from headway.practice.workbook.parts import NAMES, part
from headway.practice.workbook.progress import write_progress
from headway.practice.workbook.solution import solution
from headway.practice.workbook.watch import Session


class Leaves(Exception):  # noqa: N818
    pass


def by_its_text(folder):
    """Return a judge that accepts a file if its text contains "right"."""

    def judged(part):
        status = "correct" if "right" in (folder / f"{part.name}.py").read_text() else "wrong"
        return Judgement((Verdict(part.name, part.name, 1, status),))

    return judged


def watched(folder, *saves, judge=None):
    """Return the printed lines for a sequence of saves, after which the learner leaves."""
    printed, left = [], list(saves)

    def pause():
        if not left:
            raise Leaves
        name, text = left.pop(0)
        if name:
            (folder / f"{name}.py").write_text(text)

    with pytest.raises(Leaves):
        Session(folder, "en", judge or by_its_text(folder), printed.append).watch(pause)
    return printed


@pytest.fixture
def folder(tmp_path):
    begin(tmp_path, "numpy", "en")
    return tmp_path


def test_a_saved_file_is_checked_and_the_next_part_is_announced(folder):
    printed = watched(folder, ("softmax", "no"), ("softmax", "this is right"), ("linear", "no"))
    assert [line.split(":")[0].partition(" (")[0].replace(str(folder), "") for line in printed] == [
        "next",
        "✗ softmax",
        "✓ softmax",
        "next",
        "✗ linear",
    ]
    assert printed[0].startswith(f"next: {folder}/softmax.py, softmax: exp(x - max x) / ")
    assert printed[3].startswith(f"next: {folder}/linear.py")


def test_nothing_is_printed_while_nothing_is_saved(folder):
    assert len(watched(folder, (None, ""), (None, ""))) == 1


def test_a_part_written_ahead_is_checked_in_its_turn(folder):
    (folder / "linear.py").write_text("right")
    (folder / "embed.py").write_text("not so")
    printed = watched(folder, ("softmax", "right"))
    assert [line[:9] for line in printed if line[0] in "✓✗"] == ["✓ softmax", "✓ linear ", "✗ embed ("]
    assert next_part(progress_of(folder)).name == "embed"


def test_files_saved_together_are_checked_once(folder):
    def pause():
        if printed[1:]:
            raise Leaves
        for name in ("softmax", "linear", "embed"):
            (folder / f"{name}.py").write_text("right")

    printed: list[str] = []
    with pytest.raises(Leaves):
        Session(folder, "en", by_its_text(folder), printed.append).watch(pause)
    assert [line[:9] for line in printed if line[0] in "✓✗"] == ["✓ softmax", "✓ linear ", "✓ embed ("]


def test_a_file_saved_during_its_check_is_checked_again(folder):
    saves = ["right"]

    def judged(part):
        judgement = by_its_text(folder)(part)
        if saves:
            (folder / "softmax.py").write_text(saves.pop())
        return judgement

    printed = watched(folder, ("softmax", "no"), (None, ""), judge=judged)
    assert [line[:9] for line in printed if line[0] in "✓✗"] == ["✗ softmax", "✓ softmax"]


def test_resuming_checks_the_contents_of_the_next_file(folder):
    (folder / "softmax.py").write_text("right")
    printed = watched(folder)
    assert any(line.startswith("✓ softmax") for line in printed)
    assert next_part(progress_of(folder)).name == "linear"


def test_a_solved_part_that_is_broken_later_is_unsolved_again(folder):
    printed = watched(folder, ("softmax", "right"), ("softmax", "broken"))
    assert printed[-1] == "softmax was solved before and is wrong now"
    assert next_part(progress_of(folder)).name == "softmax"


def test_a_later_part_may_be_solved_first(folder):
    watched(folder, ("gelu", "right"))
    assert progress_of(folder).of("gelu").is_solved
    assert next_part(progress_of(folder)).name == "softmax"


def test_a_temporarily_missing_file_is_not_checked(folder):
    printed, steps = [], ["gone", "back", "leave"]

    def pause():
        step = steps.pop(0)
        if step == "gone":
            (folder / "softmax.py").unlink()
        elif step == "back":
            (folder / "softmax.py").write_text("right")
        else:
            raise Leaves

    with pytest.raises(Leaves):
        Session(folder, "en", by_its_text(folder), printed.append).watch(pause)
    assert [line[:9] for line in printed if line[0] in "✓✗"] == ["✓ softmax"]


def test_unsolved_imports_are_reported_for_a_wrong_part(folder):
    printed = watched(folder, ("gelu", "right"), ("feed_forward", "no"))
    assert printed[-1] == "  it imports files that are not solved yet: linear.py"


def test_hints_shown_during_a_check_are_kept(folder):
    def asks(part):
        write_progress(folder, progress_of(folder).changed(part.name, num_hints=2))
        return by_its_text(folder)(part)

    watched(folder, ("softmax", "right"), judge=asks)
    assert progress_of(folder).of("softmax").num_hints == 2
    assert progress_of(folder).of("softmax").is_solved


def test_watching_ends_when_everything_is_solved(folder):
    for name in NAMES:
        (folder / f"{name}.py").write_text("right")
    printed = []
    Session(folder, "en", by_its_text(folder), printed.append).watch(lambda: pytest.fail("nothing is left to wait for"))
    assert printed[-1].startswith("all parts are solved")


def test_everything_can_be_checked_once(folder):
    printed = []
    (folder / "linear.py").write_text("right")
    assert Session(folder, "en", by_its_text(folder), printed.append).judge_all() is False
    assert printed[0] == "· softmax.py — not begun"
    assert printed[1].startswith("✓ linear")
    assert printed[-2] == "1 of 13 solved"


def test_a_file_in_another_encoding_gets_a_verdict(folder):
    (folder / "softmax.py").write_bytes("# 归一化".encode("gbk"))
    judgement = judge(folder, part("softmax"), "numpy", lambda: pytest.fail("only the story needs it"))
    assert not judgement.is_solved
    assert "cannot read softmax.py" in judgement.text("en")


@pytest.mark.slow
def test_a_real_save_gets_a_real_verdict(folder):
    def real(part):
        return judge(folder, part, "numpy", lambda: pytest.fail("only the story needs it"))

    right = solution(part("softmax"), "numpy", "en")
    wrong = right.replace("x - np.max(x, axis=axis, keepdims=True)", "x")
    printed = watched(folder, ("softmax", wrong), ("softmax", "def softmax(x)\n"), ("softmax", ""), ("softmax", right), judge=real)
    assert "the maximum is not subtracted" in printed[1]
    assert "headway practice look softmax" in printed[1]
    assert "SyntaxError" in printed[2]
    assert "got a file without a function or class, expected softmax" in printed[3]
    assert printed[4].startswith("✓ softmax (line 5)")
