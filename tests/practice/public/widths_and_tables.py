"""Widths of one head, tables of positions in an embedding, axes that alone are accepted, tokens picked without sampling, and masks applied to scores."""

from __future__ import annotations

from tests.practice.public.program import Program

OF_ONE_SEQUENCE = """import torch
from torch import nn


class CausalAttentionHead(nn.Module):
    def __init__(self, d_model, d_k):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(d_model, d_k) for _ in range(3))

    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        later = torch.ones(len(x), len(x)).triu(1).bool()
        scores = (q @ k.t() / q.shape[1] ** 0.5).masked_fill(later, -torch.inf)
        return scores.softmax(-1) @ v
"""

WIDTH_OF_HEAD = """from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, input_dim, dim, num_heads):
        super().__init__()
        self.dim, self.num_heads = dim, num_heads
        self.to_q, self.to_k, self.to_v = (nn.Linear(input_dim, dim * num_heads, bias=False) for _ in range(3))
        self.to_out = nn.Linear(dim * num_heads, input_dim, bias=False)

    def forward(self, x):
        rows, length, _ = x.shape
        q, k, v = (layer(x).view(rows, length, self.num_heads, self.dim).transpose(1, 2) for layer in (self.to_q, self.to_k, self.to_v))
        weights = (q @ k.transpose(-2, -1) / self.dim**0.5).softmax(-1)
        return self.to_out((weights @ v).transpose(1, 2).reshape(rows, length, -1))
"""

OF_THREE_AXES = """import torch
from torch import nn


class RotaryPositionalEmbedding(nn.Module):
    def __init__(self, max_seq_len, head_dim, theta=10000.0):
        super().__init__()
        angles = torch.outer(torch.arange(max_seq_len), theta ** (-torch.arange(0, head_dim, 2) / head_dim))
        self.cos, self.sin = angles.cos(), angles.sin()

    def forward(self, x):
        rows, length, width = x.shape
        a, b = x.split(width // 2, dim=-1)
        cos, sin = self.cos[:length], self.sin[:length]
        return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)
"""

TABLE_IN_EMBEDDING = """import torch


def generate(model, idx, max_new_tokens):
    for _ in range(max_new_tokens):
        logits = model(idx[:, -model.embedding.pos_emb.num_embeddings :])
        idx = torch.cat((idx, logits[:, -1].argmax(-1, keepdim=True)), dim=1)
    return idx
"""

PICKS = """def next_token_id(logits):
    best = 0
    for token, logit in enumerate(logits):
        if logit > logits[best]:
            best = token
    return best
"""

STEP_LAST = """import math


def cosine_annealing_schedule(base_lr, min_lr, total_steps, current_step):
    return min_lr + (base_lr - min_lr) * (1 + math.cos(math.pi * current_step / total_steps)) / 2
"""

IN_SCORES = """import numpy as np


def apply_causal_mask(scores, mask_value=-1e9):
    is_visible = np.tril(np.ones(scores.shape[-2:]))
    return np.where(is_visible == 1, scores, mask_value)
"""

OF_LOG_PROBABILITIES = """import torch
from torch import nn


class NLLLoss(nn.Module):
    def forward(self, log_probs, labels):
        return -(labels * log_probs).sum(-1).mean()
"""

CHOOSES = """from torch import nn


class AnyNorm(nn.Module):
    def __init__(self, kind, width):
        super().__init__()
        if kind == "ln":
            self.norm = nn.LayerNorm(width)
        elif kind == "rms":
            self.norm = nn.RMSNorm(width)

    def forward(self, x):
        return self.norm(x)
"""

INHERITS = """from torch import nn


class UninitializedLinear(nn.Linear):
    def reset_parameters(self):
        pass
"""

PROGRAMS = (
    Program("CausalAttentionHead", "causal_self_attention", OF_ONE_SEQUENCE, (("triu(1)", "triu(0)"), ("q.shape[1] ** 0.5", "q.shape[1]"))),
    Program("MultiHeadAttention", "multi_head_attention", WIDTH_OF_HEAD, (("/ self.dim**0.5", "/ (self.dim * self.num_heads) ** 0.5"),)),
    Program("RotaryPositionalEmbedding", "rotary", OF_THREE_AXES, (("a * sin + b * cos", "b * cos - a * sin"),)),
    Program("generate", "generate", TABLE_IN_EMBEDDING, (("logits[:, -1]", "logits[:, 0]"),)),
    Program("next_token_id", "sample", PICKS, (("logit > logits", "logit < logits"),)),
    Program("cosine_annealing_schedule", "cosine_schedule", STEP_LAST, (("(1 + math", "(1 - math"),)),
    Program("apply_causal_mask", "causal_mask", IN_SCORES, (("np.tril", "np.triu"), ("-1e9", "-1.0"), (", scores,", ", 0,"))),
    Program("NLLLoss", "cross_entropy", OF_LOG_PROBABILITIES, (("-(labels", "(labels"),)),
)
