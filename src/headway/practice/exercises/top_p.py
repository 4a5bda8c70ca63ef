"""Top-p (nucleus): keep the fewest most likely tokens whose probabilities sum to at least p."""

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
    """The definition as named steps: scale, order, probabilities, mass, keep, back, finish."""
    scaled = steps.scale(logits, temperature)
    order = steps.order(scaled)
    mass = steps.mass(numpy.take_along_axis(steps.probabilities(scaled), order, axis=-1))
    is_kept = steps.back(steps.keep(mass, top_p), order)
    return steps.finish(is_kept, scaled, top_p)


def definition(logits: Any, top_p: float, temperature: float = 1.0, **rest: Any) -> Any:
    """Return the probabilities of headway.functions' kept logits."""
    return functions.softmax(functions.keep_top_p(functions.scale_by_temperature(logits, temperature), top_p))


def sum_before(mass: Any) -> Any:
    """Return the cumulative sum before each place."""
    return numpy.concatenate([numpy.zeros_like(mass[..., :1]), mass[..., :-1]], axis=-1)


def with_first(keep: Callable[[Any, float], Any]) -> Step:
    """Return the rule with the first token always kept."""
    return lambda mass, top_p: keep(mass, top_p) | (numpy.arange(mass.shape[-1]) == 0)


def after_crossing(mass: Any, top_p: float) -> Any:
    """Keep one token more than needed to reach top_p."""
    return sum_before(sum_before(mass)) < top_p


STEPS: dict[str, Step] = {
    "scale": lambda logits, temperature: logits / temperature,
    "order": descending,
    "probabilities": softmax,
    "mass": lambda probabilities: numpy.cumsum(probabilities, axis=-1),
    "keep": lambda mass, top_p: sum_before(mass) < top_p,
    "back": put_back,
    "finish": lambda is_kept, logits, top_p: kept(logits, is_kept),
}

SORTED = Message("the mistake is not visible when the logits are already sorted", "logits 本来就有序时看不出来")
ONE_ROW = Message("the output is correct for a single row", "只有一行时结果正确")

