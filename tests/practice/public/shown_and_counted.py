"""Attention that shows its weights, masks of two sequences, moments named v and s, schedules around an optimizer: programs in conventions of public code."""

from __future__ import annotations

from tests.practice.public.program import Program

PROGRAMS = (
    Program(
        "Attention.scaled_dot_product_attention",
        "scaled_dot_product_attention",
        """
import torch
from torch import nn

class Attention(nn.Module):
    def __init__(self, width, num_heads):
        super().__init__()
        self.num_heads, self.d_k = num_heads, width // num_heads
        self.project = nn.Linear(width, 3 * width)
        self.last_weights = None

    def scaled_dot_product_attention(self, q, k, v, mask=None):
        scores = q @ k.transpose(-2, -1) * self.d_k**-0.5
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        weights = scores.softmax(dim=-1)
        self.last_weights = weights
        return weights @ v
""",
        (
            ("self.d_k**-0.5", "self.num_heads**-0.5"),
            ("self.last_weights = weights\n        return weights @ v", "self.last_weights = weights @ v\n        return v"),
            ("scores.softmax(dim=-1)", "scores.softmax(dim=-2)"),
        ),
    ),
    Program(
        "Model.make_causal_mask",
        "causal_mask",
        """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self, device):
        super().__init__()
        self.device = device

    def make_causal_mask(self, q, k):
        num_queries, num_keys = q.size(1), k.size(1)
        visible = torch.ones(num_queries, num_keys, device=self.device).tril()
        return visible.bool()[None, None]
""",
        (("tril()", "tril(1)"), ("tril()", "triu()"), ("tril()", "tril(-1)")),
    ),
    Program(
        "make_pad_mask",
        "padding_mask",
        """
import torch

def make_pad_mask(q, k, pad_id_q, pad_id_k):
    rows = (q != pad_id_q)[:, None, :, None]
    columns = (k != pad_id_k)[:, None, None, :]
    return rows & columns
""",
        (("rows & columns", "rows & torch.ones_like(columns)"), ("k != pad_id_k", "k != 0"), ("k != pad_id_k", "k > pad_id_k")),
    ),
    Program(
        "adam_update",
        "adam_step",
        """
import numpy as np

def adam_update(alpha, beta1, beta2, epsilon, var, grad, v, s, t):
    v = beta1 * v + (1 - beta1) * grad
    s = beta2 * s + (1 - beta2) * np.square(grad)
    direction = v / (1 - beta1**t) / (np.sqrt(s / (1 - beta2**t)) + epsilon)
    return var - alpha * direction, v, s
""",
        (
            ("(1 - beta1) * grad", "(1 - beta2) * grad"),
            ("(1 - beta2**t)", "(1 - beta1**t)"),
            ("np.square(grad)", "grad"),
        ),
    ),
    Program(
        "Scheduler",
        "noam_schedule",
        """
class Scheduler:
    def __init__(self, base_opt, init_lr, d_model, n_warmup):
        self.base_opt, self.init_lr = base_opt, init_lr
        self.d_model, self.n_warmup = d_model, n_warmup
        self.count = 0

    def step_and_update_lr(self):
        self.set_rate()
        self.base_opt.step()

    def set_rate(self):
        self.count += 1
        share = min(self.count**-0.5, self.count * self.n_warmup**-1.5)
        for group in self.base_opt.param_groups:
            group["lr"] = self.init_lr * self.d_model**-0.5 * share
""",
        (("n_warmup**-1.5", "n_warmup**-0.5"), ("min(", "max(")),
    ),
)
