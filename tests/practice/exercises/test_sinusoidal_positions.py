"""Names by which sinusoidal positions are known, mistakes made together, and the numbers read off."""

from __future__ import annotations

import re

import numpy as np
import pytest

from headway.practice.diagnosis.diagnose import diagnose
from headway.practice.diagnosis.subject import Subject
from headway.practice.exercises import exercise

CHOSEN = exercise("sinusoidal_positions")


def judged(function):
    return diagnose(Subject(function, function.__name__, imports=("numpy",)), CHOSEN)


@pytest.mark.parametrize(
    "name", "sinusoidal_positions pos_encoding positional_encoding PositionalEncoding get_positional_encoding getPositionEncoding".split()
)
def test_what_people_call_it(name):
    assert re.search(CHOSEN.called, name, re.IGNORECASE)


@pytest.mark.parametrize(
    "name", "relative_position_embedding learned_positional_embedding rotary_position_embedding RotaryEmbedding perplexity".split()
)
def test_its_neighbours_are_called_otherwise(name):
    assert not re.search(CHOSEN.called, name, re.IGNORECASE)


def test_two_mistakes_together_are_both_named():
    def pos_encoding(seq_len, d_model):
        angle = np.arange(seq_len)[:, None] / 10000 ** (np.arange(0, d_model, 2) / 2 / d_model)
        return np.concatenate([np.sin(angle), np.cos(angle)], axis=-1)

    assert judged(pos_encoding).causes[0].name == "sines_then_cosines + exponent_not_doubled"


def test_a_base_and_an_offset_are_read_together():
    def pos_encoding(seq_len, d_model):
        angle = np.arange(1, seq_len + 1)[:, None] / 1000 ** (2 * (np.arange(d_model) // 2) / d_model)
        return np.where(np.arange(d_model) % 2 == 0, np.sin(angle), np.cos(angle))

    cause = judged(pos_encoding).causes[0]
    assert cause.name == "base + offset"
    assert "your base is 1000; it must be 10000" in cause.says.en


def test_a_refused_odd_width_is_said_and_not_held_against_it():
    def pos_encoding(seq_len, d_model):
        pe = np.zeros((seq_len, d_model))
        angle = np.arange(seq_len)[:, None] / 10000 ** (np.arange(0, d_model, 2) / d_model)
        pe[:, 0::2], pe[:, 1::2] = np.sin(angle), np.cos(angle)
        return pe

    verdict = judged(pos_encoding)
    assert verdict.is_correct
    assert any("odd" in note.en for note in verdict.notes)


def test_what_is_unlike_anything_known_is_shown():
    def pos_encoding(seq_len, d_model):
        return np.tile(np.linspace(0, 1, d_model), (seq_len, 1))

    verdict = judged(pos_encoding)
    assert verdict.status == "unknown"
    assert verdict.difference is not None
