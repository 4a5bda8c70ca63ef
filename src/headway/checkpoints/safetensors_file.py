"""Tensors of a safetensors file as NumPy arrays over the mapped file: read when used, and not copied."""

from __future__ import annotations

import math
import mmap
import os
from pathlib import Path
from typing import TypedDict, TypeGuard, cast

import ml_dtypes
import numpy

from headway.errors import CheckpointError
from headway.json_files import parse_json_object, short_repr

_DTYPES = {
    "F64": numpy.dtype("float64"),
    "F32": numpy.dtype("float32"),
    "F16": numpy.dtype("float16"),
    "BF16": numpy.dtype(ml_dtypes.bfloat16),
    "I64": numpy.dtype("int64"),
    "I32": numpy.dtype("int32"),
    "I16": numpy.dtype("int16"),
    "I8": numpy.dtype("int8"),
    "U8": numpy.dtype("uint8"),
    "BOOL": numpy.dtype("bool"),
}

MAX_HEADER_BYTES = 100_000_000
"""Limit of the safetensors library."""

_HINT = "download the file again"
_FOLDER_HINT = "download the folder again"
MAX_AXES = 16


class _Entry(TypedDict):
    dtype: str
    shape: list[int]
    data_offsets: list[int]


class SafetensorsFile:
    """One safetensors file, checked and mapped. Writes to the arrays stay in memory and never reach the file."""

    def __init__(self, path: Path) -> None:
        """Open and check the file.

        Errors   CheckpointError for a file that is missing, truncated, or has an invalid header.
        """
        self.path = path
        try:
            with path.open("rb") as file:
                start = file.read(8)
                if len(start) < 8:
                    raise self._error(f"{len(start)} bytes, expected a safetensors file")
                header_size = int.from_bytes(start, "little")
                if header_size > MAX_HEADER_BYTES:
                    raise self._error(f"a header of {header_size:,} bytes, expected at most {MAX_HEADER_BYTES:,}")
                if header_size > os.fstat(file.fileno()).st_size - 8:  # reading would allocate it
                    raise self._error(f"a header of {header_size:,} bytes, expected no more than the file has")
                header = parse_json_object(file.read(header_size), f"the header of {path}")
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        except FileNotFoundError as error:
            raise CheckpointError(f"got no file {path}, expected it, because the checkpoint names it", hint=_FOLDER_HINT) from error
        except CheckpointError:
            raise
        except (OSError, ValueError) as error:
            raise CheckpointError(f"got {path}, which cannot be read ({error}), expected a safetensors file", hint=_HINT) from error
        self._start = 8 + header_size
        header.pop("__metadata__", None)
        self._header = self._checked(header)

    def _checked(self, header: dict[str, object]) -> dict[str, _Entry]:
        """Return the header; raise CheckpointError unless the tensors fill the rest of the file without a gap or an overlap."""
        spans = []
        for name, entry in header.items():
            if not isinstance(entry, dict) or not isinstance(entry.get("dtype"), str):
                raise self._error(f"header entry {short_repr(name)}: {short_repr(entry)}, expected dtype, shape and data_offsets")
            shape, offsets = entry.get("shape"), entry.get("data_offsets")
            if not _are_sizes(shape) or len(shape) > MAX_AXES or math.prod(max(size, 1) for size in shape) > 2**62:
                raise self._error(f"tensor {short_repr(name)} of shape {short_repr(shape)}, expected a list of sizes")
            if not _are_sizes(offsets) or len(offsets) != 2:
                raise self._error(f"tensor {short_repr(name)} at {short_repr(offsets)}, expected two offsets")
            dtype = _DTYPES.get(entry["dtype"])
            if dtype is not None and math.prod(shape) * dtype.itemsize != offsets[1] - offsets[0]:
                raise self._error(
                    f"tensor {short_repr(name)}, {entry['dtype']} {tuple(shape)}, of {offsets[1] - offsets[0]} bytes, "
                    f"expected {math.prod(shape) * dtype.itemsize}"
                )
            spans.append(tuple(offsets))
        end = 0
        for start, stop in sorted(spans):
            if start != end or stop < start:
                raise self._error(f"a tensor at bytes {start} to {stop}, expected it to start at {end}")
            end = stop
        if self._start + end != len(self._map):
            raise self._error(f"{len(self._map):,} bytes, expected {self._start + end:,} according to its header")
        return cast(dict[str, _Entry], header)

    def _error(self, got: str) -> CheckpointError:
        return CheckpointError(f"got {self.path} with {got}", hint=_HINT)

    def names(self) -> list[str]:
        """Return the names of the tensors."""
        return list(self._header)

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a tensor, from the header alone."""
        return tuple(self._header[name]["shape"])

    def tensor(self, name: str) -> numpy.ndarray:
        """Return a tensor over the mapped file, or a copy if an old file's header leaves the data unaligned.

        Errors   CheckpointError for a dtype that is not supported.
        """
        entry = self._header[name]
        if entry["dtype"] not in _DTYPES:
            raise CheckpointError(
                f"got {self.path} with tensor {short_repr(name)} of dtype {entry['dtype']}, expected one of {', '.join(_DTYPES)}"
            )
        dtype, shape = _DTYPES[entry["dtype"]], tuple(entry["shape"])
        count = math.prod(shape)
        if count == 0:
            return numpy.empty(shape, dtype)
        array = numpy.frombuffer(self._map, dtype, count, self._start + entry["data_offsets"][0]).reshape(shape)
        return array if array.flags.aligned else array.copy()  # NumPy would copy it anyway, in every product

    def release(self, name: str) -> None:
        """Return the memory that reading a tensor took to the system; the tensor is read again if it is used again."""
        first, last = (self._start + offset for offset in self._header[name]["data_offsets"])
        first, last = -(-first // mmap.PAGESIZE) * mmap.PAGESIZE, last // mmap.PAGESIZE * mmap.PAGESIZE  # whole pages of this tensor alone
        if hasattr(self._map, "madvise") and last > first:
            self._map.madvise(mmap.MADV_DONTNEED, first, last - first)


def _are_sizes(value: object) -> TypeGuard[list[int]]:
    return isinstance(value, list) and all(isinstance(size, int) and not isinstance(size, bool) and size >= 0 for size in value)
