"""Mistakes that a program cannot make: it does not contain what they need."""

from __future__ import annotations

import pytest

from headway.practice.diagnosis.checks.trials import trials_of
from headway.practice.diagnosis.files import load_module
from headway.practice.diagnosis.reading.subject import subjects_of
from headway.practice.exercises import exercise

ATTENTION = """
import numpy as np

def attention(q, k, v):
    scores = q @ k.T / np.sqrt(k.shape[-1])
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    out = {made}
    out[:] = powers / powers.sum(-1, keepdims=True) @ v
    return out
"""


@pytest.mark.parametrize(("made", "is_excluded"), [("np.zeros((len(q), v.shape[1]))", True), ("np.zeros_like(v)", False)])
def test_whole_numbers_out_needs_an_array_of_whole_numbers(tmp_path, made, is_excluded):
    path, text = tmp_path / "attention.py", ATTENTION.format(made=made)
    path.write_text(text)
    (subject,) = subjects_of(load_module(path, text), text)
    part = exercise("scaled_dot_product_attention")
    mistake = next(each for each in part.mistakes if each.name == "whole_numbers_out")
    assert all(trial.excludes(mistake) is is_excluded for trial in trials_of(subject, part))
