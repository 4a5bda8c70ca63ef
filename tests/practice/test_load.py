"""Verdicts while other processes use the processor."""

import subprocess
import sys

import pytest

from headway.practice.diagnosis.sandbox import check_file

MINE = """
import numpy as np

def softmax(x, axis=-1):
    powers = np.exp(x - x.max(axis, keepdims=True))
    return powers / (powers.sum(axis, keepdims=True) + 1e-5)

def attention(q, k, v):
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(k.shape[-1])
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v
"""


@pytest.mark.slow
def test_verdicts_are_the_same_under_four_times_the_load(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    alone = [verdict.to_dict() for verdict in check_file(path, seed=3, timeout_seconds=120)]
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(8)]
    try:
        loaded = [verdict.to_dict() for verdict in check_file(path, seed=3, timeout_seconds=120)]
    finally:
        for each in busy:
            each.kill()
            each.wait()
    assert [verdict["status"] for verdict in alone] == ["wrong", "correct"]
    assert alone[0]["repair"] is not None
    assert loaded == alone
