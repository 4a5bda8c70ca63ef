"""Attention under the name of a block, and other parts of the thirty-second sample, with mistakes as replacements in their text."""

from __future__ import annotations

from tests.practice.public.program import Program

BLOCK = """
import math

from torch import nn


class MultiHeadAttentionBlock(nn.Module):
    def __init__(self, d_model, h, dropout):
        super().__init__()
        assert d_model % h == 0
        self.h, self.d_k = h, d_model // h
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)
        self.w_o = nn.Linear(d_model, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, q, k, v, mask):
        query, key, value = self.w_q(q), self.w_k(k), self.w_v(v)
        query = query.view(len(query), query.shape[1], self.h, self.d_k).transpose(1, 2)
        key, value = (each.view(len(each), each.shape[1], self.h, self.d_k).transpose(1, 2) for each in (key, value))
        scores = query @ key.mT / math.sqrt(self.d_k)
        if mask is not None:
            scores.masked_fill_(mask == 0, -1e9)
        return self.w_o((self.dropout(scores.softmax(dim=-1)) @ value).transpose(1, 2).flatten(2))
"""

FIRST_POSITIONS = """
import math

import torch
from torch import nn


class PositionalEncoding(nn.Module):
    def __init__(self, embed_size, max_len):
        super().__init__()
        self.root = math.sqrt(embed_size)
        waves = torch.arange(max_len)[:, None] / 10000.0 ** (torch.arange(0, embed_size, 2) / embed_size)
        pe = torch.stack((waves.sin(), waves.cos()), dim=-1).flatten(1)
        pe = pe.unsqueeze(1)
        self.register_buffer("pe", pe)

    def forward(self, x):
        seq_len = x.size(0)
        return x * self.root + self.pe[:seq_len, :]
"""

PENALTIES = """
import torch


def no_repeats(ids, size):
    start = tuple(ids[len(ids) - size + 1 :])
    grams = [tuple(ids[at : at + size]) for at in range(len(ids) - size + 1)] if size else []
    return {gram[-1] for gram in grams if gram[:-1] == start}


def sample_next_token(logits, temperature, top_k, generated_ids, repetition_penalty, banned_tokens):
    seen = torch.unique(generated_ids)
    logits = logits.clone()
    logits[..., seen] = torch.where(logits[..., seen] < 0, logits[..., seen] * repetition_penalty, logits[..., seen] / repetition_penalty)
    if banned_tokens:
        logits[..., torch.tensor(sorted(banned_tokens))] = float("-inf")
    if temperature <= 0:
        return logits.argmax(dim=-1, keepdim=True)
    logits = logits / temperature
    least = torch.topk(logits, top_k).values[..., -1:]
    return torch.multinomial(logits.masked_fill(logits < least, float("-inf")).softmax(-1), 1)


@torch.no_grad()
def generate(model, prompt_token_ids, max_new_tokens, temperature, top_k, repetition_penalty, no_repeat_ngram_size, eos_token_id, stop_on_eos):
    ids = torch.tensor(prompt_token_ids)[None]
    for _ in range(max_new_tokens):
        logits = model(ids[:, -model.config.max_seq_len :])[:, -1]
        banned = no_repeats(ids[0].tolist(), no_repeat_ngram_size)
        token = sample_next_token(logits, temperature, top_k, ids[0], repetition_penalty, banned)
        ids = torch.cat([ids, token], dim=1)
        if stop_on_eos and token.item() == eos_token_id:
            break
    return ids[0].tolist()


def resolve_generation_tokenizer(config, override=None):
    return override or config["tokenizer"]
"""

TRANSLATION = """
import torch


def causal_mask(size):
    return torch.tril(torch.ones(1, size, size, dtype=torch.bool))


def greedy_decode(model, source, source_msk, tokenizer_src, tokenizer_tgt, max_len, device):
    sos_idx, eos_idx = tokenizer_tgt.token_to_id("[SOS]"), tokenizer_tgt.token_to_id("[EOS]")
    memory = model.encode(source, source_msk)
    ids = torch.full((1, 1), sos_idx).type_as(source)
    while ids.size(1) < max_len:
        output = model.decode(memory, source_msk, ids, causal_mask(ids.size(1)))
        token = model.proj_out(output[:, -1]).argmax(dim=-1, keepdim=True)
        ids = torch.cat([ids, token], dim=1)
        if token.item() == eos_idx:
            break
    return ids.squeeze(0)
"""

