"""feed_forward: activation(x @ upᵀ + bias) @ downᵀ + bias."""

from __future__ import annotations

from typing import Any

import numpy

from headway import functions
from headway.functions import FeedForwardWeights, LinearWeights
from headway.practice.diagnosis.compare import Raised
from headway.practice.exercise import Convention, Exercise, Inputs, Mistake, Probe, Recovery, Role
from headway.practice.recipes.activations import gelu, gelu_tanh, relu, sigmoid, silu
from headway.practice.words import Words


def recipe(steps: Any, x: Any, up_weight: Any, down_weight: Any, up_bias: Any = None, down_bias: Any = None) -> Any:
    """The definition in steps: before, weights, up, up_bias, bend (with activation), down, down_bias, finish."""
    up, down = steps.weights(up_weight, down_weight)
    given = steps.before(x, steps.activation)
    hidden = steps.bend(steps.up_bias(steps.up(given, up), up_bias), steps.activation)
    answer = steps.down_bias(steps.down(steps.middle(hidden, up_bias), down), down_bias)
    return steps.finish(answer, x, steps.activation)


def definition(x: Any, up_weight: Any, down_weight: Any, up_bias: Any = None, down_bias: Any = None) -> Any:
    """headway.functions takes the weights as a tree."""
    return functions.feed_forward(x, FeedForwardWeights(LinearWeights(up_weight, up_bias), LinearWeights(down_weight, down_bias)))


def _add(product: Any, bias: Any) -> Any:
    return product if bias is None else product + bias


STEPS = {
    "before": lambda x, activation: x,
    "weights": lambda up, down: (up, down),
    "up": lambda x, up: x @ up.T,
    "up_bias": _add,
    "activation": relu,
    "bend": lambda hidden, activation: activation(hidden),
    "middle": lambda hidden, bias: hidden,
    "down": lambda hidden, down: hidden @ down.T,
    "down_bias": _add,
    "finish": lambda answer, x, activation: answer,
}

USE = Words("activation(x @ up.T + up_bias) @ down.T + down_bias", "activation(x @ up.T + up_bias) @ down.T + down_bias")
ZERO = Words("biases of zero do not show it", "偏置为零时看不出来")
BETWEEN = Words("bend between the two maps, once", "激活函数放在两次线性映射之间，只用一次")


def _softmax(x: Any) -> Any:
    powers = numpy.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def _normed(x: Any) -> Any:
    return (x - x.mean(-1, keepdims=True)) / numpy.sqrt(x.var(-1, keepdims=True) + 1e-5)


