"""Colours of verdicts and errors on a terminal."""

from __future__ import annotations

import os
import re
import sys
from typing import TextIO

COLOURS = {"✓": "32", "✗": "31", "?": "33", "→": "36"}
"""ANSI colour of a line by the first mark in it: correct, wrong, not judged, fix."""


def has_colour(stream: TextIO) -> bool:
    """Return True if colours may be written to a stream: a terminal that is not dumb, or FORCE_COLOR; never with NO_COLOR."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (stream.isatty() and os.environ.get("TERM") != "dumb")


def coloured(text: str) -> str:
    """Return the lines of verdicts with colours, if stdout may have them."""
    if not has_colour(sys.stdout):
        return text
    return "\n".join(_line(line) for line in text.split("\n"))


def _line(line: str) -> str:
    match = re.match(r"\s*([✓✗?→])", line)
    return f"\x1b[{COLOURS[match[1]]}m{line}\x1b[0m" if match else line
