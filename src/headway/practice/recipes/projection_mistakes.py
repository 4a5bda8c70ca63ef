"""What people get wrong around attention: which weight meets what, heads split and merged, what comes out."""

from __future__ import annotations

from typing import Any

import numpy

from headway.practice.exercise import Mistake
from headway.practice.message import Message
from headway.practice.recipes.attention import given_or
from headway.practice.recipes.projections import PARTS, merge, project, split

RELOADED = Message(
    "trained from scratch it learns just as well: it shows with weights from elsewhere",
    "从头训练时效果一样：只有载入别处的权重时才看得出来",
)


def _instead(**parts: str) -> Any:
    """A change of weights: what is used for a part."""

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
            Message("query, key and value all come from one projection", "query、key、value 都来自同一个投影"),
            Message("give each its own weights", "三者各用自己的权重"),
            pattern=r"[kK]\w* *=|@|linear|proj",
            said_as="one_projection_for_all",
        )
        for name, part in (("one_projection_for_all", "query"), ("keys_projection_for_all", "key"), ("values_projection_for_all", "value"))
    ),
    Mistake(
        "key_from_the_query_projection",
        {"weights": _instead(key="query")},
        Message("key is projected with query's weights: key's own are never used", "key 用了 query 的权重投影：它自己的权重没有用到"),
        Message("project key with its own weights", "key 应使用自己的权重"),
        pattern=r"\b[kK]\w* *=",
    ),
    Mistake(
        "value_from_the_key_projection",
        {"weights": _instead(value="key")},
        Message("value is projected with key's weights: value's own are never used", "value 用了 key 的权重投影：它自己的权重没有用到"),
        Message("project value with its own weights", "value 应使用自己的权重"),
        pattern=r"\b[vV]\w* *=",
    ),
    Mistake(
        "value_from_the_query_projection",
        {"weights": _instead(value="query")},
        Message("value is projected with query's weights: value's own are never used", "value 用了 query 的权重投影：它自己的权重没有用到"),
        Message("project value with its own weights", "value 应使用自己的权重"),
        pattern=r"\b[vV]\w* *=",
    ),
    Mistake(
        "query_from_the_key_projection",
        {"weights": _instead(query="key")},
        Message("query is projected with key's weights: query's own are never used", "query 用了 key 的权重投影：它自己的权重没有用到"),
        Message("project query with its own weights", "query 应使用自己的权重"),
        pattern=r"\b[qQ]\w* *=",
    ),
    Mistake(
        "query_and_key_weights_exchanged",
        {"weights": _instead(query="key", key="query")},
        Message("query's weights project the key, and key's the query", "query 的权重投影了 key，key 的权重投影了 query"),
        Message(
            "project each with its own weights: in a fused projection the order is query, key, value",
            "各用自己的权重：融合投影中的顺序是 query、key、value",
        ),
        hides=RELOADED,
        pattern=r"split|chunk|unbind|\b[qQ]\w* *[=,]",
    ),
    Mistake(
        "key_and_value_weights_exchanged",
        {"weights": _instead(key="value", value="key")},
        Message("key's weights project the value, and value's the key", "key 的权重投影了 value，value 的权重投影了 key"),
        Message(
            "project each with its own weights: in a fused projection the order is query, key, value",
            "各用自己的权重：融合投影中的顺序是 query、key、value",
        ),
        hides=RELOADED,
        pattern=r"split|chunk|unbind|\b[kK]\w* *[=,]",
    ),
    Mistake(
        "query_and_value_weights_exchanged",
        {"weights": _instead(query="value", value="query")},
        Message("query's weights project the value, and value's the query", "query 的权重投影了 value，value 的权重投影了 query"),
        Message(
            "project each with its own weights: in a fused projection the order is query, key, value",
            "各用自己的权重：融合投影中的顺序是 query、key、value",
        ),
        hides=RELOADED,
        pattern=r"split|chunk|unbind|\b[qQ]\w* *[=,]",
    ),
    Mistake(
        "weights_one_place_on",
        {"weights": _instead(query="key", key="value", value="query")},
        Message("the three weights are one place off: key's, value's, query's", "三个权重错开了一位：依次用了 key、value、query 的权重"),
        Message("the order is query, key, value", "顺序应为 query、key、value"),
        hides=RELOADED,
        pattern=r"split|chunk|unbind",
    ),
    Mistake(
        "weights_one_place_back",
        {"weights": _instead(query="value", key="query", value="key")},
        Message("the three weights are one place off: value's, query's, key's", "三个权重错开了一位：依次用了 value、query、key 的权重"),
        Message("the order is query, key, value", "顺序应为 query、key、value"),
        hides=RELOADED,
        pattern=r"split|chunk|unbind",
    ),
    *(
        Mistake(
            f"{part}_not_projected",
            {"weights": lambda held, part=part: held | {f"{part}_weight": None, f"{part}_bias": None}},
            Message(f"{part} is used as it comes in: its weights are never used", f"{part} 没有经过投影就直接使用：它的权重没有用到"),
            Message(f"project it: {part} @ weight", f"应先投影：{part} @ 权重"),
            hides=Message("where the weights are square the shape is the same", "当权重是方阵时形状相同"),
            pattern=r"@|matmul|proj|linear",
        )
        for part in PARTS[:3]
    ),
    Mistake(
        "nothing_projected",
        {"weights": lambda held: held | {f"{part}_{kind}": None for part in PARTS[:3] for kind in ("weight", "bias")}},
        Message(
            "query, key and value are used as they come in: no weights are used", "query、key、value 没有经过投影就直接使用：没有用到权重"
        ),
        Message("project each with its own weights", "三者各用自己的权重投影"),
        pattern=r"@|matmul|attention",
    ),
    *(
        Mistake(
            f"{part}_weight_transposed",
            {"weights": _turned(part)},
            Message(f"the weights of {part} are used transposed, unlike the others", f"{part} 的权重被转置使用，与其他权重不同"),
            Message("use all of them the same way around", "所有权重的方向应一致"),
            hides=Message("a square matrix fits either way", "方阵两个方向都能相乘"),
            pattern=r"\.T\b|transpose|@",
        )
        for part in PARTS
    ),
    Mistake(
        "weights_reshaped",
        {"weights": lambda held: {name: _reshaped(array) if name.endswith("weight") else array for name, array in held.items()}},
        Message(
            "the weights are reshaped, not transposed: their numbers are read on in rows of another length",
            "权重用了 reshape 而不是转置：数字按另一种行长被重新排列",
        ),
        Message("use .T", "使用 .T"),
        hides=Message("the shapes are right", "形状看不出问题"),
        pattern=r"reshape|view",
    ),
    Mistake(
        "biases_missing",
        {"weights": lambda held: held | {f"{part}_bias": None for part in PARTS}},
        Message("the biases are never added", "没有加上偏置"),
        Message("add them: x @ weight + bias", "应加上偏置：x @ weight + bias"),
        hides=Message("biases that are still zero do not show it", "偏置仍为零时看不出来"),
        pattern=r"@|bias",
    ),
)

