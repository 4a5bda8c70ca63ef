"""The keys of config.json that Llama and the architectures derived from it share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from headway.models.config import (
    expect_layer_types,
    expect_multiple,
    expect_num_layers,
    expect_number,
    expect_one_of,
    expect_positive,
)
from headway.models.rope import RopeParameters, longest_seq_len, rope_parameters, rotary_dim
from headway.models.spec import AttentionSpec, DecoderSpec, FeedForwardSpec, LayerSpec, NormSpec, RotarySpec

ACTIVATIONS = {"silu": "silu", "swish": "silu", "gelu": "gelu", "gelu_pytorch_tanh": "gelu_tanh", "relu": "relu"}


@dataclass(frozen=True, kw_only=True)
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
    default_theta: ClassVar[float] = 10000.0

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

    @classmethod
    def read_rope(cls, keys: Mapping[str, object]) -> Any:
        """Return rope_parameters from the keys of config.json."""
        return rope_parameters(keys, default_theta=cls.default_theta)

    def rope_of(self, layer_type: str) -> RopeParameters:
        """Return the rotary parameters of a kind of layers: full_attention or sliding_attention."""
        return self.rope_parameters

    @property
    def max_seq_len(self) -> int:
        """Longest sequence that the positions support."""
        return longest_seq_len(self.max_position_embeddings, self.rope_of("full_attention"))

    @property
    def norm(self) -> NormSpec:
        """The norm of the hidden states."""
        return NormSpec("rms_norm", self.rms_norm_eps)

    @property
    def attention(self) -> AttentionSpec:
        """Attention to all positions, without biases."""
        parameters = self.rope_of("full_attention")
        rotary = RotarySpec(rotary_dim(self.head_dim, parameters), parameters)
        return AttentionSpec(self.num_attention_heads, self.num_key_value_heads, self.head_dim, self.head_dim**-0.5, rotary=rotary)

    @property
    def feed_forward(self) -> FeedForwardSpec:
        """The gated feed-forward network, without biases."""
        return FeedForwardSpec(self.intermediate_size, ACTIVATIONS[self.hidden_act])

    def pre_norm(self, attentions: Sequence[AttentionSpec]) -> DecoderSpec:
        """Return the decoder with a norm of the input of each part, given the attention of each layer."""
        norm, feed_forward = self.norm, self.feed_forward
        layers = [LayerSpec(attention, feed_forward, attention_norm=norm, feed_forward_norm=norm) for attention in attentions]
        return DecoderSpec(self.vocab_size, self.hidden_size, tuple(layers), norm)


@dataclass(frozen=True, kw_only=True)
class WindowConfig(RotaryConfig):
    """The same with a sliding window in some layers; layer_types has full_attention or sliding_attention for each layer."""

    sliding_window: int | None = None
    layer_types: list[str] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_positive(self, "sliding_window")
        expect_layer_types(self.layer_types, self.num_hidden_layers, ("full_attention", "sliding_attention"))

    def default_layer_type(self, index: int) -> str:
        """Return the kind of a layer if there are no layer_types."""
        return "full_attention"

    def windowed(self, attention: AttentionSpec) -> list[AttentionSpec]:
        """Return the attention of each layer, with its window and rotary positions."""
        by_type = {}
        for layer_type, window in (("full_attention", None), ("sliding_attention", self.sliding_window)):
            rotary = attention.rotary and replace(attention.rotary, parameters=self.rope_of(layer_type))
            by_type[layer_type] = replace(attention, window=window, rotary=rotary)
        layer_types = self.layer_types or [self.default_layer_type(index) for index in range(self.num_hidden_layers)]
        return [by_type[layer_type] for layer_type in layer_types]
