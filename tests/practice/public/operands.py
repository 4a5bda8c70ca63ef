"""Parts with operands of other kinds: query, key and value of a constructor, lengths that assertions fix, ids of padding, default axes."""

from __future__ import annotations

from tests.practice.public.program import Program

PROGRAMS = (
    Program(
        "DotProductAttention",
        "scaled_dot_product_attention",
        """
import math
import torch
from torch import nn

class DotProductAttention(nn.Module):
    def __init__(self, q, k, v, mask=None):
        super().__init__()
        self.q, self.k, self.v, self.mask = q, k, v, mask

    def forward(self):
        scores = self.q @ self.k.transpose(-2, -1) / math.sqrt(self.q.shape[-1])
        if self.mask is not None:
            scores = scores.masked_fill(~self.mask, float("-inf"))
        return scores.softmax(-1) @ self.v
""",
        (("self.q.shape[-1]", "self.q.shape[-2]"), ("@ self.v", "@ self.k")),
    ),
    Program(
        "Attention",
        "scaled_dot_product_attention",
        """
import torch
from torch import nn

class Attention(nn.Module):
    def __init__(self, d_k, d_v, h):
        super().__init__()
        self.d_k, self.d_v, self.h = d_k, d_v, h

    def forward(self, q, k, v):
        length = q.shape[2]
        assert q.shape == k.shape == (q.shape[0], self.h, length, self.d_k)
        assert v.shape == (q.shape[0], self.h, length, self.d_v)
        return torch.softmax(q @ k.transpose(2, 3) / self.d_k**0.5, dim=3) @ v
""",
        (("self.d_k**0.5", "self.d_v**0.5"), ("dim=3", "dim=2")),
    ),
    Program(
        "attention",
        "scaled_dot_product_attention",
        """
import math
import torch

def attention(q, k, v, d_k, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask.unsqueeze(1) == 0, -1e9)
    return torch.softmax(scores, -1) @ v
""",
        (("scores = scores.masked", "return scores.masked"), ("mask.unsqueeze(1) == 0", "mask.unsqueeze(1).swapaxes(-1, -2) == 0")),
    ),
    Program(
        "get_padding_mask",
        "padding_mask",
        """
import torch

def get_padding_mask(tokens):
    mask = torch.zeros(tokens.size())
    mask[tokens == 2] = float("-inf")
    return mask
""",
        (("tokens == 2", "tokens != 2"),),
    ),
    Program(
        "softmax",
        "softmax",
        """
import torch

def softmax(x, dim=0):
    powers = torch.exp(x - x.max(dim=dim, keepdim=True).values)
    return powers / powers.sum(dim=dim, keepdim=True)
""",
        (("powers.sum(dim=dim", "powers.sum(dim=0"),),
    ),
    Program(
        "TransformerLayer",
        "encoder_layer",
        """
import torch
from torch import nn

class TransformerLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.attend = nn.MultiheadAttention(d_model, num_heads, batch_first=True)
        self.up, self.down = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.first, self.second = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def forward(self, x, mask, is_causal=True):
        y = self.first(x)
        x = x + self.attend(y, y, y, attn_mask=mask, is_causal=is_causal, need_weights=False)[0]
        return x + self.down(torch.relu(self.up(self.second(x))))
""",
        (("self.up(self.second(x))", "self.up(self.first(x))"),),
    ),
    Program(
        "Adam",
        "adam_optimizer",
        """
import numpy as np

class Adam:
    def __init__(self, params, lr=1e-3, beta_1=0.9, beta_2=0.999, eps=1e-8):
        self.params, self.lr, self.beta_1, self.beta_2, self.eps, self.t = list(params), lr, beta_1, beta_2, eps, 0
        for each in self.params:
            each.m, each.v = np.zeros(each.shape), np.zeros(each.shape)

    def step(self):
        self.t += 1
        for each in self.params:
            each.m = self.beta_1 * each.m + (1 - self.beta_1) * each.grads
            each.v = self.beta_2 * each.v + (1 - self.beta_2) * each.grads**2
            m, v = each.m / (1 - self.beta_1**self.t), each.v / (1 - self.beta_2**self.t)
            each.params -= self.lr * m / (np.sqrt(v) + self.eps)
""",
        (("np.sqrt(v) + self.eps", "np.sqrt(v + self.eps)"),),
    ),
    Program(
        "AdamW",
        "adamw",
        """
import numpy as np

class AdamW:
    def __init__(self, model, lr, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01):
        self.layers = model.layers[::2]  # an activation follows each layer
        self.lr, self.beta1, self.beta2, self.eps, self.decay, self.t = lr, beta1, beta2, eps, weight_decay, 0
        self.m = [[np.zeros(each.shape, dtype="f") for each in (layer.W, layer.b)] for layer in self.layers]
        self.v = [[np.zeros(each.shape, dtype="f") for each in (layer.W, layer.b)] for layer in self.layers]

    def moved(self, x, slope, m, v):
        m[:] = self.beta1 * m + (1 - self.beta1) * slope
        v[:] = self.beta2 * v + (1 - self.beta2) * slope**2
        step = m / (1 - self.beta1**self.t) / (np.sqrt(v / (1 - self.beta2**self.t)) + self.eps)
        return x - self.lr * (step + self.decay * x)

    def step(self):
        self.t += 1
        for layer, m, v in zip(self.layers, self.m, self.v):
            layer.W, layer.b = self.moved(layer.W, layer.dLdW, m[0], v[0]), self.moved(layer.b, layer.dLdb, m[1], v[1])
""",
        (("self.lr * (step + self.decay * x)", "self.lr * step + self.decay * x"),),
    ),
    Program(
        "merge_pair",
        "merge_pair",
        """
def merge_pair(sequences, pair):
    token, merged = pair[0] + pair[1], []
    for sequence in sequences:
        out, i = [], 0
        while i < len(sequence):
            is_pair = tuple(sequence[i : i + 2]) == tuple(pair)
            out.append(token if is_pair else sequence[i])
            i += 2 if is_pair else 1
        merged.append(out)
    return merged, token
""",
        (("i += 2 if is_pair else 1", "i += 1"),),
    ),
    Program(
        "OutputProjection",
        "linear",
        """
import torch
from torch import nn

class OutputProjection(nn.Module):
    def __init__(self, d_model, vocab_len):
        super().__init__()
        self.project = nn.Linear(d_model, vocab_len)

    def forward(self, x):
        return torch.log_softmax(self.project(x), dim=-1)
""",
        (("self.project(x), dim=-1", "self.project(x) * 2, dim=-1"),),
    ),
    Program(
        "SelfAttention",
        "self_attention",
        """
import math
import torch
from torch import nn

class SelfAttention(nn.Module):
    def __init__(self, embed_dim, head_dim):
        super().__init__()
        self.head_dim = head_dim
        self.to_q, self.to_k, self.to_v = (nn.Linear(embed_dim, head_dim) for _ in range(3))

    def forward(self, idx, mask):
        q, k, v = self.to_q(idx), self.to_k(idx), self.to_v(idx)
        scores = (q @ k.transpose(-2, -1) / math.sqrt(self.head_dim)).masked_fill(mask == 0, float("-inf"))
        return scores.softmax(-1) @ v
""",
        (("math.sqrt(self.head_dim)", "math.sqrt(idx.shape[-1])"),),
    ),
    Program(
        "MultiHeadAttention",
        "multi_head_attention",
        """
import numpy as np

class MultiHeadAttention:
    def __init__(self, embed_dim, num_heads):
        self.num_heads = num_heads
        self.Wq, self.Wk, self.Wv, self.Wo = (np.random.randn(embed_dim, embed_dim) for _ in range(4))

    def split(self, x):
        return x.reshape(len(x), x.shape[1], self.num_heads, -1).transpose(0, 2, 1, 3)

    def both(self, key_padding_mask, attn_mask):
        return np.logical_or(key_padding_mask[:, None, None, :], attn_mask[None, None])

    def forward(self, query, key, value, key_padding_mask=None, attn_mask=None):
        q, k, v = self.split(query @ self.Wq), self.split(key @ self.Wk), self.split(value @ self.Wv)
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]) - 1e9 * self.both(key_padding_mask, attn_mask)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        y = weights / weights.sum(-1, keepdims=True) @ v
        return y.transpose(0, 2, 1, 3).reshape(query.shape) @ self.Wo
""",
        (("np.sqrt(q.shape[-1])", "np.sqrt(query.shape[-1])"),),
    ),
    Program(
        "softmax",
        "softmax",
        """
import numpy as np

def relu(x):
    flat = np.array(x).flatten()
    flat[flat < 0] = 0
    return flat.reshape(np.shape(x))

def softmax(x, derivative=False):
    x = np.float64(x)
    flat = x.flatten()
    largest = np.max(flat)
    total = np.sum([np.exp(a - largest) for a in flat])
    f = np.array([np.exp(a - largest) / total for a in flat])
    return (f * (1 - f) if derivative else f).reshape(x.shape)
""",
        (("np.array([np.exp(a - largest) / total", "np.array([np.exp(a - largest) / largest"), ("largest = np.max(flat)", "largest = 0")),
    ),
    Program(
        "softmax",
        "softmax",
        """
import math

def softmax(x, size):
    largest = x[0]
    for i in range(1, size):
        if x[i] > largest:
            largest = x[i]
    total = 0.0
    for i in range(size):
        x[i] = math.exp(x[i] - largest)
        total += x[i]
    for i in range(size):
        x[i] /= total
    return x

def next_token(logits, temperature):
    logits = [each / temperature for each in logits]
    softmax(logits, len(logits))
    return logits.index(max(logits))
""",
        (("x[i] - largest", "x[i]"), ("x[i] /= total", "x[i] /= size"), ("    softmax(logits, len(logits))\n", "")),
    ),
    Program(
        "AddAndNorm",
        "residual",
        """
import torch
from torch import nn

class AddAndNorm(nn.Module):
    def __init__(self, d_model, dropout=0.1):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, sublayer_outputs):
        return self.norm(x + self.drop(sublayer_outputs))
""",
        (("x + self.drop", "x - self.drop"),),
    ),
    Program(
        "RotaryEmbedding",
        "rotary",
        """
import torch
from torch import nn

class RotaryEmbedding(nn.Module):
    def __init__(self, d_k, base=10000, max_len=512):
        super().__init__()
        angles = torch.outer(torch.arange(max_len).float(), base ** (-torch.arange(0, d_k, 2).float() / d_k))
        angles = torch.cat([angles, angles], dim=-1)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def turned(self, x):
        b, h, t, d = x.shape
        other = torch.cat([-x[..., d // 2 :], x[..., : d // 2]], dim=-1)
        return x * self.cos[:t] + other * self.sin[:t]

    def forward(self, q_split, k_split):
        return self.turned(q_split), self.turned(k_split)
""",
        (("self.turned(k_split)", "k_split"),),
    ),
    Program(
        "rope_",
        "rotary",
        """
import torch

def rope_(x: torch.Tensor, rotary_dim: int, base: int = 10000, start_pos: int = 0) -> None:
    places = torch.arange(start_pos, start_pos + x.shape[2], dtype=x.dtype)
    angles = places[:, None] * base ** (-torch.arange(0, rotary_dim, 2, dtype=x.dtype) / rotary_dim)
    part = x[..., :rotary_dim]
    even, odd = part[..., 0::2].clone(), part[..., 1::2].clone()
    part[..., 0::2] = even * angles.cos() - odd * angles.sin()
    part[..., 1::2] = even * angles.sin() + odd * angles.cos()
""",
        (("odd * angles.sin()", "odd * angles.cos()"), ("[..., 0::2].clone()", "[..., 0::2]"), ("/ rotary_dim)", "/ x.shape[2])")),
    ),
)
