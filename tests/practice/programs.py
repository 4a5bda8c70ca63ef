"""Correct programs into which the tests of repairs put mistakes."""

from __future__ import annotations

SOFTMAX = """
    import numpy as np

    def softmax(x):
        x = x - x.max(axis=-1, keepdims=True)
        e = np.exp(x)
        return e / e.sum(axis=-1, keepdims=True)
"""
LOOPS = """
    import math

    def softmax(x):
        top = max(x)
        powers = [math.exp(v - top) for v in x]
        return [p / sum(powers) for p in powers]
"""
ATTENTION = """
    import numpy as np

    def softmax(x):
        e = np.exp(x - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    def attention(q, k, v, mask=None):
        scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(k.shape[-1])
        if mask is not None:
            scores = np.where(mask, scores, -np.inf)
        return softmax(scores) @ v
"""
LAYER_NORM = """
    import numpy as np

    def layer_norm(x, gamma, beta, eps=1e-5):
        mean = x.mean(axis=-1, keepdims=True)
        var = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
        return gamma * (x - mean) / np.sqrt(var + eps) + beta
"""
GELU = """
    import numpy as np

    def gelu(x):
        inner = np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)
        return 0.5 * x * (1 + np.tanh(inner))
"""
ROTARY = """
    import numpy as np

    def rotary(x):
        d = x.shape[-1]
        angle = np.arange(x.shape[-2])[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
        a, b = x[..., : d // 2], x[..., d // 2 :]
        return np.concatenate([a * np.cos(angle) - b * np.sin(angle), b * np.cos(angle) + a * np.sin(angle)], -1)
"""
HEAD = """
    import torch
    import torch.nn.functional as F
    from torch import nn

    class Head(nn.Module):
        def __init__(self, n_embd, head_size, block_size, dropout=0.1):
            super().__init__()
            self.key = nn.Linear(n_embd, head_size, bias=False)
            self.query = nn.Linear(n_embd, head_size, bias=False)
            self.value = nn.Linear(n_embd, head_size, bias=False)
            self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))
            self.dropout = nn.Dropout(dropout)

        def forward(self, x):
            B, T, C = x.shape
            k = self.key(x)
            q = self.query(x)
            wei = q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5
            wei = wei.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
            wei = self.dropout(F.softmax(wei, dim=-1))
            return wei @ self.value(x)
"""
HEADS = """
    import torch
    from torch import nn

    n_embd = 384
    block_size = 64

    class Head(nn.Module):
        def __init__(self, head_size):
            super().__init__()
            self.key = nn.Linear(n_embd, head_size, bias=False)
            self.query = nn.Linear(n_embd, head_size, bias=False)
            self.value = nn.Linear(n_embd, head_size, bias=False)
            self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))

        def forward(self, x):
            T = x.shape[1]
            scores = self.query(x) @ self.key(x).transpose(-2, -1) * self.key(x).shape[-1] ** -0.5
            scores = scores.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
            return scores.softmax(-1) @ self.value(x)

    class MultiHeadAttention(nn.Module):
        def __init__(self, num_heads, head_size):
            super().__init__()
            self.heads = nn.ModuleList([Head(head_size) for _ in range(num_heads)])
            self.proj = nn.Linear(n_embd, n_embd)

        def forward(self, x):
            return self.proj(torch.cat([head(x) for head in self.heads], dim=-1))
"""
MASK = """
    import torch

    def causal_mask(n):
        mask = torch.tril(torch.ones(n, n))
        mask = mask.masked_fill(mask == 0, float("-inf"))
        return mask.masked_fill(mask == 1, 0.0)
"""
POSITIONS = """
    import numpy as np

    def sinusoidal_positions(seq_len, dim):
        i = np.arange(0, dim // 2)
        angle = np.arange(seq_len)[:, None] / 10000 ** (2 * i / dim)
        table = np.zeros((seq_len, dim))
        table[:, 0::2] = np.sin(angle)
        table[:, 1::2] = np.cos(angle)
        return table
"""
EMBEDDING = """
    import torch
    from torch import nn

    class Embedding(nn.Module):
        def __init__(self, vocab_size, d_model, device=None):
            super().__init__()
            self.vocab_size = vocab_size
            self.device = device
            self.weight = nn.Parameter(torch.zeros(self.vocab_size, d_model, device=self.device))

        def forward(self, ids):
            return self.weight[ids]
"""
RMS_NORM = """
    import torch
    from torch import nn

    class RMSNorm(nn.Module):
        def __init__(self, dim, eps=1e-5):
            super().__init__()
            self.gain = nn.Parameter(torch.ones(dim))
            self.eps = eps

        def forward(self, x):
            return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.gain
"""
MERGE = """
    def merge(ids, pair, idx):
        new, i = [], 0
        while i < len(ids):
            if i + 1 < len(ids) and (ids[i], ids[i + 1]) == pair:
                new.append(idx)
                i += 2
            else:
                new.append(ids[i])
                i += 1
        return new
"""
PAIRED = """
    import numpy as np

    def rotary(x):
        d = x.shape[-1]
        angle = np.arange(x.shape[-2])[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
        cos, sin = np.cos(angle), np.sin(angle)
        cos = np.concatenate([cos, cos], -1)
        sin = np.concatenate([sin, sin], -1)
        return x * cos + np.concatenate([-x[..., d // 2 :], x[..., : d // 2]], -1) * sin
"""
BATCHED = """
    import torch
    from torch import nn

    class MultiHeadAttention(nn.Module):
        def __init__(self, width, context_length, heads, bias=False):
            super().__init__()
            self.width, self.heads, self.size = width, heads, width // heads
            self.to_query = nn.Linear(width, width, bias=bias)
            self.to_key = nn.Linear(width, width, bias=bias)
            self.to_value = nn.Linear(width, width, bias=bias)
            self.output = nn.Linear(width, width)
            self.register_buffer("hidden", torch.triu(torch.ones(context_length, context_length), 1).bool())

        def forward(self, x):
            batch, count, _ = x.shape
            query = self.to_query(x).view(batch, count, self.heads, self.size).transpose(1, 2)
            key = self.to_key(x).view(batch, count, self.heads, self.size).transpose(1, 2)
            value = self.to_value(x).view(batch, count, self.heads, self.size).transpose(1, 2)
            scores = query @ key.transpose(2, 3)
            scores.masked_fill_(self.hidden[:count, :count], float("-inf"))
            weights = torch.softmax(scores / key.shape[-1] ** 0.5, dim=-1)
            mixed = (weights @ value).transpose(1, 2)
            mixed = mixed.reshape(batch, count, self.width)
            return self.output(mixed)
"""
WITHOUT_SUM = """
    import numpy as np

    def softmax(x):
        e = np.exp(x - x.max(axis=-1, keepdims=True))
        return e / sum_of_e
"""

NORM_CLASS = """
    import torch
    from torch import nn

    class LayerNorm(nn.Module):
        def __init__(self, width, eps=1e-5):
            super().__init__()
            self.gain = nn.Parameter(torch.ones(width))
            self.shift = nn.Parameter(torch.zeros(width))
            self.eps = eps

        def forward(self, x):
            center = x.mean(dim=-1, keepdim=True)
            spread = torch.var(x, dim=-1, keepdim=True, unbiased=False)
            return (x - center) / torch.sqrt(spread + self.eps) * self.gain + self.shift
"""
