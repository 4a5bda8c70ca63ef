"""Attention with total depths, lists of words, merges in slots and losses by name, with mistakes as replacements."""

from __future__ import annotations

from tests.practice.public.program import Program

DEPTHS = """
import torch
import torch.nn as nn


class MultiHeadAttention(nn.Module):
    def __init__(self, input_depth, total_key_depth, total_value_depth, output_depth, num_heads, bias_mask=None):
        super().__init__()
        if total_key_depth % num_heads or total_value_depth % num_heads:
            raise ValueError("the depths must be multiples of the number of heads")
        self.num_heads, self.bias_mask = num_heads, bias_mask
        self.query_scale = (total_key_depth // num_heads) ** -0.5
        self.query_linear = nn.Linear(input_depth, total_key_depth, bias=False)
        self.key_linear = nn.Linear(input_depth, total_key_depth, bias=False)
        self.value_linear = nn.Linear(input_depth, total_value_depth, bias=False)
        self.output_linear = nn.Linear(total_value_depth, output_depth, bias=False)

    def _split(self, x):
        return x.view(x.size(0), x.size(1), self.num_heads, -1).permute(0, 2, 1, 3)

    def forward(self, queries, keys, values):
        queries = self._split(self.query_linear(queries)) * self.query_scale
        keys, values = self._split(self.key_linear(keys)), self._split(self.value_linear(values))
        scores = queries @ keys.transpose(-1, -2)
        if self.bias_mask is not None:
            scores = scores + self.bias_mask[:, :, : scores.size(-2), : scores.size(-1)]
        return self.output_linear((torch.softmax(scores, dim=-1) @ values).permute(0, 2, 1, 3).flatten(2))
"""

WORDS = """
import torch
import torch.nn as nn


class WordEmbedding(nn.Module):
    def __init__(self, words, width=64, pad="[PAD]"):
        super().__init__()
        if pad not in words:
            words = [pad, *words]
        self.places = {word: place for place, word in enumerate(words)}
        self.table = nn.Embedding(len(self.places), width, padding_idx=0)

    def forward(self, x):
        if isinstance(x, list) and isinstance(x[0], str):
            x = torch.tensor([self.places[word] for word in x])
        return self.table(x)
"""

SLOTS = """
class Encoder:
    __slots__ = ("_merges",)

    def __init__(self, merges: dict[tuple[int, int], int]) -> None:
        self._merges = merges

    def encode(self, text: str) -> list[int]:
        ids = list(text.encode("utf-8"))
        while len(ids) > 1:
            known = [pair for pair in zip(ids, ids[1:]) if pair in self._merges]
            if not known:
                break
            best = min(known, key=self._merges.get)
            joined, place = [], 0
            while place < len(ids):
                is_pair = tuple(ids[place : place + 2]) == best
                joined.append(self._merges[best] if is_pair else ids[place])
                place += 2 if is_pair else 1
            ids = joined
        return ids
"""

BY_NAME = """
import torch


def compute_loss(pred, target, method, delta=1.0):
    pred, target = torch.tensor(pred, dtype=torch.float32), torch.tensor(target)
    if method == "mse":
        loss = (pred - target) ** 2
    elif method == "cross_entropy":
        log_probs = pred - torch.logsumexp(pred, dim=-1, keepdim=True)
        loss = -log_probs[range(len(target)), target.long()]
    elif method == "huber":
        error = (pred - target).abs()
        loss = torch.where(error <= delta, 0.5 * error**2, delta * (error - 0.5 * delta))
    return loss.mean().item()
"""

PROGRAMS = (
    Program("MultiHeadAttention", "multi_head_attention", DEPTHS, (("** -0.5", "** 0.5"),)),
    Program("WordEmbedding", "embed", WORDS, (("return self.table(x)", "return self.table(x.flip(-1))"),)),
    Program("Encoder.encode", "bpe_encode", SLOTS, (("min(known, key=self._merges.get)", "known[0]"),)),
    Program("compute_loss", "cross_entropy", BY_NAME, (("loss = -log_probs", "loss = log_probs"),)),
)
