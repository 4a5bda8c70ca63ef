"""A regression that returns its intercept, and one head whose flag hides later keys."""

from __future__ import annotations

from tests.practice.public.program import Program

INTERCEPT = """
import numpy as np

def linear_regression(features, targets, rate, steps):
    features, targets = np.asarray(features, float), np.asarray(targets, float)
    w, b = np.zeros(features.shape[1]), 0.0
    for _ in range(steps):
        miss = features @ w + b - targets
        w -= rate * 2 * features.T @ miss / len(targets)
        b -= rate * 2 * miss.mean()
    return w, b
"""

ONE_HEAD = """
import torch
from torch import nn

class AttentionHead(nn.Module):
    def __init__(self, width, head_width):
        super().__init__()
        self.to_q, self.to_k, self.to_v = (nn.Linear(width, head_width) for _ in range(3))
        self.head_width = head_width

    def forward(self, query, key, value, pad_mask=None, look_ahead_mask=False):
        q, k, v = self.to_q(query), self.to_k(key), self.to_v(value)
        scores = q @ k.transpose(-1, -2) / self.head_width ** 0.5
        if pad_mask is not None:
            scores = scores.masked_fill(pad_mask, float("-inf"))
        if look_ahead_mask:
            seen = torch.tril(torch.ones(scores.shape[-2:]))
            scores = scores.masked_fill(seen == 0, float("-inf"))
        return scores.softmax(-1) @ v
"""

PROGRAMS = (
    Program("linear_regression", "linear_regression", INTERCEPT, (("@ w + b - targets", "@ w - targets"),)),
    Program("AttentionHead", "self_attention", ONE_HEAD, (("torch.tril", "torch.triu"),)),
)
