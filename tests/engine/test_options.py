"""Each generation option is defined once: bounds, documentation, keyword and field agree."""

from __future__ import annotations

import math
from dataclasses import fields
from fractions import Fraction
from types import NoneType
from typing import get_args, get_type_hints

import numpy
import pytest

from headway.engine import GenerationOptions, GenerationOptionsDict
from headway.engine.option_kinds import Choice, Integer, JsonSchema, Number, Strings, Switch, Text, TokenBiases, TokenIds
from headway.engine.options import default_text, options
from headway.errors import OptionError

OPTIONS = options()
every_option = pytest.mark.parametrize("name", OPTIONS)
WRONG_TYPES = [b"x", 1j, object(), {1, 2}, [None], [[1]], {"a": 1}, {1: "a"}, lambda: 0, math.nan, numpy.nan, numpy.array(["x"]), [True]]


def valid(option):
    """Values at the bounds."""
    if isinstance(option, Integer | Number):
        return [
            option.low,
            *([option.high] if option.high < math.inf else [10**30]),
            *([option.extra] if getattr(option, "extra", None) is not None else []),
        ]
    if isinstance(option, Choice):
        return list(option.choices)
    if isinstance(option, TokenBiases):
        return [{}, {5: option.low}, {5: option.high, numpy.int64(6): -math.inf}]
    return {
        Switch: [True, False],
        TokenIds: [[], [3, 5], (3,), numpy.array([3, 5]), range(3)],
        Strings: ["a", [], ["a", "b"], ("a",)],
        Text: ["a", "[ab]+"],
        JsonSchema: [{}, {"type": "object"}],
    }[type(option)]


def invalid(option):
    """Values just outside the bounds, and of other types."""
    if isinstance(option, Integer):
        return [option.low - 1, *([option.high + 1] if option.high < math.inf else []), 1.5, "1", True]
    if isinstance(option, Number):
        return [option.low - abs(option.low) / 10, option.high * 1.1, 1e308, -1e308, math.inf, "1", True]
    if isinstance(option, Choice):
        return [1, 0, "always"]
    if isinstance(option, TokenBiases):
        return [{5: 1e308}, {5: -1e308}, {5: option.high + 1}, {5: math.inf}, {5: math.nan}, {"5": 1.0}, {True: 1.0}, [5], {5: True}]
    return {
        Switch: [0, 1, "true"],
        TokenIds: [3, "abc", b"x", [1.5], [True], {3: 5}],
        Strings: [5, "", [""], [5], b"x"],
        Text: [5, "", ["a"]],
        JsonSchema: [5, "object", True, []],
    }[type(option)]


def given(name, value):
    """The value as an option, with what else it needs to be valid."""
    return {"num_beams": 1024, name: value} if name == "num_best" else {name: value}


@every_option
def test_values_at_the_bounds_are_accepted(name):
    for value in valid(OPTIONS[name]):
        assert getattr(GenerationOptions(**given(name, value)), name) is value


@every_option
def test_values_outside_the_bounds_are_errors_that_name_the_bounds(name):
    for value in [
        *invalid(OPTIONS[name]),
        *(each for each in WRONG_TYPES if not (isinstance(each, dict) and isinstance(OPTIONS[name], JsonSchema))),
    ]:
        with pytest.raises(OptionError) as caught:
            GenerationOptions(**given(name, value))
        assert str(caught.value).startswith(f"got {name}=")
        assert str(caught.value).endswith(f", expected {OPTIONS[name].expected}")
        assert caught.value.hint == f"leave it out for the default: {default_text(name)}"


@every_option
def test_the_class_documents_the_option_with_its_bounds_and_default(name):
    text = GenerationOptions.__doc__
    assert f"\n    {name} " in text
    assert f"{OPTIONS[name].help} Valid: {OPTIONS[name].expected}. Default: {default_text(name)}." in text
    assert OPTIONS[name].help.endswith(".")


@every_option
def test_the_keyword_has_the_type_of_the_field_and_may_be_none(name):
    keyword, field = get_type_hints(GenerationOptionsDict)[name], get_type_hints(GenerationOptions)[name]
    assert set(get_args(keyword)) == {*(get_args(field) or (field,)), NoneType}


def test_there_is_one_keyword_per_field_and_every_default_is_valid():
    assert list(GenerationOptionsDict.__annotations__) == list(OPTIONS) == [field.name for field in fields(GenerationOptions)]
    GenerationOptions()


def test_none_leaves_the_default():
    assert GenerationOptions.from_values(dict.fromkeys(OPTIONS)) == GenerationOptions()


def test_numpy_and_other_real_numbers_are_numbers():
    assert GenerationOptions(temperature=numpy.float32(0.5), top_k=numpy.int64(3), seed=numpy.uint8(1)).top_k == 3
    assert GenerationOptions(temperature=Fraction(1, 2)).temperature == 0.5


def test_stop_strings_are_a_tuple():
    assert GenerationOptions().stop_strings == ()
    assert GenerationOptions(stop="a").stop_strings == ("a",)
    assert GenerationOptions(stop=["a", "b"]).stop_strings == ("a", "b")
