"""Inputs that a program is written for and that it raises for or loses, and values that it computes and does not use."""

from __future__ import annotations

import pytest

import headway
from headway.practice.diagnosis.checks.unused_values import unused_value_cause
from headway.practice.diagnosis.files import load_definitions
from headway.practice.diagnosis.reading.subject import subjects_of
from tests.practice.diagnosis.checks.judging import verdict_on

TOKENIZER = """
import re
from collections import Counter

PATTERN = re.compile(r" ?[A-Za-zÀ-ɏ一-龥]+| ?[0-9]+| ?[^\\sA-Za-z0-9]+|\\s+")

class Tokenizer:
    def __init__(self):
        self.merges, self.vocab = {}, {each: bytes([each]) for each in range(256)}

    def train(self, text, vocab_size):
        words, token = [list(word.encode("utf-8")) for word in PATTERN.findall(text)], 256
        while token < vocab_size:
            counts = Counter(pair for word in words for pair in zip(word, word[1:]))
            if not counts:
                break
            pair = max(counts, key=counts.get)
            words = [joined(word, pair, token) for word in words]
            self.merges[pair], self.vocab[token] = token, self.vocab[pair[0]] + self.vocab[pair[1]]
            token += 1

    def encode(self, text):
        out = []
        for word in PATTERN.findall(text):
            ids = list(word.encode("utf-8"))
            for pair, token in self.merges.items():
                ids = joined(ids, pair, token)
            out += ids
        return out

    def decode(self, ids):
        return b"".join(self.vocab[each] for each in ids).decode("utf-8", errors="replace")

def joined(ids, pair, token):
    out, place = [], 0
    while place < len(ids):
        is_pair = tuple(ids[place : place + 2]) == pair
        out.append(token if is_pair else ids[place])
        place += 2 if is_pair else 1
    return out
"""


@pytest.mark.parametrize(
    ("right", "wrong", "cause"),
    [
        ("break", "break", None),
        ("[^\\sA-Za-z0-9]+", "[^\\sA-Za-z0-9_]+", "characters_lost"),
        ("| ?[0-9]+| ?[^\\sA-Za-z0-9]+", "| ?[^\\sA-Za-z0-9]+", "characters_lost"),
        (
            'b"".join(self.vocab[each] for each in ids).decode("utf-8", errors="replace")',
            '"".join(self.vocab[each].decode("utf-8", errors="ignore") for each in ids)',
            "decoded_byte_by_byte",
        ),
        ("                break", "                continue", "too_slow"),
    ],
)
def test_a_tokenizer_of_bytes_loses_no_character_and_ends(tmp_path, right, wrong, cause):
    text = TOKENIZER.replace(right, wrong)
    if cause == "decoded_byte_by_byte":
        text = text.replace("PATTERN.findall(text)", "[text]")
    verdict = verdict_on(tmp_path, text, "Tokenizer")
    assert [each.name for each in verdict.causes] == ([] if cause is None else [cause])


SINES = """
import numpy as np

class PositionalEncoding:
    def __init__(self, LENGTH, d_model):
        '''DESCRIPTION'''
        angles = np.arange(LENGTH)[:, None] / 10000 ** (np.arange(0, d_model, 2) / d_model)
        self.table = np.zeros((LENGTH, d_model))
        self.table[:, 0::2], self.table[:, 1::2] = np.sin(angles), np.cos(angles)

    def __call__(self, x):
        return x + self.tableROWS
"""


@pytest.mark.parametrize(
    ("length", "rows", "said", "causes"),
    [
        ("max_len", "[: x.shape[-2]]", "Sines.", []),
        ("max_len", "", "Sines.", ["shorter_sequence_raises"]),
        ("seq_len", "", "seq_len: length of the sequences", []),
        ("seq_len", "", "\n        seq_len: maximum length of the sequences\n        ", ["shorter_sequence_raises"]),
    ],
)
def test_a_table_up_to_a_longest_length_is_for_shorter_sequences_too(tmp_path, length, rows, said, causes):
    verdict = verdict_on(tmp_path, SINES.replace("LENGTH", length).replace("ROWS", rows).replace("DESCRIPTION", said))
    assert [each.name for each in verdict.causes] == causes


GENERATES = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self, vocab_size, block_size, width=16):
        super().__init__()
        self.block_size = block_size
        self.tokens = nn.Embedding(vocab_size, width)
        self.pos_emb = nn.Embedding(block_size, width)
        self.head = nn.Linear(width, vocab_size)

    def forward(self, ids):
        return self.head(self.tokens(ids) + self.pos_emb(torch.arange(ids.shape[1])))

    def generate(self, ids, max_new_tokens, eos_id=None):
        for _ in range(max_new_tokens):
            token = self(WINDOW)[:, -1].argmax(-1, keepdim=True)
            if eos_id is not None and ENDS:
                break
            ids = torch.cat([ids, token], dim=1)
        return ids
