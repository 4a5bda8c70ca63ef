"""Beam search: tokens and scores equal those of transformers, and properties of the search itself."""

from __future__ import annotations

import numpy
import pytest

from headway.arrays import ARRAY_LIBRARIES
from headway.engine import GenerationOptions
from headway.engine.beam_search import BeamSearch
from headway.engine.sequence import Sequence
from headway.errors import NotFiniteError, OptionError
from tests.engine.oracles import FAMILIES, FILL, prompts
from tests.small_models import engine
from tests.small_models import request as make_request

SCORE = 1e-4
ENDS = (2, 5, 6, 11, 14, 17, 23, 29, 31, 37, 41, 43, 47, 59, 61, 65, 66, 67, 71, 74, 81)
"""End tokens, enough of them that a model with random weights generates one."""

SEARCHES = [
    {"num_beams": 2, "num_best": 2},
    {"num_beams": 4, "num_best": 3, "early_stopping": True},
    {"num_beams": 4, "num_best": 4, "length_penalty": 0.0},
    {"num_beams": 3, "num_best": 1, "length_penalty": 2.0, "early_stopping": "never"},
    {"num_beams": 5, "num_best": 5, "length_penalty": -1.0, "early_stopping": "never"},
    {"num_beams": 3, "num_best": 2, "no_repeat_ngram_size": 2},
    {"num_beams": 4, "num_best": 2, "length_penalty": 0.6, "no_repeat_ngram_size": 1, "early_stopping": True},
    {"num_beams": 3, "num_best": 3, "repetition_penalty": 1.4, "min_new_tokens": 4},
    {"num_beams": 3, "num_best": 3, "forced_eos_token_id": 5, "renormalize_logits": True, "no_repeat_ngram_size": 2},
]
every_family = pytest.mark.parametrize("name", FAMILIES)
every_search = pytest.mark.parametrize("search", SEARCHES, ids=str)


def request(prompt, search, *, ends=ENDS, max_new_tokens=11):
    return make_request(prompt, max_new_tokens, ends, suppress_tokens=[FILL], **search)


def found(model, requests):
    """The hypotheses of every request; the generation must yield the tokens of the best."""
    tokens = list(model.stream(requests))
    hypotheses = [
        next(list(token.hypotheses) for token in tokens if token.index == index and token.hypotheses) for index in range(len(requests))
    ]
    for index, (best, *_) in enumerate(hypotheses):
        own = [token for token in tokens if token.index == index]
        assert [token.token_id for token in own] == best.token_ids
        assert [token.finish_reason for token in own] == [None] * (len(own) - 1) + [best.finish_reason]
    return hypotheses


def by_transformers(oracle, prompt, search, *, ends=ENDS, max_new_tokens=11):
    options = {"num_return_sequences" if key == "num_best" else key: value for key, value in search.items()}
    return oracle.generate(prompt, eos_token_id=list(ends) or None, max_new_tokens=max_new_tokens, **options)


def assert_same(hypotheses, expected):
    rows, scores = expected
    assert [each.token_ids for each in hypotheses] == rows
    assert [each.score for each in hypotheses] == pytest.approx(scores, abs=SCORE)


@every_family
@every_search
def test_tokens_and_scores_are_those_of_transformers(oracle, name, search):
    model = oracle(name)
    for seed in range(3):
        given = prompts(7, 4, seed=seed)
        result = found(model.engine(), [request(prompt, search) for prompt in given])
        for prompt, hypotheses in zip(given, result, strict=True):
            assert_same(hypotheses, by_transformers(model, prompt, search))


@every_family
def test_some_of_these_hypotheses_end_early_and_some_at_the_length(oracle, name):
    result = [
        each
        for search in SEARCHES
        for hypotheses in found(oracle(name).engine(), [request(prompt, search) for prompt in prompts(7, 4)])
        for each in hypotheses
    ]
    assert {each.finish_reason for each in result} == {"stop", "length"}
    assert len({len(each.token_ids) for each in result}) > 3


