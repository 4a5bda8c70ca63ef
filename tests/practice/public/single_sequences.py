"""Programs of NumPy for one sequence at a time: stacks of layers, and a whole encoder–decoder, whose add-and-norm takes its norm as a function."""

from __future__ import annotations

from tests.practice.public.program import Program

PARTS = """
import numpy as np

def softmax(x):
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)

def positions(length, width):
    angles = np.arange(length)[:, None] / 10000 ** (np.arange(0, width, 2) / width)
    table = np.zeros((length, width))
    table[:, 0::2], table[:, 1::2] = np.sin(angles), np.cos(angles)
    return table

class Attention:
    def __init__(self, d_model, num_heads):
        self.num_heads = num_heads
        self.Wq, self.Wk, self.Wv, self.Wo = (np.random.randn(d_model, d_model) * 0.1 for _ in range(4))

    def split(self, x):
        return x.reshape(len(x), self.num_heads, -1).transpose(1, 0, 2)

    def __call__(self, x, y, mask=None):
        q, k, v = self.split(x @ self.Wq), self.split(y @ self.Wk), self.split(y @ self.Wv)
        scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
        if mask is not None:
            scores = np.where(mask, -1e9, scores)
        return (softmax(scores) @ v).transpose(1, 0, 2).reshape(len(x), -1) @ self.Wo

class LayerNorm:
    def __init__(self, d_model):
        self.gamma, self.beta = np.ones(d_model), np.zeros(d_model)

    def __call__(self, x):
        return self.gamma * (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) + self.beta

class FeedForward:
    def __init__(self, d_model, d_ff):
        self.W1, self.b1 = np.random.randn(d_model, d_ff) * 0.1, np.zeros(d_ff)
        self.W2, self.b2 = np.random.randn(d_ff, d_model) * 0.1, np.zeros(d_model)

    def __call__(self, x):
        return np.maximum(0, x @ self.W1 + self.b1) @ self.W2 + self.b2

def add_and_norm(x, y, layer_norm):
    return layer_norm(x + y)

class EncoderLayer:
    def __init__(self, d_model, num_heads, d_ff):
        self.attention, self.feed_forward = Attention(d_model, num_heads), FeedForward(d_model, d_ff)
        self.norm1, self.norm2 = LayerNorm(d_model), LayerNorm(d_model)

    def __call__(self, x):
        x = add_and_norm(x, self.attention(x, x), self.norm1)
        return add_and_norm(x, self.feed_forward(x), self.norm2)

class DecoderLayer:
    def __init__(self, d_model, num_heads, d_ff):
        self.attention, self.cross, self.feed_forward = Attention(d_model, num_heads), Attention(d_model, num_heads), FeedForward(d_model, d_ff)
        self.norm1, self.norm2, self.norm3 = LayerNorm(d_model), LayerNorm(d_model), LayerNorm(d_model)

    def __call__(self, x, enc_output):
        mask = np.triu(np.ones((len(x), len(x)), dtype=bool), k=1)
        x = add_and_norm(x, self.attention(x, x, mask), self.norm1)
        x = add_and_norm(x, self.cross(x, enc_output), self.norm2)
        return add_and_norm(x, self.feed_forward(x), self.norm3)

class Encoder:
    def __init__(self, num_layers, d_model, num_heads, d_ff):
        self.layers = [EncoderLayer(d_model, num_heads, d_ff) for _ in range(num_layers)]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

class Decoder:
    def __init__(self, num_layers, d_model, num_heads, d_ff):
        self.layers = [DecoderLayer(d_model, num_heads, d_ff) for _ in range(num_layers)]

    def __call__(self, x, enc_output):
        for layer in self.layers:
            x = layer(x, enc_output)
        return x

class Transformer:
    def __init__(self, vocab_size, d_model=8, num_heads=2, d_ff=32, num_layers=2, max_len=20):
        self.table = np.random.randn(vocab_size, d_model) * 0.1
        self.encoder, self.decoder = Encoder(num_layers, d_model, num_heads, d_ff), Decoder(num_layers, d_model, num_heads, d_ff)
        self.W_out = np.random.randn(d_model, vocab_size) * 0.1
        self.positions = positions(max_len, d_model)

    def embed(self, ids):
        return self.table[ids] + self.positions[: len(ids)]

    def forward(self, src, tgt):
        memory = self.encoder(self.embed(src))
        return {"memory": memory, "probs": softmax(self.decoder(self.embed(tgt), memory) @ self.W_out)}
"""

