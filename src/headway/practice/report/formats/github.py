"""Annotations of GitHub Actions on standard output, and a Markdown summary of the step.

Source   docs.github.com, "Workflow commands for GitHub Actions"
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path

from headway.practice.fixing import diff_of
from headway.practice.judge.shown import printable
from headway.practice.report.formats import Output, Settings
from headway.practice.report.formats.text import points_of, text_of
from headway.practice.report.frames import frame, message_of, place_of, relative_path
from headway.practice.report.results import Report
from headway.practice.source import Source
from headway.practice.texts import Texts
from headway.practice.verdict import Cause, Verdict

TEXTS = Texts("check")

MAX_ANNOTATIONS = 10
"""Errors, warnings and notices that one step may show; GitHub drops further ones silently."""

LEVELS = {"could not run": "warning", "not judged": "notice"}
"""Levels by status; that of the others is an error."""

MAX_SUMMARY_BYTES = 1_000_000


def outputs(report: Report, settings: Settings) -> Iterator[Output]:
    """Yield the verdicts as text, the annotations, and the summary if GITHUB_STEP_SUMMARY names a file."""
    token = secrets.token_hex(16)  # the text may contain commands that the hand-in wrote
    text = text_of(report, settings.language)
    lines = [f"::stop-commands::{token}", text, f"::{token}::", *annotation_lines(report, settings)]
    yield Output("\n".join(lines) + "\n", settings.path)
    summary_file = settings.environ.get("GITHUB_STEP_SUMMARY")
    if summary_file:
        yield Output(summary(report, settings.language), Path(summary_file), is_appended=True)


def annotation_lines(report: Report, settings: Settings) -> list[str]:
    """Return the workflow commands, at most MAX_ANNOTATIONS of each level."""
    found: dict[str, list[str]] = {"error": [], "warning": [], "notice": []}
    for verdict in report.shown:
        if not verdict.is_correct:
            level = LEVELS.get(verdict.status, "error")
            for cause in verdict.causes or (None,):
                found[level].append(_annotation(level, verdict, cause, settings))
    if report.failure:
        found["error"].insert(0, _command("error", {"title": "headway"}, report.failure.text(settings.language)))
    shown = []
    for level, each in found.items():
        if len(each) > MAX_ANNOTATIONS:
            rest = len(each) - MAX_ANNOTATIONS + 1
            each[MAX_ANNOTATIONS - 1 :] = [
                _command(level, {"title": "headway"}, TEXTS["more_in_summary"].format(count=rest).text(settings.language))
            ]
        shown += each
    return shown


def _annotation(level: str, verdict: Verdict, cause: Cause | None, settings: Settings) -> str:
    place, properties = place_of(verdict, cause), {}
    if verdict.file is not None:
        properties["file"] = relative_path(verdict.file, settings.environ)
        if place.line and place.cell is None:  # lines of a notebook's cells are not lines of its file
            properties |= {"line": str(place.line), "endLine": str(place.end_line or place.line)}
            if place.column and place.end_column and place.end_line == place.line:
                properties |= {"col": str(place.column), "endColumn": str(place.end_column)}
    properties["title"] = f"{verdict.subject}: {verdict.status_word.text(settings.language)}"
    return _command(level, properties, message_of(verdict, cause, settings.language))


def _command(name: str, properties: Mapping[str, str], message: str) -> str:
    """Return one workflow command with everything escaped."""
    given = ",".join(f"{key}={_escaped(value).replace(':', '%3A').replace(',', '%2C')}" for key, value in properties.items())
    return f"::{name} {given}::{_escaped(message)}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def summary(report: Report, language: str) -> str:
    """Return the report as Markdown: each verdict with its code frame and the difference that its repair makes."""
    blocks = ["## headway check\n"]
    for verdict, source in report.with_sources():
        blocks.append(_block(verdict, source, language))
    if report.given:
        blocks.append(_fenced("\n".join(points_of(report, language))))
    if report.failure:
        blocks.append(_fenced(report.failure.text(language)))
    kept: list[str] = []
    for block in blocks:
        if sum(len(each.encode()) for each in kept) + len(block.encode()) > MAX_SUMMARY_BYTES - 200:
            kept.append(TEXTS["summary_too_long"].text(language) + "\n")
            break
        kept.append(block)
    return "\n".join(kept)


def _block(verdict: Verdict, source: Source | None, language: str) -> str:
    parts = [_fenced(f"{printable(verdict.file)}\n{verdict.text(language)}" if verdict.file else verdict.text(language))]
    if source is not None and verdict.status not in ("correct", "not judged"):
        parts.append(_fenced(frame(source, place_of(verdict, verdict.causes[0] if verdict.causes else None)), "python"))
        if verdict.repair:
            parts.append(_fenced(diff_of(source, verdict.repair.edits), "diff"))
    return "\n".join(part for part in parts if part)


def _fenced(text: str, language: str = "text") -> str:
    """Return a code block whose fence is longer than any run of backticks in it."""
    if not text:
        return ""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    return f"{fence}{language}\n{text.rstrip()}\n{fence}\n"
