"""GGUF files, version 2 and 3: metadata and the bytes of tensors, over the mapped file.

    header     "GGUF", version, number of tensors, number of metadata entries
    metadata   key, type and value of each entry
    tensors    name, sizes (fastest axis first), number format and offset of each
    data       the tensors, each at a multiple of general.alignment

Source   ggml-org/ggml, docs/gguf.md
"""

from __future__ import annotations

import math
import mmap
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy

from headway.errors import CheckpointError, UnsupportedError
from headway.json_files import short_repr

MAGIC = b"GGUF"
VERSIONS = (2, 3)
MAX_AXES = 4
MAX_ALIGNMENT = 2**20
SMALLEST_ENTRY, SMALLEST_TENSOR = 13, 32
"""Fewest bytes of a metadata entry, and of the description of a tensor with one axis. They bound the counts in the header."""
SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
STRING, ARRAY = 8, 9
_HINT = "download the file again"


@dataclass(frozen=True)
class Format:
    """A number format: groups of block_size numbers in num_bytes bytes each."""

    name: str
    block_size: int
    num_bytes: int


FORMATS = {
    number: Format(*values)
    for number, values in {
        0: ("F32", 1, 4),
        1: ("F16", 1, 2),
        2: ("Q4_0", 32, 18),
        3: ("Q4_1", 32, 20),
        6: ("Q5_0", 32, 22),
        7: ("Q5_1", 32, 24),
        8: ("Q8_0", 32, 34),
        10: ("Q2_K", 256, 84),
        11: ("Q3_K", 256, 110),
        12: ("Q4_K", 256, 144),
        13: ("Q5_K", 256, 176),
        14: ("Q6_K", 256, 210),
        30: ("BF16", 1, 2),
        39: ("MXFP4", 32, 17),
    }.items()
}
OTHER_FORMATS = {
    **{16: "IQ2_XXS", 17: "IQ2_XS", 18: "IQ3_XXS", 19: "IQ1_S", 20: "IQ4_NL", 21: "IQ3_S", 22: "IQ2_S", 23: "IQ4_XS", 29: "IQ1_M"},
    **{24: "I8", 25: "I16", 26: "I32", 27: "I64", 28: "F64", 34: "TQ1_0", 35: "TQ2_0", 40: "NVFP4"},
}
"""Names of formats that are not supported, for messages."""


@dataclass(frozen=True)
class TensorInfo:
    """A tensor: its number format, its shape with the fastest axis last, and its first and last byte in the file."""

    format: Format
    shape: tuple[int, ...]
    start: int
    stop: int


def find_gguf(path: Path) -> Path | None:
    """Return a path that is a GGUF file, or the only one of a folder without config.json; None if there is none.

    Errors   CheckpointError for a folder with several.
    """
    if path.is_file():
        return path if path.suffix == ".gguf" else None
    found = [] if (path / "config.json").exists() else sorted(path.glob("*.gguf"))
    if len(found) > 1:
        names = ", ".join(each.name for each in found[:5])
        raise CheckpointError(f"got {path} with {names}, expected one GGUF file", hint="pass the path of one of them")
    return found[0] if found else None


