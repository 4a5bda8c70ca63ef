"""The grade of a hand-in: points by part, with partial credit for named mistakes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from headway.practice.message import Message
from headway.practice.parts import belongs_to, missing_part
from headway.practice.verdict import Verdict


@dataclass(frozen=True)
class PartPoints:
    """Points of one part.

    partial   points by the name of a mistake
    """

    maximum: float
    partial: Mapping[str, float] = field(default_factory=dict)


Sheet = Mapping[str, PartPoints]
"""Points by part."""


@dataclass(frozen=True)
class GradedPart:
    """The points given for one part.

    verdict   the verdict that decides
    """

    part: str
    points: float
    maximum: float
    verdict: Verdict

    @property
    def title(self) -> Message:
        """Return the part's name for people."""
        return self.verdict.title or Message(self.part, self.part)


@dataclass(frozen=True)
class Grade:
    """The points given for a hand-in.

    sheet   the points that can be given
    """

    parts: tuple[GradedPart, ...]
    sheet: Sheet

    @property
    def points(self) -> float:
        """Return the sum of the points."""
        return sum(each.points for each in self.parts)

    @property
    def maximum(self) -> float:
        """Return the highest possible sum."""
        return sum(each.maximum for each in self.parts)


def grade_of(verdicts: Sequence[Verdict], sheet: Sheet | None) -> Grade:
    """Return the grade for some verdicts; without a sheet, every verdict is worth one point.

    If several functions are the same part, the one with exactly its name counts, else the one with the fewest points.
    """
    if sheet is None:
        rows = tuple(GradedPart(each.subject, each.points(1), 1.0, each) for each in verdicts)
        return Grade(rows, {})
    return Grade(tuple(_graded(part, points, verdicts) for part, points in sheet.items()), sheet)


def _graded(part: str, points: PartPoints, verdicts: Sequence[Verdict]) -> GradedPart:
    found = [each for each in verdicts if belongs_to(each, part)] or [missing_part(part)]
    exact = [each for each in found if each.subject == part] or found
    verdict = min(exact, key=lambda each: each.points(points.maximum, points.partial))
    return GradedPart(part, verdict.points(points.maximum, points.partial), points.maximum, verdict)
