"""Parts that number their axes, take named parameters, log, or hold weights in small classes."""

from tests.practice.public.program import Program

NAMED_PARAMETERS = """
import torch

class Base:
    def __init__(self, parameters, lr):
        self._parameters, self.lr = list(parameters), lr

    def _check(self, gradient, name):
        if gradient is None:
            raise RuntimeError(f"{name} has no gradient")
"""

LAYERS_OF_FIELDS = """
from dataclasses import dataclass
from jax import Array, lax, numpy as jnp

@dataclass
class Embedding:
    weight: Array

@dataclass
class RMSNorm:
    weight: Array
    eps: float
"""

PROGRAMS = (
    Program(
        "scaled_dot_product_attention",
        "scaled_dot_product_attention",
        '''
import math
import torch

def scaled_dot_product_attention(Q, K, V):
    """Q: (batch, queries, width), K and V: (batch, keys, width)."""
    width = Q.shape[2]
    scores = Q @ K.transpose(-2, -1) / math.sqrt(width)
    return torch.softmax(scores, dim=-1) @ V
''',
        (("(batch, queries, width),", "(batch, heads, queries, width),"), ("Q.shape[2]", "Q.shape[1]"), ("dim=-1", "dim=1")),
    ),
    Program(
        "rms_norm",
        "rms_norm",
        '''
import numpy as np

def rms_norm(x, weight, eps=1e-6):
    """Norm of Qwen 3.5."""
    normed = x / np.sqrt(np.mean(x * x, -1, keepdims=True) + eps)
    return normed * (1.0 + weight)
''',
        (("Qwen 3.5", "Llama"), ("1.0 + weight", "2.0 + weight"), ("np.mean(x * x, ", "np.sum(x * x, ")),
    ),
    Program(
        "Adam",
        "adam_optimizer",
        NAMED_PARAMETERS
        + """
class Adam(Base):
    def __init__(self, parameters, lr, eps=1e-8, momentum=0.9, decay=0.999):
        super().__init__(parameters, lr)
        self.eps, self.momentum, self.decay, self.count = eps, momentum, decay, 0
        self.mean = {name: torch.zeros_like(each) for name, each in self._parameters}
        self.square = {name: torch.zeros_like(each) for name, each in self._parameters}

    @torch.no_grad()
    def step(self):
        self.count += 1
        for name, param in self._parameters:
            self._check(param.grad, name)
            self.mean[name] = self.momentum * self.mean[name] + (1 - self.momentum) * param.grad
            self.square[name] = self.decay * self.square[name] + (1 - self.decay) * param.grad**2
            mean = self.mean[name] / (1 - self.momentum**self.count)
            square = self.square[name] / (1 - self.decay**self.count)
            param -= self.lr * mean / (square.sqrt() + self.eps)
        return self
""",
        (("1 - self.decay**self", "1 - self.momentum**self"), ("self.lr * mean", "self.lr * param.grad"), ("param.grad**2", "param.grad")),
    ),
    Program(
        "SGD",
        "sgd_optimizer",
        NAMED_PARAMETERS
        + """
class SGD(Base):
    def __init__(self, parameters, lr, weight_decay=0.0):
        super().__init__(parameters, lr)
        self.weight_decay = weight_decay

    @torch.no_grad()
    def step(self):
        for name, param in self._parameters:
            self._check(param.grad, name)
            param -= self.lr * (param.grad + self.weight_decay * param)
""",
        (("param -= ", "param += "), ("self.weight_decay * param)", "self.weight_decay)")),
    ),
    Program(
        "PointWiseFeedForward",
        "feed_forward",
        """
import torch
from torch import nn

class PointWiseFeedForward(nn.Module):
    def __init__(self, hidden_units, dropout_rate):
        super().__init__()
        self.conv1 = nn.Conv1d(hidden_units, hidden_units, kernel_size=1)
        self.conv2 = nn.Conv1d(hidden_units, hidden_units, kernel_size=1)
        self.dropout = nn.Dropout(p=dropout_rate)

    def forward(self, inputs):
        turned = self.dropout(self.conv1(inputs.transpose(-1, -2)))
        return self.dropout(self.conv2(torch.relu(turned))).transpose(-1, -2)
""",
        (("torch.relu(turned)", "turned"), ("torch.relu(turned)", "torch.tanh(turned)"), ("self.conv2(torch", "self.conv1(torch")),
    ),
    Program(
        "MLPEmbedder",
        "feed_forward",
        """
import torch
from torch import nn

class MLPEmbedder(nn.Module):
    def __init__(self, in_dim, hidden_dim):
        super().__init__()
        self.first, self.second = nn.Linear(in_dim, hidden_dim), nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x):
        return self.second(torch.nn.functional.silu(self.first(x)))
""",
        (
            ("torch.nn.functional.silu(self.first(x))", "self.first(x)"),
            ("self.second(torch.nn.functional.silu(self.first(x)))", "torch.nn.functional.silu(self.second(self.first(x)))"),
        ),
    ),
    Program(
        "FeedForward",
        "feed_forward",
        """
from flax import linen as nn

class FeedForward(nn.Module):
    hidden_dim: int

    def setup(self):
        self.first = nn.Dense(self.hidden_dim)
        self.second = nn.Dense(self.hidden_dim)

    def __call__(self, x):
        return self.second(nn.silu(self.first(x)))
""",
        (("nn.silu(self.first(x))", "self.first(x)"),),
    ),
    Program(
        "PositionalEncoding",
        "sinusoidal_positions",
        """
import math
import torch
from torch import nn

class PositionalEncoding(nn.Module):
    def __init__(self, emb_size, dropout, maxlen=500):
        super().__init__()
        rates = torch.exp(-torch.arange(0, emb_size, 2) * math.log(10000) / emb_size)
        places = torch.arange(0, maxlen).reshape(maxlen, 1)
        pos_embedding = torch.zeros((maxlen, emb_size))
        pos_embedding[:, 0::2] = torch.sin(places * rates)
        pos_embedding[:, 1::2] = torch.cos(places * rates)
        pos_embedding = pos_embedding.unsqueeze(-2)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("pos_embedding", pos_embedding)

    def forward(self, x):
        return self.dropout(x + self.pos_embedding[:x.size(0), :])
""",
        (
            ("import math\n", "import math\nFORM = dict(batch_first=True)\n"),
            ("torch.cos", "torch.sin"),
            ("math.log(10000)", "math.log(1000)"),
        ),
    ),
    Program(
        "CausalAttention",
        "causal_self_attention",
        """
import logging
import torch
from torch import nn

LOGGER = logging.getLogger(__name__)

class CausalAttention(nn.Module):
    def __init__(self, embedding_dim, output_dim, dropout, *, qkv_bias=False):
        super().__init__()
        self.query = nn.Linear(embedding_dim, output_dim, bias=qkv_bias)
        self.key = nn.Linear(embedding_dim, output_dim, bias=qkv_bias)
        self.value = nn.Linear(embedding_dim, output_dim, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        scores = self.query(x) @ self.key(x).transpose(-2, -1) / self.key.out_features ** 0.5
        later = torch.triu(torch.ones(x.shape[1], x.shape[1], dtype=torch.bool), diagonal=1)
        weights = self.dropout(torch.softmax(scores.masked_fill(later, -torch.inf), dim=-1))
        LOGGER.debug("weights %s", weights.shape)
        return weights @ self.value(x)
""",
        (("diagonal=1", "diagonal=2"), (" / self.key.out_features ** 0.5", ""), ("weights @ self.value(x)", "weights @ self.key(x)")),
    ),
    Program(
        "forward_rms_norm",
        "rms_norm",
        LAYERS_OF_FIELDS
        + """
def forward_rms_norm(r: RMSNorm, hidden: Array) -> Array:
    square = jnp.mean(hidden**2, axis=-1, keepdims=True)
    return r.weight * hidden * lax.rsqrt(square + r.eps)
""",
        (("r.weight * hidden", "r.weight + hidden"), ("hidden**2", "hidden"), ("axis=-1", "axis=0")),
    ),
    Program(
        "forward_embedding",
        "embed",
        LAYERS_OF_FIELDS
        + """
def forward_embedding(e: Embedding, x: Array) -> Array:
    return jnp.take(e.weight, x, axis=0)
""",
        (("axis=0", "axis=1"), ("e.weight, x", "e.weight, x + 1")),
    ),
    Program(
        "SelfAttention",
        "self_attention",
        """
import torch
from torch import nn

class General(nn.Module):
    def __init__(self, given, returned):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(*given, *returned))
        self.bias = nn.Parameter(torch.zeros(*returned))

    def forward(self, x, axes):
        return torch.tensordot(x, self.weight, dims=axes) + self.bias

class SelfAttention(nn.Module):
    def __init__(self, in_dim, heads=8):
        super().__init__()
        width = in_dim // heads
        self.root = width ** 0.5
        self.query = General((in_dim,), (heads, width))
        self.key = General((in_dim,), (heads, width))
        self.value = General((in_dim,), (heads, width))
        self.out = General((heads, width), (in_dim,))

    def forward(self, x):
        q, k, v = (each(x, ([2], [0])).permute(0, 2, 1, 3) for each in (self.query, self.key, self.value))
        weights = torch.softmax(q @ k.transpose(-2, -1) / self.root, dim=-1)
        return self.out((weights @ v).permute(0, 2, 1, 3), ([2, 3], [0, 1]))
""",
        (("self.root = width", "self.root = in_dim"), ("dim=-1", "dim=-2"), ("(weights @ v)", "(weights @ q)")),
    ),
)
