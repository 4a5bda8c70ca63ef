"""Mistakes around attention: mixed-up weights, splitting and merging of heads, and the output."""

from __future__ import annotations

from typing import Any

import numpy

from headway.practice.exercise import Mistake
from headway.practice.message import Message
from headway.practice.recipes.attention import given_or
from headway.practice.recipes.projections import PARTS, merge, project, split

RELOADED = Message(
    "training from scratch works equally well; only weights from elsewhere show it",
    "从头训练时效果一样；只有载入别处的权重时才看得出来",
)


def _instead(**parts: str) -> Any:
    """Return a change of weights: the part to use in place of each named part."""

    def weights(held: dict[str, Any]) -> dict[str, Any]:
        return held | {f"{part}_{kind}": held[f"{other}_{kind}"] for part, other in parts.items() for kind in ("weight", "bias")}

    return weights


def _turned(*parts: str) -> Any:
    def weights(held: dict[str, Any]) -> dict[str, Any]:
        return held | {f"{part}_weight": None if held[f"{part}_weight"] is None else held[f"{part}_weight"].T for part in parts}

    return weights


def _reshaped(weight: Any) -> Any:
    return None if weight is None else weight.reshape(weight.shape[::-1]).T


WEIGHTS = (
    *(
        Mistake(
            name,
            {"weights": _instead(query=part, key=part, value=part)},
            Message("query, key and value use the same projection", "query、key、value 用了同一个投影"),
            Message("use separate weights for each", "三者各用自己的权重"),
            pattern=r"[kK]\w* *=|@|linear|proj",
            said_as="one_projection_for_all",
        )
        for name, part in (("one_projection_for_all", "query"), ("keys_projection_for_all", "key"), ("values_projection_for_all", "value"))
    ),
    Mistake(
        "key_from_the_query_projection",
        {"weights": _instead(key="query")},
        Message("key is projected with query's weights; its own are not used", "key 用了 query 的权重投影，它自己的权重没有用到"),
        Message("project key with its own weights", "key 用它自己的权重投影"),
        pattern=r"\b[kK]\w* *=",
    ),
    Mistake(
        "value_from_the_key_projection",
        {"weights": _instead(value="key")},
        Message("value is projected with key's weights; its own are not used", "value 用了 key 的权重投影，它自己的权重没有用到"),
        Message("project value with its own weights", "value 用它自己的权重投影"),
        pattern=r"\b[vV]\w* *=",
    ),
    Mistake(
        "value_from_the_query_projection",
        {"weights": _instead(value="query")},
        Message("value is projected with query's weights; its own are not used", "value 用了 query 的权重投影，它自己的权重没有用到"),
        Message("project value with its own weights", "value 用它自己的权重投影"),
        pattern=r"\b[vV]\w* *=",
    ),
    Mistake(
        "query_from_the_key_projection",
        {"weights": _instead(query="key")},
        Message("query is projected with key's weights; its own are not used", "query 用了 key 的权重投影，它自己的权重没有用到"),
        Message("project query with its own weights", "query 用它自己的权重投影"),
        pattern=r"\b[qQ]\w* *=",
    ),
    Mistake(
        "query_and_key_weights_exchanged",
        {"weights": _instead(query="key", key="query")},
        Message("the weights of query and key are swapped", "query 与 key 的权重互换了"),
        Message(
            "project each with its own weights; the order in a fused projection is query, key, value",
            "各用自己的权重；融合投影中的顺序是 query、key、value",
        ),
        hides=RELOADED,
        pattern=r"split|chunk|unbind|\b[qQ]\w* *[=,]",
    ),
    Mistake(
        "key_and_value_weights_exchanged",
        {"weights": _instead(key="value", value="key")},
        Message("the weights of key and value are swapped", "key 与 value 的权重互换了"),
        Message(
            "project each with its own weights; the order in a fused projection is query, key, value",
            "各用自己的权重；融合投影中的顺序是 query、key、value",
        ),
        hides=RELOADED,
        pattern=r"split|chunk|unbind|\b[kK]\w* *[=,]",
    ),
    Mistake(
        "query_and_value_weights_exchanged",
        {"weights": _instead(query="value", value="query")},
        Message("the weights of query and value are swapped", "query 与 value 的权重互换了"),
        Message(
            "project each with its own weights; the order in a fused projection is query, key, value",
            "各用自己的权重；融合投影中的顺序是 query、key、value",
        ),
        hides=RELOADED,
        pattern=r"split|chunk|unbind|\b[qQ]\w* *[=,]",
    ),
    Mistake(
        "weights_one_place_on",
        {"weights": _instead(query="key", key="value", value="query")},
        Message("query, key and value use the weights of key, value and query", "query、key、value 依次用了 key、value、query 的权重"),
        Message("use the order query, key, value", "按 query、key、value 的顺序使用"),
        hides=RELOADED,
        pattern=r"split|chunk|unbind",
    ),
    Mistake(
        "weights_one_place_back",
        {"weights": _instead(query="value", key="query", value="key")},
        Message("query, key and value use the weights of value, query and key", "query、key、value 依次用了 value、query、key 的权重"),
        Message("use the order query, key, value", "按 query、key、value 的顺序使用"),
        hides=RELOADED,
        pattern=r"split|chunk|unbind",
    ),
    *(
        Mistake(
            f"{part}_not_projected",
            {"weights": lambda held, part=part: held | {f"{part}_weight": None, f"{part}_bias": None}},
            Message(f"{part} is not projected; its weights are not used", f"{part} 没有经过投影，它的权重没有用到"),
            Message(f"project it: {part} @ weight", f"应先投影：{part} @ 权重"),
            hides=Message("with square weights the shape is the same", "权重是方阵时形状相同"),
            pattern=r"@|matmul|proj|linear",
        )
        for part in PARTS[:3]
    ),
    Mistake(
        "nothing_projected",
        {"weights": lambda held: held | {f"{part}_{kind}": None for part in PARTS[:3] for kind in ("weight", "bias")}},
        Message("query, key and value are not projected; no weights are used", "query、key、value 没有经过投影，没有用到权重"),
        Message("project each with its own weights", "三者各用自己的权重投影"),
        pattern=r"@|matmul|attention",
    ),
    *(
        Mistake(
            f"{part}_weight_transposed",
            {"weights": _turned(part)},
            Message(f"the weights of {part} are transposed, unlike the others", f"{part} 的权重被转置使用，与其他权重不同"),
            Message("use the same orientation for all weights", "所有权重的方向应一致"),
            hides=Message("a square matrix fits both ways", "方阵两个方向都能相乘"),
            pattern=r"\.T\b|transpose|@",
        )
        for part in PARTS
    ),
    Mistake(
        "weights_reshaped",
        {"weights": lambda held: {name: _reshaped(array) if name.endswith("weight") else array for name, array in held.items()}},
        Message(
            "the weights are reshaped instead of transposed, which reorders their elements",
            "权重用了 reshape 而不是转置，元素的排列被打乱",
        ),
        Message("use .T", "使用 .T"),
        hides=Message("the shapes are valid", "形状看不出问题"),
        pattern=r"reshape|view",
    ),
    Mistake(
        "biases_missing",
        {"weights": lambda held: held | {f"{part}_bias": None for part in PARTS}},
        Message("the biases are not added", "没有加上偏置"),
        Message("add them: x @ weight + bias", "应加上偏置：x @ weight + bias"),
        hides=Message("biases of zero do not show it", "偏置为零时看不出来"),
        pattern=r"@|bias",
    ),
)

