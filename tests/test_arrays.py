from __future__ import annotations

import builtins
import subprocess
import sys
import warnings

import ml_dtypes
import numpy as np
import pytest
import torch

from headway import arrays
from headway.arrays import (
    ARRAY_LIBRARIES,
    array_library,
    array_namespace,
    as_dtype,
    as_floating,
    as_index,
    asarray_like,
    at_least_float32,
    cast,
    dtype_name,
    from_numpy,
    is_boolean,
    is_floating,
    is_integer,
    is_torch,
    is_traced,
    to_numpy,
)
from headway.errors import DtypeError, OptionError

FLOATING = ("float16", "bfloat16", "float32")
WHOLE = ("int8", "uint8", "int16", "int32")
KINDS = {**dict.fromkeys(FLOATING, "floating"), **dict.fromkeys(WHOLE, "integer"), "bool": "boolean"}


def zeros(library, dtype, shape=(2, 3)):
    namespace = array_library(library)
    return namespace.zeros(shape, dtype=namespace.bool_ if dtype == "bool" and library == "mlx" else as_dtype(dtype, namespace))


@pytest.mark.parametrize("library", ARRAY_LIBRARIES)
def test_arrays_of_a_library_share_its_namespace_and_none_is_passed_over(library):
    x = zeros(library, "float32")
    assert array_namespace(x, None, x) is array_library(library)


@pytest.mark.parametrize("wrong", [[1.0, 2.0], 3.0, "text"])
def test_what_is_no_array_is_an_error_that_says_how_to_make_one(wrong):
    with pytest.raises(DtypeError, match=rf"(?s)got builtins.{type(wrong).__name__}, expected arrays of one library .*numpy.asarray"):
        array_namespace(wrong)


def test_two_libraries_are_an_error_that_names_both():
    with pytest.raises(DtypeError, match=r"got numpy.ndarray and torch.Tensor, expected arrays of one library"):
        array_namespace(np.ones(2), torch.ones(2))


@pytest.mark.parametrize("name", ["tensorflow", "Torch", ""])
def test_an_unknown_library_is_an_error_that_lists_the_known(name):
    with pytest.raises(OptionError, match=f"got array library '{name}', expected one of numpy, torch, jax, mlx"):
        array_library(name)


def test_a_library_that_is_not_installed_is_an_error_that_says_how_to_install_it(monkeypatch):
    def missing(name):
        raise ImportError("No module named 'mlx'")

    monkeypatch.setattr(arrays.importlib, "import_module", missing)
    with pytest.raises(OptionError, match=r"(?s)'mlx' is not installed .*No module named 'mlx'.*pip install 'headway\[mlx\]'"):
        array_library("mlx")


def test_importing_the_definitions_imports_no_array_library_but_numpy():
    command = "import sys, headway.functions; print(*sorted({'torch', 'jax', 'mlx', 'transformers', 'numba'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


@pytest.mark.parametrize("library", ARRAY_LIBRARIES)
@pytest.mark.parametrize("dtype", KINDS)
def test_every_dtype_has_one_name_and_is_of_one_kind(library, dtype):
    x = zeros(library, dtype)
    assert dtype_name(x.dtype) == dtype
    kinds = {"floating": is_floating(x), "integer": is_integer(x), "boolean": is_boolean(x)}
    assert [kind for kind, is_it in kinds.items() if is_it] == [KINDS[dtype]]


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_float64_and_int64_are_known(library):
    assert is_floating(zeros(library, "float64"))
    assert is_integer(zeros(library, "int64"))


@pytest.mark.parametrize("dtype", ["uint16", "uint32", "uint64"])
def test_unsigned_numbers_are_whole(dtype):
    assert is_integer(np.zeros(2, dtype))


@pytest.mark.parametrize("library", ARRAY_LIBRARIES)
@pytest.mark.parametrize("dtype", KINDS)
def test_widening_gives_at_least_float32(library, dtype):
    x = zeros(library, dtype)
    assert dtype_name(at_least_float32(x).dtype) == "float32"
    assert dtype_name(as_floating(x).dtype) == (dtype if KINDS[dtype] == "floating" else "float32")


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_widening_keeps_float64(library):
    assert dtype_name(at_least_float32(zeros(library, "float64")).dtype) == "float64"


@pytest.mark.parametrize("library", ARRAY_LIBRARIES)
def test_casting_to_its_own_dtype_gives_the_array_itself(library):
    x = zeros(library, "float32")
    assert cast(x, x.dtype) is x
    assert at_least_float32(x) is x