class GGUFFile:
    """One GGUF file, checked and mapped.

    metadata   str, int, float, bool, or a list of one of these, by key
    tensors    by name
    """

    def __init__(self, path: Path) -> None:
        """Open and check the file.

        Errors   CheckpointError for a file that is missing, truncated or inconsistent; UnsupportedError for another version, and for a
                 tensor in a format that is not supported.
        """
        self.path = path
        try:
            with path.open("rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:  # ValueError: an empty file
            raise CheckpointError(f"got {path}, which cannot be read ({error}), expected a GGUF file", hint=_HINT) from error
        self._at = 0
        num_tensors, num_entries = self._header()
        self.metadata = self._entries(num_entries)
        self.tensors = self._tensor_infos(num_tensors)

    def data(self, name: str) -> numpy.ndarray:
        """Return the bytes of a tensor over the mapped file, read-only."""
        info = self.tensors[name]
        return numpy.frombuffer(self._map, numpy.uint8, info.stop - info.start, info.start)

    def release(self, name: str) -> None:
        """Return the memory that reading a tensor took to the system; the tensor is read again if it is used again."""
        info = self.tensors[name]
        first, last = -(-info.start // mmap.PAGESIZE) * mmap.PAGESIZE, info.stop // mmap.PAGESIZE * mmap.PAGESIZE
        if hasattr(self._map, "madvise") and last > first:
            self._map.madvise(mmap.MADV_DONTNEED, first, last - first)

    def _refuse(self, got: str, cause: Exception | None = None) -> NoReturn:
        raise CheckpointError(f"got {self.path} with {got}", hint=_HINT) from cause

    def _left(self) -> int:
        return len(self._map) - self._at

    def _header(self) -> tuple[int, int]:
        if self._map[:4] != MAGIC:
            self._refuse(f"the first bytes {self._map[:4]!r}, expected {MAGIC!r}")
        self._at = 4
        version = self._number("<I", "the version")
        if version not in VERSIONS:
            order = " in big-endian byte order" if version >= 2**16 else ""
            raise UnsupportedError(
                f"got {self.path} of GGUF version {version}{order}, expected little-endian version 2 or 3",
                hint="convert the model again with a current llama.cpp",
            )
        num_tensors, num_entries = self._number("<Q", "the number of tensors"), self._number("<Q", "the number of metadata entries")
        if num_tensors * SMALLEST_TENSOR + num_entries * SMALLEST_ENTRY > len(self._map):
            self._refuse(
                f"{num_tensors:,} tensors and {num_entries:,} metadata entries, expected as many as fit in {len(self._map):,} bytes"
            )
        return num_tensors, num_entries

    def _number(self, code: str, name: str) -> int:
        size = struct.calcsize(code)
        if self._left() < size:
            self._refuse(f"{len(self._map):,} bytes, expected {name} at byte {self._at:,}")
        (value,) = struct.unpack_from(code, self._map, self._at)
        self._at += size
        return value

    def _string(self, name: str) -> str:
        length = self._number("<Q", f"the length of {name}")
        if length > self._left():
            self._refuse(f"{name} of {length:,} bytes at byte {self._at:,}, expected at most {self._left():,}")
        self._at += length
        try:
            return self._map[self._at - length : self._at].decode()
        except UnicodeDecodeError as error:
            self._refuse(f"{name} that is not UTF-8 at byte {self._at - length + error.start:,}, expected UTF-8", error)

    def _entries(self, count: int) -> Mapping[str, object]:
        metadata: dict[str, object] = {}
        for index in range(count):
            key = self._string(f"the key of metadata entry {index}")
            if key in metadata:
                self._refuse(f"the key {short_repr(key)} twice, expected each key once")
            metadata[key] = self._value(key, self._number("<I", f"the type of {short_repr(key)}"))
        return metadata

    def _value(self, key: str, kind: int) -> object:
        name = f"the value of {short_repr(key)}"
        if kind == STRING:
            return self._string(name)
        if kind == ARRAY:
            return self._array(key)
        if kind not in SCALARS:
            self._refuse(f"{short_repr(key)} of type {kind}, expected a type from 0 to 12")
        return self._number(SCALARS[kind], name)

    def _array(self, key: str) -> list[object] | bytes:
        """Return an array, one of integers of 8 bits as bytes: a list takes eight times the memory."""
        name = f"the array {short_repr(key)}"
        kind, count = self._number("<I", f"the type of {name}"), self._number("<Q", f"the length of {name}")
        size = 8 if kind == STRING else struct.calcsize(SCALARS[kind]) if kind in SCALARS else 0
        if not size:
            self._refuse(f"{name} of elements of type {kind}, expected numbers or strings")
        if count * size > self._left():
            self._refuse(f"{name} of {count:,} elements, expected at most {self._left() // size:,}")
        if kind == STRING:
            return [self._string(f"an element of {name}") for _ in range(count)]
        self._at += count * size
        if SCALARS[kind] in ("<B", "<b"):
            return bytes(self._map[self._at - count : self._at])
        values: list[object] = numpy.frombuffer(self._map, SCALARS[kind], count, self._at - count * size).tolist()
        return values

    def _tensor_infos(self, count: int) -> Mapping[str, TensorInfo]:
        found: dict[str, tuple[Format, tuple[int, ...], int]] = {}
        for index in range(count):
            name = self._string(f"the name of tensor {index}")
            if name in found:
                self._refuse(f"the tensor {short_repr(name)} twice, expected each name once")
            found[name] = self._tensor_info(short_repr(name))
        alignment = self.metadata.get("general.alignment", 32)
        if type(alignment) is not int or not 0 < alignment <= MAX_ALIGNMENT:
            self._refuse(f"general.alignment={short_repr(alignment)}, expected a number from 1 to {MAX_ALIGNMENT}")
        start = -(-self._at // alignment) * alignment
        tensors = {}
        for name, (number_format, shape, offset) in found.items():
            num_bytes = math.prod(shape) // number_format.block_size * number_format.num_bytes
            if offset % alignment or start + offset + num_bytes > len(self._map):
                self._refuse(
                    f"the tensor {short_repr(name)}, {number_format.name} {shape}, of {num_bytes:,} bytes at offset {offset:,}, expected a "
                    f"multiple of {alignment} and the end of the tensor within {max(len(self._map) - start, 0):,} bytes"
                )
            tensors[name] = TensorInfo(number_format, shape, start + offset, start + offset + num_bytes)
        end, previous = start, ""
        for name, info in sorted(tensors.items(), key=lambda item: item[1].start):
            if info.start < end:
                self._refuse(f"the tensors {short_repr(previous)} and {short_repr(name)} overlapping, expected them one after another")
            end, previous = info.stop, name
        return tensors

    def _tensor_info(self, name: str) -> tuple[Format, tuple[int, ...], int]:
        num_axes = self._number("<I", f"the number of axes of {name}")
        if not 1 <= num_axes <= MAX_AXES:
            self._refuse(f"the tensor {name} of {num_axes:,} axes, expected 1 to {MAX_AXES}")
        shape = tuple(self._number("<Q", f"the shape of {name}") for _ in range(num_axes))[::-1]
        kind, offset = self._number("<I", f"the format of {name}"), self._number("<Q", f"the offset of {name}")
        number_format = FORMATS.get(kind)
        if number_format is None:
            raise UnsupportedError(
                f"got {self.path} with the tensor {name} in the format {OTHER_FORMATS.get(kind, kind)}, "
                f"expected one of {', '.join(each.name for each in FORMATS.values())}",
                hint="use a file in Q4_K_M, Q8_0 or F16",
            )
        if min(shape) < 1 or math.prod(shape) > 2**62 or shape[-1] % number_format.block_size:
            self._refuse(
                f"the tensor {name} of shape {shape}, expected rows of a multiple of {number_format.block_size} numbers for "
                f"{number_format.name}"
            )
        return number_format, shape, offset
