"""Attention with projections in steps, and its accepted conventions; shared by self-, cross- and multi-head attention."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy

from headway import functions
from headway.arrays import as_floating, asarray_like, cast
from headway.functions import LinearWeights, MultiHeadAttentionWeights
from headway.practice.exercise import Inputs, Role
from headway.practice.recipes import attention
from headway.practice.roles import Roles, extent

ROLES = Roles("projections")

PARTS = ("query", "key", "value", "output")


def recipe(
    steps: Any,
    query: Any,
    key: Any,
    value: Any,
    num_heads: int | None = None,
    num_kv_heads: int | None = None,
    mask: Any = None,
    is_causal: bool = False,
    scale: float | None = None,
    **weights: Any,
) -> Any:
    """Compute attention in the steps weights, crop, enter, sequences, project, split, repeat, attend, merge, output, finish, wrap, leave."""
    steps.crop(query.shape[-2], weights.get("context_length"))
    held = steps.weights({f"{part}_{kind}": weights.get(f"{part}_{kind}") for part in PARTS for kind in ("weight", "bias")})
    outside = query
    query, key, value = _entered(steps, query, key, value)
    query, key, value = x, _, _ = steps.sequences(query, key, value)
    widths = {"input_width": query.shape[-1], "context_width": key.shape[-1], "lengths": (query.shape[-2], key.shape[-2])}
    heads = {"query": num_heads, "key": num_kv_heads or num_heads, "value": num_kv_heads or num_heads}
    projected = [
        steps.project(given, held[f"{part}_weight"], held[f"{part}_bias"], heads[part])
        for part, given in (("query", query), ("key", key), ("value", value))
    ]
    if num_heads is None:  # a single head without a head axis
        q, k, v = projected
        attended = steps.one_head(attention.attend(steps, q, k, v, mask, scale, is_causal, **widths), v)
        return steps.leave(steps.wrap(steps.finish(steps.output(attended, held["output_weight"], held["output_bias"]), x), outside), mask)
    q, k, v = (steps.split(x, heads[part]) for part, x in zip(heads, projected, strict=True))
    if num_kv_heads is not None:
        k, v = steps.repeat_key(k, num_heads), steps.repeat_value(v, num_heads)
    attended = attention.attend(steps, q, k, v, mask, scale, is_causal, num_heads=num_heads, **widths)
    merged = steps.merge(attended)
    return steps.leave(steps.wrap(steps.finish(steps.output(merged, held["output_weight"], held["output_bias"]), x), outside), mask)


def _entered(steps: Any, query: Any, key: Any, value: Any) -> tuple[Any, Any, Any]:
    """Return the sequences after the steps enter, and enter_context for those that are not the query; one array for several stays one."""
    known: dict[int, Any] = {id(query): steps.enter(query)}
    for each in (key, value):
        known.setdefault(id(each), steps.enter_context(each, steps.enter))
    return known[id(query)], known[id(key)], known[id(value)]


def definition(
    query: Any,
    key: Any,
    value: Any,
    num_heads: int | None = None,
    num_kv_heads: int | None = None,
    mask: Any = None,
    is_causal: bool = False,
    scale: float | None = None,
    **weights: Any,
) -> Any:
    """Call functions.multi_head_attention with the roles; without weights, the inputs are already projected."""

    def layer(part: str, width: int) -> LinearWeights:
        weight = weights.get(f"{part}_weight")
        return LinearWeights(identity(width, query) if weight is None else weight, weights.get(f"{part}_bias"))

    mask = mask[:, None] if num_heads is None and mask is not None and mask.ndim == 3 else mask  # the definition has a head axis
    inner = (layer("query", query.shape[-1]), layer("key", key.shape[-1]), layer("value", value.shape[-1]))
    if inner[0].weight.shape[0] != inner[2].weight.shape[0] and num_heads is None:  # a single head whose values have another width
        q, k, v = (functions.linear(x, each.weight, each.bias) for x, each in zip((query, key, value), inner, strict=True))
        attended = functions.scaled_dot_product_attention(
            q, k, v, None if mask is None else mask[..., 0, :, :] if mask.ndim > 2 else mask, is_causal=is_causal, scale=scale
        )
        return functions.linear(attended, layer("output", v.shape[-1]).weight, weights.get("output_bias"))
    held = MultiHeadAttentionWeights(*inner, layer("output", inner[0].weight.shape[0]))
    return functions.multi_head_attention(query, key, value, held, num_heads=num_heads or 1, mask=mask, is_causal=is_causal, scale=scale)


def identity(width: int, like: Any) -> Any:
    """Return the identity weight."""
    return cast(asarray_like(numpy.eye(width), like), as_floating(like).dtype)


def project(x: Any, weight: Any, bias: Any, num_heads: int | None = None) -> Any:
    """Return x @ weightᵀ + bias, or x without a weight."""
    product = x if weight is None else x @ weight.T
    return product if bias is None else product + bias


def split(x: Any, num_heads: int) -> Any:
    """Reshape (..., positions, width) to (..., heads, positions, head_dim)."""
    if x.shape[-1] % num_heads:
        raise ValueError("the width does not divide by num_heads")
    return numpy.swapaxes(x.reshape(*x.shape[:-1], num_heads, -1), -2, -3)


def interleaved(x: Any, num_heads: int) -> Any:
    """Reshape as split does, but give head h every num_heads-th column."""
    return numpy.swapaxes(numpy.swapaxes(x.reshape(*x.shape[:-1], -1, num_heads), -1, -2), -2, -3)


def interleaved_again(x: Any) -> Any:
    """Inverse of interleaved."""
    return numpy.moveaxis(x, -3, -1).reshape(*x.shape[:-3], x.shape[-2], -1)


def merge(x: Any) -> Any:
    """Inverse of split."""
    x = numpy.swapaxes(x, -2, -3)
    return x.reshape(*x.shape[:-2], -1)


def repeat(x: Any, num_heads: int) -> Any:
    """Repeat every key head for each of its query heads."""
    return numpy.repeat(x, num_heads // x.shape[-3], axis=-3)


STEPS = attention.STEPS | {
    "enter_context": lambda x, enter: enter(x),
    "sequences": lambda query, key, value: (query, key, value),
    "project": project,
    "split": split,
    "repeat_key": repeat,
    "repeat_value": repeat,
    "merge": merge,
    "output": project,
}

_STEMS = {
    "query": ("q", "query", "queries", "qs"),
    "key": ("k", "key", "keys", "ks"),
    "value": ("v", "value", "values", "val", "vs"),
    "output": ("o", "out", "output", "final", "mix", "merge", "combine", "unify"),
}
_OUTPUTS = ("proj", "c_proj", "fc", "dense", "linear", "projection", "to_out", "fc_out", "combine", "unify", "unifyheads")
_PROJECTIONS = ("proj", "c_proj", "fc", "fc_out")


_WEIGHT_FORMS = "w_{} w{} {}_proj {}_proj_weight {}_weight to_{} {}_linear linear_{} proj_{} weight_{} {}_w {}w fc_{} {}_projection".split()
_BIAS_FORMS = "b_{} b{} {}_bias {}_proj_bias {}_b bias_{}".split()


def _weight_role(part: str) -> Role:
    named = tuple(form.format(stem) for stem in _STEMS[part] for form in _WEIGHT_FORMS)
    projections = _OUTPUTS + tuple(f"{stem}_{end}" for stem in _PROJECTIONS for end in ("w", "weight"))
    return Role(f"{part}_weight", named + (projections if part == "output" else ()), is_weight=True, held_as=_STEMS[part])


def _bias_role(part: str) -> Role:
    named = tuple(form.format(stem) for stem in _STEMS[part] for form in _BIAS_FORMS)
    named += tuple(f"{stem}_{end}" for stem in _PROJECTIONS for end in ("b", "bias")) if part == "output" else ()
    return Role(f"{part}_bias", named, _zeros(part), is_weight=True, is_optional=True, held_as=_STEMS[part])


def _width(inputs: Inputs, part: str, end: int) -> int:
    weight = inputs.get(f"{part}_weight")
    return int(inputs[part].shape[-1] if weight is None else weight.shape[end])


def heads_around(inputs: Inputs) -> int:
    """Return the number of heads of which a single one projects to its share of the width: 3 for weights of shape (4, 12)."""
    width, own = _width(inputs, "query", 1), _width(inputs, "query", 0)
    return width // own if "num_heads" not in inputs and own and width % own == 0 else 1


def _hidden_size(inputs: Inputs) -> int | None:
    """Return the width if everything but key and value heads, or but a single head of several, has the same one, else None."""
    if heads_around(inputs) > 1:
        return _width(inputs, "query", 1)
    widths = {_width(inputs, part, end) for part in ("query", "value") for end in (0, 1) if part == "query" or "num_kv_heads" not in inputs}
    return widths.pop() if len(widths) == 1 else None


def _zeros(*parts: str) -> Callable[[Inputs], Any]:
    """Return a function that creates zero biases for the concatenated parts if the inputs have none."""

    def zeros(inputs: Inputs) -> Any:
        weights = [inputs.get(f"{part}_weight") for part in parts]
        return None if any(weight is None for weight in weights) else numpy.zeros(sum(map(len, weights)))  # type: ignore[arg-type]

    return zeros


def joined_weights(inputs: Inputs) -> numpy.ndarray:
    """Return the weights of query, key and value as one."""
    return numpy.concatenate([inputs[f"{part}_weight"] for part in PARTS[:3]])


OPERANDS = (ROLES("query"), ROLES("key"), ROLES("value"))
SEQUENCE = ROLES("x")
WEIGHTS = (
    *map(_weight_role, PARTS),
    *map(_bias_role, PARTS),
    ROLES("fused_weight"),
    ROLES("fused_bias", neutral=_zeros(*PARTS[:3])),
)
OUTPUT_ROLES = tuple(role for role in WEIGHTS if role.name == "output_weight")
WITH_OPTIONAL_OUTPUT = tuple(replace(role, is_optional=True) if role in OUTPUT_ROLES else role for role in WEIGHTS)
OPTIONS = (ROLES("mask"), ROLES("is_causal", neutral=False), ROLES("scale", neutral=None), ROLES("dropout", neutral=0.0))
NUM_HEADS = ROLES("num_heads", size_of=heads_around)


def _per_head(part: str) -> Callable[[Inputs], int]:
    return lambda inputs: _width(inputs, part, 0) // inputs.get(NUM_HEADS.name, 1)


SIZES = (
    ROLES.size("hidden_size", _hidden_size, size_override=(("head_dim", "d_out"), lambda inputs: _width(inputs, "query", 1))),
    ROLES.size("head_dim", _per_head("query")),
    ROLES.size("value_dim", _per_head("value")),
    ROLES.size("d_in", lambda inputs: _width(inputs, "query", 1)),
    ROLES.size("d_out", lambda inputs: _width(inputs, "query", 0)),
    ROLES.size("context_length", lambda inputs: max(inputs["query"].shape[-2], inputs["key"].shape[-2]) + 3),
    ROLES.size("seq_len", extent("query", -2)),
    ROLES.size("batch_size", lambda inputs: inputs["query"].shape[0] if inputs["query"].ndim > 2 else None),
    ROLES.size("has_bias", lambda inputs: "query_bias" in inputs),
)


def attention_roles(weights: Sequence[Role], *more: Role) -> tuple[Role, ...]:
    """Return the roles of an attention of sequences with these weights, and further operands."""
    return (*OPERANDS, SEQUENCE, *weights, NUM_HEADS, *OPTIONS, *more, *SIZES)


FUSED = (("query_weight", "key_weight", "value_weight"), ("key_weight", "value_weight"))
