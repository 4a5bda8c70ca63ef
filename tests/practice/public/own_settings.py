"""Attention with settings of its author's own: a bias of positions that is given, modes, fields of a config that the part does not have."""

from __future__ import annotations

from tests.practice.public.program import Program

GIVEN_BIAS = """
import torch
from torch import nn

class SelfAttention(nn.Module):
    def __init__(self, width: int, num_heads: int, is_incremental: bool):
        super().__init__()
        self.num_heads = num_heads
        self.is_incremental = is_incremental
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, width, bias=False)
        self.value = nn.Linear(width, width, bias=False)
        self.output = nn.Linear(width, width, bias=False)

    def split(self, x):
        batch, length, width = x.shape
        return x.view(batch, length, self.num_heads, width // self.num_heads).transpose(1, 2)

    def forward(self, x: torch.Tensor, position_bias: torch.Tensor) -> torch.Tensor:
        rows = x[:, -1:] if self.is_incremental else x
        queries, keys, values = self.split(self.query(rows)), self.split(self.key(x)), self.split(self.value(x))
        scores = queries @ keys.transpose(-2, -1)
        if self.is_incremental:
            position_bias = position_bias[:, :, -1:]
        scores += position_bias
        mixed = torch.softmax(scores, dim=-1) @ values
        return self.output(mixed.transpose(1, 2).reshape(x.shape[0], -1, x.shape[-1]))
"""
"""As in T5, scores are not scaled; a mode that the constructor requires computes the last query alone."""

KEYWORDS_OF_CONSTRUCTOR = """
import math
import torch
from torch import nn

class CausalSelfAttention(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.width = options["width"]
        self.num_heads = options.pop("num_heads")
        self.query = nn.Linear(self.width, self.width, bias=False)
        self.key = nn.Linear(self.width, self.width, bias=False)
        self.value = nn.Linear(self.width, self.width, bias=False)
        self.output = nn.Linear(self.width, self.width, bias=False)

    def split(self, x):
        batch, length, width = x.shape
        return x.view(batch, length, self.num_heads, width // self.num_heads).transpose(1, 2)

    def forward(self, x, do_mask: bool):
        batch, length, width = x.shape
        query, key, value = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        scores = query @ key.transpose(-2, -1) / math.sqrt(width // self.num_heads)
        if do_mask:
            scores = scores.masked_fill(torch.ones(length, length).triu(1).bool(), float("-inf"))
        return self.output((scores.softmax(-1) @ value).transpose(1, 2).reshape(batch, length, width))
"""
"""Sizes are keys of the keywords, and the caller asks for the mask of a part that is causal."""

KEYWORDS_OF_FUNCTION = """
import torch

def scaled_dot_product_attention(query, key, value, **options):
    mask = options.get("attn_mask", None)
    scale = options.get("scale")
    if options.get("is_causal", False):
        seen = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool).tril()
        mask = seen if mask is None else mask & seen
    scores = query @ key.transpose(-2, -1) * (query.shape[-1] ** -0.5 if scale is None else scale)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return scores.softmax(-1) @ value
"""
"""Options are keys of the keywords."""

CACHE_ON_REQUEST = """
import math
import torch
from torch import nn

class SelfAttention(nn.Module):
    def __init__(self, width, head_width):
        super().__init__()
        self.head_width = head_width
        self.to_query = nn.Linear(width, head_width, bias=False)
        self.to_key = nn.Linear(width, head_width, bias=False)
        self.to_value = nn.Linear(width, head_width, bias=False)
        self.key_cache = None
        self.value_cache = None

    def forward(self, x, with_kv):
        query, key, value = self.to_query(x), self.to_key(x), self.to_value(x)
        if with_kv and self.key_cache is not None:
            key = torch.cat([self.key_cache, key], dim=1)
            value = torch.cat([self.value_cache, value], dim=1)
        self.key_cache, self.value_cache = key.detach(), value.detach()
        scores = query @ key.transpose(1, 2) / math.sqrt(self.head_width)
        rows, columns = scores.shape[-2:]
        later = torch.ones(rows, columns, dtype=torch.bool).triu(columns - rows + 1)
        return torch.softmax(scores.masked_fill(later, float("-inf")), dim=-1) @ value
"""
"""A required flag, of which only the truth is read, continues the keys and values that the class keeps."""

