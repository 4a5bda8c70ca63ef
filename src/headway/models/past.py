"""Positions and masks of one pass over cached sequences, shared by all decoders."""

from __future__ import annotations

from collections.abc import Sequence

from headway import functions
from headway.arrays import Array, array_namespace, asarray_like, is_torch
from headway.functions import KVCache

KVCaches = Sequence[KVCache] | None

PREFILL_CHUNK = 512
"""Largest number of prompt tokens per pass; bounds the memory for attention scores."""
PREFILL_CHUNK_ON_CUDA = 4096
"""The same on CUDA, where a pass of 512 tokens takes about as long as one of 4,096: its time is that of starting its kernels."""


def prefill_chunk(like: Array) -> int:
    """Return the largest number of prompt tokens per pass on the device of `like`."""
    return PREFILL_CHUNK_ON_CUDA if is_torch(like) and like.is_cuda else PREFILL_CHUNK  # type: ignore[attr-defined]


def positions(token_ids: Array, kv_caches: KVCaches, padding: Array | None) -> Array:
    """Return the position of every token: after the cached ones, counted from the first real token of each sequence.

    Shapes
        token_ids  (batch_size, seq_len) integer
        padding    (batch_size,) integer optional
        return     (batch_size or 1, seq_len) integer
    """
    xp = array_namespace(token_ids)
    offset = kv_caches[0].length if kv_caches else 0
    slots = asarray_like(range(offset, offset + token_ids.shape[-1]), token_ids)[None, :]
    if padding is None:
        return slots
    return xp.maximum(slots - padding[:, None], xp.zeros_like(slots))


def visible(token_ids: Array, kv_caches: KVCaches, padding: Array | None, *, window: int | None = None) -> Array | None:
    """Return the attention mask of a pass, or None if it is the plain causal mask.

    Shapes
        token_ids  (batch_size, seq_len) integer
        padding    (batch_size,) integer optional
        return     (batch_size or 1, 1, seq_len, key_len) boolean

    window   number of positions that a token attends to, its own included; None for all
    """
    query_len = token_ids.shape[-1]
    offset = kv_caches[0].length if kv_caches else 0
    key_len = kv_caches[0].key_len(query_len) if kv_caches else query_len
    if window is not None and key_len <= window:
        window = None
    if padding is None and window is None and key_len == offset + query_len:
        return None
    if window is not None:
        mask = functions.sliding_window_mask(query_len, key_len, window=window, offset=offset, like=token_ids)
    else:
        mask = functions.causal_mask(query_len, key_len, offset=offset, like=token_ids)
    mask = mask[None, None]
    return mask if padding is None else mask & array_namespace(mask).logical_not(functions.padding_mask(padding, key_len))
