"""Keys and values of the positions already seen, so that a new token costs one row and not the whole sequence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import array_api_compat

from headway.arrays import Array, array_namespace, cast
from headway.errors import ShapeError


@dataclass
class KVCache:
    """The keys and values of one layer, with room for max_seq_len positions.

    Shapes
        keys    (..., num_kv_heads, max_seq_len, head_dim)
        values  (..., num_kv_heads, max_seq_len, value_dim)

    length   how many positions are filled

    This is the one argument that a function changes: attention appends what it projects.
    """

    keys: Array
    values: Array
    length: int = 0

    @classmethod
    def empty(cls, shape: tuple[int, ...], like: Array) -> KVCache:
        """A cache of shape (..., num_kv_heads, max_seq_len, head_dim), of the library, dtype and device of `like`."""
        return cls(_zeros(shape, like), _zeros(shape, like))

    def append(self, key: Array, value: Array) -> tuple[Array, Array]:
        """Write new positions behind the filled ones; return all keys and values to attend to.

        Shapes
            key     (..., num_kv_heads, query_len, head_dim)
            value   (..., num_kv_heads, query_len, value_dim)
            return  (..., num_kv_heads, key_len, head_dim), (..., num_kv_heads, key_len, value_dim)

        key_len is the filled length; under JAX it is max_seq_len, because there a new shape would mean a new
        compilation for every token. A mask made with `offset` hides what is not filled yet.

        Errors   ShapeError where there is no room left.
        """
        end = self.length + key.shape[-2]
        if end > self.max_seq_len:
            raise ShapeError(
                f"came: {key.shape[-2]} positions after {self.length}; expected: at most {self.max_seq_len} in all; make a longer cache"
            )
        start, self.length = self.length, end
        self.keys = _write(self.keys, key, start)
        self.values = _write(self.values, value, start)
        visible = self.key_len(0)
        return self.keys[..., :visible, :], self.values[..., :visible, :]

    def take(self, rows: Sequence[int]) -> None:
        """Keep these rows of the first axis, in this order; a row may come several times.

        Beam search goes on from the best beams so, and rows that have ended leave the batch.

        Errors   ShapeError for no rows, or a row that is not there.
        """
        if not rows or not all(0 <= row < self.keys.shape[0] for row in rows):
            raise ShapeError(f"came: rows {list(rows)}; expected: one or more, each from 0 to {self.keys.shape[0] - 1}")
        self.keys, self.values = (_take(buffer, rows, self.key_len(0)) for buffer in (self.keys, self.values))

    @property
    def max_seq_len(self) -> int:
        """How many positions there is room for."""
        return self.keys.shape[-2]

    def key_len(self, query_len: int) -> int:
        """How many keys attention will see once query_len more positions are appended."""
        return self.max_seq_len if array_api_compat.is_jax_array(self.keys) else self.length + query_len


def _write(buffer: Array, rows: Array, start: int) -> Array:
    rows = cast(rows, buffer.dtype)
    if array_api_compat.is_jax_array(buffer):
        import jax

        return jax.lax.dynamic_update_slice_in_dim(buffer, rows, start, axis=-2)
    buffer[..., start : start + rows.shape[-2], :] = rows
    return buffer


def _take(buffer: Array, rows: Sequence[int], filled: int) -> Array:
    """Rows of a buffer, of which only what is filled is copied."""
    taken = array_namespace(buffer).stack([buffer[row, ..., :filled, :] for row in rows])
    if filled == buffer.shape[-2]:
        return taken
    return _write(buffer if len(rows) == buffer.shape[0] else _zeros((len(rows), *buffer.shape[1:]), buffer), taken, 0)


def _zeros(shape: tuple[int, ...], like: Array) -> Array:
    xp = array_namespace(like)
    if array_api_compat.is_torch_namespace(xp):
        return xp.zeros(shape, dtype=like.dtype, device=like.device)
    return xp.zeros(shape, dtype=like.dtype)
