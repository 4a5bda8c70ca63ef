from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.errors import OptionError, ShapeError, TokenIdError
from headway.functions import (
    attention_weights,
    learned_positions,
    longrope_magnitude,
    relative_position_bias,
    relative_position_buckets,
    rotary,
    rotary_cos_sin,
    rotary_frequencies,
    rotate_half,
    scale_rotary_dynamic,
    scale_rotary_linear,
    scale_rotary_llama3,
    scale_rotary_longrope,
    scale_rotary_yarn,
    sinusoidal_positions,
    yarn_magnitude,
)
from tests.functions.close import assert_close

HEAD_DIM, SEQ_LEN, NUM_HEADS, BATCH = 14, 5, 3, 2
X = np.random.default_rng(0).standard_normal((BATCH, NUM_HEADS, SEQ_LEN, HEAD_DIM))


def angles(positions, **options):
    return rotary_cos_sin(np.asarray(positions), rotary_frequencies(HEAD_DIM), **options)


# relative


@pytest.mark.parametrize("is_bidirectional", [True, False])
@pytest.mark.parametrize(("num_buckets", "max_distance"), [(32, 128), (12, 9), (64, 500), (8, 20)])
def test_buckets_are_those_of_t5(is_bidirectional, num_buckets, max_distance):
    from transformers.models.t5.modeling_t5 import T5Attention

    relative = torch.arange(600)[None, :] - torch.arange(600)[:, None]
    theirs = T5Attention._relative_position_bucket(relative, is_bidirectional, num_buckets, max_distance)
    ours = relative_position_buckets(600, 600, num_buckets=num_buckets, max_distance=max_distance, is_bidirectional=is_bidirectional)
    np.testing.assert_array_equal(ours, theirs)


def test_near_keys_have_buckets_of_their_own_and_those_behind_the_query_the_upper_half():
    buckets = relative_position_buckets(1, 7, offset=3, num_buckets=8, max_distance=100)
    assert buckets.tolist() == [[2, 2, 1, 0, 5, 6, 6]]  # two exact buckets per direction, the rest logarithmic


@pytest.mark.parametrize("is_bidirectional", [True, False])
def test_the_bias_of_a_later_query_is_a_row_of_the_whole(is_bidirectional):
    table = np.random.default_rng(0).standard_normal((12, 3))
    whole = relative_position_bias(table, 9, 9, max_distance=7, is_bidirectional=is_bidirectional)
    later = relative_position_bias(table, 2, 9, max_distance=7, is_bidirectional=is_bidirectional)
    np.testing.assert_array_equal(later, whole[:, 7:])
    moved = relative_position_bias(table, 2, 9, max_distance=7, is_bidirectional=is_bidirectional, offset=4)
    np.testing.assert_array_equal(moved, whole[:, 4:6])


def test_the_bias_depends_on_the_distance_alone():
    bias = relative_position_bias(np.random.default_rng(0).standard_normal((12, 3)), 9, 9, max_distance=7)
    for distance in (-8, -1, 0, 5):
        assert len(np.unique(np.diagonal(bias, distance, 1, 2), axis=1).T) == 1


@pytest.mark.parametrize("options", [{"num_buckets": 1}, {"num_buckets": 32, "max_distance": 8}])
def test_buckets_that_cannot_tell_distances_apart_are_an_error(options):
    with pytest.raises(OptionError, match="got num_buckets=.*, expected at least 2 buckets and a max_distance above"):
        relative_position_buckets(2, 3, **options)


# sinusoidal and learned


def test_sinusoids_alternate_sine_and_cosine_from_fast_to_slow():
    table = sinusoidal_positions(3, 4, base=100.0)  # frequencies 1 and 1/10
    assert_close(table[2], [math.sin(2), math.cos(2), math.sin(0.2), math.cos(0.2)])
    assert table[0].tolist() == [0.0, 1.0, 0.0, 1.0]


@pytest.mark.parametrize("hidden_size", [1, 2, 7, 16])
def test_an_odd_width_ends_on_a_sine(hidden_size):
    table = sinusoidal_positions(5, hidden_size)
    np.testing.assert_array_equal(table[0], np.arange(hidden_size) % 2)  # sin 0 = 0, cos 0 = 1


@settings(deadline=None, derandomize=True, max_examples=30)
@given(st.integers(0, 1000), st.integers(1, 11), st.integers(1, 17))
def test_an_offset_begins_the_same_table_later(offset, seq_len, hidden_size):
    whole = sinusoidal_positions(offset + seq_len, hidden_size)
    np.testing.assert_array_equal(sinusoidal_positions(seq_len, hidden_size, offset=offset), whole[offset:])


