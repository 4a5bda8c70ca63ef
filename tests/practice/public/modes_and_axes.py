"""Passes with a flag for decoding, losses and tables with their axes or parts in another order, layers of packages that are absent."""

from __future__ import annotations

from tests.practice.public.program import Program

DECODING_FLAG = """import math
import torch
import torch.nn as nn


class CausalSelfAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.d_head = d_model // n_heads
        self.to_q = nn.Linear(d_model, d_model)
        self.to_k = nn.Linear(d_model, d_model)
        self.to_v = nn.Linear(d_model, d_model)
        self.to_out = nn.Linear(d_model, d_model)
        self.k_cache = None
        self.v_cache = None

    def split(self, x):
        return x.view(x.size(0), x.size(1), self.n_heads, self.d_head).transpose(1, 2)

    def forward(self, x, use_cache=False, is_decoding=False):
        batch, length, width = x.shape
        q, k, v = self.split(self.to_q(x)), self.split(self.to_k(x)), self.split(self.to_v(x))
        offset = self.k_cache.size(2) if is_decoding and self.k_cache is not None else 0
        if use_cache:
            if self.k_cache is not None:
                k = torch.cat([self.k_cache, k], dim=2)
                v = torch.cat([self.v_cache, v], dim=2)
            self.k_cache, self.v_cache = k, v
        rows = torch.arange(length).unsqueeze(1) + offset
        visible = torch.arange(k.size(2)).unsqueeze(0) <= rows
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.d_head)
        weights = scores.masked_fill(~visible, float("-inf")).softmax(-1)
        return self.to_out((weights @ v).transpose(1, 2).reshape(batch, length, width))
"""

LOSS_OVER_TIME = '''import torch
import torch.nn.functional as F


def next_token_loss(logits, tokens):
    """Compare each step with the next one; logits: (seq_len, batch, vocab), tokens: (seq_len, batch)."""
    seq_len, batch, vocab = logits.shape
    predicted = logits[:-1].reshape(-1, vocab)
    return F.cross_entropy(predicted, tokens[1:].reshape(-1))
'''

SINES_FIRST = """import torch
import torch.nn as nn


class RotaryEmbedding(nn.Module):
    def __init__(self, dim, max_seq_len=512):
        super().__init__()
        inv_freq = 10000 ** (-torch.arange(0, dim, 2).float() / dim)
        angles = torch.outer(torch.arange(max_seq_len).float(), inv_freq)
        self.register_buffer("sin", angles.sin()[None], persistent=False)
        self.register_buffer("cos", angles.cos()[None], persistent=False)

    def forward(self, seq_len):
        return (
            self.sin[:, :seq_len],
            self.cos[:, :seq_len],
        )
"""

LENGTH_OF_CONTEXT = """import torch


def rope_tables(head_dim, base=10000.0, context_len=64, dtype=torch.float32):
    inv_freq = 1.0 / base ** (torch.arange(0, head_dim, 2, dtype=dtype) / head_dim)
    angles = torch.arange(context_len, dtype=dtype)[:, None] * inv_freq[None]
    angles = torch.cat([angles, angles], dim=-1)
    cos = torch.cos(angles)
    sin = torch.sin(angles)
    return cos, sin
"""

UNKNOWN_LENGTH = LENGTH_OF_CONTEXT.replace("context_len", "horizon")
"""Tables of a length whose name says nothing."""

BOTH_LENGTHS = """import math
import torch
import torch.nn as nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.query = nn.Linear(d_model, d_model, bias=False)
        self.key = nn.Linear(d_model, d_model, bias=False)
        self.value = nn.Linear(d_model, d_model, bias=False)
        self.out = nn.Linear(d_model, d_model)
        self.d_model = d_model
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads

    def forward(self, query, key, value, mask=None):
        batch = query.size(0)
        num_queries, num_keys = query.size(1), key.size(1)
        q = self.query(query).view(batch, num_queries, self.num_heads, self.head_dim).transpose(1, 2)
        k = self.key(key).view(batch, num_keys, self.num_heads, self.head_dim).transpose(1, 2)
        v = self.value(value).view(batch, num_keys, self.num_heads, self.head_dim).transpose(1, 2)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.head_dim)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        mixed = (scores.softmax(-1) @ v).transpose(1, 2).contiguous()
        return self.out(mixed.view(batch, num_queries, self.d_model))
"""

