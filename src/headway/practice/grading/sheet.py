"""The grade sheet: the table [grade] of headway.toml."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from headway.practice.grading.grade import PartPoints, Sheet
from headway.practice.message import PracticeError, unknown_name
from headway.practice.parts import part_named
from headway.practice.rules import rules_of
from headway.practice.settings import read_settings
from headway.practice.texts import Texts

TEXTS = Texts("check")

KEYS = ("points", "partial")


def read_sheet(path: Path) -> Sheet:
    """Return the grade sheet in the table [grade] of a headway.toml.

    Errors   OptionError for a missing file or table, an unknown part or mistake, or points that are no numbers from 0 to the maximum.
    """
    table = read_settings(path).get("grade")
    if not isinstance(table, dict) or not table:
        raise PracticeError(TEXTS["no_grade_table"].format(path=path))
    sheet: dict[str, PartPoints] = {}
    for name, value in table.items():
        part = part_named(name)
        if part in sheet:
            raise PracticeError(TEXTS["points_twice"].format(part=part))
        sheet[part] = _points_of(part, value)
    return sheet


def _points_of(part: str, value: Any) -> PartPoints:
    if not isinstance(value, dict):
        return PartPoints(_number(part, value))
    for key in value:
        if key not in KEYS:
            raise unknown_name(key, KEYS)
    maximum = _number(part, value.get("points"))
    partial = value.get("partial", {})
    if not isinstance(partial, dict):
        raise PracticeError(TEXTS["partial_is_no_table"].format(partial=partial, part=part))
    known = rules_of(part)
    for name in partial:
        if name not in known:
            raise unknown_name(name, list(known))
    return PartPoints(maximum, {name: _number(f"{part}, {name}", points, maximum) for name, points in partial.items()})


def _number(place: str, value: Any, maximum: float = math.inf) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= maximum or not math.isfinite(value):
        limits = TEXTS["from_0"] if maximum == math.inf else TEXTS["from_0_to"].format(maximum=maximum)
        raise PracticeError(TEXTS["points_out_of_range"].format(value=value, place=place, limits=limits))
    return float(value)
