"""Stacks of layers that they are given, next to a number of copies, and translators whose sides start with a norm."""

from __future__ import annotations

from tests.practice.public.program import Program

GIVEN_LAYER = """
import copy
import torch
from torch import nn

class CrossLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.own = nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.other = nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.norms = nn.ModuleList([nn.LayerNorm(d_model) for _ in range(3)])

    def forward(self, x, memory, hidden=None):
        x = self.norms[0](x + self.own(x, x, x, attn_mask=hidden)[0])
        x = self.norms[1](x + self.other(x, memory, memory)[0])
        return self.norms[2](x + self.mlp(x))

class DecoderLayer(CrossLayer):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__(d_model, n_heads, d_ff)
        self.width = d_model

    def forward(self, x, memory, tgt_mask=None):
        return super().forward(x, memory, tgt_mask)

class Decoder(nn.Module):
    def __init__(self, layer, num_layers):
        super().__init__()
        self.stages = nn.ModuleList([copy.deepcopy(layer) for _ in range(num_layers)])
        self.final = nn.LayerNorm(layer.width)

    def forward(self, x, memory, tgt_mask=None):
        for stage in self.stages:
            x = stage(x, memory, tgt_mask)
        return self.final(x)
"""

NUMBERED = """
import copy
import torch
from torch import nn

class Skip(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)

    def forward(self, x, part):
        return x + part(self.norm(x))

class DecoderLayer(nn.Module):
    def __init__(self, size, atten1, atten2, feedforward):
        super().__init__()
        self.first, self.second, self.third = (Skip(size) for _ in range(3))
        self.masked = atten1
        self.crossed = atten2
        self.ff = feedforward

    def forward(self, x, memory, source_mask, target_mask):
        x = self.first(x, lambda y: self.masked(y, y, y, target_mask))
        x = self.second(x, lambda y: self.crossed(y, memory, memory, source_mask))
        return self.third(x, self.ff)
"""

NORMED_SIDES = """
import torch
from torch import nn

class Rows(nn.Module):
    def __init__(self, width, length=100):
        super().__init__()
        self.register_buffer("rows", self._waves(length, width))

    def _waves(self, length, width):
        angles = torch.arange(length)[:, None] / 10000 ** (torch.arange(0, width, 2) / width)
        return torch.stack([torch.sin(angles), torch.cos(angles)], dim=-1).flatten(1)

    def forward(self, x):
        return x + self.rows[: x.size(1)]

class Attend(nn.Module):
    def __init__(self, heads, width):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))

    def forward(self, q, k, v, mask):
        q, k, v = (f(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for f, x in ((self.q, q), (self.k, k), (self.v, v)))
        scores = (q @ k.transpose(-2, -1) / q.size(-1) ** 0.5).masked_fill(mask.unsqueeze(1) == 0, -1e9)
        return self.o((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))

class Wide(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.up, self.down = nn.Linear(width, inner), nn.Linear(inner, width)

    def forward(self, x):
        return self.down(torch.relu(self.up(x)))

class SourceLayer(nn.Module):
    def __init__(self, d_model, d_inner, n_head):
        super().__init__()
        self.attn, self.ffn = Attend(n_head, d_model), Wide(d_model, d_inner)
        self.n1, self.n2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def forward(self, x, mask):
        x = self.n1(x + self.attn(x, x, x, mask))
        return self.n2(x + self.ffn(x))

class TargetLayer(nn.Module):
    def __init__(self, d_model, d_inner, n_head):
        super().__init__()
        self.attn, self.cross_attn, self.ffn = Attend(n_head, d_model), Attend(n_head, d_model), Wide(d_model, d_inner)
        self.n1, self.n2, self.n3 = nn.LayerNorm(d_model), nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def forward(self, x, memory, own_mask, source_mask):
        x = self.n1(x + self.attn(x, x, x, own_mask))
        x = self.n2(x + self.cross_attn(x, memory, memory, source_mask))
        return self.n3(x + self.ffn(x))

class Encoder(nn.Module):
    def __init__(self, n_src_vocab, d_word_vec, n_layers, n_head, d_model, d_inner, pad_idx):
        super().__init__()
        self.words = nn.Embedding(n_src_vocab, d_word_vec, padding_idx=pad_idx)
        self.position_enc = Rows(d_word_vec)
        self.layers = nn.ModuleList([SourceLayer(d_model, d_inner, n_head) for _ in range(n_layers)])
        self.layer_norm = nn.LayerNorm(d_model)

    def forward(self, src_seq, src_mask):
        x = self.layer_norm(self.position_enc(self.words(src_seq)))
        for layer in self.layers:
            x = layer(x, src_mask)
        return x

class Decoder(nn.Module):
    def __init__(self, n_trg_vocab, d_word_vec, n_layers, n_head, d_model, d_inner, pad_idx):
        super().__init__()
        self.words = nn.Embedding(n_trg_vocab, d_word_vec, padding_idx=pad_idx)
        self.position_enc = Rows(d_word_vec)
        self.layers = nn.ModuleList([TargetLayer(d_model, d_inner, n_head) for _ in range(n_layers)])
        self.layer_norm = nn.LayerNorm(d_model)

    def forward(self, trg_seq, trg_mask, enc_output, src_mask):
        x = self.layer_norm(self.position_enc(self.words(trg_seq)))
        for layer in self.layers:
            x = layer(x, enc_output, trg_mask, src_mask)
        return x

class Transformer(nn.Module):
    def __init__(self, n_src_vocab, n_trg_vocab, pad_idx, d_word_vec=256, d_model=256, d_inner=512, n_layers=2, n_head=4):
        super().__init__()
        assert d_word_vec == d_model
        self.pad_idx, self.d_model = pad_idx, d_model
        self.encoder = Encoder(n_src_vocab, d_word_vec, n_layers, n_head, d_model, d_inner, pad_idx)
        self.decoder = Decoder(n_trg_vocab, d_word_vec, n_layers, n_head, d_model, d_inner, pad_idx)
        self.to_words = nn.Linear(d_model, n_trg_vocab, bias=False)
        self.to_words.weight = self.decoder.words.weight
        self.encoder.words.weight = self.decoder.words.weight

    def forward(self, src_seq, trg_seq):
        src_mask = (src_seq != self.pad_idx).unsqueeze(1)
        length = trg_seq.size(1)
        earlier = torch.tril(torch.ones(1, length, length, dtype=torch.bool, device=trg_seq.device))
        trg_mask = (trg_seq != self.pad_idx).unsqueeze(1) & earlier
        memory = self.encoder(src_seq, src_mask)
        logits = self.to_words(self.decoder(trg_seq, trg_mask, memory, src_mask))
        return logits * self.d_model ** -0.5
"""

