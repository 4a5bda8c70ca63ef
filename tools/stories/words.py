"""Word lists written as running text."""

from __future__ import annotations


def words(text: str, separator: str | None = None) -> list[str]:
    """Return the entries of a text, split at blanks or at the separator."""
    return [" ".join(entry.split()) for entry in text.split(separator)]
