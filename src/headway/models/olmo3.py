"""OLMo 3: OLMo 2 with a sliding window in three of four layers; only the others scale their rotary positions.

Source   OLMo Team 2025; the keys and tensor names are those of Hugging Face's Olmo3ForCausalLM
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headway.models import decoder, olmo2
from headway.models.rope import RopeParameters, rope_by_layer_type
from headway.models.rotary_config import WindowConfig
from headway.models.spec import DecoderSpec
from headway.models.stored import Stored
from headway.models.tensor_names import stored_decoder

KIND = "decoder"
PREFIX = "model."
# The rotary frequencies, which config.json determines.
IGNORED_TENSORS = r"layers\.\d+\.self_attn\.rotary_emb\.inv_freq"
WITHOUT_EFFECT = ("rope_theta", "rope_scaling")
NAMES = olmo2.NAMES
Weights = decoder.Weights


@dataclass(frozen=True, kw_only=True)
class Config(WindowConfig):
    """The keys of config.json that affect the result."""

    rms_norm_eps: float = 1e-5
    attention_bias: bool = False
    sliding_window: int | None = 4096
    rope_parameters: Mapping[str, RopeParameters]  # type: ignore[assignment]  # by layer type

    @classmethod
    def read_rope(cls, keys: Mapping[str, object]) -> dict[str, RopeParameters]:
        """Return rope_parameters from the keys of config.json."""
        return rope_by_layer_type(keys, default_theta=500_000.0, default_local_theta=keys.get("rope_theta") or 500_000.0)

    def rope_of(self, layer_type: str) -> RopeParameters:
        """Return the rotary parameters of a kind of layers."""
        return self.rope_parameters[layer_type]

    def default_layer_type(self, index: int) -> str:
        """Return the kind of a layer if there are no layer_types."""
        return "sliding_attention" if (index + 1) % 4 else "full_attention"


def spec(config: Config) -> DecoderSpec:
    """Return the description of the decoder."""
    return olmo2.post_norm(config, config.windowed(olmo2.normed_attention(config, has_bias=config.attention_bias)))


def stored_weights(config: Config) -> dict[str, Stored]:
    """Return the place of each leaf in a checkpoint."""
    return stored_decoder(spec(config), NAMES, is_tied=config.tie_word_embeddings)


new_kv_cache, hidden_states, logits, forward = decoder.decoder_functions(spec)
