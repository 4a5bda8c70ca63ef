import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class right_book(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.d_out = d_out
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1))

    def forward(self, x):
        b, num_tokens, d_in = x.shape
        keys = self.W_key(x)
        queries = self.W_query(x)
        values = self.W_value(x)
        attn_scores = queries @ keys.transpose(1, 2)
        attn_scores.masked_fill_(self.mask.bool()[:num_tokens, :num_tokens], -torch.inf)
        attn_weights = torch.softmax(attn_scores / keys.shape[-1] ** 0.5, dim=-1)
        attn_weights = self.dropout(attn_weights)
        return attn_weights @ values


class right_nano(nn.Module):
    def __init__(self, config):
        super().__init__()
        assert config.n_embd % config.n_head == 0
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd, bias=config.bias)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd, bias=config.bias)
        self.attn_dropout = nn.Dropout(config.dropout)
        self.resid_dropout = nn.Dropout(config.dropout)
        self.n_head = config.n_head
        self.n_embd = config.n_embd
        self.register_buffer(
            "bias", torch.tril(torch.ones(config.block_size, config.block_size)).view(1, 1, config.block_size, config.block_size)
        )

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(self.n_embd, dim=2)
        k = k.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        q = q.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        v = v.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))
        att = self.attn_dropout(F.softmax(att, dim=-1))
        y = (att @ v).transpose(1, 2).contiguous().view(B, T, C)
        return self.resid_dropout(self.c_proj(y))


class right_nano__flash(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd, bias=config.bias)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd, bias=config.bias)
        self.resid_dropout = nn.Dropout(config.dropout)
        self.n_head = config.n_head
        self.n_embd = config.n_embd
        self.dropout = config.dropout

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = (t.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for t in self.c_attn(x).split(self.n_embd, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=None, dropout_p=self.dropout if self.training else 0, is_causal=True)
        return self.resid_dropout(self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C)))


class right_head(nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout=0.2):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        B, T, C = x.shape
        k, q = self.key(x), self.query(x)
        wei = q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5
        wei = wei.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        wei = self.dropout(F.softmax(wei, dim=-1))
        return wei @ self.value(x)


class right_separate_layers(nn.Module):
    def __init__(self, n_embd, n_head, block_size, attn_pdrop=0.1, resid_pdrop=0.1):
        super().__init__()
        self.key = nn.Linear(n_embd, n_embd)
        self.query = nn.Linear(n_embd, n_embd)
        self.value = nn.Linear(n_embd, n_embd)
        self.attn_drop = nn.Dropout(attn_pdrop)
        self.resid_drop = nn.Dropout(resid_pdrop)
        self.proj = nn.Linear(n_embd, n_embd)
        self.register_buffer("mask", torch.tril(torch.ones(block_size, block_size)).view(1, 1, block_size, block_size))
        self.n_head = n_head

    def forward(self, x):
        B, T, C = x.size()
        k = self.key(x).view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        q = self.query(x).view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        v = self.value(x).view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.mask[:, :, :T, :T] == 0, float("-inf"))
        y = self.attn_drop(F.softmax(att, dim=-1)) @ v
        return self.resid_drop(self.proj(y.transpose(1, 2).contiguous().view(B, T, C)))


