"""Correct ways to write rotary positions: the layout of the pairs, the order of the axes, and the form of the angles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from headway.practice.exercise import Convention, Inputs
from headway.practice.exercises.rotary.steps import concatenate, even_and_odd, halves, interleave
from headway.practice.message import Message


def _each(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function that applies `change` to an array, or to each array of a tuple."""
    return lambda answer: tuple(map(change, answer)) if isinstance(answer, tuple) else change(answer)


def _is_array(value: Any) -> bool:
    return isinstance(value, numpy.ndarray) and value.ndim > 0


def _operands(change: Callable[[Any], Any]) -> Callable[[Inputs], Inputs]:
    return lambda inputs: inputs | {name: change(inputs[name]) for name in ("x", "key") if inputs.get(name) is not None}


def _single_precision(answer: Any, inputs: Inputs) -> Any:
    """Cast to float32: angles in float32 are as correct as in float64."""
    return _each(lambda each: each.astype(numpy.float32) if _is_array(each) and each.dtype == numpy.float64 else each)(answer)


def _in_halves(answer: Any, inputs: Inputs) -> Any:
    return _each(lambda each: concatenate(*even_and_odd(each)) if _is_array(each) else each)(answer)


def _heads_last(x: Any) -> Any:
    return x.swapaxes(1, 2) if _is_array(x) and x.ndim == 4 else x


def _positions_third(x: Any) -> Any:
    return x.swapaxes(-3, -2) if _is_array(x) and x.ndim > 2 else x


def _tables(change: Callable[[Any, Any], Any]) -> Callable[[Inputs], Inputs]:
    """Return an encoding that applies `change` to the tables of cosines and sines, and to x for its shape."""

    def encode(inputs: Inputs) -> Inputs:
        if inputs.get("cos") is None:
            return inputs
        return inputs | {name: change(inputs[name], inputs["x"]) for name in ("cos", "sin")}

    return encode


def _joined(join: Callable[[Any, Any], Any]) -> Callable[[Inputs], Inputs | None]:
    """Return an encoding that passes cosines and sines as one argument."""

    def encode(inputs: Inputs) -> Inputs | None:
        if inputs.get("cos") is None:
            return None
        rest = {name: value for name, value in inputs.items() if name not in ("cos", "sin")}
        return rest | {"tables": join(inputs["cos"], inputs["sin"])}

    return encode


def _as_complex(cos: Any, sin: Any) -> Any:
    return cos + 1j * sin


def _with_positions(is_batched: bool) -> Callable[[Inputs], Inputs | None]:
    """Return an encoding that also passes the positions of the rows of the given tables."""

    def encode(inputs: Inputs) -> Inputs | None:
        if inputs.get("cos") is None or inputs.get("positions") is not None:
            return inputs
        positions = numpy.arange(inputs["x"].shape[-2])
        if not is_batched:
            return inputs | {"positions": positions}
        return inputs | {"positions": numpy.broadcast_to(positions, (len(inputs["x"]), len(positions)))} if inputs["x"].ndim > 2 else None

    return encode


def _as_slice(inputs: Inputs) -> Inputs:
    return (
        inputs if inputs.get("offset") is None else inputs | {"offset": slice(inputs["offset"], inputs["offset"] + inputs["x"].shape[-2])}
    )


def _per_sequence(inputs: Inputs) -> Inputs:
    positions = inputs.get("positions")
    return inputs if positions is None else inputs | {"positions": numpy.asarray(positions)[None]}