SIZE_OF_THE_FILE = """
import numpy as np

class Settings:
    d_model = 24

d_model = Settings.d_model

def mask(length):
    return np.triu(np.ones((length, length)), k=1) * -1e9

def scaled_dot_product(Q, K, V, d_k):
    scores = Q @ K.T / np.sqrt(d_k) + mask(Q.shape[0])
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights = powers / powers.sum(axis=1, keepdims=True)
    return weights @ V, weights

def attention(x, W_Q, W_K, W_V):
    return scaled_dot_product(x @ W_Q, x @ W_K, x @ W_V, d_k=d_model)

def multi_head_attention(x, W_Q, W_K, W_V, W_O, n_heads):
    size = d_model // n_heads
    q, k, v = ((x @ each).reshape(len(x), n_heads, size) for each in (W_Q, W_K, W_V))
    outputs = [scaled_dot_product(q[:, h], k[:, h], v[:, h], d_k=size)[0] for h in range(n_heads)]
    return np.concatenate(outputs, axis=-1) @ W_O
"""

ROTATION_WITH_CACHE = """
import numpy as np

def rotary_forward(x, cos, sin):
    even, odd = x[:, 0::2], x[:, 1::2]
    out = np.empty_like(x)
    out[:, 0::2] = even * cos - odd * sin
    out[:, 1::2] = even * sin + odd * cos
    return out, {"cos": cos, "sin": sin}

def rotary_backward(grad, cache):
    return rotary_forward(grad, cache["cos"], -cache["sin"])[0]
"""

ROTATED_BEFORE_HEADS = """
import torch
from torch import nn

class Settings:
    def __init__(self, hidden_size=64, num_heads=4, max_seq_len=128, rope_theta=10000.0, rotary_fraction=None):
        self.hidden_size = hidden_size
        self.num_heads = num_heads
        self.max_seq_len = max_seq_len
        self.rope_theta = rope_theta
        self.rotary_fraction = rotary_fraction

class RotaryEmbedding(nn.Module):
    def __init__(self, settings: Settings):
        super().__init__()
        self.width = settings.hidden_size // settings.num_heads
        self.turned = self.width
        if settings.rotary_fraction is not None:
            self.turned = int(self.width * settings.rotary_fraction)
        rates = settings.rope_theta ** (-torch.arange(0, self.turned, 2) / self.turned)
        angles = torch.outer(torch.arange(settings.max_seq_len).float(), rates)
        self.register_buffer("waves", torch.polar(torch.ones_like(angles), angles), persistent=False)

    def forward(self, x, start_pos: int):
        assert x.ndim == 3 and x.shape[-1] == self.width
        length = len(x)
        x, rest = x[..., : self.turned], x[..., self.turned :]
        numbers = torch.complex(*x.float().chunk(2, dim=-1)) * self.waves[start_pos : start_pos + length, None]
        return torch.cat([numbers.real, numbers.imag, rest], dim=-1).type_as(x)

if __name__ == "__main__":
    rotary = RotaryEmbedding(Settings(hidden_size=64, num_heads=4, max_seq_len=16, rotary_fraction=0.5))
    print(rotary(torch.randn(10, 4, 16), 0).shape)
"""
"""A single sequence with the positions before the heads; the example of the file rotates a share of the coordinates."""

