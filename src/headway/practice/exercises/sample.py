"""Sampling: temperature, then top-k, then top-p, then a token drawn from the remaining ones."""

from __future__ import annotations

from typing import Any

import numpy

from headway import functions
from headway.practice.exercise import Convention, Exercise, Inputs, Mistake, Probe, Recovery, Role, Step
from headway.practice.exercises import top_k as top_k_exercise
from headway.practice.exercises import top_p as top_p_exercise
from headway.practice.exercises.temperature import largest
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
    TOKENS,
    TOP_K,
    TOP_P,
    UNNORMALISED,
    descending,
    put_back,
    softmax,
)


def recipe(steps: Any, logits: Any, temperature: Any = 1.0, top_k: Any = None, top_p: Any = None, **rest: Any) -> Any:
    """The definition as named steps: at_zero, order (of scale, keep_k, nucleus), draw."""
    if temperature == 0:
        return steps.at_zero(logits)

    def scale(x: Any) -> Any:
        return steps.scale(x, temperature)

    def keep_k(x: Any) -> Any:
        return x if top_k is None else numpy.where(steps.keep_k(x, top_k), x, -numpy.inf)

    def keep_p(x: Any) -> Any:
        return x if top_p is None else numpy.where(steps.nucleus(x, top_p), x, -numpy.inf)

    return steps.draw(steps.order(logits, scale, keep_k, keep_p))


def definition(logits: Any, temperature: float = 1.0, top_k: Any = None, top_p: Any = None, **rest: Any) -> Any:
    """Return the probabilities computed with headway.functions."""
    if temperature == 0:
        return largest(logits)
    left = functions.scale_by_temperature(logits, temperature)
    left = left if top_k is None else functions.keep_top_k(left, top_k)
    return functions.softmax(left if top_p is None else functions.keep_top_p(left, top_p))


def nucleus(keep: Step) -> Step:
    """Return top-p with a rule for the sorted cumulative sum."""

    def kept(left: Any, top_p: float) -> Any:
        order = descending(left)
        return put_back(keep(numpy.cumsum(numpy.take_along_axis(softmax(left), order, axis=-1), axis=-1), top_p), order)

    return kept


STEPS: dict[str, Step] = {
    "at_zero": largest,
    "scale": lambda logits, temperature: logits / temperature,
    "keep_k": top_k_exercise.STEPS["keep"],
    "nucleus": nucleus(top_p_exercise.STEPS["keep"]),
    "order": lambda logits, scale, keep_k, keep_p: keep_p(keep_k(scale(logits))),
    "draw": softmax,
}


def _of_top_k(name: str) -> Mistake:
    """Return a mistake of the exercise top_k as a mistake here."""
    made = next(each for each in top_k_exercise.MISTAKES if each.name == name)
    return Mistake(f"top_k_{name}", {"keep_k": made.steps["keep"]}, made.says, made.fix, made.hides, made.pattern)


def _of_top_p(name: str) -> Mistake:
    """Return a mistake of the exercise top_p as a mistake here."""
    made = next(each for each in top_p_exercise.MISTAKES if each.name == name)
    return Mistake(f"top_p_{name}", {"nucleus": nucleus(made.steps["keep"])}, made.says, made.fix, made.hides, made.pattern)


ZERO_ONLY = Message("the mistake is visible only at temperature 0", "只有温度为 0 时才看得出来")

