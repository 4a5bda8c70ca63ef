"""Mixtral: Mistral's layers with a mixture of experts instead of each feed-forward network.

Source   Jiang et al. 2024; the keys and tensor names are those of Hugging Face's MixtralForCausalLM
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from headway.errors import CheckpointError
from headway.models import decoder
from headway.models.config import expect_positive
from headway.models.rotary_config import RotaryConfig
from headway.models.spec import DecoderSpec, ExpertsSpec, FeedForwardSpec
from headway.models.stored import Stored
from headway.models.tensor_names import EXPERTS, LLAMA, stored_decoder

KIND = "decoder"
PREFIX = "model."
# The rotary frequencies, which config.json determines.
IGNORED_TENSORS = r"layers\.\d+\.self_attn\.rotary_emb\.inv_freq"
WITHOUT_EFFECT = ("rope_theta", "rope_scaling", "output_router_logits", "router_aux_loss_coef", "router_jitter_noise")
MAX_EXPERTS = 100_000
"""Largest accepted number of experts in all layers. It limits the time and memory that a wrong config.json can take."""
Weights = decoder.Weights


@dataclass(frozen=True, kw_only=True)
class Config(RotaryConfig):
    """The keys of config.json that affect the result."""

    num_key_value_heads: int = 8
    max_position_embeddings: int = 131072
    rms_norm_eps: float = 1e-5
    sliding_window: int | None = None
    num_local_experts: int = 8
    num_experts_per_tok: int = 2
    default_theta: ClassVar[float] = 1_000_000.0

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_positive(self, "sliding_window")
        expect_experts(self, "num_local_experts", "num_experts_per_tok")

    @property
    def feed_forward(self) -> FeedForwardSpec:
        """The mixture of experts of every layer."""
        experts = ExpertsSpec(self.num_local_experts, self.num_experts_per_tok, is_normalized=True)
        return replace(super().feed_forward, experts=experts)


def expect_experts(config: RotaryConfig, num_experts: str, top_k: str) -> None:
    """Raise CheckpointError unless all layers have at most MAX_EXPERTS experts, and a token uses 1 to all experts of a layer."""
    expect_positive(config, num_experts, top_k)
    count, used, num_layers = getattr(config, num_experts), getattr(config, top_k), config.num_hidden_layers
    if count * num_layers > MAX_EXPERTS:
        raise CheckpointError(
            f"got config.json with {num_experts}={count} and num_hidden_layers={num_layers}, expected at most {MAX_EXPERTS} experts in all"
        )
    if used > count:
        raise CheckpointError(f"got config.json with {top_k}={used}, expected at most {num_experts}={count}")


def spec(config: Config) -> DecoderSpec:
    """Return the description of the decoder."""
    return config.pre_norm([replace(config.attention, window=config.sliding_window)] * config.num_hidden_layers)


NAMES = replace(
    LLAMA,
    parts={
        **LLAMA.parts,
        "feed_forward.router": "block_sparse_moe.gate",
        f"{EXPERTS}gate": "block_sparse_moe.experts.{}.w1",
        f"{EXPERTS}up": "block_sparse_moe.experts.{}.w3",
        f"{EXPERTS}down": "block_sparse_moe.experts.{}.w2",
    },
)


def stored_weights(config: Config) -> dict[str, Stored]:
    """Return the place of each leaf in a checkpoint."""
    return stored_decoder(spec(config), NAMES, is_tied=config.tie_word_embeddings)


new_kv_cache, hidden_states, logits, forward = decoder.decoder_functions(spec)
