"""Top-p (nucleus): keep the fewest most likely tokens whose probabilities reach p."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from headway import functions
from headway.practice.exercise import Exercise, Mistake, Probe, Role, Step
from headway.practice.message import Message
from headway.practice.recipes.distributions import (
    AXIS,
    BATCH,
    GIVEN,
    LOGITS,
    RETURNED,
    RNG,
    ROWS,
    ROWS_APART,
    TEMPERATURE,
    UNNORMALISED,
    descending,
    kept,
    put_back,
    softmax,
)


def recipe(steps: Any, logits: Any, top_p: float, temperature: float = 1.0, **rest: Any) -> Any:
    """The definition in steps: scale, order, mass, keep, back, finish."""
    scaled = steps.scale(logits, temperature)
    order = steps.order(scaled)
    mass = steps.mass(numpy.take_along_axis(steps.probabilities(scaled), order, axis=-1))
    is_kept = steps.back(steps.keep(mass, top_p), order)
    return steps.finish(is_kept, scaled, top_p)


def definition(logits: Any, top_p: float, temperature: float = 1.0, **rest: Any) -> Any:
    """What headway.functions' kept logits make likely."""
    return functions.softmax(functions.keep_top_p(functions.scale_by_temperature(logits, temperature), top_p))


def before(mass: Any) -> Any:
    """The sum of what stands before each place."""
    return numpy.concatenate([numpy.zeros_like(mass[..., :1]), mass[..., :-1]], axis=-1)


def with_first(keep: Callable[[Any, float], Any]) -> Step:
    """The rule, but the first is always kept."""
    return lambda mass, top_p: keep(mass, top_p) | (numpy.arange(mass.shape[-1]) == 0)


def after_crossing(mass: Any, top_p: float) -> Any:
    """Up to one more than the token that reaches top_p."""
    return before(before(mass)) < top_p


STEPS: dict[str, Step] = {
    "scale": lambda logits, temperature: logits / temperature,
    "order": descending,
    "probabilities": softmax,
    "mass": lambda probabilities: numpy.cumsum(probabilities, axis=-1),
    "keep": lambda mass, top_p: before(mass) < top_p,
    "back": put_back,
    "finish": lambda is_kept, logits, top_p: kept(logits, is_kept),
}

SORTED = Message("where the logits are sorted already nothing shows", "当 logits 本来就有序时看不出来")
ONE_ROW = Message("for a single row it is right", "只有一行时是对的")