SCALE = Message("multiply query @ keyᵀ by 1/√head_dim, the query width of one head", "把 query @ keyᵀ 乘以 1/√head_dim，即单个头的查询宽度")
SCALED_BY_INPUT = Mistake(
    "scaled_by_the_input_width",
    {"scale": given_or(lambda sizes: sizes["input_width"] ** -0.5)},
    Message(
        "the scale is 1/√(input width), the width before the projection; expected 1/√head_dim",
        "缩放是 1/√(输入宽度)，即投影之前的宽度；应为 1/√head_dim",
    ),
    SCALE,
    hides=Message("with one head as wide as the input both are equal", "单个头与输入同宽时两者相同"),
    pattern=r"sqrt|\*\* *-?0?\.5|scale|/",
    said_as="scale",
)
SCALED_BY_CONTEXT = Mistake(
    "scaled_by_the_context_width",
    {"scale": given_or(lambda sizes: sizes["context_width"] ** -0.5)},
    Message(
        "the scale is 1/√(context width), the width before the projection; expected 1/√head_dim",
        "缩放是 1/√(context 宽度)，即投影之前的宽度；应为 1/√head_dim",
    ),
    SCALE,
    hides=Message("with one head as wide as the context both are equal", "单个头与 context 同宽时两者相同"),
    pattern=r"sqrt|\*\* *-?0?\.5|scale|/",
    said_as="scale",
)

