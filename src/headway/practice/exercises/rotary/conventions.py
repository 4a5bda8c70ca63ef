"""Correct ways to write rotary positions: the layout of the pairs, the order of the axes, and the form of the angles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy

from headway.practice.exercise import Convention, Inputs, optional
from headway.practice.exercises.rotary.steps import concatenate, even_and_odd, halves, interleave
from headway.practice.message import Message
from headway.practice.recipes.conventions import SEVERAL_VALUES
from headway.practice.recipes.encoding import without
from headway.practice.recipes.rotary_forms import COSINES, RETURNS_SINE_FIRST, held_tables
from headway.practice.texts import Texts

TEXTS = Texts("rotary")


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


def _leading_merged(x: Any) -> Any:
    return x.reshape(-1, *x.shape[-2:]) if _is_array(x) and x.ndim != 3 else x


def _as_given(answer: Any, inputs: Inputs) -> Any:
    return _each(lambda x: x.reshape(*inputs["x"].shape[:-2], *x.shape[-2:]) if _is_array(x) and x.ndim == 3 else x)(answer)


def _tables(change: Callable[[Any, Any], Any]) -> Callable[[Inputs], Inputs]:
    """Return an encoding that applies `change` to the tables of cosines and sines, and to x for its shape."""

    return lambda inputs: (
        inputs if inputs.get("cos") is None else inputs | {name: change(inputs[name], inputs["x"]) for name in ("cos", "sin")}
    )


def _joined(join: Callable[[Any, Any], Any], role: str = "tables") -> Callable[[Inputs], Inputs | None]:
    """Return an encoding that passes cosines and sines as one argument."""

    return lambda inputs: None if inputs.get("cos") is None else without(inputs, "cos", "sin") | {role: join(inputs["cos"], inputs["sin"])}


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


def _of_each_sequence(inputs: Inputs) -> Inputs | None:
    """Return the inputs with a row of positions for each sequence of the batch; None without a batch."""
    positions, x = inputs.get("positions"), inputs["x"]
    if positions is None:
        return inputs
    return inputs | {"positions": numpy.repeat(numpy.asarray(positions)[None], len(x), 0)} if x.ndim > 2 else None


PRECISION = (Convention(decode=_single_precision),)
LAYOUT = (
    Convention(TEXTS["halves"]),
    Convention(TEXTS["interleaved"], encode=_operands(lambda x: interleave(*halves(x))), decode=_in_halves),
    Convention(TEXTS["by_turns_in_halves_out"], encode=_operands(lambda x: interleave(*halves(x))), source=r"cat|hstack"),
)
BATCHED = Convention(
    TEXTS["expects_x_batch_seq_len"],
    encode=_operands(_leading_merged),
    decode=_as_given,
    role="x",
    source=r"(shape\[|size\()1[\])]|^ *\w+, *\w+, *\w+ *= *\w+\.(shape|size\(\))",
)
JOINS_THIRD = r"(collapse\([^\n]*, *|flatten\((start_dim *= *)?)2 *\)"
"""Pattern of the source of a function that joins the pairs of an array of three axes."""

AXES = optional(
    Convention(
        TEXTS["positions_before_heads"], encode=_operands(_heads_last), decode=lambda answer, inputs: _each(_heads_last)(answer), role="x"
    ),
    Convention(
        TEXTS["expects_x_seq_len_heads_head"],
        encode=_operands(_positions_third),
        decode=lambda answer, inputs: _each(_positions_third)(answer),
        role="x",
    ),
    Convention(
        TEXTS["expects_x_seq_len_batch_heads"],
        encode=_operands(lambda x: x.transpose(2, 0, 1, 3) if x.ndim == 4 else x),
        decode=lambda answer, inputs: _each(lambda x: x.transpose(1, 2, 0, 3) if _is_array(x) and x.ndim == 4 else x)(answer),
        role="x",
        source=r"[\[(`] *seq\w* *[,x×] *(batch|bs|b|n)\w*|^\s*seq\w*, *(batch|bs?)\w*,[^\n]*= *\w+\.(shape|size)",
    ),
    BATCHED,
    replace(BATCHED, source=JOINS_THIRD, file_source=r"(?m)^ *\w+, *\w+, *\w+ *= *(q|queries|query|x|xq)\.(shape|size\(\))"),
)
TURNS = optional(
    Convention(
        TEXTS["rotates_pairs_instead_scores_depend_same"],
        steps={"turn": lambda a, b, cos_a, cos_b, sin_a, sin_b: (a * cos_a + b * sin_a, b * cos_b - a * sin_b)},
        source=r"\(\s*-\s*(self\.)?\w*sin|\by1 *=[^\n]*\+[^\n]*\n\s*y2 *=",  # as in modded-nanogpt
    )
)
IN_HALVES, REPEATED = TEXTS["wide_halves"], TEXTS["wide_repeated"]
WIDTHS = optional(
    Convention(IN_HALVES, encode=_tables(lambda each, x: concatenate(each, each))),
    Convention(REPEATED, encode=_tables(lambda each, x: numpy.repeat(each, 2, axis=-1))),
)


def _shaped(name: str, change: Callable[[Any, Any], Any]) -> Convention:
    return Convention(TEXTS["tables_have_shape"].format(shape=name), encode=_tables(change))


SHAPES = optional(
    _shaped("(1, seq_len, …)", lambda each, x: each[None]),
    _shaped("(batch, seq_len, …)", lambda each, x: numpy.repeat(each[None], len(x), 0) if x.ndim > 2 else each),
    _shaped("(1, 1, seq_len, …)", lambda each, x: each[None, None]),
    _shaped("(1, seq_len, 1, …)", lambda each, x: each[None, :, None]),
    _shaped("(seq_len, 1, …)", lambda each, x: each[:, None]),
    _shaped("(seq_len, 1, 1, …)", lambda each, x: each[:, None, None]),
)
SINE_FIRST, COSINE_FIRST = r"^sin_?cos", r"^(?!sin_?cos)"
"""Patterns of the names of a parameter for both tables that say which one comes first."""

NEVER_COSINE_FIRST = (
    r"\A(?![\s\S]*((return|stack|cat|concatenate)\b[^\n+*]*cos[^\n+*]*,[^\n+*]*sin|(?<!\w)[(\[]\s*\w*cos\w*, *\w*sin\w*\s*[)\]]))"
)
"""Pattern of the source of a file that puts no cosines before sines into one value."""


def _as_one(says: Message, join: Callable[[Any, Any], Any], named: str = COSINE_FIRST) -> Convention:
    return Convention(says, encode=_joined(join), role="tables", named=named)


FORMS = optional(
    _as_one(TEXTS["complex_table"], lambda cos, sin: cos + 1j * sin),
    _as_one(TEXTS["takes_cosine_sine_stacked_along_last"], lambda cos, sin: numpy.stack([cos, sin], -1)),
    _as_one(TEXTS["takes_cosine_sine_joined_along_last"], concatenate),
    _as_one(TEXTS["takes_cosine_sine_stacked_along_first"], lambda cos, sin: numpy.stack([cos, sin])),
    _as_one(TEXTS["takes_cosine_sine_tuple"], lambda cos, sin: (cos, sin)),
    _as_one(TEXTS["takes_sine_cosine_tuple"], lambda cos, sin: (sin, cos), SINE_FIRST),
    replace(
        _as_one(TEXTS["takes_sine_cosine_tuple"], lambda cos, sin: (sin, cos)),
        source=r"\b\w*sin\w*, *\w*cos\w* *= *\w+ *\n",
        file_source=rf"{RETURNS_SINE_FIRST}|{NEVER_COSINE_FIRST}",
    ),
    replace(_as_one(TEXTS["takes_cosine_sine_object"], held_tables), source=rf"(?<!self)\.{COSINES}\b(?!\()"),
    _as_one(TEXTS["takes_angles_radians"], lambda cos, sin: numpy.arctan2(sin, cos)),
    Convention(
        TEXTS["takes_angles_radians"],
        encode=_joined(lambda cos, sin: numpy.arctan2(sin, cos), "positions"),
        role="positions",
        source=r"\bcos\(pos\w*\)|\bpos\w*\.cos\(\)",
    ),
)
POSITIONS = optional(
    Convention(TEXTS["offset_slice_positions"], encode=_as_slice, role="offset"),
    Convention(TEXTS["positions_in_batch"], encode=_per_sequence, role="positions"),
    Convention(
        TEXTS["positions_in_batch"],
        encode=_of_each_sequence,
        role="positions",
        source=r"\bpos\w*\.(reshape|view|flatten|ravel)\(|\b(reshape|ravel)\(pos",
    ),
    Convention(encode=_with_positions(False), role="positions"),
    Convention(encode=_with_positions(True), role="positions"),
    Convention(
        TEXTS["offset_has_one_value_per_sequence"],
        encode=lambda inputs: inputs | {"offset": numpy.full(len(inputs["x"]), inputs.get("offset") or 0)},
        role="offset",
    ),
)


def _without_cache(answer: Any, inputs: Inputs) -> Any:
    """Return what is rotated from a pair with the dict or the tuple of what a backward pass needs."""
    return answer[0] if isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[1], dict | tuple) else answer


def _without_seconds(answer: Any, inputs: Inputs) -> Any:
    """Return the arrays before the seconds that a function has measured."""
    is_timed = isinstance(answer, tuple) and len(answer) > 1 and not numpy.ndim(answer[-1])
    return (answer[:-1] if len(answer) > 2 else answer[0]) if is_timed else answer


RETURNS = optional(
    Convention(SEVERAL_VALUES, decode=_without_cache, source=r"\breturn\b[^\n]*,", without="key"),
    Convention(SEVERAL_VALUES, decode=_without_seconds, source=r"\btime\.(time|perf_counter)\("),
)
BASES = optional(Convention(TEXTS["usual_base"], encode=lambda inputs: {"theta": 10000.0} | inputs, role="theta"))
