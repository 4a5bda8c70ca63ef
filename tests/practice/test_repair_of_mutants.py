"""Repairs of mistakes for which the convention, the way to call a program or a step of a loop has to be found first."""

from __future__ import annotations

import pytest

from headway.practice.diagnosis import repairing
from headway.practice.diagnosis.diagnose import diagnose
from headway.practice.exercises import exercise
from tests.practice.test_repair import repaired, subject_of, with_slips

PLAIN_MERGE = """
def merge_pair(ids, pair, new_id):
    merged, i = [], 0
    while i < len(ids):
        if i < len(ids) - 1 and (ids[i], ids[i + 1]) == pair:
            merged.append(new_id)
            i += 2
        else:
            merged.append(ids[i])
            i += 1
    return merged
"""

FEED_FORWARD = """
import torch
from torch import nn

class FeedForward(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.up = nn.Linear(config.n_embd, 4 * config.n_embd)
        self.down = nn.Linear(4 * config.n_embd, config.n_embd)

    def forward(self, x):
        return self.down(torch.nn.functional.gelu(self.up(x)))
"""

NAMED_ADAM = """
import numpy as np

class AdamW:
    def __init__(self, learning_rate=3e-4, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        self.lr = learning_rate
        self.beta1, self.beta2 = betas
        self.eps = eps
        self.weight_decay = weight_decay
        self.m, self.v, self.t = {}, {}, 0

    def step(self, params, grads):
        self.t += 1
        for (name, p), (_, g) in zip(params, grads):
            if name not in self.m:
                self.m[name], self.v[name] = np.zeros_like(p), np.zeros_like(p)
            self.m[name] = self.beta1 * self.m[name] + (1 - self.beta1) * g
            self.v[name] = self.beta2 * self.v[name] + (1 - self.beta2) * g**2
            mean = self.m[name] / (1 - self.beta1**self.t)
            square = self.v[name] / (1 - self.beta2**self.t)
            p -= self.lr * self.weight_decay * p
            p -= self.lr * mean / (np.sqrt(square) + self.eps)
"""

ROTATED = """
import math
import torch
from torch import nn

class CausalSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads, max_len=64):
        super().__init__()
        self.num_heads, self.head_dim = num_heads, d_model // num_heads
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.proj = nn.Linear(d_model, d_model)
        half = torch.arange(0, self.head_dim, 2).float()
        angles = torch.outer(torch.arange(max_len).float(), 50.0 ** (-half / self.head_dim))
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def apply_rope(self, x):
        first, second = x.chunk(2, dim=-1)
        cos, sin = self.cos[: x.shape[-2]], self.sin[: x.shape[-2]]
        return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)

    def forward(self, x):
        batch, count, width = x.shape
        q, k, v = (each.view(batch, count, self.num_heads, -1).transpose(1, 2) for each in self.qkv(x).chunk(3, dim=-1))
        q, k = self.apply_rope(q), self.apply_rope(k)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.head_dim)
        scores = scores.masked_fill(torch.ones(count, count).triu(1) > 0, float("-inf"))
        return self.proj((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, count, width))
"""

MISTAKES = [
    ("merge_pair", PLAIN_MERGE, "            i += 1\n", "            pass\n"),
    ("feed_forward", FEED_FORWARD, "nn.Linear(4 * config.n_embd, config", "nn.Linear(4, config"),
    ("feed_forward", FEED_FORWARD, "nn.Linear(config.n_embd, 4 * config.n_embd)", "nn.Linear(config.n_embd, 4)"),
    ("adamw", NAMED_ADAM, "self.beta1, self.beta2 = betas", "self.beta1, self.beta2 = learning_rate"),
]


MISSING = [
    (
        "feed_forward",
        "import numpy as np\n\ndef feed_forward(x, w1, b1, w2, b2):\n    h = np.maximum(x @ w1 + b1, 0)\n    return h\n",
        "h = h @ w2 + b2",
    ),
    (
        "feed_forward",
        """
import numpy as np

class FeedForward:
    def __init__(self, d_model, d_ff):
        self.w1 = np.random.randn(d_model, d_ff) * np.sqrt(2.0 / d_model)
        self.w2 = np.random.randn(d_ff, d_model) * np.sqrt(2.0 / d_ff)

    def __call__(self, x):
        x = np.maximum(x.dot(self.w1), 0)
        return x
""",
        "self.w2",
    ),
    (
        "bpe_encode",
        """
def bpe_encode(text, merges):
    ids = list(text.encode("utf-8"))
    while True:
        best, best_rank = None, float("inf")
        for pair in zip(ids, ids[1:]):
            if pair in merges:
                best = pair
                best_rank = merges[pair]
        if best is None:
            return ids
        out, i = [], 0
        while i < len(ids):
            if i < len(ids) - 1 and (ids[i], ids[i + 1]) == best:
                out.append(merges[best])
                i += 2
            else:
                out.append(ids[i])
                i += 1
        ids = out
""",
        "merges[pair] < best_rank",
    ),
]


@pytest.mark.parametrize(("name", "program", "added"), MISSING, ids=("function", "class", "condition"))
def test_what_is_missing_is_made_of_what_the_program_does_not_use(name, program, added):
    repair, is_right = repaired(name, program)
    assert is_right
    assert any(added in edit.replacement for edit in repair.edits), repair.edits


