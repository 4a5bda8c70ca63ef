# ruff: noqa: N801
import math

import mlx.core as mx
import mlx.nn as nn


class right_library_attention(nn.Module):
    def __init__(self, dims, num_heads, mlp_dims=None):
        super().__init__()
        mlp_dims = mlp_dims or dims * 4
        self.attention = nn.MultiHeadAttention(dims, num_heads)
        self.ln1 = nn.LayerNorm(dims)
        self.ln2 = nn.LayerNorm(dims)
        self.linear1 = nn.Linear(dims, mlp_dims)
        self.linear2 = nn.Linear(mlp_dims, dims)

    def __call__(self, x, mask):
        y = self.ln1(x)
        x = x + self.attention(y, y, y, mask)
        y = self.ln2(x)
        return x + self.linear2(nn.relu(self.linear1(y)))


class right_library(nn.Module):
    def __init__(self, dims, num_heads, mlp_dims):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(dims, num_heads, mlp_dims, dropout=0.0, norm_first=False)

    def __call__(self, x, mask=None):
        return self.layer(x, mask)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads, self.head_dim = num_heads, d_model // num_heads
        self.q_proj, self.k_proj = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.v_proj, self.out_proj = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)

    def heads(self, x):
        return x.reshape(*x.shape[:-1], self.num_heads, self.head_dim).transpose(0, 2, 1, 3)

    def __call__(self, q, k, v, mask=None):
        q, k, v = self.heads(self.q_proj(q)), self.heads(self.k_proj(k)), self.heads(self.v_proj(v))
        scores = q @ k.transpose(0, 1, 3, 2) / math.sqrt(self.head_dim)
        if mask is not None:
            scores = mx.where(mask, scores, -1e9)
        out = (mx.softmax(scores, axis=-1) @ v).transpose(0, 2, 1, 3)
        return self.out_proj(out.reshape(*out.shape[:2], -1))


class right_encoder_layer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, num_heads)
        self.ffn = nn.Sequential(nn.Linear(d_model, d_ff), nn.GELU(), nn.Linear(d_ff, d_model))
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def __call__(self, x, mask=None):
        x = self.norm1(x + self.dropout(self.self_attn(x, x, x, mask)))
        return self.norm2(x + self.dropout(self.ffn(x)))


class right_parts_handed_over(nn.Module):
    def __init__(self, size, self_attn, feed_forward, dropout):
        super().__init__()
        self.self_attn, self.feed_forward = self_attn, feed_forward
        self.norms = [nn.LayerNorm(size), nn.LayerNorm(size)]
        self.dropout = nn.Dropout(dropout)

    def __call__(self, x, mask):
        y = self.norms[0](x)
        x = x + self.dropout(self.self_attn(y, y, y, mask))
        return x + self.dropout(self.feed_forward(self.norms[1](x)))


class wrong_residual_1_missing(right_encoder_layer):
    def __call__(self, x, mask=None):
        x = self.norm1(self.self_attn(x, x, x, mask))
        return self.norm2(x + self.ffn(x))


class wrong_parts_normalised_afterwards(right_encoder_layer):
    def __call__(self, x, mask=None):
        x = x + self.norm1(self.self_attn(x, x, x, mask))
        return x + self.norm2(self.ffn(x))


class wrong_norm_shared(right_parts_handed_over):
    def __call__(self, x, mask):
        y = self.norms[0](x)
        x = x + self.self_attn(y, y, y, mask)
        return x + self.feed_forward(self.norms[0](x))


class wrong_mask_ignored(right_library_attention):
    def __call__(self, x, mask):
        y = self.ln1(x)
        x = x + self.attention(y, y, y)
        return x + self.linear2(nn.relu(self.linear1(self.ln2(x))))
