"""Calls of a function that merges a pair and keeps an index up to date: how often each pair occurs, and in which words."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from headway.practice.diagnosis.calls.binding import Binding, bind_parameters, fits_name
from headway.practice.diagnosis.calls.calling import Call
from headway.practice.diagnosis.calls.compare import as_numbers
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.exercise import Role
from headway.practice.message import CallError
from headway.practice.roles import Roles
from headway.practice.texts import Texts

TEXTS = Texts("diagnosis")
ROLES = Roles("merger_calls")

INDEX = ROLES.each("pair_counts", "places")
REST = ROLES.each("queue", "vocab", "merges")
WORDS = ROLES("words")
OPERANDS = IDS, PAIR, NEW_ID = Roles("merge_pair").each("ids", "pair", "new_id")

Word = tuple[Any, ...]

OTHER = ("\ue000", "\ue001", "\ue002")
"""A word without the pair, which stays as it is. It has three symbols, so that it is no pair, and no token has them."""
TIMES, OTHER_TIMES = 3, 2
"""Numbers of occurrences of the word and of the other one."""


@dataclass
class MergerCall(Call):
    """A function that merges in a corpus of words with their counts; the output is the only word with the pair.

    taken     parameter → role
    is_bytes  True for symbols of bytes, False for texts
    """

    taken: Mapping[str, Role] = None  # type: ignore[assignment]
    is_bytes: bool = True

    @property
    def parameters(self) -> Sequence[inspect.Parameter]:
        """Return one parameter per role, independent of the learner's own."""
        return [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in self.binding.role_of]

    def invoke(self, arguments: Mapping[str, Any]) -> Any:
        """Merge in a corpus, and compare the index with that of the merged words."""
        word = tuple(map(self._symbol, as_numbers(arguments["ids"])))
        pair = tuple(map(self._symbol, as_numbers(arguments["pair"])))
        other = tuple(map(self._symbol, map(ord, OTHER)))
        words = {word: TIMES, other: OTHER_TIMES}
        counts, places = {pair: 0} | counted(words), {pair: set[Word]()} | placed(words)
        known: dict[str, Any] = {"words": words, "pair": pair, "pair_counts": counts, "places": places, "new_id": int(arguments["new_id"])}
        known |= {"queue": [], "vocab": {}, "merges": []}
        answer = self.subject.value(**{name: known[role.name] for name, role in self.taken.items()})
        found = [*(answer if isinstance(answer, tuple) else [answer]), words, counts, places]
        merged = _first(found, _is_corpus)
        if merged.get(other) != OTHER_TIMES or len(merged) != len(words):
            raise CallError(TEXTS["merger_other_words"])
        (joined,) = (each for each in merged if each != other)
        kept = {each: count for each, count in _first(found, _is_tally).items() if count}
        if kept != counted(merged) or merged[joined] != TIMES:
            raise CallError(TEXTS["merger_counts"])
        index = _first(found, _is_index)
        if any(each not in index.get(pair, ()) for pair, each in _places(merged)):
            raise CallError(TEXTS["merger_places"])
        return [int(arguments["new_id"]) if each == pair[0] + pair[1] else self._number(each) for each in joined]

    def _symbol(self, number: int) -> Any:
        return chr(number).encode() if self.is_bytes else chr(number)

    def _number(self, symbol: Any) -> int:
        return ord(symbol.decode() if self.is_bytes else symbol)


def counted(words: Mapping[Word, int]) -> dict[tuple[Any, Any], int]:
    """Return how often each pair occurs in words with their counts."""
    found: Counter[tuple[Any, Any]] = Counter()
    for word, count in words.items():
        for pair in pairwise(word):
            found[pair] += count
    return dict(found)


def placed(words: Mapping[Word, int]) -> dict[tuple[Any, Any], set[Word]]:
    """Return the words in which each pair occurs."""
    found: dict[tuple[Any, Any], set[Word]] = {}
    for pair, word in _places(words):
        found.setdefault(pair, set()).add(word)
    return found


def _places(words: Mapping[Word, int]) -> Iterator[tuple[tuple[Any, Any], Word]]:
    return ((pair, word) for word in words for pair in pairwise(word))


def _first(values: Sequence[Any], is_meant: Callable[[Mapping[Any, Any]], bool]) -> dict[Any, Any]:
    """Return the first dict of a kind: one that a function returned, or else one that it was given."""
    return next(each for each in values if isinstance(each, dict) and each and is_meant(each))


def _is_corpus(value: Mapping[Any, Any]) -> bool:
    return any(isinstance(key, tuple) and len(key) == len(OTHER) and isinstance(count, int) for key, count in value.items())


def _is_tally(value: Mapping[Any, Any]) -> bool:
    return all(isinstance(key, tuple) and len(key) == 2 and isinstance(count, int) for key, count in value.items())


def _is_index(value: Mapping[Any, Any]) -> bool:
    return all(isinstance(words, set | list | dict) for words in value.values())


def merger_calls(subject: Subject, library: str) -> list[Call]:
    """Return the calls of a function that keeps an index, for symbols of bytes and of texts; none for another function."""
    named = {each.name: next((role for role in INDEX if fits_name(each.name, role)), None) for each in subject.parameters}
    if set(INDEX) - set(named.values()) or inspect.isclass(subject.value):
        return []
    index = {name: role for name, role in named.items() if role is not None}
    rest = [each for each in subject.parameters if each.name not in index]
    bound = bind_parameters(rest, (PAIR, *REST, NEW_ID, WORDS), unnamed=(WORDS,))
    if bound is None or not (bound.takes("pair") and bound.takes("words")):
        return []
    taken = {each.name: (index | dict(bound.role_of))[each.name] for each in subject.parameters if each.name in index | dict(bound.role_of)}
    binding = Binding({role.name: role for role in OPERANDS})
    forms = (True, False) if re.search(r"\bbytes\b|\bb['\"]", subject.file_source) else (False,)
    return [MergerCall(subject, binding, library, taken=taken, is_bytes=is_bytes) for is_bytes in forms]
