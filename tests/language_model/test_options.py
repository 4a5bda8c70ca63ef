"""Options of a call merged with the defaults of generation_config.json."""

from __future__ import annotations

import pytest

from headway.engine import GenerationOptions
from headway.errors import CheckpointError, OptionError, PromptError, UnsupportedError
from headway.language_model.options import merge_options, own_options, token_ids_of

MARIAN = {  # as published, Helsinki-NLP/opus-mt-en-de
    "bad_words_ids": [[58100]],
    "bos_token_id": 0,
    "decoder_start_token_id": 58100,
    "eos_token_id": 0,
    "forced_eos_token_id": 0,
    "max_length": 512,
    "num_beams": 6,
    "pad_token_id": 58100,
    "renormalize_logits": True,
    "transformers_version": "4.32.1",
}


def test_a_published_translators_own_options():
    own = own_options(MARIAN)
    assert own == {
        "suppress_tokens": [58100],
        "forced_eos_token_id": 0,
        "max_length": 512,
        "num_beams": 6,
        "renormalize_logits": True,
    }
    options = merge_options({}, own)
    assert options.for_prompt(1) == GenerationOptions(
        suppress_tokens=[58100], forced_eos_token_id=0, num_beams=6, renormalize_logits=True, max_new_tokens=511
    )


def test_without_anything_nothing_is_asked_for():
    options = merge_options({}, {})
    assert options.for_prompt(1) == GenerationOptions()


def test_what_a_call_says_goes_before_what_the_folder_says():
    options = merge_options({"num_beams": 2, "suppress_tokens": None, "max_new_tokens": 7}, own_options(MARIAN))
    assert (options.options.num_beams, options.options.suppress_tokens) == (2, None)
    assert options.for_prompt(1).max_new_tokens == 7
    unbounded = merge_options({"max_new_tokens": None}, own_options(MARIAN))
    assert unbounded.for_prompt(1).max_new_tokens is None


def test_a_call_that_samples_switches_the_folders_search_off():
    for asked in ({"temperature": 0.8}, {"top_k": 5}, {"top_p": 0.9}):
        options = merge_options(asked, own_options(MARIAN)).options
        assert options.num_beams == 1
        assert options.temperature > 0
    assert merge_options({"temperature": 0}, own_options(MARIAN)).options.num_beams == 6


def test_a_call_that_searches_switches_the_folders_sampling_off():
    own = own_options({"do_sample": True, "temperature": 0.7, "top_p": 0.9, "repetition_penalty": 1.2})
    assert merge_options({"num_beams": 3}, own).options == GenerationOptions(num_beams=3, repetition_penalty=1.2)
    assert merge_options({"num_beams": 1}, own).options == GenerationOptions(temperature=0.7, top_p=0.9, repetition_penalty=1.2)


def test_a_call_that_asks_for_both_is_told_so():
    with pytest.raises(OptionError, match="num_beams=3 and temperature=1.0 cannot be combined"):
        merge_options({"num_beams": 3, "top_k": 5}, {})


@pytest.mark.parametrize("option", [{"length_penalty": 2.0}, {"early_stopping": False}])
def test_what_only_a_search_reads_is_an_error_without_one(option):
    (name,) = option
    with pytest.raises(OptionError, match=f"got {name}=.* without a beam search, expected num_beams of at least 2"):
        merge_options(option, {})
    assert merge_options(option | {"num_beams": 1}, {}).options.num_beams == 1
    assert merge_options(option, own_options(MARIAN)).options.num_beams == 6


def test_more_of_the_best_than_beams():
    with pytest.raises(OptionError, match="got num_best=3, expected an integer from 1 to num_beams=1"):
        merge_options({"num_best": 3}, {})


def test_an_option_that_does_not_exist():
    with pytest.raises(OptionError, match="got option beams, topp, expected max_new_tokens, .*num_beams"):
        merge_options({"topp": 0.5, "beams": 3}, {})


def test_a_prompt_that_the_folders_length_has_no_room_for():
    options = merge_options({}, own_options({"max_length": 9}))
    assert options.for_prompt(8).max_new_tokens == 1
    with pytest.raises(
        PromptError, match="got a prompt of 9 tokens, expected at most 8 \\(max_length in the model's generation_config.json\\)"
    ):
        options.for_prompt(9)


@pytest.mark.parametrize(("key", "other"), [("max", 20), ("min", 3)])
def test_a_number_of_new_tokens_goes_before_a_length(key, other):
    own = own_options({f"{key}_length": 40, f"{key}_new_tokens": other})
    assert own == {f"{key}_new_tokens": other}


def test_the_length_that_stands_in_files_where_nobody_said_one_is_none():
    assert own_options({"max_length": 20}) == {}


def test_what_published_files_write_for_off_is_off():
    off = {
        "num_beam_groups": 1,
        "diversity_penalty": 0.0,
        "no_repeat_ngram_size": 0,
        "encoder_no_repeat_ngram_size": 0,
        "repetition_penalty": 1.0,
        "guidance_scale": None,
        "penalty_alpha": 0.0,
        "bad_words_ids": None,
        "suppress_tokens": [],
        "begin_suppress_tokens": [],
        "epsilon_cutoff": 0.1,  # where nothing is sampled
        "temperature": 0.6,
        "top_k": 50,
    }
    assert own_options(off) == {}


def test_an_end_token_among_the_bad_words_may_be_said():
    assert own_options({"bad_words_ids": [[3], [5]], "eos_token_id": [5, 7], "suppress_tokens": [9]}) == {"suppress_tokens": [9, 3]}


@pytest.mark.parametrize(
    "keys",
    [
        {"penalty_alpha": 0.6},
        {"guidance_scale": 1.5},
        {"num_beam_groups": 2},
        {"diversity_penalty": 0.5},
        {"encoder_no_repeat_ngram_size": 3},
        {"encoder_repetition_penalty": 1.5},
        {"begin_suppress_tokens": [3]},
        {"exponential_decay_length_penalty": [5, 1.1]},
        {"stop_strings": ["."]},
        {"bad_words_ids": [[3], [5, 7]]},
        {"do_sample": True, "num_beams": 4},
        {"do_sample": True, "epsilon_cutoff": 0.1},
    ],
)
def test_a_folder_that_asks_for_what_is_not_built(keys):
    with pytest.raises(UnsupportedError, match=rf"{list(keys)[-1]}.*expected supported keys and values"):
        own_options(keys)


@pytest.mark.parametrize(
    "keys",
    [
        {"num_beams": "many"},
        {"length_penalty": "long", "num_beams": 2},
        {"early_stopping": "soon"},
        {"no_repeat_ngram_size": -1},
        {"max_length": "long"},
        {"max_length": 0},
        {"max_new_tokens": 0},
        {"min_length": 2.5},
        {"suppress_tokens": ["x"]},
        {"bad_words_ids": [["x"]]},
        {"forced_eos_token_id": "</s>"},
        {"eos_token_id": "</s>"},
    ],
)
def test_a_value_out_of_its_range_is_the_folders_fault(keys):
    with pytest.raises(CheckpointError, match=r"generation_config\.json"):
        own_options(keys)


def test_token_ids_are_one_or_a_list_or_none():
    assert [token_ids_of({"x": value}, "x") for value in (3, [3, 5], None)] == [(3,), (3, 5), ()]
    with pytest.raises(CheckpointError, match="got generation_config.json with x=True, expected a token id or a list"):
        token_ids_of({"x": True}, "x")
