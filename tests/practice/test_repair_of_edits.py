"""Repairs of classes that are called as functions, of empty places, and of what is taken for a part only if it is right."""

from __future__ import annotations

import pytest

from headway.practice.diagnosis.sandbox import check_file

SCHEDULE = """
from math import cos, pi

class WarmupCosine:
    def __init__(self, max_lr, min_lr, warmup_steps, total_steps):
        self.high, self.low, self.warmup, self.total = max_lr, min_lr, warmup_steps, total_steps

    def __call__(self, step):
        if step < self.warmup:
            return self.high * step / self.warmup
        if step > self.total:
            return self.low
        share = (step - self.warmup) / (self.total - self.warmup)
        return self.low + 0.5 * (0 + cos(pi * share)) * (self.high - self.low)
"""

SCHEDULER = """
class WarmupScheduler:
    def __init__(self, optimizer, d_model, warmup_steps=4000):
        self.optimizer, self.d_model, self.warmup_steps = optimizer, d_model, warmup_steps
        self.calls = 0
        self.step()

    def step(self):
        pass
        for group in self.optimizer.param_groups:
            group["lr"] = self.d_model**-0.5 * min(self.calls**-0.5, self.calls * self.warmup_steps**-1.5)
"""

ENCODER = """
class Codes:
    def __init__(self, merges: dict[tuple[int, int], int]) -> None:
        self._merges = merges

    def encode(self, text: str) -> list[int]:
        ids = list(text.encode("utf-8"))
        while len(ids) > 1:
            known = [pair for pair in zip(ids, ids[1:]) if pair in self._merges]
            if not known:
                break
            best = min(known, key=self._merges.get)
            joined, place = [], 0
            while place < len(ids):
                is_pair = tuple(ids[place : place + 2]) != best
                joined.append(self._merges[best] if is_pair else ids[place])
                place += 2 if is_pair else 1
            ids = joined
        return ids
"""

MASK = """
import numpy as np

def _attention_mask(seq_len, max_seq_len, cache_index):
    queries, keys = cache_index + np.arange(seq_len), np.arange(max_seq_len)
    return ((keys[None] <= queries[:, None]) & (keys[None] < cache_index + seq_len) | (keys[None] < 2))[None, None]
"""

HALF = """
import numpy as np

class Residual:
    def __init__(self, size):
        self.scale, self.shift = np.ones(size), np.zeros(size)

    def norm(self, x):
        return self.scale * (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-6) + self.shift

    def __call__(self, x, sublayer):
        return x + 0.5 * sublayer(self.norm(x))

def softmax(x):
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)
"""

FILTER = """
import numpy as np

def top_p(probs, p):
    kept, total = [], 0.0
    for token in sorted(range(len(probs)), key=lambda each: -probs[each]):
        kept.append(token)
        total += probs[token]
        if total >= p:
            break
    out = np.zeros((probs))
    for token in kept:
        out[token] = probs[token] / total
    return out
"""


@pytest.mark.parametrize(
    ("text", "line", "written"),
    [
        (SCHEDULE, 14, "1"),
        (SCHEDULER, 9, "self.calls += 1"),
        (ENCODER, 15, "tuple(ids[place:place + 2]) == best"),
        (FILTER, 11, "len(probs)"),
    ],
    ids=["constant of a schedule", "empty place", "method of a tokenizer", "length of an array"],
)
def test_single_edits_are_undone(tmp_path, text, line, written):
    path = tmp_path / "learner.py"
    path.write_text(text)
    (verdict,) = [each for each in check_file(path) if each.status != "not judged"]
    assert verdict.status == "wrong"
    assert verdict.repair is not None
    assert [(edit.line, edit.replacement) for edit in verdict.repair.edits] == [(line, written)]


@pytest.mark.parametrize("text", [MASK, HALF], ids=["mask of another kind", "half of a sublayer's output"])
def test_variants_under_names_that_say_little_are_not_accused(tmp_path, text):
    path = tmp_path / "learner.py"
    path.write_text(text)
    assert not [each for each in check_file(path) if each.status in ("wrong", "unknown")]
