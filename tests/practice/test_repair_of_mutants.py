"""Repairs of mistakes for which the convention, the way to call a program or a step of a loop has to be found first."""

from __future__ import annotations

import pytest

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
