"""Gradients of the functions in each library, against finite differences."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from headway import functions
from headway.arrays import from_numpy, is_floating, to_numpy
from headway.trees import leaves, map_tree
from tests.functions import shapes

# Tiny and not all distinct, because finite differences need a call per number; test_docstrings.py uses distinct sizes.
SIZES = {"num_layers": 2, "num_kv_heads": 2, "group_size": 3, "head_dim": 2, "hidden_size": 5, "intermediate_size": 7, "seq_len": 3, "source_len": 4,
         "query_len": 3, "key_len": 4, "vocab_size": 7, "size": 7, "pairs": 3, "encoder_width": 4, "value_dim": 5, "query_width": 5, "key_width": 4,
         "value_width": 3, "output_width": 5, "in_features": 5, "out_features": 7,
         "num_experts": 4, "rank": 2, "num_channels": 4, "kernel_size": 3}  # fmt: skip

SMOOTH = (
    "softmax", "log_softmax", "layer_norm", "rms_norm", "sigmoid", "silu", "gelu", "gelu_tanh", "linear", "unembed", "embed", "rotary",
    "cross_entropy", "attention_weights", "scaled_dot_product_attention", "multi_head_attention", "cross_attention", "stacked_heads_attention", "feed_forward",
    "gated_feed_forward", "encoder_layer", "decoder_layer", "relu", "relative_position_bias", "dropout", "first_token_pool", "last_token_pool", "max_pool",
    "mean_pool", "normalize", "soft_cap", "route_top_k", "mixture_of_experts", "low_rank", "causal_conv", "attention_with_sinks",
    "clamped_swiglu",
)  # fmt: skip
STACKS = ("encoder", "decoder", "transformer")

DIRECTION_TOLERANCE = {"jax": 2e-4, "mlx": 2e-4}  # gradients in float32, differences in float64


class Problem:
    """Return a function of a flat list of arrays, the floating-point leaves of the arguments built from its docstring."""

    def __init__(self, name, seed=0, **options):
        call = shapes.call_by_docstring(getattr(functions, name), given=SIZES, seed=seed)
        if "activation" in call.function.__annotations__:
            options = {"activation": functions.gelu, **options}  # smooth, so that differences are accurate
        self.function, self.arguments = call.function, call.arguments | options
        for mask in {"mask", "encoder_mask"} & self.arguments.keys():
            self.arguments[mask][..., 0] = True  # every query may attend to at least one key
        self.values = [leaf for value in self.arguments.values() for _, leaf in leaves_of(value) if is_floating(leaf)]

    def __call__(self, arrays, library):
        floating = iter(arrays)

        def replaced(leaf):
            if not hasattr(leaf, "dtype"):
                return leaf
            return next(floating) if is_floating(leaf) else from_numpy(leaf, library)

        return self.function(**{name: map_tree(replaced, value) for name, value in self.arguments.items()})


def leaves_of(value):
    return [(path, leaf) for path, leaf in leaves(value) if hasattr(leaf, "dtype")]


def test_everything_that_is_trained_through_is_here():
    not_trained_through = {
        "adam_step", "add_logit_bias", "apply_mask", "causal_mask", "clipping_factor", "cosine_schedule", "forbid_repeated_ngrams", "forbid_tokens", "force_tokens",
        "gated_delta_rule",  # returns two arrays: its own file has the test
        "gradient_descent", "linear_schedule", "noam_schedule", "keep_min_p", "keep_top_k", "keep_top_p", "keep_typical",
        "learned_positions", "merge_heads", "padding_mask", "penalize_occurrence", "penalize_repetition",
        "project_keys_and_values",  # the first half of multi_head_attention
        "relative_position_buckets", "residual", "rotary_cos_sin", "rotate_half",
        "longrope_magnitude", "rotary_frequencies", "sample", "scale_by_temperature", "scale_rotary_dynamic", "scale_rotary_linear",
        "scale_rotary_llama3", "scale_rotary_longrope", "scale_rotary_yarn",
        "sinusoidal_positions", "sliding_window_mask", "split_heads", "stack_heads", "unstack_heads", "yarn_magnitude",
    }  # fmt: skip
    callables = {name for name in functions.__all__ if name[0].islower()}
    assert callables - not_trained_through == {*SMOOTH, *STACKS}


@pytest.mark.parametrize("name", [*SMOOTH, *STACKS])
def test_torch_gradients_are_those_of_finite_differences(name):
    problem = Problem(name)
    arrays = [torch.tensor(value, requires_grad=True) for value in problem.values]
    # Stacks in random directions: every derivative of their layers is compared, and a stack has thousands.
    assert torch.autograd.gradcheck(lambda *arrays: problem(arrays, "torch"), arrays, fast_mode=name in STACKS)


@pytest.mark.parametrize("name", ["encoder_layer", "decoder_layer"])
def test_pre_norm_layers_have_the_gradients_of_finite_differences(name):
    problem = Problem(name, is_pre_norm=True)
    arrays = [torch.tensor(value, requires_grad=True) for value in problem.values]
    assert torch.autograd.gradcheck(lambda *arrays: problem(arrays, "torch"), arrays)


@pytest.mark.parametrize("options", [{"is_causal": True}, {"soft_cap": 0.7}, {"scale": 0.0}], ids=["causal", "soft_cap", "scale_zero"])
def test_attention_options_have_the_gradients_of_finite_differences(options):
    problem = Problem("scaled_dot_product_attention", **options)
    arrays = [torch.tensor(value, requires_grad=True) for value in problem.values]
    assert torch.autograd.gradcheck(lambda *arrays: problem(arrays, "torch"), arrays)


@pytest.mark.parametrize("library", ["jax", "mlx"])
@pytest.mark.parametrize("name", SMOOTH)
def test_jax_and_mlx_gradients_are_those_of_finite_differences(name, library):
    """Return the derivative in one random direction, by central differences in float64 with NumPy."""
    problem, random = Problem(name), np.random.default_rng(1)
    weights = random.standard_normal(np.shape(problem(problem.values, "numpy")))
    direction = [random.standard_normal(value.shape) for value in problem.values]

    def difference(step):
        moved = [value + step * towards for value, towards in zip(problem.values, direction, strict=True)]
        return float(np.sum(problem(moved, "numpy") * weights))

    expected = (difference(1e-5) - difference(-1e-5)) / 2e-5
    gradients = gradients_of(problem, weights, library)
    came = sum(float(np.sum(to_numpy(g).astype(np.float64) * towards)) for g, towards in zip(gradients, direction, strict=True))
    scale = max(1.0, sum(float(np.sum(np.abs(to_numpy(g) * towards))) for g, towards in zip(gradients, direction, strict=True)))
    assert abs(came - expected) < DIRECTION_TOLERANCE[library] * scale


@pytest.mark.parametrize("library", ["torch", "jax", "mlx"])
@pytest.mark.parametrize("mask_kind", ["boolean", "floating"])
def test_a_query_that_may_attend_to_nothing_has_zero_gradients_never_nan(library, mask_kind):
    problem = Problem("scaled_dot_product_attention")
    problem.arguments["mask"][1] = False
    weights = np.ones(np.shape(problem(problem.values, "numpy")))
    if mask_kind == "floating":
        mask = np.where(problem.arguments["mask"], 0.0, -np.inf)
        problem.arguments["mask"] = from_numpy(mask.astype(np.float32), library)
        problem.values = problem.values[:3]
        function, problem = problem, lambda arrays, library: function([*arrays, function.arguments["mask"]], library)
        problem.values = function.values
    query, key, value = (to_numpy(gradient) for gradient in gradients_of(problem, weights, library))
    assert (query[:, 1] == 0).all()
    assert np.isfinite(query).all()
    assert np.isfinite(key).all()
    assert np.isfinite(value).all()
    assert (value != 0).any()


@pytest.mark.parametrize("library", ["torch", "jax", "mlx"])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_over_nothing_has_no_nan_gradient(name, library):
    problem = Problem(name)
    problem.values = [np.array([[-np.inf, -np.inf], [0.5, -np.inf]])]
    (gradient,) = gradients_of(problem, np.array([[1.0, 2.0], [3.0, 0.0]]), library)
    assert np.isfinite(to_numpy(gradient)).all()


@pytest.mark.parametrize("library", ["torch", "jax", "mlx"])
def test_an_ignored_target_has_zero_gradient(library):
    problem = Problem("cross_entropy", ignored=-100)
    problem.arguments = {"logits": np.zeros((3, 7)), "targets": np.array([2, -100, 5]), "ignored": -100}
    problem.values = [np.random.default_rng(0).standard_normal((3, 7))]
    (gradient,) = gradients_of(problem, np.ones(()), library)
    gradient = to_numpy(gradient)
    assert (gradient[1] == 0).all()
    np.testing.assert_allclose(gradient.sum(axis=-1), 0, atol=1e-6)  # softmax minus one-hot sums to zero


def gradients_of(problem, weights, library):
    """Return the gradients of sum(weights · function) with respect to every array, in float32."""
    arrays = [from_numpy(value.astype(np.float32), library) for value in problem.values]
    weights = from_numpy(np.asarray(weights, np.float32), library)
    if library == "torch":
        arrays = [array.requires_grad_() for array in arrays]
        return torch.autograd.grad((problem(arrays, library) * weights).sum(), arrays)
    if library == "jax":
        import jax

        return jax.jit(jax.grad(lambda arrays: (problem(arrays, library) * weights).sum()))(arrays)
    import mlx.core

    return mlx.core.grad(lambda arrays: (problem(arrays, library) * weights).sum())(arrays)
