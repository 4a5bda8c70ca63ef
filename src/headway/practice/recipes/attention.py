"""Attention in steps, shared by every exercise that attends: what the steps do rightly, and the ways to be called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from headway.practice.exercise import Convention, Inputs
from headway.practice.message import Message


def attend(
    steps: Any,
    query: Any,
    key: Any,
    value: Any,
    mask: Any = None,
    scale: Any = None,
    is_causal: bool = False,
    lengths: tuple[int, int] | None = None,
    **sizes: int,
) -> Any:
    """Scaled dot-product attention in steps: operands, scores, scale, what is allowed, hide, normalise, after, late_scale, mix."""
    query, key, value = steps.operands(query, key, value)
    given = {"query": query, "key": key, "value": value, "scale": scale, **sizes}
    scores = steps.scores(query, key) * steps.scale(given)
    lower = steps.triangle(*(lengths or scores.shape[-2:])) if steps.is_causal(is_causal) else None
    allowed = steps.combine(mask, lower)
    weights = steps.after(steps.normalise(steps.hide(scores, allowed)), allowed)
    return steps.mix(weights * steps.late_scale(given), value)


def softmax(x: Any, axis: int = -1) -> Any:
    """The definition's, on NumPy: zeros where everything is hidden."""
    highest = x.max(axis, keepdims=True)
    powers = numpy.exp(x - numpy.where(numpy.isfinite(highest), highest, 0))
    total = powers.sum(axis, keepdims=True)
    return powers / numpy.where(total == 0, 1, total)


def naive_softmax(x: Any, axis: int = -1) -> Any:
    """As libraries have it: NaN where everything is hidden."""
    powers = numpy.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


def transposed(x: Any) -> Any:
    """The last two axes exchanged."""
    return numpy.swapaxes(x, -1, -2)


def triangle(query_len: int, key_len: int, shift: int = 0) -> Any:
    """True at and below the diagonal that ends in the corner, moved up by `shift`."""
    return numpy.tril(numpy.ones((query_len, key_len), bool), key_len - query_len + shift)


def both(mask: Any, lower: Any) -> Any:
    """What two masks allow, as a boolean; None for everything."""
    if mask is None or lower is None:
        return lower if mask is None else mask
    return mask & lower


def hidden(scores: Any, allowed: Any, fill: float = -numpy.inf) -> Any:
    """The scores, with `fill` where nothing may be attended to."""
    return scores if allowed is None else numpy.where(allowed, scores, numpy.asarray(fill, scores.dtype))


def right_scale(inputs: Inputs) -> Any:
    """The scale that is given, or 1/√head_dim."""
    return inputs["query"].shape[-1] ** -0.5 if inputs.get("scale") is None else inputs["scale"]


def given_or(value: Any) -> Any:
    """A wrong default, which a scale that is given replaces."""
    return lambda inputs: value(inputs) if inputs.get("scale") is None else inputs["scale"]


STEPS = {
    "operands": lambda query, key, value: (query, key, value),
    "scores": lambda query, key: query @ transposed(key),
    "scale": right_scale,
    "is_causal": bool,
    "triangle": triangle,
    "combine": both,
    "hide": hidden,
    "normalise": softmax,
    "after": lambda weights, allowed: weights,
    "late_scale": lambda inputs: 1.0,
    "mix": lambda weights, value: weights @ value,
}


def few_bits(values: Any) -> Any:
    """Numbers that every floating dtype holds exactly, bfloat16 too: sixteenths, below 8 in size."""
    return numpy.clip(numpy.round(numpy.asarray(values) * 16) / 16, -7.9375, 7.9375)


TOP_LEFT = (
    Convention(),
    Convention(
        Message(
            "with fewer queries than keys your causal mask starts at the top left, as torch's is_causal does: right for a first pass, "
            "not behind a cache, where the newest query sits at the newest key",
            "查询少于键时，你的因果掩码从左上角对齐（与 torch 的 is_causal 相同）：首次前向没有问题，但使用缓存时，最新的查询应对齐最新的键",
        ),
        steps={"triangle": lambda query_len, key_len: numpy.tril(numpy.ones((query_len, key_len), bool))},
        role="is_causal",
    ),
)
"""At which corner a causal mask ends that is not square."""

