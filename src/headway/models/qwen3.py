"""Qwen3: Llama's layers, with an RMS norm on every query and key head, and an optional sliding window in the upper layers.

Source   Yang et al. 2025 (Qwen3); the keys and tensor names are those of Hugging Face's Qwen3ForCausalLM
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from headway.models import decoder, qwen2
from headway.models.spec import DecoderSpec
from headway.models.stored import Stored
from headway.models.tensor_names import LLAMA, stored_decoder

KIND = "decoder"
PREFIX = "model."
# The rotary frequencies, which config.json determines.
IGNORED_TENSORS = r"layers\.\d+\.self_attn\.rotary_emb\.inv_freq"
WITHOUT_EFFECT = ("rope_theta", "rope_scaling")
Weights = decoder.Weights


@dataclass(frozen=True, kw_only=True)
class Config(qwen2.Config):
    """The keys of config.json that affect the result."""

    head_dim: int = 128
    attention_bias: bool = False


def spec(config: Config) -> DecoderSpec:
    """Return the description of the decoder."""
    has_bias = config.attention_bias
    attention = replace(config.attention, query_key_norm=config.norm, has_bias=has_bias, has_output_bias=has_bias)
    return config.pre_norm(config.windowed(attention))


def stored_weights(config: Config) -> dict[str, Stored]:
    """Return the place of each leaf in a checkpoint."""
    return stored_decoder(spec(config), LLAMA, is_tied=config.tie_word_embeddings)


new_kv_cache, hidden_states, logits, forward = decoder.decoder_functions(spec)
