"""Packed weights in a file that is mapped into memory.

    8 bytes          HEADWAY and the version of the format
    32 bytes         SHA-256 of the description: key, the kind, shape and offset of every matrix, and those of every vector
    32 bytes         SHA-256 of the checksums of the content
    zeros            up to byte 4096
    content          matrices and vectors, each at the start of a cache line

The offsets are computed from the checkpoint's weight tree and never read from the file, so no file can make the kernels read outside of
it. Every byte is checked when the file is opened: the header is compared with the expected one, and the content with its checksums.
A file that is damaged, incomplete, or of another key or version is replaced.

Truncating a mapped file ends the process with SIGBUS. The file is therefore read-only and is replaced only by renaming, which leaves
the file that others have mapped intact.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy

from headway.files import replacing
from headway.functions import Packed
from headway.kernels.cpu import layout, records
from headway.kernels.cpu.file_lock import file_lock
from headway.kernels.cpu.layout import CACHE_LINE
from headway.kernels.cpu.packing import aligned_zeros, copy, num_bytes, over, pack, round_up, vector
from headway.kernels.cpu.records import check_set, unset
from headway.kernels.cpu.runtime import Runtime
from headway.kernels.cpu.thread_pool import ThreadPool
from headway.memory_check import check_memory

MAGIC = b"HEADWAY\x04"
HEADER_BYTES = 4096
SMALL = 16_000_000
"""Bytes of weights below which one thread is as fast as several: synchronization would take longer than the work."""
LARGE = 100_000_000
"""Bytes of weights from which the start of packing is reported, because it takes a second or more."""
UNPACKED = ("position_embedding", "router.weight")
"""Ends of the paths of matrices that stay in float32: a table of vectors, and those that choose experts."""
READ_BY_ROW = ("token_embedding", "token_type_embedding")
"""Ends of the paths of matrices that are only read by row, in encoders: int8 with a scale per 32 where others have one per row."""
Leaves = Iterable[tuple[str, Any]]
Leaf: TypeAlias = Packed | numpy.ndarray
"""A packed matrix, or a norm's weight, a bias or the table of learned positions in float32."""


def packed_weights(path: Path | None, key: str, kind: str, leaves: Leaves, runtime: Runtime) -> dict[str, Leaf]:
    """Return the leaves of a checkpoint's packed weights: from the file if it holds them, otherwise packed now and, if possible, kept there.

    key      identifies the checkpoint
    kind     float32, bfloat16, int8, int4 or int8_rows; with int8, matrices that are stored as int4 stay so
    leaves   (path, array) of the weight tree; the numbers are read only to pack them. A matrix that is stored in this kind, such as Q8_0
             of GGUF in int8, keeps its codes and scales

    Errors   NotFiniteError, which names the tensor, for NaN or infinity; ResourceError if there is not enough memory.
    """
    leaves = list(leaves)
    sections = _sections(key, kind, leaves)
    if path is None:
        return _pack_into_memory(sections, leaves, runtime)
    weights = _read(path, sections, runtime)
    if weights is not None:
        return weights
    lock = path.with_name(f".{path.name}.lock")
    with file_lock(lock, "packing these weights", runtime.progress):
        try:
            weights = _read(path, sections, runtime) or _write(path, sections, leaves, runtime)  # another process may have packed them
        finally:
            with suppress(OSError):
                lock.unlink()  # a process that still waits for this file and one that creates a new one may both pack; that is harmless
    return weights or _pack_into_memory(sections, leaves, runtime)


def kind_of(path: str, leaf: Any, kind: str) -> str | None:
    """Return the kind that a leaf is packed as, in a model that is packed as `kind`; None for one that is stored in float32."""
    if len(leaf.shape) != 2 or path.endswith(UNPACKED):
        return None
    if kind == "int8_rows":
        return "int8" if path.endswith(READ_BY_ROW) else kind
    return "int4" if kind == "int8" and getattr(leaf, "packed_kind", None) == "int4" else kind


