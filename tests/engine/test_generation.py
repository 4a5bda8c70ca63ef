"""Batches: encoder–decoders, requests that end, and which rows each pass computes."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy
import pytest

from headway.arrays import ARRAY_LIBRARIES
from headway.engine import GenerationOptions, Request, limits
from headway.errors import OptionError, PromptError, ResourceError, TokenIdError
from tests.engine.oracles import FILL, prompts
from tests.small_models import engine, engine_of, request

SAMPLING = GenerationOptions(temperature=0.9, top_k=30, top_p=0.95, repetition_penalty=1.1, presence_penalty=0.2, seed=3)
TWO_VOCABULARIES = "marian with two vocabularies, exact gelu, not scaled"
every_encoder_decoder = pytest.mark.parametrize("name", ["t5", "marian"])


def run(model, given, sampling=GenerationOptions(), **options):  # noqa: B008
    rows = {}
    for token in model.stream([Request(prompt, replace(sampling, **options)) for prompt in given]):
        rows.setdefault(token.index, []).append(token.token_id)
    return [rows[index] for index in range(len(given))]


@pytest.mark.parametrize("name", ["t5", "t5 gated, not scaled", "mt5", "marian", TWO_VOCABULARIES])
def test_greedy_answers_are_those_of_transformers(oracle, name):
    model = oracle(name)
    for prompt in prompts(7, 1, 13):
        expected, _ = (
            model.generate(prompt, max_new_tokens=9, eos_token_id=None) if name != TWO_VOCABULARIES else answers_in_91(model, prompt)
        )
        options = GenerationOptions(suppress_tokens=[FILL]) if name != TWO_VOCABULARIES else GenerationOptions()
        assert run(model.engine(), [prompt], max_new_tokens=9, sampling=options) == expected


def answers_in_91(model, prompt):
    """Greedy answers of the model whose target vocabulary lacks FILL, padded with token 90."""
    return model.generate(prompt, max_new_tokens=9, eos_token_id=None, pad_token_id=90, suppress_tokens=None)


@every_encoder_decoder
@pytest.mark.parametrize("sampling", [GenerationOptions(), SAMPLING], ids=["greedy", "sampled"])
def test_prompts_of_different_lengths_together_are_answered_as_each_alone(oracle, name, sampling):
    model, given = oracle(name).engine(), prompts(7, 1, 12, 4)
    together = run(model, given, max_new_tokens=10, sampling=sampling)
    assert together == [run(model, [prompt], max_new_tokens=10, sampling=sampling)[0] for prompt in given]


@every_encoder_decoder
@pytest.mark.slow  # JAX compiles
def test_the_same_seed_gives_the_same_tokens_on_all_array_libraries(oracle, name):
    given = prompts(7, 4)
    results = {array: run(oracle(name).engine(array), given, max_new_tokens=8, sampling=SAMPLING) for array in ARRAY_LIBRARIES}
    assert all(result == results["numpy"] for result in results.values()), results


@every_encoder_decoder
def test_penalties_ignore_the_prompt_of_an_encoder_decoder(oracle, name):
    model, prompt = oracle(name).engine(), list(range(30, 90))
    (plain,) = run(model, [prompt], max_new_tokens=1)
    assert set(plain) < set(prompt)
    for option in ({"repetition_penalty": 100.0}, {"no_repeat_ngram_size": 1}):
        assert run(model, [prompt], max_new_tokens=1, sampling=GenerationOptions(**option)) == [plain]


@every_encoder_decoder
def test_log_probs_are_those_of_one_pass_without_cache(oracle, name):
    model, (prompt,) = oracle(name).engine(), prompts(9)
    tokens = list(model.stream([request(prompt, 6, temperature=1.0, seed=2, num_log_probs=0)]))
    token_ids = [token.token_id for token in tokens]
    runnable = model.runner.model
    logits = runnable.architecture.forward(
        numpy.array([prompt]), numpy.array([[runnable.decoder_start_token_id, *token_ids[:-1]]]), runnable.weights, runnable.config
    )[0].astype(numpy.float64)
    log_probs = logits - numpy.log(numpy.exp(logits).sum(axis=-1, keepdims=True))
    assert [token.log_prob for token in tokens] == pytest.approx(log_probs[numpy.arange(6), token_ids], abs=1e-4)


@every_encoder_decoder
def test_the_encoder_runs_once(oracle, name):
    model, calls = watched(oracle(name).engine())
    list(model.stream([request(prompt, 5, num_beams=width) for prompt, width in zip(prompts(7, 4), (3, 1), strict=True)]))
    assert calls["read"] == [(2, 7)]
    assert calls["hidden_states"] == [(2, 1)] + [(4, 1)] * 4


def test_a_prompt_is_computed_once_for_all_beams():
    model, calls = watched(engine())
    list(model.stream([request([3, 5, 7], 4, num_beams=5)]))
    assert calls["hidden_states"] == [(1, 3), (5, 1), (5, 1), (5, 1)]


def test_finished_rows_are_not_computed():
    model, calls = watched(engine())
    generation = model.stream([request([3, 5], 2), request([7], 5), request([11, 13, 17], 9)])
    for token in generation:
        if len(calls["hidden_states"]) == 6:
            generation.finish(token.index)
    assert calls["hidden_states"] == [(3, 3), (3, 1), (2, 1), (2, 1), (2, 1), (1, 1)]


def watched(engine):
    """The engine with an architecture that records the shapes of its inputs."""
    calls = {"read": [], "hidden_states": []}

    def noting(name):
        def call(token_ids, *rest, **options):
            calls[name].append(tuple(token_ids.shape))
            return getattr(model.architecture, name)(token_ids, *rest, **options)

        return call

    model = engine.runner.model
    names = {name: getattr(model.architecture, name) for name in dir(model.architecture)}
    architecture = SimpleNamespace(**names | {name: noting(name) for name in calls if name in names})
    return engine_of(replace(model, architecture=architecture)), calls


@pytest.mark.parametrize("array", ["numpy", pytest.param("jax", marks=pytest.mark.slow)])
def test_finished_requests_do_not_change_the_others(array):
    model, given = engine(array=array), [[5, 7, 11], [2, 3, 5, 7, 11, 13, 17], [31], [3, 1]]
    lengths = [2, 9, 5, 9]
    generation = model.stream([request(prompt, length) for prompt, length in zip(given, lengths, strict=True)])
    rows = {}
    for token in generation:
        rows.setdefault(token.index, []).append(token.token_id)
    assert [rows[index] for index in range(4)] == [
        run(model, [prompt], max_new_tokens=length)[0] for prompt, length in zip(given, lengths, strict=True)
    ]


def test_an_answer_ends_at_the_length_that_positions_allow(oracle):
    model, given = oracle("marian").engine(), prompts(64, 5)
    assert [len(row) for row in run(model, given)] == [63, 63]  # after the start token


def test_an_answer_without_limits_ends_at_the_default_limit(oracle, monkeypatch):
    monkeypatch.setattr(limits, "DEFAULT_MAX_NEW_TOKENS", 7)
    assert len(run(oracle("t5").engine(), prompts(9))[0]) == 7
    assert len(run(oracle("t5").engine(), prompts(9), max_new_tokens=8)[0]) == 8


def test_a_prompt_longer_than_the_encoder_has_positions(oracle):
    with pytest.raises(PromptError, match="got a prompt of 65 tokens, expected at most 64"):
        oracle("marian").engine().stream([Request(prompts(65)[0])])


def test_an_encoder_decoder_without_a_start_token(oracle):
    model = oracle("t5").engine()
    model = engine_of(replace(model.runner.model, decoder_start_token_id=None))
    with pytest.raises(OptionError, match="got an encoder–decoder without decoder_start_token_id, expected the first token"):
        model.stream([Request([3])])


def test_source_and_target_vocabularies_are_checked_separately(oracle):
    model = oracle(TWO_VOCABULARIES).engine()  # 97 and 91
    assert len(run(model, [[96]], max_new_tokens=2)[0]) == 2
    with pytest.raises(TokenIdError, match="got token id 97 in the prompt, expected 0 to 96"):
        model.stream([Request([97])])
    with pytest.raises(TokenIdError, match="got token id 91 in suppress_tokens, expected 0 to 90"):
        model.stream([request([96], suppress_tokens=[3, 91])])
    with pytest.raises(TokenIdError, match="got token id 95 as forced_bos_token_id, expected 0 to 90"):
        model.stream([request([96], forced_bos_token_id=95)])


def test_a_kv_cache_that_does_not_fit_in_memory(oracle, monkeypatch):
    model = oracle("t5").engine()

    def fail(*_):
        raise MemoryError

    monkeypatch.setattr(model.runner.model.architecture, "new_kv_cache", fail)
    with pytest.raises(ResourceError, match="got a KV cache of 1 x 10,000,001 tokens, which does not fit in memory"):
        next(iter(model.stream([request([3], 10_000_000)])))
