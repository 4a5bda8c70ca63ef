"""Verdicts and files for the tests of reports: what a check of FILE with a repair search would return."""

from __future__ import annotations

from pathlib import Path

from headway.practice.message import Message
from headway.practice.report.results import FileResult, Report
from headway.practice.source import located, read
from headway.practice.verdict import Cause, Edit, Repair, Verdict

TEXT = """import numpy as np

def attention(query, key, value):
    scores = query @ key.T / np.sqrt(value.shape[-1])  # é
    return scores @ value
"""

NAME = Message("attention", "注意力")
CAUSE = Cause(
    "scale", Message("divides by √value_dim", "除以 √value_dim"), Message("divide by √key_dim", "除以 √key_dim"), Message("", ""), line=4
)
REPAIR = Repair(
    (Edit(4, 38, 4, 53, "key.shape[-1]"),), Message("value.shape[-1] → key.shape[-1]", "value.shape[-1] → key.shape[-1]"), 11, 40
)
WRONG = Verdict("attention", "scaled_dot_product_attention", 3, "wrong", (CAUSE,), title=NAME, repair=REPAIR)


def repaired(path: Path, text: str = TEXT) -> Report:
    """Return the report on one file with a wrong attention, whose repair is known."""
    path.write_bytes(text.encode())
    source = read(path)
    return Report((FileResult(path, (located(WRONG, source),), source, 0.5),))
