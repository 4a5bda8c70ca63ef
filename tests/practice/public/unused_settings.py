"""Parts with settings that their outputs do not depend on: batch sizes, initial values, flags of training, lengths that hide queries too."""

from __future__ import annotations

from tests.practice.public.program import Program

PROGRAMS = (
    Program(
        "Linear",
        "linear",
        """
from typing import Callable
import cupy as cp

class Linear:
    def __init__(self, n_in: int, n_out: int, batch_size: int, lr: float, weight_init_func: Callable):
        self.batch_size, self.lr = batch_size, lr
        self.weight = cp.asarray(weight_init_func((n_in, n_out)))
        self.bias = cp.random.standard_normal((n_out,), dtype=cp.float32)
        self.seen = cp.zeros((batch_size, n_in))

    def forward(self, x):
        self.seen = x
        return x @ self.weight + self.bias
""",
        (("@ self.weight + self.bias", "@ self.weight - self.bias"),),
    ),
    Program(
        "LayerNorm",
        "layer_norm",
        """
import numpy as np

class LayerNorm:
    def __init__(self, width, eps=1e-5, init=None):
        self.eps = eps
        self.weight, self.bias = np.ones(width), np.zeros(width)
        self.use_bias = init is not None

    def forward(self, x):
        centred = x - x.mean(-1, keepdims=True)
        return self.weight * centred / np.sqrt(x.var(-1, keepdims=True) + self.eps) + self.bias

    def parameters(self):
        return [self.weight, self.bias] if self.use_bias else [self.weight]
""",
        (("x - x.mean(-1, keepdims=True)", "x"),),
    ),
    Program(
        "MaskedMultiHeadAttention",
        "causal_self_attention",
        """
import math
import torch
from torch import nn

class MaskedMultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_head):
        super().__init__()
        self.n_head, self.d_k = n_head, d_model // n_head
        self.q, self.k, self.v, self.out = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, x, mask=None):
        batch, length, width = x.size()
        q, k, v = (each(x).view(batch, length, self.n_head, self.d_k).transpose(1, 2) for each in (self.q, self.k, self.v))
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(mask.unsqueeze(0).unsqueeze(1) == 0, -1e9)
        heads = torch.softmax(scores, dim=-1) @ v
        return self.out(heads.transpose(1, 2).contiguous().view(batch, length, width))
""",
        (("heads.transpose(1, 2).contiguous()", "heads.contiguous()"), ("math.sqrt(self.d_k)", "math.sqrt(width)")),
    ),
    Program(
        "ScaledDotProduct",
        "scaled_dot_product_attention",
        """
import torch
from torch import nn

def hide_padding(scores, lengths):
    mask = torch.ones_like(scores)
    for row, length in enumerate(lengths):
        mask[row, length:, :] = 0
        mask[row, :, length:] = 0
    return scores.masked_fill(mask == 0, float("-inf"))

class ScaledDotProduct(nn.Module):
    def __init__(self, temperature, attn_dropout):
        super().__init__()
        self.temperature, self.dropout = temperature, nn.Dropout(attn_dropout)

    def forward(self, q, k, v, lengths):
        scores = hide_padding(torch.matmul(q / self.temperature, k.transpose(1, 2)), lengths)
        weights = self.dropout(torch.softmax(scores, dim=-1))
        return torch.matmul(weights.masked_fill(torch.isnan(weights), 0), v), weights
""",
        (("torch.softmax(scores, dim=-1)", "torch.softmax(scores, dim=1)"),),
    ),
    Program(
        "KVCache",
        "kv_cache",
        """
import torch

class KVCache:
    def __init__(self, max_len, num_heads, head_dim, batch_size=1):
        self.k = torch.zeros(batch_size, num_heads, max_len, head_dim)
        self.v = torch.zeros(batch_size, num_heads, max_len, head_dim)
        self.length = 0

    def update(self, new_k, new_v):
        count = new_k.shape[2]
        self.k[:, :, self.length : self.length + count] = new_k
        self.v[:, :, self.length : self.length + count] = new_v
        self.length += count

    def get(self):
        return self.k[:, :, : self.length], self.v[:, :, : self.length]
""",
        (("self.v[:, :, self.length : self.length + count] = new_v", "self.v[:, :, self.length : self.length + count] = new_k"),),
    ),
    Program(
        "Tokenizer",
        "bpe_tokenizer",
        """
class Tokenizer:
    def __init__(self):
        self.pairs = {}

    def merged(self, ids, pair, new):
        place = 0
        while place < len(ids) - 1:
            if (ids[place], ids[place + 1]) == pair:
                ids[place : place + 2] = [new]
            place += 1
        return ids

    def train(self, text, vocab_size):
        ids = list(text.encode())
        for new in range(256, vocab_size):
            counts = {}
            for pair in zip(ids, ids[1:]):
                counts[pair] = counts.get(pair, 0) + 1
            if not counts:
                break
            pair = max(counts, key=counts.get)
            self.pairs[new] = pair
            ids = self.merged(ids, pair, new)

    def encode(self, text):
        ids = list(text.encode())
        for new, pair in self.pairs.items():
            ids = self.merged(ids, pair, new)
        return ids, [bytes(self.bytes_of([each])) for each in ids]

    def bytes_of(self, ids):
        place = 0
        while place < len(ids):
            if ids[place] < 256:
                place += 1
            else:
                ids[place : place + 1] = self.pairs[ids[place]]
        return ids

    def decode(self, ids):
        return bytes(self.bytes_of(ids)).decode()
""",
        (("max(counts", "min(counts"),),
    ),
    Program(
        "GroupedQueryAttn",
        "grouped_query_attention",
        """
import torch
import torch.nn as nn
import torch.nn.functional as F

class GroupedQueryAttn(nn.Module):
    def __init__(self, config, is_causal=False, pos_emb=None):
        super().__init__()
        self.n_head, self.n_kv_head, self.head_size = config.n_head, config.n_kv_head, config.n_embd // config.n_head
        self.query = nn.Linear(config.n_embd, config.n_embd, bias=False)
        self.key = nn.Linear(config.n_embd, self.head_size * config.n_kv_head, bias=False)
        self.value = nn.Linear(config.n_embd, self.head_size * config.n_kv_head, bias=False)
        self.proj = nn.Linear(config.n_embd, config.n_embd)
        self.is_causal = is_causal
        self.pos_emb = pos_emb

    def forward(self, x):
        batch, length, width = x.shape
        q = self.query(x).view(batch, length, self.n_head, self.head_size).transpose(1, 2)
        k = self.key(x).view(batch, length, self.n_kv_head, self.head_size).transpose(1, 2)
        v = self.value(x).view(batch, length, self.n_kv_head, self.head_size).transpose(1, 2)
        if self.pos_emb is not None:
            q, k = self.pos_emb(q), self.pos_emb(k)
        heads = F.scaled_dot_product_attention(q, k, v, is_causal=self.is_causal, enable_gqa=True)
        return self.proj(heads.transpose(1, 2).reshape(batch, length, width))
""",
        (("heads.transpose(1, 2)", "heads"), ("scaled_dot_product_attention(q, k, v,", "scaled_dot_product_attention(k, k, v,")),
    ),
)
