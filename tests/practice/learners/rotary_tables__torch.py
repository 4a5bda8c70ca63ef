import torch
from torch import nn


def right_polar(dim, end, theta=10000.0):
    frequencies = 1.0 / (theta ** (torch.arange(0, dim, 2)[: dim // 2].float() / dim))
    angles = torch.outer(torch.arange(end), frequencies).float()
    return torch.polar(torch.ones_like(angles), angles)


def right_on_a_device(head_dim, seq_len, device, theta=10000.0):
    frequencies = 1.0 / theta ** (torch.arange(0, head_dim, 2, device=device).float() / head_dim)
    angles = torch.outer(torch.arange(seq_len, device=device).float(), frequencies)
    return angles.cos(), angles.sin()


class Right_of_x_and_positions(nn.Module):  # noqa: N801
    def __init__(self, dim, max_position_embeddings=64, base=10000.0):
        super().__init__()
        self.register_buffer("inv_freq", 1.0 / base ** (torch.arange(0, dim, 2).float() / dim))

    def forward(self, x, position_ids):
        angles = position_ids[..., None].float() * self.inv_freq
        angles = torch.cat([angles, angles], dim=-1)
        return angles.cos().to(x.dtype), angles.sin().to(x.dtype)


class Right_of_the_length_of_x(nn.Module):  # noqa: N801
    def __init__(self, dim, base=10000.0):
        super().__init__()
        self.dim, self.base = dim, base

    def forward(self, x):
        frequencies = 1.0 / self.base ** (torch.arange(0, self.dim, 2).float() / self.dim)
        angles = torch.outer(torch.arange(x.shape[-2]).float(), frequencies)
        return torch.cat([angles, angles], -1).cos(), torch.cat([angles, angles], -1).sin()


class Wrong_exponent_not_doubled(nn.Module):  # noqa: N801
    def __init__(self, dim, max_position_embeddings=64, base=10000.0):
        super().__init__()
        self.register_buffer("inv_freq", 1.0 / base ** (torch.arange(0, dim // 2).float() / dim))

    def forward(self, x, seq_len):
        angles = torch.outer(torch.arange(seq_len).float(), self.inv_freq)
        return angles.cos(), angles.sin()


class Right_method_of_a_module(nn.Module):  # noqa: N801
    def __init__(self, head_dim, max_seq_len, base=10000.0):
        super().__init__()
        self.max_seq_len = max_seq_len
        self.register_buffer("inv_freq", base ** (-torch.arange(0, head_dim, 2).float() / head_dim), persistent=False)

    def get_cos_sin(self, T, device, pos_offset=0, dtype=None):
        at = torch.arange(pos_offset, pos_offset + T, device=device).float()
        angles = at[:, None] * self.inv_freq
        return angles.cos().to(dtype or torch.float32), angles.sin().to(dtype or torch.float32)


class Wrong_exponent_not_doubled__method_of_a_module(nn.Module):  # noqa: N801
    def __init__(self, head_dim, max_seq_len, base=10000.0):
        super().__init__()
        self.register_buffer("inv_freq", base ** (-torch.arange(head_dim // 2).float() / head_dim), persistent=False)

    def get_cos_sin(self, T, device):
        angles = torch.arange(T, device=device).float()[:, None] * self.inv_freq
        return angles.cos(), angles.sin()
