import mlx.core as mx
import mlx.nn as nn


def right_matmul(x, wq, wk, wv):
    return mx.matmul(x, wq), mx.matmul(x, wk), mx.matmul(x, wv)


class right_module(nn.Module):
    def __init__(self, dims: int, bias: bool = False):
        super().__init__()
        self.q_proj = nn.Linear(dims, dims, bias=bias)
        self.k_proj = nn.Linear(dims, dims, bias=bias)
        self.v_proj = nn.Linear(dims, dims, bias=bias)

    def __call__(self, x):
        return self.q_proj(x), self.k_proj(x), self.v_proj(x)


def wrong_value_not_projected(x, wq, wk, wv):
    return x @ wq, x @ wk, x
