"""Verdicts, and what was not judged, as a JSON list, each in the format headway/verdict/v1."""

from __future__ import annotations

import json
from collections.abc import Iterator

from headway.practice.report.formats import Output, Settings
from headway.practice.report.results import Report


def outputs(report: Report, settings: Settings) -> Iterator[Output]:
    """Yield one list with all verdicts."""
    yield Output(json.dumps([each.to_dict() for each in report.shown], ensure_ascii=False, indent=2) + "\n", settings.path)
