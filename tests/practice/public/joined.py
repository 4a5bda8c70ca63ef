"""Parts that join what others return apart, or take apart what others pass separately, with mistakes as replacements in their text."""

from __future__ import annotations

from tests.practice.public.program import Program

ATTENTION = """
import math
import torch

def attention(q, k, v, causal=False):
    batch, AXES, width = q.shape
    q, k, v = ORDER
    scores = q @ k.transpose(-2, -1) / math.sqrt(width)
    if causal:
        hidden = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        scores = scores.masked_fill(hidden, -torch.inf)
    heads = scores.softmax(-1) @ v
    return heads.transpose(1, 2).reshape(batch, length, -1)
"""

TURNING = """
import torch

def apply_rope(x, waves):
    UNPACKED = waves
    even, odd = x[..., 0::2], x[..., 1::2]
    other = torch.stack((-odd, even), -1).flatten(-2)
    return x * cos + other * sin
"""

OF_FREQUENCIES = """
import numpy as np

def fixed_pos_embedding(inv_freq, seq):
    angles = np.outer(np.arange(seq), inv_freq)
    angles = np.repeat(angles, 2, axis=-1)
    return np.sin(angles), np.cos(angles)
"""

OF_SHAPE = """
import numpy as np

def fixed_pos_embedding(x, seq_dim=0):
    width = x.shape[-1]
    rates = 10000.0 ** (-np.arange(0, width, 2) / width)
    angles = np.arange(x.shape[seq_dim])[:, None] * rates
    return np.sin(angles), np.cos(angles)
"""

GIVEN_PARTS = """
from torch import nn

class EncoderLayer(nn.Module):
    def __init__(self, attention, d_model, d_ff=None, dropout=0.1):
        super().__init__()
        d_ff = d_ff or 4 * d_model
        self.attention = attention
        self.widen, self.narrow = nn.Conv1d(d_model, d_ff, 1), nn.Conv1d(d_ff, d_model, 1)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        self.activation = nn.GELU()

    def forward(self, x, attn_mask=None, tau=None):
        new, weights = self.attention(x, x, x, attn_mask=attn_mask, tau=tau)
        x = self.norm1(x + self.dropout(new))
        y = self.dropout(self.activation(self.widen(x.transpose(-1, 1))))
        return self.norm2(x + self.dropout(self.narrow(y).transpose(-1, 1))), weights

class Encoder(nn.Module):
    def __init__(self, attn_layers, conv_layers=None, norm_layer=None):
        super().__init__()
        self.attn_layers = nn.ModuleList(attn_layers)
        self.conv_layers = nn.ModuleList(conv_layers) if conv_layers is not None else None
        self.norm = norm_layer

    def forward(self, x, attn_mask=None, tau=None):
        every = []
        for place, layer in enumerate(self.attn_layers):
            x, weights = layer(x, attn_mask=attn_mask, tau=tau)
            if self.conv_layers is not None and place < len(self.conv_layers):
                x = self.conv_layers[place](x)
            every.append(weights)
        if self.norm is not None:
            x = self.norm(x)
        return x, every

class DecoderLayer(nn.Module):
    def __init__(self, self_attention, cross_attention, d_model, d_ff=None, dropout=0.1):
        super().__init__()
        d_ff = d_ff or 4 * d_model
        self.self_attention, self.cross_attention = self_attention, cross_attention
        self.widen, self.narrow = nn.Conv1d(d_model, d_ff, 1), nn.Conv1d(d_ff, d_model, 1)
        self.norm1, self.norm2, self.norm3 = nn.LayerNorm(d_model), nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        self.activation = nn.ReLU()

    def forward(self, x, cross, x_mask=None, cross_mask=None, tau=None):
        x = self.norm1(x + self.dropout(self.self_attention(
            x, x, x,
            attn_mask=x_mask,
            tau=tau,
        )[0]))
        x = self.norm2(x + self.dropout(self.cross_attention(
            x, cross, cross,
            attn_mask=cross_mask,
            tau=tau,
        )[0]))
        y = self.dropout(self.activation(self.widen(x.transpose(-1, 1))))
        return self.norm3(x + self.dropout(self.narrow(y).transpose(-1, 1)))
"""

CAUSAL_BY_FLAG = """
import math
import torch
from torch import nn

class Attention(nn.Module):
    def __init__(self, config, is_causal=False):
        super().__init__()
        self.n_head, self.width = config.n_head, config.n_embd // config.n_head
        self.is_causal = is_causal
        self.q, self.k, self.v, self.o = (nn.Linear(config.n_embd, config.n_embd) for _ in range(4))
        self.scale_of_heads = nn.Parameter(torch.ones(config.n_head, 1, 1))

    def heads(self, x):
        return x.unflatten(-1, (self.n_head, self.width)).transpose(-2, -3)

    def forward(self, q, k, v):
        q, k, v = self.heads(self.q(q)), self.heads(self.k(k)), self.heads(self.v(v))
        scores = q @ k.transpose(-1, -2) / math.sqrt(self.width) - 0.1 * (torch.arange(q.shape[-2])[:, None] - torch.arange(k.shape[-2])).abs()
        if self.is_causal:
            scores = scores.masked_fill(torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1), -torch.inf)
        return self.o((scores.softmax(-1) @ v).transpose(-2, -3).flatten(-2))

class FeedForward(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.up, self.down = nn.Linear(config.n_embd, 4 * config.n_embd), nn.Linear(4 * config.n_embd, config.n_embd)
    def forward(self, x):
        return self.down(torch.relu(self.up(x)))

class DecoderLayer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(config.n_embd) for _ in range(3))
        self.own_attn = Attention(config, is_causal=True)
        self.cross_attn = Attention(config, is_causal=False)
        self.ffn = FeedForward(config)

    def forward(self, x, enc_out):
        y = self.norm1(x)
        x = x + self.own_attn(y, y, y)
        x = x + self.cross_attn(self.norm2(x), enc_out, enc_out)
        return x + self.ffn(self.norm3(x))
"""

