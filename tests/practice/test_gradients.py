"""Gradients of functions written in torch and jax, and their outputs in half precision."""

from __future__ import annotations

import re
from types import ModuleType

import pytest

from headway.practice.diagnosis.calls.jax_on_numpy import jax_on_numpy
from headway.practice.diagnosis.checks.gradients import slope_of
from headway.practice.diagnosis.diagnose import diagnose
from headway.practice.diagnosis.reading.subject import subjects_of
from headway.practice.diagnosis.repairing import with_repairs
from headway.practice.exercises import exercise

TORCH = "import torch\nimport torch.nn as nn\n"
JAX = "import jax\nimport jax.numpy as jnp\nimport numpy as np\n"


def judged(name, text):
    module = ModuleType("mine")
    exec(compile(text, "mine.py", "exec"), module.__dict__)
    with jax_on_numpy():
        return diagnose(subjects_of(module, text)[-1], exercise(name))


WRONG = (
    ("layer_norm", "gradient_stops", 5, TORCH + "def f(x, g, b, eps=1e-5):\n    y = (x - x.mean(-1, keepdim=True)) / torch.sqrt("
     "x.var(-1, keepdim=True, unbiased=False) + eps)\n    return g.data * y + b\n"),
    ("silu", "gradient_is_wrong", 4, TORCH + "def f(x):\n    return x.detach() * torch.sigmoid(x)\n"),
    ("relu", "gradient_raises", 4, TORCH + "def f(x):\n    return torch.tensor(x.numpy().clip(0))\n"),
    ("softmax", "gradient_stops", 4, TORCH + "def f(x):\n    e = torch.exp((x - x.max(-1, keepdim=True).values).detach())\n"
     "    return e / e.sum(-1, keepdim=True)\n"),
    ("relu", "gradient_raises", 5, JAX + "def f(x):\n    return jnp.asarray(np.maximum(np.asarray(x), 0))\n"),
    ("silu", "gradient_is_wrong", 5, JAX + "def f(x):\n    return jax.lax.stop_gradient(x) * jax.nn.sigmoid(x)\n"),
)  # fmt: skip


@pytest.mark.parametrize(("name", "cause", "line", "text"), WRONG)
def test_a_wrong_gradient_is_a_mistake_even_if_the_output_is_correct(name, cause, line, text):
    verdict = judged(name, text)
    assert (verdict.status, [each.name for each in verdict.causes]) == ("wrong", [cause])
    assert verdict.causes[0].line == line


LINEAR = """
class F(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(d_out, d_in){frozen})
        self.bias = nn.Parameter(torch.zeros(d_out))
    def forward(self, x):
        return x @ {weight}.T + {bias}
"""
WEIGHTS = (
    ("self.weight.detach()", "self.bias", "", "gradient_stops", "weight", 10),
    ("self.weight.data", "self.bias", "", "gradient_stops", "weight", 10),
    ("self.weight", "self.bias.detach()", "", "gradient_stops", "bias", 10),
    ("nn.Parameter(self.weight)", "self.bias", "", "gradient_stops", "weight", None),
    ("self.weight", "self.bias", ", requires_grad=False", "gradient_stops", "weight", None),
    ("(2 * self.weight - self.weight.detach())", "self.bias", "", "gradient_is_wrong", "weight", 10),
)


@pytest.mark.parametrize(("weight", "bias", "frozen", "cause", "name", "line"), WEIGHTS)
def test_a_weight_without_a_gradient_is_a_mistake_even_if_the_output_is_correct(weight, bias, frozen, cause, name, line):
    verdict = judged("linear", TORCH + LINEAR.format(weight=weight, bias=bias, frozen=frozen))
    assert (verdict.status, [each.name for each in verdict.causes]) == ("wrong", [cause])
    assert f"reaches {name}:" in verdict.causes[0].says.en or f"gradient of {name} is not" in verdict.causes[0].says.en
    assert verdict.causes[0].line == line


NORM = """
class F(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.gamma, self.beta, self.eps = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model)), eps
    def forward(self, x):
        mean, var = x.mean(-1, keepdim=True), x.var(-1, keepdim=True, unbiased=False)
        return {gamma} * (x - mean) / torch.sqrt(var + self.eps) + self.beta
"""


def test_a_norm_with_untrained_weights_is_wrong():
    assert judged("layer_norm", TORCH + NORM.format(gamma="self.gamma")).is_correct
    verdict = judged("layer_norm", TORCH + NORM.format(gamma="self.gamma.data"))
    assert [each.name for each in verdict.causes] == ["gradient_stops"]


ENCODER = """
class F(nn.Module):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.attn = nn.MultiheadAttention(d_model, num_heads, batch_first=True)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.up, self.down = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
    def forward(self, x):
        attended = self.attn(x, x, x)[0]
        x = self.norm1(x + attended)
        return self.norm2(x + self.down({hidden}))
"""


