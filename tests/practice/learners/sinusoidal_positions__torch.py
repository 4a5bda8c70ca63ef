# ruff: noqa: N806

import math

import torch
from torch import nn


def right_annotated(max_len, d_model):
    pe = torch.zeros(max_len, d_model)
    position = torch.arange(0, max_len).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, d_model, 2) * -(math.log(10000.0) / d_model))
    pe[:, 0::2] = torch.sin(position * div_term)
    pe[:, 1::2] = torch.cos(position * div_term)
    return pe.unsqueeze(0)


def right_sequence_axis_first(max_len, d_model):
    position = torch.arange(max_len).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
    pe = torch.zeros(max_len, 1, d_model)
    pe[:, 0, 0::2] = torch.sin(position * div_term)
    pe[:, 0, 1::2] = torch.cos(position * div_term)
    return pe


def right_double_precision(seq_len, dim):
    pos = torch.arange(seq_len, dtype=torch.float64)[:, None]
    i = torch.arange(dim, dtype=torch.float64)[None]
    angle = pos / 10000 ** (2 * (i // 2) / dim)
    return torch.where(i.long() % 2 == 0, angle.sin(), angle.cos())


def right_scaled_x(x):
    L, d = x.shape[-2:]
    pe = torch.zeros(L, d)
    angles = torch.arange(L)[:, None] / 10000 ** (torch.arange(0, d, 2) / d)
    pe[:, 0::2], pe[:, 1::2] = angles.sin(), angles.cos()
    return x * math.sqrt(d) + pe


def wrong_sines_then_cosines(seq_len, d_model):
    freqs = torch.exp(-math.log(10000.0) * torch.arange(0, d_model, 2) / d_model)
    angles = torch.outer(torch.arange(seq_len).float(), freqs)
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


def wrong_logarithm_rounded(max_len, d_model):
    pe = torch.zeros(max_len, d_model)
    div_term = torch.exp(torch.arange(0, d_model, 2) * -(math.log(10000.0) // d_model))
    pe[:, 0::2] = torch.sin(torch.arange(max_len).unsqueeze(1) * div_term)
    pe[:, 1::2] = torch.cos(torch.arange(max_len).unsqueeze(1) * div_term)
    return pe


def wrong_base(max_len, d_model):
    pe = torch.zeros(max_len, d_model)
    div_term = torch.exp(torch.arange(0, d_model, 2) * -(math.log(1000.0) / d_model))
    pe[:, 0::2] = torch.sin(torch.arange(max_len).unsqueeze(1) * div_term)
    pe[:, 1::2] = torch.cos(torch.arange(max_len).unsqueeze(1) * div_term)
    return pe


class Right_annotated(nn.Module):
    "Implement the PE function."

    def __init__(self, d_model, dropout, max_len=5000):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        pe = torch.zeros(max_len, d_model)
        position = torch.arange(0, max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * -(math.log(10000.0) / d_model))
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe.unsqueeze(0))

    def forward(self, x):
        return self.dropout(x + self.pe[:, : x.size(1)].requires_grad_(False))


class Right_sequence_first(nn.Module):
    def __init__(self, d_model: int, dropout: float = 0.1, max_len: int = 5000):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, 1, d_model)
        pe[:, 0, 0::2] = torch.sin(position * div_term)
        pe[:, 0, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, x):
        """
        Arguments:
            x: Tensor, shape ``[seq_len, batch_size, embedding_dim]``
        """
        return self.dropout(x + self.pe[: x.size(0)])


class Right_returns_the_table(nn.Module):
    def __init__(self, d_model, max_len, device="cpu"):
        super().__init__()
        self.encoding = torch.zeros(max_len, d_model, device=device)
        self.encoding.requires_grad = False
        pos = torch.arange(0, max_len, device=device).float().unsqueeze(dim=1)
        _2i = torch.arange(0, d_model, step=2, device=device).float()
        self.encoding[:, 0::2] = torch.sin(pos / (10000 ** (_2i / d_model)))
        self.encoding[:, 1::2] = torch.cos(pos / (10000 ** (_2i / d_model)))

    def forward(self, x):
        _, seq_len, _ = x.size()
        return self.encoding[:seq_len, :]


class Wrong_position_along_batch(nn.Module):
    def __init__(self, d_model, max_len=100):
        super().__init__()
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, 1, d_model)
        pe[:, 0, 0::2] = torch.sin(position * div_term)
        pe[:, 0, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, x):  # (batch, seq_len, d_model)
        return x + self.pe[: x.size(0)]


class Wrong_exponent_by_column_doubled(nn.Module):
    def __init__(self, d_model, max_seq_len=80):
        super().__init__()
        self.d_model = d_model
        pe = torch.zeros(max_seq_len, d_model)
        for pos in range(max_seq_len):
            for i in range(0, d_model, 2):
                pe[pos, i] = math.sin(pos / (10000 ** ((2 * i) / d_model)))
                pe[pos, i + 1] = math.cos(pos / (10000 ** ((2 * (i + 1)) / d_model)))
        self.register_buffer("pe", pe.unsqueeze(0))

    def forward(self, x):
        x = x * math.sqrt(self.d_model)
        return x + self.pe[:, : x.size(1)]


def right_halves_with_inclusive_exponents(length, channels, max_timescale=10000):
    rates = torch.exp(-math.log(max_timescale) / (channels // 2 - 1) * torch.arange(channels // 2))
    angles = torch.arange(length).unsqueeze(1) * rates
    return torch.cat([angles.sin(), angles.cos()], dim=1)
