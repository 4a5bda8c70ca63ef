"""Small models of every architecture, written to folders."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

from headway.checkpoints import save_checkpoint
from headway.models import bert, gemma3_text, gpt2, gpt_oss, llama, marian, phi3, qwen2, qwen3, qwen3_moe, smollm3, t5
from tests.small_models import random_weights

ROPE = {"rope_type": "default", "rope_theta": 10000.0}
YARN = {"rope_type": "yarn", "rope_theta": 1e4, "factor": 2.0, "original_max_position_embeddings": 8, "beta_fast": 32.0, "mscale": 1.0}
LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 1e4,
    "factor": 2.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8,
}
LINEAR = {"rope_type": "linear", "rope_theta": 1e4, "factor": 8.0}
DYNAMIC = {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0, "original_max_position_embeddings": 8}
LONGROPE = {
    "rope_type": "longrope",
    "rope_theta": 1e4,
    "short_factor": [1.0, 1.5],
    "long_factor": [2.0, 3.0],
    "original_max_position_embeddings": 2,
    "factor": 4.0,
    "partial_rotary_factor": 1.0,
}
SIZES = {"vocab_size": 7, "hidden_size": 8, "intermediate_size": 5, "num_hidden_layers": 1, "num_attention_heads": 2}
T5_SIZES = {"vocab_size": 7, "d_model": 6, "d_kv": 3, "d_ff": 5, "num_layers": 1, "num_heads": 2, "relative_attention_num_buckets": 8}
MARIAN_SIZES = {
    **{f"{part}_{name}": size for part in ("encoder", "decoder") for name, size in (("layers", 1), ("attention_heads", 2), ("ffn_dim", 5))},
    **{"vocab_size": 7, "d_model": 8, "max_position_embeddings": 9},
}
MODELS: dict[str, tuple[ModuleType, dict[str, Any]]] = {
    "gpt2": (gpt2, {"vocab_size": 7, "n_positions": 9, "n_embd": 6, "n_layer": 1, "n_head": 2}),
    "llama": (llama, SIZES | {"rope_parameters": YARN, "sliding_window": 3}),
    "qwen2": (
        qwen2,
        SIZES | {"rope_parameters": LLAMA3, "layer_types": ["sliding_attention"], "use_sliding_window": True, "sliding_window": 3},
    ),
    "qwen3": (qwen3, SIZES | {"rope_parameters": ROPE, "head_dim": 4}),
    "gemma3_text": (
        gemma3_text,
        SIZES | {"num_key_value_heads": 2, "head_dim": 4, "rope_parameters": {"full_attention": LINEAR, "sliding_attention": ROPE}},
    ),
    "phi3": (phi3, SIZES | {"rope_parameters": LONGROPE}),
    "qwen3_moe": (
        qwen3_moe,
        SIZES
        | {"num_key_value_heads": 2, "num_experts": 3, "num_experts_per_tok": 2, "moe_intermediate_size": 4, "mlp_only_layers": []}
        | {"rope_parameters": ROPE},
    ),
    "gpt_oss": (
        gpt_oss,
        SIZES
        | {"hidden_size": 32, "intermediate_size": 32, "num_key_value_heads": 2, "head_dim": 4}
        | {"num_local_experts": 3, "num_experts_per_tok": 2, "rope_parameters": YARN},
    ),
    "smollm3": (smollm3, SIZES | {"num_key_value_heads": 2, "no_rope_layers": [0], "rope_parameters": DYNAMIC}),
    "t5": (t5, T5_SIZES),
    "marian": (marian, MARIAN_SIZES),
    "bert": (bert, SIZES | {"max_position_embeddings": 9}),
}


def write_model(folder: Path, name: str) -> Path:
    module, keys = MODELS[name]
    config = module.Config(**keys)
    save_checkpoint(folder, module, config, random_weights(module, config))
    return folder