@dataclass(frozen=True)
class _Sections:
    """The description of a file: the kind, shape and offset of each matrix, the shape and offset of each vector.

    kind     the kind of matrices that are not stored in another one
    size     size of the file in bytes
    digest   SHA-256 of the description and the key
    """

    kind: str
    matrices: dict[str, tuple[str, tuple[int, int], int]]
    vectors: dict[str, tuple[tuple[int, ...], int]]
    size: int
    digest: bytes

    def header(self, memory: numpy.ndarray, runtime: Runtime) -> bytes:
        """Return the header of a file with this content."""
        return (MAGIC + self.digest + _content_digest(memory[HEADER_BYTES:], runtime)).ljust(HEADER_BYTES, b"\0")

    def weights(self, memory: numpy.ndarray) -> dict[str, Leaf]:
        """Return the leaves over the memory of a whole file."""
        shared = {
            offset: over(kind, shape, memory[offset : offset + num_bytes(kind, shape)]) for kind, shape, offset in self.matrices.values()
        }
        vectors: dict[str, Leaf] = {
            name: memory[offset : offset + 4 * int(numpy.prod(shape))].view(numpy.float32).reshape(shape)
            for name, (shape, offset) in self.vectors.items()
        }
        return vectors | {name: shared[offset] for name, (_, _, offset) in self.matrices.items()}


def _sections(key: str, kind: str, leaves: list[tuple[str, Any]]) -> _Sections:
    """Lay out a file. A matrix that two paths share is stored once."""
    matrices: dict[str, tuple[str, tuple[int, int], int]] = {}
    vectors: dict[str, tuple[tuple[int, ...], int]] = {}
    stored: dict[tuple[Any, ...], int] = {}
    end = HEADER_BYTES
    for path, leaf in leaves:
        own = kind_of(path, leaf, kind)
        if own is not None:
            shape = (int(leaf.shape[0]), int(leaf.shape[1]))
            identity = (leaf.ctypes.data, shape, leaf.strides)
            offset = stored.setdefault(identity, end)
            matrices[path] = (own, shape, offset)
            end += num_bytes(own, shape) if offset == end else 0
        else:
            vectors[path] = (tuple(int(size) for size in leaf.shape), end)
            end += round_up(4 * leaf.size, CACHE_LINE)
    description = json.dumps([key, kind, matrices, vectors, end])
    return _Sections(kind, matrices, vectors, end, hashlib.sha256(description.encode()).digest())


def _pack(name: str, leaf: Any, kind: str, runtime: Runtime, memory: numpy.ndarray) -> None:
    """Pack a matrix into memory, or copy it if it is stored in this kind."""
    stored = leaf.packed() if getattr(leaf, "packed_kind", None) == kind else None
    if stored is not None:
        copy(name, stored, memory)
    else:
        pack(name, leaf, kind, runtime.pack, runtime.pool, memory)


