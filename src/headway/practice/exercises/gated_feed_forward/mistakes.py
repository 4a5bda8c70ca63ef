"""What people get wrong in the gated feed-forward."""

from __future__ import annotations

from typing import Any

import numpy

from headway.practice.exercise import Mistake
from headway.practice.exercises.feed_forward.steps import add
from headway.practice.message import Message
from headway.practice.recipes.activations import gelu, gelu_tanh, quick_gelu, relu, sigmoid, silu

USE = Message("(silu(x @ gate.T) * (x @ up.T)) @ down.T", "(silu(x @ gate.T) * (x @ up.T)) @ down.T")
GATE = Message("bend the gate, and the gate alone: silu(x @ gate.T) * (x @ up.T)", "只对门做激活：silu(x @ gate.T) * (x @ up.T)")
SILU = Message("SwiGLU's activation is SiLU, x · sigmoid(x)", "SwiGLU 的激活函数是 SiLU，即 x · sigmoid(x)")
ACT = r"silu|sigmoid|gelu|relu|exp|tanh"


def _turned_by_reshape(x: Any, weight: Any) -> Any:
    return x @ weight.reshape(weight.shape[::-1])


def _softmax(x: Any) -> Any:
    powers = numpy.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


MISTAKES = (
    Mistake(
        "activation_on_up",
        {"bend_gate": lambda gate, activation: gate, "bend_up": lambda up, activation: activation(up)},
        Message("the activation is on the up branch, not on the gate", "激活函数加在了 up 分支上，而不是门上"),
        GATE,
        hides=Message("weights that are trained so do not show it; stored ones do", "自己训练的权重看不出来，加载现成的权重才会出错"),
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
        Message("the activation is taken of the product of gate and up", "对 gate 与 up 的乘积做了激活"),
        GATE,
        pattern=ACT,
    ),
    Mistake(
        "activation_on_answer",
        {"bend_gate": lambda gate, activation: gate, "finish": lambda answer, x, activation: activation(answer)},
        Message("the activation stands behind the last map", "激活函数放在了最后一次映射之后"),
        GATE,
        pattern=ACT,
    ),
    Mistake(
        "up_not_used",
        {"join": lambda gate, up: gate},
        Message("the up branch is never used: it is a plain feed-forward with SiLU", "up 分支没有用上：只是带 SiLU 的普通前馈网络"),
        GATE,
        hides=Message("zeros for the up weight must give zeros", "up 权重为零时，结果必须为零"),
        pattern=ACT,
    ),
    Mistake(
        "gate_not_used",
        {"join": lambda gate, up: up},
        Message("the gate is never used: it is two linear maps", "门没有用上：只是两次线性映射"),
        GATE,
        pattern=r"@|linear|dot",
    ),
    Mistake(
        "gate_used_twice",
        {"weights": lambda gate, up, down: (gate, gate, down)},
        Message("both branches use the gate's weight", "两个分支用的都是门的权重"),
        GATE,
        pattern=r"@|linear|dot",
    ),
    Mistake(
        "up_used_twice",
        {"weights": lambda gate, up, down: (up, up, down)},
        Message("both branches use the up weight", "两个分支用的都是 up 的权重"),
        GATE,
        pattern=r"@|linear|dot",
    ),
    Mistake(
        "branches_added",
        {"join": lambda gate, up: gate + up},
        Message("gate and up are added", "gate 与 up 相加了"),
        Message("multiply them element by element", "应逐元素相乘"),
        pattern=r"\+",
    ),
    Mistake(
        "first_maps_alone",
        {"down": lambda hidden, weight, bias: hidden},
        Message("the last map is missing: the answer is as wide as the inside", "缺少最后一次映射：输出与中间层同宽"),
        USE,
        pattern=r"return",
    ),
    Mistake(
        "residual_added",
        {"finish": lambda answer, x, activation: answer + x},
        Message("x is added to the answer: the residual belongs to the block around it", "结果里加上了 x：残差属于外面的块"),
        Message("return the feed-forward alone", "只返回前馈网络的结果"),
        pattern=r"\+ *x|x *\+|\+=",
    ),
    Mistake(
        "sigmoid_for_silu",
        {"activation": sigmoid},
        Message(
            "the gate is sigmoid(x @ gateᵀ), that of the first GLU: the factor x @ gateᵀ is missing",
            "门用的是 sigmoid(x @ gateᵀ)，即最早的 GLU：少乘了 x @ gateᵀ",
        ),
        SILU,
        pattern=r"sigmoid|exp",
    ),
    Mistake(
        "exponent_sign",
        {"activation": lambda x: x * sigmoid(-x)},
        Message("the sign inside the sigmoid is wrong: x · sigmoid(-x)", "sigmoid 里的符号反了：x · sigmoid(-x)"),
        SILU,
        pattern=r"exp|sigmoid",
    ),
    Mistake(
        "tanh_for_silu",
        {"activation": numpy.tanh},
        Message("the gate's activation is tanh", "门的激活函数用了 tanh"),
        SILU,
        pattern=r"tanh",
    ),
    Mistake(
        "softmax_for_silu",
        {"activation": _softmax},
        Message("the gate's activation is a softmax over the inside", "门的激活函数用了中间层上的 softmax"),
        SILU,
        pattern=r"softmax|sum",
    ),
    Mistake(
        "relu_for_silu",
        {"activation": relu},
        Message("the gate's activation is ReLU (ReGLU)", "门的激活函数用了 ReLU（ReGLU）"),
        SILU,
        pattern=r"relu|max",
    ),
    Mistake(
        "gelu_for_silu",
        {"activation": gelu},
        Message("the gate's activation is GELU (GEGLU)", "门的激活函数用了 GELU（GEGLU）"),
        SILU,
        pattern=r"gelu|erf",
    ),
    Mistake(
        "gelu_tanh_for_silu",
        {"activation": gelu_tanh},
        Message("the gate's activation is GELU in its tanh form (GEGLU)", "门的激活函数用了 tanh 形式的 GELU（GEGLU）"),
        SILU,
        pattern=r"gelu|tanh",
    ),
    Mistake(
        "quick_gelu_for_silu",
        {"activation": quick_gelu},
        Message("the gate's activation is x · sigmoid(1.702 x)", "门的激活函数用了 x · sigmoid(1.702 x)"),
        SILU,
        pattern=r"1\.70",
    ),
    Mistake(
        "gate_reshaped",
        {"gate": _turned_by_reshape},
        Message("the gate's weight is reshaped where it must be transposed", "门的权重用 reshape 代替了转置"),
        Message("use weight.T", "使用 weight.T"),
        pattern=r"reshape|view",
    ),
    Mistake(
        "all_reshaped",
        {
            "gate": _turned_by_reshape,
            "up": _turned_by_reshape,
            "down": lambda hidden, weight, bias: add(_turned_by_reshape(hidden, weight), bias),
        },
        Message("the weights are reshaped where they must be transposed", "权重用 reshape 代替了转置"),
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
            "the tokens are summed inside: what one token gets depends on the others",
            "中间把各词元加在了一起：一个词元的结果取决于别的词元",
        ),
        Message("every position is treated alone", "每个位置单独处理"),
        hides=Message("a single token does not show it", "只有一个词元时看不出来"),
        pattern=r"sum|einsum",
    ),
)