def right_adapter(d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features):
    *lead, n, _ = in_features.shape
    q, k, v = ((in_features @ w.T).view(*lead, n, num_heads, -1).transpose(-2, -3) for w in (q_proj_weight, k_proj_weight, v_proj_weight))
    mask = torch.tril(torch.ones(n, n, dtype=torch.bool))
    scores = (q @ k.transpose(-1, -2) / math.sqrt(d_model // num_heads)).masked_fill(~mask, float("-inf"))
    return (torch.softmax(scores, -1) @ v).transpose(-2, -3).reshape(*lead, n, -1) @ o_proj_weight.T


def right_masked_function(query, key, value):
    n = query.size(-2)
    mask = torch.full((n, n), float("-inf")).triu(1)
    return torch.softmax(query @ key.transpose(-2, -1) / query.size(-1) ** 0.5 + mask, dim=-1) @ value


class Nano(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd, bias=config.bias)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd, bias=config.bias)
        self.n_head, self.n_embd, self.dropout = config.n_head, config.n_embd, config.dropout
        self.register_buffer("bias", torch.tril(torch.ones(config.block_size, config.block_size)))

    def heads(self, x):
        B, T, C = x.size()
        return [t.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for t in self.c_attn(x).split(self.n_embd, dim=2)]

    def merge(self, y):
        return self.c_proj(y.transpose(1, 2).reshape(y.size(0), y.size(2), -1))


class wrong_mask_not_cropped(Nano):
    def forward(self, x):
        q, k, v = self.heads(x)
        att = (q @ k.transpose(-2, -1) / math.sqrt(k.size(-1))).masked_fill(self.bias == 0, float("-inf"))
        return self.merge(F.softmax(att, dim=-1) @ v)


class wrong_diagonal_hidden(Nano):
    def forward(self, x):
        q, k, v = self.heads(x)
        n = x.size(1)
        att = q @ k.transpose(-2, -1) / math.sqrt(k.size(-1))
        att = att.masked_fill(torch.tril(torch.ones(n, n), diagonal=-1) == 0, float("-inf"))
        return self.merge(F.softmax(att, dim=-1) @ v)


class wrong_sees_the_future_alone(Nano):
    def forward(self, x):
        q, k, v = self.heads(x)
        n = x.size(1)
        att = (q @ k.transpose(-2, -1) / math.sqrt(k.size(-1))).masked_fill(self.bias[:n, :n] == 1, float("-inf"))
        return self.merge(F.softmax(att, dim=-1) @ v)


class wrong_causal_upside_down(Nano):
    def forward(self, x):
        q, k, v = self.heads(x)
        n = x.size(1)
        att = q @ k.transpose(-2, -1) / math.sqrt(k.size(-1))
        att = att.masked_fill(torch.triu(torch.ones(n, n)) == 0, float("-inf"))
        return self.merge(F.softmax(att, dim=-1) @ v)


class wrong_causal_ignored(Nano):
    def forward(self, x):
        q, k, v = self.heads(x)
        n = x.size(1)
        att = q @ k.transpose(-2, -1) / math.sqrt(k.size(-1))
        att.masked_fill(self.bias[:n, :n] == 0, float("-inf"))
        return self.merge(F.softmax(att, dim=-1) @ v)


class wrong_scale(Nano):
    def forward(self, x):
        q, k, v = self.heads(x)
        n = x.size(1)
        att = (q @ k.transpose(-2, -1) / math.sqrt(x.size(-1))).masked_fill(self.bias[:n, :n] == 0, float("-inf"))
        return self.merge(F.softmax(att, dim=-1) @ v)


class wrong_scale__none(Nano):
    def forward(self, x):
        q, k, v = self.heads(x)
        n = x.size(1)
        att = (q @ k.transpose(-2, -1)).masked_fill(self.bias[:n, :n] == 0, float("-inf"))
        return self.merge(F.softmax(att, dim=-1) @ v)


class wrong_mask_after_softmax(Nano):
    def forward(self, x):
        q, k, v = self.heads(x)
        n = x.size(1)
        att = F.softmax(q @ k.transpose(-2, -1) / math.sqrt(k.size(-1)), dim=-1)
        return self.merge(att.masked_fill(self.bias[:n, :n] == 0, 0.0) @ v)


class wrong_hidden_score_is_zero(Nano):
    def forward(self, x):
        q, k, v = self.heads(x)
        n = x.size(1)
        att = q @ k.transpose(-2, -1) / math.sqrt(k.size(-1)) * self.bias[:n, :n]
        return self.merge(F.softmax(att, dim=-1) @ v)


class wrong_heads_viewed_not_split(Nano):
    def forward(self, x):
        B, n, C = x.size()
        q, k, v = (t.reshape(B, self.n_head, n, C // self.n_head) for t in self.c_attn(x).split(self.n_embd, dim=2))
        att = (q @ k.transpose(-2, -1) / math.sqrt(k.size(-1))).masked_fill(self.bias[:n, :n] == 0, float("-inf"))
        return self.merge(F.softmax(att, dim=-1) @ v)


class wrong_heads_viewed_not_merged(Nano):
    def forward(self, x):
        q, k, v = self.heads(x)
        n = x.size(1)
        att = (q @ k.transpose(-2, -1) / math.sqrt(k.size(-1))).masked_fill(self.bias[:n, :n] == 0, float("-inf"))
        return self.c_proj((F.softmax(att, dim=-1) @ v).contiguous().view(x.shape))


class wrong_attends_over_heads(Nano):
    def forward(self, x):
        B, n, C = x.size()
        q, k, v = (t.view(B, n, self.n_head, C // self.n_head) for t in self.c_attn(x).split(self.n_embd, dim=2))
        att = F.softmax(q @ k.transpose(-2, -1) / math.sqrt(k.size(-1)), dim=-1)
        return self.c_proj((att @ v).reshape(B, n, C))


class wrong_no_output_projection(Nano):
    def forward(self, x):
        q, k, v = self.heads(x)
        return F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape)


class wrong_softmax_over_queries(Nano):
    def forward(self, x):
        q, k, v = self.heads(x)
        n = x.size(1)
        att = (q @ k.transpose(-2, -1) / math.sqrt(k.size(-1))).masked_fill(self.bias[:n, :n] == 0, float("-inf"))
        return self.merge(F.softmax(att, dim=-2) @ v)


class wrong_dropout_in_eval(Nano):
    def forward(self, x):
        q, k, v = self.heads(x)
        return self.merge(F.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout, is_causal=True))


class wrong_diagonal_hidden__head(nn.Module):
    def __init__(self, n_embd, head_size, block_size):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size), diagonal=-1))

    def forward(self, x):
        n = x.size(1)
        wei = self.query(x) @ self.key(x).transpose(-2, -1) * self.key.out_features**-0.5
        return F.softmax(wei.masked_fill(self.tril[:n, :n] == 0, float("-inf")), dim=-1) @ self.value(x)


