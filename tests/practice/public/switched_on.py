"""Parts with settings that switch something on: a flag for cross-attention, a config that is a class, learned gates, optional biases, fixed shares."""

from __future__ import annotations

from tests.practice.public.program import Program

OF_CLASS = """
import torch
from torch import nn

class ViTConfig:
    n_embd = 32
    n_head = 4
    d_ff = 64

class MLP(nn.Module):
    def __init__(self, config=ViTConfig):
        super().__init__()
        self.fc1 = nn.Linear(config.n_embd, config.d_ff)
        self.fc2 = nn.Linear(config.d_ff, config.n_embd)

    def forward(self, x):
        return self.fc2(nn.functional.gelu(self.fc1(x)))

class MultiHeadAttention(nn.Module):
    def __init__(self, config=ViTConfig):
        super().__init__()
        self.n_head = config.n_head
        self.qkv = nn.Linear(config.n_embd, 3 * config.n_embd)
        self.proj = nn.Linear(config.n_embd, config.n_embd)

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = self.qkv(x).reshape(B, T, 3, self.n_head, C // self.n_head).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v)
        return self.proj(y.transpose(1, 2).reshape(B, T, C))

class EncoderBlock(nn.Module):
    def __init__(self, config=ViTConfig):
        super().__init__()
        self.ln1 = nn.LayerNorm(config.n_embd)
        self.attn = MultiHeadAttention(config)
        self.ln2 = nn.LayerNorm(config.n_embd)
        self.mlp = MLP(config)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))
"""

LAST_BIAS = """
from dataclasses import dataclass
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

class LayerNorm(nn.Module):
    def __init__(self, ndim, bias):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(ndim))
        self.bias = nn.Parameter(torch.zeros(ndim)) if bias else None

    def forward(self, x):
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, 1e-5)

class CausalSelfAttention(nn.Module):
    def __init__(self, n_embd, n_head, bias):
        super().__init__()
        self.n_head = n_head
        self.c_attn = nn.Linear(n_embd, 3 * n_embd, bias=bias)
        self.c_proj = nn.Linear(n_embd, n_embd, bias=bias)

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (t.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for t in self.c_attn(x).split(C, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C))

class Block(nn.Module):
    def __init__(self, n_embd, n_head, bias):
        super().__init__()
        self.ln_1 = nn.LayerNorm(n_embd)
        self.attn = CausalSelfAttention(n_embd, n_head, bias)
        self.ln_2 = nn.LayerNorm(n_embd)
        self.mlp = nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.GELU(), nn.Linear(4 * n_embd, n_embd))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))

@dataclass
class GPTConfig:
    vocab_size: int = 100
    block_size: int = 64
    n_layer: int = 2
    n_head: int = 2
    n_embd: int = 32
    bias: bool = False

class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.wte = nn.Embedding(config.vocab_size, config.n_embd)
        self.wpe = nn.Embedding(config.block_size, config.n_embd)
        self.h = nn.ModuleList([Block(config.n_embd, config.n_head, config.bias) for _ in range(config.n_layer)])
        self.ln_f = LayerNorm(config.n_embd, bias=config.bias)
        self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)

    def forward(self, idx):
        x = self.wte(idx) + self.wpe(torch.arange(idx.size(1), device=idx.device))
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x))
"""

FIXED_SHARE = """
import math

def get_lr(it, max_lr, warmup_steps, max_steps):
    min_lr = 0.1 * max_lr
    if it < warmup_steps:
        return max_lr * (it + 1) / warmup_steps
    if it > max_steps:
        return min_lr
    ratio = (it - warmup_steps) / (max_steps - warmup_steps)
    return min_lr + 0.5 * (1.0 + math.cos(math.pi * ratio)) * (max_lr - min_lr)
"""

SWITCHED_IN_CALL = """
import math
import torch
from torch import nn

class CrossAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads, self.head_dim = num_heads, d_model // num_heads
        self.wq, self.wk, self.wv = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.wo = nn.Linear(d_model, d_model)

    def forward(self, x, context=None, use_context=False):
        B, T, C = x.shape
        source = context if use_context else x
        q, k, v = self.wq(x), self.wk(source), self.wv(source)
        q, k, v = (t.view(B, -1, self.num_heads, self.head_dim).transpose(1, 2) for t in (q, k, v))
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.head_dim)
        out = (scores.softmax(-1) @ v).transpose(1, 2).reshape(B, T, C)
        return self.wo(out)
"""

