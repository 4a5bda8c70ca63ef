"""Parts whose operands have the names of sizes, whose sizes have long names, or whose scale and smoothing have other meanings."""

from __future__ import annotations

from tests.practice.public.program import Program

PROGRAMS = (
    Program(
        "Head",
        "causal_self_attention",
        """
import torch
from torch import nn

WIDTH, CONTEXT = 48, 32

class Head(nn.Module):
    def __init__(self, head_size):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(WIDTH, head_size, bias=False) for _ in range(3))
        self.register_buffer("visible", torch.tril(torch.ones(CONTEXT, CONTEXT)))

    def forward(self, batch):
        length = batch.shape[1]
        q, k = self.q(batch), self.k(batch)
        scores = q @ k.mT * k.shape[-1] ** -0.5
        scores = scores.masked_fill(self.visible[:length, :length] == 0, -torch.inf)
        return scores.softmax(-1) @ self.v(batch)
""",
        (("k.shape[-1] ** -0.5", "WIDTH ** -0.5"),),
    ),
    Program(
        "generate_text",
        "generate",
        """
from dataclasses import dataclass

import torch

@dataclass
class Settings:
    maximum_length: int
    temperature: float
    device: torch.device

def generate_text(model, tokenizer, prompt, settings: Settings):
    ids = torch.tensor([tokenizer.encode(prompt)]).to(settings.device)
    for _ in range(settings.maximum_length):
        shares = (model(ids)[0, -1] / settings.temperature).softmax(-1)
        ids = torch.cat([ids, torch.multinomial(shares, 1)[None]], 1)
    return tokenizer.decode(ids[0].tolist())
""",
        (("[0, -1]", "[0, 0]"),),
    ),
    Program(
        "scaled_dot_product_attention",
        "scaled_dot_product_attention",
        """
def scaled_dot_product_attention(q, k, v, scale: bool = True):
    scores = q @ k.mT
    if scale:
        scores = scores / q.shape[-1] ** 0.5
    return scores.softmax(-1) @ v
""",
        (("** 0.5", "** 0.25"), ("scores / q", "scores * q")),
    ),
    Program(
        "label_smoothing_loss",
        "cross_entropy",
        """
import math

def label_smoothing_loss(predictions, target, epsilon):
    classes, loss = len(predictions), 0.0
    for each in range(classes):  # -sum(share * log(prediction))
        share = 1.0 - epsilon + epsilon / classes if each == target else epsilon / classes
        loss -= share * math.log(predictions[each])
    return loss
""",
        (("1.0 - epsilon + epsilon / classes", "1.0 - epsilon"), ("else epsilon / classes", "else epsilon")),
    ),
    Program(
        "smooth_cross_entropy",
        "cross_entropy",
        """
import numpy as np

def smooth_cross_entropy(logits, targets, alpha):
    shifted = logits - logits.max(-1, keepdims=True)
    logs = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    likely = np.take_along_axis(logs, targets[:, None], -1)[:, 0]
    return -((1 - alpha) * likely + alpha * logs.mean(-1)).mean()
""",
        (("logs.mean(-1)", "logs.sum(-1)"), ("(1 - alpha) * likely", "likely")),
    ),
    Program(
        "RoPE",
        "rotary",
        """
import torch
from torch import nn

class RoPE(nn.Module):
    def __init__(self, theta, d_k, max_seq_len):
        super().__init__()
        angles = torch.outer(torch.arange(max_seq_len), theta ** -(torch.arange(0, d_k, 2) / d_k))
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, x, token_pos):
        cos, sin = self.cos[token_pos], self.sin[token_pos]
        even, odd = x[..., ::2], x[..., 1::2]
        return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2)
""",
        (("even * sin + odd * cos", "odd * cos - even * sin"), ("self.sin[token_pos]", "self.sin[: x.shape[-2]]")),
    ),
    Program(
        "softmax",
        "softmax",
        """
import torch

def softmax(x):
    e = torch.exp(x - x.max(dim=1, keepdim=True)[0])
    return e / e.sum(dim=1, keepdim=True)

def attention(q, k, v):
    assert q.ndim == k.ndim == v.ndim == 2
    return softmax(q @ k.transpose(0, 1) / q.shape[1] ** 0.5) @ v
""",
        (("e.sum(dim=1", "e.sum(dim=0"), ("q @ k.transpose(0, 1)", "q.permute(0, 1) @ k.transpose(0, 1)")),
    ),
)

WITHOUT_A_STEP = """
import torch
from torch import nn

class BlockWithoutResidual(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        y = self.norm1(x)
        return self.mlp(self.norm2(self.attention(y, y, y, need_weights=False)[0]))

class TextTransformer(nn.Module):
    def __init__(self, vocab_size, num_classes, width=32, heads=4, depth=2, length=64):
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocab_size, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*(BlockWithoutResidual(width, heads) for _ in range(depth)))
        self.head = nn.Linear(width, num_classes)

    def forward(self, ids):
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1]))
        return self.head(self.blocks(x).mean(1))

def relu(x):
    return x.clamp(min=0)
"""
