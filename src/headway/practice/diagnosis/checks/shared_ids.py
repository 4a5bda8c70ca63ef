"""Tokens of a trained tokenizer that have the same id: decoding gives one of them for the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headway.practice.diagnosis.adapters.tokenizer_calls import TokenizerCall
from headway.practice.diagnosis.adapters.trainer_calls import TrainerCall
from headway.practice.diagnosis.checks.trial import Trial
from headway.practice.message import EMPTY
from headway.practice.texts import Texts
from headway.practice.verdict import Cause

TEXTS = Texts("diagnosis")

VOCABULARIES = ("vocab", "vocabulary", "token_to_id", "token2id", "stoi", "encoder")
"""Names of the attributes with the ids of tokens by their texts."""


def shared_ids_cause(trial: Trial) -> Cause | None:
    """Return the cause for a tokenizer whose training gives one id to two tokens, which its encoding reads; None for others."""
    call = trial.call
    if not isinstance(call, TokenizerCall) or isinstance(call, TrainerCall) or call.given or not trial.probes:
        return None
    try:
        tokenizer = call.trained(trial.probes[0].inputs)
    except Exception:  # training of another form
        return None
    name, shared = next(((name, pair) for name, pair in _shared(vars(tokenizer)) if f"self.{name}" in call.subject.own_source), ("", ()))
    if not shared:
        return None
    says = TEXTS["shared_ids"].format(first=repr(shared[0]), second=repr(shared[1]), name=name)
    line = call.subject.line_of(rf"self\.{name}\[\w+\] *= *len\(") or call.subject.line_of(rf"self\.{name}\b.*=")
    return Cause("shared_ids", says, TEXTS["count_ids"], EMPTY, line=line)


def _shared(held: Mapping[str, Any]) -> list[tuple[str, tuple[Any, Any]]]:
    """Return the first two tokens with the same id in each vocabulary that an instance holds."""
    found = []
    for name, value in held.items():
        if name.strip("_") not in VOCABULARIES or not isinstance(value, dict) or not all(type(each) is int for each in value.values()):
            continue
        by_id: dict[int, Any] = {}
        pair = next(((by_id[place], token) for token, place in value.items() if by_id.setdefault(place, token) != token), None)
        if pair is not None:
            found.append((name, pair))
    return found
