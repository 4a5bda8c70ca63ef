import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def repeat_kv(x, n_rep):
    bs, slen, n_kv_heads, head_dim = x.shape
    if n_rep == 1:
        return x
    return x[:, :, :, None, :].expand(bs, slen, n_kv_heads, n_rep, head_dim).reshape(bs, slen, n_kv_heads * n_rep, head_dim)


class right_llama(nn.Module):
    def __init__(self, dim, n_heads, n_kv_heads):
        super().__init__()
        self.n_heads = n_heads
        self.n_kv_heads = n_kv_heads
        self.n_rep = n_heads // n_kv_heads
        self.head_dim = dim // n_heads
        self.wq = nn.Linear(dim, n_heads * self.head_dim, bias=False)
        self.wk = nn.Linear(dim, n_kv_heads * self.head_dim, bias=False)
        self.wv = nn.Linear(dim, n_kv_heads * self.head_dim, bias=False)
        self.wo = nn.Linear(n_heads * self.head_dim, dim, bias=False)

    def forward(self, x, mask=None):
        bsz, seqlen, _ = x.shape
        xq, xk, xv = self.wq(x), self.wk(x), self.wv(x)
        xq = xq.view(bsz, seqlen, self.n_heads, self.head_dim)
        xk = xk.view(bsz, seqlen, self.n_kv_heads, self.head_dim)
        xv = xv.view(bsz, seqlen, self.n_kv_heads, self.head_dim)
        keys, values = repeat_kv(xk, self.n_rep), repeat_kv(xv, self.n_rep)
        xq, keys, values = xq.transpose(1, 2), keys.transpose(1, 2), values.transpose(1, 2)
        scores = torch.matmul(xq, keys.transpose(2, 3)) / math.sqrt(self.head_dim)
        if mask is not None:
            scores = scores + mask
        scores = F.softmax(scores.float(), dim=-1).type_as(xq)
        output = torch.matmul(scores, values).transpose(1, 2).contiguous().view(bsz, seqlen, -1)
        return self.wo(output)


