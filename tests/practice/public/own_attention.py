"""Layers that compute their attention themselves, around a feed-forward and norms of the file, with mistakes as replacements."""

from __future__ import annotations

from tests.practice.public.program import Program

ROTARY_LAYER = """
import torch
import torch.nn.functional as F
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


class SwiGLU(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.gate, self.up = nn.Linear(dim, hidden, bias=False), nn.Linear(dim, hidden, bias=False)
        self.down = nn.Linear(hidden, dim, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


def apply_rope(q, k, freqs_cis):
    table = freqs_cis[None, : q.shape[1], None]
    turned = [torch.view_as_complex(each.float().reshape(*each.shape[:-1], -1, 2)) * table for each in (q, k)]
    return [torch.view_as_real(each).flatten(3) for each in turned]


class DecoderLayer(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.heads, self.width = args.n_heads, args.dim // args.n_heads
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(args.dim, args.dim, bias=False) for _ in range(4))
        self.mlp = SwiGLU(args.dim, 4 * args.dim)
        self.norm_1, self.norm_2 = RMSNorm(args.dim), RMSNorm(args.dim)

    def forward(self, x, freqs_cis, mask):
        batch, length, dim = x.shape
        h = self.norm_1(x)
        q, k, v = (each(h).view(batch, length, self.heads, self.width) for each in (self.wq, self.wk, self.wv))
        q, k = apply_rope(q, k, freqs_cis)
        mixed = F.scaled_dot_product_attention(*(each.transpose(1, 2) for each in (q, k, v)), attn_mask=mask)
        x = x + self.wo(mixed.transpose(1, 2).reshape(batch, length, dim))
        return x + self.mlp(self.norm_2(x))
"""

BLOCK = """
import torch
import torch.nn.functional as F
from torch import nn


class GatedMLP(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.gate, self.up = nn.Linear(dim, hidden, bias=False), nn.Linear(dim, hidden, bias=False)
        self.down = nn.Linear(hidden, dim, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class TransformerBlock(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.n_heads = cfg.n_heads
        self.norm1, self.norm2 = nn.RMSNorm(cfg.d_model), nn.RMSNorm(cfg.d_model)
        self.q_proj = nn.Linear(cfg.d_model, cfg.d_model, bias=False)
        self.k_proj = nn.Linear(cfg.d_model, cfg.d_model, bias=False)
        self.v_proj = nn.Linear(cfg.d_model, cfg.d_model, bias=False)
        self.o_proj = nn.Linear(cfg.d_model, cfg.d_model, bias=False)
        self.mlp = GatedMLP(cfg.d_model, cfg.d_ff)

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.n_heads, -1).transpose(1, 2)

    def forward(self, x):
        h = self.norm1(x)
        q, k, v = self.split(self.q_proj(h)), self.split(self.k_proj(h)), self.split(self.v_proj(h))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o_proj(y.transpose(1, 2).flatten(2))
        return x + self.mlp(self.norm2(x))
"""

EITHER_MASK = """import torch.nn.functional as F
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, width, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.to_q, self.to_k, self.to_v, self.to_out = (nn.Linear(width, width, bias=False) for _ in range(4))

    def forward(self, x, attn_mask=None):
        batch, length, width = x.shape
        q, k, v = (make(x).view(batch, length, self.num_heads, -1).transpose(1, 2) for make in (self.to_q, self.to_k, self.to_v))
        if attn_mask is None:
            heads = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            heads = F.scaled_dot_product_attention(q, k, v, attn_mask=attn_mask)
        return self.to_out(heads.transpose(1, 2).reshape(batch, length, width))
"""

OF_EINX = """import einx
import torch


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = einx.dot("... query [dim], ... key [dim] -> ... query key", q, k) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return einx.dot("... query key, ... key dim -> ... query dim", torch.softmax(scores, dim=-1), v)
"""

PROGRAMS = (
    Program("apply_rope", "rotary", ROTARY_LAYER, (("for each in (q, k)]", "for each in (q, q)]"),)),
    Program(
        "DecoderLayer",
        "encoder_layer",
        ROTARY_LAYER,
        (
            ("x = x + self.wo(", "x = self.wo("),
            ("self.mlp(self.norm_2(x))", "self.mlp(self.norm_1(x))"),
            (", attn_mask=mask)", ")"),
            ("q, k = apply_rope(q, k, freqs_cis)", "q, v = apply_rope(q, v, freqs_cis)"),
            ("mixed.transpose(1, 2).reshape", "mixed.reshape"),
        ),
    ),
    Program(
        "TransformerBlock",
        "transformer_block",
        BLOCK,
        (
            ("is_causal=True", "is_causal=False"),
            ("x = x + self.o_proj", "x = h + self.o_proj"),
            ("self.split(self.k_proj(h))", "self.split(self.k_proj(x))"),
        ),
    ),
    Program(
        "SelfAttention", "self_attention", EITHER_MASK, (("attn_mask=attn_mask)", "attn_mask=~attn_mask)"), ("k, v, attn", "v, k, attn"))
    ),
    Program(
        "scaled_dot_product_attention",
        "scaled_dot_product_attention",
        OF_EINX,
        (("/ q.shape[-1] ** 0.5", "/ q.shape[-1]"), ("... query key, ... key dim ->", "... key query, ... key dim ->")),
    ),
)
