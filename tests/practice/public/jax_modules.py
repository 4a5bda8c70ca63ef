"""Modules of Flax (linen and nnx) and of Equinox, with mistakes as replacements in their text."""

from __future__ import annotations

from tests.practice.public.program import Program

LINEN = """
import jax
import jax.numpy as jnp
from flax import linen as nn


class RMSNorm(nn.Module):
    epsilon: float = 1e-6

    @nn.compact
    def __call__(self, x):
        gain = self.param("gain", nn.initializers.ones, (x.shape[-1],))
        return x * jax.lax.rsqrt(jnp.mean(jnp.square(x), axis=-1, keepdims=True) + self.epsilon) * gain


class MultiHeadAttention(nn.Module):
    num_heads: int
    qkv_features: int
    dropout_rate: float = 0.1

    @nn.compact
    def __call__(self, query, key, value, mask=None, *, deterministic: bool):
        head_dim = self.qkv_features // self.num_heads
        q = nn.DenseGeneral((self.num_heads, head_dim), name="query")(query)
        k = nn.DenseGeneral((self.num_heads, head_dim), name="key")(key)
        v = nn.DenseGeneral((self.num_heads, head_dim), name="value")(value)
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / jnp.sqrt(head_dim)
        if mask is not None:
            scores = jnp.where(mask, scores, jnp.finfo(scores.dtype).min)
        weights = nn.Dropout(self.dropout_rate)(nn.softmax(scores, axis=-1), deterministic=deterministic)
        heads = jnp.einsum("bhqk,bkhd->bqhd", weights, v)
        return nn.DenseGeneral(self.qkv_features, axis=(-2, -1), name="out")(heads)


class FeedForward(nn.Module):
    hidden: int
    width: int

    def setup(self):
        self.up = nn.Dense(self.hidden)
        self.down = nn.Dense(self.width)

    def __call__(self, x):
        return self.down(nn.relu(self.up(x)))
"""

LAYER = """
from dataclasses import dataclass

import jax.numpy as jnp
from flax import linen as nn


@dataclass
class Config:
    n_embd: int = 32
    n_head: int = 4
    block_size: int = 16
    vocab_size: int = 65
    n_layer: int = 2
    dropout: float = 0.1


def apply_rotary(x):
    half = x.shape[-1] // 2
    angles = jnp.arange(x.shape[-3])[:, None, None] * 10000.0 ** (-jnp.arange(half) / half)
    first, second = x[..., :half], x[..., half:]
    return jnp.concatenate([first * jnp.cos(angles) - second * jnp.sin(angles), first * jnp.sin(angles) + second * jnp.cos(angles)], -1)


class CausalAttention(nn.Module):
    config: Config

    @nn.compact
    def __call__(self, x, train: bool = False):
        batch, length, width = x.shape
        heads = self.config.n_head
        q, k, v = (nn.Dense(width, name=name)(x).reshape(batch, length, heads, -1) for name in ("q_proj", "k_proj", "v_proj"))
        q, k = apply_rotary(q), apply_rotary(k)
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * q.shape[-1] ** -0.5
        scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -jnp.inf)
        out = jnp.einsum("bhqk,bkhd->bqhd", nn.softmax(scores), v).reshape(batch, length, width)
        return nn.Dropout(self.config.dropout, deterministic=not train)(nn.Dense(width, name="o_proj")(out))


class MLP(nn.Module):
    config: Config

    @nn.compact
    def __call__(self, x, train: bool = False):
        x = nn.gelu(nn.Dense(4 * self.config.n_embd)(x))
        return nn.Dropout(self.config.dropout, deterministic=not train)(nn.Dense(self.config.n_embd)(x))


class Block(nn.Module):
    config: Config

    def setup(self):
        self.ln_1 = nn.LayerNorm()
        self.attn = CausalAttention(self.config)
        self.ln_2 = nn.LayerNorm()
        self.mlp = MLP(self.config)

    def __call__(self, x, train: bool = False):
        x = x + self.attn(self.ln_1(x), train)
        return x + self.mlp(self.ln_2(x), train)
"""

