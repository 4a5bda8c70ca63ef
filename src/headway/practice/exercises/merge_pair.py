"""Merging a pair: every occurrence of two tokens beside each other becomes one."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from headway.practice.exercise import Exercise, Mistake, Probe, Role, Step
from headway.practice.message import Message
from headway.practice.recipes.byte_pairs import merged


def recipe(steps: Any, ids: Any, pair: Any, new_id: int) -> Any:
    """The definition in one step: merge."""
    return steps.merge(list(ids), tuple(pair), new_id)


def definition(ids: Any, pair: Any, new_id: int) -> Any:
    """From the left on, each occurrence once."""
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
        Message("only the first occurrence is merged", "只合并了第一处"),
        Message("go on through the whole list", "应处理整个列表"),
        pattern=r"return|break|index",
    ),
    Mistake(
        "overlapping_occurrences",
        {"merge": _overlapping},
        Message("in a run such as a a a a token takes part in two merges", "在 a a a 这样的连续重复中，同一个词参与了两次合并"),
        Message("step over both tokens of a pair: i += 2", "合并后跳过这一对的两个词：i += 2"),
        hides=Message("only runs of one token show it", "只有同一个词连续出现时才看得出来"),
        pattern=r"\+= *1|for ",
    ),
    Mistake(
        "second_token_kept",
        {"merge": _second_kept},
        Message("the first of the two is replaced, and the second stays", "只替换了第一个词，第二个还在"),
        Message("step over both tokens of a pair: i += 2", "合并后跳过这一对的两个词：i += 2"),
        pattern=r"\+= *1|for |\] *=",
    ),
    Mistake(
        "from_the_right",
        {"merge": _from_right},
        Message(
            "a run such as a a a is merged from the right: a (a a); it must be (a a) a",
            "a a a 这样的连续重复从右边合并：a (a a)，应为 (a a) a",
        ),
        Message("go from the left to the right", "应从左到右"),
        hides=Message("only runs of one token show it", "只有同一个词连续出现时才看得出来"),
        pattern=r"-1|reverse",
    ),
    Mistake(
        "last_token_dropped",
        {"merge": _last_dropped},
        Message("the last token is lost where it is not part of a pair", "最后一个词若不属于任何一对就会丢失"),
        Message("go on to the end, and look at i + 1 only where it exists", "循环到末尾，只在 i + 1 存在时才去看它"),
        hides=Message("where the list ends in the pair nothing shows", "列表以这一对结尾时看不出来"),
        pattern=r"len\(.*\) *- *1",
    ),
    Mistake(
        "last_pair_missed",
        {"merge": _last_pair_missed},
        Message("a pair at the very end is not merged", "末尾的那一对没有合并"),
        Message("the last place where a pair may begin is len(ids) - 2", "一对可能的最后起点是 len(ids) - 2"),
        pattern=r"- *2|- *1",
    ),
    Mistake(
        "either_order",
        {"merge": _either_order},
        Message("(b, a) is merged as well as (a, b)", "(b, a) 也被当成 (a, b) 合并了"),
        Message(
            "compare in this order: ids[i] == pair[0] and ids[i + 1] == pair[1]", "按顺序比较：ids[i] == pair[0] and ids[i + 1] == pair[1]"
        ),
        pattern=r"in |set|sorted",
    ),
    Mistake(
        "nothing_merged",
        {"merge": lambda ids, pair, new_id: ids},
        Message("nothing is merged", "什么也没有合并"),
        Message("append the new token in place of the two", "用新词代替这两个词"),
        pattern=r"return",
    ),
)


def probes() -> tuple[Probe, ...]:
    """The pair in the middle, at both ends, the other way round, in runs, and nowhere."""
    return (
        Probe("twice", {"ids": [5, 6, 6, 7, 9, 1, 6, 7, 2], "pair": (6, 7), "new_id": 99}),
        Probe("at both ends", {"ids": [1, 2, 3, 1, 2], "pair": (1, 2), "new_id": 4}),
        Probe("the other way round", {"ids": [2, 1, 3, 2, 1, 2], "pair": (1, 2), "new_id": 300}),
        Probe("run of three", {"ids": [8, 8, 8, 5], "pair": (8, 8), "new_id": 10}),
        Probe("run of four", {"ids": [3, 8, 8, 8, 8], "pair": (8, 8), "new_id": 10}),
        Probe("nowhere", {"ids": [1, 2, 3], "pair": (3, 1), "new_id": 4}),
        Probe("one token", {"ids": [1], "pair": (1, 1), "new_id": 4}),
    )


EXERCISE = Exercise(
    name="merge_pair",
    title=Message("merging a pair", "合并一对词"),
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
    equation="… a b … → … new …, from the left on",
    hints=(
        Message(
            "Walk from the left; where the next two are the pair, write the new token and step over both.",
            "从左往右走；若接下来两个就是这一对，写入新词并跳过它们。",
        ),
        Message("Mind the last token: there may be nothing behind it.", "注意最后一个词：它后面可能没有词了。"),
        Message(
            "while i < len(ids): if i + 1 < len(ids) and (ids[i], ids[i + 1]) == pair: …; i += 2",
            "while i < len(ids): if i + 1 < len(ids) and (ids[i], ids[i + 1]) == pair: …; i += 2",
        ),
    ),
    is_trained_through=False,
)
