"""Right programs with learned factors or options of their own are not called wrong, and compiled functions of MLX run."""

from __future__ import annotations

import pytest

from headway.practice.diagnosis.doubt import settled
from headway.practice.diagnosis.files import load_module, with_exercises
from headway.practice.diagnosis.nested import verdicts
from headway.practice.diagnosis.repair.left_out import no_longer_reads
from headway.practice.verdict import Edit


def statuses(tmp_path, text):
    path = tmp_path / "mine.py"
    path.write_text(text)
    found = settled(verdicts(list(with_exercises(load_module(path, text), text))))
    return {verdict.subject: verdict.status for verdict in found}


def test_a_learned_factor_that_a_repair_rounds_away_is_left_out():
    names = [r"\bself\.gain\b"]
    assert no_longer_reads(names, Edit(1, 0, 1, 9, "math.log(n) // self.gain"), "math.log(n) * self.gain")
    assert not no_longer_reads(names, Edit(1, 0, 1, 9, "math.log(n) / self.gain"), "math.log(n) * self.gain")


COMPILED = """
from dataclasses import dataclass
from functools import partial

import mlx.core as mx


@partial(mx.compile, inputs=mx.random.state, outputs=mx.random.state)
def top_k_sampling(logits, top_k):
    hidden = mx.argpartition(-logits, kth=top_k - 1, axis=-1)[..., top_k:]
    return mx.random.categorical(mx.put_along_axis(logits, hidden, mx.array(-float("inf"), logits.dtype), axis=-1))


@dataclass
class Sampler:
    temp: float = 0.8
    top_p: float = 1.0
    top_k: int | None = None

    def __call__(self, logits):
        logprobs = logits - mx.logsumexp(logits, axis=-1, keepdims=True)
        if self.temp == 0:
            return mx.argmax(logits, axis=-1), logprobs
        logits = logits / self.temp
        if self.top_k is not None and self.top_k > 0:
            return top_k_sampling(logits, self.top_k), logprobs
        elif 0 < self.top_p < 1:
            order = mx.argsort(-logits, axis=-1)
            probs = mx.take_along_axis(mx.softmax(logits, axis=-1), order, axis=-1)
            kept = mx.where(mx.cumsum(probs, axis=-1) - probs < self.top_p, probs, 0)
            drawn = mx.random.categorical(mx.log(kept), axis=-1)
            return mx.take_along_axis(order, drawn[..., None], axis=-1).squeeze(-1), logprobs
        return mx.random.categorical(logits), logprobs
"""


def test_compiled_functions_run_and_one_of_two_filters_is_no_mistake(tmp_path):
    pytest.importorskip("mlx.core")
    found = statuses(tmp_path, COMPILED)
    assert found["top_k_sampling"] == "correct"
    assert found["Sampler"] in ("correct", "could not run")
    assert (
        statuses(tmp_path, COMPILED.replace("top_k - 1", "top_k").replace("[..., top_k:]", "[..., top_k + 1 :]"))["top_k_sampling"]
        == "wrong"
    )
