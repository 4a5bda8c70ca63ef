"""Names of parts that a course requires."""

from __future__ import annotations

from collections.abc import Sequence

from headway.practice.exercises import NAMES, exercise
from headway.practice.message import Message, unknown_name
from headway.practice.names import by_name
from headway.practice.texts import Texts
from headway.practice.verdict import Cause, Verdict

TEXTS = Texts("check")


def part_named(name: str) -> str:
    """Return the part with this name, or that a function with this name is: "attention" is scaled_dot_product_attention.

    Errors   OptionError with the closest names for a name that is no part.
    """
    if name in NAMES:
        return name
    found = by_name(name) if name.isidentifier() else None
    if found is None:
        raise unknown_name(name, NAMES)
    return found


def belongs_to(verdict: Verdict, part: str) -> bool:
    """Return True if a verdict is on this part, by its exercise or by the name of its function."""
    if verdict.exercise == part or verdict.exercise == "file":
        return verdict.exercise == part
    return by_name(verdict.subject) == part


def missing_parts(required: Sequence[str], verdicts: Sequence[Verdict]) -> tuple[Verdict, ...]:
    """Return a verdict "missing" for each required part that no verdict is on."""
    return tuple(missing_part(part) for part in dict.fromkeys(required) if not any(belongs_to(each, part) for each in verdicts))


def missing_part(part: str) -> Verdict:
    """Return the verdict on a required part that no file defines."""
    title = exercise(part).title
    cause = Cause("missing", TEXTS["no_part"].format(part=part), TEXTS["define_part"].format(part=part), Message("", ""))
    return Verdict(part, part, 0, "missing", (cause,), title=title)
