"""GPT-2's transformer block in steps, with weights in nested dicts as in picoGPT; shared by the exercises with blocks."""

from __future__ import annotations

import math
from typing import Any

import numpy

from headway.practice.exercise import Convention, Step
from headway.practice.texts import Texts

TEXTS = Texts("shared/blocks")


def block(steps: Any, x: Any, mlp: Any, attn: Any, ln_1: Any, ln_2: Any, num_heads: int) -> Any:
    """Compute attention and feed-forward, each with a norm and a residual connection."""
    return steps.wire(
        x,
        lambda x: attention(steps, x, attn, num_heads),
        lambda x: steps.linear(steps.activation(steps.linear(x, mlp["c_fc"])), mlp["c_proj"]),
        lambda x: steps.norm(x, ln_1),
        lambda x: steps.norm(x, ln_2),
    )


def attention(steps: Any, x: Any, attn: Any, num_heads: int) -> Any:
    """Causal self-attention with a fused projection."""
    fused = steps.linear(x, attn["c_attn"])
    query, key, value = (steps.split(part, steps.heads(num_heads)) for part in steps.order(*numpy.split(fused, 3, axis=-1)))
    scores = query @ numpy.swapaxes(key, -1, -2) * steps.scale(query.shape[-1], num_heads)
    allowed = steps.mask(*scores.shape[-2:])
    powers = numpy.exp(scores - numpy.where(allowed, scores, -numpy.inf).max(-1, keepdims=True)) * allowed
    mixed = powers / powers.sum(-1, keepdims=True) @ value
    return steps.project(steps.merge(mixed), attn["c_proj"])


def layer_norm(x: Any, norm: Any, *, eps: float = 1e-5, ddof: int = 0) -> Any:
    """Layer norm with a dict of g and b."""
    centred = x - x.mean(-1, keepdims=True)
    return norm["g"] * centred / numpy.sqrt(x.var(-1, keepdims=True, ddof=ddof) + eps) + norm["b"]


def gelu(x: Any) -> Any:
    """GELU in GPT-2's tanh form."""
    return 0.5 * x * (1 + numpy.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def exact_gelu(x: Any) -> Any:
    """GELU in its exact form."""
    return 0.5 * x * (1 + numpy.vectorize(math.erf)(x / math.sqrt(2)))


def pre_norm(x: Any, attend: Any, think: Any, norm_1: Any, norm_2: Any) -> Any:
    """Connect the sublayers as in GPT-2."""
    x = x + attend(norm_1(x))
    return x + think(norm_2(x))


def post_norm(x: Any, attend: Any, think: Any, norm_1: Any, norm_2: Any) -> Any:
    """Connect the sublayers as in Vaswani et al. 2017."""
    x = norm_1(x + attend(x))
    return norm_2(x + think(x))


def split(x: Any, num_heads: int) -> Any:
    """Move the heads before the positions."""
    return numpy.swapaxes(x.reshape(*x.shape[:-1], num_heads, -1), -2, -3)


def split_without_transpose(x: Any, num_heads: int) -> Any:
    """Reshape without a transpose, which splits positions instead of the width."""
    return x.reshape(*x.shape[:-2], num_heads, x.shape[-2], -1)


def merge(x: Any) -> Any:
    """Move positions before heads, and concatenate the heads."""
    x = numpy.swapaxes(x, -2, -3)
    return x.reshape(*x.shape[:-2], -1)


def linear(x: Any, layer: Any) -> Any:
    """Linear layer with a weight of shape (in, out)."""
    return x @ layer["w"] + layer["b"]


STEPS: dict[str, Step] = {
    "wire": pre_norm,
    "norm": layer_norm,
    "activation": gelu,
    "linear": linear,
    "project": linear,
    "order": lambda query, key, value: (query, key, value),
    "heads": lambda num_heads: num_heads,
    "split": split,
    "merge": merge,
    "scale": lambda head_dim, num_heads: head_dim**-0.5,
    "mask": lambda query_len, key_len: numpy.tril(numpy.ones((query_len, key_len), bool)),
}

GELUS = (Convention(), Convention(TEXTS["exact_gelu"], steps={"activation": exact_gelu}))
POST_NORM = (Convention(), Convention(TEXTS["post_norm"], steps={"wire": post_norm}, called=r"post_?(norm|ln)"))
EPSILONS = (
    Convention(),
    *(
        Convention(TEXTS["eps_of_norms"].format(eps=eps), steps={"norm": lambda x, norm, eps=eps: layer_norm(x, norm, eps=eps)})
        for eps in (1e-6, 1e-8, 1e-12)
    ),
)


def weights(random: Any, width: int, inner: int) -> dict[str, Any]:
    """Return a block's weights, none of them 0 or 1, so that each has an effect."""

    def layer(rows: int, columns: int) -> dict[str, Any]:
        return {"w": random.standard_normal((rows, columns)) * rows**-0.5 * 1.3, "b": random.standard_normal(columns) * 0.4}

    def norm() -> dict[str, Any]:
        return {"g": 1 + 0.4 * random.standard_normal(width), "b": 0.4 * random.standard_normal(width)}

    return {
        "mlp": {"c_fc": layer(width, inner), "c_proj": layer(inner, width)},
        "attn": {"c_attn": layer(width, 3 * width), "c_proj": layer(width, width)},
        "ln_1": norm(),
        "ln_2": norm(),
    }
