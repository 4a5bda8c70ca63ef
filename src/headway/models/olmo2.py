"""OLMo 2: Llama's layers, with a norm of the output of each part instead of its input, and a norm of all queries and of all keys.

Source   OLMo Team 2025; the keys and tensor names are those of Hugging Face's Olmo2ForCausalLM
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from headway.models import decoder
from headway.models.rotary_config import RotaryConfig
from headway.models.spec import AttentionSpec, DecoderSpec, LayerSpec
from headway.models.stored import Stored
from headway.models.tensor_names import LLAMA, stored_decoder

KIND = "decoder"
PREFIX = "model."
# The rotary frequencies, which config.json determines.
IGNORED_TENSORS = r"layers\.\d+\.self_attn\.rotary_emb\.inv_freq"
WITHOUT_EFFECT = ("rope_theta", "rope_scaling")
Weights = decoder.Weights


@dataclass(frozen=True, kw_only=True)
class Config(RotaryConfig):
    """The keys of config.json that affect the result."""

    rms_norm_eps: float = 1e-5
    attention_bias: bool = False


def spec(config: Config) -> DecoderSpec:
    """Return the description of the decoder."""
    return post_norm(config, [normed_attention(config, has_bias=config.attention_bias)] * config.num_hidden_layers)


def normed_attention(config: RotaryConfig, *, has_bias: bool) -> AttentionSpec:
    """Return attention with a norm of all queries and of all keys."""
    return replace(config.attention, query_key_norm=config.norm, has_wide_norm=True, has_bias=has_bias, has_output_bias=has_bias)


def post_norm(config: RotaryConfig, attentions: Sequence[AttentionSpec]) -> DecoderSpec:
    """Return the decoder with a norm of the output of each part, given the attention of each layer."""
    norm, feed_forward = config.norm, config.feed_forward
    layers = [LayerSpec(each, feed_forward, attention_output_norm=norm, feed_forward_output_norm=norm) for each in attentions]
    return DecoderSpec(config.vocab_size, config.hidden_size, tuple(layers), norm)


NAMES = replace(
    LLAMA,
    parts={
        **LLAMA.parts,
        "attention_output_norm": "post_attention_layernorm",
        "feed_forward_output_norm": "post_feedforward_layernorm",
    },
)


def stored_weights(config: Config) -> dict[str, Stored]:
    """Return the place of each leaf in a checkpoint."""
    return stored_decoder(spec(config), NAMES, is_tied=config.tie_word_embeddings)


new_kv_cache, hidden_states, logits, forward = decoder.decoder_functions(spec)
