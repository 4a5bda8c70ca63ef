"""Chinese words in the names of parameters, settings and parts, in the English of the tables of names: chinese_names.toml."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("chinese_names.toml")


@cache
def _words() -> dict[str, str]:
    """Return Chinese words and what they are called in English, those that contain others first."""
    return dict(tomllib.loads(FILE.read_text(encoding="utf-8"))["words"])


@cache
def in_english(name: str) -> str:
    """Return a name with its Chinese words in English: `前馈维度` → `feed_forward_dim`; any other name as it is."""
    if name.isascii():
        return name
    for word, english in _words().items():
        name = name.replace(word, f"_{english}_")
    return re.sub(r"_+", "_", name).strip("_")
