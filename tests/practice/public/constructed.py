"""Parts of classes: methods of attention with settings of their instance, stacks whose parts a function of the file makes, weights of other types."""

from tests.practice.public.program import Program

HEADS = """
import math
import torch
import torch.nn as nn

D_K = 64

def attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(D_K)
    if mask is not None:
        scores = scores.masked_fill(mask, -1e9)
    return torch.softmax(scores, -1) @ v

class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, rate=0.1, kind=torch.float32):
        super().__init__()
        self.d_model, self.num_heads, self.d_k = d_model, num_heads, d_model // num_heads
        self.to_q, self.to_k, self.to_v, self.join = (nn.Linear(d_model, d_model, dtype=kind) for _ in range(4))
        self.normalize, self.drop = nn.Softmax(dim=-1), nn.Dropout(rate)

    def scaled_dot_product_attention(self, q, k, v, mask=None):
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        return torch.matmul(self.drop(self.normalize(scores)), v)

    def split(self, x):
        return x.view(x.size(0), x.size(1), self.num_heads, self.d_k).transpose(1, 2)

    def forward(self, x, mask=None):
        y = self.scaled_dot_product_attention(self.split(self.to_q(x)), self.split(self.to_k(x)), self.split(self.to_v(x)), mask)
        return self.join(y.transpose(1, 2).contiguous().view(x.size()))

class AddAndNorm(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)

    def forward(self, x, residual):
        return self.norm(x + residual)
"""

STACKS = """
import math
import numpy as np
import torch
import torch.nn as nn

PAD = 0

def padding_mask(ids, num_rows):
    return (ids == PAD).unsqueeze(1).expand(ids.size(0), num_rows, ids.size(1))

def later_mask(ids):
    mask = np.triu(np.ones((ids.size(1), ids.size(1))), k=1).astype("uint8")
    return torch.tensor(mask).unsqueeze(0).expand(ids.size(0), -1, -1)

def make(config, source_vocabulary_size, target_vocabulary_size):
    kind = Positioned if config["positional_encoding"] else nn.Embedding
    sides = [kind(size, config["d_model"]) for size in (source_vocabulary_size, target_vocabulary_size)]
    sizes = config["layers_count"], config["d_model"], config["heads_count"], config["d_ff"]
    return Transformer(Encoder(*sizes, sides[0]), Decoder(*sizes, sides[1]))

class Positioned(nn.Module):
    def __init__(self, num_embeddings, d_model, longest=100):
        super().__init__()
        places = torch.arange(longest).unsqueeze(1) * torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        waves = torch.zeros(longest, d_model)
        waves[:, 0::2], waves[:, 1::2] = torch.sin(places), torch.cos(places)
        self.table, self.d_model = nn.Embedding(num_embeddings, d_model), d_model
        self.register_buffer("waves", waves)

    def forward(self, ids):
        return self.table(ids) * math.sqrt(self.d_model) + self.waves[: ids.size(1)]

class Attention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.q, self.k, self.v, self.o = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, query, key, value, mask):
        def split(x):
            return x.view(x.size(0), x.size(1), self.num_heads, -1).transpose(1, 2)
        q, k, v = split(self.q(query)), split(self.k(key)), split(self.v(value))
        scores = (q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))).masked_fill(mask.unsqueeze(1), -1e9)
        return self.o((torch.softmax(scores, -1) @ v).transpose(1, 2).reshape(query.size()))

class Inner(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.up, self.down = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.down(torch.relu(self.up(x)))

class EncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.attention, self.ff = Attention(d_model, num_heads), Inner(d_model, d_ff)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def forward(self, x, mask):
        x = self.norm1(x + self.attention(x, x, x, mask))
        return self.norm2(x + self.ff(x))

class DecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.attention, self.memory_attention, self.ff = Attention(d_model, num_heads), Attention(d_model, num_heads), Inner(d_model, d_ff)
        self.norm1, self.norm2, self.norm3 = nn.LayerNorm(d_model), nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def forward(self, inputs, memory, memory_mask, inputs_mask):
        x = self.norm1(inputs + self.attention(inputs, inputs, inputs, inputs_mask))
        x = self.norm2(x + self.memory_attention(x, memory, memory, memory_mask))
        return self.norm3(x + self.ff(x))

class Encoder(nn.Module):
    def __init__(self, layers_count, d_model, num_heads, d_ff, embedding):
        super().__init__()
        self.embedding = embedding
        self.layers = nn.ModuleList(EncoderLayer(d_model, num_heads, d_ff) for _ in range(layers_count))

    def forward(self, sources, mask):
        x = self.embedding(sources)
        for layer in self.layers:
            x = layer(x, mask)
        return x

class Decoder(nn.Module):
    def __init__(self, layers_count, d_model, num_heads, d_ff, embedding):
        super().__init__()
        self.embedding = embedding
        self.layers = nn.ModuleList(DecoderLayer(d_model, num_heads, d_ff) for _ in range(layers_count))
        table = embedding.table if isinstance(embedding, Positioned) else embedding
        self.logits = nn.Linear(d_model, table.num_embeddings, bias=False)
        self.logits.weight = table.weight

    def forward(self, inputs, memory, memory_mask, inputs_mask):
        x = self.embedding(inputs)
        for layer in self.layers:
            x = layer(x, memory, memory_mask, inputs_mask)
        return self.logits(x)

class Transformer(nn.Module):
    def __init__(self, encoder, decoder):
        super().__init__()
        self.encoder, self.decoder = encoder, decoder

    def forward(self, sources, inputs):
        memory = self.encoder(sources, padding_mask(sources, sources.size(1)))
        mask = later_mask(inputs) | padding_mask(inputs, inputs.size(1))
        return self.decoder(inputs, memory, padding_mask(sources, inputs.size(1)), mask)
"""

