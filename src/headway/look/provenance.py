"""The elements of a statement's operands that an element of its result can depend on, found from the names of axes.

An operation on named axes either keeps an axis (index i of the result reads index i of the operand) or reads all of it. Which axes it keeps
follows from its name: matrix products keep the axes that operand and result share, sums and softmax read their last axis completely. For
operations that are not known here, nothing is claimed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headway.look.statements import Statement
from headway.look.trace import Operand, Value

KEEPING = frozenset(
    """exp log sqrt tanh abs maximum minimum where cast at_least_float32 as_floating apply_mask causal_mask ones_like zeros_like full_like
    matmul einsum attention_weights _grouped_matmul matrix_transpose swapaxes transpose relu gelu gelu_tanh
    silu sigmoid float asarray astype keep_all""".split()
)
"""Calls that keep every axis that operand and result share by name."""

REDUCING = frozenset("softmax log_softmax sum mean max min argmax var std amax logsumexp norm layer_norm rms_norm _finite_max".split())
"""Calls that read the last axis of their operand completely."""

PRODUCTS = frozenset("matmul einsum _grouped_matmul attention_weights dot bmm".split())
"""Calls that sum over an axis that two operands share."""

HARMLESS = frozenset("sqrt len range int isinstance float array_namespace".split())
"""Calls whose result is no array."""


def operands_of(statement: Statement, made: Sequence[Value], before: Mapping[str, Value]) -> tuple[Operand, ...]:
    """Return the operands of a statement, for each array that it makes; none if it calls a function that is not known.

    before   latest value of each name before the statement
    """
    if not made or statement.has_shift or any(name not in KEEPING | REDUCING | HARMLESS for name in statement.called):
        return ()
    reduces = any(name in REDUCING for name in statement.called)
    if reduces and any(name in before and before[name].text not in ("-1", "None") for name in ("axis", "dim")):
        return ()
    arrays = [before[name] for name in statement.reads if name in before and before[name].shape]
    is_product = statement.has_product or any(name in PRODUCTS for name in statement.called)
    found = []
    for value in made:
        if not value.shape or not all(_is_named(each) and not each.kept for each in (value, *arrays)):
            continue
        if is_product and not _has_summed_axis(arrays, value):
            continue
        free = ("key_len",) if "attention_weights" in statement.called else ()  # the softmax in it reads all keys
        found += [Operand(each.name, value.name, _fixed(each, value, reduces=reduces, free=free)) for each in arrays]
    return tuple(found)


def _has_summed_axis(arrays: Sequence[Value], value: Value) -> bool:
    """Return True if two operands share an axis that the result lacks: without it, nothing says which axis a product sums over."""
    axes = [axis for each in arrays for axis in set(each.axes) if axis]
    return any(axes.count(axis) > 1 and axis not in value.axes for axis in axes)


def _is_named(value: Value) -> bool:
    """Return True if every axis longer than 1 has a name and a size of its own, because names are found from sizes."""
    named = [(axis, size) for axis, size in zip(value.axes, value.shape or (), strict=True) if size > 1]
    return all(axis for axis, _ in named) and len({axis for axis, _ in named}) == len(named) == len({size for _, size in named})


def _fixed(operand: Value, value: Value, *, reduces: bool, free: tuple[str, ...]) -> tuple[tuple[int, int, int], ...]:
    assert operand.shape is not None
    assert value.shape is not None
    fixed = []
    for axis, (name, size) in enumerate(zip(operand.axes, operand.shape, strict=True)):
        if size == 1 or name in free or (reduces and axis == len(operand.shape) - 1):
            continue
        if name in value.axes:
            fixed.append((axis, value.axes.index(name), 1))
        elif name == "num_kv_heads" and "num_heads" in value.axes:  # query head h reads key head h // group_size
            place = value.axes.index("num_heads")
            fixed.append((axis, place, value.shape[place] // size))
    return tuple(fixed)
