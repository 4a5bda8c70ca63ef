"""Functions of a library that are replaced for a while."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any


@contextmanager
def replaced(owner: Any, attributes: Mapping[str, Any]) -> Iterator[None]:
    """Replace attributes of a module inside the context, except those that it does not have: None has none of them."""
    own = {name: getattr(owner, name) for name in attributes if hasattr(owner, name)}
    try:
        for name in own:
            setattr(owner, name, attributes[name])
        yield
    finally:
        for name, value in own.items():
            setattr(owner, name, value)
