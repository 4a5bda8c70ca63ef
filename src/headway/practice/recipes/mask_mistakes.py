"""Mistakes in attention masks, causal or given as an argument."""

from __future__ import annotations

import numpy

from headway.practice.exercise import Mistake, Step
from headway.practice.message import Message
from headway.practice.recipes.attention import both, hidden, naive_softmax, transposed, triangle

MASKED = Message("only calls with a mask show it", "只有用到掩码时才看得出来")


def _in_three_ways(
    name: str, steps: dict[str, Step], says: Message, fix: Message, hides: Message | None = None, pattern: str = ""
) -> tuple[Mistake, ...]:
    """Return the variants of a mask that hides whole rows: their weights depend on how scores are masked (-inf, -1e9, or added -1e9)."""
    added: Step = lambda scores, allowed: scores if allowed is None else scores + numpy.where(allowed, 0, -1e9).astype(scores.dtype)  # noqa: E731
    ways: dict[str, dict[str, Step]] = {
        "": {"normalise": naive_softmax},
        "_by_a_large_number": {"hide": lambda scores, allowed: hidden(scores, allowed, -1e9)},
        "_by_adding_a_large_number": {"hide": added},
    }
    return tuple(Mistake(name + suffix, steps | more, says, fix, hides, pattern, name) for suffix, more in ways.items())


def _below(shift: int) -> Step:
    return lambda query_len, key_len: triangle(query_len, key_len, shift)


CAUSAL = (
    *_in_three_ways(
        "diagonal_hidden",
        {"triangle": _below(-1)},
        Message(
            "masks the diagonal: a position cannot attend to itself, and the first one to nothing",
            "对角线被遮住：位置不能关注自己，第一个位置什么也看不到",
        ),
        Message(
            "mask only above the diagonal: keep tril(ones), mask triu(ones, k=1)",
            "只遮住对角线以上：保留 tril(ones)，遮住 triu(ones, k=1)",
        ),
        pattern=r"tri[lu]|causal|mask",
    ),
    Mistake(
        "sees_one_ahead",
        {"triangle": _below(1)},
        Message("every position also attends to the next one", "每个位置还能看到下一个位置"),
        Message("mask everything above the diagonal: triu(ones, k=1)", "遮住对角线以上的全部：triu(ones, k=1)"),
        pattern=r"tri[lu]|causal|mask",
    ),
    Mistake(
        "causal_upside_down",
        {"triangle": lambda query_len, key_len: triangle(query_len, key_len, -1) == 0},
        Message(
            "masks earlier positions instead of later ones",
            "遮住的是前面的位置，而不是后面的",
        ),
        Message("keep the lower triangle: tril(ones)", "保留下三角：tril(ones)"),
        pattern=r"tri[lu]|causal|mask",
    ),
    *_in_three_ways(
        "sees_the_future_alone",
        {"triangle": lambda query_len, key_len: ~triangle(query_len, key_len)},
        Message(
            "the causal mask is inverted: each position attends only to later ones, and the last one to nothing",
            "因果掩码取反了：每个位置只看到后面的位置，最后一个什么也看不到",
        ),
        Message("mask the upper triangle triu(ones, k=1), not its complement", "应遮住上三角 triu(ones, k=1)，而不是其余位置"),
        pattern=r"tri[lu]|causal|mask|==",
    ),
    Mistake(
        "causal_ignored",
        {"is_causal": lambda given: False},
        Message("the causal mask is missing: positions attend to later ones", "没有因果掩码：能看到后面的位置"),
        Message("mask the keys after each query's own position", "把每个查询之后的键遮住"),
        pattern=r"causal|mask|softmax",
    ),
)

