import torch
import torch.nn as nn


def right_functions(x, w_q, w_k, w_v):
    return torch.matmul(x, w_q), torch.matmul(x, w_k), torch.matmul(x, w_v)


def right_linear(x, q_weight, k_weight, v_weight, q_bias=None, k_bias=None, v_bias=None):
    linear = nn.functional.linear
    return linear(x, q_weight, q_bias), linear(x, k_weight, k_bias), linear(x, v_weight, v_bias)


class right_layers(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        return self.W_query(x), self.W_key(x), self.W_value(x)


class right_parameters(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.query = nn.Parameter(torch.rand(d_in, d_out))
        self.key = nn.Parameter(torch.rand(d_in, d_out))
        self.value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, inputs):
        return inputs @ self.query, inputs @ self.key, inputs @ self.value


class right_fused(nn.Module):
    def __init__(self, n_embd):
        super().__init__()
        self.n_embd = n_embd
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)

    def forward(self, x):
        return self.c_attn(x).split(self.n_embd, dim=-1)


class wrong_value_from_the_key_projection(nn.Module):
    def __init__(self, hidden_dim):
        super().__init__()
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x):
        return self.q(x), self.k(x), self.k(x)


class wrong_one_projection_for_all(nn.Module):
    def __init__(self, hidden_dim):
        super().__init__()
        self.proj = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x):
        return self.proj(x), self.proj(x), self.proj(x)


def wrong_query_and_key_weights_exchanged(x, w_q, w_k, w_v):
    return x @ w_k, x @ w_q, x @ w_v