@pytest.mark.parametrize(
    ("name", "array"),
    [
        pytest.param(name, array, marks=[pytest.mark.slow] if array == "jax" and name != "t5" else [])  # it compiles for every shape
        for name in FAMILIES
        for array in ARRAY_LIBRARIES
    ],
)
def test_every_library_finds_the_hypotheses_of_transformers(oracle, name, array):
    model, search = oracle(name), SEARCHES[3 if array == "jax" else 6]
    given = prompts(7, 4)
    result = found(model.engine(array), [request(prompt, search, max_new_tokens=6) for prompt in given])
    for prompt, hypotheses in zip(given, result, strict=True):
        assert_same(hypotheses, by_transformers(model, prompt, search, max_new_tokens=6))


@every_family
def test_a_batch_of_searches_and_samplers_gives_the_results_of_each_request_alone(oracle, name):
    model = oracle(name).engine()
    given = prompts(7, 4, 1, 5)
    requests = [request(prompt, search) for prompt, search in zip(given, [SEARCHES[1], SEARCHES[0], SEARCHES[2], SEARCHES[5]], strict=True)]
    requests.insert(2, make_request(given[0], 9, temperature=0.8, seed=3))
    tokens = list(model.stream(requests))
    for index, each in enumerate(requests):
        together, alone = [token for token in tokens if token.index == index], list(model.stream([each]))
        assert [token.token_id for token in together] == [token.token_id for token in alone]
        ours, theirs = together[-1].hypotheses, alone[-1].hypotheses
        assert [h.token_ids for h in ours] == [h.token_ids for h in theirs]
        assert [h.score for h in ours] == pytest.approx([h.score for h in theirs], abs=SCORE)


@every_family
def test_a_score_is_the_log_probability_of_the_tokens_in_one_pass_without_cache(oracle, name):
    model = oracle(name).engine()
    (prompt,) = prompts(6)
    for penalty in (0.0, 1.0, 1.5):
        plain = make_request(prompt, 9, ENDS, num_beams=3, num_best=3, length_penalty=penalty)
        for each in found(model, [plain])[0]:
            assert each.score == pytest.approx(log_prob(model, prompt, each.token_ids) / len(each.token_ids) ** penalty, abs=SCORE)


def log_prob(engine, prompt, token_ids):
    """Log-probability of the tokens in one pass without cache."""
    model = engine.runner.model
    begun = [model.decoder_start_token_id] if model.is_encoder_decoder else prompt
    read = (numpy.array([prompt]),) if model.is_encoder_decoder else ()
    logits = model.architecture.forward(*read, numpy.array([[*begun, *token_ids[:-1]]]), model.weights, model.config)
    logits = logits[0, len(begun) - 1 :].astype(numpy.float64)
    log_probs = logits - numpy.log(numpy.exp(logits).sum(axis=-1, keepdims=True))
    return log_probs[numpy.arange(len(token_ids)), token_ids].sum()


# The search alone, on a Markov chain: the next token depends on the last one only.

VOCAB, END = 5, 4
CHAIN = numpy.random.default_rng(3).standard_normal((VOCAB, VOCAB)).astype(numpy.float32) * 1.5


def search_chain(num_beams, *, max_new_tokens=4, ends=(END,), chain=CHAIN, **options):
    """The hypotheses of a search that starts after token 0."""
    search = new_search(make_request([0], max_new_tokens, ends, num_beams=num_beams, **options), max_new_tokens)
    while search.sequences:
        sampled = advance(search, chain)
    assert [token.token_id for token in sampled] == search.finished[0].token_ids
    return search.finished


def new_search(request, max_new_tokens):
    return BeamSearch(0, request, Sequence([0], 1), max_new_tokens)