PRECISION = (Convention(decode=_single_precision),)
LAYOUT = (
    Convention(
        Message(
            "pairs coordinate i with i + head_dim/2 (halves, as in Hugging Face's Llama)",
            "把坐标 i 与 i + head_dim/2 配对（两半，与 Hugging Face 的 Llama 相同）",
        )
    ),
    Convention(
        Message(
            "pairs coordinate 2i with 2i + 1 (interleaved, as in Su et al. 2021)",
            "把坐标 2i 与 2i + 1 配对（相邻，与 Su 等 2021 的论文相同）",
        ),
        encode=_operands(lambda x: interleave(*halves(x))),
        decode=_in_halves,
    ),
)
AXES = (
    Convention(),
    Convention(
        Message(
            "expects x as (batch, seq_len, heads, head_dim), with positions along axis 1; for (batch, heads, seq_len, head_dim) it rotates by head instead of by position",
            "x 应为 (batch, seq_len, heads, head_dim)，位置沿第 1 轴；若传入 (batch, heads, seq_len, head_dim)，则会按头而不是按位置旋转",
        ),
        encode=_operands(_heads_last),
        decode=lambda answer, inputs: _each(_heads_last)(answer),
        role="x",
    ),
    Convention(
        Message(
            "expects x as (…, seq_len, heads, head_dim), with positions along axis -3",
            "x 应为 (…, seq_len, heads, head_dim)，位置沿第 -3 轴",
        ),
        encode=_operands(_positions_third),
        decode=lambda answer, inputs: _each(_positions_third)(answer),
        role="x",
    ),
    Convention(
        Message(
            "expects x as (seq_len, batch, heads, head_dim), with positions along axis 0",
            "x 应为 (seq_len, batch, heads, head_dim)，位置沿第 0 轴",
        ),
        encode=_operands(lambda x: x.transpose(2, 0, 1, 3) if x.ndim == 4 else x),
        decode=lambda answer, inputs: _each(lambda x: x.transpose(1, 2, 0, 3) if _is_array(x) and x.ndim == 4 else x)(answer),
        role="x",
        source=r"[\[(`] *seq\w* *[,x×] *(batch|bs|b|n)\w*|^\s*seq\w*, *(batch|bs?)\w*,[^\n]*= *\w+\.(shape|size)",
    ),
)
TURNS = (
    Convention(),
    Convention(
        Message(
            "rotates pairs by -θ instead of θ: scores depend on the same distances, but weights trained with the other direction do not fit",
            "成对坐标旋转 -θ 而不是 θ：分数仍只取决于距离，但与按另一方向训练的权重不兼容",
        ),
        steps={"turn": lambda a, b, cos_a, cos_b, sin_a, sin_b: (a * cos_a + b * sin_a, b * cos_b - a * sin_b)},
        source=r"\(\s*-\s*(self\.)?\w*sin",
    ),
)
WIDTHS = (
    Convention(),
    Convention(
        Message("cos and sin are as wide as x, in two equal halves", "cos 与 sin 与 x 同宽，由相同的两半组成"),
        encode=_tables(lambda each, x: concatenate(each, each)),
    ),
    Convention(
        Message("cos and sin are as wide as x, with each element repeated twice", "cos 与 sin 与 x 同宽，每个元素重复两次"),
        encode=_tables(lambda each, x: numpy.repeat(each, 2, axis=-1)),
    ),
)


def _shaped(name: str, change: Callable[[Any, Any], Any]) -> Convention:
    return Convention(Message(f"the tables have shape {name}", f"表的形状为 {name}"), encode=_tables(change))


SHAPES = (
    Convention(),
    _shaped("(1, seq_len, …)", lambda each, x: each[None]),
    _shaped("(batch, seq_len, …)", lambda each, x: numpy.repeat(each[None], len(x), 0) if x.ndim > 2 else each),
    _shaped("(1, 1, seq_len, …)", lambda each, x: each[None, None]),
    _shaped("(1, seq_len, 1, …)", lambda each, x: each[None, :, None]),
    _shaped("(seq_len, 1, …)", lambda each, x: each[:, None]),
    _shaped("(seq_len, 1, 1, …)", lambda each, x: each[:, None, None]),
)
FORMS = (
    Convention(),
    Convention(Message("takes complex numbers cos + i·sin", "接收复数 cos + i·sin"), encode=_joined(_as_complex), role="tables"),
    Convention(
        Message("takes cosine and sine stacked along the last axis", "cos 与 sin 沿最后一轴叠放"),
        encode=_joined(lambda cos, sin: numpy.stack([cos, sin], -1)),
        role="tables",
    ),
    Convention(
        Message("takes cosine and sine joined along the last axis", "cos 与 sin 沿最后一轴拼接"),
        encode=_joined(concatenate),
        role="tables",
    ),
    Convention(
        Message("takes cosine and sine stacked along the first axis", "cos 与 sin 沿第一轴叠放"),
        encode=_joined(lambda cos, sin: numpy.stack([cos, sin])),
        role="tables",
    ),
    Convention(
        Message("takes cosine and sine as a tuple", "cos 与 sin 以元组传入"), encode=_joined(lambda cos, sin: (cos, sin)), role="tables"
    ),
    Convention(
        Message("takes angles in radians", "接收弧度制的角度"),
        encode=_joined(lambda cos, sin: numpy.arctan2(sin, cos)),
        role="tables",
    ),
)
POSITIONS = (
    Convention(),
    Convention(Message("offset is a slice of positions", "offset 是位置的切片"), encode=_as_slice, role="offset"),
    Convention(
        Message("positions have shape (batch, seq_len)", "positions 的形状为 (batch, seq_len)"), encode=_per_sequence, role="positions"
    ),
    Convention(encode=_with_positions(False), role="positions"),
    Convention(encode=_with_positions(True), role="positions"),
    Convention(
        Message("offset has one value per sequence", "offset 为每个序列各有一个值"),
        encode=lambda inputs: inputs | {"offset": numpy.full(len(inputs["x"]), inputs.get("offset") or 0)},
        role="offset",
    ),
)
BASES = (
    Convention(),
    Convention(
        Message("checked with the base 10000, which is not its default", "检查时传入的底数是 10000，与它的默认值不同"),
        encode=lambda inputs: {"theta": 10000.0} | inputs,
        role="theta",
    ),
)
