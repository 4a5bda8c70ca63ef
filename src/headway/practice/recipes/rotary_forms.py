"""Forms in which functions return the tables of rotary positions, and the conventions that read them."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy

from headway.practice.exercise import Convention, Inputs
from headway.practice.texts import Texts

TEXTS = Texts("rotary_tables")


COSINES, SINES = (rf"_?{name}(?:_?(?:cached?|table|values))?" for name in ("cos(?:ines?)?", "sin(?:es?)?"))
"""Patterns of the names of the attributes that hold tables of rotary positions."""

WORDS = (("cos", "sin"), ("cosine", "sine"), ("cosines", "sines"))
KEPT = ("", "_cached", "_cache", "_table", "_values")
"""Names of cosines and sines, and the ends of the names of attributes that hold their tables."""


def held_tables(cos: Any, sin: Any) -> SimpleNamespace:
    """Return an object that holds cosines and sines under each of the usual names."""
    names = [(f"{start}{first}{end}", f"{start}{second}{end}") for start in ("", "_") for first, second in WORDS for end in KEPT]
    return SimpleNamespace(**{first: cos for first, _ in names}, **{second: sin for _, second in names})


ROWS = {"seq_len", "positions", "x"}
"""Operands that give the number of rows."""


def _rows(inputs: Inputs) -> int:
    return int(inputs["seq_len"]) if "seq_len" in inputs else int(numpy.shape(inputs["positions"])[-1])


def _table(array: Any, inputs: Inputs) -> Any:
    """Return a table as (…, seq_len, head_dim / 2): without axes of size 1, and without the copy for the second of each pair."""
    array = _without_ones(array)
    return next(iter(_first_of_pairs(array, inputs).values()), array)


def _without_ones(array: Any) -> Any:
    """Return a table without axes of size 1 down to two axes."""
    array = numpy.asarray(array)
    while array.ndim > 2 and 1 in array.shape:
        array = array.squeeze(array.shape.index(1))
    return array


def _first_of_pairs(array: Any, inputs: Inputs) -> dict[str, Any]:
    """Return the first of each pair under each layout in which the second is its copy; empty for a table without copies."""
    width = inputs["head_dim"] // 2
    if array.shape[-2:] != (_rows(inputs), 2 * width):
        return {}
    layouts = {"halves": (array[..., :width], array[..., width:]), "by turns": (array[..., ::2], array[..., 1::2])}
    return {name: first for name, (first, second) in layouts.items() if numpy.allclose(first, second, atol=1e-6)}


def _are_alike(tables: Sequence[Any], inputs: Inputs) -> bool:
    """Return True unless tables with copies differ in their layout, so that no rotation fits both."""
    layouts = [{*found} for each in tables if (found := _first_of_pairs(_without_ones(each), inputs))]
    return len(layouts) < 2 or bool(set.intersection(*layouts))


def _parts(answer: Any, inputs: Inputs) -> Sequence[Any]:
    """Return the tables in an output: a tuple, a complex array, or an array with an axis for cosine and sine."""
    if isinstance(answer, tuple | list):
        tables = [each for each in answer if hasattr(each, "shape")]
        return [_table(each, inputs) for each in tables] if _are_alike(tables, inputs) else tables
    array = numpy.asarray(answer)
    if array.dtype.kind == "c":
        return [_table(array.real, inputs), _table(array.imag, inputs)]
    rows, width = _rows(inputs), inputs["head_dim"] // 2
    while array.ndim > 3 and 1 in array.shape:
        array = array.squeeze(array.shape.index(1))
    if array.shape == (rows, width, 2):
        return [array[..., 0], array[..., 1]]
    if array.shape == (rows, 2 * width, 2):
        return [_table(array[..., 0], inputs), _table(array[..., 1], inputs)]
    if array.shape == (rows, width, 2, 2):  # rotation matrices
        return [array[..., 0, 0], array[..., 1, 0]]
    if array.ndim == 3 and len(array) == 2:
        return [_table(array[0], inputs), _table(array[1], inputs)]
    return [_table(array, inputs)]


def _cosine_and_sine(answer: Any, inputs: Inputs) -> Any:
    parts = _parts(answer, inputs)
    width = inputs["head_dim"] // 2
    if len(parts) == 1 and parts[0].shape == (_rows(inputs), 2 * width):
        return parts[0][:, :width], parts[0][:, width:]
    return tuple(parts) if len(parts) == 2 else answer


def _angles(answer: Any, inputs: Inputs) -> Any:
    parts = _parts(answer, inputs)
    return (numpy.cos(parts[0]), numpy.sin(parts[0])) if len(parts) == 1 else answer


def _sine_first(answer: Any, inputs: Inputs) -> Any:
    """Return two tables in the other order; the real part of a complex number is the cosine."""
    parts = _parts(answer, inputs)
    is_complex = getattr(answer, "dtype", numpy.dtype(float)).kind == "c"
    return (parts[1], parts[0]) if len(parts) == 2 and not is_complex else answer


def _frequencies(answer: Any, inputs: Inputs) -> Any:
    """Return one frequency per pair; drop a factor returned with them."""
    array = numpy.asarray(answer[0] if isinstance(answer, tuple | list) and len(answer) else answer)
    array, width = array.ravel() if array.size == max(array.shape, default=0) else array, inputs["head_dim"] // 2
    if array.shape != (2 * width,):
        return array
    copies = (array[:width], array[width:]), (array[::2], array[1::2])
    return next((first for first, second in copies if numpy.allclose(first, second)), array)


def _with_rows(inputs: Inputs) -> Inputs | None:
    return inputs if ROWS & set(inputs) else None


COSINE_AND_SINE = Convention(encode=_with_rows, decode=_cosine_and_sine)
ANGLES = Convention(TEXTS["returns_angles_radians"], encode=_with_rows, decode=_angles)
RETURNS_SINE_FIRST = r"return[^\n]*(sin[^\n]*cos|imag[^\n]*real)|return *[(\[]\s*[^\n,=]*sin[^\n=]*,\s*[^\n,=]*cos"
"""Pattern of the source of a function that returns the sines before the cosines."""

SINE_FIRST = Convention(
    TEXTS["returns_sine_before_cosine"],
    encode=_with_rows,
    decode=_sine_first,
    source=rf"{RETURNS_SINE_FIRST}|(stack|cat|concatenate)\(\s*[\[(][^\n]*sin[^\n]*cos",
)
FREQUENCIES = Convention(
    TEXTS["returns_frequencies_angles_computed_elsewhere"],
    encode=lambda inputs: None if ROWS & set(inputs) else inputs,
    decode=_frequencies,
    without="seq_len",
    source=r"\A(?![\s\S]*(return|=) *\(?\w+\.(cos|sin)\()",
)
