"""Parts and settings with short names, such as `attend` and `context`, and settings that a constructor sets or that a text chooses."""

from __future__ import annotations

from tests.practice.public.program import Program

ATTEND = """
import numpy as np

def normalized(scores):
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)

def attend(Q, K, V, keep=None):
    scores = Q @ K.swapaxes(-2, -1) * K.shape[-1] ** -0.5
    if keep is not None:
        scores = np.where(keep, scores, -np.inf)
    return normalized(scores) @ V
"""

CONTEXT = """
import torch
from torch import nn

class GPT(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.tokens = nn.Embedding(cfg.vocab_size, cfg.width)
        self.places = nn.Embedding(cfg.context, cfg.width)
        self.out = nn.Linear(cfg.width, cfg.vocab_size)

    def forward(self, ids):
        return self.out(self.tokens(ids) + self.places(torch.arange(ids.shape[1], device=ids.device)))

    @torch.no_grad()
    def generate(self, ids, n_new):
        for _ in range(n_new):
            logits = self(ids[:, -self.cfg.context :])
            ids = torch.cat([ids, logits[:, -1].argmax(-1, keepdim=True)], dim=1)
        return ids
"""

FLAG_OF_EMBEDDINGS = """
from dataclasses import dataclass
import torch
from torch import nn

@dataclass
class Settings:
    hidden_size: int = 96
    num_attention_heads: int = 4
    use_rotary_embeddings: bool = False

class SelfAttention(nn.Module):
    def __init__(self, config: Settings):
        super().__init__()
        self.heads = config.num_attention_heads
        self.qkv = nn.Linear(config.hidden_size, 3 * config.hidden_size)
        self.out = nn.Linear(config.hidden_size, config.hidden_size)
        if config.use_rotary_embeddings:
            raise NotImplementedError("rotary positions")

    def forward(self, x):
        q, k, v = (each.unflatten(-1, (self.heads, -1)).transpose(1, 2) for each in self.qkv(x).chunk(3, dim=-1))
        mixed = nn.functional.scaled_dot_product_attention(q, k, v)
        return self.out(mixed.transpose(1, 2).flatten(2))
"""

MERGED_BY_A_LAYER = """
import torch
from torch import nn

class MultiHeadSelfAttention(nn.Module):
    def __init__(self, k, heads=4):
        super().__init__()
        self.k, self.heads = k, heads
        self.layer_queries = nn.Linear(k, k * heads, bias=False)
        self.layer_keys = nn.Linear(k, k * heads, bias=False)
        self.layer_values = nn.Linear(k, k * heads, bias=False)
        self.layer_merge_heads = nn.Linear(heads * k, k)

    def forward(self, x):
        b, t, k = x.shape
        queries, keys, values = (
            layer(x).view(b, t, self.heads, k).transpose(1, 2).reshape(b * self.heads, t, k) / scale
            for layer, scale in ((self.layer_queries, k**0.25), (self.layer_keys, k**0.25), (self.layer_values, 1))
        )
        heads = torch.bmm(torch.bmm(queries, keys.mT).softmax(dim=2), values).view(b, self.heads, t, k)
        return self.layer_merge_heads(heads.transpose(1, 2).reshape(b, t, self.heads * k))
"""

ITEMS_AS_ATTRIBUTES = """
from torch import nn

class MLP(nn.Module):
    def __init__(self, config):
        super().__init__()
        for key, value in config.items():
            setattr(self, key, value)
        self.up = nn.Linear(self.n_embd, 4 * self.n_embd)
        self.down = nn.Linear(4 * self.n_embd, self.n_embd)
        self.dropout = nn.Dropout(self.dropout)

    def forward(self, x):
        return self.dropout(self.down(nn.functional.gelu(self.up(x))))
"""

GREEDY_BY_DEFAULT = """
import torch

def sample_next(logits, method="greedy", temperature=1.0):
    if method == "greedy":
        return logits.argmax(dim=-1)
    return torch.multinomial((logits / temperature).softmax(dim=-1), 1).squeeze(-1)
"""

PROGRAMS = (
    Program("MLP", "feed_forward", ITEMS_AS_ATTRIBUTES, (("self.down(nn.functional.gelu(self.up(x)))", "self.down(self.up(x))"),)),
    Program("sample_next", "sample", GREEDY_BY_DEFAULT, (("argmax(dim=-1)", "argmin(dim=-1)"),)),
    Program("MultiHeadSelfAttention", "self_attention", MERGED_BY_A_LAYER, (("softmax(dim=2)", "softmax(dim=1)"),)),
    Program("SelfAttention", "self_attention", FLAG_OF_EMBEDDINGS, (("mixed.transpose(1, 2).flatten(2)", "mixed.reshape(x.shape)"),)),
    Program(
        "attend", "scaled_dot_product_attention", ATTEND, (("(keep, scores, -np.inf)", "(keep, -np.inf, scores)"), ("** -0.5", "** -1"))
    ),
    Program("GPT.generate", "generate", CONTEXT, (("ids[:, -self.cfg.context :]", "ids[:, : self.cfg.context]"), ("[:, -1]", "[:, 0]"))),
)
