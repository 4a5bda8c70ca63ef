from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.arrays import from_numpy, to_numpy
from headway.errors import OptionError
from headway.functions import (
    add_logit_bias,
    forbid_repeated_ngrams,
    forbid_tokens,
    force_tokens,
    keep_min_p,
    keep_top_k,
    keep_top_p,
    keep_typical,
    penalize_occurrence,
    penalize_repetition,
    sample,
    scale_by_temperature,
    softmax,
)
from tests.functions.close import assert_close

BATCH, VOCAB_SIZE = 5, 53
LOGITS = 3 * np.random.default_rng(0).standard_normal((BATCH, VOCAB_SIZE)).astype(np.float32)
LIBRARIES = ["numpy", "torch", "jax", "mlx"]


def logits_of(*probabilities):
    return np.log(np.array(probabilities))


def kept(logits):
    return np.isfinite(logits).astype(int).tolist()


def processed(processor, logits=LOGITS, token_ids=None):
    """Return the logits after a logits processor of transformers."""
    token_ids = torch.zeros((len(logits), 1), dtype=torch.int64) if token_ids is None else torch.from_numpy(token_ids)
    return processor(token_ids, torch.from_numpy(logits.copy())).numpy()


# temperature


def test_a_low_temperature_sharpens_and_a_high_one_flattens():
    logits = logits_of(0.2, 0.8)
    assert_close(softmax(scale_by_temperature(logits, 0.5)), [0.04 / 0.68, 0.64 / 0.68])  # probabilities squared
    assert_close(softmax(scale_by_temperature(logits, 1e9)), [0.5, 0.5], dtype="float32")


@pytest.mark.parametrize("temperature", [0.1, 0.7, 1.0, 2.5])
def test_temperature_is_that_of_transformers(temperature):
    from transformers import TemperatureLogitsWarper

    assert_close(scale_by_temperature(LOGITS, temperature), processed(TemperatureLogitsWarper(temperature)))


@pytest.mark.parametrize("temperature", [0.0, -1.0, float("nan"), float("inf")])
def test_a_temperature_not_above_zero_is_an_error_that_names_the_argmax(temperature):
    with pytest.raises(OptionError, match=f"(?s)got temperature={temperature}, expected above 0.*argmax"):
        scale_by_temperature(LOGITS, temperature)


# top-k


def test_top_k_keeps_the_k_most_likely_as_they_are():
    assert keep_top_k(np.array([3.0, 1.0, 4.0, 2.0]), 2).tolist() == [3.0, -np.inf, 4.0, -np.inf]


def test_top_k_keeps_those_that_tie_with_the_last():
    assert kept(keep_top_k(np.array([1.0, 2.0, 2.0, 0.0]), 2)) == [0, 1, 1, 0]
    assert kept(keep_top_k(np.array([2.0, 2.0, 2.0, 0.0]), 1)) == [1, 1, 1, 0]


@pytest.mark.parametrize("top_k", [1, 7, VOCAB_SIZE, 1000])
def test_top_k_is_that_of_transformers(top_k):
    from transformers import TopKLogitsWarper

    np.testing.assert_array_equal(keep_top_k(LOGITS, top_k), processed(TopKLogitsWarper(top_k)))


@pytest.mark.parametrize("top_k", [0, -1])
def test_a_top_k_below_one_is_an_error(top_k):
    with pytest.raises(OptionError, match=f"(?s)got top_k={top_k}, expected at least 1.*leave top_k out"):
        keep_top_k(LOGITS, top_k)


# top-p


@pytest.mark.parametrize(
    ("top_p", "expected"),
    [(0.1, [0, 1, 0, 0]), (0.5, [0, 1, 0, 0]), (0.51, [0, 1, 1, 0]), (0.74, [0, 1, 1, 0]), (0.76, [0, 1, 1, 1]), (1.0, [1, 1, 1, 1])],
)
def test_top_p_keeps_the_fewest_that_reach_it(top_p, expected):
    probabilities = np.array([0.125, 0.5, 0.25, 0.125])
    if 0.75 < top_p < 0.875:
        expected = [1, 1, 1, 1]  # both tokens of 0.125 are equally likely
    assert kept(keep_top_p(np.log(probabilities), top_p)) == expected


