"""Verdicts as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from headway.practice.judge.shown import printable
from headway.practice.report.formats import Output, Settings
from headway.practice.report.results import Report
from headway.practice.texts import Texts

TEXTS = Texts("check")


def outputs(report: Report, settings: Settings) -> Iterator[Output]:
    """Yield the verdicts, under the name of their file if there are several files, then the points if there is a grade sheet."""
    yield Output(text_of(report, settings.language) + "\n", settings.path)


def text_of(report: Report, language: str) -> str:
    """Return the report as lines of text."""
    shown = [each for each in report.files if each.shown]
    lines = []
    for each in shown:
        lines += [printable(str(each.path))] if len(shown) > 1 else []
        lines += [verdict.text(language) for verdict in each.shown]
    lines += [verdict.text(language) for verdict in report.missing]
    if report.given:
        lines += ["", *points_of(report, language)]
    return "\n".join(lines)


def points_of(report: Report, language: str) -> list[str]:
    """Return the points of each part, then their sum, as lines of text."""
    grade = report.grade
    rows = [f"{each.points:g}/{each.maximum:g}  {each.part}" for each in grade.parts]
    return [*rows, TEXTS["points"].format(points=grade.points, maximum=grade.maximum).text(language)]
