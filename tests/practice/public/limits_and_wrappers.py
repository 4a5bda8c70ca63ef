"""Limits of contexts and of shapes, wrappers whose operands are attributes, and models that must be modules: programs in conventions of public code."""

from __future__ import annotations

from tests.practice.public.program import Program

NEXT_OF_MODULE = """
import torch
from torch import nn

def _check(model, ids):
    if not isinstance(model, nn.Module):
        raise TypeError("model has to be a module")
    if ids.ndim != 2:
        raise ValueError("ids has to be (batch, positions)")

def sample_next_token(model: nn.Module, ids: torch.Tensor, temperature: float = 1.0) -> torch.Tensor:
    _check(model, ids)
    device = next(model.parameters()).device
    model.eval()
    with torch.no_grad():
        scores = model(ids.to(device))[:, -1, :] / temperature
    return torch.multinomial(torch.softmax(scores, dim=-1), num_samples=1)
"""

ON_DEVICE = """
import torch
from torch import nn

class RMSNorm(nn.Module):
    def __init__(self, width, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(width, device=torch.cuda.current_device()))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.scale
"""

WRAPPED = """
import torch
from torch import nn

class _Attend(nn.Module):
    def __init__(self, attention):
        super().__init__()
        self.attention = attention
        self.mask = None

    def forward(self, x):
        result, _ = self.attention(x, x, x, mask=self.mask)
        return result

class AddAndNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)

    def forward(self, x, part):
        return self.norm(x + part(x))

class EncoderLayer(nn.Module):
    def __init__(self, width, self_attention, inner):
        super().__init__()
        self.attend = _Attend(self_attention)
        self.first = AddAndNorm(width)
        self.feed_forward = nn.Sequential(nn.Linear(width, inner), nn.ReLU(), nn.Linear(inner, width))
        self.second = AddAndNorm(width)

    def forward(self, x, mask=None):
        self.attend.mask = mask
        x = self.first(x, self.attend)
        return self.second(x, self.feed_forward)
"""

ENDS_AT_CONTEXT = """
import torch

@torch.no_grad()
def generate(model, ids, max_new_tokens, context_length):
    made = 0
    while made < max_new_tokens:
        if ids.shape[1] >= context_length:
            break
        logits = model(ids)[:, -1, :]
        ids = torch.cat([ids, logits.argmax(dim=-1, keepdim=True)], dim=1)
        made += 1
    return ids
"""

SAME_SHAPES = """
import math
import torch

def scaled_dot_product_attention(query, key, value):
    if key.shape != value.shape:
        raise ValueError("keys and values have different shapes")
    if query.ndim != 4:
        raise ValueError("expected (batch, heads, positions, head_dim)")
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    weights = scores.softmax(dim=-1)
    return weights @ value, weights
"""

NEWEST_OF_ALL = """
import torch
from torch import nn
from torch.nn import functional as F

class CausalSelfAttention(nn.Module):
    def __init__(self, width, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.q_proj = nn.Linear(width, width)
        self.k_proj = nn.Linear(width, width)
        self.v_proj = nn.Linear(width, width)
        self.o_proj = nn.Linear(width, width)
        self.k_cache, self.v_cache = None, None

    def forward(self, x, use_kv_cache=False):
        batch, length, width = x.shape
        if use_kv_cache and self.k_cache is not None and self.k_cache.shape[1] == length - 1:
            newest = x[:, -1:, :]
            q = torch.cat((torch.zeros_like(x[:, :-1, :]), self.q_proj(newest)), dim=1)
            k = torch.cat((self.k_cache, self.k_proj(newest)), dim=1)
            v = torch.cat((self.v_cache, self.v_proj(newest)), dim=1)
        else:
            q, k, v = self.q_proj(x), self.k_proj(x), self.v_proj(x)
        if use_kv_cache:
            self.k_cache, self.v_cache = k, v
        q, k, v = (each.view(batch, length, self.num_heads, -1).transpose(1, 2) for each in (q, k, v))
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o_proj(out.transpose(1, 2).reshape(batch, length, width))
"""

RETURNS_TABLE = """
import torch
from torch import nn

class LearnedPositionalEncoding(nn.Module):
    def __init__(self, width, max_len):
        super().__init__()
        self.table = nn.Parameter(torch.zeros(1, max_len, width))

    def forward(self, x):
        positions = self.table[:, : x.size(1)]
        return x + positions, positions
"""

PENALTY_OF_MODEL = """
import numpy as np

def penalty(model, lam):
    return np.sum([0.5 * lam * np.sum(model[k] ** 2) for k in model.keys() if k.startswith("W")])

def cross_entropy(model, y_pred, y_train, lam=1e-3):
    rows = y_pred.shape[0]
    powers = np.exp(y_pred - y_pred.max(axis=1, keepdims=True))
    probabilities = powers / powers.sum(axis=1, keepdims=True)
    loss = -np.log(probabilities[range(rows), y_train]).sum() / rows
    return loss + penalty(model, lam=lam)
"""

