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
)
ANGLES = (
    Convention(),
    Convention(
        Message("cos and sin are as wide as x, in two equal halves", "cos 与 sin 与 x 同宽，由相同的两半组成"),
        encode=_with_angles(lambda each: concatenate(each, each)),
        role="cos",
    ),
    Convention(
        Message("cos and sin are as wide as x, with each element repeated twice", "cos 与 sin 与 x 同宽，每个元素重复两次"),
        encode=_with_angles(lambda each: numpy.repeat(each, 2, axis=-1)),
        role="cos",
    ),
    Convention(
        Message(
            "cos and sin have shape (batch, seq_len, head_dim), in two equal halves",
            "cos 与 sin 的形状为 (batch, seq_len, head_dim)，由相同的两半组成",
        ),
        encode=_with_angles(lambda each: concatenate(each, each)[None]),
        role="cos",
    ),
    Convention(Message("takes complex numbers cos + i·sin", "接收复数 cos + i·sin"), encode=_as_complex, role="freqs_cis"),
    Convention(Message("takes angles in radians", "接收弧度制的角度"), encode=_as_angles, role="angles"),
)
POSITIONS = (
    Convention(),
    Convention(Message("offset is a slice of positions", "offset 是位置的切片"), encode=_as_slice, role="offset"),
    Convention(
        Message("positions have shape (batch, seq_len)", "positions 的形状为 (batch, seq_len)"), encode=_per_sequence, role="positions"
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
