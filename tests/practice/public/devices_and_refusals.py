"""Modules of Lightning, einx, schedules with a minimum of their own, refused prompts, and AdamW without a count, with mistakes as replacements."""

from __future__ import annotations

from tests.practice.public.program import Program

LIGHTNING = """
import math

import pytorch_lightning as pl
import torch
import torch.nn.functional as F
from torch import nn


class CausalSelfAttention(pl.LightningModule):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.save_hyperparameters()
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.out = nn.Linear(d_model, d_model)

    def forward(self, x):
        batch, length, width = x.shape
        heads = self.hparams.num_heads
        q, k, v = self.qkv(x).view(batch, length, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / math.sqrt(width // heads)
        later = torch.ones(length, length, device=self.device).triu(1).bool()
        weights = F.softmax(scores.masked_fill(later, float("-inf")), -1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, length, width))
"""

EINX = """
import einx
import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int):
        super().__init__()
        self.num_heads = num_heads
        self.q, self.k, self.v, self.o = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))

    def split(self, x):
        return einx.id("b s (h d) -> b h s d", x, h=self.num_heads)

    def forward(self, x, mask=None):
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        if mask is None:
            length = x.shape[-2]
            mask = torch.ones(
                (1, 1, length, length), dtype=torch.bool
            ).tril()
        scores = (q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5).masked_fill(~mask, float("-inf"))
        return self.o(einx.id("b h s d -> b s (h d)", torch.softmax(scores, -1) @ v))
"""

SCHEDULE = """
import math


def get_lr(step, warmup_steps, max_steps, max_lr):
    if step < warmup_steps:
        return max_lr * step / warmup_steps
    if step > max_steps:
        return max_lr * 0.1
    wave = 0.5 * (1 + math.cos(math.pi * (step - warmup_steps) / (max_steps - warmup_steps)))
    return 0.1 * max_lr + wave * (max_lr - 0.1 * max_lr)
"""

UNCOUNTED = """
import numpy as np


def adamw_update(p, g, m, v, lr=1e-3, b1=0.9, b2=0.999, wd=0.01, eps=1e-8):
    m = b1 * m + (1 - b1) * g
    v = b2 * v + (1 - b2) * g**2
    p = p - lr * (m / (np.sqrt(v) + eps) + wd * p)
    return p, m, v
"""

REFUSING = """
import torch
import torch.nn.functional as F


def generate(model, prompt_ids, max_generated_tokens, context_length, temperature=1.0, threshold=None):
    if len(prompt_ids) > context_length:
        raise ValueError("the prompt is too long")
    ids = torch.tensor([prompt_ids])
    for _ in range(max_generated_tokens):
        logits = model(ids[:, -context_length:])[0, -1] / temperature
        probs = F.softmax(logits, dim=-1)
        if threshold is not None:
            ranked, order = probs.sort(descending=True)
            logits[order[ranked.cumsum(-1) - ranked > threshold]] = float("-inf")
            probs = F.softmax(logits, dim=-1)
        ids = torch.cat([ids, torch.multinomial(probs, 1)[None]], dim=-1)
    return ids
"""

ENCODER = """
import torch
from torch import nn


class EncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.num_heads = num_heads
        self.qkv, self.out = nn.Linear(d_model, 3 * d_model), nn.Linear(d_model, d_model)
        self.ffn = nn.Sequential(nn.Linear(d_model, d_ff), nn.GELU(), nn.Linear(d_ff, d_model))
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def attention(self, x, mask):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.num_heads, -1).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
        if mask is not None:
            scores = scores + mask
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, width))

    def forward(self, x, mask=None):
        x = self.norm1(x + self.attention(x, mask))
        return self.norm2(x + self.ffn(x))


class BertEncoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_heads, num_layers, d_ff, max_len):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocab_size, d_model), nn.Embedding(max_len, d_model)
        self.layers = nn.ModuleList([EncoderLayer(d_model, num_heads, d_ff) for _ in range(num_layers)])
        self.norm = nn.LayerNorm(d_model)

    def forward(self, input_ids, attention_mask=None):
        x = self.tokens(input_ids) + self.positions(torch.arange(input_ids.shape[1]))
        if attention_mask is not None:
            attention_mask = (1.0 - attention_mask[:, None, None].float()) * -10000.0
        for layer in self.layers:
            x = layer(x, attention_mask)
        return self.norm(x)
"""

PROGRAMS = [
    Program(
        "generate",
        "generate",
        REFUSING,
        (("            probs = F.softmax(logits,", "            probs = F.softmax(logits * temperature,"),),
    ),
    Program("BertEncoder", "encoder_stack", ENCODER, (("scores + mask", 'scores.masked_fill(mask == 0, float("-inf"))'),)),
    Program("CausalSelfAttention", "causal_self_attention", LIGHTNING, (("triu(1)", "triu(0)"), (".hparams.num", ".num"))),
    Program("MultiHeadAttention", "multi_head_attention", EINX, (("** -0.5", "** -1"),)),
    Program("get_lr", "cosine_schedule", SCHEDULE, (("wave * (max_lr - 0.1 * max_lr)", "wave * max_lr"),)),
    Program("adamw_update", "adamw", UNCOUNTED, (("+ wd * p", "- wd * p"), ("v = b2 * v + (1 - b2) * g**2", "v = b2 * v + (1 - b2) * g"))),
]
