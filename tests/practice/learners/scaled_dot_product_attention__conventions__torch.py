"""Classes called attention with projections inside, and bare ones that read their width from the module."""

import torch
import torch.nn as nn

d_k = 64


class right_projections_inside(nn.Module):  # noqa: N801
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3))
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1).bool())

    def forward(self, x):
        length = x.shape[1]
        scores = self.W_query(x) @ self.W_key(x).transpose(1, 2)
        scores = scores.masked_fill(self.mask[:length, :length], -torch.inf)
        return self.dropout(torch.softmax(scores / self.W_key(x).shape[-1] ** 0.5, dim=-1)) @ self.W_value(x)


class wrong_scale__projections_inside(right_projections_inside):  # noqa: N801
    def forward(self, x):
        length = x.shape[1]
        scores = self.W_query(x) @ self.W_key(x).transpose(1, 2)
        return torch.softmax(scores.masked_fill(self.mask[:length, :length], -torch.inf), dim=-1) @ self.W_value(x)


class right_width_in_a_variable(nn.Module):  # noqa: N801
    def forward(self, Q, K, V, attn_mask):  # noqa: N803
        scores = (Q @ K.transpose(-1, -2) / d_k**0.5).masked_fill(attn_mask, -1e9)
        weights = scores.softmax(-1)
        return weights @ V, weights