MISTAKES = (
    Mistake(
        "activation_missing",
        {"bend": lambda hidden, activation: hidden},
        Words(
            "there is no activation between the two maps: together they are one linear map",
            "两次映射之间没有激活函数：合起来只是一次线性映射",
        ),
        BETWEEN,
        pattern=r"return|@|dot|matmul|linear",
    ),
    Mistake(
        "activation_after_second",
        {"bend": lambda hidden, activation: hidden, "finish": lambda answer, x, activation: activation(answer)},
        Words("the activation stands behind the second map, not between the two", "激活函数放在了第二次映射之后，而不是两次之间"),
        BETWEEN,
        pattern=r"relu|gelu|silu|max|tanh|return",
    ),
    Mistake(
        "activation_after_both",
        {"finish": lambda answer, x, activation: activation(answer)},
        Words("the activation is applied a second time, to the answer", "对最后的结果又做了一次激活"),
        BETWEEN,
        pattern=r"return",
    ),
    Mistake(
        "activation_before_first",
        {"before": lambda x, activation: activation(x), "bend": lambda hidden, activation: hidden},
        Words("the activation stands in front of the first map, not between the two", "激活函数放在了第一次映射之前，而不是两次之间"),
        BETWEEN,
        pattern=r"relu|gelu|silu|max|tanh",
    ),
    Mistake(
        "up_bias_missing",
        {"up_bias": lambda product, bias: product},
        Words("the first bias is never added", "没有加第一个偏置"),
        USE,
        hides=ZERO,
        pattern=r"@|dot|matmul",
    ),
    Mistake(
        "down_bias_missing",
        {"down_bias": lambda product, bias: product},
        Words("the second bias is never added", "没有加第二个偏置"),
        USE,
        hides=ZERO,
        pattern=r"return|@|dot|matmul",
    ),
    Mistake(
        "biases_missing",
        {"up_bias": lambda product, bias: product, "down_bias": lambda product, bias: product},
        Words("neither bias is added", "两个偏置都没有加"),
        USE,
        hides=ZERO,
        pattern=r"return|@|dot|matmul",
    ),
    Mistake(
        "up_bias_after_activation",
        {"up_bias": lambda product, bias: product, "middle": _add},
        Words("the first bias is added behind the activation", "第一个偏置加在了激活函数之后"),
        USE,
        hides=ZERO,
        pattern=r"\+",
    ),
    Mistake(
        "residual_added",
        {"finish": lambda answer, x, activation: answer + x},
        Words("x is added to the answer: the residual belongs to the block around it", "结果里加上了 x：残差属于外面的块"),
        Words("return the feed-forward alone", "只返回前馈网络的结果"),
        pattern=r"\+ *x|x *\+|\+=",
    ),
    Mistake(
        "normalised_first",
        {"before": lambda x, activation: _normed(x)},
        Words("x is normalised first: that belongs to the block around it", "先对 x 做了归一化：那属于外面的块"),
        Words("return the feed-forward alone", "只返回前馈网络的结果"),
        pattern=r"norm|mean|var|std",
    ),
    Mistake(
        "first_map_alone",
        {"down": lambda hidden, down: hidden, "down_bias": lambda product, bias: product},
        Words("the second map is missing: the answer is as wide as the inside", "缺少第二次映射：输出与中间层同宽"),
        USE,
        pattern=r"return",
    ),
    Mistake(
        "second_map_is_first_transposed",
        {"weights": lambda up, down: (up, up.T)},
        Words("the first weight is used twice: once as it is, once transposed", "第一个权重用了两次：一次原样，一次转置"),
        USE,
        hides=Words("the shapes fit all the same", "形状完全合得上"),
        pattern=r"\.T|@|dot",
    ),
    Mistake(
        "weights_exchanged",
        {"weights": lambda up, down: (down, up)},
        Words("the two weights have changed places", "两个权重互换了位置"),
        USE,
        hides=Words("only where the inside is as wide as x nothing is raised", "只有中间层与 x 同宽时才不会报错"),
        pattern=r"@|dot|matmul",
    ),
    Mistake(
        "up_reshaped",
        {"up": lambda x, up: x @ up.reshape(up.shape[::-1])},
        Words("the first weight is reshaped where it must be transposed", "第一个权重用 reshape 代替了转置"),
        Words("use weight.T", "使用 weight.T"),
        pattern=r"reshape|view",
    ),
    Mistake(
        "down_reshaped",
        {"down": lambda hidden, down: hidden @ down.reshape(down.shape[::-1])},
        Words("the second weight is reshaped where it must be transposed", "第二个权重用 reshape 代替了转置"),
        Words("use weight.T", "使用 weight.T"),
        pattern=r"reshape|view",
    ),
    Mistake(
        "both_reshaped",
        {"up": lambda x, up: x @ up.reshape(up.shape[::-1]), "down": lambda hidden, down: hidden @ down.reshape(down.shape[::-1])},
        Words("both weights are reshaped where they must be transposed", "两个权重都用 reshape 代替了转置"),
        Words("use weight.T", "使用 weight.T"),
        pattern=r"reshape|view",
    ),
    Mistake(
        "sigmoid_for_activation",
        {"activation": sigmoid},
        Words(
            "the activation is a sigmoid: all of it lies between 0 and 1, and nothing far from 0 learns",
            "激活函数用了 sigmoid：取值都在 0 到 1 之间，远离 0 的地方学不动",
        ),
        Words("use ReLU, GELU or SiLU", "使用 ReLU、GELU 或 SiLU"),
        pattern=r"sigmoid|exp",
    ),
    Mistake(
        "tanh_for_activation",
        {"activation": numpy.tanh},
        Words("the activation is tanh: all of it lies between -1 and 1", "激活函数用了 tanh：取值都在 -1 到 1 之间"),
        Words("use ReLU, GELU or SiLU", "使用 ReLU、GELU 或 SiLU"),
        pattern=r"tanh",
    ),
    Mistake(
        "softmax_for_activation",
        {"activation": _softmax},
        Words("the activation is a softmax: the numbers inside compete and sum to 1", "激活函数用了 softmax：中间层的数互相竞争，和为 1"),
        Words("use ReLU, GELU or SiLU", "使用 ReLU、GELU 或 SiLU"),
        pattern=r"softmax|sum",
    ),
    Mistake(
        "absolute_value_for_activation",
        {"activation": numpy.abs},
        Words("the activation is |x|", "激活函数用了 |x|"),
        Words("use ReLU, GELU or SiLU", "使用 ReLU、GELU 或 SiLU"),
        pattern=r"abs",
    ),
    Mistake(
        "minimum_for_maximum",
        {"activation": lambda x: numpy.minimum(x, 0)},
        Words("the activation keeps what is negative: min(x, 0)", "激活函数保留的是负的部分：min(x, 0)"),
        Words("use max(x, 0)", "使用 max(x, 0)"),
        pattern=r"min",
    ),
    Mistake(
        "tokens_summed",
        {"middle": lambda hidden, bias: hidden if hidden.ndim < 2 else numpy.broadcast_to(hidden.sum(-2, keepdims=True), hidden.shape)},
        Words(
            "the tokens are summed inside: what one token gets depends on the others",
            "中间把各词元加在了一起：一个词元的结果取决于别的词元",
        ),
        Words("every position is treated alone", "每个位置单独处理"),
        hides=Words("a single token does not show it", "只有一个词元时看不出来"),
        pattern=r"sum|einsum",
    ),
    Mistake(
        "tokens_averaged",
        {"middle": lambda hidden, bias: hidden if hidden.ndim < 2 else numpy.broadcast_to(hidden.mean(-2, keepdims=True), hidden.shape)},
        Words("the tokens are averaged inside: all get the same answer", "中间对各词元取了平均：所有词元得到同样的结果"),
        Words("every position is treated alone", "每个位置单独处理"),
        hides=Words("a single token does not show it", "只有一个词元时看不出来"),
        pattern=r"mean",
    ),
)


