"""Parts that return an object with their output, blocks with a mixture of experts, positions given first, and norms of one vector or of weights around 0."""

from __future__ import annotations

from tests.practice.public.program import Program

RECORD = """
import numpy as np

class LossResult:
    def __init__(self, value, **details):
        self.value = value
        self.details = details

    @property
    def shape(self):
        return self.value.shape

class CrossEntropy:
    def __init__(self, reduction="mean"):
        self.reduction = reduction

    def __call__(self, y_pred, y_true):
        shifted = y_pred - y_pred.max(axis=-1, keepdims=True)
        log_probs = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
        losses = -np.take_along_axis(log_probs, y_true[..., None], axis=-1)
        return LossResult(losses.mean() if self.reduction == "mean" else losses.sum())
"""

EXPERTS = """
import torch
from torch import nn

class SelfAttention(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.num_heads = cfg.num_heads
        self.qkv = nn.Linear(cfg.dim, 3 * cfg.dim)
        self.out = nn.Linear(cfg.dim, cfg.dim)

    def forward(self, x):
        q, k, v = (each.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for each in self.qkv(x).chunk(3, -1))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).flatten(2))

class SparseMoE(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.router = nn.Linear(cfg.dim, 4, bias=False)
        self.experts = nn.ModuleList([nn.Linear(cfg.dim, cfg.dim) for _ in range(4)])

    def forward(self, x):
        weights, chosen = self.router(x).softmax(-1).topk(2, -1)
        y = torch.stack([expert(x) for expert in self.experts], -2)
        return (weights[..., None] * y.gather(-2, chosen[..., None].expand(*chosen.shape, x.shape[-1]))).sum(-2)

class Block(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.norm_a, self.norm_b = nn.LayerNorm(cfg.dim), nn.LayerNorm(cfg.dim)
        self.attn = SelfAttention(cfg)
        self.mlp = SparseMoE(cfg)

    def forward(self, x):
        x = x + self.attn(self.norm_a(x))
        x = x + self.mlp(self.norm_b(x))
        return x
"""

TURNED = """
import math
import torch
from torch import nn

class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=500):
        super().__init__()
        steps = torch.arange(max_len).unsqueeze(1)
        rates = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        table = torch.zeros(max_len, 1, d_model)
        table[:, 0, 0::2] = torch.sin(steps * rates)
        table[:, 0, 1::2] = torch.cos(steps * rates)
        self.register_buffer("table", table)

    def forward(self, x):
        return x + self.table[: x.size(0)]

class Encoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_heads):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.positions = PositionalEncoding(d_model)
        self.layer = nn.TransformerEncoderLayer(d_model, num_heads)

    def forward(self, ids):
        # ids of shape [batch, seq_len, 1]
        ids = ids.transpose(0, 1)
        ids = self.embedding(ids)
        return self.layer(self.positions(ids)).transpose(0, 1)
"""

OF_LIST = """
import math

def layer_norm(values: list[float], eps: float = 1e-5) -> list[float]:
    mean = sum(values) / len(values)
    variance = sum((each - mean) ** 2 for each in values) / len(values)
    return [(each - mean) / math.sqrt(variance + eps) for each in values]
"""

AROUND_ZERO = """
import torch
from torch import nn

class GemmaSettings:
    width = 16
    eps = 1e-5

class RMSNorm(nn.Module):
    def __init__(self, settings):
        super().__init__()
        self.eps = settings.eps
        self.offset = nn.Parameter(torch.zeros(settings.width))

    def forward(self, x):
        x = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps)
        return x * (1.0 + self.offset)
"""

PROGRAMS = (
    Program("CrossEntropy", "cross_entropy", RECORD, (("LossResult(losses.mean()", "LossResult(-losses.mean()"),)),
    Program("Block", "transformer_block", EXPERTS, (("self.mlp(self.norm_b(x))", "self.mlp(x)"),)),
    Program("PositionalEncoding", "sinusoidal_positions", TURNED, (("        ids = ids.transpose(0, 1)\n", ""),)),
    Program("layer_norm", "layer_norm", OF_LIST, (("math.sqrt(variance + eps)", "math.sqrt(variance) + eps"),)),
    Program("RMSNorm", "rms_norm", AROUND_ZERO, (("(1.0 + self.offset)", "(2.0 + self.offset)"),)),
)
