"""Training without special tokens: a pattern of none of them is empty, and splits a text into its characters."""

from __future__ import annotations

import re

from headway.practice.diagnosis.calls.conventions import output_of
from headway.practice.diagnosis.checks.trial import Trial
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.exercise import Probe
from headway.practice.message import EMPTY
from headway.practice.outputs import is_same, precision
from headway.practice.verdict import Cause

JOINED = r"""['"]\|['"]\.join\("""
"""Pattern of the line that makes a pattern of texts."""

NAME, ROLE = "cut_into_characters", "special_tokens"
WITHOUT = Probe("characters of two bytes, no special token", {"text": "éé éé éé ññ", "num_merges": 2, ROLE: []})
"""A text in which the second pair is one of two characters, or in single characters the bytes of another one."""


def empty_pattern_cause(trial: Trial) -> Cause | None:
    """Return the cause for a trainer that is right with special tokens, and merges within single characters for an empty list of them."""
    mistake = next((each for each in trial.exercise.mistakes if each.name == NAME), None)
    if mistake is None or not trial.call.binding.takes(ROLE):
        return None
    without = [each for each in trial.conventions if each.role != ROLE]
    answer = output_of(trial.call, without, WITHOUT.inputs)
    right, wrong = trial.expected(WITHOUT), trial.expected(WITHOUT, (mistake,))
    if is_same(answer, right, precision(answer)) or not is_same(answer, wrong, precision(answer)):
        return None
    return Cause(NAME, mistake.says, mistake.fix, EMPTY, mistake.hides, line=_line_of_pattern(trial.call.subject))


def _line_of_pattern(subject: Subject) -> int | None:
    """Return the line that joins the special tokens to a pattern: of the trainer, else of its file; None without one."""
    lines = enumerate(subject.file_source.splitlines(), 1)
    return subject.line_of(JOINED) or next((number for number, text in lines if re.search(JOINED, text)), None)