SECOND_AXIS = """
import torch
import torch.nn as nn

class TransformerDecoderLayer(nn.Module):
    def __init__(self, d_model, nhead, dim_feedforward, dropout=0.1):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(d_model, nhead, dropout=dropout)
        self.multihead_attn = nn.MultiheadAttention(d_model, nhead, dropout=dropout)
        self.linear1, self.linear2 = nn.Linear(d_model, dim_feedforward), nn.Linear(dim_feedforward, d_model)
        self.norm1, self.norm2, self.norm3 = nn.LayerNorm(d_model), nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, tgt, memory, tgt_mask=None, tgt_key_padding_mask=None, memory_mask=None, memory_key_padding_mask=None):
        y = self.self_attn(tgt, tgt, tgt, attn_mask=tgt_mask, key_padding_mask=tgt_key_padding_mask)[0]
        tgt = self.norm1(tgt + self.dropout(y))
        y = self.multihead_attn(tgt, memory, memory, attn_mask=memory_mask, key_padding_mask=memory_key_padding_mask)[0]
        tgt = self.norm2(tgt + self.dropout(y))
        y = self.linear2(self.dropout(torch.relu(self.linear1(tgt))))
        return self.norm3(tgt + self.dropout(y))
"""

TURNED = """
import torch
import torch.nn as nn
import torch.nn.functional as F

def rotate(x_BNTH, freq_cis_TF):
    pairs = torch.view_as_complex(x_BNTH.unflatten(-1, [-1, 2]).contiguous())
    return torch.view_as_real(pairs * freq_cis_TF.expand_as(pairs)).flatten(-2)

class SelfAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.d_head = config.get_embed_dim() // config.get_n_heads()
        self.attn_proj = nn.Linear(config.get_embed_dim(), 3 * config.get_embed_dim(), bias=False)
        self.out_proj = nn.Linear(config.get_embed_dim(), config.get_embed_dim(), bias=False)

    def forward(self, x_BTD, mask_TT, freq_cis_TF):
        q, k, v = (z.unflatten(-1, [-1, self.d_head]).transpose(1, 2) for z in self.attn_proj(x_BTD).chunk(3, dim=-1))
        q, k = rotate(q, freq_cis_TF), rotate(k, freq_cis_TF)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask_TT)
        return self.out_proj(y.transpose(1, 2).flatten(-2))
"""

