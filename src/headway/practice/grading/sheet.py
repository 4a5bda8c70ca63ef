"""The grade sheet: the table [grade] of headway.toml."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from headway.practice.grading.grade import PartPoints, Sheet
from headway.practice.message import Message, PracticeError, unknown_name
from headway.practice.parts import part_named
from headway.practice.rules import rules_of
from headway.practice.settings import read_settings

KEYS = ("points", "partial")


def read_sheet(path: Path) -> Sheet:
    """Return the grade sheet in the table [grade] of a headway.toml.

    Errors   OptionError for a missing file or table, an unknown part or mistake, or points that are no numbers from 0 to the maximum.
    """
    table = read_settings(path).get("grade")
    if not isinstance(table, dict) or not table:
        raise PracticeError(Message(f"got {path} without points, expected a table [grade]", f"{path} 中没有分数，应有 [grade] 表"))
    sheet: dict[str, PartPoints] = {}
    for name, value in table.items():
        part = part_named(name)
        if part in sheet:
            raise PracticeError(Message(f"got points for {part} twice, expected them once", f"{part} 的分数出现了两次，应只有一次"))
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
        raise PracticeError(
            Message(
                f"got partial = {partial!r} for {part}, expected a table such as {{no_shift = 1}}",
                f"{part} 的 partial 为 {partial!r}，应为形如 {{no_shift = 1}} 的表",
            )
        )
    known = rules_of(part)
    for name in partial:
        if name not in known:
            raise unknown_name(name, list(known))
    return PartPoints(maximum, {name: _number(f"{part}, {name}", points, maximum) for name, points in partial.items()})


def _number(place: str, value: Any, maximum: float = math.inf) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= maximum or not math.isfinite(value):
        limits = "from 0" if maximum == math.inf else f"from 0 to {maximum:g}"
        limits_zh = "不小于 0" if maximum == math.inf else f"0 到 {maximum:g}"
        raise PracticeError(
            Message(f"got points {value!r} for {place}, expected a number {limits}", f"{place} 的分数为 {value!r}，应为{limits_zh}的数")
        )
    return float(value)
