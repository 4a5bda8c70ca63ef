"""The description of an encoder–decoder: the parts of each layer, as data. An absent part is None."""

from __future__ import annotations

from dataclasses import dataclass

from headway.models.encoder_spec import EncoderLayerSpec
from headway.models.spec import AttentionSpec, NormSpec


@dataclass(frozen=True, kw_only=True)
class CrossLayerSpec(EncoderLayerSpec):
    """A decoder's layer: an encoder's, whose attention is causal, with cross-attention to the source between its two parts.

    x ← sum_norm(x + cross_attention(norm(x), source))
    """

    cross_attention: AttentionSpec
    cross_attention_norm: NormSpec | None = None
    cross_attention_sum_norm: NormSpec | None = None


@dataclass(frozen=True)
class BucketSpec:
    """A relative position bias that all layers of a stack share: see functions.relative_position_buckets."""

    num_buckets: int
    max_distance: int


@dataclass(frozen=True)
class EncoderDecoderSpec:
    """An encoder–decoder: embeddings, the layers of both stacks, and the output head.

    norm             final norm of both stacks; None without one
    num_sinusoids    number of sinusoidal positions, which are added to the embeddings; None without them
    buckets          relative positions of both stacks; None without them
    embedding_scale  factor of the embeddings; None for 1
    hidden_scale     factor of the hidden states before the output head; None for 1
    """

    vocab_size: int
    decoder_vocab_size: int
    hidden_size: int
    encoder: tuple[EncoderLayerSpec, ...]
    decoder: tuple[CrossLayerSpec, ...]
    norm: NormSpec | None = None
    num_sinusoids: int | None = None
    buckets: BucketSpec | None = None
    embedding_scale: float | None = None
    hidden_scale: float | None = None
