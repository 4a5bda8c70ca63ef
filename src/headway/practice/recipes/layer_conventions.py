"""Accepted variants of a layer, measured from the function: position of the norms, activation, and meaning of the masks."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from typing import Any

import numpy

from headway.practice.exercise import Convention, Inputs, Mistake, Step, optional
from headway.practice.outputs import is_same, precision
from headway.practice.recipes import activations
from headway.practice.recipes.layers import pre_norm
from headway.practice.recipes.projection_forms import turned
from headway.practice.recipes.wrapping import with_positions_first
from headway.practice.texts import Texts

TEXTS = Texts("shared/layer_conventions")

Ask = Callable[[Inputs], Any]
Answer = Callable[[Mapping[str, Step], Inputs], Any]

PRE_NORM = Convention(TEXTS["pre_norm"], steps={"sublayer": pre_norm})
ACTIVATIONS = optional(
    Convention(TEXTS["activation_gelu"], steps={"activation": activations.gelu}),
    Convention(TEXTS["activation_gelu_tanh"], steps={"activation": activations.gelu_tanh}),
    Convention(TEXTS["activation_silu"], steps={"activation": activations.silu}),
    Convention(TEXTS["activation_quick_gelu"], steps={"activation": activations.quick_gelu}),
)


SEQUENCES = ("x", "query", "key", "value", "encoder_output")
WIRING = {"norm", "norms", "order", "sublayer", "add", "wire", "activation", "bend"}
"""Steps outside attention: their mistakes show even if the attention's output is zero."""


def joined(first: Convention, second: Convention) -> Convention:
    """Combine two conventions to one."""
    names = [each.name for each in (first, second) if each.name is not None]
    both_names = TEXTS["first_and_second"].format(first=names[0], second=names[1]) if len(names) > 1 else None
    return Convention(both_names or (names[0] if names else None), steps={**first.steps, **second.steps})


