"""Parts that are written for matrices, one sequence or one special token: norms over axis 1, tables of positions, trainers of byte pairs; and operands with other words."""

from __future__ import annotations

from tests.practice.public.program import Program

NORM_OF_ROWS = """import numpy as np


class LayerNorm:
    def __init__(self, width, eps=1e-5):
        self.gamma, self.beta, self.eps = np.ones(width), np.zeros(width), eps

    def forward(self, x):
        self.root = np.sqrt(x.var(axis=1, keepdims=True) + self.eps)
        self.normed = (x - x.mean(axis=1, keepdims=True)) / self.root
        return self.normed * self.gamma + self.beta

    def backward(self, grad):
        self.grad_gamma = np.sum(grad * self.normed, axis=0)
        self.grad_beta = np.sum(grad, axis=0)
        inner = grad * self.gamma
        along = (inner * self.normed).mean(axis=1, keepdims=True)
        return (inner - inner.mean(axis=1, keepdims=True) - self.normed * along) / self.root
"""

COLUMN_OF_TOTALS = """import numpy as np


def softmax(scores):
    powers = np.exp(scores - scores.max(axis=1).reshape(-1, 1))
    return powers / powers.sum(axis=1).reshape(-1, 1)
"""

ONE_OR_TWO_AXES = '''import numpy as np


def softmax(x):
    """Softmax of a 1D or 2D array, whose rows are apart."""
    along = 0 if x.ndim == 1 else 1
    powers = np.exp(x - x.max(axis=along, keepdims=True))
    return powers / powers.sum(axis=along, keepdims=True)
'''

POSITIONS_OF_ONE = """import numpy as np


class PositionalEncoding:
    def __call__(self, x):
        seq_len = x.shape[0]
        width = x.shape[1]
        table = np.zeros((seq_len, width))
        for place in range(seq_len):
            for column in range(width):
                angle = place / 10000 ** ((column - column % 2) / width)
                table[place, column] = np.sin(angle) if column % 2 == 0 else np.cos(angle)
        return table
"""

MEMORY_FIRST = """import torch
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, source_seq, target_seq):
        k, v, q = self.k(source_seq), self.v(source_seq), self.q(target_seq)
        return torch.softmax(q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5, dim=-1) @ v
"""

IMAGE_FIRST = MEMORY_FIRST.replace("source_seq", "image").replace("target_seq", "text")

TYPE_AS_TEXT = """import numpy as np


def rope_tables(length, head_dim, theta, dtype):
    kind = getattr(np, dtype)
    angles = np.outer(np.arange(length), theta ** (-np.arange(0, head_dim, 2) / head_dim))
    return np.cos(angles).astype(kind), np.sin(angles).astype(kind)
"""

AT_ONE_TOKEN = """def join(ids, pair, new):
    out, at = [], 0
    while at < len(ids):
        is_pair = tuple(ids[at : at + 2]) == pair
        out.append(new if is_pair else ids[at])
        at += 2 if is_pair else 1
    return out


def train_bpe(text, vocab_size, eot_token="<|endoftext|>"):
    parts = [list(part.encode("utf-8")) for part in text.split(eot_token)]
    merges = {}
    for new in range(256, vocab_size - 1):
        counts = {}
        for ids in parts:
            for pair in zip(ids, ids[1:]):
                counts[pair] = counts.get(pair, 0) + 1
        best = max(counts, key=counts.get)
        merges[best] = new
        parts = [join(ids, best, new) for ids in parts]
    return merges
"""

WIDTHS_BY_DEFAULT = """import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, width, kdim=96, vdim=48, num_heads=4):
        super().__init__()
        self.num_heads, self.kdim = num_heads, kdim
        assert kdim % num_heads == 0 and vdim % num_heads == 0
        self.q, self.k, self.v, self.out = nn.Linear(width, kdim), nn.Linear(width, kdim), nn.Linear(width, vdim), nn.Linear(vdim, width)

    def split(self, x):
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)

    def forward(self, q, k, v):
        q, k, v = self.split(self.q(q)), self.split(self.k(k)), self.split(self.v(v))
        weights = torch.softmax(q @ k.transpose(-2, -1) / (self.kdim // self.num_heads) ** 0.5, dim=-1)
        return self.out((weights @ v).transpose(1, 2).flatten(2))
"""

WIDTHS_OF_INPUTS = """import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, width, num_heads, kdim=None, vdim=None):
        super().__init__()
        kdim, vdim, self.num_heads = kdim or width, vdim or width, num_heads
        self.q, self.k, self.v, self.out = nn.Linear(width, width), nn.Linear(kdim, width), nn.Linear(vdim, width), nn.Linear(width, width)

    def split(self, x):
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)

    def forward(self, q, k, v):
        q, k, v = self.split(self.q(q)), self.split(self.k(k)), self.split(self.v(v))
        weights = torch.softmax(q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5, dim=-1)
        return self.out((weights @ v).transpose(1, 2).flatten(2))
"""

NAMED_AS_ITS_SIZE = """import torch
from torch import nn


class Linear(nn.Module):
    def __init__(self, in_features: int, out_features: int):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(out_features, in_features) * 0.1)

    def forward(self, in_features: torch.Tensor) -> torch.Tensor:
        return in_features @ self.weight.T
"""

PROGRAMS = (
    Program(
        "LayerNorm", "layer_norm", NORM_OF_ROWS, (("np.sum(grad, axis=0)", "np.sum(grad, axis=(0, 1))"), ("x.mean(axis=1", "x.mean(axis=0"))
    ),
    Program("softmax", "softmax", ONE_OR_TWO_AXES, (("else 1", "else 0"), ("1D or 2D array, whose rows", "array, whose last axes"))),
    Program("softmax", "softmax", COLUMN_OF_TOTALS, (("powers / powers.sum(axis=1)", "powers / scores.sum(axis=1)"),)),
    Program(
        "PositionalEncoding", "sinusoidal_positions", POSITIONS_OF_ONE, (("column - column % 2", "column"), ("x.shape[1]", "x.shape[-1]"))
    ),
    Program(
        "CrossAttention",
        "cross_attention",
        MEMORY_FIRST,
        (("self.v(source", "self.v(target"), ("(source_seq), self.q(target_seq)", "(target_seq), self.q(source_seq)")),
    ),
    Program("CrossAttention", "cross_attention", IMAGE_FIRST, (("self.v(image", "self.v(text"),)),
    Program("rope_tables", "rotary_tables", TYPE_AS_TEXT, (("np.outer(np.arange(length)", "np.outer(1 + np.arange(length)"),)),
    Program(
        "train_bpe",
        "bpe_train",
        AT_ONE_TOKEN,
        (("text.split(eot_token)", "text.split(eot_token)[:1]"), ("vocab_size - 1", "vocab_size - 2")),
    ),
    Program("MultiHeadAttention", "multi_head_attention", WIDTHS_BY_DEFAULT, (("dim=-1)\n", "dim=-2)\n"),)),
    Program("MultiHeadAttention", "multi_head_attention", WIDTHS_OF_INPUTS, (("self.split(self.q(q))", "self.split(self.k(q))"),)),
    Program("Linear", "linear", NAMED_AS_ITS_SIZE, (("in_features @ self.weight.T", "in_features.relu() @ self.weight.T"),)),
)
