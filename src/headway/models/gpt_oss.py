"""gpt-oss: attention with sinks, a sliding window in every other layer, and mixtures of experts with a clamped SwiGLU.

Source   OpenAI 2025; the keys and tensor names are those of Hugging Face's GptOssForCausalLM
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from headway.models import decoder
from headway.models.config import expect_number
from headway.models.mixtral import expect_experts
from headway.models.rotary_config import WindowConfig
from headway.models.spec import AttentionSpec, ClampedSwiGLUSpec, DecoderSpec, ExpertsSpec, FeedForwardSpec
from headway.models.stored import Stored
from headway.models.tensor_names import EXPERTS, LLAMA, LLAMA_PARTS, stored_decoder

KIND = "decoder"
PREFIX = "model."
IGNORED_TENSORS = r"layers\.\d+\.self_attn\.rotary_emb\.inv_freq"
WITHOUT_EFFECT = tuple(
    """
    experts_per_token initial_context_length output_router_logits quantization_config rope_scaling rope_theta router_aux_loss_coef
    """.split()
)
QUANTIZED = ("mxfp4",)
"""Values of quant_method that are read."""
ROPE = {"rope_type": "yarn", "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0, "truncate": False}
ROPE |= {"original_max_position_embeddings": 4096}
NAMES = replace(LLAMA, parts={**LLAMA_PARTS, "feed_forward.router": "mlp.router"})
Weights = decoder.Weights


@dataclass(frozen=True, kw_only=True)
class Config(WindowConfig):
    """The keys of config.json that affect the result."""

    num_key_value_heads: int = 8
    head_dim: int = 64
    max_position_embeddings: int = 131072
    rms_norm_eps: float = 1e-5
    attention_bias: bool = True
    sliding_window: int | None = 128
    num_local_experts: int = 128
    num_experts_per_tok: int = 4
    swiglu_alpha: float = 1.702
    swiglu_limit: float = 7.0
    default_theta: ClassVar[float] = 150_000.0

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_experts(self, "num_local_experts", "num_experts_per_tok")
        for name in ("swiglu_alpha", "swiglu_limit"):
            expect_number(name, getattr(self, name))

    @classmethod
    def read_rope(cls, keys: Mapping[str, object]) -> Any:
        """Return rope_parameters from the keys of config.json."""
        is_given = keys.get("rope_parameters") or keys.get("rope_scaling")
        return super().read_rope(keys if is_given else {**keys, "rope_scaling": ROPE})

    @property
    def attention(self) -> AttentionSpec:
        """Attention to all positions."""
        return replace(super().attention, has_sinks=True, has_bias=self.attention_bias, has_output_bias=self.attention_bias)

    @property
    def feed_forward(self) -> FeedForwardSpec:
        """The mixture of experts of every layer."""
        experts = ExpertsSpec(self.num_local_experts, self.num_experts_per_tok, is_normalized=True, has_router_bias=True)
        clamped = ClampedSwiGLUSpec(self.swiglu_limit, self.swiglu_alpha)
        return replace(super().feed_forward, has_bias=True, experts=experts, clamped_swiglu=clamped)

    def default_layer_type(self, index: int) -> str:
        """Return the kind of a layer if there are no layer_types."""
        return "full_attention" if index % 2 else "sliding_attention"


def spec(config: Config) -> DecoderSpec:
    """Return the description of the decoder."""
    return config.pre_norm(config.windowed(config.attention))


def stored_weights(config: Config) -> dict[str, Stored]:
    """Return the place of each leaf in a checkpoint: the experts of a layer are one tensor, with gate and up in turn."""
    table = stored_decoder(spec(config), NAMES, is_tied=config.tie_word_embeddings)
    count, width, inner = config.num_local_experts, config.hidden_size, config.intermediate_size
    gate_up, down = ("mlp.experts.gate_up_proj", (width, 2 * inner)), ("mlp.experts.down_proj", (inner, width))
    parts = {"gate": (*gate_up, 0, 2), "up": (*gate_up, 1, 2), "down": (*down, 0, 1)}
    for layer in range(config.num_hidden_layers):
        table[f"layers.{layer}.attention.sinks"] = Stored(f"model.layers.{layer}.self_attn.sinks", (config.num_attention_heads,))
        for index in range(count):
            for part, (tensor, shape, start, step) in parts.items():
                leaf, name = f"layers.{layer}.{EXPERTS}{index}.{part}", f"model.layers.{layer}.{tensor}"
                place = Stored(name, (count, *shape), (start, shape[1]), leading=index, step=step)
                table[f"{leaf}.weight"] = replace(place, is_transposed=True)
                table[f"{leaf}.bias"] = replace(place, name=f"{name}_bias", shape=(count, shape[1]))
    return table


new_kv_cache, hidden_states, logits, forward = decoder.decoder_functions(spec)
