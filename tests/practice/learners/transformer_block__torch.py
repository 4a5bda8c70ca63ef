# ruff: noqa: N801, N806
import math

import torch
import torch.nn.functional as F
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.d_out, self.num_heads, self.head_dim = d_out, num_heads, d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1))

    def forward(self, x):
        b, num_tokens, d_in = x.shape
        keys, queries, values = (
            f(x).view(b, num_tokens, self.num_heads, self.head_dim).transpose(1, 2) for f in (self.W_key, self.W_query, self.W_value)
        )
        attn_scores = queries @ keys.transpose(2, 3)
        attn_scores.masked_fill_(self.mask.bool()[:num_tokens, :num_tokens], -torch.inf)
        attn_weights = self.dropout(torch.softmax(attn_scores / keys.shape[-1] ** 0.5, dim=-1))
        return self.out_proj((attn_weights @ values).transpose(1, 2).contiguous().view(b, num_tokens, self.d_out))


class LayerNorm(nn.Module):
    def __init__(self, emb_dim):
        super().__init__()
        self.eps = 1e-5
        self.scale = nn.Parameter(torch.ones(emb_dim))
        self.shift = nn.Parameter(torch.zeros(emb_dim))

    def forward(self, x):
        mean = x.mean(dim=-1, keepdim=True)
        var = x.var(dim=-1, keepdim=True, unbiased=False)
        return self.scale * (x - mean) / torch.sqrt(var + self.eps) + self.shift


class GELU(nn.Module):
    def forward(self, x):
        return 0.5 * x * (1 + torch.tanh(torch.sqrt(torch.tensor(2.0 / torch.pi)) * (x + 0.044715 * torch.pow(x, 3))))


class FeedForward(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(cfg["emb_dim"], 4 * cfg["emb_dim"]), GELU(), nn.Linear(4 * cfg["emb_dim"], cfg["emb_dim"]))

    def forward(self, x):
        return self.layers(x)


class right_from_the_book(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.att = MultiHeadAttention(
            d_in=cfg["emb_dim"],
            d_out=cfg["emb_dim"],
            context_length=cfg["context_length"],
            num_heads=cfg["n_heads"],
            dropout=cfg["drop_rate"],
            qkv_bias=cfg["qkv_bias"],
        )
        self.ff = FeedForward(cfg)
        self.norm1 = LayerNorm(cfg["emb_dim"])
        self.norm2 = LayerNorm(cfg["emb_dim"])
        self.drop_shortcut = nn.Dropout(cfg["drop_rate"])

    def forward(self, x):
        shortcut = x
        x = self.norm1(x)
        x = self.att(x)
        x = self.drop_shortcut(x)
        x = x + shortcut
        shortcut = x
        x = self.norm2(x)
        x = self.ff(x)
        x = self.drop_shortcut(x)
        return x + shortcut


class CausalSelfAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd)
        self.n_head = config.n_head
        self.n_embd = config.n_embd

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(self.n_embd, dim=2)
        q, k, v = (t.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for t in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C))


