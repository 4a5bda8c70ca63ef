"""Merging a pair: every occurrence of two adjacent tokens becomes one token."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from headway.practice.exercise import Exercise, Mistake, Probe, Role, Step
from headway.practice.message import Message
from headway.practice.recipes.byte_pairs import merged


def recipe(steps: Any, ids: Any, pair: Any, new_id: int) -> Any:
    """The definition as a single step: merge."""
    return steps.merge(list(ids), tuple(pair), new_id)


def definition(ids: Any, pair: Any, new_id: int) -> Any:
    """Replace each occurrence once, from left to right."""
    rest, out = list(ids), []
    while rest:
        token = rest.pop(0)
        is_pair = rest and (token, rest[0]) == tuple(pair)
        out.append(new_id if is_pair else token)
        rest = rest[1:] if is_pair else rest
    return out


def _first_only(ids: Any, pair: Any, new_id: int) -> Any:
    for place in range(len(ids) - 1):
        if (ids[place], ids[place + 1]) == pair:
            return [*ids[:place], new_id, *ids[place + 2 :]]
    return ids


def _overlapping(ids: Any, pair: Any, new_id: int) -> Any:
    out, place = [], 0
    while place < len(ids):
        is_pair = place + 1 < len(ids) and (ids[place], ids[place + 1]) == pair
        out.append(new_id if is_pair else ids[place])
        place += 1 if not is_pair or (place + 2 < len(ids) and (ids[place + 1], ids[place + 2]) == pair) else 2
    return out


def _second_kept(ids: Any, pair: Any, new_id: int) -> Any:
    is_pair = [(first, second) == pair for first, second in pairwise(ids)]
    return [new_id if place < len(is_pair) and is_pair[place] else token for place, token in enumerate(ids)]


def _from_right(ids: Any, pair: Any, new_id: int) -> Any:
    return merged(ids[::-1], pair[::-1], new_id)[::-1]


def _last_dropped(ids: Any, pair: Any, new_id: int) -> Any:
    out, place = [], 0
    while place < len(ids) - 1:
        is_pair = (ids[place], ids[place + 1]) == pair
        out.append(new_id if is_pair else ids[place])
        place += 2 if is_pair else 1
    return out


def _either_order(ids: Any, pair: Any, new_id: int) -> Any:
    out, place = [], 0
    while place < len(ids):
        is_pair = place + 1 < len(ids) and (ids[place], ids[place + 1]) in (pair, pair[::-1])
        out.append(new_id if is_pair else ids[place])
        place += 2 if is_pair else 1
    return out


def _last_pair_missed(ids: Any, pair: Any, new_id: int) -> Any:
    return merged(ids[:-1], pair, new_id) + ids[-1:]


STEPS: dict[str, Step] = {"merge": merged}

MISTAKES = (
    Mistake(
        "first_occurrence_only",
        {"merge": _first_only},
        Message("merges only the first occurrence", "只合并了第一处"),
        Message("process the whole list", "处理整个列表"),
        pattern=r"return|break|index",
    ),
    Mistake(
        "overlapping_occurrences",
        {"merge": _overlapping},
        Message("in a run such as a a a, one token is part of two merges", "在 a a a 这样的连续重复中，同一个词元参与了两次合并"),
        Message("skip both tokens of a merged pair: i += 2", "合并后跳过这一对的两个词元：i += 2"),
        hides=Message("the mistake is visible only in runs of one token", "只有同一个词元连续出现时才看得出来"),
        pattern=r"\+= *1|for ",
    ),
    Mistake(
        "second_token_kept",
        {"merge": _second_kept},
        Message("replaces the first token of the pair and keeps the second", "只替换了第一个词元，第二个还在"),
        Message("skip both tokens of a merged pair: i += 2", "合并后跳过这一对的两个词元：i += 2"),
        pattern=r"\+= *1|for |\] *=",
    ),
    Mistake(
        "from_the_right",
        {"merge": _from_right},
        Message(
            "merges a run such as a a a from the right, a (a a); expected (a a) a",
            "a a a 这样的连续重复从右边合并成 a (a a)，应为 (a a) a",
        ),
        Message("process the list from left to right", "从左到右处理"),
        hides=Message("the mistake is visible only in runs of one token", "只有同一个词元连续出现时才看得出来"),
        pattern=r"-1|reverse",
    ),
    Mistake(
        "last_token_dropped",
        {"merge": _last_dropped},
        Message("drops the last token unless it is part of a pair", "最后一个词元若不属于任何一对就会丢失"),
        Message("loop to the end, and access i + 1 only if it exists", "循环到末尾，只在 i + 1 存在时才访问它"),
        hides=Message("the mistake is not visible when the list ends with the pair", "列表以这一对结尾时看不出来"),
        pattern=r"len\(.*\) *- *1",
    ),
    Mistake(
        "last_pair_missed",
        {"merge": _last_pair_missed},
        Message("does not merge a pair at the end of the list", "列表末尾的那一对没有合并"),
        Message("check positions up to len(ids) - 2", "检查的位置要到 len(ids) - 2 为止（含）"),
        pattern=r"- *2|- *1",
    ),
    Mistake(
        "either_order",
        {"merge": _either_order},
        Message("merges (b, a) as well as (a, b)", "(b, a) 也被当成 (a, b) 合并了"),
        Message(
            "compare in this order: ids[i] == pair[0] and ids[i + 1] == pair[1]", "按顺序比较：ids[i] == pair[0] and ids[i + 1] == pair[1]"
        ),
        pattern=r"in |set|sorted",
    ),
    Mistake(
        "nothing_merged",
        {"merge": lambda ids, pair, new_id: ids},
        Message("merges nothing", "什么也没有合并"),
        Message("append the new token instead of the two", "用新词元代替这两个词元"),
        pattern=r"return",
    ),
)


def probes() -> tuple[Probe, ...]:
    """The pair in the middle, at both ends, in opposite order, in runs, and absent."""
    return (
        Probe("twice", {"ids": [5, 6, 6, 7, 9, 1, 6, 7, 2], "pair": (6, 7), "new_id": 99}),
        Probe("at both ends", {"ids": [1, 2, 3, 1, 2], "pair": (1, 2), "new_id": 4}),
        Probe("the opposite order", {"ids": [2, 1, 3, 2, 1, 2], "pair": (1, 2), "new_id": 300}),
        Probe("run of three", {"ids": [8, 8, 8, 5], "pair": (8, 8), "new_id": 10}),
        Probe("run of four", {"ids": [3, 8, 8, 8, 8], "pair": (8, 8), "new_id": 10}),
        Probe("nowhere", {"ids": [1, 2, 3], "pair": (3, 1), "new_id": 4}),
        Probe("one token", {"ids": [1], "pair": (1, 1), "new_id": 4}),
    )


EXERCISE = Exercise(
    name="merge_pair",
    title=Message("merging a pair", "合并一对词元"),
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(
        Role("ids", ("tokens", "token_ids", "indices", "sequence", "seq", "symbols", "x", "text")),
        Role("pair", ("bigram", "p", "best_pair", "pair_to_merge", "pair_id")),
        Role("new_id", ("idx", "new_token", "new_index", "token", "new_idx", "index", "new_token_id", "merged")),
    ),
    called=r"^merge(_(pairs?|ids|tokens?|sequence|bigram))?$|replace_pair|apply_merge$",
    probes=probes,
    mistakes=MISTAKES,
    equation="… a b … → … new …, from left to right",
    hints=(
        Message(
            "Go from left to right; if the next two tokens are the pair, append the new token and skip both.",
            "从左到右处理；若接下来两个词元就是这一对，写入新词元并跳过它们。",
        ),
        Message("Check the last token: there may be none after it.", "注意最后一个词元：它后面可能没有词元了。"),
        Message(
            "while i < len(ids): if i + 1 < len(ids) and (ids[i], ids[i + 1]) == pair: …; i += 2",
            "while i < len(ids): if i + 1 < len(ids) and (ids[i], ids[i + 1]) == pair: …; i += 2",
        ),
    ),
    is_trained_through=False,
)
