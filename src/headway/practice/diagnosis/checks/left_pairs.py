"""Training until no pair is left: a loop for a number of merges has to end there, and a count of 0 that stays in a table is no pair of the text, and merging it adds a token that never occurs."""

from __future__ import annotations

from headway.practice.diagnosis.calls.conventions import output_of
from headway.practice.diagnosis.checks.trial import Trial
from headway.practice.diagnosis.checks.trials import is_endless
from headway.practice.diagnosis.explain.failure import explain
from headway.practice.exercise import Probe
from headway.practice.message import EMPTY
from headway.practice.texts import Texts
from headway.practice.verdict import Cause

TEXTS = Texts("diagnosis")

MERGES = r"max\(|most_common\(|heappop\("
"""Pattern of the line that chooses the pair to merge."""

FEW = Probe("two merges leave no pair", {"text": "ab ab", "num_merges": 3})


def left_pairs_cause(trial: Trial) -> Cause | None:
    """Return the cause for a trainer that merges more pairs than a short text has, or never ends; None for one that stops there, or raises."""
    if trial.exercise.name != "bpe_train":
        return None
    answer, right = output_of(trial.call, trial.conventions, FEW.inputs), trial.expected(FEW)
    if is_endless(answer):
        return explain(answer.error, trial.call.subject)
    if not (isinstance(answer, tuple) and isinstance(right, tuple) and len(answer) > len(right) and answer[: len(right)] == right):
        return None
    return Cause(
        "absent_pairs_merged", TEXTS["absent_pairs_merged"], TEXTS["stop_without_pairs"], EMPTY, line=trial.call.subject.line_of(MERGES)
    )
