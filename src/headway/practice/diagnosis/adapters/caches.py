"""Calls of a learner's KV cache: a class with an append method, or a function that returns the updated cache."""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy

from headway.arrays import from_numpy
from headway.practice.diagnosis.calls.binding import BYSTANDERS, Binding, bind_parameters, fits_name
from headway.practice.diagnosis.calls.calling import Call
from headway.practice.diagnosis.calls.compare import as_numbers
from headway.practice.diagnosis.classes.configs import Config, config_bases, config_parameter, configured, fields_read, optional_fields
from headway.practice.diagnosis.reading.subject import Subject, first_method, parameters_of
from headway.practice.exercise import Exercise
from headway.practice.message import CallError, OutputError
from headway.practice.roles import Roles
from headway.practice.texts import Texts

TEXTS = Texts("diagnosis")
ROLES = Roles("caches")

APPENDING = (
    "update",
    "append",
    "add",
    "update_and_fetch",
    "push",
    "extend",
    "put",
    "insert",
    "write",
    "store",
    "update_and_get",
    "append_and_get",
    "forward",
    "__call__",
)
FETCHING = ("get", "fetch", "read", "get_kv", "get_cache", "view", "get_all", "load")
FETCHING_PAIRS = r"(get|fetch|read)_(kv|keys_and_values)_\w+"
"""Pattern of the names of other methods that return the keys and values."""
ADVANCING = ("advance", "step", "increment", "advance_pos", "advance_position")
"""Methods that move the write position once all layers have stored their keys and values."""
CLEARING = ("reset", "clear", "empty", "reset_cache", "clear_cache")
PAIR_NAMES = (
    ("keys", "values"),
    ("k", "v"),
    ("ks", "vs"),
    ("key", "value"),
    ("k_cache", "v_cache"),
    ("cache_k", "cache_v"),
    ("key_cache", "value_cache"),
    ("cached_keys", "cached_values"),
    ("cached_k", "cached_v"),
    ("cache_keys", "cache_values"),
    ("past_k", "past_v"),
    ("past_key", "past_value"),
    ("key_caches", "value_caches"),
    ("k_caches", "v_caches"),
    ("keys_cache", "values_cache"),
    ("key_states", "value_states"),
    ("k_buffer", "v_buffer"),
)
EMPTY_CACHES: tuple[Callable[[], Any], ...] = (lambda: None, lambda: (None, None), list, dict, lambda: {"k": None, "v": None})
"""Empty caches that a function may expect."""

KEY = ROLES("key")
VALUE = ROLES("value")
START = ROLES("start")
LAYER = ROLES("layer")
BATCH = ROLES("batch_size")
COUNT = ROLES("count")
END = ROLES("end")
CACHE = ROLES("cache")
CACHED_KEYS = ROLES("cached_keys")
CACHED_VALUES = ROLES("cached_values")
SIZES = (
    ROLES.size("batch_size"),
    ROLES.size("num_heads"),
    ROLES.size("max_seq_len"),
    ROLES.size("head_dim"),
    ROLES.size("num_layers"),
)


BYSTANDING = {role.name: role.neutral for role in BYSTANDERS}
"""Values of parameters that affect no number; a dtype of None is the library's own, whatever the class's default is."""