@pytest.mark.parametrize("hidden_size", [2, 7, 16])
def test_all_sines_before_all_cosines_are_the_same_numbers_in_the_order_of_marian(hidden_size):
    from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding

    table = sinusoidal_positions(11, hidden_size, interleaved=False)
    by_turns = sinusoidal_positions(11, hidden_size)
    np.testing.assert_array_equal(table, np.concatenate([by_turns[:, 0::2], by_turns[:, 1::2]], axis=1))
    theirs = MarianSinusoidalPositionalEmbedding(11, hidden_size).create_weight()
    assert_close(table, theirs.numpy(), dtype="float32")


def test_the_dot_product_of_two_sinusoids_depends_on_their_distance_only():
    table = sinusoidal_positions(50, 16).astype(np.float64)
    products = table @ table.T
    for distance in (0, 1, 7):
        assert_close(np.diagonal(products, distance), np.full(50 - distance, products[0, distance]), dtype="float32")


def test_sinusoids_are_those_of_the_paper_in_torch():
    positions, hidden_size = torch.arange(11, dtype=torch.float64)[:, None], 14
    rates = torch.exp(torch.arange(0, hidden_size, 2, dtype=torch.float64) * (-math.log(10000.0) / hidden_size))
    expected = torch.stack([torch.sin(positions * rates), torch.cos(positions * rates)], dim=-1).flatten(1)
    assert_close(sinusoidal_positions(11, hidden_size), expected.numpy())


def test_learned_positions_are_rows_of_the_table():
    table = np.arange(14.0).reshape(7, 2)
    np.testing.assert_array_equal(learned_positions(np.array([[0, 6], [3, 3]]), table), table[[[0, 6], [3, 3]]])


def test_more_positions_than_rows_are_an_error():
    with pytest.raises(ShapeError, match="(?s)got 5 positions, expected at most 3, the number of rows of the table.*shorten"):
        learned_positions(np.arange(5), np.zeros((3, 2)))


def test_a_position_outside_the_table_is_named():
    with pytest.raises(TokenIdError, match="got token id 3, expected 0 to 2"):
        learned_positions(np.array([1, 3]), np.zeros((3, 2)))


# rotary


def test_a_quarter_turn_moves_the_first_half_onto_the_second():
    cos, sin = np.array([[0.0, 1.0]]), np.array([[1.0, 0.0]])  # pair 0 rotates by 90°, pair 1 is unchanged
    x = np.array([[1.0, 2.0, 3.0, 4.0]])
    assert rotary(x, cos, sin).tolist() == [[-3.0, 2.0, 1.0, 4.0]]  # halves: (1, 3) → (-3, 1)
    assert rotary(x, cos, sin, interleaved=True).tolist() == [[-2.0, 1.0, 3.0, 4.0]]  # interleaved: (1, 2) → (-2, 1)


def test_frequencies_fall_from_one_to_almost_one_over_theta():
    assert_close(rotary_frequencies(4, theta=100.0), [1.0, 0.1])
    assert_close(rotary_frequencies(6, theta=1000.0), [1.0, 0.1, 0.01])


def test_angles_are_position_times_frequency_times_nothing_else():
    cos, sin = rotary_cos_sin(np.array([0, 3]), np.array([1.0, 0.5], np.float32), magnitude=2.0)
    assert_close(cos, [[2.0, 2.0], [2 * math.cos(3), 2 * math.cos(1.5)]])
    assert_close(sin, [[0.0, 0.0], [2 * math.sin(3), 2 * math.sin(1.5)]])


@pytest.mark.parametrize("interleaved", [False, True])
def test_turning_keeps_lengths_and_position_zero(interleaved):
    turned = rotary(X, *angles(range(SEQ_LEN)), interleaved=interleaved)
    assert_close(np.linalg.norm(turned, axis=-1), np.linalg.norm(X, axis=-1), dtype="float32")
    np.testing.assert_array_equal(turned[..., 0, :], X[..., 0, :])


@settings(deadline=None, derandomize=True, max_examples=30)
@given(st.integers(0, 500), st.booleans())
def test_scores_depend_on_distances_only(shift, interleaved):
    def weights(first):
        cos_sin = angles(range(first, first + SEQ_LEN))
        return attention_weights(rotary(X, *cos_sin, interleaved=interleaved), rotary(X[::-1], *cos_sin, interleaved=interleaved))

    np.testing.assert_allclose(weights(shift), weights(0), atol=1e-4)  # angles in float32, up to 500 radians


