"""What people get wrong in masks of attention: the causal one, and the one that is given."""

from __future__ import annotations

import numpy

from headway.practice.exercise import Mistake, Step
from headway.practice.message import Message
from headway.practice.recipes.attention import both, hidden, naive_softmax, transposed, triangle

MASKED = Message("only a mask shows it", "只有用到掩码时才看得出来")


def _in_three_ways(
    name: str, steps: dict[str, Step], says: Message, fix: Message, hides: Message | None = None, pattern: str = ""
) -> tuple[Mistake, ...]:
    """A mask that hides whole rows: what these become depends on whether -inf or -1e9 is put there, or -1e9 added."""
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
            "a position may not attend to itself: the diagonal is hidden, and the first position sees nothing at all",
            "位置不能关注自己：对角线被遮住，第一个位置什么也看不到",
        ),
        Message(
            "hide what lies above the diagonal only: tril(ones) keeps it, triu(ones, k=1) is what to hide",
            "只遮住对角线以上：tril(ones) 保留对角线，要遮住的是 triu(ones, k=1)",
        ),
        pattern=r"tri[lu]|causal|mask",
    ),
    Mistake(
        "sees_one_ahead",
        {"triangle": _below(1)},
        Message("every position sees one position too far: the next one", "每个位置都多看了一个位置：下一个"),
        Message("hide all that lies above the diagonal: triu(ones, k=1)", "遮住对角线以上的全部：triu(ones, k=1)"),
        pattern=r"tri[lu]|causal|mask",
    ),
    Mistake(
        "causal_upside_down",
        {"triangle": lambda query_len, key_len: triangle(query_len, key_len, -1) == 0},
        Message(
            "it hides earlier positions, not later ones: each sees itself and the future",
            "遮住的是前面的位置而不是后面的：每个位置只看到自己和未来",
        ),
        Message("keep the lower triangle: tril(ones)", "保留下三角：tril(ones)"),
        pattern=r"tri[lu]|causal|mask",
    ),
    *_in_three_ways(
        "sees_the_future_alone",
        {"triangle": lambda query_len, key_len: ~triangle(query_len, key_len)},
        Message(
            "the causal mask is the wrong way round: each position sees the later ones alone, and the last sees nothing",
            "因果掩码取反了：每个位置只看到后面的位置，最后一个什么也看不到",
        ),
        Message(
            "hide where the upper triangle (triu(ones, k=1)) is, not where it is not", "应遮住上三角 triu(ones, k=1) 处，而不是其余位置"
        ),
        pattern=r"tri[lu]|causal|mask|==",
    ),
    Mistake(
        "causal_ignored",
        {"is_causal": lambda asked: False},
        Message("later positions are seen: nothing is causal here", "能看到后面的位置：没有做因果遮挡"),
        Message("hide the keys behind each query's own position", "把每个查询之后的键隐藏起来"),
        pattern=r"causal|mask|softmax",
    ),
)

