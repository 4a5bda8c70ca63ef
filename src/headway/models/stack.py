"""The description of an architecture that a compiled decoder needs in addition to the weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy

from headway.errors import UnsupportedError
from headway.models.rope import DEPENDS_ON_LENGTH
from headway.models.spec import DecoderSpec


@dataclass(frozen=True)
class Stack:
    """A pre-norm decoder: layers of attention and feed-forward, each with a norm and a residual connection, then a norm and the head.

    norm      layer_norm or rms_norm
    scales    factor of the attention scores, by layer
    windows   number of positions that a token attends to, by layer; None for all
    rotary    returns the cosines and sines of the first n positions, (n, head_dim // 2) each; None without rotary positions
    """

    num_layers: int
    hidden_size: int
    intermediate_size: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    norm: str
    eps: float
    activation: str
    scales: tuple[float, ...]
    windows: tuple[int | None, ...]
    rotary: Callable[[int], tuple[numpy.ndarray, numpy.ndarray]] | None = None


def stack_of(spec: DecoderSpec) -> Stack:
    """Return the Stack of a decoder.

    Errors   UnsupportedError for a decoder that the kernels do not support.
    """
    first, attention, feed_forward = spec.layers[0], spec.layers[0].attention, spec.layers[0].feed_forward
    alike = {replace(layer, attention=replace(layer.attention, window=None, scale=1.0)) for layer in spec.layers}
    unsupported = {
        "layers that differ in more than scale and window": len(alike) > 1,
        "a layer without a norm of its inputs": first.attention_norm != spec.norm or first.feed_forward_norm != spec.norm,
        "norms of a layer's outputs": bool(first.attention_output_norm or first.feed_forward_output_norm),
        "scaled embeddings, residuals or logits": any((spec.embedding_scale, first.residual_scale, spec.logit_scale)),
        "a mixture of experts": feed_forward.experts is not None,
        "soft caps": any((attention.soft_cap, spec.logit_soft_cap)),
        "a norm over all heads": attention.has_wide_norm,
        "rotary positions of a part of each head": attention.rotary is not None and attention.rotary.dim != attention.head_dim,
        "rotary positions that depend on the length": attention.rotary is not None
        and attention.rotary.parameters["rope_type"] in DEPENDS_ON_LENGTH,
    }
    found = [part for part, is_there in unsupported.items() if is_there]
    if found:
        raise UnsupportedError(f"got a decoder with {', '.join(found)}, expected one that the compiled kernels support")
    return Stack(
        len(spec.layers),
        spec.hidden_size,
        feed_forward.intermediate_size,
        attention.num_heads,
        attention.num_kv_heads,
        attention.head_dim,
        spec.norm.kind,
        spec.norm.eps,
        feed_forward.activation,
        tuple(layer.attention.scale for layer in spec.layers),
        tuple(layer.attention.window for layer in spec.layers),
        attention.rotary.tables if attention.rotary else None,
    )