def drawn(random: Any, *shape: int, inner: int = 12) -> Inputs:
    """x and two weights, without biases."""
    size = shape[-1]
    return {
        "x": random.standard_normal(shape),
        "up_weight": random.standard_normal((inner, size)) / size**0.5,
        "down_weight": random.standard_normal((size, inner)) / inner**0.5,
    }


def factor_of(answer: Any, right: Any) -> float | None:
    """The one factor between two arrays; None where there is none."""
    if isinstance(answer, Raised) or numpy.shape(answer) != right.shape or not numpy.isfinite(answer).all():
        return None
    factor = float((answer * right).sum() / (right * right).sum())
    return factor if numpy.abs(answer - factor * right).max() < 1e-5 * numpy.abs(right).max() else None


def _slope(ask: Any) -> list[tuple[Inputs, float]]:
    """By how much the activation rises below 0: x is one number, the inside its negative, and that is the answer."""
    measured = []
    for size in (0.5, 2.0):
        inputs = {
            "x": numpy.array([[size]]),
            "up_weight": -numpy.eye(4)[:, :1],
            "down_weight": numpy.eye(4)[:1],
            "up_bias": numpy.zeros(4),
            "down_bias": numpy.zeros(1),
        }
        answer = ask(inputs)
        if isinstance(answer, Raised) or numpy.shape(answer) != (1, 1):
            return []
        measured.append((inputs, -float(answer[0, 0]) / size))
    return measured if abs(measured[0][1] - measured[1][1]) < 1e-5 and min(abs(measured[0][1] - each) for each in (0, 1, -1)) > 1e-5 else []


def _scale(ask: Any) -> list[tuple[Inputs, float]]:
    """The factor on the answer of a ReLU that lets everything through."""
    random, measured = numpy.random.default_rng(3), []
    for size, inner in ((3, 12), (2, 8)):
        inputs = drawn(random, 4, size, inner=inner)
        inputs = {name: numpy.abs(value) + 8 if name == "x" else numpy.abs(value) for name, value in inputs.items()}
        inputs |= {"up_bias": numpy.zeros(inner), "down_bias": numpy.zeros(size)}
        factor = factor_of(ask(inputs), inputs["x"] @ inputs["up_weight"].T @ inputs["down_weight"].T)
        if factor is None:
            return []
        measured.append((inputs, factor))
    return measured


