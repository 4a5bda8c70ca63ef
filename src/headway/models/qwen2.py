"""Qwen2 and Qwen2.5: Llama's layers, with biases on query, key and value, and an optional sliding window in the upper layers.

Source   Yang et al. 2024 (Qwen2); the keys and tensor names are those of Hugging Face's Qwen2ForCausalLM
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from headway.models import decoder
from headway.models.config import expect_layer_types, expect_positive
from headway.models.rotary_config import RotaryConfig
from headway.models.spec import DecoderSpec
from headway.models.stored import Stored
from headway.models.tensor_names import LLAMA, stored_decoder

KIND = "decoder"
PREFIX = "model."
# The rotary frequencies, which config.json determines.
IGNORED_TENSORS = r"layers\.\d+\.self_attn\.rotary_emb\.inv_freq"
WITHOUT_EFFECT = ("rope_theta", "rope_scaling")
Weights = decoder.Weights


@dataclass(frozen=True)
class Config(RotaryConfig):
    """The keys of config.json that affect the result."""

    max_position_embeddings: int = 32768
    use_sliding_window: bool = False
    sliding_window: int | None = None
    max_window_layers: int = 28
    layer_types: list[str] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_positive(self, "sliding_window")
        expect_layer_types(self.layer_types, self.num_hidden_layers, ("full_attention", "sliding_attention"))

    @property
    def windows(self) -> tuple[int | None, ...]:
        """Number of positions that a token attends to, by layer; None for all."""
        if not self.use_sliding_window:
            return (None,) * self.num_hidden_layers
        kinds = self.layer_types or [
            "full_attention" if i < self.max_window_layers else "sliding_attention" for i in range(self.num_hidden_layers)
        ]
        return tuple(self.sliding_window if kind == "sliding_attention" else None for kind in kinds)


def spec(config: Config) -> DecoderSpec:
    """Return the description of the decoder."""
    attention = replace(config.attention, has_bias=True)
    return config.pre_norm([replace(attention, window=window) for window in config.windows])


def stored_weights(config: Config) -> dict[str, Stored]:
    """Return the place of each leaf in a checkpoint."""
    return stored_decoder(spec(config), LLAMA, is_tied=config.tie_word_embeddings)


stack, new_kv_cache, hidden_states, logits, forward = decoder.decoder_functions(spec)
