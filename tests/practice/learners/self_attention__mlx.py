import mlx.core as mx
import mlx.nn as nn


def right_simple(query: mx.array, key: mx.array, value: mx.array, scale: float | None = None, mask: mx.array | None = None) -> mx.array:
    factor = mx.rsqrt(query.shape[-1]) if scale is None else scale
    scores = mx.matmul(query, key.swapaxes(-2, -1)) * factor
    if mask is not None:
        scores = scores + mask
    return mx.matmul(mx.softmax(scores, axis=-1), value)


class right_module(nn.Module):
    def __init__(self, dims: int):
        super().__init__()
        self.q_proj = nn.Linear(dims, dims, bias=False)
        self.k_proj = nn.Linear(dims, dims, bias=False)
        self.v_proj = nn.Linear(dims, dims, bias=False)

    def __call__(self, x):
        q, k, v = self.q_proj(x), self.k_proj(x), self.v_proj(x)
        return mx.softmax(q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5, axis=-1) @ v


def wrong_scale(query, key, value, scale=None, mask=None):
    scores = mx.matmul(query, key.swapaxes(-2, -1)) * (1.0 if scale is None else scale)
    if mask is not None:
        scores = scores + mask
    return mx.matmul(mx.softmax(scores, axis=-1), value)


class wrong_value_not_projected(nn.Module):
    def __init__(self, dims: int):
        super().__init__()
        self.q_proj = nn.Linear(dims, dims, bias=False)
        self.k_proj = nn.Linear(dims, dims, bias=False)
        self.v_proj = nn.Linear(dims, dims, bias=False)

    def __call__(self, x):
        q, k = self.q_proj(x), self.k_proj(x)
        return mx.softmax(q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5, axis=-1) @ x
