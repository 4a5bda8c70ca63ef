"""The parts outside attention: names, pairs of mistakes, and the notes of a verdict."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import torch

from headway.practice.diagnosis.diagnose import diagnose
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.exercises import exercise
from headway.practice.names import by_name

NAMES = {
    "softmax": ("softmax", "stable_softmax", "Softmax"),
    "log_softmax": ("log_softmax", "LogSoftmax", "log_probs"),
    "linear": ("linear", "Linear", "linear_layer", "dense_layer", "affine_forward", "run_linear"),
    "embed": ("embed", "Embedding", "token_embedding", "TokenEmbedding", "run_embedding"),
    "relu": ("relu", "ReLU", "np_relu"),
    "silu": ("silu", "SiLU", "swish", "run_silu"),
    "gelu": ("gelu", "GELU", "gelu_tanh", "NewGELU", "quick_gelu"),
    "layer_norm": ("layer_norm", "LayerNorm", "layernorm_forward", "layer_normalization", "ln"),
    "rms_norm": ("rms_norm", "RMSNorm", "run_rmsnorm", "LlamaRMSNorm"),
    "feed_forward": ("feed_forward", "FeedForward", "ffn", "MLP", "PositionwiseFeedForward"),
    "gated_feed_forward": ("gated_feed_forward", "swiglu", "SwiGLU", "run_swiglu", "geglu", "GLU", "LlamaMLP", "Qwen2MLP"),
    "cross_entropy": ("cross_entropy", "cross_entropy_loss", "softmax_loss", "nll_loss", "compute_cross_entropy_loss", "run_cross_entropy"),
    "gradient_descent": ("gradient_descent", "GradientDescent", "gd", "get_minimizer"),
    "linear_regression": ("linear_regression", "linear_regression_gradient_descent", "LinearRegression"),
    "adam_step": ("adam_step", "adam_update", "adam_optimizer", "Adam"),
}
UNRELATED = (
    "binary_cross_entropy",
    "batch_norm",
    "leaky_relu",
    "prelu",
    "hard_swish",
    "sigmoid",
    "unembed",
    "Unembedding",
    "patch_embedding",
    "linear_attention",
)


@pytest.mark.parametrize(("name", "called"), [(name, called) for name, all_called in NAMES.items() for called in all_called])
def test_common_names_of_a_part_are_recognized(name, called):
    assert by_name(called) == name


@pytest.mark.parametrize("called", UNRELATED)
def test_other_functions_are_not_recognized(called):
    assert by_name(called) is None


def judged(name, function, imports=("numpy",)):
    return diagnose(Subject(function, function.__name__, imports=imports), exercise(name))


def annotated_transformer(x, a_2, b_2, eps=1e-6):
    return a_2 * (x - x.mean(-1, keepdims=True)) / (x.std(-1, ddof=1, keepdims=True) + eps) + b_2


def half_and_root_forgotten(x):
    return x * (1 + np.tanh(2 / np.pi * (x + 0.044715 * x**3)))


def factor_and_coefficient(x):
    return 0.5 * x * (1 + np.tanh(0.8 * (x + 0.05 * x**3)))


def summed_and_unbounded(x, weight, eps=1e-6):
    return x / np.sqrt((x**2).sum(-1, keepdims=True) + eps)


def without_activation_and_bias(x, W1, b1, W2, b2):
    return (x @ W1 + b1) @ W2


def summed_without_a_sign(logits, targets):
    shifted = logits - logits.max(-1, keepdims=True)
    log_probs = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    return np.take_along_axis(log_probs, targets[..., None], -1).sum()


def uphill_and_short(grad, x0, lr, steps):
    for _ in range(steps - 1):
        x0 = x0 + lr * grad(x0)
    return x0


def uncorrected_with_eps_inside(x, g, m, v, t, lr, beta1=0.9, beta2=0.999, eps=1e-8):
    m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g**2
    return x - lr * m / np.sqrt(v + eps), m, v


PAIRS = (
    ("layer_norm", annotated_transformer, {"variance_unbiased", "eps_outside_root"}),
    ("gelu", half_and_root_forgotten, {"half_missing", "two_over_pi_without_root"}),
    ("gelu", factor_and_coefficient, {"factor", "coefficient"}),
    ("rms_norm", summed_and_unbounded, {"sum_for_mean", "weight_missing"}),
    ("feed_forward", without_activation_and_bias, {"activation_missing", "down_bias_missing"}),
    ("cross_entropy", summed_without_a_sign, {"summed", "sign_missing"}),
    ("gradient_descent", uphill_and_short, {"ascent", "one_step_too_few"}),
    ("adam_step", uncorrected_with_eps_inside, {"no_bias_correction", "eps_inside_root"}),
)


@pytest.mark.parametrize(("name", "function", "both"), PAIRS, ids=[function.__name__ for _, function, _ in PAIRS])
def test_two_mistakes_at_once_are_both_named(name, function, both):
    verdict = judged(name, function)
    assert verdict.status == "wrong"
    assert set(verdict.causes[0].name.split(" + ")) == both


def tanh_form(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def in_out(x, w, b):
    return x @ w + b


def own_eps(x):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-12)


def eps_outside(x, weight, eps=1e-6):
    return weight * x / (np.sqrt((x * x).mean(-1, keepdims=True)) + eps)


def activated_by_silu(x, w1, w2):
    hidden = x @ w1.T
    return (hidden / (1 + np.exp(-hidden))) @ w2.T


def factor_two(X, y, lr, epochs):
    theta = np.zeros(X.shape[1])
    for _ in range(epochs):
        theta = theta - lr * 2 * X.T @ (X @ theta - y) / len(y)
    return theta


def rounded(x):
    return np.round(np.maximum(x, 0) * 1.0, 3)


NOTES = (
    ("gelu", tanh_form, "computes the tanh form"),
    ("linear", in_out, "the weight has shape (in, out)"),
    ("layer_norm", own_eps, "its eps is 1e-12"),
    ("rms_norm", eps_outside, "adds eps outside the square root"),
    ("feed_forward", activated_by_silu, "its activation is SiLU"),
    ("linear_regression", factor_two, "the factor 2"),
    ("relu", rounded, "rounds its output to 3 decimals"),
)


@pytest.mark.parametrize(("name", "function", "note"), NOTES, ids=[function.__name__ for _, function, _ in NOTES])
def test_a_convention_is_accepted_and_reported(name, function, note):
    verdict = judged(name, function)
    assert verdict.is_correct, verdict
    assert any(note in each.en for each in verdict.notes), verdict


def test_a_wrong_factor_is_measured_and_named():
    def wrong(x):
        return 0.5 * x * (1 + np.tanh(np.sqrt(np.pi / 2) * (x + 0.044715 * x**3)))

    cause = judged("gelu", wrong).causes[0]
    assert cause.name == "factor"
    assert "1.253 = 1/√(2/π)" in cause.says.en


def test_half_precision_is_cautioned_in_torch_only():
    def plain(x, weight, eps=1e-6):
        return x / ((x * x).mean(-1, keepdim=True) + eps).sqrt() * weight

    def careful(x, weight, eps=1e-6):
        wide = x.float()
        return (wide / ((wide * wide).mean(-1, keepdim=True) + eps).sqrt()).to(x.dtype) * weight

    def in_numpy(x, weight, eps=1e-6):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * weight

    assert torch.tensor([300.0]).half().square().isinf()
    for function, is_cautioned in ((plain, True), (careful, False)):
        verdict = judged("rms_norm", function, ("torch",))
        assert verdict.is_correct
        assert any("float16" in note.en for note in verdict.notes) == is_cautioned
    assert not judged("rms_norm", in_numpy).notes


def test_a_gated_function_called_feed_forward_is_diagnosed_as_gated():
    def feed_forward(x, w1, w2, w3):
        gate = x @ w1.T
        return (gate / (1 + np.exp(-gate)) * (x @ w3.T)) @ w2.T

    verdict = judged("feed_forward", feed_forward)
    assert verdict.is_correct
    assert verdict.exercise == "gated_feed_forward"


ODD = ("text", None, ("text", None, (1.0, np.zeros(2))), {"loss": 1.0}, [1, [2, 3]], float("nan"), np.zeros((2, 0)), object())


@pytest.mark.parametrize("answer", ODD, ids=[type(answer).__name__ for answer in ODD])
@pytest.mark.parametrize("name", NAMES)
def test_any_returned_value_is_diagnosed_without_an_error(name, answer):
    def odd(**inputs):
        return answer

    odd.__signature__ = signature_of(exercise(name))
    assert not judged(name, odd).is_correct


def signature_of(chosen):
    given_always = set.intersection(*(set(probe.inputs) for probe in chosen.probes()))
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Signature(
        [
            inspect.Parameter(role.name, kind, default=inspect.Parameter.empty if role.name in given_always else None)
            for role in chosen.roles
        ]
    )
