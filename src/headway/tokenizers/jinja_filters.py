"""Jinja's filters and tests with a check of what each will cost, made before it runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

from jinja2.filters import FILTERS
from jinja2.runtime import Context
from jinja2.tests import TESTS
from jinja2.utils import pass_context

from headway.tokenizers.jinja_budget import (
    BudgetError,
    counted,
    spend,
    spend_characters,
    spend_deep,
    spend_percent_format,
    spend_replace,
    spend_search,
)

Filter = Callable[..., Any]

UNSUPPORTED = {"urlize", "striptags", "xmlattr", "pprint"}
"""Filters for web pages and debugging, which no chat template needs and whose cost is hard to bound."""
CHEAP = {"abs", "attr", "count", "d", "default", "first", "items", "last", "length", "random", "safe"}
"""Filters whose cost does not depend on the size of the value."""
LAZY = {"map", "reject", "rejectattr", "select", "selectattr"}
"""Filters that return iterators."""
COMPARING = {"dictsort", "groupby", "max", "min", "sort", "unique"}
FROM_ITERATORS = COMPARING | {"batch", "join", "list", "slice", "sum"}
"""Filters that read an iterator to its end."""
MAX_PRECISION = 400
MAX_DIGITS = 5_000
MAX_INDENT = 16


def bounded_filters() -> dict[str, Filter]:
    """Return Jinja's filters, each with a check of its cost."""
    filters: dict[str, Filter] = {name: _bounded_filter(name, function) for name, function in FILTERS.items() if name not in UNSUPPORTED}
    return filters | {"tojson": _bounded_filter("tojson", to_json)}


def bounded_tests() -> dict[str, Filter]:
    """Return Jinja's tests without `filter` and `test`; those that compare or format values have a check of their cost."""
    tests: dict[str, Any] = {name: function for name, function in TESTS.items() if name not in ("filter", "test")}
    for name in ("==", "eq", "equalto", "!=", "ne", ">", "gt", "greaterthan", "ge", ">=", "<", "lt", "lessthan", "<=", "le"):
        tests[name] = _comparing_test(tests[name])
    for name in ("upper", "lower"):
        tests[name] = _comparing_test(tests[name])
    for name in ("odd", "even", "divisibleby"):
        tests[name] = _remainder_test(tests[name])
    tests["in"] = lambda value, sequence: value in haystack(sequence, value)
    return tests


