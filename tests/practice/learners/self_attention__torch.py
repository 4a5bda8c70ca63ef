import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class right_book_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x):
        keys = x @ self.W_key
        queries = x @ self.W_query
        values = x @ self.W_value
        attn_scores = queries @ keys.T
        attn_weights = torch.softmax(attn_scores / keys.shape[-1] ** 0.5, dim=-1)
        return attn_weights @ values


class right_book_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        keys = self.W_key(x)
        queries = self.W_query(x)
        values = self.W_value(x)
        attn_scores = queries @ keys.T
        attn_weights = torch.softmax(attn_scores / keys.shape[-1] ** 0.5, dim=-1)
        return attn_weights @ values


class right_interview(nn.Module):
    def __init__(self, hidden_dim):
        super().__init__()
        self.hidden_dim = hidden_dim
        self.query_proj = nn.Linear(hidden_dim, hidden_dim)
        self.key_proj = nn.Linear(hidden_dim, hidden_dim)
        self.value_proj = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, X):
        Q = self.query_proj(X)
        K = self.key_proj(X)
        V = self.value_proj(X)
        attention_weights = torch.softmax(torch.matmul(Q, K.transpose(-1, -2)) / math.sqrt(self.hidden_dim), dim=-1)
        return torch.matmul(attention_weights, V)


class right_interview__fused(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim
        self.proj = nn.Linear(dim, dim * 3)
        self.output_proj = nn.Linear(dim, dim)

    def forward(self, X):
        QKV = self.proj(X)
        Q, K, V = torch.split(QKV, self.dim, dim=-1)
        att_weight = torch.softmax(torch.matmul(Q, K.transpose(1, 2)) / math.sqrt(self.dim), dim=-1)
        return self.output_proj(att_weight @ V)


class right_interview__masked(nn.Module):
    def __init__(self, dim, dropout_rate=0.1):
        super().__init__()
        self.dim = dim
        self.query = nn.Linear(dim, dim)
        self.key = nn.Linear(dim, dim)
        self.value = nn.Linear(dim, dim)
        self.attention_dropout = nn.Dropout(dropout_rate)

    def forward(self, X, attention_mask=None):
        Q, K, V = self.query(X), self.key(X), self.value(X)
        att_weight = Q @ K.transpose(-1, -2) / math.sqrt(self.dim)
        if attention_mask is not None:
            att_weight = att_weight.masked_fill(attention_mask == 0, float("-1e20"))
        att_weight = self.attention_dropout(torch.softmax(att_weight, dim=-1))
        return att_weight @ V


class right_with_output(nn.Module):
    def __init__(self, embed_dim, attn_drop=0.1, resid_drop=0.1):
        super().__init__()
        self.q = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v = nn.Linear(embed_dim, embed_dim, bias=False)
        self.out = nn.Linear(embed_dim, embed_dim)
        self.drop, self.out_drop = nn.Dropout(attn_drop), nn.Dropout(resid_drop)

    def forward(self, x, mask=None):
        q, k, v = self.q(x), self.k(x), self.v(x)
        att = torch.bmm(q, k.transpose(1, 2)) / q.size(-1) ** 0.5
        if mask is not None:
            att = att.masked_fill(mask == 0, float("-inf"))
        return self.out_drop(self.out(torch.bmm(self.drop(att.softmax(-1)), v)))


class right_library_call(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.to_q, self.to_k, self.to_v = (nn.Linear(d_model, d_model, bias=False) for _ in range(3))

    def forward(self, x):
        return F.scaled_dot_product_attention(self.to_q(x), self.to_k(x), self.to_v(x))


class right_linears_without_names(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(d_model, d_model) for _ in range(3)])

    def forward(self, x):
        q, k, v = (layer(x) for layer in self.layers)
        return F.softmax(q @ k.mT / math.sqrt(q.size(-1)), dim=-1) @ v


class right_returns_both(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.W_Q = nn.Linear(d_model, d_k)
        self.W_K = nn.Linear(d_model, d_k)
        self.W_V = nn.Linear(d_model, d_v)
        self.d_k = d_k

    def forward(self, x):
        q, k, v = self.W_Q(x), self.W_K(x), self.W_V(x)
        weights = F.softmax(torch.einsum("bid,bjd->bij", q, k) / self.d_k**0.5, dim=-1)
        return torch.einsum("bij,bjd->bid", weights, v), weights


def right_adapter(Q, K, V, mask=None):
    scores = torch.einsum("...qd,...kd->...qk", Q, K) / math.sqrt(K.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.einsum("...qk,...kd->...qd", torch.softmax(scores, dim=-1), V)


class wrong_scale(nn.Module):
    def __init__(self, hidden_dim):
        super().__init__()
        self.query_proj = nn.Linear(hidden_dim, hidden_dim)
        self.key_proj = nn.Linear(hidden_dim, hidden_dim)
        self.value_proj = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x):
        q, k, v = self.query_proj(x), self.key_proj(x), self.value_proj(x)
        return torch.softmax(q @ k.transpose(-1, -2), dim=-1) @ v


class wrong_scale__sequence_length(nn.Module):
    def __init__(self, hidden_dim):
        super().__init__()
        self.query_proj = nn.Linear(hidden_dim, hidden_dim)
        self.key_proj = nn.Linear(hidden_dim, hidden_dim)
        self.value_proj = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x):
        q, k, v = self.query_proj(x), self.key_proj(x), self.value_proj(x)
        return torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(k.size(1)), dim=-1) @ v