MASKS = (
    Mistake(
        "mask_ignored",
        {"combine": lambda mask, lower: lower},
        Message("the mask changes nothing: it is never applied", "掩码不起作用：没有被使用"),
        Message(
            "put -inf where the mask forbids, before softmax; masked_fill and where return a new array",
            "在 softmax 之前，把掩码禁止的位置设为 -inf；masked_fill 与 where 返回的是新数组",
        ),
        hides=MASKED,
        pattern=r"mask",
    ),
    *_in_three_ways(
        "mask_on_rows",
        {"combine": lambda mask, lower: both(None if mask is None else transposed(mask), lower)},
        Message(
            "the mask hides queries (rows), not keys (columns): what should not be seen is still seen",
            "掩码遮住的是查询（行）而不是键（列）：不该看到的仍然看得到",
        ),
        Message("let the mask's last axis be the keys: mask[:, None, None, :]", "掩码的最后一轴应为键：mask[:, None, None, :]"),
        hides=MASKED,
        pattern=r"mask",
    ),
    Mistake(
        "causal_replaces_the_mask",
        {"combine": lambda mask, lower: mask if lower is None else lower},
        Message("with a causal mask the other mask is forgotten", "使用因果掩码时，另一个掩码被忘掉了"),
        Message("both must allow: mask & causal", "两者都允许才可见：mask & causal"),
        hides=Message("only both together show it", "只有两种掩码同时使用才看得出来"),
        pattern=r"causal|mask",
    ),
    Mistake(
        "mask_replaces_the_causal",
        {"combine": lambda mask, lower: lower if mask is None else mask},
        Message("with a mask nothing is causal any more", "传入掩码后，因果遮挡就失效了"),
        Message("both must allow: mask & causal", "两者都允许才可见：mask & causal"),
        hides=Message("only both together show it", "只有两种掩码同时使用才看得出来"),
        pattern=r"causal|mask",
    ),
    Mistake(
        "either_mask_allows",
        {"combine": lambda mask, lower: both(mask, lower) if mask is None or lower is None else mask | lower},
        Message("a key is seen when either mask allows it; both must", "只要一个掩码允许就可见；应当两个都允许"),
        Message("combine them with `and`: mask & causal", "用“与”组合：mask & causal"),
        hides=Message("only both together show it", "只有两种掩码同时使用才看得出来"),
        pattern=r"\||or|causal",
    ),
    Mistake(
        "mask_after_softmax",
        {
            "hide": lambda scores, allowed: scores,
            "after": lambda weights, allowed: weights if allowed is None else numpy.where(allowed, weights, 0),
        },
        Message(
            "weights are set to 0 after softmax, and not normalised again: the rest do not sum to 1",
            "在 softmax 之后才把权重置 0，且没有重新归一化：其余权重之和不为 1",
        ),
        Message("put -inf into the scores before softmax", "在 softmax 之前把分数设为 -inf"),
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
        Message(
            "-inf is put into the weights, after softmax: the answer is infinite or NaN", "在 softmax 之后才填入 -inf：结果为无穷或 NaN"
        ),
        Message("put -inf into the scores before softmax", "在 softmax 之前把分数设为 -inf"),
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
        Message("-1e9 is put into the weights, after softmax: the answer is huge", "在 softmax 之后才填入 -1e9：结果非常大"),
        Message("put -1e9, or -inf, into the scores before softmax", "在 softmax 之前把分数设为 -1e9 或 -inf"),
        hides=MASKED,
        pattern=r"mask|1e",
    ),
    Mistake(
        "mask_added_as_zero_and_one",
        {"hide": lambda scores, allowed: scores if allowed is None else scores + allowed},
        Message(
            "the mask is added as 1 and 0: what is allowed gets e times the weight, and nothing is hidden",
            "掩码以 1 和 0 相加：允许的位置权重只乘了 e，什么也没有隐藏",
        ),
        Message("add 0 where allowed and -inf where not", "允许处加 0，不允许处加 -inf"),
        hides=MASKED,
        pattern=r"mask",
    ),
    Mistake(
        "hidden_score_is_zero",
        {"hide": lambda scores, allowed: scores if allowed is None else scores * allowed},
        Message(
            "a hidden score becomes 0, or nearly 0 (multiplied by the mask, or filled with 1e-9): softmax does not hide it",
            "被隐藏的分数变成 0 或接近 0（乘以掩码，或填充 1e-9）：softmax 并不会隐藏它",
        ),
        Message("put -inf, or -1e9 with its minus signs right, where the mask forbids", "在掩码禁止处设为 -inf（或 -1e9，注意符号）"),
        hides=MASKED,
        pattern=r"mask",
    ),
    Mistake(
        "hidden_score_is_large",
        {"hide": lambda scores, allowed: hidden(scores, allowed, 1e9)},
        Message(
            "what must be hidden gets a large positive score: it takes all the weight", "应隐藏的位置得到了很大的正分数：它占据了全部权重"
        ),
        Message("put -1e9 or -inf there: mind the sign", "应填 -1e9 或 -inf：注意符号"),
        hides=MASKED,
        pattern=r"mask|1e|inf",
    ),
    Mistake(
        "zero_times_infinity",
        {"hide": lambda scores, allowed: scores if allowed is None else scores + numpy.where(allowed, 0.0, 1.0) * -numpy.inf},
        Message("0 times -inf is NaN: the mask is multiplied by -inf before it is added", "0 乘以 -inf 得 NaN：掩码在相加之前乘了 -inf"),
        Message("choose with where or masked_fill, or multiply by -1e9", "用 where 或 masked_fill 选择，或乘以 -1e9"),
        hides=MASKED,
        pattern=r"inf",
    ),
)
