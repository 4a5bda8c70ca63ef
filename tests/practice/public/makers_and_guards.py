"""Functions that return samplers, masks of columns, losses as arrays of one number, models with a tied table, configs with optional fields:
programs in conventions of public code, with mistakes as replacements in their text."""

from __future__ import annotations

from tests.practice.public.program import Program

MAKER = """import torch
import torch.nn.functional as F


def make_sampler(temperature=1.0, top_k=None):
    def draw(logits):
        scaled = logits / temperature
        if top_k is not None:
            least = torch.topk(scaled, top_k, dim=-1).values[..., -1:]
            scaled = scaled.masked_fill(scaled < least, float("-inf"))
        return torch.multinomial(F.softmax(scaled, dim=-1), num_samples=1)

    return draw
"""

COLUMNS = """import torch


def make_padding_mask(tokens, pad_id):
    # tokens: (length, batch), as torch.nn.Transformer takes them
    return (tokens == pad_id).transpose(0, 1)
"""

ARRAY_OF_ONE = """import torch
from einops import rearrange, reduce


def cross_entropy(logits, targets):
    most = reduce(logits, "b v -> b 1", "max")
    log_sum = most + torch.log(reduce(torch.exp(logits - most), "b v -> b 1", "sum"))
    chosen = torch.gather(logits, 1, rearrange(targets, "b -> b 1"))
    return reduce(log_sum - chosen, "b 1 -> ()", "mean")
"""

TIED_TABLE = """import numpy as np


class Norm:
    def __init__(self, width):
        self.gamma = np.ones(width)
        self.beta = np.zeros(width)

    def forward(self, x):
        centred = x - x.mean(-1, keepdims=True)
        return self.gamma * centred / np.sqrt(x.var(-1, keepdims=True) + 1e-5) + self.beta


class Attention:
    def __init__(self, width, num_heads):
        self.num_heads = num_heads
        self.w_qkv = np.random.randn(width, 3 * width)
        self.w_o = np.random.randn(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (
            part.reshape(batch, length, self.num_heads, -1).transpose(0, 2, 1, 3) for part in np.split(x @ self.w_qkv, 3, axis=-1)
        )
        scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1])
        scores = np.where(np.tril(np.ones((length, length))) == 0, -np.inf, scores)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        heads = weights / weights.sum(-1, keepdims=True) @ v
        return heads.transpose(0, 2, 1, 3).reshape(batch, length, width) @ self.w_o


class FeedForward:
    def __init__(self, width, inner):
        self.w1, self.b1 = np.random.randn(width, inner), np.zeros(inner)
        self.w2, self.b2 = np.random.randn(inner, width), np.zeros(width)

    def forward(self, x):
        h = x @ self.w1 + self.b1
        return 0.5 * h * (1 + np.tanh(np.sqrt(2 / np.pi) * (h + 0.044715 * h**3))) @ self.w2 + self.b2


class Block:
    def __init__(self, width, num_heads, inner):
        self.ln1, self.ln2 = Norm(width), Norm(width)
        self.attn, self.mlp = Attention(width, num_heads), FeedForward(width, inner)

    def forward(self, x):
        x = x + self.attn.forward(self.ln1.forward(x))
        return x + self.mlp.forward(self.ln2.forward(x))


class GPTModel:
    def __init__(self, vocab_size, d_model=768, num_heads=12, d_ff=3072, num_layers=12, max_len=1024):
        self.vocab_size = vocab_size
        self.token_embedding = np.random.randn(vocab_size, d_model)
        self.position_embedding = np.random.randn(max_len, d_model)
        self.blocks = [Block(d_model, num_heads, d_ff) for _ in range(num_layers)]
        self.ln_f = Norm(d_model)
        self.lm_head = self.token_embedding.T

    def forward(self, tokens):
        x = self.token_embedding[tokens] + self.position_embedding[: tokens.shape[1]]
        for block in self.blocks:
            x = block.forward(x)
        return self.ln_f.forward(x) @ self.lm_head

    def generate(self, tokens, max_new_tokens=50, temperature=1.0):
        for _ in range(max_new_tokens):
            logits = self.forward(tokens)[:, -1, :] / temperature
            chosen = np.random.choice(self.vocab_size, p=self.probabilities(logits)[0])
            tokens = np.concatenate([tokens, [[chosen]]], axis=1)
        return tokens

    def probabilities(self, logits):
        weights = np.exp(logits - logits.max(-1, keepdims=True))
        return weights / weights.sum(-1, keepdims=True)
"""

