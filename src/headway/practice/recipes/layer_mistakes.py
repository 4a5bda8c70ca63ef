"""Mistakes in the layers of the original Transformer: residual connections, norms, order, feed-forward, attention."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from headway.practice.exercise import Mistake
from headway.practice.message import Message
from headway.practice.recipes.layers import Add, Pair, Sublayer, layer_norm
from headway.practice.recipes.mask_mistakes import MASKS
from headway.practice.recipes.projection_mistakes import HEADS, OUTPUT, WEIGHTS


def _from_input(x: Any, parts: Sequence[tuple[Sublayer, Sublayer, Add]], sublayer: Callable[..., Any]) -> Any:
    """Start every residual connection at the layer's input."""
    start = x
    for part, norm, add in parts:
        x = sublayer(x, part, norm, lambda _, y, add=add: add(start, y))
    return x


def _parallel(x: Any, parts: Sequence[tuple[Sublayer, Sublayer, Add]], sublayer: Callable[..., Any]) -> Any:
    return x + sum(part(norm(x)) for part, norm, _ in parts)


def _parallel_post(x: Any, parts: Sequence[tuple[Sublayer, Sublayer, Add]], sublayer: Callable[..., Any]) -> Any:
    return parts[-1][1](x + sum(part(x) for part, _, _ in parts))


def _normed_residual(x: Any, part: Sublayer, norm: Sublayer, add: Add) -> Any:
    normed = norm(x)
    return add(normed, part(normed))


def _without(place: int) -> Callable[[int], Add]:
    return lambda index: (lambda x, y: y) if index == place else (lambda x, y: x + y)


def _bare(place: int) -> Callable[[list[Sublayer]], list[Sublayer]]:
    return lambda norms: [(lambda x: x) if each == place else norm for each, norm in enumerate(norms)]


def _moved(places: Sequence[int], *, with_norms: bool) -> Callable[[list[Pair]], list[Pair]]:
    def order(pairs: list[Pair]) -> list[Pair]:
        return [(pairs[place][0], pairs[place if with_norms else now][1]) for now, place in enumerate(places)]

    return order


UPDATE = Message(
    "write x = norm(x + sublayer(x)), or x = x + sublayer(norm(x)), for one sublayer after another",
    "逐个子层执行 x = norm(x + sublayer(x))，或 x = x + sublayer(norm(x))",
)
FRESH = Message("with initial weights (1 and 0) all norms are equal", "初始权重（1 与 0）下各个归一化相同")
NORM = r"norm|ln"


def wiring(parts: Sequence[Message]) -> tuple[Mistake, ...]:
    """Return the mistakes between sublayers with these names."""
    count = len(parts)
    return (
        *(
            Mistake(
                f"residual_{place + 1}_missing",
                {"add": _without(place)},
                Message(f"x is not added to the output of {name.en}", f"没有把 x 加到{name.zh}的输出上"),
                UPDATE,
                pattern=r"norm|att|ff|mlp|feed",
            )
            for place, name in enumerate(parts)
        ),
        Mistake(
            "residuals_missing",
            {"add": lambda place: lambda x, y: y},
            Message(
                "the residual connections are missing: x is never added to the outputs of the sublayers",
                "没有残差：没有把 x 加到各子层的输出上",
            ),
            UPDATE,
            pattern=r"norm|att|ff|mlp|feed",
        ),
        Mistake(
            "residual_from_input",
            {"wire": _from_input},
            Message(
                "every residual connection adds the layer's input: the outputs of earlier sublayers are lost",
                "每个残差加的都是该层的输入：前面子层的输出丢失了",
            ),
            Message("update x (or residual = x) after every sublayer", "每个子层之后都要更新 x（或 residual = x）"),
            pattern=r"\+|residual|_x",
        ),
        Mistake(
            "residual_from_normalised",
            {"sublayer": _normed_residual},
            Message(
                "the residual connection starts after the norm: adds norm(x) instead of x",
                "残差取自归一化之后：加上的是 norm(x)，而不是 x",
            ),
            Message(
                "keep x: x = x + sublayer(norm(x)), with the norm's output in another variable",
                "保留 x：x = x + sublayer(norm(x))，归一化结果用另一个变量名",
            ),
            pattern=NORM,
        ),
        Mistake(
            "parts_normalised_afterwards",
            {"sublayer": lambda x, part, norm, add: add(x, norm(part(x)))},
            Message(
                "the norms apply to the sublayers' outputs before x is added: neither post-norm nor pre-norm",
                "归一化作用在各子层的输出上，之后才加 x：既不是 post-norm 也不是 pre-norm",
            ),
            UPDATE,
            pattern=NORM,
        ),
        Mistake(
            "norms_missing",
            {"norms": lambda norms: [lambda x: x] * len(norms)},
            Message("the norms are missing: only x is added", "没有归一化：只做了残差相加"),
            UPDATE,
            pattern=r"return",
        ),
        *(
            Mistake(
                f"norm_{place + 1}_missing",
                {"norms": _bare(place)},
                Message(f"the norm of {name.en} has no effect", f"{name.zh}的归一化没有用上"),
                UPDATE,
                pattern=NORM,
            )
            for place, name in enumerate(parts)
        ),
        *(
            Mistake(
                f"norm_{place + 1}_for_all",
                {"norms": lambda norms, place=place: [norms[place]] * len(norms)},
                Message("one norm is used everywhere: the weights of the others are not used", "各处共用了一个归一化：其余的权重没有用上"),
                Message("use each sublayer's own norm", "每个子层用自己的归一化"),
                hides=FRESH,
                pattern=NORM,
                said_as="norm_shared",
            )
            for place in range(count)
        ),
        Mistake(
            "in_parallel",
            {"wire": _parallel},
            Message(
                "all sublayers take the layer's input (in parallel); each must take the output of the previous one",
                "各子层都以该层的输入为输入（并行）；每个子层应以上一个子层的结果为输入",
            ),
            UPDATE,
            pattern=r"\+",
        ),
        Mistake(
            "in_parallel_post_norm",
            {"wire": _parallel_post},
            Message(
                "all sublayers take the layer's input (in parallel); each must take the output of the previous one",
                "各子层都以该层的输入为输入（并行）；每个子层应以上一个子层的结果为输入",
            ),
            UPDATE,
            pattern=r"\+",
            said_as="in_parallel",
        ),
        Mistake(
            "variance_of_n_minus_one",
            {"norm": lambda x, weight, bias: layer_norm(x, weight, bias, ddof=1)},
            Message("the norm divides the variance by n - 1; expected n", "归一化的方差除以了 n - 1；应为 n"),
            Message("use unbiased=False, or NumPy's var(…)", "使用 unbiased=False，或 NumPy 的 var(…)"),
            pattern=r"std|var|ddof|unbiased",
        ),
        Mistake(
            "norm_over_all_positions",
            {"norm": _norm_of_all},
            Message("the norm computes mean and variance over all positions together", "归一化对所有位置一起求均值与方差"),
            Message("normalize over the last axis only", "只对最后一轴归一化"),
            pattern=NORM,
        ),
    )