OF_NNX = """
import jax
from flax import nnx

class Attention(nnx.Module):
    def __init__(self, width: int, num_heads: int, dropout: float = 0.0, *, rngs: nnx.Rngs):
        self.num_heads, self.dropout_p = num_heads, dropout
        self.q_proj, self.k_proj = nnx.Linear(width, width, rngs=rngs), nnx.Linear(width, width, rngs=rngs)
        self.v_proj, self.out_proj = nnx.Linear(width, width, rngs=rngs), nnx.Linear(width, width, rngs=rngs)

    def heads(self, x: jax.Array) -> jax.Array:
        b, n, c = x.shape
        return x.reshape(b, n, self.num_heads, c // self.num_heads)

    def __call__(self, q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
        q, k, v = self.heads(self.q_proj(q)), self.heads(self.k_proj(k)), self.heads(self.v_proj(v))
        out = nnx.dot_product_attention(q, k, v, dropout_rate=self.dropout_p)
        b, n, h, d = out.shape
        return self.out_proj(out.reshape(b, n, h * d))
"""

PROGRAMS = (
    Program(
        "attention",
        "scaled_dot_product_attention",
        ATTENTION.replace("AXES", "_, length").replace("ORDER", "q, k, v"),
        (("heads.transpose(1, 2).reshape", "heads.reshape"), (".softmax(-1)", ".softmax(-2)")),
    ),
    Program("apply_rope", "rotary", TURNING.replace("UNPACKED", "sin, cos"), (("x * cos + other * sin", "x * cos + other * cos"),)),
    Program(
        "attention",
        "scaled_dot_product_attention",
        ATTENTION.replace("AXES", "length, _").replace("ORDER", "(x.transpose(1, 2) for x in (q, k, v))"),
        (("heads.transpose(1, 2).reshape", "heads.reshape"),),
    ),
    Program("apply_rope", "rotary", TURNING.replace("UNPACKED", "cos, sin"), (("torch.stack((-odd, even)", "torch.stack((odd, even)"),)),
    Program("fixed_pos_embedding", "rotary_tables", OF_FREQUENCIES, (("np.arange(seq)", "(np.arange(seq) + 1)"),)),
    Program("fixed_pos_embedding", "rotary_tables", OF_SHAPE, (("/ width)", "/ (2 * width))"),)),
    Program(
        "DecoderLayer",
        "decoder_layer",
        GIVEN_PARTS,
        (("x, cross, cross,", "x, x, cross,"), ("            attn_mask=cross_mask,\n", "            attn_mask=None,\n")),
    ),
    Program("Attention", "self_attention", OF_NNX, (("self.v_proj(v)", "self.k_proj(v)"),)),
    Program("EncoderLayer", "encoder_layer", GIVEN_PARTS),
    Program("DecoderLayer", "decoder_layer", CAUSAL_BY_FLAG, (("is_causal=True", "is_causal=None"),)),
    Program(
        "Encoder",
        "encoder_stack",
        GIVEN_PARTS,
        (("x, weights = layer(x, attn_mask=attn_mask, tau=tau)", "y, weights = layer(x, attn_mask=attn_mask, tau=tau)"),),
    ),
)

OUTPUT_OF_MODEL = """
from dataclasses import dataclass
import torch
from torch import nn

@dataclass
class GPTOutput:
    last_hidden_state: torch.Tensor = None
    logits: torch.Tensor = None
    loss: torch.Tensor = None

class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width))
    def forward(self, x):
        q, k, v = (each.unflatten(-1, (self.heads, -1)).transpose(1, 2) for each in self.qkv(self.norm1(x)).chunk(3, -1))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).flatten(-2))
        return x + self.mlp(self.norm2(x))

class GPT(nn.Module):
    def __init__(self, vocab_size, width, heads, depth, max_len):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocab_size, width), nn.Embedding(max_len, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.lm_head = nn.Linear(width, vocab_size, bias=False)
        self.lm_head.weight = self.tokens.weight
    def forward(self, input_ids, labels=None):
        x = self.tokens(input_ids) + self.positions(torch.arange(input_ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        logits, loss = self.lm_head(x), None
        if labels is not None:
            loss = nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())
        return GPTOutput(x, logits, loss)
"""

PROGRAMS += (
    Program(
        "GPT",
        "gpt2",
        OUTPUT_OF_MODEL,
        (("return GPTOutput(x, logits, loss)", "return GPTOutput(logits, x, loss)"), ("x = self.norm(x)", "self.norm(x)")),
    ),
)
