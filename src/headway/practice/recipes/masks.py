"""Masks as answers: whatever says which key may be attended to, read as a boolean, True = may attend."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy

from headway.arrays import array_library
from headway.practice.diagnosis.calling import Call, bind
from headway.practice.diagnosis.compare import Raised
from headway.practice.diagnosis.instances import instance_calls
from headway.practice.diagnosis.subject import Subject
from headway.practice.exercise import Convention, Exercise, Inputs, Mistake, Recovery, Role
from headway.practice.message import Message

LOW = -1e4
"""What is added to a hidden score must be at least as low."""

SAFE = -1e8
"""Lower than any score that ever comes."""

Ask = Callable[[Inputs], Any]
Place = tuple[Any, ...]


def additive(allowed: Any, fill: Any = -numpy.inf) -> Any:
    """0 where something may be attended to, `fill` elsewhere."""
    return numpy.where(allowed, 0.0, fill)


@dataclass(frozen=True)
class Form:
    """How a mask says what is allowed.

    is_additive  whether it is added to the scores; it is True and False, or 1 and 0, otherwise
    is_hidden    whether True or 1 says hidden
    fill         what is added where nothing may be attended to
    is_boolean   whether it says True and False
    is_turned    whether what is added hides what it must not
    """

    is_additive: bool = False
    is_hidden: bool = False
    fill: float = -numpy.inf
    is_boolean: bool = True
    is_turned: bool = False

    def read(self, answer: Any) -> Any:
        """The mask as a boolean; as it is where it hides what it must not, is not low enough, or holds NaN: that is then told."""
        if not isinstance(answer, numpy.ndarray) or not answer.size:
            return answer
        if not self.is_additive:
            return (answer == 0) if self.is_hidden else (answer != 0)
        if numpy.isnan(answer).any() or not self.fill <= LOW:
            return answer
        return additive(answer > LOW) if self.is_turned else answer > LOW

    @property
    def name(self) -> Message | None:
        """How it is said."""
        if self.is_additive and self.fill > LOW:
            return None
        if self.is_additive and self.fill > SAFE:
            return Message(
                f"your mask adds {self.fill:g} to what is hidden: enough for ordinary scores; -inf, or the dtype's smallest number, always is",
                f"你的掩码给不可见处加上 {self.fill:g}：对一般的分数足够；-inf 或该类型的最小值则总是足够",
            )
        if self.is_additive:
            return Message(
                "your mask is added to the scores: 0 may be attended to, a large negative number or -inf may not",
                "你的掩码是加到分数上的：0 表示可见，很大的负数或 -inf 表示不可见",
            )
        if self.is_hidden:
            what = "True" if self.is_boolean else "1"
            return Message(
                f"your mask says {what} for what is hidden, as torch's nn.MultiheadAttention takes it; others take {what} for what may be attended to",
                f"你的掩码用 {what} 表示不可见，与 torch 的 nn.MultiheadAttention 相同；其他库用 {what} 表示可见",
            )
        return None if self.is_boolean else Message("your mask says 1 for what may be attended to", "你的掩码用 1 表示可见")


def form_of(answer: Any, sure: Place) -> Form:
    """How a mask says what is allowed, by its numbers.

    sure   the place of something that may be attended to
    """
    numbers = numpy.asarray(answer)
    if numbers.dtype.kind == "b":
        return Form(is_hidden=not numbers[sure].all())
    if numpy.isin(numbers, (0, 1)).all():
        return Form(is_hidden=not (numbers[sure] == 1).all(), is_boolean=False)
    known = numbers[~numpy.isnan(numbers)]
    fill = float(known[numpy.abs(known).argmax()]) if known.size else numpy.nan
    return Form(is_additive=True, fill=fill, is_boolean=False, is_turned=bool((numbers[sure] <= LOW).any()))


def forms(examples: Callable[[], list[Inputs]], sure: Place, decode: Callable[[Any, Inputs, Form], Any]) -> tuple[Convention, ...]:
    """The convention of a mask's form, read off what the function answers to the first example that it takes.

    sure     the place in its answer of something that may be attended to
    decode   answer, inputs, form → the answer as headway.functions gives it
    """

    def of(form: Form) -> Convention:
        return Convention(form.name, decode=lambda answer, inputs: decode(answer, inputs, form))

    def read(ask: Ask) -> Convention:
        for inputs in examples():
            answer = ask(inputs)
            if isinstance(answer, numpy.ndarray) and answer.ndim >= 2 and answer.dtype.kind in "biuf":
                return of(form_of(answer, sure))
        return Convention()

    return (Convention(reads=read),)


@dataclass
class MaskCall(Call):
    """A function that makes a mask, told a dtype of its library where it insists on one."""

    def arguments(self, inputs: Inputs) -> dict[str, Any]:
        """As for any function."""
        given = super().arguments(inputs)
        dtypes = {name: self._dtype() for name, role in self.binding.role_of.items() if role.name == "dtype" and name in given}
        return given | dtypes

    def invoke(self, arguments: Mapping[str, Any]) -> Any:
        """Where a size is None, the function has nothing to be told."""
        return super().invoke({name: value for name, value in arguments.items() if value is not None})

    def _dtype(self) -> Any:
        return array_library(self.library).float32 if self.library in ("torch", "mlx") else numpy.dtype("float32")


def mask_calls(subject: Subject, exercise: Exercise, library: str) -> list[Call]:
    """The ways to call what makes a mask."""
    if inspect.isclass(subject.value):
        return instance_calls(subject, exercise, library)
    binding = bind(subject, exercise.roles)
    return [] if binding is None else [MaskCall(subject, binding, library)]


OPTIONS = (
    Role("batch_size", ("batch", "bsz", "bs", "b", "n_batch"), neutral=1),
    Role("num_heads", ("n_heads", "n_head", "heads", "nhead", "h"), neutral=1),
    Role("device", ("dev",), neutral="cpu"),
    Role("dtype", ("d_type", "data_type"), neutral="float32"),
)

SAY = Message("0 where it may be attended to, -inf elsewhere", "可见处为 0，其余为 -inf")
FORMS_MISTAKES = (
    Mistake(
        "inverted",
        {"say": lambda allowed: numpy.where(allowed, -numpy.inf, 0.0)},
        Message(
            "it is the wrong way around: what may be attended to gets -inf, what is to be hidden gets 0",
            "方向反了：应可见的位置是 -inf，应隐藏的位置是 0",
        ),
        SAY,
        pattern=r"inf|1e|where|masked_fill",
    ),
    Mistake(
        "zero_times_infinity",
        {"say": lambda allowed: numpy.where(allowed, numpy.nan, -numpy.inf)},
        Message(
            "0 is multiplied by infinity, which is NaN: all that may be attended to is NaN", "0 乘以无穷得到 NaN：所有可见处都成了 NaN"
        ),
        Message("use where(mask, 0, -inf) or masked_fill, or multiply by -1e9", "使用 where(mask, 0, -inf) 或 masked_fill，或乘以 -1e9"),
        pattern=r"\* *-?|inf",
    ),
    Mistake(
        "infinity_where_allowed",
        {"say": lambda allowed: numpy.where(allowed, -numpy.inf, numpy.nan)},
        Message(
            "0 is multiplied by infinity, which is NaN, and it is the wrong way around: what may be attended to gets -inf",
            "0 乘以无穷得到 NaN，而且方向反了：应可见的位置是 -inf",
        ),
        Message("use where(mask, 0, -inf) or masked_fill", "使用 where(mask, 0, -inf) 或 masked_fill"),
        pattern=r"\* *-?|inf",
        said_as="zero_times_infinity",
    ),
)


def fill_recovery(inputs: Inputs) -> Recovery:
    """What is added where nothing may be attended to, where that is not low enough."""

    def measure(ask: Ask) -> list[tuple[Inputs, float]]:
        answer = ask(inputs)
        if isinstance(answer, Raised) or not isinstance(answer, numpy.ndarray) or answer.dtype.kind != "f" or numpy.isnan(answer).any():
            return []
        fill = float(answer.flat[numpy.abs(answer).argmax()])
        return [(inputs, fill)] if LOW < fill < numpy.inf and fill else []

    return Recovery(
        "fill_too_small",
        "say",
        measure=measure,
        wrong=lambda number_of: lambda allowed: additive(allowed, number_of({})),
        sizes=lambda inputs: {},
        right=lambda inputs: -1e9,
        right_name="-inf",
        says=Message(
            "what is hidden gets {value}{names} added, which is not low enough: it keeps some weight",
            "不可见处加上的是 {value}{names}，不够低：它仍保留一部分权重",
        ),
        fix=Message("put -inf or -1e9 there", "应填 -inf 或 -1e9"),
        hides=Message("with small scores it looks right", "分数较小时看起来没有问题"),
        pattern=r"inf|1e|where|masked_fill|-\d",
    )