OF_ITEMS = """import torch.nn as nn

ACTIVATIONS = {"relu": nn.ReLU, "silu": nn.SiLU, "gelu": nn.GELU}


class MLP(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.act = ACTIVATIONS[config["hidden_act"]]()
        self.gate_proj = nn.Linear(config["hidden_size"], config["intermediate_size"], bias=False)
        self.up_proj = nn.Linear(config["hidden_size"], config["intermediate_size"], bias=False)
        self.down_proj = nn.Linear(config["intermediate_size"], config["hidden_size"], bias=False)

    def forward(self, x):
        return self.down_proj(self.act(self.gate_proj(x)) * self.up_proj(x))
"""

ASKED_FOR = """import torch
import torch.nn as nn


class CausalSelfAttention(nn.Module):
    def __init__(self, config, layer_idx):
        super().__init__()
        kind = config.layer_types[layer_idx] if hasattr(config, "layer_types") else None
        self.window = config.sliding_window if kind == "sliding_attention" else None
        self.num_heads = config.num_attention_heads
        self.qkv = nn.Linear(config.hidden_size, 3 * config.hidden_size)
        self.out = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (each.view(batch, length, self.num_heads, -1).transpose(1, 2) for each in self.qkv(x).chunk(3, dim=-1))
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        heads = scores.masked_fill(later, float("-inf")).softmax(-1) @ v
        return self.out(heads.transpose(1, 2).reshape(batch, length, width))
"""

SAMPLES_LOGITS = """import torch


class Sampler:
    def __init__(self, temperature=1.0, top_k=None):
        self.temperature, self.top_k = temperature, top_k

    def to_probs(self, logits):
        logits = logits / self.temperature
        if self.top_k is not None:
            least = torch.topk(logits, self.top_k, dim=-1).values[..., -1:]
            logits = torch.where(logits < least, -float("inf"), logits)
        return logits.softmax(-1)

    def sample_from_logits(self, logits):
        probs = self.to_probs(logits)
        return self.sample_index(probs), probs

    def sample_index(self, probs):
        return torch.argmax(probs / torch.empty_like(probs).exponential_(1), dim=-1)

    def most_likely(self, logits):
        return logits.argmax(-1)
"""

LOSS_OF_CLASS = """import numpy as np


class CrossEntropy:
    def probabilities(self, logits):
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)

    def calculate_loss(self, logits, labels):
        self.probs, self.labels = self.probabilities(logits), labels
        return -np.log(self.probs[np.arange(len(labels)), labels] + 1e-12).mean()

    def backward(self):
        return (self.probs - np.eye(self.probs.shape[1])[self.labels]) / len(self.labels)
"""

WIDTHS_OF_ALL_HEADS = """import torch
from torch import nn

from settings import Settings


class MultiHeadAttention(nn.Module):
    def __init__(self, config: Settings):
        super().__init__()
        assert config.attention_d_k % config.head_num == 0
        self.config = config
        self.to_q, self.to_k = nn.Linear(config.d_model, config.attention_d_k), nn.Linear(config.d_model, config.attention_d_k)
        self.to_v, self.out = nn.Linear(config.d_model, config.attention_d_v), nn.Linear(config.attention_d_v, config.d_model)

    def split(self, x, width):
        return x.view(x.shape[0], x.shape[1], self.config.head_num, width).transpose(1, 2)

    def forward(self, q, k, v, mask=None):
        key_width, value_width = self.config.attention_d_k // self.config.head_num, self.config.attention_d_v // self.config.head_num
        q, k, v = self.split(self.to_q(q), key_width), self.split(self.to_k(k), key_width), self.split(self.to_v(v), value_width)
        scores = q @ k.transpose(-2, -1) / key_width**0.5
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))
"""