MISTAKES = (
    Mistake(
        "crossing_token_dropped",
        {"keep": with_first(lambda mass, top_p: mass <= top_p)},
        Message(
            "the token with which the sum reaches p is dropped: what is kept sums to less than p",
            "使累积概率达到 p 的那个词被去掉了：保留的概率之和小于 p",
        ),
        Message(
            "keep a token where the sum BEFORE it is below p: cumsum - probability < p",
            "当某词“之前”的累积和小于 p 时保留它：cumsum - probability < p",
        ),
        pattern=r"cumsum|<|>",
    ),
    Mistake(
        "everything_may_be_dropped",
        {"keep": lambda mass, top_p: mass <= top_p},
        Message(
            "tokens are kept while the sum is at most p: the one that crosses p is dropped, and where the first alone is above p nothing is left",
            "累积和不超过 p 时才保留：跨过 p 的词被去掉；若第一个词的概率就大于 p，则什么也不剩",
        ),
        Message(
            "keep a token where the sum BEFORE it is below p: cumsum - probability < p",
            "当某词“之前”的累积和小于 p 时保留它：cumsum - probability < p",
        ),
        pattern=r"cumsum|<|>",
    ),
    Mistake(
        "one_more_kept",
        {"keep": after_crossing},
        Message("one token more is kept than p needs: the shift was done twice", "多保留了一个词：移位做了两次"),
        Message("keep a token where the sum before it is below p", "当某词之前的累积和小于 p 时保留它"),
        pattern=r"\+ *1|cumsum|searchsorted",
    ),
    Mistake(
        "mask_not_put_back",
        {"back": lambda is_kept, order: is_kept},
        Message(
            "the mask of the sorted order is applied to the unsorted logits: other tokens are kept than were chosen",
            "把排序后的掩码用在了未排序的 logits 上：保留的不是选中的那些词",
        ),
        Message(
            "put the mask back by the indices: mask[indices] = sorted_mask (scatter)",
            "按下标把掩码放回：mask[indices] = sorted_mask（scatter）",
        ),
        hides=SORTED,
        pattern=r"sort|\[",
    ),
    Mistake(
        "sorted_not_put_back",
        {"finish": lambda is_kept, logits, top_p: numpy.take_along_axis(kept(logits, is_kept), descending(logits), axis=-1)},
        Message(
            "the probabilities come back sorted, or a place in the sorted order is taken for a token id: place i is not token i",
            "返回的概率是排序后的，或把排序后的位置当成了词的 id：第 i 个位置不是第 i 个词",
        ),
        Message("go back through the indices: token = indices[place]", "通过下标还原：token = indices[place]"),
        hides=SORTED,
        pattern=r"sort",
    ),
    Mistake(
        "least_likely_kept",
        {"order": lambda logits: descending(logits)[..., ::-1]},
        Message("the sum is taken from the least likely token on: the nucleus is the tail", "从最不可能的词开始累加：保留的是尾部"),
        Message("sort descending", "应按降序排列"),
        pattern=r"sort",
    ),
    Mistake(
        "not_sorted",
        {"order": lambda logits: numpy.broadcast_to(numpy.arange(logits.shape[-1]), logits.shape)},
        Message("the tokens are not sorted: the sum runs in the order of their ids", "没有排序：按词的 id 顺序累加"),
        Message("sort descending first", "先按降序排列"),
        hides=SORTED,
        pattern=r"cumsum",
    ),
    Mistake(
        "sums_logits",
        {"probabilities": lambda logits: logits},
        Message("the sum is taken over the logits, not over probabilities", "累加的是 logits，而不是概率"),
        Message("take the softmax first", "先做 softmax"),
        pattern=r"cumsum",
    ),
    Mistake(
        "compares_single_probabilities",
        {"mass": lambda probabilities: probabilities, "keep": lambda mass, top_p: mass >= top_p},
        Message("each probability by itself is compared with p, not the running sum", "把每个概率单独与 p 比较，而不是累积和"),
        Message("sum the sorted probabilities up (cumsum)", "对排序后的概率求累积和（cumsum）"),
        pattern=r">|<",
    ),
    Mistake(
        "share_of_the_largest",
        {"mass": lambda probabilities: probabilities, "keep": lambda mass, top_p: mass >= top_p * mass.max(-1, keepdims=True)},
        Message(
            "tokens at least p times as likely as the likeliest are kept: that is min-p", "保留了概率不低于最大概率 p 倍的词：这是 min-p"
        ),
        Message("sum the sorted probabilities up until they reach p", "对排序后的概率累加，直到达到 p"),
        pattern=r"max",
    ),
    Mistake(
        "one_minus_p",
        {"keep": lambda mass, top_p: before(mass) < 1 - top_p},
        Message("tokens are kept up to a sum of 1 - p", "保留到累积和达到 1 - p"),
        Message("descending sums go up to p; only ascending ones are cut at 1 - p", "降序累加应到 p；只有升序累加才在 1 - p 处截断"),
        pattern=r"1 *- ",
    ),
    Mistake(
        "nucleus_dropped",
        {"keep": lambda mass, top_p: before(mass) >= top_p},
        Message("the nucleus is dropped and the tail kept", "去掉了核心，保留了尾部"),
        Message("set the others to -inf", "应把其余的设为 -inf"),
        pattern=r"inf|where|\[",
    ),
    Mistake(
        "nothing_dropped",
        {"keep": lambda mass, top_p: mass == mass},
        Message("no token is dropped", "没有去掉任何词"),
        Message("set the logits outside the nucleus to -inf", "把核心之外的 logits 设为 -inf"),
        pattern=r"return",
    ),
    Mistake(
        "hidden_logit_is_zero",
        {"finish": lambda is_kept, logits, top_p: softmax(numpy.where(is_kept, logits, 0))},
        Message(
            "dropped logits become 0, which is e⁰ = 1 in softmax: they keep a probability",
            "去掉的 logits 变成 0，经过 softmax 就是 e⁰ = 1：仍有概率",
        ),
        Message("set logits to -inf; or set probabilities to 0, and divide by their sum", "把 logits 设为 -inf；或把概率设为 0 再除以总和"),
        pattern=r"zeros|, *0|= *0|\*",
    ),
    Mistake(
        "softmax_over_kept_probabilities",
        {"finish": lambda is_kept, logits, top_p: softmax(numpy.where(is_kept, softmax(logits), -numpy.inf))},
        Message(
            "a second softmax is taken over the kept probabilities: they come out nearly equal",
            "对保留的概率又做了一次 softmax：结果几乎相等",
        ),
        Message("divide the kept probabilities by their sum", "应把保留的概率除以它们的和"),
        pattern=r"softmax",
    ),
    Mistake(
        "mass_along_first_axis",
        {"mass": lambda probabilities: numpy.cumsum(probabilities, axis=0)},
        Message("the sum runs along the batch (axis 0), not along the tokens", "沿批的方向（第 0 轴）累加，而不是沿词的方向"),
        Message("use axis=-1", "使用 axis=-1"),
        hides=ONE_ROW,
        pattern=r"cumsum",
    ),
    Mistake(
        "mass_of_the_whole_batch",
        {"mass": lambda probabilities: numpy.cumsum(probabilities).reshape(probabilities.shape)},
        Message("the sum runs on from row to row (cumsum without an axis)", "累加从一行延续到下一行（cumsum 没有指定轴）"),
        Message("use axis=-1", "使用 axis=-1"),
        hides=ONE_ROW,
        pattern=r"cumsum",
    ),
)


