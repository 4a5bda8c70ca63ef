import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class right_book(nn.Module):
    def __init__(self, d_in, d_out_kq, d_out_v):
        super().__init__()
        self.d_out_kq = d_out_kq
        self.W_query = nn.Parameter(torch.rand(d_in, d_out_kq))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out_kq))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out_v))

    def forward(self, x_1, x_2):
        queries_1 = x_1 @ self.W_query
        keys_2 = x_2 @ self.W_key
        values_2 = x_2 @ self.W_value
        attn_weights = torch.softmax(queries_1 @ keys_2.T / self.d_out_kq**0.5, dim=-1)
        return attn_weights @ values_2


class right_interview(nn.Module):
    def __init__(self, hidden_dim, num_heads, dropout=0.1):
        super().__init__()
        self.num_heads, self.head_dim = num_heads, hidden_dim // num_heads
        self.q_proj = nn.Linear(hidden_dim, hidden_dim)
        self.k_proj = nn.Linear(hidden_dim, hidden_dim)
        self.v_proj = nn.Linear(hidden_dim, hidden_dim)
        self.out_proj = nn.Linear(hidden_dim, hidden_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, encoder_output, attention_mask=None):
        b, n, _ = x.shape
        m = encoder_output.size(1)
        q = self.q_proj(x).view(b, n, self.num_heads, self.head_dim).transpose(1, 2)
        k = self.k_proj(encoder_output).view(b, m, self.num_heads, self.head_dim).transpose(1, 2)
        v = self.v_proj(encoder_output).view(b, m, self.num_heads, self.head_dim).transpose(1, 2)
        scores = q @ k.transpose(-1, -2) / math.sqrt(self.head_dim)
        if attention_mask is not None:
            scores = scores.masked_fill(attention_mask[:, None, None, :] == 0, float("-inf"))
        out = self.dropout(torch.softmax(scores, dim=-1)) @ v
        return self.out_proj(out.transpose(1, 2).contiguous().view(b, n, -1))


class right_interview__one_head(nn.Module):
    def __init__(self, hidden_dim):
        super().__init__()
        self.query = nn.Linear(hidden_dim, hidden_dim)
        self.key = nn.Linear(hidden_dim, hidden_dim)
        self.value = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, query, context):
        q, k, v = self.query(query), self.key(context), self.value(context)
        return F.softmax(torch.bmm(q, k.transpose(1, 2)) / q.size(-1) ** 0.5, dim=-1).bmm(v)


class right_diffusion(nn.Module):
    def __init__(self, n_heads, d_embed, d_cross, in_proj_bias=True, out_proj_bias=True):
        super().__init__()
        self.q_proj = nn.Linear(d_embed, d_embed, bias=in_proj_bias)
        self.k_proj = nn.Linear(d_cross, d_embed, bias=in_proj_bias)
        self.v_proj = nn.Linear(d_cross, d_embed, bias=in_proj_bias)
        self.out_proj = nn.Linear(d_embed, d_embed, bias=out_proj_bias)
        self.n_heads, self.d_head = n_heads, d_embed // n_heads

    def forward(self, x, y):
        batch_size, n, d = x.shape
        shape = (batch_size, -1, self.n_heads, self.d_head)
        q, k, v = (t.view(shape).transpose(1, 2) for t in (self.q_proj(x), self.k_proj(y), self.v_proj(y)))
        weight = F.softmax(q @ k.transpose(-1, -2) / math.sqrt(self.d_head), dim=-1)
        return self.out_proj((weight @ v).transpose(1, 2).contiguous().view(x.shape))


class right_fused_keys_and_values(nn.Module):
    def __init__(self, dim, context_dim, heads=8):
        super().__init__()
        self.heads = heads
        self.to_q = nn.Linear(dim, dim, bias=False)
        self.to_kv = nn.Linear(context_dim, dim * 2, bias=False)
        self.to_out = nn.Linear(dim, dim)

    def forward(self, x, context):
        q, (k, v) = self.to_q(x), self.to_kv(context).chunk(2, dim=-1)
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in (q, k, v))
        return self.to_out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