CAUSAL = (
    Convention(),
    Convention(
        Message("it hides later positions by itself: causal attention", "它自己会隐藏后面的位置：因果注意力"),
        steps={"is_causal": lambda asked: True},
    ),
)
"""Whether attention is causal without being asked."""


def _operand(inputs: Inputs) -> Any:
    return next(inputs[name] for name in ("query", "x") if name in inputs)


def _shape(inputs: Inputs, num_heads: int) -> tuple[int, ...]:
    """(batch, heads, queries, keys) of the scores."""
    query = _operand(inputs)
    key = next((inputs[name] for name in ("key", "context") if name in inputs), query)
    return query.shape[0], num_heads, query.shape[-2], key.shape[-2]


def _num_heads(inputs: Inputs) -> int:
    query = _operand(inputs)
    return int(inputs.get("num_heads", query.shape[1] if query.ndim == 4 else 1))


def _as(change: Callable[[Inputs, Any], Any]) -> Callable[[Inputs], Inputs | None]:
    """An encoding of the mask of a batch, which is first made (1 or batch, 1, 1 or queries, keys); None where it cannot be said so."""

    def encode(inputs: Inputs) -> Inputs | None:
        mask = inputs.get("mask")
        if mask is None or _operand(inputs).ndim < 3:
            return inputs
        said = change(inputs, mask if mask.ndim == 4 else mask[:, None] if mask.ndim == 3 else mask[None, None])
        return None if said is None else inputs | {"mask": said.copy()}

    return encode


def _per_sample(inputs: Inputs, mask: Any) -> Any:
    batch, _, queries, keys = _shape(inputs, 1)
    return numpy.broadcast_to(mask[:, 0], (batch, queries, keys))


def _padding(inputs: Inputs, mask: Any) -> Any:
    return mask[:, 0, 0] if mask.shape[2] == 1 else None


MASK_SHAPES = (
    Convention(),
    Convention(
        Message("your mask has the shape (batch, queries, keys)", "你的掩码形状是 (batch, queries, keys)"), _as(_per_sample), role="mask"
    ),
    Convention(
        Message("your mask has the shape (batch, 1, queries, keys)", "你的掩码形状是 (batch, 1, queries, keys)"),
        _as(lambda inputs, mask: numpy.broadcast_to(mask, _shape(inputs, 1))),
        role="mask",
    ),
    Convention(
        Message("your mask has the shape (batch, heads, queries, keys)", "你的掩码形状是 (batch, heads, queries, keys)"),
        _as(lambda inputs, mask: numpy.broadcast_to(mask, _shape(inputs, _num_heads(inputs)))),
        role="mask",
    ),
    Convention(
        Message("your mask has the shape (batch, keys): padding alone", "你的掩码形状是 (batch, keys)：只用于填充"),
        _as(_padding),
        role="mask",
    ),
)
"""The shape of a mask; probes hold (queries, keys), or (batch, 1, 1, keys) for padding."""

RETURNS = (
    Convention(),
    Convention(
        Message("it returns (output, attention weights); the output was checked", "它返回 (输出, 注意力权重)；检查的是输出"),
        decode=lambda answer, inputs: answer[0] if isinstance(answer, tuple) and len(answer) >= 2 else answer,
    ),
    Convention(
        Message(
            "it returns (attention weights, output); the output was checked, and most libraries return it first",
            "它返回 (注意力权重, 输出)；检查的是输出，多数库把输出放在前面",
        ),
        decode=lambda answer, inputs: answer[1] if isinstance(answer, tuple) and len(answer) == 2 else answer,
    ),
)
"""What is returned beside the output."""
