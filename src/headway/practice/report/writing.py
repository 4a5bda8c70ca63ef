"""Run of a check whose report is written even if the check fails."""

from __future__ import annotations

from collections.abc import Callable

from headway.practice.grading.grade import Sheet, grade_of
from headway.practice.report.formats import Settings, format_named, write
from headway.practice.report.results import Report, failure_of

FOR_PEOPLE = ("text", "json")
"""Formats in which a failure is an error message and an exit code, not a report."""


def written(
    check: Callable[[], Report], name: str, settings: Settings, *, sheet: Sheet | None = None, show: Callable[[str], str] = str
) -> Report:
    """Run a check, write its report in a format and return it.

    If the check raises, a format for programs gets a report with the failure and no points; the exception is then raised again. If it
    failed on one of several files, the report holds the others, and its `error` is raised after it is written.

    show   conversion of what is printed, such as adding colours

    Errors   OptionError for an unknown format; those of the check; OSError if a file cannot be written.
    """
    chosen = format_named(name)
    try:
        report = check()
    except Exception as error:
        if name not in FOR_PEOPLE:
            given = grade_of((), sheet) if sheet is not None else None
            write(chosen.outputs(Report((), failure=failure_of(error), given=given), settings), show=str)
        raise
    write(chosen.outputs(report, settings), show=show if name == "text" else str)
    if report.error is not None:
        raise report.error
    return report