class right_annotated(nn.Module):
    def __init__(self, h, d_model, dropout=0.1):
        super().__init__()
        self.d_k, self.h = d_model // h, h
        self.linears = nn.ModuleList([nn.Linear(d_model, d_model) for _ in range(4)])
        self.dropout = nn.Dropout(p=dropout)

    def forward(self, query, key, value, mask=None):
        if mask is not None:
            mask = mask.unsqueeze(1)
        n = query.size(0)
        query, key, value = [f(x).view(n, -1, self.h, self.d_k).transpose(1, 2) for f, x in zip(self.linears, (query, key, value))]
        scores = query @ key.transpose(-2, -1) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        x = (self.dropout(scores.softmax(dim=-1)) @ value).transpose(1, 2).contiguous().view(n, -1, self.h * self.d_k)
        return self.linears[-1](x)


class Base(nn.Module):
    def __init__(self, hidden_dim, num_heads):
        super().__init__()
        self.num_heads, self.head_dim = num_heads, hidden_dim // num_heads
        self.q_proj = nn.Linear(hidden_dim, hidden_dim)
        self.k_proj = nn.Linear(hidden_dim, hidden_dim)
        self.v_proj = nn.Linear(hidden_dim, hidden_dim)
        self.out_proj = nn.Linear(hidden_dim, hidden_dim)

    def split(self, x):
        return x.view(x.size(0), -1, self.num_heads, self.head_dim).transpose(1, 2)

    def merge(self, x):
        return self.out_proj(x.transpose(1, 2).reshape(x.size(0), x.size(2), -1))


class wrong_sequences_exchanged(Base):
    def forward(self, x, encoder_output):
        q, k, v = self.split(self.q_proj(encoder_output)), self.split(self.k_proj(x)), self.split(self.v_proj(x))
        return self.merge(F.scaled_dot_product_attention(q, k, v))


class wrong_context_not_used(Base):
    def forward(self, x, encoder_output):
        q, k, v = self.split(self.q_proj(x)), self.split(self.k_proj(x)), self.split(self.v_proj(x))
        return self.merge(F.scaled_dot_product_attention(q, k, v))


class wrong_values_from_the_query(Base):
    def forward(self, x, encoder_output):
        q, k, v = self.split(self.q_proj(x)), self.split(self.k_proj(encoder_output)), self.split(self.v_proj(x))
        return self.merge(torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(self.head_dim), -1) @ v)


class wrong_scale(Base):
    def forward(self, x, encoder_output):
        q, k, v = self.split(self.q_proj(x)), self.split(self.k_proj(encoder_output)), self.split(self.v_proj(encoder_output))
        return self.merge(torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(x.size(-1)), -1) @ v)


class wrong_mask_ignored(Base):
    def forward(self, x, encoder_output, src_mask=None):
        q, k, v = self.split(self.q_proj(x)), self.split(self.k_proj(encoder_output)), self.split(self.v_proj(encoder_output))
        return self.merge(F.scaled_dot_product_attention(q, k, v))


class wrong_no_output_projection(Base):
    def forward(self, x, encoder_output):
        q, k, v = self.split(self.q_proj(x)), self.split(self.k_proj(encoder_output)), self.split(self.v_proj(encoder_output))
        return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)


class wrong_value_from_the_key_projection(Base):
    def forward(self, x, encoder_output):
        q, k, v = self.split(self.q_proj(x)), self.split(self.k_proj(encoder_output)), self.split(self.k_proj(encoder_output))
        return self.merge(F.scaled_dot_product_attention(q, k, v))


class right_widths_of_both_sequences(nn.Module):
    def __init__(self, d_query, d_context, d_model, num_heads):
        super().__init__()
        self.num_heads, self.d_k = num_heads, d_model // num_heads
        self.W_q = nn.Linear(d_query, d_model, bias=False)
        self.W_k, self.W_v = nn.Linear(d_context, d_model, bias=False), nn.Linear(d_context, d_model, bias=False)
        self.W_o = nn.Linear(d_model, d_query, bias=False)

    def scores(self, q, k):
        return q @ k.transpose(-2, -1) / self.d_k**0.5

    def forward(self, query, context, mask=None):
        q, k, v = (
            each.view(*each.shape[:2], self.num_heads, self.d_k).transpose(1, 2)
            for each in (self.W_q(query), self.W_k(context), self.W_v(context))
        )
        scores = self.scores(q, k)
        if mask is not None:
            scores = scores.masked_fill(mask.unsqueeze(1), float("-inf"))
        weights = F.softmax(scores, dim=-1)
        return self.W_o((weights @ v).transpose(1, 2).flatten(2)), weights


class wrong_scale__widths_of_both_sequences(right_widths_of_both_sequences):
    def scores(self, q, k):
        return q @ k.transpose(-2, -1)
