import torch
from torch import nn


class DecoderLayer(nn.Module):
    def __init__(self, d_model, heads, d_ff):
        super().__init__()
        self.self_attention = nn.MultiheadAttention(d_model, heads, batch_first=True)
        self.cross_attention = nn.MultiheadAttention(d_model, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(d_model) for _ in range(3))

    def forward(self, memory, x, hidden, padding):
        x = self.norm1(x + self.self_attention(x, x, x, attn_mask=hidden)[0])
        x = self.norm2(x + self.cross_attention(x, memory, memory, key_padding_mask=padding)[0])
        return self.norm3(x + self.mlp(x)), None


class Base(nn.Module):
    def __init__(self, vocab_size, d_model, n_layers, heads, d_ff, max_len):
        super().__init__()
        self.embed, self.position = nn.Embedding(vocab_size, d_model), nn.Parameter(torch.zeros(1, max_len, d_model))
        self.layers = nn.ModuleList([DecoderLayer(d_model, heads, d_ff) for _ in range(n_layers)])
        self.head = nn.Linear(d_model, vocab_size)

    def start(self, tgt):
        return self.embed(tgt) + self.position[:, : tgt.shape[1]]


class Right_logits(Base):
    def forward(self, tgt, memory, memory_mask):
        x, hidden = self.start(tgt), torch.triu(torch.ones(tgt.shape[1], tgt.shape[1], dtype=torch.bool), 1)
        for layer in self.layers:
            x, _ = layer(memory, x, hidden, memory_mask)
        return self.head(x)


class Right_of_vectors(nn.Module):
    def __init__(self, d_model, n_layers, heads, d_ff):
        super().__init__()
        self.layers = nn.ModuleList([DecoderLayer(d_model, heads, d_ff) for _ in range(n_layers)])

    def forward(self, src, tgt, tgt_mask=None, mem_mask=None):
        for layer in self.layers:
            tgt, _ = layer(src, tgt, tgt_mask, mem_mask)
        return tgt


class wrong_memory_missing(Base):
    def forward(self, tgt, memory):
        x, hidden = self.start(tgt), torch.triu(torch.ones(tgt.shape[1], tgt.shape[1], dtype=torch.bool), 1)
        for layer in self.layers:
            x, _ = layer(x, x, hidden, None)
        return self.head(x)


class wrong_earlier_targets_hidden(Base):
    def forward(self, tgt, memory):
        x, hidden = self.start(tgt), torch.tril(torch.ones(tgt.shape[1], tgt.shape[1], dtype=torch.bool), -1)
        for layer in self.layers:
            x, _ = layer(memory, x, hidden, None)
        return self.head(x)


class wrong_only_first_layer(Base):
    def forward(self, tgt, memory):
        x, hidden = self.start(tgt), torch.triu(torch.ones(tgt.shape[1], tgt.shape[1], dtype=torch.bool), 1)
        for layer in self.layers:
            return self.head(layer(memory, x, hidden, None)[0])
