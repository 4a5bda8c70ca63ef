"""Granite 3: Llama's layers with four constants, which scale the embeddings, the scores, the residuals and the logits.

Source   Granite Team 2024; the keys and tensor names are those of Hugging Face's GraniteForCausalLM
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from headway.models import decoder, llama
from headway.models.config import expect_number
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
class Config(llama.Config):
    """The keys of config.json that affect the result."""

    embedding_multiplier: float = 1.0
    attention_multiplier: float = 1.0
    residual_multiplier: float = 1.0
    logits_scaling: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("embedding_multiplier", "attention_multiplier", "residual_multiplier", "logits_scaling"):
            expect_number(name, getattr(self, name))

    @property
    def model_type(self) -> str:
        """The model_type of a saved config.json."""
        return "granite"

    @property
    def attention(self) -> AttentionSpec:
        """The attention of every layer."""
        return replace(super().attention, scale=self.attention_multiplier)


def spec(config: Config) -> DecoderSpec:
    """Return the description of the decoder."""
    decoder_spec = llama.spec(config)
    return replace(
        decoder_spec,
        layers=tuple(replace(layer, residual_scale=config.residual_multiplier) for layer in decoder_spec.layers),
        embedding_scale=config.embedding_multiplier,
        logit_scale=1 / config.logits_scaling,
    )


def stored_weights(config: Config) -> dict[str, Stored]:
    """Return the place of each leaf in a checkpoint."""
    return stored_decoder(spec(config), LLAMA, is_tied=config.tie_word_embeddings)


new_kv_cache, hidden_states, logits, forward = decoder.decoder_functions(spec)
