"""Small random models, saved by transformers: what ours are compared with."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy
import torch
import transformers

VOCAB_SIZE = 97

_LLAMA_LIKE = {
    "vocab_size": VOCAB_SIZE,
    "hidden_size": 24,
    "intermediate_size": 40,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
_GPT2 = {
    "vocab_size": VOCAB_SIZE,
    "n_positions": 64,
    "n_embd": 24,
    "n_layer": 3,
    "n_head": 4,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}


def _rope(kind: str, **parameters: Any) -> dict[str, Any]:
    return {"rope_parameters": {"rope_type": kind, "rope_theta": 10000.0, **parameters}}


@dataclass(frozen=True)
class Case:
    name: str
    kind: str
    keys: dict[str, Any] = field(default_factory=dict)
    save: dict[str, Any] = field(default_factory=dict)
    dtype: torch.dtype = torch.float32

    def model(self) -> Any:
        base = _GPT2 if self.kind == "GPT2" else _LLAMA_LIKE
        head = "LMHeadModel" if self.kind == "GPT2" else "ForCausalLM"
        config = getattr(transformers, f"{self.kind}Config")(**base | self.keys)
        torch.manual_seed(0)
        model = getattr(transformers, self.kind + head)(config).eval()
        with torch.no_grad():  # norms of exactly 1 and biases of exactly 0 would hide a wrong name
            for parameter in model.parameters():
                parameter.add_(torch.randn_like(parameter) * 0.1)
        return model.to(self.dtype)


CASES = [
    Case("gpt2", "GPT2"),
    Case("gpt2 with n_inner and inverse layer scale", "GPT2", {"n_inner": 50, "scale_attn_by_inverse_layer_idx": True}),
    Case(
        "gpt2 without scale, exact gelu, own head",
        "GPT2",
        {"scale_attn_weights": False, "activation_function": "gelu", "tie_word_embeddings": False},
    ),
    Case("gpt2 in bfloat16", "GPT2", dtype=torch.bfloat16),
    Case("gpt2 in float16, sharded", "GPT2", save={"max_shard_size": "20KB"}, dtype=torch.float16),
    Case("llama", "Llama"),
    Case("llama with as many kv heads, tied", "Llama", {"num_key_value_heads": 6, "tie_word_embeddings": True}),
    Case("llama with one kv head and biases", "Llama", {"num_key_value_heads": 1, "attention_bias": True, "mlp_bias": True}),
    Case("llama with wide heads", "Llama", {"head_dim": 10}),
    Case("llama with linear rope", "Llama", _rope("linear", factor=3.0)),
    Case(
        "llama with llama3 rope",
        "Llama",
        _rope("llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=16) | {"head_dim": 16},
    ),
    Case("llama with yarn rope", "Llama", _rope("yarn", factor=4.0, original_max_position_embeddings=16) | {"head_dim": 16}),
    Case(
        "llama with yarn rope and a given magnitude",
        "Llama",
        _rope("yarn", factor=4.0, original_max_position_embeddings=16, attention_factor=0.7, beta_fast=16.0),
    ),
    Case("llama sharded", "Llama", save={"max_shard_size": "20KB"}),
    Case("llama in bfloat16", "Llama", dtype=torch.bfloat16),
    Case("mistral with a window", "Mistral", {"sliding_window": 5}),
    Case("qwen2", "Qwen2"),
    Case(
        "qwen2 tied, with a window in the upper layers",
        "Qwen2",
        {"tie_word_embeddings": True, "use_sliding_window": True, "sliding_window": 4, "max_window_layers": 1},
    ),
    Case("qwen2 in bfloat16", "Qwen2", dtype=torch.bfloat16),
    Case("qwen3", "Qwen3", {"head_dim": 8}),
    Case("qwen3 with biases, tied", "Qwen3", {"head_dim": 16, "attention_bias": True, "tie_word_embeddings": True}),
    Case("qwen3 with a window", "Qwen3", {"head_dim": 8, "use_sliding_window": True, "sliding_window": 3, "max_window_layers": 2}),
]


@dataclass(frozen=True)
class Saved:
    """A folder, and what transformers computes from it in float32."""

    case: Case
    folder: Path
    token_ids: numpy.ndarray
    logits: numpy.ndarray
    greedy: list[int]


def save(case: Case, folder: Path) -> Saved:
    case.model().save_pretrained(folder, **case.save)
    head = "LMHeadModel" if case.kind == "GPT2" else "ForCausalLM"
    model = getattr(transformers, case.kind + head).from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    token_ids = torch.randint(3, VOCAB_SIZE, (2, 13), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        logits = model(token_ids).logits.numpy()
        prompt = token_ids[:1]
        greedy = model.generate(prompt, attention_mask=torch.ones_like(prompt), do_sample=False, max_new_tokens=20)[0, 13:].tolist()
    return Saved(case, folder, token_ids.numpy(), logits, greedy)
