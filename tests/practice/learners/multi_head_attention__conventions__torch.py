"""Conventions of modules: a norm and a residual inside, positions first, lists of projections, lazy layers, lengths, unusual names."""

import math

import torch
import torch.nn as nn


def attended(q, k, v, hide=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    return (scores if hide is None else scores.masked_fill(hide, -1e9)).softmax(-1) @ v


class Base(nn.Module):
    """Three projections in a list, and an output projection."""

    def __init__(self, model_dimension, number_of_heads, dropout_probability):
        super().__init__()
        self.heads = number_of_heads
        self.qkv_nets = nn.ModuleList([nn.Linear(model_dimension, model_dimension) for _ in range(3)])
        self.out_net = nn.Linear(model_dimension, model_dimension)
        self.drop = nn.Dropout(dropout_probability)

    def split(self, x):
        return x.view(*x.shape[:2], self.heads, -1).transpose(1, 2)

    def merge(self, x):
        return self.out_net(self.drop(x).transpose(1, 2).flatten(2))

    def forward(self, query, key, value, mask=None):
        q, k, v = (self.split(net(x)) for net, x in zip(self.qkv_nets, (query, key, value), strict=True))
        return self.merge(attended(q, k, v, None if mask is None else mask == 0))


class right_list_of_projections(Base):  # noqa: N801
    pass


class wrong_scale(Base):  # noqa: N801
    def forward(self, query, key, value, mask=None):
        q, k, v = (self.split(net(x)) for net, x in zip(self.qkv_nets, (query, key, value), strict=True))
        return self.merge(attended(q * q.shape[-1] ** 0.5, k, v, None if mask is None else mask == 0))


class right_residual_and_norm_inside(nn.Module):  # noqa: N801
    def __init__(self, n_head, d_model, d_k, d_v):
        super().__init__()
        self.sizes = n_head, d_k, d_v
        self.w_qs, self.w_ks = nn.Linear(d_model, n_head * d_k), nn.Linear(d_model, n_head * d_k)
        self.w_vs, self.fc = nn.Linear(d_model, n_head * d_v), nn.Linear(n_head * d_v, d_model)
        self.layer_norm = nn.LayerNorm(d_model, eps=1e-6)

    def heads(self, x, width):
        return x.view(*x.shape[:2], self.sizes[0], width).transpose(1, 2)

    def forward(self, q, k, v, mask=None):
        hide = None if mask is None else mask.unsqueeze(1) == 0
        parts = self.heads(self.w_qs(q), self.sizes[1]), self.heads(self.w_ks(k), self.sizes[1]), self.heads(self.w_vs(v), self.sizes[2])
        return self.layer_norm(self.fc(attended(*parts, hide).transpose(1, 2).flatten(2)) + q)


class wrong_softmax_over_queries(right_residual_and_norm_inside):  # noqa: N801
    def forward(self, q, k, v):
        parts = self.heads(self.w_qs(q), self.sizes[1]), self.heads(self.w_ks(k), self.sizes[1])
        weights = (parts[0] @ parts[1].transpose(-2, -1) / math.sqrt(self.sizes[1])).softmax(-2)
        out = (weights @ self.heads(self.w_vs(v), self.sizes[2])).transpose(1, 2).flatten(2)
        return self.layer_norm(self.fc(out) + q)


class right_norm_first(nn.Module):  # noqa: N801
    def __init__(self, dim, heads=8, dim_head=64):
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(dim)
        self.to_qkv = nn.Linear(dim, 3 * heads * dim_head, bias=False)
        self.to_out = nn.Linear(heads * dim_head, dim)

    def forward(self, x):
        q, k, v = (each.unflatten(-1, (self.heads, -1)).transpose(1, 2) for each in self.to_qkv(self.norm(x)).chunk(3, -1))
        return self.to_out(attended(q, k, v).transpose(1, 2).flatten(2))


class right_positions_first(nn.Module):  # noqa: N801
    def __init__(self, heads, d_model, bias=True):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(d_model, d_model, bias=bias) for _ in range(3))
        self.output = nn.Linear(d_model, d_model)

    def forward(self, *, query, key, value, mask=None):
        length, batch, width = query.shape
        q, k, v = (each.unflatten(-1, (self.heads, -1)) for each in (self.query(query), self.key(key), self.value(value)))
        scores = torch.einsum("ibhd,jbhd->ijbh", q, k) / math.sqrt(width // self.heads)
        if mask is not None:
            scores = scores.masked_fill(mask.unsqueeze(-1) == 0, float("-inf"))
        return self.output(torch.einsum("ijbh,jbhd->ibhd", scores.softmax(1), v).reshape(length, batch, width))


class right_lazy_with_lengths(nn.Module):  # noqa: N801
    def __init__(self, num_hiddens, num_heads, dropout, bias=False):
        super().__init__()
        self.num_heads, self.dropout = num_heads, nn.Dropout(dropout)
        self.W_q, self.W_k, self.W_v, self.W_o = (nn.LazyLinear(num_hiddens, bias=bias) for _ in range(4))

    def forward(self, queries, keys, values, valid_lens):
        q, k, v = (
            each.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for each in (self.W_q(queries), self.W_k(keys), self.W_v(values))
        )
        hide = None if valid_lens is None else (torch.arange(k.shape[2]) >= valid_lens[:, None])[:, None, None]
        return self.W_o(self.dropout(attended(q, k, v, hide)).transpose(1, 2).flatten(2))


class Settings:
    def __init__(self, d_model=64, n_heads=4, d_head=16, init_range=0.02):
        self.d_model, self.n_heads, self.d_head, self.init_range = d_model, n_heads, d_head, init_range


class right_weights_by_head(nn.Module):  # noqa: N801
    def __init__(self, cfg):
        super().__init__()
        shape = cfg.n_heads, cfg.d_model, cfg.d_head
        self.W_Q, self.W_K, self.W_V = (nn.Parameter(torch.randn(shape) * cfg.init_range) for _ in range(3))
        self.b_Q, self.b_K, self.b_V = (nn.Parameter(torch.zeros(cfg.n_heads, cfg.d_head)) for _ in range(3))
        self.W_O = nn.Parameter(torch.randn(cfg.n_heads, cfg.d_head, cfg.d_model) * cfg.init_range)
        self.b_O = nn.Parameter(torch.zeros(cfg.d_model))

    def forward(self, resid):
        q, k, v = (
            torch.einsum("bld,ndh->bnlh", resid, weight) + bias[:, None]
            for weight, bias in ((self.W_Q, self.b_Q), (self.W_K, self.b_K), (self.W_V, self.b_V))
        )
        return torch.einsum("bnlh,nhd->bld", attended(q, k, v), self.W_O) + self.b_O


class right_packed_with_heads_innermost(nn.Module):  # noqa: N801
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.to_qkv, self.out = heads, nn.Linear(dim, 3 * dim, bias=False), nn.Linear(dim, dim, bias=False)

    def forward(self, x):
        packed = self.to_qkv(x).unflatten(-1, (3, -1, self.heads))
        q, k, v = packed.permute(2, 0, 4, 1, 3)
        weights = (q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).flatten(2))


