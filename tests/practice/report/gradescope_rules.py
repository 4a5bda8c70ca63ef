"""The rules of Gradescope's results.json: a file that breaks them counts as no points."""

from __future__ import annotations

import math

VISIBILITIES = ("visible", "hidden", "after_due_date", "after_published")
OUTPUT_FORMATS = ("text", "html", "simple_format", "md", "ansi")


def check_results(results):
    """Raise a ValueError that names the field that breaks a rule."""
    _check_fields("results", results, {"score": _is_number, "execution_time": _is_number, "output": _is_text, **_COMMON}, {"tests"})
    if "score" not in results and not all("score" in test for test in results.get("tests") or [{}]):
        raise ValueError("results have no score, and not every test has one")
    for number, test in enumerate(results.get("tests", []), 1):
        _check_fields(f"test {number}", test, {**_TEST, **_COMMON})


def _check_fields(place, values, checks, others=frozenset()):
    for name, value in values.items():
        if name not in others and not (name in checks and checks[name](value)):
            raise ValueError(f"{place}: got {name} = {value!r}")


def _is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_text(value):
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
