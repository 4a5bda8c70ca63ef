"""Scaled dot-product attention: softmax(query @ keyᵀ / √head_dim) @ value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy

from headway import functions
from headway.practice.diagnosis.compare import Raised
from headway.practice.exercise import Exercise, Inputs, Probe, Recovery, Role
from headway.practice.message import Message
from headway.practice.recipes.attention import MASK_SHAPES, RETURNS, STEPS, TOP_LEFT, attend, given_or, right_scale, transposed
from headway.practice.recipes.attention_mistakes import MIXING, SCORES, SOFTMAXES, without
from headway.practice.recipes.conventions import MASKS as MASK_FORMS
from headway.practice.recipes.mask_mistakes import CAUSAL, MASKS


def _slope(ask: Any) -> list[tuple[Inputs, float]]:
    """Measure the scale: with the identity as value the output is the weights, whose log has this slope over the raw scores."""
    random = numpy.random.default_rng(5)
    measured = []
    for leading, query_len, key_len, head_dim in (((), 3, 5, 7), ((), 4, 6, 11), ((2, 3), 3, 5, 7), ((2, 5), 4, 6, 11)):
        query = random.standard_normal((*leading, query_len, head_dim)) * 0.4
        key = random.standard_normal((*leading, key_len, head_dim)) * 0.4
        inputs = {"query": query, "key": key, "value": numpy.broadcast_to(numpy.eye(key_len), (*leading, key_len, key_len)).copy()}
        weights = ask(inputs)
        if isinstance(weights, Raised):  # some functions require a mask
            weights = ask(inputs | {"mask": numpy.ones((query_len, key_len), bool)})
        slope = slope_of(weights, query @ transposed(key))
        if slope is not None:
            measured.append((inputs, slope))
    return measured


def slope_of(weights: Any, raw: Any) -> float | None:
    """Return the slope of the log weights over the raw scores; None if they are not a straight line."""
    if isinstance(weights, Raised) or numpy.shape(weights) != raw.shape or not (numpy.asarray(weights) > 0).all():
        return None
    logs = numpy.log(numpy.asarray(weights, numpy.float64))
    x, y = (each - each.mean(-1, keepdims=True) for each in (raw, logs))
    slope = float((x * y).sum() / (x * x).sum())
    return slope if numpy.abs(y - slope * x).max() < 1e-4 * max(numpy.abs(y).max(), 1e-9) else None


def sizes(inputs: Inputs) -> Mapping[str, float]:
    """Return the sizes that a scale may be computed from."""
    query, key = inputs["query"], inputs["key"]
    num_heads = query.shape[-3] if query.ndim >= 3 else 1
    known = {"head_dim": query.shape[-1], "query_len": query.shape[-2], "key_len": key.shape[-2]}
    known |= {"hidden_size": num_heads * query.shape[-1], "num_heads": num_heads}
    if query.ndim >= 4:
        known["batch_size"] = query.shape[-4]
    known |= {f"query.shape[{axis}]": size for axis, size in enumerate(query.shape)}
    known |= {f"key.shape[{axis}]": size for axis, size in enumerate(key.shape)}
    return {name: float(size) for name, size in known.items()}


def _leak(ask: Any) -> list[tuple[Inputs, float]]:
    """Measure the fill value of masked scores from the weight that remains there; empty if none remains."""
    measured = []
    for score in (0.0, 3.0):
        query, key = numpy.ones((2, 1)), numpy.array([[score], [0.0], [0.0]])
        mask = numpy.array([[True, False, True], [True, True, True]])
        inputs = {"query": query, "key": key, "value": numpy.eye(3), "mask": mask}
        weights = ask(inputs)
        if isinstance(weights, Raised) or numpy.shape(weights) != (2, 3) or not (numpy.asarray(weights)[0] > 1e-30).all():
            return []
        allowed, filled, _ = numpy.asarray(weights, numpy.float64)[0]
        fill = float(numpy.log(filled / allowed) + score)
        if abs(fill) < 1e-5:  # a fill of zero has a named mistake
            return []
        measured.append((inputs, fill))
    return measured


def _filled_with(number_of: Any) -> Any:
    return lambda scores, allowed: scores if allowed is None else numpy.where(allowed, scores, numpy.asarray(number_of({}), scores.dtype))


RECOVERIES = (
    Recovery(
        "scale",
        "scale",
        measure=_slope,
        wrong=lambda number_of: given_or(number_of),
        sizes=sizes,
        right=right_scale,
        right_name="1/√head_dim",
        says=Message("the scale is {value}{names}; expected {right} = {right_name}", "缩放是 {value}{names}；应为 {right} = {right_name}"),
        fix=Message(
            "multiply query @ keyᵀ by 1/√head_dim, with head_dim the width of one query vector",
            "把 query @ keyᵀ 乘以 1/√head_dim，head_dim 是单个查询向量的宽度",
        ),
        hides=Message("a nearly one-hot softmax hides a wrong scale", "softmax 接近 one-hot 时，错误的缩放看不出来"),
        pattern=r"sqrt|\*\* *-?0?\.5|scale|/",
    ),
    Recovery(
        "fill_too_small",
        "hide",
        measure=_leak,
        wrong=_filled_with,
        sizes=lambda inputs: {},
        right=lambda inputs: -1e9,
        right_name="-inf",
        says=Message(
            "masked keys get the score {value}{names}, which is not low enough: they keep some weight",
            "被遮住的键得到的分数是 {value}{names}，不够低：它们仍保留一部分权重",
        ),
        fix=Message("use -inf or -1e9", "改用 -inf 或 -1e9"),
        hides=Message("the mistake is visible only with a mask", "只有用到掩码时才看得出来"),
        pattern=r"masked_fill|where|mask",
    ),
)

MATRICES = Message("matrices without leading axes", "没有前导轴的矩阵")
BATCH = Message("a batch axis without a head axis", "只有批轴而没有头轴的输入")
HEADS = Message("batch and head axes", "带批轴与头轴的输入")
WHOLE = Message("integers", "整数")
CACHED = Message("fewer queries than keys under a causal mask", "因果掩码下查询少于键的情况")
NOTHING_ALLOWED = Message(
    "a fully masked query does not give zeros; check rows that are all padding",
    "一个查询的所有键都被遮住时，结果不是零；请检查整行都是填充的情况",
)
TOO_LARGE = Message(
    "scores in the thousands overflow: softmax must subtract the row's maximum first",
    "分数达到上千时会溢出：softmax 应先减去每行的最大值",
)
TOO_LOW = Message(
    "wrong when the allowed scores are as low as -20000: set masked scores to -inf or -1e9, and subtract the row's maximum in softmax",
    "允许的分数低到 -20000 时结果不对：被遮住的分数应设为 -inf 或 -1e9，softmax 应先减去每行的最大值",
)


def probes() -> tuple[Probe, ...]:
    """All sizes distinct, then square; masks with and without rows that allow few keys; heads and batches."""
    random = numpy.random.default_rng(7)

    def operands(query_len: int, key_len: int, head_dim: int, value_dim: int, leading: tuple[int, ...] = ()) -> Inputs:
        shapes = ((query_len, head_dim), (key_len, head_dim), (key_len, value_dim))
        return {name: random.standard_normal((*leading, *shape)) for name, shape in zip(("query", "key", "value"), shapes, strict=True)}

    def line(*scores: float) -> Inputs:
        return {
            "query": numpy.array([[2.0], [2.0]]),
            "key": numpy.array(scores)[:, None] / 2,
            "value": operands(2, len(scores), 1, 3)["value"],
        }

    mask = numpy.array([[1, 0, 1, 1, 0], [0, 1, 0, 0, 0], [1, 1, 1, 0, 1]], bool)
    square = numpy.array([[1, 0, 0, 1, 0], [1, 1, 0, 1, 1], [0, 1, 1, 0, 1], [1, 0, 1, 1, 0], [1, 1, 0, 1, 1]], bool)
    padding = numpy.arange(5)[None, None, None, :] < numpy.array([3, 5])[:, None, None, None]
    nothing = numpy.array([[True, True, False], [False, False, False]])
    return (
        Probe("matrices", operands(3, 5, 4, 7), MATRICES),
        Probe("square", operands(5, 5, 5, 5), MATRICES),
        Probe("one query", operands(1, 5, 4, 7), MATRICES),
        Probe("masked", operands(3, 5, 4, 7) | {"mask": mask}, MATRICES),
        Probe("masked, square", {name: x * 3 for name, x in operands(5, 5, 4, 7).items()} | {"mask": square}, MATRICES),
        Probe("causal", operands(5, 5, 4, 7) | {"is_causal": True}, MATRICES),
        Probe("causal with a cache", operands(2, 5, 4, 7) | {"is_causal": True}, CACHED),
        Probe("masked and causal", operands(5, 5, 4, 7) | {"mask": square, "is_causal": True}, MATRICES),
        Probe("given scale", operands(3, 5, 4, 7) | {"scale": 0.3}, MATRICES),
        Probe("whole numbers", {name: numpy.round(x * 2).astype(int) for name, x in operands(3, 5, 4, 7).items()}, WHOLE),
        Probe("batch", operands(3, 5, 4, 7, (2,)), BATCH),
        Probe("heads", operands(3, 5, 4, 7, (2, 6)), HEADS),
        Probe("heads, square", operands(4, 4, 4, 4, (4, 4)), HEADS),
        Probe("heads, masked", operands(3, 5, 4, 7, (2, 6)) | {"mask": mask}, HEADS),
        Probe("heads, given scale", operands(3, 5, 4, 7, (2, 6)) | {"scale": 0.3}, HEADS),
        Probe("heads, padded", operands(5, 5, 4, 7, (2, 6)) | {"mask": padding}, HEADS),
        Probe("heads, causal", operands(5, 5, 4, 7, (2, 6)) | {"is_causal": True}, HEADS),
        Probe("nothing allowed", operands(2, 3, 4, 5) | {"mask": nothing}, caution=NOTHING_ALLOWED),
        Probe("large scores", line(-1e3, 1e3, 2e3), caution=TOO_LARGE),
        Probe("low scores", line(-2e4, 1.0, -3e4) | {"mask": numpy.array([[True, False, True]] * 2)}, caution=TOO_LOW),
    )


EXERCISE = Exercise(
    name="scaled_dot_product_attention",
    title=Message("scaled dot-product attention", "缩放点积注意力"),
    definition=functions.scaled_dot_product_attention,
    recipe=attend,
    steps=STEPS,
    roles=(
        Role("query", ("q", "queries", "xq")),
        Role("key", ("k", "keys", "xk")),
        Role("value", ("v", "values", "xv")),
        Role("mask", ("attn_mask", "attention_mask", "m", "src_mask", "attn_bias", "key_padding_mask", "padding_mask")),
        Role("scale", ("scaling", "softmax_scale", "sm_scale", "scale_factor"), neutral=None),
        Role("is_causal", ("causal", "use_causal"), neutral=False),
        Role(
            "head_dim",
            ("d_k", "dk", "dim_k", "d_head", "dim", "d", "d_key", "key_dim"),
            is_size=True,
            size_of=lambda inputs: inputs["query"].shape[-1],
        ),
        Role("temperature", ("temper",), is_size=True, size_of=lambda inputs: inputs["query"].shape[-1] ** 0.5),
        Role("dropout", ("dropout_p", "p", "dropout_rate", "attn_dropout", "dropout_prob"), neutral=0.0),
    ),
    called=r"(scaled?_?dot|^(naive_?|simple_?|batched_?|masked_?)?dot_?prod(uct)?_?att|sdpa|^_?(masked_?|causal_?|naive_?|simple_?|my_?)?(dot_product_?)?(attention|attn)(_?(forward|fn|score|np|torch|func))?$)",
    probes=probes,
    mistakes=(*without(SCORES, "all_axes_transposed"), *SOFTMAXES, *MIXING, *MASKS, *CAUSAL),
    conventions=(MASK_FORMS, MASK_SHAPES, TOP_LEFT, RETURNS),
    recoveries=RECOVERIES,
    equation="softmax(query @ keyᵀ / √head_dim) @ value",
    hints=(
        Message(
            "Each query returns a weighted average of the values; the scores determine the weights.",
            "每个查询得到各个值的加权平均，分数决定权重。",
        ),
        Message(
            "The scores are dot products of queries and keys, times 1/√head_dim; softmax is taken over the keys.",
            "分数是查询与键的点积，乘以 1/√head_dim；softmax 沿键的方向计算。",
        ),
        Message(
            "softmax(query @ key.swapaxes(-1, -2) / √head_dim, axis=-1) @ value",
            "softmax(query @ key.swapaxes(-1, -2) / √head_dim, axis=-1) @ value",
        ),
    ),
)
