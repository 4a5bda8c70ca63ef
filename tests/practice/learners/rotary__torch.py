# ruff: noqa: RUF059

import torch
from torch import nn


def rotate_half(x):
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((-x2, x1), dim=-1)


def right_hugging_face(q, k, cos, sin):
    cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
    return (q * cos) + (rotate_half(q) * sin), (k * cos) + (rotate_half(k) * sin)


def right_llama(xq, xk, freqs_cis):
    xq_ = torch.view_as_complex(xq.float().reshape(*xq.shape[:-1], -1, 2))
    xk_ = torch.view_as_complex(xk.float().reshape(*xk.shape[:-1], -1, 2))
    freqs_cis = freqs_cis.view(1, xq_.shape[1], 1, xq_.shape[-1])
    xq_out = torch.view_as_real(xq_ * freqs_cis).flatten(3)
    xk_out = torch.view_as_real(xk_ * freqs_cis).flatten(3)
    return xq_out.type_as(xq), xk_out.type_as(xk)


def right_raschka(x, cos, sin):
    batch_size, num_heads, seq_len, head_dim = x.shape
    assert head_dim % 2 == 0, "Head dimension must be even"
    x1 = x[..., : head_dim // 2]
    x2 = x[..., head_dim // 2 :]
    cos = cos[:seq_len, :].unsqueeze(0).unsqueeze(0)
    sin = sin[:seq_len, :].unsqueeze(0).unsqueeze(0)
    rotated = torch.cat((-x2, x1), dim=-1)
    return ((x * cos) + (rotated * sin)).to(dtype=x.dtype)


def right_lucidrains(t, freqs):
    a, b = t[..., ::2], t[..., 1::2]
    return torch.stack((a * freqs.cos() - b * freqs.sin(), b * freqs.cos() + a * freqs.sin()), dim=-1).flatten(-2)


def right_einsum(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    freqs = 1.0 / theta ** (torch.arange(0, d_k, 2).float() / d_k)
    angles = torch.einsum("i,j->ij", torch.arange(max_seq_len).float(), freqs)[token_positions]
    x = in_query_or_key.reshape(*in_query_or_key.shape[:-1], d_k // 2, 2)
    cos, sin = angles.cos(), angles.sin()
    out = torch.stack([x[..., 0] * cos - x[..., 1] * sin, x[..., 0] * sin + x[..., 1] * cos], dim=-1)
    return out.reshape(in_query_or_key.shape)


def right_reassigned(x, theta=10000.0):
    d, n = x.size(-1), x.size(-2)
    angles = torch.arange(n).unsqueeze(1) * (theta ** (-torch.arange(0, d, 2) / d)).unsqueeze(0)
    pair = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2).contiguous())
    return torch.view_as_real(pair * torch.polar(torch.ones_like(angles), angles)).flatten(-2)


def wrong_frequencies_by_turns(x):
    d, n = x.shape[-1], x.shape[-2]
    freqs = 1.0 / (10000 ** (torch.arange(0, d, 2).float() / d))
    angles = torch.outer(torch.arange(n).float(), freqs).repeat_interleave(2, dim=-1)
    return x * angles.cos() + rotate_half(x) * angles.sin()


def wrong_key_not_turned(q, k, cos, sin):
    return q * cos + rotate_half(q) * sin, k


def right_another_default(xq, base=500_000.0):
    d, n = xq.shape[-1], xq.shape[-2]
    angles = torch.outer(torch.arange(n).float(), base ** (-torch.arange(0, d, 2) / d))
    angles = torch.cat([angles, angles], dim=-1)
    return xq * angles.cos() + rotate_half(xq) * angles.sin()


def wrong_theta(xq):
    d, n = xq.shape[-1], xq.shape[-2]
    angles = torch.outer(torch.arange(n).float(), 500_000.0 ** (-torch.arange(0, d, 2) / d))
    angles = torch.cat([angles, angles], dim=-1)
    return xq * angles.cos() + rotate_half(xq) * angles.sin()


class Right_rotary_embedding(nn.Module):
    def __init__(self, dim, max_position_embeddings=2048, base=10000):
        super().__init__()
        inv_freq = 1.0 / (base ** (torch.arange(0, dim, 2).float() / dim))
        t = torch.arange(max_position_embeddings, dtype=inv_freq.dtype)
        emb = torch.cat((torch.einsum("i,j->ij", t, inv_freq),) * 2, dim=-1)
        self.register_buffer("cos_cached", emb.cos())
        self.register_buffer("sin_cached", emb.sin())

    def forward(self, x):
        n = x.shape[-2]
        return x * self.cos_cached[:n] + rotate_half(x) * self.sin_cached[:n]


class Right_heads_behind_positions:
    def __init__(self, dims, seq_len, base=10000, traditional=False):
        self.dims, self.traditional = dims, traditional
        angles = torch.outer(torch.arange(seq_len).float(), base ** (-torch.arange(0, dims, 2) / dims))
        self.cos, self.sin = angles.cos(), angles.sin()

    def __call__(self, x, offset=None):
        n, length, heads, dims = x.shape
        cos = (self.cos[:length] if offset is None else self.cos[offset])[None, :, None, :]
        sin = (self.sin[:length] if offset is None else self.sin[offset])[None, :, None, :]
        if self.traditional:
            a, b = x[..., ::2], x[..., 1::2]
        else:
            a, b = x[..., : dims // 2], x[..., dims // 2 :]
        real, imag = a * cos - b * sin, b * cos + a * sin
        if self.traditional:
            return torch.stack([real, imag], dim=-1).reshape(n, length, heads, dims)
        return torch.cat([real, imag], dim=-1)


class Right_with_token_positions(nn.Module):
    def __init__(self, theta: float, d_k: int, max_seq_len: int, device=None):
        super().__init__()
        angles = torch.outer(torch.arange(max_seq_len, device=device).float(), 1 / theta ** (torch.arange(0, d_k, 2, device=device) / d_k))
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, x, token_positions):
        cos, sin = self.cos[token_positions], self.sin[token_positions]
        a, b = x[..., ::2], x[..., 1::2]
        return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)


class Wrong_positions_ignored(nn.Module):
    def __init__(self, theta: float, d_k: int, max_seq_len: int):
        super().__init__()
        angles = torch.outer(torch.arange(max_seq_len).float(), 1 / theta ** (torch.arange(0, d_k, 2) / d_k))
        self.cos, self.sin = angles.cos(), angles.sin()

    def forward(self, x, token_positions):
        n = x.shape[-2]
        a, b = x[..., ::2], x[..., 1::2]
        cos, sin = self.cos[:n], self.sin[:n]
        return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)


class Wrong_frequencies_by_turns(nn.Module):
    def __init__(self, dim, base=10000):
        super().__init__()
        self.inv_freq = 1.0 / (base ** (torch.arange(0, dim, 2).float() / dim))

    def forward(self, x):
        t = torch.arange(x.shape[-2]).type_as(self.inv_freq)
        emb = torch.outer(t, self.inv_freq).repeat_interleave(2, dim=-1)
        return x * emb.cos() + rotate_half(x) * emb.sin()


def right_complex_table_under_an_own_name(x: torch.Tensor, theta_complex: torch.Tensor):
    pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], x.shape[-1] // 2, 2))
    turned = pairs * theta_complex[None, :, None]
    return torch.view_as_real(turned).reshape(*x.shape)
