"""The attributes and helpers that NumPy, PyTorch, JAX and MLX arrays share.

Importing this module imports no array library. A library is imported when an argument comes from it, or when a function is given its name.
"""

from __future__ import annotations

import importlib
import sys
from functools import lru_cache
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

import array_api_compat

from headway.errors import DtypeError, OptionError

if TYPE_CHECKING:
    import numpy
    import typing_extensions
    from numpy.typing import ArrayLike


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
        """The library's dtype object; dtype_name returns its name."""

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


ArrayT = TypeVar("ArrayT", bound=Array)
"""The array type of an argument that the result shares: a torch.Tensor in gives a torch.Tensor out."""

if TYPE_CHECKING:
    LikeT = typing_extensions.TypeVar("LikeT", bound=Array, default=numpy.ndarray)
else:
    LikeT = TypeVar("LikeT", bound=Array)
"""The array type of the argument `like`, or numpy.ndarray if it is None."""

Operations: TypeAlias = ModuleType | SimpleNamespace
"""The type of `ops`: the module headway.functions, or a namespace with the same names."""

ARRAY_LIBRARIES = ("numpy", "torch", "jax", "mlx")

_NAMESPACES = {
    "numpy": "array_api_compat.numpy",
    "torch": "array_api_compat.torch",
    "jax": "jax.numpy",
    "mlx": "mlx.core",
}

_NAMESPACE_OF_TYPES: dict[tuple[type, ...], ModuleType] = {}
"""Results of array_namespace by argument types. A lookup takes microseconds, and each token needs hundreds."""


def is_torch(x: Array) -> bool:
    """Return True if the array is a PyTorch tensor.

    Check this before calling array_api_compat: its functions are cached, and torch.compile warns about caches.
    """
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def _is_compiling() -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and torch.compiler.is_compiling()


def array_namespace(*arrays: Array | None) -> ModuleType:
    """Return the array-API namespace that all given arrays share; None is ignored.

    Errors   DtypeError if an argument is not an array, or if two libraries are mixed.
    """
    types = tuple(map(type, arrays))
    if _is_compiling() and all(array is None or is_torch(array) for array in arrays):
        from array_api_compat import torch as namespace  # not from the cache: torch.compile would recompile each time it grows

        return namespace
    known = _NAMESPACE_OF_TYPES.get(types)
    if known is not None:
        return known
    try:
        return _NAMESPACE_OF_TYPES.setdefault(types, array_api_compat.array_namespace(*arrays))
    except TypeError:
        names = " and ".join(sorted({f"{type(array).__module__}.{type(array).__qualname__}" for array in arrays if array is not None}))
        raise DtypeError(
            f"got {names}, expected arrays of one library (NumPy, PyTorch, JAX or MLX)",
            hint="convert all arguments to the same library first; use numpy.asarray(...) for a list",
        ) from None


DTYPES = ("float32", "bfloat16", "float16", "float64")
"""The dtypes that weights may have."""


def array_library(name: str) -> ModuleType:
    """Import an array library by name and return its namespace.

    Errors   OptionError for an unknown name, or for a library that is not installed.
    """
    if name not in _NAMESPACES:
        raise OptionError(f"got array library {name!r}, expected one of {', '.join(ARRAY_LIBRARIES)}")
    try:
        return importlib.import_module(_NAMESPACES[name])
    except ImportError as error:
        raise OptionError(f"the array library {name!r} is not installed ({error})", hint=f"run: pip install 'headway[{name}]'") from error


def dtype_name(dtype: Any) -> str:
    """Return the dtype name that all libraries share: 'float32', 'bfloat16', 'int64', 'bool', …"""
    if type(dtype).__module__ == "torch":  # not from the cache: torch.compile warns about caches
        return str(dtype).rpartition(".")[2]
    return _dtype_name(dtype)


@lru_cache(maxsize=256)
def _dtype_name(dtype: Any) -> str:
    name = str(dtype).rpartition(".")[2]
    return "bool" if name == "bool_" else name


def is_floating(x: Array) -> bool:
    """Return True if the array has a floating-point dtype, bfloat16 included."""
    return dtype_name(x.dtype) in ("float16", "bfloat16", "float32", "float64")


def is_boolean(x: Array) -> bool:
    """Return True if the array has a boolean dtype."""
    return dtype_name(x.dtype) == "bool"


def is_integer(x: Array) -> bool:
    """Return True if the array has an integer dtype; bool is not one."""
    return not is_floating(x) and dtype_name(x.dtype).startswith(("int", "uint"))


