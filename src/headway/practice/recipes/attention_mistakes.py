"""What people get wrong between the projections and the output: scores, scale, softmax, masks, the mixing of values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from headway.practice.exercise import Mistake, Step
from headway.practice.recipes.attention import both, given_or, hidden, naive_softmax, right_scale, softmax, transposed, triangle
from headway.practice.words import Words

SQUARE = Words(
    "with as many queries as keys, and keys as wide as values, the shapes fit all the same",
    "当查询与键的个数相同、键与值同宽时，形状看不出问题",
)
MASKED = Words("only a mask shows it", "只有用到掩码时才看得出来")
PRODUCT = r"@|matmul|dot|einsum|bmm"


def without(mistakes: Sequence[Mistake], *names: str) -> tuple[Mistake, ...]:
    """Mistakes without those that an exercise has no place for."""
    return tuple(each for each in mistakes if each.name not in names)


SCORES = (
    Mistake(
        "scale_missing",
        {"scale": given_or(lambda inputs: 1.0)},
        Words("the scores are not scaled", "分数没有缩放"),
        Words("multiply query @ keyᵀ by 1/√head_dim", "把 query @ keyᵀ 乘以 1/√head_dim"),
        hides=Words("a softmax that is nearly one-hot hides a missing scale", "当 softmax 几乎是 one-hot 时，缺少缩放看不出来"),
        pattern=PRODUCT,
        said_as="scale",
    ),
    Mistake(
        "keys_not_transposed",
        {"scores": lambda query, key: query @ key},
        Words("query is multiplied by key as it is, not by its transpose", "query 直接乘以 key，没有转置"),
        Words(
            "multiply by the transpose of the last two axes: query @ key.swapaxes(-1, -2)",
            "应乘以 key 最后两轴的转置：query @ key.swapaxes(-1, -2)",
        ),
        hides=Words("where key_len equals head_dim the product exists, and nothing is raised", "当 key_len 等于 head_dim 时不会报错"),
        pattern=PRODUCT,
    ),
    Mistake(
        "all_axes_transposed",
        {"scores": lambda query, key: query @ key.T},
        Words(
            "key.T turns all axes around, batch and heads too; only the last two may change places",
            "key.T 会翻转所有轴，包括批和头；只应交换最后两轴",
        ),
        Words("use key.swapaxes(-1, -2), in torch key.transpose(-2, -1)", "使用 key.swapaxes(-1, -2)（torch 中为 key.transpose(-2, -1)）"),
        hides=Words("on a matrix .T is the same", "对矩阵来说 .T 没有区别"),
        pattern=r"\.T\b|\.t\(",
    ),
    Mistake(
        "heads_and_width_exchanged",
        {"scores": lambda query, key: query @ numpy.swapaxes(key, -1, -3)},
        Words(
            "key.transpose(-1, -3) exchanges width and heads, not width and positions",
            "key.transpose(-1, -3) 交换的是宽度与头，而不是宽度与位置",
        ),
        Words("exchange the last two axes: transpose(-2, -1)", "应交换最后两轴：transpose(-2, -1)"),
        hides=Words("where all sizes are equal the shapes fit", "当各个维度大小相同时，形状看不出问题"),
        pattern=r"transpose|swapaxes",
    ),
    Mistake(
        "key_not_used",
        {"scores": lambda query, key: query @ transposed(query)},
        Words("the scores are query @ queryᵀ: key is never used", "分数是 query @ queryᵀ：没有用到 key"),
        Words("use query @ keyᵀ", "应为 query @ keyᵀ"),
        hides=Words("where query and key are the same nothing shows", "当 query 与 key 相同时看不出来"),
        pattern=PRODUCT,
    ),
    Mistake(
        "scores_of_keys_with_keys",
        {"scores": lambda query, key: key @ transposed(key)},
        Words("the scores are key @ keyᵀ: query is never used", "分数是 key @ keyᵀ：没有用到 query"),
        Words("use query @ keyᵀ", "应为 query @ keyᵀ"),
        pattern=PRODUCT,
    ),
    Mistake(
        "scores_transposed",
        {"scores": lambda query, key: key @ transposed(query)},
        Words(
            "the scores are key @ queryᵀ: rows are keys, so softmax runs over the queries",
            "分数是 key @ queryᵀ：行是键，softmax 沿查询方向进行",
        ),
        Words("use query @ keyᵀ, one row per query", "应为 query @ keyᵀ，每个查询一行"),
        hides=SQUARE,
        pattern=PRODUCT,
    ),
    Mistake(
        "scores_normalised",
        {"scores": lambda query, key: _unit(query) @ transposed(_unit(key))},
        Words("the scores are cosines: the lengths of query and key have no effect", "分数是余弦：query 与 key 的长度不起作用"),
        Words("use the plain dot product, times the scale", "使用普通点积，再乘以缩放"),
        pattern=r"norm",
    ),
    *(
        Mistake(
            f"position_meets_itself_only{suffix}",
            {"scores": lambda query, key: (query * key).sum(-1)[..., None], "mix": lambda weights, value: weights * value, **steps},
            Words(
                "each query is multiplied with the key at its own position only (as einsum 'bld,bld->bl' does)",
                "每个查询只与同一位置的键相乘（例如 einsum 'bld,bld->bl'）",
            ),
            Words("every query meets every key: einsum 'bqd,bkd->bqk'", "每个查询要与每个键相乘：einsum 'bqd,bkd->bqk'"),
            pattern=r"einsum|sum\(|\*",
            said_as="position_meets_itself_only",
        )
        for suffix, steps in (("", {}), ("_over_positions", {"normalise": lambda scores: naive_softmax(scores, -2)}))
    ),
    Mistake(
        "keys_cut_to_the_queries",
        {"operands": lambda query, key, value: (query, key[..., : query.shape[-2], :], value[..., : query.shape[-2], :])},
        Words("only as many keys are looked at as there are queries", "只看了与查询个数相同的键"),
        Words("loop over the keys, range(len(key)), not over the queries twice", "应遍历键的个数 range(len(key))，而不是查询的个数"),
        hides=Words("with as many queries as keys nothing shows", "当查询与键的个数相同时看不出来"),
        pattern=r"range|for |:",
    ),
    Mistake(
        "given_scale_ignored",
        {"scale": lambda inputs: inputs["query"].shape[-1] ** -0.5},
        Words("the scale that is given is not used", "没有使用传入的 scale"),
        Words("use it where it is not None", "当 scale 不为 None 时应使用它"),
        pattern=r"sqrt|scale",
    ),
    Mistake(
        "scale_after_softmax",
        {"scale": lambda inputs: 1.0, "late_scale": right_scale},
        Words(
            "the scale is applied to the weights, after softmax: they sum to 1/√head_dim, not to 1",
            "缩放放在了 softmax 之后：权重之和是 1/√head_dim，而不是 1",
        ),
        Words("scale the scores, before softmax", "应在 softmax 之前缩放分数"),
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
        Words(
            "softmax runs over the queries (axis -2): columns sum to 1, rows do not",
            "softmax 沿查询方向（axis=-2）：每列之和为 1，而不是每行",
        ),
        Words("use axis=-1, over the keys", "使用 axis=-1，沿键的方向"),
        hides=SQUARE,
        pattern=r"softmax|sum\(|dim|axis",
    ),
    Mistake(
        "softmax_over_axis_one",
        {"normalise": lambda scores: naive_softmax(scores, 1)},
        Words(
            "softmax runs over axis 1: with a batch axis these are the queries, with an axis of heads the heads",
            "softmax 沿第 1 轴：有批轴时那是查询，有头轴时那是头",
        ),
        Words("use axis=-1, over the keys", "使用 axis=-1，沿键的方向"),
        hides=Words("on a matrix axis 1 is the last axis", "对矩阵来说，第 1 轴就是最后一轴"),
        pattern=r"softmax|sum\(|dim|axis",
    ),
    Mistake(
        "softmax_over_first_axis",
        {"normalise": lambda scores: naive_softmax(scores, 0)},
        Words(
            "softmax runs over axis 0: over the batch, or in a matrix over the queries",
            "softmax 沿第 0 轴：即批的方向，对矩阵来说是查询的方向",
        ),
        Words("use axis=-1, over the keys", "使用 axis=-1，沿键的方向"),
        hides=SQUARE,
        pattern=r"softmax|sum\(|dim|axis",
    ),
    Mistake(
        "softmax_over_everything",
        {"normalise": _softmax_over()},
        Words("softmax runs over the whole array of scores: all weights together sum to 1", "softmax 对整个分数数组进行：所有权重之和为 1"),
        Words("use axis=-1, over the keys", "使用 axis=-1，沿键的方向"),
        pattern=r"softmax|sum\(",
    ),
    Mistake(
        "softmax_missing",
        {"normalise": lambda scores: scores},
        Words("the scores are used as weights: softmax is missing", "直接把分数当作权重：缺少 softmax"),
        Words("apply softmax over the keys before the product with value", "与 value 相乘之前，沿键的方向做 softmax"),
        pattern=r"return|@",
    ),
    Mistake(
        "softmax_twice",
        {"normalise": lambda scores: softmax(softmax(scores))},
        Words("softmax is applied twice: the weights come out nearly uniform", "softmax 用了两次：权重几乎均匀"),
        Words("apply it once", "只用一次"),
        pattern=r"softmax",
    ),
    Mistake(
        "sigmoid_for_softmax",
        {"normalise": lambda scores: 1 / (1 + numpy.exp(-scores))},
        Words(
            "each score is squashed by itself (sigmoid); the weights of a query do not sum to 1",
            "每个分数单独压缩（sigmoid），一个查询的权重之和不为 1",
        ),
        Words("use softmax over the keys", "应沿键的方向做 softmax"),
        pattern=r"sigmoid|1 *\+",
    ),
    Mistake(
        "exponentials_not_divided",
        {"normalise": numpy.exp},
        Words("the exponentials are not divided by their sum", "指数没有除以它们的和"),
        Words("divide by exp(scores).sum(axis=-1, keepdims=True)", "应除以 exp(scores).sum(axis=-1, keepdims=True)"),
        pattern=r"exp\(",
    ),
    Mistake(
        "divided_without_keepdims",
        {"normalise": lambda scores: numpy.exp(scores) / numpy.exp(scores).sum(-1)},
        Words(
            "the sum lost its axis (no keepdims): each query is divided by other queries' sums",
            "求和时丢掉了轴（没有 keepdims）：每个查询除以的是别的查询的和",
        ),
        Words("sum with keepdims=True", "求和时加上 keepdims=True"),
        hides=SQUARE,
        pattern=r"sum\(",
    ),
    Mistake(
        "logarithm_of_weights",
        {"normalise": lambda scores: numpy.log(softmax(scores))},
        Words("log_softmax is used: the weights are negative", "用了 log_softmax：权重为负数"),
        Words("use softmax", "应使用 softmax"),
        pattern=r"log",
    ),
    Mistake(
        "hardest_key_only",
        {"normalise": lambda scores: (scores == scores.max(-1, keepdims=True)).astype(scores.dtype)},
        Words("each query takes the value of its best key alone (argmax)", "每个查询只取最佳键的值（argmax）"),
        Words("use softmax over the keys", "应沿键的方向做 softmax"),
        hides=Words("where one key is far better than the others nothing shows", "当某个键远优于其他键时看不出来"),
        pattern=r"argmax",
    ),
)

MIXING = (
    Mistake(
        "weights_transposed",
        {"mix": lambda weights, value: transposed(weights) @ value},
        Words("the weights are transposed before they meet value", "权重在乘以 value 之前被转置了"),
        Words("use weights @ value", "应为 weights @ value"),
        hides=SQUARE,
        pattern=PRODUCT,
    ),
    Mistake(
        "weights_returned",
        {"mix": lambda weights, value: weights},
        Words("it returns the attention weights, not their product with value", "返回的是注意力权重，而不是它与 value 的乘积"),
        Words("return weights @ value", "返回 weights @ value"),
        hides=Words("where value_dim equals key_len the shape is the same", "当 value_dim 等于 key_len 时形状相同"),
        pattern=r"return",
    ),
    Mistake(
        "value_is_key",
        {"operands": lambda query, key, value: (query, key, key)},
        Words("the weights multiply key: value is never used", "权重乘的是 key：没有用到 value"),
        Words("return weights @ value", "返回 weights @ value"),
        hides=Words("where value is key itself nothing shows", "当 value 就是 key 时看不出来"),
        pattern=PRODUCT,
    ),
    Mistake(
        "value_is_query",
        {"operands": lambda query, key, value: (query, key, query)},
        Words("the weights multiply query: value is never used", "权重乘的是 query：没有用到 value"),
        Words("return weights @ value", "返回 weights @ value"),
        pattern=PRODUCT,
    ),
    Mistake(
        "key_and_value_exchanged",
        {"operands": lambda query, key, value: (query, value, key)},
        Words("key and value have changed places", "key 与 value 互换了位置"),
        Words("scores come from query and key, the output from value", "分数来自 query 与 key，输出来自 value"),
        hides=Words("where value is key itself nothing shows", "当 value 就是 key 时看不出来"),
    ),
    Mistake(
        "last_row_everywhere",
        {"mix": lambda weights, value: numpy.broadcast_to((weights @ value)[..., -1:, :], (*weights.shape[:-1], value.shape[-1]))},
        Words(
            "every row of the answer is that of the last query: the loop writes over what it wrote before",
            "结果的每一行都是最后一个查询的：循环覆盖了之前的结果",
        ),
        Words("keep one row per query: out[i] = …, or append to a list", "每个查询保留一行：out[i] = …，或追加到列表"),
        hides=Words("with a single query nothing shows", "只有一个查询时看不出来"),
        pattern=r"for |\[",
    ),
    Mistake(
        "rows_add_up",
        {"mix": lambda weights, value: numpy.cumsum(weights @ value, axis=-2)},
        Words(
            "each row of the answer contains the rows before it: the sum is not set to zero for the next query",
            "每一行都包含了前面各行：累加器没有为下一个查询清零",
        ),
        Words("begin each query with zeros", "每个查询开始时把累加器置零"),
        hides=Words("with a single query nothing shows", "只有一个查询时看不出来"),
        pattern=r"\+=",
    ),
    Mistake(
        "whole_numbers_out",
        {"mix": lambda weights, value: weights @ value if value.dtype.kind == "f" else numpy.trunc(weights @ value)},
        Words(
            "for whole numbers the answer is cut to whole numbers, as numpy.zeros_like(value) is an array of them",
            "输入为整数时，结果被截断成整数：numpy.zeros_like(value) 是整数数组",
        ),
        Words(
            "compute in floating point: numpy.zeros(shape), or value.astype(float) first",
            "用浮点计算：numpy.zeros(shape)，或先 value.astype(float)",
        ),
        hides=Words("floating-point inputs do not show it", "输入为浮点数时看不出来"),
        pattern=r"zeros_like|empty_like",
    ),
)


def _in_three_ways(
    name: str, steps: dict[str, Step], says: Words, fix: Words, hides: Words | None = None, pattern: str = ""
) -> tuple[Mistake, ...]:
    """A mask that hides whole rows: what these become depends on whether -inf or -1e9 is put there, or -1e9 added."""
    added: Step = lambda scores, allowed: scores if allowed is None else scores + numpy.where(allowed, 0, -1e9).astype(scores.dtype)  # noqa: E731
    ways: dict[str, dict[str, Step]] = {
        "": {"normalise": naive_softmax},
        "_by_a_large_number": {"hide": lambda scores, allowed: hidden(scores, allowed, -1e9)},
        "_by_adding_a_large_number": {"hide": added},
    }
    return tuple(Mistake(name + suffix, steps | more, says, fix, hides, pattern, name) for suffix, more in ways.items())


def _below(shift: int) -> Step:
    return lambda query_len, key_len: triangle(query_len, key_len, shift)


CAUSAL = (
    *_in_three_ways(
        "diagonal_hidden",
        {"triangle": _below(-1)},
        Words(
            "a position may not attend to itself: the diagonal is hidden, and the first position sees nothing at all",
            "位置不能关注自己：对角线被遮住，第一个位置什么也看不到",
        ),
        Words(
            "hide what lies above the diagonal only: tril(ones) keeps it, triu(ones, k=1) is what to hide",
            "只遮住对角线以上：tril(ones) 保留对角线，要遮住的是 triu(ones, k=1)",
        ),
        pattern=r"tri[lu]|causal|mask",
    ),
    Mistake(
        "sees_one_ahead",
        {"triangle": _below(1)},
        Words("every position sees one position too far: the next one", "每个位置都多看了一个位置：下一个"),
        Words("hide all that lies above the diagonal: triu(ones, k=1)", "遮住对角线以上的全部：triu(ones, k=1)"),
        pattern=r"tri[lu]|causal|mask",
    ),
    Mistake(
        "causal_upside_down",
        {"triangle": lambda query_len, key_len: triangle(query_len, key_len, -1) == 0},
        Words(
            "it hides earlier positions, not later ones: each sees itself and the future",
            "遮住的是前面的位置而不是后面的：每个位置只看到自己和未来",
        ),
        Words("keep the lower triangle: tril(ones)", "保留下三角：tril(ones)"),
        pattern=r"tri[lu]|causal|mask",
    ),
    *_in_three_ways(
        "sees_the_future_alone",
        {"triangle": lambda query_len, key_len: ~triangle(query_len, key_len)},
        Words(
            "the causal mask is the wrong way round: each position sees the later ones alone, and the last sees nothing",
            "因果掩码取反了：每个位置只看到后面的位置，最后一个什么也看不到",
        ),
        Words("hide where the upper triangle (triu(ones, k=1)) is, not where it is not", "应遮住上三角 triu(ones, k=1) 处，而不是其余位置"),
        pattern=r"tri[lu]|causal|mask|==",
    ),
    Mistake(
        "causal_ignored",
        {"is_causal": lambda asked: False},
        Words("later positions are seen: nothing is causal here", "能看到后面的位置：没有做因果遮挡"),
        Words("hide the keys behind each query's own position", "把每个查询之后的键隐藏起来"),
        pattern=r"causal|mask|softmax",
    ),
)

MASKS = (
    Mistake(
        "mask_ignored",
        {"combine": lambda mask, lower: lower},
        Words("the mask changes nothing: it is never applied", "掩码不起作用：没有被使用"),
        Words(
            "put -inf where the mask forbids, before softmax; masked_fill and where return a new array",
            "在 softmax 之前，把掩码禁止的位置设为 -inf；masked_fill 与 where 返回的是新数组",
        ),
        hides=MASKED,
        pattern=r"mask",
    ),
    *_in_three_ways(
        "mask_on_rows",
        {"combine": lambda mask, lower: both(None if mask is None else transposed(mask), lower)},
        Words(
            "the mask hides queries (rows), not keys (columns): what should not be seen is still seen",
            "掩码遮住的是查询（行）而不是键（列）：不该看到的仍然看得到",
        ),
        Words("let the mask's last axis be the keys: mask[:, None, None, :]", "掩码的最后一轴应为键：mask[:, None, None, :]"),
        hides=MASKED,
        pattern=r"mask",
    ),
    Mistake(
        "causal_replaces_the_mask",
        {"combine": lambda mask, lower: mask if lower is None else lower},
        Words("with a causal mask the other mask is forgotten", "使用因果掩码时，另一个掩码被忘掉了"),
        Words("both must allow: mask & causal", "两者都允许才可见：mask & causal"),
        hides=Words("only both together show it", "只有两种掩码同时使用才看得出来"),
        pattern=r"causal|mask",
    ),
    Mistake(
        "mask_replaces_the_causal",
        {"combine": lambda mask, lower: lower if mask is None else mask},
        Words("with a mask nothing is causal any more", "传入掩码后，因果遮挡就失效了"),
        Words("both must allow: mask & causal", "两者都允许才可见：mask & causal"),
        hides=Words("only both together show it", "只有两种掩码同时使用才看得出来"),
        pattern=r"causal|mask",
    ),
    Mistake(
        "either_mask_allows",
        {"combine": lambda mask, lower: both(mask, lower) if mask is None or lower is None else mask | lower},
        Words("a key is seen when either mask allows it; both must", "只要一个掩码允许就可见；应当两个都允许"),
        Words("combine them with `and`: mask & causal", "用“与”组合：mask & causal"),
        hides=Words("only both together show it", "只有两种掩码同时使用才看得出来"),
        pattern=r"\||or|causal",
    ),
    Mistake(
        "mask_after_softmax",
        {
            "hide": lambda scores, allowed: scores,
            "after": lambda weights, allowed: weights if allowed is None else numpy.where(allowed, weights, 0),
        },
        Words(
            "weights are set to 0 after softmax, and not normalised again: the rest do not sum to 1",
            "在 softmax 之后才把权重置 0，且没有重新归一化：其余权重之和不为 1",
        ),
        Words("put -inf into the scores before softmax", "在 softmax 之前把分数设为 -inf"),
        hides=MASKED,
        pattern=r"mask",
    ),
    Mistake(
        "minus_infinity_after_softmax",
        {
            "hide": lambda scores, allowed: scores,
            "after": lambda weights, allowed: (
                weights if allowed is None else numpy.where(allowed, weights, numpy.asarray(-numpy.inf, weights.dtype))
            ),
        },
        Words("-inf is put into the weights, after softmax: the answer is infinite or NaN", "在 softmax 之后才填入 -inf：结果为无穷或 NaN"),
        Words("put -inf into the scores before softmax", "在 softmax 之前把分数设为 -inf"),
        hides=MASKED,
        pattern=r"mask|inf",
    ),
    Mistake(
        "large_number_after_softmax",
        {
            "hide": lambda scores, allowed: scores,
            "after": lambda weights, allowed: (
                weights if allowed is None else numpy.where(allowed, weights, numpy.asarray(-1e9, weights.dtype))
            ),
        },
        Words("-1e9 is put into the weights, after softmax: the answer is huge", "在 softmax 之后才填入 -1e9：结果非常大"),
        Words("put -1e9, or -inf, into the scores before softmax", "在 softmax 之前把分数设为 -1e9 或 -inf"),
        hides=MASKED,
        pattern=r"mask|1e",
    ),
    Mistake(
        "mask_added_as_zero_and_one",
        {"hide": lambda scores, allowed: scores if allowed is None else scores + allowed},
        Words(
            "the mask is added as 1 and 0: what is allowed gets e times the weight, and nothing is hidden",
            "掩码以 1 和 0 相加：允许的位置权重只乘了 e，什么也没有隐藏",
        ),
        Words("add 0 where allowed and -inf where not", "允许处加 0，不允许处加 -inf"),
        hides=MASKED,
        pattern=r"mask",
    ),
    Mistake(
        "hidden_score_is_zero",
        {"hide": lambda scores, allowed: scores if allowed is None else scores * allowed},
        Words(
            "a hidden score becomes 0, or nearly 0 (multiplied by the mask, or filled with 1e-9): softmax does not hide it",
            "被隐藏的分数变成 0 或接近 0（乘以掩码，或填充 1e-9）：softmax 并不会隐藏它",
        ),
        Words("put -inf, or -1e9 with its minus signs right, where the mask forbids", "在掩码禁止处设为 -inf（或 -1e9，注意符号）"),
        hides=MASKED,
        pattern=r"mask",
    ),
    Mistake(
        "hidden_score_is_large",
        {"hide": lambda scores, allowed: hidden(scores, allowed, 1e9)},
        Words(
            "what must be hidden gets a large positive score: it takes all the weight", "应隐藏的位置得到了很大的正分数：它占据了全部权重"
        ),
        Words("put -1e9 or -inf there: mind the sign", "应填 -1e9 或 -inf：注意符号"),
        hides=MASKED,
        pattern=r"mask|1e|inf",
    ),
    Mistake(
        "zero_times_infinity",
        {"hide": lambda scores, allowed: scores if allowed is None else scores + numpy.where(allowed, 0.0, 1.0) * -numpy.inf},
        Words("0 times -inf is NaN: the mask is multiplied by -inf before it is added", "0 乘以 -inf 得 NaN：掩码在相加之前乘了 -inf"),
        Words("choose with where or masked_fill, or multiply by -1e9", "用 where 或 masked_fill 选择，或乘以 -1e9"),
        hides=MASKED,
        pattern=r"inf",
    ),
)
