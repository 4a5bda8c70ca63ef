"""Embeddings that take a vocabulary as an object, and filters of probabilities, which a second softmax makes wrong."""

from __future__ import annotations

from tests.practice.public.program import Program

OF_VOCABULARY = """
import torch
from torch import nn

class TokenEmbedding(nn.Module):
    def __init__(self, vocab, width):
        super().__init__()
        self.rows = nn.Embedding(len(vocab), width, padding_idx=vocab.stoi["<pad>"])

    def forward(self, ids):
        return self.rows(ids)
"""

WITH_CONFIG = """
import torch
from torch import nn

class Embeddings(nn.Module):
    def __init__(self, config, vocab):
        super().__init__()
        self.tokens = nn.Embedding(config.vocab_size, config.width, padding_idx=vocab.token2idx[vocab.PAD])
        steps = torch.arange(config.max_len)[:, None] / 10000 ** (torch.arange(0, config.width, 2) / config.width)
        self.register_buffer("table", torch.stack([steps.sin(), steps.cos()], -1).flatten(1))

    def forward(self, ids):
        return self.tokens(ids) + self.table[: ids.shape[1]]
"""

OF_PROBABILITIES = """
import math
import random

def normalized(values):
    return {key: value / sum(values.values()) for key, value in values.items()}

def softmax(values):
    return normalized({key: math.exp(value) for key, value in values.items()})

def top_k_sampling(probs, k):
    kept = normalized(dict(sorted(probs.items(), key=lambda each: each[1], reverse=True)[:k]))
    drawn, total = random.random(), 0.0
    for token, share in kept.items():
        total += share
        if drawn <= total:
            return token
    return token
"""

PROGRAMS = (
    Program("TokenEmbedding", "embed", OF_VOCABULARY, (("self.rows(ids)", "self.rows(ids + 1)"),)),
    Program("Embeddings", "positioned_embedding", WITH_CONFIG, (("steps.sin(), steps.cos()", "steps.cos(), steps.sin()"),)),
    Program("top_k_sampling", "top_k", OF_PROBABILITIES, (("kept = normalized", "kept = softmax"),)),
)
