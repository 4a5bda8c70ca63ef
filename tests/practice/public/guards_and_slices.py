"""A loss of predictions with a guard, tokens as a tuple, a feed-forward of one width, a block that makes its mask, and a class that groups functions."""

from __future__ import annotations

from tests.practice.public.program import Program

LOSS = """
import numpy as np

def cross_entropy(a, y):
    '''
    a : Model predictions
    y : True labels
    '''
    if a.ndim == 1:
        a, y = a.reshape(1, -1), y.reshape(1, -1)
    offset = 1e-7
    return -np.sum(y * np.log(a + offset)) / y.shape[0]
"""

TUPLES = """
class BPE:
    @staticmethod
    def merge_tokens(token_sequence: tuple[bytes, ...], merge_pair: tuple[bytes, bytes], new_token: bytes):
        merged, i = [], 0
        while i < len(token_sequence):
            if i < len(token_sequence) - 1 and token_sequence[i:i+2] == merge_pair:
                merged.append(new_token)
                i += 2
            else:
                merged.append(token_sequence[i])
                i += 1
        return tuple(merged)
"""

ONE_WIDTH = """
import torch
import torch.nn as nn

class FeedForward(nn.Module):
    def __init__(self, n_embd, dropout=0.0):
        super().__init__()
        self.up = nn.Linear(n_embd, 1 * n_embd, bias=False)
        self.act = nn.GELU()
        self.down = nn.Linear(1 * n_embd, n_embd, bias=False)

    def forward(self, x):
        return self.down(self.act(self.up(x)))
"""

BLOCK = """
import math

import torch
from torch import nn

def attend(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    return torch.softmax(scores, dim=-1) @ v

class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.eps, self.weight = eps, nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight

class Swiglu(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.w1, self.w3 = nn.Linear(d_model, d_ff, bias=False), nn.Linear(d_model, d_ff, bias=False)
        self.w2 = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x):
        return self.w2(nn.functional.silu(self.w1(x)) * self.w3(x))

class SelfAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))

    def forward(self, x, positions=None, mask=None):
        length = x.size(-2)
        if mask is None:
            mask = torch.tril(torch.ones(length, length))
        def heads(y):
            return y.view(*y.shape[:-1], self.num_heads, -1).transpose(-2, -3)
        out = attend(heads(self.q_proj(x)), heads(self.k_proj(x)), heads(self.v_proj(x)), mask)
        return self.o_proj(out.transpose(-2, -3).flatten(-2))

class TransformerBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.ln1, self.ln2 = RMSNorm(d_model), RMSNorm(d_model)
        self.attn, self.ffn = SelfAttention(d_model, num_heads), Swiglu(d_model, d_ff)

    def forward(self, x, positions=None, mask=None):
        length = x.size(-2)
        if positions is None:
            positions = torch.arange(length)
        if mask is None:
            mask = torch.tril(torch.ones(length, length))
        x = self.attn(self.ln1(x), positions=positions, mask=mask) + x
        return self.ffn(self.ln2(x)) + x
"""

GROUPED = """
import re
from collections import Counter

class BPE:
    def count_pairs(words):
        counts = Counter()
        for word in words:
            for pair in zip(word, word[1:]):
                counts[pair] += 1
        return counts

    def merge_word(word, pair):
        merged, i = [], 0
        while i < len(word):
            if i + 1 < len(word) and (word[i], word[i + 1]) == pair:
                merged.append(word[i] + word[i + 1])
                i += 2
            else:
                merged.append(word[i])
                i += 1
        return merged

    def train_bpe(text, num_merges):
        words = [[bytes([each]) for each in word.encode()] for word in re.findall(r" ?\\S+|\\s+", text)]
        merges = []
        for _ in range(num_merges):
            counts = BPE.count_pairs(words)
            if not counts:
                break
            best = max(counts, key=lambda pair: (counts[pair], pair))
            merges.append(best)
            words = [BPE.merge_word(word, best) for word in words]
        return merges
"""

COUNTED = """
from collections import Counter

def determine_merges(word_counts: Counter, num_merges: int):
    merges = []
    for _ in range(num_merges):
        pairs = Counter()
        for word, count in word_counts.items():
            for pair in zip(word, word[1:]):
                pairs[pair] += count
        if not pairs:
            break
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        merges.append(best)
        for word in [word for word in word_counts if best in zip(word, word[1:])]:
            count, joined, i = word_counts.pop(word), [], 0
            while i < len(word):
                if word[i : i + 2] == best:
                    joined.append(word[i] + word[i + 1])
                    i += 2
                else:
                    joined.append(word[i])
                    i += 1
            word_counts[tuple(joined)] += count
    return merges
"""

OF_CLASS = """
import math

class Config:
    learning_rate = 1e-3
    min_lr = 1e-4
    warmup_iters = 500
    max_iters = 5000

def get_lr(step):
    if step < Config.warmup_iters:
        return Config.learning_rate * step / Config.warmup_iters
    if step > Config.max_iters:
        return Config.min_lr
    ratio = (step - Config.warmup_iters) / (Config.max_iters - Config.warmup_iters)
    return Config.min_lr + 0.5 * (1 + math.cos(math.pi * ratio)) * (Config.learning_rate - Config.min_lr)
"""

PROGRAMS = (
    Program(
        "cross_entropy",
        "cross_entropy",
        LOSS,
        (("return -np.sum", "return np.sum"), ("/ y.shape[0]", "/ y.shape[1]"), ("a + offset", "a + y")),
    ),
    Program("BPE.merge_tokens", "merge_pair", TUPLES, (("i += 2", "i += 1"), ("merged.append(token_sequence[i])", "pass"))),
    Program("FeedForward", "feed_forward", ONE_WIDTH, (("self.down(self.act(self.up(x)))", "self.act(self.down(self.up(x)))"),)),
    Program("TransformerBlock", "encoder_layer", BLOCK, (("mask=mask) + x", "mask=mask)"), ("self.ln1(x), positions", "x, positions"))),
    Program("BPE.train_bpe", "bpe_train", GROUPED, (("key=lambda pair: (counts[pair], pair)", "key=lambda pair: pair"),)),
    Program("determine_merges", "bpe_train", COUNTED, (("pairs[pair] += count", "pairs[pair] += 1"), ("i += 2", "i += 1"))),
    Program(
        "get_lr",
        "cosine_schedule",
        OF_CLASS,
        (("0.5 * (1 +", "(1 +"), ("math.pi * ratio", "math.pi * ratio / 2"), ("step > Config.max", "step < Config.max")),
    ),
)