RECOVERIES = (
    Recovery(
        "slope_below_zero",
        "activation",
        measure=_slope,
        wrong=lambda number_of: lambda x: numpy.where(x > 0, x, number_of({}) * x),
        sizes=lambda inputs: {},
        right=lambda inputs: 0.0,
        right_name="ReLU",
        says=Words(
            "below 0 your activation is {value}{names} · x (a leaky ReLU)", "小于 0 处你的激活函数是 {value}{names} · x（leaky ReLU）"
        ),
        fix=Words("use ReLU, GELU or SiLU", "使用 ReLU、GELU 或 SiLU"),
        pattern=r"leaky|0\.\d+",
    ),
    Recovery(
        "scale",
        "finish",
        measure=_scale,
        wrong=lambda number_of: lambda answer, x, activation: number_of({"x": x}) * answer,
        sizes=lambda inputs: {
            "hidden_size": float(inputs["x"].shape[-1]),
            "seq_len": float(inputs["x"].shape[-2]) if inputs["x"].ndim > 1 else 1.0,
        },
        right=lambda inputs: 1.0,
        right_name="1",
        says=Words("your answer is {value}{names} times the right one", "你的结果是正确值的 {value}{names} 倍"),
        fix=USE,
        pattern=r"\*|/|sqrt",
    ),
)

QUIET = Words("", "")
VECTOR = Words("a single vector", "单个向量")
BATCH = Words("more than one leading axis", "多于一个的前导轴")


def probes() -> tuple[Probe, ...]:
    """Without and with biases; rows, a vector, three axes, an inside as wide as x, numbers below 0 alone."""
    random = numpy.random.default_rng(12)

    def biased(*shape: int, inner: int = 12) -> Inputs:
        return drawn(random, *shape, inner=inner) | {
            "up_bias": random.standard_normal(inner),
            "down_bias": random.standard_normal(shape[-1]),
        }

    return (
        Probe("rows", drawn(random, 5, 3)),
        Probe("vector", drawn(random, 3), VECTOR),
        Probe("three axes", drawn(random, 2, 5, 3), BATCH),
        Probe("as wide inside", drawn(random, 5, 4, inner=4), QUIET),
        Probe("rows with biases", biased(5, 3)),
        Probe("zeros with biases", biased(5, 3) | {"x": numpy.zeros((5, 3))}),
        Probe("vector with biases", biased(3), VECTOR),
        Probe("three axes with biases", biased(2, 5, 3), BATCH),
        Probe("as wide inside, with biases", biased(4, 4, inner=4), QUIET),
    )


def _layers(inputs: Inputs) -> Inputs:
    """As GPT-2's parameters come: {"w": (in, out), "b": (out,)}."""
    layers = {
        f"{name}_weight": {
            "w": inputs[f"{name}_weight"].T,
            "b": inputs.get(f"{name}_bias", numpy.zeros(len(inputs[f"{name}_weight"]))),
        }
        for name in ("up", "down")
    }
    return {name: value for name, value in inputs.items() if not name.endswith("_bias")} | layers


def turned(*names: str) -> Any:
    """Weights as (in, out)."""
    return lambda inputs: inputs | {name: numpy.ascontiguousarray(inputs[name].T) for name in names if inputs.get(name) is not None}


ACTIVATIONS = (
    (Words("its activation is ReLU", "它的激活函数是 ReLU"), relu),
    (Words("its activation is GELU, the exact form", "它的激活函数是 GELU（精确形式）"), gelu),
    (Words("its activation is GELU, the tanh form", "它的激活函数是 GELU（tanh 形式）"), gelu_tanh),
    (Words("its activation is SiLU", "它的激活函数是 SiLU"), silu),
)