def as_dtype(name: str, namespace: ModuleType) -> Any:
    """Return a namespace's dtype by name; NumPy's bfloat16 comes from ml_dtypes."""
    if name == "bfloat16" and namespace.__name__.endswith("numpy") and not namespace.__name__.startswith("jax"):
        import ml_dtypes

        return ml_dtypes.bfloat16
    return getattr(namespace, name)


def check_computing(array: str, dtype: str, device: str | None) -> None:
    """Raise OptionError unless this library can compute in this dtype on this device."""
    if dtype not in DTYPES:
        raise OptionError(f"got dtype {dtype!r}, expected one of {', '.join(DTYPES)}")
    namespace = array_library(array)
    if array == "jax" and dtype == "float64" and not importlib.import_module("jax").config.jax_enable_x64:
        raise OptionError("got dtype 'float64' with jax, expected JAX with 64-bit types enabled", hint="set JAX_ENABLE_X64=1")
    if device is None:
        return
    if array != "torch":
        raise OptionError(f"got device {device!r} with {array}, expected a device with torch only", hint="leave the device out")
    try:
        namespace.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:  # torch built without CUDA raises AssertionError
        reason = str(error).splitlines()[0].partition(". ")[0]
        raise OptionError(
            f"got device {device!r}, expected one that this build of torch supports ({reason})", hint="leave the device out to use the CPU"
        ) from error


def cast(x: ArrayT, dtype: Any) -> ArrayT:
    """Convert an array to a dtype; an array that has it already is returned unchanged."""
    if x.dtype == dtype:
        return x
    array: Any = x
    return array.to(dtype) if hasattr(x, "to") and not hasattr(x, "astype") else array.astype(dtype)


def as_floating(x: ArrayT) -> ArrayT:
    """Convert integers and booleans to float32; floating-point arrays are returned unchanged."""
    return x if is_floating(x) else cast(x, array_namespace(x).float32)


def at_least_float32(x: ArrayT) -> ArrayT:
    """Convert half precision, integers and booleans to float32; float32 and float64 are returned unchanged."""
    return x if dtype_name(x.dtype) in ("float32", "float64") else cast(x, array_namespace(x).float32)


def as_index(x: ArrayT) -> ArrayT:
    """Convert integers to the dtype that the library indexes with: int32 for JAX, which disables int64 by default, else int64."""
    xp = array_namespace(x)
    return cast(x, xp.int64 if is_torch(x) or not array_api_compat.is_jax_array(x) else xp.int32)


def asarray_like(values: ArrayLike | range, like: LikeT | None) -> LikeT:
    """Convert NumPy values to an array of the library and device of `like`; NumPy if None."""
    import numpy

    array: Any = numpy.arange(values.start, values.stop) if isinstance(values, range) else numpy.asarray(values)
    if like is None:
        return array
    namespace = array_namespace(like)
    if is_torch(like):
        return namespace.asarray(array, device=like.device)  # type: ignore[attr-defined]
    return namespace.asarray(array)


def from_numpy(values: numpy.ndarray, library: str, device: str | None = None) -> Array:
    """Convert a NumPy array to another library's array; torch shares the memory, the others copy it.

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


def to_numpy(x: Any) -> numpy.ndarray:
    """Convert any library's array to NumPy, in at least float32 if it is floating-point."""
    import numpy

    if is_floating(x):
        x = at_least_float32(x)
    return x.detach().cpu().numpy() if hasattr(x, "detach") else numpy.asarray(x)


def fetch(x: Any) -> numpy.ndarray:
    """Convert the result of a step to NumPy, as to_numpy does; from CUDA through page-locked memory, which PyTorch reuses.

    The copy of 16 rows of 151,936 logits takes 0.2 ms in place of 9: the system need not map new memory in every step.
    """
    if not getattr(x, "is_cuda", False):
        return to_numpy(x)
    import torch

    x = at_least_float32(x) if is_floating(x) else x
    return torch.empty(x.shape, dtype=x.dtype, pin_memory=True).copy_(x.detach()).numpy()


def is_traced(x: Array) -> bool:
    """Return True if a compiler is tracing (jax.jit, torch.compile), so the array's values are not available."""
    if is_torch(x):
        return _is_compiling()
    if array_api_compat.is_jax_array(x):
        import jax

        return isinstance(x, jax.core.Tracer)
    return False
