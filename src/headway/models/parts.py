"""The parts of a layer that every kind of model computes alike, from their spec and their weights."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import numpy

from headway.arrays import Array, Operations, as_dtype, cast, dtype_name
from headway.models.spec import FeedForwardSpec, NormSpec

Spec = TypeVar("Spec")


def normalized(x: Array, weights: Any, parts: Any, name: str, ops: Operations) -> Array:
    """Return x (..., hidden_size) after the norm that is the field `name` of a spec and of its weights; x itself if the spec has none."""
    spec: NormSpec | None = getattr(parts, name)
    if spec is None:
        return x
    norm = getattr(weights, name)
    if spec.kind == "layer_norm":
        return ops.layer_norm(x, norm.weight, norm.bias, eps=spec.eps)
    return ops.rms_norm(x, norm.weight, eps=spec.eps)


def transformed(x: Array, weights: Any, spec: FeedForwardSpec, ops: Operations) -> Array:
    """Return the output of a feed-forward network or of a mixture of experts, with the shape of x, (..., hidden_size)."""
    activation, clamped = getattr(ops, spec.activation), spec.clamped_swiglu
    combine = None if clamped is None else partial(ops.clamped_swiglu, limit=clamped.limit, slope=clamped.slope)
    if spec.experts is not None:
        routing = {"top_k": spec.experts.top_k, "is_normalized": spec.experts.is_normalized}
        return ops.mixture_of_experts(x, weights, **routing, activation=activation, combine=combine, ops=ops)
    if spec.is_gated:
        return ops.gated_feed_forward(x, weights, activation=activation, combine=combine, ops=ops)
    return ops.feed_forward(x, weights, activation=activation, ops=ops)


def scaled(x: Array, scale: float | None) -> Array:
    """Return x · scale in the dtype of x; x itself for None."""
    return x if scale is None else cast(x * scale, x.dtype)  # NumPy returns float32 for bfloat16 times a number


def scaled_embedding(x: Array, scale: float | None) -> Array:
    """Return x · scale with the scale rounded to the dtype of x, as Gemma was trained; x itself for None."""
    return x if scale is None else scaled(x, float(numpy.asarray(scale).astype(as_dtype(dtype_name(x.dtype), numpy))))


def once_per_config(spec: Callable[[Any], Spec]) -> Callable[[Any], Spec]:
    """Return a function that computes the spec of a config at its first call and keeps it on the config."""

    def kept(config: Any) -> Spec:
        known = config.__dict__.get("_spec")
        if known is None:
            known = spec(config)
            object.__setattr__(config, "_spec", known)  # configs are frozen
        return known

    return kept
