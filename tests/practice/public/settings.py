"""Programs that read more than sizes from their config, or state a convention in their code, with mistakes as replacements in their text."""

from __future__ import annotations

from tests.practice.public.program import Program

SPREAD = """
import torch
from torch import nn

class Attention(nn.Module):
    def __init__(self, d_model: int, num_heads: int = 8):
        super().__init__()
        self.num_heads, self.root = num_heads, (d_model // num_heads) ** 0.5
        self.to_q, self.to_k, self.to_v = (nn.Linear(d_model, d_model, bias=False) for _ in range(3))
        self.to_o, self.layernorm = nn.Linear(d_model, d_model), nn.LayerNorm(d_model)

    def forward(self, q, k, v, mask=None):
        heads = [to(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for to, x in ((self.to_q, q), (self.to_k, k), (self.to_v, v))]
        scores = heads[0] @ heads[1].mT / self.root
        if mask is not None:
            scores = scores + (1 - mask[:, None]) * -1e9
        return self.layernorm(q + self.to_o((scores.softmax(-1) @ heads[2]).transpose(1, 2).flatten(2)))

class Intermediate(nn.Module):
    def __init__(self, d_model: int, d_intermediate: int, dropout: float = 0.1):
        super().__init__()
        self.up, self.down = nn.Linear(d_model, d_intermediate), nn.Linear(d_intermediate, d_model)
        self.dropout, self.layernorm = nn.Dropout(dropout), nn.LayerNorm(d_model)

    def forward(self, x):
        return self.layernorm(x + self.dropout(self.down(torch.relu(self.up(x)))))

class EncoderLayer(nn.Module):
    def __init__(self, of_attention: dict, of_intermediate: dict):
        super().__init__()
        self.attention, self.intermediate = Attention(**of_attention), Intermediate(**of_intermediate)

    def forward(self, x, mask=None):
        return self.intermediate(self.attention(x, x, x, mask))

class DecoderLayer(nn.Module):
    def __init__(self, of_attention: dict, of_intermediate: dict):
        super().__init__()
        self.enc_attention = Attention(**of_attention)
        self.self_attention = Attention(**of_attention)
        self.intermediate = Intermediate(**of_intermediate)

    def forward(self, x, encoder_output, cross_attention_mask=None, self_attention_mask=None):
        x = self.self_attention(x, x, x, self_attention_mask)
        x = self.enc_attention(x, encoder_output, encoder_output, cross_attention_mask)
        return self.intermediate(x)
"""

