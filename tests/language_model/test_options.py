"""Options of a call merged with the defaults of generation_config.json."""

from __future__ import annotations

from contextlib import suppress

import pytest

from headway.engine import GenerationOptions
from headway.engine.options import options
from headway.errors import CheckpointError, HeadwayError, OptionError, PromptError, UnsupportedError
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


def test_options_of_a_published_translation_model():
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


def test_without_options_the_defaults_apply():
    options = merge_options({}, {})
    assert options.for_prompt(1) == GenerationOptions()


def test_options_of_a_call_override_those_of_the_folder():
    options = merge_options({"num_beams": 2, "suppress_tokens": None, "max_new_tokens": 7}, own_options(MARIAN))
    assert (options.options.num_beams, options.options.suppress_tokens) == (2, None)
    assert options.for_prompt(1).max_new_tokens == 7
    unbounded = merge_options({"max_new_tokens": None}, own_options(MARIAN))
    assert unbounded.for_prompt(1).max_new_tokens is None


def test_a_call_that_samples_turns_off_the_folders_search():
    for asked in ({"temperature": 0.8}, {"top_k": 5}, {"top_p": 0.9}):
        options = merge_options(asked, own_options(MARIAN)).options
        assert options.num_beams == 1
        assert options.temperature > 0
    assert merge_options({"temperature": 0}, own_options(MARIAN)).options.num_beams == 6


def test_a_call_with_beams_turns_off_the_folders_sampling():
    own = own_options({"do_sample": True, "temperature": 0.7, "top_p": 0.9, "repetition_penalty": 1.2})
    assert merge_options({"num_beams": 3}, own).options == GenerationOptions(num_beams=3, repetition_penalty=1.2)
    assert merge_options({"num_beams": 1}, own).options == GenerationOptions(temperature=0.7, top_p=0.9, repetition_penalty=1.2)


def test_a_call_cannot_combine_beams_and_sampling():
    with pytest.raises(OptionError, match="num_beams=3 and temperature=1.0 cannot be combined"):
        merge_options({"num_beams": 3, "top_k": 5}, {})


@pytest.mark.parametrize("option", [{"length_penalty": 2.0}, {"early_stopping": False}])
def test_search_options_without_a_search_are_an_error(option):
    (name,) = option
    with pytest.raises(OptionError, match=f"got {name}=.* without a beam search, expected num_beams of at least 2"):
        merge_options(option, {})
    assert merge_options(option | {"num_beams": 1}, {}).options.num_beams == 1
    assert merge_options(option, own_options(MARIAN)).options.num_beams == 6


def test_num_best_above_num_beams():
    with pytest.raises(OptionError, match="got num_best=3, expected an integer from 1 to num_beams=1"):
        merge_options({"num_best": 3}, {})


def test_an_unknown_option():
    with pytest.raises(OptionError, match="got option beams, topp, expected max_new_tokens, .*num_beams"):
        merge_options({"topp": 0.5, "beams": 3}, {})


def test_a_prompt_as_long_as_max_length():
    options = merge_options({}, own_options({"max_length": 9}))
    assert options.for_prompt(8).max_new_tokens == 1
    with pytest.raises(
        PromptError, match="got a prompt of 9 tokens, expected at most 8 \\(max_length in the model's generation_config.json\\)"
    ):
        options.for_prompt(9)


@pytest.mark.parametrize(("key", "other"), [("max", 20), ("min", 3)])
def test_max_new_tokens_overrides_max_length_in_the_same_file(key, other):
    own = own_options({f"{key}_length": 40, f"{key}_new_tokens": other})
    assert own == {f"{key}_new_tokens": other}


def test_max_length_20_means_not_set():
    assert own_options({"max_length": 20}) == {}


def test_values_that_mean_off_in_published_files():
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


def test_an_end_token_among_the_bad_words_is_not_suppressed():
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
def test_unsupported_keys_of_generation_config(keys):
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
def test_a_value_out_of_range_is_a_checkpoint_error(keys):
    with pytest.raises(CheckpointError, match=r"generation_config\.json"):
        own_options(keys)


def test_token_ids_are_one_or_a_list_or_none():
    assert [token_ids_of({"x": value}, "x") for value in (3, [3, 5], None)] == [(3,), (3, 5), ()]
    with pytest.raises(CheckpointError, match="got generation_config.json with x=True, expected a token id or a list"):
        token_ids_of({"x": True}, "x")


WRONG = [
    True,
    False,
    0,
    -1,
    1.5,
    10**30,
    1e308,
    float("nan"),
    float("inf"),
    "x",
    "",
    [],
    {},
    [None],
    [[]],
    [["x"]],
    [[1, "x"]],
    {"a": 1},
    [1.5],
    "never",
]
KEYS = [*options(), "max_length", "min_length", "do_sample", "bad_words_ids", "eos_token_id", "bos_token_id", "decoder_start_token_id"]
KEYS += ["penalty_alpha", "num_beam_groups", "begin_suppress_tokens", "forced_decoder_ids", "stop_strings", "epsilon_cutoff"]


@pytest.mark.parametrize("do_sample", [False, True])
@pytest.mark.parametrize("key", KEYS)
def test_no_value_of_any_key_raises_anything_but_headway_errors(key, do_sample):
    for value in WRONG:
        with suppress(HeadwayError):
            own = own_options({"do_sample": do_sample, key: value})
            merge_options({}, own).for_prompt(3)
            token_ids_of({key: value}, key)


@pytest.mark.parametrize(("key", "value"), [("bad_words_ids", 5), ("bad_words_ids", [5]), ("bad_words_ids", [[]]), ("num_beams", 100_000)])
def test_a_wrong_value_is_named_with_the_file(key, value):
    with pytest.raises(CheckpointError, match=f"{key}=.*expected") as caught:
        own_options({key: value})
    assert "generation_config.json" in str(caught.value)