class wrong_scale__width_of_the_input(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.d_in = d_in
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)

    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        return torch.softmax(q @ k.transpose(-1, -2) / self.d_in**0.5, dim=-1) @ v


class wrong_softmax_over_axis_one(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)

    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        return torch.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, dim=1) @ v


class wrong_softmax_missing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.qkv = nn.Linear(dim, 3 * dim)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        return q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5 @ v


class wrong_one_projection_for_all(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        q = k = v = self.proj(x)
        return torch.softmax(q @ k.transpose(-1, -2) / self.dim**0.5, dim=-1) @ v


class wrong_mask_ignored(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim
        self.query, self.key, self.value = (nn.Linear(dim, dim) for _ in range(3))

    def forward(self, x, attention_mask=None):
        weight = self.query(x) @ self.key(x).transpose(-1, -2) / math.sqrt(self.dim)
        if attention_mask is not None:
            weight.masked_fill(attention_mask == 0, float("-inf"))
        return torch.softmax(weight, dim=-1) @ self.value(x)


class wrong_hidden_score_is_large(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim
        self.query, self.key, self.value = (nn.Linear(dim, dim) for _ in range(3))

    def forward(self, x, attention_mask):
        weight = self.query(x) @ self.key(x).transpose(-1, -2) / math.sqrt(self.dim)
        weight = weight.masked_fill(attention_mask == 0, 1e9)
        return torch.softmax(weight, dim=-1) @ self.value(x)


class wrong_mask_after_softmax(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim
        self.query, self.key, self.value = (nn.Linear(dim, dim) for _ in range(3))

    def forward(self, x, attention_mask=None):
        weight = torch.softmax(self.query(x) @ self.key(x).transpose(-1, -2) / math.sqrt(self.dim), dim=-1)
        if attention_mask is not None:
            weight = weight.masked_fill(attention_mask == 0, 0.0)
        return weight @ self.value(x)


class wrong_dropout_in_eval(nn.Module):
    def __init__(self, dim, dropout=0.1):
        super().__init__()
        self.dim, self.dropout = dim, dropout
        self.query, self.key, self.value = (nn.Linear(dim, dim) for _ in range(3))

    def forward(self, x):
        weight = torch.softmax(self.query(x) @ self.key(x).transpose(-1, -2) / math.sqrt(self.dim), dim=-1)
        return F.dropout(weight, self.dropout) @ self.value(x)


class wrong_residual_added(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(dim, dim) for _ in range(4))

    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        return x + self.out(torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(q.size(-1)), dim=-1) @ v)


class wrong_no_output_projection(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(dim, dim) for _ in range(4))

    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        return torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(q.size(-1)), dim=-1) @ v


class wrong_layer_made_in_call(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        q, k, v = (nn.Linear(self.dim, self.dim)(x) for _ in range(3))
        return torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(self.dim), dim=-1) @ v


class right_mask_as_flag_passed_on(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def attend(self, q, k, v, mask):
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.size(-1))
        if mask:
            scores = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), float("-inf"))
        return scores.softmax(-1) @ v

    def forward(self, x, mask):
        q, k, v = (each.unflatten(-1, (self.heads, -1)).transpose(1, 2) for each in self.qkv(x).chunk(3, dim=-1))
        return self.out(self.attend(q, k, v, mask).transpose(1, 2).flatten(2))


class right_one_of_several_heads(nn.Module):  # noqa: N801
    def __init__(self, args):
        super().__init__()
        self.d_k = args.d_model // args.num_heads
        self.WQ, self.WK, self.WV = (nn.Linear(args.d_model, self.d_k) for _ in range(3))

    def forward(self, q, k, v):
        q, k, v = self.WQ(q), self.WK(k), self.WV(v)
        return F.softmax(q @ k.transpose(2, 1) / math.sqrt(self.d_k), dim=-1) @ v


class wrong_scale__one_of_several_heads(right_one_of_several_heads):  # noqa: N801
    def __init__(self, args):
        super().__init__(args)
        self.d_k = args.d_model