BLOCKWISE = """
import torch
from torch import nn

class FlashAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.num_heads = config.num_heads
        self.rows = config.row_tile
        self.query = nn.Linear(config.width, config.width)
        self.key = nn.Linear(config.width, config.width)
        self.value = nn.Linear(config.width, config.width)
        self.output = nn.Linear(config.width, config.width)

    def forward(self, x):
        batch, length, width = x.shape
        shape = (batch, length, self.num_heads, width // self.num_heads)
        queries, keys, values = (layer(x).view(shape).transpose(1, 2) for layer in (self.query, self.key, self.value))
        queries = queries / shape[-1] ** 0.5
        highest = queries.new_full((*queries.shape[:-1], 1), float("-inf"))
        total, mixed = torch.zeros_like(highest), torch.zeros_like(queries)
        for start in range(0, length, self.rows):
            scores = queries @ keys[:, :, start : start + self.rows].transpose(-1, -2)
            later = torch.arange(start, start + scores.shape[-1]) > torch.arange(length)[:, None]
            scores = scores.masked_fill(later, float("-inf"))
            raised = torch.maximum(highest, scores.amax(-1, keepdim=True))
            weights, shrunk = torch.exp(scores - raised), torch.exp(highest - raised)
            total = total * shrunk + weights.sum(-1, keepdim=True)
            mixed = mixed * shrunk + weights @ values[:, :, start : start + self.rows]
            highest = raised
        return self.output((mixed / total).transpose(1, 2).reshape(x.shape))
"""
"""A loop over blocks of keys, whose size is a field that no role lists."""

OF_ROUTES = """
import math
import torch
from torch import nn

class CausalSelfAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        longest = 2 * (config.num_stops - 1)
        self.num_heads = config.num_heads
        self.qkv = nn.Linear(config.width, 3 * config.width)
        self.output = nn.Linear(config.width, config.width)
        self.register_buffer("seen", torch.tril(torch.ones(longest, longest)))

    def forward(self, x):
        batch, length, width = x.shape
        queries, keys, values = (
            part.view(batch, length, self.num_heads, width // self.num_heads).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1)
        )
        scores = queries @ keys.transpose(-1, -2) / math.sqrt(keys.shape[-1])
        scores = scores.masked_fill(self.seen[:length, :length] == 0, float("-inf"))
        mixed = torch.softmax(scores, dim=-1) @ values
        return self.output(mixed.transpose(1, 2).reshape(x.shape))
"""
"""The longest sequence follows from a field of the author's own."""

RELATIVE = """
import math
import torch
from torch import nn

class RelativeSelfAttention(nn.Module):
    def __init__(self, width, num_heads, farthest=3):
        super().__init__()
        self.num_heads, self.farthest = num_heads, farthest
        self.query, self.key, self.value, self.output = (nn.Linear(width, width) for _ in range(4))
        self.relative_bias = nn.Embedding(2 * farthest + 1, num_heads)

    def forward(self, x, mask=None):
        batch, length, width = x.shape
        shape = (batch, length, self.num_heads, width // self.num_heads)
        queries, keys, values = (layer(x).view(shape).transpose(1, 2) for layer in (self.query, self.key, self.value))
        places = torch.arange(length)
        distances = (places - places[:, None]).clamp(-self.farthest, self.farthest) + self.farthest
        scores = queries @ keys.transpose(-1, -2) / math.sqrt(shape[-1])
        scores = scores + self.relative_bias(distances).permute(2, 0, 1)
        if mask is not None:
            scores = scores.masked_fill(~mask, -1e9)
        mixed = torch.softmax(scores, dim=-1) @ values
        return self.output(mixed.transpose(1, 2).reshape(batch, length, width))
"""
"""A learned bias of the distances, which is judged as zeros."""

