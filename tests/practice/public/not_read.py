"""Masks that nothing reads, texts cropped in a copy, filters of one row, makers of schedules, and layers of positions that are given."""

from __future__ import annotations

from tests.practice.public.program import Program

MASK_NOT_READ = """import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention


class GroupedAttention(nn.Module):
    def __init__(self, width, num_heads, num_kv_heads):
        super().__init__()
        self.num_heads, self.num_kv_heads, self.size = num_heads, num_kv_heads, width // num_heads
        self.to_q = nn.Linear(width, width, bias=False)
        self.to_k = nn.Linear(width, num_kv_heads * self.size, bias=False)
        self.to_v = nn.Linear(width, num_kv_heads * self.size, bias=False)
        self.to_out = nn.Linear(width, width, bias=False)

    def forward(self, x, mask: torch.Tensor | None = None):
        rows, length, width = x.shape
        q = self.to_q(x).view(rows, length, self.num_heads, self.size).transpose(1, 2)
        k = self.to_k(x).view(rows, length, self.num_kv_heads, self.size).transpose(1, 2)
        v = self.to_v(x).view(rows, length, self.num_kv_heads, self.size).transpose(1, 2)
        k = k.repeat_interleave(self.num_heads // self.num_kv_heads, dim=1)
        v = v.repeat_interleave(self.num_heads // self.num_kv_heads, dim=1)
        mixed = scaled_dot_product_attention(q, k, v, attn_mask=None, is_causal=True)
        return self.to_out(mixed.transpose(1, 2).reshape(rows, length, width))
"""

ONE_ROW = """import torch


def keep_top_k(logits, top_k):
    \"\"\"Hide all but the likeliest tokens of logits of shape (1, vocab_size).\"\"\"
    assert logits.dim() == 2 and logits.size(0) == 1
    row = logits[0].clone()  # (vocab_size,)
    row[row < torch.topk(row, min(top_k, row.numel())).values[-1]] = -float("inf")
    return row[None]
"""

MAKES_SCHEDULE = """import math


def warmup_cosine_schedule(max_lr, warmup_steps, total_steps, min_lr=0.0):
    def rate(step):
        if step < warmup_steps:
            return max_lr * (step + 1) / warmup_steps
        progress = min((step - warmup_steps) / (total_steps - warmup_steps), 1.0)
        return min_lr + (max_lr - min_lr) * 0.5 * (1.0 + math.cos(math.pi * progress))

    return rate
"""

GIVEN_POSITIONS = """from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention


class CasualSelfAttention(nn.Module):
    def __init__(self, width: int, num_heads: int, pos_embeddings: nn.Module):
        super().__init__()
        self.num_heads, self.size = num_heads, width // num_heads
        self.to_q, self.to_k, self.to_v, self.to_out = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.pos_embeddings = pos_embeddings

    def forward(self, x: Tensor, at: Tensor | None = None):
        rows, length, width = x.shape
        q, k, v = (layer(x).view(rows, length, self.num_heads, self.size) for layer in (self.to_q, self.to_k, self.to_v))
        q, k = self.pos_embeddings(q, at), self.pos_embeddings(k, at)
        mixed = scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=True)
        return self.to_out(mixed.transpose(1, 2).reshape(rows, length, width))
"""

NEW_TOKENS = """import torch
from torch import nn


class TextModel(nn.Module):
    def __init__(self, vocab_size, width, context_length):
        super().__init__()
        self.context_length = context_length
        self.table = nn.Embedding(vocab_size, width)

    def forward(self, x):
        return self.table(x) @ self.table.weight.T

    @torch.no_grad()
    def generate(self, x, max_new_tokens):
        prompt_length = x.size(-1)
        for _ in range(max_new_tokens):
            seen = x[:, -self.context_length :]
            x = torch.cat((x, self.forward(seen)[:, -1].argmax(-1, keepdim=True)), dim=-1)
        return x[:, prompt_length:]
"""

COMPUTED_POSITIONS = """import torch
from torch import nn


class TokenEmbedding(nn.Embedding):
    def __init__(self, vocab_size, width):
        super().__init__(vocab_size, width)


class Waves(nn.Module):
    def __init__(self, width, max_len):
        super().__init__()
        self.table = torch.zeros(max_len, width)
        angles = torch.arange(max_len).unsqueeze(1) / 10000 ** (torch.arange(0, width, 2) / width)
        self.table[:, 0::2] = angles.sin()
        self.table[:, 1::2] = angles.cos()

    def forward(self, x):
        return self.table[: x.size(1)]


class InputEmbedding(nn.Module):
    def __init__(self, vocab_size, width, max_len=64):
        super().__init__()
        self.tokens = TokenEmbedding(vocab_size, width)
        self.positions = Waves(width, max_len)

    def forward(self, x):
        return self.tokens(x) + self.positions(x)
"""

PROGRAMS = (
    Program(
        "GroupedAttention",
        "grouped_query_attention",
        MASK_NOT_READ,
        (("is_causal=True", "is_causal=False"), ("q, k, v, attn", "k, k, v, attn")),
    ),
    Program("keep_top_k", "top_k", ONE_ROW, (("row[row < torch", "row[row <= torch"),)),
    Program("warmup_cosine_schedule", "cosine_schedule", MAKES_SCHEDULE, (("0.5 * (1.0 +", "0.5 * (1.0 -"),)),
    Program("CasualSelfAttention", "causal_self_attention", GIVEN_POSITIONS, (("k, at)", "v, at)"),)),
    Program(
        "TextModel.generate",
        "generate",
        NEW_TOKENS,
        (("seen = x[:, -self.context_length :]", "x = x[:, -self.context_length :]\n            seen = x"),),
    ),
    Program("InputEmbedding", "positioned_embedding", COMPUTED_POSITIONS, (("unsqueeze(1) / 10000", "unsqueeze(1) * 10000"),)),
)
