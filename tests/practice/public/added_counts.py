"""Counts that are added in place, ranks by token, widths of inputs, special tokens first, and tables under names of values, with their mistakes."""

from tests.practice.public.program import Program

ROTATION = """
import torch


def rotate_half_and_negate(x):
    mid = x.shape[-1] // 2
    return torch.cat((-x[..., mid:], x[..., :mid]), dim=-1)


def apply_rope(query_or_key, cos_values, sin_values):
    return query_or_key * cos_values + rotate_half_and_negate(query_or_key) * sin_values
"""

TABLES = f"""{ROTATION}

class RotaryTables(torch.nn.Module):
    def __init__(self, dim, max_seq_len=64):
        super().__init__()
        frequencies = 10000.0 ** (-torch.arange(0, dim, 2).float() / dim)
        angles = torch.outer(torch.arange(max_seq_len).float(), frequencies)
        self.register_buffer("cosines", angles.cos())
        self.register_buffer("sines", angles.sin())

    def forward(self, seq_len):
        cos, sin = self.cosines[:seq_len], self.sines[:seq_len]
        cos = torch.cat([cos, cos], dim=-1)
        sin = torch.cat([sin, sin], dim=-1)
        return cos, sin
"""

CUT = r"""
import re

PATTERN = re.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?[A-Za-z]+| ?\d+| ?[^\sA-Za-z\d]+|\s+(?!\S)|\s+")


def words(text):
    return [each.encode("utf-8") for each in PATTERN.findall(text)]
"""

