"""Small random models saved by transformers, with its results for comparison."""

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
_T5 = {
    "vocab_size": VOCAB_SIZE,
    "d_model": 24,
    "d_kv": 5,
    "d_ff": 40,
    "num_layers": 2,
    "num_decoder_layers": 3,
    "num_heads": 4,
    "relative_attention_num_buckets": 12,
    "relative_attention_max_distance": 9,
    "pad_token_id": 0,
    "eos_token_id": 1,
    "decoder_start_token_id": 0,
}
_MARIAN = {
    "vocab_size": VOCAB_SIZE,
    "d_model": 24,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "encoder_attention_heads": 3,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 40,
    "decoder_ffn_dim": 44,
    "max_position_embeddings": 64,
    "activation_function": "swish",
    "scale_embedding": True,
    "pad_token_id": 90,
    "eos_token_id": 0,
    "decoder_start_token_id": 90,
    "forced_eos_token_id": None,
}
_GEMMA3 = {
    "text_config": {
        **{name: size for name, size in _LLAMA_LIKE.items() if not name.endswith("token_id")},
        **{"head_dim": 6, "sliding_window": 5, "layer_types": ["sliding_attention", "full_attention", "sliding_attention"]},
    },
    "vision_config": {
        **{"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "image_size": 4, "patch_size": 2},
        "vision_use_head": False,
    },
    **{"mm_tokens_per_image": 4, "boi_token_index": 94, "eoi_token_index": 95, "image_token_index": 96},
}
_BASES = {
    "GPT2": (_GPT2, "LMHeadModel"),
    "T5": (_T5, "ForConditionalGeneration"),
    "MT5": (_T5, "ForConditionalGeneration"),
    "Marian": (_MARIAN, "MTModel"),
    "Gemma3": (_GEMMA3, "ForConditionalGeneration"),
}


def _rope(kind: str, **parameters: Any) -> dict[str, Any]:
    return {"rope_parameters": {"rope_type": kind, "rope_theta": 10000.0, **parameters}}


def _two_ropes(**full: Any) -> dict[str, Any]:
    by_type = {"full_attention": {"rope_type": "default", "rope_theta": 1e6} | full}
    return {"rope_parameters": by_type | {"sliding_attention": {"rope_type": "default", "rope_theta": 1e4}}}


_LONGROPE = {"short_factor": [1.0, 1.5], "long_factor": [2.0, 4.0], "original_max_position_embeddings": 32}


@dataclass(frozen=True)
class Case:
    name: str
    kind: str
    keys: dict[str, Any] = field(default_factory=dict)
    save: dict[str, Any] = field(default_factory=dict)
    dtype: torch.dtype = torch.float32

    def model(self) -> Any:
        base, _ = _BASES.get(self.kind, (_LLAMA_LIKE, ""))
        config = getattr(transformers, f"{self.kind}Config")(**base | self.keys)
        torch.manual_seed(0)
        model = self.model_class(config).eval()
        with torch.no_grad():  # norms of exactly 1 and biases of exactly 0 would hide a wrong name
            for parameter in model.parameters():
                if parameter.requires_grad:  # Marian's positions are none
                    parameter.add_(torch.randn_like(parameter) * 0.1)
            if hasattr(model, "final_logits_bias"):
                model.final_logits_bias.normal_()
        return model.to(self.dtype)

    @property
    def model_class(self) -> Any:
        _, head = _BASES.get(self.kind, (None, "ForCausalLM"))
        return getattr(transformers, self.kind.removesuffix("Text") + head)


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

OTHER_DECODERS = [
    Case("gemma", "Gemma", {"head_dim": 6}),
    Case(
        "gemma2",
        "Gemma2",
        {"head_dim": 6, "sliding_window": 5, "query_pre_attn_scalar": 9, "attn_logit_softcapping": 2.0, "final_logit_softcapping": 3.0},
    ),
    Case(
        "gemma3",
        "Gemma3Text",
        {"head_dim": 6, "sliding_window": 5, "query_pre_attn_scalar": 9, "layer_types": ["sliding_attention", "full_attention"] * 2}
        | {"num_hidden_layers": 4}
        | _two_ropes(rope_type="linear", factor=8.0),
    ),
    Case("gemma3 with a vision model", "Gemma3"),
    Case(
        "gemma3 with a vision model, untied",
        "Gemma3",
        {"tie_word_embeddings": False, "text_config": _GEMMA3["text_config"] | {"eos_token_id": 2}},
    ),
    Case("phi3 with a window", "Phi3", {"sliding_window": 7}),
    Case("phi3 with longrope", "Phi3", _rope("longrope", **_LONGROPE)),
    Case("phi3 beyond its original length", "Phi3", _rope("longrope", **_LONGROPE | {"original_max_position_embeddings": 4})),
    Case(
        "phi3 rotated in part", "Phi3", {"num_attention_heads": 3, "num_key_value_heads": 3} | _rope("default", partial_rotary_factor=0.5)
    ),
    Case("smollm3", "SmolLM3", {"no_rope_layer_interval": 2, "mlp_bias": True}),
    Case(
        "granite tied",
        "Granite",
        {"embedding_multiplier": 3.0, "attention_multiplier": 0.3, "residual_multiplier": 0.5, "logits_scaling": 2.0}
        | {"tie_word_embeddings": True},
    ),
    Case("olmo2", "Olmo2", {"attention_bias": True}),
    Case("olmo3", "Olmo3", {"sliding_window": 5, "num_hidden_layers": 4} | _two_ropes(rope_type="yarn", factor=4.0, truncate=False)),
    Case("olmoe", "Olmoe", {"num_experts": 5, "num_experts_per_tok": 2}),
    Case("mixtral", "Mixtral", {"num_local_experts": 5, "num_experts_per_tok": 2, "sliding_window": 6}),
    Case(
        "qwen3_moe",
        "Qwen3Moe",
        {"head_dim": 8, "num_experts": 5, "num_experts_per_tok": 2, "moe_intermediate_size": 16, "mlp_only_layers": [1]},
    ),
    Case("qwen3_moe with normalized shares", "Qwen3Moe", {"num_experts": 4, "norm_topk_prob": True, "num_experts_per_tok": 3}),
    Case(
        "gpt_oss",
        "GptOss",
        {"head_dim": 8, "sliding_window": 4, "num_local_experts": 5, "num_experts_per_tok": 2, "swiglu_limit": 0.5}
        | _rope("yarn", factor=4.0, original_max_position_embeddings=16, truncate=False),
    ),
    Case("llama with dynamic rope", "Llama", _rope("dynamic", factor=4.0) | {"max_position_embeddings": 9}),
]
"""Decoders with parts that GPT-2, Llama and Qwen do not have."""
UNCOMPILED = ("gpt_oss",)
"""Those that the compiled kernels do not support."""


ENCODER_DECODER_CASES = [
    Case("t5", "T5"),
    Case("t5 gated, not scaled", "T5", {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}),
    Case("t5 as deep as wide, in bfloat16", "T5", {"num_decoder_layers": None, "d_kv": 6}, dtype=torch.bfloat16),
    Case("mt5", "MT5", {"feed_forward_proj": "gated-gelu"}),
    Case("marian", "Marian"),
    Case(
        "marian with two vocabularies, exact gelu, not scaled",
        "Marian",
        {
            "decoder_vocab_size": 91,
            "share_encoder_decoder_embeddings": False,
            "activation_function": "gelu",
            "scale_embedding": False,
        },
    ),
    Case("marian sharded in float16", "Marian", save={"max_shard_size": "20KB"}, dtype=torch.float16),
]


@dataclass(frozen=True)
class Saved:
    """A folder, and what transformers computes from it in float32."""

    case: Case
    folder: Path
    token_ids: numpy.ndarray
    logits: numpy.ndarray
    greedy: list[int]


@dataclass(frozen=True)
class SavedEncoderDecoder:
    """A folder, and what transformers computes from it in float32: source rows of 11 and 6 tokens, targets of 7."""

    case: Case
    folder: Path
    source_ids: numpy.ndarray
    lengths: numpy.ndarray
    token_ids: numpy.ndarray
    encoded: numpy.ndarray
    hidden: numpy.ndarray
    logits: numpy.ndarray

    def load(self) -> Any:
        """The model in transformers, in float32."""
        return self.case.model_class.from_pretrained(self.folder, dtype=torch.float32, attn_implementation="eager").eval()


def save(case: Case, folder: Path) -> Saved:
    case.model().save_pretrained(folder, **case.save)
    model = case.model_class.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    token_ids = torch.randint(3, VOCAB_SIZE, (2, 13), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        logits = model(token_ids).logits.numpy()
        prompt = token_ids[:1]
        greedy = model.generate(prompt, attention_mask=torch.ones_like(prompt), do_sample=False, max_new_tokens=20)[0, 13:].tolist()
    return Saved(case, folder, token_ids.numpy(), logits, greedy)


def save_encoder_decoder(case: Case, folder: Path) -> SavedEncoderDecoder:
    case.model().save_pretrained(folder, **case.save)
    generator = torch.Generator().manual_seed(1)
    source_ids = torch.randint(3, 90, (2, 11), generator=generator)
    token_ids = torch.randint(3, 90, (2, 7), generator=generator)
    lengths = torch.tensor([11, 6])
    model = case.model_class.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    with torch.no_grad():
        mask = (torch.arange(11) < lengths[:, None]).long()
        out = model(input_ids=source_ids, attention_mask=mask, decoder_input_ids=token_ids, output_hidden_states=True)
    arrays = (source_ids, lengths, token_ids, out.encoder_last_hidden_state, out.decoder_hidden_states[-1], out.logits)
    return SavedEncoderDecoder(case, folder, *(array.numpy() for array in arrays))