def test_top_p_always_keeps_the_most_likely():
    assert kept(keep_top_p(logits_of(0.3, 0.4, 0.3), 1e-9)) == [0, 1, 0]


@pytest.mark.parametrize("top_p", [0.05, 0.3, 0.9, 0.99])
def test_top_p_is_that_of_transformers(top_p):
    from transformers import TopPLogitsWarper

    np.testing.assert_array_equal(keep_top_p(LOGITS, top_p), processed(TopPLogitsWarper(top_p)))


# min-p


def test_min_p_is_relative_to_the_most_likely():
    assert kept(keep_min_p(logits_of(0.5, 0.26, 0.24), 0.5)) == [1, 1, 0]  # 0.25 and more
    assert kept(keep_min_p(logits_of(0.5, 0.26, 0.24), 1.0)) == [1, 0, 0]


@pytest.mark.parametrize("min_p", [0.01, 0.1, 0.5])
def test_min_p_is_that_of_transformers(min_p):
    from transformers import MinPLogitsWarper

    np.testing.assert_array_equal(keep_min_p(LOGITS, min_p), processed(MinPLogitsWarper(min_p)))


# typical


def test_typical_may_drop_the_most_likely():
    # entropy 0.898; information content 0.511, 1.204, 2.303: 0.3 is the closest, then 0.6
    logits = logits_of(0.6, 0.3, 0.1)
    assert kept(keep_typical(logits, 0.3 - 1e-9)) == [0, 1, 0]
    assert kept(keep_typical(logits, 0.5)) == [1, 1, 0]


@pytest.mark.parametrize("typical_p", [0.1, 0.5, 0.9])
def test_typical_is_that_of_transformers(typical_p):
    from transformers import TypicalLogitsWarper

    np.testing.assert_array_equal(keep_typical(LOGITS, typical_p), processed(TypicalLogitsWarper(mass=typical_p)))


def test_typical_of_equally_likely_tokens_keeps_all_that_tie():
    assert kept(keep_typical(np.zeros(8), 0.5)) == [1] * 8


@pytest.mark.parametrize(("keep", "name"), [(keep_top_p, "top_p"), (keep_min_p, "min_p"), (keep_typical, "typical_p")])
@pytest.mark.parametrize("share", [0.0, -0.1, 1.1, float("nan")])
def test_a_share_outside_zero_to_one_is_an_error(keep, name, share):
    with pytest.raises(OptionError, match=f"(?s)got {name}={share}, expected above 0 and at most 1.*leave {name} out"):
        keep(LOGITS, share)


@pytest.mark.parametrize("keep", [keep_top_p, keep_typical])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_a_share_of_one_keeps_every_token_however_unlikely(keep, dtype):
    random = np.random.default_rng(0)
    for spread in range(1, 11):  # a cumulative sum that rounds up to 1 too early drops the last tokens
        logits = (spread * random.standard_normal(1009)).astype(dtype)
        np.testing.assert_array_equal(keep(logits, 1.0), logits)