GIVEN_PARTS = """
from torch import nn

class DecoderBlock(nn.Module):
    def __init__(self, size, masked_attn_module, attn_module, ffn_module, dropout):
        super().__init__()
        self.masked_attn, self.attn, self.ffn = masked_attn_module, attn_module, ffn_module
        self.norms, self.dropout = nn.ModuleList(nn.LayerNorm(size) for _ in range(3)), nn.Dropout(dropout)

    def forward(self, x, encoder_out, src_mask, tgt_mask):
        normed = self.norms[0](x)
        x = x + self.dropout(self.masked_attn(normed, normed, normed, tgt_mask))
        normed = self.norms[1](x)
        x = x + self.dropout(self.attn(normed, encoder_out, encoder_out, src_mask))
        return x + self.dropout(self.ffn(self.norms[2](x)))
"""

PASSED_WEIGHTS = """
from dataclasses import dataclass
import numpy as np

@dataclass
class Attention:
    heads: int
    w_qkv: np.ndarray
    b_qkv: np.ndarray
    w_out: np.ndarray
    b_out: np.ndarray

    def __call__(self, x, cache=None):
        length, width = x.shape
        q, k, v = (
            part.reshape(length, self.heads, -1).transpose(1, 0, 2) for part in np.split(x @ self.w_qkv + self.b_qkv, 3, axis=-1)
        )
        scores = q @ k.transpose(0, 2, 1) / np.sqrt(width // self.heads)
        scores = np.where(np.tril(np.ones((length, length))) == 0, -1e10, scores)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed = weights / weights.sum(axis=-1, keepdims=True) @ v
        out = mixed.transpose(1, 0, 2).reshape(length, width) @ self.w_out + self.b_out
        return out if cache is None else (out, (k, v))
"""

