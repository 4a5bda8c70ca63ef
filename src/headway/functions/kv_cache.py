"""KV cache: the keys and values of earlier positions, so that a decode step projects only the current token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import array_api_compat

from headway.arrays import Array, ArrayT, array_namespace, cast
from headway.errors import ShapeError


@dataclass
class KVCache:
    """Keys and values of one layer, in buffers for max_seq_len positions.

    Shapes
        keys    (..., num_kv_heads, max_seq_len, head_dim)
        values  (..., num_kv_heads, max_seq_len, value_dim)

    length   number of filled positions

    A KVCache is the only argument that functions modify: multi_head_attention appends keys and values to it.
    """

    keys: Array
    values: Array
    length: int = 0

    @classmethod
    def empty(cls, shape: tuple[int, ...], like: Array) -> KVCache:
        """Create an empty cache with buffers of this shape, and with the array library, dtype and device of `like`.

        shape    (..., num_kv_heads, max_seq_len, head_dim)

        Errors   ShapeError for a shape of fewer than two axes, or for a negative size.
        """
        if len(shape) < 2 or min(shape) < 0:
            raise ShapeError(f"got shape {tuple(shape)}, expected (..., num_kv_heads, max_seq_len, head_dim) with no negative size")
        return cls(_zeros(shape, like), _zeros(shape, like))

    def append(self, key: ArrayT, value: ArrayT) -> tuple[ArrayT, ArrayT]:
        """Append the keys and values of the next positions; return all keys and values to attend to.

        Shapes
            key     (..., num_kv_heads, query_len, head_dim)
            value   (..., num_kv_heads, query_len, value_dim)
            return  (..., num_kv_heads, key_len, head_dim), (..., num_kv_heads, key_len, value_dim)

        key_len is the number of filled positions. With JAX it is max_seq_len, because a growing shape is recompiled for every
        token. The caller hides the unfilled positions with a mask, such as causal_mask with `offset`.

        Errors   ShapeError if the cache is too small.
        """
        end = self.length + key.shape[-2]
        if end > self.max_seq_len:
            raise ShapeError(
                f"got {key.shape[-2]} positions after {self.length}, expected at most {self.max_seq_len} in total",
                hint="create the cache with a larger max_seq_len",
            )
        start, self.length = self.length, end
        self.keys = _write(self.keys, key, start)
        self.values = _write(self.values, value, start)
        visible = self.key_len(0)
        return self.keys[..., :visible, :], self.values[..., :visible, :]

    def take(self, rows: Sequence[int]) -> None:
        """Select rows of the first axis (the batch) in the given order; a row may be repeated.

        Beam search selects the rows of the best beams, and a batch drops the rows of finished sequences.

        Errors   ShapeError for an empty selection, or a row outside the cache.
        """
        if not rows or not all(0 <= row < self.keys.shape[0] for row in rows):
            raise ShapeError(f"got rows {list(rows)}, expected at least one, each from 0 to {self.keys.shape[0] - 1}")
        self.keys, self.values = (_take(buffer, rows, self.key_len(0)) for buffer in (self.keys, self.values))

    @classmethod
    def join(cls, caches: Sequence[KVCache], length: int, max_seq_len: int) -> KVCache:
        """Create a cache with the rows of several, aligned at their last positions.

        length   number of filled positions; a cache with more loses its first ones, one with fewer is padded on the left with zeros,
                 which the caller hides with a mask
        """
        keys = _joined([(cache.keys, cache.length) for cache in caches], length, max_seq_len)
        values = _joined([(cache.values, cache.length) for cache in caches], length, max_seq_len)
        return cls(keys, values, length)

    @property
    def max_seq_len(self) -> int:
        """Maximum number of positions."""
        return self.keys.shape[-2]

    def key_len(self, query_len: int) -> int:
        """Return the number of keys that attention sees after query_len more positions are appended."""
        return self.max_seq_len if array_api_compat.is_jax_array(self.keys) else self.length + query_len


def _write(buffer: Any, positions: Any, start: int) -> Any:
    positions = cast(positions, buffer.dtype)
    if array_api_compat.is_jax_array(buffer):
        import jax

        return jax.lax.dynamic_update_slice_in_dim(buffer, positions, start, axis=-2)
    buffer[..., start : start + positions.shape[-2], :] = positions
    return buffer


def _take(buffer: ArrayT, rows: Sequence[int], filled: int) -> ArrayT:
    """Select rows of a buffer, copying the filled positions only."""
    taken = array_namespace(buffer).stack([buffer[row, ..., :filled, :] for row in rows])
    if filled == buffer.shape[-2]:
        return taken
    return _write(buffer if len(rows) == buffer.shape[0] else _zeros((len(rows), *buffer.shape[1:]), buffer), taken, 0)


def _joined(buffers: Sequence[tuple[ArrayT, int]], length: int, max_seq_len: int) -> ArrayT:
    """Return the rows of buffers with their numbers of filled positions: the last `length` of these, then zeros up to max_seq_len."""
    xp, rows = array_namespace(buffers[0][0]), []
    for buffer, filled in buffers:
        kept = buffer[..., max(filled - length, 0) : filled, :]
        before, after = ((*kept.shape[:-2], number, kept.shape[-1]) for number in (max(length - filled, 0), max_seq_len - length))
        rows.append(xp.concat([_zeros(before, kept), kept, _zeros(after, kept)], axis=-2))
    return xp.concat(rows, axis=0)


def _zeros(shape: tuple[int, ...], like: ArrayT) -> ArrayT:
    xp = array_namespace(like)
    if array_api_compat.is_torch_namespace(xp):
        return xp.zeros(shape, dtype=like.dtype, device=like.device)  # type: ignore[attr-defined]
    return xp.zeros(shape, dtype=like.dtype)
