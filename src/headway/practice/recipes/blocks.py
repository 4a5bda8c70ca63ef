"""GPT-2's transformer block in steps, with weights in nested dicts as in picoGPT; shared by the exercises with blocks."""

from __future__ import annotations

from collections.abc import Callable
from operator import add
from typing import Any

import numpy

from headway.practice.exercise import Convention, Step, optional
from headway.practice.recipes import activations, projections
from headway.practice.recipes.layers import Add, Sublayer, post_norm, pre_norm
from headway.practice.texts import Texts

TEXTS = Texts("shared/blocks")

Way = Callable[[Step], Step]
"""A change of how a sublayer is connected: of a function of x, the sublayer, its norm and the sum."""


def block(steps: Any, x: Any, mlp: Any, attn: Any, ln_1: Any, ln_2: Any, num_heads: int) -> Any:
    """Compute attention and feed-forward, each with a norm and a residual connection."""
    return steps.wire(
        x,
        lambda x: attention(steps, x, attn, num_heads),
        lambda x: steps.linear(steps.activation(steps.linear(x, mlp["c_fc"])), mlp["c_proj"]),
        lambda x: steps.norm(x, ln_1),
        lambda x: steps.norm(x, ln_2),
        steps.connect,
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
    return norm["g"] * activations.normed(x, eps=eps, ddof=ddof) + norm["b"]


def in_turn(first: Way, second: Way) -> Step:
    """Return the wiring of a block whose attention and feed-forward are connected in these ways."""
    return lambda x, attend, think, norm_1, norm_2, connect: second(connect)(first(connect)(x, attend, norm_1, add), think, norm_2, add)


def usual(connect: Step) -> Step:
    """Return the block's own way to connect a sublayer: before or after its norm."""
    return connect


def linear(x: Any, layer: Any) -> Any:
    """Linear layer with a weight of shape (in, out)."""
    return x @ layer["w"] + layer["b"]


STEPS: dict[str, Step] = {
    "wire": in_turn(usual, usual),
    "connect": pre_norm,
    "norm": layer_norm,
    "activation": activations.gelu_tanh,
    "linear": linear,
    "project": linear,
    "order": lambda query, key, value: (query, key, value),
    "split": projections.split,
    "merge": projections.merge,
    "scale": lambda head_dim, num_heads: head_dim**-0.5,
    "mask": lambda query_len, key_len: numpy.tril(numpy.ones((query_len, key_len), bool)),
}

GELUS = optional(
    Convention(TEXTS["exact_gelu"], steps={"activation": activations.gelu}),
    Convention(TEXTS["quick_gelu"], steps={"activation": activations.quick_gelu}, used_source=r"fast_approx|(?i:quick_?gelu)|\b1\.702"),
)
OTHER_ORDER = r"(?i)\A(?![\s\S]*((?<!attention)gpt(?!-?\d?['\"])|llama|pre[-_ ]?(norm|ln|layer)))"
"""Pattern of the source of a class that does not say that it normalizes before its parts."""


def of_outputs(x: Any, part: Sublayer, norm: Sublayer, add: Add) -> Any:
    """Normalize the output of the sublayer, inside the residual connection, as in OLMo 2 and Swin Transformer V2."""
    return add(x, norm(part(x)))


POST_NORM = optional(
    Convention(TEXTS["post_norm"], steps={"connect": post_norm}, called=r"post_?(norm|ln)"),
    Convention(
        TEXTS["post_norm"],
        steps={"connect": post_norm},
        without="mlp",
        source=OTHER_ORDER,
        used_source=r"tri[lu]|[Cc]ausal|\bmask",
    ),
    Convention(
        TEXTS["norms_of_outputs"],
        steps={"connect": of_outputs},
        without="mlp",
        source=rf"{OTHER_ORDER}(?![\s\S]*post[-_ ]?(norm|ln|layer))",
        used_source=r"tri[lu]|[Cc]ausal",
    ),
    Convention(TEXTS["post_norm"], steps={"connect": post_norm}, without="mlp", source=r"(?i)deep_?norm|\bpost[-_ ]?(norm|ln)\b"),
)
"""A block whose name or source says so, and a class that says nothing of another order, as in GPT-2: both orders have their models."""
UNWRITTEN = r"rms|\bjax\b|flax|finfo|\*\* *-|import[^\n]*norm"
"""Pattern of a file that may have an epsilon other than 1e-5 without its digits: those of libraries, powers, and norms of other files."""

EPSILONS = optional(
    *(
        Convention(
            TEXTS["eps_of_norms"].format(eps=10.0**-exponent),
            steps={"norm": lambda x, norm, eps=10.0**-exponent: layer_norm(x, norm, eps=eps)},
            file_source=rf"e-0*{exponent}\b|0\.0{{{exponent - 1}}}1|{UNWRITTEN}",
        )
        for exponent in (6, 8, 12)
    )
)
"""Epsilons of norms other than 1e-5, for files that may have them."""


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


def unbiased(block: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return a block's weights with zero biases in the layers, or the parts with layers, of these names: c_attn, attn, mlp."""
    layers = {
        part: {name: {"w": each["w"], "b": 0 * each["b"]} if {part, name} & set(names) else each for name, each in block[part].items()}
        for part in ("mlp", "attn")
    }
    return block | layers