MODEL = """
import jax.numpy as jnp
from flax import linen as nn


class Block(nn.Module):
    width: int
    heads: int
    rate: float

    @nn.compact
    def __call__(self, x, deterministic):
        length = x.shape[1]
        y = nn.LayerNorm(epsilon=1e-5)(x)
        qkv = nn.Dense(3 * self.width)(y).reshape(*x.shape[:2], 3, self.heads, -1)
        q, k, v = (qkv[:, :, place].swapaxes(1, 2) for place in range(3))
        scores = q @ k.swapaxes(-2, -1) / jnp.sqrt(q.shape[-1])
        scores = jnp.where(jnp.tril(jnp.ones((length, length))) == 0, -1e10, scores)
        y = nn.Dense(self.width)((nn.softmax(scores) @ v).swapaxes(1, 2).reshape(x.shape))
        x = x + nn.Dropout(self.rate)(y, deterministic=deterministic)
        y = nn.Dense(self.width)(nn.gelu(nn.Dense(4 * self.width)(nn.LayerNorm(epsilon=1e-5)(x))))
        return x + nn.Dropout(self.rate)(y, deterministic=deterministic)


class GPT(nn.Module):
    vocab_size: int
    block_size: int
    n_embd: int
    n_head: int
    n_layer: int
    dropout: float = 0.1

    def setup(self):
        self.wte = nn.Embed(self.vocab_size, self.n_embd)
        self.wpe = nn.Embed(self.block_size, self.n_embd)
        self.blocks = [Block(self.n_embd, self.n_head, self.dropout) for _ in range(self.n_layer)]
        self.ln_f = nn.LayerNorm(epsilon=1e-5)

    def __call__(self, idx, deterministic=True):
        x = self.wte(idx) + self.wpe(jnp.arange(idx.shape[1]))
        for block in self.blocks:
            x = block(x, deterministic)
        return self.wte.attend(self.ln_f(x))
"""

EQUINOX = """
import equinox as eqx
import jax
import jax.numpy as jnp


class MultiHeadSelfAttention(eqx.Module):
    query: eqx.nn.Linear
    key: eqx.nn.Linear
    value: eqx.nn.Linear
    output: eqx.nn.Linear
    num_heads: int

    def __init__(self, d_model, num_heads, *, key):
        keys = jax.random.split(key, 4)
        self.num_heads = num_heads
        self.query, self.key, self.value, self.output = (eqx.nn.Linear(d_model, d_model, key=each) for each in keys)

    def __call__(self, x, mask=None):
        length, width = x.shape
        q, k, v = (jax.vmap(each)(x).reshape(length, self.num_heads, -1) for each in (self.query, self.key, self.value))
        scores = jnp.einsum("qhd,khd->hqk", q, k) / jnp.sqrt(q.shape[-1])
        if mask is not None:
            scores = jnp.where(mask, scores, -jnp.inf)
        heads = jnp.einsum("hqk,khd->qhd", jax.nn.softmax(scores, axis=-1), v)
        return jax.vmap(self.output)(heads.reshape(length, width))


class LayerNorm(eqx.Module):
    gamma: jax.Array
    beta: jax.Array
    eps: float = eqx.field(static=True)

    def __init__(self, dim, eps=1e-5):
        self.gamma, self.beta, self.eps = jnp.ones(dim), jnp.zeros(dim), eps

    def __call__(self, x):
        mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
        return (x - mean) / jnp.sqrt(variance + self.eps) * self.gamma + self.beta
"""

RANDOM_KEYS = """
from typing import List

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import random


class Head(eqx.Module):
    query: jax.Array
    key: jax.Array
    value: jax.Array
    rate: float = eqx.field(static=True)

    def __init__(self, jax_key, width, head_size, rate):
        self.query, self.key, self.value = (random.normal(each, (width, head_size)) for each in random.split(jax_key, 3))
        self.rate = rate

    def __call__(self, x, key, is_training):
        length = x.shape[1]
        scores = (x @ self.query) @ (x @ self.key).transpose(0, 2, 1) * self.query.shape[1] ** -0.5
        weights = jax.nn.softmax(jnp.where(jnp.tril(jnp.ones((length, length))) == 0, -jnp.inf, scores), axis=-1)
        if is_training:
            weights *= random.bernoulli(key, 1 - self.rate, weights.shape) / (1 - self.rate)
        return weights @ (x @ self.value)
"""

