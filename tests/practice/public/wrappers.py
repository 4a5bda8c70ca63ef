"""Samplers around a model, shares in place of counts, and tables that are moved or given, in conventions of public code."""

from __future__ import annotations

from tests.practice.public.program import Program

LEAST_LIKELY_DROPPED = """
import math
import torch

def top_k(logits, thres=0.9):
    count = int((1 - thres) * logits.shape[-1])
    values, places = logits.topk(count)
    kept = torch.full_like(logits, float("-inf"))
    return kept.scatter_(1, places, values)
"""
"""A top-k that is given the share of tokens to drop."""

WRAPPER = """
import torch
from torch import nn
from torch.nn import functional as F

def in_eval_mode(function):
    def called(model, *operands, **options):
        was_training = model.training
        model.eval()
        found = function(model, *operands, **options)
        model.train(was_training)
        return found
    return called

def top_k(logits, thres=0.9):
    values, places = logits.topk(int((1 - thres) * logits.shape[-1]))
    return torch.full_like(logits, float("-inf")).scatter_(1, places, values)

class AutoregressiveWrapper(nn.Module):
    def __init__(self, net, max_seq_len=2048, pad_value=0):
        super().__init__()
        self.net = net
        self.max_seq_len = max_seq_len
        self.pad_value = pad_value

    @torch.no_grad()
    @in_eval_mode
    def generate(self, start_tokens, seq_len, eos_token=None, temperature=1.0, filter_thres=0.9):
        batch, length = start_tokens.shape
        out = start_tokens
        for _ in range(seq_len):
            logits = self.net(out)[:, -1]
            shares = F.softmax(top_k(logits, thres=filter_thres) / temperature, dim=-1)
            out = torch.cat((out, torch.multinomial(shares, 1)), dim=-1)
            if eos_token is not None:
                ends = out == eos_token
                if ends.any(dim=-1).all():
                    after = F.pad(ends, (1, -1)).float().cumsum(dim=-1) >= 1
                    out = out.masked_fill(after, self.pad_value)
                    break
        return out[:, length:]

    def forward(self, x):
        return F.cross_entropy(self.net(x[:, :-1]).transpose(1, 2), x[:, 1:])
"""
"""A class around a model: only its method that generates is the part, and a decorator hides that method's parameters."""

