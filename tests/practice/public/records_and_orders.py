"""Descents that return their record, counts as an ordered list, losses of a softmax's output, layers whose axes have another order, samplers of texts, and blocks whose parts name the inner width."""

from __future__ import annotations

from tests.practice.public.program import Program

SHUFFLED = """
import random

import numpy as np

class StochasticLinearRegression:
    def fit(self, X, y, epochs=1000, lr=0.01):
        X, y = np.insert(np.array(X), 0, 1, axis=1), np.array(y)
        self.beta = np.zeros(X.shape[1])
        for _ in range(epochs):
            rows = list(range(len(X)))
            random.shuffle(rows)
            for row in rows:
                self.beta = self.beta - lr * (X[row] @ self.beta - y[row]) * X[row]

    def predict(self, X):
        return np.insert(np.array(X), 0, 1, axis=1) @ self.beta
"""

PROGRAMS = (
    Program(
        "fit_line",
        "linear_regression",
        """
import numpy as np

def fit_line(x, y, w, b, alpha=0.01, iterations=100, epsilon=1e-9):
    path = []
    for _ in range(iterations):
        error = w * x + b - y
        dw, db = np.mean(error * x), np.mean(error)
        if abs(dw) < epsilon and abs(db) < epsilon:
            break
        w -= alpha * dw
        b -= alpha * db
        path.append([w, b])
    return path
""",
        (("w -= alpha", "w += alpha"), ("np.mean(error * x)", "np.sum(error * x)")),
    ),
    Program(
        "gradient_descent_adam",
        "adam",
        """
import numpy as np

def gradient_descent_adam(df, x, alpha=0.01, beta_1=0.9, beta_2=0.999, iterations=100, epsilon=1e-8):
    path = [x]
    m, v = np.zeros_like(x), np.zeros_like(x)
    for t in range(iterations):
        g = df(x)
        if np.max(np.abs(g)) < epsilon:
            break
        m = beta_1 * m + (1 - beta_1) * g
        v = beta_2 * v + (1 - beta_2) * g**2
        x = x - alpha * (m / (1 - beta_1 ** (t + 1))) / (np.sqrt(v / (1 - beta_2 ** (t + 1))) + epsilon)
        path.append(x)
    return path
""",
        (("(1 - beta_2) * g**2", "(1 - beta_2) * g"), ("(1 - beta_1) * g", "beta_1 * g")),
    ),
    Program(
        "cross_entropy",
        "cross_entropy",
        """
import numpy as np

def cross_entropy(A, y):
    count = len(A)
    return np.sum(-np.log(A[range(count), y])) / count

def loss_of_scores(Z, y):
    e = np.exp(Z - Z.max(axis=1, keepdims=True))
    return cross_entropy(softmax(e), y)

def softmax(e):
    return e / e.sum(axis=1, keepdims=True)

def classify(Z):
    A = softmax(np.exp(Z))
    return A.argmax(axis=1)
""",
        (("np.sum(-np.log", "np.sum(np.log"), ("np.log(", "np.log2(")),
    ),
    Program(
        "pair_stats",
        "pair_counts",
        """
from collections import Counter

def pair_stats(ids):
    counts = Counter(zip(ids, ids[1:]))
    return sorted(counts.items(), key=lambda each: each[1], reverse=True)
""",
        (("ids[1:]", "ids[2:]"), ("counts.items()", "dict.fromkeys(counts, 1).items()")),
    ),
    Program(
        "ChannelPositionalEncoding",
        "sinusoidal_positions",
        """
import torch
from torch import nn

class ChannelPositionalEncoding(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.register_buffer("rates", 1.0 / 10000 ** (torch.arange(0, channels, 2).float() / channels))

    def forward(self, x):
        rows = x.permute(0, 2, 1)
        angles = torch.arange(rows.shape[1]).float()[:, None] * self.rates
        table = torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)
        table = table[None, :, : rows.shape[2]].repeat(rows.shape[0], 1, 1)
        return table.permute(0, 2, 1)
""",
        (("angles.sin(), angles.cos()", "angles.cos(), angles.sin()"), ("10000", "1000")),
    ),
    Program(
        "buffered_future_mask",
        "causal_mask",
        """
import torch

def filled_with_neg_inf(t):
    return t.float().fill_(float("-inf")).type_as(t)

def buffered_future_mask(tensor, other=None):
    rows = columns = tensor.size(0)
    if other is not None:
        columns = other.size(0)
    mask = torch.triu(filled_with_neg_inf(torch.ones(rows, columns)), 1 + abs(columns - rows))
    return mask[:rows, :columns]
""",
        (("1 + abs", "abs"), ("torch.triu", "torch.tril")),
    ),
    Program(
        "sample",
        "generate",
        """
import torch
from torch.nn import functional as F

@torch.no_grad()
def sample(model, x, steps, temperature=1.0, sample=False, top_k=None):
    size = model.get_block_size()
    model.eval()
    for _ in range(steps):
        seen = x if x.size(1) <= size else x[:, -size:]
        logits, _ = model(seen)
        logits = logits[:, -1, :] / temperature
        if top_k is not None:
            least = torch.topk(logits, top_k)[0][:, [-1]]
            logits[logits < least] = -float("Inf")
        probs = F.softmax(logits, dim=-1)
        if sample:
            ix = torch.multinomial(probs, num_samples=1)
        else:
            _, ix = torch.topk(probs, k=1, dim=-1)
        x = torch.cat((x, ix), dim=1)
    return x
""",
        (("logits[:, -1, :]", "logits[:, 0, :]"), ("x[:, -size:]", "x[:, :size]")),
    ),
    Program(
        "ViTBlock",
        "encoder_layer",
        """
import torch
from torch import nn
from torch.nn import functional as F

class ViTAttention(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.n_heads = cfg.vit_n_heads
        self.qkv = nn.Linear(cfg.vit_hidden_dim, 3 * cfg.vit_hidden_dim)
        self.out = nn.Linear(cfg.vit_hidden_dim, cfg.vit_hidden_dim)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (each.view(b, t, self.n_heads, -1).transpose(1, 2) for each in self.qkv(x).split(c, dim=2))
        return self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, t, c))

class ViTMLP(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.fc1 = nn.Linear(cfg.vit_hidden_dim, cfg.vit_inter_dim)
        self.fc2 = nn.Linear(cfg.vit_inter_dim, cfg.vit_hidden_dim)

    def forward(self, x):
        return self.fc2(F.gelu(self.fc1(x)))

class ViTBlock(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.ln1 = nn.LayerNorm(cfg.vit_hidden_dim, eps=cfg.vit_ln_eps)
        self.attn = ViTAttention(cfg)
        self.ln2 = nn.LayerNorm(cfg.vit_hidden_dim, eps=cfg.vit_ln_eps)
        self.mlp = ViTMLP(cfg)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))
""",
        (("return x + self.mlp", "return self.mlp"), ("self.mlp(self.ln2(x))", "self.mlp(self.ln1(x))")),
    ),
)
