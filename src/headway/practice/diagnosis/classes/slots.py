"""The floating arrays in an instance of a learner's class, at any depth, and writing to them."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy

from headway.arrays import array_library, array_namespace, asarray_like, is_floating, to_numpy
from headway.practice.diagnosis.calls.jax_on_numpy import jax_array
from headway.practice.diagnosis.calls.own_tensors import holds_data, kept, kept_as
from headway.practice.diagnosis.calls.wording import is_dropout
from headway.practice.diagnosis.classes.flax_modules import WEIGHTS, FlaxHolder
from headway.practice.diagnosis.reading.subject import is_learners

SUBMODULES = "headway.practice.diagnosis.classes.submodules"
"""Module that defines the ready-made submodules."""

LINEAR = {
    "torch": ("nn.Module", ("Linear", "NonDynamicallyQuantizableLinear")),
    "mlx": ("nn.Module", ("Linear",)),
    "equinox": ("Module", ("Linear",)),
}
"""The class of modules, and the layers that store their weight as (out, in), by library."""


@dataclass(frozen=True)
class Slot:
    """One array in an instance.

    path           attribute names, keys and list indices that lead to it
    is_out_first   True if its layer is known to store (out, in)
    is_parameter   True if an optimizer would find it, and for arrays of a plain class
    """

    path: tuple[str | int, ...]
    owner: Any
    key: Any
    array: Any
    is_out_first: bool = False
    is_parameter: bool = True

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the array's shape."""
        return tuple(self.array.shape)

    @cached_property
    def name(self) -> str:
        """Return the path in dotted form: heads.0.W_query.weight."""
        return ".".join(map(str, self.path))

    def write(self, values: numpy.ndarray) -> None:
        """Write values into the array; in place if possible, so that views of the same memory follow."""
        if isinstance(self.array, numpy.ndarray) and self.array.flags.writeable:
            self.array[...] = values
        elif _is_of("torch", self.array):
            self.array.data.copy_(asarray_like(values, None if self.array is None else self.array.data))
        elif _is_of("jax", self.array):
            _put(self.owner, self.key, jax_array(values, self.array.dtype))
        else:
            _put(self.owner, self.key, array_namespace(self.array).asarray(values, dtype=self.array.dtype))


def slots_of(instance: Any, home: str, *, with_gradients: bool = False) -> list[Slot]:
    """Return every floating array with at least one axis that the instance holds, in order of creation.

    home             name of the module that defines the class; attributes of other classes from it are searched too
    with_gradients   True to include arrays that are the gradients of others by their names, such as dW next to W

    Masks and caches are left out, because they are not learned, and biases that a flag of their layer switches off.
    """
    found: dict[int, Slot] = {}
    for slot in _walk(instance, (), home, set(), with_gradients=with_gradients):
        known = found.get(id(slot.array))
        if known is None or _depth(known) < _depth(slot):
            found[id(slot.array)] = slot
    return list(found.values())


COLLECTED = ("params", "parameters")
"""Names of lists in which a class collects the arrays that its parts hold."""


def _depth(slot: Slot) -> int:
    """Return the number of names on the way to a slot before the first list of collected arrays."""
    return next((depth for depth, name in enumerate(slot.path) if name in COLLECTED), len(slot.path))


def with_digits_of(slots: Sequence[Slot], answer: Any) -> Any:
    """Return a float64 output of NumPy as float32 if an array among the slots has no more digits: the weights were rounded."""
    if isinstance(answer, tuple):
        return tuple(with_digits_of(slots, each) for each in answer)
    if not isinstance(answer, numpy.ndarray) or answer.dtype != numpy.float64:
        return answer
    is_rounded = any(isinstance(slot.array, numpy.ndarray) and slot.array.dtype.itemsize < answer.dtype.itemsize for slot in slots)
    return answer.astype(numpy.float32) if is_rounded else answer


def _walk(holder: Any, path: tuple[Any, ...], home: str, seen: set[int], *, with_gradients: bool) -> Iterator[Slot]:
    if id(holder) in seen:
        return
    seen.add(id(holder))
    items = list(_items(holder))
    arrays = {key: value for key, value in items if isinstance(key, str) and isinstance(value, numpy.ndarray)}
    for key, value in items:
        if _is_switched_off(holder, key) or _is_moment(key, arrays):
            continue
        if not with_gradients and (_is_gradient(key, arrays) or (key in GRADIENTS and _are_gradients(holder, value))):
            continue
        here = (*path, *_by_head(key))
        if _is_of("flax", value, "nnx.Variable"):
            if value.ndim and is_floating(array := value.get_value()):
                yield Slot((*path, WEIGHTS.get(key, key)), value, "value", array)
        elif _is_array(value):
            if not _is_lazy(value) and is_floating(value) and value.ndim and not _is_mask(str(key), value):
                yield Slot(here, holder, key, value, _is_linear(holder), _is_parameter(holder, key, value))
        elif holds_data(value):
            array = kept(value)
            if isinstance(array, numpy.ndarray) and array.ndim and not _is_mask(str(key), array):
                yield Slot(here, value, kept_as(value), array)
        elif (
            isinstance(value, list | tuple | dict)
            or _holds_arrays(value)
            or type(value).__module__ in (home, SUBMODULES)
            or _is_near(value)
        ):
            yield from _walk(value, here, home, seen, with_gradients=with_gradients)