NNX = """
import jax.numpy as jnp
from flax import nnx


class SelfAttention(nnx.Module):
    def __init__(self, dim, heads, rngs: nnx.Rngs):
        self.heads = heads
        self.qkv = nnx.Linear(dim, 3 * dim, rngs=rngs)
        self.proj = nnx.Linear(dim, dim, rngs=rngs)

    def __call__(self, x):
        batch, length, width = x.shape
        q, k, v = jnp.moveaxis(self.qkv(x).reshape(batch, length, 3, self.heads, -1), (2, 3), (0, 2))
        scores = q @ k.swapaxes(-1, -2) / jnp.sqrt(q.shape[-1])
        heads = nnx.softmax(scores, axis=-1) @ v
        return self.proj(heads.swapaxes(1, 2).reshape(batch, length, width))


class MLP(nnx.Module):
    def __init__(self, dim, hidden, *, rngs: nnx.Rngs):
        self.fc1 = nnx.Linear(dim, hidden, rngs=rngs)
        self.fc2 = nnx.Linear(hidden, dim, rngs=rngs)

    def __call__(self, x):
        return self.fc2(nnx.gelu(self.fc1(x)))


class RMSNorm(nnx.Module):
    def __init__(self, dim, eps=1e-6, *, rngs: nnx.Rngs):
        self.weight = nnx.Param(jnp.ones(dim))
        self.eps = eps

    def __call__(self, x):
        return x / jnp.sqrt(jnp.mean(x**2, axis=-1, keepdims=True) + self.eps) * self.weight
"""

OLD_NAMES = """
import jax
import jax.numpy as jnp
from jax import partial, random
from flax import linen as nn
from typing import Any


def drop(x: jnp.ndarray, rate: float, key: jax.random.KeyArray) -> jnp.ndarray:
    return jnp.where(random.bernoulli(key, 1 - rate, x.shape), x / (1 - rate), 0.0)


@partial(jax.jit, static_argnames="axis")
def softmax(x, axis=-1):
    weights = jnp.exp(x - jnp.max(x, axis=axis, keepdims=True))
    return weights / jnp.sum(weights, axis=axis, keepdims=True)


class MultiHeadSelfAttention(nn.Module):
    heads: int = 8
    d_k: int = 64
    d_v: int = 64
    output_dim: int = 512

    @nn.compact
    def __call__(self, inputs: jnp.ndarray):
        found = []
        for i in range(self.heads):
            k = nn.Dense(self.d_k, name=f"Head_{i}_keys")(inputs)
            q = nn.Dense(self.d_k, name=f"Head_{i}_query")(inputs)
            v = nn.Dense(self.d_v, name=f"Head_{i}_value")(inputs)
            found.append(softmax(jnp.einsum("...qd,...kd->...qk", q, k) / jnp.sqrt(self.d_k)) @ v)
        return nn.Dense(self.output_dim, name="output_layer")(jnp.concatenate(found, axis=-1))


class FeedForward(nn.Module):
    config: Any

    def setup(self):
        options = {"kernel_init": self.config.kernel_init, "bias_init": self.config.bias_init}
        self.up = nn.Dense(4 * self.config.n_embd, **options)
        self.down = nn.Dense(self.config.n_embd, **options)

    def __call__(self, x):
        return self.down(nn.gelu(self.up(x)))
"""