CACHE_OF_ONE_SEQUENCE = """
import torch
from torch import nn

class KVCache(nn.Module):
    def __init__(self, max_seq_len: int, num_heads: int, head_dim: int):
        super().__init__()
        self.max_seq_len = max_seq_len
        shape = (max_seq_len, num_heads, head_dim)
        self.register_buffer("k_cache", torch.zeros(shape), persistent=False)
        self.register_buffer("v_cache", torch.zeros(shape), persistent=False)
        self.length = 0

    def reset(self):
        self.length = 0

    def forward(self, k: torch.Tensor = None, v: torch.Tensor = None):
        if k is None:
            return self.k_cache[: self.length], self.v_cache[: self.length]
        assert k.ndim == 3 and k.shape == v.shape
        assert k.shape[1:] == self.k_cache.shape[1:]
        end = self.length + k.shape[0]
        self.k_cache[self.length : end] = k
        self.v_cache[self.length : end] = v
        self.length = end
"""
"""A cache of a single sequence, with the positions before the heads, which returns its content if it is called without any."""

TABLES_OF_EACH_SEQUENCE = """
import torch
from torch import nn

class RotaryEmbedding(nn.Module):
    def __init__(self, dim, base=10000.0):
        super().__init__()
        self.register_buffer("inv_freq", base ** (-torch.arange(0, dim, 2).float() / dim), persistent=False)

    def forward(self, x, position_ids):
        rates = self.inv_freq[None, :, None].expand(position_ids.shape[0], -1, 1)
        angles = (rates @ position_ids[:, None, :].float()).transpose(1, 2)
        angles = torch.cat((angles, angles), dim=-1)
        return angles.cos(), angles.sin()
"""
"""Positions have a row for each sequence; the mistake adds those of all sequences."""

SCALED_LOGITS = """
import torch

next_logits = torch.tensor([2.5, 0.3, -1.2, 4.1])

def softmax_with_temperature(logits, temperature):
    return torch.softmax(logits / temperature, dim=0)

flat = softmax_with_temperature(next_logits, 3.0)
"""

PROGRAMS = (
    Program("softmax_with_temperature", "temperature", SCALED_LOGITS, (("logits / temperature", "logits * temperature"),)),
    Program(
        "RotaryEmbedding",
        "rotary_tables",
        TABLES_OF_EACH_SEQUENCE,
        (
            (
                "        rates = self.inv_freq[None, :, None].expand(position_ids.shape[0], -1, 1)\n"
                "        angles = (rates @ position_ids[:, None, :].float()).transpose(1, 2)\n",
                "        rates = self.inv_freq[:, None].expand(-1, position_ids.shape[0])\n"
                "        angles = (rates @ position_ids.float()).t()\n",
            ),
        ),
    ),
    Program(
        "RotaryEmbedding",
        "rotary",
        ROTATED_BEFORE_HEADS,
        (
            ("start_pos : start_pos + length", "start_pos + 1 : start_pos + 1 + length"),
            ("numbers.real, numbers.imag", "numbers.imag, numbers.real"),
        ),
    ),
    Program(
        "KVCache",
        "kv_cache",
        CACHE_OF_ONE_SEQUENCE,
        (
            ("self.v_cache[self.length : end] = v", "self.v_cache[self.length : end] = k"),
            ("        self.length = end\n", ""),
        ),
    ),
    Program(
        "scaled_dot_product",
        "scaled_dot_product_attention",
        SIZE_OF_THE_FILE,
        (("np.sqrt(d_k) + mask(Q.shape[0])", "d_k + mask(Q.shape[0])"), ("k=1) * -1e9", "k=0) * -1e9")),
    ),
    Program("attention", "self_attention", SIZE_OF_THE_FILE, (("d_model = Settings.d_model", "d_model, d_k = Settings.d_model, 8"),)),
    Program("multi_head_attention", "multi_head_attention", SIZE_OF_THE_FILE, (("d_k=size", "d_k=d_model"),)),
    Program("rotary_forward", "rotary", ROTATION_WITH_CACHE, (("even * sin + odd * cos", "even * sin - odd * cos"),)),
    Program("add_and_norm", "residual", PARTS, (("layer_norm(x + y)", "layer_norm(y)"),)),
    Program("Encoder", "encoder_stack", PARTS, (("            x = layer(x)\n", "            layer(x)\n"),)),
    Program("Decoder", "decoder_stack", PARTS, (("x = layer(x, enc_output)", "x = layer(x, x)"),)),
    Program("Transformer", "encoder_decoder", PARTS),
)
