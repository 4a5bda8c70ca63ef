"""Functions that normalize a whole array, in files that show no array of several rows: vectors alone may be meant."""

from __future__ import annotations

import inspect
import re

from headway.practice.diagnosis.reading.subject import without_comments
from headway.practice.recipes.conventions import OF_SCORES
from headway.practice.verdict import Verdict

OF_WHOLE = {"global_shift", "sums_everything"}
"""Mistakes that no vector shows."""

OF_ROWS = r"(?i)batch|keepdims?\b|\brows?\b|\bcolumns?\b|matri|shape\[-?[1-9]\]|size\(-?[1-9]\)|\[(:|\.\.\.|None), |\[\s*\[|\b(axis|dim) *="
"""Pattern of code with arrays of several rows."""


def may_take_vectors(verdict: Verdict) -> bool:
    """Return True if a softmax is wrong for rows alone, and its file calls it without attention and without arrays of several rows."""
    if verdict.exercise not in ("softmax", "log_softmax") or verdict.status != "wrong" or verdict.trial is None:
        return False
    names = {name for cause in verdict.causes for name in cause.name.split(" + ")}
    subject = verdict.trial.call.subject
    if not (names and names <= OF_WHOLE and inspect.isfunction(subject.value)) or len(subject.parameters) != 1:
        return False
    code = without_comments(subject.file_source)
    has_calls = len(re.findall(rf"(?<!\bdef )\b{subject.short_name}\(", code)) > 0
    has_scores = subject.module is None or re.search(OF_SCORES, "\n".join(vars(subject.module))) is None
    return has_calls and not has_scores and re.search(OF_ROWS, code) is None