PARTLY_ROTATED = """
import torch
from torch import nn
from dataclasses import dataclass

@dataclass
class Settings:
    hidden_size: int = 48
    num_attention_heads: int = 4
    use_rotary: bool = True
    rotary_dim: int | None = None

class Turn(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.register_buffer("speeds", 10000.0 ** (-torch.arange(0, dim, 2) / dim))

    def forward(self, x):
        angles = torch.arange(x.shape[-2])[:, None] * self.speeds
        a, b = x.chunk(2, dim=-1)
        return torch.cat([a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()], dim=-1)

class CausalSelfAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads = config.num_attention_heads
        self.head_dim = config.hidden_size // self.heads
        self.rotary_dim = config.rotary_dim or self.head_dim
        assert self.rotary_dim <= self.head_dim, "rotates more than a head"
        self.turn = Turn(self.rotary_dim) if config.use_rotary else nn.Identity()
        self.qkv = nn.Linear(config.hidden_size, 3 * config.hidden_size)
        self.out = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1))
        mixed = nn.functional.scaled_dot_product_attention(self.turn(q), self.turn(k), v, is_causal=True)
        return self.out(mixed.transpose(1, 2).flatten(2))

class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(config.hidden_size), nn.LayerNorm(config.hidden_size)
        self.attention = CausalSelfAttention(config)
        self.mlp = nn.Sequential(
            nn.Linear(config.hidden_size, 4 * config.hidden_size), nn.GELU(), nn.Linear(4 * config.hidden_size, config.hidden_size)
        )

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))
"""

PROGRAMS = (
    Program("Block", "transformer_block", PARTLY_ROTATED),
    Program("Decoder", "decoder_stack", GIVEN_LAYER, (("x = stage(x, memory", "y = stage(x, memory"),)),
    Program("DecoderLayer", "decoder_layer", NUMBERED, (("self.crossed(y, memory, memory", "self.crossed(y, memory, y"),)),
    Program(
        "Transformer", "encoder_decoder", NORMED_SIDES, (("trg_mask, memory, src_mask", "trg_mask, self.encoder.words(src_seq), src_mask"),)
    ),
    Program("Encoder", "encoder_stack", NORMED_SIDES.replace("class Transformer", "class Translator")),
)
