"""A key-value cache: keys and values of earlier tokens are stored, and those of new tokens are appended."""

from __future__ import annotations

from typing import Any

import numpy

from headway.functions import KVCache
from headway.practice.exercise import Convention, Exercise, Inputs, Probe, Role, Step, optional
from headway.practice.texts import Texts

TEXTS = Texts("kv_cache")


def recipe(
    steps: Any,
    keys: Any,
    values: Any,
    other_keys: Any = None,
    other_values: Any = None,
    earlier_keys: Any = None,
    earlier_values: Any = None,
) -> Any:
    """The definition as named steps: layers, store, give, clear; the output is the content of each layer after each chunk."""
    first, second = steps.layers()

    def append(state: dict[str, Any], key: Any, value: Any) -> Any:
        return steps.give(state, *steps.store(state, key, value), key, value)

    if earlier_keys is not None:
        for key, value in zip(earlier_keys, earlier_values, strict=True):
            append(first, key, value)
        steps.clear(first)
    answers: list[list[Any]] = [[], []]
    for place, (key, value) in enumerate(zip(keys, values, strict=True)):
        answers[0].append(append(first, key, value))
        if other_keys is not None:
            answers[1].append(append(second, other_keys[place], other_values[place]))
    return (*answers[0], *answers[1])


def definition(
    keys: Any, values: Any, other_keys: Any = None, other_values: Any = None, earlier_keys: Any = None, earlier_values: Any = None
) -> Any:
    """Return the contents of headway.functions' KVCache, one cache per layer."""
    held = []
    for its_keys, its_values in ((keys, values), (other_keys, other_values)):
        if its_keys is None:
            continue
        length = sum(key.shape[-2] for key in its_keys)
        # values may have another width than keys, so the two buffers have different shapes
        shapes = [(*chunks[0].shape[:-2], length, chunks[0].shape[-1]) for chunks in (its_keys, its_values)]
        key_buffer, value_buffer = (KVCache.empty(shape, its_keys[0]).keys for shape in shapes)
        cache = KVCache(key_buffer, value_buffer)
        for key, value in zip(its_keys, its_values, strict=True):
            filled: tuple[Any, Any] = cache.append(key, value)
            held.append(tuple(each.copy() for each in filled))  # append returns views of the buffers
    return tuple(held)


def concatenated(old: Any, new: Any, axis: int = -2) -> Any:
    """Concatenate old and new positions."""
    return new if old is None else numpy.concatenate([old, new], axis=axis)


def stored(combine_keys: Any, combine_values: Any = None) -> Step:
    """Return a step that stores the combination of old and new content."""
    combine_values = combine_values or combine_keys

    def store(state: dict[str, Any], key: Any, value: Any) -> Any:
        before = state.get("k"), state.get("v")
        state["k"], state["v"] = combine_keys(before[0], key), combine_values(before[1], value)
        return before

    return store


def _first_lost(state: dict[str, Any], key: Any, value: Any) -> Any:
    before = state.get("k"), state.get("v")
    is_first = not state.get("begun")
    state["begun"] = True
    state["k"], state["v"] = concatenated(before[0], key), concatenated(before[1], value)
    if is_first:
        state["shown"], state["k"], state["v"] = (key, value), None, None
    else:
        state.pop("shown", None)
    return before


def _give_old(state: dict[str, Any], old_key: Any, old_value: Any, key: Any, value: Any) -> Any:
    return (key[..., :0, :], value[..., :0, :]) if old_key is None else (old_key, old_value)


def _overwritten_in_front(old: Any, new: Any) -> Any:
    if old is None:
        return new
    kept = old.copy()
    kept[..., : new.shape[-2], :] = new[..., : kept.shape[-2], :]
    return kept


def _shared() -> Any:
    state: dict[str, Any] = {}
    return state, state


STEPS: dict[str, Step] = {
    "layers": lambda: ({}, {}),
    "store": stored(concatenated),
    "give": lambda state, old_key, old_value, key, value: state.get("shown") or (state["k"], state["v"]),
    "clear": lambda state: state.clear(),
}


