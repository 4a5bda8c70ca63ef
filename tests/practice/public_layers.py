"""Attentions and layers whose masks concern queries as well, with mistakes as replacements in their text."""

from __future__ import annotations

from tests.practice.public_parts import Program

PADDED_QUERIES = """
import torch
from torch import nn

class Head(nn.Module):
    def __init__(self, width, head_width):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(width, head_width, bias=False) for _ in range(3))

    def forward(self, x, pad_mask=None):
        length = x.shape[1]
        q, k, v = self.query(x), self.key(x), self.value(x)
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        scores = scores.masked_fill(later, float("-inf"))
        if pad_mask is not None:
            scores = scores.masked_fill(pad_mask[:, None, :] == 0, float("-inf"))
        out = scores.softmax(-1) @ v
        if pad_mask is not None:
            out = out * pad_mask[:, :, None].to(out.dtype)
        return out

class MultiHeadAttention(nn.Module):
    def __init__(self, num_heads, width):
        super().__init__()
        self.heads = nn.ModuleList([Head(width, width // num_heads) for _ in range(num_heads)])
        self.out = nn.Linear(width, width)

    def forward(self, x, pad_mask=None):
        return self.out(torch.cat([head(x, pad_mask=pad_mask) for head in self.heads], dim=-1))

class Block(nn.Module):
    def __init__(self, width, num_heads):
        super().__init__()
        self.attention = MultiHeadAttention(num_heads, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width))
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x, pad_mask=None):
        x = x + self.attention(self.norm_1(x), pad_mask=pad_mask)
        return x + self.mlp(self.norm_2(x))
"""

ONE_SEQUENCE = """
import numpy as np

def norm(x, weight, bias):
    return weight * (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) + bias

class EncoderLayer:
    def __init__(self, width, num_heads, inner, rng=np.random.default_rng(0)):
        self.num_heads = num_heads
        self.w_q, self.w_k, self.w_v, self.w_o = rng.normal(size=(4, width, width))
        self.w_1, self.b_1 = rng.normal(size=(width, inner)), np.zeros(inner)
        self.w_2, self.b_2 = rng.normal(size=(inner, width)), np.zeros(width)
        self.gamma_1, self.beta_1 = np.ones(width), np.zeros(width)
        self.gamma_2, self.beta_2 = np.ones(width), np.zeros(width)

    def heads(self, x):
        length, width = x.shape
        return x.reshape(length, self.num_heads, width // self.num_heads).transpose(1, 0, 2)

    def forward(self, x, mask):
        normed = norm(x, self.gamma_1, self.beta_1)
        q, k, v = (self.heads(normed @ weight) for weight in (self.w_q, self.w_k, self.w_v))
        scores = np.where(mask, q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1]), -1e9)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        x = x + (weights @ v).transpose(1, 0, 2).reshape(x.shape) @ self.w_o
        inner = norm(x, self.gamma_2, self.beta_2) @ self.w_1 + self.b_1
        inner = 0.5 * inner * (1 + np.tanh(np.sqrt(2 / np.pi) * (inner + 0.044715 * inner**3)))
        return x + inner @ self.w_2 + self.b_2
"""

SOME_BIASES = """
import torch
from torch import nn

class Attention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.query, self.key, self.value, self.out = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
    def forward(self, q, k, v, mask):
        q, k, v = (x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for x in (self.query(q), self.key(k), self.value(v)))
        scores = (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).masked_fill(mask, -1e9)
        weights = scores.softmax(-1)
        return self.out((weights @ v).transpose(1, 2).flatten(2)), weights

class EncoderBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, layer_norm_eps=1e-5, bias=True):
        super().__init__()
        self.norm1, self.norm2 = (nn.LayerNorm(d_model, eps=layer_norm_eps, bias=bias) for _ in range(2))
        self.attention = Attention(d_model, num_heads)
        self.ffn = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
    def forward(self, x, self_attn_mask):
        x = self.norm1(x + self.attention(x, x, x, self_attn_mask)[0])
        return self.norm2(x + self.ffn(x))
"""

TRAINED_BY_THE_CLASS = """
from collections import Counter

class BPETrainer:
    @classmethod
    def train(cls, text: str, vocab_size: int):
        ids = list(text.encode("utf-8"))
        vocab, merges = {byte: bytes([byte]) for byte in range(256)}, []
        while len(vocab) < vocab_size:
            counts = Counter(zip(ids, ids[1:]))
            if not counts:
                break
            pair = max(counts, key=lambda each: (counts[each], vocab[each[0]], vocab[each[1]]))
            merges.append((vocab[pair[0]], vocab[pair[1]]))
            out, place = [], 0
            while place < len(ids):
                is_pair = tuple(ids[place : place + 2]) == pair
                out.append(len(vocab) if is_pair else ids[place])
                place += 2 if is_pair else 1
            ids = out
            vocab[len(vocab)] = b"".join(merges[-1])
        return vocab, merges
"""

STATISTICS = """
def get_statistics(ids: list) -> dict:
    counts = {}
    for pair in zip(ids, ids[1:]):
        counts[pair] = counts.get(pair, 0) + 1
    return counts
"""

OF_ELEMENTS = """
def rmsnorm(x):
    ms = sum(xi * xi for xi in x) / len(x)
    scale = (ms + 1e-5) ** -0.5
    return [xi * scale for xi in x]
"""

PROGRAMS = (
    Program("rmsnorm", "rms_norm", OF_ELEMENTS, ((" / len(x)", ""), ("** -0.5", "** -1"), ("xi * xi", "xi"))),
    Program(
        "Head",
        "causal_self_attention",
        PADDED_QUERIES,
        (
            ("== 0, float", "== 1, float"),
            ("* pad_mask[:, :, None]", "* (1 - pad_mask[:, :, None])"),
            (".triu(1)", ".triu(2)"),
        ),
    ),
    Program("MultiHeadAttention", "multi_head_attention", PADDED_QUERIES, ((".triu(1)", ".triu(0)"),)),
    Program("Block", "encoder_layer", PADDED_QUERIES, (("x = x + self.attention(self.norm_1(x)", "x = self.attention(self.norm_1(x)"),)),
    Program(
        "EncoderLayer",
        "encoder_layer",
        ONE_SEQUENCE,
        (("np.sqrt(q.shape[-1])", "np.sqrt(q.shape[0])"), ("mask, q", "mask.T, q"), ("return x + inner @", "return inner @")),
    ),
    Program("EncoderBlock", "encoder_layer", SOME_BIASES, (("q.shape[-1] **", "q.shape[1] **"), ("x + self.ffn(x)", "self.ffn(x)"))),
    Program("BPETrainer", "bpe_train", TRAINED_BY_THE_CLASS, (("place += 2 if", "place += 3 if"),)),
    Program("get_statistics", "pair_counts", STATISTICS, (("counts.get(pair, 0) + 1", "1"),)),
)
