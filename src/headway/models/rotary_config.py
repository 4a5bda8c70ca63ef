"""The keys of config.json that Llama and the architectures derived from it share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headway.models.config import expect_multiple, expect_num_layers, expect_number, expect_one_of, expect_positive
from headway.models.rope import RopeParameters, longest_seq_len
from headway.models.spec import AttentionSpec, DecoderSpec, FeedForwardSpec, LayerSpec, NormSpec, RotarySpec

ACTIVATIONS = {"silu": "silu", "swish": "silu", "gelu": "gelu", "gelu_pytorch_tanh": "gelu_tanh", "relu": "relu"}


@dataclass(frozen=True)
class RotaryConfig:
    """The keys of config.json that affect the result."""

    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    rope_parameters: RopeParameters
    num_key_value_heads: int = None  # type: ignore[assignment]  # num_attention_heads
    head_dim: int = None  # type: ignore[assignment]  # hidden_size // num_attention_heads
    hidden_act: str = "silu"
    max_position_embeddings: int = 2048
    rms_norm_eps: float = 1e-6
    tie_word_embeddings: bool = False

    def __post_init__(self) -> None:
        expect_positive(self, "vocab_size", "hidden_size", "intermediate_size", "num_attention_heads", "max_position_embeddings")
        expect_num_layers(self, "num_hidden_layers")
        expect_one_of("hidden_act", self.hidden_act, ACTIVATIONS)
        if self.head_dim is None:
            expect_multiple(self, "hidden_size", "num_attention_heads")
            object.__setattr__(self, "head_dim", self.hidden_size // self.num_attention_heads)
        if self.num_key_value_heads is None:
            object.__setattr__(self, "num_key_value_heads", self.num_attention_heads)
        expect_positive(self, "head_dim", "num_key_value_heads")
        expect_multiple(self, "num_attention_heads", "num_key_value_heads")
        expect_number("rms_norm_eps", self.rms_norm_eps, may_be_zero=True)

    @property
    def max_seq_len(self) -> int:
        """Longest sequence that the positions support."""
        return longest_seq_len(self.max_position_embeddings, self.rope_parameters)

    @property
    def norm(self) -> NormSpec:
        """The norm of the hidden states."""
        return NormSpec("rms_norm", self.rms_norm_eps)

    @property
    def attention(self) -> AttentionSpec:
        """Attention to all positions, without biases."""
        rotary = RotarySpec(self.head_dim, self.rope_parameters)
        return AttentionSpec(self.num_attention_heads, self.num_key_value_heads, self.head_dim, self.head_dim**-0.5, rotary=rotary)

    @property
    def feed_forward(self) -> FeedForwardSpec:
        """The gated feed-forward network, without biases."""
        return FeedForwardSpec(self.intermediate_size, ACTIVATIONS[self.hidden_act])

    def pre_norm(self, attentions: Sequence[AttentionSpec]) -> DecoderSpec:
        """Return the decoder with a norm of the input of each part, given the attention of each layer."""
        layers = [LayerSpec(attention, self.feed_forward, self.norm, None, self.norm) for attention in attentions]
        return DecoderSpec(self.vocab_size, self.hidden_size, tuple(layers), self.norm)
