"""Forms in which sampling functions take and return distributions over tokens; shared by the samplers' exercises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy

from headway.practice.exercise import MISSING, Convention, Exercise, Inputs, Probe, Role, optional
from headway.practice.recipes.encoding import changed
from headway.practice.roles import Roles
from headway.practice.texts import Texts

TEXTS = Texts("shared/distributions")
ROLES = Roles("distributions")


def softmax(logits: Any, axis: int = -1) -> Any:
    """Softmax as defined in headway.functions, in NumPy; NaN where everything is -inf."""
    with numpy.errstate(all="ignore"):
        powers = numpy.exp(logits - logits.max(axis, keepdims=True))
        return powers / powers.sum(axis, keepdims=True)


def kept(logits: Any, is_kept: Any) -> Any:
    """Return the probabilities of the kept logits, and 0 for the others."""
    return softmax(numpy.where(is_kept, logits, -numpy.inf))


def descending(logits: Any) -> Any:
    """Return the token ids from most to least likely."""
    return numpy.argsort(-logits, axis=-1, kind="stable")


def put_back(sorted_values: Any, order: Any) -> Any:
    """Return sorted values to their original positions."""
    values = numpy.empty_like(sorted_values)
    numpy.put_along_axis(values, order, sorted_values, axis=-1)
    return values


def _of_logits(answer: Any, inputs: Inputs) -> Any:
    is_floating = isinstance(answer, numpy.ndarray) and answer.dtype.kind == "f" and answer.ndim
    return softmax(answer) if is_floating else answer


def _normalised(answer: Any, inputs: Inputs) -> Any:
    is_positive = isinstance(answer, numpy.ndarray) and answer.dtype.kind == "f" and answer.ndim and (answer >= 0).all()
    with numpy.errstate(all="ignore"):
        return answer / answer.sum(-1, keepdims=True) if is_positive else answer


def _scattered(answer: Any, inputs: Inputs) -> Any:
    """Decode (values, token ids), as returned by topk."""
    if not (isinstance(answer, tuple) and len(answer) == 2 and all(isinstance(each, numpy.ndarray) for each in answer)):
        return answer
    answer = _first_row(answer, inputs)
    values, ids = answer if answer[1].dtype.kind in "iu" else answer[::-1]
    logits = inputs["logits"]
    if ids.dtype.kind not in "iu" or ids.shape != values.shape or ids.shape[:-1] != logits.shape[:-1] or not (ids < logits.shape[-1]).all():
        return answer
    is_probability = (values >= 0).all() and numpy.allclose(values.sum(-1), 1, atol=1e-3)
    whole = numpy.full(logits.shape, 0.0 if is_probability else -numpy.inf)
    numpy.put_along_axis(whole, ids, values.astype(numpy.float64), axis=-1)
    return (whole if is_probability else softmax(whole)).astype(values.dtype)


def _of_ids(answer: Any, inputs: Inputs) -> Any:
    """Decode the ids of kept tokens, or a boolean per token."""
    logits = inputs["logits"]
    if not isinstance(answer, numpy.ndarray) or answer.ndim == 0:
        return answer
    if answer.dtype.kind == "b" and answer.shape == logits.shape:
        return kept(logits, answer).astype(numpy.float32)
    if answer.dtype.kind not in "iu" or logits.ndim != 1 or answer.ndim != 1 or not ((answer >= 0) & (answer < logits.size)).all():
        return answer
    return kept(logits, numpy.isin(numpy.arange(logits.size), answer)).astype(numpy.float32)


def _token(answer: Any, inputs: Inputs) -> Any:
    """Decode one token id per row as probability 1 for that token; it may come first, before the log probabilities."""
    logits = inputs["logits"]
    if isinstance(answer, tuple) and len(answer) == 2 and getattr(answer[0], "dtype", numpy.dtype(float)).kind in "iu":
        answer = answer[0]
    is_ids = isinstance(answer, numpy.ndarray) and answer.dtype.kind in "iu" and answer.size == numpy.prod(logits.shape[:-1], dtype=int)
    if not is_ids or not ((answer >= 0) & (answer < logits.shape[-1])).all():
        return answer
    return (numpy.arange(logits.shape[-1]) == answer.reshape(*logits.shape[:-1], 1)).astype(numpy.float64)


def _first_row(answer: Any, inputs: Inputs) -> Any:
    if isinstance(answer, tuple):
        return tuple(_first_row(each, inputs) for each in answer)
    is_row = inputs["logits"].ndim == 1 and isinstance(answer, numpy.ndarray) and answer.ndim == 2 and len(answer) == 1
    return answer[0] if is_row else answer


def _at_last_position(inputs: Inputs) -> Inputs:
    """Return logits (batch, positions, vocab_size), those of a row at the last position."""
    rows = numpy.atleast_2d(inputs["logits"])
    return inputs | {"logits": numpy.stack([numpy.roll(rows, shift, axis=-1) for shift in (2, 1, 0)], axis=1)}


OF_LOGARITHMS = r"log_?p"
"""Pattern of the names of logarithms of probabilities."""

GIVEN = optional(
    Convention(
        TEXTS["takes_probabilities"],
        changed(logits=softmax),
        role="logits",
        named=rf"^(?!.*{OF_LOGARITHMS}).*(prob|\bps?$|dist|softmax|weights)",
    ),
    Convention(
        TEXTS["takes_log_probabilities"], changed(logits=lambda logits: numpy.log(softmax(logits))), role="logits", named=OF_LOGARITHMS
    ),
)
"""Accepted inputs."""

VOCABULARY = r"((n_?)?vocab(ulary)?(_?size)?|v)"
ONE_ROW = rf"(?![\s\S]*\b(1|b|n|bs|batch\w*|rows|seq\w*|\.{{3}}) *, *{VOCABULARY} *[)\]])[\s\S]*[(\[] *{VOCABULARY} *, *[)\]]"
OF_ONE_ROW = rf"(?i)\A{ONE_ROW}"
"""Pattern of the source of a function whose documentation says that it takes one distribution, of shape (vocab_size,)."""

OF_EACH_ROW = r"\btemp\w*(\.(unsqueeze|view|reshape)\(|\[:, *None\])"
"""Pattern of the source of a function that takes a temperature for each row: `logits / temperatures.unsqueeze(1)`."""


def _with_temperatures(inputs: Inputs) -> Inputs:
    """Return rows with an array of their temperatures; a single row is followed by the same one with the temperature 1, or 0 if it has 0."""
    logits, temperature = inputs["logits"], inputs.get("temperature", 1.0)
    temperatures = [temperature, float(temperature != 0)] if logits.ndim == 1 else [temperature] * len(logits)
    rows = numpy.stack([logits, logits]) if logits.ndim == 1 else logits
    return inputs | {"logits": rows, "temperature": numpy.array(temperatures, logits.dtype)}


def _first_of_two(answer: Any, inputs: Inputs) -> Any:
    return answer[0] if inputs["logits"].ndim == 1 and isinstance(answer, numpy.ndarray) and answer.ndim > 0 else answer


ROWS = optional(
    Convention(
        encode=lambda inputs: inputs | {"logits": inputs["logits"][None]} if inputs["logits"].ndim == 1 else inputs,
        decode=_first_row,
        source=rf"\A(?!{ONE_ROW})",
    ),
    Convention(encode=_with_temperatures, decode=_first_of_two, role="temperature", source=OF_EACH_ROW),
    Convention(TEXTS["last_of_positions"], _at_last_position, _first_row, role="logits", source=r"\w+\[(:|\.\.\.|0), *-1(, *:)?\]"),
)
"""Single rows wrapped to a batch of one, for functions that reject single rows, and rows as the last positions of sequences."""

ONE_LITERAL = r"\A(?![\s\S]*\[\s*\[)[\s\S]*\b(tensor|array)\(\s*\[ *-?[\d.]"
"""Pattern of the source of a file whose only literal arrays are vectors."""

ALONG_FIRST = Convention(
    TEXTS["one_row"],
    lambda inputs: inputs if inputs["logits"].ndim == 1 else None,
    lambda answer, inputs: answer,
    role="logits",
    source=r"softmax\([^\n]*\b(dim|axis) *= *0\b",
    file_source=ONE_LITERAL,
)
"""A function of one row, whose only axis is the first: `torch.softmax(scaled_logits, dim=0)`."""

BY_TOKEN = r"\A\s*def \w+\(\s*(?P<given>\w+)[\s\S]*\b(?P=given)\.(items|values)\(\)"
"""Pattern of the source of a function that goes through the items of its first operand: a dict of numbers by token."""


def as_dict(name: str) -> Callable[[Inputs], Inputs | None]:
    """Return an encoding that passes one row as a dict of numbers by token id; None for several rows."""

    def encode(inputs: Inputs) -> Inputs | None:
        return inputs | {name: dict(enumerate(inputs[name].tolist()))} if numpy.ndim(inputs[name]) == 1 else None

    return encode


def by_token(*, is_filter: bool) -> Convention:
    """Return the convention of a function that takes a dict of numbers by token, and may return one; a filter may leave out what it drops."""

    def decode(answer: Any, inputs: Inputs) -> Any:
        size = inputs["logits"].size
        if not isinstance(answer, dict) or not answer.keys() <= set(range(size)) or not (is_filter or len(answer) == size):
            return answer
        values = numpy.array(list(answer.values()), numpy.float64)
        total = values.sum()
        is_probability = (values >= 0).all() and (total <= 1 + 1e-6 if is_filter else abs(total - 1) <= 1e-6)
        whole = numpy.full(size, 0.0 if is_probability else -numpy.inf)
        whole[list(answer)] = values
        return whole / total if is_probability and total else softmax(whole)

    return Convention(TEXTS["by_token"], as_dict("logits"), decode, role="logits", source=BY_TOKEN)


RETURNED = (
    Convention(decode=_of_logits),
    Convention(),
    Convention(TEXTS["values_and_ids"], decode=_scattered),
    Convention(TEXTS["kept_tokens"], decode=_of_ids),
)
"""Accepted outputs, decoded as probabilities."""

UNNORMALISED = Convention(TEXTS["not_normalized"], decode=_normalised)

TOKENS = Convention(decode=_token)
"""A deterministic token id."""


def or_token(convention: Convention) -> Convention:
    """Return a convention that also decodes a deterministic token id, as samplers return it at temperature 0."""
    return replace(convention, decode=lambda answer, inputs: _token(convention.decode(answer, inputs), inputs))


FLAT = numpy.log(numpy.array([0.11, 0.05, 0.27, 0.2, 0.02, 0.19, 0.16])) + 1.3
STEEP = numpy.log(numpy.array([0.03, 0.95, 0.02])) - 0.4
SEVERAL = numpy.log(numpy.array([[0.11, 0.5, 0.08, 0.01, 0.3], [0.41, 0.12, 0.26, 0.04, 0.17], [0.02, 0.03, 0.05, 0.88, 0.02]]))
"""Logits of probabilities whose cumulative sums and shares are at no threshold: flat, steep, and several rows."""


def of_rows(name: str, logits: Any, **options: float) -> Probe:
    """Return a probe of several rows, which a function may reject or treat as one distribution."""
    return Probe(name, {"logits": logits, **options}, TEXTS["batch"], TEXTS["rows_apart"], unless=OF_ONE_ROW)


LOGITS = ROLES("logits")
TEMPERATURE = ROLES("temperature", neutral=1.0, off=1.0)
TOP_K = ROLES("top_k", neutral=None)
NEARLY_ONE = 1.0 - 1e-7
"""A top-p that keeps every token, also of functions that treat exactly 1 in another way."""

TOP_P = ROLES("top_p", neutral=None, off=NEARLY_ONE)
MIN_P = ROLES("min_p")
RNG = ROLES("rng", neutral=None)
AXIS = ROLES("axis", neutral=-1)
WORDS = ROLES("words", neutral=lambda inputs: numpy.arange(inputs["logits"].shape[-1]))
"""The tokens themselves, next to their probabilities; ids are passed."""

SAMPLER = partial(Exercise, may_write=True, drawing="read", is_trained_through=False)
"""An exercise whose function draws tokens, or returns their probabilities."""
OF_FILTER = (GIVEN, (*ROWS, by_token(is_filter=True)), (*RETURNED, UNNORMALISED))
FILTER = partial(SAMPLER, conventions=OF_FILTER)
"""An exercise whose function keeps some of the tokens."""

OF_FILTERS = (
    TEMPERATURE,
    RNG,
    AXIS,
    WORDS,
    ROLES("filter_value", neutral=-numpy.inf),
    ROLES("min_tokens_to_keep", neutral=1),
)
"""Operands that every filter of logits may take, apart from its own."""


def required(role: Role) -> Role:
    """Return a role without its neutral value."""
    return replace(role, neutral=MISSING)