PROJECTS_ITSELF = """
import torch
from torch import nn
from torch.nn import functional as F

class FeedForward(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.w_1, self.w_2, self.w_3 = nn.Linear(width, inner), nn.Linear(inner, width), nn.Linear(width, inner)

    def forward(self, x):
        return self.w_2(F.silu(self.w_1(x)) * self.w_3(x))

class TransformerBlock(nn.Module):
    def __init__(self, width, num_heads, inner):
        super().__init__()
        self.num_heads = num_heads
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn_q_proj = nn.Linear(width, width)
        self.attn_k_proj = nn.Linear(width, width)
        self.attn_v_proj = nn.Linear(width, width)
        self.attn_output_proj = nn.Linear(width, width)
        self.ffn = FeedForward(width, inner)

    def _split(self, x):
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)

    def forward(self, x):
        h = self.ln1(x)
        q, k, v = self._split(self.attn_q_proj(h)), self._split(self.attn_k_proj(h)), self._split(self.attn_v_proj(h))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.attn_output_proj(mixed.transpose(1, 2).flatten(2))
        return x + self.ffn(self.ln2(x))
"""

ROTATIONS_BY_KIND = """
import math
import torch
from torch import nn

def rotate_halves(x, angles):
    turned = torch.view_as_complex(torch.stack(x.chunk(2, dim=-1), dim=-1)) * angles
    return torch.cat(torch.view_as_real(turned).unbind(-1), dim=-1)

def rotate_pairs(x, angles):
    return torch.view_as_real(torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2)) * angles).flatten(3)

APPLY_ROTARY_EMB = {"halves": rotate_halves, "pairs": rotate_pairs}

class RopeCausalSelfAttention(nn.Module):
    def __init__(self, num_heads, width, style="halves"):
        super().__init__()
        self.num_heads, self.style = num_heads, style
        self.linear_q, self.linear_k = nn.Linear(width, width), nn.Linear(width, width)
        self.linear_v, self.linear_out = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x, pos_emb=torch.empty(0)):
        split = [each(x).unflatten(-1, (self.num_heads, -1)) for each in (self.linear_q, self.linear_k, self.linear_v)]
        q = APPLY_ROTARY_EMB[self.style](split[0], pos_emb).transpose(1, 2)
        k = APPLY_ROTARY_EMB[self.style](split[1], pos_emb).transpose(1, 2)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
        scores = scores + torch.full(scores.shape[-2:], float("-inf")).triu(1)
        mixed = scores.softmax(dim=-1) @ split[2].transpose(1, 2)
        return self.linear_out(mixed.transpose(1, 2).flatten(2))
"""

RELATIVE_KEYS = """
import math
import torch
from torch import nn

class RelPositionMultiHeadAttention(nn.Module):
    def __init__(self, num_heads, width):
        super().__init__()
        self.num_heads = num_heads
        self.linear_q, self.linear_k = nn.Linear(width, width), nn.Linear(width, width)
        self.linear_v, self.linear_out = nn.Linear(width, width), nn.Linear(width, width)
        self.rel_k_embed = nn.Embedding(2 * 16 + 1, width // num_heads)

    def forward(self, query, key, value, mask=None):
        q, k, v = (
            each.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for each in (self.linear_q(query), self.linear_k(key), self.linear_v(value))
        )
        places = torch.arange(k.size(2))
        near = self.rel_k_embed((places - places[:, None]).clamp(-16, 16) + 16)[-q.size(2) :]
        scores = (q @ k.transpose(-2, -1) + torch.einsum("bhqd,qkd->bhqk", q, near)) / math.sqrt(q.size(-1))
        if mask is not None:
            scores = scores.masked_fill(~mask.unsqueeze(1), float("-inf"))
        return self.linear_out((scores.softmax(dim=-1) @ v).transpose(1, 2).flatten(2))
"""

SECOND_GELU = """
import numpy as np

def gelu2(x):
    return x / (1 + np.exp(-1.702 * x))
"""

PROGRAMS = (
    Program("sample_next_token", "sample", NEXT_OF_MODULE, ((" / temperature", " * temperature"),)),
    Program("RMSNorm", "rms_norm", ON_DEVICE, (("x.pow(2).mean(-1", "x.pow(2).sum(-1"),)),
    Program("EncoderLayer", "encoder_layer", WRAPPED, (("self.attend.mask = mask", "self.attend.mask = None"),)),
    Program("generate", "generate", ENDS_AT_CONTEXT, (("[:, -1, :]", "[:, 0, :]"),)),
    Program("scaled_dot_product_attention", "scaled_dot_product_attention", SAME_SHAPES, (("softmax(dim=-1)", "softmax(dim=-2)"),)),
    Program(
        "CausalSelfAttention",
        "causal_self_attention",
        NEWEST_OF_ALL,
        (("self.k_cache, self.v_cache = k, v", "self.k_cache, self.v_cache = v, k"),),
    ),
    Program(
        "LearnedPositionalEncoding", "learned_positions", RETURNS_TABLE, (("x + positions, ", "x + self.table[:, 1 : x.size(1) + 1], "),)
    ),
    Program("cross_entropy", "cross_entropy", PENALTY_OF_MODEL, ((".sum() / rows", ".sum()"),)),
    Program("TransformerBlock", "transformer_block", PROJECTS_ITSELF, (("is_causal=True", "is_causal=False"),)),
    Program("RopeCausalSelfAttention", "causal_self_attention", ROTATIONS_BY_KIND, (("scores.softmax(dim=-1)", "scores.softmax(dim=-2)"),)),
    Program("RelPositionMultiHeadAttention", "multi_head_attention", RELATIVE_KEYS, (("math.sqrt(q.size(-1))", "math.sqrt(k.size(2))"),)),
    Program("gelu2", "gelu", SECOND_GELU, (("-1.702", "1.702"),)),
)