@pytest.mark.parametrize(
    "keep", [lambda x: keep_top_k(x, 3), lambda x: keep_top_p(x, 0.8), lambda x: keep_min_p(x, 0.2), lambda x: keep_typical(x, 0.8)]
)
class TestWhatIsKept:
    @settings(deadline=None, derandomize=True, max_examples=25)
    @given(st.integers(0, 10_000), st.integers(1, 29))
    def test_something_is_kept_and_what_is_kept_is_unchanged(self, keep, seed, vocab_size):
        logits = 5 * np.random.default_rng(seed).standard_normal((3, vocab_size))
        came = keep(logits)
        assert np.isfinite(came).any(axis=-1).all()
        np.testing.assert_array_equal(came, np.where(np.isfinite(came), logits, -np.inf))

    def test_it_does_not_see_shift_order_or_rows(self, keep):
        came, order = keep(LOGITS), np.random.default_rng(1).permutation(VOCAB_SIZE)
        assert kept(keep(LOGITS + 10)) == kept(came)
        np.testing.assert_array_equal(keep(LOGITS[:, order]), came[:, order])
        np.testing.assert_array_equal(keep(LOGITS[2]), came[2])

    def test_a_token_that_is_out_stays_out(self, keep):
        logits = LOGITS.copy()
        logits[:, ::2] = -np.inf
        came = keep(logits)
        assert np.isneginf(came[:, ::2]).all()
        np.testing.assert_array_equal(came[:, 1::2], keep(logits[:, 1::2]))


# penalties and bias


def test_repetition_divides_what_is_positive_and_multiplies_what_is_negative():
    assert penalize_repetition(np.array([3.0, -3.0, 3.0, -3.0]), np.array([1, 2, 0, 0]), 1.5).tolist() == [2.0, -4.5, 3.0, -3.0]


@pytest.mark.parametrize("penalty", [0.5, 1.0, 1.3])
def test_repetition_is_that_of_transformers(penalty):
    from transformers import RepetitionPenaltyLogitsProcessor

    token_ids = np.random.default_rng(1).integers(0, VOCAB_SIZE, (BATCH, 11))
    counts = np.stack([np.bincount(row, minlength=VOCAB_SIZE) for row in token_ids])
    expected = processed(RepetitionPenaltyLogitsProcessor(penalty), token_ids=token_ids)
    assert_close(penalize_repetition(LOGITS, counts, penalty), expected)


def test_a_token_that_is_out_stays_out_under_every_penalty():
    logits, counts = np.array([-np.inf, 1.0], np.float32), np.array([3, 3])
    assert penalize_repetition(logits, counts, 1.3)[0] == -np.inf
    assert penalize_occurrence(logits, counts, presence_penalty=-2.0, frequency_penalty=-2.0)[0] == -np.inf
    assert add_logit_bias(logits, {0: 100.0})[0] == -np.inf


@pytest.mark.parametrize("penalty", [0.0, -1.0, float("inf"), float("nan")])
def test_a_repetition_penalty_not_above_zero_is_an_error(penalty):
    with pytest.raises(OptionError, match=f"(?s)got repetition_penalty={penalty}, expected above 0.*1 turns the penalty off"):
        penalize_repetition(LOGITS, np.ones(LOGITS.shape, int), penalty)


def test_presence_counts_once_and_frequency_every_time():
    logits, counts = np.zeros(3), np.array([0, 1, 4])
    assert penalize_occurrence(logits, counts, presence_penalty=0.5).tolist() == [0.0, -0.5, -0.5]
    assert penalize_occurrence(logits, counts, frequency_penalty=0.25).tolist() == [0.0, -0.25, -1.0]


def test_no_penalty_changes_nothing():
    counts = np.random.default_rng(1).integers(0, 5, LOGITS.shape)
    np.testing.assert_array_equal(penalize_occurrence(LOGITS, counts), LOGITS)
    np.testing.assert_array_equal(penalize_repetition(LOGITS, counts, 1.0), LOGITS)
    np.testing.assert_array_equal(add_logit_bias(LOGITS, {}), LOGITS)


def test_a_bias_moves_the_named_tokens_of_every_row():
    came = add_logit_bias(LOGITS, {0: 1.5, 52: -np.inf})
    assert_close(came[:, 0], LOGITS[:, 0] + 1.5)
    assert np.isneginf(came[:, 52]).all()
    np.testing.assert_array_equal(came[:, 1:52], LOGITS[:, 1:52])


