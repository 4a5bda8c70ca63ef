"""Text in, text out: streams, stop strings, characters, batches, defaults."""

from __future__ import annotations

import numpy
import pytest

from headway.checkpoints import Checkpoint
from headway.engine import SampledToken
from headway.errors import CheckpointError, OptionError, PromptError, TokenIdError, UnsupportedError
from headway.language_model import LanguageModel, TextStream
from headway.models import gpt2
from headway.tokenizers import byte_tokenizer
from tests.small_models import random_weights

CONFIG = gpt2.Config(vocab_size=257, n_positions=64, n_embd=12, n_layer=2, n_head=3)
END = 256


def make_model(**generation_config) -> LanguageModel:
    return LanguageModel(Checkpoint(gpt2, CONFIG, random_weights(gpt2, CONFIG), generation_config), byte_tokenizer())


@pytest.fixture(scope="module")
def model() -> LanguageModel:
    return make_model()


def stream_text(text: str, stops: list[str], finish: str | None = "length") -> tuple[list[str], str | None]:
    """Text pieces when a model says these bytes one by one."""
    tokenizer = byte_tokenizer()
    token_ids = tokenizer.encode(text)
    stream, pieces = TextStream(tokenizer, tokenizer.encode("x"), stops, {END}), []
    for place, token_id in enumerate(token_ids):
        piece = stream.add(SampledToken(0, token_id, finish if place == len(token_ids) - 1 else None))  # type: ignore[arg-type]
        pieces.append(piece.text)
        if piece.finish_reason:
            return pieces, piece.finish_reason
    return pieces, None


def test_the_stream_joined_is_the_completion(model):
    pieces = list(model.stream("abc", max_new_tokens=30, temperature=1.0, seed=1))
    completion = model.generate("abc", max_new_tokens=30, temperature=1.0, seed=1)
    assert "".join(piece.text for piece in pieces) == completion.text == model.tokenizer.decode(completion.token_ids)
    assert pieces[-1].finish_reason == completion.finish_reason
    assert completion.num_prompt_tokens == 3


def test_a_batch_gives_what_each_prompt_alone_gives(model):
    prompts = ["a", "abcdef", "Hello"]
    options = {"max_new_tokens": 20, "temperature": 0.7, "top_p": 0.9, "seed": 4}
    assert model.generate(prompts, **options) == [model.generate(prompt, **options) for prompt in prompts]


def test_token_ids_are_a_prompt_too(model):
    assert model.generate(model.tokenizer.encode("abc"), max_new_tokens=9) == model.generate("abc", max_new_tokens=9)


def test_a_stop_string_is_cut_off_and_nothing_of_it_is_shown():
    pieces, reason = stream_text("one two END three", ["END"])
    assert "".join(pieces) == "one two "
    assert reason == "stop"


def test_the_beginning_of_a_stop_string_that_does_not_come_is_shown_in_the_end():
    pieces, reason = stream_text("one EN", ["END"])
    assert "".join(pieces) == "one EN"
    assert reason == "length"


def test_of_several_stop_strings_the_one_that_begins_first_cuts():
    assert "".join(stream_text("abcd", ["cd", "bc"])[0]) == "a"


def test_a_character_of_several_tokens_comes_in_one_piece():
    pieces, _ = stream_text("né 猫 🦊!", [])
    assert "".join(pieces) == "né 猫 🦊!"
    assert {piece for piece in pieces if piece} == set("né 猫🦊!")


def test_generation_stops_before_the_stop_string(model):
    free = model.generate("abc", max_new_tokens=30, temperature=1.0, seed=1).text
    stop = free[10:12]
    cut = model.generate("abc", max_new_tokens=30, temperature=1.0, seed=1, stop=stop)
    assert cut.text == free[: free.index(stop)]
    assert cut.finish_reason == "stop"


def test_an_end_token_is_no_text(model):
    completion = model.generate("abc", max_new_tokens=5, logit_bias={END: 1e4}, ignore_end=False)
    assert (completion.text, completion.token_ids, completion.finish_reason) == ("", [END], "stop")


def test_end_tokens_can_be_passed_over(model):
    completion = model.generate("abc", max_new_tokens=5, logit_bias={END: 1e4}, ignore_end=True)
    assert (completion.token_ids, completion.finish_reason) == ([END] * 5, "length")


