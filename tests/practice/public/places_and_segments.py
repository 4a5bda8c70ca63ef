"""Merges with their places and in place, segments next to computed positions, log-probabilities, assertions of chex, and names of whole models."""

from tests.practice.public.program import Program

PATCHES = """
import torch
from torch import nn


class ViTEmbeddings(nn.Module):
    def __init__(self, channels, width, patch_size, num_patches):
        super().__init__()
        self.project = nn.Conv2d(channels, width, kernel_size=patch_size, stride=patch_size)
        self.places = nn.Parameter(torch.zeros(1, num_patches, width))

    def forward(self, x):
        return self.project(x).flatten(2).mT + self.places
"""

DESCENT = """
import numpy as np


def compute_loss(y_true, y_pred):
    return np.mean((y_true - y_pred) ** 2)


def linear_regression(X, y, lr, epochs):
    w = np.random.randn(X.shape[1])
    for _ in range(epochs):
        w -= lr * X.T @ (X @ w - y) / len(y)
    return w
"""

MODEL = """
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width, num_heads):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.num_heads = num_heads
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        q, k, v = (each.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for each in self.qkv(self.ln_1(x)).chunk(3, -1))
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(mixed.transpose(1, 2).flatten(2))
        return x + self.down(nn.functional.gelu(self.up(self.ln_2(x)), approximate="tanh"))


class CausalLM(nn.Module):
    def __init__(self, vocab_size, max_len, width, num_heads, num_layers):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab_size, width), nn.Embedding(max_len, width)
        self.blocks = nn.ModuleList(Block(width, num_heads) for _ in range(num_layers))
        self.ln_f = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocab_size, bias=False)
        self.head.weight = self.wte.weight

    def forward(self, ids):
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.ln_f(x))
"""

PROGRAMS = (
    Program(
        "_merge_with_places",
        "merge_pair",
        """
def _merge_with_places(ids: list[int], pair: tuple[int, int], new_id: int) -> tuple[list[int], list[int]]:
    out, places, i = [], [], 0
    while i < len(ids):
        if i + 1 < len(ids) and (ids[i], ids[i + 1]) == pair:
            places.append(len(out))
            out.append(new_id)
            i += 2
        else:
            out.append(ids[i])
            i += 1
    return out, places
""",
        (("places.append(len(out))", "places.append(i)"), ("i += 2", "i += 1")),
    ),
    Program(
        "apply_merge",
        "merge_pair",
        """
def apply_merge(words: list[list[bytes]], pair: tuple[bytes, bytes]) -> None:
    for number, word in enumerate(words):
        place = 0
        while place < len(word) - 1:
            if (word[place], word[place + 1]) == pair:
                word[place] = pair[0] + pair[1]
                del word[place + 1]
            place += 1
""",
        (("del word[place + 1]", "del word[place]"), ("len(word) - 1:", "len(word) - 2:")),
    ),
    Program(
        "BERTEmbedding",
        "positioned_embedding",
        """
import torch
from torch import nn


class Segments(nn.Embedding):
    def __init__(self, width):
        super().__init__(3, width, padding_idx=0)


class BERTEmbedding(nn.Module):
    def __init__(self, vocab_size, width, max_len=64):
        super().__init__()
        self.tokens, self.segments = nn.Embedding(vocab_size, width, padding_idx=0), Segments(width)
        angles = torch.arange(max_len)[:, None] * 10000.0 ** (-torch.arange(0, width, 2) / width)
        self.register_buffer("waves", torch.stack([angles.sin(), angles.cos()], -1).flatten(1)[None])

    def forward(self, ids, segment_label):
        return self.tokens(ids) + self.waves[:, : ids.size(1)] + self.segments(segment_label)
""",
        (
            (" + self.segments(segment_label)", ""),
            ("self.segments(segment_label)", "self.segments(ids % 2)"),
            ("angles.sin(), angles.cos()", "angles.cos(), angles.sin()"),
        ),
    ),
    Program(
        "make_sampler",
        "sample",
        """
import numpy as np


def make_sampler(temp: float, top_p: float, top_k: int | None):
    def pick(logprobs):
        if temp == 0:
            return np.argmax(logprobs)
        order = np.argsort(-logprobs)
        powers = np.exp(logprobs[order])
        is_kept = np.cumsum(powers) - powers < top_p
        if top_k is not None:
            is_kept[top_k:] = False
        scores = np.where(is_kept, logprobs[order] / temp, -np.inf)
        weights = np.exp(scores - scores.max())
        return order[np.random.choice(len(order), p=weights / weights.sum())]

    return pick
""",
        (("np.cumsum(powers) - powers < top_p", "np.cumsum(powers) < top_p"), ("logprobs[order] / temp", "logprobs[order] * temp")),
    ),
    Program(
        "FeedForward",
        "feed_forward",
        """
import chex
import flax.linen as nn


@chex.dataclass(frozen=True)
class Sizes:
    width: int


class FeedForward(nn.Module):
    width: int

    @nn.compact
    def __call__(self, x: chex.Array) -> chex.Array:
        chex.assert_shape(x, (None, None, self.width))
        return nn.Sequential([nn.Dense(4 * self.width), nn.gelu, nn.Dense(self.width)])(x)
""",
        (("nn.gelu,", ""),),
    ),
    Program("CausalLM", "gpt2", MODEL, (("is_causal=True", "is_causal=False"), ("self.head(self.ln_f(x))", "self.head(x)"))),
    Program(
        "bpe_tokenizer_training",
        "bpe_train",
        """
from collections import Counter


def bpe_tokenizer_training(text, num_merges):
    ids, merges = list(text.encode("utf-8")), {}
    for number in range(256, 256 + num_merges):
        counts = Counter(zip(ids, ids[1:]))
        if not counts:
            break
        best = max(counts, key=counts.get)
        merges[best] = number
        out = []
        for each in ids:
            if out and (out[-1], each) == best:
                out[-1] = number
            else:
                out.append(each)
        ids = out
    return merges
""",
        (("max(counts, key", "min(counts, key"),),
    ),
)
