"""Mistakes in GPT-2's transformer block."""

from __future__ import annotations

from typing import Any

import numpy

from headway.practice.exercise import Mistake
from headway.practice.message import Message
from headway.practice.recipes.blocks import layer_norm, post_norm, pre_norm, split_without_transpose


def _residual_from_normed(x: Any, attend: Any, think: Any, norm_1: Any, norm_2: Any) -> Any:
    x = norm_1(x)
    x = x + attend(x)
    x = norm_2(x)
    return x + think(x)


def _first_residual_from_normed(x: Any, attend: Any, think: Any, norm_1: Any, norm_2: Any) -> Any:
    x = norm_1(x)
    x = x + attend(x)
    return x + think(norm_2(x))


def _second_residual_from_normed(x: Any, attend: Any, think: Any, norm_1: Any, norm_2: Any) -> Any:
    x = norm_2(x + attend(norm_1(x)))
    return x + think(x)


def _normed_parts(x: Any, attend: Any, think: Any, norm_1: Any, norm_2: Any) -> Any:
    x = x + norm_1(attend(x))
    return x + norm_2(think(x))


def _second_without_norm(x: Any, attend: Any, think: Any, norm_1: Any, norm_2: Any) -> Any:
    x = x + attend(norm_1(x))
    return x + think(x)


def _first_without_norm(x: Any, attend: Any, think: Any, norm_1: Any, norm_2: Any) -> Any:
    x = x + attend(x)
    return x + think(norm_2(x))


def _without_residuals(x: Any, attend: Any, think: Any, norm_1: Any, norm_2: Any) -> Any:
    return think(norm_2(attend(norm_1(x))))


def _first_residual_missing(x: Any, attend: Any, think: Any, norm_1: Any, norm_2: Any) -> Any:
    x = attend(norm_1(x))
    return x + think(norm_2(x))


def _second_residual_missing(x: Any, attend: Any, think: Any, norm_1: Any, norm_2: Any) -> Any:
    return think(norm_2(x + attend(norm_1(x))))


def _second_from_input(x: Any, attend: Any, think: Any, norm_1: Any, norm_2: Any) -> Any:
    return x + think(norm_2(x + attend(norm_1(x))))


def _feed_forward_first(x: Any, attend: Any, think: Any, norm_1: Any, norm_2: Any) -> Any:
    x = x + think(norm_2(x))
    return x + attend(norm_1(x))


ZERO_WEIGHTS = Message(
    "with all weights of attention and feed-forward at 0 the block must return x", "注意力与前馈的权重全为 0 时，模块应原样返回 x"
)

