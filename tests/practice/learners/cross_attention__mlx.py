import mlx.core as mx
import mlx.nn as nn


class right_module(nn.Module):
    def __init__(self, dims: int, num_heads: int):
        super().__init__()
        self.num_heads = num_heads
        self.query_proj = nn.Linear(dims, dims, bias=False)
        self.key_proj = nn.Linear(dims, dims, bias=False)
        self.value_proj = nn.Linear(dims, dims, bias=False)
        self.out_proj = nn.Linear(dims, dims, bias=False)

    def __call__(self, x, memory):
        B, L, D = x.shape
        q, k, v = self.query_proj(x), self.key_proj(memory), self.value_proj(memory)
        q, k, v = (t.reshape(B, -1, self.num_heads, D // self.num_heads).transpose(0, 2, 1, 3) for t in (q, k, v))
        out = mx.softmax(q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5, axis=-1) @ v
        return self.out_proj(out.transpose(0, 2, 1, 3).reshape(B, L, D))


def right_functions(x, memory, wq, wk, wv):
    q, k, v = x @ wq, memory @ wk, memory @ wv
    return mx.softmax(q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5, axis=-1) @ v


def wrong_context_not_used(x, memory, wq, wk, wv):
    q, k, v = x @ wq, x @ wk, x @ wv
    return mx.softmax(q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5, axis=-1) @ v
