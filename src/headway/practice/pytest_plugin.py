"""A pytest fixture for grading.

    def test_softmax(headway_check):
        headway_check(softmax)                      # or headway_check(mine, "softmax")

The test fails with the verdict if the function differs from the definition.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture
def headway_check() -> Callable[..., Any]:
    """Return a function that judges its argument, fails the test unless it is correct, and returns the verdict."""
    from headway.practice import Verdict, check

    def judged(subject: Callable[..., Any], exercise: str | None = None) -> Verdict:
        __tracebackhide__ = True
        verdict = check(subject, exercise)
        if not verdict.is_correct:
            pytest.fail(verdict.text("en"), pytrace=False)
        return verdict

    return judged
