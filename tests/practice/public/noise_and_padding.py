"""Samplers with Gumbel noise, embeddings without padding, optimizers that are set up with a model: programs in conventions of public code."""

from __future__ import annotations

from tests.practice.public.program import Program

PROGRAMS = (
    Program(
        "gumbel_sample",
        "sample",
        """
import torch

def gumbel_sample(logits, temperature=1.0, eps=1e-10):
    uniform = torch.zeros_like(logits).uniform_(0, 1)
    noise = -torch.log((-torch.log(uniform.clamp(min=1e-20))).clamp(min=1e-20))
    return (logits / max(temperature, eps) + noise).argmax(dim=-1, keepdim=True)
""",
        (
            ("logits / max(temperature, eps) + noise", "(logits + noise) / max(temperature, eps)"),
            ("logits / max", "logits * max"),
            ("+ noise)", "+ uniform)"),
            ("+ noise)", "- noise)"),
        ),
    ),
    Program(
        "top_p",
        "top_p",
        """
import torch
import torch.nn.functional as F

def top_p(logits, thres=0.9):
    ordered, order = torch.sort(logits, descending=True)
    mass = torch.cumsum(F.softmax(ordered, dim=-1), dim=-1)
    hidden = F.pad(mass > (1 - thres), (1, -1), value=False)
    return ordered.masked_fill(hidden, float("-inf")).scatter(-1, order, ordered.masked_fill(hidden, float("-inf")))
""",
        (
            ("mass > (1 - thres), (1, -1), value=False", "mass > (1 - thres), (0, 0), value=False"),
            ("scatter(-1, order, ", "gather(-1, order + 0 * "),
        ),
    ),
    Program(
        "sample_token",
        "sample",
        """
import numpy as np

def sample_token(logits, temperature=1.0):
    return int(np.argmax(logits / temperature + np.random.gumbel(size=logits.shape)))
""",
        (("logits / temperature", "logits * temperature"), ("np.random.gumbel", "np.random.uniform"), ("argmax", "argmin")),
    ),
    Program(
        "EmbeddingBlock",
        "positioned_embedding",
        """
import math
import torch
from torch import nn

class EmbeddingBlock(nn.Module):
    def __init__(self, vocab_size, embed_dim, max_len, pad_id, dropout=0.1):
        super().__init__()
        self.tokens, self.pad_id, self.dropout = nn.Embedding(vocab_size, embed_dim), pad_id, nn.Dropout(dropout)
        angles = torch.arange(max_len)[:, None] * torch.exp(torch.arange(0, embed_dim, 2) * (-math.log(10000.0) / embed_dim))
        self.register_buffer("positions", torch.stack([angles.sin(), angles.cos()], -1).flatten(1))

    def forward(self, token_ids):
        is_padding = (token_ids == self.pad_id).unsqueeze(-1)
        x = self.tokens(token_ids) + self.positions[: token_ids.size(1)]
        return self.dropout(x.masked_fill(is_padding, 0.0))
""",
        (
            ("== self.pad_id", "!= self.pad_id"),
            ("angles.sin(), angles.cos()", "angles.cos(), angles.sin()"),
            ("== self.pad_id", ">= self.pad_id"),
        ),
    ),
    Program(
        "SGD",
        "sgd_optimizer",
        """
class SGD:
    def __init__(self, lr=0.01):
        self.lr = lr

    def update(self, params, grads):
        for i in range(len(params)):
            params[i] -= self.lr * grads[i]
""",
        (
            ("-= self.lr * grads[i]", "+= self.lr * grads[i]"),
            ("self.lr * grads[i]", "grads[i]"),
            ("range(len(params))", "range(1, len(params))"),
        ),
    ),
    Program(
        "Momentum",
        "sgd_optimizer",
        """
import numpy as np

class Optimizer:
    def __init__(self):
        self.target = None

    def setup(self, target):
        self.target = target
        return self

    def update(self):
        for parameter in self.target.params():
            if parameter.grad is not None:
                self.update_one(parameter)

class Momentum(Optimizer):
    def __init__(self, lr=0.01, momentum=0.9):
        super().__init__()
        self.lr, self.momentum, self.velocities = lr, momentum, {}

    def update_one(self, parameter):
        velocity = self.velocities.setdefault(id(parameter), np.zeros_like(parameter.data))
        velocity *= self.momentum
        velocity -= self.lr * parameter.grad
        parameter.data += velocity
""",
        (
            ("parameter.data += velocity", "parameter.data -= velocity"),
            ("velocity *= self.momentum", "velocity *= 1 - self.momentum"),
            ("velocity -= self.lr", "velocity = -self.lr"),
        ),
    ),
    Program(
        "MultiHeadSelfAttention",
        "multi_head_attention",
        """
import torch
from einops import rearrange
from torch import nn

class MultiHeadSelfAttention(nn.Module):
    def __init__(self, d_model, head_dim, n_head):
        super().__init__()
        self.head_dim = head_dim
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(d_model, head_dim * n_head, bias=False) for _ in range(3))
        self.out_proj = nn.Linear(head_dim * n_head, d_model, bias=False)

    def forward(self, x, mask=None):
        q, k, v = (rearrange(proj(x), "b l (c h) -> b h l c", c=self.head_dim) for proj in (self.q_proj, self.k_proj, self.v_proj))
        scores = q @ k.transpose(-2, -1) / self.head_dim**0.5
        if mask is not None:
            scores = scores + mask
        return self.out_proj(rearrange(scores.softmax(-1) @ v, "b h l c -> b l (c h)"))
""",
        (
            ("/ self.head_dim**0.5", "/ self.head_dim"),
            ("scores.softmax(-1)", "scores.softmax(-2)"),
            ("scores + mask", "scores - mask"),
        ),
    ),
    Program(
        "MultiheadedAttention",
        "multi_head_attention",
        """
import torch
from torch import nn

class MultiheadedAttention(nn.Module):
    def __init__(self, d_model_Q, d_model_K, d_model_V, H, d_model=None):
        super().__init__()
        self.d_model = d_model_Q if d_model is None else d_model
        self.H, self.d_k = H, self.d_model // H
        self.to_q, self.to_k = nn.Linear(d_model_Q, self.d_model), nn.Linear(d_model_K, self.d_model)
        self.to_v, self.to_out = nn.Linear(d_model_V, self.d_model), nn.Linear(self.d_model, d_model_Q)

    def forward(self, Q, K, V, mask=None):
        B = Q.shape[0]
        q, k, v = (
            layer(x).view(B, -1, self.H, self.d_k).transpose(-3, -2)
            for layer, x in ((self.to_q, Q), (self.to_k, K), (self.to_v, V))
        )
        scores = q @ k.transpose(-2, -1) / self.d_k**0.5
        if mask is not None:
            scores = scores.masked_fill(mask.unsqueeze(1) == 0, -float("inf"))
        return self.to_out((scores.softmax(-1) @ v).transpose(-3, -2).reshape(B, -1, self.d_model))
""",
        (("/ self.d_k**0.5", "/ self.d_model**0.5"), ("(self.to_v, V)", "(self.to_v, K)"), ('-float("inf")', "0.0")),
    ),
    Program(
        "Heads",
        "self_attention",
        """
import torch
from torch import nn

class Head(nn.Module):
    def __init__(self, width, head_size):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(width, head_size, bias=False) for _ in range(3))

    def forward(self, x, mask=None):
        scores = self.q(x) @ self.k(x).transpose(-2, -1) * self.v.out_features**-0.5
        return (scores if mask is None else scores + mask).softmax(-1) @ self.v(x)

class Heads(nn.Module):
    def __init__(self, width, num_heads, head_size):
        super().__init__()
        self.heads = nn.ModuleList([Head(width, head_size) for _ in range(num_heads)])

    def forward(self, x, mask=None):
        return torch.cat([head(x, mask) for head in self.heads], dim=-1)
""",
        (("dim=-1)", "dim=1)"), ("head(x, mask) for head", "self.heads[0](x, mask) for head")),
    ),
    Program(
        "AttentionBlock",
        "encoder_layer",
        """
import torch
from torch import nn

class AttentionBlock(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        self.attention = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)
        self.ff = nn.Sequential(nn.Linear(embed_dim, 4 * embed_dim), nn.ReLU(), nn.Linear(4 * embed_dim, embed_dim))
        self.ln1, self.ln2 = nn.LayerNorm(embed_dim), nn.LayerNorm(embed_dim)

    def forward(self, x, mask=None):
        normed = self.ln1(x)
        x = x + self.attention(normed, normed, normed, key_padding_mask=mask)[0]
        return x + self.ff(self.ln2(x))
""",
    ),
)