class Settled:
    """Variants that are measured from a function, so that only those which explain its outputs are tried.

    answer     the recipe's output with some steps
    example    inputs without masks
    free       masks that hide nothing
    hiding     masks that hide something
    mistakes   mistakes that may explain an output together with a variant
    variants   further steps of which any may be correct
    simple     masks that hide something for conventions which cannot express `hiding`
    """

    def __init__(
        self,
        answer: Answer,
        example: Inputs,
        free: Inputs,
        hiding: Inputs,
        mistakes: Sequence[Mistake],
        variants: Sequence[Mapping[str, Step]] = ({},),
        simple: Inputs | None = None,
    ) -> None:
        self.example, self.free, self.hiding, self.simple = example, free, hiding, simple
        self.answer, self.mistakes, self.variants = answer, mistakes, variants
        self.silent = {name: 0 * value if name.endswith("output_weight") else value for name, value in example.items()}
        self.ways = [joined(wiring, activation) for wiring in optional(PRE_NORM) for activation in ACTIVATIONS]

        @cache
        def expected(is_masked: bool) -> list[list[Any]]:
            inputs = example | hiding if is_masked else example
            return [[answer({**way.steps, **variant}, inputs) for variant in variants] for way in self.ways]

        @cache
        def expected_silent() -> list[Any]:
            return [answer(way.steps, self.silent) for way in self.ways]

        @cache
        def mistaken_silent(place: int) -> list[Any]:
            of_wiring = [mistake for mistake in mistakes if set(mistake.steps) <= WIRING]
            return [_answered(answer, {**self.ways[place].steps, **mistake.steps}, self.silent) for mistake in of_wiring]

        @cache
        def mistaken(place: int, is_masked: bool) -> list[Any]:
            further = variants[:1] if is_masked else variants[:2]
            steps = [{**self.ways[place].steps, **mistake.steps, **variant} for mistake in mistakes for variant in further]
            return [_answered(answer, each, example | hiding if is_masked else example) for each in steps]

        self.expected, self.mistaken = expected, mistaken
        self.expected_silent, self.mistaken_silent = expected_silent, mistaken_silent

    def wirings(self) -> tuple[Convention, ...]:
        """Return the positions of the norms and the activations that explain an output.

        If none does alone, try the output without attention, then each variant together with a mistake, then the default.
        """
        return (Convention(reads=self._wirings),)

    def _wirings(self, ask: Ask) -> Sequence[Convention]:
        answers = []
        for inputs in self._unmasked(self.example):
            answers.append(given := _answer_of(ask, inputs))
            right = [way for way, expected in zip(self.ways, self.expected(False), strict=True) if _is_one(given, expected)]
            if right:  # several forms of GELU, if a norm without weights makes the values small
                return right
        if all(given is None for given in answers):
            return self.ways[:1] if self.alone is None else self.alone._wirings(ask)
        silent = next(filter(lambda given: given is not None, (_answer_of(ask, inputs) for inputs in self._unmasked(self.silent))), None)
        alone = [way for way, expected in zip(self.ways, self.expected_silent(), strict=True) if _is_one(silent, [expected])]
        if alone:
            return alone[:1]
        near = [way for place, way in enumerate(self.ways) if _is_one(silent, self.mistaken_silent(place))]
        near = near or [way for place, way in enumerate(self.ways) if any(_is_one(given, self.mistaken(place, False)) for given in answers)]
        return near or [way for way in self.ways if way.name is None or way.name is PRE_NORM.name]

    def masks(self, masks: Sequence[Convention]) -> tuple[Convention, ...]:
        """Return the first mask form that explains an output, alone or with a mistake; else every form in which only `hiding` has an effect."""
        return (Convention(reads=lambda ask: self._forms(ask, masks)),)

    def masks_of_all(self, forms: Sequence[Convention], shape: Convention) -> tuple[Convention, ...]:
        """Return the first form with which masks of (queries, keys) alone explain an output, for sources in the pattern of that shape."""
        masks, measured = both(forms, [shape]), self.of_pairs or self

        def read(ask: Ask) -> Sequence[Convention]:
            right = [one for answers in measured.expected(True) for one in answers]
            return [*itertools.islice((each for each in masks if _is_one(measured._said(each, ask, measured.hiding), right)), 1)]

        return (replace(shape, reads=read),)

    def _forms(self, ask: Ask, masks: Sequence[Convention]) -> Sequence[Convention]:
        found, swapped = self._answered_forms(ask, masks), with_positions_first(ask)
        if not found and any(_answer_of(swapped, each) is not None for each in (self.example, self.example | dict(self.free))):
            found = self._answered_forms(swapped, masks)
        if not found and self.of_pairs is not None and any(_answer_of(ask, each) is not None for each in self._unmasked(self.example)[:2]):
            found = self.of_pairs._answered_forms(ask, masks)
        return found or (masks[:1] if self.alone is None else self.alone._forms(ask, masks))

    def _answered_forms(self, ask: Ask, masks: Sequence[Convention]) -> Sequence[Convention]:
        """Return the mask forms that an output may have; none if there is no output."""
        right = [one for answers in self.expected(True) for one in answers]
        bare = _answer_of(ask, self.example | dict.fromkeys(self.free))
        left, ignoring = [masks[0]], []
        is_answered = False
        for each in masks:
            hidden = self._said(each, ask, self.hiding)
            is_simple = self.simple is not None and bare is not None and each.encode(self.example | self.hiding) is None
            if is_simple and _is_one(self._said(each, ask, self.simple or {}), self._right_when_simple):
                return [each]
            is_answered |= hidden is not None
            is_right = _is_one(hidden, right)
            if is_right or any(_is_one(hidden, self.mistaken(place, True)) for place in range(len(self.ways))):
                if (is_right or self._has_effect(each, ask, hidden, bare)) and not self._ignores_pairs(each, ask, bare):
                    return [each]
                ignoring.append(each)  # of another form, the mask may have an effect
            elif each is not masks[0] and hidden is not None and self._may_be(each, ask, hidden, bare):
                left.append(each)
        return ignoring[:1] or left if is_answered else []

    @cached_property
    def _right_when_simple(self) -> list[Any]:
        """The right outputs for the simple masks."""
        return [self.answer({**way.steps, **variant}, self.example | (self.simple or {})) for way in self.ways for variant in self.variants]

    @cached_property
    def of_pairs(self) -> Settled | None:
        """Measurements with masks of shape (queries, keys) for all sequences; None if the masks have this shape already."""
        if all(mask.ndim == 2 for mask in self.hiding.values()):
            return None
        num_queries = self.example["x"].shape[-2]
        free, hiding = ({name: _of_queries(mask, num_queries) for name, mask in each.items()} for each in (self.free, self.hiding))
        return Settled(self.answer, self.example, free, hiding, self.mistakes, self.variants)

    @cached_property
    def alone(self) -> Settled | None:
        """Measurements with the first sequence instead of a batch; None if the example is a single sequence itself."""
        if self.example["x"].ndim == 2:
            return None
        example = {name: value[0] if name in SEQUENCES else value for name, value in self.example.items()}
        free, hiding = ({name: _of_queries(mask, len(example["x"])) for name, mask in each.items()} for each in (self.free, self.hiding))
        return Settled(self.answer, example, free, hiding, self.mistakes, self.variants)

    def _said(self, convention: Convention, ask: Ask, masks: Inputs) -> Any:
        inputs = convention.encode(self.example | masks)
        return None if inputs is None else _answer_of(ask, inputs)

    def _ignores_pairs(self, convention: Convention, ask: Ask, bare: Any) -> bool:
        """Return True if a mask of (queries, keys) in this form has no effect: a function may apply masks with an axis of heads only."""
        if bare is None or self.of_pairs is None:
            return False
        hidden = self._said(convention, ask, self.of_pairs.hiding)
        return hidden is not None and is_same(hidden, bare, precision(bare))

    def _has_effect(self, convention: Convention, ask: Ask, hidden: Any, bare: Any) -> bool:
        """Return True if an output differs from that without a mask, or for a function that needs one, with a mask that hides nothing."""
        free = self._said(convention, ask, self.free) if bare is None else bare
        return free is None or not is_same(hidden, free, precision(free))

    def _may_be(self, convention: Convention, ask: Ask, hidden: Any, bare: Any) -> bool:
        if bare is not None and is_same(hidden, bare, precision(bare)):
            return False
        free = self._said(convention, ask, self.free)
        return free is not None and (bare is None or is_same(free, bare, precision(bare)))

    def _unmasked(self, example: Inputs) -> list[Inputs]:
        """Return an example without masks, with None for masks, and with masks that hide nothing."""
        *batch, positions, _ = example["x"].shape
        shapes = dict.fromkeys(((positions, positions), (*batch, positions, positions), (*batch, positions)))
        return [
            example,
            example | dict.fromkeys(self.free),
            *(example | {name: numpy.full(shape, value) for name in self.free} for shape in shapes for value in (True, False)),
        ]