SCALE = Message(
    "multiply query @ keyᵀ by 1/√head_dim, the width of one head's query", "把 query @ keyᵀ 乘以 1/√head_dim，即单个头的查询宽度"
)
SCALED_BY_INPUT = Mistake(
    "scaled_by_the_input_width",
    {"scale": given_or(lambda sizes: sizes["input_width"] ** -0.5)},
    Message("your scale is 1/√(width of the input), the width before the projection", "你的缩放是 1/√(输入宽度)，用的是投影之前的宽度"),
    SCALE,
    hides=Message("where one head is as wide as the input nothing shows", "当单个头与输入同宽时看不出来"),
    pattern=r"sqrt|\*\* *-?0?\.5|scale|/",
    said_as="scale",
)
SCALED_BY_CONTEXT = Mistake(
    "scaled_by_the_context_width",
    {"scale": given_or(lambda sizes: sizes["context_width"] ** -0.5)},
    Message(
        "your scale is 1/√(width of the context), the width before the projection",
        "你的缩放是 1/√(context 的宽度)，用的是投影之前的宽度",
    ),
    SCALE,
    hides=Message("where one head is as wide as the context nothing shows", "当单个头与 context 同宽时看不出来"),
    pattern=r"sqrt|\*\* *-?0?\.5|scale|/",
    said_as="scale",
)

