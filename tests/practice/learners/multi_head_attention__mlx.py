import math

import mlx.core as mx
import mlx.nn as nn


def linear(x, w, bias=None):
    return x @ w.T if bias is None else x @ w.T + bias


def attention(query, key, value, scale=None, mask=None):
    scores = query @ key.swapaxes(-2, -1) * (query.shape[-1] ** -0.5 if scale is None else scale)
    if mask is not None:
        scores = scores + mask
    return mx.softmax(scores, axis=-1) @ value


class right_simple:  # noqa: N801
    def __init__(self, hidden_size: int, num_heads: int, wq: mx.array, wk: mx.array, wv: mx.array, wo: mx.array):
        self.hidden_size = hidden_size
        self.num_heads = num_heads
        assert hidden_size % num_heads == 0
        self.head_dim = hidden_size // num_heads
        self.scale = mx.rsqrt(self.head_dim)
        assert wq.shape == (hidden_size, num_heads * self.head_dim)
        self.wq, self.wk, self.wv, self.wo = wq, wk, wv, wo

    def __call__(self, query, key, value, mask=None):
        N, L, _ = query.shape
        assert query.shape == key.shape == value.shape
        q, k, v = (
            linear(x, w).reshape(N, L, self.num_heads, self.head_dim).transpose(0, 2, 1, 3)
            for x, w in ((query, self.wq), (key, self.wk), (value, self.wv))
        )
        x = attention(q, k, v, scale=self.scale, mask=mask)
        x = x.transpose(0, 2, 1, 3).reshape(N, L, self.hidden_size)
        return linear(x, self.wo)


class right_module(nn.Module):  # noqa: N801
    def __init__(self, dims: int, num_heads: int, bias: bool = False):
        super().__init__()
        self.num_heads = num_heads
        self.query_proj = nn.Linear(dims, dims, bias=bias)
        self.key_proj = nn.Linear(dims, dims, bias=bias)
        self.value_proj = nn.Linear(dims, dims, bias=bias)
        self.out_proj = nn.Linear(dims, dims, bias=bias)

    def __call__(self, queries, keys, values, mask=None):
        queries, keys, values = self.query_proj(queries), self.key_proj(keys), self.value_proj(values)
        B, L, _ = queries.shape
        _, S, _ = keys.shape
        queries = queries.reshape(B, L, self.num_heads, -1).transpose(0, 2, 1, 3)
        keys = keys.reshape(B, S, self.num_heads, -1).transpose(0, 2, 3, 1)
        values = values.reshape(B, S, self.num_heads, -1).transpose(0, 2, 1, 3)
        scores = math.sqrt(1 / queries.shape[-1]) * queries @ keys
        if mask is not None:
            scores = scores + mask
        return self.out_proj((mx.softmax(scores, axis=-1) @ values).transpose(0, 2, 1, 3).reshape(B, L, -1))


class wrong_no_output_projection(right_simple):  # noqa: N801
    def __call__(self, query, key, value, mask=None):
        N, L, _ = query.shape
        q, k, v = (
            linear(x, w).reshape(N, L, self.num_heads, self.head_dim).transpose(0, 2, 1, 3)
            for x, w in ((query, self.wq), (key, self.wk), (value, self.wv))
        )
        return attention(q, k, v, mask=mask).transpose(0, 2, 1, 3).reshape(N, L, self.hidden_size)


class wrong_scale(right_simple):  # noqa: N801
    def __call__(self, query, key, value, mask=None):
        N, L, _ = query.shape
        q, k, v = (
            linear(x, w).reshape(N, L, self.num_heads, self.head_dim).transpose(0, 2, 1, 3)
            for x, w in ((query, self.wq), (key, self.wk), (value, self.wv))
        )
        x = attention(q, k, v, scale=mx.rsqrt(self.hidden_size), mask=mask)
        return linear(x.transpose(0, 2, 1, 3).reshape(N, L, self.hidden_size), self.wo)


class wrong_heads_viewed_not_split(right_simple):  # noqa: N801
    def __call__(self, query, key, value, mask=None):
        N, L, _ = query.shape
        q, k, v = (
            linear(x, w).reshape(N, self.num_heads, L, self.head_dim) for x, w in ((query, self.wq), (key, self.wk), (value, self.wv))
        )
        x = attention(q, k, v, scale=self.scale, mask=mask)
        return linear(x.transpose(0, 2, 1, 3).reshape(N, L, self.hidden_size), self.wo)


class wrong_value_from_the_key_projection(right_simple):  # noqa: N801
    def __call__(self, query, key, value, mask=None):
        N, L, _ = query.shape
        q, k, v = (
            linear(x, w).reshape(N, L, self.num_heads, self.head_dim).transpose(0, 2, 1, 3)
            for x, w in ((query, self.wq), (key, self.wk), (value, self.wk))
        )
        x = attention(q, k, v, scale=self.scale, mask=mask)
        return linear(x.transpose(0, 2, 1, 3).reshape(N, L, self.hidden_size), self.wo)