def _norm_of_all(x: Any, weight: Any, bias: Any) -> Any:
    normed = (x - x.mean((-2, -1), keepdims=True)) / numpy.sqrt(x.var((-2, -1), keepdims=True) + 1e-5)
    normed = normed if weight is None else normed * weight
    return normed if bias is None else normed + bias


def moved(name: str, places: Sequence[int], says: Message, fix: Message, pattern: str) -> tuple[Mistake, ...]:
    """Return the mistakes of sublayers in another order, with or without their norms."""
    return (
        Mistake(name, {"order": _moved(places, with_norms=True)}, says, fix, pattern=pattern),
        Mistake(f"{name}_norms_in_place", {"order": _moved(places, with_norms=False)}, says, fix, pattern=pattern, said_as=name),
    )


THINKING = (
    Mistake(
        "activation_missing",
        {"bend": lambda hidden, down, activation: down(hidden)},
        Message("the feed-forward has no activation between its linear layers", "前馈的两个线性层之间没有激活函数"),
        Message("apply the activation between the two linear layers", "在两个线性层之间加激活函数"),
        pattern=r"ff|mlp|feed|linear|fc",
    ),
    Mistake(
        "activation_after_second",
        {"bend": lambda hidden, down, activation: activation(down(hidden))},
        Message("the activation follows the second linear layer instead of the first", "激活函数放在了第二个线性层之后，而不是第一个之后"),
        Message("apply the activation between the two linear layers", "在两个线性层之间加激活函数"),
        pattern=r"relu|gelu|act",
    ),
)


def chosen(mistakes: Sequence[Mistake], *names: str) -> tuple[Mistake, ...]:
    """Return the mistakes with these names."""
    return tuple(each for each in mistakes if each.name in names)


ATTENDING = (
    Mistake(
        "scale_missing",
        {"scale": lambda given: 1.0},
        Message("the scores are not scaled by 1/√head_dim", "分数没有乘以 1/√head_dim"),
        Message("divide by √head_dim", "除以 √head_dim"),
        pattern=r"att|mha|@",
    ),
    Mistake(
        "scale_of_whole_width",
        {"scale": lambda given: (given["query"].shape[-1] * given["num_heads"]) ** -0.5},
        Message(
            "the scale is 1/√d_model, the width of all heads together; expected 1/√head_dim",
            "缩放是 1/√d_model，即所有头合起来的宽度；应为 1/√head_dim",
        ),
        Message("divide by √head_dim with head_dim = d_model / num_heads", "除以 √head_dim，其中 head_dim = d_model / num_heads"),
        hides=Message("with one head both are equal", "只有一个头时两者相同"),
        pattern=r"sqrt|\*\* *-?0?\.5",
    ),
    *chosen(HEADS, "heads_viewed_not_split", "heads_viewed_not_merged", "attends_over_heads", "split_before_projecting"),
    *chosen(OUTPUT, "no_output_projection"),
    *chosen(WEIGHTS, "key_from_the_query_projection", "value_from_the_key_projection"),
)
MASKING = chosen(MASKS, "mask_on_rows", "hidden_score_is_zero", "mask_after_softmax")
