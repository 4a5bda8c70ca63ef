"""Temperature: softmax(logits / temperature)."""

from __future__ import annotations

from typing import Any

import numpy

from headway import functions
from headway.practice.exercise import Exercise, Inputs, Mistake, Probe, Recovery, Role, Step
from headway.practice.message import Message
from headway.practice.recipes.distributions import AXIS, BATCH, GIVEN, LOGITS, RETURNED, RNG, ROWS, ROWS_APART, TEMPERATURE, TOKENS, softmax


def recipe(steps: Any, logits: Any, temperature: Any = 1.0, **rest: Any) -> Any:
    """The definition as named steps: scale, normalise."""
    if temperature == 0:
        return largest(logits)
    return steps.normalise(steps.scale(logits, temperature), logits, temperature)


def definition(logits: Any, temperature: float = 1.0, **rest: Any) -> Any:
    """Return the probabilities of headway.functions' scaled logits; at temperature 0, all on the largest."""
    if temperature == 0:
        return largest(logits)
    return functions.softmax(functions.scale_by_temperature(logits, temperature))


def largest(logits: Any) -> Any:
    """Return a probability of 1 for the largest logit."""
    return (logits == logits.max(-1, keepdims=True)).astype(logits.dtype)


STEPS: dict[str, Step] = {
    "scale": lambda logits, temperature: logits / temperature,
    "normalise": lambda scaled, logits, temperature: softmax(scaled),
}

ONE = Message("the mistake is not visible at temperature 1", "温度为 1 时看不出来")

MISTAKES = (
    Mistake(
        "divides_probabilities",
        {"normalise": lambda scaled, logits, temperature: softmax(logits) / temperature},
        Message(
            "divides the probabilities by the temperature instead of the logits: their ratios do not change, and they no longer sum to 1",
            "除以温度的是概率而不是 logits：各概率的比例不变，总和也不再是 1",
        ),
        Message(
            "divide the logits by the temperature, then apply softmax: softmax(logits / temperature)",
            "先把 logits 除以温度，再做 softmax：softmax(logits / temperature)",
        ),
        hides=ONE,
        pattern=r"/",
    ),
    Mistake(
        "scales_probabilities",
        {"normalise": lambda scaled, logits, temperature: softmax(softmax(logits) / temperature)},
        Message(
            "applies the temperature to the probabilities and softmax a second time: the result is nearly uniform",
            "温度作用在概率上，之后又做了一次 softmax：结果几乎均匀",
        ),
        Message(
            "divide the logits by the temperature, then apply softmax once: softmax(logits / temperature)",
            "先把 logits 除以温度，再做一次 softmax：softmax(logits / temperature)",
        ),
        pattern=r"softmax",
    ),
    Mistake(
        "softmax_missing",
        {"normalise": lambda scaled, logits, temperature: scaled / scaled.sum(-1, keepdims=True)},
        Message("divides the scaled logits by their sum: softmax is missing", "缩放后的 logits 直接除以总和：缺少 softmax"),
        Message("compute softmax(logits / temperature)", "计算 softmax(logits / temperature)"),
        pattern=r"sum",
    ),
    Mistake(
        "powers_of_probabilities_not_normalised",
        {"normalise": lambda scaled, logits, temperature: softmax(logits) ** (1 / temperature)},
        Message(
            "raises the probabilities to the power 1/temperature but does not divide them by their sum",
            "概率取了 1/temperature 次幂，但没有除以总和",
        ),
        Message("divide by the sum: p ** (1/T) / (p ** (1/T)).sum()", "除以总和：p ** (1/T) / (p ** (1/T)).sum()"),
        hides=ONE,
        pattern=r"\*\*|pow",
    ),
    Mistake(
        "exponential_not_normalised",
        {"normalise": lambda scaled, logits, temperature: numpy.exp(scaled - scaled.max(-1, keepdims=True))},
        Message("the exponentials are not divided by their sum", "指数没有除以总和"),
        Message("divide by the sum over the tokens", "除以所有词元的总和"),
        pattern=r"exp",
    ),
    Mistake(
        "softmax_along_first_axis",
        {"normalise": lambda scaled, logits, temperature: softmax(scaled, 0)},
        Message(
            "applies softmax over the batch (axis 0) instead of over the tokens", "softmax 沿批的方向（第 0 轴）计算，而不是沿词元的方向"
        ),
        Message("use axis=-1", "使用 axis=-1"),
        hides=Message("the output is correct for a single row without a batch axis", "只有一行且没有批轴时结果正确"),
        pattern=r"axis *= *0|dim *= *0",
    ),
)


def _slope(ask: Any) -> list[tuple[Inputs, float]]:
    """Measure the slope of the log-probabilities over the logits."""
    measured = []
    for temperature, logits in ((3.0, numpy.array([0.4, -0.3, 1.1, 0.2])), (0.7, numpy.array([0.1, 0.5, -0.6, 0.3, -0.2]))):
        inputs = {"logits": logits, "temperature": temperature}
        answer = ask(inputs)
        if not isinstance(answer, numpy.ndarray) or answer.shape != logits.shape or not (answer > 0).all() or abs(answer.sum() - 1) > 1e-4:
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
        hides=ONE,
        pattern=r"\*|/|temp",
    ),
)

ZERO = Message(
    "at temperature 0 it does not take the most likely token; the caller must do that",
    "温度为 0 时不会取最可能的词元；需要由调用者处理",
)


def probes() -> tuple[Probe, ...]:
    """A row and several rows, at high and low temperature, at 1 and at 0."""
    random = numpy.random.default_rng(19)
    row, rows = random.standard_normal(6) * 1.5, random.standard_normal((3, 5)) * 1.5
    return (
        Probe("hot", {"logits": row, "temperature": 2.0}),
        Probe("cold", {"logits": row, "temperature": 0.5}),
        Probe("at one", {"logits": row, "temperature": 1.0}),
        Probe("rows", {"logits": rows, "temperature": 1.7}, BATCH, caution=ROWS_APART),
        Probe("square", {"logits": random.standard_normal((4, 4)), "temperature": 0.6}, BATCH, caution=ROWS_APART),
        Probe("at zero", {"logits": row, "temperature": 0.0}, caution=ZERO),
    )


EXERCISE = Exercise(
    name="temperature",
    title=Message("temperature", "温度"),
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(LOGITS, Role("temperature", TEMPERATURE.called), RNG, AXIS),
    called=r"temperature|(?<![a-z])temp_?(scale|softmax|sampl)|scale_logits",
    probes=probes,
    mistakes=MISTAKES,
    conventions=(GIVEN, ROWS, (*RETURNED[:2], TOKENS)),
    recoveries=RECOVERIES,
    equation="softmax(logits / temperature)",
    hints=(
        Message(
            "Above 1 the distribution is flatter, below 1 sharper; at 0 all probability is on the most likely token.",
            "大于 1 时分布变平，小于 1 时变尖；为 0 时概率全部落在最可能的词元上。",
        ),
        Message("Divide the logits by the temperature before softmax.", "在 softmax 之前，把 logits 除以温度。"),
        Message("softmax(logits / temperature)", "softmax(logits / temperature)"),
    ),
    drawing="read",
    is_trained_through=False,
)
