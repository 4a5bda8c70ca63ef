"""Requests alone and in batches, on every array library."""

from __future__ import annotations

from dataclasses import replace

import numpy
import pytest

from headway.arrays import ARRAY_LIBRARIES
from headway.engine import GenerationOptions, Request
from headway.errors import NotFiniteError, OptionError, PromptError, TokenIdError
from headway.models import gpt2, llama, past
from tests.small_models import GPT2, LLAMA, engine, random_weights, request

PROMPTS = [[5, 7, 11], [2, 3, 5, 7, 11, 13, 17], [31]]
SAMPLING = GenerationOptions(
    temperature=0.9, top_k=20, top_p=0.95, min_p=0.01, typical_p=0.98, repetition_penalty=1.1, presence_penalty=0.2, seed=3
)
both_architectures = pytest.mark.parametrize(("architecture", "config"), [(gpt2, GPT2), (llama, LLAMA)], ids=["gpt2", "llama"])


def tokens_of(generation) -> dict[int, list[int]]:
    rows: dict[int, list[int]] = {}
    for token in generation:
        rows.setdefault(token.index, []).append(token.token_id)
    return rows


def run(engine, prompts, sampling=GenerationOptions(), **options) -> dict[int, list[int]]:  # noqa: B008
    return tokens_of(engine.stream([Request(prompt, replace(sampling, **options)) for prompt in prompts]))


@both_architectures
@pytest.mark.parametrize("sampling", [GenerationOptions(), SAMPLING], ids=["greedy", "sampled"])
def test_a_batch_gives_what_each_prompt_alone_gives(architecture, config, sampling):
    model = engine(architecture, config)
    together = run(model, PROMPTS, max_new_tokens=12, sampling=sampling)
    alone = [run(model, [prompt], max_new_tokens=12, sampling=sampling)[0] for prompt in PROMPTS]
    assert [together[index] for index in range(3)] == alone


@both_architectures
def test_greedy_decoding_takes_the_largest_logit_of_a_pass_without_cache(architecture, config):
    model = engine(architecture, config)
    token_ids = list(PROMPTS[1])
    for _ in range(12):
        logits = architecture.forward(numpy.array([token_ids]), model.runner.model.weights, config)
        token_ids.append(int(logits[0, -1].argmax()))
    assert run(model, [PROMPTS[1]], max_new_tokens=12)[0] == token_ids[7:]


@both_architectures
@pytest.mark.slow  # JAX compiles
def test_the_same_seed_gives_the_same_tokens_on_all_array_libraries(architecture, config):
    results = {array: run(engine(architecture, config, array), PROMPTS, max_new_tokens=15, sampling=SAMPLING) for array in ARRAY_LIBRARIES}
    assert all(result == results["numpy"] for result in results.values()), results


def test_another_seed_gives_other_tokens():
    first, second = (
        run(engine(), [PROMPTS[0]], max_new_tokens=20, sampling=GenerationOptions(temperature=2.0, seed=seed)) for seed in (1, 2)
    )
    assert first != second


def test_prefill_in_chunks_equals_one_pass(monkeypatch):
    whole = run(engine(), PROMPTS, max_new_tokens=6)
    monkeypatch.setattr(past, "PREFILL_CHUNK", 2)
    assert run(engine(), PROMPTS, max_new_tokens=6) == whole


def test_an_end_token_ends_its_own_request_only():
    model = engine()
    free = run(model, PROMPTS, max_new_tokens=8)
    end = free[0][2]
    requests = [request(PROMPTS[0], 8, (end,)), request(PROMPTS[1], 8)]
    tokens = list(model.stream(requests))
    first = [token for token in tokens if token.index == 0]
    assert first[-1].token_id == end
    assert first[-1].finish_reason == "stop"
    assert [token.token_id for token in tokens if token.index == 1] == free[1]


def test_a_request_ends_at_max_new_tokens_with_the_reason_length():
    tokens = list(engine().stream([request(PROMPTS[0], 4)]))
    assert [token.finish_reason for token in tokens] == [None, None, None, "length"]


@pytest.mark.parametrize("max_new_tokens", [None, 1000])
def test_a_request_ends_at_the_end_of_the_context(max_new_tokens):
    tokens = list(engine().stream([request(PROMPTS[1], max_new_tokens)]))
    assert len(tokens) == GPT2.n_positions - len(PROMPTS[1])
    assert tokens[-1].finish_reason == "length"


def test_a_finished_request_yields_no_more_tokens():
    generation = engine().stream([request(PROMPTS[0], 9), request(PROMPTS[1], 9)])
    seen = []
    for token in generation:
        seen.append(token.index)
        if seen.count(0) == 2:
            generation.finish(0)
    assert (seen.count(0), seen.count(1)) == (2, 9)


