"""Embeddings of BERT and ViT, samplers as classes, windows, tables with settings, optimizers with a state: programs in conventions of public code."""

from __future__ import annotations

from tests.practice.public.program import Program

SEGMENTS = """
import torch
from torch import nn

class BertEmbeddings(nn.Module):
    def __init__(self, vocab_size, type_vocab_size, width, max_len):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocab_size, width), nn.Embedding(max_len, width)
        self.token_types, self.norm = nn.Embedding(type_vocab_size, width), nn.LayerNorm(width)

    def forward(self, ids, types):
        return self.norm(self.tokens(ids) + self.positions(torch.arange(ids.shape[1])) + self.token_types(types))

class EncoderLayer(nn.Module):
    def __init__(self, width, num_heads):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, num_heads, batch_first=True)
        self.ffn = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x, hidden):
        x = self.norm1(x + self.attention(x, x, x, key_padding_mask=hidden)[0])
        return self.norm2(x + self.ffn(x))

class Bert(nn.Module):
    def __init__(self, vocab_size, type_vocab_size, hidden_size, num_heads, num_layers, max_len):
        super().__init__()
        self.embeddings = BertEmbeddings(vocab_size, type_vocab_size, hidden_size, max_len)
        self.layers = nn.ModuleList([EncoderLayer(hidden_size, num_heads) for _ in range(num_layers)])
        self.pooler = nn.Linear(hidden_size, hidden_size)

    def forward(self, input_ids, {segments}):
        x, mask = self.embeddings(input_ids, {segments}), input_ids == 0
        for layer in self.layers:
            x = layer(x, mask)
        return x, torch.tanh(self.pooler(x[:, 0]))
"""

SEGMENTS_MISTAKEN = (
    ("x = layer(x, mask)", "x = layer(x, None)"),
    ("+ self.token_types(types)", "- self.token_types(1 - types)"),
    ("input_ids == 0", "input_ids != 0"),
)

COUNTED_TOKENS = """
import torch
from torch import nn

class PositionalEncoding(nn.Module):
    def __init__(self, max_len, width):
        super().__init__()
        angles = torch.arange(max_len)[:, None] / 10000 ** (torch.arange(0, width, 2) / width)
        self.table = torch.zeros(max_len, width)
        self.table[:, 0::2], self.table[:, 1::2] = angles.sin(), angles.cos()
    def forward(self, tokens):
        batch_size, length = tokens.shape
        return self.table[:length]
"""

