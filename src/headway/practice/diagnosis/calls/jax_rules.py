"""Rules by which NumPy computes JAX's primitives, by the primitive's name; a rule raises where it does not hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from math import prod
from typing import Any

import numpy

Array = numpy.ndarray
Rule = Callable[..., "Array | list[Array]"]


class NoRuleError(Exception):
    """Operands that the rule of a primitive does not compute."""


def _require(condition: bool) -> None:
    if not condition:
        raise NoRuleError


def _is_half(array: Array) -> bool:
    return array.dtype.itemsize == 2 and array.dtype.kind in "fV"


def _elementwise(function: Callable[..., Array], kinds: str = "fVc") -> Rule:
    """Return a rule for a function of each element; the operands have one dtype of the given kinds."""

    def rule(*operands: Array) -> Array:
        first = operands[0]
        _require(first.dtype.kind in kinds and all(each.dtype == first.dtype for each in operands) and _broadcast_in_jax(operands))
        return numpy.asarray(function(*operands))

    return rule


def _broadcast_in_jax(operands: Sequence[Array]) -> bool:
    """Return True for scalars and arrays of one rank: of others NumPy broadcasts some that a primitive of JAX refuses."""
    return len({each.ndim for each in operands if each.ndim}) <= 1


def _special(name: str) -> Rule:
    def rule(x: Array) -> Array:
        from scipy import special

        _require(x.dtype.kind == "f")
        return numpy.asarray(getattr(special, name)(x)).astype(x.dtype)

    return rule


def _integer_pow(x: Array, y: int) -> Array:
    _require(x.dtype.kind in "fc" or (x.dtype.kind in "iu" and y >= 0))
    return numpy.asarray(x**y if y >= 0 else 1 / x**-y).astype(x.dtype)


def _remainder(x: Array, y: Array) -> Array:
    _require(_broadcast_in_jax((x, y)) and x.dtype == y.dtype and (x.dtype.kind == "f" or (x.dtype.kind in "iu" and bool(y.all()))))
    return numpy.fmod(x, y)


def _division(x: Array, y: Array) -> Array:
    _require(_broadcast_in_jax((x, y)) and x.dtype == y.dtype)
    if x.dtype.kind in "iu":  # towards zero
        _require(bool(y.all()))
        return numpy.asarray((x - numpy.fmod(x, y)) // y)
    return numpy.asarray(x / y)


def _shift(function: Callable[[Array, Array], Array]) -> Rule:
    def rule(x: Array, by: Array) -> Array:
        _require(_broadcast_in_jax((x, by)) and x.dtype == by.dtype and bool((by < 8 * x.dtype.itemsize).all() and (by >= 0).all()))
        unsigned = f"u{x.dtype.itemsize}"
        return function(x.view(unsigned), by.view(unsigned)).view(x.dtype)

    return rule


def _round(x: Array, rounding_method: Any) -> Array:
    _require(int(rounding_method) == 1 and x.dtype.kind == "f")  # to the nearest even number
    return numpy.asarray(numpy.round(x))


def _convert(x: Array, new_dtype: Any) -> Array:
    dtype = numpy.dtype(new_dtype)
    _require(not (x.dtype.kind == "c" and dtype.kind != "c"))
    if dtype.kind in "iu" and x.dtype.kind in "fV":
        _require(bool((numpy.abs(x.astype("float64")) < 2.0**31).all()))
    return numpy.asarray(x != 0 if dtype.kind == "b" else x.astype(dtype))


def _select(which: Array, *cases: Array) -> Array:
    _require(which.dtype.kind == "b" and len(cases) == 2 and which.shape in ((), cases[0].shape))
    return numpy.where(which, cases[1], cases[0])


def _clamp(low: Array, x: Array, high: Array) -> Array:
    _require(low.shape in ((), x.shape) and high.shape in ((), x.shape) and low.dtype == x.dtype == high.dtype)
    return numpy.minimum(numpy.maximum(x, low), high)


def _iota(dtype: Any, shape: Sequence[int], dimension: int) -> Array:
    along = [1] * len(shape)
    along[dimension] = shape[dimension]
    return numpy.broadcast_to(numpy.arange(shape[dimension], dtype=dtype).reshape(along), shape)


def _broadcast(x: Array, shape: Sequence[int], broadcast_dimensions: Sequence[int]) -> Array:
    aligned = [1] * len(shape)
    for dimension, size in zip(broadcast_dimensions, x.shape, strict=True):
        aligned[dimension] = size
    return numpy.broadcast_to(x.reshape(aligned), shape)


def _slice(x: Array, start_indices: Sequence[int], limit_indices: Sequence[int], strides: Sequence[int] | None = None) -> Array:
    return x[tuple(map(slice, start_indices, limit_indices, strides or [1] * x.ndim))]


def _pad(x: Array, value: Array, padding_config: Sequence[tuple[int, int, int]]) -> Array:
    _require(all(low >= 0 and high >= 0 for low, high, _ in padding_config) and all(x.shape))
    spans = [(low, low + size + (size - 1) * between, high) for (low, high, between), size in zip(padding_config, x.shape, strict=True)]
    padded = numpy.full([stop + high for _, stop, high in spans], value, x.dtype)
    steps = [between + 1 for _, _, between in padding_config]
    padded[tuple(slice(low, stop, step) for (low, stop, _), step in zip(spans, steps, strict=True))] = x
    return padded


def _split(x: Array, sizes: Sequence[int], axis: int) -> list[Array]:
    return numpy.split(x, list(accumulate(sizes))[:-1], axis)


def _window(x: Array, starts: Sequence[Array], sizes: Sequence[int]) -> tuple[slice, ...]:
    """Return the slices of a window of the given sizes, moved to fit into `x`."""
    first = [min(max(int(start), 0), whole - size) for start, whole, size in zip(starts, x.shape, sizes, strict=True)]
    return tuple(slice(start, start + size) for start, size in zip(first, sizes, strict=True))


def _dynamic_slice(x: Array, *starts: Array, slice_sizes: Sequence[int]) -> Array:
    return x[_window(x, starts, slice_sizes)]


def _dynamic_update_slice(x: Array, update: Array, *starts: Array) -> Array:
    _require(update.dtype == x.dtype)
    updated = x.copy()
    updated[_window(x, starts, update.shape)] = update
    return updated


def _bitcast(x: Array, new_dtype: Any) -> Array:
    _require(numpy.dtype(new_dtype).itemsize == x.dtype.itemsize)
    return x.view(new_dtype)


def _counters(shape: Sequence[int]) -> list[Array]:
    """Return the upper and the lower 32 bits of the place of each element."""
    places = numpy.arange(prod(shape), dtype="uint64").reshape(shape)
    return [(places >> numpy.uint64(32)).astype("uint32"), places.astype("uint32")]


def _threefry(key_0: Array, key_1: Array, x: Array, y: Array) -> list[Array]:
    """Return random bits: the block cipher Threefry-2x32 with 20 rounds (Salmon et al., 2011)."""
    keys = (key_0, key_1, key_0 ^ key_1 ^ numpy.uint32(0x1BD11BDA))
    x, y = x + keys[0], y + keys[1]
    for block in range(5):
        for turn in ((13, 15, 26, 6), (17, 29, 16, 24))[block % 2]:
            x = x + y
            y = x ^ (y << numpy.uint32(turn) | y >> numpy.uint32(32 - turn))
        x, y = x + keys[(block + 1) % 3], y + keys[(block + 2) % 3] + numpy.uint32(block + 1)
    return [x, y]


def _reduction(function: Callable[..., Array], kinds: str, *, is_exact: bool = False) -> Rule:
    """Return a rule that reduces axes; half precision is accumulated in single precision unless every step is exact."""

    def rule(x: Array, axes: Sequence[int]) -> Array:
        _require(x.dtype.kind in kinds and x.size > 0)
        wide = x if is_exact or not _is_half(x) else x.astype("float32")
        return numpy.asarray(function(wide, axis=tuple(axes))).astype(x.dtype)

    return rule


def _arg_reduction(function: Callable[..., Array]) -> Rule:
    def rule(x: Array, axes: Sequence[int], index_dtype: Any) -> Array:
        _require(x.size > 0 and x.dtype.kind != "c")
        return numpy.asarray(function(x, axis=axes[0])).astype(index_dtype)

    return rule


def _cumulative(function: Callable[..., Array]) -> Rule:
    def rule(x: Array, axis: int, reverse: bool) -> Array:
        _require(x.dtype.kind in "fiu" and not _is_half(x))
        return numpy.flip(function(numpy.flip(x, axis), axis), axis) if reverse else numpy.asarray(function(x, axis))

    return rule


def _sort(*operands: Array, dimension: int, num_keys: int) -> list[Array]:
    _require(num_keys == 1)
    order = numpy.argsort(operands[0], axis=dimension, kind="stable")
    return [numpy.take_along_axis(each, order, dimension) for each in operands]


def _top_k(x: Array, k: int, axis: int) -> list[Array]:
    _require(x.dtype.kind in "fi" and not numpy.isnan(x).any())
    order = numpy.take(numpy.argsort(-x, axis=axis, kind="stable"), range(k), axis)
    return [numpy.take_along_axis(x, order, axis), order.astype("int32")]


def _dot_general(x: Array, y: Array, dimension_numbers: Any, preferred_element_type: Any = None) -> Array:
    (x_contracted, y_contracted), (x_batch, y_batch) = dimension_numbers
    x_free = [axis for axis in range(x.ndim) if axis not in (*x_contracted, *x_batch)]
    y_free = [axis for axis in range(y.ndim) if axis not in (*y_contracted, *y_batch)]
    batch, inner = [x.shape[axis] for axis in x_batch], [x.shape[axis] for axis in x_contracted]
    _require(batch == [y.shape[axis] for axis in y_batch] and inner == [y.shape[axis] for axis in y_contracted])
    rows, columns = [x.shape[axis] for axis in x_free], [y.shape[axis] for axis in y_free]
    left = x.transpose(*x_batch, *x_free, *x_contracted).reshape(*batch, prod(rows), prod(inner))
    right = y.transpose(*y_batch, *y_contracted, *y_free).reshape(*batch, prod(inner), prod(columns))
    product = numpy.matmul(*(each.astype("float32") if _is_half(each) else each for each in (left, right)))
    return product.reshape(*batch, *rows, *columns).astype(preferred_element_type or numpy.result_type(x, y))


def _indexed(x: Array, indices: Array, windows: Sequence[int], numbers: tuple[Sequence[int], ...]) -> tuple[tuple[Array, ...], Array]:
    """Return the index of each element of all windows, of shape (*batch, *window), and True for the windows inside of `x`.

    `numbers` are the dimensions of `x` that the last axis of `indices` has starts of, the batched dimensions of `x` and those of `indices`.
    """
    mapped, batched, batched_indices = numbers
    batch = indices.shape[:-1]
    inside = numpy.ones(batch, bool)
    starts = []
    for axis, size in enumerate(windows):
        if axis in batched:
            along = batched_indices[list(batched).index(axis)]
            start = numpy.broadcast_to(
                numpy.arange(x.shape[axis]).reshape([-1 if each == along else 1 for each in range(len(batch))]), batch
            )
        elif axis in mapped:
            start = indices[..., list(mapped).index(axis)].astype("int64")
            inside &= (start >= 0) & (start <= x.shape[axis] - size)
            start = numpy.clip(start, 0, x.shape[axis] - size)
        else:
            start = numpy.zeros(batch, "int64")
        within = numpy.arange(size).reshape([-1 if each == axis else 1 for each in range(x.ndim)])
        starts.append(start.reshape(*batch, *[1] * x.ndim) + within)
    return tuple(starts), inside


def _gather(x: Array, indices: Array, dimension_numbers: Any, slice_sizes: Sequence[int], mode: Any, fill_value: Any = None) -> Array:
    numbers = dimension_numbers
    batched = numbers.operand_batching_dims
    index, inside = _indexed(x, indices, slice_sizes, (numbers.start_index_map, batched, numbers.start_indices_batching_dims))
    rank = len(inside.shape)
    windows = x[index]
    if "FILL" in str(mode):
        _require(x.dtype.kind in "fciu")
        missing = numpy.nan if x.dtype.kind in "fc" else numpy.iinfo(x.dtype).min if x.dtype.kind == "i" else numpy.iinfo(x.dtype).max
        missing = missing if fill_value is None else fill_value
        windows = numpy.where(inside.reshape(*inside.shape, *[1] * x.ndim), windows, numpy.asarray(missing, x.dtype))
    windows = windows.squeeze(tuple(rank + axis for axis in (*numbers.collapsed_slice_dims, *batched)))
    offsets = numbers.offset_dims
    return numpy.moveaxis(windows, range(rank, windows.ndim), offsets) if offsets else windows


def _scatter(combine: Callable[[Array, tuple[Array, ...], Array], None]) -> Rule:
    def rule(
        x: Array, indices: Array, updates: Array, dimension_numbers: Any, mode: Any, update_jaxpr: Any = None, update_consts: Any = ()
    ) -> Array:
        numbers = dimension_numbers
        _require(updates.dtype == x.dtype)
        windows = numbers.update_window_dims
        batched, inserted = numbers.operand_batching_dims, numbers.inserted_window_dims
        sizes = iter([updates.shape[axis] for axis in windows])
        shape = [1 if axis in (*inserted, *batched) else next(sizes) for axis in range(x.ndim)]
        mapped = numbers.scatter_dims_to_operand_dims
        index, inside = _indexed(x, indices, shape, (mapped, batched, numbers.scatter_indices_batching_dims))
        rank = len(inside.shape)
        ordered = numpy.moveaxis(updates, windows, range(rank, updates.ndim)) if windows else updates
        whole = numpy.broadcast_arrays(*index, ordered.reshape(*inside.shape, *shape))
        kept = numpy.ones(inside.shape, bool) if "CLIP" in str(mode) else inside
        result = x.copy()
        combine(result, tuple(each[kept] for each in whole[:-1]), whole[-1][kept])
        return result

    return rule


def _assign(x: Array, index: tuple[Array, ...], updates: Array) -> None:
    x[index] = updates


def _add_at(x: Array, index: tuple[Array, ...], updates: Array) -> None:
    numpy.add.at(x, index, updates)


REAL, NUMBERS, ANY = "fV", "fVciu", "fVciub"

RULES: dict[str, Rule] = {
    **{
        name: _elementwise(getattr(numpy, name), "fVc")
        for name in ("exp", "exp2", "log", "log1p", "expm1", "sin", "cos", "tan", "tanh", "sqrt")
    },
    **{name: _elementwise(getattr(numpy, name), REAL) for name in ("floor", "ceil", "cbrt", "sinh", "cosh")},
    **{name: _elementwise(getattr(numpy, f"arc{name[1:]}"), REAL) for name in ("asin", "acos", "atan", "atan2", "asinh", "acosh", "atanh")},
    **{name: _special(function) for name, function in (("erf", "erf"), ("erfc", "erfc"), ("erf_inv", "erfinv"), ("lgamma", "gammaln"))},
    "logistic": _elementwise(lambda x: 1 / (1 + numpy.exp(-x)), "f"),
    "rsqrt": _elementwise(lambda x: 1 / numpy.sqrt(x), "f"),
    "square": _elementwise(numpy.square, NUMBERS),
    "integer_pow": _integer_pow,
    "pow": _elementwise(numpy.power, "f"),
    "neg": _elementwise(numpy.negative, NUMBERS),
    "sign": _elementwise(numpy.sign, "fi"),
    "abs": _elementwise(numpy.abs, NUMBERS),
    "is_finite": _elementwise(numpy.isfinite, REAL),
    "round": _round,
    "add": _elementwise(numpy.add, NUMBERS),
    "add_jaxvals": _elementwise(numpy.add, NUMBERS),
    "sub": _elementwise(numpy.subtract, NUMBERS),
    "mul": _elementwise(numpy.multiply, NUMBERS),
    "div": _division,
    "rem": _remainder,
    "max": _elementwise(numpy.maximum, "fViub"),
    "min": _elementwise(numpy.minimum, "fViub"),
    "eq": _elementwise(numpy.equal, ANY),
    "ne": _elementwise(numpy.not_equal, ANY),
    "lt": _elementwise(numpy.less, "fViub"),
    "le": _elementwise(numpy.less_equal, "fViub"),
    "gt": _elementwise(numpy.greater, "fViub"),
    "ge": _elementwise(numpy.greater_equal, "fViub"),
    "and": _elementwise(numpy.bitwise_and, "iub"),
    "or": _elementwise(numpy.bitwise_or, "iub"),
    "xor": _elementwise(numpy.bitwise_xor, "iub"),
    "not": _elementwise(numpy.invert, "iub"),
    "shift_left": _shift(numpy.left_shift),
    "shift_right_logical": _shift(numpy.right_shift),
    "complex": _elementwise(lambda x, y: (x + 1j * y).astype("complex64"), "f"),
    "conj": _elementwise(numpy.conj, "c"),
    "real": _elementwise(numpy.real, "c"),
    "imag": _elementwise(numpy.imag, "c"),
    "convert_element_type": _convert,
    "stage": numpy.array,  # the program may change its own array later
    "nextafter": _elementwise(numpy.nextafter, "f"),
    "bitcast_convert_type": _bitcast,
    "iota_2x32_shape": _counters,
    "threefry2x32": _threefry,
    "copy": _elementwise(numpy.array, ANY),
    "select_n": _select,
    "clamp": _clamp,
    "iota": _iota,
    "broadcast_in_dim": _broadcast,
    "reshape": lambda x, new_sizes: x.reshape(new_sizes),
    "transpose": lambda x, permutation: x.transpose(permutation),
    "squeeze": lambda x, dimensions: x.squeeze(tuple(dimensions)),
    "rev": lambda x, dimensions: numpy.flip(x, dimensions),
    "concatenate": lambda *operands, dimension: numpy.concatenate(operands, dimension),
    "stack": lambda *operands, axis: numpy.stack(operands, axis),
    "unstack": lambda x, axis: [numpy.take(x, index, axis) for index in range(x.shape[axis])],
    "tile": lambda x, reps: numpy.tile(x, reps),
    "split": _split,
    "slice": _slice,
    "pad": _pad,
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice,
    "gather": _gather,
    "scatter": _scatter(_assign),
    "scatter_add": _scatter(_add_at),
    "dot_general": _dot_general,
    "reduce_sum": _reduction(numpy.sum, NUMBERS),
    "reduce_prod": _reduction(numpy.prod, NUMBERS),
    "reduce_max": _reduction(numpy.max, "fVi", is_exact=True),
    "reduce_min": _reduction(numpy.min, "fVi", is_exact=True),
    "reduce_and": _reduction(numpy.all, "b"),
    "reduce_or": _reduction(numpy.any, "b"),
    "argmax": _arg_reduction(numpy.argmax),
    "argmin": _arg_reduction(numpy.argmin),
    "cumsum": _cumulative(numpy.cumsum),
    "cumprod": _cumulative(numpy.cumprod),
    "cummax": _cumulative(numpy.maximum.accumulate),
    "cummin": _cumulative(numpy.minimum.accumulate),
    "sort": _sort,
    "top_k": _top_k,
}
