from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.arrays import from_numpy
from headway.errors import DtypeError, ShapeError, TokenIdError
from headway.functions import cross_entropy
from tests.functions.close import assert_close

LOGITS = np.random.default_rng(0).standard_normal((2, 5, 7))
TARGETS = np.random.default_rng(1).integers(0, 7, (2, 5))


def test_a_fair_coin_surprises_by_the_logarithm_of_two():
    assert_close(cross_entropy(np.zeros((3, 2)), np.array([0, 1, 1])), math.log(2))


def test_the_mean_is_over_all_targets():
    logits = np.log(np.array([[0.5, 0.5], [0.25, 0.75]]))
    assert_close(cross_entropy(logits, np.array([0, 0])), (math.log(2) + math.log(4)) / 2)


def test_certainty_of_the_right_answer_costs_nothing_and_of_a_wrong_one_all_it_says():
    logits = np.array([[0.0, 1e4]], np.float32)
    assert cross_entropy(logits, np.array([1])) == 0
    assert cross_entropy(logits, np.array([0])) == 1e4


@settings(deadline=None, derandomize=True, max_examples=30)
@given(st.floats(-1000, 1000))
def test_shifting_the_logits_changes_nothing(shift):
    assert_close(cross_entropy(LOGITS + shift, TARGETS), cross_entropy(LOGITS, TARGETS), dtype="float32")


def test_permuting_the_vocabulary_changes_nothing():
    order = np.random.default_rng(2).permutation(7)
    assert_close(cross_entropy(LOGITS[..., order], np.argsort(order)[TARGETS]), cross_entropy(LOGITS, TARGETS))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("ignored", [None, -100, 3])
def test_torch_computes_the_same(dtype, ignored):
    logits, targets = torch.from_numpy(LOGITS).to(dtype), torch.from_numpy(TARGETS.copy())
    targets[0, :2] = -100 if ignored == -100 else targets[0, :2]
    options = {} if ignored is None else {"ignore_index": ignored}
    expected = torch.nn.functional.cross_entropy(logits.flatten(0, -2), targets.flatten(), **options)
    assert_close(cross_entropy(logits, targets, ignored=ignored), expected)


def test_ignored_targets_do_not_count_in_the_mean():
    targets = TARGETS.copy()
    targets[1] = -100
    assert_close(cross_entropy(LOGITS, targets, ignored=-100), cross_entropy(LOGITS[:1], TARGETS[:1]))


@pytest.mark.parametrize("library", ["numpy", "torch", "jax", "mlx"])
def test_nothing_but_ignored_targets_give_zero(library):
    logits, targets = from_numpy(LOGITS.astype(np.float32), library), from_numpy(np.full((2, 5), -100, np.int32), library)
    assert float(cross_entropy(logits, targets, ignored=-100)) == 0


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "int64"])
@pytest.mark.parametrize("library", ["numpy", "torch", "jax", "mlx"])
def test_targets_may_be_any_whole_numbers(library, dtype):
    logits = from_numpy(LOGITS.astype(np.float32), library)
    targets = from_numpy(TARGETS.astype("int32" if (library, dtype) == ("jax", "int64") else dtype), library)
    assert_close(cross_entropy(logits, targets), cross_entropy(LOGITS, TARGETS).astype(np.float32))


def test_one_row_without_leading_axes_is_a_loss_too():
    assert_close(cross_entropy(LOGITS[0, 0], TARGETS[0, 0]), cross_entropy(LOGITS[:1, :1], TARGETS[:1, :1]))


@pytest.mark.parametrize("shape", [(2,), (5, 2), (2, 5, 7), (2, 5, 1)])
def test_targets_of_another_shape_are_an_error(shape):
    with pytest.raises(ShapeError, match=r"got logits \(2, 5, 7\) and targets \(.*\), expected targets \(2, 5\), one per row"):
        cross_entropy(LOGITS, np.zeros(shape, int))


@pytest.mark.parametrize("target", [7, -1, -100])
def test_a_target_outside_the_vocabulary_is_named(target):
    with pytest.raises(TokenIdError, match=f"got token id {target}, expected 0 to 6"):
        cross_entropy(LOGITS[0, :1], np.array([target]))


def test_an_ignored_target_hides_no_other_wrong_one():
    with pytest.raises(TokenIdError, match="got token id -1, expected 0 to 6"):
        cross_entropy(LOGITS[0, :2], np.array([-100, -1]), ignored=-100)


def test_targets_that_are_no_whole_numbers_are_an_error():
    with pytest.raises(DtypeError, match="dtype float64, expected integers"):
        cross_entropy(LOGITS, TARGETS.astype(float))
