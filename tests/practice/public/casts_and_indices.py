"""Programs that cast to half precision, take indices, or add what they are given under the name of a sublayer, with mistakes as replacements in their text."""

from __future__ import annotations

from tests.practice.public.program import Program

PROGRAMS = (
    Program(
        "ResidualConnection",
        "residual",
        """
from torch import nn

class ResidualConnection(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
    def forward(self, x, sublayer):
        return self.norm(x + sublayer)
""",
        (("x + sublayer", "sublayer + sublayer"), ("self.norm(x + sublayer)", "self.norm(x) + sublayer")),
    ),
    Program(
        "causal_mask",
        "causal_mask",
        """
import torch

def causal_mask(_b, _h, q_idx, kv_idx):
    return q_idx >= kv_idx

def document_causal_mask(document_ids: torch.Tensor):
    def allowed(_b, _h, q_idx, kv_idx):
        return (document_ids[q_idx] == document_ids[kv_idx]) & (q_idx >= kv_idx)
    return allowed
""",
        (("return q_idx >= kv_idx", "return q_idx > kv_idx"), ("return q_idx >= kv_idx", "return q_idx <= kv_idx")),
    ),
    Program(
        "CausalSelfAttention",
        "causal_self_attention",
        """
import torch
import torch.nn.functional as F
from torch import nn

class CausalSelfAttention(nn.Module):
    def __init__(self, width, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
    def forward(self, x, packed_mask=None):
        q, k, v = (each.unflatten(-1, (self.n_heads, -1)).transpose(1, 2) for each in self.qkv(x).chunk(3, -1))
        if packed_mask is not None:
            added = torch.zeros(packed_mask.shape).masked_fill(~packed_mask, -torch.inf)[:, None]
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=added, is_causal=False)
        else:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).flatten(-2))
""",
        (("q, k, v, is_causal=True", "q, k, v"),),
    ),
    Program(
        "TransformerBlock",
        "transformer_block",
        """
import torch
from torch import nn

class GatedMLP(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.gate, self.up = (nn.Linear(cfg["emb_dim"], cfg["hidden_dim"], bias=False, dtype=cfg["dtype"]) for _ in range(2))
        self.down = nn.Linear(cfg["hidden_dim"], cfg["emb_dim"], bias=False, dtype=cfg["dtype"])
    def forward(self, x):
        return self.down(nn.functional.silu(self.gate(x)) * self.up(x))

class CausalAttention(nn.Module):
    def __init__(self, width, n_heads, rope_config=None, dtype=None):
        super().__init__()
        self.n_heads = n_heads
        self.rates = tuple(rope_config.values()) if rope_config else None
        self.qkv, self.out = (nn.Linear(width, times * width, bias=False, dtype=dtype) for times in (3, 1))
    def forward(self, x):
        q, k, v = (each.unflatten(-1, (self.n_heads, -1)).transpose(1, 2) for each in self.qkv(x).chunk(3, -1))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).flatten(-2))

class TransformerBlock(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.att = CausalAttention(cfg["emb_dim"], cfg["n_heads"], cfg["rope_freq"], cfg["dtype"])
        self.ff = GatedMLP(cfg)
        self.norm1, self.norm2 = nn.RMSNorm(cfg["emb_dim"]), nn.RMSNorm(cfg["emb_dim"])
    def forward(self, x):
        x = x + self.att(self.norm1(x).to(torch.bfloat16))
        return x + self.ff(self.norm2(x).to(torch.bfloat16))
""",
        (("return x + self.ff", "return self.ff"), ("self.norm2(x).to", "x.to")),
    ),
    Program(
        "sample",
        "sample",
        """
import numpy as np

def sample(probabilities, p=0.2):
    order = np.argsort(probabilities)[::-1]
    cumulative = np.cumsum(probabilities[order])
    kept = order[: np.argmax(cumulative > p) + 1]
    return np.random.choice(kept, p=probabilities[kept] / probabilities[kept].sum())
""",
        (("[::-1]", ""), ("> p) + 1", "> p)")),
    ),
)
PROGRAMS += (
    Program(
        "MLP",
        "feed_forward",
        """
from typing import Any
import jax
import jax.numpy as jnp
from flax import linen as nn

class MLP(nn.Module):
    config: Any

    def setup(self):
        self.fc = nn.Dense(4 * self.config.n_embd, use_bias=self.config.bias, param_dtype=jnp.float32, dtype=jnp.bfloat16)
        self.proj = nn.Dense(self.config.n_embd, use_bias=self.config.bias, param_dtype=jnp.float32, dtype=jnp.bfloat16)

    def __call__(self, x):
        return self.proj(jax.nn.gelu(self.fc(x)))
""",
        (("jax.nn.gelu(self.fc(x))", "self.fc(x)"),),
    ),
    Program(
        "attention",
        "scaled_dot_product_attention",
        """
import math
import torch.nn.functional as F

def attention(q, k, v, dropout_module=None, is_causal=False, mask=None):
    att = q @ k.transpose(-2, -1) * (1.0 / math.sqrt(k.size(-1)))
    if is_causal:
        att = att.masked_fill(mask[:, :, : k.size(-2), : k.size(-2)] == 0, float("-inf"))
    att = dropout_module(F.softmax(att, dim=-1))
    return att @ v
""",
        (("dim=-1", "dim=-2"), ('float("-inf")', "1e-9")),
    ),
)
PROGRAMS += (Program("CausalAttention", "causal_self_attention", PROGRAMS[3].text, (("self.qkv(x)", "self.qkv(x * 2)"),)),)
