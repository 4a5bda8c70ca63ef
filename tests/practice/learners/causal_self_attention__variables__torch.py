"""Sizes in variables of the module, as in a script that trains a small model."""

import torch
import torch.nn as nn
from torch.nn import functional as F

n_embd = 96
n_head = 4
block_size = 64
dropout = 0.1


class right_one_head(nn.Module):  # noqa: N801
    def __init__(self, head_size):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))
        self.dropout = nn.Dropout(dropout)

    def scores(self, x):
        return self.query(x) @ self.key(x).transpose(-2, -1) * self.key(x).shape[-1] ** -0.5

    def forward(self, x):
        length = x.shape[1]
        weights = self.scores(x).masked_fill(self.tril[:length, :length] == 0, float("-inf"))
        return self.dropout(F.softmax(weights, dim=-1)) @ self.value(x)


class wrong_scale(right_one_head):  # noqa: N801
    def scores(self, x):
        return self.query(x) @ self.key(x).transpose(-2, -1)


class right_all_heads(nn.Module):  # noqa: N801
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(n_embd, 3 * n_embd)
        self.proj = nn.Linear(n_embd, n_embd)

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = (each.view(batch, length, n_head, -1).transpose(1, 2) for each in self.qkv(x).split(n_embd, -1))
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.proj(out.transpose(1, 2).reshape(batch, length, n_embd))


class wrong_heads_viewed_not_merged(right_all_heads):  # noqa: N801
    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = (each.view(batch, length, n_head, -1).transpose(1, 2) for each in self.qkv(x).split(n_embd, -1))
        return self.proj(F.scaled_dot_product_attention(q, k, v, is_causal=True).reshape(batch, length, n_embd))
