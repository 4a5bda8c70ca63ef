"""A key-value cache: keys and values of earlier tokens are stored, and those of new tokens are appended."""

from __future__ import annotations

from typing import Any

import numpy

from headway.functions import KVCache
from headway.practice.diagnosis.caches import cache_calls, lists
from headway.practice.exercise import Convention, Exercise, Inputs, Mistake, Probe, Role, Step
from headway.practice.message import Message


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


def _give(state: dict[str, Any], old_key: Any, old_value: Any, key: Any, value: Any) -> Any:
    return state.get("shown") or (state["k"], state["v"])


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
    "give": _give,
    "clear": lambda state: state.clear(),
}

FIRST = Message("the output is correct after the first chunk", "第一段之后结果正确")
JOIN = r"cat|append|stack|="

MISTAKES = (
    Mistake(
        "overwritten",
        {"store": stored(lambda old, new: new)},
        Message(
            "the newest chunk replaces the content: the cache never holds more than one chunk",
            "新的一段覆盖了原有内容：缓存中永远只有一段",
        ),
        Message("append it: cat([old, new], axis=-2)", "追加在后面：cat([old, new], axis=-2)"),
        hides=FIRST,
        pattern=JOIN,
    ),
    Mistake(
        "position_not_advanced",
        {"store": stored(_overwritten_in_front)},
        Message(
            "every chunk is written at position 0, over the earlier content: the position is not advanced",
            "每一段都写在位置 0，覆盖了原有内容：写入位置没有前移",
        ),
        Message("write to length : length + new_len, then length += new_len", "写入 length : length + new_len，然后 length += new_len"),
        hides=FIRST,
        pattern=r"pos|len|\[.*\] *=",
    ),
    Mistake(
        "first_chunk_lost",
        {"store": _first_lost},
        Message("returns the first chunk but does not store it", "返回了第一段，但没有存下来"),
        Message("store it too: self.keys = key if the cache is empty", "也要存下来：缓存为空时 self.keys = key"),
        hides=FIRST,
        pattern=r"if |None",
    ),
    Mistake(
        "newest_not_returned",
        {"give": _give_old},
        Message(
            "returns the content before the newest chunk was appended: a token cannot attend to itself",
            "返回的是追加新段之前的内容：新词元无法关注自己",
        ),
        Message("append first, then return", "先追加，再返回"),
        pattern=r"return",
    ),
    Mistake(
        "put_in_front",
        {"store": stored(lambda old, new: new if old is None else concatenated(new, old))},
        Message("puts new positions before the old ones", "新的位置放在了旧的前面"),
        Message("use cat([old, new], axis=-2)", "使用 cat([old, new], axis=-2)"),
        hides=FIRST,
        pattern=JOIN,
    ),
    Mistake(
        "joined_along_width",
        {"store": stored(lambda old, new: concatenated(old, new, -1))},
        Message(
            "concatenates along the last axis: the vectors become wider, not the sequence longer",
            "沿最后一轴拼接：向量变宽了，而不是序列变长",
        ),
        Message("concatenate along the positions: axis=-2", "沿位置轴拼接：axis=-2"),
        hides=FIRST,
        pattern=JOIN,
    ),
    Mistake(
        "joined_along_batch",
        {"store": stored(lambda old, new: concatenated(old, new, 0))},
        Message("concatenates along the first axis, the batch", "沿第一轴（批）拼接了"),
        Message("concatenate along the positions: axis=-2", "沿位置轴拼接：axis=-2"),
        hides=FIRST,
        pattern=JOIN,
    ),
    Mistake(
        "last_position_dropped",
        {"store": stored(lambda old, new: new if old is None else concatenated(old[..., :-1, :], new))},
        Message(
            "each chunk is written one position too early, over the last stored position",
            "每一段都提前一个位置写入，覆盖了原来的最后一个位置",
        ),
        Message("write to length : length + new_len", "写入 length : length + new_len"),
        hides=FIRST,
        pattern=r"- *1|:-1",
    ),
    Mistake(
        "only_last_position_kept",
        {"store": stored(lambda old, new: concatenated(old, new[..., -1:, :]))},
        Message(
            "stores only the last position of each chunk: correct for single tokens, not for a prompt",
            "每一段只保存了最后一个位置：单个词元时没问题，提示则不行",
        ),
        Message("store all positions of the chunk", "保存这一段的所有位置"),
        hides=Message("the mistake is not visible for chunks of one token", "每段只有一个词元时看不出来"),
        pattern=r"-1",
    ),
    Mistake(
        "values_not_kept",
        {"store": stored(concatenated, lambda old, new: new)},
        Message("stores the keys but not the values: returns only the newest values", "保存了 key，没有保存 value：只返回了最新的 value"),
        Message("concatenate both", "两者都要拼接"),
        hides=FIRST,
        pattern=r"v\w* *=",
    ),
    Mistake(
        "keys_not_kept",
        {"store": stored(lambda old, new: new, concatenated)},
        Message("stores the values but not the keys: returns only the newest keys", "保存了 value，没有保存 key：只返回了最新的 key"),
        Message("concatenate both", "两者都要拼接"),
        hides=FIRST,
        pattern=r"k\w* *=",
    ),
    Mistake(
        "keys_and_values_exchanged",
        {"give": lambda state, old_key, old_value, key, value: (state["v"], state["k"])},
        Message("returns (values, keys) instead of (keys, values)", "返回的是 (values, keys)，应为 (keys, values)"),
        Message("return keys, values", "返回 keys, values"),
        pattern=r"return",
    ),
    Mistake(
        "values_are_keys",
        {"give": lambda state, old_key, old_value, key, value: (state["k"], state["k"])},
        Message("returns the keys twice instead of keys and values", "返回了两次 key：没有返回 value"),
        Message("return keys, values", "返回 keys, values"),
        pattern=r"v\w* *=|return",
    ),
    Mistake(
        "shared_by_layers",
        {"layers": _shared},
        Message(
            "two layers share one cache: each gets what the other appends (a class attribute, or a list as default argument)",
            "两层共用了一个缓存：一层追加的内容另一层也能看到（类属性，或用列表作默认参数）",
        ),
        Message("create the arrays in __init__, one cache per layer", "在 __init__ 中创建数组，每层一个缓存"),
        hides=Message("the mistake is not visible with a single layer", "只有一层时看不出来"),
        pattern=r"= *\[\]|= *None|layer",
    ),
    Mistake(
        "not_cleared",
        {"clear": lambda state: None},
        Message("clearing has no effect: the next text is appended to the previous one", "清空不起作用：下一段文本接在了上一段之后"),
        Message("set keys and values to None, and the length to 0", "把 keys 与 values 设为 None，长度设为 0"),
        hides=Message("the first text is correct", "第一段文本是对的"),
        pattern=r"reset|clear",
    ),
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


AXES = (
    Convention(),
    Convention(
        Message(
            "expects keys as (batch, positions, heads, head_dim); for (batch, heads, positions, head_dim) it concatenates along the heads",
            "key 应为 (batch, positions, heads, head_dim)；若传入 (batch, heads, positions, head_dim)，就会沿头的轴拼接",
        ),
        encode=lambda inputs: lists(inputs, _swapped),
        decode=_swapped_back,
    ),
)
BUFFERS = (
    Convention(),
    Convention(
        Message(
            "returns the whole buffer, with zeros after the filled part: mask them",
            "返回整个缓冲区，未填部分为 0：需要用掩码遮住",
        ),
        decode=_cropped,
    ),
)

FOUR = Message("keys with batch and head axes", "带批轴与头轴的 key")
TWO = Message("keys without a head axis", "没有头轴的 key")


def probes() -> tuple[Probe, ...]:
    """A prompt and single tokens, then several at once; two layers in alternation; one text after another."""
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
        Probe("without heads", pair((3, 1, 2), ()), TWO),
    )


