"""The embedded model as the workbook's functions take it: a dict of arrays with the names of GPT-2's checkpoint."""

from __future__ import annotations

from typing import Any

import numpy

from headway.language_model import load
from headway.practice.workbook.story import EmbeddedModel

PROMPT, NUM_TOKENS = "Once upon a time", 85


def embedded_model() -> EmbeddedModel:
    """The weights, and the greedy story that Headway writes with them."""
    model = load("stories", weights="none")
    checkpoint = model.embedder.checkpoint
    weights, config = checkpoint.weights, checkpoint.config
    completion = model.generate(PROMPT, max_new_tokens=NUM_TOKENS, temperature=0, ignore_end=True)
    prompt = model.tokenizer.encode(PROMPT)
    return EmbeddedModel(
        weights={
            "wte": weights.token_embedding,
            "wpe": weights.position_embedding,
            "blocks": [_block(layer) for layer in weights.layers],
            "ln_f": _norm(weights.norm),
        },
        num_heads=config.n_head,
        context_size=config.n_positions,
        prompt=prompt,
        expected=[*prompt, *completion.token_ids],
        decode=model.tokenizer.decode,
    )


def _block(layer: Any) -> dict[str, Any]:
    attention, feed_forward = layer.attention, layer.feed_forward
    fused = (attention.query, attention.key, attention.value)
    c_attn = {
        "w": numpy.concatenate([part.weight.T for part in fused], axis=1),
        "b": numpy.concatenate([part.bias for part in fused]),
    }
    return {
        "ln_1": _norm(layer.attention_norm),
        "attn": {"c_attn": c_attn, "c_proj": _linear(attention.output)},
        "ln_2": _norm(layer.feed_forward_norm),
        "mlp": {"c_fc": _linear(feed_forward.up), "c_proj": _linear(feed_forward.down)},
    }


def _linear(layer: Any) -> dict[str, Any]:
    return {"w": numpy.ascontiguousarray(layer.weight.T), "b": layer.bias}


def _norm(norm: Any) -> dict[str, Any]:
    return {"g": norm.weight, "b": norm.bias}
