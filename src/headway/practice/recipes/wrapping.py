"""Accepted forms of a module around its part: a norm and a residual connection inside it, and positions as the first axis."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy

from headway.practice.exercise import Convention, Inputs, optional
from headway.practice.outputs import is_same, precision
from headway.practice.recipes.activations import normed, rms_normed
from headway.practice.recipes.sequences import Draw
from headway.practice.texts import Texts

TEXTS = Texts("shared/wrapping")

Ask = Callable[[Inputs], Any]

SEQUENCES = ("x", "query", "key", "value", "context", "encoder_output")


EPSILONS = (1e-5, 1e-6, 1e-12)
"""Usual epsilons of a norm inside a module."""


def _norm(eps: float) -> Callable[[Any], Any]:
    return lambda x: normed(numpy.asarray(x, numpy.float64), eps=eps)


def _rms_norm(eps: float) -> Callable[[Any], Any]:
    return lambda x: rms_normed(numpy.asarray(x, numpy.float64), eps)


def _after(norm: Callable[[Any], Any]) -> Convention:
    return Convention(TEXTS["adds_and_normalizes"], steps={"wrap": lambda answer, x: norm(answer + x)})


AFTER, AFTER_BY_ROOT = (tuple(_after(norm(eps)) for eps in EPSILONS) for norm in (_norm, _rms_norm))
"""A residual connection and then a norm: LayerNorm, or RMSNorm."""
BEFORE = tuple(Convention(TEXTS["normalizes_before"], steps={"enter": norm(eps)}) for norm in (_norm, _rms_norm) for eps in EPSILONS)
AROUND = tuple(
    Convention(TEXTS["normalizes_and_adds"], steps={"enter": norm(eps), "wrap": lambda answer, x: answer + x})
    for norm in (_norm, _rms_norm)
    for eps in EPSILONS
)


ADDED = Convention(TEXTS["adds"], steps={"wrap": lambda answer, x: answer + x}, source=r"\A\s*(@.*\n)*class ")
"""A class that adds its input to its output; a function of this form makes a mistake."""


def _of_query(conventions: Sequence[Convention]) -> tuple[Convention, ...]:
    """Return conventions that normalize the query and not the context."""
    return tuple(replace(each, steps={**each.steps, "enter_context": lambda x, enter: x}) for each in conventions)


def wrapped(*silent: Inputs, has_context: bool = False) -> tuple[Convention, ...]:
    """Return the group of these forms, chosen by the output for weights that make the part's own output zero.

    silent       inputs for which the part returns zeros, under every name that a sequence may have; the first that it takes count
    has_context  True for a part whose norm before it may be that of the query alone
    """
    before, around = ((*each, *_of_query(each)) if has_context else each for each in (BEFORE, AROUND))

    def read(ask: Ask) -> Sequence[Convention] | None:
        for inputs in itertools.chain(*map(_with_masks, silent)):
            answer, x = _first(ask(inputs)), numpy.asarray(inputs["x"], numpy.float64)
            if answer is None or answer.shape != x.shape:
                continue
            if is_same(answer, normed(x), 1e-3):
                return AFTER
            if is_same(answer, rms_normed(x, EPSILONS[0]), 1e-3):
                return AFTER_BY_ROOT
            if is_same(answer, x, precision(answer)):
                return around
            is_possible = not numpy.any(answer) and (has_context or not _is_proportional(ask, inputs))
            return before if is_possible else None
        return None

    return optional(Convention(reads=read, used_source=r"[nN]orm|\b[lL][nN]"))


FACTOR = 4.0
"""Factor of the inputs that a norm removes."""


def _is_proportional(ask: Ask, inputs: Inputs) -> bool:
    """Return True if the output of an attention for one position grows with that position: no norm is on the way to its values."""
    if "value_weight" not in inputs:
        return False
    x, mask = inputs["x"][..., :1, :], inputs.get("mask")
    value_weight = Draw(7).numbers(*inputs["value_weight"].shape)
    single = inputs | {"value_weight": value_weight} | ({} if mask is None else {"mask": mask[..., :1, :1]})
    given, grown = (_first(ask(single | dict.fromkeys(SEQUENCES[:-1], x * factor))) for factor in (1.0, FACTOR))
    if given is None or grown is None or given.shape != x.shape or not numpy.any(given):
        return False
    return is_same(grown, given * numpy.asarray(FACTOR, given.dtype), precision(given))


def _with_masks(inputs: Inputs) -> Iterator[Inputs]:
    """Yield inputs without masks, and with masks of one value, of which at least one hides nothing."""
    batch, positions = inputs["x"].shape[:2] if inputs["x"].ndim == 3 else (1, inputs["x"].shape[0])
    yield inputs
    yield inputs | {"mask": None} | ({"encoder_mask": None} if "encoder_output" in inputs else {})
    for shape in ((batch, positions, positions), (positions, positions), (batch, 1, positions, positions)):
        for value in (True, False):
            yield inputs | {"mask": numpy.full(shape, value)}


def _first(answer: Any) -> Any:
    answer = answer[0] if isinstance(answer, tuple) and answer else answer
    return answer if isinstance(answer, numpy.ndarray) and answer.dtype.kind == "f" and numpy.isfinite(answer).all() else None


def attention_example(*, num_kv_heads: int | None = None) -> Inputs:
    """Return inputs of an attention whose values are zero, under every name that its sequence may have."""
    draw = Draw(5)
    x = draw.numbers(5, 5, 12)
    held = draw.weights(12, 12, output=12)
    if num_kv_heads is not None:
        held |= {f"{part}_weight": draw.numbers(2 * num_kv_heads, 12) for part in ("key", "value")}
        held |= {"num_kv_heads": num_kv_heads}
    sequences = dict.fromkeys(SEQUENCES[:-1], x)
    return sequences | held | {"value_weight": held["value_weight"] * 0, "num_heads": 3 if num_kv_heads is None else 6}


def feed_forward_example(*parts: str, inner: int = 12) -> Inputs:
    """Return inputs of a feed-forward whose last weight is zero, with these weights before it."""
    random = numpy.random.default_rng(5)
    before = {f"{part}_weight": random.standard_normal((inner, 3)) for part in parts}
    return {"x": random.standard_normal((2, 5, 3)) * 2, "down_weight": numpy.zeros((3, inner))} | before


WRAPPED = wrapped(attention_example())
CROSS_WRAPPED = wrapped(attention_example(), has_context=True)
GROUPED_WRAPPED = wrapped(attention_example(num_kv_heads=2))


def _turned(mask: Any) -> Any:
    """Return a mask as (queries, keys, batch or 1)."""
    if mask.ndim == 4:
        mask = mask[:, 0]
    return mask[..., None] if mask.ndim == 2 else mask.transpose(1, 2, 0)


def _positions_first(inputs: Inputs, *, turns_mask: bool = False) -> Inputs | None:
    found = {name: inputs[name] for name in SEQUENCES if name in inputs}
    if any(value.ndim != 3 for value in found.values()):
        return None
    known: dict[int, Any] = {}  # one array for query, key and value stays one
    swapped = {name: known.setdefault(id(value), numpy.ascontiguousarray(value.swapaxes(0, 1))) for name, value in found.items()}
    mask = inputs.get("mask")
    return inputs | swapped | ({"mask": _turned(mask).copy()} if turns_mask and mask is not None else {})


def _batch_first(answer: Any, inputs: Inputs) -> Any:
    if isinstance(answer, tuple) and answer:
        return (_batch_first(answer[0], inputs), *answer[1:])
    return answer.swapaxes(0, 1) if numpy.ndim(answer) == 3 else answer


def with_positions_first(ask: Ask) -> Ask:
    """Return a function that asks in (positions, batch, width); its answers have the batch first."""

    def turned(inputs: Inputs) -> Any:
        said = _positions_first(inputs)
        return None if said is None else _batch_first(ask(said), inputs)

    return turned


POSITIONS_FIRST_NAME = TEXTS["positions_first"]
_FIRST_FORMS = (
    Convention(POSITIONS_FIRST_NAME, _positions_first, _batch_first),
    Convention(POSITIONS_FIRST_NAME, lambda inputs: _positions_first(inputs, turns_mask=True), _batch_first),
)


def _mixes_first_axis(ask: Ask, example: Inputs) -> bool:
    """Return True if a change of one vector reaches other outputs along the first axis, and none along the second."""
    sequences = {name: value for name, value in example.items() if name in SEQUENCES}
    first = next(iter(sequences.values()))
    changed = [name for name, value in sequences.items() if name != "encoder_output" and value is not example.get("encoder_output")]
    shared = first.copy()
    shared[0, 0] = shared[0, 0, ::-1] + 1.0  # a norm would remove a constant

    def answered(inputs: Inputs) -> Any:
        answer = _first(ask(inputs))
        return answer if answer is not None and answer.shape == shared.shape else None

    for inputs in _with_masks(example):
        before = answered(inputs)
        after = None if before is None else answered(inputs | dict.fromkeys(changed, shared))
        if after is None:
            continue
        moved = numpy.abs(before - after).max(-1) > 1e-5
        return bool(moved[1:, 0].any() and not moved[:, 1:].any())
    return False


def positions_first(example: Inputs, used_source: str | None = None) -> tuple[Convention, ...]:
    """Return the group of batch first and positions first, chosen by the axis along which vectors influence each other.

    used_source   pattern of the code of those for which the choice is made; all by default
    """

    def read(ask: Ask) -> Sequence[Convention] | None:
        return _FIRST_FORMS if _mixes_first_axis(ask, example) else None

    return optional(Convention(reads=read, used_source=used_source))


BATCH_SECOND = (
    r"MultiheadAttention\((?![^\n]*batch_first)|permute\(1, *(0, *2|2, *0, *3)\)|\bLND\b|\b(T|L|S)(_?[a-z])?, *(B|N), *[A-Z]\b"
    r"|\b(seq|tgt|src)_?len(_\w)?, *(batch|bsz|bs)|\b(batch(_?size)?|bsz|bs) *= *\w+\.(size\(1\)|shape\[1\])"
)
"""Pattern of the source of layers whose batch axis may be the second."""


def _loud(example: Inputs) -> Inputs:
    return example | {"value_weight": Draw(6).numbers(*example["value_weight"].shape)}


POSITIONS_FIRST = positions_first(_loud(attention_example()))
