"""Packed weights in a file, which is mapped and used as it is.

    8 bytes          HEADWAY and the version of the layout
    8 bytes          the header's length
    header           JSON: the key, the kind, and where each matrix and vector lies
    from 4096 on     matrices and vectors, each at the beginning of a cache line

The key names what was packed. A file that is not whole, or of another key or version, is packed anew.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy

from headway.files import replacing
from headway.kernels.cpu.layout import CACHE_LINE
from headway.kernels.cpu.machine import Machine
from headway.kernels.cpu.memory_check import check_memory
from headway.kernels.cpu.packing import aligned_zeros, num_bytes, over, pack, vector, whole
from headway.kernels.cpu.stack import PackedWeights

MAGIC = b"HEADWAY\x02"
PAGE = 4096
Leaves = Iterable[tuple[str, Any]]


def packed_weights(path: Path | None, key: str, kind: str, leaves: Leaves, machine: Machine) -> PackedWeights:
    """A checkpoint's weights, packed: from the file where it holds them, else packed now and, where there is room, kept in the file.

    leaves   (path, array) of the weight tree; touched only where they have to be packed

    Errors   NotFiniteError, which names the tensor, for weights that are NaN or infinite; ResourceError where memory does not suffice.
    """
    kept = _read(path, key, kind) if path else None
    if kept is not None:
        return kept
    leaves = list(leaves)
    header = _plan(key, kind, leaves)
    check_memory(header["size"], f"weights packed as {kind}")
    if path is None or not _has_room(path, header["size"]):
        if path is not None:
            size = f"{header['size'] / 1e6:,.0f} MB"
            machine.progress(f"packed weights take {size}, for which {path.parent} has no room: every start packs them again", 0, 0)
        return _fill(aligned_zeros(header["size"]), header, leaves, machine)
    with replacing(path) as temporary:
        mapped = numpy.memmap(temporary, numpy.uint8, "w+", shape=(header["size"],))
        weights = _fill(mapped, header, leaves, machine)
        text = json.dumps(header).encode()
        mapped[8:16] = numpy.frombuffer(len(text).to_bytes(8, "little"), numpy.uint8)
        mapped[16 : 16 + len(text)] = numpy.frombuffer(text, numpy.uint8)
        mapped[:8] = numpy.frombuffer(MAGIC, numpy.uint8)
        mapped.flush()
    return weights


def _plan(key: str, kind: str, leaves: list[tuple[str, Any]]) -> dict[str, Any]:
    """The header: where everything is to lie. A matrix that two paths share is there once."""
    matrices: dict[str, list[Any]] = {}
    vectors: dict[str, list[Any]] = {}
    places: dict[tuple[Any, ...], int] = {}
    sections: list[tuple[list[Any], int]] = []
    for path, leaf in leaves:
        if leaf.ndim == 2 and path != "position_embedding":
            same = (leaf.ctypes.data, leaf.shape, leaf.strides)
            entry = matrices[path.removesuffix(".weight")] = [list(leaf.shape), places.get(same, -1)]
            if same in places:
                continue
            places[same] = len(sections)
            entry[1] = len(sections)
            sections.append((entry, num_bytes(kind, leaf.shape)))
        else:
            entry = vectors[path] = [list(leaf.shape), len(sections)]
            sections.append((entry, whole(4 * leaf.size, CACHE_LINE)))
    text = json.dumps([key, kind, matrices, vectors])
    start = whole(16 + 2 * len(text) + 24 * len(sections) + 256, PAGE)
    offsets = (start + numpy.cumsum([0] + [size for _, size in sections])).tolist()
    for table in (matrices, vectors):
        for entry in table.values():
            entry[1] = offsets[entry[1]]
    return {"key": key, "kind": kind, "matrices": matrices, "vectors": vectors, "size": offsets[-1]}


def _fill(memory: numpy.ndarray, header: dict[str, Any], leaves: list[tuple[str, Any]], machine: Machine) -> PackedWeights:
    weights, done, packed = _over(memory, header), 0, set()
    total = sum(leaf.nbytes for _, leaf in leaves)
    for path, leaf in leaves:
        if path in weights.vectors:
            weights.vectors[path][...] = vector(path, leaf)
        else:
            shape, offset = header["matrices"][path.removesuffix(".weight")]
            if offset not in packed:
                packed.add(offset)
                pack(path, leaf, header["kind"], machine.pack, machine.team, memory[offset : offset + num_bytes(header["kind"], shape)])
        done += leaf.nbytes
        machine.progress("packing weights", done, total)
    return weights


def _over(memory: numpy.ndarray, header: dict[str, Any]) -> PackedWeights:
    """The weights over the memory that holds them."""
    kind = header["kind"]
    shared = {
        offset: over(kind, (shape[0], shape[1]), memory[offset : offset + num_bytes(kind, (shape[0], shape[1]))])
        for shape, offset in header["matrices"].values()
    }
    vectors = {
        name: memory[offset : offset + 4 * int(numpy.prod(shape))].view(numpy.float32).reshape(shape)
        for name, (shape, offset) in header["vectors"].items()
    }
    return PackedWeights(kind, {name: shared[offset] for name, (_, offset) in header["matrices"].items()}, vectors)


def _read(path: Path, key: str, kind: str) -> PackedWeights | None:
    """What a file holds; None where it is not there, not whole, or of something else."""
    try:
        with path.open("rb") as file:
            if file.read(8) != MAGIC:
                return None
            header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        if (header["key"], header["kind"], header["size"]) != (key, kind, path.stat().st_size):
            return None
        return _over(numpy.memmap(path, numpy.uint8, "r"), header)
    except (OSError, ValueError, KeyError, MemoryError, OverflowError):
        return None


def _has_room(path: Path, size: int) -> bool:
    """Whether a file of this size can be written there and leave a tenth of it to others."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return shutil.disk_usage(path.parent).free > 1.1 * size
    except OSError:
        return False