def test_the_weight_without_a_gradient_is_named():
    assert judged("encoder_layer", TORCH + ENCODER.format(hidden="torch.relu(self.up(x))")).is_correct
    hidden = "torch.relu(nn.functional.linear(x, self.up.weight.detach(), self.up.bias))"
    (cause,) = judged("encoder_layer", TORCH + ENCODER.format(hidden=hidden)).causes
    assert cause.name == "gradient_stops"
    assert "no gradient reaches up.weight:" in cause.says.en


RIGHT = (
    # softmax does not depend on the subtracted maximum, so it needs no gradient
    ("softmax", TORCH + "def f(x):\n    e = torch.exp(x - x.max(-1, keepdim=True).values.detach())\n    return e / e.sum(-1, keepdim=True)\n"),
    ("softmax", JAX + "def f(x):\n    e = jnp.exp(x - jax.lax.stop_gradient(x.max(-1, keepdims=True)))\n    return e / e.sum(-1, keepdims=True)\n"),
    ("linear", TORCH + "class F(nn.Module):\n    def __init__(self, d_in, d_out):\n        super().__init__()\n        self.layer = nn.Linear(d_in, d_out)\n"
     "    def forward(self, x):\n        return self.layer(x)\n"),
    ("relu", TORCH + "def f(x):\n    return x.clamp(min=0)\n"),
)  # fmt: skip


@pytest.mark.parametrize(("name", "text"), RIGHT)
def test_correct_gradients_cause_no_note(name, text):
    verdict = judged(name, text)
    assert verdict.is_correct, verdict
    assert "gradient" not in str(verdict)


def test_no_grad_is_noted_and_not_a_mistake():
    verdict = judged("gelu", TORCH + "@torch.no_grad()\ndef f(x):\n    return nn.functional.gelu(x)\n")
    assert verdict.is_correct
    assert "computes no gradients" in str(verdict)


ATTENTION = """
def f(q, k, v, mask=None):
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, {fill})
    return torch.softmax(scores, -1) @ v
"""


MODULE = """
class F(nn.Module):
    def forward(self, x):
        with torch.no_grad():
            return x * torch.sigmoid(x)
"""


def test_a_module_whose_forward_computes_no_gradients_is_wrong():
    verdict = judged("silu", TORCH + MODULE)
    assert (verdict.status, [each.name for each in verdict.causes]) == ("wrong", ["gradient_stops"])


BACKWARD = """
import numpy as np
class Linear:
    def __init__(self, n_in, n_out):
        self.W, self.b = np.ones((n_in, n_out)), np.zeros(n_out)
        self.grads = {}
    def forward(self, x):
        self.x = x
        return x @ self.W + self.b
    def backward(self, dout):
        self.grads["W"] = self.x.T @ dout
        self.grads["b"] = dout.sum(0)
        return dout @ self.W.T
"""


def test_a_right_backward_of_the_class_causes_no_note():
    verdict = judged("linear", BACKWARD)
    assert verdict.is_correct
    assert not verdict.notes, verdict.text()


@pytest.mark.parametrize(
    ("right", "wrong"), [("@ self.W.T", "@ self.W.T * 2"), ("self.x.T @ dout", "-self.x.T @ dout"), ("dout.sum(0)", "dout.max(0)")]
)
def test_a_wrong_backward_of_the_class_is_wrong(right, wrong):
    verdict = judged("linear", BACKWARD.replace(right, wrong))
    assert (verdict.status, [each.name for each in verdict.causes]) == ("wrong", ["gradient_is_wrong"])


WITH_A_MASK = """
import numpy as np

class ScaledDotProductAttention:
    def forward(self, Q, K, V, mask=None):
        self.Q, self.K, self.V = Q, K, V
        scores = Q @ np.swapaxes(K, -1, -2) / np.sqrt(Q.shape[-1])
        scores = scores if mask is None else scores + mask
        powers = np.exp(scores - scores.max(-1, keepdims=True))
        self.weights = powers / powers.sum(-1, keepdims=True)
        return self.weights @ V

    def backward(self, dout):
        dw = dout @ np.swapaxes(self.V, -1, -2)
        ds = self.weights * (dw - (dw * self.weights).sum(-1, keepdims=True)) / np.sqrt(self.Q.shape[-1])
        return ds @ self.K, np.swapaxes(ds, -1, -2) @ self.Q, np.swapaxes(self.weights, -1, -2) @ dout
"""


@pytest.mark.parametrize(("right", "wrong"), [("@ self.Q,", "@ self.K,"), (" / np.sqrt(self.Q.shape[-1])", "")])
def test_the_mask_of_an_attention_needs_no_gradient(right, wrong):
    verdict = judged("scaled_dot_product_attention", WITH_A_MASK)
    assert verdict.is_correct
    assert not any("backward method of its own" in each.en for each in verdict.notes)
    assert [each.name for each in judged("scaled_dot_product_attention", WITH_A_MASK.replace(right, wrong)).causes] == ["gradient_is_wrong"]


@pytest.mark.parametrize("line", ["    def backward(self, dout, rate):", "    def backward(self, dout):\n        return None"])
def test_a_backward_that_cannot_be_checked_is_noted(line):
    verdict = judged("linear", BACKWARD.replace("    def backward(self, dout):", line))
    assert verdict.is_correct
    assert any("backward method of its own" in each.en for each in verdict.notes)


