"""Functions of JAX that are traced once and computed with NumPy."""

from __future__ import annotations

import pytest

from headway.practice.diagnosis.calls.jax_on_numpy import jax_on_numpy
from headway.practice.diagnosis.calls.traced import Traces, untraced

jax = pytest.importorskip("jax", exc_type=ImportError)
jnp = jax.numpy

NUM_CALLS = 5


def traces() -> Traces:
    return Traces(lambda error: False)


def attention(tree):
    q, k, settings = tree
    scores = jax.nn.relu(q) @ k.T / settings["scale"]
    return jax.nn.softmax(jnp.where(jnp.tril(jnp.ones(scores.shape, bool)), scores, -jnp.inf)), scores


def test_later_calls_give_the_outputs_of_the_function_without_running_it():
    runs = []

    def function(tree):
        runs.append(tree)
        return attention(tree)

    found = traces()
    with jax_on_numpy():
        for seed in range(NUM_CALLS):
            q, k = jax.random.normal(jax.random.PRNGKey(seed), (2, 3, 4))
            tree = (q, k, {"scale": 2.0})
            for one, other in zip(found.call(function, "f", tree), attention(tree), strict=True):
                assert (one.dtype, one.shape) == (other.dtype, other.shape)
                assert jnp.allclose(one, other, atol=1e-6)
    assert len(runs) == 2  # once as it is, once traced


def test_other_shapes_settings_and_names_are_other_calls():
    found = traces()
    with jax_on_numpy():
        for _ in range(NUM_CALLS):
            for width, scale in ((4, 2.0), (4, 3.0), (5, 2.0)):
                tree = (jnp.ones((3, width)), jnp.ones((3, width)), {"scale": scale})
                assert jnp.allclose(found.call(attention, "f", tree)[1], attention(tree)[1])
                assert jnp.allclose(found.call(lambda tree: tree[0] * 2, "g", tree), tree[0] * 2)


def test_an_exception_of_the_shapes_is_raised_each_time():
    found = traces()
    with jax_on_numpy():
        for _ in range(NUM_CALLS):
            with pytest.raises(TypeError):
                found.call(lambda tree: tree[0] + tree[1], "f", (jnp.ones(2), jnp.ones(3)))


def test_a_branch_on_a_value_and_an_operation_without_a_rule_are_run():
    found = traces()
    with jax_on_numpy():
        for number in range(NUM_CALLS):
            given = jnp.array([float(number), 1.0])
            assert found.call(lambda x: x * 2 if x[0] > 2 else x, "branch", given)[0] == (2 * number if number > 2 else number)
            assert jnp.allclose(found.call(jnp.linalg.norm, "norm", given), (number**2 + 1) ** 0.5)


def test_where_variables_are_set_functions_run_as_they_are():
    found, runs = traces(), []
    with jax_on_numpy(), untraced():
        for _ in range(NUM_CALLS):
            found.call(lambda x: runs.append(x) or x, "f", jnp.ones(2))
    assert len(runs) == NUM_CALLS
