"""Distributions as dicts by token, merged words, and generators of texts with a tokenizer: programs in conventions of public code."""

from __future__ import annotations

from tests.practice.public.program import Program

SAMPLING = """
import math
import random
from typing import Dict

def apply_temperature(scores: Dict[str, float], temperature: float = 1.0) -> Dict[str, float]:
    return {token: score / temperature for token, score in scores.items()}

def softmax(scores: Dict[str, float]) -> Dict[str, float]:
    largest = max(scores.values())
    powers = {token: math.exp(score - largest) for token, score in scores.items()}
    total = sum(powers.values())
    return {token: power / total for token, power in powers.items()}

def apply_top_k(probabilities: Dict[str, float], k: int) -> Dict[str, float]:
    ranked = sorted(probabilities.items(), key=lambda item: item[1], reverse=True)
    return dict(ranked[:k])

def apply_top_p(probabilities: Dict[str, float], p: float) -> Dict[str, float]:
    kept, total = {}, 0.0
    for token, share in sorted(probabilities.items(), key=lambda item: item[1], reverse=True):
        kept[token] = share
        total += share
        if total >= p:
            break
    return kept

def sample_token(probabilities: Dict[str, float]) -> str:
    number, total = random.random(), 0.0
    for token, share in probabilities.items():
        total += share
        if number < total:
            return token
    return token
"""

TRAINING = """
import re
from collections import Counter

def pairs_of(vocab):
    counts = Counter()
    for word, count in vocab.items():
        symbols = word.split()
        for pair in zip(symbols, symbols[1:]):
            counts[pair] += count
    return counts

def joined(pair, vocab):
    found = re.compile(r"(?<!\\S)" + re.escape(" ".join(pair)) + r"(?!\\S)")
    return {found.sub("".join(pair), word): count for word, count in vocab.items()}

def bpe_training(vocab, num_merges=5):
    for _ in range(num_merges):
        counts = pairs_of(vocab)
        if not counts:
            break
        vocab = joined(max(counts, key=counts.get), vocab)
    return vocab

EXAMPLE = {"l o w </w>": 5, "n e w e s t </w>": 6}
"""

PROGRAMS = (
    Program("apply_temperature", "temperature", SAMPLING, (("score / temperature", "score * temperature"),)),
    Program("softmax", "softmax", SAMPLING, (("power / total", "power / largest"),)),
    Program("apply_top_k", "top_k", SAMPLING, (("ranked[:k]", "ranked[: k + 1]"), ("ranked[:k]", "ranked[k:]"))),
    Program("apply_top_p", "top_p", SAMPLING, (("if total >= p", "if total - share >= p"),)),
    Program("sample_token", "sample", SAMPLING, (("number < total", "number > total"),)),
    Program(
        "bpe_training",
        "bpe_train",
        TRAINING,
        (("counts[pair] += count", "counts[pair] += 1"), ("range(num_merges)", "range(num_merges + 1)")),
    ),
    Program(
        "Words._bpe_encode_word",
        "bpe_encode",
        """
class Words:
    def __init__(self, vocab, merges):
        self.vocab = vocab
        self._bytes_to_id = {token: number for number, token in vocab.items()}
        self._merge_rank = {pair: place for place, pair in enumerate(merges)}

    def _bpe_encode_word(self, word_bytes):
        parts = [bytes([each]) for each in word_bytes]
        while pairs := [pair for pair in zip(parts, parts[1:]) if pair in self._merge_rank]:
            first, second = min(pairs, key=self._merge_rank.get)
            joined = []
            for part in parts:
                if joined and joined[-1] == first and part == second:
                    joined[-1] = first + second
                else:
                    joined.append(part)
            parts = joined
        return [self._bytes_to_id[part] for part in parts]
""",
        (("min(pairs", "max(pairs"),),
    ),
    Program(
        "PoswiseFeedForwardNet",
        "feed_forward",
        """
import torch.nn as nn
import torch.nn.functional as F

class PoswiseFeedForwardNet(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.conv1 = nn.Conv1d(config.hidden_dim, config.ff_dim, kernel_size=1)
        self.conv2 = nn.Conv1d(config.ff_dim, config.hidden_dim, kernel_size=1)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, inputs):
        hidden = F.gelu(self.conv1(inputs.transpose(1, 2)))
        return self.dropout(self.conv2(hidden).transpose(1, 2))
""",
        (("F.gelu(self.conv1(inputs.transpose(1, 2)))", "self.conv1(inputs.transpose(1, 2))"),),
    ),
    Program(
        "TextGenerator",
        "generate",
        """
import torch

class TextGenerator:
    def __init__(self, model, tokenizer, device="cpu"):
        self.model, self.tokenizer, self.device = model, tokenizer, device

    def generate(self, prompt, max_new_tokens=20, eos_token_id=None, chat=True):
        if eos_token_id is None:
            eos_token_id = self.tokenizer.eos_token_id
        ids = torch.tensor([self.tokenizer.encode(prompt, chat_wrapped=chat)], device=self.device)
        start = ids.shape[1]
        for _ in range(max_new_tokens):
            token = self.model(ids)[:, -1].argmax(-1, keepdim=True)
            if token.item() == eos_token_id:
                break
            ids = torch.cat([ids, token], dim=1)
        return self.tokenizer.decode(ids[0, start:].tolist())
""",
        (("[:, -1].argmax", "[:, 0].argmax"), ("torch.cat([ids, token]", "torch.cat([token, ids]")),
    ),
)

OF_WORDS = """
import torch

def ids_of(text, vocab):
    return [vocab[word] for word in text.split()]

def generate(model, prompt, vocab, id2word, max_tokens=20):
    ids = ids_of(prompt, vocab)
    with torch.no_grad():
        for _ in range(max_tokens):
            scores = model.forward(torch.tensor([ids]))[0, -1]
            ids.append(torch.argmax(scores).item())
    return " ".join(id2word[each] for each in ids)
"""

IN_PROCESSES = """
from collections import Counter
import regex

PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"

def train_bpe(input_path, vocab_size, special_tokens, num_processes):
    with open(input_path, encoding="utf-8") as file:
        text = file.read()
    parts = regex.split("|".join(map(regex.escape, special_tokens)), text) if special_tokens else [text]
    words = Counter()
    for first in range(num_processes):
        words.update(word for part in parts[first::num_processes] for word in regex.findall(PATTERN, part))
    counted = {tuple(bytes([each]) for each in word.encode("utf-8")): count for word, count in words.items()}
    vocab = {number: bytes([number]) for number in range(256)}
    for token in special_tokens:
        vocab[len(vocab)] = token.encode("utf-8")
    merges = []
    while len(vocab) < vocab_size:
        pairs = Counter()
        for word, count in counted.items():
            for pair in zip(word, word[1:]):
                pairs[pair] += count
        if not pairs:
            break
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        merges.append(best)
        vocab[len(vocab)] = best[0] + best[1]
        counted = {merged(word, best): count for word, count in counted.items()}
    return vocab, merges

def merged(word, pair):
    joined, place = [], 0
    while place < len(word):
        if word[place : place + 2] == pair:
            joined.append(pair[0] + pair[1])
            place += 2
        else:
            joined.append(word[place])
            place += 1
    return tuple(joined)
"""

PROGRAMS += (
    Program("generate", "generate", OF_WORDS, (("[0, -1]", "[0, 0]"), ("torch.argmax", "torch.argmin"))),
    Program("train_bpe", "bpe_train", IN_PROCESSES, (("pairs[pair] += count", "pairs[pair] += 1"), ("max(pairs, key", "min(pairs, key"))),
)
