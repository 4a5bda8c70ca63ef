"""Stacks and tables under the names of other parts, with mistakes as replacements in their text."""

from __future__ import annotations

from tests.practice.public.program import Program

TABLES = """
import torch
from torch import nn


class PositionEmbedding(nn.Embedding):
    def __init__(self, max_len, hidden_size):
        super().__init__(num_embeddings=max_len, embedding_dim=hidden_size)


class SegmentEmbedding(nn.Embedding):
    def __init__(self, hidden_size):
        super().__init__(num_embeddings=2, embedding_dim=hidden_size)


class BERTEmbedding(nn.Module):
    def __init__(self, vocab_size, max_len, hidden_size):
        super().__init__()
        self.tokens = nn.Embedding(vocab_size, hidden_size)
        self.positions = PositionEmbedding(max_len, hidden_size)
        self.segments = nn.Embedding(2, hidden_size)
        self.norm = nn.LayerNorm(hidden_size)

    def forward(self, token_ids, seg_ids):
        places = torch.arange(token_ids.shape[1])[None]
        return self.norm(self.tokens(token_ids) + self.positions(places) + self.segments(seg_ids))
"""

STACK = """
from torch import nn


class EncoderLayer(nn.Module):
    def __init__(self, hidden_size, n_heads, mlp_size):
        super().__init__()
        self.attention = nn.MultiheadAttention(hidden_size, n_heads, batch_first=True)
        self.norm_1, self.norm_2 = nn.LayerNorm(hidden_size), nn.LayerNorm(hidden_size)
        self.mlp = nn.Sequential(nn.Linear(hidden_size, mlp_size), nn.GELU(), nn.Linear(mlp_size, hidden_size))

    def forward(self, x, mask=None):
        x = self.norm_1(x + self.attention(x, x, x, key_padding_mask=mask)[0])
        return self.norm_2(x + self.mlp(x))


class TransformerBlock(nn.Module):
    def __init__(self, n_layers, n_heads, hidden_size, mlp_size):
        super().__init__()
        self.layers = nn.ModuleList([EncoderLayer(hidden_size, n_heads, mlp_size) for _ in range(n_layers)])

    def forward(self, x, mask):
        for layer in self.layers:
            x = layer(x, mask=mask)
        return x
"""

PROGRAMS = (
    Program("PositionEmbedding", "embed", TABLES),
    Program(
        "BERTEmbedding",
        "learned_positions",
        TABLES,
        ((" + self.segments(seg_ids)", ""), ("self.positions(places)", "self.positions(token_ids)")),
    ),
    Program(
        "TransformerBlock",
        "encoder_stack",
        STACK,
        (
            ("x = layer(x, mask=mask)", "x = self.layers[0](x, mask=mask)"),
            ("x = layer(x, mask=mask)\n        return x", "x = layer(x, mask=mask)\n            return x"),
        ),
    ),
)
