"""MXFP4: tensors of 4-bit floating-point numbers with a scale per 32 of them, as gpt-oss stores its experts.

A tensor NAME is stored as NAME_blocks (…, rows, num_blocks, 16) and NAME_scales (…, rows, num_blocks), both uint8. A byte holds two numbers,
the first in its lower half; a scale is a power of two, stored as its exponent plus 127. The tensor itself is (…, num_blocks · 32, rows).

Source   Open Compute Project 2023 (Microscaling Formats), section 5.3; the layout of the tensors is that of gpt-oss
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import ml_dtypes
import numpy

from headway.checkpoints.weight_tree import HINT, TensorFile
from headway.errors import CheckpointError

POSITIVE = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
BYTES_PER_BLOCK = 16


class Mxfp4Tensor:
    """A tensor whose blocks and scales are in files; it has the methods of a TensorFile."""

    def __init__(self, blocks: TensorFile, scales: TensorFile) -> None:
        """Store the files; nothing is read."""
        self.blocks, self.scales = blocks, scales

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of the tensor.

        Errors   CheckpointError if blocks and scales do not have the shapes above.
        """
        blocks, scales = self.blocks.shape(f"{name}_blocks"), self.scales.shape(f"{name}_scales")
        if len(blocks) < 3 or blocks[-1] != BYTES_PER_BLOCK or blocks[:-1] != scales:
            raise CheckpointError(
                f"got tensor {name}_blocks of shape {blocks} and {name}_scales of shape {scales}, "
                f"expected (…, rows, num_blocks, {BYTES_PER_BLOCK}) and (…, rows, num_blocks)",
                hint=HINT,
            )
        return (*blocks[:-3], blocks[-2] * 2 * BYTES_PER_BLOCK, blocks[-3])

    def tensor(self, name: str) -> numpy.ndarray:
        """Return the tensor in bfloat16, which holds every MXFP4 number exactly up to its own largest number."""
        self.shape(name)
        blocks, scales = self.blocks.tensor(f"{name}_blocks"), self.scales.tensor(f"{name}_scales")
        for part, array in (("blocks", blocks), ("scales", scales)):
            if array.dtype != numpy.uint8:
                raise CheckpointError(f"got tensor {name}_{part} of dtype {array.dtype}, expected uint8", hint=HINT)
        values = numpy.empty((*blocks.shape[:-2], blocks.shape[-2] * 2 * BYTES_PER_BLOCK), ml_dtypes.bfloat16)
        for each, block, scale in zip(_matrices(values, 2), _matrices(blocks, 3), _matrices(scales, 2), strict=True):
            each[...] = dequantized(block, scale)
        self.release(name)
        return values.swapaxes(-1, -2)

    def release(self, name: str) -> None:
        """Return the memory that reading the tensor took to the system."""
        self.blocks.release(f"{name}_blocks")
        self.scales.release(f"{name}_scales")


def with_mxfp4(tensors: Mapping[str, TensorFile]) -> dict[str, TensorFile]:
    """Return the tensors with one entry NAME for each NAME_blocks and NAME_scales."""
    names = {name.removesuffix("_blocks") for name in tensors if name.endswith("_blocks")}
    pairs = {name: (f"{name}_blocks", f"{name}_scales") for name in names if f"{name}_scales" in tensors}
    stored = {part for pair in pairs.values() for part in pair}
    plain = {name: file for name, file in tensors.items() if name not in stored}
    return plain | {name: Mxfp4Tensor(tensors[blocks], tensors[scales]) for name, (blocks, scales) in pairs.items()}


def dequantized(blocks: numpy.ndarray, scales: numpy.ndarray) -> numpy.ndarray:
    """Return the numbers (…, num_blocks · 32) of blocks (…, num_blocks, 16) and scales (…, num_blocks), in bfloat16."""
    index = (scales[..., None].astype(numpy.uint16) << 8) | blocks
    pairs = _pairs()[index].view(ml_dtypes.bfloat16)
    return pairs.reshape(*blocks.shape[:-2], -1)


@cache
def _pairs() -> numpy.ndarray:
    """Return the two numbers of each byte under each scale, both as one uint32, at scale · 256 + byte."""
    byte, exponents = numpy.arange(256), numpy.arange(256)[:, None, None] - 127
    numbers = numpy.array([*POSITIVE, *(-number for number in POSITIVE)], numpy.float32)
    both = numbers[numpy.stack([byte & 15, byte >> 4], axis=-1)]
    with numpy.errstate(over="ignore"):
        return numpy.ldexp(both[None], exponents).astype(ml_dtypes.bfloat16).view(numpy.uint32).reshape(-1)


def _matrices(array: numpy.ndarray, num_axes: int) -> numpy.ndarray:
    """Return the array with all axes but the last ones as one."""
    return array.reshape(-1, *array.shape[array.ndim - num_axes :])
