"""The scale of attention between projections, read off a learner's function or class."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy

from headway.practice.diagnosis.compare import Raised
from headway.practice.exercise import Inputs, Recovery
from headway.practice.recipes import attention
from headway.practice.recipes.projections import project, split
from headway.practice.words import Words


@lru_cache
def revealing(num_heads: int | None, head_dim: int, *, is_batched: bool, is_projected: bool = False) -> Inputs:
    """Inputs whose answer shows the attention weights: values are unit vectors, and all projections but query and key are identities.

    The sequence is two zeros, then the unit vectors; the last query sees all of them, causal or not.
    """
    random = numpy.random.default_rng(11)
    hidden = (num_heads or 1) * head_dim
    x = numpy.concatenate([numpy.zeros((2, hidden)), numpy.eye(hidden)])
    x = numpy.broadcast_to(x, (2, *x.shape)).copy() if is_batched else x
    weights = {f"{part}_weight": attention.few_bits(random.standard_normal((hidden, hidden))) for part in ("query", "key")}
    unit = numpy.eye(hidden)
    heads = {} if num_heads is None else {"num_heads": num_heads}
    if is_projected:
        query, key = (x @ weights[f"{part}_weight"].T for part in ("query", "key"))
        return {"query": query, "key": key, "value": x, **heads}
    return {"query": x, "key": x, "value": x, **weights, "value_weight": unit, "output_weight": unit, **heads}


def read_weights(answer: Any, inputs: Inputs) -> tuple[Any, Any] | None:
    """Of each head the last query's attention weights, as far as the answer shows them, and the raw scores of the same keys."""
    x, num_heads = inputs["query"], inputs.get("num_heads", 1)
    if isinstance(answer, Raised) or numpy.shape(answer) != x.shape:
        return None
    shown = numpy.asarray(answer, numpy.float64).reshape(-1, x.shape[-1])[-1].reshape(num_heads, -1)
    firsts = {part: inputs[part].reshape(-1, *x.shape[-2:])[0] for part in ("query", "key")}
    query, key = (split(project(first, inputs.get(f"{part}_weight"), None), num_heads) for part, first in firsts.items())
    scores = (query[:, -1:] @ numpy.swapaxes(key, -1, -2))[:, 0, 2:].reshape(num_heads, num_heads, -1)
    return shown, scores[numpy.arange(num_heads), numpy.arange(num_heads)]


def slope(num_heads: tuple[int | None, ...]) -> Callable[[Any], list[tuple[Inputs, float]]]:
    """Measures the scale: by how much the logarithm of the weights rises per unit of raw score."""

    def measure(ask: Any) -> list[tuple[Inputs, float]]:
        measured = []
        for heads, head_dim in zip(num_heads, (3, 5), strict=True):
            for is_batched, is_projected in ((True, False), (False, False), (True, True), (False, True)):
                inputs = revealing(heads, head_dim, is_batched=is_batched, is_projected=is_projected)
                read = read_weights(ask(inputs), inputs)
                if read is None or not (read[0] > 0).all():
                    continue
                logs, raw = (each - each.mean(-1, keepdims=True) for each in (numpy.log(read[0]), read[1]))
                number = float((raw * logs).sum() / (raw * raw).sum())
                if numpy.abs(logs - number * raw).max() < 1e-3 * max(numpy.abs(logs).max(), 1e-9):
                    measured.append((inputs, number))
                    break
        return measured if len(measured) == len(num_heads) else []

    return measure


def scale_sizes(inputs: Inputs) -> Mapping[str, float]:
    """What a scale may be made of."""
    x, num_heads = inputs["query"], inputs.get("num_heads", 1)
    known = {"head_dim": x.shape[-1] // num_heads, "hidden_size": x.shape[-1], "num_heads": num_heads, "seq_len": x.shape[-2]}
    known |= {"batch_size": x.shape[0]} if x.ndim > 2 else {}
    return {name: float(size) for name, size in known.items() if name != "num_heads" or "num_heads" in inputs}


def scale_recovery(num_heads: tuple[int | None, ...]) -> Recovery:
    """The scale, read off under these numbers of heads; None for a function that is told none."""
    return Recovery(
        "scale",
        "scale",
        measure=slope(num_heads),
        wrong=lambda number_of: attention.given_or(lambda inputs: number_of(_merged(inputs))),
        sizes=scale_sizes,
        right=lambda inputs: float((inputs["query"].shape[-1] // inputs.get("num_heads", 1)) ** -0.5),
        right_name="1/√head_dim",
        says=Words(
            "your scale is {value}{names}; it must be {right} = {right_name}", "你的缩放是 {value}{names}；应为 {right} = {right_name}"
        ),
        fix=Words(
            "multiply query @ keyᵀ by 1/√head_dim, the width of one head's query", "把 query @ keyᵀ 乘以 1/√head_dim，即单个头的查询宽度"
        ),
        hides=Words("a softmax that is nearly one-hot hides a wrong scale", "当 softmax 几乎是 one-hot 时，错误的缩放看不出来"),
        pattern=r"sqrt|\*\* *-?0?\.5|scale|/",
    )


def _merged(inputs: Inputs) -> Inputs:
    """What the scale's sizes are read from, for queries as they are in the recipe."""
    query = inputs["query"]
    if inputs.get("num_heads") is None:
        return {"query": query}
    merged = numpy.empty((*query.shape[:-3], query.shape[-2], query.shape[-3] * query.shape[-1]))
    return {"query": merged, "num_heads": query.shape[-3]}
