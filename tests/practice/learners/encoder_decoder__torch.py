import math

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (nn.Linear(width, width, bias=False) for _ in range(4))

    def forward(self, q, k, v, mask):
        split = lambda x: x.view(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)
        q, k, v = split(self.query(q)), split(self.key(k)), split(self.value(v))
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        scores = scores if mask is None else scores.masked_fill(~mask, -1e9)
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


class EncoderLayer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.attention, self.ffn = Attention(width, heads), nn.Sequential(nn.Linear(width, 16), nn.GELU(), nn.Linear(16, width))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))

    def forward(self, x, mask):
        y = self.norms[0](x)
        x = x + self.attention(y, y, y, mask)
        return x + self.ffn(self.norms[1](x))


class DecoderLayer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.attention, self.cross = Attention(width, heads), Attention(width, heads)
        self.ffn = nn.Sequential(nn.Linear(width, 16), nn.GELU(), nn.Linear(16, width))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))

    def forward(self, x, memory, own_mask, memory_mask):
        y = self.norms[0](x)
        x = x + self.attention(y, y, y, own_mask)
        x = x + self.cross(self.norms[1](x), memory, memory, memory_mask)
        return x + self.ffn(self.norms[2](x))


class Positions(nn.Module):
    def __init__(self, width, max_len):
        super().__init__()
        angles = torch.arange(max_len)[:, None] / 10000 ** (torch.arange(0, width, 2) / width)
        self.register_buffer("table", torch.stack([angles.sin(), angles.cos()], -1).flatten(1)[None])

    def forward(self, x):
        return x * math.sqrt(x.shape[-1]) + self.table[:, : x.shape[1]]


class Base(nn.Module):
    def __init__(self, src_vocab, tgt_vocab, d_model, n_heads, n_layers, src_pad_idx, max_len):
        super().__init__()
        self.src_pad_idx = src_pad_idx
        self.src_embed, self.tgt_embed = nn.Embedding(src_vocab, d_model), nn.Embedding(tgt_vocab, d_model)
        self.pos = Positions(d_model, max_len)
        self.encoder_layers = nn.ModuleList(EncoderLayer(d_model, n_heads) for _ in range(n_layers))
        self.decoder_layers = nn.ModuleList(DecoderLayer(d_model, n_heads) for _ in range(n_layers))
        self.encoder_norm, self.decoder_norm = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, tgt_vocab)

    def masks(self, src, tgt):
        return (src != self.src_pad_idx)[:, None, None], torch.ones(tgt.shape[1], tgt.shape[1]).tril().bool()

    def encoder(self, src, src_mask):
        x = self.pos(self.src_embed(src))
        for layer in self.encoder_layers:
            x = layer(x, src_mask)
        return self.encoder_norm(x)

    def decoder(self, tgt, memory, tgt_mask, src_mask):
        x = self.pos(self.tgt_embed(tgt))
        for layer in self.decoder_layers:
            x = layer(x, memory, tgt_mask, src_mask)
        return self.head(self.decoder_norm(x))


class Right_masks_from_ids(Base):
    def forward(self, src, tgt):
        src_mask, tgt_mask = self.masks(src, tgt)
        return self.decoder(tgt, self.encoder(src, src_mask), tgt_mask, src_mask)


class Right_masks_given(Base):
    def forward(self, src, tgt, src_mask, tgt_mask):
        return self.decoder(tgt, self.encoder(src, src_mask), tgt_mask, src_mask).log_softmax(-1)


class Right_masks_given_as_hidden_keys(Base):
    def forward(self, src, tgt, src_mask=None, tgt_mask=None, src_tgt_mask=None):
        src_mask, src_tgt_mask = (each if each is None else ~each[:, None, None] for each in (src_mask, src_tgt_mask))
        tgt_mask = tgt_mask if tgt_mask is None else ~tgt_mask
        return self.decoder(tgt, self.encoder(src, src_mask), tgt_mask, src_tgt_mask)


class Right_methods(Base):
    def encode(self, src, src_mask):
        return self.encoder(src, src_mask)

    def decode(self, encoder_output, src_mask, tgt, tgt_mask):
        return self.decoder(tgt, encoder_output, tgt_mask, src_mask)


class wrong_later_targets_seen(Base):
    def forward(self, src, tgt):
        src_mask, _ = self.masks(src, tgt)
        return self.decoder(tgt, self.encoder(src, src_mask), None, src_mask)


class wrong_next_target_seen(Base):
    def masks(self, src, tgt):
        return (src != self.src_pad_idx)[:, None, None], torch.ones(tgt.shape[1], tgt.shape[1]).tril(1).bool()

    def forward(self, src, tgt):
        src_mask, tgt_mask = self.masks(src, tgt)
        return self.decoder(tgt, self.encoder(src, src_mask), tgt_mask, src_mask)


class wrong_padding_seen_by_decoder(Base):
    def forward(self, src, tgt):
        src_mask, tgt_mask = self.masks(src, tgt)
        return self.decoder(tgt, self.encoder(src, src_mask), tgt_mask, None)


class wrong_memory_of_embedding(Base):
    def forward(self, src, tgt):
        src_mask, tgt_mask = self.masks(src, tgt)
        self.encoder(src, src_mask)
        return self.decoder(tgt, self.pos(self.src_embed(src)), tgt_mask, src_mask)


class wrong_memory_of_same_layer(Base):
    def forward(self, src, tgt):
        src_mask, tgt_mask = self.masks(src, tgt)
        x, y = self.pos(self.src_embed(src)), self.pos(self.tgt_embed(tgt))
        for encode, decode in zip(self.encoder_layers, self.decoder_layers, strict=True):
            x = encode(x, src_mask)
            y = decode(y, x, tgt_mask, src_mask)
        return self.head(self.decoder_norm(y))


class wrong_target_positions_missing(Base):
    def decoder(self, tgt, memory, tgt_mask, src_mask):
        x = self.tgt_embed(tgt) * math.sqrt(self.tgt_embed.embedding_dim)
        for layer in self.decoder_layers:
            x = layer(x, memory, tgt_mask, src_mask)
        return self.head(self.decoder_norm(x))

    def forward(self, src, tgt):
        src_mask, tgt_mask = self.masks(src, tgt)
        return self.decoder(tgt, self.encoder(src, src_mask), tgt_mask, src_mask)


class wrong_only_last_layer__in_decoder(Base):
    def decoder(self, tgt, memory, tgt_mask, src_mask):
        x = self.pos(self.tgt_embed(tgt))
        for layer in self.decoder_layers:
            y = layer(x, memory, tgt_mask, src_mask)
        return self.head(self.decoder_norm(y))

    def forward(self, src, tgt):
        src_mask, tgt_mask = self.masks(src, tgt)
        return self.decoder(tgt, self.encoder(src, src_mask), tgt_mask, src_mask)


class Right_drops_the_last_target(Base):
    def forward(self, src, tgt):
        tgt = tgt[:, :-1]
        src_mask, tgt_mask = self.masks(src, tgt)
        return self.decoder(tgt, self.encoder(src, src_mask), tgt_mask, src_mask)