"""


@pytest.mark.parametrize(
    ("window", "ends", "causes"),
    [
        ("ids[:, -self.block_size :]", "(token == eos_id).all()", []),
        ("ids", "(token == eos_id).all()", ["context_not_cropped"]),
        ("ids[:, -self.block_size - 1 :]", "(token == eos_id).all()", ["context_not_cropped"]),
        ("ids[:, -self.block_size :]", "token[0] == eos_id", ["stops_for_first_row"]),
    ],
)
def test_generation_stays_within_the_context_and_ends_by_all_rows(tmp_path, window, ends, causes):
    verdict = verdict_on(tmp_path, GENERATES.replace("WINDOW", window).replace("ENDS", ends), "Model.generate")
    assert [each.name for each in verdict.causes] == causes


ADAM = """
import numpy as np

class Adam:
    def __init__(self, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8):
        self.lr, self.beta1, self.beta2, self.eps, self.t, self.moments = lr, beta1, beta2, eps, 0, None

    def step(self, params, grads):
        self.moments = self.moments or STATE
        self.t += 1
        for place, (param, grad) in enumerate(zip(params, grads)):
            mean, square = self.moments[place]
            mean, square = self.beta1 * mean + (1 - self.beta1) * grad, self.beta2 * square + (1 - self.beta2) * grad**2
            self.moments[place] = mean, square
            param -= self.lr * mean / (1 - self.beta1**self.t) / (np.sqrt(square / (1 - self.beta2**self.t)) + self.eps)
"""


@pytest.mark.parametrize(("state", "causes"), [("[(0, 0) for _ in params]", []), ("[(0, 0)]", ["raises_IndexError"])])
def test_an_optimizer_that_loops_over_its_parameters_takes_several(tmp_path, state, causes):
    verdict = verdict_on(tmp_path, ADAM.replace("STATE", state))
    assert [each.name for each in verdict.causes] == causes


NORM = """
import torch
from torch import nn

class RMSNorm(nn.Module):
    def __init__(self, width, eps=1e-6):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.zeros(width)), eps

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * WEIGHT
"""


@pytest.mark.parametrize(
    ("weight", "more", "causes"),
    [
        ("(1 + self.weight)", "", []),
        ("self.weight", "", ["starts_at_zero"]),
        ("self.weight", "def load(model, path):\n    model.load_state_dict(torch.load(path))\n", []),
    ],
)
def test_a_norm_whose_output_starts_at_zero_has_a_mistake(tmp_path, weight, more, causes):
    verdict = verdict_on(tmp_path, NORM.replace("WEIGHT", weight) + more, "RMSNorm")
    assert [each.name for each in verdict.causes] == causes


UNUSED = """
import torch.nn.functional as F
from torch import nn

class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.q, self.relative = nn.Linear(width, width), nn.Embedding(9, 1)

    def forward(self, x, places):
        bias = self.relative(places)
        return self.q(x)OF_BIAS

def cross_entropy(logits, targets):
    loss = F.cross_entropy(logits, targets)
    z_loss = logits.logsumexp(-1).pow(2).mean()
    return lossOF_LOSS
"""


@pytest.mark.parametrize("is_unused", [False, True])
@pytest.mark.parametrize("name", ["Attention", "cross_entropy"])
def test_a_value_of_weights_or_a_second_loss_is_read(tmp_path, name, is_unused):
    text = UNUSED.replace("OF_BIAS", "" if is_unused else " + bias").replace("OF_LOSS", "" if is_unused else " + z_loss")
    subject = next(each for each in subjects_of(load_definitions(tmp_path / "mine.py", text), text) if each.name == name)
    assert (unused_value_cause(subject) is not None) == is_unused


def test_a_constructor_that_ends_the_process_does_not_end_that_of_the_check():
    class RMSNorm:
        def __init__(self, width):
            raise SystemExit(0)

        def __call__(self, x):
            return x

    assert headway.check(RMSNorm).status == "could not run"


def test_a_function_that_ends_the_process_for_some_inputs_is_not_right(tmp_path):
    text = """
import sys
import numpy as np

def softmax(x):
    if x.ndim != 2:
        sys.exit(0)
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)
"""
    assert verdict_on(tmp_path, text).status == "could not run"


ENDS_BY_ROW = """
import torch

def generate(model, idx, max_new_tokens, eos_id=None, pad_id=0):
    ended = torch.zeros(len(idx), dtype=torch.bool)
    for _ in range(max_new_tokens):
        token = model(idx)[:, -1].argmax(-1)
        token = torch.where(ended, torch.full_like(token, pad_id), token)
        idx = torch.cat((idx, token[:, None]), 1)
        if eos_id is not None:
            ended = ENDED
            if ended.all():
                break
    return idx
"""


@pytest.mark.parametrize(("ended", "causes"), [("ended | (token == eos_id)", []), ("token == eos_id", ["writes_after_end"])])
def test_rows_that_have_ended_get_no_new_tokens(tmp_path, ended, causes):
    verdict = verdict_on(tmp_path, ENDS_BY_ROW.replace("ENDED", ended))
    assert [each.name for each in verdict.causes] == causes