@both_architectures
def test_a_row_at_the_end_of_the_context_does_not_stop_a_shorter_one(architecture, config):
    model = engine(architecture, config)
    prompts = [[3], [5] * 20]
    together = run(model, prompts)
    assert [len(together[index]) for index in range(2)] == [28, 9]
    assert [together[index] for index in range(2)] == [run(model, [prompt])[0] for prompt in prompts]


def test_nan_among_the_logits_is_an_error():
    model = engine()
    model.runner.model.weights.norm.weight[0] = numpy.nan
    with pytest.raises(NotFiniteError, match="got NaN among the logits, expected numbers"):
        next(iter(model.stream([request([1], 1)])))


def test_a_logit_bias_for_a_token_id_out_of_range():
    with pytest.raises(TokenIdError, match="got token id 37 in logit_bias, expected 0 to 36"):
        engine().stream([request([1], logit_bias={37: 1.0})])


def test_log_probs_do_not_depend_on_the_samplers():
    model = engine()
    token = next(iter(model.stream([request(PROMPTS[0], 1, temperature=0.5, top_k=3, seed=1, num_log_probs=4)])))
    logits = gpt2.forward(numpy.array([PROMPTS[0]]), model.runner.model.weights, GPT2)[0, -1].astype(numpy.float64)
    expected = logits - numpy.log(numpy.exp(logits).sum())
    assert token.log_prob == pytest.approx(expected[token.token_id], abs=1e-5)
    best = numpy.argsort(-expected)[:4]
    assert token.top_log_probs == pytest.approx({int(i): expected[i] for i in best}, abs=1e-5)


def test_log_probs_are_none_without_num_log_probs():
    token = next(iter(engine().stream([request(PROMPTS[0], 1)])))
    assert token.log_prob is None
    assert not token.top_log_probs


def test_a_logit_bias_forces_a_token():
    assert run(engine(), [PROMPTS[0]], max_new_tokens=3, sampling=GenerationOptions(logit_bias={23: 1000.0}))[0] == [23, 23, 23]


def test_a_frequency_penalty_prevents_repetition():
    forced = {"logit_bias": {23: 50.0}, "frequency_penalty": 100.0}
    assert run(engine(), [PROMPTS[0]], max_new_tokens=5, sampling=GenerationOptions(**forced))[0].count(23) == 1


def test_a_repetition_penalty_counts_the_prompt():
    model = engine()
    first = run(model, [PROMPTS[0]], max_new_tokens=1)[0][0]
    prompt = [first, *PROMPTS[0]]
    again = run(model, [prompt], max_new_tokens=1)[0][0]
    penalized = run(model, [[again, *prompt]], max_new_tokens=1, sampling=GenerationOptions(repetition_penalty=100.0))[0][0]
    assert penalized not in {again, *prompt}


def test_an_empty_prompt():
    with pytest.raises(PromptError, match="got an empty prompt, expected at least one token"):
        engine().stream([Request([])])


def test_a_prompt_longer_than_the_context():
    with pytest.raises(PromptError, match="got a prompt of 40 tokens, expected at most 28"):
        engine().stream([Request([1] * 40)])


def test_a_prompt_that_leaves_no_room_for_a_new_token():
    with pytest.raises(PromptError, match="got a prompt of 29 tokens, expected at most 28"):
        engine().stream([Request([1] * 29)])
    assert len(list(engine().stream([Request([1] * 28)]))) == 1


@pytest.mark.parametrize("array", ARRAY_LIBRARIES)
@pytest.mark.parametrize("token_id", [37, -1])
def test_a_token_id_out_of_range(array, token_id):
    with pytest.raises(TokenIdError, match=f"got token id {token_id} in the prompt, expected 0 to 36"):
        engine(array=array).stream([Request([1, token_id])])


@pytest.mark.parametrize(
    "wrong",
    [
        {"temperature": -0.1},
        {"temperature": float("nan")},
        {"temperature": float("inf")},
        {"top_p": 0.0},
        {"top_p": 1.5},
        {"min_p": -1.0},
        {"typical_p": 2.0},
        {"top_k": 0},
        {"repetition_penalty": 0.0},
        {"seed": -1},
        {"num_log_probs": -1},
        {"temperature": "hot"},
        {"temperature": 1e-40},
        {"top_k": 2.5},
        {"seed": True},
        {"presence_penalty": float("nan")},
        {"logit_bias": {"5": 1.0}},
        {"logit_bias": {5: float("nan")}},
    ],
)
def test_a_sampling_option_out_of_range(wrong):
    (name,) = wrong
    with pytest.raises(OptionError, match=f"got {name}=.*, expected "):
        GenerationOptions(**wrong)


def test_max_new_tokens_out_of_range():
    with pytest.raises(OptionError, match="got max_new_tokens=0, expected an integer from 1 to"):
        request([1], 0)


def test_random_weights_are_the_same_each_time():
    numpy.testing.assert_array_equal(random_weights(gpt2, GPT2).token_embedding, random_weights(gpt2, GPT2).token_embedding)
