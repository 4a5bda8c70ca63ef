"""Tensors of a safetensors file as NumPy arrays over the mapped file: nothing is read until it is used, nothing is copied."""

from __future__ import annotations

import json
import mmap
import struct
from pathlib import Path

import ml_dtypes
import numpy
from safetensors import SafetensorError, safe_open

from headway.errors import CheckpointError

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


class SafetensorsFile:
    """One safetensors file, checked and mapped.

    The safetensors library judges whether the header is sound: spans within the file, without overlap, of the size
    that dtype and shape ask for. Writes to the arrays stay in memory and never reach the file.
    """

    def __init__(self, path: Path) -> None:
        """Open and check the file.

        Errors   CheckpointError where it is missing, truncated, or its header lies.
        """
        self.path = path
        try:
            with safe_open(path, framework="np"):
                pass
            with path.open("rb") as file:
                (header_size,) = struct.unpack("<Q", file.read(8))
                self._header = json.loads(file.read(header_size))
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        except FileNotFoundError as error:
            raise CheckpointError(
                f"came: no file {path}; expected: a shard that the checkpoint names; download the folder again"
            ) from error
        except (SafetensorError, OSError, ValueError, struct.error) as error:
            raise CheckpointError(f"came: {path}, no sound safetensors file ({error}); expected: a whole one; download it again") from error
        self._start = 8 + header_size
        self._header.pop("__metadata__", None)

    def names(self) -> list[str]:
        """The names of the tensors."""
        return list(self._header)

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a tensor, from the header alone."""
        return tuple(self._header[name]["shape"])

    def tensor(self, name: str) -> numpy.ndarray:
        """A tensor over the mapped file; a copy where an old file's header leaves the data between two words.

        Errors   CheckpointError for a dtype that is not built here.
        """
        entry = self._header[name]
        if entry["dtype"] not in _DTYPES:
            raise CheckpointError(f"came: {self.path}, tensor {name} of dtype {entry['dtype']}; expected one of {', '.join(_DTYPES)}")
        dtype, shape = _DTYPES[entry["dtype"]], tuple(entry["shape"])
        count = int(numpy.prod(shape, dtype=numpy.int64))
        if count == 0:
            return numpy.empty(shape, dtype)
        array = numpy.frombuffer(self._map, dtype, count, self._start + entry["data_offsets"][0]).reshape(shape)
        return array if array.flags.aligned else array.copy()  # NumPy would copy it anyway, in every product

    def release(self, name: str) -> None:
        """Let the system take back the memory that reading a tensor took; it is read again where it is used again."""
        first, last = (self._start + offset for offset in self._header[name]["data_offsets"])
        first, last = -(-first // mmap.PAGESIZE) * mmap.PAGESIZE, last // mmap.PAGESIZE * mmap.PAGESIZE  # whole pages of this tensor alone
        if hasattr(self._map, "madvise") and last > first:
            self._map.madvise(mmap.MADV_DONTNEED, first, last - first)
