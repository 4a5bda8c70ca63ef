"""Stubs are wrong and solutions correct, for every part and array library."""

from __future__ import annotations

import importlib
import sys

import pytest

from headway.practice.diagnosis.diagnose import diagnose
from headway.practice.diagnosis.files import load_module, with_exercises
from headway.practice.workbook.folder import begin, path_of
from headway.practice.workbook.judging import judge
from headway.practice.workbook.parts import NAMES, PARTS
from headway.practice.workbook.solution import solution
from headway.practice.workbook.stubs import BODY, heading
from tests.practice.test_exercises import WRITTEN_IN_JAX

EXERCISES = [part for part in PARTS if part.is_exercise]
SLOW = [pytest.param(array, marks=pytest.mark.slow) for array in ("torch", "mlx", "jax")]


def solved(folder, array):
    """Write all solutions to a folder."""
    pytest.importorskip({"mlx": "mlx.core"}.get(array, array))
    begin(folder, array, "en")
    for part in PARTS:
        path_of(folder, part).write_text(solution(part, array, "en"), encoding="utf-8")
    return folder


def never():
    raise AssertionError("only the story needs the embedded model")


@pytest.fixture
def _imports_end_with_the_test(monkeypatch):
    monkeypatch.setattr("sys.path", [*sys.path])
    yield
    for name in NAMES:
        sys.modules.pop(name, None)


def judged_here(folder, part):
    """Return the verdict on a part's file, judged in this process, which takes milliseconds."""
    path = path_of(folder, part)
    text = path.read_text()
    module = load_module(path, text)
    (verdict,) = [diagnose(subject, found) for subject, found in with_exercises(module, text, part.name)]
    return verdict


@pytest.mark.usefixtures("_imports_end_with_the_test")
def test_no_stub_is_correct(tmp_path):
    begin(tmp_path, "numpy", "en")
    for part in EXERCISES:
        verdict = judged_here(tmp_path, part)
        assert not verdict.is_correct
        assert verdict.causes[0].name == "raises_NotImplementedError"
        assert "write the function body" in verdict.text("en")


@pytest.mark.usefixtures("_imports_end_with_the_test")
@pytest.mark.parametrize("array", ["numpy", *SLOW])
def test_every_solution_is_correct(tmp_path, array):
    """Judge every part, with JAX those that have no other functions for it; test_story.py runs all of them."""
    solved(tmp_path, array)
    parts = [part for part in EXERCISES if array != "jax" or part.name not in WRITTEN_IN_JAX]
    assert parts
    for part in parts:
        verdict = judged_here(tmp_path, part)
        assert verdict.is_correct, verdict


def test_a_solution_is_correct_in_a_subprocess(tmp_path):
    solved(tmp_path, "numpy")
    judgement = judge(tmp_path, EXERCISES[6], "numpy", never)
    assert judgement.is_solved, judgement.text("en")


@pytest.mark.parametrize("array", ["numpy", "torch", "mlx", "jax"])
@pytest.mark.parametrize("part", PARTS, ids=NAMES)
def test_a_solution_is_the_stub_with_a_body(part, array):
    text = solution(part, array, "en")
    assert BODY not in text
    assert heading(part, array) in text
    assert ("np." in text.replace("jnp.", "")) == (array == "numpy" and "np." in text)
    compile(text, part.name, "exec")


@pytest.mark.parametrize("module", ["in_numpy", "in_torch"])
def test_the_solutions_have_the_stubs_signatures(module):
    import inspect

    if module == "in_torch":
        pytest.importorskip("torch")
    functions = importlib.import_module(f"headway.practice.workbook.solutions.{module}")
    for part in PARTS:
        if module == "in_torch" and not hasattr(functions, part.name):
            continue  # the NumPy solution with another name of the library
        assert f"def {part.name}{inspect.signature(getattr(functions, part.name))}:\n".replace("e-05", "e-5") in heading(part, "numpy")
