"""A pytest fixture for grading.

    def test_softmax(headway_check):
        headway_check("hand_in.py", "softmax")      # never imports the hand-in
        headway_check(softmax)                      # or headway_check(mine, "softmax")

The test fails with the verdict if the function differs from the definition. A file is judged in confined processes. So is a function that
a file defines at top level; any other function is called in this process, which defends against nothing.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from headway.practice import Verdict


@pytest.fixture
def headway_check() -> Callable[..., Any]:
    """Return a function that judges its argument, fails the test unless it is correct, and returns the verdict."""
    from headway.practice import check

    def judged(subject: Callable[..., Any] | str | Path, exercise: str | None = None) -> Verdict:
        __tracebackhide__ = True
        if isinstance(subject, str | Path):
            verdicts = _of_file(Path(subject), None, exercise)
            if not verdicts:
                pytest.fail(f"{subject} has no function for {exercise or 'any part'}", pytrace=False)
        else:
            verdicts = _of_function(subject, exercise) or [check(subject, exercise)]
        wrong = [verdict for verdict in verdicts if vars(verdict).get("status") != "correct"]
        if wrong:
            pytest.fail("\n".join(verdict.text("en") for verdict in wrong), pytrace=False)
        return verdicts[0]

    return judged


def _of_file(path: Path, name: str | None, exercise: str | None) -> list[Verdict]:
    """Return the verdicts on a file, or on one function of it."""
    from headway.practice.diagnosis.files import check_name
    from headway.practice.diagnosis.sandbox import check_file

    verdicts = check_file(path, exercise and check_name(exercise))
    return [verdict for verdict in verdicts if name in (None, verdict.subject)]


def _of_function(subject: Callable[..., Any], exercise: str | None) -> list[Verdict]:
    """Return the verdict on a function that a file defines at top level; none if no file does, or if it cannot be judged alone."""
    name, module = getattr(subject, "__qualname__", ""), inspect.getmodule(subject)
    try:
        file = inspect.getsourcefile(subject)
    except TypeError:
        return []
    if not file or not name.isidentifier() or getattr(module, name, None) is not subject:
        return []
    return _of_file(Path(file), name, exercise)
