"""Calls of a learner's class that learns the merges of a byte-pair encoding and holds them afterwards."""

from __future__ import annotations

import inspect
import re
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from headway.practice.diagnosis.adapters.tokenizer_calls import TokenizerCall, bases_and_forms
from headway.practice.diagnosis.calls.binding import Binding, fits_name
from headway.practice.diagnosis.calls.calling import Call, function_calls
from headway.practice.diagnosis.reading.methods import TRAINING
from headway.practice.diagnosis.reading.subject import Subject, first_method, parameters_of
from headway.practice.exercise import Exercise

MERGES = r"(bpe_?)?(merges|merge_(rules|list|ranks|table|pairs)|ranks|rules)|merge_?history"
"""Pattern of the attribute with the merges."""

PAIRS_IN_VOCAB = r"self\.\w*vocab\w*\[\w*pair\w*\] *=[^=]"
"""Pattern of the source of a class that keeps the merged pairs in its vocabulary, next to the characters."""

VOCAB = r"(id_?(to|2)_?)?(vocab(ulary)?|token|byte)s?|itos"
"""Pattern of the attribute with the tokens by id."""


class TrainerCall(TokenizerCall):
    """A learner's trainer; the output is the merges that it holds afterwards, in tokens where it holds these, too."""

    def invoke(self, arguments: Mapping[str, Any]) -> Any:
        """Construct the trainer, train it and read its merges."""
        given = {"corpus": arguments["text"], **{name: value for name, value in arguments.items() if name != "text"}}
        with tempfile.TemporaryDirectory() as folder:
            trainer, _ = self._made(given, Path(folder))
        held = {name.strip("_"): value for name, value in vars(trainer).items()}
        merges = next((value for name, value in held.items() if re.fullmatch(MERGES, name)), None)
        if merges is None:
            vocab = next(value for name, value in held.items() if re.fullmatch(VOCAB, name))
            merges = {pair: place for pair, place in vocab.items() if isinstance(pair, tuple)}
        return [tuple(_token(part, _tokens(held)) for part in pair) for pair in _ordered(merges)]

    def _known(self, arguments: Mapping[str, Any], folder: Path) -> dict[str, Any]:
        """Return the operands; the size of the vocabulary includes the special tokens."""
        known = super()._known(arguments, folder)
        return known | {"vocab_size": known["vocab_size"] + len(known["special_tokens"] or ())}


def _ordered(merges: Any) -> list[Any]:
    """Return the merged pairs in the order in which they were learned."""
    if not isinstance(merges, dict):
        return [each[0] if len(each) == 2 and isinstance(each[0], tuple | list) else tuple(each[:2]) for each in merges]
    are_numbered = all(type(each) is int for each in merges.values())
    return sorted(merges, key=merges.__getitem__) if are_numbered else list(merges)


def _tokens(held: Mapping[str, Any]) -> Mapping[Any, Any]:
    """Return the tokens by id, empty if they are not held."""
    found = [value for name, value in held.items() if re.fullmatch(VOCAB, name)]
    by_id = [each if isinstance(each, dict) else dict(enumerate(each)) for each in found if isinstance(each, dict | list)]
    return next(
        (
            each
            for each in by_id
            if each and all(type(key) is int and isinstance(token, str | bytes | tuple) for key, token in each.items())
        ),
        {},
    )


def _token(part: Any, tokens: Mapping[Any, Any]) -> Any:
    """Return a part of a pair as the token that its id means."""
    return tokens.get(part, part) if type(part) is int else part


def trainer_calls(subject: Subject, exercise: Exercise, library: str) -> list[Call]:
    """Return the ways to train: one per number of tokens before the first merge; none for a class that holds no merges.

    A class whose training needs no instance is called as the function that it is.
    """
    method = first_method(subject.value, TRAINING) if inspect.isclass(subject.value) else ""
    if method and isinstance(inspect.getattr_static(subject.value, method), classmethod | staticmethod):
        return function_calls(replace(subject, value=getattr(subject.value, method)), exercise, library)
    names = re.findall(r"self\.(\w+)(?: *:[^=\n]+)? *=[^=]", subject.own_source)
    holds_merges = any(re.fullmatch(MERGES, each.strip("_")) for each in names) or re.search(PAIRS_IN_VOCAB, subject.code)
    if not method or not holds_merges:
        return []
    roles = {role.name: role for role in exercise.roles}
    taken = [*subject.parameters, *parameters_of(getattr(subject.value, method), is_bound=True)]
    special = [role.name for role in exercise.roles if role.name == "special_tokens" and any(fits_name(each.name, role) for each in taken)]
    binding = Binding({name: roles[name] for name in ("text", "num_merges", *special)})
    return [TrainerCall(subject, binding, library, base=base, is_listed=is_listed) for base, is_listed in bases_and_forms(subject)]