def advance(search, chain):
    """Give every sequence the logits after its last token."""
    for sequence in search.sequences:
        sequence.logits = chain[sequence.token_ids[-1]]
    return search.advance()


def every_sentence(length):
    """Log-probabilities of all sequences of the chain."""
    log_probs = CHAIN - numpy.log(numpy.exp(CHAIN).sum(axis=-1, keepdims=True))
    going, over = {(): 0.0}, {}
    for _ in range(length):
        over |= {words: total for words, total in going.items() if words[-1:] == (END,)}
        going = {
            (*words, i): total + log_probs[words[-1] if words else 0, i]
            for words, total in going.items()
            if words[-1:] != (END,)
            for i in range(VOCAB)
        }
    return over | going


@pytest.mark.parametrize("penalty", [0.0, 1.0, 3.0])
def test_a_search_with_a_beam_per_sequence_finds_the_best_sequences(penalty):
    scores = {words: total / len(words) ** penalty for words, total in every_sentence(4).items()}
    result = search_chain(600, num_best=600, length_penalty=penalty, early_stopping="never")
    assert {tuple(each.token_ids) for each in result} == scores.keys()
    assert [each.score for each in result] == pytest.approx([scores[tuple(each.token_ids)] for each in result], abs=1e-5)
    assert [each.score for each in result] == sorted((each.score for each in result), reverse=True)


def test_a_search_finds_a_better_sequence_than_greedy_decoding():
    chain = numpy.full((VOCAB, VOCAB), -9.0, numpy.float32)
    chain[0, [1, 2]] = [1.0, 0.9]  # 1 looks better, and is followed by tokens that are all unlikely
    chain[1, :] = 0.0
    chain[2, 3] = 9.0
    greedy, wide = (search_chain(width, max_new_tokens=2, chain=chain)[0] for width in (1, 2))
    assert greedy.token_ids[0] == 1
    assert wide.token_ids == [2, 3]
    assert wide.score > greedy.score


def test_one_beam_that_stops_early_is_greedy_decoding():
    for start in range(20):
        chain = numpy.random.default_rng(start).standard_normal((VOCAB, VOCAB)).astype(numpy.float32)
        walk = [int(chain[0].argmax())]
        while walk[-1] != END and len(walk) < 6:
            walk.append(int(chain[walk[-1]].argmax()))
        assert search_chain(1, early_stopping=True, max_new_tokens=6, chain=chain)[0].token_ids == walk


def test_hypotheses_are_distinct_and_sorted_by_score():
    result = search_chain(6, num_best=6)
    assert len({tuple(each.token_ids) for each in result}) == 6
    assert [each.score for each in result] == sorted((each.score for each in result), reverse=True)


def num_passes(early_stopping, length_penalty):
    chain = numpy.random.default_rng(4).standard_normal((VOCAB, VOCAB)).astype(numpy.float32)
    options = {"num_beams": 3, "length_penalty": length_penalty, "early_stopping": early_stopping}
    search, number = new_search(make_request([0], 30, (END,), **options), 30), 0
    while search.sequences:
        advance(search, chain)
        number += 1
    return number


def test_early_stopping_ends_sooner_and_never_ends_later():
    assert [num_passes(rule, 1.0) for rule in (True, False, "never")] == [5, 8, 28]


def test_early_stopping_with_a_negative_length_penalty():
    assert [num_passes(rule, -0.5) for rule in (True, False, "never")] == [5, 6, 6]


def test_fewer_beams_continue_if_tokens_are_forbidden():
    search = new_search(make_request([0], 3, num_beams=4, suppress_tokens=[0, 1, 2]), 3)
    advance(search, CHAIN)
    assert sorted(sequence.token_ids[-1] for sequence in search.sequences) == [3, 4]
    advance(search, CHAIN)
    assert len(search.sequences) == 4


def test_more_beams_than_sequences_find_every_sequence():
    result = search_chain(50, num_best=50, max_new_tokens=2, suppress_tokens=[0, 1])
    assert {tuple(each.token_ids) for each in result} == {(END,), *((i, j) for i in (2, 3) for j in (2, 3, END))}


