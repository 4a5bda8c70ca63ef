"""Provenance: changing an element outside the marked ones never changes the element that was clicked."""

from __future__ import annotations

import ast
import inspect

import numpy as np
import pytest

from headway import functions
from headway.look.examples import example_inputs
from headway.look.recording import record

NAMES = [
    "softmax", "log_softmax", "attention_weights", "scaled_dot_product_attention", "layer_norm", "rms_norm", "apply_mask", "linear", "gelu_tanh",
    "silu", "normalize", "mean_pool", "keep_top_p", "rotary_cos_sin", "sliding_window_mask", "causal_mask", "cross_attention",
]  # fmt: skip


def cases():
    """Yield each statement that has operands: the function, its recording, the step."""
    for name in NAMES:
        function = getattr(functions, name)
        inputs = example_inputs(function)
        for step in record(function, **inputs).trace.call.steps:
            for operand in step.operands:
                if not operand.of.startswith("return."):
                    yield pytest.param(function, inputs, step.line, operand, id=f"{name}-{step.line}-{operand.name}-{operand.of}")


CASES = list(cases())


def test_the_cases_are_many():
    assert len(CASES) > 40


def run_until(function, inputs, line, change):
    """Run a function, apply `change` to its local names before a statement, and return the names after it."""
    lines, first = inspect.getsourcelines(function)
    tree = ast.parse("".join(lines))
    namespace = dict(vars(inspect.getmodule(function)))
    signature = inspect.signature(function).bind(**inputs)
    signature.apply_defaults()
    namespace |= signature.arguments
    return execute(tree.body[0].body, namespace, line - first + 1, change)


def execute(body, namespace, line, change):
    """Run statements up to and including the one at `line`."""
    for statement in body:
        if isinstance(statement, ast.If) and statement.lineno != line:
            if eval(compile(ast.Expression(statement.test), "<test>", "eval"), namespace) and execute(
                statement.body, namespace, line, change
            ):
                return namespace
            continue
        if statement.lineno == line:
            change(namespace)
        if isinstance(statement, ast.Return):
            namespace["return"] = eval(compile(ast.Expression(statement.value), "<test>", "eval"), namespace)
        else:
            exec(compile(ast.Module([statement], []), "<test>", "exec"), namespace)
        if statement.lineno == line:
            return namespace
    return None


@pytest.mark.parametrize(("function", "inputs", "line", "operand"), CASES)
def test_only_the_marked_elements_can_change_an_element(function, inputs, line, operand):
    before = run_until(function, inputs, line, lambda names: None)[operand.of]
    shape = run_until(function, inputs, line, lambda names: None)[operand.name].shape
    random = np.random.default_rng(0)
    places = [tuple(random.integers(0, size) for size in before.shape) for _ in range(3)]
    for place in places:
        marked = np.ones(shape, bool)
        for axis, of, divisor in operand.fixed:
            index = np.arange(shape[axis]) == place[of] // divisor
            marked &= index.reshape([-1 if each == axis else 1 for each in range(len(shape))])

        def change(names, marked=marked):
            own = names[operand.name]
            other = ~own if own.dtype == bool else own + 1 if own.dtype.kind in "iu" else own * 0.7 + 0.3
            names[operand.name] = np.where(marked, own, other)

        after = run_until(function, inputs, line, change)[operand.of]
        np.testing.assert_array_equal(after[place], before[place])
