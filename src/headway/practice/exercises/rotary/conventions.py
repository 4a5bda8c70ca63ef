"""The right ways to write rotary positions: how pairs lie, where the heads are, what is given of the angles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from headway.practice.exercise import Convention, Inputs
from headway.practice.exercises.rotary.steps import by_turns, concatenate, halves, interleave
from headway.practice.message import Message


def _each(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The change of an array, or of each of a tuple's."""
    return lambda answer: tuple(map(change, answer)) if isinstance(answer, tuple) else change(answer)


def _is_array(value: Any) -> bool:
    return isinstance(value, numpy.ndarray) and value.ndim > 0


def _operands(change: Callable[[Any], Any]) -> Callable[[Inputs], Inputs]:
    return lambda inputs: inputs | {name: change(inputs[name]) for name in ("x", "key") if inputs.get(name) is not None}


def _single_precision(answer: Any, inputs: Inputs) -> Any:
    """Angles in float32 are as right as in float64."""
    return _each(lambda each: each.astype(numpy.float32) if _is_array(each) and each.dtype == numpy.float64 else each)(answer)


def _in_halves(answer: Any, inputs: Inputs) -> Any:
    return _each(lambda each: concatenate(*by_turns(each)) if _is_array(each) else each)(answer)


def _heads_last(x: Any) -> Any:
    return x.swapaxes(1, 2) if _is_array(x) and x.ndim == 4 else x


def _with_angles(change: Callable[[Any], Any]) -> Callable[[Inputs], Inputs]:
    return lambda inputs: inputs | {name: change(inputs[name]) for name in ("cos", "sin") if inputs.get(name) is not None}


def _as_complex(inputs: Inputs) -> Inputs | None:
    if inputs.get("cos") is None:
        return None
    rest = {name: value for name, value in inputs.items() if name not in ("cos", "sin")}
    return rest | {"freqs_cis": inputs["cos"] + 1j * inputs["sin"]}


def _as_angles(inputs: Inputs) -> Inputs | None:
    if inputs.get("cos") is None:
        return None
    rest = {name: value for name, value in inputs.items() if name not in ("cos", "sin")}
    return rest | {"angles": numpy.arctan2(inputs["sin"], inputs["cos"])}


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
            "it pairs coordinate i with i + head_dim/2 (halves, as Hugging Face's Llama)",
            "它把坐标 i 与 i + head_dim/2 配对（两半，与 Hugging Face 的 Llama 相同）",
        )
    ),
    Convention(
        Message("it pairs coordinate 2i with 2i + 1 (interleaved, as the paper)", "它把坐标 2i 与 2i + 1 配对（相邻，与论文相同）"),
        encode=_operands(lambda x: interleave(*halves(x))),
        decode=_in_halves,
    ),
)
AXES = (
    Convention(),
    Convention(
        Message(
            "its x is (batch, seq_len, heads, head_dim): positions run along axis 1; if yours is (batch, heads, seq_len, head_dim), "
            "it turns heads and not positions",
            "它的 x 为 (batch, seq_len, heads, head_dim)：位置沿第 1 轴；若你的是 (batch, heads, seq_len, head_dim)，它旋转的就是头而不是位置",
        ),
        encode=_operands(_heads_last),
        decode=lambda answer, inputs: _each(_heads_last)(answer),
        role="x",
    ),
)
ANGLES = (
    Convention(),
    Convention(
        Message("its cos and sin are as wide as x, in two equal halves", "它的 cos 与 sin 与 x 同宽，由相同的两半组成"),
        encode=_with_angles(lambda each: concatenate(each, each)),
        role="cos",
    ),
    Convention(
        Message("its cos and sin are as wide as x, each number twice", "它的 cos 与 sin 与 x 同宽，每个数重复两次"),
        encode=_with_angles(lambda each: numpy.repeat(each, 2, axis=-1)),
        role="cos",
    ),
    Convention(
        Message(
            "its cos and sin are (batch, seq_len, head_dim), in two equal halves",
            "它的 cos 与 sin 为 (batch, seq_len, head_dim)，由相同的两半组成",
        ),
        encode=_with_angles(lambda each: concatenate(each, each)[None]),
        role="cos",
    ),
    Convention(Message("its angles are complex numbers cos + i·sin", "它的角度是复数 cos + i·sin"), encode=_as_complex, role="freqs_cis"),
    Convention(Message("it takes angles in radians", "它接收弧度制的角度"), encode=_as_angles, role="angles"),
)
POSITIONS = (
    Convention(),
    Convention(Message("its offset is a slice of positions", "它的 offset 是位置的切片"), encode=_as_slice, role="offset"),
    Convention(Message("its positions are (batch, seq_len)", "它的 positions 为 (batch, seq_len)"), encode=_per_sequence, role="positions"),
)
BASES = (
    Convention(),
    Convention(
        Message("it was told the base 10000, which is not its default", "检查时传入的底数是 10000，与它的默认值不同"),
        encode=lambda inputs: {"theta": 10000.0} | inputs,
        role="theta",
    ),
)
