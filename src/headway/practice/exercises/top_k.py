"""Top-k: keep the k most likely tokens."""

from __future__ import annotations

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
    softmax,
)


def recipe(steps: Any, logits: Any, top_k: int, temperature: float = 1.0, **rest: Any) -> Any:
    """The definition as named steps: scale, keep, finish."""
    scaled = steps.scale(logits, temperature)
    return steps.finish(steps.keep(scaled, top_k), scaled, top_k)


def definition(logits: Any, top_k: int, temperature: float = 1.0, **rest: Any) -> Any:
    """Return the probabilities of headway.functions' kept logits."""
    return functions.softmax(functions.keep_top_k(functions.scale_by_temperature(logits, temperature), top_k))


def by_rank(first: Any, last: Any) -> Step:
    """Return a step that keeps the tokens of rank first(k) … last(k) - 1; the most likely token has rank 0."""

    def keep(logits: Any, top_k: int) -> Any:
        ranks = numpy.argsort(descending(logits), axis=-1)
        return (ranks >= first(top_k, logits.shape[-1])) & (ranks < last(top_k, logits.shape[-1]))

    return keep


def mask_by_rank(logits: Any, top_k: int) -> Any:
    """Return a mask that is True at the first k places, as if the tokens were sorted."""
    return numpy.broadcast_to(numpy.arange(logits.shape[-1]) < top_k, logits.shape)


STEPS: dict[str, Step] = {
    "scale": lambda logits, temperature: logits / temperature,
    "keep": by_rank(lambda k, size: 0, lambda k, size: k),
    "finish": lambda is_kept, logits, top_k: kept(logits, is_kept),
}

ALL = Message("a k larger than the vocabulary", "大于词表的 k")
ONE_ROW = Message("the output is correct for a single row", "只有一行时结果正确")

MISTAKES = (
    Mistake(
        "keeps_one_more",
        {"keep": by_rank(lambda k, size: 0, lambda k, size: k + 1)},
        Message("keeps k + 1 tokens instead of k", "保留了 k + 1 个词元，而应保留 k 个"),
        Message(
            "use sorted(descending)[k - 1], or [-k] of the ascending order, as the k-th largest",
            "第 k 大的数取降序的第 [k - 1] 个，或升序的 [-k]",
        ),
        pattern=r"- *1|\[-|<|>",
    ),
    Mistake(
        "keeps_one_less",
        {"keep": by_rank(lambda k, size: 0, lambda k, size: k - 1)},
        Message("keeps k - 1 tokens: the k-th is dropped too", "只保留了 k - 1 个词元：第 k 个也被去掉了"),
        Message(
            "keep logits that are at least the k-th largest (>=), or drop those below it (<)",
            "保留不小于第 k 大的 logits（>=），或去掉更小的（<）",
        ),
        hides=Message("with k = 1 no token is left", "k = 1 时一个词元也不剩"),
        pattern=r"<=|>|- *1",
    ),
    Mistake(
        "keeps_the_least_likely",
        {"keep": by_rank(lambda k, size: size - k, lambda k, size: size)},
        Message("keeps the k least likely tokens: the order is ascending", "保留了最不可能的 k 个词元：排序是升序"),
        Message("sort in descending order, or take the last k: argsort(logits)[-k:]", "降序排列，或取最后 k 个：argsort(logits)[-k:]"),
        pattern=r"sort|\[:",
    ),
    Mistake(
        "drops_the_most_likely",
        {"keep": by_rank(lambda k, size: k, lambda k, size: size)},
        Message("drops the k most likely tokens and keeps the others", "去掉了最可能的 k 个词元，保留了其余的"),
        Message("set the others to -inf", "把其余的设为 -inf"),
        pattern=r"inf|where|\[",
    ),
    Mistake(
        "nothing_dropped",
        {"keep": by_rank(lambda k, size: 0, lambda k, size: size)},
        Message("drops no token", "没有去掉任何词元"),
        Message("set the logits below the k-th largest to -inf", "把小于第 k 大的 logits 设为 -inf"),
        pattern=r"return",
    ),
    Mistake(
        "hidden_logit_is_zero",
        {"finish": lambda is_kept, logits, top_k: softmax(numpy.where(is_kept, logits, 0))},
        Message(
            "sets dropped logits to 0, which softmax turns into e⁰ = 1: they keep a probability, often a large one",
            "去掉的 logits 被设为 0，经过 softmax 就是 e⁰ = 1：仍有概率，而且往往很大",
        ),
        Message("set them to -inf", "设为 -inf"),
        pattern=r"zeros|, *0|= *0|\*",
    ),
    Mistake(
        "sorted_not_put_back",
        {"finish": lambda is_kept, logits, top_k: numpy.take_along_axis(kept(logits, is_kept), descending(logits), axis=-1)},
        Message("returns the probabilities in sorted order: position i is not token i", "返回的概率是排序后的：第 i 个位置不是词元 i"),
        Message("move them back by the indices: out[indices] = sorted", "按下标放回：out[indices] = sorted"),
        hides=Message("the mistake is not visible when the logits are already sorted", "logits 本来就有序时看不出来"),
        pattern=r"sort|topk",
    ),
    Mistake(
        "mask_not_put_back",
        {"keep": mask_by_rank},
        Message(
            "keeps the first k positions: the mask of the sorted logits is applied to the unsorted ones",
            "保留的是前 k 个位置：把排序后的掩码用在了未排序的 logits 上",
        ),
        Message("move the mask back by the indices, or compare with the k-th largest", "按下标把掩码放回，或与第 k 大的数比较"),
        hides=Message("the mistake is not visible when the logits are already sorted", "logits 本来就有序时看不出来"),
        pattern=r"sort|\[",
    ),
    Mistake(
        "values_only",
        {"finish": lambda is_kept, logits, top_k: softmax(-numpy.sort(-logits, axis=-1)[..., :top_k])},
        Message("returns only k numbers: their token ids are lost", "只返回了 k 个数：丢掉了它们的词元 id"),
        Message(
            "return one number per token, -inf if dropped; or return the indices too", "每个词元返回一个数，去掉的为 -inf；或同时返回下标"
        ),
        pattern=r"topk|\[",
    ),
    Mistake(
        "threshold_of_the_batch",
        {"keep": lambda logits, top_k: logits >= numpy.sort(logits.ravel())[max(logits.size - top_k, 0)]},
        Message("keeps the k largest of the whole batch instead of each row", "保留的是整批中最大的 k 个，而不是每行的"),
        Message("sort along the last axis and keep that axis: [..., -k, None]", "沿最后一轴排序并保留该轴：[..., -k, None]"),
        hides=ONE_ROW,
        pattern=r"sort|topk",
    ),
    Mistake(
        "threshold_of_the_first_row",
        {"keep": lambda logits, top_k: logits >= numpy.sort(logits.reshape(-1, logits.shape[-1])[0])[max(logits.shape[-1] - top_k, 0)]},
        Message("compares all rows with the k-th largest logit of the first row", "所有行都与第一行的第 k 大比较"),
        Message("use the threshold of each row: [..., -1, None]", "每一行用自己的阈值：[..., -1, None]"),
        hides=ONE_ROW,
        pattern=r"\[0\]",
    ),
    Mistake(
        "along_first_axis",
        {"keep": lambda logits, top_k: logits >= numpy.sort(logits, axis=0)[max(len(logits) - top_k, 0)]},
        Message(
            "takes the k largest along the batch (axis 0) instead of along the tokens",
            "沿批的方向（第 0 轴）取最大的 k 个，而不是沿词元的方向",
        ),
        Message("use axis=-1", "使用 axis=-1"),
        hides=ONE_ROW,
        pattern=r"axis *= *0|dim *= *0",
    ),
)


