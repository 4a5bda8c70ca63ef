"""Weights in variables of a file or under keys that are made from a prefix, samplers of words, optimizers of pairs and of batch sizes, parts with a norm of their own."""

from __future__ import annotations

from tests.practice.public.program import Program

FLAT = """
import jax
import jax.numpy as jnp

def embedding_lookup(weights: dict, ids, weight_name: str):
    return weights[weight_name][ids]

def linear(x, weights, prefix):
    weight = weights[f"{prefix}.weight"] if f"{prefix}.weight" in weights else weights[prefix]
    out = x @ weight
    bias_key = f"{prefix}.bias"
    if bias_key in weights:
        out = out + weights[bias_key]
    return out

def layer_norm(x, weights, prefix, eps=1e-5):
    mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) / jnp.sqrt(var + eps) * weights[f"{prefix}.weight"] + weights[f"{prefix}.bias"]

def mlp(x, weights, layer: int):
    hidden = jax.nn.gelu(linear(x, weights, f"h.{layer}.mlp.c_fc"), approximate=True)
    return linear(hidden, weights, f"h.{layer}.mlp.c_proj")

def multi_head_attention(x, weights, layer: int, config):
    batch, length, width = x.shape
    head_dim = width // config.n_heads
    fused = linear(x, weights, f"h.{layer}.attn.c_attn")
    q, k, v = (each.reshape(batch, length, -1, head_dim).swapaxes(1, 2) for each in jnp.split(fused, 3, axis=-1))
    scores = q @ k.swapaxes(-1, -2) / head_dim**0.5
    scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9)
    out = (jax.nn.softmax(scores, axis=-1) @ v).swapaxes(1, 2).reshape(x.shape)
    return linear(out, weights, f"h.{layer}.attn.c_proj")
"""

OPTIMIZERS = """
import numpy as np

class SGD:
    def __init__(self, lr=0.01, momentum=0.0):
        self.lr, self.momentum, self.velocities = lr, momentum, {}

    def step(self, params, batch_size: int):
        for p, g in params:
            velocity = self.momentum * self.velocities.get(id(p), np.zeros_like(p)) + g / float(batch_size)
            p -= self.lr * velocity
            self.velocities[id(p)] = velocity

class Adam:
    def __init__(self, lr=1e-3, betas=(0.9, 0.999), eps=1e-8):
        self.lr, self.betas, self.eps = lr, betas, eps
        self.state = {}

    def step(self, params, batch_size: int):
        b1, b2 = self.betas
        for p, g in params:
            g = g / float(batch_size)
            m, v, t = self.state.get(id(p), (np.zeros_like(p), np.zeros_like(p), 0))
            m, v, t = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g, t + 1
            p -= self.lr * (m / (1 - b1**t)) / (np.sqrt(v / (1 - b2**t)) + self.eps)
            self.state[id(p)] = m, v, t
"""

OF_WORDS = """
import random
import numpy as np

def apply_top_k(words, probs, k):
    best = np.argsort(probs)[::-1][:k]
    kept = np.zeros_like(probs)
    kept[best] = probs[best]
    return words, kept / kept.sum()

def sample_word(words, probs):
    return random.choices(words, weights=probs, k=1)[0]
"""

OF_NOTEBOOK = """
import numpy as np

width = 64
WQ, WK, WV = (np.random.randn(width, width) for _ in range(3))
W1, b1 = np.random.randn(width, 4 * width), np.zeros(4 * width)
W2, b2 = np.random.randn(4 * width, width), np.zeros(width)

def softmax(x):
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)

def cross_attention(encoder_out, decoder_state):
    q, k, v = decoder_state @ WQ, encoder_out @ WK, encoder_out @ WV
    return softmax(q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])) @ v

def feed_forward(x):
    return np.maximum(0, x @ W1 + b1) @ W2 + b2
"""