MASKS = (
    Mistake(
        "mask_ignored",
        {"combine": lambda mask, lower: lower},
        Message("the mask has no effect", "掩码没有起作用"),
        Message(
            "set masked scores to -inf before softmax; masked_fill and where return a new array",
            "在 softmax 之前把被遮住的分数设为 -inf；masked_fill 与 where 返回的是新数组",
        ),
        hides=MASKED,
        pattern=r"mask",
    ),
    *_in_three_ways(
        "mask_on_rows",
        {"combine": lambda mask, lower: both(None if mask is None else transposed(mask), lower)},
        Message(
            "the mask applies to queries (rows) instead of keys (columns): masked keys still have weight",
            "掩码作用在查询（行）而不是键（列）上：被遮住的键仍有权重",
        ),
        Message("align the mask's last axis with the keys: mask[:, None, None, :]", "掩码的最后一轴应对应键：mask[:, None, None, :]"),
        hides=MASKED,
        pattern=r"mask",
    ),
    Mistake(
        "causal_replaces_the_mask",
        {"combine": lambda mask, lower: mask if lower is None else lower},
        Message("with is_causal the mask argument is ignored", "使用因果掩码时，传入的掩码被忽略了"),
        Message("combine both: mask & causal", "把两者组合起来：mask & causal"),
        hides=Message("only both masks together show it", "只有两种掩码同时使用才看得出来"),
        pattern=r"causal|mask",
    ),
    Mistake(
        "mask_replaces_the_causal",
        {"combine": lambda mask, lower: lower if mask is None else mask},
        Message("with a mask argument the causal mask is ignored", "传入掩码时，因果掩码被忽略了"),
        Message("combine both: mask & causal", "把两者组合起来：mask & causal"),
        hides=Message("only both masks together show it", "只有两种掩码同时使用才看得出来"),
        pattern=r"causal|mask",
    ),
    Mistake(
        "either_mask_allows",
        {"combine": lambda mask, lower: both(mask, lower) if mask is None or lower is None else mask | lower},
        Message("a key is visible if either mask allows it; expected if both do", "只要一个掩码允许键就可见；应当两个都允许"),
        Message("combine them with `and`: mask & causal", "用“与”组合：mask & causal"),
        hides=Message("only both masks together show it", "只有两种掩码同时使用才看得出来"),
        pattern=r"\||or|causal",
    ),
    Mistake(
        "mask_after_softmax",
        {
            "hide": lambda scores, allowed: scores,
            "after": lambda weights, allowed: weights if allowed is None else numpy.where(allowed, weights, 0),
        },
        Message(
            "sets weights to 0 after softmax without normalizing again: the others do not sum to 1",
            "在 softmax 之后才把权重置 0，且没有重新归一化：其余权重之和不为 1",
        ),
        Message("set masked scores to -inf before softmax", "在 softmax 之前把被遮住的分数设为 -inf"),
        hides=MASKED,
        pattern=r"mask",
    ),
    Mistake(
        "minus_infinity_after_softmax",
        {
            "hide": lambda scores, allowed: scores,
            "after": lambda weights, allowed: (
                weights if allowed is None else numpy.where(allowed, weights, numpy.asarray(-numpy.inf, weights.dtype))
            ),
        },
        Message("sets weights to -inf after softmax: the output is infinite or NaN", "在 softmax 之后才填入 -inf：输出为无穷或 NaN"),
        Message("set masked scores to -inf before softmax", "在 softmax 之前把被遮住的分数设为 -inf"),
        hides=MASKED,
        pattern=r"mask|inf",
    ),
    Mistake(
        "large_number_after_softmax",
        {
            "hide": lambda scores, allowed: scores,
            "after": lambda weights, allowed: (
                weights if allowed is None else numpy.where(allowed, weights, numpy.asarray(-1e9, weights.dtype))
            ),
        },
        Message("sets weights to -1e9 after softmax: the output is huge", "在 softmax 之后才填入 -1e9：输出非常大"),
        Message("set masked scores to -1e9 or -inf before softmax", "在 softmax 之前把被遮住的分数设为 -1e9 或 -inf"),
        hides=MASKED,
        pattern=r"mask|1e",
    ),
    Mistake(
        "mask_added_as_zero_and_one",
        {"hide": lambda scores, allowed: scores if allowed is None else scores + allowed},
        Message(
            "adds the mask as 1 and 0: allowed keys get e times the weight, and nothing is masked",
            "掩码以 1 和 0 相加：允许的位置权重只乘了 e，什么也没有遮住",
        ),
        Message("add 0 where allowed and -inf elsewhere", "允许处加 0，其余处加 -inf"),
        hides=MASKED,
        pattern=r"mask",
    ),
    Mistake(
        "hidden_score_is_zero",
        {"hide": lambda scores, allowed: scores if allowed is None else scores * allowed},
        Message(
            "masked scores become 0 or nearly 0 (multiplied by the mask, or filled with 1e-9): softmax still gives them weight",
            "被遮住的分数变成 0 或接近 0（乘以掩码，或填充 1e-9）：softmax 仍会给它们权重",
        ),
        Message("set masked scores to -inf or -1e9 (check the signs)", "把被遮住的分数设为 -inf 或 -1e9（注意符号）"),
        hides=MASKED,
        pattern=r"mask",
    ),
    Mistake(
        "hidden_score_is_large",
        {"hide": lambda scores, allowed: hidden(scores, allowed, 1e9)},
        Message("masked scores become large and positive: they get all the weight", "被遮住的分数变成很大的正数：它们占据了全部权重"),
        Message("set them to -1e9 or -inf (check the sign)", "设为 -1e9 或 -inf（注意符号）"),
        hides=MASKED,
        pattern=r"mask|1e|inf",
    ),
    Mistake(
        "zero_times_infinity",
        {"hide": lambda scores, allowed: scores if allowed is None else scores + numpy.where(allowed, 0.0, 1.0) * -numpy.inf},
        Message("multiplies the mask by -inf: 0 · -inf is NaN", "掩码乘以了 -inf：0 乘以 -inf 得 NaN"),
        Message("select with where or masked_fill, or multiply by -1e9", "用 where 或 masked_fill 选择，或乘以 -1e9"),
        hides=MASKED,
        pattern=r"inf",
    ),
)