SWITCHED = """
import math
import torch
from torch import nn

class CrossAttention(nn.Module):
    def __init__(self, d_model, num_heads, is_cross_attention=False):
        super().__init__()
        self.num_heads, self.head_dim = num_heads, d_model // num_heads
        self.is_cross_attention = is_cross_attention
        if is_cross_attention:
            self.q_proj = nn.Linear(d_model, d_model)
            self.kv_proj = nn.Linear(d_model, 2 * d_model)
        else:
            self.qkv_proj = nn.Linear(d_model, 3 * d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x, context=None, mask=None):
        B, T, C = x.shape
        if self.is_cross_attention:
            q = self.q_proj(x)
            k, v = self.kv_proj(context).chunk(2, dim=-1)
        else:
            q, k, v = self.qkv_proj(x).chunk(3, dim=-1)
        q, k, v = (t.view(B, -1, self.num_heads, self.head_dim).transpose(1, 2) for t in (q, k, v))
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.head_dim)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        out = (scores.softmax(-1) @ v).transpose(1, 2).reshape(B, T, C)
        return self.out_proj(out)
"""

ROWS = """
import torch
from torch import nn

class TransformerBlock(nn.Module):
    def __init__(self, dim, heads, mlp_dim):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(dim)
        self.norm2 = nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, mlp_dim), nn.GELU(), nn.Linear(mlp_dim, dim))

    def attend(self, x, mask=None):
        b, n, d = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-1, -2) * (d // self.heads) ** -0.5
        if mask is not None:
            scores = scores.masked_fill(~mask[:, None, None, :], float("-inf"))
        attn = torch.nan_to_num(scores.softmax(-1))
        return self.proj((attn @ v).transpose(1, 2).reshape(b, n, d))

    def forward(self, x, mask=None):
        x = x + self.attend(self.norm1(x), mask)
        return x + self.mlp(self.norm2(x))
"""

SCALED = """
import torch
from torch import nn

class EncoderLayer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.attn_norm, self.mlp_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = nn.MultiheadAttention(width, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.attn_scale = nn.Parameter(torch.tensor(0.5))
        self.mlp_scale = nn.Parameter(torch.full((width,), 0.5))

    def forward(self, x):
        y = self.attn_norm(x)
        x = x + self.attn_scale * self.attn(y, y, y, need_weights=False)[0]
        return x + self.mlp_scale * self.mlp(self.mlp_norm(x))
"""

SQUASHED = """
import torch
from torch import nn

class EncoderLayer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.attn_norm, self.mlp_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = nn.MultiheadAttention(width, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.attn_scale = nn.Parameter(torch.zeros(1))
        self.mlp_scale = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        y = self.attn_norm(x)
        x = x + torch.tanh(self.attn_scale) * self.attn(y, y, y, need_weights=False)[0]
        return x + self.mlp(self.mlp_norm(x)) * self.mlp_scale.sigmoid()
"""

SPEEDS = """
import numpy as np

class Momentum:
    def __init__(self, params, lr=0.01, momentum=0.9):
        self.params, self.lr, self.momentum = params, lr, momentum
        self.speeds = [None] * len(params)

    def step(self):
        for i, p in enumerate(self.params):
            change = p.grad
            if self.momentum > 0:
                self.speeds[i] = change if self.speeds[i] is None else self.momentum * self.speeds[i] + change
                change = self.speeds[i]
            p.data = p.data - self.lr * change
"""

PROGRAMS = (
    Program("EncoderBlock", "encoder_layer", OF_CLASS, (("self.mlp(self.ln2(x))", "self.mlp(x)"),)),
    Program("GPT", "gpt2", LAST_BIAS, (("self.lm_head(self.ln_f(x))", "self.lm_head(x)"),)),
    Program("get_lr", "cosine_schedule", FIXED_SHARE, (("return min_lr\n", "return 0.0\n"),)),
    Program("CrossAttention", "cross_attention", SWITCHED_IN_CALL, (("self.wv(source)", "self.wv(x)"),)),
    Program("CrossAttention", "cross_attention", SWITCHED, (("self.kv_proj(context)", "self.kv_proj(x)"),)),
    Program("TransformerBlock", "encoder_layer", ROWS, (("mask[:, None, None, :]", "mask[:, None, :, None]"),)),
    Program("EncoderLayer", "encoder_layer", SCALED, (("self.mlp(self.mlp_norm(x))", "self.mlp(self.attn_norm(x))"),)),
    Program("EncoderLayer", "encoder_layer", SQUASHED, (("self.mlp(self.mlp_norm(x))", "self.mlp(x)"),)),
    Program("Momentum", "sgd_optimizer", SPEEDS, (("[None] * len(params)", "[None]"),)),
)