def probes() -> tuple[Probe, ...]:
    """Distributions whose running sums do not meet p: flat, steep, one token above p; rows; everything kept."""
    random = numpy.random.default_rng(29)
    flat = numpy.log(numpy.array([0.11, 0.05, 0.27, 0.2, 0.02, 0.19, 0.16])) + 1.3
    steep = numpy.log(numpy.array([0.03, 0.95, 0.02])) - 0.4
    rows = numpy.log(numpy.array([[0.11, 0.5, 0.08, 0.01, 0.3], [0.41, 0.12, 0.26, 0.04, 0.17], [0.02, 0.03, 0.05, 0.88, 0.02]]))
    square = random.standard_normal((4, 4)) * 1.5
    return (
        Probe("flat", {"logits": flat, "top_p": 0.6}),
        Probe("half and half", {"logits": numpy.log(numpy.array([0.41, 0.09, 0.5])), "top_p": 0.9}),
        Probe("one above p", {"logits": steep, "top_p": 0.9}),
        Probe("little", {"logits": flat, "top_p": 0.15}),
        Probe("nearly all", {"logits": flat, "top_p": 0.99}),
        Probe("rows", {"logits": rows, "top_p": 0.7}, BATCH, caution=ROWS_APART),
        Probe("square", {"logits": square, "top_p": 0.55}, BATCH, caution=ROWS_APART),
        Probe("with temperature", {"logits": flat, "top_p": 0.6, "temperature": 0.5}),
    )


EXERCISE = Exercise(
    name="top_p",
    title=Message("top-p (nucleus)", "top-p（核）采样"),
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(
        LOGITS,
        Role("top_p", ("p", "topp", "threshold", "nucleus_p", "prob_threshold", "cumulative_threshold", "prob_mass", "nucleus", "cutoff")),
        TEMPERATURE,
        RNG,
        AXIS,
        Role("filter_value", ("fill", "mask_value", "fill_value"), neutral=-numpy.inf),
        Role("min_tokens_to_keep", ("min_keep",), neutral=1),
    ),
    called=r"(?<!top_k_)(?<!topk_)top_?p|nucleus",
    probes=probes,
    mistakes=MISTAKES,
    conventions=(GIVEN, ROWS, (*RETURNED, UNNORMALISED)),
    equation="logits where the tokens more likely than this one sum to less than p, else -inf",
    hints=(
        Message(
            "Sort the probabilities, sum them up, and keep the tokens up to the one with which the sum reaches p.",
            "把概率排序并累加，保留到累积和达到 p 的那个词为止。",
        ),
        Message(
            "A token is kept where the sum before it is below p; so the first is always kept. Then go back to the order of the ids.",
            "某词之前的累积和小于 p 就保留它，所以第一个总会保留。最后还原到 id 的顺序。",
        ),
        Message(
            "order = argsort(-p); keep[order] = cumsum(p[order]) - p[order] < top_p",
            "order = argsort(-p); keep[order] = cumsum(p[order]) - p[order] < top_p",
        ),
    ),
    drawing="read",
    is_trained_through=False,
)
