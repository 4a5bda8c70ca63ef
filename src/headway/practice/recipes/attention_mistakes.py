"""What people get wrong between the projections and the output: scores, scale, softmax, the mixing of values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from headway.practice.exercise import Mistake, Step
from headway.practice.message import Message
from headway.practice.recipes.attention import given_or, naive_softmax, right_scale, softmax, transposed

SQUARE = Message(
    "with as many queries as keys, and keys as wide as values, the shapes fit all the same",
    "当查询与键的个数相同、键与值同宽时，形状看不出问题",
)
PRODUCT = r"@|matmul|dot|einsum|bmm"


def without(mistakes: Sequence[Mistake], *names: str) -> tuple[Mistake, ...]:
    """Mistakes without those that an exercise has no place for."""
    return tuple(each for each in mistakes if each.name not in names)


SCORES = (
    Mistake(
        "scale_missing",
        {"scale": given_or(lambda inputs: 1.0)},
        Message("the scores are not scaled", "分数没有缩放"),
        Message("multiply query @ keyᵀ by 1/√head_dim", "把 query @ keyᵀ 乘以 1/√head_dim"),
        hides=Message("a softmax that is nearly one-hot hides a missing scale", "当 softmax 几乎是 one-hot 时，缺少缩放看不出来"),
        pattern=PRODUCT,
        said_as="scale",
    ),
    Mistake(
        "keys_not_transposed",
        {"scores": lambda query, key: query @ key},
        Message("query is multiplied by key as it is, not by its transpose", "query 直接乘以 key，没有转置"),
        Message(
            "multiply by the transpose of the last two axes: query @ key.swapaxes(-1, -2)",
            "应乘以 key 最后两轴的转置：query @ key.swapaxes(-1, -2)",
        ),
        hides=Message("where key_len equals head_dim the product exists, and nothing is raised", "当 key_len 等于 head_dim 时不会报错"),
        pattern=PRODUCT,
    ),
    Mistake(
        "all_axes_transposed",
        {"scores": lambda query, key: query @ key.T},
        Message(
            "key.T turns all axes around, batch and heads too; only the last two may change places",
            "key.T 会翻转所有轴，包括批和头；只应交换最后两轴",
        ),
        Message(
            "use key.swapaxes(-1, -2), in torch key.transpose(-2, -1)", "使用 key.swapaxes(-1, -2)（torch 中为 key.transpose(-2, -1)）"
        ),
        hides=Message("on a matrix .T is the same", "对矩阵来说 .T 没有区别"),
        pattern=r"\.T\b|\.t\(",
    ),
    Mistake(
        "heads_and_width_exchanged",
        {"scores": lambda query, key: query @ numpy.swapaxes(key, -1, -3)},
        Message(
            "key.transpose(-1, -3) exchanges width and heads, not width and positions",
            "key.transpose(-1, -3) 交换的是宽度与头，而不是宽度与位置",
        ),
        Message("exchange the last two axes: transpose(-2, -1)", "应交换最后两轴：transpose(-2, -1)"),
        hides=Message("where all sizes are equal the shapes fit", "当各个维度大小相同时，形状看不出问题"),
        pattern=r"transpose|swapaxes",
    ),
    Mistake(
        "key_not_used",
        {"scores": lambda query, key: query @ transposed(query)},
        Message("the scores are query @ queryᵀ: key is never used", "分数是 query @ queryᵀ：没有用到 key"),
        Message("use query @ keyᵀ", "应为 query @ keyᵀ"),
        hides=Message("where query and key are the same nothing shows", "当 query 与 key 相同时看不出来"),
        pattern=PRODUCT,
    ),
    Mistake(
        "scores_of_keys_with_keys",
        {"scores": lambda query, key: key @ transposed(key)},
        Message("the scores are key @ keyᵀ: query is never used", "分数是 key @ keyᵀ：没有用到 query"),
        Message("use query @ keyᵀ", "应为 query @ keyᵀ"),
        pattern=PRODUCT,
    ),
    Mistake(
        "scores_transposed",
        {"scores": lambda query, key: key @ transposed(query)},
        Message(
            "the scores are key @ queryᵀ: rows are keys, so softmax runs over the queries",
            "分数是 key @ queryᵀ：行是键，softmax 沿查询方向进行",
        ),
        Message("use query @ keyᵀ, one row per query", "应为 query @ keyᵀ，每个查询一行"),
        hides=SQUARE,
        pattern=PRODUCT,
    ),
    Mistake(
        "scores_normalised",
        {"scores": lambda query, key: _unit(query) @ transposed(_unit(key))},
        Message("the scores are cosines: the lengths of query and key have no effect", "分数是余弦：query 与 key 的长度不起作用"),
        Message("use the plain dot product, times the scale", "使用普通点积，再乘以缩放"),
        pattern=r"norm",
    ),
    *(
        Mistake(
            f"position_meets_itself_only{suffix}",
            {"scores": lambda query, key: (query * key).sum(-1)[..., None], "mix": lambda weights, value: weights * value, **steps},
            Message(
                "each query is multiplied with the key at its own position only (as einsum 'bld,bld->bl' does)",
                "每个查询只与同一位置的键相乘（例如 einsum 'bld,bld->bl'）",
            ),
            Message("every query meets every key: einsum 'bqd,bkd->bqk'", "每个查询要与每个键相乘：einsum 'bqd,bkd->bqk'"),
            pattern=r"einsum|sum\(|\*",
            said_as="position_meets_itself_only",
        )
        for suffix, steps in (("", {}), ("_over_positions", {"normalise": lambda scores: naive_softmax(scores, -2)}))
    ),
    Mistake(
        "keys_cut_to_the_queries",
        {"operands": lambda query, key, value: (query, key[..., : query.shape[-2], :], value[..., : query.shape[-2], :])},
        Message("only as many keys are looked at as there are queries", "只看了与查询个数相同的键"),
        Message("loop over the keys, range(len(key)), not over the queries twice", "应遍历键的个数 range(len(key))，而不是查询的个数"),
        hides=Message("with as many queries as keys nothing shows", "当查询与键的个数相同时看不出来"),
        pattern=r"range|for |:",
    ),
    Mistake(
        "given_scale_ignored",
        {"scale": lambda inputs: inputs["query"].shape[-1] ** -0.5},
        Message("the scale that is given is not used", "没有使用传入的 scale"),
        Message("use it where it is not None", "当 scale 不为 None 时应使用它"),
        pattern=r"sqrt|scale",
    ),
    Mistake(
        "scale_after_softmax",
        {"scale": lambda inputs: 1.0, "late_scale": right_scale},
        Message(
            "the scale is applied to the weights, after softmax: they sum to 1/√head_dim, not to 1",
            "缩放放在了 softmax 之后：权重之和是 1/√head_dim，而不是 1",
        ),
        Message("scale the scores, before softmax", "应在 softmax 之前缩放分数"),
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
            "softmax runs over the queries (axis -2): columns sum to 1, rows do not",
            "softmax 沿查询方向（axis=-2）：每列之和为 1，而不是每行",
        ),
        Message("use axis=-1, over the keys", "使用 axis=-1，沿键的方向"),
        hides=SQUARE,
        pattern=r"softmax|sum\(|dim|axis",
    ),
    Mistake(
        "softmax_over_axis_one",
        {"normalise": lambda scores: naive_softmax(scores, 1)},
        Message(
            "softmax runs over axis 1: with a batch axis these are the queries, with an axis of heads the heads",
            "softmax 沿第 1 轴：有批轴时那是查询，有头轴时那是头",
        ),
        Message("use axis=-1, over the keys", "使用 axis=-1，沿键的方向"),
        hides=Message("on a matrix axis 1 is the last axis", "对矩阵来说，第 1 轴就是最后一轴"),
        pattern=r"softmax|sum\(|dim|axis",
    ),
    Mistake(
        "softmax_over_first_axis",
        {"normalise": lambda scores: naive_softmax(scores, 0)},
        Message(
            "softmax runs over axis 0: over the batch, or in a matrix over the queries",
            "softmax 沿第 0 轴：即批的方向，对矩阵来说是查询的方向",
        ),
        Message("use axis=-1, over the keys", "使用 axis=-1，沿键的方向"),
        hides=SQUARE,
        pattern=r"softmax|sum\(|dim|axis",
    ),
    Mistake(
        "softmax_over_everything",
        {"normalise": _softmax_over()},
        Message(
            "softmax runs over the whole array of scores: all weights together sum to 1", "softmax 对整个分数数组进行：所有权重之和为 1"
        ),
        Message("use axis=-1, over the keys", "使用 axis=-1，沿键的方向"),
        pattern=r"softmax|sum\(",
    ),
    Mistake(
        "softmax_missing",
        {"normalise": lambda scores: scores},
        Message("the scores are used as weights: softmax is missing", "直接把分数当作权重：缺少 softmax"),
        Message("apply softmax over the keys before the product with value", "与 value 相乘之前，沿键的方向做 softmax"),
        pattern=r"return|@",
    ),
    Mistake(
        "softmax_twice",
        {"normalise": lambda scores: softmax(softmax(scores))},
        Message("softmax is applied twice: the weights come out nearly uniform", "softmax 用了两次：权重几乎均匀"),
        Message("apply it once", "只用一次"),
        pattern=r"softmax",
    ),
    Mistake(
        "sigmoid_for_softmax",
        {"normalise": lambda scores: 1 / (1 + numpy.exp(-scores))},
        Message(
            "each score is squashed by itself (sigmoid); the weights of a query do not sum to 1",
            "每个分数单独压缩（sigmoid），一个查询的权重之和不为 1",
        ),
        Message("use softmax over the keys", "应沿键的方向做 softmax"),
        pattern=r"sigmoid|1 *\+",
    ),
    Mistake(
        "exponentials_not_divided",
        {"normalise": numpy.exp},
        Message("the exponentials are not divided by their sum", "指数没有除以它们的和"),
        Message("divide by exp(scores).sum(axis=-1, keepdims=True)", "应除以 exp(scores).sum(axis=-1, keepdims=True)"),
        pattern=r"exp\(",
    ),
    Mistake(
        "divided_without_keepdims",
        {"normalise": lambda scores: numpy.exp(scores) / numpy.exp(scores).sum(-1)},
        Message(
            "the sum lost its axis (no keepdims): each query is divided by other queries' sums",
            "求和时丢掉了轴（没有 keepdims）：每个查询除以的是别的查询的和",
        ),
        Message("sum with keepdims=True", "求和时加上 keepdims=True"),
        hides=SQUARE,
        pattern=r"sum\(",
    ),
    Mistake(
        "logarithm_of_weights",
        {"normalise": lambda scores: numpy.log(softmax(scores))},
        Message("log_softmax is used: the weights are negative", "用了 log_softmax：权重为负数"),
        Message("use softmax", "应使用 softmax"),
        pattern=r"log",
    ),
    Mistake(
        "hardest_key_only",
        {"normalise": lambda scores: (scores == scores.max(-1, keepdims=True)).astype(scores.dtype)},
        Message("each query takes the value of its best key alone (argmax)", "每个查询只取最佳键的值（argmax）"),
        Message("use softmax over the keys", "应沿键的方向做 softmax"),
        hides=Message("where one key is far better than the others nothing shows", "当某个键远优于其他键时看不出来"),
        pattern=r"argmax",
    ),
)

MIXING = (
    Mistake(
        "weights_transposed",
        {"mix": lambda weights, value: transposed(weights) @ value},
        Message("the weights are transposed before they meet value", "权重在乘以 value 之前被转置了"),
        Message("use weights @ value", "应为 weights @ value"),
        hides=SQUARE,
        pattern=PRODUCT,
    ),
    Mistake(
        "weights_returned",
        {"mix": lambda weights, value: weights},
        Message("it returns the attention weights, not their product with value", "返回的是注意力权重，而不是它与 value 的乘积"),
        Message("return weights @ value", "返回 weights @ value"),
        hides=Message("where value_dim equals key_len the shape is the same", "当 value_dim 等于 key_len 时形状相同"),
        pattern=r"return",
    ),
    Mistake(
        "value_is_key",
        {"operands": lambda query, key, value: (query, key, key)},
        Message("the weights multiply key: value is never used", "权重乘的是 key：没有用到 value"),
        Message("return weights @ value", "返回 weights @ value"),
        hides=Message("where value is key itself nothing shows", "当 value 就是 key 时看不出来"),
        pattern=PRODUCT,
    ),
    Mistake(
        "value_is_query",
        {"operands": lambda query, key, value: (query, key, query)},
        Message("the weights multiply query: value is never used", "权重乘的是 query：没有用到 value"),
        Message("return weights @ value", "返回 weights @ value"),
        pattern=PRODUCT,
    ),
    Mistake(
        "key_and_value_exchanged",
        {"operands": lambda query, key, value: (query, value, key)},
        Message("key and value have changed places", "key 与 value 互换了位置"),
        Message("scores come from query and key, the output from value", "分数来自 query 与 key，输出来自 value"),
        hides=Message("where value is key itself nothing shows", "当 value 就是 key 时看不出来"),
    ),
    Mistake(
        "last_row_everywhere",
        {"mix": lambda weights, value: numpy.broadcast_to((weights @ value)[..., -1:, :], (*weights.shape[:-1], value.shape[-1]))},
        Message(
            "every row of the answer is that of the last query: the loop writes over what it wrote before",
            "结果的每一行都是最后一个查询的：循环覆盖了之前的结果",
        ),
        Message("keep one row per query: out[i] = …, or append to a list", "每个查询保留一行：out[i] = …，或追加到列表"),
        hides=Message("with a single query nothing shows", "只有一个查询时看不出来"),
        pattern=r"for |\[",
    ),
    Mistake(
        "rows_add_up",
        {"mix": lambda weights, value: numpy.cumsum(weights @ value, axis=-2)},
        Message(
            "each row of the answer contains the rows before it: the sum is not set to zero for the next query",
            "每一行都包含了前面各行：累加器没有为下一个查询清零",
        ),
        Message("begin each query with zeros", "每个查询开始时把累加器置零"),
        hides=Message("with a single query nothing shows", "只有一个查询时看不出来"),
        pattern=r"\+=",
    ),
    Mistake(
        "whole_numbers_out",
        {"mix": lambda weights, value: weights @ value if value.dtype.kind == "f" else numpy.trunc(weights @ value)},
        Message(
            "for whole numbers the answer is cut to whole numbers, as numpy.zeros_like(value) is an array of them",
            "输入为整数时，结果被截断成整数：numpy.zeros_like(value) 是整数数组",
        ),
        Message(
            "compute in floating point: numpy.zeros(shape), or value.astype(float) first",
            "用浮点计算：numpy.zeros(shape)，或先 value.astype(float)",
        ),
        hides=Message("floating-point inputs do not show it", "输入为浮点数时看不出来"),
        pattern=r"zeros_like|empty_like",
    ),
)
