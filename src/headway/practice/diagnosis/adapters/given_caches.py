"""Empty caches that a layer may be given: a dict that it fills itself, or an instance of a cache of the file, which records what is stored."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy

from headway.practice.diagnosis.adapters.caches import PAIR_NAMES, appending, constructor, pair_in, stores_both
from headway.practice.diagnosis.calls.compare import as_numbers
from headway.practice.diagnosis.reading.subject import subjects_of
from headway.practice.message import CallError
from headway.practice.outputs import is_same
from headway.practice.texts import Texts

TEXTS = Texts("diagnosis")

OF_CACHE = r"(?i)cache|past|memory|kv"
"""Pattern of the names of classes that are caches."""

SAME = 1e-6


class StoredError(Exception):
    """A cache has been asked to store keys and values."""

    def __init__(self, arguments: list[Any]) -> None:
        self.arrays = [each for each in arguments if hasattr(each, "shape")]


class _Nothing(int):
    """The number 0, which may be called: the length of an empty cache, whether it is an attribute or a method."""

    def __call__(self, *_: Any, **__: Any) -> int:
        return 0


class _Asked:
    """A cache that stores nothing and tells its caller what it should have stored."""

    def __init__(self, method: str) -> None:
        self.method = method

    def __getattr__(self, name: str) -> Any:
        if name != self.method:
            return _Nothing()

        def store(*positional: Any, **named: Any) -> Any:
            raise StoredError([*positional, *named.values()])

        return store


@dataclass
class GivenCache:
    """A cache that a layer is given.

    value      the cache itself
    refused    the exception that storing has raised
    is_exact   True as long as it has returned all keys and values that it was given, in their order
    """

    value: Any
    refused: Exception | None = None
    is_exact: bool = True
    _given: tuple[list[Any], list[Any]] = field(default_factory=lambda: ([], []))

    @property
    def is_filled(self) -> bool:
        """Return True if something has been stored."""
        return any(each is not None for each in self.value.values()) if isinstance(self.value, dict) else bool(self._given[0])

    def watch(self, method: str, axis: int) -> None:
        """Let the instance record what its method stores and returns."""
        store = getattr(self.value, method)

        def recorded(*positional: Any, **named: Any) -> Any:
            try:
                answer = store(*positional, **named)
            except Exception as error:
                self.refused = error
                raise
            arrays = [each for each in (*positional, *named.values()) if hasattr(each, "shape")]
            for given, array in zip(self._given, arrays, strict=False):
                given.append(numpy.array(as_numbers(array)))
            self.is_exact = self.is_exact and self._returns_all(pair_in(answer), axis)
            return answer

        setattr(self.value, method, recorded)

    def _returns_all(self, pair: Any, axis: int) -> bool:
        """Return True if keys and values are those given so far, which may be the first ones of a buffer."""
        if pair is None:
            return False
        for returned, given in zip(pair, self._given, strict=True):
            whole = numpy.concatenate(given, axis=axis)
            held = as_numbers(returned)
            if held.ndim != whole.ndim:
                return False
            place: tuple[Any, ...] = (..., slice(whole.shape[axis]), *[slice(None)] * (-1 - axis))
            if not is_same(held[place], whole, SAME):
                return False
        return True


def given_caches(module: ModuleType | None, text: str, code: str, name: str) -> Iterator[Callable[[Callable[[Any], Any], int], GivenCache]]:
    """Yield the ways to make an empty cache for a parameter of a layer, likeliest first.

    code     source that uses it
    name     name of the parameter
    Returns  functions of (a call of the layer with a cache, its number of positions); they raise if the layer has another kind of cache
    """
    if re.search(rf"\b{name}\[[\"']|[\"'] (not )?in {name}\b|\b{name}\.get\(", code):
        yield lambda _, __: GivenCache({})
        keys = set(re.findall(rf"\b{name}\[[\"'](\w+)[\"']\]", code))
        for pair in (each for each in PAIR_NAMES if keys == {*each}):
            yield lambda _, __, pair=pair: GivenCache(dict.fromkeys(pair))  # type: ignore[misc]
        return
    for subject in [] if module is None else subjects_of(module, text):
        if inspect.isclass(subject.value) and re.search(OF_CACHE, subject.name) and stores_both(subject.value):
            method = appending(subject.value)
            if re.search(rf"\.{method}\(", code):
                yield lambda run, length, subject=subject, method=method: _of_class(subject, method, run, length)  # type: ignore[misc]


def _of_class(subject: Any, method: str, run: Callable[[Any], Any], length: int) -> GivenCache:
    """Return an instance of a cache with the sizes of the keys that a layer stores."""
    try:
        run(_Asked(method))
    except StoredError as asked:
        shape = tuple(asked.arrays[0].shape)
    else:
        raise CallError(TEXTS["takes_no_keys"])
    axis = -2 if shape[-2] == length else -3
    cache = GivenCache(constructor(subject, shape, axis)())
    cache.watch(method, axis)
    return cache