class wrong_scale__head(nn.Module):
    def __init__(self, n_embd, head_size, block_size):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))

    def forward(self, x):
        B, T, C = x.shape
        wei = self.query(x) @ self.key(x).transpose(-2, -1) * C**-0.5
        return F.softmax(wei.masked_fill(self.tril[:T, :T] == 0, float("-inf")), dim=-1) @ self.value(x)


class Right_one_head_of_a_config(nn.Module):
    def __init__(self, cfg, head_size):
        super().__init__()
        self.query = nn.Linear(cfg.n_embd, head_size, bias=cfg.bias)
        self.key = nn.Linear(cfg.n_embd, head_size, bias=cfg.bias)
        self.value = nn.Linear(cfg.n_embd, head_size, bias=cfg.bias)
        self.register_buffer("allowed", torch.ones(cfg.block_size, cfg.block_size).tril())

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = self.query(x), self.key(x), self.value(x)
        scores = q @ k.mT / q.shape[-1] ** 0.5
        scores = scores.masked_fill(self.allowed[:length, :length] == 0, float("-inf"))
        return scores.softmax(-1) @ v


class Right_causal_if_asked(nn.Module):  # noqa: N801
    def __init__(self, embeddings_size: int, context_size: int, num_heads: int, bias: bool, dropout: float, *, is_decoder: bool):
        super().__init__()
        self.num_heads, self.is_decoder = num_heads, is_decoder
        self.qkv = nn.Linear(embeddings_size, 3 * embeddings_size, bias=bias)
        self.projection = nn.Linear(embeddings_size, embeddings_size, bias=bias)
        self.dropout = nn.Dropout(dropout)
        if is_decoder:
            self.register_buffer("tril", torch.tril(torch.ones(context_size, context_size)))

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (each.view(batch, length, self.num_heads, -1).transpose(1, 2) for each in self.qkv(x).split(width, dim=-1))
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        if self.is_decoder:
            scores = scores.masked_fill(self.tril[:length, :length] == 0, float("-inf"))
        return self.projection((self.dropout(F.softmax(scores, dim=-1)) @ v).transpose(1, 2).reshape(batch, length, width))


class RotaryEmbedding(nn.Module):
    def __init__(self, dim, context_length):
        super().__init__()
        angles = torch.outer(torch.arange(context_length), 10000.0 ** -(torch.arange(0, dim, 2) / dim))
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, x, positions):
        cos, sin = self.cos[positions], self.sin[positions]
        first, second = x[..., 0::2], x[..., 1::2]
        return torch.stack([first * cos - second * sin, second * cos + first * sin], -1).flatten(-2)


class right_given_an_object_that_rotates(nn.Module):  # noqa: N801
    def __init__(self, d_model: int, num_heads: int, positional_encoder: RotaryEmbedding):
        super().__init__()
        self.num_heads = num_heads
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
        self.positional_encoder = positional_encoder

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (layer(x).view(b, t, self.num_heads, -1).transpose(1, 2) for layer in (self.q_proj, self.k_proj, self.v_proj))
        positions = torch.arange(t)
        q, k = self.positional_encoder(q, positions), self.positional_encoder(k, positions)
        return self.o_proj(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, d))