@dataclass
class CacheCall(Call):
    """A learner's cache, filled chunk by chunk; the output is its contents after each chunk, for one layer or two.

    make_empty  makes a function's empty cache; unused for a class
    is_listed   True if the write position is passed as an array of all positions instead of the first
    """

    make_empty: Callable[[], Any] = EMPTY_CACHES[0]
    is_listed: bool = False

    @property
    def parameters(self) -> Sequence[inspect.Parameter]:
        """Return parameters for the chunks, independent of the learner's own."""
        return [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=inspect.Parameter.empty if name in ("keys", "values") else None)
            for name in self.binding.role_of
        ]

    def invoke(self, arguments: Mapping[str, Any]) -> Any:
        """Create the caches and append to them in turn; if the probe has an earlier sequence, append that first and clear."""
        chunks = list(zip(arguments["keys"], arguments["values"], strict=True))
        others = list(zip(arguments.get("other_keys") or (), arguments.get("other_values") or (), strict=True))
        earlier = list(zip(arguments.get("earlier_keys") or (), arguments.get("earlier_values") or (), strict=True))
        with _state_restored(self.subject.value):
            feed, clear = self._drive_class(chunks) if inspect.isclass(self.subject.value) else self._drive_function()
            if earlier:
                for pair in earlier:
                    feed((pair,))
                clear()
            held: list[list[Any]] = [[], []]
            for place, pair in enumerate(chunks):
                fed = feed((pair, others[place]) if others else (pair,))
                for of_layer, contents in zip(held, fed, strict=False):
                    of_layer.append(contents)
        return (*held[0], *held[1])

    def _drive_class(self, chunks: Sequence[Any]) -> tuple[Callable[..., Any], Callable[[], Any]]:
        construct = self._constructor(chunks)
        append = appending(self.subject.value)
        advance = first_method(self.subject.value, [name for name in ADVANCING if name != append])
        parameters = parameters_of(getattr(self.subject.value, append), is_bound=True)
        bound = bind_parameters(parameters, (KEY, VALUE, START, LAYER, BATCH, COUNT, END))
        if bound is None:
            raise CallError(TEXTS["appending_takes_more"].format(append=append))
        if not (bound.takes("key") and bound.takes("value")):
            raise CallError(TEXTS["appending_takes_no_keys"].format(append=append))
        is_shared = bound.takes("layer")
        instances = [construct()] if is_shared else [construct(), construct()]
        axis = _positions_axis(chunks)
        filled = [0, 0]

        def store(layer: int, key: Any, value: Any) -> Any:
            instance = instances[0 if is_shared else layer]
            count, batch = key.shape[axis], key.shape[0] if key.ndim == 4 else 1
            given = BYSTANDING | {"key": key, "value": value, "layer": layer, "batch_size": batch, "count": count}
            given |= {"start": self._write_position(filled[layer], count), "end": filled[layer] + count}
            filled[layer] += count
            answer = getattr(instance, append)(**{name: given[role.name] for name, role in bound.role_of.items()})
            given_back = pair_in(answer) is not None
            contents = pair_in(answer) if given_back else _contents(instance, layer if is_shared else None, key.ndim, given)
            return _copied_pair(contents, key, None if given_back else (axis, filled[layer]))

        def feed(pairs: Sequence[Any]) -> list[Any]:
            """Store one chunk in every layer; a cache of all layers may move on only after the last one."""
            every = [*pairs, *pairs][:2] if is_shared else pairs
            held = [store(layer, *pair) for layer, pair in enumerate(every)]
            for instance in instances if inspect.isfunction(getattr(self.subject.value, advance, None)) else ():
                takes_length = bool(parameters_of(getattr(self.subject.value, advance), is_bound=True))
                getattr(instance, advance)(*([pairs[0][0].shape[axis]] if takes_length else []))
            return held[: len(pairs)]

        def clear() -> None:
            filled[:] = [0, 0]
            name = first_method(self.subject.value, CLEARING)
            for place, instance in enumerate(instances):
                if name:
                    getattr(instance, name)()
                else:
                    instances[place] = construct()

        return feed, clear

    def _write_position(self, first: int, count: int) -> Any:
        return from_numpy(numpy.arange(first, first + count), self.library) if self.is_listed else first

    def _constructor(self, chunks: Sequence[Any]) -> Callable[[], Any]:
        return constructor(self.subject, tuple(chunks[0][0].shape), _positions_axis(chunks))

    def _drive_function(self) -> tuple[Callable[..., Any], Callable[[], Any]]:
        bound = bind_parameters(parameters_of(self.subject.value), (CACHE, CACHED_KEYS, CACHED_VALUES, KEY, VALUE, LAYER))
        if bound is None or not (bound.takes("key") and bound.takes("value")):
            raise CallError(TEXTS["takes_no_keys"])
        caches: list[Any] = [self.make_empty(), self.make_empty()]

        def store(layer: int, key: Any, value: Any) -> Any:
            held = pair_in(caches[layer]) or (None, None)
            given = {"cache": caches[layer], "cached_keys": held[0], "cached_values": held[1], "key": key, "value": value, "layer": layer}
            answer = self.subject.value(**{name: given[role.name] for name, role in bound.role_of.items()})
            is_kept = answer is None or (
                isinstance(caches[layer], dict) and not isinstance(answer, Mapping)
            )  # the function modified the cache in place
            caches[layer] = caches[layer] if is_kept else answer
            return _copied_pair(pair_in(caches[layer]), key)

        def feed(pairs: Sequence[Any]) -> list[Any]:
            return [store(layer, *pair) for layer, pair in enumerate(pairs)]

        def clear() -> None:
            caches[:] = [self.make_empty(), self.make_empty()]

        return feed, clear


