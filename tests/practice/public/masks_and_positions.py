"""Masks of features, one-hot vectors and ids, positions of a given shape or with an axis for the batch: programs in conventions of public code."""

from __future__ import annotations

from tests.practice.public.program import Program

PROGRAMS = (
    Program(
        "get_non_pad_mask",
        "padding_mask",
        """
import torch

def get_non_pad_mask(ids, pad_id=None):
    assert pad_id is not None and ids.dim() == 2
    return ids.ne(pad_id).float()[:, :, None]
""",
        (("ids.ne(pad_id)", "ids.eq(pad_id)"), ("ids.ne(pad_id)", "ids.gt(pad_id)"), ("[:, :, None]", "[:, None, :, None]")),
    ),
    Program(
        "frame_padding_mask",
        "padding_mask",
        """
import torch

def frame_padding_mask(padded_input, input_lengths, expand_length):
    hidden = padded_input.new_zeros(padded_input.size()[:-1])
    for row, length in enumerate(input_lengths):
        hidden[row, int(length):] = 1
    return hidden.eq(1)[:, None].expand(-1, expand_length, -1)
""",
        (("int(length):", "int(length) + 1:"), (":] = 1", ":] = 0"), ("hidden[row", "hidden[0")),
    ),
    Program(
        "make_padding_mask",
        "padding_mask",
        """
import torch

def make_padding_mask(src, rows=1, letters=2):
    return (src.abs().sum(letters) > 0).unsqueeze(rows)
""",
        (("sum(letters) > 0", "sum(letters) >= 0"), ("sum(letters) > 0", "select(letters, 3) > 0"), (".unsqueeze(rows)", ".unsqueeze(-1)")),
    ),
    Program(
        "make_target_mask",
        "causal_mask",
        """
import torch

def make_target_mask(trg_token_ids_batch, pad_tok_id):
    length = trg_token_ids_batch.shape[1]
    is_real = (trg_token_ids_batch != pad_tok_id)[:, None, None]
    return is_real & torch.ones(1, 1, length, length).tril().bool()
""",
        (("!= pad_tok_id", "== pad_tok_id"), (".tril()", ".triu()"), ("is_real & ", "is_real | "), (".tril()", ".tril(1)")),
    ),
    Program(
        "causal_mask_of_letters",
        "causal_mask",
        """
import torch

def causal_mask_of_letters(tgt, rows=1, letters=2):
    is_real = (tgt.sum(letters) != 0).unsqueeze(rows)
    length = tgt.size(rows)
    return is_real & torch.tril(torch.ones(1, length, length)).bool()
""",
        (("torch.tril", "torch.triu"), ("torch.tril(torch.ones(1, length, length))", "torch.ones(1, length, length)")),
    ),
    Program(
        "PositionalEncoding",
        "sinusoidal_positions",
        """
import math
import torch
from torch import nn

class PositionalEncoding(nn.Module):
    def __init__(self, shape, device):
        super().__init__()
        _, length, width = shape
        frequencies = torch.exp(torch.arange(0, width, 2, device=device) * (-math.log(10000.0) / width))
        angles = torch.arange(length, device=device)[:, None] * frequencies
        self.register_buffer("table", torch.stack([angles.sin(), angles.cos()], -1).flatten(1))

    def forward(self, x):
        return x + self.table[: x.shape[1]]
""",
        (("[angles.sin(), angles.cos()]", "[angles.cos(), angles.sin()]"), ("/ width))", "/ length))"), ("10000.0", "1000.0")),
    ),
    Program(
        "PositionTable",
        "sinusoidal_positions",
        """
import math
import torch
from torch import nn

class PositionTable(nn.Module):
    def __init__(self, width, most=100):
        super().__init__()
        angles = torch.arange(most)[:, None] * torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
        table = torch.zeros(most, 1, width)
        table[:, 0, 0::2], table[:, 0, 1::2] = angles.sin(), angles.cos()
        self.register_buffer("table", table)

    def forward(self, x):
        return x + self.table[: x.size(0)]
""",
        (
            ("def forward(self, x):", "def forward(self, x):  # (batch, seq_len, width)"),
            ("from torch import nn", "from torch import nn\n\nstack = nn.TransformerEncoderLayer(8, 2, batch_first=True)"),
            ("self.table[: x.size(0)]", "self.table[1 : 1 + x.size(0)]"),
        ),
    ),
    Program(
        "SinusoidalPositions",
        "sinusoidal_positions",
        """
import torch
from torch import nn

class SinusoidalPositions(nn.Module):
    def __init__(self, width, most=100):
        super().__init__()
        angles = torch.arange(most)[:, None] / 10000 ** (torch.arange(0, width, 2) / width)
        self.register_buffer("rows", torch.stack([angles.sin(), angles.cos()], -1).flatten(1))

    def forward(self, x):
        return x + self.rows[: x.size(0)].unsqueeze(1)
""",
        (("10000 **", "1000 **"), ("[angles.sin(), angles.cos()]", "[angles.sin(), angles.sin()]"), ("x.size(0)].", "x.size(1)].")),
    ),
    Program(
        "sinusoidal_table",
        "sinusoidal_positions",
        """
import torch

def sinusoidal_table(max_position, d_model, n=3):
    columns = torch.arange(d_model)
    angles = torch.arange(max_position).view(-1, 1) / torch.pow(10000, 2 * (columns // 2) / d_model)
    angles[:, 0::2], angles[:, 1::2] = angles[:, 0::2].sin(), angles[:, 1::2].cos()
    return angles.view(*[1] * (n - 2), max_position, d_model)
""",
        (("columns // 2", "columns"), ("10000", "1000"), ("[:, 1::2].cos()", "[:, 1::2].sin()")),
    ),
    Program(
        "AddNorm",
        "residual",
        """
import torch
from torch import nn

class AddNorm(nn.Module):
    def __init__(self, d_model, dropout):
        super().__init__()
        self.dropout, self.norm = nn.Dropout(dropout), nn.LayerNorm(d_model)

    def forward(self, x, change):
        return self.norm(x + self.dropout(change))
""",
        (("x + self", "2 * x + self"), ("x + self", "self"), ("self.norm(x + self.dropout(change))", "x + self.dropout(change)")),
    ),
    Program(
        "SublayerConnection",
        "residual",
        """
import torch
from torch import nn

class SublayerConnection(nn.Module):
    def __init__(self, d_model, dropout):
        super().__init__()
        self.dropout, self.norm = nn.Dropout(dropout), nn.LayerNorm(d_model)

    def forward(self, x, sublayer):
        return self.norm(x + self.dropout(sublayer(x)))
""",
        (("sublayer(x)", "sublayer"),),
    ),
    Program(
        "EncoderBlock",
        "encoder_stack",
        """
import copy
import torch
from torch import nn

class EncoderLayer(nn.Module):
    def __init__(self, attention, feed_forward, d_model=512, dropout_rate=0.1):
        super().__init__()
        self.attention, self.feed_forward, self.dropout = attention, feed_forward, nn.Dropout(dropout_rate)
        self.norm_1, self.norm_2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def forward(self, x, mask=None):
        x = self.norm_1(x + self.dropout(self.attention(x, x, x, mask)))
        return self.norm_2(x + self.dropout(self.feed_forward(x)))

class EncoderBlock(nn.Module):
    def __init__(self, encoder_layer, N=6):
        super().__init__()
        self.encoder_layer = encoder_layer
        self.layers = nn.ModuleList([copy.deepcopy(encoder_layer) for _ in range(N)])

    def forward(self, x, mask):
        for layer in self.layers:
            x = layer(x, mask)
        return x
""",
        (
            ("x = layer(x, mask)", "y = layer(x, mask)"),
            ("x = layer(x, mask)", "x = layer(x, None)"),
            ("in self.layers", "in self.layers[1:]"),
        ),
    ),
    Program(
        "_attention_mask",
        "causal_mask",
        """
import numpy as np

def _attention_mask(seq_len, max_seq_len, cache_index):
    queries, keys = cache_index + np.arange(seq_len), np.arange(max_seq_len)
    return ((keys[None] <= queries[:, None]) & (keys[None] < cache_index + seq_len))[None, None]
""",
        (("keys[None] <= queries", "keys[None] < queries"),),
    ),
    Program(
        "_apply_rope",
        "rotary",
        """
from dataclasses import dataclass
import numpy as np

@dataclass
class Config:
    head_dim: int
    rope_theta: float

def _apply_rope(q, k, position_ids, config: Config):
    rates = config.rope_theta ** (-np.arange(0, config.head_dim, 2) / config.head_dim)
    angles = np.concatenate([position_ids[..., None] * rates] * 2, -1)[:, :, None]

    def turned(x):
        first, second = np.split(x, 2, -1)
        return x * np.cos(angles) + np.concatenate((-second, first), -1) * np.sin(angles)

    return turned(q), turned(k)
""",
        (("(-second, first)", "(second, -first)"),),
    ),
)
