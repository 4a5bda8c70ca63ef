"""Names of rotary positions, two mistakes at once, reported layouts, and measured numbers."""

from __future__ import annotations

import numpy as np
import pytest

from headway.practice.diagnosis.diagnose import diagnose
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.exercises import exercise
from headway.practice.names import means

CHOSEN = exercise("rotary")


def judged(function):
    return diagnose(Subject(function, function.__name__, imports=("numpy",)), CHOSEN)


def angles(x, theta=10000.0, start=0):
    return np.arange(start, start + x.shape[-2])[:, None] * theta ** (-np.arange(0, x.shape[-1], 2) / x.shape[-1])


@pytest.mark.parametrize(
    "name",
    "rope apply_rope RoPE run_rope rotary apply_rotary_pos_emb apply_rotary_emb RotaryEmbedding RotaryPositionalEmbedding rotary_position_embedding".split(),
)
def test_common_names_are_recognized(name):
    assert means(name, CHOSEN.name)


@pytest.mark.parametrize(
    "name",
    "compute_rope_params precompute_rope_freqs rope_cache rotary_frequencies rotary_cos_sin rotate_half my_property cross_entropy".split(),
)
def test_names_of_related_functions_are_not_recognized(name):
    assert not means(name, CHOSEN.name)


@pytest.mark.parametrize("is_interleaved", [False, True])
def test_the_layout_is_reported(is_interleaved):
    def apply_rope(x):
        a, b = (x[..., ::2], x[..., 1::2]) if is_interleaved else np.split(x, 2, axis=-1)
        cos, sin = np.cos(angles(x)), np.sin(angles(x))
        rotated = [a * cos - b * sin, b * cos + a * sin]
        return np.stack(rotated, -1).reshape(x.shape) if is_interleaved else np.concatenate(rotated, -1)

    verdict = judged(apply_rope)
    assert verdict.is_correct
    assert any(("2i + 1" if is_interleaved else "halves") in note.en for note in verdict.notes)


def test_the_base_is_measured_in_the_interleaved_layout():
    def apply_rope(x):
        a, b = x[..., ::2], x[..., 1::2]
        cos, sin = np.cos(angles(x, 1000.0)), np.sin(angles(x, 1000.0))
        return np.stack([a * cos - b * sin, b * cos + a * sin], -1).reshape(x.shape)

    (cause,) = judged(apply_rope).causes
    assert cause.name == "theta"
    assert "the base is 1000;" in cause.says.en


def test_two_mistakes_at_once_are_both_named():
    def apply_rope(q, k):
        a, b = np.split(q, 2, axis=-1)
        angle = angles(q)
        return np.concatenate([a * np.cos(angle) + b * np.sin(angle), b * np.cos(angle) - a * np.sin(angle)], -1), k

    assert judged(apply_rope).causes[0].name == "turned_backwards + key_not_turned"


def test_positions_along_the_heads_are_reported():
    def apply_rope(x):
        a, b = np.split(x, 2, axis=-1)
        angle = (np.arange(x.shape[1])[:, None] * 10000.0 ** (-np.arange(0, x.shape[-1], 2) / x.shape[-1]))[:, None, :]
        return np.concatenate([a * np.cos(angle) - b * np.sin(angle), b * np.cos(angle) + a * np.sin(angle)], -1)

    verdict = judged(apply_rope)
    assert any("it rotates by head instead of by position" in note.en for note in verdict.notes)


def overwriting(x, cos, sin):
    half = x.shape[-1] // 2
    x1, x2 = x[..., :half], x[..., half:]
    cos, sin = cos[None, None], sin[None, None]
    x1 = x1 * cos - x2 * sin
    x2 = x1 * sin + x2 * cos
    return np.concatenate([x1, x2], -1)


def test_a_mistake_is_named_for_a_function_that_adds_axes_to_inputs_without_them():
    assert [cause.name for cause in judged(overwriting).causes] == ["first_is_overwritten"]


@pytest.mark.parametrize(("start_of_key", "status"), [("offset", "correct"), ("0", "wrong")])
def test_an_offset_counts_for_queries_and_keys(start_of_key, status):
    def rotated(x, start):
        turned = np.concatenate([-x[..., x.shape[-1] // 2 :], x[..., : x.shape[-1] // 2]], axis=-1)
        both = np.tile(angles(x, start=start), 2)
        return x * np.cos(both) + turned * np.sin(both)

    def apply_rope(q, k, offset=0):
        return rotated(q, offset), rotated(k, offset if start_of_key == "offset" else 0)

    assert judged(apply_rope).status.replace("unknown", "wrong") == status
