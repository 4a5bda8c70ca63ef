"""The result of checking files: what every format and the grade sheet read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from headway.practice.grading.grade import Grade, grade_of
from headway.practice.message import Message, PracticeError, describe_error
from headway.practice.source import Source
from headway.practice.texts import Texts
from headway.practice.verdict import Verdict

TEXTS = Texts("check")

FAILING = ("wrong", "unknown", "missing")
"""Statuses that make the exit code 1."""


@dataclass(frozen=True)
class FileResult:
    """The verdicts on one file.

    source    the file as it was read; None for required parts that no file defines
    unjudged  what was looked at and that no part recognises; it affects neither points nor the exit code
    seconds   wall-clock time of the check
    """

    path: Path
    verdicts: tuple[Verdict, ...]
    source: Source | None = None
    seconds: float = 0.0
    unjudged: tuple[Verdict, ...] = ()

    @property
    def shown(self) -> list[Verdict]:
        """Return the verdicts and what was not judged, in the order of the file."""
        return sorted([*self.verdicts, *self.unjudged], key=lambda verdict: verdict.line)


@dataclass(frozen=True)
class Report:
    """The results of a check.

    missing   verdicts on required parts that no file defines
    failure   reason why the check itself failed; the results are then incomplete
    error     the exception of a failure on one of the files
    given     points by part, if there is a grade sheet
    """

    files: tuple[FileResult, ...]
    missing: tuple[Verdict, ...] = ()
    failure: Message | None = None
    given: Grade | None = None
    error: Exception | None = None

    @property
    def verdicts(self) -> list[Verdict]:
        """Return all verdicts, those on missing parts last."""
        return [*(verdict for each in self.files for verdict in each.verdicts), *self.missing]

    @property
    def shown(self) -> list[Verdict]:
        """Return all verdicts and what was not judged."""
        return [*(verdict for each in self.files for verdict in each.shown), *self.missing]

    @property
    def grade(self) -> Grade:
        """Return the points: those of the grade sheet, else one point for each verdict."""
        return self.given or grade_of(self.verdicts, None)

    @property
    def seconds(self) -> float:
        """Return the wall-clock time of all checks."""
        return sum(each.seconds for each in self.files)

    @property
    def has_tool_error(self) -> bool:
        """True if Headway itself failed on a part or on a file."""
        return self.failure is not None or any(cause.name == "tool_error" for verdict in self.verdicts for cause in verdict.causes)

    @property
    def exit_code(self) -> int:
        """Return 3 if Headway itself failed, else 1 if something is wrong, else 0 if everything is correct, else 2."""
        if self.has_tool_error:
            return 3
        statuses = [verdict.status for verdict in self.verdicts]
        if any(status in FAILING for status in statuses):
            return 1
        return 0 if statuses and all(status == "correct" for status in statuses) else 2

    def with_sources(self) -> Iterator[tuple[Verdict, Source | None]]:
        """Yield each verdict, and what was not judged, with the file that it is on."""
        for each in self.files:
            for verdict in each.shown:
                yield verdict, each.source
        for verdict in self.missing:
            yield verdict, None


def failure_of(error: Exception) -> Message:
    """Return the reason for a failure, from the exception that was raised."""
    described = error.messages[0] if isinstance(error, PracticeError) else describe_error(error, max_chars=500)
    return TEXTS["check_failed"].format(error=described)
