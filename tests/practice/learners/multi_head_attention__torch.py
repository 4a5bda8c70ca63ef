import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class right_from_the_book(nn.Module):  # noqa: N801
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        assert d_out % num_heads == 0, "d_out must be divisible by num_heads"
        self.d_out = d_out
        self.num_heads = num_heads
        self.head_dim = d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1))

    def forward(self, x):
        b, num_tokens, d_in = x.shape
        keys = self.W_key(x)
        queries = self.W_query(x)
        values = self.W_value(x)
        keys = keys.view(b, num_tokens, self.num_heads, self.head_dim)
        values = values.view(b, num_tokens, self.num_heads, self.head_dim)
        queries = queries.view(b, num_tokens, self.num_heads, self.head_dim)
        keys = keys.transpose(1, 2)
        queries = queries.transpose(1, 2)
        values = values.transpose(1, 2)
        attn_scores = queries @ keys.transpose(2, 3)
        mask_bool = self.mask.bool()[:num_tokens, :num_tokens]
        attn_scores.masked_fill_(mask_bool, -torch.inf)
        attn_weights = torch.softmax(attn_scores / keys.shape[-1] ** 0.5, dim=-1)
        attn_weights = self.dropout(attn_weights)
        context_vec = (attn_weights @ values).transpose(1, 2)
        context_vec = context_vec.contiguous().view(b, num_tokens, self.d_out)
        return self.out_proj(context_vec)


class right_interview(nn.Module):  # noqa: N801
    def __init__(self, head_nums, hidden_dim, dropout_rate=0.1):
        super().__init__()
        self.head_nums = head_nums
        self.hidden_dim = hidden_dim
        self.head_dim = hidden_dim // head_nums
        self.q_proj = nn.Linear(hidden_dim, hidden_dim)
        self.k_proj = nn.Linear(hidden_dim, hidden_dim)
        self.v_proj = nn.Linear(hidden_dim, hidden_dim)
        self.output = nn.Linear(hidden_dim, hidden_dim)
        self.att_dropout = nn.Dropout(dropout_rate)

    def forward(self, x, attention_mask=None):
        batch, seq_len, _ = x.size()
        Q = self.q_proj(x).view(batch, seq_len, self.head_nums, self.head_dim).permute(0, 2, 1, 3)
        K = self.k_proj(x).view(batch, seq_len, self.head_nums, self.head_dim).permute(0, 2, 1, 3)
        V = self.v_proj(x).view(batch, seq_len, self.head_nums, self.head_dim).transpose(1, 2)
        weight = Q @ K.transpose(-1, -2) / math.sqrt(self.head_dim)
        if attention_mask is not None:
            weight = weight.masked_fill(attention_mask == 0, float("-1e20"))
        weight = torch.softmax(weight, dim=3)
        weight = self.att_dropout(weight)
        out = (weight @ V).transpose(1, 2).contiguous().view(batch, seq_len, -1)
        return self.output(out)