def test_turning_twice_is_turning_by_the_sum():
    once = rotary(rotary(X, *angles([2, 3, 5, 7, 11])), *angles([1, 1, 1, 1, 1]))
    assert_close(once, rotary(X, *angles([3, 4, 6, 8, 12])), dtype="float32")


def test_interleaved_is_halves_after_reordering_the_coordinates():
    order = np.concatenate([np.arange(0, HEAD_DIM, 2), np.arange(1, HEAD_DIM, 2)])
    cos_sin = angles(range(SEQ_LEN))
    assert_close(rotary(X, *cos_sin, interleaved=True)[..., order], rotary(X[..., order], *cos_sin))


@pytest.mark.parametrize("interleaved", [False, True])
def test_coordinates_beyond_the_angles_stay_as_they_are(interleaved):
    cos, sin = rotary_cos_sin(np.arange(SEQ_LEN), rotary_frequencies(6))
    turned = rotary(X, cos, sin, interleaved=interleaved)
    np.testing.assert_array_equal(turned[..., 6:], X[..., 6:])
    assert_close(turned[..., :6], rotary(X[..., :6], cos, sin, interleaved=interleaved))


def test_positions_per_sequence_need_an_axis_for_the_heads():
    positions = np.array([[0, 1, 2, 3, 4], [7, 8, 9, 10, 11]])
    turned = rotary(X, *angles(positions[:, None]))
    for row in range(BATCH):
        assert_close(turned[row], rotary(X[row], *angles(positions[row])))
    with pytest.raises(
        OptionError, match=r"(?s)x \(2, 3, 5, 14\) and cos \(2, 5, 7\), expected cos and sin with a head axis.*pass positions\[:, None\]"
    ):
        rotary(X, *angles(positions))


def test_transformers_llama_computes_the_same():
    from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

    cos, sin = angles(range(SEQ_LEN))
    doubled = [torch.from_numpy(np.concatenate([part, part], axis=-1))[None] for part in (cos, sin)]
    expected, _ = apply_rotary_pos_emb(torch.from_numpy(X), torch.from_numpy(X), *doubled)
    assert_close(rotary(X, cos, sin), expected.numpy())


def test_interleaved_is_multiplication_by_a_complex_number():
    cos, sin = angles(range(SEQ_LEN))
    turned = (X[..., 0::2] + 1j * X[..., 1::2]) * (cos + 1j * sin)
    came = rotary(X, cos, sin, interleaved=True)
    assert_close(came[..., 0::2], turned.real)
    assert_close(came[..., 1::2], turned.imag)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_turning_keeps_the_dtype_and_turns_in_float32(dtype):
    x = X.astype(dtype)
    came = rotary(x, *angles(range(1000, 1000 + SEQ_LEN)))
    assert came.dtype == dtype
    assert_close(came, rotary(x.astype(np.float64), *angles(range(1000, 1000 + SEQ_LEN))))


def test_an_odd_head_dim_is_an_error():
    with pytest.raises(ShapeError, match="got head_dim=7, expected an even number"):
        rotary_frequencies(7)


@pytest.mark.parametrize(
    ("cos_shape", "sin_shape"),
    [((5, 7), (5, 6)), ((5, 8), (5, 8)), ((4, 7), (4, 7)), ((6, 7), (6, 7)), ((7,), (7,)), ((), ())],
    ids=["they_differ", "wider_than_half", "too_few_positions", "too_many_positions", "no_positions", "no_axes"],
)
def test_angles_that_do_not_fit_are_an_error(cos_shape, sin_shape):
    with pytest.raises(
        ShapeError, match=r"(?s)got x \(2, 3, 5, 14\), cos \(.*\), sin \(.*\), expected x .*with rotary_cos_sin from the positions of x"
    ):
        rotary(X, np.ones(cos_shape), np.ones(sin_shape))


def test_a_vector_without_positions_is_an_error():
    with pytest.raises(ShapeError, match=r"got x \(14,\), cos \(1, 7\)"):
        rotary(X[0, 0, 0], np.ones((1, 7)), np.ones((1, 7)))


# longer contexts


def transformers_frequencies(rope_type, head_dim, theta, seq_len=None, **parameters):
    """Return the frequencies and the factor of cos and sin that transformers computes from rope_parameters."""
    from transformers import LlamaConfig
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    config = LlamaConfig(
        hidden_size=4 * head_dim,
        num_attention_heads=4,
        head_dim=head_dim,
        max_position_embeddings=parameters.pop("max_position_embeddings", 8192),
        rope_parameters={"rope_type": rope_type, "rope_theta": theta, **parameters},
    )
    frequencies, magnitude = ROPE_INIT_FUNCTIONS[rope_type](config, torch.device("cpu"), seq_len=seq_len)
    return frequencies.numpy(), magnitude


