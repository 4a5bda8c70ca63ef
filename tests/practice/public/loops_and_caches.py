"""Clipping of iterators, generation and attention with caches that a flag turns on, and sizes of keys and values, with mistakes as replacements."""

from __future__ import annotations

from tests.practice.public.program import Program

CLIPPING = """
from collections.abc import Iterable

import torch


def clip_gradients(params: Iterable[torch.nn.Parameter], limit: float):
    held = [each for each in params if each.grad is not None]
    norm = torch.sqrt(sum(each.grad.pow(2).sum() for each in held))
    if norm > limit:
        for each in held:
            each.grad.mul_(limit / (norm + 1e-6))
"""

GENERATION = """
import torch
import torch.nn as nn


class Poet(nn.Module):
    @torch.no_grad()
    def generate(self, idx, max_new_tokens, use_cache=True):
        if use_cache:
            self.reset_cache()
        for step in range(max_new_tokens):
            if use_cache:
                fed = idx if step == 0 else idx[:, -1:]
            else:
                fed = idx[:, -self.config.block_size :]
            logits, _ = self(fed, use_cache=use_cache)
            idx = torch.cat([idx, logits[:, -1].argmax(-1, keepdim=True)], dim=1)
        return idx
"""

CACHED = """
import torch
import torch.nn as nn
import torch.nn.functional as F


class KeptAttention(nn.Module):
    def __init__(self, width, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.q, self.k = nn.Linear(width, width), nn.Linear(width, width)
        self.v, self.o = nn.Linear(width, width), nn.Linear(width, width)
        self.cache_k = self.cache_v = None

    def split(self, x):
        return x.view(x.size(0), x.size(1), self.num_heads, -1).transpose(1, 2)

    def forward(self, x, use_cache=False):
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        num_old = 0
        if use_cache:
            if self.cache_k is not None:
                num_old = self.cache_k.size(2)
                k, v = torch.cat([self.cache_k, k], dim=2), torch.cat([self.cache_v, v], dim=2)
            self.cache_k, self.cache_v = k, v
        is_hidden = torch.ones(q.size(2), k.size(2), dtype=torch.bool).triu(1 + num_old)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=~is_hidden)
        return self.o(y.transpose(1, 2).reshape(x.shape))
"""

PROGRAMS = (
    Program(
        "clip_gradients", "gradient_clipping", CLIPPING, (("held = [each for each in params if each.grad is not None]", "held = params"),)
    ),
    Program("Poet.generate", "generate", GENERATION, (("idx if step == 0 else idx[:, -1:]", "idx[:, -1:]"),)),
    Program(
        "KeptAttention",
        "stacked_heads_attention",
        CACHED,
        (("triu(1 + num_old)", "triu(1 + num_old) & (not use_cache)"), ("triu(1 + num_old)", "triu(1)")),
    ),
)