class right_padding_mask_alone(nn.Module):  # noqa: N801
    def __init__(self, hidden_size, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.head_dim = hidden_size // num_heads
        self.query = nn.Linear(hidden_size, hidden_size)
        self.key = nn.Linear(hidden_size, hidden_size)
        self.value = nn.Linear(hidden_size, hidden_size)
        self.fc_out = nn.Linear(hidden_size, hidden_size)

    def heads(self, x):
        return x.view(x.size(0), x.size(1), self.num_heads, self.head_dim).transpose(1, 2)

    def forward(self, x, attention_mask=None):
        q, k, v = self.heads(self.query(x)), self.heads(self.key(x)), self.heads(self.value(x))
        s = q @ k.transpose(-2, -1) / math.sqrt(self.head_dim)
        if attention_mask is not None:
            s = s.masked_fill(attention_mask[:, None, None, :] == 0, float("-inf"))
        out = (F.softmax(s, dim=-1) @ v).transpose(1, 2).reshape(x.shape)
        return self.fc_out(out)


def clones(module, n):
    return nn.ModuleList([copy.deepcopy(module) for _ in range(n)])


class right_annotated(nn.Module):  # noqa: N801
    def __init__(self, h, d_model, dropout=0.1):
        super().__init__()
        assert d_model % h == 0
        self.d_k = d_model // h
        self.h = h
        self.linears = clones(nn.Linear(d_model, d_model), 4)
        self.attn = None
        self.dropout = nn.Dropout(p=dropout)

    def forward(self, query, key, value, mask=None):
        if mask is not None:
            mask = mask.unsqueeze(1)
        nbatches = query.size(0)
        query, key, value = [
            lin(x).view(nbatches, -1, self.h, self.d_k).transpose(1, 2) for lin, x in zip(self.linears, (query, key, value))
        ]
        scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        self.attn = self.dropout(scores.softmax(dim=-1))
        x = torch.matmul(self.attn, value)
        x = x.transpose(1, 2).contiguous().view(nbatches, -1, self.h * self.d_k)
        return self.linears[-1](x)


class right_fused(nn.Module):  # noqa: N801
    def __init__(self, dim, num_heads=8, qkv_bias=False, attn_drop=0.0, proj_drop=0.0):
        super().__init__()
        self.num_heads = num_heads
        self.scale = (dim // num_heads) ** -0.5
        self.qkv = nn.Linear(dim, dim * 3, bias=qkv_bias)
        self.attn_drop = nn.Dropout(attn_drop)
        self.proj = nn.Linear(dim, dim)
        self.proj_drop = nn.Dropout(proj_drop)

    def forward(self, x):
        B, N, C = x.shape
        qkv = self.qkv(x).reshape(B, N, 3, self.num_heads, C // self.num_heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        attn = self.attn_drop((q @ k.transpose(-2, -1) * self.scale).softmax(dim=-1))
        return self.proj_drop(self.proj((attn @ v).transpose(1, 2).reshape(B, N, C)))


class right_fused_head_by_head(nn.Module):  # noqa: N801
    def __init__(self, input_dim, embed_dim, num_heads):
        super().__init__()
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.qkv_proj = nn.Linear(input_dim, 3 * embed_dim)
        self.o_proj = nn.Linear(embed_dim, embed_dim)

    def forward(self, x, mask=None):
        batch_size, seq_length, _ = x.size()
        qkv = self.qkv_proj(x)
        qkv = qkv.reshape(batch_size, seq_length, self.num_heads, 3 * self.head_dim)
        qkv = qkv.permute(0, 2, 1, 3)
        q, k, v = qkv.chunk(3, dim=-1)
        attn_logits = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.size(-1))
        if mask is not None:
            attn_logits = attn_logits.masked_fill(mask == 0, -9e15)
        values = torch.matmul(F.softmax(attn_logits, dim=-1), v)
        values = values.permute(0, 2, 1, 3).reshape(batch_size, seq_length, self.embed_dim)
        return self.o_proj(values)


class right_sizes_per_head(nn.Module):  # noqa: N801
    def __init__(self, n_head, d_model, d_k, d_v, dropout=0.1):
        super().__init__()
        self.n_head, self.d_k, self.d_v = n_head, d_k, d_v
        self.w_qs = nn.Linear(d_model, n_head * d_k, bias=False)
        self.w_ks = nn.Linear(d_model, n_head * d_k, bias=False)
        self.w_vs = nn.Linear(d_model, n_head * d_v, bias=False)
        self.fc = nn.Linear(n_head * d_v, d_model, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, q, k, v, mask=None):
        sz_b, len_q, len_k, len_v = q.size(0), q.size(1), k.size(1), v.size(1)
        q = self.w_qs(q).view(sz_b, len_q, self.n_head, self.d_k).transpose(1, 2)
        k = self.w_ks(k).view(sz_b, len_k, self.n_head, self.d_k).transpose(1, 2)
        v = self.w_vs(v).view(sz_b, len_v, self.n_head, self.d_v).transpose(1, 2)
        if mask is not None:
            mask = mask.unsqueeze(1)
        attn = torch.matmul(q / self.d_k**0.5, k.transpose(2, 3))
        if mask is not None:
            attn = attn.masked_fill(mask == 0, -1e9)
        attn = self.dropout(F.softmax(attn, dim=-1))
        q = torch.matmul(attn, v).transpose(1, 2).contiguous().view(sz_b, len_q, -1)
        return self.dropout(self.fc(q)), attn


class right_library(nn.Module):  # noqa: N801
    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        self.attention = nn.MultiheadAttention(embed_dim, num_heads, dropout, batch_first=True)

    def forward(self, x):
        return self.attention(x, x, x, need_weights=False)[0]


class right_dict_of_sizes(nn.Module):  # noqa: N801
    def __init__(self, cfg):
        super().__init__()
        self.h = cfg["n_heads"]
        self.q = nn.Linear(cfg["emb_dim"], cfg["emb_dim"], bias=cfg["qkv_bias"])
        self.k = nn.Linear(cfg["emb_dim"], cfg["emb_dim"], bias=cfg["qkv_bias"])
        self.v = nn.Linear(cfg["emb_dim"], cfg["emb_dim"], bias=cfg["qkv_bias"])
        self.o = nn.Linear(cfg["emb_dim"], cfg["emb_dim"], bias=cfg["qkv_bias"])
        self.drop = nn.Dropout(cfg["drop_rate"])

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = (f(x).view(b, n, self.h, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        return self.o(self.drop(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, n, d)))


class right_plain_parameters(nn.Module):  # noqa: N801
    def __init__(self, hidden, heads):
        super().__init__()
        self.heads = heads
        for name in ("wq", "wk", "wv", "wo"):
            setattr(self, name, nn.Parameter(torch.empty(hidden, hidden)))
            nn.init.xavier_uniform_(getattr(self, name))

    def forward(self, x):
        def split(t):
            return torch.stack(t.chunk(self.heads, dim=-1), dim=1)

        q, k, v = split(x @ self.wq), split(x @ self.wk), split(x @ self.wv)
        out = F.softmax(q @ k.mT * q.size(-1) ** -0.5, -1) @ v
        return torch.cat(out.unbind(1), -1) @ self.wo


def right_adapter(d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features):
    *lead, n, _ = in_features.shape
    q, k, v = ((in_features @ w.T).view(*lead, n, num_heads, -1).transpose(-2, -3) for w in (q_proj_weight, k_proj_weight, v_proj_weight))
    out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return out.transpose(-2, -3).reshape(*lead, n, -1) @ o_proj_weight.T


def wrong_key_from_the_query_projection__adapter(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    *lead, n, _ = in_features.shape
    q, k, v = ((in_features @ w.T).view(*lead, n, num_heads, -1).transpose(-2, -3) for w in (q_proj_weight, q_proj_weight, v_proj_weight))
    out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return out.transpose(-2, -3).reshape(*lead, n, -1) @ o_proj_weight.T


class Base(nn.Module):
    def __init__(self, hidden_dim, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.head_dim = hidden_dim // num_heads
        self.q_proj = nn.Linear(hidden_dim, hidden_dim)
        self.k_proj = nn.Linear(hidden_dim, hidden_dim)
        self.v_proj = nn.Linear(hidden_dim, hidden_dim)
        self.out_proj = nn.Linear(hidden_dim, hidden_dim)

    def split(self, x):
        return x.view(x.size(0), x.size(1), self.num_heads, self.head_dim).transpose(1, 2)

    def merge(self, x):
        return x.transpose(1, 2).reshape(x.size(0), x.size(2), -1)


class wrong_scale(Base):  # noqa: N801
    def forward(self, x):
        q, k, v = self.split(self.q_proj(x)), self.split(self.k_proj(x)), self.split(self.v_proj(x))
        w = F.softmax(q @ k.transpose(-2, -1) / math.sqrt(x.size(-1)), dim=-1)
        return self.out_proj(self.merge(w @ v))


class wrong_heads_viewed_not_split(Base):  # noqa: N801
    def forward(self, x):
        b, n, d = x.shape
        q, k, v = (p(x).view(b, self.num_heads, n, self.head_dim) for p in (self.q_proj, self.k_proj, self.v_proj))
        w = F.softmax(q @ k.transpose(-2, -1) / math.sqrt(self.head_dim), dim=-1)
        return self.out_proj(self.merge(w @ v))


class wrong_heads_viewed_not_merged(Base):  # noqa: N801
    def forward(self, x):
        q, k, v = self.split(self.q_proj(x)), self.split(self.k_proj(x)), self.split(self.v_proj(x))
        w = F.softmax(q @ k.transpose(-2, -1) / math.sqrt(self.head_dim), dim=-1)
        return self.out_proj((w @ v).contiguous().view(x.shape))


class wrong_attends_over_heads(Base):  # noqa: N801
    def forward(self, x):
        b, n, d = x.shape
        q, k, v = (p(x).view(b, n, self.num_heads, self.head_dim) for p in (self.q_proj, self.k_proj, self.v_proj))
        w = F.softmax(q @ k.transpose(-2, -1) / math.sqrt(self.head_dim), dim=-1)
        return self.out_proj((w @ v).reshape(b, n, d))


class wrong_value_from_the_key_projection(Base):  # noqa: N801
    def forward(self, x):
        q, k, v = self.split(self.q_proj(x)), self.split(self.k_proj(x)), self.split(self.k_proj(x))
        w = F.softmax(q @ k.transpose(-2, -1) / math.sqrt(self.head_dim), dim=-1)
        return self.out_proj(self.merge(w @ v))


class wrong_no_output_projection(Base):  # noqa: N801
    def forward(self, x):
        q, k, v = self.split(self.q_proj(x)), self.split(self.k_proj(x)), self.split(self.v_proj(x))
        w = F.softmax(q @ k.transpose(-2, -1) / math.sqrt(self.head_dim), dim=-1)
        return self.merge(w @ v)


class wrong_residual_added(Base):  # noqa: N801
    def forward(self, x):
        q, k, v = self.split(self.q_proj(x)), self.split(self.k_proj(x)), self.split(self.v_proj(x))
        w = F.softmax(q @ k.transpose(-2, -1) / math.sqrt(self.head_dim), dim=-1)
        return x + self.out_proj(self.merge(w @ v))


class wrong_softmax_over_axis_one(Base):  # noqa: N801
    def forward(self, x):
        q, k, v = self.split(self.q_proj(x)), self.split(self.k_proj(x)), self.split(self.v_proj(x))
        w = F.softmax(q @ k.transpose(-2, -1) / math.sqrt(self.head_dim), dim=1)
        return self.out_proj(self.merge(w @ v))


class wrong_mask_ignored(Base):  # noqa: N801
    def forward(self, x, mask=None):
        q, k, v = self.split(self.q_proj(x)), self.split(self.k_proj(x)), self.split(self.v_proj(x))
        s = q @ k.transpose(-2, -1) / math.sqrt(self.head_dim)
        if mask is not None:
            s.masked_fill(mask == 0, -1e9)
        return self.out_proj(self.merge(F.softmax(s, dim=-1) @ v))


class wrong_mask_on_rows(Base):  # noqa: N801
    def forward(self, x, attention_mask):
        q, k, v = self.split(self.q_proj(x)), self.split(self.k_proj(x)), self.split(self.v_proj(x))
        s = q @ k.transpose(-2, -1) / math.sqrt(self.head_dim)
        s = s.masked_fill(attention_mask[:, None, :, None] == 0, -1e9)
        return self.out_proj(self.merge(F.softmax(s, dim=-1) @ v))


class wrong_diagonal_hidden(Base):  # noqa: N801
    def forward(self, x):
        q, k, v = self.split(self.q_proj(x)), self.split(self.k_proj(x)), self.split(self.v_proj(x))
        s = q @ k.transpose(-2, -1) / math.sqrt(self.head_dim)
        s = s.masked_fill(torch.triu(torch.ones(x.size(1), x.size(1))).bool(), float("-inf"))
        return self.out_proj(self.merge(F.softmax(s, dim=-1) @ v))


class wrong_dropout_in_eval(nn.Module):  # noqa: N801
    def __init__(self, d_model, num_heads, dropout=0.1):
        super().__init__()
        self.base, self.p = Base(d_model, num_heads), dropout

    def forward(self, x):
        m = self.base
        q, k, v = m.split(m.q_proj(x)), m.split(m.k_proj(x)), m.split(m.v_proj(x))
        w = F.dropout(F.softmax(q @ k.transpose(-2, -1) / math.sqrt(m.head_dim), dim=-1), self.p)
        return m.out_proj(m.merge(w @ v))


class wrong_split_before_projecting(nn.Module):  # noqa: N801
    def __init__(self, embed_size, heads):
        super().__init__()
        self.embed_size, self.heads, self.head_dim = embed_size, heads, embed_size // heads
        self.values = nn.Linear(self.head_dim, self.head_dim, bias=False)
        self.keys = nn.Linear(self.head_dim, self.head_dim, bias=False)
        self.queries = nn.Linear(self.head_dim, self.head_dim, bias=False)
        self.fc_out = nn.Linear(heads * self.head_dim, embed_size)

    def forward(self, values, keys, query):
        N = query.shape[0]
        values = self.values(values.reshape(N, -1, self.heads, self.head_dim))
        keys = self.keys(keys.reshape(N, -1, self.heads, self.head_dim))
        queries = self.queries(query.reshape(N, -1, self.heads, self.head_dim))
        energy = torch.einsum("nqhd,nkhd->nhqk", [queries, keys])
        attention = torch.softmax(energy / (self.head_dim ** (1 / 2)), dim=3)
        out = torch.einsum("nhql,nlhd->nqhd", [attention, values]).reshape(N, -1, self.heads * self.head_dim)
        return self.fc_out(out)


class right_heads_of_every_nth_column(nn.Module):  # noqa: N801
    def __init__(self, num_heads, embedding_dim):
        super().__init__()
        self.num_heads, self.head_dim = num_heads, embedding_dim // num_heads
        self.toqueries, self.tokeys, self.tovalues = (nn.Linear(embedding_dim, embedding_dim) for _ in range(3))
        self.proj_output = nn.Linear(embedding_dim, embedding_dim)

    def forward(self, queries, keys, values):
        q, k, v = (
            torch.reshape(layer(x), (*x.shape[:2], self.head_dim, self.num_heads))
            for layer, x in ((self.toqueries, queries), (self.tokeys, keys), (self.tovalues, values))
        )
        heads = []
        for i in range(self.num_heads):
            scores = q[..., i] @ k[..., i].transpose(1, 2) / math.sqrt(self.head_dim)
            heads.append(scores.softmax(-1) @ v[..., i])
        return self.proj_output(torch.concat(heads, dim=-1))


class wrong_scale__share_of_the_input(nn.Module):  # noqa: N801
    def __init__(self, d_model, num_heads, d_k):
        super().__init__()
        self.num_heads, self.d_k, self.scale = num_heads, d_k, (d_model // num_heads) ** -0.5
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(d_model, num_heads * d_k) for _ in range(3))
        self.out_proj = nn.Linear(num_heads * d_k, d_model)

    def forward(self, query, key, value, mask=None):
        batch = query.size(0)
        q, k, v = (
            proj(x).view(batch, -1, self.num_heads, self.d_k).transpose(1, 2)
            for proj, x in ((self.q_proj, query), (self.k_proj, key), (self.v_proj, value))
        )
        scores = q @ k.transpose(-2, -1) * self.scale
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        return self.out_proj((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, -1, self.num_heads * self.d_k))


class wrong_scale_after_softmax__of_the_input(nn.Module):  # noqa: N801
    def __init__(self, emb_size, num_heads):
        super().__init__()
        self.emb_size, self.num_heads = emb_size, num_heads
        self.queries, self.keys, self.values = (nn.Linear(emb_size, emb_size) for _ in range(3))
        self.projection = nn.Linear(emb_size, emb_size)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = (layer(x).view(b, n, self.num_heads, -1).transpose(1, 2) for layer in (self.queries, self.keys, self.values))
        weights = (q @ k.transpose(-2, -1)).softmax(-1) / self.emb_size**0.5
        return self.projection((weights @ v).transpose(1, 2).reshape(b, n, d))