OUTPUT = (
    Mistake(
        "no_output_projection",
        {"output": lambda x, weight, bias: x},
        Message("the output projection is missing: the heads are concatenated, but not mixed", "缺少输出投影：各头只是拼接，没有混合"),
        Message("multiply the concatenated heads by the output weights", "把拼接后的各头乘以输出权重"),
        pattern=r"return",
    ),
    Mistake(
        "output_projection_twice",
        {"output": lambda x, weight, bias: project(project(x, weight, bias), weight, bias)},
        Message("the output projection is applied twice", "输出投影用了两次"),
        Message("apply it once", "只用一次"),
        pattern=r"return|out",
    ),
    Mistake(
        "residual_added",
        {"finish": lambda answer, x: answer + x},
        Message(
            "adds the input to the output; the residual connection belongs to the surrounding block",
            "把输入加到了输出上；残差属于外层的 block",
        ),
        Message("return only the attention output", "只返回注意力的结果"),
        pattern=r"return|\+",
    ),
)


def _view(x: Any, num_heads: int) -> Any:
    """Reshape (positions, width) to (heads, positions, head_dim) without a transpose."""
    return x.reshape(*x.shape[:-2], num_heads, x.shape[-2], x.shape[-1] // num_heads)


def _unview(x: Any) -> Any:
    return x.reshape(*x.shape[:-3], x.shape[-2], x.shape[-3] * x.shape[-1])


def _strided(x: Any, num_heads: int) -> Any:
    """Give head h every num_heads-th column."""
    return numpy.swapaxes(numpy.swapaxes(x.reshape(*x.shape[:-1], -1, num_heads), -1, -2), -2, -3)


def _slices(x: Any, weight: Any, bias: Any, num_heads: int | None = None) -> Any:
    """Project each head's slice of x with the same small weights."""
    if weight is None or num_heads is None:
        return project(x, weight, bias)
    width = x.shape[-1] // num_heads
    small, small_bias = weight[:width, :width], None if bias is None else bias[:width]
    return merge(project(split(x, num_heads), small, small_bias))


HEADS = (
    Mistake(
        "heads_viewed_not_split",
        {"split": _view},
        Message(
            "the heads are split with view(batch, heads, positions, head_dim) alone: each head mixes different positions",
            "只用 view(batch, heads, positions, head_dim) 分头：每个头混入了不同位置的数",
        ),
        Message(
            "split the width, then move the head axis: view(batch, positions, heads, head_dim).transpose(1, 2)",
            "先拆分宽度，再移动头轴：view(batch, positions, heads, head_dim).transpose(1, 2)",
        ),
        hides=Message("the shapes are valid", "形状看不出问题"),
        pattern=r"view|reshape",
    ),
    Mistake(
        "heads_viewed_not_merged",
        {"merge": _unview},
        Message(
            "the heads are merged with view or reshape without moving the head axis first: positions are mixed",
            "合并头时直接 view 或 reshape，没有先移动头轴：不同位置混在了一起",
        ),
        Message(
            "call transpose(1, 2) first, then reshape(batch, positions, width)", "先 transpose(1, 2)，再 reshape(batch, positions, width)"
        ),
        hides=Message("the shapes are valid", "形状看不出问题"),
        pattern=r"view|reshape",
    ),
    Mistake(
        "heads_viewed_both_ways",
        {"split": _view, "merge": _unview},
        Message(
            "the heads are split and merged with view or reshape alone: each head mixes different positions",
            "分头与合并都只用 view 或 reshape：每个头混入了不同位置的数",
        ),
        Message(
            "split with view(batch, positions, heads, head_dim).transpose(1, 2), merge with transpose(1, 2).reshape(batch, positions, width)",
            "分头用 view(batch, positions, heads, head_dim).transpose(1, 2)，合并用 transpose(1, 2).reshape(batch, positions, width)",
        ),
        hides=Message("the shapes are valid", "形状看不出问题"),
        pattern=r"view|reshape",
    ),
    Mistake(
        "attends_over_heads",
        {"split": lambda x, num_heads: numpy.swapaxes(split(x, num_heads), -2, -3), "merge": lambda x: x.reshape(*x.shape[:-2], -1)},
        Message(
            "the head axis is not moved before the positions: heads attend to heads at the same position, and positions are independent",
            "头轴没有移到位置轴之前：同一位置的各头之间做注意力，位置之间互不可见",
        ),
        Message("call transpose(1, 2) after splitting the heads", "分头之后再 transpose(1, 2)"),
        hides=Message("the shapes are valid", "形状看不出问题"),
        pattern=r"view|reshape",
    ),
    Mistake(
        "heads_take_every_nth_column",
        {"split": _strided},
        Message(
            "the width is split as (head_dim, heads): head h gets every num_heads-th column",
            "宽度按 (head_dim, heads) 拆分：第 h 个头取的是每隔 num_heads 的列",
        ),
        Message(
            "split it as (heads, head_dim), so that each head gets consecutive columns", "按 (heads, head_dim) 拆分，使每个头取连续的列"
        ),
        hides=RELOADED,
        pattern=r"view|reshape|rearrange",
    ),
    Mistake(
        "heads_take_and_give_every_nth_column",
        {"split": _strided, "merge": lambda x: numpy.moveaxis(x, -3, -1).reshape(*x.shape[:-3], x.shape[-2], -1)},
        Message(
            "the width is split and merged as (head_dim, heads): head h gets every num_heads-th column",
            "宽度按 (head_dim, heads) 拆分与合并：第 h 个头取的是每隔 num_heads 的列",
        ),
        Message(
            "use (heads, head_dim) for both, so that each head gets consecutive columns", "两次都用 (heads, head_dim)，使每个头取连续的列"
        ),
        hides=RELOADED,
        pattern=r"view|reshape|rearrange",
    ),
    Mistake(
        "heads_in_reverse",
        {"merge": lambda x: merge(numpy.flip(x, -3))},
        Message("the heads are concatenated in reverse order", "各头拼接的顺序反了"),
        Message("concatenate head 0 first", "第 0 个头应在最前"),
        hides=RELOADED,
        pattern=r"cat|concat|\[::-1\]|stack",
    ),
    Mistake(
        "heads_summed",
        {"merge": lambda x: x.sum(-3)},
        Message("the heads are added instead of concatenated", "各头被相加，而不是拼接"),
        Message("concatenate them along the last axis", "沿最后一轴拼接"),
        pattern=r"sum",
    ),
    Mistake(
        "heads_averaged",
        {"merge": lambda x: x.mean(-3)},
        Message("the heads are averaged instead of concatenated", "各头被平均，而不是拼接"),
        Message("concatenate them along the last axis", "沿最后一轴拼接"),
        pattern=r"mean",
    ),
    Mistake(
        "heads_concatenated_along_positions",
        {"merge": lambda x: x.reshape(*x.shape[:-3], -1, x.shape[-1])},
        Message("the heads are concatenated along the positions", "各头沿位置轴拼接"),
        Message("concatenate them along the last axis, axis=-1", "沿最后一轴拼接：axis=-1"),
        pattern=r"cat|concat",
    ),
    Mistake(
        "last_head_everywhere",
        {"merge": lambda x: merge(numpy.broadcast_to(x[..., -1:, :, :], x.shape))},
        Message("every head equals the last one: the loop overwrites one array", "每个头都是最后一个头：循环反复覆盖同一个数组"),
        Message("append each head to a list, or write it to its own index", "把每个头追加到列表，或写到各自的位置"),
        pattern=r"for ",
    ),
    Mistake(
        "first_head_everywhere",
        {"merge": lambda x: merge(numpy.broadcast_to(x[..., :1, :, :], x.shape))},
        Message("every head equals the first one: the loop always uses the same columns", "每个头都是第一个头：循环总是取同样的列"),
        Message("use columns h * head_dim to (h + 1) * head_dim", "取第 h * head_dim 到 (h + 1) * head_dim 列"),
        pattern=r"for |\[",
    ),
    Mistake(
        "split_before_projecting",
        {"project": _slices},
        Message(
            "x is split into heads before the projection: each head projects a slice of the width with the same small weights",
            "先把 x 分头再投影：每个头只看到宽度的一段，并共用同一个小权重",
        ),
        Message("project with (width, width) weights first, then split the heads", "先用 (width, width) 的权重投影，再分头"),
        pattern=r"view|reshape|Linear",
    ),
    Mistake(
        "batch_and_heads_exchanged",
        {"merge": lambda x: merge(_exchanged(x))},
        Message(
            "batch and heads are merged and separated in different orders: samples are mixed",
            "批与头合并和拆开的顺序不一致：不同样本混在了一起",
        ),
        Message("separate (batch * heads) as (batch, heads), the order of the merge", "按合并时的顺序 (batch, heads) 拆开"),
        hides=Message("a batch of one does not show it", "批大小为 1 时看不出来"),
        pattern=r"view|reshape|chunk|cat",
    ),
)


def _exchanged(x: Any) -> Any:
    """Reinterpret (batch, heads) as (heads, batch)."""
    if x.ndim < 4:
        return x
    batch, heads = x.shape[:2]
    return numpy.swapaxes(x.reshape(heads, batch, *x.shape[2:]), 0, 1)
