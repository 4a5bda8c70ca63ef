"""KV caches of the toy model, in the forms in which learners pass them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from headway.arrays import to_numpy
from headway.practice.message import TokenIndexError
from headway.practice.texts import Texts

TEXTS = Texts("shared/toy_cache")

CACHE = re.compile(r"cache|past|kv|state|memory")
START = re.compile(r"pos|start|offset")


class ToyCache:
    """A cache object with the length methods of several libraries.

    is_returned   True if a call returned it
    """

    def __init__(self) -> None:
        self.token_ids: numpy.ndarray | None = None
        self.is_returned = False

    def following(self) -> ToyCache:
        """Return a cache with the same tokens to return from a call, as models do that join tuples of keys and values: the given one stays."""
        cache = ToyCache()
        cache.token_ids, cache.is_returned = self.token_ids, True
        return cache

    @property
    def length(self) -> int:
        """Number of tokens in the cache."""
        return 0 if self.token_ids is None else self.token_ids.shape[-1]

    offset = seq_len = length

    def get_seq_length(self) -> int:
        """Return the length, as in transformers."""
        return self.length

    def joined(self, token_ids: numpy.ndarray) -> numpy.ndarray:
        """Append tokens and return all of them."""
        self.token_ids = token_ids if self.token_ids is None else numpy.concatenate([self.token_ids, token_ids], axis=-1)
        return self.token_ids

    def cut(self, length: int) -> ToyCache:
        """Return the cache truncated to a length.

        Errors   IndexError for a length beyond the cached tokens.
        """
        if length > self.length:
            raise TokenIndexError(TEXTS["position"].format(length=length, limit=self.length))
        self.token_ids = None if self.token_ids is None or length == 0 else self.token_ids[..., :length]
        return self


class Caches:
    """The caches of one model: its own, and those of the caller's opaque objects.

    received   token ids of the calls since the last reset
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Reset to the initial state."""
        self.received: list[numpy.ndarray] = []
        self.own = ToyCache()
        self.held: dict[int, tuple[Any, ToyCache]] = {}

    def of_call(self, length: int, rest: Sequence[Any], named: Mapping[str, Any], *, is_returned: bool) -> ToyCache:
        """Return the cache for a call: the one passed, a new one for None, or the model's own if positions are passed.

        length        number of tokens in the call
        is_returned   True if the model returns its cache; without a cache argument it is then a new one
        """
        given = [value for name, value in named.items() if CACHE.search(name) and "pos" not in name and not isinstance(value, bool)]
        given += [value for value in rest if not isinstance(value, bool | int) and not hasattr(value, "dtype")]
        if given and given[0] is not None:
            return given[0] if isinstance(given[0], ToyCache) else self.held.setdefault(id(given[0]), (given[0], ToyCache()))[1]
        starts = [value for name, value in named.items() if START.search(name)] + [value for value in rest if _counts(value, length)]
        if starts and not given:
            return self.own.cut(_numbers(starts[0]).flat[0])
        is_own = not is_returned and any(value is True for name, value in named.items() if CACHE.search(name))
        return self.own if is_own else ToyCache().following()


def _numbers(value: Any) -> numpy.ndarray:
    return numpy.asarray(to_numpy(value) if hasattr(value, "dtype") else value)


def _counts(value: Any, length: int) -> bool:
    """Return True if a positional argument contains positions: an integer, or consecutive ones for all tokens."""
    if isinstance(value, bool) or not (isinstance(value, int) or hasattr(value, "dtype")):
        return False
    numbers = _numbers(value).ravel()
    return numbers.dtype.kind in "iu" and len(numbers) in (1, length) and bool((numpy.diff(numbers) == 1).all())