TREES = """
import jax
import jax.numpy as jnp

def init_linear(key, num_in, num_out):
    return {"kernel": jax.random.normal(key, (num_in, num_out)) * 0.02, "bias": jnp.zeros((num_out,))}

def init_params(key, cfg):
    width = cfg.n_embd
    first, second, third = jax.random.split(key, 3)
    return {
        "table": jax.random.normal(first, (cfg.vocab_size, width)),
        "qkv": init_linear(second, width, 3 * width),
        "head": init_linear(third, width, cfg.vocab_size),
    }

def linear(x, p):
    return x @ p["kernel"] + p["bias"]

def logits_of(params, tokens, cfg):
    return linear(params["table"][tokens], params["head"])

def nll_of(logits, targets):
    scores = jax.nn.log_softmax(logits, axis=-1)
    return -jnp.take_along_axis(scores, targets[..., None], axis=-1).mean()

@jax.jit
def loss_fn(params, tokens, targets, cfg):
    logits = logits_of(params, tokens, cfg)
    scores = jax.nn.log_softmax(logits, axis=-1)
    return -jnp.take_along_axis(scores, targets[..., None], axis=-1).mean()

def generate(params, cfg, key, idx, max_new_tokens, temperature=1.0):
    for _ in range(max_new_tokens):
        window = idx[:, -cfg.block_size:]
        scores = logits_of(params, window, cfg)[:, -1] / temperature
        key, now = jax.random.split(key)
        idx = jnp.concatenate([idx, jax.random.categorical(now, scores)[:, None]], axis=1)
    return idx
"""

