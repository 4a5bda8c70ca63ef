import mlx.core as mx
import mlx.nn as nn


class Head(nn.Module):
    def __init__(self, dims: int, head_dim: int):
        super().__init__()
        self.q_proj = nn.Linear(dims, head_dim, bias=False)
        self.k_proj = nn.Linear(dims, head_dim, bias=False)
        self.v_proj = nn.Linear(dims, head_dim, bias=False)

    def __call__(self, x):
        q, k, v = self.q_proj(x), self.k_proj(x), self.v_proj(x)
        return mx.softmax(q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5, axis=-1) @ v


class right_heads(nn.Module):
    def __init__(self, dims: int, num_heads: int):
        super().__init__()
        self.heads = [Head(dims, dims // num_heads) for _ in range(num_heads)]
        self.out_proj = nn.Linear(dims, dims, bias=False)

    def __call__(self, x):
        return self.out_proj(mx.concatenate([head(x) for head in self.heads], axis=-1))


class wrong_no_output_projection(nn.Module):
    def __init__(self, dims: int, num_heads: int):
        super().__init__()
        self.heads = [Head(dims, dims // num_heads) for _ in range(num_heads)]
        self.out_proj = nn.Linear(dims, dims, bias=False)

    def __call__(self, x):
        return mx.concatenate([head(x) for head in self.heads], axis=-1)
