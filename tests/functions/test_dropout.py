from __future__ import annotations

import numpy as np
import pytest
import torch

from headway.errors import OptionError, ShapeError
from headway.functions import dropout
from tests.functions.close import assert_close


def test_numbers_whose_draw_is_below_the_rate_are_zero_and_the_others_grow():
    x, random = np.array([1.0, 2.0, 3.0, 4.0]), np.array([0.0, 0.2, 0.19999, 0.99])
    assert_close(dropout(x, random, rate=0.2), np.array([0.0, 2.5, 0.0, 5.0]))  # 2 / 0.8, 4 / 0.8


def test_torch_computes_the_same_from_the_same_choice():
    x = torch.linspace(1, 2, 35, dtype=torch.float64).reshape(5, 7)
    torch.manual_seed(0)
    theirs = torch.nn.functional.dropout(x, 0.3)
    assert 0 < (theirs == 0).sum() < 35
    assert_close(dropout(x, (theirs != 0).double() * 0.99, rate=0.3), theirs)


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_the_mean_stays_and_the_share_is_the_rate(rate):
    random = np.random.default_rng(0).random(100_000)
    dropped = dropout(np.ones(100_000), random, rate=rate)
    deviation = np.sqrt(rate / (1 - rate) / 100_000)
    assert abs(dropped.mean() - 1) < 4 * deviation
    assert abs((dropped == 0).mean() - rate) < 4 * np.sqrt(rate * (1 - rate) / 100_000)


def test_a_rate_of_zero_changes_nothing():
    x = np.random.default_rng(0).standard_normal((3, 5))
    np.testing.assert_array_equal(dropout(x, np.zeros((3, 5)), rate=0.0), x)


def test_draws_of_half_precision_are_compared_as_they_are():
    random = torch.tensor([0.69921875, 0.703125], dtype=torch.bfloat16)  # neighbours; 0.7 itself rounds to the first
    assert dropout(torch.ones(2), random, rate=0.7).tolist() == [0.0, pytest.approx(1 / 0.3)]


@pytest.mark.parametrize("rate", [-0.1, 1.0, 1.5, float("nan")])
def test_a_rate_outside_its_range_is_an_error(rate):
    with pytest.raises(OptionError, match=f"got rate={rate}, expected at least 0 and below 1"):
        dropout(np.ones(3), np.zeros(3), rate=rate)


def test_draws_of_another_shape_are_an_error_even_where_they_would_broadcast():
    with pytest.raises(ShapeError, match=r"got x \(2, 3\) and random \(3,\), expected equal shapes"):
        dropout(np.ones((2, 3)), np.zeros(3), rate=0.5)
