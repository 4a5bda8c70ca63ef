"""Programs that attend in tiles, number the layers of a gate, hold positions of sequences in columns, or take positions, with mistakes in their text."""

from __future__ import annotations

from tests.practice.public.program import Program

TILES = """
import numpy as np

def tiled_attention(q, k, v, block_size=16, causal=False):
    length, width = q.shape
    answer = np.empty((length, width))
    for top in range(0, length, block_size):
        rows = q[top:top + block_size] / np.sqrt(width)
        highest = np.full((len(rows), 1), -np.inf)
        total, mixed = np.zeros((len(rows), 1)), np.zeros((len(rows), width))
        for left in range(0, length, block_size):
            scores = rows @ k[left:left + block_size].T
            if causal:
                later = np.arange(left, left + scores.shape[1]) > np.arange(top, top + len(rows))[:, None]
                scores = np.where(later, -1e30, scores)
            peak = np.maximum(highest, scores.max(axis=1, keepdims=True))
            shrink, weights = np.exp(highest - peak), np.exp(scores - peak)
            total = total * shrink + weights.sum(axis=1, keepdims=True)
            mixed = mixed * shrink + weights @ v[left:left + block_size]
            highest = peak
        answer[top:top + len(rows)] = mixed / total
    return answer
"""

NUMBERED = """
from torch import nn
from torch.nn.functional import silu

class SwishGLU(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.w1 = nn.Linear(width, inner, bias=False)
        self.w2 = nn.Linear(width, inner, bias=False)
        self.w3 = nn.Linear(inner, width, bias=False)

    def forward(self, x):
        return self.w3(self.w1(x) * silu(self.w2(x)))
"""

COLUMNS = """
import torch
from torch import nn

class LearnedPositionalEmbedding(nn.Module):
    def __init__(self, vocab, width, longest=64):
        super().__init__()
        self.tokens = nn.Embedding(vocab, width)
        self.places = nn.Parameter(torch.zeros(longest, 1, width))

    def forward(self, x):
        return self.tokens(x) + self.places[:x.shape[0]]
"""

POSITIONS = """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self, width, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width))

    def forward(self, x):
        q, k, v = (each.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for each in self.qkv(self.norm1(x)).chunk(3, -1))
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        return x + self.mlp(self.norm2(x))

class TransformerLM(nn.Module):
    def __init__(self, vocab_size, context_length, width, num_heads, num_layers):
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocab_size, width), nn.Embedding(context_length, width)
        self.blocks = nn.ModuleList([Block(width, num_heads) for _ in range(num_layers)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocab_size, bias=False)

    def forward(self, token_ids, token_positions):
        x = self.tokens(token_ids) + self.places(token_positions)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))
"""

WARM_UP = """
from math import cos, pi

def lr_scheduler(step, lr_max, lr_min, warm_up, iterations):
    if step < warm_up:
        return lr_max * step / warm_up
    share = min(1.0, (step - warm_up) / (iterations - warm_up))
    return lr_min + (lr_max - lr_min) * (1 + cos(pi * share)) / 2
"""

BY_PARTS = """
import torch

def greedy_decode(model, source, source_mask, max_len, start_symbol, end_symbol):
    width = model.d_model ** 0.5
    places = model.positional_encoding
    memory = model.encoder(places(model.src_embedding(source) * width), source_mask)
    ids = torch.full((1, 1), start_symbol, dtype=torch.long)
    while ids.shape[1] < max_len:
        mask = model.make_tgt_mask(ids)
        states = model.decoder(places(model.tgt_embedding(ids) * width), memory, source_mask, mask)
        chosen = model.linear(states[:, -1]).argmax(-1)
        ids = torch.cat([ids, chosen[:, None]], dim=1)
        if chosen.item() == end_symbol:
            break
    return ids
"""

PROGRAMS = (
    Program(
        "greedy_decode",
        "generate",
        BY_PARTS,
        (("states[:, -1]", "states[:, 0]"), ("memory, source_mask, mask", "model.src_embedding(source), source_mask, mask")),
    ),
    Program(
        "tiled_attention",
        "scaled_dot_product_attention",
        TILES,
        (("mixed * shrink", "mixed"), ("scores.max(axis=1, keepdims=True)", "scores.max(axis=0)[:, None]"), (" / np.sqrt(width)", "")),
    ),
    Program("SwishGLU", "gated_feed_forward", NUMBERED, (("silu(self.w2(x))", "silu(self.w1(x))"), ("silu(self.w2(x))", "self.w2(x)"))),
    Program("LearnedPositionalEmbedding", "learned_positions", COLUMNS, ((" + self", " * self"), ("x.shape[0]", "x.shape[1]"))),
    Program("TransformerLM", "gpt2", POSITIONS, (("self.head(self.norm(x))", "self.head(x)"), (" + self.places(token_positions)", ""))),
    Program(
        "lr_scheduler",
        "cosine_schedule",
        WARM_UP,
        (("(iterations - warm_up)", "iterations"), ("(1 + cos(pi * share))", "(1 + cos(share))")),
    ),
)