@pytest.mark.parametrize("head_dim", [64, 128, 26])
@pytest.mark.parametrize("theta", [10000.0, 500000.0])
def test_linear_frequencies_are_those_of_transformers(head_dim, theta):
    expected, _ = transformers_frequencies("linear", head_dim, theta, factor=4.0)
    assert_close(scale_rotary_linear(rotary_frequencies(head_dim, theta=theta), factor=4.0), expected)


@pytest.mark.parametrize("head_dim", [64, 128, 26])
@pytest.mark.parametrize(("factor", "low", "high"), [(8.0, 1.0, 4.0), (32.0, 1.0, 4.0), (4.0, 2.0, 3.0)])
def test_llama3_frequencies_are_those_of_transformers(head_dim, factor, low, high):
    parameters = {"factor": factor, "low_freq_factor": low, "high_freq_factor": high}
    expected, _ = transformers_frequencies("llama3", head_dim, 500000.0, original_max_position_embeddings=8192, **parameters)
    came = scale_rotary_llama3(rotary_frequencies(head_dim, theta=500000.0), original_max_seq_len=8192, **parameters)
    assert_close(came, expected)
    assert (came / rotary_frequencies(head_dim, theta=500000.0)).max() == pytest.approx(1)  # the fastest pair is kept
    assert (came / rotary_frequencies(head_dim, theta=500000.0)).min() == pytest.approx(1 / factor)  # the slowest is divided by factor


@pytest.mark.parametrize("head_dim", [64, 128, 26])
@pytest.mark.parametrize(
    ("factor", "theta", "original"), [(4.0, 10000.0, 4096), (16.0, 10000.0, 2048), (4.0, 1000000.0, 32768), (2.0, 10.0, 4096)]
)
def test_yarn_frequencies_and_magnitude_are_those_of_transformers(head_dim, factor, theta, original):
    expected, magnitude = transformers_frequencies("yarn", head_dim, theta, factor=factor, original_max_position_embeddings=original)
    came = scale_rotary_yarn(rotary_frequencies(head_dim, theta=theta), factor=factor, original_max_seq_len=original, theta=theta)
    assert_close(came, expected)
    assert yarn_magnitude(factor) == pytest.approx(magnitude, rel=1e-7)


def test_yarn_with_other_betas_is_that_of_transformers():
    betas = {"beta_fast": 16.0, "beta_slow": 2.0}
    expected, _ = transformers_frequencies("yarn", 64, 10000.0, factor=4.0, original_max_position_embeddings=4096, **betas)
    assert_close(scale_rotary_yarn(rotary_frequencies(64), factor=4.0, original_max_seq_len=4096, **betas), expected)


