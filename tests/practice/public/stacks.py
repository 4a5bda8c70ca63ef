"""Stacks of layers that take a mask of pairs of positions next to one of padding, or their layers ready-made; a model that takes its rotation."""

from tests.practice.public.program import Program

LAYERS = """
import torch
from torch import nn


class EncoderLayer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.attn = nn.MultiheadAttention(width, heads, batch_first=True)
        self.ffn = nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width))
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x, attn_mask=None, padding=None):
        x = self.norm1(x + self.attn(x, x, x, attn_mask=attn_mask, key_padding_mask=padding)[0])
        return self.norm2(x + self.ffn(x))


class DecoderLayer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.attn = nn.MultiheadAttention(width, heads, batch_first=True)
        self.cross = nn.MultiheadAttention(width, heads, batch_first=True)
        self.ffn = nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width))
        self.norm1, self.norm2, self.norm3 = nn.LayerNorm(width), nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x, memory, mask=None, memory_mask=None, padding=None, memory_padding=None):
        x = self.norm1(x + self.attn(x, x, x, attn_mask=mask, key_padding_mask=padding)[0])
        x = self.norm2(x + self.cross(x, memory, memory, attn_mask=memory_mask, key_padding_mask=memory_padding)[0])
        return self.norm3(x + self.ffn(x))
"""

PARTS = """
import copy

from torch import nn


class EncoderLayer(nn.Module):
    def __init__(self, width, attention, mlp, dropout):
        super().__init__()
        self.attention, self.mlp, self.width = attention, mlp, width
        self.norm1, self.norm2, self.dropout = nn.LayerNorm(width), nn.LayerNorm(width), nn.Dropout(dropout)

    def forward(self, x, mask=None):
        y = self.norm1(x)
        x = x + self.dropout(self.attention(y, y, y, mask))
        return x + self.dropout(self.mlp(self.norm2(x)))


class DecoderLayer(nn.Module):
    def __init__(self, self_attention, cross_attention, width, inner=None):
        super().__init__()
        inner = inner or 4 * width
        self.self_attention, self.cross_attention = self_attention, cross_attention
        self.mlp = nn.Sequential(nn.Linear(width, inner), nn.ReLU(), nn.Linear(inner, width))
        self.norm1, self.norm2, self.norm3 = nn.LayerNorm(width), nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x, memory, mask=None, memory_mask=None):
        x = self.norm1(x + self.self_attention(x, x, x, attn_mask=mask)[0])
        x = self.norm2(x + self.cross_attention(x, memory, memory, attn_mask=memory_mask)[0])
        return self.norm3(x + self.mlp(x))
"""

HALVES = """
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.dense, self.norm, self.heads = nn.Linear(width, width), nn.LayerNorm(width, eps=1e-12), heads

    def forward(self, x, mask=None):
        q, k, v = (each(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for each in (self.query, self.key, self.value))
        mask = None if mask is None else mask[:, None, None]
        seen = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.norm(self.dense(seen.transpose(1, 2).flatten(2)) + x)


class Inner(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.dense = nn.Linear(width, inner)

    def forward(self, x):
        return nn.functional.gelu(self.dense(x))


class Outer(nn.Module):
    def __init__(self, inner, width):
        super().__init__()
        self.dense, self.norm = nn.Linear(inner, width), nn.LayerNorm(width, eps=1e-12)

    def forward(self, x, before):
        return self.norm(self.dense(x) + before)


class Layer(nn.Module):
    def __init__(self, width, heads, inner):
        super().__init__()
        self.attention = Attention(width, heads)
        self.intermediate = Inner(width, inner)
        self.output = Outer(inner, width)

    def forward(self, x, mask=None):
        x = self.attention(x, mask)
        return self.output(self.intermediate(x), x)


class Encoder(nn.Module):
    def __init__(self, num_layers, width, heads, inner):
        super().__init__()
        self.layer = nn.ModuleList([Layer(width, heads, inner) for _ in range(num_layers)])

    def forward(self, x, mask=None):
        for layer in self.layer:
            x = layer(x, mask)
        return x


class Trunk(nn.Module):
    def __init__(self, vocab_size, num_layers, width, heads, inner, max_length):
        super().__init__()
        self.words, self.places = nn.Embedding(vocab_size, width), nn.Embedding(max_length, width)
        self.embed_norm = nn.LayerNorm(width)
        self.encoder = Encoder(num_layers, width, heads, inner)

    def forward(self, ids, mask=None):
        x = self.words(ids) + self.places(torch.arange(ids.shape[1]))
        return self.encoder(self.embed_norm(x), mask)
"""

