"""Checks of sizes that callers pass as integers."""

from __future__ import annotations

from headway.errors import ShapeError


def check_sizes(*, at_least: int = 0, **sizes: int) -> None:
    """Raise ShapeError if a size, named by its keyword, is below a minimum."""
    for name, size in sizes.items():
        if size < at_least:
            raise ShapeError(f"got {name}={size}, expected at least {at_least}")