def test_equal_scores_are_ranked_by_token_id():
    result = search_chain(20, num_best=20, max_new_tokens=1, ends=(), chain=numpy.zeros((90, 90), numpy.float32))
    assert [each.token_ids for each in result] == [[token_id] for token_id in range(20)]


def test_a_search_ends_at_the_end_of_the_context():
    hypotheses = found(engine(), [make_request([3] * 25, num_beams=3, num_best=3)])[0]
    assert [len(each.token_ids) for each in hypotheses] == [4, 4, 4]  # of 29
    assert {each.finish_reason for each in hypotheses} == {"length"}


def test_a_finished_search_yields_no_more_tokens():
    generation = engine().stream([make_request([3, 5], 9, num_beams=3), make_request([7], 2)])
    seen = []
    for token in generation:
        seen.append(token.index)
        generation.finish(0)
    assert seen == [1, 1]


def test_a_search_finished_while_its_tokens_are_yielded_yields_no_more():
    generation = engine().stream([make_request([3, 5], 9, num_beams=3), make_request([7], 12)])
    seen = []
    for token in generation:
        seen.append(token.index)
        if seen.count(0) == 2:
            generation.finish(0)
    assert (seen.count(0), seen.count(1)) == (2, 12)


def test_a_request_without_a_search_has_no_hypotheses():
    assert not any(token.hypotheses for token in engine().stream([make_request([3, 5], 2)]))


def test_nan_among_the_logits_is_an_error():
    search = new_search(make_request([0], 3, num_beams=2), 3)
    with pytest.raises(NotFiniteError, match="got NaN among the logits, expected numbers"):
        advance(search, numpy.array([[1.0, numpy.nan]], numpy.float32))


def test_options_that_forbid_every_token():
    with pytest.raises(OptionError, match="got options that forbid every token, expected at least one"):
        search_chain(2, suppress_tokens=range(VOCAB))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"num_beams": 0}, "got num_beams=0, expected an integer from 1 to 1024"),
        ({"num_beams": 100_000}, "got num_beams=100000, expected an integer from 1 to 1024"),
        ({"num_beams": 2.0}, "got num_beams=2.0, expected an integer"),
        ({"num_beams": None}, "got num_beams=None, expected an integer"),
        ({"num_best": 2}, "got num_best=2, expected an integer from 1 to num_beams=1"),
        ({"num_beams": 4, "num_best": 0}, "got num_best=0, expected an integer from 1"),
        ({"num_beams": 4, "num_best": 5}, "got num_best=5, expected an integer from 1 to num_beams=4"),
        ({"length_penalty": "long"}, "got length_penalty='long', expected a number from -50 to 50"),
        ({"length_penalty": float("nan")}, "got length_penalty=nan, expected a number"),
        ({"early_stopping": "always"}, "got early_stopping='always', expected one of True, False, 'never'"),
        ({"early_stopping": 1}, "got early_stopping=1, expected one of True, False, 'never'"),
        ({"renormalize_logits": "yes"}, "got renormalize_logits='yes', expected True or False"),
    ],
)
def test_a_search_option_out_of_range(wrong, message):
    with pytest.raises(OptionError, match=message):
        GenerationOptions(**wrong)


def test_a_search_that_samples_is_an_error_with_both_remedies():
    with pytest.raises(OptionError, match="num_beams=2 and temperature=0.7 cannot be combined") as caught:
        GenerationOptions(num_beams=2, temperature=0.7)
    assert caught.value.hint == "set temperature=0 for a beam search, or num_beams=1 to sample"


def test_a_search_reports_no_log_probs():
    with pytest.raises(OptionError, match="num_beams=2 and num_log_probs=3 cannot be combined"):
        GenerationOptions(num_beams=2, num_log_probs=3)
