"""JAX's primitives computed with NumPy: the same outputs as the compiled ones, and nothing is compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy
import pytest

from headway.practice.diagnosis.calls.jax_on_numpy import jax_on_numpy

jax = pytest.importorskip("jax", exc_type=ImportError)
jnp = jax.numpy

DRAW = numpy.random.default_rng(0)
X = DRAW.normal(size=(2, 3, 4)).astype("float32")
IDS = numpy.array([[0, 1, -1], [2, 1, 9]], "int32")
MASK = numpy.tril(numpy.ones((3, 3), bool))


def attention(x: Any, mask: Any) -> Any:
    scores = x @ jnp.swapaxes(x, -1, -2) / jnp.sqrt(x.shape[-1])
    return jax.nn.softmax(jnp.where(mask, scores, -jnp.inf), axis=-1) @ x


def layer_norm(x: Any) -> Any:
    return (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)


def written(x: Any) -> Any:
    return x.at[:, 0].set(3.0).at[..., 1:3].add(1.0).at[0, jnp.array([0, 2, 2])].add(2.0)


def counted(x: Any) -> Any:
    return jax.lax.scan(lambda total, row: (total + row, total * row), jnp.zeros(x.shape[1:]), x)


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "attention": (attention, (X, MASK)),
    "gradient of attention": (jax.grad(lambda x, mask: attention(x, mask).sum()), (X, MASK)),
    "attention of each row": (jax.vmap(attention, (0, None)), (X, MASK)),
    "jit": (jax.jit(attention), (X, MASK)),
    "half precision": (lambda x, mask: attention(x.astype(jnp.bfloat16), mask), (X, MASK)),
    "layer norm": (layer_norm, (X,)),
    "gradient of layer norm": (jax.grad(lambda x: (layer_norm(x) ** 3).sum()), (X,)),
    "embedding": (lambda table, ids: table[ids], (X[0], IDS)),
    "gradient of an embedding": (jax.grad(lambda table, ids: (table[ids] ** 2).sum()), (X[0], IDS)),
    "take": (lambda table, ids: jnp.take(table, ids, axis=0), (X[0], IDS)),
    "take beyond the end": (lambda table, ids: jnp.take(table, ids + 2, axis=0, fill_value=7.0), (X[0], IDS)),
    "take along an axis": (lambda x: jnp.take_along_axis(x, jnp.argsort(x, axis=-1)[..., :2], axis=-1), (X,)),
    "batched indices": (lambda x: x[jnp.arange(2)[:, None], jnp.array([[0, 2], [1, 1]])], (X,)),
    "vmapped indices": (jax.vmap(lambda x, ids: x[ids]), (X, IDS)),
    "vmapped writes": (jax.vmap(lambda x, ids: x.at[ids].add(1.0)), (X, IDS)),
    "slices": (lambda x: (x[:, :, :2], x[..., 1::2], x[0], x[:, -1], x[:, None], x[:, ::-1]), (X,)),
    "writes": (written, (X,)),
    "dynamic slices": (lambda x: jax.lax.dynamic_update_slice(x, jax.lax.dynamic_slice(x, (0, 2, 1), (1, 2, 3)), (1, 0, 0)), (X,)),
    "einsum": (lambda x: jnp.einsum("bih,bjh,ck->bijck", x, x, x[0]), (X,)),
    "matrix and vector": (lambda x: x[0] @ x[0, 0], (X,)),
    "split": (lambda x: jnp.concatenate(jnp.split(x, 2, axis=-1)[::-1], axis=-1), (X,)),
    "stack": (lambda x: jnp.stack([x, -x], axis=1), (X,)),
    "repeat and tile": (lambda x: (jnp.repeat(x, 2, axis=1), jnp.tile(x, (1, 2, 1))), (X,)),
    "activations": (lambda x: (jax.nn.gelu(x), jax.nn.gelu(x, approximate=False), jax.nn.silu(x), jax.nn.relu(x), jax.nn.sigmoid(x)), (X,)),
    "losses": (lambda x, ids: -jnp.mean(jnp.sum(jax.nn.log_softmax(x) * jax.nn.one_hot(ids, 4), axis=-1)), (X, IDS)),
    "sorting": (lambda x: (jnp.sort(x), jnp.argsort(-x), jax.lax.top_k(x, 2), jnp.argmax(x, -1)), (X,)),
    "sums": (lambda x: (jnp.cumsum(x, -1), jnp.cumprod(x, 0), x.prod(), x.min(1), jnp.any(x > 0, axis=1), jnp.all(x > -9)), (X,)),
    "integers": (lambda ids: (ids // 2, ids % 3, ids**2, ids / 2, jnp.arange(5) * 2, -ids, abs(ids)), (IDS,)),
    "powers": (lambda x: (x**2, abs(x) ** 0.5, x**-1, 2**x, jax.lax.rsqrt(abs(x)), 10000 ** (-jnp.arange(4) / 4)), (X,)),
    "rounding": (lambda x: (jnp.round(x), jnp.floor(x), jnp.sign(x), x.astype(int), x > 0, (x > 0).astype(x.dtype)), (X,)),
    "complex numbers": (lambda x: jnp.real(jnp.exp(1j * x) * jax.lax.complex(x, x)), (X,)),
    "padding": (lambda x: (jnp.pad(x, ((0, 0), (1, 2), (0, 0))), jnp.pad(x[0], 1, constant_values=5.0)), (X,)),
    "masks": (lambda x: (jnp.triu(x, k=1), jnp.tril(jnp.ones((3, 3))), jnp.eye(3), jnp.clip(x, 0, 1), jnp.isnan(x)), (X,)),
    "loops": (counted, (X,)),
    "random numbers": (lambda: jax.random.normal(jax.random.PRNGKey(0), (2, 3)), ()),
    "random keys": (lambda: jax.vmap(lambda key: jax.random.uniform(key, (4,)))(jax.random.split(jax.random.key(1), 3)), ()),
    "random choices": (
        lambda: (jax.random.categorical(jax.random.PRNGKey(5), X), jax.random.bernoulli(jax.random.PRNGKey(2), 0.3, (9,))),
        (),
    ),
    "weak types": (lambda x: (jnp.sqrt(4), jnp.where(x > 0, 1.0, 0.0), 2.0 * jnp.exp(1), jnp.asarray(2.0) * x.astype(jnp.bfloat16)), (X,)),
    "NaN": (lambda x: (jnp.maximum(x * jnp.nan, x), (x * jnp.nan).max(), jnp.exp(x * 1000), jnp.log(x)), (X,)),
}


DTYPES = ("float32", "bfloat16", "uint8", "bool", "complex64")
OF_ONE = (
    "abs negative sign square sqrt exp sum mean max min prod var cumsum sort argsort argmax any flip floor round isnan triu diag".split()
)
OF_TWO = (
    "add multiply divide floor_divide remainder power maximum equal less logical_and bitwise_and matmul arctan2 left_shift outer".split()
)


def outputs_of(function: Callable[..., Any], operands: Sequence[Any]) -> list[Any] | str:
    """Return the arrays that a function returns, or the name of its exception."""
    try:
        return jax.tree.leaves(function(*operands))
    except Exception as error:
        return type(error).__name__


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
def test_functions_of_any_dtype_are_those_of_jax(dtype: str) -> None:
    draws = [jnp.asarray(3 * DRAW.normal(size=(4, 4))) for _ in range(2)]
    x, y = ((abs(each) if dtype.startswith("u") else each).astype(dtype) for each in draws)
    for name, operands in (*((name, (x,)) for name in OF_ONE), *((name, (x, y)) for name in OF_TWO)):
        function = getattr(jnp, name)
        expected = outputs_of(function, operands)
        with jax_on_numpy():
            outputs = outputs_of(function, operands)
        if isinstance(expected, str):
            assert outputs == expected, name
            continue
        for output, right in zip(outputs, expected, strict=True):
            assert (output.shape, output.dtype) == (right.shape, right.dtype), name
            tolerance = 1e-5 if right.dtype.itemsize > 2 else 5e-2
            numpy.testing.assert_allclose(
                *(numpy.asarray(each).astype("complex64") for each in (output, right)), rtol=tolerance, atol=tolerance, err_msg=name
            )


@contextmanager
def compilations() -> Iterator[list[str]]:
    """List the compilations inside the context."""
    names: list[str] = []
    is_on = True

    def listen(name: str, seconds: float, **details: object) -> None:
        if is_on and name.endswith("backend_compile_duration"):
            names.append(name)

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        yield names
    finally:
        is_on = False


@pytest.mark.parametrize("name", PROGRAMS)
def test_outputs_are_those_of_jax(name: str) -> None:
    program, operands = PROGRAMS[name]
    arrays = [jnp.asarray(each) for each in operands]
    expected = jax.tree.leaves(program(*arrays))
    with jax_on_numpy():
        outputs = jax.tree.leaves(program(*arrays))
    assert len(outputs) == len(expected)
    for output, right in zip(outputs, expected, strict=True):
        assert isinstance(output, jax.Array)
        assert (output.shape, output.dtype) == (right.shape, right.dtype)
        assert output.weak_type == right.weak_type
        tolerance = 2e-2 if right.dtype == jnp.bfloat16 else 2e-6
        numpy.testing.assert_allclose(
            numpy.asarray(output).astype("complex64"), numpy.asarray(right).astype("complex64"), rtol=tolerance, atol=tolerance
        )


def compute(length: int) -> None:
    x = jnp.asarray(DRAW.normal(size=(2, length, 4)).astype("float32"))
    jax.grad(lambda x: (attention(x, jnp.tril(jnp.ones((x.shape[1],) * 2))) + layer_norm(x)).sum())(x).block_until_ready()
    jax.random.normal(jax.random.PRNGKey(length), (length, 3)).block_until_ready()


def test_shapes_that_are_new_are_not_compiled() -> None:
    with jax_on_numpy():
        compute(2)  # JAX compiles one constant of its own the first time
        with compilations() as compiled:
            for length in range(3, 9):
                compute(length)
    assert not compiled


def test_errors_are_those_of_jax() -> None:
    x = jnp.asarray(X)
    with pytest.raises(TypeError) as right:
        x @ x
    with jax_on_numpy(), pytest.raises(TypeError) as error:
        x @ x
    assert str(error.value) == str(right.value)


def test_jax_compiles_again_afterwards() -> None:
    with jax_on_numpy():
        pass
    with compilations() as compiled:
        jnp.exp(jnp.ones((7, 11, 13))).block_until_ready()
    assert compiled