@pytest.mark.parametrize("library", ARRAY_LIBRARIES)
@pytest.mark.parametrize("dtype", WHOLE)
def test_an_index_is_as_wide_as_the_library_wants_it(library, dtype):
    assert dtype_name(as_index(zeros(library, dtype)).dtype) == ("int32" if library == "jax" else "int64")


def test_numpys_bfloat16_is_that_of_ml_dtypes():
    assert as_dtype("bfloat16", np) is ml_dtypes.bfloat16
    assert as_dtype("bfloat16", array_library("numpy")) is ml_dtypes.bfloat16


@pytest.mark.parametrize("library", ARRAY_LIBRARIES)
@pytest.mark.parametrize("dtype", [*FLOATING, *WHOLE, "bool"])
def test_there_and_back_from_numpy_keeps_every_value(library, dtype):
    values = np.array([[0, 1, 2], [3, 100, 1]]).astype(as_dtype(dtype, np) if dtype != "bool" else bool)
    there = from_numpy(values, library)
    assert array_namespace(there) is array_library(library)
    assert dtype_name(there.dtype) == dtype
    back = to_numpy(there)
    assert isinstance(back, np.ndarray)
    assert back.dtype == (np.float32 if KINDS[dtype] == "floating" else values.dtype)
    np.testing.assert_array_equal(back, values)


def test_torch_shares_the_memory_and_bfloat16_bits():
    values = np.array([1.0, 3.14159], ml_dtypes.bfloat16)
    shared = from_numpy(values, "torch")
    values[0] = 7
    assert shared.tolist() == [7.0, 3.140625]


def test_numpy_arrays_stay_themselves():
    values = np.ones(3)
    assert from_numpy(values, "numpy") is values


def test_a_tensor_that_wants_gradients_becomes_numpy_too():
    assert to_numpy(torch.ones(3, requires_grad=True, dtype=torch.bfloat16)).tolist() == [1.0] * 3


def test_from_numpy_to_an_unknown_library_is_an_error():
    with pytest.raises(OptionError, match="array library 'cupy'"):
        from_numpy(np.ones(2), "cupy")


@pytest.mark.parametrize("library", ARRAY_LIBRARIES)
def test_values_take_the_library_of_like(library):
    like = zeros(library, "float16")
    came = asarray_like(np.arange(3, dtype=np.float32), like)
    assert array_namespace(came) is array_library(library)
    assert dtype_name(came.dtype) == "float32"  # only the library and the device matter
    assert to_numpy(asarray_like(range(3), like)).tolist() == [0, 1, 2]


def test_without_like_values_are_numpys():
    assert isinstance(asarray_like([1, 2], None), np.ndarray)


def test_values_take_the_device_of_like():
    assert asarray_like([1, 2], torch.zeros(1, device="meta")).device.type == "meta"


def test_under_a_compiler_an_array_is_traced_and_else_not():
    import jax

    seen = []
    jax.jit(lambda x: seen.append(is_traced(x)) or x)(jax.numpy.ones(2))
    assert seen == [True]
    assert not any(is_traced(zeros(library, "float32")) for library in ARRAY_LIBRARIES)


def test_under_torch_compile_too_and_one_graph_sees_library_and_dtype():
    def asks(x, parameter):
        namespace = array_namespace(x, None, parameter)
        return x + namespace.ones_like(parameter) * is_traced(x) if dtype_name(x.dtype) == "float32" and is_floating(parameter) else x

    x, parameter = torch.zeros(3), torch.nn.Parameter(torch.zeros(3))
    assert asks(x, parameter).tolist() == [0.0] * 3
    assert torch.compile(asks, backend="eager", fullgraph=True)(x, parameter).tolist() == [1.0] * 3


@pytest.mark.parametrize("library", ARRAY_LIBRARIES)
def test_only_tensors_of_torch_are_torch(library):
    assert is_torch(zeros(library, "float32")) == (library == "torch")
    assert is_torch(torch.nn.Parameter(torch.zeros(1)))
    assert not is_torch(None)


def test_half_precision_casts_without_a_warning_where_the_values_fit():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cast(np.array([1e-9, 65504.0]), np.float16)


def test_nothing_named_here_shadows_a_builtin():
    assert not {name for name in vars(arrays) if not name.startswith("_")} & set(vars(builtins))
