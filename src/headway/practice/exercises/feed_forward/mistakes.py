"""Common mistakes in the feed-forward."""

from __future__ import annotations

from typing import Any

import numpy

from headway.practice.exercise import Mistake
from headway.practice.exercises.feed_forward.steps import add
from headway.practice.message import Message
from headway.practice.recipes.activations import sigmoid

USE = Message("compute activation(x @ up.T + up_bias) @ down.T + down_bias", "计算 activation(x @ up.T + up_bias) @ down.T + down_bias")
ZERO = Message("the mistake is not visible with biases of zero", "偏置为零时看不出来")
BETWEEN = Message("apply the activation once, between the two linear layers", "激活函数放在两个线性层之间，只用一次")


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
            "there is no activation between the two linear layers: together they are one linear map",
            "两个线性层之间没有激活函数：合起来只是一次线性映射",
        ),
        BETWEEN,
        pattern=r"return|@|dot|matmul|linear",
    ),
    Mistake(
        "activation_after_second",
        {"bend": lambda hidden, activation: hidden, "finish": lambda answer, x, activation: activation(answer)},
        Message(
            "the activation comes after the second linear layer instead of between the two",
            "激活函数放在了第二个线性层之后，而不是两层之间",
        ),
        BETWEEN,
        pattern=r"relu|gelu|silu|max|tanh|return",
    ),
    Mistake(
        "activation_after_both",
        {"finish": lambda answer, x, activation: activation(answer)},
        Message("the activation is applied a second time, to the output", "对最后的输出又做了一次激活"),
        BETWEEN,
        pattern=r"return",
    ),
    Mistake(
        "activation_before_first",
        {"before": lambda x, activation: activation(x), "bend": lambda hidden, activation: hidden},
        Message(
            "the activation comes before the first linear layer instead of between the two",
            "激活函数放在了第一个线性层之前，而不是两层之间",
        ),
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
        Message("adds the first bias after the activation", "第一个偏置加在了激活函数之后"),
        USE,
        hides=ZERO,
        pattern=r"\+",
    ),
    Mistake(
        "residual_added",
        {"finish": lambda answer, x, activation: answer + x},
        Message("adds x to the output: the residual connection belongs in the block", "输出里加上了 x：残差连接属于外层的模块"),
        Message("return only the feed-forward output", "只返回前馈网络的输出"),
        pattern=r"\+ *x|x *\+|\+=",
    ),
    Mistake(
        "normalised_first",
        {"before": lambda x, activation: _normed(x)},
        Message("normalizes x first: the layer norm belongs in the block", "先对 x 做了归一化：归一化属于外层的模块"),
        Message("return only the feed-forward output", "只返回前馈网络的输出"),
        pattern=r"norm|mean|var|std",
    ),
    Mistake(
        "first_map_alone",
        {"down": lambda hidden, down: hidden, "down_bias": lambda product, bias: product},
        Message("the down-projection is missing: the output has the intermediate size", "缺少降维投影：输出与中间层同宽"),
        USE,
        pattern=r"return",
    ),
    Mistake(
        "second_map_is_first_transposed",
        {"weights": lambda up, down: (up, up.T)},
        Message("uses the first weight twice, the second time transposed", "第一个权重用了两次，第二次取了转置"),
        USE,
        hides=Message("no error is raised: the shapes still fit", "不会报错：形状仍然吻合"),
        pattern=r"\.T|@|dot",
    ),
    Mistake(
        "weights_exchanged",
        {"weights": lambda up, down: (down, up)},
        Message("the two weights are swapped", "两个权重互换了"),
        USE,
        hides=Message("an error is raised unless the intermediate size equals the hidden size", "只有中间层与 x 同宽时才不会报错"),
        pattern=r"@|dot|matmul",
    ),
    Mistake(
        "up_reshaped",
        {"up": lambda x, up: x @ up.reshape(up.shape[::-1])},
        Message("reshapes the first weight instead of transposing it", "对第一个权重做了 reshape 而不是转置"),
        Message("use weight.T", "使用 weight.T"),
        pattern=r"reshape|view",
    ),
    Mistake(
        "down_reshaped",
        {"down": lambda hidden, down: hidden @ down.reshape(down.shape[::-1])},
        Message("reshapes the second weight instead of transposing it", "对第二个权重做了 reshape 而不是转置"),
        Message("use weight.T", "使用 weight.T"),
        pattern=r"reshape|view",
    ),
    Mistake(
        "both_reshaped",
        {"up": lambda x, up: x @ up.reshape(up.shape[::-1]), "down": lambda hidden, down: hidden @ down.reshape(down.shape[::-1])},
        Message("reshapes both weights instead of transposing them", "对两个权重都做了 reshape 而不是转置"),
        Message("use weight.T", "使用 weight.T"),
        pattern=r"reshape|view",
    ),
    Mistake(
        "sigmoid_for_activation",
        {"activation": sigmoid},
        Message(
            "the activation is a sigmoid: outputs are between 0 and 1, and gradients vanish far from 0",
            "激活函数用了 sigmoid：取值都在 0 到 1 之间，远离 0 处梯度消失",
        ),
        Message("use ReLU, GELU or SiLU", "使用 ReLU、GELU 或 SiLU"),
        pattern=r"sigmoid|exp",
    ),
    Mistake(
        "tanh_for_activation",
        {"activation": numpy.tanh},
        Message("the activation is tanh: outputs are between -1 and 1", "激活函数用了 tanh：取值都在 -1 到 1 之间"),
        Message("use ReLU, GELU or SiLU", "使用 ReLU、GELU 或 SiLU"),
        pattern=r"tanh",
    ),
    Mistake(
        "softmax_for_activation",
        {"activation": _softmax},
        Message("the activation is a softmax: the hidden states sum to 1", "激活函数用了 softmax：中间层的数之和为 1"),
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
        Message("the activation keeps the negative part: min(x, 0)", "激活函数保留的是负的部分：min(x, 0)"),
        Message("use max(x, 0)", "使用 max(x, 0)"),
        pattern=r"min",
    ),
    Mistake(
        "tokens_summed",
        {"middle": lambda hidden, bias: hidden if hidden.ndim < 2 else numpy.broadcast_to(hidden.sum(-2, keepdims=True), hidden.shape)},
        Message(
            "sums the hidden states over the tokens: the output of a token depends on the others",
            "把各词元的隐藏状态加在了一起：一个词元的输出取决于其他词元",
        ),
        Message("compute each position separately", "每个位置单独计算"),
        hides=Message("the mistake is not visible with a single token", "只有一个词元时看不出来"),
        pattern=r"sum|einsum",
    ),
    Mistake(
        "tokens_averaged",
        {"middle": lambda hidden, bias: hidden if hidden.ndim < 2 else numpy.broadcast_to(hidden.mean(-2, keepdims=True), hidden.shape)},
        Message(
            "averages the hidden states over the tokens: all tokens get the same output",
            "对各词元的隐藏状态取了平均：所有词元得到同样的输出",
        ),
        Message("compute each position separately", "每个位置单独计算"),
        hides=Message("the mistake is not visible with a single token", "只有一个词元时看不出来"),
        pattern=r"mean",
    ),
)
