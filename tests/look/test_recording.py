"""Recording of calls: the numbers are those of the run, and a recording changes nothing."""

from __future__ import annotations

import inspect
import sys

import numpy as np
import pytest

from headway import functions
from headway.errors import OptionError
from headway.look.examples import example_inputs
from headway.look.recording import record
from headway.look.trace import SCHEMA, Trace, calls_of
from headway.look.trace_json import TraceError

DEFINITIONS = sorted(
    name
    for name in functions.__all__
    if inspect.isfunction(getattr(functions, name)) and "Shapes" in (getattr(functions, name).__doc__ or "")
)


def array_of(value):
    """Return a stored array."""
    return np.array(value.numbers).reshape(value.shape)


def value_of(call, name):
    """Return the last value with a name among the steps of a call."""
    return [value for step in call.steps for value in step.values if value.name == name][-1]


@pytest.mark.parametrize("name", DEFINITIONS)
def test_every_definition_can_be_seen_and_its_json_read_again(name):
    function = getattr(functions, name)
    inputs = example_inputs(function)
    recorded = record(function, **inputs)
    assert recorded.error is None
    assert recorded.trace.call.function == name
    assert any(value.name.startswith("return") for step in recorded.trace.call.steps for value in step.values)
    text = recorded.trace.to_json()
    assert Trace.from_json(text).to_json() == text


def test_the_numbers_of_each_line_are_those_of_the_computation():
    x = np.array([[0.0, 1.0, 3.0], [2.0, -1.0, 0.5]])
    call = record(functions.softmax, x).trace.call
    powers = np.exp(x - x.max(-1, keepdims=True))
    np.testing.assert_array_equal(array_of(value_of(call, "weights")), powers)
    np.testing.assert_array_equal(array_of(value_of(call, "total")), powers.sum(-1, keepdims=True))
    np.testing.assert_array_equal(array_of(value_of(call, "return")), functions.softmax(x))
    assert value_of(call, "weights").axes == ("batch", "size")
    assert [inner.function for step in call.steps for inner in step.calls] == ["_finite_max"]


def test_the_lines_are_those_of_the_file():
    trace = record(functions.softmax, np.ones(3)).trace
    lines, _ = inspect.findsource(functions.softmax)
    source = trace.sources[trace.call.source]
    assert all(lines[number - 1].strip() == text.strip() for number, text in source.lines)
    (line,) = [step.line for step in trace.call.steps if step.values and step.values[0].name == "weights"]
    assert lines[line - 1].strip().startswith("weights = xp.exp(")
    assert source.equation == "exp(x - max x) / Σ exp(x - max x)"


def test_a_loop_has_a_step_for_each_run_of_a_statement():
    def powers(x):
        total = 0
        for k in range(4):
            total = total + x**k
        return total

    call = record(powers, np.array([2.0])).trace.call
    totals = [array_of(value).item() for step in call.steps for value in step.values if value.name == "total" and value.shape]
    assert totals == [1.0, 3.0, 7.0, 15.0]


def test_a_change_in_place_is_seen_although_no_name_is_bound():
    def fill(x):
        x[1] = 5.0
        x += 1

    values = [value.numbers for step in record(fill, np.zeros(2)).trace.call.steps for value in step.values if value.name == "x"]
    assert values == [(0.0, 5.0), (1.0, 6.0)]


def test_a_statement_of_several_lines_is_one_step():
    def add(x):
        return sum(
            [
                x,
                x,
            ]
        )

    assert len(record(add, np.ones(2)).trace.call.steps) == 1


def test_an_exception_ends_the_call_and_the_recording():
    def fails(x):
        y = x + 1
        if y[0] > 1:
            raise ValueError("too large")

    recorded = record(fails, np.ones(2))
    assert isinstance(recorded.error, ValueError)
    assert recorded.trace.call.error == "ValueError: too large"
    assert value_of(recorded.trace.call, "y").numbers == (2.0, 2.0)


def test_a_handled_exception_is_no_error_of_the_call():
    def handles(x):
        try:
            x[10]
        except IndexError:
            x = x * 2
        return x

    assert record(handles, np.ones(2)).trace.call.error == ""


def test_the_trace_function_of_a_debugger_is_restored():
    def own(*_):
        return None

    before = sys.gettrace()
    sys.settrace(own)
    try:
        record(functions.softmax, np.ones(2))
        assert sys.gettrace() is own
    finally:
        sys.settrace(before)


def test_recording_changes_no_result():
    inputs = example_inputs(functions.scaled_dot_product_attention)
    np.testing.assert_array_equal(
        record(functions.scaled_dot_product_attention, **inputs).result, functions.scaled_dot_product_attention(**inputs)
    )


def test_nan_and_infinities_survive_json():
    recorded = record(functions.relu, np.array([np.nan, np.inf, -np.inf, 1.0]))
    value = Trace.from_json(recorded.trace.to_json()).call.arguments[0]
    np.testing.assert_array_equal(value.numbers, [np.nan, np.inf, -np.inf, 1.0])
    assert value.num_nan == 1
    assert value.maximum == np.inf


def test_a_large_array_is_sampled_at_the_indices_that_it_names():
    x = np.arange(200 * 300.0).reshape(200, 300)
    value = record(functions.relu, x).trace.call.arguments[0]
    assert len(value.numbers) <= 4096
    np.testing.assert_array_equal(np.array(value.numbers).reshape([len(each) for each in value.kept]), x[np.ix_(*value.kept)])
    assert (value.minimum, value.maximum) == (0.0, x.max())
    assert (value.kept[0][0], value.kept[0][-1]) == (0, 199)


@pytest.mark.parametrize("library", ["torch", "jax", "mlx"])
def test_arrays_of_every_library_have_the_same_numbers(library):
    from headway.arrays import from_numpy

    x = np.array([1.0, 2.0, 4.0], np.float32)
    call = record(functions.softmax, from_numpy(x, library, None)).trace.call
    np.testing.assert_allclose(value_of(call, "return").numbers, functions.softmax(x), rtol=1e-6)
    assert value_of(call, "return").dtype == "float32"


def test_names_of_axes_follow_the_documented_shapes_through_calls():
    inputs = example_inputs(functions.scaled_dot_product_attention)
    call = record(functions.scaled_dot_product_attention, **inputs).trace.call
    assert value_of(call, "weights").axes == ("num_heads", "query_len", "key_len")
    inner = next(each for each in calls_of(call) if each.function == "softmax")
    assert value_of(inner, "weights").axes == ("num_heads", "query_len", "key_len")


def test_equal_sizes_get_no_name_that_could_be_wrong():
    x = np.ones((3, 3))
    call = record(functions.linear, x, np.ones((3, 3))).trace.call
    assert value_of(call, "product").axes == ("", "")


def test_a_function_without_shapes_needs_inputs():
    with pytest.raises(OptionError, match="without a Shapes block"):
        example_inputs(functions.yarn_magnitude)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": "headway/trace/v0"}', f'{{"schema": "{SCHEMA}", "call": 3}}', "[" * 100_000])
def test_json_that_is_no_trace_is_refused(text):
    with pytest.raises(TraceError):
        Trace.from_json(text)
