"""Checks of what goes into a module, where torch would say nothing or name only the product that failed."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from headway.errors import ShapeError


def check_width(name: str, x: torch.Tensor, width: int) -> None:
    """Raise ShapeError unless the last axis is as wide as the module was made for."""
    if x.ndim < 1 or x.shape[-1] != width:
        raise ShapeError(
            f"came: {name} {tuple(x.shape)}; expected: (..., {width}), as wide as the module was made; make it with {name}'s own width"
        )


def check_attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, projections: Sequence[torch.nn.Linear]) -> None:
    """Raise ShapeError unless what attention is given goes with its projections of query, key and value, and together."""
    for name, x, projection in zip(("query", "key", "value"), (query, key, value), projections, strict=True):
        check_width(name, x, projection.in_features)
    check_pairs(key, value)
    check_batch("query", query, "key", key)


def check_pairs(key: torch.Tensor, value: torch.Tensor) -> None:
    """Raise ShapeError unless there is one value for each key."""
    if key.shape[:-1] != value.shape[:-1]:
        raise ShapeError(
            f"came: key {tuple(key.shape)} and value {tuple(value.shape)}; expected: one value for each key, in the same order"
        )


def check_batch(name: str, x: torch.Tensor, other_name: str, other: torch.Tensor) -> None:
    """Raise ShapeError unless the axes before positions and widths go together."""
    if any(a != b and 1 not in (a, b) for a, b in zip(reversed(x.shape[:-2]), reversed(other.shape[:-2]), strict=False)):
        raise ShapeError(
            f"came: {name} {tuple(x.shape)} and {other_name} {tuple(other.shape)}; expected: the same batch axes; "
            f"give every sequence of {name} one of {other_name}"
        )
