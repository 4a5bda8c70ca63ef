"""What people get wrong in the feed-forward."""

from __future__ import annotations

from typing import Any

import numpy

from headway.practice.exercise import Mistake
from headway.practice.exercises.feed_forward.steps import add
from headway.practice.message import Message
from headway.practice.recipes.activations import sigmoid

USE = Message("activation(x @ up.T + up_bias) @ down.T + down_bias", "activation(x @ up.T + up_bias) @ down.T + down_bias")
ZERO = Message("biases of zero do not show it", "偏置为零时看不出来")
BETWEEN = Message("bend between the two maps, once", "激活函数放在两次线性映射之间，只用一次")


def _softmax(x: Any) -> Any:
    powers = numpy.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def _normed(x: Any) -> Any:
    return (x - x.mean(-1, keepdims=True)) / numpy.sqrt(x.var(-1, keepdims=True) + 1e-5)


MISTAKES = (
    Mistake(
        "activation_missing",
        {"bend": lambda hidden, activation: hidden},
        Message(
            "there is no activation between the two maps: together they are one linear map",
            "两次映射之间没有激活函数：合起来只是一次线性映射",
        ),
        BETWEEN,
        pattern=r"return|@|dot|matmul|linear",
    ),
    Mistake(
        "activation_after_second",
        {"bend": lambda hidden, activation: hidden, "finish": lambda answer, x, activation: activation(answer)},
        Message("the activation stands behind the second map, not between the two", "激活函数放在了第二次映射之后，而不是两次之间"),
        BETWEEN,
        pattern=r"relu|gelu|silu|max|tanh|return",
    ),
    Mistake(
        "activation_after_both",
        {"finish": lambda answer, x, activation: activation(answer)},
        Message("the activation is applied a second time, to the answer", "对最后的结果又做了一次激活"),
        BETWEEN,
        pattern=r"return",
    ),
    Mistake(
        "activation_before_first",
        {"before": lambda x, activation: activation(x), "bend": lambda hidden, activation: hidden},
        Message("the activation stands in front of the first map, not between the two", "激活函数放在了第一次映射之前，而不是两次之间"),
        BETWEEN,
        pattern=r"relu|gelu|silu|max|tanh",
    ),
    Mistake(
        "up_bias_missing",
        {"up_bias": lambda product, bias: product},
        Message("the first bias is never added", "没有加第一个偏置"),
        USE,
        hides=ZERO,
        pattern=r"@|dot|matmul",
    ),
    Mistake(
        "down_bias_missing",
        {"down_bias": lambda product, bias: product},
        Message("the second bias is never added", "没有加第二个偏置"),
        USE,
        hides=ZERO,
        pattern=r"return|@|dot|matmul",
    ),
    Mistake(
        "biases_missing",
        {"up_bias": lambda product, bias: product, "down_bias": lambda product, bias: product},
        Message("neither bias is added", "两个偏置都没有加"),
        USE,
        hides=ZERO,
        pattern=r"return|@|dot|matmul",
    ),
    Mistake(
        "up_bias_after_activation",
        {"up_bias": lambda product, bias: product, "middle": add},
        Message("the first bias is added behind the activation", "第一个偏置加在了激活函数之后"),
        USE,
        hides=ZERO,
        pattern=r"\+",
    ),
    Mistake(
        "residual_added",
        {"finish": lambda answer, x, activation: answer + x},
        Message("x is added to the answer: the residual belongs to the block around it", "结果里加上了 x：残差属于外面的块"),
        Message("return the feed-forward alone", "只返回前馈网络的结果"),
        pattern=r"\+ *x|x *\+|\+=",
    ),
    Mistake(
        "normalised_first",
        {"before": lambda x, activation: _normed(x)},
        Message("x is normalised first: that belongs to the block around it", "先对 x 做了归一化：那属于外面的块"),
        Message("return the feed-forward alone", "只返回前馈网络的结果"),
        pattern=r"norm|mean|var|std",
    ),
    Mistake(
        "first_map_alone",
        {"down": lambda hidden, down: hidden, "down_bias": lambda product, bias: product},
        Message("the second map is missing: the answer is as wide as the inside", "缺少第二次映射：输出与中间层同宽"),
        USE,
        pattern=r"return",
    ),
    Mistake(
        "second_map_is_first_transposed",
        {"weights": lambda up, down: (up, up.T)},
        Message("the first weight is used twice: once as it is, once transposed", "第一个权重用了两次：一次原样，一次转置"),
        USE,
        hides=Message("the shapes fit all the same", "形状完全合得上"),
        pattern=r"\.T|@|dot",
    ),
    Mistake(
        "weights_exchanged",
        {"weights": lambda up, down: (down, up)},
        Message("the two weights have changed places", "两个权重互换了位置"),
        USE,
        hides=Message("only where the inside is as wide as x nothing is raised", "只有中间层与 x 同宽时才不会报错"),
        pattern=r"@|dot|matmul",
    ),
    Mistake(
        "up_reshaped",
        {"up": lambda x, up: x @ up.reshape(up.shape[::-1])},
        Message("the first weight is reshaped where it must be transposed", "第一个权重用 reshape 代替了转置"),
        Message("use weight.T", "使用 weight.T"),
        pattern=r"reshape|view",
    ),
    Mistake(
        "down_reshaped",
        {"down": lambda hidden, down: hidden @ down.reshape(down.shape[::-1])},
        Message("the second weight is reshaped where it must be transposed", "第二个权重用 reshape 代替了转置"),
        Message("use weight.T", "使用 weight.T"),
        pattern=r"reshape|view",
    ),
    Mistake(
        "both_reshaped",
        {"up": lambda x, up: x @ up.reshape(up.shape[::-1]), "down": lambda hidden, down: hidden @ down.reshape(down.shape[::-1])},
        Message("both weights are reshaped where they must be transposed", "两个权重都用 reshape 代替了转置"),
        Message("use weight.T", "使用 weight.T"),
        pattern=r"reshape|view",
    ),
    Mistake(
        "sigmoid_for_activation",
        {"activation": sigmoid},
        Message(
            "the activation is a sigmoid: all of it lies between 0 and 1, and nothing far from 0 learns",
            "激活函数用了 sigmoid：取值都在 0 到 1 之间，远离 0 的地方学不动",
        ),
        Message("use ReLU, GELU or SiLU", "使用 ReLU、GELU 或 SiLU"),
        pattern=r"sigmoid|exp",
    ),
    Mistake(
        "tanh_for_activation",
        {"activation": numpy.tanh},
        Message("the activation is tanh: all of it lies between -1 and 1", "激活函数用了 tanh：取值都在 -1 到 1 之间"),
        Message("use ReLU, GELU or SiLU", "使用 ReLU、GELU 或 SiLU"),
        pattern=r"tanh",
    ),
    Mistake(
        "softmax_for_activation",
        {"activation": _softmax},
        Message("the activation is a softmax: the numbers inside compete and sum to 1", "激活函数用了 softmax：中间层的数互相竞争，和为 1"),
        Message("use ReLU, GELU or SiLU", "使用 ReLU、GELU 或 SiLU"),
        pattern=r"softmax|sum",
    ),
    Mistake(
        "absolute_value_for_activation",
        {"activation": numpy.abs},
        Message("the activation is |x|", "激活函数用了 |x|"),
        Message("use ReLU, GELU or SiLU", "使用 ReLU、GELU 或 SiLU"),
        pattern=r"abs",
    ),
    Mistake(
        "minimum_for_maximum",
        {"activation": lambda x: numpy.minimum(x, 0)},
        Message("the activation keeps what is negative: min(x, 0)", "激活函数保留的是负的部分：min(x, 0)"),
        Message("use max(x, 0)", "使用 max(x, 0)"),
        pattern=r"min",
    ),
    Mistake(
        "tokens_summed",
        {"middle": lambda hidden, bias: hidden if hidden.ndim < 2 else numpy.broadcast_to(hidden.sum(-2, keepdims=True), hidden.shape)},
        Message(
            "the tokens are summed inside: what one token gets depends on the others",
            "中间把各词元加在了一起：一个词元的结果取决于别的词元",
        ),
        Message("every position is treated alone", "每个位置单独处理"),
        hides=Message("a single token does not show it", "只有一个词元时看不出来"),
        pattern=r"sum|einsum",
    ),
    Mistake(
        "tokens_averaged",
        {"middle": lambda hidden, bias: hidden if hidden.ndim < 2 else numpy.broadcast_to(hidden.mean(-2, keepdims=True), hidden.shape)},
        Message("the tokens are averaged inside: all get the same answer", "中间对各词元取了平均：所有词元得到同样的结果"),
        Message("every position is treated alone", "每个位置单独处理"),
        hides=Message("a single token does not show it", "只有一个词元时看不出来"),
        pattern=r"mean",
    ),
)
