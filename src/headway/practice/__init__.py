"""Exercises, and the diagnosis of a learner's implementation: which part is wrong, and which mistake it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headway.practice.verdict import Cause, Verdict

__all__ = ["Cause", "Verdict", "check"]


def __getattr__(name: str) -> object:
    if name in ("Cause", "Verdict"):  # not imported before they are needed, for a quick start of the command line
        from headway.practice import verdict

        return getattr(verdict, name)
    raise AttributeError(f"module 'headway.practice' has no attribute {name!r}")


def check(subject: Callable[..., Any], exercise: str | None = None) -> Verdict:
    """Compare a function or class of your own with its definition, and name the mistake if it differs.

    exercise   name of the part, such as "softmax"; inferred from the function's name by default

    The function runs in this process; `headway check FILE` runs a file in a subprocess.

    Errors   OptionError for an unknown exercise, or a function whose name matches none.

    >>> import numpy as np
    >>> def softmax(x):
    ...     return np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True)
    >>> check(softmax).causes[0].name
    'no_shift'
    """
    from headway.practice import exercises
    from headway.practice.diagnosis.diagnose import diagnose
    from headway.practice.diagnosis.files import check_name
    from headway.practice.diagnosis.reading.subject import subject_of
    from headway.practice.diagnosis.recognising import recognised
    from headway.practice.message import Message, PracticeError

    found = subject_of(subject)
    chosen = exercises.exercise(check_name(exercise)) if exercise is not None else recognised(found)
    if chosen is None:
        raise PracticeError(
            Message(
                f"got a function named {found.name}, expected a name that says which part it is",
                f"收到的函数名为 {found.name}，无法从中看出它是哪一部分",
            ),
            hint=Message(
                f"pass the exercise as well: one of {', '.join(exercises.NAMES)}",
                f"请同时指定练习：{'、'.join(exercises.NAMES)} 之一",
            ),
        )
    return _located(diagnose(found, chosen), subject)


def _located(verdict: Verdict, subject: Callable[..., Any]) -> Verdict:
    """Return a verdict with the places in the function's file, if that exists."""
    import inspect
    from pathlib import Path

    from headway.practice.message import PracticeError
    from headway.practice.source import located, read

    try:
        file = inspect.getsourcefile(inspect.unwrap(subject))
        return verdict if file is None else located(verdict, read(Path(file)))
    except (TypeError, ValueError, OSError, PracticeError):  # built-in, or defined in a notebook or with exec
        return verdict
