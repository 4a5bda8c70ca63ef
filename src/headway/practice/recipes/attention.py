"""Scaled dot-product attention in steps, with its accepted conventions; shared by all exercises with attention."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy

from headway.practice.exercise import Convention, Inputs, optional
from headway.practice.recipes.conventions import named_output
from headway.practice.recipes.encoding import first_of_tuple
from headway.practice.texts import Texts

TEXTS = Texts("shared/attention")


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
    """Compute attention in the steps operands, scores, scale, allowed, hide, normalise, after, late_scale, mix, unpad."""
    query, key, value = steps.operands(query, key, value)
    given = {"query": query, "key": key, "value": value, "scale": scale, **sizes}
    scores = steps.scores(query, key) * steps.scale(given)
    lower = steps.triangle(*(lengths or scores.shape[-2:])) if steps.is_causal(is_causal) else None
    allowed = steps.combine(mask, lower)
    weights = steps.after(steps.normalise(steps.hide(scores, allowed)), allowed)
    return steps.unpad(steps.mix(weights * steps.late_scale(given), value), mask)


def softmax(x: Any, axis: int = -1) -> Any:
    """Softmax as defined in headway.functions, in NumPy: zeros where everything is masked."""
    highest = x.max(axis, keepdims=True)
    powers = numpy.exp(x - numpy.where(numpy.isfinite(highest), highest, 0))
    total = powers.sum(axis, keepdims=True)
    return powers / numpy.where(total == 0, 1, total)


def transposed(x: Any) -> Any:
    """Swap the last two axes."""
    return numpy.swapaxes(x, -1, -2)


def triangle(query_len: int, key_len: int, shift: int = 0) -> Any:
    """Return a lower-triangular mask aligned to the bottom right, shifted by `shift`."""
    return numpy.tril(numpy.ones((query_len, key_len), bool), key_len - query_len + shift)


def both(mask: Any, lower: Any) -> Any:
    """Combine two masks to a boolean mask; None if neither hides anything."""
    if mask is None or lower is None:
        return lower if mask is None else mask
    return mask & lower


def hidden(scores: Any, allowed: Any, fill: float = -numpy.inf) -> Any:
    """Return the scores with `fill` where attention is not allowed."""
    return scores if allowed is None else numpy.where(allowed, scores, numpy.asarray(fill, scores.dtype))


def right_scale(inputs: Inputs) -> Any:
    """Return the given scale, or 1/√head_dim."""
    return inputs["query"].shape[-1] ** -0.5 if inputs.get("scale") is None else inputs["scale"]


def given_or(value: Any) -> Any:
    """Return a scale step with a wrong default that a given scale replaces."""
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
    "late_scale": lambda inputs: 1.0,
    "mix": lambda weights, value: weights @ value,
}


def few_bits(values: Any) -> Any:
    """Round to multiples of 1/16 below 8, which every floating dtype including bfloat16 represents exactly."""
    return numpy.clip(numpy.round(numpy.asarray(values) * 16) / 16, -7.9375, 7.9375)


TOP_LEFT = optional(
    Convention(
        TEXTS["aligned_top_left"],
        steps={"triangle": lambda query_len, key_len: numpy.tril(numpy.ones((query_len, key_len), bool))},
        role="is_causal",
    )
)
"""Alignment of a causal mask that is not square."""

UNLESS_MASKED = Convention(
    TEXTS["causal_unless_masked"],
    steps={"is_causal": lambda given: True, "combine": lambda mask, lower: lower if mask is None else mask},
    source=r"is_causal *= *[^,\n]*mask is None|if (\w+ and )?\w*mask is None:\s*\w*mask *(:[^\n=]+)?=.*(tril|triu|causal)"
    r"|\n(?P<depth> *)if (\w+ and )?\w*mask is None:\n(?:(?P=depth) +[^\n]*\n){0,6}?(?P=depth) +[^\n]*(tril|triu|causal)"
    r"|mask *= *['\"]causal['\"] if \w*mask is None else"
    r"|if \w*mask is not None:\s*(\w*\.)?\w*causal *= *False"
    r"|if \w*mask is not None:[\s\S]{1,900}is_causal *= *False[\s\S]+\bel(se|if)\b[\s\S]+is_causal *= *True"
    r"|if \w*mask is None:\s*(return|\w+ *=) [\w.]*attention\([^()]*\bis_causal *= *True[^()]*\)\s*else:\s*(return|\w+ *=) [\w.]*attention\([^()]*mask\b",
)
"""Attention whose source states that a given mask replaces the causal one."""

ALWAYS = {"is_causal": lambda given: True}

CAUSAL_ALONE = Convention(
    TEXTS["mask_not_read"],
    steps={**ALWAYS, "combine": lambda mask, lower: lower},
    role="mask",
    source=r"(?s)\bdef \w+\([^)]*\b(\w*mask)(?: *:[^=,)]+)? *= *None\b(?!.*(?<![\w.])\1\b(?! *=[^=]))",
)
"""Causal attention with an optional mask that its code never reads, such as one that its callers pass to all layers alike."""

CAUSAL = optional(
    Convention(TEXTS["always_causal"], steps=ALWAYS),
    UNLESS_MASKED,
    CAUSAL_ALONE,
    Convention(TEXTS["always_causal"], steps={**ALWAYS, **TOP_LEFT[1].steps}, without="is_causal", source=r"is_causal *= *True"),
)
"""Attention that is causal without an argument for it, for a library's function aligned at the top left."""