class MLP(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.c_fc = nn.Linear(config.n_embd, 4 * config.n_embd)
        self.gelu = nn.GELU(approximate="tanh")
        self.c_proj = nn.Linear(4 * config.n_embd, config.n_embd)

    def forward(self, x):
        return self.c_proj(self.gelu(self.c_fc(x)))


class right_nano_gpt(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.ln_1 = nn.LayerNorm(config.n_embd)
        self.attn = CausalSelfAttention(config)
        self.ln_2 = nn.LayerNorm(config.n_embd)
        self.mlp = MLP(config)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Head(nn.Module):
    def __init__(self, n_embd, head_size):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)

    def forward(self, x):
        k, q = self.key(x), self.query(x)
        wei = q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5
        wei = wei.masked_fill(torch.tril(torch.ones(x.shape[1], x.shape[1])) == 0, float("-inf"))
        return F.softmax(wei, dim=-1) @ self.value(x)


class Heads(nn.Module):
    def __init__(self, n_embd, num_heads, head_size):
        super().__init__()
        self.heads = nn.ModuleList([Head(n_embd, head_size) for _ in range(num_heads)])
        self.proj = nn.Linear(n_embd, n_embd)

    def forward(self, x):
        return self.proj(torch.cat([h(x) for h in self.heads], dim=-1))


class right_lecture(nn.Module):
    def __init__(self, n_embd, n_head):
        super().__init__()
        self.sa = Heads(n_embd, n_head, n_embd // n_head)
        self.ffwd = nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.ReLU(), nn.Linear(4 * n_embd, n_embd))
        self.ln1 = nn.LayerNorm(n_embd)
        self.ln2 = nn.LayerNorm(n_embd)

    def forward(self, x):
        x = x + self.sa(self.ln1(x))
        return x + self.ffwd(self.ln2(x))


class right_mask_given(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.attn = nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.ln1, self.ln2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.ff = nn.Sequential(nn.Linear(d_model, d_ff), nn.GELU(), nn.Linear(d_ff, d_model))

    def forward(self, x, attn_mask=None):
        h = self.ln1(x)
        x = x + self.attn(h, h, h, attn_mask=attn_mask)[0]
        return x + self.ff(self.ln2(x))


class wrong_not_causal(right_nano_gpt):
    def __init__(self, config):
        super().__init__(config)
        self.h = config.n_head

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = (t.view(B, T, self.h, C // self.h).transpose(1, 2) for t in self.attn.c_attn(self.ln_1(x)).split(C, dim=2))
        y = F.softmax(q @ k.transpose(-2, -1) / math.sqrt(k.size(-1)), dim=-1) @ v
        x = x + self.attn.c_proj(y.transpose(1, 2).contiguous().view(B, T, C))
        return x + self.mlp(self.ln_2(x))


class wrong_residual_from_normalised(right_nano_gpt):
    def forward(self, x):
        x = self.ln_1(x)
        x = x + self.attn(x)
        x = self.ln_2(x)
        return x + self.mlp(x)


class wrong_norms_after_the_sums(right_nano_gpt):
    def forward(self, x):
        x = self.ln_1(x + self.attn(x))
        return self.ln_2(x + self.mlp(x))


class wrong_residual_of_attention_missing(right_from_the_book):
    def forward(self, x):
        x = self.att(self.norm1(x))
        return x + self.ff(self.norm2(x))


class wrong_first_norm_used_twice(right_from_the_book):
    def forward(self, x):
        x = x + self.att(self.norm1(x))
        return x + self.ff(self.norm1(x))


class wrong_in_parallel(right_lecture):
    def forward(self, x):
        return x + self.sa(self.ln1(x)) + self.ffwd(self.ln2(x))


class wrong_second_residual_from_input(right_from_the_book):
    def forward(self, x):
        shortcut = x
        x = self.att(self.norm1(x)) + shortcut
        x = self.ff(self.norm2(x))
        return x + shortcut


class SelfAttentionGPT2(nn.Module):
    def __init__(self, emb, heads, mask):
        super().__init__()
        self.heads, self.mask = heads, mask
        self.tokeys, self.toqueries, self.tovalues, self.unifyheads = (nn.Linear(emb, emb) for _ in range(4))

    def forward(self, x):
        b, t, e = x.shape
        q, k, v = (layer(x).view(b, t, self.heads, -1).transpose(1, 2) for layer in (self.toqueries, self.tokeys, self.tovalues))
        dot = q @ k.transpose(-2, -1) / (e // self.heads) ** 0.5
        if self.mask:
            rows, columns = torch.triu_indices(t, t, offset=1)
            dot[..., rows, columns] = float("-inf")
        return self.unifyheads((dot.softmax(-1) @ v).transpose(1, 2).reshape(b, t, e))


class right_post_norm_with_an_option(nn.Module):  # noqa: N801
    def __init__(self, emb, heads, mask, attention_type="gpt2"):
        super().__init__()
        self.attention = SelfAttentionGPT2(emb, heads, mask) if attention_type == "gpt2" else nn.Identity()
        self.norm1, self.norm2 = nn.LayerNorm(emb), nn.LayerNorm(emb)
        self.ff = nn.Sequential(nn.Linear(emb, 4 * emb), nn.ReLU(), nn.Linear(4 * emb, emb))

    def forward(self, x):
        x = self.norm1(self.attention(x) + x)
        return self.norm2(self.ff(x) + x)
