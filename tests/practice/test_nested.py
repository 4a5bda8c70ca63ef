"""Each mistake is reported once, in the function that contains it, through any number of calls."""

from __future__ import annotations

from types import ModuleType

import pytest

from headway.practice.diagnosis.files import with_exercises
from headway.practice.diagnosis.nested import verdicts
from headway.practice.diagnosis.sandbox import check_file

CHAIN = """
import numpy as np

def transformer_block(x, mlp, attn, ln_1, ln_2, n_head):
    x = x + mha(layer_norm(x, **ln_1), **attn, n_head=n_head)
    return x + ffn(layer_norm(x, **ln_2), **mlp)

def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))

def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)

def layer_norm(x, g, b, eps=1e-5):
    return g * (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps) + b

def linear(x, w, b):
    return x @ w + b

def ffn(x, c_fc, c_proj):
    return linear(gelu(linear(x, **c_fc)), **c_proj)

def attention(q, k, v, mask):
    return softmax(q @ k.T / np.sqrt(q.shape[-1]) + mask) @ v

def mha(x, c_attn, c_proj, n_head):
    heads = [np.split(part, n_head, axis=-1) for part in np.split(linear(x, **c_attn), 3, axis=-1)]
    mask = (1 - np.tri(x.shape[0], dtype=x.dtype)) * -1e10
    return linear(np.hstack([attention(q, k, v, mask) for q, k, v in zip(*heads)]), **c_proj)
"""


def judged(text):
    module = ModuleType("mine")
    exec(compile(text, "mine.py", "exec"), module.__dict__)
    return {each.subject: each for each in verdicts(list(with_exercises(module, text)))}


def causes(text):
    return {name: [cause.name for cause in verdict.causes] for name, verdict in judged(text).items() if not verdict.is_correct}


def test_correct_functions_that_call_each_other_are_correct():
    assert causes(CHAIN) == {}


def test_a_mistake_is_reported_in_its_function_and_as_the_cause_in_its_callers():
    wrong = CHAIN.replace("np.sqrt(q.shape[-1])", "np.sqrt(q.shape[0])")
    assert causes(wrong) == {
        "attention": ["scale"],
        "mha": ["because_of_attention"],
        "transformer_block": ["because_of_attention"],
    }


@pytest.mark.slow
def test_a_callers_own_mistake_is_found_with_its_callee_corrected():
    wrong = CHAIN.replace("np.sqrt(q.shape[-1])", "np.sqrt(q.shape[0])").replace("zip(*heads)])", "zip(*heads)][::-1])")
    found = judged(wrong)
    assert found["mha"].causes[0].name == "heads_in_reverse"
    assert any("also wrong: attention, which this function calls" in note.en for note in found["mha"].notes)


IN_PYTORCH = """
import torch
from torch import nn

def attention(query, key, value):
    return torch.softmax(query @ key.transpose(-2, -1) / key.shape[-2] ** 0.5, dim=-1) @ value

class MultiHeadAttention(nn.Module):
    def __init__(self, width, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))

    def heads(self, x):
        return x.view(*x.shape[:2], self.num_heads, -1).transpose(1, 2)

    def forward(self, query, key, value):
        mixed = attention(self.heads(self.query(query)), self.heads(self.key(key)), self.heads(self.value(value)))
        return self.out(mixed.transpose(1, 2).flatten(-2))
"""

IN_JAX = """
import jax.numpy as jnp

def softmax(x):
    return jnp.exp(x - x.max(axis=-1, keepdims=True)) / jnp.exp(x - x.max(axis=-1, keepdims=True)).sum(axis=0)

def attention(query, key, value):
    return softmax(query @ key.swapaxes(-1, -2) / jnp.sqrt(query.shape[-1])) @ value
"""


@pytest.mark.slow
def test_a_caller_is_not_judged_by_the_gradients_of_the_definition_in_place_of_its_callee():
    assert causes(IN_PYTORCH) == {"attention": ["scale"], "MultiHeadAttention": ["because_of_attention"]}
    assert causes(IN_JAX)["attention"] == ["because_of_softmax"]