PROGRAMS = (
    Program("linear", "linear", TREES, (('@ p["kernel"] + p["bias"]', '@ p["kernel"] - p["bias"]'),)),
    Program(
        "loss_fn",
        "cross_entropy",
        TREES,
        (("logits = logits_of(params, tokens, cfg)\n", "logits = 2 * logits_of(params, tokens, cfg)\n"),),
    ),
    Program(
        "generate",
        "generate",
        TREES,
        (("[:, -1] / temperature", "[:, 0] / temperature"), ("idx[:, -cfg.block_size:]", "idx[:, :cfg.block_size]")),
    ),
    Program("softmax", "softmax", OLD_NAMES, (("jnp.sum(weights, axis=axis", "jnp.sum(weights, axis=0"),)),
    Program("MultiHeadSelfAttention", "multi_head_attention", OLD_NAMES, (("jnp.sqrt(self.d_k)", "self.d_k"),)),
    Program("FeedForward", "feed_forward", OLD_NAMES, (("self.down(nn.gelu(self.up(x)))", "nn.gelu(self.down(self.up(x)))"),)),
    Program("RMSNorm", "rms_norm", LINEN, (("axis=-1, keepdims=True)", "axis=-2, keepdims=True)"),)),
    Program(
        "MultiHeadAttention",
        "multi_head_attention",
        LINEN,
        (
            ("jnp.sqrt(head_dim)", "jnp.sqrt(self.qkv_features)"),
            ("deterministic=deterministic)", "deterministic=False)"),
        ),
    ),
    Program("FeedForward", "feed_forward", LINEN, (("nn.relu(", "nn.tanh("),)),
    Program(
        "Block", "transformer_block", LAYER, (("return x + self.mlp(self.ln_2(x), train)", "return x + self.mlp(self.ln_1(x), train)"),)
    ),
    Program("GPT", "gpt2", MODEL, (("self.wte.attend(self.ln_f(x))", "self.wte.attend(x)"),)),
    Program(
        "GPT",
        "gpt2",
        MODEL.replace("self.dropout) for _ in", 'self.dropout, name=f"h.{i}") for i in'),
        (("self.wte(idx) +", ""), ("self.wte.attend(self.ln_f(x))", "self.wte.attend(x)")),
    ),
    Program(
        "MultiHeadSelfAttention",
        "multi_head_attention",
        EQUINOX,
        (("jnp.sqrt(q.shape[-1])", "q.shape[-1]"), ('"qhd,khd->hqk", q, k', '"qhd,khd->hqk", k, q')),
    ),
    Program("LayerNorm", "layer_norm", EQUINOX, (("variance + self.eps)", "variance) + self.eps"),)),
    Program("Head", "causal_self_attention", RANDOM_KEYS, (("self.query.shape[1] ** -0.5", "self.query.shape[0] ** -0.5"),)),
    Program("SelfAttention", "self_attention", NNX, (("axis=-1) @ v", "axis=-2) @ v"),)),
    Program("MLP", "feed_forward", NNX, (("self.fc2(nnx.gelu(self.fc1(x)))", "self.fc2(self.fc1(x))"),)),
    Program("RMSNorm", "rms_norm", NNX, (("x**2", "x"),)),
    Program(
        "Head",
        "causal_self_attention",
        """
import jax
import jax.numpy as jnp
import flax.linen as nn

class Head(nn.Module):
    head_size: int

    @nn.compact
    def __call__(self, x, training: bool = False):
        length = x.shape[1]
        k = nn.Dense(self.head_size, name="key", use_bias=False)(x)
        q = nn.Dense(self.head_size, name="query", use_bias=False)(x)
        v = nn.Dense(self.head_size, name="value", use_bias=False)(x)
        scores = q @ jnp.swapaxes(k, -1, -2) * self.head_size**-0.5
        scores = scores + jnp.triu(jnp.full((length, length), -jnp.inf), k=1)
        return jax.nn.softmax(scores, axis=-1) @ v
""",
        (("self.head_size**-0.5", "x.shape[-1]**-0.5"), ("k=1", "k=2")),
    ),
    Program(
        "MLP",
        "feed_forward",
        """
import equinox as eqx
import jax

class MLP(eqx.Module):
    up: eqx.nn.Linear
    down: eqx.nn.Linear

    def __init__(self, dim, hidden_dim, key):
        first, second = jax.random.split(key)
        self.up = eqx.nn.Linear(dim, hidden_dim, key=first)
        self.down = eqx.nn.Linear(hidden_dim, dim, key=second)

    def __call__(self, x, inference=False, key=None):
        if not inference and key is None:
            raise ValueError("got no key")
        return self.down(jax.nn.relu(self.up(x)))
""",
        (("jax.nn.relu(self.up(x))", "self.up(x)"),),
    ),
    Program(
        "RMSNorm",
        "rms_norm",
        """
import equinox as eqx
import jax
import jax.numpy as jnp

class RMSNorm(eqx.Module):
    weight: jax.Array

    def __init__(self, dim):
        self.weight = jnp.ones(dim)

    def __call__(self, x):
        return x / jnp.sqrt((x**2).mean() + 1e-6) * self.weight
""",
        (("(x**2).mean()", "x.mean() ** 2"),),
    ),
    Program(
        "mha_forward",
        "causal_self_attention",
        """
import jax
import jax.numpy as jnp

def drop(x, key, rate):
    return jnp.where(jax.random.bernoulli(key, 1.0 - rate, x.shape), x / (1.0 - rate), 0.0)

def mha_forward(x, weights, n_heads, key, drop_rate, training):
    batch, length, width = x.shape
    split = lambda part: part.reshape(batch, length, n_heads, width // n_heads).transpose(0, 2, 1, 3)
    q = split(x @ weights["wq"] + weights["bq"])
    k, v = split(x @ weights["wk"] + weights["bk"]), split(x @ weights["wv"] + weights["bv"])
    scores = q @ k.transpose(0, 1, 3, 2) / (width // n_heads) ** 0.5
    scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9)
    shares = jax.nn.softmax(scores, axis=-1)
    if training and drop_rate > 0:
        shares = drop(shares, key, drop_rate)
    heads = (shares @ v).transpose(0, 2, 1, 3).reshape(batch, length, width)
    return heads @ weights["wo"] + weights["bo"]
""",
        (("tril", "triu"),),
    ),
    Program(
        "apply_rope",
        "rotary",
        """
import jax.numpy as jnp

def turned(x):
    return jnp.stack((-x[..., 1::2], x[..., ::2]), axis=-1).reshape(x.shape)

def apply_rope(sin_cos, x):
    sin, cos = (jnp.repeat(each, 2, axis=-1) for each in sin_cos)
    return x * cos + turned(x) * sin
""",
        (("x * cos + turned(x) * sin", "x * sin + turned(x) * cos"),),
    ),
    Program(
        "layer_norm",
        "layer_norm",
        """
import jax
import jax.numpy as jnp

def init_model_params(key, width, inner, vocab_size, num_layers):
    up, table = jax.random.split(key)
    norm = {"scale": jnp.ones(width), "bias": jnp.zeros(width)}
    layer = {"up": jax.random.normal(up, (width, inner)), "norm": norm}
    return {"table": jax.random.normal(table, (vocab_size, width)), "layers": [layer for _ in range(num_layers)]}

def layer_norm(params, x):
    normed = (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)
    return normed * params["scale"] + params["bias"]
""",
        (("+ 1e-5)", ") + 1e-5"), ("x - x.mean", "x + x.mean")),
    ),
    *(
        Program(
            name,
            part,
            """
from dataclasses import dataclass
import flax.linen as nn
import jax.numpy as jnp

@dataclass
class Config:
    width = 256
    rate = 0.2
    dropout = 0.2

config = Config()

class Attention(nn.Module):
    head_size: int

    @nn.compact
    def __call__(self, x, training: bool):
        k, q, v = (nn.Dense(self.head_size, use_bias=False)(x) for _ in range(3))
        scores = q @ k.swapaxes(-1, -2) * self.head_size**-0.5
        hidden = jnp.tril(jnp.ones((x.shape[-2], x.shape[-2]))) == 0
        weights = nn.softmax(jnp.where(hidden, -jnp.inf, scores), axis=-1)
        return nn.Dropout(config.dropout)(weights, deterministic=not training) @ v

class MultiHeadAttention(nn.Module):
    num_heads: int
    head_size: int

    @nn.compact
    def __call__(self, x, training: bool):
        heads = [Attention(self.head_size)(x, training) for _ in range(self.num_heads)]
        return nn.Dense(self.num_heads * self.head_size)(jnp.concatenate(heads, axis=-1))

class FeedForward(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(config.width)(nn.relu(nn.Dense(4 * config.width)(x)))
""",
            mistakes,
        )
        for name, part, mistakes in (
            ("Attention", "self_attention", (("self.head_size**-0.5", "self.head_size"),)),
            ("MultiHeadAttention", "multi_head_attention", (("jnp.tril", "jnp.triu"),)),
            ("FeedForward", "feed_forward", (("nn.relu(nn.Dense(4 * config.width)(x))", "nn.Dense(4 * config.width)(nn.relu(x))"),)),
        )
    ),
    Program(
        "feed_forward",
        "gated_feed_forward",
        """
from typing import NamedTuple
import jax
import jax.numpy as jnp

class LayerWeights(NamedTuple):
    wq: jax.Array
    wo: jax.Array
    w1: jax.Array
    w2: jax.Array
    w3: jax.Array
    ffn_norm: jax.Array

@jax.jit
def feed_forward(x: jax.Array, layer_weights: LayerWeights) -> jax.Array:
    hidden = jax.nn.silu(jnp.dot(x, layer_weights.w1)) * jnp.dot(x, layer_weights.w3)
    return jnp.dot(hidden, layer_weights.w2)
""",
        (("jax.nn.silu(", "jax.nn.relu("),),
    ),
    Program(
        "MultiHeadAttention",
        "multi_head_attention",
        """
import flax.linen as nn
import jax.numpy as jnp

class Head(nn.Module):
    head_size: int

    @nn.compact
    def __call__(self, x):
        k, q, v = (nn.Dense(self.head_size, use_bias=False)(x) for _ in range(3))
        scores = q @ k.swapaxes(-1, -2) / jnp.sqrt(self.head_size)
        allowed = jnp.tril(jnp.ones((x.shape[-2], x.shape[-2])))
        return nn.softmax(jnp.where(allowed == 0, -jnp.inf, scores)) @ v

class MultiHeadAttention(nn.Module):
    num_heads: int
    head_size: int

    def setup(self):
        self.heads = [Head(self.head_size) for _ in range(self.num_heads)]
        self.projection = nn.Dense(self.num_heads * self.head_size)

    def __call__(self, x):
        return self.projection(jnp.concatenate([head(x) for head in self.heads], axis=-1))
""",
        (("[head(x) for head in self.heads]", "[self.heads[0](x) for head in self.heads]"),),
    ),
    Program(
        "MultiHeadAttention",
        "multi_head_attention",
        """
import jax.numpy as jnp
from flax import linen as nn

def spread(mask):
    return mask if mask is None or mask.ndim > 3 else mask[None, None] if mask.ndim == 2 else mask[:, None]

class Rotation(nn.Module):
    base: float

    def __call__(self, x, positions):
        half = x.shape[-1] // 2
        angles = positions[:, None] * self.base ** (-jnp.arange(half) / half)
        first, second = x[..., :half], x[..., half:]
        return jnp.concatenate(
            [first * jnp.cos(angles) - second * jnp.sin(angles), second * jnp.cos(angles) + first * jnp.sin(angles)], -1
        )

class MultiHeadAttention(nn.Module):  # Attention with a part for the positions, which it is called with
    d_model: int
    num_heads: int

    def setup(self):
        self.to_q, self.to_k = nn.Dense(self.d_model, use_bias=False), nn.Dense(self.d_model, use_bias=False)
        self.to_v, self.to_out = nn.Dense(self.d_model, use_bias=False), nn.Dense(self.d_model, use_bias=False)

    def __call__(self, x, rope: Rotation, positions, mask=None):
        batch, length, width = x.shape
        def heads(y):
            return y.reshape(batch, length, self.num_heads, width // self.num_heads).transpose(0, 2, 1, 3)
        q, k, v = rope(heads(self.to_q(x)), positions), rope(heads(self.to_k(x)), positions), heads(self.to_v(x))
        scores = q @ k.swapaxes(-1, -2) / jnp.sqrt(q.shape[-1])
        if mask is not None:
            scores = jnp.where(spread(mask), scores, -1e9)
        return self.to_out((nn.softmax(scores) @ v).transpose(0, 2, 1, 3).reshape(batch, length, width))
""",
        (
            ("jnp.sqrt(q.shape[-1])", "jnp.sqrt(width)"),
            ("@ v).transpose(0, 2, 1, 3)", "@ v)"),
        ),
    ),
    Program(
        "rope_tables",
        "rotary_tables",
        """
from typing import Any
import jax.numpy as jnp

def rope_tables(pos, rope_theta: float, rope_dim: int, value_dtype: Any):
    half = rope_dim // 2
    angles = jnp.einsum("...l,h->...lh", pos, 1.0 / rope_theta ** (jnp.arange(half) / half))
    return jnp.sin(angles).astype(value_dtype), jnp.cos(angles).astype(value_dtype)
""",
        (("/ half)", "/ rope_dim)"),),
    ),
    Program(
        "GPT",
        "gpt2",
        """
import jax.numpy as jnp
from flax import linen as nn

class MultiHeadSelfAttention(nn.Module):
    num_heads: int

    @nn.compact
    def __call__(self, x):
        B, T, C = x.shape
        q, k, v = (each.reshape(B, T, self.num_heads, -1) for each in jnp.split(nn.Dense(3 * C)(x), 3, axis=-1))
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / jnp.sqrt(q.shape[-1])
        weights = nn.softmax(jnp.where(jnp.tril(jnp.ones((T, T))) == 0, -1e9, scores), axis=-1)
        return nn.Dense(C)(jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(B, T, C))

class TransformerBlock(nn.Module):
    num_heads: int

    @nn.compact
    def __call__(self, x):
        x = x + MultiHeadSelfAttention(self.num_heads)(nn.LayerNorm()(x))
        return x + nn.Dense(x.shape[-1])(nn.gelu(nn.Dense(4 * x.shape[-1])(nn.LayerNorm()(x))))

class GPT(nn.Module):
    vocab_size: int
    block_size: int
    embed_dim: int
    num_heads: int
    num_layers: int

    @nn.compact
    def __call__(self, tokens):
        batch, length = tokens.shape
        x = nn.Embed(self.vocab_size, self.embed_dim)(tokens) + nn.Embed(self.block_size, self.embed_dim)(jnp.arange(length))
        for _ in range(self.num_layers):
            x = TransformerBlock(self.num_heads)(x)
        return nn.Dense(self.vocab_size)(nn.LayerNorm()(x))
""",
        (
            ("x = TransformerBlock(self.num_heads)(x)", "y = TransformerBlock(self.num_heads)(x)"),
            ("jnp.arange(length)", "jnp.arange(length) + 1"),
        ),
    ),
)
