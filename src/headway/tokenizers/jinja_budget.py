"""The step budget of one rendering of a chat template, and the cost of values.

Chat templates are untrusted. Each operation of a template spends steps in proportion to its work and its memory, so that the budget bounds
the time, the memory and the output. The count is deterministic: it does not depend on the speed of the machine.

One step is about 1 µs: one node of the template's syntax tree, one call, 64 characters, 4 copied list elements or 2 values read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from contextvars import ContextVar, Token
from typing import cast

from jinja2.exceptions import SecurityError

BASE_STEPS = 100_000
STEPS_PER_VALUE = 1_000
STEPS_PER_CHARACTER = 8
CHARACTERS_PER_STEP = 64
ELEMENTS_PER_STEP = 4
VALUES_PER_STEP = 2
MAX_DEPTH = 200
MAX_BITS = 14_000
"""Largest integer that a template may compute; 14,000 bits are 4,214 digits, fewer than the 4,300 that Python converts to text."""
MAX_PATTERN = 200
"""Longest pattern of strftime_now, and the largest width and precision in format strings."""

CONTAINERS: tuple[type, ...] = (list, tuple, dict, set, frozenset, type({}.keys()), type({}.values()), type({}.items()))

_remaining: ContextVar[list[int]] = ContextVar("remaining")


class BudgetError(SecurityError):
    """A template that needs more steps than its conversation justifies, or a value that is too large."""


def start(variables: object) -> Token[list[int]]:
    """Begin a rendering: grant a base budget and more for each value and character of the variables. Return a token for `stop`."""
    num_values, num_characters = measure(variables, limit=None)
    return _remaining.set([BASE_STEPS + STEPS_PER_VALUE * num_values + STEPS_PER_CHARACTER * num_characters])


def stop(token: Token[list[int]]) -> None:
    """End a rendering."""
    _remaining.reset(token)


def spend(steps: int) -> None:
    """Subtract steps from the budget of the current rendering. Raise BudgetError if none are left."""
    remaining = _remaining.get()
    remaining[0] -= steps
    if remaining[0] < 0:
        raise BudgetError("the template needs too many steps, or makes too much text")


def spend_characters(num_characters: int) -> None:
    """Spend the steps of text of this length."""
    spend(1 + num_characters // CHARACTERS_PER_STEP)


def spend_shallow(value: object) -> None:
    """Spend the steps of copying a value, without what its elements contain."""
    if isinstance(value, str):
        spend(1 + len(value) // CHARACTERS_PER_STEP)
    elif isinstance(value, Sized):
        spend(1 + len(value) // ELEMENTS_PER_STEP)
    else:
        spend(1)


def spend_deep(value: object, factor: int = 1) -> None:
    """Spend the steps of reading a value with all that it contains, `factor` times."""
    if isinstance(value, str):
        spend(1 + factor * len(value) // CHARACTERS_PER_STEP)
    elif isinstance(value, CONTAINERS):
        num_values, num_characters = measure(value, limit=_remaining.get()[0] * VALUES_PER_STEP)
        spend(1 + factor * (num_values // VALUES_PER_STEP + num_characters // CHARACTERS_PER_STEP))
    else:
        spend(1 + (factor * len(value) // ELEMENTS_PER_STEP if isinstance(value, range) else 0))


def measure(value: object, *, limit: int | None) -> tuple[int, int]:
    """Count the values and the characters that a value contains. A shared part counts once for each place that refers to it.

    limit   number of values after which to raise BudgetError; a small template can make a list whose parts refer to each other 2**40 times
    """
    num_values = num_characters = 0
    pending: list[tuple[Iterator[object], int]] = [(iter((value,)), 0)]
    while pending:
        items, depth = pending[-1]
        for item in items:
            num_values += 1
            if isinstance(item, str):
                num_characters += len(item)
            elif isinstance(item, int):
                num_characters += item.bit_length() // 3
            elif isinstance(item, CONTAINERS):
                if limit is not None and (num_values > limit or depth >= MAX_DEPTH):
                    raise BudgetError("the template makes a value that is too large or too deeply nested")
                parts: Iterable[object] = (
                    (part for pair in item.items() for part in pair) if isinstance(item, dict) else cast(Iterable[object], item)
                )
                pending.append((iter(parts), depth + 1))
                break
        else:
            pending.pop()
    return num_values, num_characters


def counted(items: Iterable[object], steps: int = 1) -> Iterator[object]:
    """Yield the items and spend steps for each."""
    for item in items:
        spend(steps)
        yield item


def check_int(value: object) -> object:
    """Return the value. Raise BudgetError for an integer that is too large."""
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise BudgetError(f"the template computes an integer of {value.bit_length()} bits, expected at most {MAX_BITS}")
    return value


def spend_search(text: str, *patterns: object, is_linear: bool) -> None:
    """Spend the steps of searching text for patterns.

    is_linear   the search needs at most len(text) steps per 100 characters of a pattern; else len(text) for each of its characters
    """
    longest = max((len(pattern) for pattern in patterns if isinstance(pattern, str)), default=1)
    spend(1 + len(text) * (min(longest, 100) if is_linear else longest) // 256)


def spend_replace(text: str, old: str, new: str) -> None:
    """Spend the steps of text.replace(old, new)."""
    spend_search(text, old, is_linear=True)
    count = text.count(old)
    spend_characters(len(text) + count * len(new))


def spend_percent_format(text: str, values: object) -> None:
    """Spend the steps of `text % values`. Raise BudgetError for a width or precision over MAX_PATTERN or given as `*`."""
    num_conversions = 0
    position = text.find("%")
    while 0 <= position < len(text) - 1:
        num_conversions += 1
        position = _end_of_key(text, position + 1)
        end = position
        while end < len(text) and text[end] in "#0- +.*123456789":
            end += 1
        for number in text[position:end].translate(_SEPARATORS).split():
            if number == "*" or len(number) > 3 or int(number) > MAX_PATTERN:
                raise BudgetError(f"got the width {number:.20} in a format, expected a number up to {MAX_PATTERN}")
        position = text.find("%", end + 1)
    spend(num_conversions * (1 + MAX_PATTERN // CHARACTERS_PER_STEP))
    spend_deep(values, 8 * (max(1, num_conversions) if isinstance(values, dict) else 1))


_SEPARATORS = str.maketrans({"#": " ", "-": " ", "+": " ", ".": " ", "*": " * "})


def _end_of_key(text: str, position: int) -> int:
    """Return the position after the mapping key `(…)` that starts at `position`, if there is one. Keys may contain parentheses."""
    if position >= len(text) or text[position] != "(":
        return position
    depth = 0
    for index in range(position, len(text)):
        depth += (text[index] == "(") - (text[index] == ")")
        if depth == 0:
            return index + 1
    return len(text)
