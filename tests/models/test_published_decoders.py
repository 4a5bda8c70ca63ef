"""The keys of config.json that published checkpoints of each decoder carry: every key is understood.

Those of Gemma 3, Phi-4-mini, Qwen3-30B-A3B and gpt-oss-20b are complete; the others have all keys of their class in transformers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from headway.checkpoints.reading import read_config
from headway.errors import CheckpointError, UnsupportedError
from headway.models import architecture

SHARED: dict[str, Any] = {
    **{
        "attention_bias": False,
        "attention_dropout": 0.0,
        "bos_token_id": 1,
        "eos_token_id": [1, 106],
        "hidden_act": "silu",
        "pad_token_id": 0,
    },
    **{"initializer_range": 0.02, "rms_norm_eps": 1e-6, "torch_dtype": "bfloat16", "transformers_version": "4.50.0", "use_cache": True},
    **{"rope_scaling": None, "rope_theta": 1000000.0, "tie_word_embeddings": True, "max_position_embeddings": 131072, "vocab_size": 49159},
}


def sizes(hidden: int, intermediate: int, layers: int, heads: int, kv_heads: int) -> dict[str, int]:
    names = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads")
    return dict(zip(names, (hidden, intermediate, layers, heads, kv_heads), strict=True))


GEMMA2 = SHARED | sizes(2304, 9216, 26, 8, 4) | {"model_type": "gemma2", "head_dim": 256, "cache_implementation": "hybrid"}
GEMMA2 |= {"attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0, "query_pre_attn_scalar": 256, "sliding_window": 4096}
GEMMA2 |= {"hidden_act": "gelu_pytorch_tanh", "hidden_activation": "gelu_pytorch_tanh"}
GEMMA3 = sizes(1152, 6912, 26, 4, 1) | {"architectures": ["Gemma3ForCausalLM"], "model_type": "gemma3_text", "head_dim": 256}
GEMMA3 |= {"attention_bias": False, "attention_dropout": 0.0, "attn_logit_softcapping": None, "final_logit_softcapping": None}
GEMMA3 |= {"bos_token_id": 2, "eos_token_id": [1, 106], "pad_token_id": 0, "cache_implementation": "hybrid", "vocab_size": 262144}
GEMMA3 |= {"hidden_activation": "gelu_pytorch_tanh", "initializer_range": 0.02, "max_position_embeddings": 32768, "use_cache": True}
GEMMA3 |= {"query_pre_attn_scalar": 256, "rms_norm_eps": 1e-06, "rope_local_base_freq": 10000, "rope_scaling": None, "rope_theta": 1000000}
GEMMA3 |= {"sliding_window": 512, "sliding_window_pattern": 6, "torch_dtype": "bfloat16", "transformers_version": "4.50.0.dev0"}
GEMMA3_270M = {name: value for name, value in GEMMA3.items() if name != "sliding_window_pattern"} | sizes(640, 2048, 18, 4, 1)
GEMMA3_270M |= {"_sliding_window_pattern": 6, "layer_types": [*["sliding_attention"] * 5, "full_attention"] * 3}
GEMMA3_270M |= {"rope_local_base_freq": 10000.0, "use_bidirectional_attention": False}
LINEAR = {"factor": 8.0, "rope_type": "linear"}
GEMMA3_4B = {
    **{"architectures": ["Gemma3ForConditionalGeneration"], "model_type": "gemma3", "boi_token_index": 255999, "eoi_token_index": 256000},
    **{"eos_token_id": [1, 106], "image_token_index": 262144, "initializer_range": 0.02, "mm_tokens_per_image": 256},
    "text_config": {"hidden_size": 2560, "intermediate_size": 10240, "model_type": "gemma3_text", "num_hidden_layers": 34}
    | {"rope_scaling": LINEAR, "sliding_window": 1024},
    "torch_dtype": "bfloat16",
    "vision_config": {"hidden_size": 1152, "image_size": 896, "intermediate_size": 4304, "model_type": "siglip_vision_model"}
    | {"num_attention_heads": 16, "num_hidden_layers": 27, "patch_size": 14, "vision_use_head": False},
}
GEMMA3_27B = GEMMA3_4B | {
    "text_config": sizes(5376, 21504, 62, 32, 16)
    | {"head_dim": 128, "model_type": "gemma3_text", "query_pre_attn_scalar": 168, "rope_scaling": LINEAR, "sliding_window": 1024}
}
PHI4_MINI = sizes(3072, 8192, 32, 24, 8) | {"architectures": ["Phi3ForCausalLM"], "model_type": "phi3", "attention_bias": False}
PHI4_MINI |= {"auto_map": {"AutoConfig": "configuration_phi3.Phi3Config", "AutoTokenizer": "Xenova/gpt-4o"}, "attention_dropout": 0.0}
PHI4_MINI |= {"bos_token_id": 199999, "embd_pdrop": 0.0, "eos_token_id": 199999, "full_attn_mod": 1, "hidden_act": "silu"}
PHI4_MINI |= {"initializer_range": 0.02, "interpolate_factor": 1, "lm_head_bias": False, "max_position_embeddings": 131072}
PHI4_MINI |= {"mlp_bias": False, "original_max_position_embeddings": 4096, "pad_token_id": 199999, "partial_rotary_factor": 0.75}
PHI4_MINI |= {"resid_pdrop": 0.0, "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "sliding_window": 262144, "tie_word_embeddings": True}
PHI4_MINI |= {"rope_scaling": {"type": "longrope", "short_factor": [1.0] * 48, "long_factor": [1, *[1.118320672] * 47]}}
PHI4_MINI |= {"torch_dtype": "bfloat16", "transformers_version": "4.45.0", "use_cache": True, "vocab_size": 200064}
SMOLLM3 = (
    SHARED | sizes(2048, 11008, 36, 16, 4) | {"model_type": "smollm3", "max_window_layers": 28, "mlp_bias": False, "pretraining_tp": 2}
)
SMOLLM3 |= {"no_rope_layer_interval": 4, "no_rope_layers": [1, 1, 1, 0] * 9, "layer_types": ["full_attention"] * 36, "sliding_window": None}
SMOLLM3 |= {"use_sliding_window": False, "bos_token_id": None, "pad_token_id": 128004, "rope_theta": 5000000.0, "vocab_size": 128256}
GRANITE = SHARED | sizes(2048, 8192, 40, 32, 8) | {"model_type": "granite", "attention_multiplier": 0.015625, "embedding_multiplier": 12.0}
GRANITE |= {"logits_scaling": 8.0, "mlp_bias": False, "residual_multiplier": 0.22}
OLMO2 = SHARED | sizes(2048, 8192, 16, 16, 16) | {"model_type": "olmo2"}
OLMO3 = SHARED | sizes(4096, 11008, 32, 32, 32) | {"model_type": "olmo3", "sliding_window": 4096, "rope_theta": 500000}
OLMO3 |= {"rope_scaling": {"rope_type": "yarn", "factor": 8.0, "attention_factor": 1.2, "original_max_position_embeddings": 8192}}
OLMO3 |= {"layer_types": [*["sliding_attention"] * 3, "full_attention"] * 8}
MOE = {"num_experts_per_tok": 2, "output_router_logits": False, "router_aux_loss_coef": 0.001}
MIXTRAL = {name: value for name, value in SHARED.items() if name != "attention_bias"} | sizes(4096, 14336, 32, 32, 8) | MOE
MIXTRAL |= {"model_type": "mixtral", "num_local_experts": 8, "sliding_window": None}
QWEN3_MOE = sizes(2048, 6144, 48, 32, 4) | {"architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "attention_bias": False}
QWEN3_MOE |= {"attention_dropout": 0.0, "bos_token_id": 151643, "decoder_sparse_step": 1, "eos_token_id": 151645, "head_dim": 128}
QWEN3_MOE |= {"hidden_act": "silu", "initializer_range": 0.02, "max_position_embeddings": 40960, "max_window_layers": 48}
QWEN3_MOE |= {"mlp_only_layers": [], "moe_intermediate_size": 768, "norm_topk_prob": True, "num_experts": 128, "num_experts_per_tok": 8}
QWEN3_MOE |= {"output_router_logits": False, "rms_norm_eps": 1e-06, "rope_scaling": None, "rope_theta": 1000000.0}
QWEN3_MOE |= {"router_aux_loss_coef": 0.001, "sliding_window": None, "tie_word_embeddings": False, "torch_dtype": "bfloat16"}
QWEN3_MOE |= {"transformers_version": "4.51.0", "use_cache": True, "use_sliding_window": False, "vocab_size": 151936}
GPT_OSS = sizes(2880, 2880, 24, 64, 8) | {"architectures": ["GptOssForCausalLM"], "model_type": "gpt_oss", "attention_bias": True}
GPT_OSS |= {"attention_dropout": 0.0, "eos_token_id": 200002, "experts_per_token": 4, "head_dim": 64, "hidden_act": "silu"}
GPT_OSS |= {"initial_context_length": 4096, "initializer_range": 0.02, "layer_types": ["sliding_attention", "full_attention"] * 12}
GPT_OSS |= {"max_position_embeddings": 131072, "num_experts_per_tok": 4, "num_local_experts": 32, "output_router_logits": False}
GPT_OSS |= {"pad_token_id": 199999, "rms_norm_eps": 1e-05, "rope_theta": 150000, "router_aux_loss_coef": 0.9, "sliding_window": 128}
GPT_OSS |= {
    "quantization_config": {
        "modules_to_not_convert": ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"],
        "quant_method": "mxfp4",
    },
    "rope_scaling": {"beta_fast": 32.0, "beta_slow": 1.0, "factor": 32.0, "original_max_position_embeddings": 4096}
    | {"rope_type": "yarn", "truncate": False},
}
GPT_OSS |= {
    "swiglu_limit": 7.0,
    "tie_word_embeddings": False,
    "transformers_version": "4.55.0.dev0",
    "use_cache": True,
    "vocab_size": 201088,
}
OLMOE = SHARED | sizes(2048, 1024, 16, 16, 16) | {"model_type": "olmoe", "clip_qkv": None, "norm_topk_prob": False, "num_experts": 64}
OLMOE |= {"num_experts_per_tok": 8, "output_router_logits": False, "router_aux_loss_coef": 0.01}
ALL = [OLMOE, GPT_OSS, GEMMA2, GEMMA3, GEMMA3_270M, GEMMA3_4B, GEMMA3_27B, PHI4_MINI, SMOLLM3, GRANITE, OLMO2, OLMO3, MIXTRAL, QWEN3_MOE]


def read(keys: dict[str, Any], **more: Any) -> Any:
    module = architecture(keys["model_type"])
    return module.spec(read_config(module, keys | more, ()))


@pytest.mark.parametrize(
    "keys",
    ALL,
    ids="olmoe gpt-oss gemma2 gemma3-1b gemma3-270m gemma3-4b gemma3-27b phi4-mini smollm3 granite olmo2 olmo3 mixtral qwen3-moe".split(),
)
def test_every_key_is_understood(keys):
    text = keys.get("text_config", keys)
    spec = read(keys)
    assert (spec.hidden_size, len(spec.layers)) == (text["hidden_size"], text["num_hidden_layers"])


def test_layers_are_those_of_the_checkpoints():
    assert [layer.attention.window for layer in read(GEMMA3).layers][:7] == [512] * 5 + [None, 512]
    assert read(GEMMA3_270M).layers[5].attention.window is None
    assert read(GEMMA3_27B).layers[0].attention.scale == pytest.approx(168**-0.5)
    assert [layer.attention.rotary is None for layer in read(SMOLLM3).layers][:5] == [False, False, False, True, False]
    thetas = [layer.attention.rotary.parameters["rope_theta"] for layer in read(GEMMA3_4B).layers]
    assert thetas[:6] == [10000.0] * 5 + [1000000.0]
    assert read(PHI4_MINI).layers[0].attention.rotary.dim == 96
    kinds = [layer.attention.rotary.parameters["rope_type"] for layer in read(OLMO3).layers]
    assert kinds[:4] == ["default", "default", "default", "yarn"]
    attention = read(GPT_OSS).layers[0].attention
    assert (attention.window, attention.has_sinks, attention.rotary.parameters["truncate"]) == (128, True, False)
    assert read(GPT_OSS | {"rope_scaling": None}).layers[1].attention == replace(attention, window=None)
    assert read(QWEN3_MOE).layers[0].feed_forward.experts.num_experts == 128


@pytest.mark.parametrize(
    ("keys", "more", "message"),
    [
        (PHI4_MINI, {"partial_rotary_factor": 1.5}, "partial_rotary_factor=1.5"),
        (PHI4_MINI, {"rope_scaling": {"type": "longrope", "short_factor": [1.0], "long_factor": [1.0, 2.0]}}, "different lengths"),
        (PHI4_MINI, {"rope_scaling": {"type": "longrope", "short_factor": 3, "long_factor": [1.0]}}, "short_factor=3"),
        (PHI4_MINI, {"rope_scaling": {"type": "longrope", "long_factor": [1.0]}}, "without short_factor"),
        (OLMO3, {"rope_scaling": OLMO3["rope_scaling"] | {"truncate": "no"}}, "truncate='no'"),
        (SMOLLM3, {"no_rope_layers": [1, 0]}, "no_rope_layers="),
        (GRANITE, {"logits_scaling": 0}, "logits_scaling=0"),
        (GEMMA2, {"query_pre_attn_scalar": -1}, "query_pre_attn_scalar=-1"),
        (OLMOE, {"clip_qkv": 8.0}, "clip_qkv=8.0"),
        (GPT_OSS, {"swiglu_limit": 0}, "swiglu_limit=0"),
        (MIXTRAL, {"num_experts_per_tok": 9}, "num_experts_per_tok=9"),
        (MIXTRAL, {"num_local_experts": 10**9}, "num_local_experts=1000000000"),
        (QWEN3_MOE, {"num_experts": 10**4, "num_hidden_layers": 10**4}, "num_experts=10000 and num_hidden_layers=10000"),
        (QWEN3_MOE, {"mlp_only_layers": ["a"]}, "mlp_only_layers="),
        (GEMMA3_4B, {"text_config": [1]}, "text_config="),
    ],
)
def test_a_value_that_a_key_cannot_have_is_named(keys, more, message):
    with pytest.raises(CheckpointError, match=f"{message}.*expected"):
        read(keys, **more)


def test_attention_in_both_directions_is_refused():
    with pytest.raises(UnsupportedError, match="use_bidirectional_attention=True"):
        read(GEMMA3, use_bidirectional_attention=True)
