"""Answers as plain bytes: numbers, text, arrays, and tuples, lists and dicts of them, with limits on size and depth.

The process that runs a learner's code encodes its answers; the judge decodes them. Decoding runs no code that the bytes choose:
each value has a one-letter tag, and every count is checked against the bytes that are left.
"""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy

from headway.arrays import as_dtype
from headway.practice.judge.frames import MAX_BYTES
from headway.practice.outputs import Raised, is_arithmetic

MAX_DEPTH = 12
MAX_AXES = 16
MAX_DIGITS = 400
MAX_TEXT = 500
"""Most characters of an exception's text."""

DTYPES = {
    **{name: numpy.dtype(name) for name in "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()},
    **{name: numpy.dtype(name) for name in "float16 float32 float64 complex64 complex128".split()},
}
BFLOAT16 = "bfloat16"
"""A dtype of ml_dtypes, which is imported if an answer has it: the import can take longer than the check."""

ERRORS: dict[str, type[Exception]] = {
    each.__name__: each
    for each in (
        ArithmeticError, AssertionError, AttributeError, EOFError, FloatingPointError, ImportError, IndexError, KeyError, LookupError,
        MemoryError, ModuleNotFoundError, NameError, NotImplementedError, OSError, OverflowError, RecursionError, RuntimeError,
        StopIteration, SyntaxError, TypeError, UnboundLocalError, ValueError, ZeroDivisionError,
    )
}  # fmt: skip


class MalformedError(ValueError):
    """Bytes that are not an encoded answer, or a value that cannot be encoded."""


def encode(value: Any) -> bytes:
    """Return a value as bytes.

    Errors   MalformedError for a value of another type, or one that is too large or nested too deeply.
    """
    parts: list[bytes] = []
    _encode(value, parts, 0)
    return b"".join(parts)


def decode(data: bytes) -> Any:
    """Return the value of bytes from `encode`.

    Errors   MalformedError for anything else.
    """
    if len(data) > MAX_BYTES:
        raise MalformedError(f"got {len(data)} bytes, expected at most {MAX_BYTES}")
    reader = _Reader(data)
    value = _decode(reader, 0)
    if reader.place != len(data):
        raise MalformedError("got bytes after the value, expected none")
    return value


def _encode(value: Any, parts: list[bytes], depth: int) -> None:
    if depth > MAX_DEPTH:
        raise MalformedError(f"got a value nested more than {MAX_DEPTH} deep")
    if value is None:
        parts.append(b"n")
    elif isinstance(value, Raised):
        names = [each.__name__ for each in type(value.error).__mro__ if each.__name__ in ERRORS]
        kind = "ArithmeticError" if is_arithmetic(value.error) else (names[0] if names else "Exception")
        parts.append(b"r" + _sized(kind.encode()) + _sized(_text(value.error).encode("utf-8", "replace")))
    elif isinstance(value, bool):
        parts.append(b"1" if value else b"0")
    elif isinstance(value, int):
        if value.bit_length() > 1024:
            raise MalformedError("got an integer of more than 1024 bits")
        parts.append(b"i" + _sized(str(int(value)).encode()))
    elif isinstance(value, float):
        parts.append(b"f" + struct.pack("<d", value))
    elif isinstance(value, str):
        parts.append(b"s" + _sized(value.encode("utf-8", "surrogatepass")))
    elif isinstance(value, bytes):
        parts.append(b"y" + _sized(value))
    elif isinstance(value, numpy.ndarray | numpy.generic):
        parts.append((b"a" if isinstance(value, numpy.ndarray) else b"g") + _encoded_array(numpy.asarray(value)))
    elif isinstance(value, tuple | list):
        parts.append((b"t" if isinstance(value, tuple) else b"l") + struct.pack("<Q", len(value)))
        for each in value:
            _encode(each, parts, depth + 1)
    elif isinstance(value, dict):
        parts.append(b"d" + struct.pack("<Q", len(value)))
        for key, each in value.items():
            _encode(key, parts, depth + 1)
            _encode(each, parts, depth + 1)
    else:
        raise MalformedError(f"got a {type(value).__name__}, expected numbers, text or arrays")
    if sum(map(len, parts[-1:])) > MAX_BYTES:
        raise MalformedError("got a value of more than 64 MiB")


def _encoded_array(array: numpy.ndarray) -> bytes:
    dtype = _dtype(array.dtype.name)
    if dtype is None or array.ndim > MAX_AXES:
        raise MalformedError(f"got an array of dtype {array.dtype} with {array.ndim} axes")
    if array.nbytes > MAX_BYTES:
        raise MalformedError("got an array of more than 64 MiB")
    header = _sized(array.dtype.name.encode()) + struct.pack(f"<B{array.ndim}Q", array.ndim, *array.shape)
    return header + array.astype(dtype, copy=False).tobytes()


def _dtype(name: str) -> numpy.dtype | None:
    """Return a dtype by name; None for one that no answer may have."""
    return numpy.dtype(as_dtype(name, numpy)) if name == BFLOAT16 else DTYPES.get(name)


def _sized(data: bytes) -> bytes:
    return struct.pack("<Q", len(data)) + data


def _text(error: BaseException) -> str:
    try:
        return str(error)[:MAX_TEXT]
    except Exception:
        return ""


class _Reader:
    """Bytes, and the place of the next one."""

    def __init__(self, data: bytes) -> None:
        self.data, self.place = data, 0

    def take(self, count: int) -> bytes:
        if count > len(self.data) - self.place:
            raise MalformedError("the bytes end within a value")
        self.place += count
        return self.data[self.place - count : self.place]

    def number(self) -> int:
        return int(struct.unpack("<Q", self.take(8))[0])

    def sized(self, limit: int = MAX_BYTES) -> bytes:
        count = self.number()
        if count > limit:
            raise MalformedError(f"got {count} bytes, expected at most {limit}")
        return self.take(count)


def _decode(reader: _Reader, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise MalformedError(f"got a value nested more than {MAX_DEPTH} deep")
    tag = reader.take(1)
    if tag in (b"n", b"0", b"1"):
        return {b"n": None, b"0": False, b"1": True}[tag]
    if tag == b"r":
        kind, text = reader.sized(100).decode("ascii", "replace"), reader.sized(4 * MAX_TEXT).decode("utf-8", "replace")
        return Raised(ERRORS.get(kind, Exception)(text))
    if tag == b"i":
        return _integer(reader.sized(MAX_DIGITS))
    if tag == b"f":
        return float(struct.unpack("<d", reader.take(8))[0])
    if tag == b"s":
        return reader.sized().decode("utf-8", "replace")
    if tag == b"y":
        return reader.sized()
    if tag in (b"a", b"g"):
        array = _decoded_array(reader)
        return array if tag == b"a" else array.reshape(-1)[:1].reshape(())[()] if array.size == 1 else None
    if tag in (b"t", b"l"):
        parts = [_decode(reader, depth + 1) for _ in range(_count(reader))]
        return tuple(parts) if tag == b"t" else parts
    if tag == b"d":
        return dict(_decoded_item(reader, depth) for _ in range(_count(reader)))
    raise MalformedError(f"got the tag {tag!r}, expected one of n 0 1 r i f s y a g t l d")


def _count(reader: _Reader) -> int:
    """Return the number of parts that follow; each takes at least one byte."""
    count = reader.number()
    if count > len(reader.data) - reader.place:
        raise MalformedError("got more parts than bytes")
    return count


def _integer(data: bytes) -> int:
    try:
        return int(data.decode("ascii"))
    except ValueError as error:
        raise MalformedError("got an integer that is not one") from error


def _decoded_item(reader: _Reader, depth: int) -> tuple[Any, Any]:
    key, value = _decode(reader, depth + 1), _decode(reader, depth + 1)
    try:
        hash(key)
    except TypeError as error:
        raise MalformedError("got a key that is not hashable") from error
    return key, value


def _decoded_array(reader: _Reader) -> numpy.ndarray:
    name = reader.sized(20).decode("ascii", "replace")
    dtype = _dtype(name)
    if dtype is None:
        raise MalformedError(f"got the dtype {name!r}")
    num_axes = reader.take(1)[0]
    if num_axes > MAX_AXES:
        raise MalformedError(f"got {num_axes} axes")
    shape = struct.unpack(f"<{num_axes}Q", reader.take(8 * num_axes))
    size = math.prod(shape) * dtype.itemsize
    if size > MAX_BYTES or max(shape, default=0) > MAX_BYTES:
        raise MalformedError("got an array of more than 64 MiB")
    return numpy.frombuffer(reader.take(size), dtype).reshape(shape).copy()
