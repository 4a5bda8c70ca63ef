"""Gemma: Llama's layers, with norms whose weights are stored minus 1, scaled embeddings, and a GELU gate.

Source   Gemma Team 2024; the keys and tensor names are those of Hugging Face's GemmaForCausalLM
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from headway.models import decoder
from headway.models.rotary_config import RotaryConfig
from headway.models.spec import AttentionSpec, DecoderSpec, FeedForwardSpec, NormSpec
from headway.models.stored import Stored
from headway.models.tensor_names import LLAMA, stored_decoder

KIND = "decoder"
PREFIX = "model."
# The rotary frequencies, which config.json determines.
IGNORED_TENSORS = r"layers\.\d+\.self_attn\.rotary_emb\.inv_freq"
WITHOUT_EFFECT = ("rope_theta", "rope_scaling", "hidden_activation")
Weights = decoder.Weights


@dataclass(frozen=True, kw_only=True)
class Config(RotaryConfig):
    """The keys of config.json that affect the result."""

    head_dim: int = 256
    hidden_act: str = "gelu_pytorch_tanh"
    max_position_embeddings: int = 8192
    attention_bias: bool = False
    tie_word_embeddings: bool = True

    @property
    def norm(self) -> NormSpec:
        """The norm of the hidden states."""
        return replace(super().norm, has_unit_offset=True)

    @property
    def attention(self) -> AttentionSpec:
        """Attention to all positions."""
        return replace(super().attention, has_bias=self.attention_bias, has_output_bias=self.attention_bias)

    @property
    def feed_forward(self) -> FeedForwardSpec:
        """The gated feed-forward network; the tanh approximation, also where the file says gelu."""
        feed_forward = super().feed_forward
        return replace(feed_forward, activation="gelu_tanh") if feed_forward.activation == "gelu" else feed_forward


def spec(config: Config) -> DecoderSpec:
    """Return the description of the decoder."""
    return replace(config.pre_norm([config.attention] * config.num_hidden_layers), embedding_scale=math.sqrt(config.hidden_size))


def stored_weights(config: Config) -> dict[str, Stored]:
    """Return the place of each leaf in a checkpoint."""
    return stored_decoder(spec(config), LLAMA, is_tied=config.tie_word_embeddings)


new_kv_cache, hidden_states, logits, forward = decoder.decoder_functions(spec)