WITH_SPECIAL_TOKENS = """
import torch
from torch import nn
from torch.nn import functional as F

class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.n_head = config.n_head
        self.qkv, self.out = nn.Linear(config.n_emb, 3 * config.n_emb), nn.Linear(config.n_emb, config.n_emb)

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (each.view(B, T, self.n_head, -1).transpose(1, 2) for each in self.qkv(x).chunk(3, -1))
        return self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(B, T, C))

class TransformerBlock(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.ln1, self.ln2, self.attn = nn.LayerNorm(config.n_emb), nn.LayerNorm(config.n_emb), Attention(config)
        self.ffn = nn.Sequential(nn.Linear(config.n_emb, 4 * config.n_emb), nn.GELU(), nn.Linear(4 * config.n_emb, config.n_emb))

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.ffn(self.ln2(x))

class Transformer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.wte = nn.Embedding(config.vocab_size + 2, config.n_emb)  # and two special tokens
        self.wpe = nn.Embedding(config.max_tokens, config.n_emb)
        self.blocks = nn.ModuleList([TransformerBlock(config) for _ in range(config.n_layer)])
        self.ln_final = nn.LayerNorm(config.n_emb)

    def forward(self, idx):
        _, length = idx.shape
        x = self.wte(idx) + self.wpe(torch.arange(length))
        for block in self.blocks:
            x = block(x)
        return self.ln_final(x)

class GPT2(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.transformer = Transformer(config)
        self.lm_head = nn.Linear(config.n_emb, config.vocab_size + 2, bias=False)

    def forward(self, idx):
        x = self.transformer(idx)
        return self.lm_head(x)
"""