@pytest.mark.parametrize("token_id", [53, -1])
def test_a_bias_for_a_token_that_is_not_there_is_an_error(token_id):
    with pytest.raises(OptionError, match=rf"got logit_bias for token ids \[{token_id}\], expected 0 to 52"):
        add_logit_bias(LOGITS, {3: 1.0, token_id: 1.0})


# tokens forbidden and forced


def test_forbidden_tokens_are_impossible_and_the_others_as_they_were():
    came = forbid_tokens(LOGITS, [0, 52, 0])
    assert np.isneginf(came[:, [0, 52]]).all()
    np.testing.assert_array_equal(came[:, 1:52], LOGITS[:, 1:52])
    np.testing.assert_array_equal(forbid_tokens(LOGITS, []), LOGITS)


def test_forbidding_is_that_of_transformers():
    from transformers import SuppressTokensLogitsProcessor

    np.testing.assert_array_equal(forbid_tokens(LOGITS, (3, 11, 52)), processed(SuppressTokensLogitsProcessor([3, 11, 52])))


@pytest.mark.parametrize("forced", [[7], [7, 52, 0]])
def test_forcing_is_that_of_transformers(forced):
    from transformers import ForcedEOSTokenLogitsProcessor

    np.testing.assert_array_equal(force_tokens(LOGITS, forced), processed(ForcedEOSTokenLogitsProcessor(2, forced)))


def test_forced_tokens_are_the_only_ones_drawn_and_equally_likely():
    assert_close(softmax(force_tokens(np.array([9.0, -9.0, 1.0, -np.inf]), [1, 3])), [0.0, 0.5, 0.0, 0.5])


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_forbidden_token_is_never_drawn_and_a_forced_one_always(library):
    logits, draws = from_numpy(LOGITS, library), from_numpy(np.array([0.0, 0.3, 0.6, 0.9, 0.999], np.float32), library)
    assert not set(to_numpy(sample(forbid_tokens(logits, range(40)), draws)).tolist()) & set(range(40))
    assert to_numpy(sample(force_tokens(logits, [17]), draws)).tolist() == [17] * 5


@pytest.mark.parametrize(("change", "name"), [(forbid_tokens, "forbidden"), (force_tokens, "forced")])
@pytest.mark.parametrize("token_id", [53, -1])
def test_a_token_that_is_not_there_is_an_error(change, name, token_id):
    with pytest.raises(OptionError, match=rf"got {name} token ids \[{token_id}\], expected 0 to 52"):
        change(LOGITS, [3, token_id])


# repeated n-grams


def test_a_run_that_stood_there_before_is_not_ended_again():
    token_ids = np.array([1, 2, 3, 1, 2, 4, 1, 2])
    assert kept(forbid_repeated_ngrams(np.zeros(6), token_ids, 3)) == [1, 1, 1, 0, 0, 1]  # 1 2 3 and 1 2 4
    assert kept(forbid_repeated_ngrams(np.zeros(6), token_ids, 2)) == [1, 1, 1, 0, 0, 1]  # 2 3 and 2 4
    assert kept(forbid_repeated_ngrams(np.zeros(6), token_ids, 1)) == [1, 0, 0, 0, 0, 1]
    assert kept(forbid_repeated_ngrams(np.zeros(6), token_ids, 4)) == [1] * 6


def test_a_run_may_overlap_itself():
    assert kept(forbid_repeated_ngrams(np.zeros(3), np.array([1, 1]), 2)) == [1, 0, 1]


@pytest.mark.parametrize("seq_len", [0, 1, 2])
def test_what_is_shorter_than_a_run_repeats_none(seq_len):
    np.testing.assert_array_equal(forbid_repeated_ngrams(LOGITS, np.ones((BATCH, seq_len), int), 3), LOGITS)


