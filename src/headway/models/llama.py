"""Llama 1 to 3 and models of the same architecture: SmolLM, and Mistral with its sliding window.

Rotary positions, RMS norms, grouped-query attention, a gated feed-forward.

Source   Touvron et al. 2023; Grattafiori et al. 2024; Jiang et al. 2023 (Mistral 7B); the keys and tensor names are those of
         Hugging Face's LlamaForCausalLM
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from headway.models import decoder
from headway.models.config import expect_positive
from headway.models.rotary_config import RotaryConfig
from headway.models.spec import AttentionSpec, DecoderSpec, FeedForwardSpec
from headway.models.stored import Stored
from headway.models.tensor_names import LLAMA, stored_decoder

KIND = "decoder"
PREFIX = "model."
# The rotary frequencies, which config.json determines.
IGNORED_TENSORS = r"layers\.\d+\.self_attn\.rotary_emb\.inv_freq"
WITHOUT_EFFECT = ("rope_theta", "rope_scaling", "max_sequence_length")  # the last one is Llama 1's, for which it is the default
MISTRAL = {"num_key_value_heads": 8, "max_position_embeddings": 131072, "sliding_window": 4096}
"""Values of keys that a config.json of Mistral leaves out."""
Weights = decoder.Weights


@dataclass(frozen=True, kw_only=True)
class Config(RotaryConfig):
    """The keys of config.json that affect the result."""

    attention_bias: bool = False
    mlp_bias: bool = False
    sliding_window: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_positive(self, "sliding_window")

    @property
    def model_type(self) -> str:
        """The model_type of a saved config.json: a Llama has no window."""
        return "llama" if self.sliding_window is None else "mistral"

    @property
    def attention(self) -> AttentionSpec:
        """The attention of every layer."""
        has_bias = self.attention_bias
        return replace(super().attention, window=self.sliding_window, has_bias=has_bias, has_output_bias=has_bias)

    @property
    def feed_forward(self) -> FeedForwardSpec:
        """The gated feed-forward network of every layer."""
        return replace(super().feed_forward, has_bias=self.mlp_bias)


def config_keys(keys: Mapping[str, object]) -> Mapping[str, object]:
    """Return the keys of config.json with Mistral's defaults, or without the window that transformers ignores in other models."""
    if keys.get("model_type") == "mistral":
        return MISTRAL | dict(keys)
    return {name: value for name, value in keys.items() if name != "sliding_window"}


def spec(config: Config) -> DecoderSpec:
    """Return the description of the decoder."""
    return config.pre_norm([config.attention] * config.num_hidden_layers)


def stored_weights(config: Config) -> dict[str, Stored]:
    """Return the place of each leaf in a checkpoint."""
    return stored_decoder(spec(config), LLAMA, is_tied=config.tie_word_embeddings)


new_kv_cache, hidden_states, logits, forward = decoder.decoder_functions(spec)
