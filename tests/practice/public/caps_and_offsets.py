"""Tables with an offset, capped scores, masks under other names, losses with padding, schedules and words with an end: right programs and mistakes."""

from __future__ import annotations

from tests.practice.public.program import Program

PROGRAMS = (
    Program(
        "attention",
        "scaled_dot_product_attention",
        """
import numpy as np

def attention(query, key, value, visible=None):
    logits = np.einsum("...id,...jd->...ij", query, key) * query.shape[-1] ** -0.5
    if visible is not None:
        logits = np.where(visible, logits, -np.inf)
    shares = np.exp(logits - logits.max(-1, keepdims=True))
    return shares / shares.sum(-1, keepdims=True) @ value
""",
        (("logits, -np.inf", "logits, 0.0"),),
    ),
    Program(
        "apply_rotary",
        "rotary",
        """
import numpy as np

def apply_rotary(x, cos, sin, offset=0):
    length, half = x.shape[-2], x.shape[-1] // 2
    cosines = cos[offset : offset + length]
    sines = sin[offset : offset + length]
    one, other = x[..., :half], x[..., half:]
    return np.concatenate((one * cosines - other * sines, other * cosines + one * sines), -1)
""",
        (("sin[offset : offset + length]", "sin[:length]"), ("cos[offset : offset + length]", "cos[:length]")),
    ),
    Program(
        "next_token_loss",
        "next_token_loss",
        """
import torch

def next_token_loss(logits, ids, pad_id=None):
    wanted = ids[:, 1:]
    surprise = -torch.log_softmax(logits[:, :-1], -1).gather(-1, wanted[..., None]).squeeze(-1)
    if pad_id is None:
        return surprise.mean()
    return surprise[wanted != pad_id].mean()
""",
        (("ids[:, 1:]", "ids[:, :-1]"),),
    ),
    Program(
        "clip_gradients",
        "gradient_clipping",
        """
def clip_gradients(parameters, max_norm):
    held = [each.grad for each in parameters if each.grad is not None]
    length = sum((each**2).sum() for each in held) ** 0.5
    if length > max_norm:
        for each in held:
            each.mul_(max_norm / (length + 1e-6))
""",
        (("sum((each**2).sum() for each in held) ** 0.5", "sum((each**2).sum() ** 0.5 for each in held)"),),
    ),
    Program(
        "linear_warmup_then_decay",
        "linear_schedule",
        """
def linear_warmup_then_decay(step, peak, warmup_steps, total_steps):
    if step < warmup_steps:
        return peak * (step / warmup_steps)
    return peak * max(0.0, (total_steps - step) / (total_steps - warmup_steps))
""",
        (("step / warmup_steps", "step // warmup_steps"),),
    ),
    Program(
        "learn_bpe",
        "bpe_train",
        """
from collections import Counter

LAST = "</w>"

def spelled(texts):
    return [[*word, LAST] for text in texts for word in text.split()]

def joined(word, pair):
    out = []
    for symbol in word:
        if out and (out[-1], symbol) == pair:
            out[-1] = (out[-1] + symbol, None)
        else:
            out.append(symbol)
    return [each[0] if isinstance(each, tuple) else each for each in out]

def learn_bpe(corpus, num_merges):
    words, merges = spelled(corpus), []
    while len(merges) < num_merges:
        counts = Counter(pair for word in words for pair in zip(word, word[1:]))
        if not counts:
            break
        best = min(counts, key=lambda pair: (-counts[pair], pair))
        words = [joined(word, best) for word in words]
        merges.append(best)
    return merges
""",
    ),
    Program(
        "CausalCappedAttention",
        "causal_self_attention",
        """
from dataclasses import dataclass
import torch
from torch import nn

@dataclass
class Settings:
    hidden_size: int = 24
    num_heads: int = 3
    query_pre_attn_scalar: int = 8
    attn_softcap: float = 30.0

class CausalCappedAttention(nn.Module):
    def __init__(self, config: Settings):
        super().__init__()
        self.heads, self.cap = config.num_heads, config.attn_softcap
        self.factor = config.query_pre_attn_scalar ** -0.5
        self.q_proj = nn.Linear(config.hidden_size, config.hidden_size)
        self.k_proj = nn.Linear(config.hidden_size, config.hidden_size)
        self.v_proj = nn.Linear(config.hidden_size, config.hidden_size)
        self.o_proj = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (f(x).view(batch, length, self.heads, -1).transpose(1, 2) for f in (self.q_proj, self.k_proj, self.v_proj))
        scores = self.cap * torch.tanh(self.factor * q @ k.transpose(-1, -2) / self.cap)
        scores = scores.masked_fill(torch.ones(length, length, dtype=torch.bool).triu(1), -torch.inf)
        return self.o_proj((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, width))
""",
        ((" / self.cap)", ")"),),
    ),
    Program(
        "causal_attention",
        "scaled_dot_product_attention",
        """
import math

def causal_attention(queries, keys, values):
    mixed = []
    for place, query in enumerate(queries):
        powers = []
        for j in range(place + 1):
            score = sum(a * b for a, b in zip(query, keys[j])) / math.sqrt(len(query))
            powers.append(math.exp(score))
        total = sum(powers)
        row = [0.0] * len(values[0])
        for power, value in zip(powers, values):
            row = [r + power / total * v for r, v in zip(row, value)]
        mixed.append(row)
    return mixed
""",
        (
            (
                "    mixed = []\n    for place, query in enumerate(queries):\n        powers = []\n",
                "    mixed = []\n    powers = []\n    for place, query in enumerate(queries):\n",
            ),
        ),
    ),
)