@pytest.mark.parametrize("ngram_size", [1, 2, 3, 5, 30])
@pytest.mark.parametrize("num_kinds", [2, 7, VOCAB_SIZE])
def test_runs_are_those_of_transformers(ngram_size, num_kinds):
    from transformers import NoRepeatNGramLogitsProcessor

    for seq_len in (1, 4, 29):
        token_ids = np.random.default_rng(seq_len).integers(0, num_kinds, (BATCH, seq_len))
        expected = processed(NoRepeatNGramLogitsProcessor(ngram_size), token_ids=token_ids)
        np.testing.assert_array_equal(forbid_repeated_ngrams(LOGITS, token_ids, ngram_size), expected)


@settings(deadline=None, derandomize=True, max_examples=25)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=40), st.integers(1, 4))
def test_with_a_kept_token_no_run_is_there_twice(tokens, ngram_size):
    runs = list(zip(*(tokens[place:] for place in range(ngram_size)), strict=False))
    for token_id, is_kept in enumerate(kept(forbid_repeated_ngrams(np.zeros(4), np.array(tokens), ngram_size))):
        run = (*tokens[len(tokens) + 1 - ngram_size :], token_id)
        assert is_kept == (len(run) < ngram_size or run not in runs)


@pytest.mark.parametrize("ngram_size", [0, -2])
def test_a_run_of_no_tokens_is_an_error(ngram_size):
    with pytest.raises(OptionError, match=f"(?s)got ngram_size={ngram_size}, expected at least 1.*leave it out"):
        forbid_repeated_ngrams(LOGITS, np.ones((BATCH, 4), int), ngram_size)


@pytest.mark.parametrize("token_id", [53, -1])
def test_a_run_of_tokens_that_are_not_there_is_an_error(token_id):
    with pytest.raises(OptionError, match=rf"got earlier token ids \[{token_id}\], expected 0 to 52"):
        forbid_repeated_ngrams(LOGITS[0], np.array([3, token_id]), 2)


# sampling


@pytest.mark.parametrize(("random", "token"), [(0.0, 0), (0.24, 0), (0.26, 1), (0.74, 1), (0.76, 2), (0.999999, 2)])
def test_a_draw_walks_through_the_probabilities(random, token):
    assert sample(logits_of(0.25, 0.5, 0.25), np.array(random)) == token


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_token_of_probability_zero_is_never_drawn(library):
    logits = np.array([-np.inf, 0.0, -np.inf, -200.0, 0.0, -np.inf], np.float32)
    random = np.append(np.linspace(0, 1, 997, endpoint=False), [0.5, np.nextafter(np.float32(1), np.float32(0))]).astype(np.float32)
    rows = np.broadcast_to(logits, (len(random), 6)).copy()
    drawn = to_numpy(sample(from_numpy(rows, library), from_numpy(random, library)))
    assert set(drawn.tolist()) == {1, 4}


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_draw_that_float32_rounds_up_to_one_is_the_last_token_that_is_possible(library):
    logits, draw = np.array([0.0, 0.0, -np.inf], np.float32), np.array(1 - 2**-53, np.float32)
    assert int(sample(from_numpy(logits, library), from_numpy(draw, library))) == 1


def test_draws_come_as_often_as_they_are_likely():
    probabilities, number = np.array([0.1, 0.2, 0.3, 0.4]), 20_011
    drawn = sample(np.broadcast_to(np.log(probabilities), (number, 4)), (np.arange(number) + 0.5) / number)
    np.testing.assert_allclose(np.bincount(drawn) / number, probabilities, atol=1e-4)  # evenly spread draws


def test_every_row_takes_its_own_draw():
    logits = np.broadcast_to(logits_of(0.5, 0.5), (2, 3, 2))
    random = np.array([[0.1, 0.9, 0.4], [0.6, 0.2, 0.7]])
    assert sample(logits, random).tolist() == [[0, 1, 0], [1, 0, 1]]