class right_llama__args(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.n_kv_heads = args.n_heads if args.n_kv_heads is None else args.n_kv_heads
        self.n_heads = args.n_heads
        self.n_rep = self.n_heads // self.n_kv_heads
        self.head_dim = args.dim // args.n_heads
        self.wq = nn.Linear(args.dim, args.n_heads * self.head_dim, bias=False)
        self.wk = nn.Linear(args.dim, self.n_kv_heads * self.head_dim, bias=False)
        self.wv = nn.Linear(args.dim, self.n_kv_heads * self.head_dim, bias=False)
        self.wo = nn.Linear(args.n_heads * self.head_dim, args.dim, bias=False)

    def forward(self, x):
        bsz, seqlen, _ = x.shape
        xq = self.wq(x).view(bsz, seqlen, self.n_heads, self.head_dim).transpose(1, 2)
        xk = repeat_kv(self.wk(x).view(bsz, seqlen, self.n_kv_heads, self.head_dim), self.n_rep).transpose(1, 2)
        xv = repeat_kv(self.wv(x).view(bsz, seqlen, self.n_kv_heads, self.head_dim), self.n_rep).transpose(1, 2)
        out = F.scaled_dot_product_attention(xq, xk, xv, is_causal=True)
        return self.wo(out.transpose(1, 2).reshape(bsz, seqlen, -1))


class right_interview(nn.Module):
    def __init__(self, hidden_dim, nums_head, nums_key_value_head):
        super().__init__()
        assert hidden_dim % nums_head == 0
        assert nums_head % nums_key_value_head == 0
        self.hidden_dim = hidden_dim
        self.nums_head = nums_head
        self.nums_key_value_head = nums_key_value_head
        self.head_dim = hidden_dim // nums_head
        self.q_proj = nn.Linear(hidden_dim, nums_head * self.head_dim)
        self.k_proj = nn.Linear(hidden_dim, nums_key_value_head * self.head_dim)
        self.v_proj = nn.Linear(hidden_dim, nums_key_value_head * self.head_dim)
        self.o_proj = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, X, attention_mask=None):
        batch_size, seq, _ = X.size()
        q = self.q_proj(X).view(batch_size, seq, self.nums_head, self.head_dim).transpose(1, 2)
        k = self.k_proj(X).view(batch_size, seq, self.nums_key_value_head, self.head_dim).transpose(1, 2)
        v = self.v_proj(X).view(batch_size, seq, self.nums_key_value_head, self.head_dim).transpose(1, 2)
        k = k.repeat_interleave(self.nums_head // self.nums_key_value_head, dim=1)
        v = v.repeat_interleave(self.nums_head // self.nums_key_value_head, dim=1)
        attention_score = (q @ k.transpose(2, 3)) / math.sqrt(self.head_dim)
        if attention_mask is not None:
            attention_score = attention_score.masked_fill(attention_mask == 0, float("-inf"))
        attention_weight = torch.softmax(attention_score, dim=-1)
        output = (attention_weight @ v).transpose(1, 2).contiguous()
        return self.o_proj(output.view(batch_size, seq, -1))


class right_book(nn.Module):
    def __init__(self, d_in, d_out, context_length, num_heads, num_kv_groups, dtype=None):
        super().__init__()
        self.d_out, self.num_heads, self.head_dim = d_out, num_heads, d_out // num_heads
        self.num_kv_groups, self.group_size = num_kv_groups, num_heads // num_kv_groups
        self.W_key = nn.Linear(d_in, num_kv_groups * self.head_dim, bias=False, dtype=dtype)
        self.W_value = nn.Linear(d_in, num_kv_groups * self.head_dim, bias=False, dtype=dtype)
        self.W_query = nn.Linear(d_in, d_out, bias=False, dtype=dtype)
        self.out_proj = nn.Linear(d_out, d_out, bias=False, dtype=dtype)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1))

    def forward(self, x):
        b, n, _ = x.shape
        queries = self.W_query(x).view(b, n, self.num_heads, self.head_dim).transpose(1, 2)
        keys = self.W_key(x).view(b, n, self.num_kv_groups, self.head_dim).transpose(1, 2)
        values = self.W_value(x).view(b, n, self.num_kv_groups, self.head_dim).transpose(1, 2)
        keys = keys.repeat_interleave(self.group_size, dim=1)
        values = values.repeat_interleave(self.group_size, dim=1)
        scores = queries @ keys.transpose(2, 3)
        scores.masked_fill_(self.mask.bool()[:n, :n], -torch.inf)
        weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
        return self.out_proj((weights @ values).transpose(1, 2).reshape(b, n, self.d_out))


class right_one_key_head(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.h, self.d = num_heads, d_model // num_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=False)
        self.k_proj = nn.Linear(d_model, self.d, bias=False)
        self.v_proj = nn.Linear(d_model, self.d, bias=False)
        self.out_proj = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x):
        b, n, _ = x.shape
        q = self.q_proj(x).view(b, n, self.h, self.d).transpose(1, 2)
        k, v = self.k_proj(x)[:, None], self.v_proj(x)[:, None]
        out = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(self.d), dim=-1) @ v
        return self.out_proj(out.transpose(1, 2).reshape(b, n, -1))


class Base(nn.Module):
    def __init__(self, hidden_dim, nums_head, nums_key_value_head):
        super().__init__()
        self.h, self.g, self.d = nums_head, nums_key_value_head, hidden_dim // nums_head
        self.q_proj = nn.Linear(hidden_dim, self.h * self.d)
        self.k_proj = nn.Linear(hidden_dim, self.g * self.d)
        self.v_proj = nn.Linear(hidden_dim, self.g * self.d)
        self.o_proj = nn.Linear(hidden_dim, hidden_dim)

    def split(self, x):
        return x.view(x.size(0), x.size(1), -1, self.d).transpose(1, 2)

    def merge(self, x):
        return self.o_proj(x.transpose(1, 2).reshape(x.size(0), x.size(2), -1))