NAMED_CAUSAL = optional(replace(CAUSAL[1], called="causal|autoregressive|decoder", without="is_causal"))
"""Attention that its name calls causal."""

CAUSAL_OVER_CONTEXT = optional(
    *(
        Convention(TEXTS["always_causal"], steps={**ALWAYS, **aligned}, called="causal|autoregressive", without="is_causal")
        for aligned in (TOP_LEFT[1].steps, {})
    )
)
"""Attention to another sequence that its name calls causal, aligned at its first or at its last position."""

UNSCALED = (
    Convention(),
    Convention(TEXTS["unscaled"], steps={"scale": lambda inputs: 1.0}, called=r"^(?!.*scale).*dot_?product", file_names=r"scaled?_?dot"),
)
"""Dot-product attention next to the scaled one in a file: the scale is the difference between them."""

UNSCALED_WITH_BIAS = optional(
    Convention(
        TEXTS["unscaled_with_bias"],
        steps={"scale": lambda inputs: 1.0},
        source=r"(?s)\bdef \w+\((?:[^()]|\([^()]*\))*?\b(\w*pos(?:ition(?:al)?)?_bias|rel(?:ative)?(?:_attention)?_bias)\b.*\+=? *\1\b",
    )
)
"""Attention as in T5, whose scores are not scaled and get a bias of positions that is given."""


def _operand(inputs: Inputs) -> Any:
    return next(inputs[name] for name in ("query", "x") if name in inputs)


def _shape(inputs: Inputs, num_heads: int) -> tuple[int, ...]:
    """Return the shape of the scores: (batch, heads, queries, keys)."""
    query = _operand(inputs)
    key = next((inputs[name] for name in ("key", "context") if name in inputs), query)
    return query.shape[0], num_heads, query.shape[-2], key.shape[-2]


def _num_heads(inputs: Inputs) -> int:
    query = _operand(inputs)
    return int(inputs.get("num_heads", query.shape[1] if query.ndim == 4 else 1))


def _as(change: Callable[[Inputs, Any], Any]) -> Callable[[Inputs], Inputs | None]:
    """Return an encoding of the mask, expanded to (1 or batch, 1, 1 or queries, keys); None if it cannot express the mask."""

    def encode(inputs: Inputs) -> Inputs | None:
        mask = inputs.get("mask")
        if mask is None or _operand(inputs).ndim < 3:
            return inputs
        expanded = change(inputs, mask if mask.ndim == 4 else mask[:, None] if mask.ndim == 3 else mask[None, None])
        return None if expanded is None else inputs | {"mask": expanded.copy()}

    return encode


def _per_sample(inputs: Inputs, mask: Any) -> Any:
    batch, _, queries, keys = _shape(inputs, 1)
    return numpy.broadcast_to(mask[:, 0], (batch, queries, keys))


def _per_sequence_and_head(inputs: Inputs, mask: Any) -> Any:
    shape = _shape(inputs, _num_heads(inputs))
    return numpy.broadcast_to(mask, shape).reshape(-1, *shape[2:])


def _padding(inputs: Inputs) -> Inputs | None:
    """Return a mask of the keys of each sequence; None for a mask that differs between queries, and for that of a single sequence."""
    if inputs.get("mask") is not None and _operand(inputs).ndim < 3:
        return None
    return _as(lambda _, mask: mask[:, 0, 0] if mask.shape[2] == 1 else None)(inputs)


def _without_queries(inputs: Inputs) -> Inputs | None:
    """Return a mask that is the same for all queries without their axis; None for other masks."""
    mask = inputs.get("mask")
    if mask is None:
        return inputs
    return inputs | {"mask": mask[..., 0, :]} if mask.ndim > 1 and mask.shape[-2] == 1 else None


