# ruff: noqa: N801, N806
import torch
from torch import nn


class Right_token_and_position(nn.Module):
    def __init__(self, vocab_size, block_size, n_embd, dropout=0.1):
        super().__init__()
        self.wte = nn.Embedding(vocab_size, n_embd)
        self.wpe = nn.Embedding(block_size, n_embd)
        self.drop = nn.Dropout(dropout)

    def forward(self, idx):
        _, T = idx.shape
        return self.drop(self.wte(idx) + self.wpe(torch.arange(T, device=idx.device)))


class Right_parameter(nn.Module):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.pos_embedding = nn.Parameter(torch.randn(1, max_len, d_model) * 0.02)

    def forward(self, x):
        return x + self.pos_embedding[:, : x.size(1)]


class Wrong_position_along_batch(nn.Module):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.pos = nn.Embedding(max_len, d_model)

    def forward(self, x):
        rows = self.pos(torch.arange(x.size(0)))
        return x + (rows[:, None] if x.dim() == 3 else rows)


class Wrong_token_ids_as_positions(nn.Module):
    def __init__(self, vocab_size, max_len, d_model):
        super().__init__()
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_len, d_model)

    def forward(self, tokens):
        return self.token_embedding(tokens) + self.position_embedding(tokens)


def wrong_counted_from_one(x, table):
    return x + table[torch.arange(1, x.shape[-2] + 1)]


class Right_ids_as_x(nn.Module):
    def __init__(self, maxlen, vocab_size, embed_dim):
        super().__init__()
        self.token_emb = nn.Embedding(vocab_size, embed_dim)
        self.pos_emb = nn.Embedding(maxlen, embed_dim)

    def forward(self, x):
        return self.token_emb(x) + self.pos_emb(torch.arange(x.shape[-1]))


class Right_table_with_batch_axis(nn.Module):
    def __init__(self, d_model, max_seq_length=5000, dropout=0.1):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.encoding = nn.Parameter(torch.randn(1, max_seq_length, d_model))

    def forward(self, x):
        return self.dropout(x + self.encoding[:, : x.size(1), :])


class Right_sinusoidal_if_asked(nn.Module):
    def __init__(self, vocab_size, d_model, max_positions, use_sinusoidal=False):
        super().__init__()
        self.tokens, self.d_model = nn.Embedding(vocab_size, d_model), d_model
        self.use_sinusoidal = use_sinusoidal
        if use_sinusoidal:
            angles = torch.arange(max_positions).unsqueeze(1) / 10000 ** (torch.arange(0, d_model, 2) / d_model)
            self.register_buffer("waves", torch.stack([torch.sin(angles), torch.cos(angles)], dim=-1).flatten(1))
        else:
            self.positions = nn.Embedding(max_positions, d_model)

    def forward(self, ids):
        x = self.tokens(ids) * self.d_model**0.5
        if self.use_sinusoidal:
            return x + self.waves[: ids.size(-1)]
        return x + self.positions(torch.arange(ids.size(-1)))


class Right_of_positions(nn.Module):
    def __init__(self, T_max: int, d_model: int):
        super().__init__()
        self.table = nn.Embedding(T_max, d_model)

    def forward(self, positions):
        return self.table(positions)


class Right_of_one_length(nn.Module):
    """As in a vision transformer: every image has as many patches."""

    def __init__(self, num_tokens, d_model):
        super().__init__()
        self.positions = nn.Parameter(0.02 * torch.randn(1, num_tokens, d_model))

    def forward(self, patches):
        return patches + self.positions


class Right_of_patches_and_a_class_token(nn.Module):
    def __init__(self, num_patches, d_model):
        super().__init__()
        self.positions = nn.Parameter(0.02 * torch.randn(num_patches + 1, d_model))

    def forward(self, x):
        return x + self.positions
