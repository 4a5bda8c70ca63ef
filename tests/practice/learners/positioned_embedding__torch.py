import math

import torch
from torch import nn


def waves(length, width):
    place = torch.arange(length).unsqueeze(1)
    rate = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
    table = torch.zeros(length, width)
    table[:, 0::2] = torch.sin(place * rate)
    table[:, 1::2] = torch.cos(place * rate)
    return table


class Right_plain(nn.Module):  # noqa: N801
    def __init__(self, vocab_size, d_model, max_len=64):
        super().__init__()
        self.token = nn.Embedding(vocab_size, d_model)
        self.register_buffer("pe", waves(max_len, d_model))

    def forward(self, x):
        return self.token(x) + self.pe[: x.size(1)]


class Right_scaled(nn.Module):  # noqa: N801
    def __init__(self, d_model, vocab_len, pad_index, dropout_rate=0.1):
        super().__init__()
        self.d_model = d_model
        self.embedding = nn.Embedding(vocab_len, d_model, padding_idx=pad_index)
        self.dropout = nn.Dropout(dropout_rate)

    def forward(self, x):
        return self.dropout(self.embedding(x) * math.sqrt(self.d_model) + waves(x.size(1), self.d_model))


class Right_sequence_first(nn.Module):  # noqa: N801
    def __init__(self, d_model, n_vocab, max_len=64):
        super().__init__()
        self.linear = nn.Embedding(n_vocab, d_model)
        self.register_buffer("pe", waves(max_len, d_model)[:, None])

    def forward(self, x):  # (seq_len, batch)
        return self.linear(x) + self.pe[: x.shape[0]]


class Wrong_positions_not_added(nn.Module):  # noqa: N801
    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.token = nn.Embedding(vocab_size, d_model)

    def forward(self, x):
        return self.token(x)


class Wrong_multiplied_with_x(nn.Module):  # noqa: N801
    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.token = nn.Embedding(vocab_size, d_model)

    def forward(self, x):
        rows = self.token(x)
        return rows * waves(rows.size(1), rows.size(2))


class Wrong_sines_then_cosines(nn.Module):  # noqa: N801
    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.token = nn.Embedding(vocab_size, d_model)

    def forward(self, x):
        rows = self.token(x)
        table = waves(rows.size(1), rows.size(2))
        return rows + torch.cat([table[:, 0::2], table[:, 1::2]], dim=1)


class Wrong_row_zero_is_zeros(nn.Module):  # noqa: N801
    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.token = nn.Embedding(vocab_size, d_model)

    def forward(self, x):
        rows = self.token(x) * (x != 0)[..., None]
        return rows + waves(rows.size(1), rows.size(2))


class Right_of_one_length(nn.Module):
    def __init__(self, vocab_size, sequence_length, width):
        super().__init__()
        self.rows = nn.Parameter(torch.randn(vocab_size, width))
        place = torch.arange(sequence_length)[:, None] / 10000 ** (torch.arange(0, width, 2) / width)
        self.waves = torch.stack([place.sin(), place.cos()], dim=2).reshape(sequence_length, width)

    def forward(self, ids):
        return self.rows[ids] + self.waves