IDS_AS_LIST = """import torch
from torch import nn


class TextModel(nn.Module):
    def __init__(self, vocab_size, width, chunk_size):
        super().__init__()
        self.chunk_size = chunk_size
        self.table, self.head = nn.Embedding(vocab_size, width), nn.Linear(width, vocab_size)

    def forward(self, ids):
        return self.head(self.table(ids).cumsum(1))

    @torch.no_grad()
    def generate(self, context_ids, max_tokens, temperature=1.0):
        self.eval()
        found = list(context_ids)
        for _ in range(max_tokens):
            shown = torch.tensor(found[-self.chunk_size :]).unsqueeze(0)
            logits = self(shown)[0, -1] / temperature
            found.append(torch.multinomial(logits.softmax(-1), 1).item())
        return found
"""

PROGRAMS = (
    Program(
        "SelfAttention",
        "self_attention",
        """
import math

import torch
from torch import nn

class SelfAttention(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))

    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        return torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.size(-1)), dim=-1) @ v

SelfAttention = SelfAttention()
print(SelfAttention(torch.ones(2, 3, 8)).shape)
""",
        ((" / math.sqrt(q.size(-1))", " / q.size(-1)"),),
    ),
    Program("make_sampler", "sample", MAKER, (("scaled < least", "scaled > least"), ("logits / temperature", "logits * temperature"))),
    Program("make_padding_mask", "padding_mask", COLUMNS, ((".transpose(0, 1)", ".transpose(0, 1) | True"), ("== pad_id)", "> pad_id)"))),
    Program("cross_entropy", "cross_entropy", ARRAY_OF_ONE, (('"b 1 -> ()", "mean"', '"b 1 -> ()", "sum"'),)),
    Program("GPTModel", "gpt2", TIED_TABLE, (("self.ln_f.forward(x) @", "x @"),)),
    Program("GPTModel.generate", "generate", TIED_TABLE, (("[:, -1, :] / temperature", "[:, 0, :] / temperature"),)),
    Program("MLP", "gated_feed_forward", OF_ITEMS, (("* self.up_proj(x)", "+ self.up_proj(x)"),)),
    Program("CausalSelfAttention", "causal_self_attention", ASKED_FOR, ((".triu(1)", ".triu(2)"),)),
    Program(
        "Sampler",
        "sample",
        SAMPLES_LOGITS,
        (("logits / self.temperature", "logits * self.temperature"), ("probs / torch", "probs * torch")),
    ),
    Program("CrossEntropy", "cross_entropy", LOSS_OF_CLASS, (("+ 1e-12).mean()", "+ 1e-12).sum()"), ("return -np.log", "return np.log"))),
    Program(
        "MultiHeadAttention",
        "multi_head_attention",
        WIDTHS_OF_ALL_HEADS,
        (
            ("/ key_width**0.5", "/ self.config.attention_d_k**0.5"),
            ("self.split(self.to_k(k), key_width)", "self.split(self.to_k(q), key_width)"),
        ),
    ),
    Program("TextModel.generate", "generate", IDS_AS_LIST, (("[0, -1] /", "[0, 0] /"),)),
)

SHOWS = """import numpy as np


def softmax(x):
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def exercise_1_causal_attention():
    scores = np.random.randn(4, 4)
    weights = softmax(np.where(np.tril(np.ones((4, 4))) == 0, -np.inf, scores))
    print(weights.shape)
"""