MISTAKES = (
    TEXTS.mistake("overwritten", store=stored(lambda old, new: new)),
    TEXTS.mistake("position_not_advanced", store=stored(_overwritten_in_front)),
    TEXTS.mistake("first_chunk_lost", store=_first_lost),
    TEXTS.mistake("newest_not_returned", give=_give_old),
    TEXTS.mistake("put_in_front", store=stored(lambda old, new: new if old is None else concatenated(new, old))),
    TEXTS.mistake("joined_along_width", store=stored(lambda old, new: concatenated(old, new, -1))),
    TEXTS.mistake("joined_along_batch", store=stored(lambda old, new: concatenated(old, new, 0))),
    TEXTS.mistake("last_position_dropped", store=stored(lambda old, new: new if old is None else concatenated(old[..., :-1, :], new))),
    TEXTS.mistake("only_last_position_kept", store=stored(lambda old, new: concatenated(old, new[..., -1:, :]))),
    TEXTS.mistake("values_not_kept", store=stored(concatenated, lambda old, new: new)),
    TEXTS.mistake("keys_not_kept", store=stored(lambda old, new: new, concatenated)),
    TEXTS.mistake("keys_and_values_exchanged", give=lambda state, old_key, old_value, key, value: (state["v"], state["k"])),
    TEXTS.mistake("values_are_keys", give=lambda state, old_key, old_value, key, value: (state["k"], state["k"])),
    TEXTS.mistake("shared_by_layers", layers=_shared),
    TEXTS.mistake("not_cleared", clear=lambda state: None),
)


def _swapped(x: Any) -> Any:
    return x.swapaxes(-2, -3) if x.ndim > 2 else x


def _swapped_back(answer: Any, inputs: Inputs) -> Any:
    if not isinstance(answer, tuple):
        return answer
    return tuple(
        tuple(_swapped(each) if isinstance(each, numpy.ndarray) else each for each in pair) if isinstance(pair, tuple) else pair
        for pair in answer
    )


def _cropped(answer: Any, inputs: Inputs) -> Any:
    """Crop buffers to the filled length if the rest is 0."""
    if not isinstance(answer, tuple):
        return answer
    lengths = [numpy.cumsum([key.shape[-2] for key in inputs[name]]) for name in ("keys", "other_keys") if name in inputs]
    filled = [int(length) for each in lengths for length in each]
    if len(filled) != len(answer) or not all(isinstance(pair, tuple) for pair in answer):
        return answer
    return tuple(tuple(_filled(each, length) for each in pair) for pair, length in zip(answer, filled, strict=True))


def _filled(held: Any, length: int) -> Any:
    is_longer = isinstance(held, numpy.ndarray) and held.ndim > 1 and held.shape[-2] > length
    return held[..., :length, :] if is_longer and not held[..., length:, :].any() else held


AXES = optional(
    Convention(
        TEXTS["positions_before_heads"],
        encode=lambda inputs: {name: [_swapped(chunk) for chunk in chunks] for name, chunks in inputs.items()},
        decode=_swapped_back,
    )
)
BUFFERS = optional(Convention(TEXTS["whole_buffer"], decode=_cropped))

FOUR = TEXTS["four"]

NOT_OF_THREE = r"(?s)\A(?!.*(\.ndim|\.dim\(\)|len\(\w+\.shape\)) *== *3\b)"
"""Pattern of the source of a cache that states no three axes: joined on the first axis, keys and values of a batch would be those of one sequence."""


def probes() -> tuple[Probe, ...]:
    """A prompt and single tokens, then several at once; two layers in alternation; one text after another; no batch axis."""
    random = numpy.random.default_rng(47)

    def chunks(lengths: tuple[int, ...], leading: tuple[int, ...], width: int) -> list[Any]:
        return [random.standard_normal((*leading, length, width)) for length in lengths]

    def pair(lengths: tuple[int, ...], leading: tuple[int, ...], prefix: str = "") -> Inputs:
        return {f"{prefix}keys": chunks(lengths, leading, 4), f"{prefix}values": chunks(lengths, leading, 4)}

    return (
        Probe("prompt and tokens", pair((3, 1, 1, 2), (2, 5)), FOUR),
        Probe("token by token", pair((1, 1, 1), (1, 3)), FOUR),
        Probe("equal chunks", pair((3, 3), (3, 3)), FOUR),
        Probe("two layers", pair((3, 1), (2, 5)) | pair((3, 1), (2, 5), "other_"), FOUR),
        Probe("another text", pair((2, 1), (2, 5)) | pair((3, 1), (2, 5), "earlier_"), FOUR),
        Probe("without heads", pair((3, 1, 2), ()), TEXTS["two"]),
        Probe("without a batch", pair((3, 1, 2), (5,)), TEXTS["three"], unless=NOT_OF_THREE),
        Probe("without a batch, two layers", pair((3, 1), (5,)) | pair((3, 1), (5,), "other_"), TEXTS["three"], unless=NOT_OF_THREE),
        Probe("without a batch, another text", pair((2, 1), (5,)) | pair((3, 1), (5,), "earlier_"), TEXTS["three"], unless=NOT_OF_THREE),
    )


EXERCISE = Exercise(
    name="kv_cache",
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=tuple(
        Role(name, neutral=None if name not in ("keys", "values") else ())
        for name in ("keys", "values", "other_keys", "other_values", "earlier_keys", "earlier_values")
    ),
    probes=probes,
    mistakes=MISTAKES,
    conventions=(BUFFERS, AXES),
    calls="cache",
    is_trained_through=False,
)
