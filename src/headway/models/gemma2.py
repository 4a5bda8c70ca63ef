"""Gemma 2: Gemma with norms before and after each part, soft caps, and a sliding window in every other layer.

Source   Gemma Team 2024; the keys and tensor names are those of Hugging Face's Gemma2ForCausalLM
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from headway.models import decoder
from headway.models.config import expect_number, expect_one_of, expect_positive
from headway.models.rotary_config import ACTIVATIONS, WindowConfig
from headway.models.spec import AttentionSpec, DecoderSpec, FeedForwardSpec, LayerSpec, NormSpec
from headway.models.stored import Stored
from headway.models.tensor_names import LLAMA, stored_decoder

KIND = "decoder"
PREFIX = "model."
# The rotary frequencies, which config.json determines.
IGNORED_TENSORS = r"layers\.\d+\.self_attn\.rotary_emb\.inv_freq"
WITHOUT_EFFECT = ("rope_theta", "rope_scaling", "cache_implementation")
Weights = decoder.Weights


@dataclass(frozen=True, kw_only=True)
class Config(WindowConfig):
    """The keys of config.json that affect the result."""

    head_dim: int = 256
    hidden_act: str = "gelu_pytorch_tanh"
    hidden_activation: str = "gelu_pytorch_tanh"  # read instead of hidden_act
    max_position_embeddings: int = 8192
    attention_bias: bool = False
    query_pre_attn_scalar: float = 256
    sliding_window: int | None = 4096
    attn_logit_softcapping: float | None = 50.0
    final_logit_softcapping: float | None = 30.0
    tie_word_embeddings: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_one_of("hidden_activation", self.hidden_activation, ACTIVATIONS)
        expect_number("query_pre_attn_scalar", self.query_pre_attn_scalar)
        expect_positive(self, "attn_logit_softcapping", "final_logit_softcapping")

    @property
    def norm(self) -> NormSpec:
        """The norm of the hidden states."""
        return replace(super().norm, has_unit_offset=True)

    @property
    def attention(self) -> AttentionSpec:
        """Attention to all positions, without a soft cap."""
        scale, has_bias = self.query_pre_attn_scalar**-0.5, self.attention_bias
        return replace(super().attention, scale=scale, has_bias=has_bias, has_output_bias=has_bias)

    def default_layer_type(self, index: int) -> str:
        """Return the kind of attention of a layer without layer_types."""
        return "full_attention" if index % 2 else "sliding_attention"


def spec(config: Config) -> DecoderSpec:
    """Return the description of the decoder."""
    return with_four_norms(config, replace(config.attention, soft_cap=config.attn_logit_softcapping))


def with_four_norms(config: Config, attention: AttentionSpec) -> DecoderSpec:
    """Return the decoder with norms of the input and the output of each part."""
    norm, feed_forward = config.norm, FeedForwardSpec(config.intermediate_size, ACTIVATIONS[config.hidden_activation])
    return DecoderSpec(
        config.vocab_size,
        config.hidden_size,
        tuple(LayerSpec(each, feed_forward, norm, norm, norm, norm) for each in config.windowed(attention)),
        norm,
        embedding_scale=math.sqrt(config.hidden_size),
        logit_soft_cap=config.final_logit_softcapping,
    )


NAMES = replace(
    LLAMA,
    parts={
        **LLAMA.parts,
        "attention_output_norm": "post_attention_layernorm",
        "feed_forward_norm": "pre_feedforward_layernorm",
        "feed_forward_output_norm": "post_feedforward_layernorm",
    },
)


def stored_weights(config: Config) -> dict[str, Stored]:
    """Return the place of each leaf in a checkpoint."""
    return stored_decoder(spec(config), NAMES, is_tied=config.tie_word_embeddings)


new_kv_cache, hidden_states, logits, forward = decoder.decoder_functions(spec)
