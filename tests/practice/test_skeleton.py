"""The skeleton of a new exercise is complete: its right function is correct, and its mistake is named."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from types import ModuleType

import pytest

from headway.practice import names, roles
from headway.practice.diagnosis.diagnose import diagnose
from headway.practice.diagnosis.reading.subject import subjects_of
from headway.practice.message import PracticeError
from headway.practice.sentences import untranslated
from headway.practice.skeleton import LIST, ROLE_NAMES, new_exercise


@pytest.fixture
def checkout(tmp_path):
    """A checkout that contains only the lists of exercises and of their operands."""
    listed = tmp_path / LIST
    listed.parent.mkdir(parents=True)
    listed.write_text(names.FILE.read_text())
    (tmp_path / ROLE_NAMES).write_text(roles.FILE.read_text())
    for folder in ("src/headway/practice/catalogue", "tests/practice/learners"):
        (tmp_path / folder).mkdir(parents=True)
    return tmp_path


def test_the_skeleton_judges_its_own_learners(checkout, monkeypatch):
    code, sentences, learners, listed, operands = new_exercise("new_part", checkout)
    assert re.search(tomllib.loads(listed.read_text())["new_part"]["called"], "new_part")
    monkeypatch.setattr("headway.practice.sentences.CATALOGUE", sentences.parent)
    monkeypatch.setattr(roles, "FILE", operands)
    roles.read.cache_clear()
    monkeypatch.setattr(roles, "read", roles.read.__wrapped__)
    specification = importlib.util.spec_from_file_location("new_part", code)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    learnt = ModuleType("learners")
    learnt.__file__ = str(learners)
    exec(compile(learners.read_text(), str(learners), "exec"), learnt.__dict__)
    right, wrong = (diagnose(subject, module.EXERCISE) for subject in subjects_of(learnt, learners.read_text()))
    assert right.is_correct
    assert wrong.causes[0].name == "sign"
    assert untranslated() == [f"new_part.toml: hints.{place}.zh" for place in range(3)]


@pytest.mark.parametrize("name", ["New", "new-part", "1st", "class", "softmax", ""])
def test_other_names_are_rejected_and_nothing_is_written(checkout, name):
    before = sorted(checkout.rglob("*"))
    with pytest.raises(PracticeError, match="got the name"):
        new_exercise(name, checkout)
    assert sorted(checkout.rglob("*")) == before


def test_a_folder_that_is_no_checkout_is_rejected(tmp_path):
    with pytest.raises(PracticeError, match="expected a checkout"):
        new_exercise("new_part", tmp_path)
