from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.errors import DtypeError, OptionError, ShapeError
from headway.functions import apply_mask, causal_mask, padding_mask, scaled_dot_product_attention, sliding_window_mask

LENGTHS = st.integers(1, 11)


def test_a_causal_square_is_a_lower_triangle():
    assert causal_mask(3).astype(int).tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]


def test_with_more_keys_the_newest_query_sits_at_the_newest_key():
    assert causal_mask(2, 5).astype(int).tolist() == [[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]]


def test_with_fewer_keys_the_first_queries_see_nothing():
    assert causal_mask(3, 2).astype(int).tolist() == [[0, 0], [1, 0], [1, 1]]


def test_offset_zero_begins_at_the_first_key():
    assert causal_mask(2, 3, offset=0).astype(int).tolist() == [[1, 0, 0], [1, 1, 0]]


@settings(deadline=None, derandomize=True, max_examples=40)
@given(LENGTHS, LENGTHS)
def test_a_causal_mask_is_the_bottom_right_corner_of_a_longer_one(query_len, key_len):
    longest = max(query_len, key_len)
    triangle = np.tri(longest, dtype=bool)
    np.testing.assert_array_equal(causal_mask(query_len, key_len), triangle[longest - query_len :, longest - key_len :])


@settings(deadline=None, derandomize=True, max_examples=40)
@given(LENGTHS, LENGTHS, st.integers(0, 7))
def test_a_chunk_with_its_offset_is_those_rows_of_the_whole_mask(query_len, key_len, offset):
    whole = causal_mask(query_len + offset, key_len, offset=0)
    np.testing.assert_array_equal(causal_mask(query_len, key_len, offset=offset), whole[offset:])


@settings(deadline=None, derandomize=True, max_examples=40)
@given(LENGTHS, LENGTHS, st.integers(1, 13))
def test_a_window_sees_at_most_so_many_keys_and_never_a_later_one(query_len, key_len, window):
    mask = sliding_window_mask(query_len, key_len, window=window)
    assert mask.sum(axis=-1).max() <= window
    assert not (mask & ~causal_mask(query_len, key_len)).any()
    if key_len >= query_len:
        assert mask[-1].sum() == min(window, key_len)


def test_a_window_of_one_sees_itself_only():
    assert sliding_window_mask(3, 5, window=1).astype(int).tolist() == [[0, 0, 1, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 0, 1]]


def test_a_window_as_long_as_the_keys_is_causal():
    np.testing.assert_array_equal(sliding_window_mask(5, 7, window=7), causal_mask(5, 7))


@pytest.mark.parametrize("window", [0, -1])
def test_a_window_below_one_is_an_error(window):
    with pytest.raises(OptionError, match=f"(?s)got window={window}, expected at least 1.*causal_mask"):
        sliding_window_mask(3, window=window)


def test_padding_stands_after_the_tokens_by_default():
    mask = padding_mask(np.array([[2, 0], [3, 1]]), 3)
    assert mask.shape == (2, 2, 1, 1, 3)
    assert mask[:, :, 0, 0].astype(int).tolist() == [[[1, 1, 0], [0, 0, 0]], [[1, 1, 1], [1, 0, 0]]]


def test_padding_on_the_left_leaves_the_newest_positions():
    assert padding_mask(np.array([1, 3]), 3, is_left=True)[:, 0, 0].astype(int).tolist() == [[0, 0, 1], [1, 1, 1]]


def test_left_padding_is_right_padding_backwards():
    lengths = np.arange(6)
    np.testing.assert_array_equal(padding_mask(lengths, 5, is_left=True), padding_mask(lengths, 5)[..., ::-1])


def test_masks_combine_with_and():
    both = padding_mask(np.array([2]), 3) & causal_mask(3)
    assert both[0, 0].astype(int).tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 0]]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_a_boolean_mask_hides_and_a_floating_one_is_added(dtype):
    scores = np.array([[1.0, 2.0, 3.0]], dtype)
    assert apply_mask(scores, np.array([[True, False, True]])).tolist() == [[1.0, -np.inf, 3.0]]
    added = apply_mask(scores, np.array([[0.5, -np.inf, 0.0]]))
    assert added.tolist() == [[1.5, -np.inf, 3.0]]
    assert added.dtype == dtype


def test_a_mask_of_zeros_and_minus_infinity_is_the_boolean_mask():
    random = np.random.default_rng(0)
    query, key, value = random.standard_normal((3, 2, 7, 5))
    mask = random.random((7, 7)) < 0.5
    np.testing.assert_array_equal(
        scaled_dot_product_attention(query, key, value, mask), scaled_dot_product_attention(query, key, value, np.where(mask, 0, -np.inf))
    )


@pytest.mark.parametrize("dtype", [np.int64, np.uint8])
def test_a_mask_of_whole_numbers_is_an_error_that_names_both_readings(dtype):
    with pytest.raises(DtypeError, match=rf"(?s)got a mask of dtype {np.dtype(dtype)}, expected boolean.*pass mask != 0; .*pass mask == 0"):
        apply_mask(np.zeros((3, 5)), np.ones((3, 5), dtype))


@pytest.mark.parametrize("shape", [(5, 3), (2, 3, 5), (4, 5), (0, 5)])
def test_a_mask_that_does_not_broadcast_to_the_scores_is_an_error(shape):
    with pytest.raises(ShapeError, match=r"got a mask \(.*\) for scores \(3, 5\), expected a shape that broadcasts"):
        apply_mask(np.zeros((3, 5)), np.ones(shape, bool))


@pytest.mark.parametrize("shape", [(), (5,), (1, 5), (3, 1), (2, 1, 3, 5)])
def test_a_mask_may_be_anything_that_broadcasts(shape):
    assert (apply_mask(np.zeros((2, 7, 3, 5)), np.zeros(shape, bool)) == -np.inf).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: causal_mask(-1), "got query_len=-1, expected at least 0"),
        (lambda: causal_mask(2, -1), "got key_len=-1, expected at least 0"),
        (lambda: sliding_window_mask(-3, window=2), "got query_len=-3, expected at least 0"),
        (lambda: padding_mask(np.array([1]), -2), "got seq_len=-2, expected at least 0"),
    ],
)
def test_a_negative_length_is_an_error(call, message):
    with pytest.raises(ShapeError, match=message):
        call()