class wrong_tiled_not_repeated(Base):
    def forward(self, x):
        q, k, v = self.split(self.q_proj(x)), self.split(self.k_proj(x)), self.split(self.v_proj(x))
        k, v = (t.repeat(1, self.h // self.g, 1, 1) for t in (k, v))
        return self.merge(F.scaled_dot_product_attention(q, k, v))


class wrong_scale(Base):
    def forward(self, x):
        q, k, v = self.split(self.q_proj(x)), self.split(self.k_proj(x)), self.split(self.v_proj(x))
        k, v = (t.repeat_interleave(self.h // self.g, dim=1) for t in (k, v))
        return self.merge(torch.softmax(q @ k.mT / math.sqrt(x.size(-1)), -1) @ v)


class wrong_no_output_projection(Base):
    def forward(self, x):
        q, k, v = self.split(self.q_proj(x)), self.split(self.k_proj(x)), self.split(self.v_proj(x))
        k, v = (t.repeat_interleave(self.h // self.g, dim=1) for t in (k, v))
        return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)


class wrong_heads_viewed_not_merged(Base):
    def forward(self, x):
        q, k, v = self.split(self.q_proj(x)), self.split(self.k_proj(x)), self.split(self.v_proj(x))
        k, v = (t.repeat_interleave(self.h // self.g, dim=1) for t in (k, v))
        return self.o_proj(F.scaled_dot_product_attention(q, k, v).reshape(x.shape))


class wrong_value_from_the_key_projection(Base):
    def forward(self, x):
        q, k, v = self.split(self.q_proj(x)), self.split(self.k_proj(x)), self.split(self.k_proj(x))
        k, v = (t.repeat_interleave(self.h // self.g, dim=1) for t in (k, v))
        return self.merge(F.scaled_dot_product_attention(q, k, v))


class wrong_mask_ignored(Base):
    def forward(self, x, attention_mask=None):
        q, k, v = self.split(self.q_proj(x)), self.split(self.k_proj(x)), self.split(self.v_proj(x))
        k, v = (t.repeat_interleave(self.h // self.g, dim=1) for t in (k, v))
        return self.merge(F.scaled_dot_product_attention(q, k, v))


class wrong_diagonal_hidden(Base):
    def forward(self, x):
        q, k, v = self.split(self.q_proj(x)), self.split(self.k_proj(x)), self.split(self.v_proj(x))
        k, v = (t.repeat_interleave(self.h // self.g, dim=1) for t in (k, v))
        mask = torch.triu(torch.ones(x.size(1), x.size(1), dtype=torch.bool))
        return self.merge(torch.softmax((q @ k.mT / math.sqrt(self.d)).masked_fill(mask, float("-inf")), -1) @ v)


class right_calls_the_rotation_that_it_is_given(nn.Module):
    def __init__(self, emb_dim, n_heads, n_kv_groups, head_dim):
        super().__init__()
        self.heads, self.groups, self.head_dim = n_heads, n_kv_groups, head_dim
        self.q_proj = nn.Linear(emb_dim, n_heads * head_dim, bias=False)
        self.k_proj = nn.Linear(emb_dim, n_kv_groups * head_dim, bias=False)
        self.v_proj = nn.Linear(emb_dim, n_kv_groups * head_dim, bias=False)
        self.o_proj = nn.Linear(n_heads * head_dim, emb_dim, bias=False)

    def forward(self, x, rope, position_ids, attn_mask=None):
        batch, length, _ = x.shape
        query = self.q_proj(x).view(batch, length, self.heads, self.head_dim).transpose(1, 2)
        key = self.k_proj(x).view(batch, length, self.groups, self.head_dim).transpose(1, 2)
        value = self.v_proj(x).view(batch, length, self.groups, self.head_dim).transpose(1, 2)
        query, key = rope(query, position_ids), rope(key, position_ids)
        key, value = (each.repeat_interleave(self.heads // self.groups, dim=1) for each in (key, value))
        scores = query @ key.transpose(-2, -1) / self.head_dim**0.5
        if attn_mask is not None:
            scores = scores + attn_mask
        return self.o_proj((F.softmax(scores, dim=-1) @ value).transpose(1, 2).reshape(batch, length, -1))
