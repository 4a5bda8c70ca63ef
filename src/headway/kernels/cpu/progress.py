"""How work that has to be done before a model can run says what it is."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is; 0 and 0 make it a note that stays."""


def no_progress(what: str, done: int, total: int) -> None:
    """Say nothing."""
