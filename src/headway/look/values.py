"""Summaries of values: arrays of any library as shape, dtype, range and numbers."""

from __future__ import annotations

import math
import types
import zlib
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass, replace
from typing import Any

import numpy

from headway.arrays import to_numpy
from headway.look.trace import Value
from headway.trees import leaves

MOST_NUMBERS = 4096
"""Most numbers that are stored of one array."""

MOST_LEAVES = 40
"""Most leaves that are shown of a tree or list of arrays."""

MOST_TEXT = 80
HIDDEN = (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType, type)
"""Values that are not shown: a namespace of functions says nothing about the computation."""

AxesOf = Callable[[str, tuple[int, ...]], tuple[str, ...]]


def summaries(
    name: str, value: object, axes_of: AxesOf, *, most: int = MOST_NUMBERS, known: dict[object, Value] | None = None
) -> Iterator[Value]:
    """Yield the values to show for a name: one, none for a function or module, or one for each leaf of a tree of arrays.

    most    most numbers of an array to store; of a larger one, elements at evenly spaced indices
    known   summaries of arrays by fingerprint, to which those made here are added: calls pass on the same arrays
    """
    known = {} if known is None else known
    if isinstance(value, HIDDEN):
        return
    array = as_array(value)
    if array is not None:
        key, axes = (fingerprint(value), most), axes_of(name, array.shape)
        if key not in known:
            known[key] = summary(name, array, axes, dtype=dtype_name(value), most=most)
        yield replace(known[key], name=name, axes=axes)
    elif (is_dataclass(value) or isinstance(value, tuple | list)) and any(as_array(each) is not None for _, each in _leaves(value)):
        for number, (path, leaf) in enumerate(_leaves(value)):
            if number >= MOST_LEAVES:
                break
            yield from summaries(f"{name}.{path}", leaf, axes_of, most=most, known=known)
    else:
        yield Value(name, text=_text(value))


def summary(name: str, array: numpy.ndarray, axes: tuple[str, ...], *, dtype: str | None = None, most: int = MOST_NUMBERS) -> Value:
    """Return the summary of a NumPy array."""
    numbers = array if array.dtype.kind in "biu" else array.astype(numpy.float64)
    is_nan = numpy.isnan(numbers) if numbers.dtype.kind == "f" else numpy.zeros(numbers.shape, bool)
    real = numbers[~is_nan]
    kept = kept_indices(array.shape, most)
    stored = numbers[numpy.ix_(*kept)] if kept else numbers
    return Value(
        name,
        shape=tuple(map(int, array.shape)),
        axes=axes,
        dtype=dtype or str(array.dtype),
        minimum=_number(real.min()) if real.size else None,
        maximum=_number(real.max()) if real.size else None,
        num_nan=int(is_nan.sum()),
        numbers=tuple(_number(each) for each in stored.ravel().tolist()),
        kept=kept,
    )


def kept_indices(shape: tuple[int, ...], most: int) -> tuple[tuple[int, ...], ...]:
    """Return the indices to keep of each axis so that at most `most` elements remain; empty if all of them may stay.

    The longest axis is halved until the rest is small enough, and the indices are evenly spaced.
    """
    lengths = list(shape)
    while math.prod(lengths) > most:
        longest = max(range(len(lengths)), key=lambda axis: lengths[axis])
        lengths[longest] = (lengths[longest] + 1) // 2
    if tuple(lengths) == tuple(shape):
        return ()
    return tuple(tuple(range(size)) if size == length else _spaced(size, length) for size, length in zip(shape, lengths, strict=True))


def _spaced(size: int, length: int) -> tuple[int, ...]:
    return tuple(round(index * (size - 1) / max(length - 1, 1)) for index in range(length))


def as_array(value: object) -> numpy.ndarray | None:
    """Return an array of any library as a NumPy array; None for another value."""
    if isinstance(value, numpy.ndarray | numpy.generic):
        array = numpy.asarray(value)
    elif not hasattr(value, "shape") or not hasattr(value, "dtype"):
        return None
    else:
        try:
            array = to_numpy(value)
        except Exception:  # an object of a learner's that only resembles an array
            return None
    return array if isinstance(array, numpy.ndarray) and (array.dtype.kind in "biuf" or array.dtype.name == "bfloat16") else None


def dtype_name(value: Any) -> str:
    """Return the dtype of an array as its library names it, without the library: "float32"."""
    return str(value.dtype).rpartition(".")[2]


def fingerprint(value: object) -> object:
    """Return a key that changes if the value does: its identity, and for arrays the numbers in it."""
    array = as_array(value)
    if array is None:
        return id(value), len(value) if isinstance(value, list | dict) else None
    return id(value), array.dtype, array.shape, zlib.crc32(numpy.ascontiguousarray(array).tobytes())


def _number(value: Any) -> float:
    return value if type(value) in (int, float) else value.item() if isinstance(value, numpy.generic) else float(value)


def _leaves(value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, list):
        value = tuple(value)
    try:
        yield from leaves(value)
    except TypeError:  # a dataclass with fields that are no tree
        return


def _text(value: object) -> str:
    try:
        text = repr(value)
    except Exception:
        text = type(value).__name__
    return text if len(text) <= MOST_TEXT else text[: MOST_TEXT - 1] + "…"
