"""Conversion of masks to the form of headway.functions: boolean (True = may attend) or floating-point (added to the scores)."""

from __future__ import annotations

import torch

from headway import functions
from headway.errors import DtypeError, OptionError, ShapeError


def combined_mask(
    mask: torch.Tensor | None,
    attention_mask: torch.Tensor | None,
    *,
    scores: tuple[int, ...],
    key: torch.Tensor,
) -> torch.Tensor | None:
    """Combine both masks into one that hides what either hides; return None if both are None.

    mask             boolean (True = may attend) or floating-point (added), broadcastable to the scores
    attention_mask   1 or True for tokens, 0 or False for padding, one per position of the key
    scores           shape of the scores, (..., query_len, key_len)
    key              (..., key_len, width), without a head axis

    Errors   DtypeError for an integer `mask` or a floating-point `attention_mask`; ShapeError for a mask of a wrong shape;
             OptionError for an `attention_mask` with values other than 0 and 1.
    """
    check_mask(mask)
    if mask is not None:
        _check_broadcast(mask, scores)
        mask = mask if mask.dtype == torch.bool else mask.to(key.dtype)
    if attention_mask is not None:
        visible = _visible(attention_mask, key)
        heads_and_queries = (1,) * (len(scores) - visible.ndim)
        mask = combine(mask, visible.reshape(*visible.shape[:-1], *heads_and_queries, visible.shape[-1]))
    return mask


def check_mask(mask: torch.Tensor | None) -> None:
    """Raise DtypeError for an integer mask, in which 1 could mean visible or hidden."""
    if mask is not None and mask.dtype != torch.bool and not mask.is_floating_point():
        raise DtypeError(
            f"got a mask of dtype {mask.dtype}, expected boolean (True = may attend) or floating-point (added to the scores)",
            hint="pass a mask of 0 (padding) and 1 (token), of shape (batch_size, key_len), as attention_mask=",
        )


def combine(mask: torch.Tensor | None, other: torch.Tensor) -> torch.Tensor:
    """Return a mask that hides what either mask hides; `other` is boolean."""
    if mask is None:
        return other
    if mask.dtype == torch.bool:
        return mask & other
    return functions.apply_mask(mask.expand(torch.broadcast_shapes(mask.shape, other.shape)), other)


def _visible(attention_mask: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
    if attention_mask.is_floating_point():
        raise DtypeError(
            f"got an attention_mask of dtype {attention_mask.dtype}, expected integers or booleans, 1 for tokens and 0 for padding",
            hint="pass a floating-point mask, which is added to the scores, as mask=",
        )
    if attention_mask.shape != key.shape[:-1]:
        raise ShapeError(
            f"got an attention_mask {tuple(attention_mask.shape)} for keys {tuple(key.shape)}, expected {tuple(key.shape[:-1])}",
            hint="pass a mask of another shape as mask=",
        )
    can_check = attention_mask.device.type == "cpu" and not torch.compiler.is_compiling()
    if can_check and attention_mask.dtype != torch.bool and ((attention_mask != 0) & (attention_mask != 1)).any():
        raise OptionError(
            f"got an attention_mask with values from {int(attention_mask.min())} to {int(attention_mask.max())}, "
            "expected 0 (padding) and 1 (token)"
        )
    return attention_mask != 0


def _check_broadcast(mask: torch.Tensor, scores: tuple[int, ...]) -> None:
    fits = mask.ndim <= len(scores) and all(m in (1, s) for m, s in zip(reversed(mask.shape), reversed(scores), strict=False))
    if not fits:
        lacks_heads = mask.ndim == 3 and len(scores) == 4 and mask.shape[0] in (1, scores[0])
        raise ShapeError(
            f"got a mask {tuple(mask.shape)} for scores {tuple(scores)}, expected a shape that broadcasts to the scores",
            hint="add a head axis to a mask per sequence: mask[:, None]" if lacks_heads else None,
        )
