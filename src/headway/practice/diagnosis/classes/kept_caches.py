"""Caches of keys and values that an instance keeps from one call to the next."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, MutableMapping, Sequence
from typing import Any, TypeAlias

from headway.practice.diagnosis.classes.children import children

NAME = r"(kv_?)?cache|(k|v|keys?|values?)_?cache|(cached?|past)_?(k|v|kv|keys?|values?|key_?values?)"
"""Pattern of the names of attributes that hold a cache of keys and values."""
KEEPS_CACHE = rf"(?s)\A(?=.*self\.({NAME}) *(,[^=\n]*)?=(?!=))(?=.*\b(cat|concat|concatenate)\([^\n]*(cache|past|prev|old))"
"""Pattern of the source of a class that stores such a cache and joins what was in it to new ones."""

Contained: TypeAlias = tuple[MutableMapping[str, Any], dict[str, Any]]
"""The attributes of a part, and the contents of those that are caches."""


def caches_of(instance: Any) -> list[Contained]:
    """Return the caches in an instance and its parts."""
    return [
        (held, {name: _copied(value) for name, value in held.items() if re.fullmatch(NAME, name)})
        for part in _parts(instance, {})
        for held in (vars(part), vars(part).get("_buffers", {}))
    ]


def restore(caches: Sequence[Contained]) -> None:
    """Restore the contents of caches, and remove those that were made since."""
    for held, contents in caches:
        for name in [each for each in held if re.fullmatch(NAME, each) and each not in contents]:
            del held[name]
        held.update({name: _copied(value) for name, value in contents.items()})


def _copied(value: Any) -> Any:
    return copy.copy(value) if isinstance(value, list | dict) else value


def _parts(holder: Any, seen: dict[int, Any]) -> Iterator[Any]:
    """Yield an instance and its parts, each once."""
    seen[id(holder)] = holder
    if hasattr(holder, "__dict__"):
        yield holder
    for _, child in children(holder):
        if id(child) not in seen:
            yield from _parts(child, seen)