OUTPUT = (
    Mistake(
        "no_output_projection",
        {"output": lambda x, weight, bias: x},
        Message("the output projection is missing: the heads are side by side, but never mixed", "缺少输出投影：各头只是并排，没有混合"),
        Message("multiply what the heads give, side by side, by the output weights", "把各头的结果拼接后再乘以输出权重"),
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
        Message("the input is added to the answer: that belongs to the block around attention", "把输入加到了结果上：残差属于外层的 block"),
        Message("return the attention alone", "只返回注意力的结果"),
        pattern=r"return|\+",
    ),
)


def _view(x: Any, num_heads: int) -> Any:
    """(positions, width) read on as (heads, positions, head_dim), the numbers where they lie."""
    return x.reshape(*x.shape[:-2], num_heads, x.shape[-2], x.shape[-1] // num_heads)


def _unview(x: Any) -> Any:
    return x.reshape(*x.shape[:-3], x.shape[-2], x.shape[-3] * x.shape[-1])


def _strided(x: Any, num_heads: int) -> Any:
    """Head h takes every num_heads-th column."""
    return numpy.swapaxes(numpy.swapaxes(x.reshape(*x.shape[:-1], -1, num_heads), -1, -2), -2, -3)


def _slices(x: Any, weight: Any, bias: Any, num_heads: int | None = None) -> Any:
    """Each head's slice of x through the same small weights."""
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
            "heads are made by view(batch, heads, positions, head_dim) alone: a head mixes numbers of different positions",
            "直接用 view(batch, heads, positions, head_dim) 分头：每个头混入了不同位置的数",
        ),
        Message(
            "split the width, then move the heads: view(batch, positions, heads, head_dim).transpose(1, 2)",
            "先拆宽度再移动头的轴：view(batch, positions, heads, head_dim).transpose(1, 2)",
        ),
        hides=Message("the shapes are right", "形状看不出问题"),
        pattern=r"view|reshape",
    ),
    Mistake(
        "heads_viewed_not_merged",
        {"merge": _unview},
        Message(
            "heads are merged by view or reshape alone, without moving their axis back first: positions are mixed",
            "合并头时直接 view 或 reshape，没有先把头的轴移回去：不同位置混在了一起",
        ),
        Message("transpose(1, 2) first, then reshape(batch, positions, width)", "先 transpose(1, 2)，再 reshape(batch, positions, width)"),
        hides=Message("the shapes are right", "形状看不出问题"),
        pattern=r"view|reshape",
    ),
    Mistake(
        "heads_viewed_both_ways",
        {"split": _view, "merge": _unview},
        Message(
            "heads are split and merged by view or reshape alone: a head mixes numbers of different positions",
            "分头与合并都直接用 view 或 reshape：每个头混入了不同位置的数",
        ),
        Message(
            "view(batch, positions, heads, head_dim).transpose(1, 2), and back: transpose(1, 2).reshape(batch, positions, width)",
            "view(batch, positions, heads, head_dim).transpose(1, 2)，合并时 transpose(1, 2).reshape(batch, positions, width)",
        ),
        hides=Message("the shapes are right", "形状看不出问题"),
        pattern=r"view|reshape",
    ),
    Mistake(
        "attends_over_heads",
        {"split": lambda x, num_heads: numpy.swapaxes(split(x, num_heads), -2, -3), "merge": lambda x: x.reshape(*x.shape[:-2], -1)},
        Message(
            "the heads are not moved before the positions: at each position heads attend to heads, and no position sees another",
            "没有把头的轴移到位置之前：每个位置上是头与头之间做注意力，位置之间互不可见",
        ),
        Message("transpose(1, 2) after the split into heads", "分头之后再 transpose(1, 2)"),
        hides=Message("the shapes are right", "形状看不出问题"),
        pattern=r"view|reshape",
    ),
    Mistake(
        "heads_take_every_nth_column",
        {"split": _strided},
        Message(
            "the width is split as (head_dim, heads): head h takes every num_heads-th column",
            "宽度按 (head_dim, heads) 拆分：第 h 个头取的是每隔 num_heads 的列",
        ),
        Message("split it as (heads, head_dim): each head takes a block of columns", "应按 (heads, head_dim) 拆分：每个头取连续的一段列"),
        hides=RELOADED,
        pattern=r"view|reshape|rearrange",
    ),
    Mistake(
        "heads_take_and_give_every_nth_column",
        {"split": _strided, "merge": lambda x: numpy.moveaxis(x, -3, -1).reshape(*x.shape[:-3], x.shape[-2], -1)},
        Message(
            "the width is split, and merged, as (head_dim, heads): head h takes every num_heads-th column",
            "宽度按 (head_dim, heads) 拆分与合并：第 h 个头取的是每隔 num_heads 的列",
        ),
        Message("use (heads, head_dim) both times: each head takes a block of columns", "两次都用 (heads, head_dim)：每个头取连续的一段列"),
        hides=RELOADED,
        pattern=r"view|reshape|rearrange",
    ),
    Mistake(
        "heads_in_reverse",
        {"merge": lambda x: merge(numpy.flip(x, -3))},
        Message("the heads are put side by side in reverse order", "各头拼接的顺序反了"),
        Message("head 0 comes first", "第 0 个头在最前"),
        hides=RELOADED,
        pattern=r"cat|concat|\[::-1\]|stack",
    ),
    Mistake(
        "heads_summed",
        {"merge": lambda x: x.sum(-3)},
        Message("the heads are added up, not put side by side", "各头被相加，而不是拼接"),
        Message("concatenate them along the last axis", "沿最后一轴拼接"),
        pattern=r"sum",
    ),
    Mistake(
        "heads_averaged",
        {"merge": lambda x: x.mean(-3)},
        Message("the heads are averaged, not put side by side", "各头被平均，而不是拼接"),
        Message("concatenate them along the last axis", "沿最后一轴拼接"),
        pattern=r"mean",
    ),
    Mistake(
        "heads_concatenated_along_positions",
        {"merge": lambda x: x.reshape(*x.shape[:-3], -1, x.shape[-1])},
        Message("the heads are put one below the other, along the positions", "各头沿位置方向拼接（上下相接）"),
        Message("concatenate them along the last axis, axis=-1", "沿最后一轴拼接：axis=-1"),
        pattern=r"cat|concat",
    ),
    Mistake(
        "last_head_everywhere",
        {"merge": lambda x: merge(numpy.broadcast_to(x[..., -1:, :, :], x.shape))},
        Message(
            "every head is the last one: the loop writes over one array again and again", "每个头都是最后一个头：循环反复覆盖同一个数组"
        ),
        Message("append each head to a list, or give each its own place", "把每个头追加到列表，或写到各自的位置"),
        pattern=r"for ",
    ),
    Mistake(
        "first_head_everywhere",
        {"merge": lambda x: merge(numpy.broadcast_to(x[..., :1, :, :], x.shape))},
        Message("every head is the first one: the loop always takes the same columns", "每个头都是第一个头：循环总是取同样的列"),
        Message("take columns h * head_dim to (h + 1) * head_dim", "应取第 h * head_dim 到 (h + 1) * head_dim 列"),
        pattern=r"for |\[",
    ),
    Mistake(
        "split_before_projecting",
        {"project": _slices},
        Message(
            "x is cut into heads before it is projected: each head sees a slice of the width, through the same small weights",
            "先把 x 切成多头再投影：每个头只看到宽度的一段，并共用同一个小权重",
        ),
        Message("project with (width, width) weights first, then split into heads", "先用 (width, width) 的权重投影，再分头"),
        pattern=r"view|reshape|Linear",
    ),
    Mistake(
        "batch_and_heads_exchanged",
        {"merge": lambda x: merge(_exchanged(x))},
        Message(
            "batch and heads are taken apart in the other order than they were put together: samples are mixed",
            "批与头合并和拆开的顺序不一致：不同样本混在了一起",
        ),
        Message("undo (batch * heads) as (batch, heads), in the same order", "按合并时的顺序 (batch, heads) 拆开"),
        hides=Message("with one sample nothing shows", "批大小为 1 时看不出来"),
        pattern=r"view|reshape|chunk|cat",
    ),
)


def _exchanged(x: Any) -> Any:
    """(batch, heads) read on as (heads, batch)."""
    if x.ndim < 4:
        return x
    batch, heads = x.shape[:2]
    return numpy.swapaxes(x.reshape(heads, batch, *x.shape[2:]), 0, 1)
