import copy
import math

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))

    def forward(self, q, k, v, mask=None):
        split = lambda x: x.view(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)
        q, k, v = split(self.query(q)), split(self.key(k)), split(self.value(v))
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


class EncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.attention = Attention(d_model, num_heads)
        self.feed_forward = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        x = self.norm1(x + self.dropout(self.attention(x, x, x, mask)))
        return self.norm2(x + self.dropout(self.feed_forward(x)))


class PreNormLayer(EncoderLayer):
    def forward(self, x, mask=None):
        y = self.norm1(x)
        x = x + self.dropout(self.attention(y, y, y, mask))
        return x + self.dropout(self.feed_forward(self.norm2(x)))


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=100):
        super().__init__()
        angles = torch.arange(max_len)[:, None] * torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, d_model)
        pe[:, 0::2], pe[:, 1::2] = torch.sin(angles), torch.cos(angles)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return x + self.pe[: x.size(1)]


class Base(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, max_len):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.positions = PositionalEncoding(d_model, max_len)
        self.layers = nn.ModuleList([EncoderLayer(d_model, num_heads, d_ff) for _ in range(num_layers)])
        self.scale = math.sqrt(d_model)


class Right_post_norm(Base):
    def forward(self, src, src_mask):
        x = self.positions(self.embedding(src) * self.scale)
        for layer in self.layers:
            x = layer(x, src_mask)
        return x


class Right_post_norm_with_a_norm_that_is_not_used(Right_post_norm):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, max_len):
        super().__init__(vocab_size, d_model, num_layers, num_heads, d_ff, max_len)
        self.norm = nn.LayerNorm(d_model)


class Right_learned_positions_and_final_norm(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, max_len):
        super().__init__()
        self.tokens, self.position = nn.Embedding(vocab_size, d_model), nn.Embedding(max_len, d_model)
        self.layers = nn.ModuleList([EncoderLayer(d_model, num_heads, d_ff) for _ in range(num_layers)])
        self.final_norm = nn.LayerNorm(d_model, eps=1e-6)

    def forward(self, ids, mask=None):
        x = self.tokens(ids) + self.position(torch.arange(ids.shape[1]))
        maps = []
        for layer in self.layers:
            x = layer(x, mask)
            maps.append(x)
        return self.final_norm(x), maps


class Right_of_vectors(nn.Module):
    def __init__(self, layer, n):
        super().__init__()
        self.layers = nn.ModuleList([copy.deepcopy(layer) for _ in range(n)])
        self.norm = nn.LayerNorm(8)

    def forward(self, x, mask):
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)


def build_encoder(d_model, num_heads, d_ff, num_layers):
    return Right_of_vectors(EncoderLayer(d_model, num_heads, d_ff), num_layers)


class Right_sequence_first(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, max_len):
        super().__init__()
        self.embedding, self.pos = nn.Embedding(vocab_size, d_model), nn.Parameter(torch.randn(max_len, 1, d_model))
        self.layers = nn.ModuleList([nn.TransformerEncoderLayer(d_model, num_heads, d_ff) for _ in range(num_layers)])

    def forward(self, src, src_key_padding_mask=None):
        x = self.embedding(src) + self.pos[: len(src)]
        for layer in self.layers:
            x = layer(x, src_key_padding_mask=src_key_padding_mask)
        return x


class wrong_only_last_layer(Base):
    def forward(self, src, src_mask):
        x = self.positions(self.embedding(src) * self.scale)
        for layer in self.layers:
            y = layer(x, src_mask)
        return y


class wrong_first_layer_repeated(Base):
    def forward(self, src, src_mask):
        x = self.positions(self.embedding(src) * self.scale)
        for _ in self.layers:
            x = self.layers[0](x, src_mask)
        return x


class wrong_layers_shared(Base):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, max_len):
        super().__init__(vocab_size, d_model, num_layers, num_heads, d_ff, max_len)
        self.layers = nn.ModuleList([EncoderLayer(d_model, num_heads, d_ff)] * num_layers)

    def forward(self, src, src_mask):
        x = self.positions(self.embedding(src) * self.scale)
        for layer in self.layers:
            x = layer(x, src_mask)
        return x


class wrong_positions_missing(Base):
    def forward(self, src, src_mask):
        x = self.embedding(src) * self.scale
        for layer in self.layers:
            x = layer(x, src_mask)
        return x


class wrong_positions_by_batch(Base):
    def forward(self, src, src_mask):
        x = self.positions((self.embedding(src) * self.scale).transpose(0, 1)).transpose(0, 1)
        for layer in self.layers:
            x = layer(x, src_mask)
        return x


class wrong_residual_around_layers(Base):
    def forward(self, src, src_mask):
        x = self.positions(self.embedding(src) * self.scale)
        for layer in self.layers:
            x = x + layer(x, src_mask)
        return x


class wrong_mask_ignored(Base):
    def forward(self, src, src_mask):
        x = self.positions(self.embedding(src) * self.scale)
        for layer in self.layers:
            x = layer(x)
        return x


class wrong_last_norm_missing(Base):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, max_len):
        super().__init__(vocab_size, d_model, num_layers, num_heads, d_ff, max_len)
        self.layers = nn.ModuleList([PreNormLayer(d_model, num_heads, d_ff) for _ in range(num_layers)])
        self.norm = nn.LayerNorm(d_model)

    def forward(self, src, src_mask):
        x = self.positions(self.embedding(src) * self.scale)
        for layer in self.layers:
            x = layer(x, src_mask)
        self.norm(x)
        return x


class Right_encoder_of_copies(nn.Module):
    def __init__(self, encoder_layer, num_of_layers):
        super().__init__()
        self.encoder_stack = nn.ModuleList(copy.deepcopy(encoder_layer) for _ in range(num_of_layers))

    def forward(self, src, src_mask):
        for layer in self.encoder_stack:
            src = layer(src, src_mask)
        return src


class Wrong_last_layer_skipped__of_copies(nn.Module):
    def __init__(self, encoder_layer, num_of_layers):
        super().__init__()
        self.encoder_stack = nn.ModuleList(copy.deepcopy(encoder_layer) for _ in range(num_of_layers))

    def forward(self, src, src_mask):
        for layer in self.encoder_stack[:-1]:
            src = layer(src, src_mask)
        return src


class WholeModel(nn.Module):
    def __init__(self, model_dim, num_of_layers, attn_heads, ffn_dim):
        super().__init__()
        layer = EncoderLayer(model_dim, attn_heads, ffn_dim)
        self.encoder = Right_encoder_of_copies(layer, num_of_layers)
        self.other = Wrong_last_layer_skipped__of_copies(layer, num_of_layers)

    def forward(self, src, src_mask):
        return self.encoder(src, src_mask)
