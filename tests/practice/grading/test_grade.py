from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from dataclasses import replace

import pytest

from headway.errors import OptionError
from headway.practice.grading.bundle import write_bundle
from headway.practice.grading.grade import PartPoints, grade_of
from headway.practice.report.formats.text import text_of
from headway.practice.report.results import Report
from headway.practice.verdict import Verdict
from tests.practice.report.gradescope_rules import check_results
from tests.practice.verdicts import WRONG

PART = "scaled_dot_product_attention"
RIGHT = replace(WRONG, status="correct", causes=())
SHEET = {PART: PartPoints(5, {"scale": 3}), "softmax": PartPoints(2)}
HANDIN = "import numpy as np\ndef softmax(x):\n    return np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True)\n"
SHEET_TEXT = "[grade]\nsoftmax = {points = 2, partial = {no_shift = 1.5}}\nrelu = 3\n"


def test_a_named_mistake_gives_partial_credit_and_a_missing_part_none():
    grade = grade_of([WRONG], SHEET)
    assert [(each.part, each.points, each.maximum, each.verdict.status) for each in grade.parts] == [
        (PART, 3, 5, "wrong"),
        ("softmax", 0, 2, "missing"),
    ]
    assert (grade.points, grade.maximum) == (3, 7)


def test_of_several_functions_the_one_with_the_parts_name_counts_else_the_worst():
    named = replace(RIGHT, subject=PART)
    assert grade_of([WRONG, named], SHEET).parts[0].points == 5
    assert grade_of([WRONG, replace(RIGHT, subject="attention_2")], SHEET).parts[0].points == 3


def test_a_function_judged_as_a_related_part_counts_for_the_part_that_it_is_called():
    assert grade_of([Verdict("softmax", "log_softmax", 1, "wrong")], SHEET).parts[1].verdict.status == "wrong"


def test_without_a_sheet_every_verdict_is_worth_one_point():
    grade = grade_of([WRONG, RIGHT], None)
    assert (grade.points, grade.maximum) == (1, 2)


def test_the_points_are_shown_under_the_verdicts():
    text = text_of(Report((), given=grade_of([WRONG], SHEET)), "en")
    assert text.endswith(f"3/5  {PART}\n0/2  softmax\n3 of 7 points")


def headway(folder, *arguments):
    return subprocess.run([sys.executable, "-m", "headway", "grade", *arguments], cwd=folder, capture_output=True, text=True)


@pytest.mark.slow
def test_a_hand_in_is_graded_with_exit_code_0(tmp_path):
    (tmp_path / "handin").mkdir()
    (tmp_path / "handin" / "mine.py").write_text(HANDIN)
    (tmp_path / "headway.toml").write_text(SHEET_TEXT)
    done = headway(tmp_path, "handin", "--lang", "en")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("1.5/2  softmax\n0/3  relu\n1.5 of 5 points\n")


@pytest.mark.slow
def test_grading_without_a_hand_in_or_with_a_wrong_sheet_is_refused(tmp_path):
    (tmp_path / "headway.toml").write_text("[grade]\nsofmax = 2\n")
    assert "did you mean softmax" in headway(tmp_path, "handin").stderr
    (tmp_path / "headway.toml").write_text(SHEET_TEXT)
    done = headway(tmp_path)
    assert (done.returncode, "expected the hand-in" in done.stderr) == (2, True)


@pytest.fixture
def autograder(tmp_path):
    """A machine of Gradescope's with the bundle unpacked and Headway installed."""
    (tmp_path / "headway.toml").write_text(SHEET_TEXT)
    write_bundle(tmp_path / "out.zip", tmp_path / "headway.toml", "headway[torch]", seed=None)
    root = tmp_path / "autograder"
    for folder in ("source", "submission", "results", "headway/bin"):
        (root / folder).mkdir(parents=True)
    with zipfile.ZipFile(tmp_path / "out.zip") as bundle:
        bundle.extractall(root / "source")
        modes = {entry.filename: oct(entry.external_attr >> 16) for entry in bundle.infolist()}
    assert modes == {"setup.sh": "0o755", "run_autograder": "0o755", "headway.toml": "0o644"}
    command = root / "headway" / "bin" / "headway"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m headway "$@"\n')
    command.chmod(0o755)
    return root


