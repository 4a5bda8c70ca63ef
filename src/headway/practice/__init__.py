"""Exercises, and the diagnosis of what a learner wrote: which part is wrong, and which mistake it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headway.errors import OptionError
from headway.practice.verdict import Cause, Verdict

__all__ = ["Cause", "Verdict", "check"]


def check(subject: Callable[..., Any], exercise: str | None = None) -> Verdict:
    """Judge a function or class of your own: is it the definition, and if not, which mistake is it?

    exercise   which part it is, such as "softmax"; by its name by default

    It runs in this process; `headway check FILE` runs a file in one of its own.

    Errors   OptionError for a name that is no exercise, or a function whose name says none.

    >>> import numpy as np
    >>> def softmax(x):
    ...     return np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True)
    >>> check(softmax).causes[0].name
    'no_shift'
    """
    from headway.practice import exercises
    from headway.practice.diagnosis.diagnose import diagnose
    from headway.practice.diagnosis.files import by_name, check_name
    from headway.practice.diagnosis.subject import subject_of

    found = subject_of(subject)
    chosen = exercises.exercise(check_name(exercise)) if exercise is not None else by_name(found.name)
    if chosen is None:
        raise OptionError(
            f"came: {found.name}; expected: a name that says which part it is, or one of {', '.join(exercises.NAMES)} beside it"
        )
    return diagnose(found, chosen)