@pytest.mark.slow
def test_two_wrong_callees_are_both_causes():
    wrong = CHAIN.replace("np.sqrt(q.shape[-1])", "np.sqrt(q.shape[0])").replace(
        "x.var(-1, keepdims=True)", "x.var(-1, keepdims=True, ddof=1)"
    )
    found = causes(wrong)
    assert found["layer_norm"] == ["variance_unbiased"]
    assert found["transformer_block"] in (["because_of_layer_norm_and_attention"], ["because_of_attention_and_layer_norm"])


def test_verdicts_are_in_the_order_of_the_file():
    assert list(judged(CHAIN))[:3] == ["transformer_block", "gelu", "softmax"]


def test_the_confidence_in_a_cause_is_stated():
    verdict = judged("import numpy as np\ndef softmax(x):\n    e = np.exp(x)\n    return e / e.sum(axis=0)\n")["softmax"]
    assert verdict.causes[0].name == "no_shift + first_axis"
    assert verdict.confidence == "likely"
    assert verdict.to_dict()["confidence"] == "likely"
    assert "wrong (probably two mistakes at once)" in str(verdict)
    (alone,) = judged("import numpy as np\ndef softmax(x):\n    e = np.exp(x)\n    return e / e.sum(-1, keepdims=True)\n").values()
    assert alone.confidence == "certain"


BLOCK = """
import torch
from torch import nn

class Attention(nn.Module):
    def __init__(self, width, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (each.view(batch, length, self.num_heads, -1).transpose(1, 2) for each in self.qkv(x).chunk(3, dim=-1))
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        later = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
        mixed = scores.masked_fill(later, float("-inf")).softmax(-1) @ v
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))

class FeedForward(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        return self.down(nn.functional.gelu(self.up(x), approximate="tanh"))

class TransformerBlock(nn.Module):
    def __init__(self, width, num_heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = Attention(width, num_heads)
        self.norm2 = nn.LayerNorm(width)
        self.feed_forward = FeedForward(width)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.feed_forward(self.norm2(x))
"""


@pytest.mark.slow
def test_a_layer_of_a_wrong_part_is_wrong_only_because_of_it():
    wrong = BLOCK.replace("q.shape[-1] ** 0.5", "width ** 0.5")
    assert causes(wrong) == {"Attention": ["scale"], "TransformerBlock": ["because_of_Attention"]}


@pytest.mark.slow
def test_a_layers_own_mistake_is_found_with_a_correct_part_in_place_of_a_wrong_one():
    wrong = BLOCK.replace("q.shape[-1] ** 0.5", "width ** 0.5").replace("return x + self.feed", "return self.feed")
    found = judged(wrong)
    assert found["Attention"].status == found["TransformerBlock"].status == "wrong"
    assert not found["TransformerBlock"].causes[0].name.startswith("because_of")
    assert "found with Attention replaced" in found["TransformerBlock"].causes[0].proof.en


PROJECTED_BY_ITS_LAYER = """
import torch
from torch import nn

class MultiHeadAttention(nn.Module):
    def __init__(self, width, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))

    def heads(self, x):
        batch, length, _ = x.shape
        return x.view(batch, length, self.num_heads, -1).transpose(1, 2)

    def forward(self, x, mask=None):
        query, key, value = self.heads(self.query(x)), self.heads(self.key(x)), self.heads(self.value(x))
        scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask[:, None, None] == 0, -1e9)
        return (torch.softmax(scores, -1) @ value).transpose(1, 2).flatten(2)

class Block(nn.Module):
    def __init__(self, width, num_heads, inner):
        super().__init__()
        self.attention = MultiHeadAttention(width, num_heads)
        self.out = nn.Linear(width, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, inner), nn.ReLU(), nn.Linear(inner, width))

    def forward(self, x, mask=None):
        x = self.norm1(x + self.out(self.attention(x, mask)))
        return self.norm2(x + self.mlp(x))
"""


@pytest.mark.slow
def test_a_layer_may_apply_the_output_projection_of_its_attention():
    assert causes(PROJECTED_BY_ITS_LAYER) == {}
    wrong = judged(PROJECTED_BY_ITS_LAYER.replace("self.norm1(x + self.out", "self.norm1(self.out"))
    assert not wrong["Block"].is_correct