def _is_switched_off(holder: Any, key: Any) -> bool:
    """Return True for a bias that a layer of the file's own holds but does not add, as a flag next to it says.

    A flag that the layer's call does not read, next to a bias that it reads, is one of training.
    """
    flags = [flag for flag in ("has_bias", "use_bias", "with_bias") if getattr(holder, flag, None) is False]
    if key not in ("b", "bias") or not flags:
        return False
    call = next((method for name in CALLS if (method := getattr(type(holder), name, None)) is not None), None)
    read = getattr(getattr(call, "__code__", None), "co_names", ())
    return key not in read or any(flag in read for flag in flags)


CALLS = ("forward", "__call__", "call")
"""Names of the method that computes a layer."""


def _is_gradient(key: Any, arrays: dict[str, numpy.ndarray]) -> bool:
    """Return True for the gradient of another array of the same holder by its name and shape: dW next to W."""
    match = re.fullmatch(GRADIENT, key) if isinstance(key, str) else None
    of = arrays.get(match["first"] or match["last"]) if match is not None else None
    return of is not None and key in arrays and of.shape == arrays[key].shape


GRADIENTS = ("grads", "gradients")
"""Names of the list of gradients that a layer holds next to its list `params`."""


def _are_gradients(holder: Any, value: Any) -> bool:
    """Return True for a list with an array of the same shape for each of the holder's `params`."""
    params = getattr(holder, "params", None)
    if not isinstance(params, list | tuple) or not isinstance(value, list | tuple) or len(params) != len(value):
        return False
    return all(_is_array(one) and _is_array(other) and one.shape == other.shape for one, other in zip(params, value, strict=True))


def _is_moment(key: Any, arrays: dict[str, numpy.ndarray]) -> bool:
    """Return True for a moment of an optimizer that a layer holds: zeros under a name such as m_hat, with zeros of the same shape under v_hat."""
    if not isinstance(key, str) or key not in arrays or key[:1] not in ("m", "v"):
        return False
    other = arrays.get(("v" if key[0] == "m" else "m") + key[1:])
    return other is not None and other.shape == arrays[key].shape and not arrays[key].any() and not other.any()


GRADIENT = r"(?:grad_?|d_?|g_)(?P<first>\w+)|(?P<last>\w+?)_?(?:grad|gradient)"
"""Pattern of the name of a gradient, with that of its array."""


def _by_head(key: Any) -> tuple[Any, ...]:
    """Return the key of a layer as its name and its place if the name has the number of a head: Head_0_keys, W_q_h0, Flax's heads_0 and Attention_0."""
    match = re.search(OF_HEAD, key, re.IGNORECASE) if isinstance(key, str) else None
    return (key,) if match is None else (key[: match.start("number")] + key[match.end() :], int(match["number"]))


OF_HEAD = r"((^|_)h|heads?|(?-i:(?<!Head)(?<!Headed)(?<!HeadSelf)(?<!Cross)Attention_))_?(?P<number>\d+)"
"""Pattern of the number of a head in the name of one of its layers."""


def _holds_arrays(value: Any) -> bool:
    """Return True for a module of a library, and for a list or dict of Flax."""
    return is_module(value) or _is_of("equinox", value, "Module") or _is_of("flax", value, "nnx.Pytree")


def switch_off_dropout(holder: Any, home: str, seen: set[int] | None = None) -> None:
    """Set the dropout rates in an instance of a class that has no eval mode to 0, and its flags of training to False.

    home   name of the module that defines the class
    """
    seen = set() if seen is None else seen
    if id(holder) in seen:
        return
    seen.add(id(holder))
    for key, value in list(_items(holder)):
        if type(value) is float and 0 < value < 1 and is_dropout(str(key)):
            _put(holder, key, 0.0)
        elif value is True and str(key) in ("training", "is_training", "train_mode"):
            _put(holder, key, False)
        elif isinstance(value, list) or (not _is_array(value) and (type(value).__module__ == home or _is_near(value))):
            switch_off_dropout(value, home, seen)


def _is_near(value: Any) -> bool:
    """Return True for an instance of a class that the learner's file imports from another file of the same author."""
    return not inspect.isclass(value) and hasattr(value, "__dict__") and is_learners(type(value).__module__)


