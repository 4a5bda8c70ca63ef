"""Common mistakes in the gated feed-forward."""

from __future__ import annotations

from typing import Any

import numpy

from headway.practice.exercise import Mistake
from headway.practice.exercises.feed_forward.steps import add
from headway.practice.message import Message
from headway.practice.recipes.activations import gelu, gelu_tanh, quick_gelu, relu, sigmoid, silu

USE = Message("compute (silu(x @ gate.T) * (x @ up.T)) @ down.T", "计算 (silu(x @ gate.T) * (x @ up.T)) @ down.T")
GATE = Message("apply the activation only to the gate: silu(x @ gate.T) * (x @ up.T)", "只对门做激活：silu(x @ gate.T) * (x @ up.T)")
SILU = Message("use SiLU, x · sigmoid(x), the activation of SwiGLU", "使用 SiLU，即 x · sigmoid(x)，它是 SwiGLU 的激活函数")
ACT = r"silu|sigmoid|gelu|relu|exp|tanh"


def _product_with_reshaped(x: Any, weight: Any) -> Any:
    return x @ weight.reshape(weight.shape[::-1])


def _softmax(x: Any) -> Any:
    powers = numpy.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


MISTAKES = (
    Mistake(
        "activation_on_up",
        {"bend_gate": lambda gate, activation: gate, "bend_up": lambda up, activation: activation(up)},
        Message("the activation is on the up branch instead of the gate", "激活函数加在了 up 分支上，而不是门上"),
        GATE,
        hides=Message(
            "the mistake is not visible with weights trained this way; stored weights give a wrong output",
            "自己训练的权重看不出来，加载现成的权重才会出错",
        ),
        pattern=ACT,
    ),
    Mistake(
        "activation_missing",
        {"bend_gate": lambda gate, activation: gate},
        Message("there is no activation: gate and up are only multiplied", "没有激活函数：只是把 gate 与 up 相乘"),
        GATE,
        pattern=r"\*",
    ),
    Mistake(
        "activation_on_both",
        {"bend_up": lambda up, activation: activation(up)},
        Message("the activation is on both branches", "两个分支都做了激活"),
        GATE,
        pattern=ACT,
    ),
    Mistake(
        "activation_on_product",
        {"bend_gate": lambda gate, activation: gate, "join": lambda gate, up: silu(gate * up)},
        Message("applies the activation to the product of gate and up", "对 gate 与 up 的乘积做了激活"),
        GATE,
        pattern=ACT,
    ),
    Mistake(
        "activation_on_answer",
        {"bend_gate": lambda gate, activation: gate, "finish": lambda answer, x, activation: activation(answer)},
        Message("the activation comes after the down-projection", "激活函数放在了降维投影之后"),
        GATE,
        pattern=ACT,
    ),
    Mistake(
        "up_not_used",
        {"join": lambda gate, up: gate},
        Message("the up branch is never used: this is a plain feed-forward with SiLU", "没有用到 up 分支：只是带 SiLU 的普通前馈网络"),
        GATE,
        hides=Message("an up weight of zeros must give an output of zeros", "up 权重为零时，输出必须为零"),
        pattern=ACT,
    ),
    Mistake(
        "gate_not_used",
        {"join": lambda gate, up: up},
        Message("the gate is never used: these are two linear layers", "没有用到门：只是两个线性层"),
        GATE,
        pattern=r"@|linear|dot",
    ),
    Mistake(
        "gate_used_twice",
        {"weights": lambda gate, up, down: (gate, gate, down)},
        Message(
            "both branches use the gate weight; the up branch must use the up weight", "两个分支用的都是门的权重；up 分支应使用 up 的权重"
        ),
        GATE,
        pattern=r"@|linear|dot",
    ),
    Mistake(
        "up_used_twice",
        {"weights": lambda gate, up, down: (up, up, down)},
        Message("both branches use the up weight; the gate must use the gate weight", "两个分支用的都是 up 的权重；门应使用门的权重"),
        GATE,
        pattern=r"@|linear|dot",
    ),
    Mistake(
        "branches_added",
        {"join": lambda gate, up: gate + up},
        Message("adds gate and up instead of multiplying them", "把 gate 与 up 相加了，而应相乘"),
        Message("multiply them element by element", "把它们逐元素相乘"),
        pattern=r"\+",
    ),
    Mistake(
        "first_maps_alone",
        {"down": lambda hidden, weight, bias: hidden},
        Message("the down-projection is missing: the output has the intermediate size", "缺少降维投影：输出与中间层同宽"),
        USE,
        pattern=r"return",
    ),
    Mistake(
        "residual_added",
        {"finish": lambda answer, x, activation: answer + x},
        Message("adds x to the output: the residual connection belongs in the block", "输出里加上了 x：残差连接属于外层的模块"),
        Message("return only the feed-forward output", "只返回前馈网络的输出"),
        pattern=r"\+ *x|x *\+|\+=",
    ),
    Mistake(
        "sigmoid_for_silu",
        {"activation": sigmoid},
        Message(
            "the gate is sigmoid(x @ gateᵀ), as in the first GLU: the factor x @ gateᵀ is missing",
            "门用的是 sigmoid(x @ gateᵀ)，即最早的 GLU：少乘了 x @ gateᵀ",
        ),
        SILU,
        pattern=r"sigmoid|exp",
    ),
    Mistake(
        "exponent_sign",
        {"activation": lambda x: x * sigmoid(-x)},
        Message("the sign inside the sigmoid is wrong: computes x · sigmoid(-x)", "sigmoid 里的符号反了：算的是 x · sigmoid(-x)"),
        SILU,
        pattern=r"exp|sigmoid",
    ),
    Mistake(
        "tanh_for_silu",
        {"activation": numpy.tanh},
        Message("the activation of the gate is tanh", "门的激活函数是 tanh"),
        SILU,
        pattern=r"tanh",
    ),
    Mistake(
        "softmax_for_silu",
        {"activation": _softmax},
        Message("the activation of the gate is a softmax over the intermediate axis", "门的激活函数是中间层轴上的 softmax"),
        SILU,
        pattern=r"softmax|sum",
    ),
    Mistake(
        "relu_for_silu",
        {"activation": relu},
        Message("the activation of the gate is ReLU (ReGLU)", "门的激活函数是 ReLU（ReGLU）"),
        SILU,
        pattern=r"relu|max",
    ),
    Mistake(
        "gelu_for_silu",
        {"activation": gelu},
        Message("the activation of the gate is GELU (GEGLU)", "门的激活函数是 GELU（GEGLU）"),
        SILU,
        pattern=r"gelu|erf",
    ),
    Mistake(
        "gelu_tanh_for_silu",
        {"activation": gelu_tanh},
        Message("the activation of the gate is GELU in its tanh form (GEGLU)", "门的激活函数是 tanh 形式的 GELU（GEGLU）"),
        SILU,
        pattern=r"gelu|tanh",
    ),
    Mistake(
        "quick_gelu_for_silu",
        {"activation": quick_gelu},
        Message("the activation of the gate is x · sigmoid(1.702 x)", "门的激活函数是 x · sigmoid(1.702 x)"),
        SILU,
        pattern=r"1\.70",
    ),
    Mistake(
        "gate_reshaped",
        {"gate": _product_with_reshaped},
        Message("reshapes the gate weight instead of transposing it", "对门的权重做了 reshape 而不是转置"),
        Message("use weight.T", "使用 weight.T"),
        pattern=r"reshape|view",
    ),
    Mistake(
        "all_reshaped",
        {
            "gate": _product_with_reshaped,
            "up": _product_with_reshaped,
            "down": lambda hidden, weight, bias: add(_product_with_reshaped(hidden, weight), bias),
        },
        Message("reshapes the weights instead of transposing them", "对权重做了 reshape 而不是转置"),
        Message("use weight.T", "使用 weight.T"),
        pattern=r"reshape|view",
    ),
    Mistake(
        "tokens_summed",
        {
            "down": lambda hidden, weight, bias: add(
                hidden @ weight.T if hidden.ndim < 2 else numpy.broadcast_to(hidden.sum(-2, keepdims=True), hidden.shape) @ weight.T, bias
            )
        },
        Message(
            "sums the hidden states over the tokens: the output of a token depends on the others",
            "把各词元的隐藏状态加在了一起：一个词元的输出取决于其他词元",
        ),
        Message("compute each position separately", "每个位置单独计算"),
        hides=Message("the mistake is not visible with a single token", "只有一个词元时看不出来"),
        pattern=r"sum|einsum",
    ),
)