PROGRAMS = (
    Program(
        "CausalSelfAttention",
        "causal_self_attention",
        KEYWORDS_OF_CONSTRUCTOR,
        (
            ("self.split(self.key(x))", "self.split(self.query(x))"),
            ("triu(1)", "triu(0)"),
        ),
    ),
    Program(
        "scaled_dot_product_attention",
        "scaled_dot_product_attention",
        KEYWORDS_OF_FUNCTION,
        (
            (".tril()", ".triu()"),
            ("scale is None else scale", "scale is None else scale**2"),
        ),
    ),
    Program(
        "SelfAttention",
        "self_attention",
        GIVEN_BIAS,
        (
            ("        scores += position_bias\n", ""),
            ("scores, dim=-1", "scores, dim=-2"),
            ("x: torch.Tensor, position_bias: torch.Tensor", "x: torch.Tensor, position_bias=None"),
        ),
    ),
    Program(
        "SelfAttention",
        "self_attention",
        CACHE_ON_REQUEST,
        (
            ("math.sqrt(self.head_width)", "self.head_width"),
            ("triu(columns - rows + 1)", "triu(1)"),
        ),
    ),
    Program(
        "FlashAttention",
        "causal_self_attention",
        BLOCKWISE,
        (
            ("mixed * shrunk + weights", "mixed + weights"),
            ("shape[-1] ** 0.5", "shape[-1]"),
        ),
    ),
    Program(
        "CausalSelfAttention",
        "causal_self_attention",
        OF_ROUTES,
        (
            ("math.sqrt(keys.shape[-1])", "math.sqrt(width)"),
            ("dim=-1) @ values", "dim=-2) @ values"),
        ),
    ),
    Program(
        "RelativeSelfAttention",
        "self_attention",
        RELATIVE,
        (
            ("places - places[:, None]", "places + 0 * places[:, None]"),
            ("math.sqrt(shape[-1])", "shape[-1]"),
        ),
    ),
    Program(
        "T5LayerNorm",
        "layer_norm",
        """
import torch
from torch import nn
from torch.nn import functional as F

class T5LayerNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return F.layer_norm(x, x.shape[-1:], self.gain)
""",
        (("self.gain)", "self.gain + 1)"),),
    ),
    Program(
        "LinearNorm",
        "linear",
        """
import torch
from torch import nn

class LinearNorm(nn.Module):
    def __init__(self, in_width, out_width):
        super().__init__()
        self.layer = nn.Linear(in_width, out_width)
        nn.init.xavier_uniform_(self.layer.weight)

    def forward(self, x):
        return self.layer(x)
""",
        (("self.layer(x)", "self.layer(x).relu()"),),
    ),
    Program(
        "Residual",
        "residual",
        """
from torch import nn

class Residual(nn.Module):
    def __init__(self, fn):
        super().__init__()
        self.fn = fn

    def forward(self, x, **options):
        return x + self.fn(x, **options)
""",
        (("x + self.fn", "x * self.fn"),),
    ),
    Program(
        "LayerNorm",
        "rms_norm",
        """
import torch
from torch import nn

def relative_position_bucket(distance, num_buckets=32):
    return distance.abs().clamp(max=num_buckets - 1)

class LayerNorm(nn.Module):
    def __init__(self, width, eps=1e-6):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x):
        return self.gain * x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps)
""",
        (("x.square().mean(-1, keepdim=True)", "x.square().sum(-1, keepdim=True)"),),
    ),
    Program(
        "Heads.attend",
        "scaled_dot_product_attention",
        """
import math
import torch
from torch import nn

class Heads(nn.Module):
    def __init__(self, width, drop=0.1):
        super().__init__()
        self.width = width
        self.drop = nn.Dropout(drop)

    @staticmethod
    def attend(q, k, v, mask=None, dropout: nn.Dropout = nn.Dropout(0.1)):
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        weights = dropout(scores.softmax(dim=-1))
        return weights @ v, weights
""",
        (
            ("q.size(-1)", "q.size(-2)"),
            ("dim=-1)", "dim=-2)"),
        ),
    ),
)