MISTAKES = (
    Mistake(
        "zero_divides",
        {"at_zero": lambda logits: numpy.full_like(logits, numpy.nan)},
        Message("divides by a temperature of 0: the probabilities are NaN", "温度为 0 时除以了 0：概率为 NaN"),
        Message(
            "at temperature 0 take the most likely token: if temperature == 0: return argmax(logits)",
            "温度为 0 时取最可能的词元：if temperature == 0: return argmax(logits)",
        ),
        hides=ZERO_ONLY,
        pattern=r"/",
    ),
    Mistake(
        "zero_is_one",
        {"at_zero": softmax},
        Message(
            "treats temperature 0 as 1: nothing is scaled, and the token is as random as at 1",
            "温度 0 被当成了 1：没有缩放，随机性与温度为 1 时相同",
        ),
        Message(
            "at temperature 0 take the most likely token: if temperature == 0: return argmax(logits)",
            "温度为 0 时取最可能的词元：if temperature == 0: return argmax(logits)",
        ),
        hides=ZERO_ONLY,
        pattern=r"if |or ",
    ),
    Mistake(
        "most_likely_always",
        {"draw": largest},
        Message("always takes the most likely token: nothing is sampled", "总是取最可能的词元：没有采样"),
        Message(
            "sample from the probabilities: rng.choice(p=…), torch.multinomial(…)", "按概率采样：rng.choice(p=…)、torch.multinomial(…)"
        ),
        hides=Message("the output is correct at temperature 0, or with top_k = 1", "温度为 0 或 top_k = 1 时结果正确"),
        pattern=r"argmax|max\(",
    ),
    Mistake(
        "least_likely_at_zero",
        {"at_zero": lambda logits: (logits == logits.min(-1, keepdims=True)).astype(logits.dtype)},
        Message(
            "takes the least likely token at temperature 0 (argmin, or argsort()[0])",
            "温度为 0 时取了最不可能的词元（argmin 或 argsort()[0]）",
        ),
        Message("use argmax", "使用 argmax"),
        hides=ZERO_ONLY,
        pattern=r"argmin|\[0\]",
    ),
    Mistake(
        "all_alike",
        {"draw": lambda left: numpy.isfinite(left) / numpy.isfinite(left).sum(-1, keepdims=True)},
        Message(
            "samples all remaining tokens with equal probability: the probabilities are not used", "剩下的词元被等概率抽取：没有用到概率"
        ),
        Message("pass the probabilities: rng.choice(n, p=p)", "传入概率：rng.choice(n, p=p)"),
        pattern=r"choice|randint",
    ),
    Mistake(
        "softmax_twice",
        {"draw": lambda left: softmax(softmax(left))},
        Message(
            "applies softmax twice: the probabilities are nearly equal, and dropped tokens can be sampled",
            "softmax 做了两次：概率几乎相等，被去掉的词元也可能被抽中",
        ),
        Message("apply it once, at the end", "只在最后做一次"),
        pattern=r"softmax",
    ),
    Mistake(
        "top_k_ignored",
        {"keep_k": lambda logits, top_k: numpy.ones_like(logits, bool)},
        Message("top_k is not used: all tokens are kept", "没有用到 top_k：保留了全部词元"),
        Message("set the logits below the k-th largest to -inf", "把小于第 k 大的 logits 设为 -inf"),
        pattern=r"top_?k",
    ),
    *map(_of_top_k, ("keeps_one_more", "keeps_one_less", "keeps_the_least_likely", "drops_the_most_likely", "mask_not_put_back")),
    Mistake(
        "top_p_ignored",
        {"nucleus": lambda left, top_p: numpy.ones_like(left, bool)},
        Message("top_p is not used: all tokens are kept", "没有用到 top_p：保留了全部词元"),
        Message("set the logits outside the nucleus to -inf", "把核心之外的 logits 设为 -inf"),
        pattern=r"top_?p",
    ),
    *map(_of_top_p, ("crossing_token_dropped", "everything_may_be_dropped", "one_more_kept", "one_minus_p", "nucleus_dropped")),
    Mistake(
        "top_p_mask_not_put_back",
        {"nucleus": lambda left, top_p: top_p_exercise.sum_before(numpy.cumsum(-numpy.sort(-softmax(left), axis=-1), axis=-1)) < top_p},
        Message("applies the mask of the sorted logits to the unsorted ones", "把排序后的掩码用在了未排序的 logits 上"),
        Message(
            "move the mask back by the indices: mask[indices] = sorted_mask (scatter)",
            "按下标把掩码放回：mask[indices] = sorted_mask（scatter）",
        ),
        hides=Message("the mistake is not visible when the logits are already sorted", "logits 本来就有序时看不出来"),
        pattern=r"sort|\[",
    ),
    Mistake(
        "sorted_not_put_back",
        {"draw": lambda left: -numpy.sort(-softmax(left), axis=-1)},
        Message("returns a position in the sorted order instead of a token id", "返回的是排序后的位置，而不是词元 id"),
        Message("map positions back through the indices: token = indices[place]", "通过下标还原：token = indices[place]"),
        hides=Message("the mistake is not visible when the logits are already sorted", "logits 本来就有序时看不出来"),
        pattern=r"sort|topk",
    ),
)


def _slope(ask: Any) -> list[tuple[Inputs, float]]:
    """Measure the slope of the log-probabilities over the logits."""
    measured = []
    for temperature, logits in ((3.0, numpy.array([0.4, -0.3, 1.1, 0.2])), (0.7, numpy.array([0.1, 0.5, -0.6, 0.3, -0.2]))):
        inputs = {"logits": logits, "temperature": temperature}
        answer = ask(inputs)
        if (
            not isinstance(answer, numpy.ndarray)
            or answer.shape != logits.shape
            or not (answer > 0).all()
            or abs(answer.sum() - 1) > 1e-4
            or numpy.ptp(answer) < 1e-6
        ):
            return []
        slope, rest, *_ = numpy.polyfit(logits, numpy.log(answer.astype(numpy.float64)), 1, full=True)
        if rest.size and rest[0] > 1e-6:
            return []
        measured.append((inputs, float(slope[0])))
    return measured


