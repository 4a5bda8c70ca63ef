"""Counting pairs: how often each two tokens stand beside each other."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy

from headway.practice.exercise import Convention, Exercise, Inputs, Mistake, Probe, Role, Step
from headway.practice.message import Message


def recipe(steps: Any, ids: Any, counts: Any = None) -> Any:
    """The definition in steps: pairs, tally."""
    return steps.tally(steps.pairs(list(ids)), dict(counts or {}))


def definition(ids: Any, counts: Any = None) -> Any:
    """The pairs, counted on top of what was counted before."""
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
        Message("the last pair is not counted", "最后一对没有计入"),
        Message("there are len(ids) - 1 pairs: zip(ids, ids[1:])", "共有 len(ids) - 1 对：zip(ids, ids[1:])"),
        pattern=r"range|- *2",
    ),
    Mistake(
        "every_other_pair",
        {"pairs": lambda ids: list(pairwise(ids))[::2]},
        Message("only every other pair is counted: (0, 1), (2, 3), …", "只数了一半的对：(0, 1)、(2, 3)……"),
        Message("pairs overlap: zip(ids, ids[1:])", "相邻的对是重叠的：zip(ids, ids[1:])"),
        pattern=r"2\)|\+= *2",
    ),
    Mistake(
        "runs_counted_once",
        {"pairs": lambda ids: _without_overlap(ids)},
        Message(
            "in a run such as 7 7 7 the pair (7, 7) is counted once, not twice", "在 7 7 7 这样的连续重复中，(7, 7) 只数了一次，应为两次"
        ),
        Message("count overlapping pairs too: zip(ids, ids[1:])", "重叠的对也要计数：zip(ids, ids[1:])"),
        hides=Message("only three alike in a row show it", "只有三个相同的词相连时才看得出来"),
        pattern=r"\+= *2|while",
    ),
    Mistake(
        "order_lost",
        {"pairs": lambda ids: [tuple(sorted(pair)) for pair in pairwise(ids)]},
        Message("(a, b) and (b, a) are counted as one", "(a, b) 与 (b, a) 被当成了同一对"),
        Message("keep the order of the two", "保留两者的顺序"),
        pattern=r"sort|min|set",
    ),
    Mistake(
        "counted_once_each",
        {"tally": lambda pairs, counts: counts | dict.fromkeys(pairs, 1)},
        Message("every pair counts 1, however often it occurs", "每一对都只记为 1，不管出现多少次"),
        Message("counts[pair] = counts.get(pair, 0) + 1", "应写 counts[pair] = counts.get(pair, 0) + 1"),
        pattern=r"= *1",
    ),
    Mistake(
        "counted_one_too_few",
        {"tally": lambda pairs, counts: {pair: count - 1 for pair, count in _added(pairs, counts).items()}},
        Message("the first occurrence counts 0", "第一次出现记成了 0"),
        Message("counts[pair] = counts.get(pair, 0) + 1", "应写 counts[pair] = counts.get(pair, 0) + 1"),
        pattern=r"= *0",
    ),
    Mistake(
        "tokens_not_pairs",
        {"pairs": lambda ids: ids},
        Message("single tokens are counted, not pairs", "数的是单个词，而不是相邻的对"),
        Message("zip(ids, ids[1:])", "zip(ids, ids[1:])"),
        pattern=r"for",
    ),
    Mistake(
        "end_joined_to_start",
        {"pairs": lambda ids: [(ids[place - 1], ids[place]) for place in range(len(ids))]},
        Message("the last token is paired with the first, as in a ring", "最后一个词与第一个词配成了一对，像环一样"),
        Message("there are len(ids) - 1 pairs", "只有 len(ids) - 1 对"),
        pattern=r"-1|%",
    ),
    Mistake(
        "earlier_counts_lost",
        {"tally": lambda pairs, counts: _added(pairs, {})},
        Message("the counts that are given are not added to", "没有在给定的计数上累加"),
        Message("start from the counts that are given, where there are any", "若给了计数，应在其上累加"),
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
    """Pairs of plain numbers as keys; lists of (pair, count) as a dict."""
    if isinstance(answer, tuple) and all(isinstance(each, tuple) and len(each) == 2 for each in answer):
        answer = {tuple(each[0].tolist()) if isinstance(each[0], numpy.ndarray) else each[0]: each[1] for each in answer}
    if not isinstance(answer, dict):
        return answer
    return {tuple(map(int, key)) if isinstance(key, tuple) else key: count for key, count in answer.items()}


def probes() -> tuple[Probe, ...]:
    """Repeated pairs, a run, a single token, counts to go on from."""
    return (
        Probe("repeated", {"ids": [1, 2, 3, 1, 2, 5, 2, 1]}),
        Probe("a run", {"ids": [7, 7, 7, 3, 7, 7]}),
        Probe("one pair", {"ids": [4, 9]}),
        Probe("one token", {"ids": [4]}),
        Probe("bytes", {"ids": list(b"banana bandana")}),
        Probe("counted before", {"ids": [1, 2, 1, 2], "counts": {(1, 2): 5, (8, 8): 1}}),
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
    equation="counts[(a, b)] = how often b stands right behind a",
    hints=(
        Message("n tokens have n - 1 pairs, and they overlap.", "n 个词有 n - 1 对，它们是重叠的。"),
        Message("Walk over ids and ids[1:] side by side.", "同时遍历 ids 与 ids[1:]。"),
        Message(
            "for pair in zip(ids, ids[1:]): counts[pair] = counts.get(pair, 0) + 1",
            "for pair in zip(ids, ids[1:]): counts[pair] = counts.get(pair, 0) + 1",
        ),
    ),
    is_trained_through=False,
)