@pytest.mark.slow
@pytest.mark.parametrize(("name", "program", "right", "wrong"), MISTAKES, ids=lambda value: value if "\n" not in value else "")
def test_one_mistake_is_repaired_in_its_line(name, program, right, wrong):
    text, lines = with_slips(program, [(right, wrong)])
    repair, is_right = repaired(name, text)
    assert is_right
    assert {edit.line for edit in repair.edits} == set(lines)


def test_an_attention_is_right_with_a_rotation_of_any_base():
    assert diagnose(subject_of(ROTATED), exercise("causal_self_attention")).is_correct


@pytest.mark.slow
@pytest.mark.parametrize("wrong", ["- second / (sin + 1)", "- second", "- sin"])
def test_what_changes_the_lengths_of_queries_and_keys_is_not_taken_for_a_rotation(wrong):
    text, _ = with_slips(ROTATED, [("- second * sin", wrong)])
    assert not diagnose(subject_of(text), exercise("causal_self_attention")).is_correct


SPLIT_AND_JOINED = """
import torch
from torch import nn

class MultiHeadAttention(nn.Module):
    def __init__(self, width, num_heads):
        super().__init__()
        self.num_heads, self.head_dim = num_heads, width // num_heads
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))

    def separated(self, x):
        batch, length, _ = x.shape
        return x.view(batch, length, self.num_heads, self.head_dim).transpose(1, 2)

    def together(self, x):
        batch, _, length, _ = x.shape
        return x.transpose(1, 2).reshape(batch, length, self.num_heads * self.head_dim)

    def forward(self, queries, keys, values, mask=None):
        q, k, v = self.separated(self.query(queries)), self.separated(self.key(keys)), self.separated(self.value(values))
        scores = q @ k.transpose(-2, -1) / self.head_dim**0.5
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        heads = torch.softmax(scores, dim=-1) @ v
        heads = self.together(heads)
        return self.out(heads)
"""


def test_a_method_that_nothing_calls_is_called():
    text, lines = with_slips(SPLIT_AND_JOINED, [("        heads = self.together(heads)\n", "")])
    repair, is_right = repaired("multi_head_attention", text)
    assert is_right
    assert repair.edits[0].line == lines[0]
    assert "self.together(" in repair.edits[0].replacement


MATRICES_ONLY = """
import torch
from torch import nn

class SelfAttention(nn.Module):
    def __init__(self, width=2, first=0, last=1):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(width, width, bias=False) for _ in range(3))
        self.first, self.last = first, last

    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        scores = torch.matmul(q, k.transpose(dim0=self.first, dim1=self.last))
        return torch.matmul(torch.softmax(scores / torch.tensor(k.size(self.last) ** 0.5), dim=self.last), v)
"""


def test_a_change_is_right_if_only_inputs_of_more_axes_are_wrong():
    text, lines = with_slips(MATRICES_ONLY, [("scores / torch", "scores * torch")])
    repair, is_right = repaired("self_attention", text)
    assert is_right
    assert {edit.line for edit in repair.edits} == set(lines)


ONE_SEQUENCE_GARBLED = (
    SPLIT_AND_JOINED.replace("batch, length, _ = x.shape", "batch = x.size(0)")
    .replace("batch, _, length, _ = x.shape", "batch = x.size(0)")
    .replace("batch, length,", "batch, -1,")
    + """

class EncoderLayer(nn.Module):
    def __init__(self, width, num_heads, inner):
        super().__init__()
        self.attention = MultiHeadAttention(width, num_heads)
        self.feed_forward = nn.Sequential(nn.Linear(width, inner), nn.ReLU(), nn.Linear(inner, width))
        self.norms = nn.ModuleList([nn.LayerNorm(width) for _ in range(2)])

    def forward(self, x, mask=None):
        attended = self.norms[0](x + self.attention(x, x, x, mask))
        fed = self.feed_forward(attended)
        fed = self.norms[1](fed + attended)
        return fed
"""
)


def test_a_named_mistake_of_a_layer_is_repaired_where_it_is():
    text, lines = with_slips(ONE_SEQUENCE_GARBLED, [("fed + attended", "fed")])
    repair, is_right = repaired("encoder_layer", text)
    assert is_right
    assert abs(repair.edits[0].line - lines[0]) <= 1


def test_the_residual_of_the_feed_forward_is_missing_at_the_feed_forward(monkeypatch):
    monkeypatch.setattr(repairing, "find_repair", lambda *_: None)
    text, lines = with_slips(ONE_SEQUENCE_GARBLED, [("fed + attended", "fed")])
    subject = subject_of(text)
    verdict = repairing.with_repair(diagnose(subject, exercise("encoder_layer")), subject, exercise("encoder_layer"))
    assert [cause.name for cause in verdict.causes] == ["residual_2_missing"]
    assert [cause.line for cause in verdict.causes] == [lines[0] - 1]


ROTATES_WITH_TABLES = """
import torch

def compute_rope(x, cos, sin):
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-2) * sin
"""


def test_what_raises_is_the_part_whose_operands_it_names():
    pytest.importorskip("torch")
    subject = subject_of(ROTATES_WITH_TABLES)
    assert diagnose(subject, exercise("rotary_tables")).exercise == "rotary"
