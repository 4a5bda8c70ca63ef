"""Numbers of heads that a class fixes, rates of a step, directions, shares of a warmup, flags of masks, settings next to a config: programs in conventions of public code."""

from __future__ import annotations

from tests.practice.public.program import Program

PROGRAMS = (
    Program(
        "SelfAttention",
        "self_attention",
        """
import torch
from torch import nn

class SelfAttention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.num_heads = 8
        self.size = width // 8
        self.project = nn.Linear(width, 3 * width)
        self.merge = nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (each.view(batch, length, self.num_heads, self.size).transpose(1, 2) for each in self.project(x).chunk(3, -1))
        weights = (q @ k.transpose(2, 3) / self.size**0.5).softmax(-1)
        return self.merge((weights @ v).transpose(1, 2).reshape(batch, length, width))
""",
        ((" / self.size**0.5", " / width**0.5"), (".transpose(1, 2).reshape(batch", ".reshape(batch")),
    ),
    Program(
        "CausalSelfAttention",
        "causal_self_attention",
        """
import numpy as np

class Projection:
    def __init__(self, entering, leaving, rng):
        self.W = rng.standard_normal((entering, leaving))
        self.b = np.zeros(leaving)

    def forward(self, x):
        return x @ self.W + self.b

class CausalSelfAttention:
    def __init__(self, d_model, d_head, rng):
        self.q, self.k, self.v = (Projection(d_model, d_head, rng) for _ in range(3))
        self.out = Projection(d_head, d_model, rng)
        self.d_head = d_head

    def forward(self, x):
        length = x.shape[1]
        q, k, v = (each.forward(x) for each in (self.q, self.k, self.v))
        scores = np.where(np.tri(length, dtype=bool), q @ k.transpose(0, 2, 1) / np.sqrt(self.d_head), -1e9)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        return self.out.forward(weights / weights.sum(-1, keepdims=True) @ v)
""",
        (("np.tri(length", "np.tri(length, k=1"), ("sum(-1", "sum(1")),
    ),
    Program(
        "SGD",
        "sgd_optimizer",
        """
class SGD:
    def __init__(self):
        pass

    def update(self, weights, grad, lr):
        return weights - lr * grad
""",
        (("weights - lr", "weights + lr"), ("lr * grad", "lr * grad**2")),
    ),
    Program(
        "Adam",
        "adam_optimizer",
        """
import numpy as np

class Adam:
    def __init__(self, beta1=0.9, beta2=0.999, eps=1e-8):
        self.beta1, self.beta2, self.eps = beta1, beta2, eps
        self.means, self.squares, self.count = {}, {}, 0

    def direction(self, grads):
        self.count += 1
        found = {}
        for name, grad in grads.items():
            self.means[name] = self.beta1 * self.means.get(name, 0.0) + (1 - self.beta1) * grad
            self.squares[name] = self.beta2 * self.squares.get(name, 0.0) + (1 - self.beta2) * grad**2
            mean = self.means[name] / (1 - self.beta1**self.count)
            found[name] = mean / (np.sqrt(self.squares[name] / (1 - self.beta2**self.count)) + self.eps)
        return found
""",
        (("(1 - self.beta2**self.count)", "(1 - self.beta1**self.count)"), ("grad**2", "np.abs(grad)")),
    ),
    Program(
        "cross_entropy_error",
        "cross_entropy",
        """
import numpy as np

def cross_entropy_error(y, t):
    if y.ndim == 1:
        y, t = y.reshape(1, y.size), t.reshape(1, t.size)
    count = y.shape[0]
    return -np.sum(t * np.log(y + 1e-7)) / count
""",
        (("-np.sum", "np.sum"), (" / count", "")),
    ),
    Program(
        "PositionEmbedding",
        "learned_positions",
        """
import numpy as np

class PositionEmbedding:
    def __init__(self, max_len, dim):
        self.table = np.random.randn(max_len, dim)

    def forward(self, batch_size, seq_len):
        return self.table[:seq_len][None].repeat(batch_size, axis=0)
""",
        (("[:seq_len]", "[1 : seq_len + 1]"), ("[:seq_len]", "[-seq_len:]")),
    ),
    Program(
        "decode",
        "bpe_decode",
        """
import torch

def decode(ids: torch.Tensor, vocab):
    # of a byte-pair encoding
    return b"".join(vocab[each.item()] for each in ids).decode("utf-8", errors="replace")
""",
        (('b"".join', 'b" ".join'), ("in ids)", "in ids.flip(0))")),
    ),
    Program(
        "cosine_lr",
        "cosine_schedule",
        """
import math

WARMUP_RATIO = 0.05
MIN_LR = 1e-5

def cosine_lr(step, total_steps, max_lr):
    warmup = int(WARMUP_RATIO * total_steps)
    if step < warmup:
        return max_lr * (step + 1) / warmup
    share = (step - warmup) / (total_steps - warmup)
    return MIN_LR + (max_lr - MIN_LR) * 0.5 * (1 + math.cos(math.pi * share))
""",
        (("(total_steps - warmup)", "total_steps"), ("0.5 * (1 + math", "(1 + math")),
    ),
    Program(
        "CosineDecayLR",
        "cosine_schedule",
        """
import math
from ..training.base import Optimizer

class CosineDecayLR:
    def __init__(self, optimizer, t_max, eta_min=0.0):
        if not isinstance(optimizer, Optimizer):
            raise TypeError("got no optimizer")
        self.optimizer, self.t_max, self.eta_min = optimizer, t_max, eta_min
        self.base_lr = optimizer.lr
        self.count = 0

    def step(self):
        self.count += 1
        wave = 0.5 * (1 + math.cos(math.pi * self.count / self.t_max))
        self.optimizer.lr = self.eta_min + (self.base_lr - self.eta_min) * wave
""",
        (("(self.base_lr - self.eta_min)", "self.base_lr"), ("0.5 * (1 + math", "0.5 * (1 - math")),
    ),
    Program(
        "mlp_forward",
        "feed_forward",
        """
import numpy as np

def mlp_forward(x, mlp):
    hidden = x @ mlp["c_fc"]["w"] + mlp["c_fc"]["b"]
    hidden = 0.5 * hidden * (1 + np.tanh(np.sqrt(2 / np.pi) * (hidden + 0.044715 * hidden**3)))
    return hidden @ mlp["c_proj"]["w"] + mlp["c_proj"]["b"]
""",
        (("0.044715", "0.44715"), ("hidden**3", "hidden**2")),
    ),
    Program(
        "EncoderBlock",
        "encoder_layer",
        """
import torch
from torch import nn

class EncoderBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.merge = (nn.Linear(width, width) for _ in range(4))
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x, lengths):
        batch, count, width = x.shape
        q, k, v = (each(x).view(batch, count, self.heads, -1).transpose(1, 2) for each in (self.q, self.k, self.v))
        hidden = torch.arange(count)[None] >= lengths[:, None]
        scores = q @ k.transpose(2, 3) / (width // self.heads) ** 0.5
        weights = scores.masked_fill(hidden[:, None, None], -torch.inf).softmax(-1)
        x = self.norm_1(x + self.merge((weights @ v).transpose(1, 2).reshape(batch, count, width)))
        return self.norm_2(x + self.down(torch.relu(self.up(x))))
""",
        ((">= lengths", "> lengths"), ("[:, None, None], ", "[:, None, :, None], ")),
    ),
    Program(
        "create_mask",
        "padding_mask",
        """
import torch

def create_mask(tokens, is_trg):
    visible = (tokens != 0)[:, None, None]
    if is_trg:
        length = tokens.shape[1]
        visible = visible & torch.ones(length, length).tril().bool()
    return visible
""",
        (("!= 0", "> 1"), ("[:, None, None]", "[:, None, :, None]")),
    ),
    Program(
        "_initialize_pair_statistics",
        "pair_counts",
        """
from collections import defaultdict

def _initialize_pair_statistics(words):
    counts, places = defaultdict(int), defaultdict(set)
    for place, (symbols, frequency) in enumerate(words):
        for pair in zip(symbols, symbols[1:]):
            counts[pair] += frequency
            places[pair].add(place)
    return counts, places
""",
        (("+= frequency", "+= 1"), ("symbols[1:]", "symbols[2:]")),
    ),
    Program(
        "Block",
        "transformer_block",
        """
from dataclasses import dataclass
import torch
from torch import nn

@dataclass
class ModelConfig:
    n_ctx: int = 32
    d_model: int = 48
    n_head: int = 4

@dataclass
class RunSettings:
    checkpointing: bool = False

class Attention(nn.Module):
    def __init__(self, config: ModelConfig, config_run: RunSettings):
        super().__init__()
        self.config, self.config_run = config, config_run
        self.q, self.k, self.v, self.merge = (nn.Linear(config.d_model, config.d_model) for _ in range(4))

    def forward(self, x):
        batch, length, width = x.shape
        heads = self.config.n_head
        q, k, v = (each(x).view(batch, length, heads, width // heads).transpose(1, 2) for each in (self.q, self.k, self.v))
        later = torch.ones(length, length).triu(1).bool()
        scores = (q @ k.transpose(2, 3) / (width // heads) ** 0.5).masked_fill(later, -torch.inf)
        x = self.merge((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, width))
        return x.contiguous() if self.config_run.checkpointing else x

class Block(nn.Module):
    def __init__(self, config: ModelConfig, config_run: RunSettings):
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(config.d_model), nn.LayerNorm(config.d_model)
        self.attn = Attention(config, config_run)
        self.up, self.down = nn.Linear(config.d_model, 4 * config.d_model), nn.Linear(4 * config.d_model, config.d_model)

    def forward(self, x):
        x = x + self.attn(self.norm_1(x))
        return x + self.down(nn.functional.gelu(self.up(self.norm_2(x))))
""",
        (("self.up(self.norm_2(x))", "self.up(x)"), ("return x + self.down", "return self.down")),
    ),
)
