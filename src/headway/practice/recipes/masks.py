"""Masks as outputs: any form is decoded to a boolean mask with True = may attend."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy

from headway.practice.exercise import Convention, Inputs, Recovery
from headway.practice.message import Message
from headway.practice.outputs import Raised
from headway.practice.roles import Roles
from headway.practice.texts import Texts

TEXTS = Texts("shared/masks")
ROLES = Roles("masks")

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
        if self.is_hidden and not numpy.isin(answer, (0, 1)).all():  # the form was measured where nothing is masked
            return Form(is_additive=True, fill=float(answer.min())).read(answer)
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
            return TEXTS["low_enough"].format(fill=self.fill)
        if self.is_additive:
            return TEXTS["added_to_scores"]
        if self.is_hidden:
            what = "True" if self.is_boolean else "1"
            return TEXTS["marks_hidden"].format(what=what)
        return None if self.is_boolean else TEXTS["one_is_visible"]


VISIBLE = numpy.dtype("uint16")
"""Type of the numbers of a mask whose 1 is known to mean visible, by the way in which its function is called."""


def form_of(answer: Any, sure: Place) -> Form:
    """Return the form of a mask, judged by its values.

    sure   index of a position that is visible
    """
    numbers = numpy.asarray(answer)
    if numbers.dtype == VISIBLE:
        return Form()
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


OPTIONS = (
    ROLES("batch_size", neutral=1),
    ROLES("num_heads", neutral=1),
    ROLES("device", neutral="cpu"),
    ROLES("dtype", neutral="float32"),
)

FORMS_MISTAKES = (
    TEXTS.mistake("inverted", say=lambda allowed: numpy.where(allowed, -numpy.inf, 0.0)),
    TEXTS.mistake("zero_times_infinity", say=lambda allowed: numpy.where(allowed, numpy.nan, -numpy.inf)),
    TEXTS.mistake("infinity_where_allowed", say=lambda allowed: numpy.where(allowed, -numpy.inf, numpy.nan), said_as="zero_times_infinity"),
)


def fill_recovery(inputs: Inputs) -> Recovery:
    """Return the recovery of a value at masked positions that is not low enough."""

    def measure(ask: Ask) -> list[tuple[Inputs, float]]:
        answer = ask(inputs)
        if isinstance(answer, Raised) or not isinstance(answer, numpy.ndarray) or answer.dtype.kind != "f" or numpy.isnan(answer).any():
            return []
        fill = float(answer.flat[numpy.abs(answer).argmax()])
        return [(inputs, fill)] if LOW < fill < numpy.inf and fill else []

    return TEXTS.recovery(
        "fill_too_small",
        "say",
        measure=measure,
        wrong=lambda number_of: lambda allowed: additive(allowed, number_of({})),
        right=-1e9,
        right_name="-inf",
    )
