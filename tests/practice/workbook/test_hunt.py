from __future__ import annotations

import pytest

from headway.errors import OptionError
from headway.practice.diagnosis.diagnose import diagnose
from headway.practice.diagnosis.files import load_module, with_exercises
from headway.practice.workbook.bugs import BUGS
from headway.practice.workbook.hunt import FILE, NAMES, buggy_file, chosen, fix_of, hint, hunt, mistaken, repair
from headway.practice.workbook.progress import read_progress
from headway.practice.workbook.solution import numpy_functions


def verdicts(path, text, exercise):
    path.write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(path.parent))
        module = load_module(path, text)
    return [diagnose(subject, found) for subject, found in with_exercises(module, text, exercise)]


def repaired(bug):
    body = mistaken(bug).partition("\n")[2]
    return buggy_file(bug, "en").replace(body, numpy_functions()[bug.exercise].split("\n", 1)[1])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: f"{bug.exercise}-{bug.mistake}")
def test_the_check_names_every_bug_first(tmp_path, bug):
    assert numpy_functions()[bug.exercise].count(bug.right) == 1
    (verdict,) = verdicts(tmp_path / FILE, buggy_file(bug, "en"), bug.exercise)
    assert verdict.status == "wrong"
    assert verdict.causes[0].name == bug.mistake, verdict
    assert fix_of(bug).zh


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", NAMES)
def test_the_repaired_file_is_correct(tmp_path, name):
    bug = next(each for each in BUGS if each.exercise == name)
    (verdict,) = verdicts(tmp_path / FILE, repaired(bug), name)
    assert verdict.is_correct, verdict


def test_there_are_many_bugs():
    assert len(BUGS) >= 25
    assert len(NAMES) >= 12
    assert len(set(BUGS)) == len(BUGS)


def test_the_same_seed_gives_the_same_file(tmp_path):
    for folder in ("a", "b"):
        hunt(tmp_path / folder, None, 7, "en")
    assert (tmp_path / "a" / FILE).read_text() == (tmp_path / "b" / FILE).read_text()


def test_seeds_reach_every_bug():
    from headway.practice.workbook.progress import Hunt

    assert {chosen(Hunt(None, seed)) for seed in range(2000)} == set(BUGS)


@pytest.mark.slow
def test_a_bug_from_the_file_to_the_repair(tmp_path):
    is_well, printed = hunt(tmp_path, "softmax", 1, "en")
    assert is_well
    assert "find_the_bug.py, which has one mistake (seed 1): softmax" in printed[0].en
    bug = chosen(read_progress(tmp_path).hunt)

    is_well, printed = hunt(tmp_path, None, None, "en")
    assert not is_well
    assert printed[0].en.startswith("the file is unchanged and still has the mistake")

    path = tmp_path / FILE
    path.write_text(path.read_text() + "\n# looked at\n")
    is_well, printed = hunt(tmp_path, None, None, "en")
    assert not is_well
    assert printed[0].en.startswith("the mistake is still there")
    assert bug.mistake not in printed[0].en

    path.write_text(repaired(bug))
    is_well, printed = hunt(tmp_path, None, None, "en")
    assert is_well
    assert printed[0].en.startswith("correct. The fix was: ")
    assert read_progress(tmp_path).hunt.is_solved


def test_another_mistake_is_reported(tmp_path):
    hunt(tmp_path, "softmax", 1, "en")
    (tmp_path / FILE).write_text("def softmax(x):\n    return undefined\n")
    is_well, printed = hunt(tmp_path, None, None, "en")
    assert not is_well
    assert "NameError" in printed[1].en
    assert "NameError" in printed[1].zh


def test_an_empty_file_is_no_repair(tmp_path):
    hunt(tmp_path, "softmax", 1, "en")
    (tmp_path / FILE).write_text("")
    is_well, printed = hunt(tmp_path, None, None, "en")
    assert not is_well
    assert "got a file without a function or class, expected softmax" in printed[1].en


def test_replacing_an_unsolved_file_is_reported(tmp_path):
    hunt(tmp_path, None, 1, "en")
    _, printed = hunt(tmp_path, None, 2, "en")
    assert printed[0].en == f"{FILE} was not corrected yet; it now has another bug"
    (tmp_path / FILE).write_text("my work\n")
    _, printed = hunt(tmp_path, None, 3, "en")
    assert printed[0].en == f"renamed the existing {FILE} (not corrected yet) to find_the_bug.old.py"
    assert (tmp_path / "find_the_bug.old.py").read_text() == "my work\n"


def test_an_existing_file_of_that_name_is_renamed(tmp_path):
    (tmp_path / FILE).write_text("mine\n")
    _, printed = hunt(tmp_path, None, 1, "en")
    assert "not written by headway" in printed[0].en
    assert (tmp_path / "find_the_bug.old.py").read_text() == "mine\n"


def test_a_deleted_file_is_restored_with_the_same_bug(tmp_path):
    hunt(tmp_path, None, 5, "en")
    text = (tmp_path / FILE).read_text()
    (tmp_path / FILE).unlink()
    is_well, _ = hunt(tmp_path, None, None, "en")
    assert is_well
    assert (tmp_path / FILE).read_text() == text


def test_hints_get_more_specific_and_the_repair_shows_the_differing_lines(tmp_path):
    hunt(tmp_path, "gelu", 1, "en")
    bug = chosen(read_progress(tmp_path).hunt)
    first, second, third, again = (hint(tmp_path) for _ in range(4))
    assert first.en.startswith("hint 1 of 3: compare gelu with")
    assert second.en.startswith("hint 2 of 3: the mistake is in `return ")
    assert fix_of(bug).en in third.en
    assert again == third
    shown = repair(tmp_path).en
    assert bug.wrong in shown
    assert bug.right in shown


def test_an_exercise_without_bugs_is_an_error(tmp_path):
    with pytest.raises(OptionError, match="expected one of softmax") as raised:
        hunt(tmp_path, "sofmax", None, "en")
    assert raised.value.hint.startswith("did you mean softmax")
    with pytest.raises(OptionError, match="which has no bug"):
        hint(tmp_path)


def test_a_workbook_can_start_in_a_folder_with_a_bug(tmp_path):
    from headway.practice.workbook.folder import begin

    hunt(tmp_path, "gelu", 1, "en")
    begun = begin(tmp_path, "mlx", "en")
    assert (begun.is_new, begun.restored) == (True, ())
    assert begun.progress.hunt.exercise == "gelu"
