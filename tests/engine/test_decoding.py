"""Penalties and constraints on logits: order and results are those of transformers."""

from __future__ import annotations

import pytest

from headway.engine import GenerationOptions
from headway.errors import OptionError
from tests.engine.oracles import FAMILIES, FILL, prompts
from tests.small_models import engine, request

ENDS = (2, 5, 6, 11, 14, 17, 18, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 62, 65, 66, 67, 71, 74, 77, 81, 88)
every_family = pytest.mark.parametrize("name", FAMILIES)
every_option = pytest.mark.parametrize(
    "options",
    [
        {"no_repeat_ngram_size": 1},
        {"no_repeat_ngram_size": 2},
        {"no_repeat_ngram_size": 3},
        {"suppress_tokens": [6, 18, 33, 62, 88, FILL]},
        {"repetition_penalty": 1.3},
        {"forced_eos_token_id": 5},
        {"forced_bos_token_id": 44},
        {"no_repeat_ngram_size": 2, "repetition_penalty": 1.2, "forced_bos_token_id": 7, "forced_eos_token_id": 2},
    ],
    ids=str,
)


def run(model, prompt, max_new_tokens=11, ends=(), min_new_tokens=None, **options):
    options = {"suppress_tokens": [FILL]} | options
    return [token.token_id for token in model.stream([request(prompt, max_new_tokens, ends, min_new_tokens=min_new_tokens, **options)])]


@every_family
@every_option
def test_greedy_tokens_under_an_option_are_those_of_transformers(oracle, name, options):
    model = oracle(name)
    for prompt in prompts(9, 1, 4):
        (expected,), _ = model.generate(prompt, max_new_tokens=11, eos_token_id=None, **options)
        assert run(model.engine(), prompt, **options) == expected


@every_family
@pytest.mark.parametrize("number", [1, 3, 8])
def test_min_new_tokens_delays_end_tokens_as_in_transformers(oracle, name, number):
    model = oracle(name)
    for prompt in prompts(6, 3):
        (expected,), _ = model.generate(prompt, max_new_tokens=9, min_new_tokens=number, eos_token_id=list(ENDS))
        result = run(model.engine(), prompt, 9, ENDS, number)
        assert result == expected
        assert len(result) >= number
        assert not set(result[: number - 1]) & set(ENDS)


@every_family
def test_without_min_new_tokens_the_same_requests_end_early(oracle, name):
    model = oracle(name)
    assert min(len(run(model.engine(), prompt, 9, ENDS)) for prompt in prompts(6, 3, 9, 2)) < 3


def test_no_repeat_ngram_size_includes_the_prompt():
    model = engine()
    first, second = run_small(model, [5, 7], 2)
    assert run_small(model, [5, 7, first, second, 5, 7], 1, no_repeat_ngram_size=3)[0] != first


def test_presence_and_frequency_penalties_ignore_the_prompt_and_repetition_penalty_includes_it():
    model, prompt = engine(), [5, 7]
    (first,) = run_small(model, prompt, 1)
    (again,) = run_small(model, [first, *prompt], 1)
    behind = [again, first, *prompt]
    (plain,) = run_small(model, behind, 1)
    assert run_small(model, behind, 1, presence_penalty=100.0, frequency_penalty=100.0) == [plain]
    assert run_small(model, [plain, *behind], 1, repetition_penalty=100.0)[0] not in {plain, *behind}


def run_small(model, prompt, number, **options):
    return [token.token_id for token in model.stream([request(prompt, number, **options)])]


def test_forced_bos_token_id_has_no_effect_after_a_longer_prompt():
    model = engine()
    assert run_small(model, [5], 1, forced_bos_token_id=9) == [9]
    assert run_small(model, [5, 6], 3, forced_bos_token_id=9) == run_small(model, [5, 6], 3)


def test_suppressed_tokens_are_never_sampled():
    tokens = run_small(engine(), [5], 28, suppress_tokens=range(30), temperature=5.0, seed=1)
    assert set(tokens) <= set(range(30, 37))
    assert len(set(tokens)) > 3


def test_options_that_forbid_every_token():
    with pytest.raises(OptionError, match="got options that forbid every token, expected at least one"):
        run_small(engine(), [5], 1, suppress_tokens=range(37))


@pytest.mark.parametrize(
    "wrong",
    [
        {"no_repeat_ngram_size": 0},
        {"no_repeat_ngram_size": 1.5},
        {"suppress_tokens": [1.5]},
        {"suppress_tokens": "abc"},
        {"suppress_tokens": 3},
        {"forced_bos_token_id": -1},
        {"forced_eos_token_id": "</s>"},
    ],
)
def test_an_option_out_of_range(wrong):
    (name,) = wrong
    with pytest.raises(OptionError, match=f"got {name}=.*, expected "):
        GenerationOptions(**wrong)


def test_min_new_tokens_out_of_range():
    with pytest.raises(OptionError, match="got min_new_tokens=-1, expected an integer of at least 0"):
        GenerationOptions(min_new_tokens=-1)
