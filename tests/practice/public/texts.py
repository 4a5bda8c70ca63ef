"""Tokenizers, embeddings and sampling in conventions of public code, with mistakes as replacements in their text."""

from __future__ import annotations

from tests.practice.public.program import Program

PROGRAMS = (
    Program(
        "Writer.generate",
        "generate",
        """
import torch
import torch.nn as nn

class Writer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config

    @torch.no_grad()
    def generate(self, start_ids, device, wishes):
        ids = torch.tensor([[int(each) for each in start_ids]], device=device)
        for _ in range(wishes.max_new_tokens):
            logits, _ = self(ids[:, -self.config.block_size :])
            logits = logits[:, -1] / wishes.temperature
            if wishes.top_k is not None:
                fewest = torch.topk(logits, min(wishes.top_k, logits.size(-1))).values[:, [-1]]
                logits = logits.masked_fill(logits < fewest, float("-inf"))
            ids = torch.cat((ids, torch.multinomial(logits.softmax(-1), 1)), 1)
        return ids
""",
        (("logits[:, -1]", "logits[:, 0]"), ("range(wishes.max_new_tokens)", "range(wishes.max_new_tokens + 1)")),
    ),
    Program(
        "sample",
        "sample",
        """
import torch

def sample(logits, temperature=1.0, top_k=None):
    logits = logits / temperature
    if top_k is not None:
        kept, _ = torch.topk(logits, top_k)
        logits[logits < kept[..., -1:]] = float("-inf")
    return torch.multinomial(torch.softmax(logits, -1), 1)
""",
        (
            ("logits / temperature", "logits * temperature"),
            ("torch.topk(logits, top_k)", "torch.topk(logits, top_k + 1)"),
            ("kept[..., -1:]", "kept[..., :1]"),
            ("torch.softmax(logits, -1)", "torch.sigmoid(logits)"),
            ("logits < kept", "logits <= kept"),
        ),
    ),
    Program(
        "get_stats",
        "pair_counts",
        """
import collections

def get_stats(vocab):
    pairs = collections.defaultdict(int)
    for word, freq in vocab.items():
        symbols = word.split()
        for i in range(len(symbols) - 1):
            pairs[symbols[i], symbols[i + 1]] += freq
    return pairs
""",
        (
            ("+= freq", "+= 1"),
            ("+= freq", "= freq"),
            ("range(len(symbols) - 1)", "range(len(symbols) - 2)"),
            ("symbols[i], symbols[i + 1]", "symbols[i + 1], symbols[i]"),
            ("range(len(symbols) - 1)", "range(0, len(symbols) - 1, 2)"),
        ),
    ),
    Program(
        "Embedding",
        "embed",
        """
import torch

class Embedding:
    def __init__(self, in_size, embed_size):
        self.params = {"E": torch.randn(in_size, embed_size)}
    def forward(self, idx):
        self.cache = idx
        return self.params["E"][idx]
    def backward(self, dx):
        self.grads = {"E": torch.zeros_like(self.params["E"])}
        self.grads["E"].index_put_((self.cache,), dx, accumulate=True)
        return dx
""",
        (
            ('self.params["E"][idx]', 'self.params["E"][idx - 1]'),
            ('self.params["E"][idx]', 'self.params["E"][idx] * 2'),
            ('self.params["E"][idx]', 'self.params["E"][idx].flip(-1)'),
            ('self.params["E"][idx]', 'self.params["E"][: len(idx)]'),
            ('self.params["E"][idx]', 'self.params["E"][idx].mean(0)'),
        ),
    ),
    Program(
        "generate_text",
        "generate",
        """
import torch

def generate_text(model, input_ids, maximum_new_tokens, temperature, top_k_tokens, top_p, repetition_penalty=1.2):
    model.eval()
    device = next(model.parameters()).device
    input_ids = input_ids.to(device)
    for _ in range(maximum_new_tokens):
        logits = model(input_ids[:, -model.context_length:])[:, -1, :]
        if repetition_penalty != 1.0:
            seen = torch.gather(logits, 1, input_ids)
            logits = logits.scatter(1, input_ids, torch.where(seen > 0, seen / repetition_penalty, seen * repetition_penalty))
        logits = logits / temperature
        if top_k_tokens is not None:
            least = torch.topk(logits, top_k_tokens)[0][:, -1:]
            logits = logits.masked_fill(logits < least, float("-inf"))
        next_token = torch.multinomial(torch.softmax(logits, dim=-1), 1)
        input_ids = torch.cat([input_ids, next_token], dim=1)
    return input_ids
""",
        (
            ("[:, -1, :]", "[:, 0, :]"),
            ("-model.context_length:", ":model.context_length"),
            ("torch.cat([input_ids, next_token], dim=1)", "torch.cat([next_token, input_ids], dim=1)"),
            ("range(maximum_new_tokens)", "range(maximum_new_tokens + 1)"),
            ("logits / temperature", "-logits / temperature"),
        ),
    ),
    Program(
        "merge_pair",
        "merge_pair",
        """
def merge_pair(sequences, pair, new_id):
    out = []
    for ids in sequences:
        merged, place = [], 0
        while place < len(ids):
            found = tuple(ids[place : place + 2]) == tuple(pair)
            merged.append(new_id if found else ids[place])
            place += 1 + found
        out.append(merged)
    return out
""",
        (("place += 1 + found", "place += 1"),),
    ),
    Program(
        "train_tokenizer",
        "bpe_train",
        """
import re
from collections import Counter

def bytes_to_unicode():
    visible = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in visible]
    return {byte: chr(byte) for byte in visible} | {byte: chr(256 + place) for place, byte in enumerate(hidden)}

def joined(word, pair):
    left, out = list(word), []
    while left:
        first = left.pop(0)
        out.append(first + left.pop(0) if left and (first, left[0]) == pair else first)
    return tuple(out)

def train_tokenizer(text, vocab_size):
    letters = bytes_to_unicode()
    words = Counter(tuple(letters[byte] for byte in word.encode()) for word in re.findall(r" ?[^ ]+", text))
    merges = {}
    for rank in range(vocab_size - 256):
        counts = Counter()
        for word, count in words.items():
            for pair in zip(word, word[1:]):
                counts[pair] += count
        best = max(counts, key=counts.get)
        words = {joined(word, best): count for word, count in words.items()}
        merges[best] = rank
    encoder = {letter: byte for byte, letter in letters.items()}
    for first, second in merges:
        encoder[first + second] = len(encoder)
    return encoder, merges
""",
        (("counts[pair] += count", "counts[pair] += 1"),),
    ),
    Program(
        "train_bpe",
        "bpe_train",
        """
import re
from collections import Counter

def train_bpe(input_path, vocab_size, special_tokens):
    with open(input_path, encoding="utf-8") as file:
        parts = re.split("|".join(map(re.escape, special_tokens)) or r"\\Z", file.read())
    words = Counter(word for part in parts for word in re.findall(r" ?[^ ]+", part))
    words = {tuple(bytes([byte]) for byte in word.encode()): count for word, count in words.items()}
    vocab = {byte: bytes([byte]) for byte in range(256)} | {256 + i: each.encode() for i, each in enumerate(special_tokens)}
    merges = []
    while len(vocab) < vocab_size:
        counts = Counter()
        for word, count in words.items():
            for pair in zip(word, word[1:]):
                counts[pair] += count
        best = max(counts, key=lambda pair: (counts[pair], pair))
        merged = {}
        for word, count in words.items():
            out = []
            for symbol in word:
                if out and (out[-1], symbol) == best:
                    out[-1] += symbol
                else:
                    out.append(symbol)
            merged[tuple(out)] = count
        words = merged
        merges.append(best)
        vocab[len(vocab)] = best[0] + best[1]
    return vocab, merges
""",
        (("(counts[pair], pair))", "(-counts[pair], pair))"),),
    ),
    Program(
        "Encoder",
        "bpe_tokenizer",
        """
import re

def printable():
    kept = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in kept]
    return {byte: chr(byte) for byte in kept} | {byte: chr(256 + place) for place, byte in enumerate(others)}

class Encoder:
    def __init__(self, encoder, bpe_merges):
        self.encoder, self.decoder = encoder, {number: token for token, number in encoder.items()}
        self.letters = printable()
        self.bytes = {letter: byte for byte, letter in self.letters.items()}
        self.ranks = {pair: place for place, pair in enumerate(bpe_merges)}

    def bpe(self, word):
        parts = list(word)
        while len(parts) > 1:
            pair = min(zip(parts, parts[1:]), key=lambda each: self.ranks.get(each, float("inf")))
            if pair not in self.ranks:
                break
            merged, place = [], 0
            while place < len(parts):
                if tuple(parts[place : place + 2]) == pair:
                    merged.append(parts[place] + parts[place + 1])
                    place += 2
                else:
                    merged.append(parts[place])
                    place += 1
            parts = merged
        return parts

    def encode(self, text):
        words = re.findall(r" ?[^\\W\\d_]+| ?\\d+| ?(?:[^\\s\\w]|_)+|\\s+", text)
        return [self.encoder[part] for word in words for part in self.bpe("".join(self.letters[each] for each in word.encode("utf-8")))]

    def decode(self, tokens):
        text = "".join(self.decoder[token] for token in tokens)
        return bytearray(self.bytes[letter] for letter in text).decode("utf-8", errors="replace")
""",
        (("min(zip(parts, parts[1:])", "max(zip(parts, parts[1:])"), ("place += 2", "place += 1; continue")),
    ),
    Program(
        "greedy_decode",
        "generate",
        """
import torch

def subsequent(size):
    return torch.ones(1, size, size).tril() == 1

def greedy_decode(model, src, src_mask, max_len, start_symbol, dataset):
    memory = model.encode(src, src_mask)
    out = torch.full((1, 1), start_symbol).type_as(src)
    for _ in range(max_len - 1):
        states = model.decode(memory, src_mask, out, subsequent(out.size(1)).type_as(src))
        newest = model.generator(states[:, -1]).argmax(-1)
        out = torch.cat([out, newest[:, None]], dim=1)
    return out
""",
        (
            ("states[:, -1]", "states[:, 0]"),
            (".argmax(-1)", ".argmin(-1)"),
            ("model.decode(memory, src_mask, out,", "model.decode(memory * 2, src_mask, out,"),
        ),
    ),
    Program(
        "sample_next_token",
        "sample",
        """
import torch

def sample_next_token(model, input_tokens, temperature):
    with torch.no_grad():
        newest = model(input_tokens)[:, -1, :] / temperature
        return torch.multinomial(newest.softmax(dim=-1), num_samples=1)
""",
        (("/ temperature", "* temperature"), ("[:, -1, :]", "[:, -2, :]")),
    ),
    Program(
        "count_pairs",
        "pair_counts",
        """
from collections import Counter

def count_pairs(ids: list[int], counts: Counter | None = None) -> Counter:
    counts = Counter() if counts is None else counts
    for pair in zip(ids, ids[1:]):
        counts[pair] += 1
    return counts
""",
        (("+= 1", "= 1"), ("if counts is None else counts", "if counts is None else Counter()")),
    ),
    Program(
        "BasicTokenizer",
        "bpe_tokenizer",
        """
class BasicTokenizer:
    def counts(self, ids):
        found = {}
        for pair in zip(ids, ids[1:]):
            found[pair] = found.get(pair, 0) + 1
        return found

    def joined(self, ids, pair, token):
        made, place = [], 0
        while place < len(ids):
            is_pair = tuple(ids[place : place + 2]) == pair
            made.append(token if is_pair else ids[place])
            place += 2 if is_pair else 1
        return made

    def train(self, text, vocab_size):
        ids, merges = list(text.encode("utf-8")), {}
        for token in range(256, vocab_size):
            counts = self.counts(ids)
            merges[max(counts, key=counts.get)] = token
            ids = self.joined(ids, max(counts, key=counts.get), token)
        return ids, merges

    def encode(self, text, merges):
        ids = list(text.encode("utf-8"))
        while len(ids) > 1:
            pair = min(self.counts(ids), key=lambda pair: merges.get(pair, float("inf")))
            if pair not in merges:
                break
            ids = self.joined(ids, pair, merges[pair])
        return ids

    def decode(self, ids, vocab):
        return b"".join(vocab[each] for each in ids).decode("utf-8", errors="replace")
""",
        (('merges.get(pair, float("inf"))', "-merges.get(pair, 0)"),),
    ),
    Program(
        "generate_without_cache",
        "generate",
        """
import time
import torch

def generate_without_cache(model, prompt_tokens, num_tokens=50):
    tokens, start = list(prompt_tokens), time.time()
    for _ in range(num_tokens):
        logits = model(torch.tensor([tokens]), return_cache=False)
        tokens.append(torch.argmax(logits[:, -1, :], dim=-1).item())
    return {"tokens": tokens, "time_taken": time.time() - start}
""",
        (("[:, -1, :]", "[:, 0, :]"),),
    ),
    Program(
        "select_next_token",
        "sample",
        """
import torch

def select_next_token(logits, *, temperature=1.0, do_sample=False):
    if not do_sample:
        return logits.argmax(dim=-1, keepdim=True)
    return torch.multinomial(torch.softmax(logits / temperature, dim=-1), num_samples=1)
""",
        (("logits / temperature", "logits * temperature"),),
    ),
    Program(
        "generate_text",
        "generate",
        """
import torch

def generate_text(model, tokenizer, prompt: str, max_new_tokens: int):
    ids = torch.tensor([tokenizer.encode(prompt)], device=model.lm_head.weight.device)
    end = tokenizer.inverse_vocab["<|end|>"] if "<|end|>" in tokenizer.inverse_vocab else None
    for _ in range(max_new_tokens):
        following = model(ids[:, -model.context_length :])[0, -1].argmax()
        ids = torch.cat([ids, following[None, None]], dim=1)
        if following.item() == end:
            break
    return tokenizer.decode(ids[0].tolist())
""",
        (("[0, -1].argmax()", "[0, 0].argmax()"),),
    ),
    Program(
        "BPE",
        "bpe_train",
        """
from collections import Counter

class BPE:  # Merges the characters of words, which end with a mark of their own

    def __init__(self, num_merges=100):
        self.num_merges = num_merges
        self.merges = []

    def train(self, words):
        vocab = Counter(tuple(word) + ("</w>",) for word in words)
        for _ in range(self.num_merges):
            pairs = Counter()
            for symbols, count in vocab.items():
                for pair in zip(symbols, symbols[1:]):
                    pairs[pair] += count
            if not pairs:
                break
            best = pairs.most_common(1)[0][0]
            self.merges.append(best)
            merged = Counter()
            for symbols, count in vocab.items():
                merged[self.joined(symbols, best)] += count
            vocab = merged

    def joined(self, symbols, pair):
        out, i = [], 0
        while i < len(symbols):
            if symbols[i : i + 2] == pair:
                out.append("".join(pair))
                i += 2
            else:
                out.append(symbols[i])
                i += 1
        return tuple(out)
""",
        (("pairs[pair] += count", "pairs[pair] += 1"),),
    ),
    Program(
        "BPETrainer",
        "bpe_train",
        """
from collections import Counter

class BPETrainer:
    def __init__(self):
        self.merges = []
        self.special_tokens = {"<pad>": 256, "<eos>": 257}

    def train(self, text: str, vocab_size: int):
        tokens = [bytes([byte]) for byte in text.encode("utf-8")]
        vocab = {bytes([byte]): byte for byte in range(256)}
        while len(vocab) < vocab_size:
            pairs = Counter(zip(tokens, tokens[1:]))
            if not pairs:
                break
            (a, b), _ = pairs.most_common(1)[0]
            out, i = [], 0
            while i < len(tokens):
                is_pair = tokens[i : i + 2] == [a, b]
                out.append(a + b if is_pair else tokens[i])
                i += 2 if is_pair else 1
            tokens = out
            vocab[a + b] = len(vocab)
            self.merges.append((a, b))
        return vocab
""",
        (("i += 2 if is_pair else 1", "i += 1"),),
    ),
    Program(
        "generate",
        "generate",
        """
import torch
from torch.nn import functional as F

@torch.no_grad()
def generate(model, start_str, encode_fn, decode_fn, seq_len, max_new_tokens, device):
    model.eval()
    ids = torch.tensor(encode_fn(start_str), dtype=torch.long, device=device).unsqueeze(0)
    for _ in range(max_new_tokens):
        logits, _ = model(ids[:, -seq_len:])
        probs = F.softmax(logits[:, -1, :], dim=-1)
        ids = torch.cat((ids, torch.multinomial(probs, num_samples=1)), dim=1)
    return decode_fn(ids[0].tolist())
""",
        (("logits[:, -1, :]", "logits[:, 0, :]"),),
    ),
    Program(
        "generate_text",
        "generate",
        """
import torch

def generate_text(model, prompt, stoi, itos, max_new_tokens=100, temperature=1.0):
    if not isinstance(model, torch.nn.Module):
        raise TypeError("a model is a module")
    ids = torch.tensor([[stoi[letter] for letter in prompt]])
    for _ in range(max_new_tokens):
        logits = model(ids)[:, -1, :] / temperature
        ids = torch.cat((ids, torch.multinomial(logits.softmax(-1), 1)), dim=1)
    return "".join(itos[each] for each in ids[0].tolist())
""",
        (("logits.softmax(-1)", "(-logits).softmax(-1)"),),
    ),
    Program(
        "top_k_decode",
        "top_k",
        """
import torch

def top_k_decode(logits, k=50, temperature=1.0):
    last = logits[:, -1, :] / temperature
    least = torch.topk(last, k).values[:, -1].unsqueeze(-1)
    probs = torch.softmax(last.masked_fill(last < least, float("-inf")), dim=-1)
    return torch.multinomial(probs, num_samples=1)
""",
        (("last < least", "last > least"), ("/ temperature", "* temperature")),
    ),
    Program(
        "generate",
        "generate",
        """
import torch

def generate(model, ids, max_new_tokens, mode, T, k, p, use_cache=True):
    cache, current = None, ids
    for _ in range(max_new_tokens):
        if use_cache:
            logits, cache = model(current, cache)
        else:
            logits, _ = model(ids, None)
        scores = logits[:, -1, :] / T
        if mode == "greedy":
            current = scores.argmax(-1, keepdim=True)
        elif mode == "top-k":
            least = torch.topk(scores, k=k).values[:, -1:]
            current = torch.multinomial(scores.masked_fill(scores < least, float("-inf")).softmax(-1), 1)
        else:
            current = torch.multinomial(scores.softmax(-1), 1)
        ids = torch.cat([ids, current], dim=1)
    return ids
""",
        (("[ids, current]", "[current, ids]"),),
    ),
    Program(
        "Scribe.generate",
        "generate",
        """
import torch
import torch.nn as nn
import torch.nn.functional as F

WIDTH, CONTEXT = 32, 8

class Scribe(nn.Module):
    def __init__(self, num_tokens: int):
        super().__init__()
        self.table = nn.Embedding(num_tokens, WIDTH)
        self.head = nn.Linear(WIDTH, num_tokens)

    def forward(self, ids, wanted=None):
        logits = self.head(self.table(ids))
        logits = logits.view(logits.shape[0] * logits.shape[1], -1)
        loss = None if wanted is None else F.cross_entropy(logits, wanted.flatten())
        return logits, loss

    def generate(self, ids, max_new_tokens: int):
        for _ in range(max_new_tokens):
            logits, _ = self(ids[:, -CONTEXT:])
            following = torch.multinomial(F.softmax(logits[-1, :], dim=-1), num_samples=1)
            ids = torch.cat((ids, following.view(1, 1)), dim=1)
        return ids
""",
        (("logits = logits.view(logits.shape[0] * logits.shape[1], -1)", "pass"), ("range(max_new_tokens)", "range(max_new_tokens + 1)")),
    ),
    Program(
        "merge",
        "merge_pair",
        """
from typing import List, Tuple

def merge(token: List[int], pair: Tuple[int, int], new_id: int) -> List[int]:
    out, i = [], 0
    while i < len(token):
        is_pair = i + 1 < len(token) and (token[i], token[i + 1]) == pair
        out.append(new_id if is_pair else token[i])
        i += 2 if is_pair else 1
    return out
""",
        (("i += 2 if is_pair else 1", "i += 1"),),
    ),
)
