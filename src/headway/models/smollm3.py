"""SmolLM3: Llama's layers, without rotary positions in every fourth of them.

Source   Hugging Face 2025; the keys and tensor names are those of SmolLM3ForCausalLM
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from headway.errors import CheckpointError
from headway.json_files import short_repr
from headway.models import decoder
from headway.models.config import expect_positive
from headway.models.rotary_config import WindowConfig
from headway.models.spec import DecoderSpec, FeedForwardSpec
from headway.models.stored import Stored
from headway.models.tensor_names import LLAMA, stored_decoder

KIND = "decoder"
PREFIX = "model."
# The rotary frequencies, which config.json determines.
IGNORED_TENSORS = r"layers\.\d+\.self_attn\.rotary_emb\.inv_freq"
WITHOUT_EFFECT = ("rope_theta", "rope_scaling", "max_window_layers")
Weights = decoder.Weights


@dataclass(frozen=True, kw_only=True)
class Config(WindowConfig):
    """The keys of config.json that affect the result; no_rope_layers is 1 for a layer with rotary positions, and 0 for one without."""

    num_key_value_heads: int = 4
    max_position_embeddings: int = 32768
    attention_bias: bool = False
    mlp_bias: bool = False
    use_sliding_window: bool = False
    no_rope_layers: list[int] | None = None
    no_rope_layer_interval: int = 4
    tie_word_embeddings: bool = True
    default_theta: ClassVar[float] = 2_000_000.0

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_positive(self, "no_rope_layer_interval")
        given = self.no_rope_layers
        if given is not None and (not isinstance(given, list) or len(given) != self.num_hidden_layers or set(map(str, given)) - {"0", "1"}):
            raise CheckpointError(
                f"got config.json with no_rope_layers={short_repr(given)}, expected a list of 0 and 1, one for each layer"
            )

    @property
    def feed_forward(self) -> FeedForwardSpec:
        """The gated feed-forward network of every layer."""
        return replace(super().feed_forward, has_bias=self.mlp_bias)

    @property
    def has_rotary(self) -> list[bool]:
        """True for each layer with rotary positions."""
        given = self.no_rope_layers or [(index + 1) % self.no_rope_layer_interval for index in range(self.num_hidden_layers)]
        return [bool(each) for each in given]

    def default_layer_type(self, index: int) -> str:
        """Return the kind of a layer if there are no layer_types."""
        return "sliding_attention" if self.use_sliding_window and not self.has_rotary[index] else "full_attention"


def spec(config: Config) -> DecoderSpec:
    """Return the description of the decoder."""
    attentions = config.windowed(replace(config.attention, has_bias=config.attention_bias, has_output_bias=config.attention_bias))
    layers = [each if has_rotary else replace(each, rotary=None) for each, has_rotary in zip(attentions, config.has_rotary, strict=True)]
    return config.pre_norm(layers)


def stored_weights(config: Config) -> dict[str, Stored]:
    """Return the place of each leaf in a checkpoint."""
    return stored_decoder(spec(config), LLAMA, is_tied=config.tie_word_embeddings)


new_kv_cache, hidden_states, logits, forward = decoder.decoder_functions(spec)
