"""Every function on NumPy, PyTorch, JAX and MLX arrays, in every dtype, against NumPy in float64."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from headway import functions
from headway.arrays import ARRAY_LIBRARIES, array_library, array_namespace, as_dtype, cast, dtype_name, from_numpy, is_floating, to_numpy
from headway.trees import leaves, map_tree
from tests.functions import shapes
from tests.functions.close import assert_close

DTYPES = ("float64", "float32", "float16", "bfloat16")
HAS_FLOAT64 = ("numpy", "torch")  # JAX only with its x64 switch, MLX only on the CPU
FUNCTIONS = {name: getattr(functions, name) for name in functions.__all__ if inspect.isfunction(getattr(functions, name))}
ON_ARRAYS = [name for name, function in FUNCTIONS.items() if shapes.parse(function) and shapes.parse(function).arguments]
FROM_LIKE = [name for name, function in FUNCTIONS.items() if "like" in inspect.signature(function).parameters]

# Functions whose result has another dtype than their arguments.
OWN_DTYPE = {"padding_mask": "bool", "rotary_cos_sin": "float32"}

# Functions that convert integers to float32. The others look up ids, or only rearrange their argument.
PROMOTING = (
    "add_logit_bias", "apply_mask", "attention_weights", "attention_with_sinks", "causal_conv", "cross_entropy", "dropout", "encoder_layer", "feed_forward",
    "forbid_repeated_ngrams", "forbid_tokens", "force_tokens", "gated_feed_forward",
    "gelu", "gelu_tanh", "keep_min_p", "keep_top_k", "keep_top_p", "keep_typical", "layer_norm", "linear", "log_softmax", "low_rank",
    "mixture_of_experts", "route_top_k", "multi_head_attention",
    "penalize_occurrence", "penalize_repetition", "relu", "residual", "rms_norm", "rotary", "scale_by_temperature",
    "scaled_dot_product_attention", "sigmoid", "silu", "soft_cap", "softmax", "stacked_heads_attention", "unembed", "first_token_pool", "last_token_pool", "max_pool", "mean_pool",
    "normalize",
)  # fmt: skip

# rotary_frequencies returns float32; half precision is too coarse for frequencies.
NEVER_HALF = ("scale_rotary_dynamic", "scale_rotary_linear", "scale_rotary_llama3", "scale_rotary_longrope", "scale_rotary_yarn")

# One size per name for all functions, so that JAX compiles each operation once.
SIZES = {"num_layers": 2, "num_kv_heads": 3, "group_size": 7, "head_dim": 5, "hidden_size": 13, "intermediate_size": 17, "seq_len": 11, "source_len": 19,
         "query_len": 11, "key_len": 19, "vocab_size": 23, "size": 23, "num_experts": 5}  # fmt: skip
COMPOSED = ("decoder", "decoder_layer", "encoder", "encoder_layer", "multi_head_attention", "stacked_heads_attention", "transformer")


def cases():
    for name in ON_ARRAYS:
        for library in ARRAY_LIBRARIES:
            for dtype in DTYPES:
                is_missing = dtype == "float64" and library not in HAS_FLOAT64
                is_meaningless = name in NEVER_HALF and dtype.endswith("float16")
                is_slow = library == "jax" and name in COMPOSED  # it compiles every operation for every shape and dtype
                is_shown = is_slow and dtype == "float16"  # by bfloat16, and by the functions that these are composed of
                if not is_missing and not is_meaningless and not is_shown:
                    yield pytest.param(name, library, dtype, id=f"{name}-{library}-{dtype}", marks=[pytest.mark.slow] if is_slow else [])


@pytest.mark.parametrize(("name", "library", "dtype"), list(cases()))
def test_a_function_gives_the_same_in_every_library_and_keeps_the_dtype(name, library, dtype):
    call = example(name)
    rounded = {
        argument: map_arrays(lambda leaf: cast(leaf, as_dtype(dtype, np)) if is_floating(leaf) else leaf, value)
        for argument, value in call.items()
    }
    wide = {
        argument: map_arrays(lambda leaf: cast(leaf, np.float64) if is_floating(leaf) else leaf, value)
        for argument, value in rounded.items()
    }
    expected = results(FUNCTIONS[name](**wide))
    converted = {argument: map_arrays(lambda leaf: to_library(leaf, library, dtype), value) for argument, value in rounded.items()}
    came = results(FUNCTIONS[name](**converted))
    for position, (one, reference) in enumerate(zip(came, expected, strict=True)):
        assert array_namespace(one) is array_library(library)
        if is_floating(reference):
            assert dtype_name(one.dtype) == own_dtype(name, position, dtype)
            assert_close(one, reference, dtype="float32" if dtype == "float64" and name in OWN_DTYPE else dtype)
        else:
            assert to_numpy(one).tolist() == reference.tolist()


@pytest.mark.parametrize("library", ARRAY_LIBRARIES)
@pytest.mark.parametrize("name", PROMOTING)
def test_whole_numbers_are_numbers_in_float32(name, library):
    call = example(name)
    first = next(iter(call))
    whole = np.rint(3 * call[first]).astype(np.int32)
    call = {
        argument: map_arrays(lambda leaf: cast(leaf, np.float32) if is_floating(leaf) else leaf, value) for argument, value in call.items()
    }
    expected = FUNCTIONS[name](**call | {first: whole.astype(np.float32)})
    converted = {
        argument: map_arrays(lambda leaf: to_library(leaf, library, "float32"), value)
        for argument, value in (call | {first: whole}).items()
    }
    came = FUNCTIONS[name](**converted)
    assert dtype_name(came.dtype) == "float32"
    assert_close(came, expected)


@pytest.mark.parametrize("library", ARRAY_LIBRARIES)
@pytest.mark.parametrize("name", FROM_LIKE)
def test_a_function_without_arrays_answers_in_the_library_of_like(name, library):
    call = example(name, sizes={})
    came = FUNCTIONS[name](**call, like=from_numpy(np.zeros(2, np.float32), library))
    assert array_namespace(came) is array_library(library)
    np.testing.assert_array_equal(to_numpy(came), FUNCTIONS[name](**call))


def test_every_function_is_tried_in_every_library():
    without_arrays = {
        "clipping_factor",
        "cosine_schedule",
        "linear_schedule",
        "longrope_magnitude",
        "noam_schedule",
        "yarn_magnitude",
    }  # a number out
    assert set(ON_ARRAYS) | set(FROM_LIKE) | without_arrays == FUNCTIONS.keys()


@pytest.mark.parametrize("library", ARRAY_LIBRARIES)
def test_a_cache_holds_the_same_in_every_library(library):
    cache = functions.KVCache.empty((3, 7, 5), from_numpy(np.zeros(1, np.float32), library))
    key, value = np.random.default_rng(0).standard_normal((2, 3, 2, 5)).astype(np.float32)
    for length in (2, 4, 6):
        keys, values = cache.append(from_numpy(key * length, library), from_numpy(value * length, library))
        assert cache.length == length
        assert keys.shape[-2] == (7 if library == "jax" else length)
    for held, rows in ((keys, key), (values, value)):
        np.testing.assert_array_equal(to_numpy(held)[..., :6, :], np.concatenate([rows * 2, rows * 4, rows * 6], axis=-2))


def example(name, sizes=SIZES):
    """Return small float64 arguments for one call."""
    block = shapes.parse(FUNCTIONS[name])
    leading = shapes.LEADING if all(isinstance(line.what, shapes.ast.Constant) for line in block.arguments) else ()
    return shapes.call_by_docstring(FUNCTIONS[name], leading=leading, given=sizes, has_optional=name != "unstack_heads", seed=3).arguments


def own_dtype(name, position, dtype):
    """Return the expected dtype of a result: that of the arguments, with a few exceptions."""
    if name in ("adam_step", "gated_delta_rule") and position > 0:  # moments and states, because half precision loses small numbers
        return "float32" if dtype.endswith("float16") else dtype
    return OWN_DTYPE.get(name, dtype)


def map_arrays(function, value):
    return map_tree(lambda leaf: function(leaf) if hasattr(leaf, "dtype") else leaf, value)


def to_library(array, library, dtype):
    if not is_floating(array) or library == "numpy":
        return from_numpy(array, library)
    return cast(
        from_numpy(array.astype(np.float64 if dtype == "float64" else np.float32), library), as_dtype(dtype, array_library(library))
    )


def results(value):
    """Return all arrays of the result, in order."""
    if isinstance(value, functions.GradientDescentResult):
        value = value.point
    return [leaf for _, leaf in leaves(value)]