def test_log_probs_are_one_per_token(model):
    completion = model.generate("abc", max_new_tokens=6, num_log_probs=2)
    assert len(completion.log_probs) == len(completion.top_log_probs) == 6
    assert all(log_prob == max(top.values()) for log_prob, top in zip(completion.log_probs, completion.top_log_probs, strict=True))


def test_without_options_and_without_a_generation_config_decoding_is_greedy(model):
    assert model.generate("abc", max_new_tokens=9) == model.generate("abc", max_new_tokens=9, temperature=0)


def test_the_folders_own_sampling_is_the_default():
    own = make_model(do_sample=True, temperature=0.6, top_k=5)
    assert own.generate("abc", max_new_tokens=9, seed=2) == make_model().generate("abc", max_new_tokens=9, seed=2, temperature=0.6, top_k=5)


def test_a_sampler_asked_for_without_a_temperature_samples_at_1(model):
    assert model.generate("abc", max_new_tokens=9, top_k=50, seed=2) == model.generate(
        "abc", max_new_tokens=9, top_k=50, temperature=1.0, seed=2
    )


def test_a_generation_config_that_asks_for_what_is_not_built():
    with pytest.raises(UnsupportedError, match=r"num_beams.*not built here"):
        make_model(num_beams=4)


def test_several_end_tokens_in_the_generation_config():
    assert make_model(eos_token_id=[3, 5]).end_token_ids == (3, 5)


def test_an_empty_prompt(model):
    with pytest.raises(PromptError, match="came: an empty prompt"):
        model.generate("")


def test_a_prompt_longer_than_the_context(model):
    with pytest.raises(PromptError, match="came: a prompt of 64 tokens; expected: at most 63"):
        model.stream("a" * 64)


def test_a_token_id_out_of_range(model):
    with pytest.raises(TokenIdError, match="came: token id 257"):
        model.generate([1, 257])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"topp": 0.5}, "came: option topp; expected: max_new_tokens"),
        ({"stop": ""}, "came: stop=''; expected: a string"),
        ({"stop": [1]}, "came: stop="),
    ],
)
def test_options_that_do_not_exist(model, options, message):
    with pytest.raises(OptionError, match=message):
        model.generate("abc", **options)


def test_none_switches_off_what_the_folder_switches_on():
    own = make_model(do_sample=True, temperature=0.6, top_k=1)
    wide = make_model().generate("abc", max_new_tokens=9, seed=2, temperature=0.6)
    assert own.generate("abc", max_new_tokens=9, seed=2, top_k=None) == wide
    assert own.generate("abc", max_new_tokens=9, seed=2) != wide


def test_what_published_files_write_for_off_is_off():
    own = make_model(do_sample=True, top_k=-1, top_p=1.0, min_p=0.0, repetition_penalty=1.0, suppress_tokens=[], bad_words_ids=None)
    assert own.defaults == {"temperature": 1.0}


@pytest.mark.parametrize("keys", [{"temperature": "hot"}, {"top_p": [1]}, {"top_k": 2.5}, {"eos_token_id": "x"}])
def test_a_generation_config_that_is_wrong_is_the_checkpoints_fault(keys):
    with pytest.raises(CheckpointError, match=r"generation_config\.json"):
        make_model(do_sample=True, **keys)


def test_numpy_numbers_are_token_ids_and_other_things_are_not(model):
    token_ids = model.tokenizer.encode("abc")
    assert model.generate(numpy.array(token_ids), max_new_tokens=5) == model.generate(token_ids, max_new_tokens=5)
    with pytest.raises(PromptError, match="came: a prompt of float; expected: a text, or whole numbers"):
        model.stream([1.5, 2.5])


def test_no_stop_is_none(model):
    assert model.generate("abc", max_new_tokens=5, stop=None) == model.generate("abc", max_new_tokens=5)


def test_a_chat_without_a_template(model):
    with pytest.raises(ValueError, match="chat template"):
        model.chat([{"role": "user", "content": "hello"}])


def test_weights_are_what_the_checkpoint_gave(model):
    numpy.testing.assert_array_equal(model.engine.weights.token_embedding, random_weights(gpt2, CONFIG).token_embedding)
