"""Counting pairs: the number of occurrences of each two adjacent tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy

from headway.practice.exercise import Convention, Exercise, Inputs, Probe, Step, unchanged
from headway.practice.roles import Roles
from headway.practice.texts import Texts

TEXTS = Texts("pair_counts")
ROLES = Roles("pair_counts")


def recipe(steps: Any, ids: Any, counts: Any = None) -> Any:
    """The definition as named steps: pairs, tally, finish."""
    return steps.finish(steps.tally(steps.pairs(list(ids)), dict(counts or {})))


def definition(ids: Any, counts: Any = None) -> Any:
    """Count the pairs on top of the given counts."""
    return dict(Counter(pairwise(ids)) + Counter(counts or {}))


def _added(pairs: Any, counts: dict[Any, int]) -> dict[Any, int]:
    for pair in pairs:
        counts[pair] = counts.get(pair, 0) + 1
    return counts


STEPS: dict[str, Step] = {"pairs": lambda ids: list(pairwise(ids)), "tally": _added}

MISTAKES = (
    TEXTS.mistake("last_pair_missing", pairs=lambda ids: list(pairwise(ids))[:-1]),
    TEXTS.mistake("every_other_pair", pairs=lambda ids: list(pairwise(ids))[::2]),
    TEXTS.mistake("runs_counted_once", pairs=lambda ids: _without_overlap(ids)),
    TEXTS.mistake("order_lost", pairs=lambda ids: [tuple(sorted(pair)) for pair in pairwise(ids)]),
    TEXTS.mistake("counted_once_each", tally=lambda pairs, counts: counts | dict.fromkeys(pairs, 1)),
    TEXTS.mistake("counted_one_too_few", tally=lambda pairs, counts: {pair: count - 1 for pair, count in _added(pairs, counts).items()}),
    TEXTS.mistake("tokens_not_pairs", pairs=unchanged),
    TEXTS.mistake("end_joined_to_start", pairs=lambda ids: [(ids[place - 1], ids[place]) for place in range(len(ids))]),
    TEXTS.mistake("earlier_counts_lost", tally=lambda pairs, counts: _added(pairs, {})),
)


def _without_overlap(ids: Any) -> list[Any]:
    pairs, place = [], 0
    while place + 1 < len(ids):
        is_run = place + 2 < len(ids) and ids[place] == ids[place + 1] == ids[place + 2]
        pairs.append((ids[place], ids[place + 1]))
        place += 2 if is_run else 1
    return pairs


def _plain(answer: Any, inputs: Inputs) -> Any:
    """Return the pairs of plain numbers as keys, and lists of (pair, count) as a dict."""
    if isinstance(answer, tuple) and len(answer) > 1 and isinstance(answer[0], dict):  # counts, and places of the pairs
        answer = answer[0]
    if isinstance(answer, numpy.ndarray) and answer.size == 0:  # an empty list of pairs
        return {}
    if isinstance(answer, tuple) and all(isinstance(each, tuple) and len(each) == 2 for each in answer):
        answer = {_key(each[0]): each[1] for each in answer}
    if not isinstance(answer, dict):
        return answer
    return {tuple(map(_number, key)) if isinstance(key, tuple) else key: count for key, count in answer.items()}


def _key(pair: Any) -> Any:
    """Return a pair as a key: as a tuple of numbers if it is an array or a tuple of arrays."""
    if isinstance(pair, tuple):
        return tuple(each.item() if isinstance(each, numpy.ndarray) and each.ndim == 0 else each for each in pair)
    return tuple(pair.tolist()) if isinstance(pair, numpy.ndarray) else pair


def _number(token: Any) -> int:
    return token[0] if isinstance(token, bytes) else int(token)


def _often(words: Callable[[list[int], int], Inputs]) -> Callable[[Inputs], Inputs | None]:
    """Return an encoding that passes the ids as a word that occurs several times; None with earlier counts."""
    return lambda inputs: None if inputs.get("counts") else inputs | words(list(inputs["ids"]), _frequency(inputs))


def _frequency(inputs: Inputs) -> int:
    """Return how often a word occurs, which depends on its length."""
    return 2 + len(inputs["ids"]) % 3


def _onto_counts(inputs: Inputs) -> Inputs:
    """Return the inputs with given counts, none at first: a function that adds to them needs some."""
    return {"counts": Counter()} | inputs


def _one_word(symbol: Callable[[int], Any]) -> Callable[[Inputs], Inputs]:
    """Return an encoding that passes the ids as one word, with the number of its occurrences apart; given counts are of as many words."""

    def encode(inputs: Inputs) -> Inputs:
        count, given = _frequency(inputs), dict(inputs.get("counts") or {})
        counts = Counter({tuple(map(symbol, pair)): count * each for pair, each in given.items()})
        return inputs | {"ids": tuple(map(symbol, inputs["ids"])), "frequencies": count, "counts": counts}

    return encode


def _texts(ids: Sequence[int]) -> tuple[str, ...]:
    return tuple(str(each) for each in ids)


def _bytes(ids: Sequence[int]) -> tuple[bytes, ...]:
    return tuple(bytes([each]) for each in ids)


WITH_COUNTS = (
    _often(lambda ids, count: {"ids": {tuple(ids): count}}),
    _often(lambda ids, count: {"ids": {_texts(ids): count}}),
    _often(lambda ids, count: {"ids": {" ".join(_texts(ids)): count}}),  # as in Sennrich et al. 2016
    _often(lambda ids, count: {"ids": [(tuple(ids), count)]}),
    _often(lambda ids, count: {"ids": {_bytes(ids): count}}),  # as in Stanford's CS336
)
"""Forms of words with their frequencies in one value."""

APART = (
    _often(lambda ids, count: {"ids": [ids], "frequencies": [count]}),
    _often(lambda ids, count: {"ids": {"word": ids}, "frequencies": {"word": count}}),
    _often(lambda ids, count: {"ids": {"word": _bytes(ids)}, "frequencies": {"word": count}}),
)
"""Forms of words and their frequencies in two values: lists, or dicts by word."""

AS_CORPUS = (
    _often(lambda ids, count: {"ids": [ids] * count}),
    _often(lambda ids, count: {"ids": [_texts(ids)] * count}),
    _often(lambda ids, count: {"ids": [_bytes(ids)] * count}),
)
"""Forms of a list of words."""


def _per_word(answer: Any, inputs: Inputs) -> Any:
    """Return the counts in one word of several that are alike."""
    found = _plain(answer, inputs)
    return {key: count / _frequency(inputs) for key, count in found.items()} if isinstance(found, dict) else found


def _once(answer: Any, inputs: Inputs) -> Any:
    """Return a set of pairs, or a list of distinct ones, as counts of 1."""
    if not isinstance(answer, tuple | numpy.ndarray) or not all(numpy.shape(pair) == (2,) for pair in answer):
        return None
    pairs = [tuple(map(int, pair)) for pair in answer]
    return dict.fromkeys(pairs, 1) if len(set(pairs)) == len(pairs) else None


WORDS = (
    r"items\(|\bfor\s+(\w+, *)?\(?\w+, *\w*(freq|count|cnt|n|f|c)\w*\)? in\b"
    r"|\bfor (?P<word>\w+) in (?:list\()?(?P<words>\w+)(?:\.keys\(\))?\)?:(.|\n)*\b(?P=words)\[(?P=word)\]"
)
"""Pattern of the source of a function that takes words with their frequencies."""


LOOPS = r"(?s)\bfor\b.*(\bfor\b|\.update\(|Counter\()"
"""Pattern of the source of a function that goes through words, and counts the pairs of each."""


def probes() -> tuple[Probe, ...]:
    """Repeated pairs, a run, a single token, given counts."""
    return (
        Probe("repeated", {"ids": [1, 2, 3, 1, 2, 5, 2, 1]}),
        Probe("a run", {"ids": [7, 7, 7, 3, 7, 7]}),
        Probe("one pair", {"ids": [4, 9]}),
        Probe("one token", {"ids": [4]}),
        Probe("bytes", {"ids": list(b"banana bandana")}),
        Probe("given counts", {"ids": [1, 2, 1, 2], "counts": Counter({(1, 2): 5, (8, 8): 1})}),
    )


EXERCISE = Exercise(
    name="pair_counts",
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(ROLES("ids"), ROLES("counts", neutral=None, may_change=True), ROLES("frequencies")),
    probes=probes,
    mistakes=MISTAKES,
    conventions=(
        (
            Convention(decode=_plain),
            Convention(
                encode=lambda inputs: inputs | {"ids": tuple(inputs["ids"])}, decode=_plain, source=r"@(functools\.)?(lru_)?cache\b"
            ),
            Convention(
                TEXTS["set_of_pairs"], decode=_once, steps={"finish": lambda counts: dict.fromkeys(counts, 1)}, source=r"\bset\(|\{\("
            ),
            *(Convention(TEXTS["takes_words"], encode, _per_word, source=WORDS) for encode in WITH_COUNTS),
            *(Convention(TEXTS["takes_words"], encode, _per_word, role="frequencies") for encode in APART),
            Convention(encode=_onto_counts, decode=_plain, role="counts"),
            *(
                Convention(TEXTS["takes_word_and_count"], _one_word(symbol), _per_word, role="frequencies")
                for symbol in (int, lambda each: bytes([each]))
            ),
            *(Convention(TEXTS["takes_corpus"], encode, _per_word, source=LOOPS) for encode in AS_CORPUS),
        ),
    ),
    is_trained_through=False,
)