@settings(deadline=None, derandomize=True, max_examples=25)
@given(st.integers(0, 10_000), st.integers(1, 101))
def test_a_draw_is_always_a_token_that_is_kept(seed, vocab_size):
    random = np.random.default_rng(seed)
    logits = keep_top_p(8 * random.standard_normal((7, vocab_size)).astype(np.float32), 0.7)
    drawn = sample(logits, random.random(7))
    assert np.isfinite(np.take_along_axis(logits, drawn[:, None], axis=-1)).all()


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_same_draws_give_the_same_tokens_in_every_library(library):
    random = np.random.default_rng(3)
    logits, draws = 3 * random.standard_normal((997, 31)).astype(np.float32), random.random(997).astype(np.float32)
    expected = sample(logits, draws)
    assert to_numpy(sample(from_numpy(logits, library), from_numpy(draws, library))).tolist() == expected.tolist()


def test_one_token_left_is_drawn_whatever_the_number():
    logits = keep_top_k(np.array([1.0, 5.0, 2.0]), 1)
    assert {int(sample(logits, np.array(random))) for random in (0.0, 0.3, 1 - 2**-53)} == {1}


def test_samplers_can_stand_behind_each_other():
    came = keep_min_p(keep_top_p(keep_top_k(scale_by_temperature(LOGITS, math.sqrt(2)), 11), 0.9), 0.05)
    assert np.isfinite(came).any(axis=-1).all()
    assert (np.isfinite(came) <= np.isfinite(keep_top_k(LOGITS, 11))).all()


# sums over a large vocabulary

LARGE_VOCAB = 151_936
LARGE_LOGITS = np.random.default_rng(0).normal(size=LARGE_VOCAB).astype(np.float32)
LIBRARIES = {
    "numpy": np.asarray,
    "torch": lambda x: __import__("torch").from_numpy(x),
    "jax": lambda x: __import__("jax").numpy.asarray(x),
    "mlx": lambda x: __import__("mlx.core").core.array(x),
}


def probabilities_in_float64(logits):
    weights = np.exp(logits.astype(np.float64) - logits.max())
    return weights / weights.sum()


def num_kept(logits):
    return int(np.isfinite(np.asarray(logits)).sum())


@pytest.mark.parametrize("top_p", [0.5, 0.99, 0.999, 0.9999])
@pytest.mark.parametrize("library", LIBRARIES)
def test_top_p_keeps_as_many_of_a_large_vocabulary_as_in_float64(library, top_p):
    pytest.importorskip({"mlx": "mlx.core"}.get(library, library))
    descending = -np.sort(-probabilities_in_float64(LARGE_LOGITS))
    expected = int((np.cumsum(descending) - descending < top_p).sum())
    assert num_kept(keep_top_p(LIBRARIES[library](LARGE_LOGITS), top_p)) == expected


@pytest.mark.parametrize("typical_p", [0.5, 0.99, 0.999])
@pytest.mark.parametrize("library", LIBRARIES)
def test_typical_keeps_as_many_of_a_large_vocabulary_as_in_float64(library, typical_p):
    pytest.importorskip({"mlx": "mlx.core"}.get(library, library))
    probabilities = probabilities_in_float64(LARGE_LOGITS)
    information = -np.log(probabilities)
    mass = probabilities[np.argsort(abs(information - (probabilities * information).sum()))]
    expected = int((np.cumsum(mass) - mass < typical_p).sum())
    # The sums and exponentials of MLX in float32 change the entropy by 2e-4.
    tolerance = 20 if library == "mlx" else 1
    assert abs(num_kept(keep_typical(LIBRARIES[library](LARGE_LOGITS), typical_p)) - expected) <= tolerance


def test_top_p_of_a_large_vocabulary_is_the_same_inside_jax_jit():
    jax = pytest.importorskip("jax")
    logits = jax.numpy.asarray(LARGE_LOGITS)
    compiled = jax.jit(keep_top_p, static_argnums=1)
    assert num_kept(compiled(logits, 0.999)) == num_kept(keep_top_p(LARGE_LOGITS, 0.999))
