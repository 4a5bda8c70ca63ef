import mlx.core as mx
import mlx.nn as nn


class right_module(nn.Module):
    def __init__(self, dims: int, num_heads: int):
        super().__init__()
        self.num_heads = num_heads
        self.scale = (dims // num_heads) ** -0.5
        self.q_proj = nn.Linear(dims, dims, bias=False)
        self.k_proj = nn.Linear(dims, dims, bias=False)
        self.v_proj = nn.Linear(dims, dims, bias=False)
        self.o_proj = nn.Linear(dims, dims, bias=False)

    def __call__(self, x):
        B, L, D = x.shape
        q, k, v = (p(x).reshape(B, L, self.num_heads, -1).transpose(0, 2, 1, 3) for p in (self.q_proj, self.k_proj, self.v_proj))
        scores = q @ k.swapaxes(-1, -2) * self.scale + nn.MultiHeadAttention.create_additive_causal_mask(L)
        return self.o_proj((mx.softmax(scores, axis=-1) @ v).transpose(0, 2, 1, 3).reshape(B, L, D))


def right_projected(query, key, value):
    L = query.shape[-2]
    mask = mx.where(mx.tril(mx.ones((L, L))) == 1, 0.0, -mx.inf)
    return mx.softmax(query @ key.swapaxes(-1, -2) * query.shape[-1] ** -0.5 + mask, axis=-1) @ value


def wrong_diagonal_hidden(query, key, value):
    L = query.shape[-2]
    mask = mx.where(mx.tril(mx.ones((L, L)), k=-1) == 1, 0.0, -1e9)
    return mx.softmax(query @ key.swapaxes(-1, -2) * query.shape[-1] ** -0.5 + mask, axis=-1) @ value


class right_by_the_caller(nn.Module):
    def __init__(self, dims: int, num_heads: int):
        super().__init__()
        self.num_heads, self.scale = num_heads, (dims // num_heads) ** -0.5
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (nn.Linear(dims, dims) for _ in range(4))

    def __call__(self, x, mask=None):
        B, L, D = x.shape
        q, k, v = (p(x).reshape(B, L, self.num_heads, -1).transpose(0, 2, 1, 3) for p in (self.q_proj, self.k_proj, self.v_proj))
        y = mx.fast.scaled_dot_product_attention(q, k, v, scale=self.scale, mask=mask)
        return self.o_proj(y.transpose(0, 2, 1, 3).reshape(B, L, D))


class wrong_causal_ignored__padding(right_by_the_caller):
    def __call__(self, x, mask=None):
        B, L, D = x.shape
        q, k, v = (p(x).reshape(B, L, self.num_heads, -1).transpose(0, 2, 1, 3) for p in (self.q_proj, self.k_proj, self.v_proj))
        scores = q @ k.swapaxes(-1, -2) * self.scale
        if mask is not None:
            scores = mx.where(mask, scores, -mx.inf)
        return self.o_proj((mx.softmax(scores, axis=-1) @ v).transpose(0, 2, 1, 3).reshape(B, L, D))
