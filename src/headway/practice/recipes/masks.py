"""Masks as outputs: any form is decoded to a boolean mask with True = may attend."""

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
"""Upper limit for an additive mask's value at masked positions."""

SAFE = -1e8
"""Value below any score that occurs."""

Ask = Callable[[Inputs], Any]
Place = tuple[Any, ...]


def additive(allowed: Any, fill: Any = -numpy.inf) -> Any:
    """Return 0 where attention is allowed and `fill` elsewhere."""
    return numpy.where(allowed, 0.0, fill)


@dataclass(frozen=True)
class Form:
    """Form of a mask.

    is_additive  True if it is added to the scores; otherwise it contains booleans, or 1 and 0
    is_hidden    True if True or 1 means masked
    fill         value at masked positions of an additive mask
    is_boolean   True if it contains booleans
    is_turned    True if an additive mask masks the wrong positions
    """

    is_additive: bool = False
    is_hidden: bool = False
    fill: float = -numpy.inf
    is_boolean: bool = True
    is_turned: bool = False

    def read(self, answer: Any) -> Any:
        """Return the mask as booleans; unchanged if it masks the wrong positions, is not low enough or contains NaN."""
        if not isinstance(answer, numpy.ndarray) or not answer.size:
            return answer
        if not self.is_additive:
            return (answer == 0) if self.is_hidden else (answer != 0)
        if numpy.isnan(answer).any() or not self.fill <= LOW:
            return answer
        return additive(answer > LOW) if self.is_turned else answer > LOW

    @property
    def name(self) -> Message | None:
        """Note about the form."""
        if self.is_additive and self.fill > LOW:
            return None
        if self.is_additive and self.fill > SAFE:
            return Message(
                f"its mask adds {self.fill:g} at masked positions: enough for ordinary scores; -inf or the dtype's minimum always is",
                f"掩码给不可见处加上 {self.fill:g}：对一般的分数足够；-inf 或该 dtype 的最小值则总是足够",
            )
        if self.is_additive:
            return Message(
                "its mask is added to the scores: 0 to attend, a large negative number or -inf to mask",
                "掩码加到分数上：0 表示可见，很大的负数或 -inf 表示不可见",
            )
        if self.is_hidden:
            what = "True" if self.is_boolean else "1"
            return Message(
                f"its mask has {what} for masked positions, like torch's nn.MultiheadAttention; other functions use {what} for visible ones",
                f"掩码用 {what} 表示不可见，与 torch 的 nn.MultiheadAttention 相同；其他函数用 {what} 表示可见",
            )
        return None if self.is_boolean else Message("its mask has 1 for visible positions", "掩码用 1 表示可见")


def form_of(answer: Any, sure: Place) -> Form:
    """Return the form of a mask, judged by its values.

    sure   index of a position that is visible
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
    """Return the convention of a mask's form, measured from the output for the first example that the function accepts.

    sure     index of an output element that is visible
    decode   (output, inputs, form) → the output as headway.functions returns it
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
    """A function that creates a mask; a required dtype parameter gets a dtype of its library."""

    def arguments(self, inputs: Inputs) -> dict[str, Any]:
        """Return the arguments, as in Call."""
        given = super().arguments(inputs)
        dtypes = {name: self._dtype() for name, role in self.binding.role_of.items() if role.name == "dtype" and name in given}
        return given | dtypes

    def invoke(self, arguments: Mapping[str, Any]) -> Any:
        """Call the function without sizes that are None."""
        return super().invoke({name: value for name, value in arguments.items() if value is not None})

    def _dtype(self) -> Any:
        return array_library(self.library).float32 if self.library in ("torch", "mlx") else numpy.dtype("float32")


def mask_calls(subject: Subject, exercise: Exercise, library: str) -> list[Call]:
    """Return the ways to call a function that creates a mask."""
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

SAY = Message("return 0 at visible positions and -inf elsewhere", "可见处返回 0，其余处返回 -inf")
FORMS_MISTAKES = (
    Mistake(
        "inverted",
        {"say": lambda allowed: numpy.where(allowed, -numpy.inf, 0.0)},
        Message(
            "the mask is inverted: visible positions have -inf, masked ones 0",
            "掩码反了：可见处是 -inf，不可见处是 0",
        ),
        SAY,
        pattern=r"inf|1e|where|masked_fill",
    ),
    Mistake(
        "zero_times_infinity",
        {"say": lambda allowed: numpy.where(allowed, numpy.nan, -numpy.inf)},
        Message("multiplies 0 by infinity: all visible positions are NaN", "0 乘以了无穷：所有可见处都是 NaN"),
        Message("use where(mask, 0, -inf) or masked_fill, or multiply by -1e9", "使用 where(mask, 0, -inf) 或 masked_fill，或乘以 -1e9"),
        pattern=r"\* *-?|inf",
    ),
    Mistake(
        "infinity_where_allowed",
        {"say": lambda allowed: numpy.where(allowed, -numpy.inf, numpy.nan)},
        Message(
            "multiplies 0 by infinity, which is NaN, and is inverted: visible positions have -inf",
            "0 乘以了无穷，得到 NaN，而且掩码反了：可见处是 -inf",
        ),
        Message("use where(mask, 0, -inf) or masked_fill", "使用 where(mask, 0, -inf) 或 masked_fill"),
        pattern=r"\* *-?|inf",
        said_as="zero_times_infinity",
    ),
)


def fill_recovery(inputs: Inputs) -> Recovery:
    """Return the recovery of a value at masked positions that is not low enough."""

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
            "adds {value}{names} at masked positions, which is not low enough: they keep some weight",
            "不可见处加上的是 {value}{names}，不够低：它仍保留一部分权重",
        ),
        fix=Message("use -inf or -1e9", "改用 -inf 或 -1e9"),
        hides=Message("small scores do not show it", "分数较小时看不出来"),
        pattern=r"inf|1e|where|masked_fill|-\d",
    )
