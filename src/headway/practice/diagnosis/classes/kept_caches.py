"""Caches of keys and values that an instance keeps from one call to the next, and caches of a file that its instances share."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, MutableMapping, Sequence
from typing import Any, TypeAlias

from headway.practice.diagnosis.classes.children import children
from headway.practice.diagnosis.reading.subject import Subject

OF_KEYS = r"kv_?cache|(k|v|keys?|values?)_?cache|(cached?|past)_?(k|v|kv|keys?|values?|key_?values?)"
"""Pattern of the names of a cache that can only be one of keys and values."""
NAME = rf"cache|{OF_KEYS}"
"""Pattern of the names of attributes that hold a cache of keys and values."""
KEEPS_CACHE = rf"(?s)\A(?=.*self\.({NAME}) *(,[^=\n]*)?=(?!=))(?=.*\b(cat|concat|concatenate)\([^\n]*(cache|past|prev|old))"
"""Pattern of the source of a class that stores such a cache and joins what was in it to new ones."""


Contained: TypeAlias = tuple[MutableMapping[str, Any], dict[str, Any]]
"""The attributes of a part, and the contents of those that are caches."""


def keeps_keys(source: str) -> bool:
    """Return True if a source has an attribute for a cache that can only be one of keys and values."""
    return re.search(rf"(self\.|[\"'])({OF_KEYS})\b", source, re.IGNORECASE) is not None


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


SHARED = r"(?i)\w*cache\w*"
"""Pattern of the names of a file's variables that hold what its instances share, such as tables of angles."""


def shared_caches(subject: Subject) -> list[Contained]:
    """Return the dicts of a file that its class uses as caches, and their contents before its first instance."""
    variables = vars(subject.module) if subject.module is not None else {}
    named = [value for name, value in variables.items() if re.fullmatch(SHARED, name) and f"{name}[" in subject.own_source]
    return [(value, dict(value)) for value in named if isinstance(value, MutableMapping)]


def refill(caches: Sequence[Contained]) -> None:
    """Give caches these contents and no others."""
    for held, contents in caches:
        held.clear()
        held.update(contents)


def collide(caches: Sequence[Sequence[Contained]]) -> bool:
    """Return True if instances keep arrays of several shapes under one key: the first would hide those of the others."""
    shapes = {(name, tuple(getattr(value, "shape", ()))) for each in caches for _, contents in each for name, value in contents.items()}
    return len(shapes) > len({name for name, _ in shapes})


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
