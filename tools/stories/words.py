"""Word lists as they are easiest to read and change: running text."""

from __future__ import annotations


def words(text: str, separator: str | None = None) -> list[str]:
    """The entries of a text, split at blanks or at the separator."""
    return [" ".join(entry.split()) for entry in text.split(separator)]