EXERCISE = Exercise(
    name="kv_cache",
    title=Message("key-value cache", "KV 缓存"),
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=tuple(
        Role(name, neutral=None if name not in ("keys", "values") else ())
        for name in ("keys", "values", "other_keys", "other_values", "earlier_keys", "earlier_values")
    ),
    called=r"kv_?(full_?)?cache|key_?value_?cache|(update|append)(_to)?_?(kv|cache)|cache_?(update|append)|^Cache$",
    probes=probes,
    mistakes=MISTAKES,
    conventions=(AXES, BUFFERS),
    equation="keys ← [keys, new keys],   values ← [values, new values],   along the positions",
    hints=(
        Message(
            "Keys and values are computed once per token and stored, separately for each layer.",
            "每个词元的 key 与 value 只计算一次，并在每一层各自保存。",
        ),
        Message(
            "Append new positions along axis -2; attention uses all of them, old and new.",
            "新的位置沿第 -2 轴追加在后面；注意力使用全部位置，包括新的。",
        ),
        Message(
            "self.keys = key if self.keys is None else cat([self.keys, key], axis=-2); same for values; return both",
            "self.keys = key if self.keys is None else cat([self.keys, key], axis=-2)；values 相同；返回两者",
        ),
    ),
    calls=cache_calls,
    is_trained_through=False,
)