PROGRAMS = (
    Program(
        "EncoderLayer", "encoder_layer", SPREAD, (("x + self.dropout(self.down", "self.dropout(self.down"), ("/ self.root", "* self.root"))
    ),
    Program(
        "DecoderLayer", "decoder_layer", SPREAD, (("scores.softmax(-1)", "scores.softmax(-2)"), ("return self.intermediate(x)", "return x"))
    ),
    Program(
        "DotProductAttention",
        "scaled_dot_product_attention",
        """
import torch
from torch import nn

class DotProductAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.divisor = config.scale

    def forward(self, q, k, v, mask):
        scores = torch.matmul(q, k.transpose(-1, -2)) / self.divisor
        if mask is not None:
            scores = scores.masked_fill(mask, -1e9)
        return torch.matmul(scores.softmax(-1), v)
""",
        (("softmax(-1)", "softmax(-2)"), ("k.transpose(-1, -2)", "k.transpose(-1, -2) * 2")),
    ),
    Program(
        "FeedForward",
        "feed_forward",
        """
import torch
from torch import nn
import torch.nn.functional as F

KINDS = {"gelu": F.gelu, "relu": F.relu}

class FeedForward(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.up = nn.Linear(config.d_model, config.d_ff)
        self.down = nn.Linear(config.d_ff, config.d_model)
        self.kind = config.activation

    def forward(self, x):
        return self.down(KINDS[self.kind](self.up(x)))
""",
        (("self.down(KINDS[self.kind](self.up(x)))", "KINDS[self.kind](self.down(self.up(x)))"),),
    ),
    Program(
        "FeedForward",
        "feed_forward",
        """
from torch import nn

class FeedForward(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.widen = nn.Linear(config.d_model, config.d_ff)
        self.narrow = nn.Linear(config.d_ff, config.d_model)
        self.bend = getattr(nn, config.activation)()

    def forward(self, x):
        return self.narrow(self.bend(self.widen(x)))
""",
        (("self.narrow(self.bend(self.widen(x)))", "self.bend(self.narrow(self.widen(x)))"),),
    ),
    Program(
        "CausalSelfAttention",
        "causal_self_attention",
        """
import torch
from torch import nn
import torch.nn.functional as F

class CausalSelfAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))

    def forward(self, x, mask=None):
        batch, length, width = x.shape
        q, k, v = (each(x).view(batch, length, self.n_heads, -1).transpose(1, 2) for each in (self.wq, self.wk, self.wv))
        is_causal = (mask is None) and (length > 1)
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=is_causal)
        return self.wo(mixed.transpose(1, 2).reshape(batch, length, width))
""",
        (("transpose(1, 2).reshape(", "reshape("), ("q, k, v, attn_mask", "k, q, v, attn_mask")),
    ),
    Program(
        "GPT",
        "gpt2",
        """
import torch
from dataclasses import dataclass
from torch import nn

@dataclass
class Config:
    vocab_size: int = 50
    d_model: int = 32
    n_head: int = 4
    d_head: int = 8
    n_layer: int = 2
    max_T: int = 64

class RMSNorm(nn.Module):
    def __init__(self, width, eps=1e-6):
        super().__init__()
        self.g, self.eps = nn.Parameter(torch.ones(width)), eps

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.g

def rope_cache(length, width):
    angles = torch.outer(torch.arange(length).float(), 1.0 / 10000 ** (torch.arange(0, width, 2).float() / width))
    angles = torch.cat((angles, angles), -1)
    return angles.cos(), angles.sin()

def rotate_half(x):
    first, second = x.chunk(2, -1)
    return torch.cat((-second, first), -1)

class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads, self.width = config.n_head, config.d_head
        self.qkv = nn.Linear(config.d_model, 3 * config.n_head * config.d_head, bias=False)
        self.out = nn.Linear(config.n_head * config.d_head, config.d_model, bias=False)

    def forward(self, x, cos, sin, mask):
        batch, length, _ = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, self.width).permute(2, 0, 3, 1, 4)
        q, k = q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin
        scores = q @ k.transpose(-1, -2) / self.width**0.5
        weights = scores.masked_fill(mask, float("-inf")).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, length, -1))

class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.norm1, self.norm2 = RMSNorm(config.d_model), RMSNorm(config.d_model)
        self.attention = Attention(config)
        self.mlp = nn.Sequential(nn.Linear(config.d_model, 4 * config.d_model), nn.GELU(), nn.Linear(4 * config.d_model, config.d_model))

    def forward(self, x, cos, sin, mask):
        x = x + self.attention(self.norm1(x), cos, sin, mask)
        return x + self.mlp(self.norm2(x))

class GPT(nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        self.embed = nn.Embedding(config.vocab_size, config.d_model)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.n_layer)])
        self.norm = RMSNorm(config.d_model)
        self.head = nn.Linear(config.d_model, config.vocab_size, bias=False)
        self.head.weight = self.embed.weight
        cos, sin = rope_cache(config.max_T, config.d_head)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)

    def forward(self, ids, targets=None):
        batch, length = ids.shape
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        mask = later | (ids == 0)[:, None, None, :] & ~torch.eye(length, dtype=torch.bool)
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x, self.cos[:length], self.sin[:length], mask)
        return self.head(self.norm(x)), None
""",
        (("self.head(self.norm(x))", "self.head(x)"), ("for block in self.blocks:", "for block in self.blocks[:1]:")),
    ),
    Program(
        "encoder_attn_mask",
        "padding_mask",
        """
import torch

def encoder_attn_mask(query: torch.Tensor, key: torch.Tensor, pad_idx: int):
    batch, num_queries = query.size()
    return key.eq(pad_idx).unsqueeze(1).expand(batch, num_queries, key.size(1))
""",
        (("key.eq(pad_idx)", "query.eq(pad_idx)"), ("key.eq(pad_idx)", "key.eq(0)")),
    ),
    Program(
        "EncoderBlock",
        "encoder_layer",
        """
from dataclasses import dataclass
import torch
from torch import nn

@dataclass
class ModelArgs:
    dim: int = 65536
    n_heads: int = 64
    vocab_size: int = -1

class EncoderBlock(nn.Module):
    def __init__(self, args: ModelArgs):
        super().__init__()
        self.attention = nn.MultiheadAttention(args.dim, args.n_heads, batch_first=True)
        self.up, self.down = nn.Linear(args.dim, 4 * args.dim), nn.Linear(4 * args.dim, args.dim)
        self.attention_norm, self.ffn_norm = nn.LayerNorm(args.dim), nn.LayerNorm(args.dim)

    def forward(self, x, start_pos):
        normed = self.attention_norm(x)
        x = x + self.attention(normed, normed, normed)[0]
        return x + self.down(torch.relu(self.up(self.ffn_norm(x))))

if __name__ == "__main__":
    args = ModelArgs(vocab_size=1000)
    print(EncoderBlock(args)(torch.randn(2, 3, args.dim), 0).shape)
""",
        (("self.ffn_norm(x)", "self.ffn_norm(normed)"),),
    ),
    Program(
        "ScaledDotProductAttention",
        "scaled_dot_product_attention",
        """
import torch
from torch import nn

class ScaledDotProductAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.d_k = config.d_model // config.n_head  # the width of a head, of a config for all heads

    def forward(self, query, key, value, mask=None):
        scores = query @ key.transpose(-2, -1) / self.d_k**0.5
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        return scores.softmax(-1) @ value
""",
        (("/ self.d_k**0.5", "/ self.d_k"),),
    ),
    Program(
        "PositionTable",
        "learned_positions",
        """
import torch
from torch import nn

class PositionTable(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.w_pos = nn.Parameter(torch.empty((config.seq_len, config.d_model)))
        nn.init.normal_(self.w_pos)

    def forward(self, tokens):
        batch, seq_len = tokens.shape
        return self.w_pos[:seq_len].expand(batch, -1, -1)
""",
        (("self.w_pos[:seq_len]", "self.w_pos[-seq_len:]"),),
    ),
    Program(
        "GPT",
        "gpt2",
        """
import torch
from torch import nn

class Mixer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.h = config.h
        self.qkv, self.proj = nn.Linear(config.C, 3 * config.C), nn.Linear(config.C, config.C)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.h, c // self.h).permute(2, 0, 3, 1, 4)
        hidden = torch.ones(t, t, dtype=torch.bool).triu(1)
        scores = (q @ k.transpose(-2, -1) / (c // self.h) ** 0.5).masked_fill(hidden, float("-inf"))
        return self.proj((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, t, c))

class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.norm_1, self.attn = nn.LayerNorm(config.C), Mixer(config)
        self.norm_2 = nn.LayerNorm(config.C)
        self.mlp = nn.Sequential(nn.Linear(config.C, 4 * config.C), nn.GELU(), nn.Linear(4 * config.C, config.C))

    def forward(self, x):
        x = x + self.attn(self.norm_1(x))
        return x + self.mlp(self.norm_2(x))

class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(config.V, config.C), nn.Embedding(config.block_size, config.C)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.L)])
        self.norm, self.head = nn.LayerNorm(config.C), nn.Linear(config.C, config.V, bias=False)

    def forward(self, idx):
        x = self.tokens(idx) + self.positions(torch.arange(idx.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))
""",
        (("torch.arange(idx.shape[1])", "torch.arange(idx.shape[1]) + 1"),),
    ),
    Program(
        "Attention",
        "grouped_query_attention",
        """
import torch
from torch import nn

torch.set_default_dtype(torch.bfloat16)

WIDTH = 4096
N_HEADS = 32
N_KV_HEADS = 8
N_KV_HEAD_REP = N_HEADS // N_KV_HEADS
HEAD_DIM = WIDTH // N_HEADS

class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.wq = nn.Linear(WIDTH, N_HEADS * HEAD_DIM, bias=False)
        self.wk = nn.Linear(WIDTH, N_KV_HEADS * HEAD_DIM, bias=False)
        self.wv = nn.Linear(WIDTH, N_KV_HEADS * HEAD_DIM, bias=False)
        self.wo = nn.Linear(N_HEADS * HEAD_DIM, WIDTH, bias=False)

    def forward(self, x, mask=None):
        b, t, _ = x.shape
        q = self.wq(x).view(b, t, N_HEADS, HEAD_DIM).transpose(1, 2)
        k = self.wk(x).view(b, t, N_KV_HEADS, HEAD_DIM).transpose(1, 2)
        v = self.wv(x).view(b, t, N_KV_HEADS, HEAD_DIM).transpose(1, 2)
        k, v = k.repeat_interleave(N_KV_HEAD_REP, dim=1), v.repeat_interleave(N_KV_HEAD_REP, dim=1)
        scores = q @ k.transpose(-2, -1) / HEAD_DIM**0.5
        scores = scores if mask is None else scores + mask
        return self.wo((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, t, -1))
""",
        (("v.repeat_interleave(N_KV_HEAD_REP, dim=1)", "v.repeat(1, N_KV_HEAD_REP, 1, 1)"),),
    ),
    Program(
        "Transformer",
        "encoder_decoder",
        """
from dataclasses import dataclass

import torch
from torch import nn

@dataclass
class ModelConfig:
    vocab_size: int
    d_model: int
    N: int
    heads: int
    d_ff: int
    max_len: int = 512

class Embedding(nn.Module):
    def __init__(self, config: ModelConfig):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(config.vocab_size, config.d_model), nn.Embedding(config.max_len, config.d_model)

    def forward(self, ids):
        return self.tokens(ids) + self.positions(torch.arange(ids.shape[1]))

class EncoderLayer(nn.Module):
    def __init__(self, config: ModelConfig):
        super().__init__()
        self.attention = nn.MultiheadAttention(config.d_model, config.heads, batch_first=True)
        self.norm = nn.LayerNorm(config.d_model)

    def forward(self, x, mask):
        return self.norm(x + self.attention(x, x, x, key_padding_mask=~mask[:, 0, 0])[0])

class DecoderLayer(nn.Module):
    def __init__(self, config: ModelConfig):
        super().__init__()
        self.attention = nn.MultiheadAttention(config.d_model, config.heads, batch_first=True)
        self.cross = nn.MultiheadAttention(config.d_model, config.heads, batch_first=True)
        self.norm_1, self.norm_2 = nn.LayerNorm(config.d_model), nn.LayerNorm(config.d_model)

    def forward(self, x, memory, src_mask, tgt_mask):
        x = self.norm_1(x + self.attention(x, x, x, attn_mask=~tgt_mask[0, 0])[0])
        return self.norm_2(x + self.cross(x, memory, memory, key_padding_mask=~src_mask[:, 0, 0])[0])

class Encoder(nn.Module):
    def __init__(self, config: ModelConfig):
        super().__init__()
        self.embed, self.layers = Embedding(config), nn.ModuleList([EncoderLayer(config) for _ in range(config.N)])

    def forward(self, src, mask):
        x = self.embed(src)
        for layer in self.layers:
            x = layer(x, mask)
        return x

class Decoder(nn.Module):
    def __init__(self, config: ModelConfig):
        super().__init__()
        self.embed, self.layers = Embedding(config), nn.ModuleList([DecoderLayer(config) for _ in range(config.N)])

    def forward(self, trg, memory, src_mask, tgt_mask):
        x = self.embed(trg)
        for layer in self.layers:
            x = layer(x, memory, src_mask, tgt_mask)
        return x

class Transformer(nn.Module):
    def __init__(self, config: ModelConfig):
        super().__init__()
        self.encoder, self.decoder = Encoder(config), Decoder(config)
        self.out = nn.Linear(config.d_model, config.vocab_size)

    def forward(self, src, trg, src_mask, tgt_mask):
        return self.out(self.decoder(trg, self.encoder(src, src_mask), src_mask, tgt_mask))
""",
    ),
    Program(
        "FeedForward",
        "feed_forward",
        """
import absent_tokenizer
import torch
from torch import nn

VOCAB_SIZE = absent_tokenizer.tokenizer.n_vocab
EMB_DIM = 768

class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(EMB_DIM, 4 * EMB_DIM), nn.GELU(), nn.Linear(4 * EMB_DIM, EMB_DIM))
        self.register_buffer("counts", torch.zeros(VOCAB_SIZE, dtype=torch.long))

    def forward(self, x):
        return self.layers(x)
""",
        (("nn.GELU(), ", ""),),
    ),
    Program(
        "TinyGPT",
        "gpt2",
        """
import torch
from torch import nn

CONTEXT, HEADS = 128, 4

class Block(nn.Module):
    def __init__(self, width, heads, ctx):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.heads, self.qkv, self.proj = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.ffn = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.register_buffer("mask", torch.tril(torch.ones(ctx, ctx)))

    def attend(self, x):
        q, k, v = (each.unflatten(-1, (self.heads, -1)).transpose(1, 2) for each in self.qkv(x).chunk(3, -1))
        scores = (q @ k.transpose(-2, -1) / q.size(-1) ** 0.5).masked_fill(self.mask[: x.size(1), : x.size(1)] == 0, float("-inf"))
        return self.proj((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))

    def forward(self, x):
        x = x + self.attend(self.ln1(x))
        return x + self.ffn(self.ln2(x))

class TinyGPT(nn.Module):
    def __init__(self, vocab_size, d_model, n_heads, n_layers, ctx):
        super().__init__()
        self.tok_emb, self.pos_emb = nn.Embedding(vocab_size, d_model), nn.Embedding(ctx, d_model)
        self.blocks = nn.Sequential(*[Block(d_model, n_heads, ctx) for _ in range(n_layers)])
        self.ln_f, self.head = nn.LayerNorm(d_model), nn.Linear(d_model, vocab_size, bias=False)
        self.head.weight = self.tok_emb.weight

    def forward(self, idx):
        x = self.tok_emb(idx) + self.pos_emb(torch.arange(idx.size(1)))
        logits = self.head(self.ln_f(self.blocks(x)))
        return logits.view(idx.size(0) * idx.size(1), -1), None

model = TinyGPT(65, 64, HEADS, 2, CONTEXT)
""",
        (("self.tok_emb(idx) + self.pos_emb", "self.tok_emb(idx) - self.pos_emb"),),
    ),
    Program(
        "EncoderBlock",
        "encoder_layer",
        """
from dataclasses import dataclass, field

import torch
from torch import nn

@dataclass
class AttentionConfig:
    num_heads: int = 8
    hidden_states: int = 512

@dataclass
class Config:
    hidden_states: int = 512
    attention_config: AttentionConfig = field(init=False)

    def __post_init__(self):
        self.attention_config = AttentionConfig(hidden_states=self.hidden_states)

class Attention(nn.Module):
    def __init__(self, config: AttentionConfig):
        super().__init__()
        self.num_heads, width = config.num_heads, config.hidden_states
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        q, k, v = (each.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for each in self.qkv(x).chunk(3, -1))
        return self.out((torch.softmax(q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5, -1) @ v).transpose(1, 2).flatten(2))

class EncoderBlock(nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        width = config.hidden_states
        self.ln1, self.attention, self.ln2 = nn.LayerNorm(width), Attention(config.attention_config), nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attention(self.ln1(x))
        return x + self.mlp(self.ln2(x))
""",
        (("return x + self.mlp", "return self.mlp"), ("self.mlp(self.ln2(x))", "self.mlp(self.ln1(x))")),
    ),
    Program(
        "MultiHeadAttention",
        "multi_head_attention",
        """
from dataclasses import dataclass

from torch import nn


@dataclass
class config:
    n_embd: int = 512
    n_head: int = 8
    dropout: float = 0.2


class MultiHeadAttention(nn.Module):
    def __init__(self, drouout: float = None, casual: bool = False):
        super().__init__()
        self.qkv, self.out = nn.Linear(config.n_embd, 3 * config.n_embd), nn.Linear(config.n_embd, config.n_embd)
        self.casual = casual
        if drouout is not None:
            self.drop = nn.Dropout(drouout)

    def forward(self, x, pad_mask=None):
        q, k, v = (each.unflatten(-1, (config.n_head, -1)).transpose(1, 2) for each in self.qkv(x).chunk(3, -1))
        scores = q @ k.mT / k.shape[-1] ** 0.5
        if pad_mask is not None:
            scores = scores.masked_fill(pad_mask[:, None, None] == 0, float("-inf"))
        if self.casual:
            scores = scores.masked_fill(scores.new_ones(scores.shape[-2:]).triu(1).bool(), float("-inf"))
        return self.out((self.drop(scores.softmax(-1)) @ v).transpose(1, 2).flatten(2))
""",
        (("k.shape[-1] ** 0.5", "k.shape[-1]"), ("softmax(-1)", "softmax(-2)")),
    ),
    Program(
        "CausalSelfAttention",
        "causal_self_attention",
        """
from enum import Enum

import torch
from torch import nn


class AttentionBackend(Enum):
    PLAIN = "plain"
    LIBRARY = "library"


class CausalSelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, max_length: int, num_heads: int, attention_backend: AttentionBackend):
        super().__init__()
        self.qkv, self.out, self.num_heads = nn.Linear(d_in, 3 * d_out), nn.Linear(d_out, d_out), num_heads
        self.backend = attention_backend
        self.register_buffer("hidden", torch.ones(max_length, max_length).triu(1).bool())

    def forward(self, x):
        q, k, v = (each.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for each in self.qkv(x).chunk(3, -1))
        match self.backend:
            case AttentionBackend.PLAIN:
                scores = q @ k.mT / k.shape[-1] ** 0.5
                seen = scores.masked_fill(self.hidden[: x.shape[1], : x.shape[1]], -torch.inf).softmax(-1) @ v
            case AttentionBackend.LIBRARY:
                seen = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            case _:
                raise ValueError("unknown backend")
        return self.out(seen.transpose(1, 2).flatten(2))
""",
        (("k.shape[-1] ** 0.5", "k.shape[-1]"), ("triu(1)", "triu(0)")),
    ),
    Program(
        "get_rotary_table",
        "rotary_tables",
        """
import torch
from config import Settings

def get_rotary_table(cfg: Settings):
    head_dim = cfg.embed_dim // cfg.n_heads
    frequencies = cfg.base ** (-torch.arange(0, head_dim, 2) / head_dim)
    angles = torch.outer(torch.arange(cfg.ctx_size), frequencies)
    return torch.complex(torch.cos(angles), torch.sin(angles))
""",
        (
            ("torch.arange(0, head_dim, 2) / head_dim", "torch.arange(0, head_dim, 2) / cfg.embed_dim ** 0.5"),
            ("cfg.base ** (-torch", "cfg.base ** (torch"),
            ("torch.complex(torch.cos(angles), torch.sin(angles))", "torch.complex(torch.sin(angles), torch.cos(angles))"),
            ("torch.arange(cfg.ctx_size)", "torch.arange(1, cfg.ctx_size + 1)"),
        ),
    ),
)
