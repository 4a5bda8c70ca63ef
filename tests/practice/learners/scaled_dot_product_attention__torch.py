import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def right_annotated(query, key, value, mask=None, dropout=None):
    d_k = query.size(-1)
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    p_attn = scores.softmax(dim=-1)
    if dropout is not None:
        p_attn = dropout(p_attn)
    return torch.matmul(p_attn, value), p_attn


def right_library(q, k, v, attn_mask=None, is_causal=False):
    return (
        F.scaled_dot_product_attention(q, k, v, attn_mask, is_causal=is_causal)
        if attn_mask is None or not is_causal
        else F.scaled_dot_product_attention(q, k, v, attn_mask & torch.ones_like(attn_mask).tril())
    )


def right_as_documented(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    L, S = query.size(-2), key.size(-2)
    scale_factor = 1 / math.sqrt(query.size(-1)) if scale is None else scale
    attn_bias = torch.zeros(L, S, dtype=query.dtype)
    if is_causal:
        attn_bias.masked_fill_(torch.ones(L, S, dtype=torch.bool).tril(diagonal=0).logical_not(), float("-inf"))
    if attn_mask is not None:
        if attn_mask.dtype == torch.bool:
            attn_bias = attn_bias.masked_fill(attn_mask.logical_not(), float("-inf"))
        else:
            attn_bias = attn_mask + attn_bias
    attn_weight = query @ key.transpose(-2, -1) * scale_factor
    attn_weight += attn_bias
    attn_weight = torch.softmax(attn_weight, dim=-1)
    attn_weight = torch.dropout(attn_weight, dropout_p, train=True)
    return attn_weight @ value


def right_bmm(q, k, v):
    s = torch.bmm(q, k.transpose(1, 2)) / q.size(-1) ** 0.5
    return torch.bmm(F.softmax(s, dim=-1), v)


def right_einsum(q, k, v, mask=None):
    s = torch.einsum("bhid,bhjd->bhij", q, k) / math.sqrt(q.shape[-1])
    if mask is not None:
        s = s.masked_fill(~mask, torch.finfo(s.dtype).min)
    return torch.einsum("bhij,bhjd->bhid", s.softmax(-1), v)


def right_half(q, k, v):
    q, k, v = q.half(), k.half(), v.half()
    return F.softmax(q @ k.mT / q.size(-1) ** 0.5, dim=-1) @ v


class right_module(nn.Module):  # noqa: N801
    def __init__(self, temperature, attn_dropout=0.1):
        super().__init__()
        self.temperature = temperature
        self.dropout = nn.Dropout(attn_dropout)

    def forward(self, q, k, v, mask=None):
        attn = torch.matmul(q / self.temperature, k.transpose(2, 3))
        if mask is not None:
            attn = attn.masked_fill(mask == 0, -1e9)
        attn = self.dropout(F.softmax(attn, dim=-1))
        return torch.matmul(attn, v), attn


class right_module_without_sizes(nn.Module):  # noqa: N801
    def forward(self, Q, K, V, attn_mask=None):
        scores = Q @ K.transpose(-1, -2) / math.sqrt(Q.size(-1))
        if attn_mask is not None:
            scores.masked_fill_(attn_mask, -1e9)  # True is padding
        return nn.Softmax(dim=-1)(scores) @ V


def wrong_scale(q, k, v):
    return F.softmax(q @ k.transpose(-2, -1), dim=-1) @ v


def wrong_softmax_over_axis_one(q, k, v):
    s = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    return F.softmax(s, dim=1) @ v


def wrong_softmax_over_queries(q, k, v):
    s = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    return F.softmax(s, dim=-2) @ v


def wrong_heads_and_width_exchanged(q, k, v):
    s = q @ k.transpose(-1, -3) / math.sqrt(q.size(-1))
    return F.softmax(s, dim=-1) @ v


def wrong_mask_ignored(q, k, v, mask=None):
    s = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    if mask is not None:
        s.masked_fill(mask == 0, -1e9)
    return F.softmax(s, dim=-1) @ v


def wrong_mask_on_rows(q, k, v, mask=None):
    s = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    if mask is not None:
        s = s.masked_fill(mask.transpose(-1, -2) == 0, -1e9)
    return F.softmax(s, dim=-1) @ v


def wrong_diagonal_hidden(q, k, v, is_causal=False):
    s = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    if is_causal:
        s = s.masked_fill(torch.ones_like(s).triu().bool(), float("-inf"))
    return F.softmax(s, dim=-1) @ v


def wrong_sees_the_future_alone(q, k, v, is_causal=False):
    s = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    if is_causal:
        s = s.masked_fill(torch.ones_like(s).tril() == 1, float("-inf"))
    return F.softmax(s, dim=-1) @ v


def wrong_not_repeatable(q, k, v):
    w = F.dropout(F.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.size(-1)), dim=-1), 0.3)
    return w @ v


class wrong_dropout_in_eval(nn.Module):  # noqa: N801
    def __init__(self, dropout=0.1):
        super().__init__()
        self.p = dropout

    def forward(self, q, k, v):
        w = F.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.size(-1)), dim=-1)
        return F.dropout(w, self.p) @ v


def right_mask_as_flag(q, k, v, mask):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    if mask:
        visible = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
        scores = scores.masked_fill(~visible, float("-inf"))
    return scores.softmax(-1) @ v


def wrong_diagonal_hidden__mask_as_flag(q, k, v, mask=False):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    if mask:
        visible = torch.ones(scores.shape[-2:], dtype=torch.bool).tril(-1)
        scores = scores.masked_fill(~visible, float("-inf"))
    return scores.softmax(-1) @ v
