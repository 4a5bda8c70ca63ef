"""Models that are given their encoder and decoder, schedules whose docstrings name a rate, trainers of files: programs in conventions of public code."""

from __future__ import annotations

from tests.practice.public.program import Program

PROGRAMS = (
    Program(
        "EncoderDecoder",
        "encoder_decoder",
        """
from torch import nn

class EncoderDecoder(nn.Module):
    def __init__(self, encoder, decoder, src_embed, trg_embed, generator):
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.source_vectors = src_embed
        self.target_vectors = trg_embed
        self.generator = generator

    def encode(self, source, source_mask):
        return self.encoder(self.source_vectors(source), source_mask)

    def forward(self, source, target, source_mask, target_mask):
        memory = self.encode(source, source_mask)
        return self.decoder(self.target_vectors(target), memory, source_mask, target_mask)
""",
        (
            ("self.target_vectors(target), memory", "memory, self.target_vectors(target)[:, :0]"),
            ("self.source_vectors(source), source_mask", "self.source_vectors(source)"),
            ("memory, source_mask, target_mask", "memory, source_mask, source_mask"),
            ("memory, source_mask, target_mask", "memory, source_mask"),
            ("self.target_vectors(target)", "self.source_vectors(target)"),
            ("memory, source_mask", "self.source_vectors(source), source_mask"),
        ),
    ),
    Program(
        "Transformer",
        "encoder_decoder",
        """
from torch import nn

class Transformer(nn.Module):
    def __init__(self, encoder, decoder, src_embed, tgt_embed, src_pos, tgt_pos, projection_layer):
        super().__init__()
        self.encoder, self.decoder = encoder, decoder
        self.src_embed = src_embed
        self.tgt_embed = tgt_embed
        self.src_pos = src_pos
        self.tgt_pos = tgt_pos
        self.projection_layer = projection_layer

    def forward(self, src, tgt, src_mask, tgt_mask):
        memory = self.encoder(self.src_pos(self.src_embed(src)), src_mask)
        states = self.decoder(self.tgt_pos(self.tgt_embed(tgt)), memory, src_mask, tgt_mask)
        return self.projection_layer(states)
""",
        (
            ("self.src_pos(self.src_embed(src))", "self.src_embed(src)"),
            ("self.tgt_pos(self.tgt_embed(tgt))", "self.tgt_embed(tgt)"),
            ("self.projection_layer(states)", "self.projection_layer(memory)"),
            ("memory, src_mask, tgt_mask", "memory, None, tgt_mask"),
        ),
    ),
    Program(
        "Seq2Seq",
        "encoder_decoder",
        """
import torch
from torch import nn

class Seq2Seq(nn.Module):
    def __init__(self, encoder, decoder, src_pad_idx, trg_pad_idx, device):
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.src_pad_idx = src_pad_idx
        self.trg_pad_idx = trg_pad_idx
        self.device = device

    def hide_padding(self, src):
        return (src != self.src_pad_idx).unsqueeze(1).unsqueeze(2)

    def hide_later(self, trg):
        kept = (trg != self.trg_pad_idx).unsqueeze(1).unsqueeze(2)
        count = trg.shape[1]
        return kept & torch.tril(torch.ones((count, count), device=self.device)).bool()

    def forward(self, src, trg):
        src_mask = self.hide_padding(src)
        trg_mask = self.hide_later(trg)
        encoded = self.encoder(src, src_mask)
        output, attention = self.decoder(trg, encoded, trg_mask, src_mask)
        return output, attention
""",
        (
            ("torch.tril(", "torch.triu("),
            ("(src != self.src_pad_idx)", "(src == self.src_pad_idx)"),
            ("self.encoder(src, src_mask)", "self.encoder(trg, src_mask)"),
            ("self.decoder(trg, encoded", "self.decoder(src, encoded"),
            ("trg_mask, src_mask)", "src_mask, src_mask)"),
        ),
    ),
    Program(
        "NoamWrapper",
        "noam_schedule",
        """
class NoamWrapper:
    def __init__(self, model_size, factor, warmup, optimizer):
        self.optimizer = optimizer
        self.model_size, self.factor, self.warmup = model_size, factor, warmup
        self.count = 0

    def step(self):
        "Set the rate of the next step."
        # the rate has a factor
        self.count += 1
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate()
        self.optimizer.step()

    def rate(self):
        shape = min(self.count**-0.5, self.count * self.warmup**-1.5)
        return self.factor * self.model_size**-0.5 * shape
""",
        (("self.count * self.warmup**-1.5", "self.count * self.warmup**-0.5"), ("self.count += 1", "self.count += 2")),
    ),
    Program(
        "Merger",
        "bpe_train",
        """
from collections import Counter

class Merger:
    def __init__(self, train_file, vocab_size):
        self.train_file, self.vocab_size = train_file, vocab_size
        self.vocab = {place: bytes([place]) for place in range(256)}
        self.merges = []

    def train(self):
        with open(self.train_file, encoding="utf-8") as file:
            ids = list(file.read().encode())
        while len(self.vocab) < self.vocab_size:
            counts = Counter(zip(ids, ids[1:]))
            if not counts:
                break
            pair = max(counts, key=counts.get)
            added = len(self.vocab)
            self.vocab[added] = self.vocab[pair[0]] + self.vocab[pair[1]]
            self.merges.append((self.vocab[pair[0]], self.vocab[pair[1]]))
            joined, place = [], 0
            while place < len(ids):
                is_pair = tuple(ids[place : place + 2]) == pair
                joined.append(added if is_pair else ids[place])
                place += 2 if is_pair else 1
            ids = joined
""",
        (("max(counts", "min(counts"), ("ids = joined", "pass")),
    ),
    Program(
        "adam_update",
        "adam_step",
        """
import torch

def adam_update(grad, buf1, buf2, step, betas, eps):
    buf1.mul_(betas[0]).add_(grad, alpha=1 - betas[0])
    buf2.mul_(betas[1]).addcmul_(grad, grad, value=1 - betas[1])
    mean = buf1 / (1 - betas[0] ** step)
    square = buf2 / (1 - betas[1] ** step)
    return mean / (square.sqrt() + eps)
""",
        (
            ("buf2 / (1 - betas[1] ** step)", "buf2"),
            ("buf2 / (1 - betas[1] ** step)", "buf2 / (1 - betas[0] ** step)"),
            ("square.sqrt() + eps", "(square + eps).sqrt()"),
            ("grad, grad, value", "grad, buf1, value"),
            ("buf1.mul_(betas[0]).add_(", "buf1 = buf1.mul(betas[0]).add("),
        ),
    ),
)

LETS_GENERATE = """
import torch

def relu(x):
    return x.clamp(min=0)

def generate(model, encode, decode, prompt="", max_new_tokens=5):
    ids = torch.tensor([encode(prompt)])
    return decode(model.generate(ids, max_new_tokens)[0].tolist())
"""
"""A function that lets a model generate by itself."""