PROGRAMS = (
    Program(
        "BertEmbeddings",
        "learned_positions",
        """
import torch
from torch import nn

class BertEmbeddings(nn.Module):
    def __init__(self, vocab_size, hidden_size, max_position_embeddings, type_vocab_size=2, dropout=0.1):
        super().__init__()
        self.word_embeddings = nn.Embedding(vocab_size, hidden_size)
        self.position_embeddings = nn.Embedding(max_position_embeddings, hidden_size)
        self.token_type_embeddings = nn.Embedding(type_vocab_size, hidden_size)
        self.norm = nn.LayerNorm(hidden_size, eps=1e-12)
        self.dropout = nn.Dropout(dropout)

    def forward(self, input_ids, token_type_ids=None):
        if token_type_ids is None:
            token_type_ids = torch.zeros_like(input_ids)
        at = torch.arange(input_ids.shape[1]).unsqueeze(0)
        x = self.word_embeddings(input_ids) + self.position_embeddings(at) + self.token_type_embeddings(token_type_ids)
        return self.dropout(self.norm(x))
""",
        (
            (" + self.token_type_embeddings(token_type_ids)", ""),
            ("torch.arange(input_ids.shape[1])", "torch.arange(input_ids.shape[1]).flip(0)"),
        ),
    ),
    Program(
        "PositionEmbedding",
        "learned_positions",
        """
import torch
from torch import nn

class PositionEmbedding(nn.Module):
    def __init__(self, d_model, num_patches):
        super().__init__()
        self.pos_embedding = nn.Parameter(torch.randn(1, num_patches + 1, d_model))

    def forward(self, x):
        return x + self.pos_embedding[:, : x.shape[1]]
""",
        (("[:, : x.shape[1]]", "[:, -x.shape[1] :]"),),
    ),
    Program(
        "TopKSampling",
        "top_k",
        """
import torch

class TopKSampling:
    def __init__(self, k=10):
        self.k = k

    def __call__(self, probs):
        kept, indices = torch.topk(probs, min(self.k, len(probs)))
        return indices[torch.multinomial(kept / kept.sum(), 1)].item()
""",
        (("min(self.k, len(probs))", "min(self.k + 1, len(probs))"),),
    ),
    Program(
        "sliding_window_mask",
        "sliding_window_mask",
        '''
import torch

def sliding_window_mask(seq_len, window_size):
    """Hide everything outside of a window of window_size positions on each side."""
    positions = torch.arange(seq_len)
    return (positions[None] - positions[:, None]).abs() > window_size
''',
        (("> window_size", "> window_size + 1"),),
    ),
    Program(
        "rotary_cos_sin",
        "rotary_tables",
        """
import torch

def rotary_cos_sin(seq_len: int, head_dim: int, theta: float, position_offset: int, device: torch.device):
    rates = 1.0 / theta ** (torch.arange(0, head_dim, 2, device=device).float() / head_dim)
    at = torch.arange(position_offset, position_offset + seq_len, device=device).float()
    angles = torch.outer(at, rates)
    angles = torch.cat([angles, angles], dim=-1)
    return angles.cos(), angles.sin()
""",
        (("angles = torch.outer(at, rates)", "angles = torch.outer(at + 1, rates)"),),
    ),
    Program(
        "RotaryEmbedding",
        "rotary",
        """
from dataclasses import dataclass
import torch
from torch import nn

@dataclass
class Config:
    block_size: int
    n_heads: int = 8
    n_embed: int = 288
    rope_base: float = 10000.0

class RotaryEmbedding(nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        head_dim = config.n_embed // config.n_heads
        rates = config.rope_base ** (-torch.arange(0, head_dim, 2) / head_dim)
        angles = torch.outer(torch.arange(config.block_size).float(), rates)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, q, k):
        cos, sin = self.cos[: q.shape[2]], self.sin[: q.shape[2]]
        return self.rotated(q, cos, sin), self.rotated(k, cos, sin)

    def rotated(self, x, cos, sin):
        a, b = x[..., ::2], x[..., 1::2]
        return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)
""",
        (("a * cos - b * sin", "a * cos + b * sin"),),
    ),
    Program(
        "adamw_step",
        "adamw",
        """
from typing import Any, NamedTuple
import jax
import jax.numpy as jnp

class State(NamedTuple):
    m: Any
    v: Any
    step: int

def adamw_step(params: Any, grads: Any, state: State, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01):
    step = state.step + 1
    m = jax.tree.map(lambda m, g: beta1 * m + (1 - beta1) * g, state.m, grads)
    v = jax.tree.map(lambda v, g: beta2 * v + (1 - beta2) * g**2, state.v, grads)
    def moved(p, m, v):
        return p - lr * (m / (1 - beta1**step) / (jnp.sqrt(v / (1 - beta2**step)) + eps) + weight_decay * p)
    return jax.tree.map(moved, params, m, v), State(m, v, step)
""",
        (("(1 - beta2) * g**2", "(1 - beta2) * g"),),
    ),
    Program(
        "PositionalEncoding",
        "sinusoidal_positions",
        """
import numpy as np

class PositionalEncoding:  # an array of a plain class, which may be learned as well
    def __init__(self, d_model, max_len=5000):
        position = np.arange(0, max_len)[:, np.newaxis]
        div_term = np.exp(np.arange(0, d_model, 2) * -(np.log(10000.0) / d_model))
        self.pe = np.zeros((max_len, d_model))
        self.pe[:, 0::2] = np.sin(position * div_term)
        self.pe[:, 1::2] = np.cos(position * div_term)

    def __call__(self, x):
        return x + self.pe[: x.shape[1]]
""",
        (("np.arange(0, d_model, 2) * -", "np.arange(0, d_model, 2) / -"), ("np.cos(position * div_term)", "np.cos(position / div_term)")),
    ),
    Program(
        "PositionalEncoding",
        "sinusoidal_positions",
        """
import math

import torch
from torch import nn

class PositionalEncoding(nn.Module):  # takes token ids for their number
    def __init__(self, d_model, max_len=512):
        super().__init__()
        places, rates = torch.arange(max_len).unsqueeze(1), torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        table = torch.zeros(max_len, d_model)
        table[:, 0::2], table[:, 1::2] = torch.sin(places * rates), torch.cos(places * rates)
        self.register_buffer("table", table)

    def forward(self, x):
        batch, length = x.shape
        return self.table[:length]
""",
        ((":length]", ":length - 1]"), (":length]", ":length + 1]"), ("torch.sin(places * rates)", "places * rates")),
    ),
    Program(
        "PositionalEmbedding",
        "sinusoidal_positions",
        """
import torch
from torch import nn

class PositionalEmbedding(nn.Module):  # called with the number of keys
    def __init__(self, max_len, width):
        super().__init__()
        rates = 10000 ** (torch.arange(0, width, 2) / width)
        self.table = torch.zeros(max_len, width)
        self.table[:, 0::2] = torch.sin(torch.arange(max_len)[:, None] / rates)
        self.table[:, 1::2] = torch.cos(torch.arange(max_len)[:, None] / rates)

    def forward(self, k_len: int):
        return self.table[:k_len, :]
""",
        (("[:k_len, :]", "[-k_len:, :]"),),
    ),
    Program(
        "encode_positions",
        "sinusoidal_positions",
        """
import jax.numpy as jnp
from no_such_package import check_and_compile

@check_and_compile(0)
def encode_positions(input_embedding, position, max_wavelength=10000.0):
    width = input_embedding.shape[-1]
    angles = position[..., None] / max_wavelength ** (jnp.arange(0, width, 2) / width)
    waves = input_embedding.at[..., 0::2].add(jnp.sin(angles))
    return waves.at[..., 1::2].add(jnp.cos(angles[..., : width // 2]))
""",
        (
            ("waves = input_embedding.at[..., 0::2].add", "waves = input_embedding.at[..., 0::2].set"),
            ("(0, width, 2) / width", "(0, width // 2) / width"),
            ("jnp.cos(", "jnp.sin("),
        ),
    ),
    Program(
        "add_patch_positions",
        "learned_positions",
        """
import numpy as np

def add_patch_positions(patches, num_patches, embed_dim, pos_embed=None):
    B, N, D = patches.shape
    if pos_embed is None:
        pos_embed = np.random.randn(1, N, D) * 0.02
    return patches + pos_embed
""",
        (("patches + pos_embed", "patches * pos_embed"),),
    ),
    Program(
        "positional_encoding",
        "sinusoidal_positions",
        """
import numpy as np

def positional_encoding(pos, d_model):
    row = np.zeros(d_model)
    for i in range(d_model):
        rate = 10000 ** (2 * (i // 2) / d_model)
        row[i] = np.sin(pos / rate) if i % 2 == 0 else np.cos(pos / rate)
    return row
""",
        (("2 * (i // 2) / d_model", "i / d_model"),),
    ),
    Program(
        "Rotary",
        "rotary",
        """
import torch
from torch import nn

class Rotary(nn.Module):
    def __init__(self, dim, base=10_000):
        super().__init__()
        self.dim = dim
        self.rates = base ** (-torch.arange(0, dim, 2) / dim)

    def forward(self, x):
        angles = torch.outer(torch.arange(x.shape[1]).float(), self.rates)
        cos, sin = angles.cos()[None, :, None, :], angles.sin()[None, :, None, :]
        x1, x2 = x[..., : self.dim // 2], x[..., self.dim // 2 :]
        y1 = x1 * cos + x2 * sin
        y2 = x2 * cos - x1 * sin
        return torch.cat([y1, y2], dim=-1)
""",
        (("x2 * cos - x1 * sin", "x2 * cos + x1 * sin"),),
    ),
    Program(
        "RotaryEmbedding",
        "rotary",
        """
import torch
from torch import nn

class RotaryEmbedding(nn.Module):
    def __init__(self, dim, base=10000):
        super().__init__()
        self.half = dim // 2
        self.register_buffer("rates", 1.0 / base ** (torch.arange(0, dim, 2).float() / dim))

    def forward(self, x):
        places = torch.arange(x.size(1), device=x.device).float()
        angles = torch.outer(places, self.rates).unsqueeze(0).expand(x.size(0), -1, -1)
        a, b = x[..., : self.half], x[..., self.half :]
        return torch.cat([a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()], dim=-1)
""",
        (("x.size(1), device", "x.size(0), device"), ("/ dim))", "/ self.half))")),
    ),
    Program(
        "RotaryPositions",
        "rotary",
        """
from typing import Optional

import torch
from torch import nn

class RotaryPositions(nn.Module):
    def __init__(self, head_dim: int, max_seq_len: int = 4096, base: float = 10_000.0, scaling: Optional[float] = None):
        super().__init__()
        self.register_buffer("table", self._table(head_dim, max_seq_len, base, scaling), persistent=False)

    @staticmethod
    def _table(dim: int, length: int, base: float, scaling: Optional[float]) -> torch.Tensor:
        places = torch.arange(length).float()
        places = places if scaling is None else places / scaling
        angles = torch.outer(places, base ** (-torch.arange(0, dim, 2).float() / dim))
        return torch.polar(torch.ones_like(angles), angles)

    def apply_rotary(self, q, k):
        table = self.table[: q.size(-2)]
        turned = [torch.view_as_real(torch.view_as_complex(x.float().unflatten(-1, (-1, 2))) * table).flatten(-2) for x in (q, k)]
        return turned[0], turned[1]

    def forward(self, x):
        '''Positions are applied in the attention.'''
        return x
""",
        (("(-torch.arange(0, dim, 2)", "(torch.arange(0, dim, 2)"),),
    ),
    Program(
        "InputEmbeddings",
        "positioned_embedding",
        """
import torch
from torch import nn

vocab_size, embedding_size, device = 65, 32, "cpu"

class InputEmbeddings(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embedding_size)

    def waves(self, length, n=10000):
        table = torch.zeros((length, embedding_size)).to(device)
        for k in range(length):
            for i in torch.arange(embedding_size // 2):
                rate = torch.pow(n, 2 * i / embedding_size)
                table[k, 2 * i], table[k, 2 * i + 1] = torch.sin(k / rate), torch.cos(k / rate)
        return table

    def forward(self, x):
        return self.embedding(x) + self.waves(x.shape[1])
""",
        (("2 * i / embedding_size)", "i / embedding_size)"),),
    ),
    Program(
        "PositionalEncoding",
        "sinusoidal_positions",
        """
import math

import torch
from torch import nn

class PositionalEncoding(nn.Module):
    def __init__(self, d_model, maxlen, device):
        super().__init__()
        rates = torch.exp(-torch.arange(0, d_model, 2) * math.log(10000) / d_model)
        places = torch.arange(0, maxlen).reshape(maxlen, 1)
        table = torch.zeros((maxlen, d_model))
        table[:, 0::2], table[:, 1::2] = torch.sin(places * rates), torch.cos(places * rates)
        self.table = table.unsqueeze(0).to(device)

    def forward(self, x):
        x += self.table[:, : x.size()[1], :]  # writes into its operand
        return x
""",
        (("x.size()[1], :]", "x.size()[0], :]"),),
    ),
    Program(
        "get_1d_rope",
        "sinusoidal_positions",
        """
import math

import torch

def get_1d_rope(seq_len, d_model):
    places = torch.arange(0, seq_len).unsqueeze(1).float()
    rates = torch.exp(torch.arange(0, d_model, 2).float() * -(math.log(10000.0) / d_model))
    table = torch.zeros(seq_len, d_model)
    table[:, 0::2], table[:, 1::2] = torch.sin(places * rates), torch.cos(places * rates)
    return table
""",
        (("math.log(10000.0)", "math.log(1000.0)"),),
    ),
    Program(
        "Embeddings",
        "learned_positions",
        """
from typing import NamedTuple
import torch
from torch import nn

class Sizes(NamedTuple):
    vocab_size: int = None
    width: int = 64
    max_len: int = 32
    n_segments: int = 2

class Embeddings(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.words = nn.Embedding(cfg.vocab_size, cfg.width)
        self.places = nn.Embedding(cfg.max_len, cfg.width)
        self.segments = nn.Embedding(cfg.n_segments, cfg.width)
        self.norm = nn.LayerNorm(cfg.width)

    def forward(self, x, seg):
        places = torch.arange(x.size(1), device=x.device).unsqueeze(0).expand_as(x)
        return self.norm(self.words(x) + self.places(places) + self.segments(seg))
""",
        (("+ self.segments(seg)", "+ 2 * self.segments(seg)"), ("self.places(places)", "self.places(places * 0)")),
    ),
    Program(
        "embed_inputs",
        "embed",
        """
import numpy as np

def embed_inputs(x: np.ndarray, W_E: np.ndarray) -> np.ndarray:
    return np.matmul(x, W_E)
""",
        (("np.matmul(x, W_E)", "np.matmul(x, W_E.T)"), ("np.matmul(x, W_E)", "np.matmul(x, W_E)[::-1]")),
    ),
    Program("Bert", "encoder_stack", SEGMENTS.format(segments="segment_info"), SEGMENTS_MISTAKEN),
    Program("BertModel", "encoder_stack", SEGMENTS.replace("class Bert(", "class BertModel(").format(segments="token_type_ids"), ()),
    Program(
        "LearnedPositions",
        "learned_positions",
        """
import torch
from torch import nn

class LearnedPositions(nn.Module):
    def __init__(self, num_embeddings, embedding_dim):
        super().__init__()
        self.rows = nn.Parameter(torch.randn(num_embeddings, embedding_dim))

    def forward(self, indices):
        return self.rows[indices]
""",
        (("self.rows[indices]", "self.rows[indices + 1]"), ("self.rows[indices]", "self.rows[: len(indices)]")),
    ),
    Program(
        "RotaryEmbedding",
        "rotary_tables",
        """
import numpy as np

class RotaryEmbedding:
    def __init__(self, config):
        rates = 1.0 / config.rope_theta ** (np.arange(0, config.head_dim, 2) / config.head_dim)
        angles = np.outer(np.arange(config.max_position_embeddings), rates)
        angles = np.concatenate([angles, angles], axis=-1)
        self.cos_cached, self.sin_cached = np.cos(angles), np.sin(angles)
""",
        (
            ("np.arange(config.max_position_embeddings)", "1 + np.arange(config.max_position_embeddings)"),
            ("np.sin(angles)", "np.tan(angles)"),
        ),
    ),
    Program(
        "Rope",
        "rotary",
        """
import torch

TABLE_CACHE = {}

class Rope:
    def __init__(self, head_dim, max_seq_len):
        if "cos" in TABLE_CACHE:
            return
        angles = torch.outer(torch.arange(max_seq_len), 10000.0 ** (-torch.arange(0, head_dim, 2) / head_dim))
        TABLE_CACHE["cos"], TABLE_CACHE["sin"] = angles.cos().repeat(1, 2), angles.sin().repeat(1, 2)

    def apply_rotary(self, x):
        cos, sin = (TABLE_CACHE[name][: x.shape[-2]] for name in ("cos", "sin"))
        first, second = x.chunk(2, dim=-1)
        return x * cos + torch.cat([-second, first], dim=-1) * sin
""",
        (("-second, first", "second, first"), ("10000.0 ** (-torch", "10000.0 ** (torch")),
    ),
    Program(
        "PositionalEncoding",
        "sinusoidal_positions",
        """
import numpy as np
import torch

class PositionalEncoding:
    def __init__(self, d_model: int, max_len: int = 100):
        position = np.arange(max_len)[:, np.newaxis]
        rate = np.exp(np.arange(0, d_model, 2) * (-np.log(10000.0) / d_model))
        self.pe = np.zeros((1, max_len, d_model), dtype=np.float32)
        self.pe[0, :, 0::2] = np.sin(position * rate)
        self.pe[0, :, 1::2] = np.cos(position * rate)

    def forward(self, x: np.ndarray) -> np.ndarray:
        return x + self.pe[:, : x.shape[1], :]

def load(path):
    return {name: value.numpy() for name, value in torch.load(path).items()}
""",
        (("np.cos(position * rate)", "np.sin(position * rate)"), ("return x + ", "return x * ")),
    ),
    Program(
        "Embedding",
        "embed",
        """
import numpy as np

class Embedding:
    def __init__(self, input_dim, output_dim, vocab_size):
        limit = np.sqrt(6 / (vocab_size + output_dim))
        self.weights = np.random.uniform(-limit, limit, (vocab_size, output_dim))

    def forward(self, tokens):
        return self.weights[tokens]
""",
        (("self.weights[tokens]", "self.weights[tokens - 1]"),),
    ),
    Program(
        "PositionalEncoding",
        "sinusoidal_positions",
        COUNTED_TOKENS,
        (("/ 10000", "* 10000"), ("angles.sin(), angles.cos()", "angles.cos(), angles.sin()"), ("(0, width, 2) / width", "(0, width, 2)")),
    ),
    Program(
        "PositionalEncoding",
        "sinusoidal_positions",
        COUNTED_TOKENS.replace("tokens.shape", "tokens.size()").replace("[:length]", "[:length][None]"),
        (("/ 10000", "* 10000"), ("angles.sin(), angles.cos()", "angles.cos(), angles.sin()"), ("(0, width, 2) / width", "(0, width, 2)")),
    ),
    Program(
        "sincos_embed",
        "sinusoidal_positions",
        """
import torch

def sincos_embed(dim, pos):
    assert dim % 2 == 0
    rates = 10000 ** (-torch.arange(dim // 2) / (dim / 2))
    angles = torch.outer(pos.flatten().float(), rates)
    return torch.cat([angles.sin(), angles.cos()], dim=1)
""",
        (("-torch.arange", "torch.arange"), ("[angles.sin(), angles.cos()]", "[angles.cos(), angles.sin()]")),
    ),
)
