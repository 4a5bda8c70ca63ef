"""Counting pairs: the number of occurrences of each two adjacent tokens."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy

from headway.practice.exercise import Convention, Exercise, Inputs, Mistake, Probe, Role, Step
from headway.practice.message import Message


def recipe(steps: Any, ids: Any, counts: Any = None) -> Any:
    """The definition as named steps: pairs, tally."""
    return steps.tally(steps.pairs(list(ids)), dict(counts or {}))


def definition(ids: Any, counts: Any = None) -> Any:
    """Count the pairs on top of the given counts."""
    return dict(Counter(pairwise(ids)) + Counter(counts or {}))


def _added(pairs: Any, counts: dict[Any, int]) -> dict[Any, int]:
    for pair in pairs:
        counts[pair] = counts.get(pair, 0) + 1
    return counts


STEPS: dict[str, Step] = {"pairs": lambda ids: list(pairwise(ids)), "tally": _added}

MISTAKES = (
    Mistake(
        "last_pair_missing",
        {"pairs": lambda ids: list(pairwise(ids))[:-1]},
        Message("does not count the last pair", "没有统计最后一对"),
        Message("count all len(ids) - 1 pairs: zip(ids, ids[1:])", "统计全部 len(ids) - 1 对：zip(ids, ids[1:])"),
        pattern=r"range|- *2",
    ),
    Mistake(
        "every_other_pair",
        {"pairs": lambda ids: list(pairwise(ids))[::2]},
        Message("counts only every other pair: (0, 1), (2, 3), …", "只统计了一半的对：(0, 1)、(2, 3)……"),
        Message("count overlapping pairs: zip(ids, ids[1:])", "相邻的对互相重叠，都要统计：zip(ids, ids[1:])"),
        pattern=r"2\)|\+= *2",
    ),
    Mistake(
        "runs_counted_once",
        {"pairs": lambda ids: _without_overlap(ids)},
        Message(
            "in a run such as 7 7 7, counts the pair (7, 7) once instead of twice",
            "在 7 7 7 这样的连续重复中，(7, 7) 只统计了一次，应为两次",
        ),
        Message("count overlapping pairs too: zip(ids, ids[1:])", "重叠的对也要统计：zip(ids, ids[1:])"),
        hides=Message("the mistake is visible only with three equal tokens in a row", "只有三个相同的词元相连时才看得出来"),
        pattern=r"\+= *2|while",
    ),
    Mistake(
        "order_lost",
        {"pairs": lambda ids: [tuple(sorted(pair)) for pair in pairwise(ids)]},
        Message("counts (a, b) and (b, a) as the same pair", "(a, b) 与 (b, a) 被当成了同一对"),
        Message("keep the order of the two tokens", "保留两个词元的顺序"),
        pattern=r"sort|min|set",
    ),
    Mistake(
        "counted_once_each",
        {"tally": lambda pairs, counts: counts | dict.fromkeys(pairs, 1)},
        Message("counts each pair as 1, regardless of how often it occurs", "每一对都只记为 1，与出现次数无关"),
        Message("use counts[pair] = counts.get(pair, 0) + 1", "使用 counts[pair] = counts.get(pair, 0) + 1"),
        pattern=r"= *1",
    ),
    Mistake(
        "counted_one_too_few",
        {"tally": lambda pairs, counts: {pair: count - 1 for pair, count in _added(pairs, counts).items()}},
        Message("counts the first occurrence as 0", "第一次出现记成了 0"),
        Message("use counts[pair] = counts.get(pair, 0) + 1", "使用 counts[pair] = counts.get(pair, 0) + 1"),
        pattern=r"= *0",
    ),
    Mistake(
        "tokens_not_pairs",
        {"pairs": lambda ids: ids},
        Message("counts single tokens instead of pairs", "统计的是单个词元，而不是相邻的对"),
        Message("iterate over zip(ids, ids[1:])", "遍历 zip(ids, ids[1:])"),
        pattern=r"for",
    ),
    Mistake(
        "end_joined_to_start",
        {"pairs": lambda ids: [(ids[place - 1], ids[place]) for place in range(len(ids))]},
        Message("also pairs the last token with the first", "还把最后一个词元与第一个词元配成了一对"),
        Message("count only len(ids) - 1 pairs: zip(ids, ids[1:])", "只统计 len(ids) - 1 对：zip(ids, ids[1:])"),
        pattern=r"-1|%",
    ),
    Mistake(
        "earlier_counts_lost",
        {"tally": lambda pairs, counts: _added(pairs, {})},
        Message("ignores the given counts instead of adding to them", "没有在给定的计数上累加"),
        Message("start from the given counts, if any", "若给了计数，从它开始累加"),
        pattern=r"\{\}|counts",
    ),
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
    if isinstance(answer, tuple) and all(isinstance(each, tuple) and len(each) == 2 for each in answer):
        answer = {tuple(each[0].tolist()) if isinstance(each[0], numpy.ndarray) else each[0]: each[1] for each in answer}
    if not isinstance(answer, dict):
        return answer
    return {tuple(map(int, key)) if isinstance(key, tuple) else key: count for key, count in answer.items()}


def probes() -> tuple[Probe, ...]:
    """Repeated pairs, a run, a single token, given counts."""
    return (
        Probe("repeated", {"ids": [1, 2, 3, 1, 2, 5, 2, 1]}),
        Probe("a run", {"ids": [7, 7, 7, 3, 7, 7]}),
        Probe("one pair", {"ids": [4, 9]}),
        Probe("one token", {"ids": [4]}),
        Probe("bytes", {"ids": list(b"banana bandana")}),
        Probe("given counts", {"ids": [1, 2, 1, 2], "counts": {(1, 2): 5, (8, 8): 1}}),
    )


EXERCISE = Exercise(
    name="pair_counts",
    title=Message("counting pairs", "统计相邻的对"),
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(
        Role("ids", ("tokens", "token_ids", "indices", "sequence", "seq", "symbols", "byte_ids", "text", "word", "x", "corpus")),
        Role("counts", ("stats", "count", "pairs"), neutral=None, may_change=True),
    ),
    called=r"get_stats|get_pairs?_?(stats|count|freq)|count_?(pair|bigram)|pair_?(count|freq|stat)|compute_pair",
    probes=probes,
    mistakes=MISTAKES,
    conventions=((Convention(decode=_plain),),),
    equation="counts[(a, b)] = number of times b directly follows a",
    hints=(
        Message("n tokens have n - 1 pairs, which overlap.", "n 个词元有 n - 1 对，它们互相重叠。"),
        Message("Iterate over ids and ids[1:] in parallel.", "同时遍历 ids 与 ids[1:]。"),
        Message(
            "for pair in zip(ids, ids[1:]): counts[pair] = counts.get(pair, 0) + 1",
            "for pair in zip(ids, ids[1:]): counts[pair] = counts.get(pair, 0) + 1",
        ),
    ),
    is_trained_through=False,
)
