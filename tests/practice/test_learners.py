"""Hand-written functions. Their names state the expected verdict: `right_…`, or `wrong_<mistake>` with a variant after `__`.

learners/<exercise>.py contains NumPy code, learners/<exercise>__<library>.py code for another library.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from headway.practice.diagnosis.calls.jax_on_numpy import jax_on_numpy
from headway.practice.diagnosis.diagnose import diagnose
from headway.practice.diagnosis.reading.subject import subjects_of
from headway.practice.exercises import exercise

FILES = sorted((Path(__file__).parent / "learners").glob("*.py"))


OTHER_CAUSE: dict[str, str] = {}
"""Hand-written mistakes that get another cause than the one in their name."""


def cases():
    for path in FILES:
        text = path.read_text()
        module = ModuleType(path.stem)
        module.__file__ = str(path)
        exec(compile(text, str(path), "exec"), module.__dict__)
        for subject in subjects_of(module, text):
            if subject.name.lower().startswith(("right", "wrong")) and "." not in subject.name:
                slow = [pytest.mark.slow] if "__" in path.stem else []  # loads and compiles a library
                case = f"{path.stem}:{subject.name}"
                marks = [*slow, *([pytest.mark.xfail(reason=OTHER_CAUSE[case], strict=True)] if case in OTHER_CAUSE else [])]
                yield pytest.param(path.stem.partition("__")[0], subject, id=case, marks=marks)


@pytest.mark.parametrize(("name", "subject"), list(cases()))
def test_hand_written_functions_get_the_verdict_in_their_name(name, subject):
    with jax_on_numpy():
        verdict = diagnose(replace(subject), exercise(name))  # the subject of the parameter would keep its trials
    kind, _, rest = subject.name.partition("_")
    if kind.lower() == "right":
        assert verdict.is_correct, verdict
        return
    assert not verdict.is_correct
    expected = rest.partition("__")[0]
    assert verdict.causes, verdict
    assert verdict.causes[0].name == expected, verdict