def to_json(
    value: object,
    ensure_ascii: bool = False,
    indent: int | str | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Return the value as JSON. Unlike Jinja's own filter, it does not escape HTML and keeps the order of keys, as in transformers."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def haystack(sequence: object, needle: object = None) -> Any:
    """Return a value in which `in` will search, an iterator as a list, and spend the steps of the search."""
    spend_deep(needle)
    if isinstance(sequence, str):
        spend(1 + len(sequence) // 4)
    elif isinstance(sequence, Iterator):
        sequence = list(counted(sequence))
    spend_deep(sequence)
    return sequence


def _bounded_filter(name: str, function: Filter) -> Filter:
    """Return a filter that spends the steps of `function` before it calls it.

    With pass_context, Jinja cannot call the filter at compile time, when there is no budget.
    """
    passed = getattr(function, "jinja_pass_arg", None)
    check = CHECKS.get(name)

    @pass_context
    @wraps(function)
    def bounded(context: Context, value: object = None, *args: object, **kwargs: object) -> object:
        if name in LAZY:
            cost = 1 + _text_length(args, kwargs)
            spend_deep(args)
            value = counted(value, cost) if value else value  # type: ignore[arg-type]
        elif name in CHEAP:
            spend_deep(args, 8)
            spend_deep(kwargs, 8)
        else:
            if name in FROM_ITERATORS and isinstance(value, Iterator):
                value = list(counted(value))
            _spend_arguments(name, value, args, kwargs)
        if check is not None:
            check(value, *args, **kwargs)
        first: dict[str, list[Any]] = {"context": [context], "eval_context": [context.eval_ctx], "environment": [context.environment]}
        result = function(*(first[passed.name] if passed is not None else []), value, *args, **kwargs)
        if isinstance(result, str):
            spend_characters(len(result))
        return result

    # Jinja's own decorators mark the function that @wraps copies from.
    bounded.jinja_pass_arg = pass_context(lambda context: None).jinja_pass_arg  # type: ignore[attr-defined]
    return bounded


def _spend_arguments(name: str, value: object, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
    spend_deep(args, 8)
    spend_deep(kwargs, 8)
    length = len(value) if isinstance(value, (str, list, tuple, dict, range)) else 1
    if name in COMPARING:
        spend(length * (1 + _text_length(args, kwargs)))
        spend_deep(value, 2 * length.bit_length())
    elif name in FROM_ITERATORS and name != "join":
        spend(length)
    else:
        spend_deep(value, 8)


def _text_length(args: tuple[object, ...], kwargs: dict[str, object]) -> int:
    return sum(len(value) for value in (*args, *kwargs.values()) if isinstance(value, str))


def _check_center(value: object, width: object = 80) -> None:
    if isinstance(width, int):
        spend_characters(max(0, width))


def _check_indent(value: object, width: object = 4, first: object = False, blank: object = False) -> None:
    num_lines = len(str(value).splitlines()) + 1
    spend_characters(num_lines * (len(width) if isinstance(width, str) else max(0, width) if isinstance(width, int) else 0))


def _check_batch(value: object, linecount: object, fill_with: object = None) -> None:
    if isinstance(linecount, int):
        spend(max(0, linecount) if fill_with is not None else 1)


def _check_slice(value: object, slices: object, fill_with: object = None) -> None:
    if isinstance(slices, int):
        spend(max(0, slices))


def _check_join(value: object, d: object = "", attribute: object = None) -> None:
    if isinstance(value, (list, tuple, dict, str, range)):
        spend_characters(len(value) * (len(d) + 1) if isinstance(d, str) else len(value))
        if attribute is not None:
            spend(len(value) * (1 + (len(attribute) if isinstance(attribute, str) else 0)))


def _check_replace(value: object, old: object, new: object, count: object = None) -> None:
    spend_replace(str(value), str(old), str(new))


def _check_trim(value: object, chars: object = None) -> None:
    spend_search(str(value), chars, is_linear=False)


def _check_wordwrap(
    value: object,
    width: object = 79,
    break_long_words: object = True,
    wrapstring: object = None,
    break_on_hyphens: object = True,
) -> None:
    length = len(str(value))
    spend(length // 2)
    if isinstance(wrapstring, str):
        spend_characters(length * len(wrapstring))


def _check_format(value: object, *args: object, **kwargs: object) -> None:
    spend_percent_format(str(value), kwargs or args)


def _check_round(value: object, precision: object = 0, method: object = "common") -> None:
    if not isinstance(value, (int, float)):
        raise TypeError(f"the filter round expects a number, got a {type(value).__name__}")
    if isinstance(precision, int) and abs(precision) > MAX_PRECISION:
        raise BudgetError(f"got the precision {precision:.20g} for the filter round, expected at most {MAX_PRECISION}")


def _check_number(value: object, *args: object, **kwargs: object) -> None:
    if isinstance(value, str) and len(value) > MAX_DIGITS:
        raise BudgetError(f"got {len(value)} characters for a number, expected at most {MAX_DIGITS}")


def _check_sum(value: object, attribute: object = None, start: object = 0) -> None:
    if isinstance(value, list) and not all(isinstance(item, (int, float)) for item in [*value, start]):
        spend_deep(value, max(1, len(value)))
        spend(len(value) * (1 + (len(attribute) if isinstance(attribute, str) else 0)))


def _check_tojson(
    value: object,
    ensure_ascii: object = False,
    indent: object = None,
    separators: object = None,
    sort_keys: object = False,
) -> None:
    width = len(indent) if isinstance(indent, str) else indent
    if isinstance(width, int) and width > MAX_INDENT:
        raise BudgetError(f"got indent={width:.20g} for the filter tojson, expected at most {MAX_INDENT}")
    separator_length = sum(len(each) for each in separators if isinstance(each, str)) if isinstance(separators, (list, tuple)) else 0
    if separator_length > MAX_INDENT:
        raise BudgetError(f"got separators of {separator_length} characters for the filter tojson, expected at most {MAX_INDENT}")


CHECKS: dict[str, Callable[..., None]] = {
    "batch": _check_batch,
    "center": _check_center,
    "filesizeformat": _check_number,
    "float": _check_number,
    "format": _check_format,
    "indent": _check_indent,
    "int": _check_number,
    "join": _check_join,
    "replace": _check_replace,
    "round": _check_round,
    "slice": _check_slice,
    "sum": _check_sum,
    "tojson": _check_tojson,
    "trim": _check_trim,
    "wordwrap": _check_wordwrap,
}
"""Checks of filters whose result may be much larger than their arguments. Each has the signature of its filter."""


def _comparing_test(function: Filter) -> Filter:
    def test(*values: object) -> object:
        for value in values:
            spend_deep(value)
        return function(*values)

    return test


def _remainder_test(function: Filter) -> Filter:
    def test(value: object, *args: object) -> object:
        # `text % 2` formats the text.
        if not isinstance(value, (int, float)):
            raise TypeError(f"this test expects a number, got a {type(value).__name__}")
        return function(value, *args)

    return test
