"""Qwen3 with mixtures of experts in some or all of its layers.

Source   Yang et al. 2025 (Qwen3); the keys and tensor names are those of Hugging Face's Qwen3MoeForCausalLM
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from headway.errors import CheckpointError
from headway.json_files import short_repr
from headway.models import decoder
from headway.models.config import expect_positive
from headway.models.mixtral import expect_experts
from headway.models.rotary_config import RotaryConfig
from headway.models.spec import DecoderSpec, ExpertsSpec, FeedForwardSpec
from headway.models.stored import Stored
from headway.models.tensor_names import EXPERTS, LLAMA, stored_decoder

KIND = "decoder"
PREFIX = "model."
# The rotary frequencies, which config.json determines.
IGNORED_TENSORS = r"layers\.\d+\.self_attn\.rotary_emb\.inv_freq"
WITHOUT_EFFECT = ("rope_theta", "rope_scaling", "max_window_layers", "output_router_logits", "router_aux_loss_coef")
Weights = decoder.Weights


@dataclass(frozen=True, kw_only=True)
class Config(RotaryConfig):
    """The keys of config.json that affect the result."""

    num_key_value_heads: int = 4
    max_position_embeddings: int = 32768
    attention_bias: bool = False
    use_sliding_window: bool = False
    sliding_window: int | None = 4096
    moe_intermediate_size: int = 768
    num_experts: int = 128
    num_experts_per_tok: int = 8
    norm_topk_prob: bool = False
    decoder_sparse_step: int = 1
    mlp_only_layers: list[int] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_positive(self, "sliding_window", "moe_intermediate_size", "decoder_sparse_step")
        expect_experts(self, "num_experts", "num_experts_per_tok")
        given = self.mlp_only_layers
        if given is not None and not (isinstance(given, list) and all(isinstance(index, int) for index in given)):
            raise CheckpointError(f"got config.json with mlp_only_layers={short_repr(given)}, expected a list of numbers of layers")

    def has_experts(self, index: int) -> bool:
        """Return True if a layer has experts, and False if it has one feed-forward network."""
        return index not in (self.mlp_only_layers or []) and (index + 1) % self.decoder_sparse_step == 0


def config_keys(keys: Mapping[str, object]) -> Mapping[str, object]:
    """Return the keys of config.json, with the name of num_experts that published files have."""
    renamed = {"num_local_experts": "num_experts"}
    return {renamed.get(name, name): value for name, value in keys.items()}


def spec(config: Config) -> DecoderSpec:
    """Return the description of the decoder."""
    window, has_bias = config.sliding_window if config.use_sliding_window else None, config.attention_bias
    attention = replace(config.attention, window=window, query_key_norm=config.norm, has_bias=has_bias, has_output_bias=has_bias)
    plain = config.pre_norm([attention] * config.num_hidden_layers)
    experts = ExpertsSpec(config.num_experts, config.num_experts_per_tok, config.norm_topk_prob)
    mixture: FeedForwardSpec = replace(config.feed_forward, intermediate_size=config.moe_intermediate_size, experts=experts)
    layers = [replace(layer, feed_forward=mixture) if config.has_experts(index) else layer for index, layer in enumerate(plain.layers)]
    return replace(plain, layers=tuple(layers))


NAMES = replace(
    LLAMA,
    parts={
        **LLAMA.parts,
        "feed_forward.router": "mlp.gate",
        **{f"{EXPERTS}{part}": f"mlp.experts.{{}}.{part}_proj" for part in ("gate", "up", "down")},
    },
)


def stored_weights(config: Config) -> dict[str, Stored]:
    """Return the place of each leaf in a checkpoint."""
    return stored_decoder(spec(config), NAMES, is_tied=config.tie_word_embeddings)


new_kv_cache, hidden_states, logits, forward = decoder.decoder_functions(spec)
