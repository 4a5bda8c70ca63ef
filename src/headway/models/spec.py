"""The description of a decoder: the parts of each layer, as data. An absent part is None."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy

from headway.models.rope import RopeParameters, rotary_tables


@dataclass(frozen=True)
class NormSpec:
    """A normalization.

    kind             layer_norm or rms_norm
    has_unit_offset  True if the checkpoint stores weight - 1; the tree holds the weight itself
    """

    kind: str
    eps: float
    has_unit_offset: bool = False


@dataclass(frozen=True)
class RotarySpec:
    """Rotary positions of the first `dim` coordinates of a head."""

    dim: int
    parameters: RopeParameters = field(hash=False)

    def tables(self, num_positions: int) -> tuple[numpy.ndarray, numpy.ndarray]:
        """Return the cosines and sines of the first positions, (num_positions, dim // 2) float32 each.

        Kinds that depend on the length of the sequence give each position the angles that it has as the last one.
        """
        positions = numpy.arange(num_positions)[:, None]
        tables = rotary_tables(positions, self.dim, self.parameters, like=numpy.zeros(0, numpy.float32))
        cos, sin = (numpy.ascontiguousarray(table.reshape(num_positions, -1), numpy.float32) for table in map(numpy.asarray, tables))
        return cos, sin


@dataclass(frozen=True)
class AttentionSpec:
    """Causal self-attention.

    scale            factor of the scores
    window           number of positions that a token attends to, its own included; None for all
    soft_cap         limit of the scores; None for no limit
    query_key_norm   norm of each query and key head; None for no norm
    has_wide_norm    True if query_key_norm normalizes all heads together
    has_bias         True for biases of query, key and value
    has_output_bias  True for a bias of the output projection
    has_sinks        True for a learned sink of each head
    """

    num_heads: int
    num_kv_heads: int
    head_dim: int
    scale: float
    window: int | None = None
    rotary: RotarySpec | None = None
    soft_cap: float | None = None
    query_key_norm: NormSpec | None = None
    has_wide_norm: bool = False
    has_bias: bool = False
    has_output_bias: bool = False
    has_sinks: bool = False


@dataclass(frozen=True)
class ExpertsSpec:
    """A mixture of experts, of which each token uses top_k.

    is_normalized    as in functions.route_top_k
    has_router_bias  True for a bias of the router
    """

    num_experts: int
    top_k: int
    is_normalized: bool
    has_router_bias: bool = False


@dataclass(frozen=True)
class ClampedSwiGLUSpec:
    """The options of functions.clamped_swiglu."""

    limit: float
    slope: float


@dataclass(frozen=True)
class FeedForwardSpec:
    """A feed-forward network, or a mixture of such networks.

    activation      name of a function of headway.functions
    clamped_swiglu  None for activation(gate) · up
    """

    intermediate_size: int
    activation: str
    is_gated: bool = True
    has_bias: bool = False
    experts: ExpertsSpec | None = None
    clamped_swiglu: ClampedSwiGLUSpec | None = None


@dataclass(frozen=True)
class LayerSpec:
    """Attention and feed-forward, each with a norm of its input, a norm of its output, or both.

    x ← x + residual_scale · output_norm(attention(norm(x)))
    x ← x + residual_scale · output_norm(feed_forward(norm(x)))
    """

    attention: AttentionSpec
    feed_forward: FeedForwardSpec
    attention_norm: NormSpec | None = None
    attention_output_norm: NormSpec | None = None
    feed_forward_norm: NormSpec | None = None
    feed_forward_output_norm: NormSpec | None = None
    residual_scale: float | None = None


@dataclass(frozen=True)
class DecoderSpec:
    """A decoder: embeddings, layers, a final norm and the output head.

    num_positions    rows of the learned position embedding; None without one
    embedding_scale  factor of the token embeddings; None for 1
    logit_scale      factor of the logits; None for 1
    logit_soft_cap   limit of the logits; None for no limit
    """

    vocab_size: int
    hidden_size: int
    layers: tuple[LayerSpec, ...]
    norm: NormSpec
    num_positions: int | None = None
    embedding_scale: float | None = None
    logit_scale: float | None = None
    logit_soft_cap: float | None = None

    @property
    def rotary_specs(self) -> set[RotarySpec]:
        """The rotary positions that layers use."""
        return {layer.attention.rotary for layer in self.layers if layer.attention.rotary}
