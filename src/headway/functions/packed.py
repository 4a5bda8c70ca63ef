"""Matrices of weights in few bits, in blocks of 16 rows and groups of 32 columns: the form that the compiled kernels read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from einops import rearrange

from headway.arrays import Array, array_namespace, cast
from headway.functions.linear import Matrix
from headway.trees import static

GROUP = 32
"""Number of columns that share a scale; the columns are padded to whole groups, and the rows to whole blocks of 16."""


@dataclass(frozen=True)
class Packed(Matrix):
    """A matrix of float32, bfloat16, int8 or int4, with the 16 rows of a block interleaved.

        kind       codes                                              element [row, column]
        float32    (num_blocks, num_columns, 16) float32              code
        bfloat16   (num_blocks, num_columns / 2, 16, 2) bfloat16      code
        int8       (num_blocks, num_groups, 8, 16, 4) int8            code · scale[row, column // 32]
        int4       (num_blocks, num_groups, 4, 16, 4) uint8           (nibble - 8) · scale[row, column // 32]
        int8_rows  (num_blocks, num_groups, 8, 16, 4) int8            code · scale[row]

    The lower nibbles of an int4 matrix are columns 0 to 15 of a group, the upper ones 16 to 31.

    scales   (num_blocks, num_groups, 16) float16; for int8_rows (num_blocks, 2, 16) float32, the scales of rows and the sums of their
             codes; None for float32 and bfloat16
    rows     number of rows without padding
    columns  number of columns without padding
    """

    codes: Array
    scales: Array | None = None
    kind: str = static("float32")
    rows: int = static(0)
    columns: int = static(0)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of columns, without padding."""
        return self.rows, self.columns

    def dense(self) -> Array:
        """Return the matrix in float32."""
        xp = array_namespace(self.codes)
        if self.kind == "float32":
            padded = rearrange(self.codes, "block column row -> (block row) column")
        elif self.kind == "bfloat16":
            padded = rearrange(cast(self.codes, xp.float32), "block pair row column -> (block row) (pair column)")
        else:
            assert self.scales is not None
            codes = cast(_signed_nibbles(self.codes) if self.kind == "int4" else self.codes, xp.float32)
            scales = self.scales[:, :1] if self.kind == "int8_rows" else self.scales
            scaled = codes * cast(scales, xp.float32)[:, :, None, :, None]
            padded = rearrange(scaled, "block group part row column -> (block row) (group part column)")
        return padded[: self.rows, : self.columns]


def _signed_nibbles(codes: Any) -> Any:
    """Return the lower and then the upper nibbles of each group, minus 8."""
    xp = array_namespace(codes)
    numbers = cast(codes, xp.int32)
    return xp.concat([numbers % 16, numbers // 16], axis=2) - 8
