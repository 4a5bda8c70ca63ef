"""What layer_norm and rms_norm share as exercises: their epsilon, which hides in the last decimals, and what divides x."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy

from headway.practice.diagnosis.compare import Raised
from headway.practice.exercise import Convention, Inputs, Mistake, Recovery, Role, Step
from headway.practice.message import Message

Ask = Callable[[Inputs], Any]

USUAL = (1e-5, 1e-6, 1e-12, 1e-8, 1e-3)
"""The epsilons of GPT-2, of Llama and T5, of BERT, of papers, of Keras."""

EPS_FIXED = Message("its eps is {eps} where none is given", "未指定时它的 eps 是 {eps}")


def size_roles() -> tuple[Role, ...]:
    """What a norm may be told of the width."""
    names = (
        "dim",
        "d_model",
        "d",
        "emb_dim",
        "n_embd",
        "features",
        "num_features",
        "hidden_dim",
        "embed_dim",
        "ndim",
        "n",
        "size",
        "d_hid",
        "embedding_dim",
    )
    return (
        Role("hidden_size", names, is_size=True, size_of=lambda inputs: inputs["x"].shape[-1] if "x" in inputs else None),
        Role("normalized_shape", (), is_size=True, size_of=lambda inputs: (inputs["x"].shape[-1],) if "x" in inputs else None),
    )


def eps_given(inputs: Inputs, default: float) -> Inputs:
    """The inputs with their eps said, for who takes one: what a function's own default is does not matter then."""
    return inputs if "eps" in inputs else inputs | {"eps": default}


def eps_of(default: float) -> Step:
    """The step: what is given, else a default."""
    return lambda given: default if given is None else given


def _asked(ask: Ask, x: Any, **more: Any) -> float | None:
    """The first number of the answer for weights of one, less the last, which a bias has no part in."""
    width = x.shape[-1]
    answer = ask({"x": x, "weight": numpy.ones(width), "bias": numpy.zeros(width)} | more)
    answer = answer[0] if isinstance(answer, tuple) and answer else answer
    if isinstance(answer, Raised) or answer is None or numpy.shape(answer) != x.shape:
        return None
    difference = float(numpy.asarray(answer, numpy.float64).reshape(-1)[0] - numpy.asarray(answer, numpy.float64).reshape(-1)[-1])
    return difference / 2 if numpy.isfinite(difference) and difference else None


def takes_eps(ask: Ask) -> bool:
    """Whether an eps that is given makes a difference."""
    x = numpy.array([[0.5, -0.5]])
    return _asked(ask, x, eps=0.5) != _asked(ask, x, eps=0.05)


def inner_eps(ask: Ask, **given: Any) -> float | None:
    """The number under the root beside the variance: (d / answer)² is d² + eps for x = (d, -d), and eps where d is tiny."""
    tiny = _asked(ask, numpy.array([[1e-9, -1e-9]]), **given)
    if tiny is None:
        return None
    eps = (1e-9 / tiny) ** 2 - 1e-18
    size = abs(eps) ** 0.5
    again = _asked(ask, numpy.array([[size, -size]]), **given)
    return eps if again is not None and eps > 1e-16 and abs((size / again) ** 2 / (2 * eps) - 1) < 1e-3 else None


def outer_eps(ask: Ask, **given: Any) -> float | None:
    """The number beside the root: d / answer is d + eps for x = (d, -d)."""
    tiny = _asked(ask, numpy.array([[1e-12, -1e-12]]), **given)
    if tiny is None:
        return None
    eps = 1e-12 / tiny - 1e-12
    again = _asked(ask, numpy.array([[abs(eps), -abs(eps)]]), **given)
    return eps if again is not None and eps > 1e-14 and abs(abs(eps) / again / (2 * eps) - 1) < 1e-3 else None


def short(eps: float) -> float:
    """The number as a person wrote it."""
    return float(f"{eps:.3g}")