def constructor(subject: Subject, shape: Sequence[int], axis: int) -> Callable[[], Any]:
    """Return a function that constructs a learner's cache for keys of a shape.

    axis     the axis of the positions, -2 or -3
    Errors   CallError if the class takes more than sizes
    """
    known = {
        "batch_size": shape[0] if len(shape) == 4 else 1,
        "num_heads": shape[-5 - axis] if len(shape) > 2 else 1,
        "max_seq_len": 24,
        "head_dim": shape[-1],
        "num_layers": 2,
    } | BYSTANDING
    config = config_parameter(subject)
    given = {} if config is None else {config: _config(subject, config, known)}
    taken = [each for each in subject.parameters if each.name not in given]
    taken = [each for each in taken if each.default is each.empty or each.name in BYSTANDING or _is_default_size(each)]
    bound = bind_parameters([each.replace(default=each.empty) for each in taken], SIZES)
    if bound is None:
        raise CallError(TEXTS["constructor_takes_more"])
    return lambda: subject.value(**given, **{name: known[role.name] for name, role in bound.role_of.items()})


def _is_default_size(parameter: inspect.Parameter) -> bool:
    """Return True for a size with a default, such as `batch_size=1`, which is that of other inputs than the probes."""
    return type(parameter.default) is int and any(fits_name(parameter.name, role) for role in SIZES)


def cache_calls(subject: Subject, exercise: Exercise, library: str) -> list[Call]:
    """Return the ways to call a cache: one for a class with an append method, one per kind of empty cache for a function.

    A function that takes all chunks at once, such as the definition, is called directly.
    """
    binding = Binding({role.name: role for role in exercise.roles})
    if set(binding.role_of) <= {parameter.name for parameter in subject.parameters}:
        return [Call(subject, binding, library)]
    if inspect.isclass(subject.value):
        append = appending(subject.value)
        parameters = parameters_of(getattr(subject.value, append), is_bound=True) if append else []
        ways = (False, True) if any(each.name.lower() in (START.name, *START.called) for each in parameters) else (False,)
        return [CacheCall(subject, binding, library, is_listed=is_listed) for is_listed in ways] if append else []
    return [CacheCall(subject, binding, library, make_empty=make_empty) for make_empty in EMPTY_CACHES]


def _config(subject: Subject, name: str, known: Mapping[str, Any]) -> Any:
    """Return the config that a cache is constructed with, of the file's class if it has one."""
    base = next(config_bases(subject, name), None)
    if base is None:
        return Config(known, SIZES, 0.0, names=fields_read(subject, name), optional=optional_fields(subject, name))
    return configured(base, known, SIZES, 0.0)


@contextmanager
def _state_restored(value: Any) -> Iterator[None]:
    """Restore on exit what a class or a function's defaults store between calls."""
    own = {name: each for name, each in vars(value).items() if not name.startswith("__")} if inspect.isclass(value) else {}
    functions = [value, *(each for each in vars(value).values() if inspect.isfunction(each))] if inspect.isclass(value) else [value]
    defaults = [each for function in functions for each in getattr(function, "__defaults__", None) or ()]
    holders = [each for each in (*own.values(), *defaults) if isinstance(each, list | dict)]
    before = [copy.copy(each) for each in holders]
    try:
        yield
    finally:
        for holder, held in zip(holders, before, strict=True):
            holder.clear()
            holder.extend(held) if isinstance(holder, list) else holder.update(held)
        for name, each in own.items():
            if vars(value).get(name) is not each:
                setattr(value, name, each)


