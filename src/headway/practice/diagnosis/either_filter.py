"""Samplers that apply top-k or top-p, one of them only without the other: what both together mean is their own choice."""

from __future__ import annotations

import re

from headway.practice.verdict import Verdict

EITHER = r"(?s)\bif\b[^\n]*\btop_?k\b[^\n]*:.*\belif\b[^\n]*\btop_?p\b|\bif\b[^\n]*\btop_?p\b[^\n]*:.*\belif\b[^\n]*\btop_?k\b"
"""Pattern of the source of a function that looks at one of both numbers only without the other."""


def filters_by_either(verdict: Verdict) -> bool:
    """Return True for a sampler of outputs that nothing explains, which applies one of both filters."""
    if verdict.exercise != "sample" or verdict.status != "unknown" or verdict.trial is None:
        return False
    return re.search(EITHER, verdict.trial.call.subject.own_source) is not None