MISTAKES = (
    Mistake(
        "crossing_token_dropped",
        {"keep": with_first(lambda mass, top_p: mass <= top_p)},
        Message(
            "drops the token at which the cumulative sum reaches p: the kept probabilities sum to less than p",
            "去掉了使累积概率达到 p 的那个词元：保留的概率之和小于 p",
        ),
        Message(
            "keep a token if the sum before it is below p: cumsum - probability < p",
            "某词元之前的累积和小于 p 时保留它：cumsum - probability < p",
        ),
        pattern=r"cumsum|<|>",
    ),
    Mistake(
        "everything_may_be_dropped",
        {"keep": lambda mass, top_p: mass <= top_p},
        Message(
            "keeps tokens while the cumulative sum is at most p: drops the token that crosses p, and keeps none if the first is above p",
            "只在累积和不超过 p 时保留：去掉了跨过 p 的词元；若第一个词元的概率就大于 p，则一个也不剩",
        ),
        Message(
            "keep a token if the sum before it is below p: cumsum - probability < p",
            "某词元之前的累积和小于 p 时保留它：cumsum - probability < p",
        ),
        pattern=r"cumsum|<|>",
    ),
    Mistake(
        "one_more_kept",
        {"keep": after_crossing},
        Message("keeps one token more than needed: the cumulative sum is shifted twice", "多保留了一个词元：累积和移位了两次"),
        Message("keep a token if the sum before it is below p", "某词元之前的累积和小于 p 时保留它"),
        pattern=r"\+ *1|cumsum|searchsorted",
    ),
    Mistake(
        "mask_not_put_back",
        {"back": lambda is_kept, order: is_kept},
        Message(
            "applies the mask of the sorted logits to the unsorted ones: keeps other tokens than the chosen ones",
            "把排序后的掩码用在了未排序的 logits 上：保留的不是选中的词元",
        ),
        Message(
            "move the mask back by the indices: mask[indices] = sorted_mask (scatter)",
            "按下标把掩码放回：mask[indices] = sorted_mask（scatter）",
        ),
        hides=SORTED,
        pattern=r"sort|\[",
    ),
    Mistake(
        "sorted_not_put_back",
        {"finish": lambda is_kept, logits, top_p: numpy.take_along_axis(kept(logits, is_kept), descending(logits), axis=-1)},
        Message(
            "returns the probabilities in sorted order, or uses a sorted position as a token id: position i is not token i",
            "返回的概率是排序后的，或把排序后的位置当成了词元 id：第 i 个位置不是词元 i",
        ),
        Message("map positions back through the indices: token = indices[place]", "通过下标还原：token = indices[place]"),
        hides=SORTED,
        pattern=r"sort",
    ),
    Mistake(
        "least_likely_kept",
        {"order": lambda logits: descending(logits)[..., ::-1]},
        Message("accumulates from the least likely token: the nucleus is the tail", "从最不可能的词元开始累加：保留的是尾部"),
        Message("sort in descending order", "按降序排列"),
        pattern=r"sort",
    ),
    Mistake(
        "not_sorted",
        {"order": lambda logits: numpy.broadcast_to(numpy.arange(logits.shape[-1]), logits.shape)},
        Message("the tokens are not sorted: the probabilities are accumulated in the order of the ids", "没有排序：按词元 id 的顺序累加"),
        Message("sort in descending order first", "先按降序排列"),
        hides=SORTED,
        pattern=r"cumsum",
    ),
    Mistake(
        "sums_logits",
        {"probabilities": lambda logits: logits},
        Message("accumulates the logits instead of the probabilities", "累加的是 logits，而不是概率"),
        Message("apply softmax first", "先做 softmax"),
        pattern=r"cumsum",
    ),
    Mistake(
        "compares_single_probabilities",
        {"mass": lambda probabilities: probabilities, "keep": lambda mass, top_p: mass >= top_p},
        Message("compares each probability with p instead of the cumulative sum", "把每个概率单独与 p 比较，而不是累积和"),
        Message("accumulate the sorted probabilities (cumsum)", "对排序后的概率求累积和（cumsum）"),
        pattern=r">|<",
    ),
    Mistake(
        "share_of_the_largest",
        {"mass": lambda probabilities: probabilities, "keep": lambda mass, top_p: mass >= top_p * mass.max(-1, keepdims=True)},
        Message(
            "keeps tokens at least p times as likely as the most likely one: this is min-p",
            "保留了概率不低于最大概率 p 倍的词元：这是 min-p",
        ),
        Message("accumulate the sorted probabilities until they reach p", "对排序后的概率累加，直到达到 p"),
        pattern=r"max",
    ),
    Mistake(
        "one_minus_p",
        {"keep": lambda mass, top_p: sum_before(mass) < 1 - top_p},
        Message("keeps tokens up to a cumulative sum of 1 - p instead of p", "保留到累积和达到 1 - p 为止，而应到 p"),
        Message("cut descending sums at p; only ascending sums are cut at 1 - p", "降序累加在 p 处截断；只有升序累加才在 1 - p 处截断"),
        pattern=r"1 *- ",
    ),
    Mistake(
        "nucleus_dropped",
        {"keep": lambda mass, top_p: sum_before(mass) >= top_p},
        Message("drops the nucleus and keeps the tail", "去掉了核心，保留了尾部"),
        Message("set the others to -inf", "把其余的设为 -inf"),
        pattern=r"inf|where|\[",
    ),
    Mistake(
        "nothing_dropped",
        {"keep": lambda mass, top_p: mass == mass},
        Message("drops no token", "没有去掉任何词元"),
        Message("set the logits outside the nucleus to -inf", "把核心之外的 logits 设为 -inf"),
        pattern=r"return",
    ),
    Mistake(
        "hidden_logit_is_zero",
        {"finish": lambda is_kept, logits, top_p: softmax(numpy.where(is_kept, logits, 0))},
        Message(
            "sets dropped logits to 0, which softmax turns into e⁰ = 1: they keep a probability",
            "去掉的 logits 被设为 0，经过 softmax 就是 e⁰ = 1：仍有概率",
        ),
        Message("set logits to -inf, or set probabilities to 0 and divide by their sum", "把 logits 设为 -inf；或把概率设为 0 再除以总和"),
        pattern=r"zeros|, *0|= *0|\*",
    ),
    Mistake(
        "softmax_over_kept_probabilities",
        {"finish": lambda is_kept, logits, top_p: softmax(numpy.where(is_kept, softmax(logits), -numpy.inf))},
        Message(
            "applies a second softmax to the kept probabilities: they become nearly equal",
            "对保留的概率又做了一次 softmax：结果几乎相等",
        ),
        Message("divide the kept probabilities by their sum", "把保留的概率除以它们的和"),
        pattern=r"softmax",
    ),
    Mistake(
        "mass_along_first_axis",
        {"mass": lambda probabilities: numpy.cumsum(probabilities, axis=0)},
        Message("accumulates along the batch (axis 0) instead of along the tokens", "沿批的方向（第 0 轴）累加，而不是沿词元的方向"),
        Message("use axis=-1", "使用 axis=-1"),
        hides=ONE_ROW,
        pattern=r"cumsum",
    ),
    Mistake(
        "mass_of_the_whole_batch",
        {"mass": lambda probabilities: numpy.cumsum(probabilities).reshape(probabilities.shape)},
        Message("accumulates across rows (cumsum without an axis)", "累加从一行延续到下一行（cumsum 没有指定轴）"),
        Message("use axis=-1", "使用 axis=-1"),
        hides=ONE_ROW,
        pattern=r"cumsum",
    ),
)


def probes() -> tuple[Probe, ...]:
    """Distributions whose cumulative sums are not equal to p: flat, steep, one token above p; rows; all tokens kept."""
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
            "Sort the probabilities, accumulate them, and keep the tokens up to the one at which the sum reaches p.",
            "把概率排序并累加，保留到累积和达到 p 的那个词元为止。",
        ),
        Message(
            "A token is kept if the sum before it is below p, so the first is always kept. Then restore the order of the ids.",
            "某词元之前的累积和小于 p 就保留它，所以第一个总会保留。最后还原到 id 的顺序。",
        ),
        Message(
            "order = argsort(-p); keep[order] = cumsum(p[order]) - p[order] < top_p",
            "order = argsort(-p); keep[order] = cumsum(p[order]) - p[order] < top_p",
        ),
    ),
    drawing="read",
    is_trained_through=False,
)
