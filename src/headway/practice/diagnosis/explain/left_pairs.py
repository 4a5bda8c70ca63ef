"""Training until no pair is left: a loop for a number of merges has to end there, and a count of 0 that stays in a table is no pair of the text, and merging it adds a token that never occurs."""

from __future__ import annotations

from headway.practice.diagnosis.calls.conventions import output_of
from headway.practice.diagnosis.checks.trial import Trial
from headway.practice.diagnosis.checks.trials import is_endless
from headway.practice.diagnosis.explain.failure import explain
from headway.practice.exercise import Probe
from headway.practice.message import EMPTY
from headway.practice.outputs import Raised
from headway.practice.texts import Texts
from headway.practice.verdict import Cause

TEXTS = Texts("diagnosis")

MERGES = r"max\(|most_common\(|heappop\("
"""Pattern of the line that chooses the pair to merge."""

FEW = (
    Probe("two merges leave no pair", {"text": "ab ab", "num_merges": 3}),
    Probe("one merge leaves no pair", {"text": "ab", "num_merges": 3}),
)
FEW_OF_CLASS = Probe("a tokenizer of two letters", {"corpus": "ab", "num_merges": 3, "text": "ab"})


def left_pairs_cause(trial: Trial) -> Cause | None:
    """Return the cause for a trainer that merges more pairs than a short text has, or never ends; None for one that stops there, or raises."""
    if trial.exercise.name == "bpe_tokenizer" and trial.call.binding.takes("corpus"):
        answer = output_of(trial.call, trial.conventions, FEW_OF_CLASS.inputs)
        return explain(answer.error, trial.call.subject) if isinstance(answer, Raised) and is_endless(answer) else None
    if trial.exercise.name != "bpe_train":
        return None
    for probe in FEW:
        answer, right = output_of(trial.call, trial.conventions, probe.inputs), trial.expected(probe)
        if isinstance(answer, Raised) and is_endless(answer):
            return explain(answer.error, trial.call.subject)
        if isinstance(answer, tuple) and isinstance(right, tuple) and len(answer) > len(right) and answer[: len(right)] == right:
            break
    else:
        return None
    return Cause(
        "absent_pairs_merged", TEXTS["absent_pairs_merged"], TEXTS["stop_without_pairs"], EMPTY, line=trial.call.subject.line_of(MERGES)
    )
