"""OLMoE: Llama's layers with mixtures of experts, and a norm of all queries and of all keys.

Source   Muennighoff et al. 2024; the keys and tensor names are those of Hugging Face's OlmoeForCausalLM
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from headway.models import decoder, qwen3_moe
from headway.models.mixtral import expect_experts
from headway.models.olmo2 import normed_attention
from headway.models.rotary_config import RotaryConfig
from headway.models.spec import DecoderSpec, ExpertsSpec, FeedForwardSpec
from headway.models.stored import Stored
from headway.models.tensor_names import stored_decoder

KIND = "decoder"
PREFIX = "model."
# The rotary frequencies, which config.json determines.
IGNORED_TENSORS = r"layers\.\d+\.self_attn\.rotary_emb\.inv_freq"
WITHOUT_EFFECT = ("rope_theta", "rope_scaling", "output_router_logits", "router_aux_loss_coef")
Weights = decoder.Weights
config_keys = qwen3_moe.config_keys


@dataclass(frozen=True, kw_only=True)
class Config(RotaryConfig):
    """The keys of config.json that affect the result."""

    max_position_embeddings: int = 4096
    rms_norm_eps: float = 1e-5
    attention_bias: bool = False
    num_experts: int = 64
    num_experts_per_tok: int = 8
    norm_topk_prob: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_experts(self, "num_experts", "num_experts_per_tok")

    @property
    def feed_forward(self) -> FeedForwardSpec:
        """The mixture of experts of every layer."""
        return replace(super().feed_forward, experts=ExpertsSpec(self.num_experts, self.num_experts_per_tok, self.norm_topk_prob))


def spec(config: Config) -> DecoderSpec:
    """Return the description of the decoder."""
    return config.pre_norm([normed_attention(config, has_bias=config.attention_bias)] * config.num_hidden_layers)


def stored_weights(config: Config) -> dict[str, Stored]:
    """Return the place of each leaf in a checkpoint."""
    return stored_decoder(spec(config), qwen3_moe.NAMES, is_tied=config.tie_word_embeddings)


new_kv_cache, hidden_states, logits, forward = decoder.decoder_functions(spec)
