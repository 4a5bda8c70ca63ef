"""Repairs of what is called in another order, and of the same mistake in statements next to each other."""

from __future__ import annotations

import ast
from functools import partial
from pathlib import Path

import pytest

from headway.practice.diagnosis.repair.donors import Own, _Renaming
from headway.practice.diagnosis.repair.observation import Seen
from headway.practice.diagnosis.repair.program import Change
from headway.practice.diagnosis.repair.twins import of_twins, renaming_of
from tests.practice.test_repair import repaired, subject_of, with_slips

LAYER = """
import torch
from torch import nn

class EncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.attention = nn.MultiheadAttention(d_model, num_heads, dropout, batch_first=True)
        self.up = nn.Linear(d_model, d_ff)
        self.down = nn.Linear(d_ff, d_model)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        attended, _ = self.attention(x, x, x)
        x = self.norm1(x + self.dropout(attended))
        inner = self.down(torch.relu(self.up(x)))
        return self.norm2(x + self.dropout(inner))
"""

DROPPED = LAYER.replace("return self.norm2(x + self.dropout(inner))", "inner = self.dropout(inner)\n        return self.norm2(x + inner)")

PASSED_ON = """
import torch
from torch import nn

class Sublayer(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)

    def forward(self, x, part):
        return x + part(self.norm(x))

class EncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.attention = nn.MultiheadAttention(d_model, num_heads, batch_first=True)
        self.feed_forward = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.sublayer = nn.ModuleList([Sublayer(d_model) for _ in range(2)])

    def forward(self, x):
        x = self.sublayer[0](x, lambda y: self.attention(y, y, y)[0])
        return self.sublayer[1](x, self.feed_forward)
"""

GROUPED = """
import torch
from torch import nn

class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads):
        super().__init__()
        self.num_heads, self.num_kv_heads, self.head_dim = num_heads, num_kv_heads, d_model // num_heads
        self.q_proj = nn.Linear(d_model, num_heads * self.head_dim, bias=False)
        self.k_proj = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=False)
        self.v_proj = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=False)
        self.o_proj = nn.Linear(num_heads * self.head_dim, d_model, bias=False)

    def forward(self, x):
        batch, count, _ = x.shape
        groups = self.num_heads // self.num_kv_heads
        q = self.q_proj(x).view(batch, count, self.num_heads, self.head_dim).transpose(1, 2)
        k = self.k_proj(x).view(batch, count, self.num_kv_heads, self.head_dim).transpose(1, 2)
        v = self.v_proj(x).view(batch, count, self.num_kv_heads, self.head_dim).transpose(1, 2)
        k = k.repeat_interleave(groups, dim=1)
        v = v.repeat_interleave(groups, dim=1)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o_proj(mixed.transpose(1, 2).reshape(batch, count, -1))
"""

WAVES = """
import math
import torch

def sinusoidal_positions(length, d_model):
    position = torch.arange(length).float().unsqueeze(1)
    rate = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
    table = torch.zeros(length, d_model)
    table[:, 0::2] = torch.sin(position * rate)

    # the odd columns
    table[:, 1::2] = torch.cos(position * rate)
    return table
"""

STACK = (Path(__file__).parent / "learners" / "encoder_stack.py").read_text(encoding="utf-8").partition("\n\nclass Right_numpy_with")[0]
COUNTS = """
def get_stats(ids):
    counts = {}
    for pair in zip(ids, ids[1:]):
        counts[pair] = counts.get(pair, 0) + 1
    return counts
"""

ATTENTION = """
import numpy as np

def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)

def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ np.swapaxes(k, -1, -2)
    scores /= k.shape[-1] ** 0.5
    if mask is not None:
        scores = np.where(mask, scores, -1e9)
    return softmax(scores, axis=-1) @ v
"""

RANKS = """
def encode_with_merges(ids, merges):
    rank = {pair: place for place, pair in enumerate(merges.keys())}
    tokens = list(ids)
    while len(tokens) > 1:
        pairs = set(zip(tokens, tokens[1:]))
        best = min(pairs, key=lambda pair: rank.get(pair, float("inf")))
        if best not in rank:
            break
        merged, i = [], 0
        while i < len(tokens):
            if i < len(tokens) - 1 and (tokens[i], tokens[i + 1]) == best:
                merged.append(merges[best])
                i += 2
            else:
                merged.append(tokens[i])
                i += 1
        tokens = merged
    return tokens
"""

GATED = """
import torch
from torch import nn

class GatedFeedForward(nn.Module):
    def __init__(self, dim, hidden_dim):
        super().__init__()
        self.gate_proj = nn.Linear(dim, hidden_dim, bias=False)
        self.up_proj = nn.Linear(dim, hidden_dim, bias=False)
        self.down_proj = nn.Linear(hidden_dim, dim, bias=False)

    def forward(self, x):
        return self.down_proj(nn.functional.gelu(self.gate_proj(x), approximate="tanh") * self.up_proj(x))
"""

NORM = """
import torch
from torch import nn

class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.gain, self.bias, self.eps = nn.Parameter(torch.ones(dim)), nn.Parameter(torch.zeros(dim)), eps

    def forward(self, x):
        mean = x.mean(dim=-1, keepdim=True)
        variance = x.var(dim=-1, keepdim=True, unbiased=False)
        return (x - mean) / torch.sqrt(variance + self.eps) * self.gain + self.bias
"""

