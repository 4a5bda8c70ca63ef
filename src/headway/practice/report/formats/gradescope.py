"""Gradescope's results.json.

Source   gradescope-autograders.readthedocs.io, "Autograder Specifications"
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headway.practice.report.formats import Output, Settings
from headway.practice.report.formats.text import text_of
from headway.practice.report.results import Report

RESULTS = Path("/autograder/results/results.json")
"""The file that Gradescope reads; on other machines it is results.json in the current folder."""


def outputs(report: Report, settings: Settings) -> Iterator[Output]:
    """Yield the text for the log, then results.json."""
    results = results_of(report, settings.language)
    usual = RESULTS if RESULTS.parent.is_dir() else Path(RESULTS.name)
    yield Output(json.dumps(results, ensure_ascii=False, indent=2) + "\n", settings.path or usual)
    yield Output(text_of(report, settings.language) + "\n")


def results_of(report: Report, language: str) -> dict[str, Any]:
    """Return the contents of results.json: one test for each part."""
    grade = report.grade
    tests = [
        {
            "name": _name(each.part, each.title.text(language)),
            "score": each.points,
            "max_score": each.maximum,
            "status": "passed" if each.verdict.is_correct else "failed",
            "output": each.verdict.text(language),
            "output_format": "text",
            "extra_data": {"rule": each.verdict.rule},
        }
        for each in grade.parts
    ]
    results: dict[str, Any] = {"score": grade.points, "execution_time": round(report.seconds, 3), "tests": tests}
    others = [] if not report.given else [each.text(language) for each in report.verdicts if each.exercise == "file"]
    others += [each.text(language) for file in report.files for each in file.unjudged]
    output = "\n".join([*([report.failure.text(language)] if report.failure else []), *others])
    return results | ({"output": output, "output_format": "text"} if output else {})


def _name(part: str, title: str) -> str:
    return part if title.lower() == part else f"{part}: {title}"
