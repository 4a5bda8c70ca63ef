"""Hand-written functions in learners/, and the catalogued mistakes: which of them such a function makes."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy

from headway.practice.diagnosis.calls.binding import bind
from headway.practice.diagnosis.reading.subject import Subject, subjects_of
from headway.practice.exercise import Exercise, Mistake
from headway.practice.exercises import NAMES, exercise
from headway.practice.outputs import PRECISION, is_same

FILES = sorted((Path(__file__).parent / "learners").glob("*.py"))

Operands = tuple[str, ...]

LEFT_OUT: dict[str, tuple[Operands, ...]] = {"rotary": (("cos", "sin"), ("positions", "offset", "theta"))}
"""Operands of which a function takes one group or the other: with all of them, every form of one is tried with every form of the other."""


@cache
def catalogued() -> list[tuple[str, Mistake, Operands]]:
    """Return the name of an exercise, a mistake, and the operands that a function with it does not take.

    A mistake that no probe shows without these operands is left out, and so are the mistakes of an exercise that has another's recipe.
    """
    recipes: dict[object, str] = {}
    found = []
    for name in NAMES:
        chosen = exercise(name)
        if recipes.setdefault((chosen.recipe, chosen.probes, chosen.mistakes, chosen.conventions), name) == name:
            groups = LEFT_OUT.get(name, ((),))
            every = ((mistake, operands) for mistake in chosen.mistakes for operands in groups)
            found += [(name, *each) for each in every if not each[1] or _is_shown_without(chosen, *each)]
    return found


def _is_shown_without(chosen: Exercise, mistake: Mistake, operands: Operands) -> bool:
    probes = [inputs for inputs in chosen.inputs if not set(operands) & set(inputs)]
    with numpy.errstate(all="ignore"):
        return any(not is_same(chosen.answer(each, (mistake,)), chosen.answer(each), PRECISION["float64"]) for each in probes)


@cache
def written() -> list[tuple[Path, Subject]]:
    """Return the functions and classes of all files whose name states a verdict."""
    found = []
    for path in FILES:
        text = path.read_text()
        module = ModuleType(path.stem)
        module.__file__ = str(path)
        exec(compile(text, str(path), "exec"), module.__dict__)
        found += [
            (path, subject)
            for subject in subjects_of(module, text)
            if subject.name.lower().startswith(("right", "wrong")) and "." not in subject.name
        ]
    return found


def mistake_in(subject: Subject) -> str:
    """Return the name of the mistake that a wrong function makes, from its own name; empty for a right one."""
    kind, _, rest = subject.name.partition("_")
    return rest.partition("__")[0] if kind.lower() == "wrong" else ""


def is_written(name: str, mistake: Mistake, left_out: Operands) -> bool:
    """Return True if a NumPy function makes a mistake that is named as it is, and takes none of the operands left out."""
    makers = _makers().get((name, mistake.name), []) if mistake.said_as is None else []
    return any(not left_out or _takes_none(subject, exercise(name), left_out) for subject in makers)


@cache
def num_written() -> Counter[tuple[str, str]]:
    """Return the number of catalogued mistakes that hand-written functions make, by part and mistake."""
    return Counter((name, mistake.name) for name, mistake, operands in catalogued() if is_written(name, mistake, operands))


def _takes_none(subject: Subject, exercise: Exercise, operands: Operands) -> bool:
    binding = bind(subject, exercise.roles)
    return binding is not None and not any(map(binding.takes, operands))


@cache
def _makers() -> dict[tuple[str, str], list[Subject]]:
    """Return the NumPy functions with a mistake, by part and mistake."""
    found = defaultdict(list)
    for path, subject in written():
        if "__" not in path.stem and mistake_in(subject):
            found[path.stem, mistake_in(subject)].append(subject)
    return found
