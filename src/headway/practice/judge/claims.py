"""A claim: the confined process's statement that a subject is correct, and how to call it. The judge believes none of it unchecked."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from headway.practice.diagnosis.calls.calling import DTYPES
from headway.practice.exercise import Convention, Exercise

LIBRARIES = tuple(DTYPES)


@dataclass(frozen=True)
class Claim:
    """Calling convention of a subject whose answers were all right.

    subject      name in the file
    exercise     name of the part
    library      array library of the inputs
    place        index of the call among those that the subject allows
    conventions  index of the alternative in each of the exercise's groups
    is_whole     False if only the file's definitions could be run
    """

    subject: str
    exercise: str
    library: str
    place: int
    conventions: tuple[int, ...]
    is_whole: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Return the claim as plain values."""
        return asdict(self)


def claim_of(subject: str, trial: Any, *, is_whole: bool) -> Claim:
    """Return the claim for a trial in which every answer was right."""
    groups = zip(trial.exercise.conventions, trial.conventions, strict=True)
    conventions = tuple(_index(group, chosen, trial.call) for group, chosen in groups)
    return Claim(subject, trial.exercise.name, trial.call.library, trial.call.place, conventions, is_whole)


def _index(group: tuple[Convention, ...], chosen: Convention, call: Any) -> int:
    """Return a convention's index; one that was measured from the function has that of the alternative that measures it."""
    same = [index for index, each in enumerate(group) if each in (chosen, chosen.measured_by)]
    numbered = [index for index, each in enumerate(group) if each.by_number is not None and each.place == chosen.place]
    return (same or numbered or [0])[0]


def claim_from(values: Any, exercise: Exercise, subject: str) -> Claim | None:
    """Return the claim in plain values from a confined process; None unless every value is possible for this exercise and subject."""
    if not isinstance(values, dict) or values.get("subject") != subject or values.get("exercise") != exercise.name:
        return None
    library, place, conventions, is_whole = (values.get(name) for name in ("library", "place", "conventions", "is_whole"))
    is_place = type(place) is int and 0 <= place < 10_000
    is_listed = isinstance(conventions, list) and len(conventions) == len(exercise.conventions)
    if library not in LIBRARIES or not is_place or not is_listed or type(is_whole) is not bool:
        return None
    assert isinstance(conventions, list)
    is_index = all(type(index) is int and 0 <= index < len(group) for index, group in zip(conventions, exercise.conventions, strict=True))
    return Claim(subject, exercise.name, str(library), int(place or 0), tuple(conventions), is_whole) if is_index else None
