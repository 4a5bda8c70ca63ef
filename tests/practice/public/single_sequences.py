"""Programs of NumPy for one sequence at a time: stacks of layers, and a whole encoder–decoder, whose add-and-norm takes its norm as a function."""

from __future__ import annotations

from tests.practice.public.program import Program

PARTS = """
import numpy as np

def softmax(x):
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)

def positions(length, width):
    angles = np.arange(length)[:, None] / 10000 ** (np.arange(0, width, 2) / width)
    table = np.zeros((length, width))
    table[:, 0::2], table[:, 1::2] = np.sin(angles), np.cos(angles)
    return table

class Attention:
    def __init__(self, d_model, num_heads):
        self.num_heads = num_heads
        self.Wq, self.Wk, self.Wv, self.Wo = (np.random.randn(d_model, d_model) * 0.1 for _ in range(4))

    def split(self, x):
        return x.reshape(len(x), self.num_heads, -1).transpose(1, 0, 2)

    def __call__(self, x, y, mask=None):
        q, k, v = self.split(x @ self.Wq), self.split(y @ self.Wk), self.split(y @ self.Wv)
        scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
        if mask is not None:
            scores = np.where(mask, -1e9, scores)
        return (softmax(scores) @ v).transpose(1, 0, 2).reshape(len(x), -1) @ self.Wo

class LayerNorm:
    def __init__(self, d_model):
        self.gamma, self.beta = np.ones(d_model), np.zeros(d_model)

    def __call__(self, x):
        return self.gamma * (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) + self.beta

class FeedForward:
    def __init__(self, d_model, d_ff):
        self.W1, self.b1 = np.random.randn(d_model, d_ff) * 0.1, np.zeros(d_ff)
        self.W2, self.b2 = np.random.randn(d_ff, d_model) * 0.1, np.zeros(d_model)

    def __call__(self, x):
        return np.maximum(0, x @ self.W1 + self.b1) @ self.W2 + self.b2

def add_and_norm(x, y, layer_norm):
    return layer_norm(x + y)

class EncoderLayer:
    def __init__(self, d_model, num_heads, d_ff):
        self.attention, self.feed_forward = Attention(d_model, num_heads), FeedForward(d_model, d_ff)
        self.norm1, self.norm2 = LayerNorm(d_model), LayerNorm(d_model)

    def __call__(self, x):
        x = add_and_norm(x, self.attention(x, x), self.norm1)
        return add_and_norm(x, self.feed_forward(x), self.norm2)

class DecoderLayer:
    def __init__(self, d_model, num_heads, d_ff):
        self.attention, self.cross, self.feed_forward = Attention(d_model, num_heads), Attention(d_model, num_heads), FeedForward(d_model, d_ff)
        self.norm1, self.norm2, self.norm3 = LayerNorm(d_model), LayerNorm(d_model), LayerNorm(d_model)

    def __call__(self, x, enc_output):
        mask = np.triu(np.ones((len(x), len(x)), dtype=bool), k=1)
        x = add_and_norm(x, self.attention(x, x, mask), self.norm1)
        x = add_and_norm(x, self.cross(x, enc_output), self.norm2)
        return add_and_norm(x, self.feed_forward(x), self.norm3)

class Encoder:
    def __init__(self, num_layers, d_model, num_heads, d_ff):
        self.layers = [EncoderLayer(d_model, num_heads, d_ff) for _ in range(num_layers)]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

class Decoder:
    def __init__(self, num_layers, d_model, num_heads, d_ff):
        self.layers = [DecoderLayer(d_model, num_heads, d_ff) for _ in range(num_layers)]

    def __call__(self, x, enc_output):
        for layer in self.layers:
            x = layer(x, enc_output)
        return x

class Transformer:
    def __init__(self, vocab_size, d_model=8, num_heads=2, d_ff=32, num_layers=2, max_len=20):
        self.table = np.random.randn(vocab_size, d_model) * 0.1
        self.encoder, self.decoder = Encoder(num_layers, d_model, num_heads, d_ff), Decoder(num_layers, d_model, num_heads, d_ff)
        self.W_out = np.random.randn(d_model, vocab_size) * 0.1
        self.positions = positions(max_len, d_model)

    def embed(self, ids):
        return self.table[ids] + self.positions[: len(ids)]

    def forward(self, src, tgt):
        memory = self.encoder(self.embed(src))
        return {"memory": memory, "probs": softmax(self.decoder(self.embed(tgt), memory) @ self.W_out)}
"""

PROGRAMS = (
    Program("add_and_norm", "residual", PARTS, (("layer_norm(x + y)", "layer_norm(y)"),)),
    Program("Encoder", "encoder_stack", PARTS, (("            x = layer(x)\n", "            layer(x)\n"),)),
    Program("Decoder", "decoder_stack", PARTS, (("x = layer(x, enc_output)", "x = layer(x, x)"),)),
    Program("Transformer", "encoder_decoder", PARTS),
)
