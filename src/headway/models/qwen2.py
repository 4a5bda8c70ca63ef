"""Qwen2 and Qwen2.5: Llama's layers, with biases on query, key and value, and an optional sliding window in the upper layers.

Source   Yang et al. 2024 (Qwen2); the keys and tensor names are those of Hugging Face's Qwen2ForCausalLM
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from headway.models import decoder
from headway.models.rotary_config import WindowConfig
from headway.models.spec import AttentionSpec, DecoderSpec
from headway.models.stored import Stored
from headway.models.tensor_names import LLAMA, stored_decoder

KIND = "decoder"
PREFIX = "model."
# The rotary frequencies, which config.json determines.
IGNORED_TENSORS = r"layers\.\d+\.self_attn\.rotary_emb\.inv_freq"
WITHOUT_EFFECT = ("rope_theta", "rope_scaling")
Weights = decoder.Weights


@dataclass(frozen=True, kw_only=True)
class Config(WindowConfig):
    """The keys of config.json that affect the result."""

    max_position_embeddings: int = 32768
    use_sliding_window: bool = False
    max_window_layers: int = 28

    def default_layer_type(self, index: int) -> str:
        """Return the kind of a layer if there are no layer_types."""
        return "full_attention" if index < self.max_window_layers else "sliding_attention"

    def windowed(self, attention: AttentionSpec) -> list[AttentionSpec]:
        """Return the attention of each layer."""
        return super().windowed(attention) if self.use_sliding_window else [attention] * self.num_hidden_layers


def spec(config: Config) -> DecoderSpec:
    """Return the description of the decoder."""
    return config.pre_norm(config.windowed(replace(config.attention, has_bias=True)))


def stored_weights(config: Config) -> dict[str, Stored]:
    """Return the place of each leaf in a checkpoint."""
    return stored_decoder(spec(config), LLAMA, is_tied=config.tie_word_embeddings)


new_kv_cache, hidden_states, logits, forward = decoder.decoder_functions(spec)