@pytest.mark.parametrize("original", [4096, 32])
def test_yarn_without_whole_bounds_is_that_of_transformers(original):
    options = {"factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0}
    expected, _ = transformers_frequencies("yarn", 64, 150000.0, original_max_position_embeddings=original, truncate=False, **options)
    came = scale_rotary_yarn(
        rotary_frequencies(64, theta=150000.0), original_max_seq_len=original, theta=150000.0, has_whole_bounds=False, **options
    )
    assert_close(came, expected)


def test_dynamic_frequencies_are_those_of_transformers_at_every_length():
    lengths = [1, 100, 128, 129, 500]
    came = scale_rotary_dynamic(rotary_frequencies(26), np.array(lengths), factor=3.0, original_max_seq_len=128)
    for row, seq_len in zip(came, lengths, strict=True):
        expected, _ = transformers_frequencies("dynamic", 26, 10000.0, seq_len, factor=3.0, max_position_embeddings=128)
        assert_close(row, expected)
    np.testing.assert_array_equal(came[0], rotary_frequencies(26))


@pytest.mark.parametrize("pairs", [0, 1])
def test_dynamic_scaling_needs_two_pairs(pairs):
    with pytest.raises(ShapeError, match="expected at least 2"):
        scale_rotary_dynamic(np.ones(pairs), np.array([3]), factor=2.0, original_max_seq_len=8)


def test_longrope_frequencies_and_magnitude_are_those_of_transformers_at_every_length():
    random = np.random.default_rng(0)
    short, long = random.uniform(1, 2, 13), random.uniform(2, 9, 13)
    lengths = [1, 128, 129, 500]
    came = scale_rotary_longrope(rotary_frequencies(26), short, long, np.array(lengths), original_max_seq_len=128)
    factors = {"short_factor": short.tolist(), "long_factor": long.tolist(), "factor": 8.0}
    for row, seq_len in zip(came, lengths, strict=True):
        expected, magnitude = transformers_frequencies(
            "longrope", 26, 10000.0, seq_len, original_max_position_embeddings=128, max_position_embeddings=1024, **factors
        )
        assert_close(row.astype(np.float32), expected)
        assert longrope_magnitude(8.0, 128) == pytest.approx(magnitude, rel=1e-7)


def test_a_longrope_magnitude_without_a_logarithm_to_divide_by_is_refused():
    assert longrope_magnitude(1.0, 1) == 1.0
    for length in (1, 0):
        with pytest.raises(OptionError, match=f"got original_max_seq_len={length}, expected more than 1"):
            longrope_magnitude(8.0, length)


def test_linear_scaling_is_dividing_the_positions():
    frequencies = rotary_frequencies(HEAD_DIM)
    stretched = rotary_cos_sin(np.arange(0, 12, 4), scale_rotary_linear(frequencies, factor=4.0))
    for came, expected in zip(stretched, rotary_cos_sin(np.arange(3), frequencies), strict=True):
        assert_close(came, expected)


@pytest.mark.parametrize(
    ("factor", "mscale", "expected"), [(1.0, 1.0, 1.0), (0.5, 1.0, 1.0), (math.e, 1.0, 1.1), (math.e, 0.5, 1.05), (math.e**2, 0.0, 1.0)]
)
def test_yarn_magnitude_is_one_plus_a_tenth_of_the_logarithm(factor, mscale, expected):
    assert yarn_magnitude(factor, mscale=mscale) == pytest.approx(expected)


# Sizes


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sinusoidal_positions(4, 0), "got hidden_size=0, expected at least 1"),
        (lambda: sinusoidal_positions(4, -2), "got hidden_size=-2, expected at least 1"),
        (lambda: sinusoidal_positions(-1, 4), "got seq_len=-1, expected at least 0"),
        (lambda: relative_position_buckets(-1, 4), "got query_len=-1, expected at least 0"),
        (lambda: relative_position_bias(np.ones((32, 2)), 4, -3), "got key_len=-3, expected at least 0"),
        (lambda: rotary_frequencies(0), "got head_dim=0, expected an even number of at least 2"),
        (lambda: rotary_frequencies(-4), "got head_dim=-4, expected an even number of at least 2"),
    ],
)
def test_a_size_that_is_too_small_is_an_error(call, message):
    with pytest.raises(ShapeError, match=message):
        call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sinusoidal_positions(4, 2, base=0.0), "got base=0.0, expected above 0"),
        (lambda: rotary_frequencies(4, theta=-1.0), "got theta=-1.0, expected above 0"),
        (lambda: scale_rotary_linear(np.ones(2), factor=0.0), "got factor=0.0, expected above 0"),
        (
            lambda: scale_rotary_llama3(np.ones(2), factor=2.0, low_freq_factor=4.0, high_freq_factor=4.0, original_max_seq_len=8),
            "got low_freq_factor=4.0 and high_freq_factor=4.0, expected high_freq_factor to be the larger",
        ),
        (lambda: scale_rotary_yarn(np.ones(2), factor=2.0, original_max_seq_len=0), "got original_max_seq_len=0, expected above 0"),
        (lambda: scale_rotary_yarn(np.ones(2), factor=2.0, original_max_seq_len=8, theta=1), "got theta=1, expected another number"),
    ],
)
def test_an_option_without_a_meaning_is_an_error(call, message):
    with pytest.raises(OptionError, match=message):
        call()


def test_no_positions_give_an_empty_table():
    assert sinusoidal_positions(0, 4).shape == (0, 4)


@pytest.mark.parametrize("interleaved", [True, False])
def test_a_rotation_is_x_cos_plus_the_turned_half_times_sin(interleaved):
    cos, sin = angles(range(SEQ_LEN))
    repeat = (lambda table: np.repeat(table, 2, axis=-1)) if interleaved else (lambda table: np.concatenate([table, table], axis=-1))
    turned = X * repeat(cos) + rotate_half(X, interleaved=interleaved) * repeat(sin)
    assert_close(turned, rotary(X, cos, sin, interleaved=interleaved))


def test_an_odd_number_of_coordinates_has_no_halves():
    with pytest.raises(ShapeError, match="got 3 coordinates"):
        rotate_half(np.ones(3))
