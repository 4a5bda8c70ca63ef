"""The keys of config.json from the metadata of a GGUF file.

llama.cpp's architectures are those of Hugging Face under other names. Sizes and constants that its code fixes for an architecture
are given here.

Source   ggml-org/llama.cpp, convert_hf_to_gguf.py and src/llama-model.cpp
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headway.checkpoints.gguf_encoder_keys import bert_keys, modern_bert_keys, t5_keys
from headway.checkpoints.gguf_metadata import Metadata
from headway.errors import CheckpointError, UnsupportedError
from headway.gguf_file import GGUFFile
from headway.json_files import short_repr
from headway.models.rope import rope_of_factors

LARGE_GEMMAS = {"gemma2": 46, "gemma3": 62}
"""Number of layers of the 27B models, whose attention scale depends on the hidden size."""


def config_keys(file: GGUFFile) -> dict[str, Any]:
    """Return the keys of config.json, with model_type.

    Errors   UnsupportedError for an architecture that is not supported; CheckpointError for a missing key.
    """
    name = file.metadata.get("general.architecture")
    if not isinstance(name, str) or name not in ARCHITECTURES:
        raise UnsupportedError(
            f"got {file.path} with general.architecture={short_repr(name)}, expected one of {', '.join(ARCHITECTURES)}",
            hint="use a Hugging Face folder of a model that docs/models.md names",
        )
    parts = file.metadata.get("split.count", 0)
    if isinstance(parts, int) and parts > 1:
        raise UnsupportedError(
            f"got {file.path}, one of {parts} parts of a model, expected a file with the whole model",
            hint="join the parts with llama.cpp: llama-gguf-split --merge FIRST-PART OUT",
        )
    metadata = Metadata(file, name)
    return ARCHITECTURES[name](metadata)


def _sizes(metadata: Metadata) -> dict[str, Any]:
    """Return the keys that all architectures but GPT-2 share."""
    hidden, heads = metadata.integer("embedding_length"), metadata.integer("attention.head_count")
    keys = {
        "vocab_size": metadata.num_rows("token_embd.weight"),
        "hidden_size": hidden,
        "intermediate_size": metadata.integer("feed_forward_length", metadata.get("expert_feed_forward_length")),
        "num_hidden_layers": metadata.num_layers(),
        "num_attention_heads": heads,
        "num_key_value_heads": metadata.integer("attention.head_count_kv", heads),
        "head_dim": metadata.integer("attention.key_length", max(hidden // heads, 1)),
        "max_position_embeddings": metadata.integer("context_length"),
        "rms_norm_eps": metadata.get("attention.layer_norm_rms_epsilon", 1e-5),
        "tie_word_embeddings": not metadata.has("output.weight"),
    }
    if metadata.get("attention.value_length", keys["head_dim"]) != keys["head_dim"]:
        raise UnsupportedError(f"got {metadata.file.path} with values of another size than the keys, expected one head_dim")
    return keys


def _rope(metadata: Metadata, default_theta: float = 10000.0) -> dict[str, Any]:
    theta = metadata.get("rope.freq_base", default_theta)
    kind = metadata.get("rope.scaling.type", "none")
    if metadata.has("rope_freqs.weight"):
        factors = metadata.factors("rope_freqs.weight")
        return {"rope_parameters": rope_of_factors(factors, theta=theta, max_seq_len=metadata.integer("context_length"))}
    if kind == "none" or (kind == "linear" and "rope.scaling.factor" not in _own_keys(metadata)):
        return {"rope_theta": theta}
    scaling: dict[str, Any] = {"rope_type": kind, "rope_theta": theta, "factor": metadata.get("rope.scaling.factor")}
    if kind == "yarn":
        scaling["original_max_position_embeddings"] = metadata.get("rope.scaling.original_context_length")
        renamed = {"attn_factor": "attention_factor", "yarn_attn_factor": "attention_factor"}
        for key in ("yarn_attn_factor", "attn_factor", "yarn_beta_fast", "yarn_beta_slow"):
            if metadata.get(f"rope.scaling.{key}") is not None:
                scaling[renamed.get(key, key.removeprefix("yarn_"))] = metadata.get(f"rope.scaling.{key}")
    return {"rope_parameters": scaling}


def _own_keys(metadata: Metadata) -> set[str]:
    return {key.removeprefix(f"{metadata.architecture}.") for key in metadata.file.metadata}


def _biases(metadata: Metadata) -> dict[str, Any]:
    return {"attention_bias": metadata.has("blk.0.attn_q.bias"), "mlp_bias": metadata.has("blk.0.ffn_down.bias")}


def _experts(metadata: Metadata, name: str = "num_experts") -> dict[str, Any]:
    return {name: metadata.num_experts(), "num_experts_per_tok": metadata.integer("expert_used_count")}


def _llama(metadata: Metadata) -> dict[str, Any]:
    keys = {"model_type": "llama", **_sizes(metadata), **_rope(metadata)}
    if metadata.get("expert_count"):
        return keys | {"model_type": "mixtral"} | _experts(metadata, "num_local_experts")
    return keys | _biases(metadata)


def _qwen2(metadata: Metadata) -> dict[str, Any]:
    keys = {"model_type": "qwen2", **_sizes(metadata), **_rope(metadata)}
    del keys["head_dim"]
    return keys


def _qwen3(metadata: Metadata) -> dict[str, Any]:
    return {"model_type": "qwen3", **_sizes(metadata), **_rope(metadata)}


def _qwen3moe(metadata: Metadata) -> dict[str, Any]:
    return {
        **_qwen3(metadata),
        "model_type": "qwen3_moe",
        "moe_intermediate_size": metadata.integer("expert_feed_forward_length"),
        **_experts(metadata),
        "norm_topk_prob": True,
    }


def _olmoe(metadata: Metadata) -> dict[str, Any]:
    return {"model_type": "olmoe", **_sizes(metadata), **_rope(metadata), **_experts(metadata), "norm_topk_prob": False}


def _gpt_oss(metadata: Metadata) -> dict[str, Any]:
    sizes, rope = _sizes(metadata), _rope(metadata, 150_000.0)
    parameters = rope.get("rope_parameters", {"rope_type": "default", **rope})
    return {
        "model_type": "gpt_oss",
        **sizes,
        "rope_parameters": parameters | ({"truncate": False} if parameters["rope_type"] == "yarn" else {}),
        "sliding_window": metadata.integer("attention.sliding_window", 128),
        "intermediate_size": metadata.integer("expert_feed_forward_length", sizes["intermediate_size"]),
        **_experts(metadata, "num_local_experts"),
    }


def _gemma(metadata: Metadata) -> dict[str, Any]:
    return {"model_type": "gemma", **_sizes(metadata), **_rope(metadata), "hidden_act": "gelu_pytorch_tanh"}


def _gemma2(metadata: Metadata) -> dict[str, Any]:
    sizes = _sizes(metadata)
    is_large = sizes["num_hidden_layers"] == LARGE_GEMMAS.get(metadata.architecture)
    return {
        "model_type": "gemma2",
        **sizes,
        **_rope(metadata),
        "sliding_window": metadata.integer("attention.sliding_window", 4096),
        "query_pre_attn_scalar": sizes["hidden_size"] / sizes["num_attention_heads"] if is_large else sizes["head_dim"],
        "attn_logit_softcapping": metadata.get("attn_logit_softcapping", 50.0),
        "final_logit_softcapping": metadata.get("final_logit_softcapping", 30.0),
    }


def _gemma3(metadata: Metadata) -> dict[str, Any]:
    keys = _gemma2(metadata)
    full = _rope(metadata, 1_000_000.0)
    by_type = {
        "full_attention": full.get("rope_parameters", {"rope_type": "default", **full}),
        "sliding_attention": {"rope_type": "default", "rope_theta": metadata.get("rope.freq_base_swa", 10000.0)},
    }
    keys |= {"model_type": "gemma3_text", "attn_logit_softcapping": None, "rope_parameters": by_type}
    keys.pop("rope_theta", None)
    return keys | {"final_logit_softcapping": metadata.get("final_logit_softcapping")}


def _phi3(metadata: Metadata) -> dict[str, Any]:
    keys = {"model_type": "phi3", **_sizes(metadata), "sliding_window": metadata.get("attention.sliding_window") or None}
    parameters: dict[str, Any] = {"rope_type": "default", "rope_theta": metadata.get("rope.freq_base", 10000.0)}
    parameters["partial_rotary_factor"] = metadata.integer("rope.dimension_count", keys["head_dim"]) / keys["head_dim"]
    if metadata.has("rope_factors_long.weight") and metadata.has("rope_factors_short.weight"):
        original = metadata.integer("rope.scaling.original_context_length")
        parameters |= {
            "rope_type": "longrope",
            "short_factor": metadata.factors("rope_factors_short.weight"),
            "long_factor": metadata.factors("rope_factors_long.weight"),
            "original_max_position_embeddings": original,
            "factor": max(keys["max_position_embeddings"] / original, 1.0),
        }
        if metadata.get("rope.scaling.attn_factor") is not None:
            parameters["attention_factor"] = metadata.get("rope.scaling.attn_factor")
    return keys | {"rope_parameters": parameters}


def _smollm3(metadata: Metadata) -> dict[str, Any]:
    return {"model_type": "smollm3", **_sizes(metadata), **_rope(metadata, 2_000_000.0)}


def _granite(metadata: Metadata) -> dict[str, Any]:
    sizes = _sizes(metadata)
    return {
        "model_type": "granite",
        **sizes,
        **_rope(metadata),
        **_biases(metadata),
        "attention_multiplier": metadata.get("attention.scale", sizes["head_dim"] ** -0.5),
        "embedding_multiplier": metadata.get("embedding_scale", 1.0),
        "residual_multiplier": metadata.get("residual_scale", 1.0),
        "logits_scaling": metadata.get("logit_scale", 1.0),
    }


def _olmo2(metadata: Metadata) -> dict[str, Any]:
    keys = {"model_type": "olmo2", **_sizes(metadata), **_rope(metadata, 500_000.0)}
    del keys["head_dim"]
    if metadata.get("attention.sliding_window") is None:
        return keys
    num_layers = keys["num_hidden_layers"]
    pattern = metadata.get("attention.sliding_window_pattern", [(index + 1) % 4 != 0 for index in range(num_layers)])
    if not isinstance(pattern, list) or len(pattern) != num_layers:
        raise CheckpointError(
            f"got {metadata.file.path} with olmo2.attention.sliding_window_pattern={short_repr(pattern)}, expected one flag for each layer"
        )
    full = keys.pop("rope_parameters", {"rope_type": "default", "rope_theta": keys.pop("rope_theta", 500_000.0)})
    local = {"rope_type": "default", "rope_theta": full["rope_theta"]}
    return keys | {
        "model_type": "olmo3",
        "sliding_window": metadata.integer("attention.sliding_window"),
        "layer_types": ["sliding_attention" if is_local else "full_attention" for is_local in pattern],
        "rope_parameters": {"full_attention": full, "sliding_attention": local},
    }


def _gpt2(metadata: Metadata) -> dict[str, Any]:
    return {
        "model_type": "gpt2",
        "vocab_size": metadata.file.tensors["token_embd.weight"].shape[0] if metadata.has("token_embd.weight") else 0,
        "n_positions": metadata.integer("context_length"),
        "n_embd": metadata.integer("embedding_length"),
        "n_layer": metadata.num_layers(),
        "n_head": metadata.integer("attention.head_count"),
        "n_inner": metadata.integer("feed_forward_length"),
        "layer_norm_epsilon": metadata.get("attention.layer_norm_epsilon", 1e-5),
        "tie_word_embeddings": not metadata.has("output.weight"),
    }


ARCHITECTURES: dict[str, Callable[[Metadata], dict[str, Any]]] = {
    **{"llama": _llama, "qwen2": _qwen2, "qwen3": _qwen3, "qwen3moe": _qwen3moe, "gemma": _gemma, "gemma2": _gemma2, "gemma3": _gemma3},
    **{"phi3": _phi3, "smollm3": _smollm3, "granite": _granite, "olmo2": _olmo2, "olmoe": _olmoe, "gpt-oss": _gpt_oss, "gpt2": _gpt2},
    **{"bert": bert_keys, "modern-bert": modern_bert_keys, "t5": t5_keys, "t5encoder": t5_keys},
}
"""The keys of config.json by llama.cpp's name of the architecture."""
