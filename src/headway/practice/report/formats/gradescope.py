"""Gradescope's results.json.

Source   gradescope-autograders.readthedocs.io, "Autograder Specifications"
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from headway.practice.report.formats import Output, Settings
from headway.practice.report.formats.text import text_of
from headway.practice.report.results import Report

RESULTS = Path("/autograder/results/results.json")
"""The file that Gradescope reads; on other machines it is results.json in the current folder."""

VISIBILITIES = ("visible", "hidden", "after_due_date", "after_published")
OUTPUT_FORMATS = ("text", "html", "simple_format", "md", "ansi")


def outputs(report: Report, settings: Settings) -> Iterator[Output]:
    """Yield the text for the log, then results.json."""
    results = results_of(report, settings.language)
    check_results(results)
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


def check_results(results: Mapping[str, Any]) -> None:
    """Check the rules of the format: a file that breaks them counts as no points.

    Errors   ValueError that names the field.
    """
    _check_fields("results", results, {"score": _is_number, "execution_time": _is_number, "output": _is_text, **_COMMON}, {"tests"})
    if "score" not in results and not all("score" in test for test in results.get("tests") or [{}]):
        raise ValueError("results have no score, and not every test has one")
    for number, test in enumerate(results.get("tests", []), 1):
        _check_fields(f"test {number}", test, {**_TEST, **_COMMON})


def _check_fields(place: str, values: Mapping[str, Any], checks: Mapping[str, Any], others: set[str] = frozenset()) -> None:  # type: ignore[assignment]
    for name, value in values.items():
        if name not in others and not (name in checks and checks[name](value)):
            raise ValueError(f"{place}: got {name} = {value!r}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


_COMMON = {
    "visibility": VISIBILITIES.__contains__,
    "stdout_visibility": VISIBILITIES.__contains__,
    "output_format": OUTPUT_FORMATS.__contains__,
    "extra_data": lambda value: isinstance(value, dict),
}
_TEST = {
    "score": _is_number,
    "max_score": _is_number,
    "status": ("passed", "failed").__contains__,
    "name": _is_text,
    "number": _is_text,
    "output": _is_text,
}