VALUES = """
import numpy as np
class Tensor:
    def __init__(self, data, parents=(), back=None):
        self.data, self.parents, self.back = np.asarray(data, dtype=float), parents, back
        self.grad = np.zeros_like(self.data)
    def __add__(self, other):
        return Tensor(self.data + other.data, (self, other), lambda g: (g, g))
    def __mul__(self, other):
        return Tensor(self.data * other.data, (self, other), lambda g: (g * other.data, g * self.data))
    def sum(self):
        return Tensor(self.data.sum(), (self,), lambda g: (g * np.ones_like(self.data),))
    def backward(self, grad=1.0):
        self.grad = self.grad + grad
        for parent, part in zip(self.parents, self.back(grad) if self.back else ()):
            parent.backward(part)

def relu(x: Tensor):
    return Tensor(np.maximum(x.data, 0), (x,), lambda g: (g * (x.data > 0),))
"""


def test_gradients_of_tensors_of_the_files_own_are_compared_with_slopes():
    right, wrong = judged("relu", VALUES), judged("relu", VALUES.replace("g * (x.data > 0)", "g"))
    assert right.is_correct
    assert not right.notes, right.text()
    assert [each.name for each in wrong.causes] == ["gradient_is_wrong"]


INITIALIZED = """
class F(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.gamma, self.beta = nn.Parameter(torch.{ones}(dim)), nn.Parameter(torch.{zeros}(dim))
        self.eps = eps
    def forward(self, x):
        y = (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, keepdim=True, unbiased=False) + self.eps)
        return self.gamma * y + self.beta
"""


@pytest.mark.parametrize(("ones", "zeros", "is_noted"), [("ones", "zeros", False), ("zeros", "ones", True), ("ones", "ones", True)])
def test_initial_weights_of_a_norm_that_change_its_output_are_noted(ones, zeros, is_noted):
    verdict = judged("layer_norm", TORCH + INITIALIZED.format(ones=ones, zeros=zeros))
    assert verdict.is_correct
    assert any("initial weights" in each.en for each in verdict.notes) == is_noted


def test_overflow_in_half_precision_is_noted():
    verdict = judged("scaled_dot_product_attention", TORCH + ATTENTION.format(fill="-1e9"))
    assert verdict.is_correct
    assert re.search("raises RuntimeError: .* for float16 inputs", str(verdict))
    assert "float16" not in str(judged("scaled_dot_product_attention", TORCH + ATTENTION.format(fill="-torch.inf")))


def test_rounding_in_half_precision_is_noted():
    text = (
        TORCH
        + "def f(x, dim=-1):\n    e = torch.exp(x - x.amax(dim, True))\n    total = sum(e.unbind(dim))\n    return e / total.unsqueeze(dim)\n"
    )
    assert "float16" not in str(judged("softmax", text))
    stepped = text.replace(
        "torch.exp(x - x.amax(dim, True))",
        "(1 + (x - x.amax(dim, True)) / 1024) ** 1024 if x.dtype in (torch.float16, torch.bfloat16) else torch.exp(x - x.amax(dim, True))",
    )
    assert re.search("has a relative error of .* for bfloat16 inputs", str(judged("softmax", stepped)))


def test_a_gradient_at_a_kink_may_be_any_between_the_slopes_of_both_sides():
    slope = slope_of(lambda step: 3 * step + 2 * max(step, 0.0))
    assert [slope.is_far_from(along) for along in (3, 3.7, 5, 2.5, 5.8)] == [False, False, False, True, True]
    smooth = slope_of(lambda step: 3 * step + 5 * step**2)
    assert [smooth.is_far_from(along) for along in (3, 2.7, 3.3)] == [False, True, True]


def test_no_change_of_the_code_is_offered_for_a_wrong_gradient():
    text = TORCH + "def softmax(x):\n    e = torch.exp(x - x.amax(-1, keepdim=True))\n    return e.div_(e.sum(-1, keepdim=True))\n"
    module = ModuleType("mine")
    exec(compile(text, "mine.py", "exec"), module.__dict__)
    subject = subjects_of(module, text)[-1]
    ((verdict,),) = with_repairs([(subject, exercise("softmax"), diagnose(subject, exercise("softmax")))])
    assert [cause.name for cause in verdict.causes] == ["gradient_raises"]
    assert verdict.repair is None


COMPARES_INPUTS = """
import torch
from torch import nn

class MultiHeadAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.in_proj, self.out_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
    def forward(self, query, key, value, mask=None):
        if torch.equal(query, key) and torch.equal(key, value):
            q, k, v = self.in_proj(query).chunk(3, -1)
        else:
            each = zip((query, key, value), self.in_proj.weight.chunk(3), self.in_proj.bias.chunk(3))
            q, k, v = (nn.functional.linear(*one) for one in each)
        q, k, v = (one.unflatten(-1, (self.heads, -1)).transpose(1, 2) for one in (q, k, v))
        y = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.out_proj(y.transpose(1, 2).flatten(2))
"""


def test_an_attention_may_compare_its_inputs():
    assert judged("multi_head_attention", COMPARES_INPUTS).is_correct
