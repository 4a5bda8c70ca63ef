"""The result.json that an autograder of Classroom 50 writes.

Source   Classroom 50's documentation, "Advanced Autograding"
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from headway.practice.message import PracticeError
from headway.practice.report.formats import Output, Settings
from headway.practice.report.formats.text import text_of
from headway.practice.report.results import Report
from headway.practice.texts import Texts

TEXTS = Texts("check")

SCHEMA = "classroom50/result/v1"
VARIABLES = {
    "classroom": "CLASSROOM",
    "assignment": "ASSIGNMENT",
    "submission": "SUBMISSION_TAG",
    "commit": "COMMIT_URL",
    "release": "RELEASE_URL",
}
"""Environment variable of each field, set by the runner."""


def outputs(report: Report, settings: Settings) -> Iterator[Output]:
    """Yield result.json, then the text for the log.

    Errors   OptionError if the runner's variables are not set, or the points are not whole numbers.
    """
    result = result_of(report, settings.environ, datetime.now(UTC))
    yield Output(json.dumps(result, ensure_ascii=False, indent=2) + "\n", settings.path or Path("result.json"))
    yield Output(text_of(report, settings.language) + "\n")


def result_of(report: Report, environ: Mapping[str, str], time: datetime) -> dict[str, Any]:
    """Return the contents of result.json."""
    lacking = [name for name in VARIABLES.values() if not environ.get(name)]
    if lacking:
        names = ", ".join(lacking)
        raise PracticeError(TEXTS["no_variables"].format(names=names), hint=TEXTS["outside_of_classroom50"])
    grade = report.grade
    every = [number for each in grade.sheet.values() for number in (each.maximum, *each.partial.values())]
    if any(number != int(number) for number in every):
        raise PracticeError(TEXTS["fractions"], hint=TEXTS["multiply_points"])
    fields = {field: environ[name] for field, name in VARIABLES.items()}
    return {
        "schema": SCHEMA,
        **fields,
        "review": environ.get("REVIEW_URL") or environ["COMMIT_URL"],
        "datetime": time.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "score": int(grade.points),
        "max-score": int(grade.maximum),
        "tests": [
            {"test-name": each.part, "passed": each.verdict.is_correct, "score": int(each.points), "max-score": int(each.maximum)}
            for each in grade.parts
        ],
    }
