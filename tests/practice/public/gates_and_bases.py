"""Layers of PyTorch whose sublayers are multiplied by learned numbers, and attention as a function that is given the base of its rotation."""

from __future__ import annotations

from tests.practice.public.program import Program

GATED = """
import torch
from torch import nn

class GatedEncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.attn = nn.MultiheadAttention(d_model, num_heads, batch_first=True)
        self.norm2 = nn.LayerNorm(d_model)
        self.ff = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.alpha = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        normed = self.norm1(x)
        x = x + self.alpha * self.attn(normed, normed, normed)[0]
        return x + self.alpha * self.ff(self.norm2(x))
"""

SCALED = """
import torch
from torch import nn

class LayerScale(nn.Module):
    def __init__(self, dim, init_values=1e-5):
        super().__init__()
        self.weight = nn.Parameter(init_values * torch.ones(dim))

    def forward(self, x):
        return x * self.weight

class EncoderBlock(nn.Module):
    def __init__(self, dim, heads, hidden_dim):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(dim, hidden_dim), nn.GELU(), nn.Linear(hidden_dim, dim))
        self.ls1, self.ls2 = LayerScale(dim), LayerScale(dim)

    def forward(self, x):
        y = self.norm1(x)
        x = x + self.ls1(self.attn(y, y, y, need_weights=False)[0])
        return x + self.ls2(self.mlp(self.norm2(x)))
"""

OF_BASE = """
import torch
from torch import nn

class Rope(nn.Module):
    def __init__(self, theta, d_k, max_seq_len):
        super().__init__()
        frequencies = theta ** -(torch.arange(0, d_k, 2).float() / d_k)
        angles = torch.outer(torch.arange(max_seq_len).float(), frequencies)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, x, positions):
        cos, sin = self.cos[positions], self.sin[positions]
        even, odd = x[..., ::2], x[..., 1::2]
        return torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1).flatten(-2)

def self_attention_with_rope(
    d_model, num_heads, max_seq_len, theta, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features, token_positions=None
):
    length = in_features.shape[-2]
    positions = torch.arange(length) if token_positions is None else token_positions
    rope = Rope(theta, d_model // num_heads, max_seq_len)

    def heads(weight):
        y = in_features @ weight.T
        return y.reshape(*y.shape[:-1], num_heads, -1).transpose(-2, -3)

    q, k, v = rope(heads(q_proj_weight), positions), rope(heads(k_proj_weight), positions), heads(v_proj_weight)
    scores = q @ k.transpose(-1, -2) / (d_model // num_heads) ** 0.5
    scores = scores.masked_fill(~torch.tril(torch.ones(length, length, dtype=torch.bool)), float("-inf"))
    return (scores.softmax(-1) @ v).transpose(-2, -3).flatten(-2) @ o_proj_weight.T
"""

PROGRAMS = (
    Program("GatedEncoderLayer", "encoder_layer", GATED, (("self.ff(self.norm2(x))", "self.ff(x)"),)),
    Program("EncoderBlock", "encoder_layer", SCALED),
    Program("self_attention_with_rope", "causal_self_attention", OF_BASE),
)
