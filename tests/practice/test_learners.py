"""Hand-written functions. Their names state the expected verdict: `right_…`, or `wrong_<mistake>` with a variant after `__`.

learners/<exercise>.py contains NumPy code, learners/<exercise>__<library>.py code for another library.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from headway.practice.diagnosis.calls.jax_on_numpy import jax_on_numpy
from headway.practice.diagnosis.diagnose import diagnose
from headway.practice.exercises import exercise
from tests.practice.score import CATALOGUED
from tests.practice.written import mistake_in, num_written, written

OTHER_CAUSE: dict[str, str] = {}
"""Hand-written mistakes that get another cause than the one in their name."""


def cases():
    for path, subject in written():
        slow = [pytest.mark.slow] if "__" in path.stem else []  # loads and compiles a library
        case = f"{path.stem}:{subject.name}"
        marks = [*slow, *([pytest.mark.xfail(reason=OTHER_CAUSE[case], strict=True)] if case in OTHER_CAUSE else [])]
        yield pytest.param(path.stem.partition("__")[0], subject, id=case, marks=marks)


@pytest.mark.parametrize(("name", "subject"), list(cases()))
def test_hand_written_functions_get_the_verdict_in_their_name(name, subject, record_property):
    with jax_on_numpy():
        verdict = diagnose(replace(subject), exercise(name))  # the subject of the parameter would keep its trials
    expected = mistake_in(subject)
    if not expected:
        assert verdict.is_correct, verdict
        return
    assert not verdict.is_correct
    assert verdict.causes, verdict
    assert verdict.causes[0].name == expected, verdict
    if number := num_written()[name, expected]:
        record_property(CATALOGUED, (expected, number))
        assert verdict.status == "wrong", verdict
