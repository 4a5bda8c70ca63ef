"""A text in place of the training text that a file opens and that is absent: `open("input.txt")`."""

from __future__ import annotations

import builtins
import io
import os
import string
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

REPEATS = 20
"""Number of times that the text has each of its characters: more than a batch of sequences needs."""


@contextmanager
def absent_texts(num_characters: int) -> Iterator[None]:
    """Open a text of so few different characters in place of each absent file of text that is opened to be read."""
    original, text = io.open, string.printable[:num_characters] * REPEATS

    def opened(file: Any, mode: str = "r", *options: Any, **named: Any) -> Any:
        try:
            return original(file, mode, *options, **named)
        except FileNotFoundError:
            is_text = isinstance(file, str | os.PathLike) and os.fspath(file).endswith(".txt")
            if not is_text or mode not in ("r", "rt"):
                raise
            return io.StringIO(text)

    builtins.open = io.open = opened
    try:
        yield
    finally:
        builtins.open = io.open = original
