"""Parts that mark ranges for a profiler or have a flag next to a mask, schedules that set the first rate when they are made, and trainers that keep counts of pairs from one merge to the next."""

from __future__ import annotations

from tests.practice.public.program import Program

RANGES = """
from contextlib import nullcontext

import torch
import torch.cuda.nvtx as nvtx
from torch import nn

profiles = True
section = nvtx.range if profiles else lambda _: nullcontext()


class Linear(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(out_features, in_features))

    @nvtx.range("linear")
    def forward(self, x):
        with section("product"):
            y = x @ self.weight.T
        return y
"""

KEPT_COUNTS = """
import heapq
import re
from collections import Counter, defaultdict


def train_bpe(text, num_merges):
    words = Counter(tuple(bytes([b]) for b in word.encode()) for word in re.findall(r" ?[^\\W\\d_]+| ?\\S+|\\s+", text))
    counts, levels = Counter(), defaultdict(set)
    for word, number in words.items():
        for pair in zip(word, word[1:]):
            counts[pair] += number
    for pair, number in counts.items():
        levels[number].add(pair)
    heap = sorted(-number for number in levels)

    def change(pair, by):
        levels[counts[pair]].discard(pair)
        counts[pair] += by
        levels[counts[pair]].add(pair)
        heapq.heappush(heap, -counts[pair])

    merges = []
    while len(merges) < num_merges:
        while heap and not levels[-heap[0]]:
            heapq.heappop(heap)
        if not heap or heap[0] == 0:
            break
        best = max(levels[-heap[0]])
        merges.append(best)
        joined = Counter()
        for word, number in words.items():
            new, i = [], 0
            while i < len(word):
                step = 2 if word[i : i + 2] == best else 1
                new.append(b"".join(word[i : i + step]))
                i += step
            if len(new) < len(word):
                for pair in zip(word, word[1:]):
                    change(pair, -number)
                for pair in zip(new, new[1:]):
                    change(pair, number)
            joined[tuple(new)] += number
        words = joined
    return merges
"""

FLAG = """
import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, x, use_mask=False, mask=None):
        batch, length, width = x.shape
        q, k, v = (layer(x).view(batch, length, self.num_heads, -1).transpose(1, 2) for layer in (self.w_q, self.w_k, self.w_v))
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
        if use_mask:
            scores = scores + mask
        return self.w_o((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, width))


class EncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.feed_forward = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))

    def forward(self, x, use_mask=False, mask=None):
        x = self.norm1(x + self.attention(x, use_mask=use_mask, mask=mask))
        return self.norm2(x + self.feed_forward(x))
"""

SET_WHEN_MADE = """
class CustomScheduler:
    def __init__(self, optimizer, d_model, warmup_steps=4000):
        self.optimizer, self.d_model, self.warmup_steps = optimizer, d_model, warmup_steps
        self.current_step = 0
        self.step()

    def step(self):
        self.current_step += 1
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate()

    def rate(self):
        return self.d_model**-0.5 * min(self.current_step**-0.5, self.current_step * self.warmup_steps**-1.5)
"""

BATCH_SECOND = """
import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.1):
        super().__init__()
        self.num_heads = num_heads
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model) for _ in range(4))
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key, value):
        batch_size = query.size(1)
        q, k, v = (
            layer(x).view(-1, batch_size, self.num_heads, layer.out_features // self.num_heads).transpose(0, 2)
            for layer, x in ((self.w_q, query), (self.w_k, key), (self.w_v, value))
        )
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
        out = self.dropout(scores.softmax(-1)) @ v
        return self.w_o(out.transpose(0, 2).reshape(query.size(0), batch_size, -1))


class EncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, num_heads, dropout)
        self.feed_forward = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def forward(self, x):
        x = self.norm1(x + self.self_attn(x, x, x))
        return self.norm2(x + self.feed_forward(x))
"""

REQUIRED_BLOCKS = """
import math
import torch
from torch import nn


class Heads(nn.Module):
    def __init__(self, width, num_heads):
        super().__init__()
        self.num_heads, self.size = num_heads, width // num_heads
        self.to_q, self.to_k, self.to_v, self.join = (nn.Linear(width, width) for _ in range(4))

    def forward(self, queries, source, blocked):
        T_q, B, D = queries.shape
        T_k = source.shape[0]
        q = self.to_q(queries).view(T_q, B, self.num_heads, self.size).permute(1, 2, 0, 3)
        k = self.to_k(source).view(T_k, B, self.num_heads, self.size).permute(1, 2, 0, 3)
        v = self.to_v(source).view(T_k, B, self.num_heads, self.size).permute(1, 2, 0, 3)
        scores = q @ k.transpose(-1, -2) / math.sqrt(self.size)
        if blocked is not None:
            scores = scores.masked_fill(blocked, -1e9)
        return self.join((scores.softmax(-1) @ v).permute(2, 0, 1, 3).reshape(T_q, B, D))


class DecoderLayer(nn.Module):
    def __init__(self, width, num_heads, inner):
        super().__init__()
        self.own, self.cross = Heads(width, num_heads), Heads(width, num_heads)
        self.inner = nn.Sequential(nn.Linear(width, inner), nn.ReLU(), nn.Linear(inner, width))
        self.norm_a, self.norm_b, self.norm_c = nn.LayerNorm(width), nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, y, memory, tgt_block, src_block):
        y = self.norm_a(y + self.own(y, y, tgt_block))
        y = self.norm_b(y + self.cross(y, memory, src_block))
        return self.norm_c(y + self.inner(y))
"""
REQUIRED_BLOCK = (
    REQUIRED_BLOCKS.partition("class DecoderLayer")[0]
    + """
class EncoderLayer(nn.Module):
    def __init__(self, width, num_heads, inner):
        super().__init__()
        self.own = Heads(width, num_heads)
        self.inner = nn.Sequential(nn.Linear(width, inner), nn.ReLU(), nn.Linear(inner, width))
        self.norm_a, self.norm_b = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x, block):
        x = self.norm_a(x + self.own(x, x, block))
        return self.norm_b(x + self.inner(x))
"""
)

PROGRAMS = [
    Program(
        "train_bpe",
        "bpe_train",
        KEPT_COUNTS,
        (
            ("zip(new, new[1:])", "[*zip(new, new[1:]), *(each for each in zip(new, new[1:]) if each[0] == each[1] == best[0] + best[1])]"),
            ("max(levels[-heap[0]])", "max(levels[-heapq.heappop(heap)])"),
        ),
    ),
    Program("CustomScheduler", "noam_schedule", SET_WHEN_MADE, (("**-1.5", "**-0.5"), ("self.current_step = 0", "self.current_step = 1"))),
    Program("EncoderLayer", "encoder_layer", BATCH_SECOND, (("query.size(1)", "query.size(0)"), ("self.norm2(x + ", "self.norm2("))),
    Program("DecoderLayer", "decoder_layer", REQUIRED_BLOCKS, (("self.norm_b(y + ", "self.norm_b("),)),
    Program("EncoderLayer", "encoder_layer", REQUIRED_BLOCK, (("self.norm_b(x + ", "self.norm_b("),)),
    Program("Linear", "linear", RANGES, (("self.weight.T", "self.weight"),)),
    Program("EncoderLayer", "encoder_layer", FLAG, (("mask=mask))", "mask=0.0 * mask if mask is not None else None))"),)),
]
