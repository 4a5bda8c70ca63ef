"""Phi-3, Phi-3.5 and Phi-4: Llama's layers with fused matrices, LongRoPE, and rotary positions of a part of each head.

Source   Abdin et al. 2024; the keys and tensor names are those of Hugging Face's Phi3ForCausalLM
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from headway.models import decoder
from headway.models.config import expect_positive
from headway.models.rope import RopeParameters, rope_parameters
from headway.models.rotary_config import RotaryConfig
from headway.models.spec import DecoderSpec
from headway.models.stored import Stored
from headway.models.tensor_names import LLAMA, stored_decoder

KIND = "decoder"
PREFIX = "model."
# The rotary frequencies, which config.json determines.
IGNORED_TENSORS = r"layers\.\d+\.self_attn\.rotary_emb\.inv_freq"
WITHOUT_EFFECT = (
    *("rope_theta", "rope_scaling", "partial_rotary_factor"),
    *("attention_bias", "full_attn_mod", "interpolate_factor", "lm_head_bias", "mlp_bias"),
)
Weights = decoder.Weights


@dataclass(frozen=True, kw_only=True)
class Config(RotaryConfig):
    """The keys of config.json that affect the result."""

    max_position_embeddings: int = 4096
    rms_norm_eps: float = 1e-5
    sliding_window: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_positive(self, "sliding_window")

    @classmethod
    def read_rope(cls, keys: Mapping[str, object]) -> RopeParameters:
        """Return rope_parameters from the keys of config.json."""
        return rope_parameters(keys, has_partial=True)


def spec(config: Config) -> DecoderSpec:
    """Return the description of the decoder."""
    return config.pre_norm([replace(config.attention, window=config.sliding_window)] * config.num_hidden_layers)


NAMES = replace(
    LLAMA,
    parts={
        **LLAMA.parts,
        **{f"attention.{part}": "self_attn.qkv_proj" for part in ("query", "key", "value")},
        **{f"feed_forward.{part}": "mlp.gate_up_proj" for part in ("gate", "up")},
    },
)


def stored_weights(config: Config) -> dict[str, Stored]:
    """Return the place of each leaf in a checkpoint."""
    return stored_decoder(spec(config), NAMES, is_tied=config.tie_word_embeddings)


new_kv_cache, hidden_states, logits, forward = decoder.decoder_functions(spec)
