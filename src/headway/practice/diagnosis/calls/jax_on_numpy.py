"""JAX's primitives computed with NumPy, for functions that run a few times with small arrays.

JAX compiles each primitive for each shape, in 20 to 40 ms; a diagnosis calls a function with dozens of shapes and, when it searches for a
repair, in hundreds of versions. NumPy computes the same primitive in microseconds. What has no rule in `jax_rules`, or a rule that raises, is
compiled as usual, so errors are JAX's own. For a "correct" verdict the judge compares outputs of JAX itself, too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

import numpy

from headway.practice.diagnosis.calls.jax_rules import RULES, Array, NoRuleError

WITHOUT_EFFECT = frozenset(("accuracy", "precision", "indices_are_sorted", "unique_indices", "is_stable"))
"""Parameters of primitives that change no output on the CPU."""

FILTERING = "jax_traceback_filtering"
"""Setting of JAX that shortens the traceback of each exception."""


@contextmanager
def jax_on_numpy() -> Iterator[None]:
    """Run JAX without compiling inside the context: functions of jax.jit as they are, primitives by the rules of `jax_rules`.

    Where JAX is not imported, or is an old version, and inside another such context, it has no effect.
    """
    found = _primitives() if "jax" in sys.modules else {}
    if not found or is_on_numpy():
        yield
        return
    import jax

    compiled = {primitive: primitive.impl for primitive in found.values()}
    filtering = getattr(jax.config, FILTERING)
    try:
        for name, primitive in found.items():
            primitive.def_impl(partial(_run, name, primitive.impl))
        jax.config.update(FILTERING, "off")  # 8 ms for each exception
        with jax.disable_jit():
            yield
    finally:
        jax.config.update(FILTERING, filtering)
        for primitive, implementation in compiled.items():
            primitive.def_impl(implementation)


def jax_array(values: Array, dtype: Any = None) -> Any:
    """Return a copy of an array of NumPy as one of JAX: without its checks inside a context of `jax_on_numpy`, where they take most of the time."""
    if is_on_numpy():
        return to_jax(numpy.array(values, dtype), is_weak=False)
    import jax

    return jax.numpy.asarray(numpy.array(values), dtype)


def is_on_numpy() -> bool:
    """Return True inside a context of `jax_on_numpy` that has an effect."""
    return any(getattr(primitive.impl, "func", None) is _run for primitive in _primitives().values())


@cache
def _primitives() -> dict[str, Any]:
    """Return the primitives of JAX that have a rule, by name; none of an old version."""
    import jax

    try:
        from jax.extend.core import primitives
    except ImportError:
        return {}
    private = [module for name, module in sys.modules.items() if name.startswith("jax._src.") and name.endswith(".prng")]
    places = (primitives, jax.lax, *private)
    found = {name: next((getattr(place, f"{name}_p") for place in places if hasattr(place, f"{name}_p")), None) for name in RULES}
    return {name: primitive for name, primitive in found.items() if primitive is not None}


def _run(name: str, compiled: Callable[..., Any], *operands: Any, **params: Any) -> Any:
    """Return the outputs of a primitive by its rule, or compiled where the rule does not hold."""
    given = {key: value for key, value in params.items() if value is not None and key not in WITHOUT_EFFECT}
    is_weak = given.pop("weak_type", None)
    if is_weak is None:  # as JAX infers it
        values = operands[1:] if name == "select_n" else operands
        is_weak = bool(values) and all(getattr(each, "weak_type", isinstance(each, float | int | complex)) for each in values)
    try:
        with numpy.errstate(all="ignore"):
            outputs = RULES[name](*map(_to_numpy, operands), **given)
        return [to_jax(each, is_weak) for each in outputs] if isinstance(outputs, list) else to_jax(outputs, is_weak)
    except Exception:
        return compiled(*operands, **params)


def to_jax(output: Array, is_weak: bool) -> Any:
    """Return an array of JAX with the numbers of one of NumPy."""
    array: Any = _put()(output)
    if is_weak and array.dtype.kind != "b":
        array.aval = array.aval.update(weak_type=True)
    return array


@cache
def _put() -> Callable[[Array], Any]:
    """Return a function that makes JAX's array: the one that jax.device_put calls in the end, which is ten times as fast, if it works."""
    import jax

    device = jax.devices()[0]
    try:
        from jax._src.lib import xla_client

        sharding = jax.sharding.SingleDeviceSharding(device)

        def put(output: Array) -> Any:
            return xla_client.batched_device_put(jax.core.ShapedArray(output.shape, output.dtype), sharding, [output], [device])

        put(numpy.zeros(1, "float32"))
    except Exception:
        return jax.device_put
    return lambda output: put(output) if output.dtype.itemsize < 8 else jax.device_put(output)


def _to_numpy(operand: Any) -> Array:
    if not hasattr(operand, "dtype"):
        raise NoRuleError
    return numpy.asarray(operand)