EXERCISE = Exercise(
    name="feed_forward",
    title=Words("feed-forward layer (MLP)", "前馈网络（MLP）"),
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(
        Role("x", ("input", "inputs", "h", "hidden", "hidden_states", "in_features", "z")),
        Role(
            "up_weight",
            (
                "w1",
                "w_1",
                "w_up",
                "up",
                "w_in",
                "w_fc",
                "fc1_weight",
                "fc1",
                "c_fc",
                "wi",
                "w_i",
                "weight1",
                "w1_weight",
                "up_proj",
                "linear1_weight",
                "c_fc_w",
            ),
            is_weight=True,
            held_as=("fc1", "linear1", "up", "in", "first", "w1", "wi"),
        ),
        Role(
            "up_bias",
            ("b1", "b_1", "b_up", "b_in", "fc1_bias", "bias1", "up_b", "b_fc", "linear1_bias", "c_fc_b"),
            is_weight=True,
            is_optional=True,
        ),
        Role(
            "down_weight",
            (
                "w2",
                "w_2",
                "w_down",
                "down",
                "w_out",
                "w_proj",
                "fc2_weight",
                "fc2",
                "c_proj",
                "wo",
                "w_o",
                "weight2",
                "w2_weight",
                "down_proj",
                "linear2_weight",
                "c_proj_w",
            ),
            is_weight=True,
            held_as=("fc2", "linear2", "down", "out", "second", "w2", "wo"),
        ),
        Role(
            "down_bias",
            ("b2", "b_2", "b_down", "b_out", "fc2_bias", "bias2", "down_b", "b_proj", "linear2_bias", "c_proj_b"),
            is_weight=True,
            is_optional=True,
        ),
        Role("activation", ("act", "act_fn", "activation_fn", "nonlinearity", "act_layer"), neutral=lambda inputs: lambda x: x * (x > 0)),
        Role(
            "hidden_size",
            ("d_model", "dim", "d", "emb_dim", "n_embd", "embed_dim", "embed_size", "model_dim", "d_in", "input_dim", "n_embed"),
            is_size=True,
            size_of=lambda inputs: inputs["x"].shape[-1] if "x" in inputs else None,
        ),
        Role(
            "intermediate_size",
            (
                "d_ff",
                "hidden_dim",
                "ff_dim",
                "d_hidden",
                "dim_feedforward",
                "d_inner",
                "n_inner",
                "ffn_dim",
                "dim_ff",
                "inner_dim",
                "hidden",
                "d_hid",
            ),
            is_size=True,
            size_of=lambda inputs: inputs["up_weight"].shape[0] if "up_weight" in inputs else None,
        ),
        Role("has_bias", ("bias", "use_bias", "add_bias"), is_size=True, size_of=lambda inputs: "up_bias" in inputs),
    ),
    called=r"^(?!.*(gated|glu|swi|llama|qwen|gemma|mistral|moe|expert|back|grad|block|layer_?norm|sublayer|mixer)).*(feed_?forward|ffn|mlp|position_?wise|^ff$)",
    probes=probes,
    mistakes=MISTAKES,
    conventions=(
        (
            Convention(),
            Convention(
                Words("your weights are (in, out): x @ weight", "你的权重是 (in, out)：x @ weight"),
                turned("up_weight", "down_weight"),
                undo=turned("up_weight", "down_weight"),
                role="up_weight",
            ),
            Convention(
                Words("your layers are dicts of w (in, out) and b", "你的层是字典：w (in, out) 与 b"),
                _layers,
                role="up_weight",
                named=r"^(?!held_).*(fc|layer|params)",
                without="up_bias",
            ),
        ),
        tuple(Convention(name, steps={"activation": activation} if activation is not relu else {}) for name, activation in ACTIVATIONS),
    ),
    recoveries=RECOVERIES,
    related=("gated_feed_forward",),
    equation="feed_forward(x) = activation(x @ upᵀ + up_bias) @ downᵀ + down_bias",
    hints=(
        Words("Widen, bend, and narrow again; every position alone.", "先变宽，再激活，再变窄；每个位置单独处理。"),
        Words("Two linear maps with one activation between them.", "两次线性映射，中间一次激活。"),
        Words("activation(x @ up.T + up_bias) @ down.T + down_bias", "activation(x @ up.T + up_bias) @ down.T + down_bias"),
    ),
)
