"""Mistakes in attention itself: scores, scale, softmax, and the weighted sum of values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from headway.practice.exercise import Mistake, Step
from headway.practice.message import Message
from headway.practice.recipes.attention import given_or, naive_softmax, right_scale, softmax, transposed

SQUARE = Message(
    "equal numbers of queries and keys, with keys as wide as values, give valid shapes",
    "查询与键个数相同、键与值同宽时，形状看不出问题",
)
PRODUCT = r"@|matmul|dot|einsum|bmm"


def without(mistakes: Sequence[Mistake], *names: str) -> tuple[Mistake, ...]:
    """Return the mistakes without those that do not apply to an exercise."""
    return tuple(each for each in mistakes if each.name not in names)


SCORES = (
    Mistake(
        "scale_missing",
        {"scale": given_or(lambda inputs: 1.0)},
        Message("the scores are not scaled", "分数没有缩放"),
        Message("multiply query @ keyᵀ by 1/√head_dim", "把 query @ keyᵀ 乘以 1/√head_dim"),
        hides=Message("a nearly one-hot softmax hides a missing scale", "softmax 接近 one-hot 时，缺少缩放看不出来"),
        pattern=PRODUCT,
        said_as="scale",
    ),
    Mistake(
        "keys_not_transposed",
        {"scores": lambda query, key: query @ key},
        Message("multiplies query by key instead of its transpose", "query 直接乘以 key，没有转置"),
        Message(
            "multiply by key with its last two axes swapped: query @ key.swapaxes(-1, -2)",
            "应乘以 key 最后两轴的转置：query @ key.swapaxes(-1, -2)",
        ),
        hides=Message("with key_len equal to head_dim the product raises no error", "key_len 等于 head_dim 时不会报错"),
        pattern=PRODUCT,
    ),
    Mistake(
        "all_axes_transposed",
        {"scores": lambda query, key: query @ key.T},
        Message(
            "key.T reverses all axes, including batch and heads; only the last two must be swapped",
            "key.T 会翻转所有轴，包括批和头；只应交换最后两轴",
        ),
        Message(
            "use key.swapaxes(-1, -2), in torch key.transpose(-2, -1)", "使用 key.swapaxes(-1, -2)（torch 中为 key.transpose(-2, -1)）"
        ),
        hides=Message("for a matrix .T is correct", "对矩阵来说 .T 是对的"),
        pattern=r"\.T\b|\.t\(",
    ),
    Mistake(
        "heads_and_width_exchanged",
        {"scores": lambda query, key: query @ numpy.swapaxes(key, -1, -3)},
        Message(
            "key.transpose(-1, -3) swaps head_dim with heads instead of positions",
            "key.transpose(-1, -3) 把 head_dim 与头交换了，而应与位置交换",
        ),
        Message("swap the last two axes: transpose(-2, -1)", "应交换最后两轴：transpose(-2, -1)"),
        hides=Message("with all sizes equal the shapes are valid", "各维度大小相同时，形状看不出问题"),
        pattern=r"transpose|swapaxes",
    ),
    Mistake(
        "key_not_used",
        {"scores": lambda query, key: query @ transposed(query)},
        Message("the scores are query @ queryᵀ; key is not used", "分数是 query @ queryᵀ，没有用到 key"),
        Message("use query @ keyᵀ", "应为 query @ keyᵀ"),
        hides=Message("with query equal to key the result is the same", "query 与 key 相同时结果一样"),
        pattern=PRODUCT,
    ),
    Mistake(
        "scores_of_keys_with_keys",
        {"scores": lambda query, key: key @ transposed(key)},
        Message("the scores are key @ keyᵀ; query is not used", "分数是 key @ keyᵀ，没有用到 query"),
        Message("use query @ keyᵀ", "应为 query @ keyᵀ"),
        pattern=PRODUCT,
    ),
    Mistake(
        "scores_transposed",
        {"scores": lambda query, key: key @ transposed(query)},
        Message(
            "the scores are key @ queryᵀ, one row per key, so softmax runs over the queries",
            "分数是 key @ queryᵀ，每个键一行，于是 softmax 沿查询方向进行",
        ),
        Message("use query @ keyᵀ, one row per query", "应为 query @ keyᵀ，每个查询一行"),
        hides=SQUARE,
        pattern=PRODUCT,
    ),
    Mistake(
        "scores_normalised",
        {"scores": lambda query, key: _unit(query) @ transposed(_unit(key))},
        Message(
            "the scores are cosine similarities: the norms of query and key have no effect", "分数是余弦相似度：query 与 key 的长度不起作用"
        ),
        Message("use the dot product times the scale", "使用点积再乘以缩放"),
        pattern=r"norm",
    ),
    *(
        Mistake(
            f"position_meets_itself_only{suffix}",
            {"scores": lambda query, key: (query * key).sum(-1)[..., None], "mix": lambda weights, value: weights * value, **steps},
            Message(
                "multiplies each query only by the key at its own position, like einsum 'bld,bld->bl'",
                "每个查询只与同一位置的键相乘，如 einsum 'bld,bld->bl'",
            ),
            Message("multiply every query by every key: einsum 'bqd,bkd->bqk'", "每个查询要与每个键相乘：einsum 'bqd,bkd->bqk'"),
            pattern=r"einsum|sum\(|\*",
            said_as="position_meets_itself_only",
        )
        for suffix, steps in (("", {}), ("_over_positions", {"normalise": lambda scores: naive_softmax(scores, -2)}))
    ),
    Mistake(
        "keys_cut_to_the_queries",
        {"operands": lambda query, key, value: (query, key[..., : query.shape[-2], :], value[..., : query.shape[-2], :])},
        Message("uses only the first query_len keys", "只用了前 query_len 个键"),
        Message("loop over the keys with range(len(key)), not over the queries twice", "用 range(len(key)) 遍历键，而不是再遍历一次查询"),
        hides=Message("with as many queries as keys the result is the same", "查询与键的个数相同时结果一样"),
        pattern=r"range|for |:",
    ),
    Mistake(
        "given_scale_ignored",
        {"scale": lambda inputs: inputs["query"].shape[-1] ** -0.5},
        Message("the scale argument is not used", "没有使用传入的 scale"),
        Message("use it if it is not None", "当 scale 不为 None 时使用它"),
        pattern=r"sqrt|scale",
    ),
    Mistake(
        "scale_after_softmax",
        {"scale": lambda inputs: 1.0, "late_scale": right_scale},
        Message(
            "applies the scale after softmax: the weights sum to 1/√head_dim instead of 1",
            "缩放放在了 softmax 之后：权重之和是 1/√head_dim，而不是 1",
        ),
        Message("scale the scores before softmax", "应在 softmax 之前缩放分数"),
        pattern=r"sqrt|/",
    ),
)


def _unit(x: Any) -> Any:
    return x / numpy.linalg.norm(x, axis=-1, keepdims=True)


def _softmax_over(*axes: int) -> Step:
    def normalise(scores: Any) -> Any:
        powers = numpy.exp(scores - scores.max())
        return powers / powers.sum(axes or None, keepdims=True)

    return normalise


SOFTMAXES = (
    Mistake(
        "softmax_over_queries",
        {"normalise": lambda scores: naive_softmax(scores, -2)},
        Message(
            "softmax runs over the queries (axis -2): the columns sum to 1 instead of the rows",
            "softmax 沿查询方向（axis=-2）：每列之和为 1，而不是每行",
        ),
        Message("use axis=-1, the keys", "使用 axis=-1，即键的方向"),
        hides=SQUARE,
        pattern=r"softmax|sum\(|dim|axis",
    ),
    Mistake(
        "softmax_over_axis_one",
        {"normalise": lambda scores: naive_softmax(scores, 1)},
        Message(
            "softmax runs over axis 1, which is queries with a batch axis and heads with a head axis",
            "softmax 沿第 1 轴进行：有批轴时那是查询，有头轴时那是头",
        ),
        Message("use axis=-1, the keys", "使用 axis=-1，即键的方向"),
        hides=Message("for a matrix axis 1 is the last axis", "对矩阵来说，第 1 轴就是最后一轴"),
        pattern=r"softmax|sum\(|dim|axis",
    ),
    Mistake(
        "softmax_over_first_axis",
        {"normalise": lambda scores: naive_softmax(scores, 0)},
        Message(
            "softmax runs over axis 0, which is the batch, or the queries of a matrix",
            "softmax 沿第 0 轴进行：那是批，对矩阵来说是查询",
        ),
        Message("use axis=-1, the keys", "使用 axis=-1，即键的方向"),
        hides=SQUARE,
        pattern=r"softmax|sum\(|dim|axis",
    ),
    Mistake(
        "softmax_over_everything",
        {"normalise": _softmax_over()},
        Message("softmax runs over the whole score array: all weights together sum to 1", "softmax 对整个分数数组进行：所有权重之和为 1"),
        Message("use axis=-1, the keys", "使用 axis=-1，即键的方向"),
        pattern=r"softmax|sum\(",
    ),
    Mistake(
        "softmax_missing",
        {"normalise": lambda scores: scores},
        Message("softmax is missing: the scores are used as weights", "缺少 softmax：直接把分数当作权重"),
        Message("apply softmax over the keys before multiplying by value", "与 value 相乘之前，沿键的方向做 softmax"),
        pattern=r"return|@",
    ),
    Mistake(
        "softmax_twice",
        {"normalise": lambda scores: softmax(softmax(scores))},
        Message("softmax is applied twice: the weights are nearly uniform", "softmax 用了两次：权重几乎均匀"),
        Message("apply it once", "只用一次"),
        pattern=r"softmax",
    ),
    Mistake(
        "sigmoid_for_softmax",
        {"normalise": lambda scores: 1 / (1 + numpy.exp(-scores))},
        Message(
            "applies a sigmoid to each score: the weights of a query do not sum to 1",
            "对每个分数单独用了 sigmoid：一个查询的权重之和不为 1",
        ),
        Message("use softmax over the keys", "应沿键的方向做 softmax"),
        pattern=r"sigmoid|1 *\+",
    ),
    Mistake(
        "exponentials_not_divided",
        {"normalise": numpy.exp},
        Message("the exponentials are not divided by their sum", "指数没有除以它们的和"),
        Message("divide by exp(scores).sum(axis=-1, keepdims=True)", "除以 exp(scores).sum(axis=-1, keepdims=True)"),
        pattern=r"exp\(",
    ),
    Mistake(
        "divided_without_keepdims",
        {"normalise": lambda scores: numpy.exp(scores) / numpy.exp(scores).sum(-1)},
        Message(
            "the sum has no keepdims: each query is divided by the sums of other queries",
            "求和没有 keepdims：每个查询除以的是别的查询的和",
        ),
        Message("sum with keepdims=True", "求和时加上 keepdims=True"),
        hides=SQUARE,
        pattern=r"sum\(",
    ),
    Mistake(
        "logarithm_of_weights",
        {"normalise": lambda scores: numpy.log(softmax(scores))},
        Message("uses log_softmax: the weights are negative", "用了 log_softmax：权重为负数"),
        Message("use softmax", "应使用 softmax"),
        pattern=r"log",
    ),
    Mistake(
        "hardest_key_only",
        {"normalise": lambda scores: (scores == scores.max(-1, keepdims=True)).astype(scores.dtype)},
        Message("takes only the value of the best key (argmax)", "只取最佳键的值（argmax）"),
        Message("use softmax over the keys", "应沿键的方向做 softmax"),
        hides=Message("with one key far better than the others the result is the same", "某个键远优于其他键时结果一样"),
        pattern=r"argmax",
    ),
)

MIXING = (
    Mistake(
        "weights_transposed",
        {"mix": lambda weights, value: transposed(weights) @ value},
        Message("the weights are transposed before the product with value", "权重在乘以 value 之前被转置了"),
        Message("use weights @ value", "应为 weights @ value"),
        hides=SQUARE,
        pattern=PRODUCT,
    ),
    Mistake(
        "weights_returned",
        {"mix": lambda weights, value: weights},
        Message("returns the attention weights instead of their product with value", "返回的是注意力权重，而不是它与 value 的乘积"),
        Message("return weights @ value", "返回 weights @ value"),
        hides=Message("with value_dim equal to key_len the shape is the same", "value_dim 等于 key_len 时形状相同"),
        pattern=r"return",
    ),
    Mistake(
        "value_is_key",
        {"operands": lambda query, key, value: (query, key, key)},
        Message("the weights multiply key; value is not used", "权重乘的是 key，没有用到 value"),
        Message("return weights @ value", "返回 weights @ value"),
        hides=Message("with value equal to key the result is the same", "value 与 key 相同时结果一样"),
        pattern=PRODUCT,
    ),
    Mistake(
        "value_is_query",
        {"operands": lambda query, key, value: (query, key, query)},
        Message("the weights multiply query; value is not used", "权重乘的是 query，没有用到 value"),
        Message("return weights @ value", "返回 weights @ value"),
        pattern=PRODUCT,
    ),
    Mistake(
        "key_and_value_exchanged",
        {"operands": lambda query, key, value: (query, value, key)},
        Message("key and value are swapped", "key 与 value 互换了"),
        Message("compute the scores from query and key, and the output from value", "用 query 与 key 计算分数，用 value 计算输出"),
        hides=Message("with value equal to key the result is the same", "value 与 key 相同时结果一样"),
    ),
    Mistake(
        "last_row_everywhere",
        {"mix": lambda weights, value: numpy.broadcast_to((weights @ value)[..., -1:, :], (*weights.shape[:-1], value.shape[-1]))},
        Message(
            "every output row is that of the last query: the loop overwrites earlier rows",
            "输出的每一行都是最后一个查询的：循环覆盖了之前的行",
        ),
        Message("store one row per query: out[i] = …, or append to a list", "每个查询存一行：out[i] = …，或追加到列表"),
        hides=Message("with a single query the result is the same", "只有一个查询时结果一样"),
        pattern=r"for |\[",
    ),
    Mistake(
        "rows_add_up",
        {"mix": lambda weights, value: numpy.cumsum(weights @ value, axis=-2)},
        Message(
            "each output row includes the previous ones: the sum is not reset for the next query",
            "输出的每一行都包含了前面各行：累加器没有为下一个查询清零",
        ),
        Message("start each query with zeros", "每个查询开始时把累加器置零"),
        hides=Message("with a single query the result is the same", "只有一个查询时结果一样"),
        pattern=r"\+=",
    ),
    Mistake(
        "whole_numbers_out",
        {"mix": lambda weights, value: weights @ value if value.dtype.kind == "f" else numpy.trunc(weights @ value)},
        Message(
            "truncates its output to integers for integer inputs: numpy.zeros_like(value) is an integer array",
            "输入为整数时，输出被截断为整数：numpy.zeros_like(value) 是整数数组",
        ),
        Message(
            "compute in floating point: numpy.zeros(shape), or convert value with astype(float) first",
            "用浮点计算：numpy.zeros(shape)，或先 value.astype(float)",
        ),
        hides=Message("floating inputs do not show it", "输入为浮点数时看不出来"),
        pattern=r"zeros_like|empty_like",
    ),
)
