"""The keys of config.json that BERT and the encoders derived from it share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headway.models.config import expect_multiple, expect_num_layers, expect_number, expect_one_of, expect_positive
from headway.models.encoder_spec import EncoderLayerSpec
from headway.models.spec import AttentionSpec, FeedForwardSpec, NormSpec

ACTIVATIONS = {"gelu": "gelu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "relu": "relu", "silu": "silu", "swish": "silu"}
WITHOUT_EFFECT = ("attention_probs_dropout_prob", "classifier_dropout", "hidden_dropout_prob", "output_past")


@dataclass(frozen=True, kw_only=True)
class EncoderConfig:
    """The keys of config.json that affect the result."""

    vocab_size: int
    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    intermediate_size: int
    max_position_embeddings: int = 512
    hidden_act: str = "gelu"
    layer_norm_eps: float = 1e-12
    position_embedding_type: str = "absolute"
    tie_word_embeddings: bool = True
    num_labels: int = 2

    def __post_init__(self) -> None:
        expect_positive(self, "vocab_size", "hidden_size", "num_attention_heads", "intermediate_size")
        expect_positive(self, "max_position_embeddings", "num_labels")
        expect_num_layers(self, "num_hidden_layers")
        expect_multiple(self, "hidden_size", "num_attention_heads")
        expect_one_of("hidden_act", self.hidden_act, ACTIVATIONS)
        expect_one_of("position_embedding_type", self.position_embedding_type, ["absolute"])
        expect_number("layer_norm_eps", self.layer_norm_eps, may_be_zero=True)

    @property
    def max_seq_len(self) -> int:
        """Longest sequence: the number of rows of the position embedding."""
        return self.max_position_embeddings

    @property
    def norm(self) -> NormSpec:
        """Every norm of the model."""
        return NormSpec("layer_norm", self.layer_norm_eps)

    @property
    def attention(self) -> AttentionSpec:
        """The attention of every layer."""
        heads, head_dim = self.num_attention_heads, self.hidden_size // self.num_attention_heads
        return AttentionSpec(heads, heads, head_dim, head_dim**-0.5, has_bias=True, has_output_bias=True)

    @property
    def layer(self) -> EncoderLayerSpec:
        """Every layer, with post-norm."""
        feed_forward = FeedForwardSpec(self.intermediate_size, ACTIVATIONS[self.hidden_act], is_gated=False, has_bias=True)
        return EncoderLayerSpec(self.attention, feed_forward, attention_sum_norm=self.norm, feed_forward_sum_norm=self.norm)


def with_num_labels(keys: Mapping[str, object]) -> Mapping[str, object]:
    """Return the keys of config.json with num_labels, which transformers stores as the number of names in id2label."""
    names = keys.get("id2label")
    return {**keys, "num_labels": len(names)} if isinstance(names, Mapping) and names else keys