GENERATOR = """
import torch


def sample(logits, temperature, top_k, generator):
    logits = logits / temperature
    least = torch.topk(logits, top_k).values[..., -1:]
    return torch.multinomial(torch.softmax(logits.masked_fill(logits < least, float("-inf")), -1), 1, generator=generator)
"""

FIFTY = """
import torch


class Sampler:
    def __init__(self, temperature=1.0, top_k=50):
        self.temperature, self.top_k = temperature, top_k

    def sample(self, logits):
        if self.temperature == 0:
            return logits.argmax(dim=-1, keepdim=True)
        probs = torch.softmax(logits / self.temperature, dim=-1)
        best, ids = torch.topk(probs, self.top_k)
        return torch.gather(ids, -1, torch.multinomial(best, 1))
"""

WITH_FOUR_AXES = """
import math

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_head):
        super().__init__()
        self.n_head = n_head
        self.q, self.k, self.v, self.o = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, query, key, value, mask=None):
        q, k, v = (layer(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for layer, x in ((self.q, query), (self.k, key), (self.v, value)))
        scores = q @ k.mT / math.sqrt(q.size(-1))
        if mask is not None:
            if mask.dim() == 4:
                scores = scores.masked_fill(mask == 0, -1e9)
        return self.o((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


class EncoderLayer(nn.Module):
    def __init__(self, d_model, n_head, d_ff):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, n_head)
        self.feed_forward = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def forward(self, x, src_mask=None):
        x = self.norm1(x + self.self_attn(x, x, x, src_mask))
        return self.norm2(x + self.feed_forward(x))


class DecoderLayer(nn.Module):
    def __init__(self, d_model, n_head, d_ff):
        super().__init__()
        self.self_attn, self.cross_attn = MultiHeadAttention(d_model, n_head), MultiHeadAttention(d_model, n_head)
        self.feed_forward = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.norm1, self.norm2, self.norm3 = nn.LayerNorm(d_model), nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        x = self.norm1(x + self.self_attn(x, x, x, tgt_mask))
        x = self.norm2(x + self.cross_attn(x, memory, memory, memory_mask))
        return self.norm3(x + self.feed_forward(x))
"""

CACHED = """
from collections import Counter
from functools import lru_cache


@lru_cache(maxsize=1024)
def get_stats(ids):
    return Counter(zip(ids, ids[1:]))
"""

PROGRAMS = (
    Program("get_stats", "pair_counts", CACHED, (("ids[1:]", "ids[2:]"),)),
    Program("Sampler", "sample", FIFTY, (("(best, 1)", "(torch.ones_like(best), 1)"),)),
    Program("EncoderLayer", "encoder_layer", WITH_FOUR_AXES, (("(x, x, x, src_mask)", "(x, x, x)"),)),
    Program("DecoderLayer", "decoder_layer", WITH_FOUR_AXES, (("memory, memory, memory_mask)", "memory, memory, tgt_mask)"),)),
    Program(
        "PositionalEncoding", "sinusoidal_positions", FIRST_POSITIONS, (("embed_size, 2) / embed_size", "embed_size, 2) / 2 / embed_size"),)
    ),
    Program("sample_next_token", "sample", PENALTIES, ((" / temperature\n", " * temperature\n"), ("[..., -1:]", "[..., :1]"))),
    Program("generate", "generate", PENALTIES, (("[:, -1]", "[:, 0]"), ("token], dim=1", "ids[:, :1]], dim=1"))),
    Program(
        "greedy_decode", "generate", TRANSLATION, (("(output[:, -1])", "(output[:, 0])"), ("if token.item() ==", "if not token.item() =="))
    ),
    Program("sample", "sample", GENERATOR, ((" / temperature", ""),)),
    Program(
        "MultiHeadAttentionBlock",
        "multi_head_attention",
        BLOCK,
        ((" / math.sqrt(self.d_k)", ""), (".transpose(1, 2).flatten(2)", ".flatten(1, 2).unflatten(1, (-1, self.h)).flatten(2)")),
    ),
)
