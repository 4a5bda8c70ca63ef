"""Pooling against torch, for one text at a time without its padding."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from headway.errors import DtypeError, OptionError, ShapeError
from headway.functions import first_token_pool, last_token_pool, max_pool, mean_pool, normalize
from tests.functions.close import assert_close

ORACLES = {
    mean_pool: lambda shown: shown.mean(0),
    max_pool: lambda shown: shown.max(0).values,
    first_token_pool: lambda shown: shown[0],
    last_token_pool: lambda shown: shown[-1],
}
every_pool = pytest.mark.parametrize("pool", ORACLES, ids=lambda pool: pool.__name__)

MASK = np.array([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0], [0, 0, 0, 1, 1], [0, 1, 0, 1, 0]]) == 1


@pytest.fixture
def hidden() -> np.ndarray:
    """Return four texts of five tokens in three dimensions, all negative, so that padding counted as 0 would change the maximum."""
    return np.random.default_rng(0).standard_normal((4, 5, 3)) - 4


@every_pool
def test_each_text_is_pooled_over_the_tokens_that_the_mask_shows(pool, hidden):
    expected = torch.stack([ORACLES[pool](torch.from_numpy(text[shown])) for text, shown in zip(hidden, MASK, strict=True)])
    assert_close(pool(hidden, MASK), expected)


@every_pool
def test_without_a_mask_every_token_counts(pool, hidden):
    assert_close(pool(hidden), pool(hidden, np.ones((4, 5), bool)))


@every_pool
@pytest.mark.parametrize("padding", [1e30, np.nan, np.inf])
def test_what_stands_under_the_padding_never_matters(pool, hidden, padding):
    before = pool(hidden, MASK)
    hidden[~MASK] = padding
    assert pool(hidden, MASK).tolist() == before.tolist()


@pytest.mark.parametrize("pool", [mean_pool, max_pool], ids=lambda pool: pool.__name__)
def test_the_order_of_the_tokens_does_not_matter_to_mean_and_maximum(pool, hidden):
    order = [3, 0, 4, 1, 2]
    assert_close(pool(hidden[:, order], MASK[:, order]), pool(hidden, MASK))


def test_a_mean_of_ones_is_one_whatever_the_number_of_tokens():
    assert mean_pool(np.ones((4, 5, 3), np.float16), MASK).tolist() == np.ones((4, 3)).tolist()


def test_a_mean_in_half_precision_does_not_overflow_on_the_way():
    assert mean_pool(np.full((300, 2), 1000.0, np.float16)).tolist() == [1000.0, 1000.0]  # the sum would be 300,000


def test_a_text_of_one_token_is_that_token_by_every_pool(hidden):
    for pool in ORACLES:
        assert pool(hidden[:, 2:3]).tolist() == hidden[:, 2].tolist()


@every_pool
@pytest.mark.parametrize("mask", [np.array([True] * 5 + [False] * 5).reshape(2, 5), np.zeros((2, 5), bool)])
def test_a_text_of_which_nothing_counts_is_an_error(pool, mask):
    with pytest.raises(OptionError, match="got a mask with a text without tokens, expected at least one token per text"):
        pool(np.ones((2, 5, 3)), mask)


@every_pool
def test_a_text_without_tokens_is_an_error(pool):
    with pytest.raises(OptionError, match="a text without tokens"):
        pool(np.ones((2, 0, 3)))


@every_pool
def test_a_mask_of_whole_numbers_is_an_error_that_names_the_remedy(pool, hidden):
    with pytest.raises(DtypeError, match="(?s)int64, expected boolean, .*mask != 0"):
        pool(hidden, MASK.astype(np.int64))


@every_pool
@pytest.mark.parametrize("shape", [(5,), (4, 1), (4, 5, 1), (5, 4)])
def test_a_mask_of_another_shape_is_an_error(pool, hidden, shape):
    with pytest.raises(ShapeError, match=r"hidden \(4, 5, 3\) and a mask .*, expected a mask \(4, 5\)"):
        pool(hidden, np.ones(shape, bool))


def test_torch_normalizes_the_same(hidden):
    assert_close(normalize(hidden), torch.nn.functional.normalize(torch.from_numpy(hidden), dim=-1))


def test_a_normalized_vector_has_length_one_and_the_same_direction(hidden):
    unit = normalize(hidden)
    assert_close(np.linalg.norm(unit, axis=-1), np.ones((4, 5)))
    assert_close(unit * np.linalg.norm(hidden, axis=-1, keepdims=True), hidden)


def test_zeros_stay_zeros_and_tiny_vectors_grow():
    assert normalize(np.array([[0.0, 0.0], [3e-9, 4e-9]])).tolist() == [[0.0, 0.0], [0.6, 0.8]]


def test_a_long_vector_in_half_precision_is_normalized():
    assert_close(normalize(np.array([60000.0, 60000.0], np.float16)), [2**-0.5, 2**-0.5])  # the squares overflow float16
