"""The repair of programs that raise for every probe, so that nothing shows their convention."""

from __future__ import annotations

import textwrap
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from headway.practice.diagnosis.explain.undefined import undefined
from headway.practice.diagnosis.files import load_module
from headway.practice.diagnosis.reading.subject import subjects_of
from tests.practice.test_repair import repaired, with_slips

NUMPY_HEADS = """
import numpy as np

class Table:
    def __init__(self, *sizes):
        self.data = np.zeros(sizes)

    @property
    def shape(self):
        return self.data.shape

class Linear:
    def __init__(self, d_in, d_out):
        self.weight = Table(d_in, d_out)
        self.bias = Table(d_out)

    def forward(self, x):
        return x @ self.weight.data + self.bias.data

class MultiHeadAttention:
    def __init__(self, d_model, num_heads):
        self.num_heads = num_heads
        self.d_k = d_model // num_heads
        self.w_query = Linear(d_model, d_model)
        self.w_key = Linear(d_model, d_model)
        self.w_value = Linear(d_model, d_model)
        self.w_out = Linear(d_model, d_model)

    def split(self, x, batch):
        return x.reshape(batch, -1, self.num_heads, self.d_k).transpose(0, 2, 1, 3)

    def attend(self, query, key, value):
        scores = query @ key.transpose(0, 1, 3, 2) / np.sqrt(self.d_k)
        powers = np.exp(scores - scores.max(-1, keepdims=True))
        return powers / powers.sum(-1, keepdims=True) @ value

    def forward(self, query, key, value):
        batch = query.shape[0]
        q = self.split(self.w_query.forward(query), batch)
        k = self.split(self.w_key.forward(key), batch)
        v = self.split(self.w_value.forward(value), batch)
        joined = self.attend(q, k, v).transpose(0, 2, 1, 3).reshape(batch, -1, self.num_heads * self.d_k)
        return self.w_out.forward(joined)
"""
TORCH_HEADS = """
import torch
from torch import nn

class CausalSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.w_query = nn.Linear(d_model, d_model)
        self.w_key = nn.Linear(d_model, d_model)
        self.w_value = nn.Linear(d_model, d_model)
        self.w_out = nn.Linear(d_model, d_model)

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.num_heads, -1).transpose(1, 2)

    def forward(self, x):
        q, k, v = self.split(self.w_query(x)), self.split(self.w_key(x)), self.split(self.w_value(x))
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        later = torch.triu(torch.ones(x.shape[1], x.shape[1], dtype=torch.bool), diagonal=1)
        weights = torch.softmax(scores.masked_fill(later, float("-inf")), dim=-1)
        return self.w_out((weights @ v).transpose(1, 2).reshape(x.shape))
"""
FUSED = """
from torch import nn

class CausalSelfAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd)
        self.n_head = config.n_head

    def forward(self, x):
        qkv = self.c_attn(x)
        q, k, v = qkv.split(x.shape[-1], dim=2)
        q, k, v = (each.unflatten(-1, (self.n_head, -1)).transpose(1, 2) for each in (q, k, v))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).flatten(2))
"""
LAYERS = """
from torch import nn

class FeedForward(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(width, 4 * width),
            nn.ReLU(),
            nn.Linear(4 * width, width),
        )

    def forward(self, x):
        return self.net(x)
"""
NORM = """
import torch
from torch import nn

class RMSNorm(nn.Module):
    def __init__(self, width, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
"""
ENCODER_LAYER = """
import torch
from torch import nn

class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads, self.d_k = num_heads, d_model // num_heads
        self.w_q, self.w_k, self.w_v = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.w_o = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        batch, length, width = x.shape
        q, k, v = (w(x).view(batch, length, self.num_heads, self.d_k).transpose(1, 2) for w in (self.w_q, self.w_k, self.w_v))
        scores = q @ k.transpose(-2, -1) / self.d_k ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        return self.w_o((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, width))

class EncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def forward(self, x, mask=None):
        x = self.norm1(x + self.attention(x, mask))
        return self.norm2(x + self.feed_forward(x))
"""

RAISING = [
    ("multi_head_attention", NUMPY_HEADS, "self.num_heads, self.d_k).t", "self.num_heads, self.w_out).t"),
    ("multi_head_attention", NUMPY_HEADS, "batch = query.shape[0]", "batch = query.shape"),
    ("multi_head_attention", NUMPY_HEADS, "self.attend(q, k, v)", "self.attend(q, v)"),
    ("causal_self_attention", TORCH_HEADS, "self.w_key = nn.Linear(d_model, d_model)", "self.w_key = d_model"),
    ("causal_self_attention", TORCH_HEADS, "self.num_heads, -1)", "self.num_heads)"),
    ("causal_self_attention", TORCH_HEADS, "        self.num_heads = num_heads\n", ""),
    ("causal_self_attention", TORCH_HEADS, "        self.w_out = nn.Linear(d_model, d_model)\n", ""),
    ("causal_self_attention", TORCH_HEADS, "q.shape[-1] ** 0.5", "torch.sqrt(q.shape[-1])"),
    ("causal_self_attention", FUSED, "3 * config.n_embd", "config.n_embd"),
    ("feed_forward", LAYERS, "nn.Linear(width, 4 * width)", "nn.Linear(width, 4)"),
    ("feed_forward", LAYERS, "nn.Linear(width, 4 * width)", "nn.Linear(4 * width)"),
    ("feed_forward", LAYERS, "nn.Linear(4 * width, width)", "width"),
    ("encoder_layer", ENCODER_LAYER, "self.attention(x, mask)", "self.attention(mask, x)"),
    ("rms_norm", NORM, "        self.eps = eps\n", ""),
    ("rms_norm", NORM, "        self.weight = nn.Parameter(torch.ones(width))\n", ""),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "program", "right", "wrong"), RAISING, ids=[wrong or f"without {right.strip()}" for *_, right, wrong in RAISING]
)
def test_a_program_that_always_raises_is_repaired_at_its_mistake(name, program, right, wrong):
    text, (line,) = with_slips(textwrap.dedent(program), [(right, wrong)])
    repair, is_right = repaired(name, text)
    assert is_right, repair
    assert any(edit.line - 1 <= line <= edit.end_line + 1 for edit in repair.edits), repair


def test_names_in_code_of_other_files_are_not_missing(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("def softmax(x):\n    return x\n")
    (subject,) = subjects_of(load_module(path, path.read_text()), path.read_text())
    assert undefined(subject) is None
    assert undefined(replace(subject, value=ThreadPoolExecutor)) is None