def _content_digest(content: numpy.ndarray, runtime: Runtime) -> bytes:
    """Return the SHA-256 of the content's checksums, computed by all threads."""
    pool = runtime.pool if len(content) >= SMALL else ThreadPool(1)
    checksums = numpy.zeros(round_up(len(content), layout.CHUNK_BYTES) // layout.CHUNK_BYTES, numpy.uint64)
    counter = numpy.zeros(1, numpy.int64)
    job = unset(records.CHECKSUM)
    job["content"], job["content_size"] = content.ctypes.data, len(content)
    job["checksums"], job["chunk_counter"] = checksums.ctypes.data, counter.ctypes.data
    check_set(job)
    pool.run(runtime.checksum, job.view(numpy.int64))
    return hashlib.sha256(checksums.astype("<u8").tobytes()).digest()


def _read(path: Path, sections: _Sections, runtime: Runtime) -> dict[str, Leaf] | None:
    """Map a file; return None if it does not exist or is not exactly what is expected."""
    try:
        with path.open("rb") as file:
            header = file.read(HEADER_BYTES)
            expected = MAGIC + sections.digest
            if header[: len(expected)] != expected or os.fstat(file.fileno()).st_size != sections.size:
                return None
            memory = numpy.memmap(file, numpy.uint8, "r", shape=(sections.size,))
    except (OSError, ValueError):
        return None
    return sections.weights(memory) if header == sections.header(memory, runtime) else None


def _write(path: Path, sections: _Sections, leaves: list[tuple[str, Any]], runtime: Runtime) -> dict[str, Leaf] | None:
    """Pack the weights into a file and map it; return None if it cannot be written.

    The file is written, not mapped, while it grows: a full disk is then an error and not a SIGBUS.
    """
    check_memory(sections.size, f"weights packed as {sections.kind}")
    try:
        if not _has_space(path, sections.size):
            raise OSError("not enough space")
        for left_over in path.parent.glob(f".{path.name}.*.part"):  # left by a process that was killed
            left_over.unlink()
        with replacing(path) as temporary:
            _write_sections(temporary, sections, leaves, runtime)
        if os.name == "posix":
            path.chmod(path.stat().st_mode & ~0o222)
    except OSError as cause:
        size = f"{sections.size / 1e6:,.0f} MB"
        runtime.progress(f"packed weights ({size}) cannot be kept in {path.parent} ({cause}): every start packs them again", 0, 0)
        return None
    return _read(path, sections, runtime)


def _write_sections(path: Path, sections: _Sections, leaves: list[tuple[str, Any]], runtime: Runtime) -> None:
    scratch = aligned_zeros(max((num_bytes(kind, shape) for kind, shape, _ in sections.matrices.values()), default=0))
    report, written = _Report(leaves, sections, runtime), HEADER_BYTES
    with path.open("wb+") as file:
        file.write(bytes(HEADER_BYTES))
        for name, leaf in leaves:
            if name in sections.vectors:
                content = vector(name, leaf).tobytes()
                file.write(content.ljust(round_up(len(content), CACHE_LINE), b"\0"))
            else:
                kind, shape, offset = sections.matrices[name]
                if offset >= written:
                    memory = scratch[: num_bytes(kind, shape)]
                    memory[-CACHE_LINE:] = 0  # scales may end within a cache line
                    _pack(name, leaf, kind, runtime, memory)
                    file.write(memory.data)
            written = file.tell()
            report.add(leaf)
        file.flush()
        header = sections.header(numpy.memmap(file, numpy.uint8, "r", shape=(sections.size,)), runtime)
        file.seek(0)
        file.write(header)


def _pack_into_memory(sections: _Sections, leaves: list[tuple[str, Any]], runtime: Runtime) -> dict[str, Leaf]:
    check_memory(sections.size, f"weights packed as {sections.kind}")
    memory = aligned_zeros(sections.size)
    weights, report, packed = sections.weights(memory), _Report(leaves, sections, runtime), set()
    for name, leaf in leaves:
        target = weights[name]
        if isinstance(target, numpy.ndarray):
            target[...] = vector(name, leaf)
        else:
            kind, shape, offset = sections.matrices[name]
            if offset not in packed:
                packed.add(offset)
                _pack(name, leaf, kind, runtime, memory[offset : offset + num_bytes(kind, shape)])
        report.add(leaf)
    return weights


class _Report:
    """Reports the progress of packing, in bytes of the checkpoint."""

    def __init__(self, leaves: list[tuple[str, Any]], sections: _Sections, runtime: Runtime) -> None:
        self._progress, self._done = runtime.progress, 0
        self._total = sum(leaf.nbytes for _, leaf in leaves)
        if sections.size >= LARGE:
            self._progress("packing weights", 0, self._total)

    def add(self, leaf: Any) -> None:
        """Count a leaf as packed."""
        self._done += leaf.nbytes
        self._progress("packing weights", self._done, self._total)


def _has_space(path: Path, size: int) -> bool:
    """Return True if the folder has space for a file of this size and a tenth more."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return shutil.disk_usage(path.parent).free > 1.1 * size
