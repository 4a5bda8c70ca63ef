"""Checkpoint files of llama2.c: seven sizes, then the weights of a Llama one after another.

    version  header                                       weights
    0        7 int32: 28 bytes                            float32; rotary tables after the final norm
    1        "ak42", version, 7 int32, flags: 256 bytes   float32; the norms first
    2        the same, and a group size                   float32 norms, then int8 matrices with a float32 scale per group

Source   karpathy/llama2.c, export.py (legacy_export, version1_export, version2_export), run.c and runq.c
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy

from headway.arrays import array_library, as_dtype, cast, check_computing, from_numpy
from headway.checkpoints.reading import Checkpoint
from headway.errors import CheckpointError, UnsupportedError
from headway.models import architecture, llama
from headway.trees import map_tree, tree_from_leaves

MAGIC = 0x616B3432
HEADER_BYTES = 256
"""Size of the header of versions 1 and 2."""

Arrays = dict[str, list[numpy.ndarray]]
"""The weights by name: one array, or one per layer."""


@dataclass(frozen=True)
class Header:
    """The sizes at the start of a file.

    group_size   number of int8 weights that share a scale, in version 2; 0 otherwise
    """

    version: int
    hidden_size: int
    intermediate_size: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    vocab_size: int
    max_seq_len: int
    is_tied: bool
    group_size: int = 0

    @property
    def num_bytes(self) -> int:
        """Size of the header itself."""
        return HEADER_BYTES if self.version else 28

    @property
    def head_dim(self) -> int:
        """Size of a head."""
        return self.hidden_size // self.num_heads

    def shapes(self) -> Iterator[tuple[str, tuple[int, ...], int]]:
        """Yield the name, the shape and the number of the arrays, in the order of the file."""
        hidden, inner, layers, kv_size = self.hidden_size, self.intermediate_size, self.num_layers, self.num_kv_heads * self.head_dim
        attention = (
            ("attention.query.weight", (hidden, hidden), layers),
            ("attention.key.weight", (kv_size, hidden), layers),
            ("attention.value.weight", (kv_size, hidden), layers),
            ("attention.output.weight", (hidden, hidden), layers),
        )
        feed_forward = (
            ("feed_forward.gate.weight", (inner, hidden), layers),
            ("feed_forward.down.weight", (hidden, inner), layers),
            ("feed_forward.up.weight", (inner, hidden), layers),
        )
        norms = (("attention_norm.weight", (hidden,), layers), ("feed_forward_norm.weight", (hidden,), layers))
        norm, embedding = ("norm.weight", (hidden,), 1), ("token_embedding", (self.vocab_size, hidden), 1)
        if self.version:
            yield from (*norms, norm, embedding, *attention, *feed_forward)
        else:
            yield from (embedding, norms[0], *attention, norms[1], *feed_forward, norm)
            yield "rotary tables, which are computed here", (2, self.max_seq_len, self.head_dim // 2), 1
        if not self.is_tied:
            yield "output_head", (self.vocab_size, hidden), 1


def load_llama2c(path: Path, *, array: str = "numpy", dtype: str = "float32", device: str | None = None) -> Checkpoint:
    """Load a .bin file of llama2.c, version 0, 1 or 2, as a Llama.

    Its rotary pairs are interleaved; the rows of query and key are reordered to halves, which gives the same scores.
    Weights of version 2 are converted to floating-point numbers.

    Errors   CheckpointError for sizes that no model has, or a file of another length; UnsupportedError for another version.
    """
    check_computing(array, dtype, device)
    try:
        with path.open("rb") as file:
            header = _header(path, file.read(HEADER_BYTES))
        content = numpy.memmap(path, numpy.uint8, mode="c")
    except (OSError, ValueError) as error:
        if isinstance(error, CheckpointError):
            raise
        raise CheckpointError(f"got {path}, which cannot be read ({error}), expected a llama2.c checkpoint") from error
    config = llama.Config(
        vocab_size=header.vocab_size,
        hidden_size=header.hidden_size,
        intermediate_size=header.intermediate_size,
        num_hidden_layers=header.num_layers,
        num_attention_heads=header.num_heads,
        num_key_value_heads=header.num_kv_heads,
        max_position_embeddings=header.max_seq_len,
        rms_norm_eps=1e-5,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
        tie_word_embeddings=header.is_tied,
    )
    expected = header.num_bytes + sum(count * _num_bytes(name, shape, header) for name, shape, count in header.shapes())
    if len(content) != expected:
        raise CheckpointError(
            f"got {path} with {len(content):,} bytes, expected {expected:,} according to its header (llama2.c version {header.version})",
            hint="download the file again",
        )
    weights = tree_from_leaves(llama.Weights, _leaves(_arrays(path, content, header), header))
    namespace = array_library(array)
    weights = map_tree(lambda leaf: cast(from_numpy(numpy.asarray(leaf), array, device), as_dtype(dtype, namespace)), weights)
    return Checkpoint(architecture("llama"), config, weights, {})


def _header(path: Path, content: bytes) -> Header:
    """Parse and check a header.

    Errors   CheckpointError for sizes that no model has; UnsupportedError for an unknown version.
    """
    if len(content) < 28:
        raise CheckpointError(f"got {path} with {len(content)} bytes, expected a llama2.c checkpoint", hint="download the file again")
    if struct.unpack_from("<I", content)[0] != MAGIC:
        sizes = struct.unpack_from("<7i", content)
        header = _header_of(0, sizes, is_tied=sizes[5] > 0, group_size=0)
    else:
        (version,) = struct.unpack_from("<i", content, 4)
        if version not in (1, 2):
            raise UnsupportedError(
                f"got {path} of llama2.c version {version}, expected version 0, 1 or 2",
                hint="export the model again with llama2.c: python export.py model.bin --version 1",
            )
        if len(content) < HEADER_BYTES:
            raise CheckpointError(
                f"got {path} with {len(content)} bytes, expected a header of {HEADER_BYTES}", hint="download the file again"
            )
        sizes = struct.unpack_from("<7i", content, 8)
        is_tied, group_size = struct.unpack_from("<Bi", content, 36)
        header = _header_of(version, sizes, is_tied=bool(is_tied), group_size=group_size if version == 2 else 0)
    names = ("hidden", "intermediate", "layers", "heads", "kv heads", "vocabulary", "context")
    if (
        min(*sizes[:5], header.vocab_size, header.max_seq_len) < 1
        or header.hidden_size % header.num_heads
        or header.num_heads % header.num_kv_heads
        or header.head_dim % 2
    ):
        shown = ", ".join(f"{name} {size}" for name, size in zip(names, sizes, strict=True))
        raise CheckpointError(f"got {path} with the sizes {shown}, expected those of a llama2.c checkpoint", hint="download the file again")
    if header.version == 2 and (header.group_size < 1 or header.hidden_size % header.group_size):
        raise CheckpointError(
            f"got {path} with groups of {header.group_size} weights, expected a divisor of the hidden size {header.hidden_size}",
            hint="download the file again",
        )
    return header


def _header_of(version: int, sizes: tuple[int, ...], *, is_tied: bool, group_size: int) -> Header:
    hidden, inner, layers, heads, kv_heads, vocab, seq_len = sizes  # version 0 writes -vocab for an untied head
    return Header(version, hidden, inner, layers, heads, kv_heads, vocab if version else abs(vocab), seq_len, is_tied, group_size)


def _num_bytes(name: str, shape: tuple[int, ...], header: Header) -> int:
    size = math.prod(shape)
    return size + 4 * (size // header.group_size) if _is_rounded(name, header) else 4 * size


def _is_rounded(name: str, header: Header) -> bool:
    """Return True for a matrix of version 2, which is stored in int8."""
    return header.group_size > 0 and not name.endswith("norm.weight")


def _arrays(path: Path, content: numpy.ndarray, header: Header) -> Arrays:
    start = header.num_bytes
    arrays: Arrays = {}
    for name, shape, count in header.shapes():
        arrays[name] = []
        for _ in range(count):
            stop = start + _num_bytes(name, shape, header)
            stored = content[start:stop]
            array = _from_int8(path, stored, header.group_size) if _is_rounded(name, header) else stored.view(numpy.float32)
            arrays[name].append(array.reshape(shape))
            start = stop
    return arrays


def _from_int8(path: Path, stored: numpy.ndarray, group_size: int) -> numpy.ndarray:
    """Return the float32 values of a matrix: int8 weights, then a float32 scale per group.

    Errors   CheckpointError for scales that are negative, infinite or NaN.
    """
    num_groups = len(stored) // (group_size + 4)
    rounded = stored[: num_groups * group_size].view(numpy.int8).reshape(num_groups, group_size)
    scales = stored[num_groups * group_size :].copy().view(numpy.float32)  # a copy is aligned
    if not (numpy.isfinite(scales) & (scales >= 0)).all():
        raise CheckpointError(
            f"got {path} with a scale that is negative or not finite, expected a scale after each matrix",
            hint="early versions of llama2.c's export.py wrote all scales at the end; export the model again",
        )
    return rounded.astype(numpy.float32) * scales[:, None]


def _leaves(arrays: Arrays, header: Header) -> dict[str, numpy.ndarray]:
    leaves = {name: arrays[name][0] for name in ("token_embedding", "norm.weight")}
    leaves["output_head"] = arrays["token_embedding" if header.is_tied else "output_head"][0]
    for name, by_layer in arrays.items():
        if name.startswith(("attention", "feed_forward")):
            is_rotated = name in ("attention.query.weight", "attention.key.weight")
            for index, weight in enumerate(by_layer):
                leaves[f"layers.{index}.{name}"] = _interleaved_to_halves(weight, header.head_dim) if is_rotated else weight
    return leaves


def _interleaved_to_halves(weight: numpy.ndarray, head_dim: int) -> numpy.ndarray:
    """Reorder rows (head, pair, 2) to rows (head, 2, pair)."""
    return weight.reshape(-1, head_dim // 2, 2, weight.shape[1]).swapaxes(1, 2).reshape(weight.shape)