MISTAKES = (
    Mistake(
        "residual_from_normalised",
        {"wire": _residual_from_normed},
        Message(
            "the residual connection starts after the norm: adds norm(x) instead of x", "残差取自归一化之后：加上的是 norm(x)，而不是 x"
        ),
        Message(
            "keep x: x = x + attention(norm(x)), and store the norm's output in another variable",
            "保留 x：x = x + attention(norm(x))，归一化的结果用另一个变量名",
        ),
        hides=ZERO_WEIGHTS,
        pattern=r"norm|ln",
    ),
    *(
        Mistake(
            name,
            {"wire": wire},
            Message(
                f"the residual connection of the {part.en} starts after the norm: adds norm(x) instead of x",
                f"{part.zh}的残差取自归一化之后：加上的是 norm(x)，而不是 x",
            ),
            Message(
                "keep x: store the norm's output in another variable, or write x = x + sublayer(norm(x))",
                "保留 x：归一化的结果用另一个变量名，或直接写 x = x + sublayer(norm(x))",
            ),
            hides=ZERO_WEIGHTS,
            pattern=r"norm|ln",
            said_as="residual_from_normalised",
        )
        for name, wire, part in (
            ("first_residual_from_normalised", _first_residual_from_normed, Message("attention", "注意力")),
            ("second_residual_from_normalised", _second_residual_from_normed, Message("feed-forward", "前馈")),
        )
    ),
    Mistake(
        "norms_after_the_sums",
        {"wire": post_norm},
        Message(
            "the norms follow the residual sums (post-norm, as in Vaswani et al. 2017); GPT-2 has them before attention and feed-forward",
            "归一化放在残差相加之后（post-norm，见 Vaswani 等 2017）；GPT-2 放在注意力与前馈之前",
        ),
        Message(
            "write x = x + attention(norm_1(x)); x = x + feed_forward(norm_2(x)), or put post_norm in the function's name",
            "改为 x = x + attention(norm_1(x))；x = x + feed_forward(norm_2(x))；若本意是 post-norm，请在函数名里写明",
        ),
        hides=ZERO_WEIGHTS,
        pattern=r"norm|ln",
    ),
    Mistake(
        "parts_normalised_afterwards",
        {"wire": _normed_parts},
        Message(
            "the norms apply to the outputs of attention and feed-forward instead of their inputs",
            "归一化作用在注意力与前馈的输出上，而不是输入上",
        ),
        Message("x = x + attention(norm_1(x))", "x = x + attention(norm_1(x))"),
        pattern=r"norm|ln",
    ),
    Mistake(
        "second_norm_skipped",
        {"wire": _second_without_norm},
        Message("the feed-forward's input is not normalized: the second norm has no effect", "前馈的输入没有归一化：第二个归一化没有用上"),
        Message("x = x + feed_forward(norm_2(x))", "x = x + feed_forward(norm_2(x))"),
        pattern=r"mlp|ffn|feed|ff\(",
    ),
    Mistake(
        "first_norm_skipped",
        {"wire": _first_without_norm},
        Message("attention's input is not normalized: the first norm has no effect", "注意力的输入没有归一化：第一个归一化没有用上"),
        Message("x = x + attention(norm_1(x))", "x = x + attention(norm_1(x))"),
        pattern=r"att|mha",
    ),
    Mistake(
        "first_norm_used_twice",
        {"wire": lambda x, attend, think, norm_1, norm_2: pre_norm(x, attend, think, norm_1, norm_1)},
        Message("both norms use the weights of the first", "两处归一化用的都是第一个的权重"),
        Message("use the second norm's own weights: norm_2", "第二个归一化用它自己的权重：norm_2"),
        hides=Message("with initial weights (1 and 0) both norms are equal", "初始权重（1 与 0）下两者相同"),
        pattern=r"norm|ln",
    ),
    Mistake(
        "second_norm_used_twice",
        {"wire": lambda x, attend, think, norm_1, norm_2: pre_norm(x, attend, think, norm_2, norm_2)},
        Message("both norms use the weights of the second", "两处归一化用的都是第二个的权重"),
        Message("use the first norm's own weights: norm_1", "第一个归一化用它自己的权重：norm_1"),
        hides=Message("with initial weights (1 and 0) both norms are equal", "初始权重（1 与 0）下两者相同"),
        pattern=r"norm|ln",
    ),
    Mistake(
        "norms_exchanged",
        {"wire": lambda x, attend, think, norm_1, norm_2: pre_norm(x, attend, think, norm_2, norm_1)},
        Message("the norms are swapped", "两个归一化互换了"),
        Message("use norm_1 before attention and norm_2 before the feed-forward", "norm_1 用在注意力之前，norm_2 用在前馈之前"),
        hides=Message("with initial weights (1 and 0) both norms are equal", "初始权重（1 与 0）下两者相同"),
        pattern=r"norm|ln",
    ),
    Mistake(
        "in_parallel",
        {"wire": lambda x, attend, think, norm_1, norm_2: x + attend(norm_1(x)) + think(norm_2(x))},
        Message(
            "attention and feed-forward both take the block's input (in parallel, as in GPT-J); GPT-2's feed-forward takes the output of attention's residual sum",
            "注意力与前馈都以模块输入为输入（并行，如 GPT-J）；GPT-2 的前馈以注意力残差相加之后的结果为输入",
        ),
        Message(
            "compute x = x + attention(norm_1(x)) first, then x = x + feed_forward(norm_2(x))",
            "先 x = x + attention(norm_1(x))，再 x = x + feed_forward(norm_2(x))",
        ),
        pattern=r"\+",
    ),
    Mistake(
        "feed_forward_first",
        {"wire": _feed_forward_first},
        Message("the feed-forward precedes attention", "前馈放在了注意力之前"),
        Message("apply attention first", "先注意力，后前馈"),
        pattern=r"mlp|ffn|feed|ff\(",
    ),
    Mistake(
        "residuals_missing",
        {"wire": _without_residuals},
        Message(
            "the residual connections are missing: x is not added to the outputs of attention and feed-forward",
            "没有残差：没有把 x 加到注意力与前馈的输出上",
        ),
        Message("write x = x + attention(…); x = x + feed_forward(…)", "应为 x = x + attention(…)，再 x = x + feed_forward(…)"),
        hides=ZERO_WEIGHTS,
        pattern=r"att|mha|mlp|ffn",
    ),
    Mistake(
        "residual_of_attention_missing",
        {"wire": _first_residual_missing},
        Message("x is not added to the output of attention", "没有把 x 加到注意力的输出上"),
        Message("x = x + attention(norm_1(x))", "x = x + attention(norm_1(x))"),
        pattern=r"att|mha",
    ),
    Mistake(
        "residual_of_feed_forward_missing",
        {"wire": _second_residual_missing},
        Message("x is not added to the output of the feed-forward", "没有把 x 加到前馈的输出上"),
        Message("x = x + feed_forward(norm_2(x))", "x = x + feed_forward(norm_2(x))"),
        pattern=r"mlp|ffn|feed|ff\(",
    ),
    Mistake(
        "second_residual_from_input",
        {"wire": _second_from_input},
        Message(
            "the second residual connection adds the block's input: the output of attention is lost from it",
            "第二个残差加的是模块输入：注意力的输出没有进入残差",
        ),
        Message("update x after attention: x = x + attention(…)", "注意力之后要更新 x：x = x + attention(…)"),
        pattern=r"\+",
    ),
    Mistake(
        "not_causal",
        {"mask": lambda query_len, key_len: numpy.ones((query_len, key_len), bool)},
        Message("the causal mask is missing: positions attend to later ones", "没有因果掩码：能看到后面的位置"),
        Message(
            "mask key j for query i if j > i; an encoder block needs no causal mask: check that with --as encoder_layer",
            "当 j > i 时，对查询 i 隐藏键 j；编码器模块不需要因果掩码：请用 --as encoder_layer 检查",
        ),
        hides=Message(
            "the last position attends to all others anyway, so its row of a single block is correct",
            "最后一个位置本来就能看到全部，所以单个模块中它那一行是对的",
        ),
        pattern=r"att|mha|mask",
    ),
    Mistake(
        "mask_transposed",
        {"mask": lambda query_len, key_len: numpy.triu(numpy.ones((query_len, key_len), bool))},
        Message(
            "the causal mask is reversed: positions attend to themselves and later ones",
            "因果掩码方向反了：每个位置看到的是自己与后面的位置",
        ),
        Message("keep the lower triangle: tril", "保留下三角：tril"),
        pattern=r"tri[ul]|mask",
    ),
    Mistake(
        "scale_missing",
        {"scale": lambda head_dim, num_heads: 1.0},
        Message("the scores are not scaled by 1/√head_dim", "分数没有乘以 1/√head_dim"),
        Message("divide by √head_dim", "除以 √head_dim"),
        pattern=r"att|mha|@",
    ),
    Mistake(
        "scale_of_whole_width",
        {"scale": lambda head_dim, num_heads: (head_dim * num_heads) ** -0.5},
        Message(
            "the scale is 1/√n_embd, the width of all heads together; expected 1/√head_dim",
            "缩放是 1/√n_embd，即所有头合起来的宽度；应为 1/√head_dim",
        ),
        Message("divide by √head_dim with head_dim = n_embd / n_head", "除以 √head_dim，其中 head_dim = n_embd / n_head"),
        hides=Message("with one head both are equal", "只有一个头时两者相同"),
        pattern=r"sqrt|\*\* *-?0?\.5",
    ),
    Mistake(
        "one_head",
        {"heads": lambda num_heads: 1},
        Message("the heads are not split: attention runs once over the whole width", "没有分头：注意力在整个宽度上只做了一次"),
        Message("split query, key and value into n_head parts", "把 query、key、value 分成 n_head 份"),
        pattern=r"att|mha|head",
    ),
    Mistake(
        "heads_split_without_transpose",
        {"split": split_without_transpose},
        Message(
            "the heads are split with reshape(n_head, seq_len, head_dim) alone: each head gets some positions instead of part of the width",
            "只用 reshape(n_head, seq_len, head_dim) 分头：每个头分到的是部分位置，而不是部分宽度",
        ),
        Message(
            "reshape to (seq_len, n_head, head_dim), then swap the first two axes",
            "先 reshape 成 (seq_len, n_head, head_dim)，再交换前两轴",
        ),
        pattern=r"reshape|view",
    ),
    Mistake(
        "query_and_key_exchanged",
        {"order": lambda query, key, value: (key, query, value)},
        Message(
            "query and key are swapped in the fused projection; GPT-2's order is query, key, value",
            "融合投影中 query 与 key 互换了；GPT-2 的顺序是 query、key、value",
        ),
        Message("write q, k, v = split(x @ c_attn, 3)", "写成 q, k, v = split(x @ c_attn, 3)"),
        pattern=r"split|chunk",
    ),
    Mistake(
        "key_and_value_exchanged",
        {"order": lambda query, key, value: (query, value, key)},
        Message(
            "key and value are swapped in the fused projection; GPT-2's order is query, key, value",
            "融合投影中 key 与 value 互换了；GPT-2 的顺序是 query、key、value",
        ),
        Message("write q, k, v = split(x @ c_attn, 3)", "写成 q, k, v = split(x @ c_attn, 3)"),
        pattern=r"split|chunk",
    ),
    Mistake(
        "output_projection_missing",
        {"project": lambda x, layer: x},
        Message("attention's output projection (c_proj) is missing", "缺少注意力的输出投影（c_proj）"),
        Message("return merged @ c_proj", "返回 merged @ c_proj"),
        pattern=r"att|mha|proj",
    ),
    Mistake(
        "output_projection_transposed",
        {"project": lambda x, layer: x @ layer["w"].T + layer["b"]},
        Message(
            "attention's output projection is transposed: it is stored as (in, out), and being square it raises no error",
            "注意力的输出投影被转置了：它按 (in, out) 存储，又是方阵，所以不会报错",
        ),
        Message("multiply without a transpose: x @ w + b", "直接相乘，不要转置：x @ w + b"),
        hides=Message("the matrix is square, so the shapes are valid", "矩阵是方的，形状看不出来"),
        pattern=r"\.T|transpose|linear\(",
    ),
    Mistake(
        "biases_missing",
        {"linear": lambda x, layer: x @ layer["w"], "project": lambda x, layer: x @ layer["w"]},
        Message("the linear layers do not add their biases", "线性层没有加偏置"),
        Message("write x @ w + b", "写成 x @ w + b"),
        hides=Message("initial biases are 0", "初始偏置为 0"),
        pattern=r"@",
    ),
    Mistake(
        "activation_missing",
        {"activation": lambda x: x},
        Message("the feed-forward has no activation between its linear layers", "前馈的两个线性层之间没有激活函数"),
        Message("apply gelu between c_fc and c_proj", "在 c_fc 与 c_proj 之间使用 gelu"),
        pattern=r"mlp|ffn|c_fc",
    ),
    Mistake(
        "relu_for_gelu",
        {"activation": lambda x: numpy.maximum(x, 0)},
        Message("the activation is relu; expected gelu as in GPT-2", "激活函数是 relu；应为 GPT-2 的 gelu"),
        Message("use gelu", "使用 gelu"),
        pattern=r"relu|max",
    ),
    Mistake(
        "silu_for_gelu",
        {"activation": lambda x: x / (1 + numpy.exp(-x))},
        Message("the activation is silu (swish); expected gelu as in GPT-2", "激活函数是 silu（swish）；应为 GPT-2 的 gelu"),
        Message("use gelu", "使用 gelu"),
        pattern=r"silu|swish|sigmoid",
    ),
    Mistake(
        "variance_of_n_minus_one",
        {"norm": lambda x, norm: layer_norm(x, norm, ddof=1)},
        Message("the norm divides the variance by n - 1; expected n", "归一化的方差除以了 n - 1；应为 n"),
        Message("use NumPy's var(…), or unbiased=False", "使用 NumPy 的 var(…)，或 unbiased=False"),
        pattern=r"std|var|ddof|unbiased",
    ),
    Mistake(
        "norm_without_weights",
        {"norm": lambda x, norm: layer_norm(x, {"g": 1.0, "b": 0.0})},
        Message("the norms' weights g and b are not used", "归一化的权重 g 与 b 没有用上"),
        Message("return g · normalized + b", "返回 g · 归一化结果 + b"),
        hides=Message("initial weights are 1 and 0", "初始权重为 1 与 0"),
        pattern=r"norm|ln",
    ),
)