PROGRAMS = (
    Program(
        "RMSNorm",
        "rms_norm",
        """
import torch
from torch import nn

class RMSNorm(nn.Module):
    def __init__(self, width, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + self.eps) * (1.0 + self.weight)

class GemmaHead(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = RMSNorm(width)
""",
        (("1.0 + self.weight", "2.0 + self.weight"), ("class GemmaHead", "class Head"), ("torch.rsqrt", "torch.sqrt")),
    ),
    Program(
        "PositionalEncoding",
        "sinusoidal_positions",
        """
import math
import torch

def PositionalEncoding(q_len, d_model, normalize=True):
    table = torch.zeros(q_len, d_model)
    place = torch.arange(q_len).unsqueeze(1)
    rate = torch.exp(torch.arange(0, d_model, 2) * -(math.log(10000.0) / d_model))
    table[:, 0::2] = torch.sin(place * rate)
    table[:, 1::2] = torch.cos(place * rate)
    if normalize:
        table = table - table.mean()
        table = table / (table.std() * 10)
    return table
""",
        (("table - table.mean()", "table - table.mean(0)"), ("(table.std() * 10)", "(table.var() * 10)"), ("torch.cos(", "torch.sin(")),
    ),
    Program(
        "top_k",
        "top_k",
        LEAST_LIKELY_DROPPED,
        (("(1 - thres) *", "thres *"), ("logits.topk(count)", "logits.topk(count + 1)"), ("logits.topk(count)", "(-logits).topk(count)")),
    ),
    Program(
        "top_k",
        "top_k",
        LEAST_LIKELY_DROPPED.replace("int((1", "math.ceil((1"),
        (("math.ceil((1 - thres) *", "math.ceil(thres *"), ("logits.topk(count)", "logits.topk(count - 1)")),
    ),
    Program(
        "AutoregressiveWrapper",
        "generate",
        WRAPPER,
        (
            ("self.net(out)[:, -1]", "self.net(out)[:, 0]"),
            ("in range(seq_len)", "in range(seq_len - 1)"),
            ("return out[:, length:]", "return out[:, length - 1:]"),
            ("(ends, (1, -1))", "(ends, (0, 0))"),
            ("ends.any(dim=-1).all()", "False"),
        ),
    ),
    Program(
        "generate",
        "generate",
        """
import numpy as np

def generate(model, prompt_tokens, max_new_tokens=100, temperature=0.8):
    tokens = list(prompt_tokens)
    limit = model.embedding.pos_embed.shape[0]
    for _ in range(max_new_tokens):
        logits = model.forward(np.array(tokens[-limit:])[None])[0, -1] / temperature
        shares = np.exp(logits - logits.max())
        tokens.append(int(np.random.choice(len(shares), p=shares / shares.sum())))
    return tokens
""",
        (("tokens[-limit:]", "tokens[:limit]"), ("[0, -1]", "[0, 0]")),
    ),
    Program(
        "apply_rotary_pos_emb",
        "rotary",
        """
import torch

def rotate_half(x):
    first, second = x.chunk(2, dim=-1)
    return torch.cat((-second, first), dim=-1)

def apply_rotary_pos_emb(pos, t):
    return t * pos.cos() + rotate_half(t) * pos.sin()
""",
        (("(-second, first)", "(second, first)"), ("rotate_half(t) * pos.sin()", "rotate_half(t) * pos.cos()")),
    ),
    Program(
        "TinyLM",
        "gpt2",
        """
import math
import torch
from torch import nn

class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.wq = nn.Linear(width, width)
        self.wk = nn.Linear(width, width)
        self.wv = nn.Linear(width, width)
        self.wo = nn.Linear(width, width)
        self.ff = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.norm_a = nn.LayerNorm(width)
        self.norm_b = nn.LayerNorm(width)

    def forward(self, x, seen):
        batch, length, width = x.shape
        q, k, v = (each(x).view(batch, length, self.heads, -1).transpose(1, 2) for each in (self.wq, self.wk, self.wv))
        scores = (q @ k.transpose(-2, -1) / math.sqrt(width // self.heads)).masked_fill(~seen, float("-inf"))
        mixed = (scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, width)
        x = self.norm_a(x + self.wo(mixed))
        return self.norm_b(x + self.ff(x))

class TinyLM(nn.Module):
    def __init__(self, vocab_size, seq_len, width=32, num_layers=2, num_heads=4):
        super().__init__()
        self.tokens = nn.Embedding(vocab_size, width)
        self.places = nn.Embedding(seq_len, width)
        self.layers = nn.ModuleList([Layer(width, num_heads) for _ in range(num_layers)])
        self.last = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocab_size, bias=False)

    def forward(self, ids):
        length = ids.shape[1]
        x = self.tokens(ids) + self.places(torch.arange(length))
        seen = torch.ones(length, length, dtype=torch.bool).tril()
        for layer in self.layers:
            x = layer(x, seen)
        return self.head(self.last(x))
""",
        (
            ("self.norm_a(x + self.wo(mixed))", "self.norm_a(self.wo(mixed))"),
            (".tril()", ".triu()"),
            ("self.norm_b(x + self.ff(x))", "x + self.norm_b(self.ff(x))"),
        ),
    ),
    Program(
        "swiglu",
        "gated_feed_forward",
        """
import torch

def swiglu(x, alpha=1.702, limit=7.0):
    gate, linear = x[..., 0::2], x[..., 1::2]
    gate, linear = gate.clamp(max=limit), linear.clamp(-limit, limit)
    return gate * torch.sigmoid(alpha * gate) * (linear + 1)
""",
        (
            ("torch.sigmoid(alpha * gate)", "torch.sigmoid(gate)"),
            ("gate.clamp(max=limit)", "gate.clamp(max=1.0)"),
            ("gate, linear = x[..., 0::2], x[..., 1::2]", "linear, gate = x[..., 0::2], x[..., 1::2]"),
        ),
    ),
    Program(
        "MultiHead",
        "stacked_heads_attention",
        """
import torch
from torch import nn

class MultiHead(nn.Module):
    def __init__(self, hidden_size, n_splits):
        super().__init__()
        self.n_splits = n_splits
        self.q = nn.Linear(hidden_size, hidden_size, bias=False)
        self.k = nn.Linear(hidden_size, hidden_size, bias=False)
        self.v = nn.Linear(hidden_size, hidden_size, bias=False)
        self.out = nn.Linear(hidden_size, hidden_size, bias=False)

    def forward(self, Q, K, V, mask=None):
        q, k, v = (torch.stack(each.chunk(self.n_splits, dim=-1)) for each in (self.q(Q), self.k(K), self.v(V)))
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask, -float("inf"))
        return self.out(torch.cat([*(scores.softmax(-1) @ v)], dim=-1))
""",
        (("q.shape[-1] ** 0.5", "q.shape[-1]"), ("scores.softmax(-1)", "scores.softmax(0)"), ("self.v(V)", "self.k(V)")),
    ),
)