def graded(root):
    script = root / "source" / "run_autograder"
    done = subprocess.run(["bash", str(script)], env={**os.environ, "AUTOGRADER": str(root)}, capture_output=True, text=True)
    results = json.loads((root / "results" / "results.json").read_text())
    check_results(results)
    return done, results


@pytest.mark.slow
def test_the_autograder_writes_its_own_results_over_those_of_the_hand_in(autograder):
    forged = (
        f"try:\n    open({str(autograder / 'results' / 'results.json')!r}, 'w').write('{{\"score\": 100}}')\nexcept OSError:\n    pass\n"
    )
    (autograder / "submission" / "mine.py").write_text(forged + HANDIN)
    (autograder / "submission" / "headway.toml").write_text("[grade]\nsoftmax = 100\n")
    done, results = graded(autograder)
    assert done.returncode == 0
    assert (results["score"], [each["max_score"] for each in results["tests"]]) == (1.5, [2, 3])


def test_the_autograder_writes_results_for_an_empty_hand_in_and_if_headway_cannot_start(autograder):
    _, results = graded(autograder)
    assert (results["score"], len(results["tests"])) == (0, 2)
    (autograder / "headway" / "bin" / "headway").unlink()
    _, results = graded(autograder)
    assert results == {"score": 0, "output": "The autograder did not finish. Please tell your instructor."}


def test_the_setup_script_installs_the_package_and_is_valid(autograder):
    script = autograder / "source" / "setup.sh"
    assert "pip\" install 'headway[torch]'" in script.read_text()
    assert subprocess.run(["bash", "-n", str(script)]).returncode == 0


def test_a_wheel_is_included_and_the_same_sheet_gives_the_same_bytes(tmp_path):
    (tmp_path / "headway.toml").write_text(SHEET_TEXT)
    wheel = tmp_path / "headway-1-py3-none-any.whl"
    wheel.write_bytes(b"wheel")
    for name in ("first.zip", "second.zip"):
        write_bundle(tmp_path / name, tmp_path / "headway.toml", str(wheel), seed=7, forbid=True)
    assert (tmp_path / "first.zip").read_bytes() == (tmp_path / "second.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "first.zip") as bundle:
        assert bundle.read(wheel.name) == b"wheel"
        assert b"install ./headway-1-py3-none-any.whl" in bundle.read("setup.sh")
        assert b"--seed 7 --forbid" in bundle.read("run_autograder")


def test_a_wheel_may_have_extras(tmp_path):
    (tmp_path / "headway.toml").write_text(SHEET_TEXT)
    (tmp_path / "headway-1-py3-none-any.whl").write_bytes(b"wheel")
    write_bundle(tmp_path / "out.zip", tmp_path / "headway.toml", f"{tmp_path}/headway-1-py3-none-any.whl[torch]")
    with zipfile.ZipFile(tmp_path / "out.zip") as bundle:
        assert "headway-1-py3-none-any.whl" in bundle.namelist()
        assert b"install './headway-1-py3-none-any.whl[torch]'" in bundle.read("setup.sh")


@pytest.mark.slow
def test_a_package_without_a_wheel_is_announced(tmp_path):
    (tmp_path / "headway.toml").write_text(SHEET_TEXT)
    (tmp_path / "headway-1-py3-none-any.whl").write_bytes(b"wheel")
    arguments = ("--sheet", str(tmp_path / "headway.toml"), "--zip", str(tmp_path / "out.zip"), "--lang", "en", "--package")
    assert (
        "its setup.sh installs headway[torch] from PyPI; from a clone, run make wheel"
        in headway(tmp_path, *arguments, "headway[torch]").stderr
    )
    assert headway(tmp_path, *arguments, "headway-1-py3-none-any.whl").stderr == ""


def test_a_bundle_with_a_wrong_sheet_is_not_written(tmp_path):
    (tmp_path / "headway.toml").write_text("[grade]\nsofmax = 2\n")
    with pytest.raises(OptionError, match="sofmax"):
        write_bundle(tmp_path / "out.zip", tmp_path / "headway.toml", "headway")
    assert not (tmp_path / "out.zip").exists()