def probes() -> tuple[Probe, ...]:
    """A row with several k, rows of different magnitudes, a square, k = 1, and a k larger than the vocabulary."""
    random = numpy.random.default_rng(23)
    row = random.standard_normal(7) * 1.5 + 0.7
    rows = random.standard_normal((3, 5)) * 1.5 + numpy.array([[0.0], [2.5], [-1.2]])
    return (
        Probe("three", {"logits": row, "top_k": 3}),
        Probe("one", {"logits": row, "top_k": 1}),
        Probe("five", {"logits": row[::-1].copy(), "top_k": 5}),
        Probe("all", {"logits": row, "top_k": 7}),
        Probe("rows", {"logits": rows, "top_k": 2}, BATCH, caution=ROWS_APART),
        Probe("square", {"logits": random.standard_normal((4, 4)), "top_k": 3}, BATCH, caution=ROWS_APART),
        Probe("more than the vocabulary", {"logits": row, "top_k": 9}, ALL),
        Probe("with temperature", {"logits": row, "top_k": 3, "temperature": 0.5}),
    )


EXERCISE = Exercise(
    name="top_k",
    title=Message("top-k", "top-k 采样"),
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(
        LOGITS,
        Role("top_k", ("k", "topk", "n", "num_keep", "kk")),
        TEMPERATURE,
        RNG,
        AXIS,
        Role("filter_value", ("fill", "mask_value", "fill_value"), neutral=-numpy.inf),
    ),
    called=r"top_?k(?!.*(top_?p|accuracy))",
    probes=probes,
    mistakes=MISTAKES,
    conventions=(GIVEN, ROWS, (*RETURNED, UNNORMALISED)),
    equation="logits where logits ≥ the k-th largest, else -inf",
    hints=(
        Message("Only the k most likely tokens are kept; all others get probability 0.", "只保留最可能的 k 个词元，其余概率为 0。"),
        Message(
            "Find the k-th largest logit of each row, and set smaller logits to -inf.",
            "找出每行第 k 大的 logit，把更小的设为 -inf。",
        ),
        Message(
            "np.where(logits >= np.sort(logits)[..., -k, None], logits, -np.inf)",
            "np.where(logits >= np.sort(logits)[..., -k, None], logits, -np.inf)",
        ),
    ),
    drawing="read",
    is_trained_through=False,
)
