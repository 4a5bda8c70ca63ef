"""The parts of a layer that every kind of model computes alike, from their spec and their weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy

from headway.arrays import Array, Operations, as_dtype, cast, dtype_name
from headway.models.spec import FeedForwardSpec, NormSpec

Spec = TypeVar("Spec")


def normalized(x: Array, weights: Any, spec: NormSpec | None, ops: Operations) -> Array:
    """Return the normalized hidden states, or the states themselves without a spec."""
    if spec is None:
        return x
    if spec.kind == "layer_norm":
        return ops.layer_norm(x, weights.weight, weights.bias, eps=spec.eps)
    return ops.rms_norm(x, weights.weight, eps=spec.eps)


def transformed(x: Array, weights: Any, spec: FeedForwardSpec, ops: Operations) -> Array:
    """Return the output of a feed-forward network or of a mixture of experts."""
    activation = getattr(ops, spec.activation)
    if spec.experts is not None:
        top_k, is_normalized = spec.experts.top_k, spec.experts.is_normalized
        return ops.mixture_of_experts(x, weights, top_k=top_k, is_normalized=is_normalized, activation=activation, ops=ops)
    part = ops.gated_feed_forward if spec.is_gated else ops.feed_forward
    return part(x, weights, activation=activation, ops=ops)


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