PROGRAMS = (
    Program(
        "Encoder",
        "encoder_stack",
        LAYERS
        + """

class Encoder(nn.Module):
    def __init__(self, width, depth, heads):
        super().__init__()
        self.blocks = nn.ModuleList([EncoderLayer(width, heads) for _ in range(depth)])

    def forward(self, x, attn_mask=None, key_padding_mask=None):
        for block in self.blocks:
            x = block(x, attn_mask, key_padding_mask)
        return x
""",
        (
            (
                "block(x, attn_mask, key_padding_mask)",
                "block(x, attn_mask, None if key_padding_mask is None else ~key_padding_mask & key_padding_mask)",
            ),
            ("in self.blocks:", "in self.blocks[:-1]:"),
        ),
    ),
    Program(
        "Decoder",
        "decoder_stack",
        LAYERS
        + """

class Decoder(nn.Module):
    def __init__(self, width, depth, heads):
        super().__init__()
        self.blocks = nn.ModuleList([DecoderLayer(width, heads) for _ in range(depth)])
        self.norm = nn.LayerNorm(width)

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None, memory_key_padding_mask=None):
        x = tgt
        for block in self.blocks:
            x = block(x, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
        return self.norm(x)
""",
        (
            ("x = block(x,", "x = block(tgt,"),
            ("memory, tgt_mask, memory_mask", "memory, None, memory_mask"),
        ),
    ),
    Program(
        "Transformer",
        "encoder_decoder",
        """
import torch
from torch import nn


class Transformer(nn.Module):
    def __init__(self, src_vocab_size, tgt_vocab_size, d_model, nhead, num_encoder_layers, num_decoder_layers, dim_feedforward, max_len):
        super().__init__()
        self.core = nn.Transformer(d_model, nhead, num_encoder_layers, num_decoder_layers, dim_feedforward, 0.0, batch_first=True)
        self.src_emb, self.tgt_emb = nn.Embedding(src_vocab_size, d_model), nn.Embedding(tgt_vocab_size, d_model)
        self.pos_emb = nn.Embedding(max_len, d_model)
        self.out = nn.Linear(d_model, tgt_vocab_size)

    def embed(self, ids, table):
        return table(ids) + self.pos_emb(torch.arange(ids.size(1)))

    def forward(self, src, tgt, src_mask, tgt_mask, src_padding_mask, tgt_padding_mask, memory_key_padding_mask):
        x, y = self.embed(src, self.src_emb), self.embed(tgt, self.tgt_emb)
        return self.out(self.core(x, y, src_mask, tgt_mask, None, src_padding_mask, tgt_padding_mask, memory_key_padding_mask))
""",
        (("self.embed(tgt, self.tgt_emb)", "self.tgt_emb(tgt)"), ("src_mask, tgt_mask, None,", "src_mask, None, None,")),
    ),
    Program(
        "Encoder",
        "encoder_stack",
        PARTS
        + """

class Encoder(nn.Module):
    def __init__(self, layer, n):
        super().__init__()
        self.layers = nn.ModuleList(copy.deepcopy(layer) for _ in range(n))
        self.norm = nn.LayerNorm(layer.width)

    def forward(self, x, mask):
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)
""",
        (("copy.deepcopy(layer) for", "layer for"), ("layer(x, mask)", "layer(x)")),
    ),
    Program(
        "Decoder",
        "decoder_stack",
        PARTS
        + """

class Decoder(nn.Module):
    def __init__(self, decoder_layers, projection=None):
        super().__init__()
        self.layers = nn.ModuleList(decoder_layers)
        self.projection = projection

    def forward(self, x, enc_out, x_mask=None, cross_mask=None):
        for layer in self.layers:
            x = layer(x, enc_out, mask=x_mask, memory_mask=cross_mask)
        return x if self.projection is None else self.projection(x)
""",
        (("mask=x_mask, memory_mask=cross_mask", "memory_mask=cross_mask"), ("x = layer(x, enc_out,", "x = layer(x, x,")),
    ),
    Program(
        "TransformerLM",
        "gpt2",
        """
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, d_model, num_heads, rope=None):
        super().__init__()
        self.num_heads, self.rope = num_heads, rope
        self.qkv, self.out = nn.Linear(d_model, 3 * d_model, bias=False), nn.Linear(d_model, d_model, bias=False)

    def forward(self, x):
        q, k, v = (each.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for each in self.qkv(x).chunk(3, -1))
        if self.rope is not None:
            q, k = self.rope(q), self.rope(k)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).flatten(2))


class TransformerBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, rope=None):
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(d_model), nn.RMSNorm(d_model)
        self.attn = Attention(d_model, num_heads, rope)
        self.ffn = nn.Sequential(nn.Linear(d_model, d_ff, bias=False), nn.SiLU(), nn.Linear(d_ff, d_model, bias=False))

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.ffn(self.norm2(x))


class TransformerLM(nn.Module):
    def __init__(self, vocab_size, d_model, num_heads, d_ff, num_layers, rope: nn.Module = None):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.blocks = nn.ModuleList([TransformerBlock(d_model, num_heads, d_ff, rope) for _ in range(num_layers)])
        self.norm = nn.RMSNorm(d_model, eps=1e-6)
        self.head = nn.Linear(d_model, vocab_size, bias=False)

    def forward(self, ids):
        x = self.embedding(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))
""",
        (("self.head(self.norm(x))", "self.head(x)"), ("x = block(x)", "x = x + block(x)")),
    ),
    Program("Layer", "encoder_layer", HALVES),
    Program(
        "Encoder",
        "encoder_stack",
        HALVES,
        (("x = layer(x, mask)", "y = layer(x, mask)"), ("layer(x, mask)\n        return", "layer(x)\n        return")),
    ),
    Program("Trunk", "encoder_stack", HALVES),
    Program(
        "Transformer",
        "encoder_stack",
        """
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width)

    def forward(self, x):
        q, k, v = (each.unflatten(-1, (self.heads, -1)).transpose(1, 2) for each in self.qkv(x).chunk(3, -1))
        return self.out(nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


class FeedForward(nn.Sequential):
    def __init__(self, width, inner):
        super().__init__(nn.Linear(width, inner), nn.GELU(), nn.Linear(inner, width))


class Transformer(nn.Module):
    def __init__(self, width, depth, heads, inner):
        super().__init__()
        self.layers = nn.ModuleList()
        for _ in range(depth):
            attention = nn.Sequential(nn.LayerNorm(width), Attention(width, heads))
            self.layers.append(nn.ModuleList([attention, nn.Sequential(nn.LayerNorm(width), FeedForward(width, inner))]))

    def forward(self, x):
        for attention, ff in self.layers:
            x = x + attention(x)
            x = x + ff(x)
        return x
""",
        (("x = x + ff(x)", "x = ff(x)"), ("x = x + attention(x)", "x = x + attention(x) + x")),
    ),
    *(
        Program(name, "gpt2", WITH_SPECIAL_TOKENS, mistakes)
        for name, mistakes in (
            ("GPT2", (("return self.lm_head(x)", "return self.lm_head(x).softmax(-1)"), ("is_causal=True", "is_causal=False"))),
            ("Transformer", (("self.wpe(torch.arange(length))", "0"), ("return self.ln_final(x)", "return x"))),
        )
    ),
    Program(
        "LanguageModel",
        "gpt2",
        """
import torch
from torch import nn

class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        if d_ff % 16 != 0:
            raise ValueError("the inner width has to be a multiple of 16")
        self.enter, self.leave = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.leave(torch.nn.functional.gelu(self.enter(x), approximate="tanh"))

class Attention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.qkv, self.proj = nn.Linear(d_model, 3 * d_model), nn.Linear(d_model, d_model)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (each.view(b, t, self.num_heads, -1).transpose(1, 2) for each in self.qkv(x).split(c, dim=2))
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.proj(y.transpose(1, 2).reshape(b, t, c))

class Block(nn.Module):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.attn, self.ffn = Attention(d_model, num_heads), FeedForward(d_model, d_ff)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.ffn(self.ln_2(x))

class LanguageModel(nn.Module):
    def __init__(self, vocab_size, context_length, d_model, num_layers, num_heads, d_ff):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocab_size, d_model), nn.Embedding(context_length, d_model)
        self.blocks = nn.ModuleList([Block(d_model, num_heads, d_ff) for _ in range(num_layers)])
        self.norm = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size, bias=False)

    def forward(self, ids):
        x = self.tokens(ids) + self.positions(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))
""",
        (
            ("x = block(x)", "x = x + block(x)"),
            ("self.head(self.norm(x))", "self.head(x)"),
            ("+ self.positions(torch.arange(ids.shape[1]))", ""),
        ),
    ),
    Program(
        "TransformerLM",
        "gpt2",
        """
import torch
from torch import nn

class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps, self.weight = eps, nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

def turn(x, rotations):
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * rotations[None, :, None]).reshape(x.shape)

class Attention(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.n_heads, self.head_dim = args.n_heads, args.dim // args.n_heads
        self.wq, self.wk = nn.Linear(args.dim, args.dim, bias=False), nn.Linear(args.dim, args.dim, bias=False)
        self.wv, self.wo = nn.Linear(args.dim, args.dim, bias=False), nn.Linear(args.dim, args.dim, bias=False)
        shape = args.max_batch_size, args.max_seq_len, self.n_heads, self.head_dim
        self.cache_k, self.cache_v = torch.zeros(shape), torch.zeros(shape)

    def forward(self, x, start_pos, rotations):
        b, t, _ = x.shape
        q, k, v = (part(x).view(b, t, self.n_heads, self.head_dim) for part in (self.wq, self.wk, self.wv))
        q, k = turn(q, rotations), turn(k, rotations)
        self.cache_k[:b, start_pos : start_pos + t] = k
        self.cache_v[:b, start_pos : start_pos + t] = v
        keys, values = (cache[:b, : start_pos + t].transpose(1, 2) for cache in (self.cache_k, self.cache_v))
        scores = q.transpose(1, 2) @ keys.transpose(2, 3) / self.head_dim**0.5
        return self.wo((scores.softmax(-1) @ values).transpose(1, 2).reshape(b, t, -1))

class FeedForward(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.w1, self.w2 = nn.Linear(args.dim, 4 * args.dim, bias=False), nn.Linear(4 * args.dim, args.dim, bias=False)
        self.w3 = nn.Linear(args.dim, 4 * args.dim, bias=False)

    def forward(self, x):
        return self.w2(nn.functional.silu(self.w1(x)) * self.w3(x))

class EncoderBlock(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.attention, self.feed_forward = Attention(args), FeedForward(args)
        self.attention_norm, self.ffn_norm = RMSNorm(args.dim), RMSNorm(args.dim)

    def forward(self, x, start_pos, rotations):
        h = x + self.attention(self.attention_norm(x), start_pos, rotations)
        return h + self.feed_forward(self.ffn_norm(h))

class TransformerLM(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.tok_embeddings = nn.Embedding(args.vocab_size, args.dim)
        self.layers = nn.ModuleList([EncoderBlock(args) for _ in range(args.n_layers)])
        self.norm, self.output = RMSNorm(args.dim), nn.Linear(args.dim, args.vocab_size, bias=False)
        width = args.dim // args.n_heads
        angles = torch.outer(torch.arange(2 * args.max_seq_len), 10000.0 ** (-torch.arange(0, width, 2) / width))
        self.rotations = torch.polar(torch.ones_like(angles), angles)

    def forward(self, tokens, start_pos):
        _, seq_len = tokens.shape
        assert seq_len == 1, "one token at a time"
        h = self.tok_embeddings(tokens)
        rotations = self.rotations[start_pos : start_pos + seq_len]
        for layer in self.layers:
            h = layer(h, start_pos, rotations)
        return self.output(self.norm(h)).float()
""",
        (
            ("self.output(self.norm(h))", "self.output(h)"),
            ("h = layer(h, start_pos, rotations)", "h = h + layer(h, start_pos, rotations)"),
        ),
    ),
)