def _of_queries(mask: Any, num_queries: int) -> Any:
    """Return the mask of the first sequence, of shape (queries, keys)."""
    return mask if mask.ndim == 2 else numpy.broadcast_to(mask[0, 0], (num_queries, mask.shape[-1])).copy()


def _answered(answer: Answer, steps: Mapping[str, Step], inputs: Inputs) -> Any:
    try:
        with numpy.errstate(all="ignore"):
            return answer(steps, inputs)
    except (ValueError, IndexError):  # a mistake may cause incompatible shapes
        return None


def _answer_of(ask: Ask, inputs: Inputs) -> Any:
    """Return the output, with weights (in, out) if the function rejects (out, in)."""
    answer = _first(ask(inputs))
    return _first(ask(turned(inputs))) if answer is None else answer


def _first(answer: Any) -> Any:
    """Return the first value of an output, or None if it is not a finite array."""
    answer = answer[0] if isinstance(answer, tuple) and answer else answer
    is_array = isinstance(answer, numpy.ndarray) and answer.dtype.kind == "f"
    return answer if is_array and numpy.isfinite(answer).all() else None


def _is_one(given: Any, answers: Sequence[Any]) -> bool:
    if given is None:
        return False
    near = 1e-3 * float(numpy.abs(given).max(initial=1.0))
    alike = (each for each in answers if each is not None and each.shape == given.shape and abs(each.flat[0] - given.flat[0]) < near)
    return any(is_same(given, each, precision(given)) for each in alike)


def both(first: Sequence[Convention], second: Sequence[Convention]) -> tuple[Convention, ...]:
    """Return every combination of two encodings as one."""

    def one(form: Convention, shape: Convention) -> Convention:
        def encode(inputs: Inputs) -> Inputs | None:
            encoded = form.encode(inputs)
            return None if encoded is None else shape.encode(encoded)

        return replace(joined(form, shape), encode=encode)

    return tuple(one(form, shape) for form in first for shape in second)
