"""Names of sinusoidal positions, two mistakes at once, and measured numbers."""

from __future__ import annotations

import numpy as np
import pytest

from headway.practice.diagnosis.diagnose import diagnose
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.exercises import exercise
from headway.practice.names import means

CHOSEN = exercise("sinusoidal_positions")


def judged(function):
    return diagnose(Subject(function, function.__name__, imports=("numpy",)), CHOSEN)


@pytest.mark.parametrize(
    "name", "sinusoidal_positions pos_encoding positional_encoding PositionalEncoding get_positional_encoding getPositionEncoding".split()
)
def test_common_names_are_recognized(name):
    assert means(name, CHOSEN.name)


@pytest.mark.parametrize(
    "name", "relative_position_embedding learned_positional_embedding rotary_position_embedding RotaryEmbedding perplexity".split()
)
def test_names_of_related_functions_are_not_recognized(name):
    assert not means(name, CHOSEN.name)


def test_two_mistakes_at_once_are_both_named():
    def pos_encoding(seq_len, d_model):
        angle = np.arange(seq_len)[:, None] / 10000 ** (np.arange(0, d_model, 2) / 2 / d_model)
        return np.concatenate([np.sin(angle), np.cos(angle)], axis=-1)

    assert judged(pos_encoding).causes[0].name == "sines_then_cosines + exponent_not_doubled"


def test_a_wrong_base_and_offset_are_measured_together():
    def pos_encoding(seq_len, d_model):
        angle = np.arange(1, seq_len + 1)[:, None] / 1000 ** (2 * (np.arange(d_model) // 2) / d_model)
        return np.where(np.arange(d_model) % 2 == 0, np.sin(angle), np.cos(angle))

    cause = judged(pos_encoding).causes[0]
    assert cause.name == "base + offset"
    assert "the base is 1000; expected 10000" in cause.says.en


def test_a_refused_odd_width_is_noted_and_is_no_mistake():
    def pos_encoding(seq_len, d_model):
        pe = np.zeros((seq_len, d_model))
        angle = np.arange(seq_len)[:, None] / 10000 ** (np.arange(0, d_model, 2) / d_model)
        pe[:, 0::2], pe[:, 1::2] = np.sin(angle), np.cos(angle)
        return pe

    verdict = judged(pos_encoding)
    assert verdict.is_correct
    assert any("odd" in note.en for note in verdict.notes)


def test_an_unknown_error_is_shown_as_a_difference():
    def pos_encoding(seq_len, d_model):
        return np.tile(np.linspace(0, 1, d_model), (seq_len, 1))

    verdict = judged(pos_encoding)
    assert verdict.status == "unknown"
    assert verdict.difference is not None
