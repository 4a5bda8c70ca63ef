"""The masks that people bring, as the definitions want them: boolean (True = may attend), or floating (added)."""

from __future__ import annotations

import torch

from headway import functions
from headway.errors import DtypeError, OptionError, ShapeError


def combined(
    mask: torch.Tensor | None,
    attention_mask: torch.Tensor | None,
    *,
    scores: tuple[int, ...],
    key: torch.Tensor,
) -> torch.Tensor | None:
    """One mask that hides what any of the masks hides, or None where there is none.

    mask             boolean (True = may attend) or floating (added), anything that broadcasts to the scores
    attention_mask   0 or False for padding, 1 or True for a token: one for every position of the key
    scores           the shape of the scores, (..., query_len, key_len)
    key              (..., key_len, width), without an axis for heads

    Errors   DtypeError for a `mask` of whole numbers or a floating `attention_mask`; ShapeError where one does not fit;
             OptionError for an `attention_mask` of other numbers than 0 and 1.
    """
    check_mask(mask)
    if mask is not None:
        _check_broadcast(mask, scores)
        mask = mask if mask.dtype == torch.bool else mask.to(key.dtype)
    if attention_mask is not None:
        visible = _visible(attention_mask, key)
        heads_and_queries = (1,) * (len(scores) - visible.ndim)
        mask = joined(mask, visible.reshape(*visible.shape[:-1], *heads_and_queries, visible.shape[-1]))
    return mask


def check_mask(mask: torch.Tensor | None) -> None:
    """Raise DtypeError for a mask of whole numbers, in which 1 could mean either."""
    if mask is not None and mask.dtype != torch.bool and not mask.is_floating_point():
        raise DtypeError(
            f"came: a mask of dtype {mask.dtype}; expected: boolean (True = may attend) or floating (added to the scores); "
            "pass a mask of 0 (padding) and 1 (token), of shape (batch_size, key_len), as attention_mask="
        )


def joined(mask: torch.Tensor | None, other: torch.Tensor) -> torch.Tensor:
    """What both masks allow; the second one is boolean."""
    if mask is None:
        return other
    if mask.dtype == torch.bool:
        return mask & other
    return functions.apply_mask(mask.expand(torch.broadcast_shapes(mask.shape, other.shape)), other)


def _visible(attention_mask: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
    if attention_mask.is_floating_point():
        raise DtypeError(
            f"came: an attention_mask of dtype {attention_mask.dtype}; expected: whole numbers or booleans, 0 for padding and 1 for a "
            "token; pass a floating mask, which is added to the scores, as mask="
        )
    if attention_mask.shape != key.shape[:-1]:
        raise ShapeError(
            f"came: an attention_mask {tuple(attention_mask.shape)} for keys {tuple(key.shape)}; expected: {tuple(key.shape[:-1])}, "
            "one number per position; pass a mask of another shape as mask="
        )
    is_readable = attention_mask.device.type == "cpu" and not torch.compiler.is_compiling()
    if is_readable and attention_mask.dtype != torch.bool and ((attention_mask != 0) & (attention_mask != 1)).any():
        raise OptionError(
            f"came: an attention_mask of numbers from {int(attention_mask.min())} to {int(attention_mask.max())}; "
            "expected: 0 (padding) and 1 (token)"
        )
    return attention_mask != 0


def _check_broadcast(mask: torch.Tensor, scores: tuple[int, ...]) -> None:
    fits = mask.ndim <= len(scores) and all(m in (1, s) for m, s in zip(reversed(mask.shape), reversed(scores), strict=False))
    if not fits:
        message = f"came: a mask {tuple(mask.shape)} for scores {tuple(scores)}; expected: a shape that broadcasts to the scores"
        if mask.ndim == 3 and len(scores) == 4 and mask.shape[0] in (1, scores[0]):
            message += "; give a mask per sequence an axis for the heads: mask[:, None]"
        raise ShapeError(message)
