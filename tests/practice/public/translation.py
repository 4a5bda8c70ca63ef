"""Parts of translation models: greedy decoding with tokenizers, the output layer with log-softmax, and an encoder that scales by a tensor."""

from tests.practice.public.program import Program

GREEDY = """
import torch

def causal(size):
    return torch.tril(torch.ones(1, size, size)).int()

def greedy_decode({parameters}):
    start = {tgt}.token_to_id("[SOS]")
    end = {tgt}.token_to_id("[EOS]")
    memory = model.encode(source, source_mask)
    ids = torch.full((1, 1), start).type_as(source).to(device)
    while ids.size(1) < max_len:
        mask = causal(ids.size(1)).type_as(source_mask).to(device)
        out = model.decode(memory, source_mask, ids, mask)
        chosen = model.project(out[:, -1]).argmax(dim=-1)
        ids = torch.cat([ids, chosen.view(1, 1).type_as(source)], dim=1)
        if chosen.item() == end:
            break
    return ids.squeeze(0)
"""

PROGRAMS = (
    Program(
        "greedy_decode",
        "generate",
        GREEDY.format(parameters="model, source, source_mask, tokenizer_src, tokenizer_tgt, max_len, device", tgt="tokenizer_tgt"),
        (("argmax", "argmin"), ("out[:, -1]", "out[:, 0]"), ("chosen.item() == end", "chosen.item() != end")),
    ),
    Program(
        "greedy_decode",
        "generate",
        GREEDY.format(parameters="source, source_mask, model, device: str, dst_tokenizer, max_len: int", tgt="dst_tokenizer"),
        (("argmax", "argmin"),),
    ),
    Program(
        "Generator",
        "linear",
        """
from torch import nn
from torch.nn.functional import log_softmax

class Generator(nn.Module):
    def __init__(self, d_model, vocab):
        super().__init__()
        self.proj = nn.Linear(d_model, vocab)

    def forward(self, x):
        return log_softmax(self.proj(x), dim=-1)
""",
    ),
    Program(
        "Transformer",
        "encoder_decoder",
        """
import torch
from torch import nn

class EncoderLayer(nn.Module):
    def __init__(self, width, num_heads, inner):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, num_heads, batch_first=True)
        self.ffn = nn.Sequential(nn.Linear(width, inner), nn.ReLU(), nn.Linear(inner, width))
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x, kept):
        hidden = None if kept is None else kept == 0
        x = self.norm1(x + self.attention(x, x, x, key_padding_mask=hidden)[0])
        return self.norm2(x + self.ffn(x))

class DecoderLayer(nn.Module):
    def __init__(self, width, num_heads, inner):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, num_heads, batch_first=True)
        self.cross_attention = nn.MultiheadAttention(width, num_heads, batch_first=True)
        self.ffn = nn.Sequential(nn.Linear(width, inner), nn.ReLU(), nn.Linear(inner, width))
        self.norm1, self.norm2, self.norm3 = nn.LayerNorm(width), nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x, memory, kept):
        later = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        x = self.norm1(x + self.attention(x, x, x, attn_mask=later)[0])
        hidden = None if kept is None else kept == 0
        x = self.norm2(x + self.cross_attention(x, memory, memory, key_padding_mask=hidden)[0])
        return self.norm3(x + self.ffn(x))

class Transformer(nn.Module):
    def __init__(self, vocab_size, width, num_heads, num_layers, inner, max_len):
        super().__init__()
        self.words, self.positions = nn.Embedding(vocab_size, width), nn.Embedding(max_len, width)
        self.encoder = nn.ModuleList([EncoderLayer(width, num_heads, inner) for _ in range(num_layers)])
        self.decoder = nn.ModuleList([DecoderLayer(width, num_heads, inner) for _ in range(num_layers)])
        self.head = nn.Linear(width, vocab_size, bias=False)
        self.head.weight = self.words.weight

    def embedded(self, ids):
        return self.words(ids) + self.positions(torch.arange(ids.shape[1]))

    def forward(self, dec_x, enc_x=None, memory=None, enc_padding_mask=None):
        if memory is None:
            memory = self.embedded(enc_x)
            for layer in self.encoder:
                memory = layer(memory, enc_padding_mask)
        x = self.embedded(dec_x)
        for layer in self.decoder:
            x = layer(x, memory, enc_padding_mask)
        return {"logits": self.head(x), "memory": memory}
""",
        (("x = self.embedded(dec_x)", "x = self.words(dec_x)"),),
    ),
    Program(
        "TransformerEncoder",
        "encoder_stack",
        """
import torch
from torch import nn

class EncoderBlock(nn.Module):
    def __init__(self, width, num_heads):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, num_heads, batch_first=True)
        self.ffn = nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width))
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x):
        x = self.norm1(x + self.attention(x, x, x)[0])
        return self.norm2(x + self.ffn(x))

class TransformerEncoder(nn.Module):
    def __init__(self, vocab_size, width, num_heads, max_len):
        super().__init__()
        self.words, self.positions = nn.Embedding(vocab_size, width), nn.Embedding(max_len, width)
        self.block = EncoderBlock(width, num_heads)

    def forward(self, ids):
        places = torch.arange(ids.shape[1]).expand(ids.shape[0], -1)
        return self.block(self.words(ids) + self.positions(places))
""",
        (("self.words(ids) + self.positions(places)", "self.words(ids)"),),
    ),
    Program(
        "Classifier",
        "linear",
        """
from torch import nn

class Classifier(nn.Module):
    def __init__(self, embed_dim, vocab_size):
        super().__init__()
        self.fc, self.activation = nn.Linear(embed_dim, vocab_size), nn.LogSoftmax(dim=-1)

    def forward(self, x):
        return self.activation(self.fc(x))
""",
        (("LogSoftmax(dim=-1)", "LogSoftmax(dim=0)"), ("nn.LogSoftmax(dim=-1)", "nn.Sigmoid()")),
    ),
    Program(
        "Generator",
        "linear",
        """
import torch.nn as nn
import torch.nn.functional as F

class Generator(nn.Module):
    def __init__(self, d_model, vocab_size):
        super().__init__()
        self.linear = nn.Linear(d_model, vocab_size)

    def forward(self, decoded):
        return F.softmax(self.linear(decoded), dim=-1)
""",
        (("dim=-1", "dim=0"), ("(self.linear(decoded)", "(-self.linear(decoded)")),
    ),
    Program(
        "Encoder",
        "encoder_stack",
        """
import torch
from torch import nn

DEVICE = torch.device("mps")

class EncoderLayer(nn.Module):
    def __init__(self, hid_dim, n_heads, ff_dim, dropout):
        super().__init__()
        self.attention = nn.MultiheadAttention(hid_dim, n_heads, batch_first=True)
        self.norm_1, self.norm_2 = nn.LayerNorm(hid_dim), nn.LayerNorm(hid_dim)
        self.ff = nn.Sequential(nn.Linear(hid_dim, ff_dim), nn.ReLU(), nn.Linear(ff_dim, hid_dim))

    def forward(self, src, src_mask):
        src = self.norm_1(src + self.attention(src, src, src, key_padding_mask=~src_mask[:, 0, 0])[0])
        return self.norm_2(src + self.ff(src))

class Encoder(nn.Module):
    def __init__(self, input_dim, hid_dim, n_layers, n_heads, ff_dim, dropout, max_length=150):
        super().__init__()
        self.tok_embedding = nn.Embedding(input_dim, hid_dim)
        self.pos_embedding = nn.Embedding(max_length, hid_dim)
        self.layers = nn.ModuleList([EncoderLayer(hid_dim, n_heads, ff_dim, dropout) for _ in range(n_layers)])
        self.scale = torch.sqrt(torch.FloatTensor([hid_dim])).to(DEVICE)

    def forward(self, src, src_mask):
        places = torch.arange(src.shape[1]).unsqueeze(0).repeat(src.shape[0], 1).to(DEVICE)
        src = self.tok_embedding(src) * self.scale + self.pos_embedding(places)
        for layer in self.layers:
            src = layer(src, src_mask)
        return src
""",
        (("* self.scale + self.pos_embedding(places)", "* self.scale"),),
    ),
    Program(
        "Transformer",
        "encoder_decoder",
        """
import math

import torch
from torch import nn

class Places(nn.Module):
    def __init__(self, d_model, max_len=64):
        super().__init__()
        table, places = torch.zeros(1, max_len, d_model), torch.arange(max_len).unsqueeze(1)
        rates = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        table[0, :, 0::2], table[0, :, 1::2] = torch.sin(places * rates), torch.cos(places * rates)
        self.register_buffer("table", table)

    def forward(self, x):
        return x + self.table[:, : x.shape[1]]

class Transformer(nn.Module):  # right with batch_first=True, which is not its default
    def __init__(self, vocab_size, d_model=512, nhead=8, num_layers=6, dim_feedforward=2048, batch_first=False):
        super().__init__()
        self.places, self.words = Places(d_model), nn.Embedding(vocab_size, d_model)
        self.transformer = nn.Transformer(d_model, nhead, num_layers, num_layers, dim_feedforward, batch_first=batch_first)
        self.head = nn.Linear(d_model, vocab_size)

    def forward(self, src, tgt, tgt_mask=None):
        source, target = self.places(self.words(src)), self.places(self.words(tgt))
        return self.head(self.transformer(source, target, tgt_mask=tgt_mask))
""",
        (("target, tgt_mask=tgt_mask", "target"), ("self.places(self.words(tgt))", "self.words(tgt)"), (": x.shape[1]]", ": x.shape[0]]")),
    ),
)
