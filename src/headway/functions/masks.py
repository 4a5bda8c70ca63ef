"""Attention masks. A boolean mask is True where a query may attend to a key; a floating-point mask is added to the scores."""

from __future__ import annotations

from typing import Any

from headway.arrays import Array, ArrayT, LikeT, array_namespace, as_floating, asarray_like, cast, is_boolean, is_floating
from headway.errors import DtypeError, OptionError, ShapeError
from headway.functions.sizes import check_sizes


def causal_mask(query_len: int, key_len: int | None = None, *, offset: int | None = None, like: LikeT | None = None) -> LikeT:
    """Causal mask: each query may attend to its own position and to earlier ones.

        key_position ≤ offset + query_position

    Shapes
        return  (query_len, key_len) boolean

    key_len  query_len by default
    offset   position of the first query among the keys; key_len - query_len by default,
             which aligns the last query with the last key
    like     array whose library and device the mask gets; None (NumPy) by default

    Errors   ShapeError for a negative length.

    >>> causal_mask(2, 3).astype(int).tolist()
    [[1, 1, 0], [1, 1, 1]]

    Source   Vaswani et al. 2017, section 3.2.3
    """
    queries, keys = _positions(query_len, key_len, offset, like)
    return keys <= queries


def sliding_window_mask(
    query_len: int,
    key_len: int | None = None,
    *,
    window: int,
    is_bidirectional: bool = False,
    offset: int | None = None,
    like: LikeT | None = None,
) -> LikeT:
    """Sliding-window mask: each query may attend to its own position and to the window - 1 positions before it.

        offset + query_position - window < key_position ≤ offset + query_position
        |key_position - query_position - offset| < window                            if bidirectional

    Shapes
        return  (query_len, key_len) boolean

    window            number of positions that a query may attend to, its own included
    is_bidirectional  True to attend to the window - 1 positions after it too; False by default
    key_len, offset, like     as in causal_mask

    Errors   OptionError for a window below 1; ShapeError for a negative length.

    >>> sliding_window_mask(3, window=2).astype(int).tolist()
    [[1, 0, 0], [1, 1, 0], [0, 1, 1]]

    Source   Beltagy et al. 2020, section 3.1; Jiang et al. 2023 (Mistral 7B), section 2
    """
    if window < 1:
        raise OptionError(f"got window={window}, expected at least 1", hint="use causal_mask for attention without a window")
    queries, keys = _positions(query_len, key_len, offset, like)
    last = queries + window - 1 if is_bidirectional else queries
    return (keys <= last) & (keys > queries - window)


def padding_mask(lengths: ArrayT, seq_len: int, *, is_left: bool = False) -> ArrayT:
    """Padding mask for a batch of sequences of different lengths, broadcastable over heads and queries.

        position < length                (padding on the right)
        position ≥ seq_len - length      (padding on the left)

    Shapes
        lengths  (...) integer
        return   (..., 1, 1, seq_len) boolean

    lengths  number of tokens of each sequence, padding not included
    is_left  True for padding on the left, False (default) for padding on the right

    Errors   ShapeError for a negative seq_len.

    >>> import numpy as np
    >>> padding_mask(np.array([1, 3]), 3)[:, 0, 0].astype(int).tolist()
    [[1, 0, 0], [1, 1, 1]]
    """
    check_sizes(seq_len=seq_len)
    xp = array_namespace(lengths)
    positions: Any = asarray_like(range(seq_len), lengths)
    lengths = xp.reshape(lengths, (*lengths.shape, 1, 1, 1))
    return positions >= seq_len - lengths if is_left else positions < lengths


def apply_mask(scores: ArrayT, mask: ArrayT) -> ArrayT:
    """Apply a boolean or floating-point mask to attention scores.

        where(mask, scores, -inf)        for a boolean mask
        scores + mask                    for a floating-point mask

    Shapes
        scores  (..., query_len, key_len)
        mask    (query_len, key_len) boolean
        return  (..., query_len, key_len)

    Errors   DtypeError for an integer mask; ShapeError if the mask does not broadcast to the scores.

    >>> import numpy as np
    >>> apply_mask(np.array([[1.0, 2.0]]), np.array([[True, False]])).tolist()
    [[1.0, -inf]]
    """
    xp = array_namespace(scores, mask)
    scores = as_floating(scores)
    _check_broadcast(scores, mask)
    if is_boolean(mask):
        return xp.where(mask, scores, xp.full_like(scores, -float("inf")))
    if is_floating(mask):
        return scores + cast(mask, scores.dtype)
    raise DtypeError(
        f"got a mask of dtype {mask.dtype}, expected boolean (True = may attend) or floating-point (added to the scores)",
        hint="if 1 means may attend, pass mask != 0; if 1 means hidden, pass mask == 0",
    )


def _positions(query_len: int, key_len: int | None, offset: int | None, like: LikeT | None) -> tuple[Any, Any]:
    key_len = query_len if key_len is None else key_len
    check_sizes(query_len=query_len, key_len=key_len)
    offset = key_len - query_len if offset is None else offset
    queries = asarray_like(range(offset, offset + query_len), like)
    return queries[:, None], asarray_like(range(key_len), like)[None, :]


def _check_broadcast(scores: Array, mask: Array) -> None:
    mask_shape, shape = tuple(mask.shape), tuple(scores.shape)
    fits = len(mask_shape) <= len(shape) and all(m in (1, s) for m, s in zip(reversed(mask_shape), reversed(shape), strict=False))
    if not fits:
        raise ShapeError(f"got a mask {mask_shape} for scores {shape}, expected a shape that broadcasts to (..., query_len, key_len)")
