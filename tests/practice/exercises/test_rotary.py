"""Names by which rotary positions are known, mistakes made together, layouts that are told, and the numbers read off."""

from __future__ import annotations

import re

import numpy as np
import pytest

from headway.practice.diagnosis.diagnose import diagnose
from headway.practice.diagnosis.subject import Subject
from headway.practice.exercises import exercise

CHOSEN = exercise("rotary")


def judged(function):
    return diagnose(Subject(function, function.__name__, imports=("numpy",)), CHOSEN)


def angles(x, theta=10000.0, start=0):
    return np.arange(start, start + x.shape[-2])[:, None] * theta ** (-np.arange(0, x.shape[-1], 2) / x.shape[-1])


@pytest.mark.parametrize(
    "name",
    "rope apply_rope RoPE run_rope rotary apply_rotary_pos_emb apply_rotary_emb RotaryEmbedding RotaryPositionalEmbedding rotary_position_embedding".split(),
)
def test_what_people_call_it(name):
    assert re.search(CHOSEN.called, name, re.IGNORECASE)


@pytest.mark.parametrize(
    "name",
    "compute_rope_params precompute_rope_freqs rope_cache rotary_frequencies rotary_cos_sin rotate_half my_property cross_entropy".split(),
)
def test_its_neighbours_are_called_otherwise(name):
    assert not re.search(CHOSEN.called, name, re.IGNORECASE)


@pytest.mark.parametrize("is_interleaved", [False, True])
def test_the_layout_is_said(is_interleaved):
    def apply_rope(x):
        a, b = (x[..., ::2], x[..., 1::2]) if is_interleaved else np.split(x, 2, axis=-1)
        cos, sin = np.cos(angles(x)), np.sin(angles(x))
        turned = [a * cos - b * sin, b * cos + a * sin]
        return np.stack(turned, -1).reshape(x.shape) if is_interleaved else np.concatenate(turned, -1)

    verdict = judged(apply_rope)
    assert verdict.is_correct
    assert any(("2i + 1" if is_interleaved else "halves") in note.en for note in verdict.notes)


def test_the_base_is_read_in_another_layout_too():
    def apply_rope(x):
        a, b = x[..., ::2], x[..., 1::2]
        cos, sin = np.cos(angles(x, 1000.0)), np.sin(angles(x, 1000.0))
        return np.stack([a * cos - b * sin, b * cos + a * sin], -1).reshape(x.shape)

    (cause,) = judged(apply_rope).causes
    assert cause.name == "theta"
    assert "your base is 1000;" in cause.says.en


def test_two_mistakes_together_are_both_named():
    def apply_rope(q, k):
        a, b = np.split(q, 2, axis=-1)
        angle = angles(q)
        return np.concatenate([a * np.cos(angle) + b * np.sin(angle), b * np.cos(angle) - a * np.sin(angle)], -1), k

    assert judged(apply_rope).causes[0].name == "turned_backwards + key_not_turned"


def test_positions_along_the_heads_are_said():
    def apply_rope(x):
        a, b = np.split(x, 2, axis=-1)
        angle = (np.arange(x.shape[1])[:, None] * 10000.0 ** (-np.arange(0, x.shape[-1], 2) / x.shape[-1]))[:, None, :]
        return np.concatenate([a * np.cos(angle) - b * np.sin(angle), b * np.cos(angle) + a * np.sin(angle)], -1)

    verdict = judged(apply_rope)
    assert any("it turns heads and not positions" in note.en for note in verdict.notes)