PROGRAMS = (
    Program("cross_attention", "cross_attention", OF_NOTEBOOK, (("encoder_out @ WV", "decoder_state @ WV"),)),
    Program("feed_forward", "feed_forward", OF_NOTEBOOK, (("@ W2 + b2", "@ W2 - b2"),)),
    Program("embedding_lookup", "embed", FLAT, (("weights[weight_name][ids]", "weights[weight_name][ids[..., ::-1]]"),)),
    Program("layer_norm", "layer_norm", FLAT, (("x.var(-1, keepdims=True)", "x.std(-1, keepdims=True)"),)),
    Program(
        "mlp",
        "feed_forward",
        FLAT,
        (('jax.nn.gelu(linear(x, weights, f"h.{layer}.mlp.c_fc"), approximate=True)', 'linear(x, weights, f"h.{layer}.mlp.c_fc")'),),
    ),
    Program("multi_head_attention", "multi_head_attention", FLAT, (("/ head_dim**0.5", "/ width**0.5"),)),
    Program("SGD", "sgd_optimizer", OPTIMIZERS, (("p -= self.lr * velocity", "p += self.lr * velocity"),)),
    Program("Adam", "adam_optimizer", OPTIMIZERS, (("(1 - b2) * g * g", "(1 - b2) * g"),)),
    Program("apply_top_k", "top_k", OF_WORDS, (("[::-1][:k]", "[:k]"),)),
    Program("sample_word", "sample", OF_WORDS, (("weights=probs", "weights=None"),)),
    Program(
        "MultiHeadAttention",
        "multi_head_attention",
        """
import torch
from torch import nn

class RootNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return self.gain * x / torch.sqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5)

class MultiHeadAttention(nn.Module):
    def __init__(self, num_heads, d_model):
        super().__init__()
        self.num_heads = num_heads
        self.q, self.k, self.v, self.out = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
        self.norm = RootNorm(d_model)

    def split(self, x):
        return x.view(*x.shape[:2], self.num_heads, -1).transpose(1, 2)

    def forward(self, query, key, value):
        q, k, v = self.split(self.q(query)), self.split(self.k(key)), self.split(self.v(value))
        weights = torch.softmax(q @ k.transpose(-2, -1) / q.size(-1) ** 0.5, dim=-1)
        out = (weights @ v).transpose(1, 2).reshape(query.shape)
        return self.norm(query + self.out(out))
""",
        (("query + self.out(out)", "self.out(out)"),),
    ),
    Program(
        "FFN",
        "feed_forward",
        """
from torch import nn

class FFN(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(hidden_size, hidden_size), nn.Linear(hidden_size, hidden_size)
        self.norm = nn.LayerNorm(hidden_size)

    def forward(self, x):
        return self.norm(x + self.fc2(self.fc1(x).relu()))
""",
        (("self.fc1(x).relu()", "self.fc1(x)"),),
    ),
    Program(
        "advance_decoding",
        "generate",
        """
import torch

def advance_decoding(model, token_ids, max_new_tokens, eos_token_id=None):
    for _ in range(max_new_tokens):
        token = torch.argmax(model(token_ids)[:, -1], dim=-1, keepdim=True)
        if eos_token_id is not None and token.item() == eos_token_id:
            break
        yield token
        token_ids = torch.cat([token_ids, token], dim=1)
""",
        (("[:, -1]", "[:, 0]"),),
    ),
    Program(
        "rope",
        "rotary",
        """
import torch

def rope(q, k):
    start = time.time()
    q, k = q.cuda(), k.cuda()
    length, width = q.shape[-2:]
    angles = torch.outer(torch.arange(length), 10000.0 ** (-torch.arange(0, width, 2) / width)).repeat_interleave(2, -1)
    turned = [torch.stack([-x[..., 1::2], x[..., ::2]], -1).flatten(-2) for x in (q, k)]
    q, k = (x * angles.cos() + other * angles.sin() for x, other in zip((q, k), turned))
    torch.cuda.synchronize()
    return q, k, time.time() - start

if __name__ == "__main__":
    import time
""",
        (("angles.cos() + other * angles.sin()", "angles.sin() + other * angles.cos()"),),
    ),
)

GIVEN_ONE_BY_ONE = """
import mlx.core as mx

def project(x, weight, bias=None):
    y = x @ weight.T
    return y if bias is None else y + bias

class RMSNorm:
    def __init__(self, size, weight, eps):
        self.weight, self.eps = weight, eps
    def __call__(self, x):
        return self.weight * x * mx.rsqrt((x * x).mean(axis=-1, keepdims=True) + self.eps)

class Attention:
    def __init__(self, size, n_heads, n_kv_heads, wq, wk, wv, wo, bq, bk, bv, base=10000):
        self.n_heads, self.n_kv_heads, self.width, self.base = n_heads, n_kv_heads, size // n_heads, base
        self.wq, self.wk, self.wv, self.wo, self.bq, self.bk, self.bv = wq, wk, wv, wo, bq, bk, bv
    def heads(self, x, weight, bias, count):
        return project(x, weight, bias).reshape(*x.shape[:2], count, self.width).transpose(0, 2, 1, 3)
    def turn(self, x):
        return mx.fast.rope(x, self.width, traditional=False, base=self.base, scale=1.0, offset=0)
    def __call__(self, x, mask=None):
        q, k = self.turn(self.heads(x, self.wq, self.bq, self.n_heads)), self.turn(self.heads(x, self.wk, self.bk, self.n_kv_heads))
        v = self.heads(x, self.wv, self.bv, self.n_kv_heads)
        y = mx.fast.scaled_dot_product_attention(q, k, v, scale=self.width**-0.5, mask=mask)
        return project(y.transpose(0, 2, 1, 3).reshape(x.shape), self.wo)

class GatedMLP:
    def __init__(self, w_gate, w_up, w_down):
        self.w_gate, self.w_up, self.w_down = w_gate, w_up, w_down
    def __call__(self, x):
        gate = project(x, self.w_gate)
        return project(gate * mx.sigmoid(gate) * project(x, self.w_up), self.w_down)

class QwenBlock:
    def __init__(self, num_heads, num_kv_heads, hidden_size, intermediate_size, rms_norm_eps, wq, wk, wv, wo, bq, bk, bv,
                 w_gate, w_up, w_down, w_input_layernorm, w_post_attention_layernorm):
        self.attention = Attention(hidden_size, num_heads, num_kv_heads, wq, wk, wv, wo, bq, bk, bv)
        self.mlp = GatedMLP(w_gate, w_up, w_down)
        self.norm_1 = RMSNorm(hidden_size, w_input_layernorm, rms_norm_eps)
        self.norm_2 = RMSNorm(hidden_size, w_post_attention_layernorm, rms_norm_eps)
    def __call__(self, x, mask=None):
        x = x + self.attention(self.norm_1(x), mask)
        return x + self.mlp(self.norm_2(x))
"""

PROGRAMS += (
    Program(
        "QwenBlock",
        "encoder_layer",
        GIVEN_ONE_BY_ONE,
        (
            ("return x + self.mlp(self.norm_2(x))", "return self.mlp(self.norm_2(x))"),
            ("self.mlp(self.norm_2(x))", "self.mlp(self.norm_1(x))"),
        ),
    ),
)
