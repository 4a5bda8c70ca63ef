"""Mistakes of right outputs, and of what a program keeps: counts kept for the next call, an index of pairs, ids of tokens, training without special tokens."""

from __future__ import annotations

import pytest

from headway.practice.diagnosis.sandbox import check_file
from tests.practice.public import tokenizers

ADAM = """
import numpy as np

def adam(w, dw, config=None):
    config = {} if config is None else config
    for name, usual in (("learning_rate", 1e-3), ("beta1", 0.9), ("beta2", 0.999), ("epsilon", 1e-8)):
        config.setdefault(name, usual)
    config.setdefault("m", np.zeros_like(w))
    config.setdefault("v", np.zeros_like(w))
    config.setdefault("t", 0)
    t = config["t"] + 1
    config["t"] = t
    config["m"] = config["beta1"] * config["m"] + (1 - config["beta1"]) * dw
    config["v"] = config["beta2"] * config["v"] + (1 - config["beta2"]) * dw**2
    mean = config["m"] / (1 - config["beta1"] ** t)
    square = config["v"] / (1 - config["beta2"] ** t)
    return w - config["learning_rate"] * mean / (np.sqrt(square) + config["epsilon"]), config
"""

OF_MOMENTS = """
import numpy as np

def adam_step(w, grad, m, v, t, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8):
    t = t + 1
    m = beta1 * m + (1 - beta1) * grad
    v = beta2 * v + (1 - beta2) * grad**2
    w = w - lr * (m / (1 - beta1**t)) / (np.sqrt(v / (1 - beta2**t)) + eps)
    return w, m, v, t
"""

TRAINER = """
import re
from collections import Counter

WORD = r" ?[^\\W\\d_]+| ?\\d+| ?[^\\s\\w]+|\\s+(?!\\S)|\\s+"

def train_bpe(input_path, vocab_size, special_tokens):
    with open(input_path, encoding="utf-8") as file:
        parts = re.split("|".join(map(re.escape, special_tokens)), file.read())
    words = [tuple(bytes([each]) for each in word.encode()) for part in parts for word in re.findall(WORD, part)]
    merges = []
    for _ in range(vocab_size - 256 - len(special_tokens)):
        counts = Counter(pair for word in words for pair in zip(word, word[1:]))
        best = max(counts, key=lambda pair: (counts[pair], pair))
        merges.append(best)
        words = [joined(word, best) for word in words]
    return merges

def joined(word, pair):
    out, place = [], 0
    while place < len(word):
        is_pair = word[place : place + 2] == pair
        out.append(pair[0] + pair[1] if is_pair else word[place])
        place += 2 if is_pair else 1
    return tuple(out)
"""


def causes(tmp_path, text):
    path = tmp_path / "learner.py"
    path.write_text(text)
    verdict = check_file(path)[0]
    return verdict.status, [cause.name for cause in verdict.causes]


@pytest.mark.parametrize(
    ("text", "right", "wrong"),
    [
        (ADAM, 'config["t"] = t', 'config["t"] += t'),
        (ADAM, '    config["t"] = t\n', ""),
        (OF_MOMENTS, "return w, m, v, t", "return w, m, v, 2 * t"),
    ],
)
def test_a_step_that_keeps_another_count_than_the_next_one_is_named(tmp_path, text, right, wrong):
    assert causes(tmp_path, text) == ("correct", [])
    assert causes(tmp_path, text.replace(right, wrong)) == ("wrong", ["step_count"])


def test_a_step_may_return_another_dict_than_it_was_given(tmp_path):
    assert causes(tmp_path, ADAM.replace("{} if config is None else config", "dict(config or {})")) == ("correct", [])


def test_a_trainer_whose_pattern_is_empty_without_special_tokens_is_named(tmp_path):
    assert causes(tmp_path, TRAINER) == ("wrong", ["cut_into_characters"])
    either = 'parts = re.split("|".join(map(re.escape, special_tokens)), file.read()) if special_tokens else [file.read()]'
    line = 'parts = re.split("|".join(map(re.escape, special_tokens)), file.read())'
    assert causes(tmp_path, TRAINER.replace(line, either)) == ("correct", [])


COUNTING = """
import re
from collections import Counter

WORD = r" ?[^\\W\\d_]+| ?\\d+| ?[^\\s\\w]+|\\s+(?!\\S)|\\s+"

def train_bpe(text, num_merges):
    words = [tuple(bytes([each]) for each in word.encode()) for word in re.findall(WORD, text)]
    counts = Counter(pair for word in words for pair in zip(word, word[1:]))
    merges = []
    while len(merges) < num_merges:
        best = max(counts, key=lambda pair: (counts[pair], pair))
        merges.append(best)
        joined_words = [joined(word, best) for word in words]
        counts.subtract(pair for word in words for pair in zip(word, word[1:]))
        counts.update(pair for word in joined_words for pair in zip(word, word[1:]))
        del counts[best]
        words = joined_words
    return merges
"""
COUNTING += TRAINER[TRAINER.index("\ndef joined") :]


def test_a_trainer_that_merges_counts_of_0_is_named(tmp_path):
    assert causes(tmp_path, COUNTING) == ("wrong", ["absent_pairs_merged"])
    assert causes(tmp_path, COUNTING.replace("words = joined_words", "words, counts = joined_words, +counts")) == ("correct", [])


TOKENIZER = """
class BPETokenizer:
    def __init__(self, num_merges=100):
        self.num_merges, self.vocab, self.merges = num_merges, {"<unk>": 0, "<s>": 1}, {}

    def train(self, corpus):
        symbols = list(corpus)
        for each in sorted(set(symbols)):
            self.vocab[each] = len(self.vocab) + 1
        for _ in range(self.num_merges):
            counts = {}
            for pair in zip(symbols, symbols[1:]):
                counts[pair] = counts.get(pair, 0) + 1
            best = max(counts, key=counts.get)
            self.merges[best] = len(self.merges)
            symbols = self.joined(symbols, best)
            self.vocab[best[0] + best[1]] = len(self.vocab)

    def joined(self, symbols, pair):
        out, place = [], 0
        while place < len(symbols):
            is_pair = tuple(symbols[place : place + 2]) == pair
            out.append(pair[0] + pair[1] if is_pair else symbols[place])
            place += 2 if is_pair else 1
        return out

    def encode(self, text):
        symbols = list(text)
        for pair in self.merges:
            symbols = self.joined(symbols, pair)
        return [self.vocab.get(each, 0) for each in symbols]

    def decode(self, ids):
        names = {place: token for token, place in self.vocab.items()}
        return "".join(names[each] for each in ids)
"""


def test_tokens_with_the_same_id_are_named(tmp_path):
    assert causes(tmp_path, TOKENIZER) == ("wrong", ["shared_ids"])
    assert causes(tmp_path, TOKENIZER.replace("len(self.vocab) + 1", "len(self.vocab)")) == ("correct", [])


def test_an_index_of_pairs_is_judged_in_the_second_process_too(tmp_path):
    program = next(each for each in tokenizers.PROGRAMS if each.name == "merge_and_update")
    assert causes(tmp_path, program.text) == ("correct", [])
