"""Numbers measured from attention with projections: its scale, and the score of masked keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy

from headway.practice.exercise import Inputs, Recovery
from headway.practice.outputs import Raised
from headway.practice.recipes import attention
from headway.practice.recipes.projections import project, split
from headway.practice.texts import Texts

TEXTS = Texts("shared/projection_scale")


@lru_cache
def revealing(num_heads: int | None, head_dim: int, *, is_batched: bool, is_projected: bool, is_grouped: bool = False) -> Inputs:
    """Return inputs whose output shows the attention weights: values are unit vectors, and only query and key are projected.

    The sequence is two zeros, then the unit vectors; the last query attends to all of them, causal or not.
    """
    random = numpy.random.default_rng(11)
    hidden = (num_heads or 1) * head_dim
    x = numpy.concatenate([numpy.zeros((2, hidden)), numpy.eye(hidden)])
    x = numpy.broadcast_to(x, (2, *x.shape)).copy() if is_batched else x
    weights = {f"{part}_weight": attention.few_bits(random.standard_normal((hidden, hidden))) for part in ("query", "key")}
    unit = numpy.eye(hidden)
    heads = {} if num_heads is None else {"num_heads": num_heads} | ({"num_kv_heads": num_heads} if is_grouped else {})
    if is_projected:
        query, key = (x @ weights[f"{part}_weight"].T for part in ("query", "key"))
        return {"query": query, "key": key, "value": x, **heads}
    return {"query": x, "key": x, "value": x, **weights, "value_weight": unit, "output_weight": unit, **heads}


def read_weights(
    answer: Any, inputs: Inputs, row: int = -1, before: Callable[[Any], Any] = lambda vectors: vectors
) -> tuple[Any, Any] | None:
    """Return one query's attention weights of each head, as far as the output shows them, and the raw scores of the same keys.

    before   what is computed from queries and keys before their scores
    """
    x, num_heads = inputs["query"], inputs.get("num_heads", 1)
    if isinstance(answer, Raised) or numpy.shape(answer) != inputs["value"].shape:
        return None
    shown = numpy.asarray(answer, numpy.float64).reshape(-1, *x.shape[-2:])[-1, row].reshape(num_heads, -1)
    firsts = {part: inputs[part].reshape(-1, *x.shape[-2:])[0] for part in ("query", "key")}
    query, key = (before(split(project(first, inputs.get(f"{part}_weight"), None), num_heads)) for part, first in firsts.items())
    scores = (query[:, row][:, None] @ numpy.swapaxes(key, -1, -2))[:, 0, 2:].reshape(num_heads, num_heads, -1)
    return shown, scores[numpy.arange(num_heads), numpy.arange(num_heads)]


FORMS = ((True, False), (False, False), (True, True), (False, True))
"""Forms of the inputs, most frequent first: with a batch axis, and with the projection in the function."""


def slope(
    num_heads: tuple[int | None, ...], *, is_grouped: bool = False, before: Callable[[Any], Any] = lambda vectors: vectors
) -> Callable[[Any], list[tuple[Inputs, float]]]:
    """Return a measurement of the scale: the increase of the weights' logarithm per unit of raw score.

    before   what is computed from queries and keys before their scores
    """

    def measure(ask: Any) -> list[tuple[Inputs, float]]:
        measured = []
        for heads, head_dim in zip(num_heads, (3, 5), strict=True):
            for is_batched, is_projected in FORMS:
                inputs = revealing(heads, head_dim, is_batched=is_batched, is_projected=is_projected, is_grouped=is_grouped)
                read = read_weights(ask(inputs), inputs, before=before)
                if read is None or not (read[0] > 0).all():
                    continue
                logs, raw = (each - each.mean(-1, keepdims=True) for each in (numpy.log(read[0]), read[1]))
                number = float((raw * logs).sum() / (raw * raw).sum())
                if numpy.abs(logs - number * raw).max() < 1e-3 * max(numpy.abs(logs).max(), 1e-9):
                    measured.append((inputs, number))
                    break
        return measured if len(measured) == len(num_heads) else []

    return measure


def _hiding(inputs: Inputs, seen: int) -> Iterator[Inputs]:
    """Yield the inputs with only the first `seen` keys visible, for each kind of mask."""
    positions = inputs["query"].shape[-2]
    yield inputs
    yield inputs | {"mask": numpy.tri(positions, dtype=bool)}
    if inputs["query"].ndim > 2:
        padding = numpy.broadcast_to(numpy.arange(positions) < seen, (len(inputs["query"]), 1, positions))
        yield inputs | {"mask": padding[:, None] if "num_heads" in inputs else padding}
    yield inputs | {"is_causal": True}


def leak(num_heads: tuple[int | None, ...]) -> Callable[[Any], list[tuple[Inputs, float]]]:
    """Return a measurement of the score of masked keys from their weight; empty if they have none."""

    def fill_of(ask: Any, heads: int | None, head_dim: int, way: int) -> tuple[Inputs, float] | None:
        row = 2 + head_dim // 2  # the key at this position is the last visible one
        for is_batched, is_projected in FORMS:
            candidates = list(_hiding(revealing(heads, head_dim, is_batched=is_batched, is_projected=is_projected), row + 1))[way:]
            read = read_weights(ask(candidates[0]), candidates[0], row) if candidates else None
            if read is None or not (read[0][0] > 1e-30).all():
                continue
            logs, raw = numpy.log(read[0][0]), read[1][0] * head_dim**-0.5
            offsets = logs[: row - 1] - raw[: row - 1]
            fills = logs[row - 1 :] - offsets.mean()
            if numpy.ptp(offsets) < 1e-3 and numpy.ptp(fills) < 1e-3 and abs(fills.mean()) > 1e-5:  # a fill of zero is a mistake of its own
                return candidates[0], float(fills.mean())
        return None

    def measure(ask: Any) -> list[tuple[Inputs, float]]:
        for way in range(4):
            measured = []
            for heads, head_dim in zip(num_heads, (3, 5), strict=True):
                found = fill_of(ask, heads, head_dim, way)
                if found is None:
                    break
                measured.append(found)
            if len(measured) == len(num_heads) and numpy.ptp([number for _, number in measured]) < 1e-3:
                return measured
        return []

    return measure


def scale_sizes(inputs: Inputs) -> Mapping[str, float]:
    """Return the sizes that a scale may be composed of."""
    x, num_heads = inputs["query"], inputs.get("num_heads", 1)
    known = {"head_dim": x.shape[-1] // num_heads, "hidden_size": x.shape[-1], "num_heads": num_heads, "seq_len": x.shape[-2]}
    known |= {"batch_size": x.shape[0]} if x.ndim > 2 else {}
    return {name: float(size) for name, size in known.items() if name != "num_heads" or "num_heads" in inputs}


def scale_recovery(num_heads: tuple[int | None, ...], *, is_grouped: bool = False) -> Recovery:
    """Return the recovery of the scale for these numbers of heads; None for a function without that parameter."""
    return TEXTS.recovery(
        "scale",
        "scale",
        measure=slope(num_heads, is_grouped=is_grouped),
        wrong=lambda number_of: attention.given_or(lambda inputs: number_of(_merged(inputs))),
        sizes=scale_sizes,
        right=lambda inputs: float((inputs["query"].shape[-1] // inputs.get("num_heads", 1)) ** -0.5),
        right_name="1/√head_dim",
    )


def leak_recovery(num_heads: tuple[int | None, ...]) -> Recovery:
    """Return the recovery of the score of masked keys for these numbers of heads."""
    return TEXTS.recovery(
        "fill_too_small",
        "hide",
        measure=leak(num_heads),
        wrong=lambda number_of: lambda scores, allowed: attention.hidden(scores, allowed, number_of({})),
        right=-1e9,
        right_name="-inf",
    )


def _merged(inputs: Inputs) -> Inputs:
    """Return the inputs from which the scale's sizes are computed, for queries as the recipe has them."""
    query = inputs["query"]
    if inputs.get("num_heads") is None:
        return {"query": query}
    merged = numpy.empty((*query.shape[:-3], query.shape[-2], query.shape[-3] * query.shape[-1]))
    return {"query": merged, "num_heads": query.shape[-3]}