class right_packed_in_another_order_than_named(nn.Module):  # noqa: N801
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.to_qvk, self.out = heads, nn.Linear(dim, 3 * dim, bias=False), nn.Linear(dim, dim, bias=False)

    def forward(self, x):
        packed = self.to_qvk(x).unflatten(-1, (-1, 3, self.heads))
        q, k, v = packed.permute(3, 0, 4, 1, 2)
        weights = (q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).flatten(2))


class wrong_scale__packed_in_another_order_than_named(right_packed_in_another_order_than_named):  # noqa: N801
    def forward(self, x):
        packed = self.to_qvk(x).unflatten(-1, (-1, 3, self.heads))
        q, k, v = packed.permute(3, 0, 4, 1, 2)
        weights = (q @ k.transpose(-1, -2) / q.shape[-1]).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).flatten(2))


class right_heads_in_batch(nn.Module):  # noqa: N801
    def __init__(self, key_size, query_size, value_size, num_hiddens, num_heads, dropout, bias=False):
        super().__init__()
        self.num_heads, self.dropout = num_heads, nn.Dropout(dropout)
        self.W_q, self.W_k = nn.Linear(query_size, num_hiddens, bias=bias), nn.Linear(key_size, num_hiddens, bias=bias)
        self.W_v, self.W_o = nn.Linear(value_size, num_hiddens, bias=bias), nn.Linear(num_hiddens, num_hiddens, bias=bias)

    def split(self, x):
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2).flatten(0, 1)

    def forward(self, queries, keys, values, valid_lens):
        q, k, v = self.split(self.W_q(queries)), self.split(self.W_k(keys)), self.split(self.W_v(values))
        scores = torch.bmm(q, k.transpose(1, 2)) / q.shape[-1] ** 0.5
        if valid_lens is not None:
            lengths = valid_lens.repeat_interleave(self.num_heads)
            scores = scores.masked_fill(torch.arange(k.shape[1])[None, None] >= lengths[:, None, None], -1e6)
        answer = torch.bmm(self.dropout(scores.softmax(-1)), v)
        return self.W_o(answer.unflatten(0, (-1, self.num_heads)).transpose(1, 2).flatten(2))


class right_heads_first_with_a_mask_of_keys(nn.Module):  # noqa: N801
    def __init__(self, d_model, h, d_k, d_v):
        super().__init__()
        self.d_k = d_k
        self.query_transform = nn.Parameter(torch.randn(h, 1, d_model, d_k))
        self.key_transform = nn.Parameter(torch.randn(h, 1, d_model, d_k))
        self.value_transform = nn.Parameter(torch.randn(h, 1, d_model, d_v))
        self.output_transform = nn.Parameter(torch.randn(h * d_v, d_model))

    def forward(self, queries, keys, values, keys_mask):
        q, k, v = queries @ self.query_transform, keys @ self.key_transform, values @ self.value_transform
        scores = q @ k.transpose(-1, -2) / math.sqrt(self.d_k)
        heads = scores.masked_fill(~keys_mask[None, :, None, :], -math.inf).softmax(-1) @ v
        return heads.permute(1, 2, 0, 3).flatten(2) @ self.output_transform


class wrong_scale__heads_first(right_heads_first_with_a_mask_of_keys):  # noqa: N801
    def forward(self, queries, keys, values, keys_mask):
        q, k, v = queries @ self.query_transform, keys @ self.key_transform, values @ self.value_transform
        scores = q @ k.transpose(-1, -2) / math.sqrt(queries.shape[-1])
        heads = scores.masked_fill(~keys_mask[None, :, None, :], -math.inf).softmax(-1) @ v
        return heads.permute(1, 2, 0, 3).flatten(2) @ self.output_transform