def _lengths(inputs: Inputs) -> Inputs | None:
    """Return a padding mask as the number of keys of each sequence; None for other masks."""
    mask = inputs.get("mask")
    if mask is None:
        return inputs
    query = _operand(inputs)
    if mask.dtype != bool or query.ndim < 3 or mask.shape[0] != query.shape[0] or any(size > 1 for size in mask.shape[1:-1]):
        return None
    rows = mask.reshape(len(mask), -1)
    lengths = rows.sum(-1)
    return inputs | {"mask": lengths} if (rows == (numpy.arange(rows.shape[-1]) < lengths[:, None])).all() else None


def _matrix(inputs: Inputs) -> Inputs | None:
    """Return a mask of two axes as it is; None for other masks."""
    return inputs if inputs.get("mask") is None or inputs["mask"].ndim == 2 else None


FULL = Convention()
"""The shape of the probes, any that NumPy expands to (batch, heads, queries, keys)."""

LENGTHS_NAMED = r"(^|_)len(gth)?s$"
"""Pattern of the names of lengths, which are no mask of another form."""

FOR_ALL_HEADS = Convention(TEXTS["mask_for_all_heads"], _as(lambda inputs, mask: numpy.broadcast_to(mask, _shape(inputs, 1))), role="mask")
OF_PADDING = (
    Convention(TEXTS["mask_of_keys"], _padding, role="mask"),
    Convention(
        TEXTS["mask_of_keys"],
        _without_queries,
        role="mask",
        used_source=r"mask\w*(\.unsqueeze\(-2\)|\[\.\.\., *([nN]one|[\w.]*newaxis), *:\])",
    ),
    Convention(TEXTS["expects_lengths"], _lengths, role="mask", named=r"len", alone=LENGTHS_NAMED),
)
"""Shapes that hide the same keys from all queries."""


def _without_late(output: Any, mask: Any) -> Any:
    """Return an output with zeros for the queries at positions whose keys a padding mask of sequences hides."""
    if getattr(mask, "ndim", 0) < 2 or numpy.ndim(output) < 3 or len(mask) != len(output):
        return output
    real = mask.reshape(len(mask), -1)[:, : output.shape[-2]]
    real = numpy.pad(real, [(0, 0), (0, output.shape[-2] - real.shape[1])])
    return numpy.where(real.reshape(len(real), *[1] * (output.ndim - 3), -1, 1), output, 0)


def _decoded_without_late(answer: Any, inputs: Inputs) -> Any:
    if isinstance(answer, tuple) and answer:
        return (_decoded_without_late(answer[0], inputs), *answer[1:])
    return _without_late(answer, inputs.get("mask"))


LENGTHS_OF_BOTH = Convention(
    TEXTS["lengths_of_both"],
    _lengths,
    _decoded_without_late,
    steps={"unpad": _without_late},
    role="mask",
    named=r"len",
    alone=LENGTHS_NAMED,
    leaves_out=True,
)
"""Lengths of sequences, after which queries count no more than keys."""

OF_ALL = Convention(
    TEXTS["mask_of_all"],
    _matrix,
    role="mask",
    used_source=r"mask\[([\w.]*[nN]one|[\w.]*newaxis)(, *(\1|\.\.\.))*(, *:)*\]|mask\w*\.unsqueeze\(0\)|unsqueeze\(0\)\.unsqueeze\(0\)",
)
"""Masks of (queries, keys) alone, to which the source adds axes."""

MASK_SHAPES = (
    FULL,
    Convention(TEXTS["mask_without_heads"], _as(_per_sample), role="mask"),
    FOR_ALL_HEADS,
    Convention(TEXTS["mask_of_heads"], _as(lambda inputs, mask: numpy.broadcast_to(mask, _shape(inputs, _num_heads(inputs)))), role="mask"),
    Convention(
        TEXTS["mask_of_sequences_and_heads"],
        _as(_per_sequence_and_head),
        role="mask",
        used_source=r"(view|reshape)\([^\n]*(batch|\bb)\w* *\* *(self\.)?\w*head|(view|reshape)\([^\n]*head\w* *\* *\w*(batch|\bb)",
    ),
    OF_ALL,
    *OF_PADDING,
)
"""Shapes of a mask; probes contain (queries, keys), or (batch, 1, 1, keys) for padding."""


def _output(answer: Any, inputs: Inputs) -> Any:
    """Return the output of a pair with the weights, or of a dict of several values."""
    return first_of_tuple(2)(named_output(answer, inputs), inputs)


RETURNS = optional(
    Convention(TEXTS["output_and_weights"], decode=_output),
    Convention(
        TEXTS["weights_and_output"], decode=lambda answer, inputs: answer[1] if isinstance(answer, tuple) and len(answer) == 2 else answer
    ),
)
"""Values returned in addition to the output."""
