"""What a toy model remembers of the tokens that it was given before, however its caller says where it is to be kept."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from headway.arrays import to_numpy

CACHE = re.compile(r"cache|past|kv|state|memory")
START = re.compile(r"pos|start|offset")


class ToyCache:
    """A cache as a model hands it over: what it is asked are its length, as several libraries call that."""

    def __init__(self) -> None:
        self.token_ids: numpy.ndarray | None = None

    @property
    def length(self) -> int:
        """How many tokens it holds."""
        return 0 if self.token_ids is None else self.token_ids.shape[-1]

    offset = seq_len = length

    def get_seq_length(self) -> int:
        """As transformers has it."""
        return self.length

    def joined(self, token_ids: numpy.ndarray) -> numpy.ndarray:
        """All tokens, new ones behind those that it holds; from now on it holds them all."""
        self.token_ids = token_ids if self.token_ids is None else numpy.concatenate([self.token_ids, token_ids], axis=-1)
        return self.token_ids

    def cut(self, length: int) -> ToyCache:
        """The same cache, what stands behind some position forgotten.

        Errors   IndexError for a position that leaves a hole.
        """
        if length > self.length:
            raise IndexError(f"came: position {length}; expected: at most {self.length}, of which there are keys in the cache")
        self.token_ids = None if self.token_ids is None or length == 0 else self.token_ids[..., :length]
        return self


class Caches:
    """The caches of one model: its own, and what belongs to objects of its caller's that it cannot read.

    num_calls   how often the model was called since it last forgot everything
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """As in the beginning."""
        self.num_calls = 0
        self.own = ToyCache()
        self.held: dict[int, tuple[Any, ToyCache]] = {}

    def of_call(self, length: int, rest: Sequence[Any], named: Mapping[str, Any], *, is_returned: bool) -> ToyCache:
        """The cache that a call speaks of: one handed over, a new one where that is None, the model's own where it speaks of positions.

        length        how many tokens it gives
        is_returned   whether the model returns its cache: what is not handed over is then new
        """
        given = [value for name, value in named.items() if CACHE.search(name) and "pos" not in name and not isinstance(value, bool)]
        given += [value for value in rest if not isinstance(value, bool | int) and not hasattr(value, "dtype")]
        if given and given[0] is not None:
            return given[0] if isinstance(given[0], ToyCache) else self.held.setdefault(id(given[0]), (given[0], ToyCache()))[1]
        starts = [value for name, value in named.items() if START.search(name)] + [value for value in rest if _counts(value, length)]
        if starts and not given:
            return self.own.cut(_numbers(starts[0]).flat[0])
        is_own = not is_returned and any(value is True for name, value in named.items() if CACHE.search(name))
        return self.own if is_own else ToyCache()


def _numbers(value: Any) -> numpy.ndarray:
    return numpy.asarray(to_numpy(value) if hasattr(value, "dtype") else value)


def _counts(value: Any, length: int) -> bool:
    """Whether an unnamed value says where the tokens stand: a whole number, or as many as there are tokens, one after another."""
    if isinstance(value, bool) or not (isinstance(value, int) or hasattr(value, "dtype")):
        return False
    numbers = _numbers(value).ravel()
    return numbers.dtype.kind in "iu" and len(numbers) in (1, length) and bool((numpy.diff(numbers) == 1).all())
