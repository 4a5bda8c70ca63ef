"""Checks of input shapes that torch would accept, or report only as a failed matrix product."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from headway.errors import ShapeError


def check_width(name: str, x: torch.Tensor, width: int) -> None:
    """Raise ShapeError unless the last axis has the width of the module."""
    if x.ndim < 1 or x.shape[-1] != width:
        raise ShapeError(
            f"got {name} {tuple(x.shape)}, expected (..., {width}), the width of the module",
            hint=f"make the module with the width of {name}",
        )


def check_attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, projections: Sequence[torch.nn.Linear]) -> None:
    """Raise ShapeError unless query, key and value match their projections and each other."""
    for name, x, projection in zip(("query", "key", "value"), (query, key, value), projections, strict=True):
        check_width(name, x, projection.in_features)
    check_pairs(key, value)
    check_batch("query", query, "key", key)


def check_pairs(key: torch.Tensor, value: torch.Tensor) -> None:
    """Raise ShapeError unless there is one value for each key."""
    if key.shape[:-1] != value.shape[:-1]:
        raise ShapeError(
            f"got key {tuple(key.shape)} and value {tuple(value.shape)}, expected equal shapes except for the last axis, one value per key"
        )


def check_batch(name: str, x: torch.Tensor, other_name: str, other: torch.Tensor) -> None:
    """Raise ShapeError unless the batch axes are broadcastable to each other."""
    if any(a != b and 1 not in (a, b) for a, b in zip(reversed(x.shape[:-2]), reversed(other.shape[:-2]), strict=False)):
        raise ShapeError(
            f"got {name} {tuple(x.shape)} and {other_name} {tuple(other.shape)}, expected the same batch axes",
            hint=f"pass one sequence of {other_name} for each sequence of {name}",
        )
