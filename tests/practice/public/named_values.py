"""Layers with numbered weights or a dict of outputs, made by a function, with the number of sequences in a config, and tables under more names."""

from __future__ import annotations

from tests.practice.public.program import Program

WITH_BATCH_SIZE = """
import torch
from torch import nn

class MultiHeadAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        inner = config["n_heads"] * config["d_h"]
        self.q, self.k, self.v = (nn.Linear(config["d_model"], inner) for _ in range(3))
        self.out = nn.Linear(inner, config["d_model"])

    def forward(self, x, mask):
        def split(y):
            return y.view(self.config["batch_size"], -1, self.config["n_heads"], self.config["d_h"]).transpose(1, 2)

        q, k, v = split(self.q(x)), split(self.k(x)), split(self.v(x))
        scores = q @ k.transpose(-1, -2) / self.config["d_h"] ** 0.5
        weights = scores.masked_fill(mask.unsqueeze(1), -1e9).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).reshape(self.config["batch_size"], -1, self.out.in_features)), weights

class EncoderLayer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.attention = MultiHeadAttention(config)
        self.up, self.down = nn.Linear(config["d_model"], config["d_ff"]), nn.Linear(config["d_ff"], config["d_model"])
        self.norm_1, self.norm_2 = nn.LayerNorm(config["d_model"]), nn.LayerNorm(config["d_model"])

    def forward(self, x, mask):
        attended, weights = self.attention(x, mask)
        x = self.norm_1(x + attended)
        return self.norm_2(x + self.down(torch.relu(self.up(x)))), weights
"""

NUMBERED = """
import numpy as np

def _norm(x, gain, shift):
    return gain * (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) + shift

def _attend(x, source, W_q, W_k, W_v, W_o, num_heads, mask=None):
    def split(y):
        return y.reshape(len(y), num_heads, -1).swapaxes(0, 1)

    q, k, v = split(x @ W_q.T), split(source @ W_k.T), split(source @ W_v.T)
    scores = q @ k.swapaxes(1, 2) / np.sqrt(q.shape[-1])
    if mask is not None:
        scores = np.where(np.array(mask, dtype=bool), scores, -1e9)
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    heads = powers / powers.sum(-1, keepdims=True) @ v
    return heads.swapaxes(0, 1).reshape(len(x), -1) @ W_o.T

def decoder_block(x, enc_output, W_q1, W_k1, W_v1, W_o1, W_q2, W_k2, W_v2, W_o2, num_heads,
                  W1, b1, W2, b2, gamma1, beta1, gamma2, beta2, gamma3, beta3, mask=None):
    own = _attend(x, x, W_q1, W_k1, W_v1, W_o1, num_heads, mask)
    first = _norm(x + own, gamma1, beta1)
    read = _attend(first, enc_output, W_q2, W_k2, W_v2, W_o2, num_heads)
    second = _norm(first + read, gamma2, beta2)
    inner = np.maximum(0, second @ W1.T + b1) @ W2.T + b2
    return {"attended": own.tolist(), "read": read.tolist(), "output": _norm(second + inner, gamma3, beta3).tolist()}
"""

PROGRAMS = (
    Program(
        "EncoderLayer",
        "encoder_layer",
        WITH_BATCH_SIZE,
        (("self.norm_1(x + attended)", "self.norm_1(attended)"), ('self.config["d_h"] ** 0.5', 'self.config["d_h"]')),
    ),
    Program(
        "MultiHeadAttention", "multi_head_attention", WITH_BATCH_SIZE, (('self.config["d_h"] ** 0.5', 'self.config["d_model"] ** 0.5'),)
    ),
    Program(
        "decoder_block",
        "decoder_layer",
        NUMBERED,
        (
            ("_attend(first, enc_output, W_q2, W_k2, W_v2, W_o2", "_attend(first, enc_output, W_q1, W_k1, W_v1, W_o1"),
            ("first + read", "x + read"),
            ('"output": _norm(second + inner, gamma3, beta3)', '"output": _norm(second, gamma3, beta3)'),
        ),
    ),
    Program(
        "sample_token",
        "sample",
        """
import torch

def sample_token(logits, _, temp=1.0):
    return torch.multinomial(torch.softmax(logits / temp, -1), 1)
""",
        (("logits / temp", "logits * temp"),),
    ),
    Program(
        "FeedForward",
        "feed_forward",
        """
from torch import nn

def FeedForward(dim, mult=4, dropout=0.0):
    inner = int(dim * mult)
    return nn.Sequential(nn.Linear(dim, inner), nn.GELU(), nn.Dropout(dropout), nn.Linear(inner, dim))
""",
        (("nn.GELU(), nn.Dropout(dropout), nn.Linear(inner, dim)", "nn.Linear(inner, dim), nn.GELU()"), ("nn.GELU(), ", "")),
    ),
    Program(
        "GEGLU",
        "gated_feed_forward",
        """
import torch
import torch.nn.functional as F

class GEGLU(torch.nn.Module):
    def forward(self, x):
        linear, gate = x.chunk(2, dim=-1)
        return linear * F.gelu(gate)
""",
        (("linear * F.gelu(gate)", "linear + F.gelu(gate)"), ("F.gelu(gate)", "F.gelu(linear)")),
    ),
    Program(
        "apply_rope",
        "rotary",
        """
import torch

def apply_rope(x, positions, *, base_frequency):
    exponents = 2 * torch.arange(x.shape[-1] // 2) / x.shape[-1]
    angles = (positions[..., None] / base_frequency**exponents)[..., None, :]
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * angles.cos() - second * angles.sin(), second * angles.cos() + first * angles.sin()], -1)
""",
        (("exponents = 2 * torch", "exponents = torch"), ("- second * angles.sin()", "+ second * angles.sin()")),
    ),
    Program(
        "apply_rotary_emb",
        "rotary",
        """
import torch

def apply_rotary_emb(x, freqs_cis, rope_dim):
    turned, rest = x[..., :rope_dim], x[..., rope_dim:]
    first, second = turned.chunk(2, dim=-1)
    cos, sin = freqs_cis[..., 0], freqs_cis[..., 1]
    return torch.cat([first * cos - second * sin, second * cos + first * sin, rest], -1)
""",
        (("second * cos + first * sin", "second * cos - first * sin"),),
    ),
    Program(
        "make_padding_mask",
        "padding_mask",
        """
PAD = 0

def make_padding_mask(ids):
    return ids > PAD
""",
        (("ids > PAD", "ids > PAD + 1"),),
    ),
    Program(
        "Talker.generate",
        "generate",
        """
import torch
from torch import nn
from torch.nn import functional as F

class Talker(nn.Module):
    def __init__(self, vocab_size, width, max_len):
        super().__init__()
        self.max_len = max_len
        self.embed = nn.Embedding(vocab_size, width)
        self.head = nn.Linear(width, vocab_size)

    def forward(self, ids):
        return self.head(self.embed(ids))

    @torch.no_grad()
    def generate(self, ids, max_new_tokens=50, temperature=1.0):
        for _ in range(max_new_tokens):
            logits = self.forward(ids[:, -self.max_len:])[:, -1, :] / temperature
            chosen = torch.multinomial(F.softmax(logits, dim=-1), num_samples=1)
            ids = torch.cat([ids, chosen], dim=1)
            if chosen.item() == 2:  # the end of a text
                break
        return ids
""",
        (("[:, -1, :]", "[:, 0, :]"), ("[ids, chosen]", "[chosen, ids]")),
    ),
)