def eps_conventions(default: float) -> tuple[Convention, ...]:
    """The definition's epsilon, the given one, another default read off the function, or one of the usual ones."""

    def with_default(eps: float) -> Convention:
        return Convention(EPS_FIXED.format(eps=f"{eps:g}"), steps={"eps": eps_of(eps)})

    def read(ask: Ask) -> Convention | None:
        eps = None if takes_eps(ask) else inner_eps(ask) or outer_eps(ask)
        return with_default(short(eps)) if eps is not None and 1e-16 < eps < 2e-3 and short(eps) != default else None

    def usual(eps: float) -> Convention:
        found = with_default(eps)
        return Convention(reads=lambda ask: None if takes_eps(ask) or inner_eps(ask) is not None else found)

    return (
        Convention(),
        Convention(encode=lambda inputs: eps_given(inputs, default), role="eps"),
        Convention(reads=read),
        *(usual(eps) for eps in USUAL if eps != default),
    )


def eps_recovery(default: float, fix: Message) -> Recovery:
    """An epsilon under the root that is neither the given one nor a usual one: a square of it, a root of it, or far too large."""

    def measure(ask: Ask) -> list[tuple[Inputs, float]]:
        measured = []
        is_taken = takes_eps(ask)
        for given in ({"eps": 0.3}, {"eps": 0.02}) if is_taken else ({},):
            eps = inner_eps(ask, **given)
            if eps is None:
                return []
            measured.append((dict(given), eps if is_taken else short(eps)))
        return measured

    return Recovery(
        "eps",
        "eps",
        measure=measure,
        wrong=lambda number_of: lambda given: number_of({"eps": default if given is None else given}),
        sizes=lambda inputs: {"eps": float(inputs["eps"])} if inputs.get("eps") is not None else {},
        right=lambda inputs: float(inputs.get("eps", default)),
        right_name="eps",
        says=Message(
            "the number under your root, beside the mean of squares, is {value}{names}; it must be {right} = {right_name}",
            "根号里加在平方均值旁边的数是 {value}{names}；应为 {right} = {right_name}",
        ),
        fix=fix,
        hides=Message(
            "where the numbers are of ordinary size a small eps shows in no printed decimal",
            "数值大小正常时，很小的 eps 在打印的位数里看不出来",
        ),
        pattern=r"eps|1e-|0\.0",
    )


def mistake(
    name: str, steps: Mapping[str, Step], says: tuple[str, str], fix: Message, hides: Message | None = None, pattern: str | None = None
) -> Mistake:
    """A mistake, its sentence in both languages."""
    return Mistake(name, steps, Message(*says), fix, hides, pattern)


HALF = Message(
    "in float16 the squares overflow beyond 255, and the answer is 0: compute in float32 and cast back",
    "在 float16 下，大于 255 的数平方会溢出，结果变成 0：请先转成 float32 计算，再转回去",
)
ROWS = Message("more than one row", "多于一行的输入")
VECTOR = Message("a single vector", "单个向量")
WHOLE = Message("given whole numbers it cuts off the fractions", "输入为整数时，小数部分会被截掉")
SQUARE = Message("with as many rows as columns nothing is raised", "行数与列数相同时不会报错")
MATRIX = Message("on a matrix axis 1 is the last axis", "对矩阵来说，第 1 轴就是最后一轴")
ONES = Message("weights of one, with which every norm begins, do not show it", "权重初始全为 1 时看不出来")
ZEROS = Message("a bias of zeros, with which every norm begins, does not show it", "偏置初始全为 0 时看不出来")
LARGE = Message("where the numbers are of ordinary size it shows in no printed decimal", "数值大小正常时，打印的位数里看不出来")

RETURNS = (
    Convention(),
    Convention(
        Message("it returns more than the answer; its first value was checked", "它返回的不止结果；检查的是第一个值"),
        decode=lambda answer, inputs: answer[0] if isinstance(answer, tuple) and answer else answer,
    ),
)
"""The answer alone, or with a cache for the backward pass behind it."""