PADDING = """
import numpy as np

def create_padding_mask(tokens, pad_id):
    shown = (tokens != pad_id).astype(np.float32)
    with np.errstate(divide="ignore"):
        return np.log(shown)
"""

slow = partial(pytest.param, marks=pytest.mark.slow)
SLIPS = [
    ("padding_mask", PADDING, [("tokens != pad_id", "tokens == pad_id")]),
    slow(
        "scaled_dot_product_attention",
        ATTENTION,
        [("shape[-1] ** 0.5", "shape[-1]"), ("softmax(scores, axis=-1)", "softmax(scores, axis=-2)")],
    ),
    ("bpe_encode", RANKS, [("enumerate(merges.keys())", "merges.keys()")]),
    ("encoder_layer", DROPPED, [("self.dropout(inner)", "self.dropout(x)")]),
    ("sinusoidal_positions", WAVES, [("(-math.log", "(math.log"), ("torch.cos", "torch.sin")]),
    slow("encoder_layer", LAYER, [("self.norm1(x + self.dropout(attended))", "x + self.norm1(self.dropout(attended))")]),
    slow("encoder_layer", LAYER, [("self.norm2(x + self.dropout(inner))", "self.norm2(x) + self.dropout(inner)")]),
    slow("encoder_layer", LAYER, [("self.norm2(x + self.dropout(inner))", "x + self.dropout(self.norm2(inner))")]),
    slow("encoder_layer", PASSED_ON, [("self.sublayer[1](x, self.feed_forward)", "self.feed_forward(x)")]),
    (
        "grouped_query_attention",
        GROUPED,
        [
            ("k.repeat_interleave(groups, dim=1)", "k.repeat(1, groups, 1, 1)"),
            ("v.repeat_interleave(groups, dim=1)", "v.repeat(1, groups, 1, 1)"),
        ],
    ),
    slow("encoder_stack", STACK, [("for layer in self.layers:", "for layer in self.layers[1:]:")]),
    ("pair_counts", COUNTS, [("zip(ids, ids[1:])", "zip(ids[::2], ids[1::2])"), ("get(pair, 0)", "get(pair, 1)")]),
    (
        "gated_feed_forward",
        GATED,
        [('self.gate_proj(x), approximate="tanh") * self.up_proj(x)', 'self.gate_proj(x) * self.up_proj(x), approximate="tanh")')],
    ),
    ("layer_norm", NORM, [("x.var(dim=-1", "x.var(dim=(-2, -1)")]),
    (
        "grouped_query_attention",
        GROUPED,
        [
            (
                "self.q_proj(x).view(batch, count, self.num_heads, self.head_dim).transpose(1, 2)",
                "self.q_proj(x).view(batch, self.num_heads, count, self.head_dim)",
            )
        ],
    ),
    ("sinusoidal_positions", WAVES, [("torch.sin(position", "torch.cos(position"), ("1::2] = torch.cos", "1::2] = torch.sin")]),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "program", "slips"), SLIPS, ids=lambda value: value if isinstance(value, str) and "\n" not in value else ""
)
def test_what_is_called_in_another_order_is_repaired_in_its_lines(name, program, slips):
    text, lines = with_slips(program, slips)
    repair, is_right = repaired(name, text)
    assert is_right
    assert {edit.line for edit in repair.edits} == set(lines)


def test_a_change_of_one_statement_is_made_in_its_twins_too():
    tree = ast.parse("def f(k, v):\n    k = k.repeat(2)\n    v = v.repeat(2)\n    return k, v\n")
    function = tree.body[0]
    assert isinstance(function, ast.FunctionDef)
    first = function.body[0]
    assert isinstance(first, ast.Assign)
    changed = Change(1.0, 0, first.value, "args", 0, first.value.args[0], ast.Constant(3))  # type: ignore[attr-defined]
    (found,) = of_twins([changed], tree.body, [2])
    assert [ast.unparse(each) for each in found.new] == ["k = k.repeat(3)", "v = v.repeat(3)"]  # type: ignore[union-attr]
    assert ast.unparse(first) == "k = k.repeat(2)"


@pytest.mark.parametrize(("one", "other"), [("k = k.f(q)", "v = v.f(k)"), ("k = f(k)", "k = f(k)"), ("a = b + c", "a = b - c")])
def test_statements_that_are_not_alike_are_no_twins(one, other):
    assert renaming_of(ast.parse(one).body[0], ast.parse(other).body[0]) is None


def test_an_expression_in_the_learners_names_shares_no_nodes_with_the_program():
    own = ast.parse("f(x)", mode="eval").body
    node = ast.parse("g(y) + 1", mode="eval").body
    assert isinstance(node, ast.BinOp)
    renaming = _Renaming(node.right, {}, {id(node.left): Seen("float array", (2,), 7)}, Own({7: own}, ["f"], "np"))
    found = renaming.of(node)
    assert ast.unparse(found.left) == "f(x)"
    assert not {*map(id, ast.walk(found))} & {*map(id, ast.walk(own))}


def test_the_line_of_a_mistake_is_one_of_code():
    text = 'def softmax(x):\n    """Divide by\n    the sum, axis=0."""\n    return x / x.sum(axis=0)\n'
    assert subject_of(text).line_of("axis=0") == 4
