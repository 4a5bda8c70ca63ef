"""Checks of docstrings: the documented shapes are compared with those of a call."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
import re
import typing

import numpy as np
import pytest

from headway import functions
from headway.arrays import Array
from headway.functions import Matrix
from tests.functions import shapes

PUBLIC = {name: getattr(functions, name) for name in functions.__all__}
FUNCTIONS = {name: value for name, value in PUBLIC.items() if inspect.isfunction(value)}
CLASSES = {name: value for name, value in PUBLIC.items() if inspect.isclass(value)}
WEIGHTS = {name: value for name, value in CLASSES.items() if name.endswith("Weights")}
DOCUMENTED = {name: value for name, value in FUNCTIONS.items() if shapes.parse(value)}

# Functions without an underscore that several files use, but that are not part of the public functions.
SHARED_CHECKS = {"as_array", "check_positive", "check_rate", "check_sizes", "check_token_ids", "num_kv_heads_of"}


@pytest.mark.parametrize(
    "leading", [(), shapes.LEADING[:1], shapes.LEADING], ids=["no_leading_axis", "one_leading_axis", "two_leading_axes"]
)
@pytest.mark.parametrize("name", DOCUMENTED)
def test_a_function_returns_the_shapes_its_docstring_promises(name, leading):
    function = DOCUMENTED[name]
    has_trees = "Weights" in inspect.getdoc(function)
    for seed, absent in enumerate(shapes.optional_names(function)):
        for has_optional in (True, False) if has_trees else (True,):
            shapes.call_by_docstring(function, leading=leading, absent=absent, has_optional=has_optional, seed=seed).check()


@pytest.mark.parametrize("name", WEIGHTS)
def test_a_weight_tree_documents_exactly_its_fields_and_which_are_optional(name):
    fields = {field.name: field.default is None for field in dataclasses.fields(WEIGHTS[name])}
    assert {line.name: line.is_optional for line in shapes.parse(WEIGHTS[name]).arguments} == fields


@pytest.mark.parametrize("name", WEIGHTS)
def test_a_weight_tree_is_made_of_the_classes_its_docstring_names(name):
    block = shapes.parse(WEIGHTS[name])
    builder = shapes.Builder(shapes.draw_dimensions(block, seed=1), (), np.random.default_rng(1))
    hints = typing.get_type_hints(WEIGHTS[name])
    for line in block.arguments:
        built = builder.build(line)
        kinds = [kind for kind in (typing.get_args(hints[line.name]) or (hints[line.name],)) if kind not in (type(None), ..., Matrix)]
        assert kinds == ([Array] if hasattr(built, "shape") else [type(built[0] if isinstance(built, tuple) else built)]), line.name


@pytest.mark.parametrize(
    "leading", [(), shapes.LEADING[:1], shapes.LEADING], ids=["no_leading_axis", "one_leading_axis", "two_leading_axes"]
)
def test_a_kv_cache_takes_and_gives_the_shapes_its_docstrings_promise(leading):
    sizes = {"query_len": 7, "key_len": 7, "max_seq_len": 37, "num_kv_heads": 3, "head_dim": 11, "value_dim": 13}
    block = shapes.parse(functions.KVCache)
    builder = shapes.Builder(shapes.draw_dimensions(block, 0, sizes), leading, np.random.default_rng(0))
    cache = functions.KVCache(**{line.name: builder.build(line) for line in block.arguments})
    shapes.call_by_docstring(cache.append, leading=leading, given=sizes).check()
    assert cache.length == sizes["query_len"]
    shapes.call_by_docstring(cache.append, leading=leading, given=sizes | {"key_len": 2 * sizes["query_len"]}).check()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_documents_every_array_it_takes_and_returns(name):
    function = FUNCTIONS[name]
    signature = inspect.signature(function)
    annotations = {parameter.name: parameter.annotation for parameter in signature.parameters.values()}
    in_library_of = {"like"}  # only determines the library of the result
    arrays = {
        n for n, kind in annotations.items() if re.search(r"^ArrayT?\b|^LikeT\b|Weights\b|^LowRank\b", kind) and n not in in_library_of
    }
    block = shapes.parse(function)
    documented = {line.name for line in block.arguments} if block else set()
    assert arrays == documented
    returns_arrays = bool(re.search(r"\b(Array|ArrayT|LikeT)\b|Weights\b", signature.return_annotation))
    assert returns_arrays == (block is not None and block.returned is not None)


@pytest.mark.parametrize("name", DOCUMENTED)
def test_optional_arrays_are_those_with_a_default_of_none(name):
    parameters = inspect.signature(DOCUMENTED[name]).parameters
    for line in shapes.parse(DOCUMENTED[name]).arguments:
        assert line.is_optional == (parameters[line.name].default is None), line.name


@pytest.mark.parametrize("name", [name for name, function in DOCUMENTED.items() if shapes.parse(function).equations])
def test_a_where_line_binds_sizes_that_stand_in_a_shape(name):
    block = shapes.parse(DOCUMENTED[name])
    builder = shapes.Builder(shapes.draw_dimensions(block, seed=0), (), np.random.default_rng(0))
    for line in block.arguments:
        builder.build(line)
    used = builder.dimensions.keys() | inspect.signature(DOCUMENTED[name]).parameters.keys()
    assert block.equations.keys() <= used


@pytest.mark.parametrize("name", PUBLIC)
def test_a_docstring_begins_with_one_sentence_on_one_line(name):
    first, *rest = inspect.getdoc(PUBLIC[name]).splitlines()
    assert first.endswith("."), first
    assert not re.search(r"[.!?] [A-Z]", first), f"two sentences: {first}"
    assert not rest or rest[0] == ""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_docstring_names_every_scalar_it_takes_unless_a_shape_does(name):
    function = FUNCTIONS[name]
    text = inspect.getdoc(function).replace("Shapes", "")
    explained = {"ops"} | ({"is_pre_norm", "eps", "sublayer"} if name == "residual" else set())  # explained by its two equations
    for parameter in inspect.signature(function).parameters:
        assert parameter in explained or re.search(rf"\b{parameter}\b", text), parameter


@pytest.mark.parametrize("name", sorted(DOCUMENTED))
def test_documented_errors_exist(name):
    for error in re.findall(r"\b\w+Error\b", inspect.getdoc(DOCUMENTED[name])):
        assert hasattr(importlib.import_module("headway.errors"), error)


def test_all_names_are_what_the_files_define_publicly():
    defined = set()
    for module in pkgutil.iter_modules(functions.__path__, "headway.functions."):
        contents = vars(importlib.import_module(module.name))
        defined |= {n for n, v in contents.items() if not n.startswith("_") and getattr(v, "__module__", None) == module.name}
    assert defined - SHARED_CHECKS == set(functions.__all__)
    assert defined >= SHARED_CHECKS
    assert functions.__all__ == sorted(functions.__all__)


def wrong_axis_order(x):
    """Document unchanged axes.

    Shapes
        x       (..., seq_len, hidden_size)
        return  (..., seq_len, hidden_size)
    """
    return np.swapaxes(x, -1, -2)


def lost_axis(x):
    """Document an unchanged last axis.

    Shapes
        x       (..., size)
        return  (..., size)
    """
    return x.sum(axis=-1)


def hidden_leading_axes(x):
    """Document any leading axes.

    Shapes
        x       (..., size)
        return  (..., size)
    """
    return np.zeros(x.shape[-2:])


def weight_the_other_way_around(x, weight):
    """Document (out, in) for a weight (in, out).

    Shapes
        x       (..., in_features)
        weight  (out_features, in_features)
        return  (..., out_features)
    """
    return x @ weight


def wrong_kind(x):
    """Document a floating-point result.

    Shapes
        x       (..., size)
        return  (..., size)
    """
    return x > 0


def not_optional(x, mask=None):
    """Document an optional mask.

    Shapes
        x       (..., size)
        mask    (size,) boolean optional
        return  (..., size)
    """
    return np.where(mask, x, 0.0)[..., : len(mask)]


def wrong_relation(x, num_heads):
    """Document num_heads heads, and return twice as many.

    Shapes
        x       (..., num_heads * head_dim)
        return  (..., num_heads, head_dim)
        where   num_heads = num_kv_heads * group_size
    """
    return x.reshape(*x.shape[:-1], -1, 2 * num_heads)


def made_up_argument(x):
    """Document an argument that does not exist.

    Shapes
        x       (..., size)
        y       (..., size)
        return  (..., size)
    """
    return x


def one_array_of_two(x):
    """Document two arrays.

    Shapes
        x       (..., size)
        return  (..., size), (..., size)
    """
    return (x,)


def wrong_tree(heads):
    """Document unchanged heads.

    Shapes
        heads   num_heads * HeadWeights
        return  num_heads * HeadWeights
    """
    return heads[1:]


WRONG = (
    wrong_axis_order,
    lost_axis,
    hidden_leading_axes,
    weight_the_other_way_around,
    wrong_kind,
    not_optional,
    wrong_relation,
    made_up_argument,
    one_array_of_two,
    wrong_tree,
)


def check_all_calls(function):
    for absent in shapes.optional_names(function):
        shapes.call_by_docstring(function, leading=shapes.LEADING, absent=absent).check()


@pytest.mark.parametrize("function", WRONG, ids=lambda function: function.__name__)
def test_a_wrong_docstring_is_detected(function):
    with pytest.raises((AssertionError, ValueError, TypeError)):
        check_all_calls(function)


def test_a_correct_docstring_passes():
    def correct(x):
        """Drop every other number.

        Shapes
            x       (..., 2 * half)
            return  (..., half), (...)
        """
        return x[..., ::2], x[..., 0]

    for leading in ((), shapes.LEADING[:1], shapes.LEADING):
        shapes.call_by_docstring(correct, leading=leading).check()


def test_different_names_never_draw_the_same_size():
    for function in DOCUMENTED.values():
        call = shapes.call_by_docstring(function, leading=shapes.LEADING)
        free = [size for name, size in call.builder.dimensions.items() if name not in call.block.equations]
        assert len(set(free)) == len(free)
        assert not set(free) & set(shapes.LEADING)