OF_ONE_WIDTH_NORMED = """import torch.nn as nn
import torch.nn.functional as F


class FeedForward(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.fc1 = nn.Linear(hidden_size, hidden_size)
        self.fc2 = nn.Linear(hidden_size, hidden_size)
        self.norm = nn.LayerNorm(hidden_size)

    def forward(self, x):
        return self.norm(x + self.fc2(F.relu(self.fc1(x))))
"""

PARALLEL_LAYERS = """import fairscale.nn.model_parallel.initialize as fs_init
import torch.nn as nn
import torch.nn.functional as F
from fairscale.nn.model_parallel.layers import ColumnParallelLinear, RowParallelLinear


class FeedForward(nn.Module):
    def __init__(self, dim, hidden_dim):
        super().__init__()
        inner = hidden_dim // fs_init.get_model_parallel_world_size()
        self.w1 = ColumnParallelLinear(dim, inner, bias=False, gather_output=False, init_method=lambda x: x)
        self.w2 = RowParallelLinear(inner, dim, bias=False, input_is_parallel=True, init_method=lambda x: x)
        self.w3 = ColumnParallelLinear(dim, inner, bias=False, gather_output=False, init_method=lambda x: x)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))
"""

MASK_OF_SEQUENCE = """import torch


def target_mask(target_seq, pad_idx=0):
    padding = (target_seq == pad_idx).unsqueeze(1)
    length = target_seq.shape[1]
    later = torch.tril(torch.ones(length, length)).type(torch.ByteTensor) == 0
    return padding | later
"""

TWO_CONFIGS = """import torch.nn as nn
import torch.nn.functional as F


class CrossAttention(nn.Module):
    def __init__(self, encoder_config, decoder_config):
        super().__init__()
        self.kv = nn.Linear(encoder_config.n_embd, 2 * encoder_config.n_embd)
        self.q = nn.Linear(decoder_config.n_embd, decoder_config.n_embd)
        self.proj = nn.Linear(decoder_config.n_embd, decoder_config.n_embd)
        self.n_head = decoder_config.n_head
        self.n_embd = decoder_config.n_embd

    def split(self, x):
        return x.view(x.size(0), x.size(1), self.n_head, -1).transpose(1, 2)

    def forward(self, encoder_x, decoder_x):
        k, v = self.kv(encoder_x).split(self.n_embd, dim=2)
        mixed = F.scaled_dot_product_attention(self.split(self.q(decoder_x)), self.split(k), self.split(v))
        return self.proj(mixed.transpose(1, 2).reshape(decoder_x.shape))
"""

PROGRAMS = (
    Program("CausalSelfAttention", "causal_self_attention", DECODING_FLAG, (("torch.cat([self.v_cache, v], dim=2)", "v"),)),
    Program("next_token_loss", "next_token_loss", LOSS_OVER_TIME, (("tokens[1:]", "tokens[:-1]"),)),
    Program("RotaryEmbedding", "rotary_tables", SINES_FIRST, (("dim, 2).float() / dim", "dim, 2).float() / (2 * dim)"),)),
    Program("rope_tables", "rotary_tables", LENGTH_OF_CONTEXT, (("sin = torch.sin", "sin = torch.cos"),)),
    Program(
        "MultiHeadAttention",
        "multi_head_attention",
        BOTH_LENGTHS,
        (("view(batch, num_queries, self.d_model)", "view(batch, num_keys, self.d_model)"),),
    ),
    Program("FeedForward", "feed_forward", OF_ONE_WIDTH_NORMED, (("F.relu(self.fc1(x))", "self.fc1(x)"),)),
    Program(
        "FeedForward", "gated_feed_forward", PARALLEL_LAYERS, (("F.silu(self.w1(x)) * self.w3(x)", "self.w1(x) * F.silu(self.w3(x))"),)
    ),
    Program(
        "CrossAttention",
        "cross_attention",
        TWO_CONFIGS,
        (("self.split(self.q(decoder_x)), self.split(k), self.split(v)", "self.split(self.q(decoder_x)), self.split(k), self.split(k)"),),
    ),
    Program(
        "target_mask",
        "causal_mask",
        MASK_OF_SEQUENCE,
        (("torch.tril(torch.ones(length, length))", "torch.tril(torch.ones(length, length), -1)"),),
    ),
)