RETURNS_TWO = """
import torch
from torch import nn

def attention(query, key, value):
    weights = torch.softmax(query @ key.transpose(-2, -1) / key.shape[-1], dim=-1)
    return weights @ value, weights

class MultiHeadAttention(nn.Module):
    def __init__(self, width, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))

    def heads(self, x):
        return x.view(*x.shape[:2], self.num_heads, -1).transpose(1, 2)

    def forward(self, query, key, value):
        mixed, _ = attention(self.heads(self.query(query)), self.heads(self.key(key)), self.heads(self.value(value)))
        return self.out(mixed.transpose(1, 2).flatten(-2))
"""


@pytest.mark.slow
def test_a_caller_that_the_repair_of_its_callee_makes_right_has_no_mistake_of_its_own(tmp_path):
    (tmp_path / "mine.py").write_text(RETURNS_TWO)
    callee, caller = check_file(tmp_path / "mine.py", timeout_seconds=120)
    assert callee.repair is not None
    assert [cause.name for cause in caller.causes] == ["because_of_attention"]
    assert (caller.status, caller.repair) == ("wrong", None)
    assert "with the change of attention, every output matches" in caller.text()


FLAX_CALLER = """
import jax.numpy as jnp
import flax.linen as nn


def softmax(x):
    e = jnp.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=0, keepdims=True)


class SelfAttention(nn.Module):
    d_model: int

    @nn.compact
    def __call__(self, x):
        q, k, v = nn.Dense(self.d_model)(x), nn.Dense(self.d_model)(x), nn.Dense(self.d_model)(x)
        scores = q @ jnp.swapaxes(k, -1, -2) / jnp.sqrt(self.d_model)
        return softmax(scores) @ v
"""


@pytest.mark.slow
def test_a_module_of_flax_that_calls_a_wrong_function_runs_again_with_a_correct_one(tmp_path):
    pytest.importorskip("flax")
    path = tmp_path / "mine.py"
    path.write_text(FLAX_CALLER)
    found = {each.subject: each for each in check_file(path)}
    assert [cause.name for cause in found["SelfAttention"].causes] == ["because_of_softmax"]


TABLES_AND_ROTATION = """
import torch

def rotary_tables(head_dim, seq_len, theta=10000.0):
    frequencies = 1.0 / theta ** (torch.arange(0, head_dim, 2).float() / head_dim)
    angles = torch.outer(torch.arange(seq_len).float(), frequencies)
    angles = {widened}
    return angles.cos(), angles.sin()

def apply_rotary(x, cos, sin):
    {rotated}
    return x * cos + rotated * sin
"""
IN_HALVES, REPEATED = "torch.cat([angles, angles], dim=-1)", "angles.repeat_interleave(2, dim=-1)"
OF_HALVES = "rotated = torch.cat([-x[..., x.shape[-1] // 2 :], x[..., : x.shape[-1] // 2]], dim=-1)"
OF_NEIGHBOURS = "rotated = torch.stack([-x[..., 1::2], x[..., ::2]], dim=-1).flatten(-2)"


@pytest.mark.parametrize(
    ("widened", "rotated", "expected"),
    [
        (IN_HALVES, OF_HALVES, {}),
        (REPEATED, OF_NEIGHBOURS, {}),
        (REPEATED, OF_HALVES, {"rotary_tables": ["layouts_differ"]}),
        (IN_HALVES, OF_NEIGHBOURS, {"rotary_tables": ["layouts_differ"]}),
    ],
)
def test_tables_have_the_layout_of_the_rotation(widened, rotated, expected):
    assert causes(TABLES_AND_ROTATION.format(widened=widened, rotated=rotated)) == expected


def test_tables_fit_one_of_two_rotations():
    rotation = TABLES_AND_ROTATION[TABLES_AND_ROTATION.index("def apply_rotary") :]
    other = rotation.replace("apply_rotary", "rope").format(rotated=OF_NEIGHBOURS)
    assert causes(TABLES_AND_ROTATION.format(widened=REPEATED, rotated=OF_HALVES) + other) == {}


NOT_RUN = """
import numpy as np

def rotate_half(x):
    first, second = np.split(x, 2, axis=-1)
    return backend.concatenate([-second, first])

def apply_rotary(x, cos, sin):
    return x * cos + rotate_half(x) * sin
"""


def test_a_caller_of_what_could_not_run_is_not_accused(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("import numpy as np\nbackend = None\n" + NOT_RUN)
    found = {each.subject: each for each in check_file(path)}
    assert found["rotate_half"].status == "could not run"
    assert found["apply_rotary"].status == "could not run"