RECOVERIES = (
    Recovery(
        "temperature",
        "scale",
        measure=_slope,
        wrong=lambda number_of: lambda logits, temperature: logits * number_of({"temperature": temperature}),
        sizes=lambda inputs: {"temperature": inputs["temperature"]},
        right=lambda inputs: 1 / inputs["temperature"],
        right_name="1/temperature",
        says=Message(
            "at one of the tested temperatures the logits are multiplied by {value}{names}; expected {right} = {right_name}",
            "在某个测试温度下，logits 乘以了 {value}{names}；应为 {right} = {right_name}",
        ),
        fix=Message("divide the logits by the temperature, once", "把 logits 除以温度，只除一次"),
        hides=Message("the mistake is not visible at temperature 1", "温度为 1 时看不出来"),
        pattern=r"\*|/|temp",
    ),
)

ORDERS = (
    Convention(),
    Convention(
        Message(
            "applies the temperature last, after top-k and top-p, as llama.cpp does", "在 top-k 与 top-p 之后才使用温度，与 llama.cpp 相同"
        ),
        steps={"order": lambda logits, scale, keep_k, keep_p: scale(keep_p(keep_k(logits)))},
        role="temperature",
    ),
    Convention(
        Message(
            "computes top-p over all tokens, as if before top-k; Hugging Face computes it over the tokens that top-k keeps",
            "top-p 按全部词元计算，相当于先做 top-p 再做 top-k；Hugging Face 是在 top-k 保留的词元上计算",
        ),
        steps={"order": lambda logits, scale, keep_k, keep_p: keep_k(keep_p(scale(logits)))},
        role="top_k",
    ),
    Convention(
        Message(
            "computes top-p over all tokens, as if before top-k, and applies the temperature last",
            "top-p 按全部词元计算，相当于先做 top-p 再做 top-k，最后才使用温度",
        ),
        steps={"order": lambda logits, scale, keep_k, keep_p: scale(keep_k(keep_p(logits)))},
        role="top_k",
    ),
)
"""The order of the options: all are correct, and the one found is reported."""

ZERO = Message("", "")


def probes() -> tuple[Probe, ...]:
    """Each option separately, then combined; temperature 0; several rows."""
    logits = numpy.log(numpy.array([0.11, 0.05, 0.27, 0.2, 0.02, 0.19, 0.16])) + 1.3
    steep = numpy.log(numpy.array([0.03, 0.95, 0.02])) - 0.4
    rows = numpy.log(numpy.array([[0.11, 0.5, 0.08, 0.01, 0.3], [0.41, 0.12, 0.26, 0.04, 0.17], [0.02, 0.03, 0.05, 0.88, 0.02]]))
    return (
        Probe("plain", {"logits": logits}),
        Probe("hot", {"logits": logits, "temperature": 2.0}),
        Probe("at zero", {"logits": logits, "temperature": 0.0}, ZERO),
        Probe("top-k", {"logits": logits, "top_k": 3}),
        Probe("top-p", {"logits": logits, "top_p": 0.6}),
        Probe("top-p, one above p", {"logits": steep, "top_p": 0.9}),
        Probe("cold top-k", {"logits": logits, "temperature": 0.5, "top_k": 4}),
        Probe("cold top-p", {"logits": logits, "temperature": 0.3, "top_p": 0.6}),
        Probe("top-k and top-p", {"logits": logits, "top_k": 4, "top_p": 0.6}),
        Probe("all", {"logits": logits, "temperature": 2.5, "top_k": 5, "top_p": 0.55}),
        Probe("rows", {"logits": rows, "temperature": 0.7}, BATCH, caution=ROWS_APART),
        Probe("rows at zero", {"logits": rows, "temperature": 0.0}, BATCH, caution=ROWS_APART),
    )


EXERCISE = Exercise(
    name="sample",
    title=Message("sampling a token", "采样一个词元"),
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(
        LOGITS,
        Role("temperature", TEMPERATURE.called, neutral=1.0),
        Role("top_k", TOP_K.called),
        Role("top_p", TOP_P.called),
        RNG,
        AXIS,
    ),
    called=r"(?<![a-z])sampl(e|er|ing)(?!s)(?!.*(data|batch|rate|positions|mask))|next_?token(?!.*(loss|accuracy))|pick_?token|choose_?token|top_?k_?top_?p",
    probes=probes,
    mistakes=MISTAKES,
    conventions=(GIVEN, ROWS, (*RETURNED[:2], TOKENS, UNNORMALISED), ORDERS),
    recoveries=RECOVERIES,
    equation="token ~ softmax(top_p(top_k(logits / temperature)))",
    hints=(
        Message(
            "Divide by the temperature, filter, apply one softmax, then sample; at temperature 0 take the most likely token.",
            "先除以温度，再筛选，再做一次 softmax，最后采样；温度为 0 时取最可能的词元。",
        ),
        Message(
            "Set dropped logits to -inf: the softmax at the end gives them probability 0.",
            "去掉的 logits 设为 -inf：最后的 softmax 会使其概率为 0。",
        ),
        Message("rng.choice(len(p), p=softmax(logits / temperature))", "rng.choice(len(p), p=softmax(logits / temperature))"),
    ),
    drawing="read",
    is_trained_through=False,
)