PROGRAMS = (
    Program(
        "add_pair_counts",
        "pair_counts",
        """
from collections import Counter


def add_pair_counts(pair_counts: Counter[tuple[bytes, bytes]], word: tuple[bytes, ...], count: int) -> None:
    for place in range(len(word) - 1):
        pair_counts[(word[place], word[place + 1])] += count
""",
        (("range(len(word) - 1)", "range(len(word) - 2)"), ("+= count", "+= 1"), ("+= count", "-= count")),
    ),
    Program("apply_rope", "rotary", ROTATION, (("x[..., :mid]), dim", "-x[..., :mid]), dim"),)),
    Program(
        "RotaryTables",
        "rotary_tables",
        TABLES,
        (("cos = torch.cat([cos, cos], dim=-1)", "cos = cos.repeat_interleave(2, dim=-1)"), ("10000.0 **", "1000.0 **")),
    ),
    Program(
        "Tokenizer",
        "bpe_tokenizer",
        f"""{CUT}

class Tokenizer:
    def __init__(self, vocab: dict[int, bytes], merges: list[tuple[bytes, bytes]]):
        self.vocab, self.ids = vocab, {{token: number for number, token in vocab.items()}}
        self.ranks = {{left + right: rank for rank, (left, right) in enumerate(merges)}}

    def pieces(self, word):
        parts = [bytes([each]) for each in word]
        while len(parts) > 1:
            known = [(self.ranks[a + b], place) for place, (a, b) in enumerate(zip(parts, parts[1:])) if a + b in self.ranks]
            if not known:
                break
            _, place = min(known)
            parts[place : place + 2] = [parts[place] + parts[place + 1]]
        return parts

    def encode(self, text):
        return [self.ids[part] for word in words(text) for part in self.pieces(word)]

    def decode(self, ids):
        return b"".join(self.vocab[each] for each in ids).decode("utf-8", errors="replace")
""",
        (("min(known)", "max(known)"), ("for each in ids)", "for each in ids[::-1])")),
    ),
    Program(
        "ByteTokenizer",
        "bpe_tokenizer",
        f"""{CUT}

SPECIAL = {{"<pad>": 0, "<unk>": 1, "<bos>": 2, "<eos>": 3}}
FIRST = len(SPECIAL)


class ByteTokenizer:
    def __init__(self, vocab_size=1024):
        if vocab_size < FIRST + 256:
            raise ValueError(f"got {{vocab_size}}, expected at least {{FIRST + 256}}")
        self.size = vocab_size
        self.table = {{number: text.encode() for text, number in SPECIAL.items()}}
        self.table |= {{FIRST + byte: bytes([byte]) for byte in range(256)}}
        self.merges = []

    @staticmethod
    def merged(ids, pair, number):
        out = []
        for each in ids:
            if out and (out[-1], each) == pair:
                out[-1] = number
            else:
                out.append(each)
        return out

    def train(self, texts):
        pieces = [[FIRST + byte for byte in word] for text in texts for word in words(text)]
        while len(self.table) < self.size:
            counts = {{}}
            for ids in pieces:
                for pair in zip(ids, ids[1:]):
                    counts[pair] = counts.get(pair, 0) + 1
            if not counts:
                break
            best, number = max(counts, key=counts.get), len(self.table)
            self.table[number] = self.table[best[0]] + self.table[best[1]]
            self.merges.append((best, number))
            pieces = [self.merged(ids, best, number) for ids in pieces]

    def encode(self, text):
        out = []
        for word in words(text):
            ids = [FIRST + byte for byte in word]
            for pair, number in self.merges:
                ids = self.merged(ids, pair, number)
            out += ids
        return out

    def decode(self, ids):
        return b"".join(self.table[each] for each in ids if each >= FIRST).decode("utf-8", errors="replace")
""",
        (("in self.merges:", "in self.merges[:-1]:"), ("max(counts, key", "min(counts, key")),
    ),
    Program(
        "MultiheadAttention",
        "multi_head_attention",
        """
import torch
from torch import nn


class MultiheadAttention(nn.Module):
    def __init__(self, model_dimension, key_dimension, value_dimension, number_of_heads):
        super().__init__()
        self.number_of_heads = number_of_heads
        self.query_projector = nn.Linear(model_dimension, model_dimension, bias=False)
        self.key_projector = nn.Linear(key_dimension, model_dimension, bias=False)
        self.value_projector = nn.Linear(in_features=value_dimension, out_features=model_dimension, bias=False)
        self.output_projector = nn.Linear(model_dimension, model_dimension, bias=False)

    def heads(self, x):
        return x.unflatten(-1, (self.number_of_heads, -1)).transpose(1, 2)

    def forward(self, query, key, value, mask=None):
        q, k, v = self.query_projector(query), self.key_projector(key), self.value_projector(value)
        q, k, v = self.heads(q), self.heads(k), self.heads(v)
        scores = q @ k.mT / q.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        return self.output_projector((torch.softmax(scores, dim=-1) @ v).transpose(1, 2).flatten(-2))
""",
        (("self.value_projector(value)", "self.value_projector(key)"), ("q.shape[-1] ** 0.5", "self.number_of_heads ** 0.5")),
    ),
    Program(
        "gradient_descent_quadratic",
        "gradient_descent",
        """
def gradient_descent_quadratic(a, b, c, x0, lr, steps):
    x = x0
    for _ in range(steps):
        x -= lr * (2 * a * x + b)
    return x
""",
        (("range(steps)", "range(steps + 1)"), ("2 * a * x", "a * x")),
    ),
    Program(
        "layer_norm",
        "layer_norm",
        """
def layer_norm(x, gamma, beta, eps=1e-5):
    mean = x.mean(dim=-1, keepdim=True)
    var = x.var(dim=-1, keepdim=True, unbiased=False)
    return gamma * (x - mean) / (var + eps) ** 0.5 + beta
""",
        (("unbiased=False", "unbiased=True"),),
    ),
    Program(
        "attention",
        "scaled_dot_product_attention",
        """
import torch


def attention(q, k, v, mask=None):
    scores = torch.bmm(q, k.transpose(1, 2)) / k.shape[2] ** 0.5
    if mask is not None:
        mask = mask.unsqueeze(0).repeat(q.shape[0], 1, 1)
        scores = torch.where(mask > 0, scores, -torch.inf * torch.ones_like(scores))
    return torch.bmm(torch.softmax(scores, 2), v)
""",
        (("softmax(scores, 2)", "softmax(scores, 1)"), ("scores, -torch.inf", "scores, -1.0")),
    ),
    Program(
        "create_causal_mask",
        "causal_mask",
        """
import torch


def create_causal_mask(size1, size2):
    return torch.tril(torch.ones(size1, size2))
""",
        (("torch.tril(torch.ones(size1, size2))", "torch.triu(torch.ones(size1, size2))"),),
    ),
    Program(
        "clip_gradients",
        "gradient_clipping",
        """
import torch


def clip_gradients(parameters, max_l2_norm):
    total = torch.tensor(0.0, device=parameters[0].device)
    for p in parameters:
        if p.grad is not None:
            total += p.grad.square().sum()
    factor = torch.clamp(max_l2_norm / total.sqrt(), max=1.0)
    for p in parameters:
        if p.grad is not None:
            p.grad.mul_(factor)
""",
        (("parameters[0].device", "parameters[0].grad.device"), ("total.sqrt()", "total")),
    ),
    Program(
        "MaskedAttention",
        "causal_self_attention",
        """
import torch
from torch import nn


class MaskedAttention(nn.Module):
    def __init__(self, h, d_model):
        super().__init__()
        self.h = h
        self.linears = nn.ModuleList([nn.Linear(d_model, d_model) for _ in range(4)])

    def forward(self, query, key, value, mask=None):
        q, k, v = (layer(x).unflatten(-1, (self.h, -1)).transpose(1, 2) for layer, x in zip(self.linears, (query, key, value)))
        scores = q @ k.mT / q.shape[-1] ** 0.5
        if mask is not None:
            mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -1e9)
        return self.linears[-1]((scores.softmax(-1) @ v).transpose(1, 2).flatten(-2))
""",
        (
            (
                "        if mask is not None:\n            mask = mask.unsqueeze(1)\n            scores",
                "        mask = mask.unsqueeze(1)\n        scores",
            ),
        ),
    ),
    Program(
        "GroupedAttention",
        "grouped_query_attention",
        """
import torch
from torch import nn


class GroupedAttention(nn.Module):
    def __init__(self, dmodel, n_heads, n_kv_heads):
        super().__init__()
        self.head_dim = dmodel // n_heads
        self.q_proj = nn.Linear(dmodel, self.head_dim * n_heads, bias=False)
        self.k_proj = nn.Linear(dmodel, self.head_dim * n_kv_heads, bias=False)
        self.v_proj = nn.Linear(dmodel, self.head_dim * n_kv_heads, bias=False)
        self.out_proj = nn.Linear(dmodel, dmodel, bias=False)

    def forward(self, x, mask):
        q, k, v = (layer(x).unflatten(-1, (-1, self.head_dim)).transpose(1, 2) for layer in (self.q_proj, self.k_proj, self.v_proj))
        keys, values = k, v
        if q.shape[1] != k.shape[1]:
            keys = k.repeat_interleave(q.shape[1] // k.shape[1], dim=1)
            values = v.repeat_interleave(q.shape[1] // v.shape[1], dim=1)
        scores = q @ keys.mT / self.head_dim**0.5 + mask
        return self.out_proj((scores.softmax(-1) @ values).transpose(1, 2).flatten(-2))
""",
        (
            ("        keys, values = k, v\n", ""),
            ("repeat_interleave(q.shape[1] // v.shape[1], dim=1)", "repeat(1, q.shape[1] // v.shape[1], 1, 1)"),
        ),
    ),
)