def _items(holder: Any) -> Iterator[tuple[Any, Any]]:
    """Yield named contents: parameters and submodules of a module, attributes of an object, elements of a list."""
    if _is_of("torch", holder, "nn.Module"):
        yield from holder._parameters.items()
        yield from holder._modules.items()
        own = ((key, value) for key, value in vars(holder).items() if key not in holder._buffers)
        yield from ((key, value) for key, value in own if not key.startswith("_") or _is_trained(value))
    elif isinstance(holder, dict):  # modules of MLX are dicts
        yield from ((key, value) for key, value in list(holder.items()) if not str(key).startswith("_"))
        if is_module(holder):
            yield from ((key, value) for key, value in vars(holder).items() if not key.startswith("_"))
    elif isinstance(holder, list | tuple):
        yield from enumerate(holder)
    else:
        yield from getattr(holder, "__dict__", {}).items()


def _put(owner: Any, key: Any, value: Any) -> None:
    if isinstance(owner, dict | list) and not hasattr(owner, "parameters"):
        owner[key] = value
    elif _is_of("flax", owner, "nnx.Variable"):
        object.__setattr__(owner, "_raw_value", value)  # `set_value` refuses while a gradient is traced
    elif _is_of("equinox", owner, "Module"):  # which are frozen
        object.__setattr__(owner, str(key), value)
    else:
        setattr(owner, str(key), value)


def _is_trained(value: Any) -> bool:
    """Return True for an array of PyTorch with a gradient, which is a weight under any name: `self._weights`."""
    return _is_of("torch", value) and bool(value.requires_grad)


def _is_array(value: Any) -> bool:
    if value is None or isinstance(value, int | float | str | list | tuple | dict):  # most attributes
        return False
    return isinstance(value, numpy.ndarray) or any(_is_of(library, value) for library in ("torch", "mlx", "jax"))


def _is_of(library: str, value: Any, module: str = "") -> bool:
    """Return True if a value is an array of a library, or an instance of a class of it if `module` is given; imports nothing."""
    if library not in sys.modules:
        return False
    if library in ("flax", "equinox"):
        home, _, name = f"{library}.{module}".rpartition(".")
        return home in sys.modules and isinstance(value, getattr(sys.modules[home], name, ()))
    if library == "jax":
        return isinstance(value, sys.modules["jax"].Array)
    if library == "mlx":
        if f"mlx.{module.partition('.')[0] or 'core'}" not in sys.modules:
            return False
        return isinstance(value, sys.modules["mlx.nn"].Module if module else array_library("mlx").array)
    torch = sys.modules["torch"]
    return isinstance(value, torch.nn.Module if module else torch.Tensor)


def has_unset_arrays(instance: Any) -> bool:
    """Return True if an instance holds parameters that get their shapes from the first input: LazyLinear, and modules of Flax."""
    if isinstance(instance, FlaxHolder):
        return instance.params is None
    if not _is_of("torch", instance, "nn.Module"):
        return False
    is_lazy = sys.modules["torch"].nn.parameter.is_lazy
    return any(is_lazy(each) for each in instance.parameters())


def is_module(value: Any) -> bool:
    """Return True for a module of torch or MLX."""
    return _is_of("torch", value, "nn.Module") or _is_of("mlx", value, "nn.Module")


def module_library(value: Any) -> str | None:
    """Return the library whose nn.Module a class derives from; None for a plain class."""
    for library, name in (("torch", "torch.nn"), ("mlx", "mlx.nn")):
        if name in sys.modules and issubclass(value, sys.modules[name].Module):
            return library
    return None


def _is_linear(holder: Any) -> bool:
    names = [name for library, (module, layers) in LINEAR.items() if _is_of(library, holder, module) for name in layers]
    is_torch_attention = type(holder).__name__ == "MultiheadAttention" and _is_of("torch", holder, "nn.Module")
    is_ready_made = (type(holder).__module__, type(holder).__name__) == (SUBMODULES, "ReadyLinear")
    return is_torch_attention or is_ready_made or any(base.__name__ in names and ".nn" in base.__module__ for base in type(holder).__mro__)


def _is_parameter(holder: Any, key: Any, value: Any) -> bool:
    return key in holder._parameters if _is_of("torch", holder, "nn.Module") else True


def _is_lazy(value: Any) -> bool:
    return _is_of("torch", value) and bool(sys.modules["torch"].nn.parameter.is_lazy(value))


def _is_mask(name: str, value: Any) -> bool:
    """Return True if an array is a mask or cache by name, or a triangular mask by value."""
    if any(word in name.lower() for word in ("mask", "tril", "triu", "cache")):
        return True
    if value.ndim < 2 or value.shape[-1] != value.shape[-2]:
        return False
    numbers = to_numpy(value)
    if value.shape[-1] > 1 and not (numbers[..., 1, 0] == numbers[..., 0, 0]).all():  # most weights
        return False
    lower, upper = numpy.tril_indices(value.shape[-1]), numpy.triu_indices(value.shape[-1], 1)
    below, above = numbers[(..., *lower)], numbers[(..., *upper)]
    return bool(above.size and (below == below.flat[0]).all() and (above == above.flat[0]).all() and below.flat[0] != above.flat[0])
