"""What NumPy, PyTorch, JAX and MLX arrays have in common, and the little they do not.

No library is imported here unless the caller's arrays come from it, or its name is asked for.
"""

from __future__ import annotations

import importlib
import sys
from functools import lru_cache
from types import ModuleType, SimpleNamespace
from typing import Any, Protocol, TypeAlias

import array_api_compat

from headway.errors import DtypeError, OptionError


class Array(Protocol):
    """An array of NumPy, PyTorch, JAX or MLX: the attributes and operators that all four have."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the axes."""

    @property
    def ndim(self) -> int:
        """The number of axes."""

    @property
    def dtype(self) -> Any:
        """The library's own dtype object; see dtype_name."""

    def __getitem__(self, index: Any, /) -> Any: ...
    def __len__(self) -> int: ...
    def __add__(self, other: Any, /) -> Any: ...
    def __radd__(self, other: Any, /) -> Any: ...
    def __sub__(self, other: Any, /) -> Any: ...
    def __rsub__(self, other: Any, /) -> Any: ...
    def __mul__(self, other: Any, /) -> Any: ...
    def __rmul__(self, other: Any, /) -> Any: ...
    def __truediv__(self, other: Any, /) -> Any: ...
    def __rtruediv__(self, other: Any, /) -> Any: ...
    def __pow__(self, other: Any, /) -> Any: ...
    def __matmul__(self, other: Any, /) -> Any: ...
    def __neg__(self) -> Any: ...
    def __lt__(self, other: Any, /) -> Any: ...
    def __le__(self, other: Any, /) -> Any: ...
    def __gt__(self, other: Any, /) -> Any: ...
    def __ge__(self, other: Any, /) -> Any: ...


Operations: TypeAlias = ModuleType | SimpleNamespace
"""What a composite function takes as `ops`: the module headway.functions, or a namespace with the same names."""

ARRAY_LIBRARIES = ("numpy", "torch", "jax", "mlx")

_NAMESPACES = {
    "numpy": "array_api_compat.numpy",
    "torch": "array_api_compat.torch",
    "jax": "jax.numpy",
    "mlx": "mlx.core",
}

_NAMESPACE_OF_TYPES: dict[tuple[type, ...], ModuleType] = {}
"""What array_namespace found, by the types it was given: asking costs microseconds, and a token asks hundreds of times."""


def is_torch(x: Array) -> bool:
    """Whether the array is a tensor of PyTorch.

    Asked before any question of array_api_compat's: those are cached, and torch.compile warns of a cache.
    """
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def _is_compiling() -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and torch.compiler.is_compiling()


def array_namespace(*arrays: Array | None) -> ModuleType:
    """The array-API namespace that all given arrays share (None is passed over).

    Errors   DtypeError where something is no array, or two libraries are mixed.
    """
    types = tuple(map(type, arrays))
    if _is_compiling() and all(array is None or is_torch(array) for array in arrays):
        from array_api_compat import torch as namespace  # past the table: torch.compile would compile anew whenever it grows

        return namespace
    known = _NAMESPACE_OF_TYPES.get(types)
    if known is not None:
        return known
    try:
        return _NAMESPACE_OF_TYPES.setdefault(types, array_api_compat.array_namespace(*arrays))
    except TypeError:
        came = " and ".join(sorted({f"{type(array).__module__}.{type(array).__qualname__}" for array in arrays if array is not None}))
        raise DtypeError(
            f"came: {came}; expected: arrays of one library (NumPy, PyTorch, JAX or MLX); "
            "convert them all to the same library first, a list with numpy.asarray(...)"
        ) from None


DTYPES = ("float32", "bfloat16", "float16", "float64")
"""The dtypes that weights may have."""


def array_library(name: str) -> ModuleType:
    """The namespace of an array library by its name, imported now.

    Errors   OptionError for an unknown name, or a library that is not installed.
    """
    if name not in _NAMESPACES:
        raise OptionError(f"came: array library {name!r}; expected one of {', '.join(ARRAY_LIBRARIES)}")
    try:
        return importlib.import_module(_NAMESPACES[name])
    except ImportError as error:
        raise OptionError(f"the array library {name!r} is not installed ({error}); run: pip install 'headway[{name}]'") from error


def dtype_name(dtype: Any) -> str:
    """The name that all libraries share: 'float32', 'bfloat16', 'int64', 'bool', …"""
    if type(dtype).__module__ == "torch":  # past the cache, of which torch.compile would warn
        return str(dtype).rpartition(".")[2]
    return _dtype_name(dtype)