PROGRAMS = (
    Program(
        "DecoderBlock",
        "decoder_layer",
        GIVEN_PARTS,
        (
            ("self.attn(normed", "self.masked_attn(normed"),
            ("encoder_out, encoder_out, src_mask", "encoder_out, encoder_out, tgt_mask"),
            ("self.attn(normed, encoder_out, encoder_out", "self.attn(normed, normed, encoder_out"),
        ),
    ),
    Program(
        "TransformerDecoderLayer",
        "decoder_layer",
        SECOND_AXIS,
        (("memory, attn_mask=memory_mask", "tgt, attn_mask=memory_mask"),),
    ),
    Program(
        "SelfAttention",
        "causal_self_attention",
        TURNED,
        (
            ("q, k = rotate(q, freq_cis_TF), rotate(k", "k, v = rotate(k, freq_cis_TF), rotate(v"),
            ("q, k = rotate(q, freq_cis_TF), rotate(k, freq_cis_TF)", "q = rotate(q, freq_cis_TF)"),
        ),
    ),
    Program(
        "MultiHeadAttention.scaled_dot_product_attention",
        "scaled_dot_product_attention",
        HEADS,
        (
            ("math.sqrt(self.d_k)", "math.sqrt(self.d_model)"),
            ("mask == 0, -1e9", "mask == 0, -1e-9"),
            ("nn.Softmax(dim=-1)", "nn.Softmax(dim=-2)"),
        ),
    ),
    Program("attention", "scaled_dot_product_attention", HEADS, (("math.sqrt(D_K)", "D_K"), ("(mask, -1e9)", "(mask, -1e-9)"))),
    Program("MultiHeadAttention", "multi_head_attention", HEADS.replace("torch.float32", "float"), ((".contiguous()", ".contiguous"),)),
    Program("AddAndNorm", "residual", HEADS, (("x + residual", "x - residual"),)),
    Program("DecoderLayer", "decoder_layer", STACKS, (("self.memory_attention(x, memory", "self.attention(x, memory"),)),
    Program("Encoder", "encoder_stack", STACKS, (("x = layer(x, mask)", "layer(x, mask)"),)),
    Program("Decoder", "decoder_stack", STACKS, ()),
    Program(
        "Transformer",
        "encoder_decoder",
        STACKS,
        (("later_mask(inputs) | padding_mask", "padding_mask"), ("memory = self.encoder", "memory = 0 * self.encoder")),
    ),
    Program(
        "Attention",
        "causal_self_attention",
        PASSED_WEIGHTS,
        (("np.sqrt(width // self.heads)", "np.sqrt(width)"), (" + self.b_out", ""), ("np.tril", "np.triu")),
    ),
    Program(
        "Block",
        "transformer_block",
        f"""{PASSED_WEIGHTS}
@dataclass
class Block:
    ln_1: object
    attn: Attention
    ln_2: object
    mlp: object

    def __call__(self, x, cache=None):
        if cache is not None:
            mixed, cache = self.attn(self.ln_1(x), cache=cache)
            x = x + mixed
            return x + self.mlp(self.ln_2(x)), cache
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))
""",
        (
            ("x = x + self.attn(", "x = self.attn("),
            ("cache\n        x = x + self.attn(self.ln_1(x))", "cache\n        x = x + self.attn(x)"),
        ),
    ),
    Program(
        "GPT",
        "gpt2",
        """
import math
import torch
from torch import nn

class Attention(nn.Module):
    def __init__(self, width, h):
        super().__init__()
        self.h = h
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))
    def forward(self, x, mask):
        q, k, v = (layer(x).unflatten(-1, (self.h, -1)).transpose(1, 2) for layer in (self.q, self.k, self.v))
        scores = (q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])).masked_fill(mask == 0, -1e9)
        return self.o((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))

class Block(nn.Module):
    def __init__(self, width, attention, feed_forward):
        super().__init__()
        self.attention, self.feed_forward = attention, feed_forward
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
    def forward(self, x, mask):
        x = x + self.attention(self.norm1(x), mask)
        return x + self.feed_forward(self.norm2(x))

class Decoder(nn.Module):
    def __init__(self, width, blocks):
        super().__init__()
        self.blocks, self.norm = blocks, nn.LayerNorm(width)
    def forward(self, x, mask):
        for block in self.blocks:
            x = block(x, mask)
        return self.norm(x)

class Positions(nn.Module):
    def __init__(self, context_size, width):
        super().__init__()
        self.table = nn.Embedding(context_size, width)
    def forward(self, x):
        return x + self.table(torch.arange(x.shape[1]))

class GPT(nn.Module):
    def __init__(self, embedding_layer, position_layer, decoder, output_layer):
        super().__init__()
        self.embedding_layer = embedding_layer
        self.position_layer = position_layer
        self.decoder = decoder
        self.output_layer = output_layer
    def forward(self, inp, mask):
        return self.output_layer(self.decoder(self.position_layer(self.embedding_layer(inp)), mask))

def assemble(width, context_size, vocab_size, h, hidden, Nx):
    blocks = nn.ModuleList([])
    for _ in range(Nx):
        feed_forward = nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width))
        blocks.append(Block(width, Attention(width, h), feed_forward))
    decoder = Decoder(width, blocks)
    return GPT(nn.Embedding(vocab_size, width), Positions(context_size, width), decoder, nn.Linear(width, vocab_size))
""",
        (("self.decoder(self.position_layer(self.embedding_layer(inp)), mask)", "self.decoder(self.embedding_layer(inp), mask)"),),
    ),
)
