"""Gemma 3, text only: Gemma 2 without soft caps, with a norm of each query and key head, and two bases of the rotary positions.

Source   Gemma Team 2025; the keys and tensor names are those of Hugging Face's Gemma3ForCausalLM
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from headway.models import decoder, gemma2
from headway.models.config import expect_object, expect_positive
from headway.models.rope import RopeParameters, rope_by_layer_type
from headway.models.spec import DecoderSpec
from headway.models.stored import Stored
from headway.models.tensor_names import stored_decoder

KIND = "decoder"
PREFIX = "model."
# The rotary frequencies, and the vision model of the larger checkpoints.
IGNORED_TENSORS = r"layers\.\d+\.self_attn\.rotary_emb\.inv_freq|(vision_tower|multi_modal_projector)\..*"
OTHER_PREFIXES = ("language_model.model.", "model.language_model.")
WITHOUT_EFFECT = ("rope_theta", "rope_local_base_freq", "rope_scaling", "cache_implementation")
NAMES = gemma2.NAMES
Weights = decoder.Weights


@dataclass(frozen=True, kw_only=True)
class Config(gemma2.Config):
    """The keys of config.json that affect the result."""

    vocab_size: int = 262_208
    hidden_size: int = 2304
    intermediate_size: int = 9216
    num_hidden_layers: int = 26
    num_attention_heads: int = 8
    num_key_value_heads: int = 4
    max_position_embeddings: int = 131_072
    sliding_window_pattern: int = 6
    attn_logit_softcapping: float | None = None  # without effect, as in transformers
    final_logit_softcapping: float | None = None
    rope_parameters: Mapping[str, RopeParameters]  # type: ignore[assignment]  # by layer type

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_positive(self, "sliding_window_pattern")

    @staticmethod
    def read_rope(keys: Mapping[str, object]) -> dict[str, RopeParameters]:
        """Return rope_parameters from the keys of config.json."""
        return rope_by_layer_type(keys, default_theta=1_000_000.0, default_local_theta=10_000.0)

    def rope_of(self, layer_type: str) -> RopeParameters:
        """Return the rotary parameters of a kind of layers."""
        return self.rope_parameters[layer_type]

    def default_layer_type(self, index: int) -> str:
        """Return the kind of attention of a layer without layer_types."""
        return "sliding_attention" if (index + 1) % self.sliding_window_pattern else "full_attention"


def spec(config: Config) -> DecoderSpec:
    """Return the description of the decoder."""
    return gemma2.with_four_norms(config, replace(config.attention, query_key_norm=config.norm))


def config_keys(keys: Mapping[str, object]) -> Mapping[str, object]:
    """Return the keys of the text model, which a config.json with a vision model has under text_config, except for the tie."""
    text = keys.get("text_config")
    if text is None:
        return keys
    tie = keys.get("tie_word_embeddings")
    return expect_object("text_config", text) | {"tie_word_embeddings": True if tie is None else tie}


def stored_weights(config: Config) -> dict[str, Stored]:
    """Return the place of each leaf in a checkpoint."""
    table = stored_decoder(spec(config), NAMES, is_tied=config.tie_word_embeddings)
    if not config.tie_word_embeddings:
        table["output_head"] = replace(table["output_head"], other_names=("language_model.lm_head.weight",))
    return table


new_kv_cache, hidden_states, logits, forward = decoder.decoder_functions(spec)