def _copied_pair(pair: Any, key: Any, filled: tuple[int, int] | None = None) -> Any:
    """Copy the current keys and values: a preallocated buffer changes with the next chunk.

    filled   axis of the positions and the number of positions stored; the rest of a buffer is not part of the contents
    """
    if pair is not None and any(each.ndim > key.ndim for each in pair):
        raise OutputError(TEXTS["cached_axes"].format(ndim=key.ndim))
    arrays = () if pair is None else tuple(numpy.array(as_numbers(each)) for each in pair)
    if filled is not None:
        axis, count = filled
        place: tuple[Any, ...] = (..., slice(count), *[slice(None)] * (-1 - axis))
        arrays = tuple(each[place] for each in arrays)
    return arrays or None


def _positions_axis(chunks: Sequence[Any]) -> int:
    """Return the axis along which the chunks differ in length: after the heads (-2) or before them (-3)."""
    shapes = [tuple(key.shape) for key, _ in chunks]
    if len(shapes[0]) < 3 or len({shape[-2] for shape in shapes}) > 1:
        return -2
    if len({shape[-3] for shape in shapes}) > 1:
        return -3
    return -2 if shapes[0][-3] >= shapes[0][-2] else -3


def appending(value: Any) -> str:
    """Return the method that stores keys and values: by its name, else the first public one that takes both."""
    known = first_method(value, APPENDING)
    return known or next((name for name, each in vars(value).items() if not name.startswith("_") and _takes_both(each)), "")


def stores_both(value: Any) -> bool:
    """Return True for a class with a method that stores keys and values."""
    return _takes_both(getattr(value, appending(value) or "-", None))


def _takes_both(method: Any) -> bool:
    if not inspect.isfunction(method):
        return False
    names = [each.name for each in parameters_of(method, is_bound=True)]
    return all(any(fits_name(name, role) for name in names) for role in (KEY, VALUE))


def pair_in(answer: Any) -> tuple[Any, Any] | None:
    """Return the keys and values in an output, or None if it does not contain two arrays."""
    if isinstance(answer, Mapping):
        return next(((answer[key], answer[value]) for key, value in PAIR_NAMES if key in answer and value in answer), None)
    parts = [part for part in answer if hasattr(part, "shape")] if isinstance(answer, tuple | list) else []
    if len(parts) >= 2:
        return parts[0], parts[1]
    if hasattr(answer, "shape") and answer.ndim > 2 and answer.shape[0] == 2:
        return answer[0], answer[1]
    return None


def _contents(instance: Any, layer: int | None, num_axes: int, given: Mapping[str, Any]) -> Any:
    """Return the contents of a cache, from a getter method or from attributes.

    given   arguments of the last append, by role
    """
    name = first_method(type(instance), FETCHING) or next((each for each in vars(type(instance)) if re.fullmatch(FETCHING_PAIRS, each)), "")
    if name:
        bound = bind_parameters(parameters_of(getattr(type(instance), name), is_bound=True), (LAYER, BATCH, END, COUNT))
        taken = {} if bound is None else bound.role_of
        lengths = {"count": given["end"], "layer": layer or 0}  # a length to fetch is that of all positions
        return pair_in(getattr(instance, name)(**{each: {**given, **lengths}[role.name] for each, role in taken.items()}))
    return next(_attributes(instance, layer, num_axes), None)


def _attributes(instance: Any, layer: int | None, num_axes: int) -> Iterator[tuple[Any, Any]]:
    for names in PAIR_NAMES:
        held: list[Any] = [getattr(instance, name, getattr(instance, f"_{name}", None)) for name in names]
        if layer is not None and all(isinstance(each, list) or getattr(each, "ndim", 0) == num_axes + 1 for each in held):
            held = [each[layer] for each in held]
        if all(hasattr(each, "shape") for each in held):
            yield held[0], held[1]