@lru_cache(maxsize=256)
def _dtype_name(dtype: Any) -> str:
    name = str(dtype).rpartition(".")[2]
    return "bool" if name == "bool_" else name


def is_floating(x: Array) -> bool:
    """Whether the array holds floating-point numbers, bfloat16 included."""
    return dtype_name(x.dtype) in ("float16", "bfloat16", "float32", "float64")


def is_boolean(x: Array) -> bool:
    """Whether the array holds booleans."""
    return dtype_name(x.dtype) == "bool"


def is_integer(x: Array) -> bool:
    """Whether the array holds whole numbers (booleans are not)."""
    return not is_floating(x) and dtype_name(x.dtype).startswith(("int", "uint"))


def as_dtype(name: str, namespace: ModuleType) -> Any:
    """The dtype of that name in that namespace; NumPy's bfloat16 comes from ml_dtypes."""
    if name == "bfloat16" and namespace.__name__.endswith("numpy") and not namespace.__name__.startswith("jax"):
        import ml_dtypes

        return ml_dtypes.bfloat16
    return getattr(namespace, name)


def check_computing(array: str, dtype: str, device: str | None) -> None:
    """Raise OptionError unless this library can compute in this dtype on this device."""
    if dtype not in DTYPES:
        raise OptionError(f"came: dtype {dtype!r}; expected one of {', '.join(DTYPES)}")
    namespace = array_library(array)
    if array == "jax" and dtype == "float64" and not importlib.import_module("jax").config.jax_enable_x64:
        raise OptionError("came: dtype 'float64' with jax; expected: JAX with 64 bits switched on; set JAX_ENABLE_X64=1")
    if device is None:
        return
    if array != "torch":
        raise OptionError(f"came: device {device!r} with {array}; expected: none; only torch is told its device here")
    try:
        namespace.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:  # torch built without CUDA asserts
        reason = str(error).splitlines()[0].partition(". ")[0]
        raise OptionError(f"came: device {device!r}; expected: one that this torch has ({reason}); leave it out for the CPU") from error


def cast(x: Array, dtype: Any) -> Array:
    """The array in another dtype; itself where it has that dtype already."""
    if x.dtype == dtype:
        return x
    return x.to(dtype) if hasattr(x, "to") and not hasattr(x, "astype") else x.astype(dtype)


def as_floating(x: Array) -> Array:
    """Whole numbers and booleans become float32; floating-point numbers stay as they are."""
    return x if is_floating(x) else cast(x, array_namespace(x).float32)


def at_least_float32(x: Array) -> Array:
    """At least float32: half precision and whole numbers become float32, float64 stays."""
    return x if dtype_name(x.dtype) in ("float32", "float64") else cast(x, array_namespace(x).float32)


def as_index(x: Array) -> Array:
    """Whole numbers in the dtype that the library indexes with: int32 for JAX, where int64 is a switch, int64 for the others."""
    xp = array_namespace(x)
    return cast(x, xp.int64 if is_torch(x) or not array_api_compat.is_jax_array(x) else xp.int32)


def asarray_like(values: Any, like: Array | None) -> Array:
    """NumPy values as an array of the library, and on the device, of `like`; NumPy itself for None."""
    import numpy

    values = numpy.arange(values.start, values.stop) if isinstance(values, range) else numpy.asarray(values)
    if like is None:
        return values
    namespace = array_namespace(like)
    if is_torch(like):
        return namespace.asarray(values, device=like.device)
    return namespace.asarray(values)


def from_numpy(values: Any, library: str, device: str | None = None) -> Array:
    """A NumPy array as an array of another library; torch shares the memory, the others copy.

    Errors   OptionError for an unknown or missing library.
    """
    namespace = array_library(library)
    if library == "numpy":
        return values
    if library == "torch":
        import torch

        shared = (
            torch.from_numpy(values.view("int16")).view(torch.bfloat16)
            if dtype_name(values.dtype) == "bfloat16"
            else torch.from_numpy(values)
        )
        return shared.to(device) if device else shared
    return namespace.array(values)


def to_numpy(x: Array) -> Any:
    """Any library's array as a NumPy array, in at least float32 where it is floating."""
    import numpy

    if is_floating(x):
        x = at_least_float32(x)
    return x.detach().cpu().numpy() if hasattr(x, "detach") else numpy.asarray(x)


def is_traced(x: Array) -> bool:
    """Whether a compiler is tracing, so that the values cannot be looked at (jax.jit, torch.compile)."""
    if is_torch(x):
        return _is_compiling()
    if array_api_compat.is_jax_array(x):
        import jax

        return isinstance(x, jax.core.Tracer)
    return False
