"""Text in, text out: streams, batches, beam searches, defaults; decoders and encoder–decoders."""

from __future__ import annotations

import numpy
import pytest
import tokenizers

from headway.checkpoints import Checkpoint
from headway.errors import CheckpointError, OptionError, PromptError, TokenIdError, UnsupportedError
from headway.language_model import LanguageModel
from headway.models import bert, gpt2, t5
from headway.tokenizers import byte_tokenizer
from headway.tokenizers.library import LibraryTokenizer
from tests.small_models import random_weights

CONFIG = gpt2.Config(vocab_size=257, n_positions=64, n_embd=12, n_layer=2, n_head=3)
END = 256
T5 = t5.Config(vocab_size=258, d_model=12, d_kv=5, d_ff=17, num_layers=2, num_heads=3)
START = 257
BOTH = pytest.mark.parametrize("kind", ["decoder", "encoder-decoder"])


def make_model(**generation_config) -> LanguageModel:
    return LanguageModel(Checkpoint(gpt2, CONFIG, random_weights(gpt2, CONFIG), generation_config), byte_tokenizer())


def make_answering_model(**generation_config) -> LanguageModel:
    keys = {"decoder_start_token_id": START, "eos_token_id": END} | generation_config
    return LanguageModel(Checkpoint(t5, T5, random_weights(t5, T5), keys), byte_tokenizer())


def model_of(kind, **generation_config) -> LanguageModel:
    return make_model(**generation_config) if kind == "decoder" else make_answering_model(**generation_config)


@pytest.fixture(scope="module")
def model() -> LanguageModel:
    return make_model()


@BOTH
def test_the_stream_joined_is_the_completion(kind):
    model = model_of(kind)
    pieces = list(model.stream("abc", max_new_tokens=30, temperature=1.0, seed=1))
    completion = model.generate("abc", max_new_tokens=30, temperature=1.0, seed=1)
    assert "".join(piece.text for piece in pieces) == completion.text == model.tokenizer.decode(completion.token_ids)
    assert pieces[-1].finish_reason == completion.finish_reason
    assert completion.num_prompt_tokens == 3
    assert (completion.score, completion.alternatives) == (None, [])


@BOTH
@pytest.mark.parametrize("options", [{"temperature": 0.7, "top_p": 0.9, "seed": 4}, {}], ids=["sampled", "greedy"])
def test_a_batch_gives_what_each_prompt_alone_gives(kind, options):
    model, prompts = model_of(kind), ["a", "abcdef", "Hello"]
    alone = [model.generate(prompt, max_new_tokens=20, **options) for prompt in prompts]
    assert model.generate(prompts, max_new_tokens=20, **options) == alone


def test_an_answer_does_not_continue_its_prompt():
    answering, continuing = make_answering_model(), make_model()
    assert (answering.continues_prompts, continuing.continues_prompts) == (False, True)
    read = [list(answering.stream(prompt, max_new_tokens=9)) for prompt in ("abcdefgh", "stuvwxyz")]
    assert [piece.token_id for piece in read[0]] != [piece.token_id for piece in read[1]]


@pytest.mark.parametrize(("kind", "text"), [("decoder", " house house"), ("encoder-decoder", "house house")])
def test_a_continuation_goes_on_behind_a_space_and_an_answer_begins_without(kind, text):
    backend = tokenizers.Tokenizer(tokenizers.models.WordLevel({"▁the": 0, "▁house": 1}, unk_token="▁the"))
    backend.decoder = tokenizers.decoders.Metaspace()
    model = model_of(kind)
    model.tokenizer = LibraryTokenizer(backend)
    assert model.generate([0, 0], max_new_tokens=2, logit_bias={1: 1000.0}).text == text


def test_the_decoder_begins_with_the_beginning_token_where_there_is_no_start_token():
    answers = [
        make_answering_model(**keys).generate("abc", max_new_tokens=9, num_log_probs=0).log_probs
        for keys in ({"decoder_start_token_id": 65}, {"decoder_start_token_id": None, "bos_token_id": 65}, {"bos_token_id": 65})
    ]
    assert answers[0] == answers[1] != answers[2]


def test_an_encoder_decoder_without_a_start_token():
    with pytest.raises(OptionError, match="got an encoder–decoder without decoder_start_token_id"):
        make_answering_model(decoder_start_token_id=None).generate("abc")


def test_a_model_that_only_reads_does_not_generate():
    config = bert.Config(
        vocab_size=257, hidden_size=6, num_hidden_layers=1, num_attention_heads=3, intermediate_size=11, max_position_embeddings=7
    )
    model = LanguageModel(Checkpoint(bert, config, random_weights(bert, config), {}), byte_tokenizer())
    with pytest.raises(UnsupportedError, match="got an encoder, which generates no text, expected a decoder or an encoder–decoder"):
        model.stream("abc")


@BOTH
def test_a_search_gives_its_best_and_the_next_best(kind):
    model = model_of(kind)
    completion = model.generate("abc", num_beams=4, num_best=3, max_new_tokens=9)
    found = [completion, *completion.alternatives]
    assert len(found) == len({tuple(each.token_ids) for each in found}) == 3
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)
    assert all(each.text == model.tokenizer.decode(each.token_ids) for each in found)
    assert all((each.num_prompt_tokens, each.finish_reason) == (3, "length") for each in found)
    assert not any(each.alternatives for each in completion.alternatives)


@BOTH
def test_a_stream_of_a_search_is_its_best(kind):
    options = {"num_beams": 3, "num_best": 2, "max_new_tokens": 9, "length_penalty": 0.5, "early_stopping": "never"}
    pieces, completion = list(model_of(kind).stream("abc", **options)), model_of(kind).generate("abc", **options)
    assert "".join(piece.text for piece in pieces) == completion.text
    assert (pieces[-1].score, pieces[-1].alternatives) == (completion.score, completion.alternatives)
    assert all(piece.score is None for piece in pieces[:-1])


@BOTH
def test_searches_together_find_what_each_alone_finds(kind):
    model, prompts = model_of(kind), ["a", "abcdef", "Hello"]
    together = model.generate(prompts, num_beams=3, num_best=2, max_new_tokens=9)
    for prompt, came in zip(prompts, together, strict=True):
        alone = model.generate(prompt, num_beams=3, num_best=2, max_new_tokens=9)
        for one, other in zip([came, *came.alternatives], [alone, *alone.alternatives], strict=True):
            assert (one.text, one.token_ids, one.finish_reason) == (other.text, other.token_ids, other.finish_reason)
            assert one.score == pytest.approx(other.score, abs=1e-5)


def test_a_stop_string_cuts_what_a_search_found(model):
    free = model.generate("abc", num_beams=3, num_best=3, max_new_tokens=20)
    stop = free.text[4:6]
    cut = model.generate("abc", num_beams=3, num_best=3, max_new_tokens=20, stop=stop)
    assert (cut.text, cut.finish_reason, cut.score) == (free.text[: free.text.index(stop)], "stop", free.score)
    assert [each.text for each in cut.alternatives] == [each.text.partition(stop)[0] for each in free.alternatives]


def test_the_folders_own_search_and_prohibitions_are_the_default():
    keys = {"num_beams": 3, "length_penalty": 0.5, "no_repeat_ngram_size": 2, "bad_words_ids": [[65]], "forced_eos_token_id": END}
    own, plain = make_answering_model(**keys), make_answering_model()
    by_hand = {
        "num_beams": 3,
        "length_penalty": 0.5,
        "no_repeat_ngram_size": 2,
        "suppress_tokens": [65],
        "forced_eos_token_id": END,
    }
    came = own.generate("abc", max_new_tokens=9)
    assert came == plain.generate("abc", max_new_tokens=9, **by_hand)
    assert came.token_ids[-1] == END
    assert came.score is not None
    off = dict.fromkeys(("no_repeat_ngram_size", "suppress_tokens", "forced_eos_token_id"))
    assert own.generate("abc", max_new_tokens=9, num_beams=1, **off) == plain.generate("abc", max_new_tokens=9)


@BOTH
def test_the_folders_own_length_bounds_what_is_added(kind):
    num_before = 3 if kind == "decoder" else 1
    for keys, number in (({"max_length": 9}, 9 - num_before), ({"max_new_tokens": 5, "max_length": 9}, 5)):
        assert len(model_of(kind, **keys).generate("abc").token_ids) == number
        assert len(model_of(kind, **keys).generate("abc", max_new_tokens=12).token_ids) == 12


@BOTH
def test_the_folders_own_least_length_makes_end_tokens_wait(kind):
    num_before = 3 if kind == "decoder" else 1
    own = model_of(kind, min_length=9, eos_token_id=END)
    wished = {"logit_bias": {END: 1000.0}, "max_new_tokens": 20}
    assert len(own.generate("abc", **wished).token_ids) == 9 - num_before + 1
    assert len(own.generate("abc", min_new_tokens=2, **wished).token_ids) == 3
    assert len(own.generate("abc", min_new_tokens=None, **wished).token_ids) == 1


def test_token_ids_are_a_prompt_too(model):
    assert model.generate(model.tokenizer.encode("abc"), max_new_tokens=9) == model.generate("abc", max_new_tokens=9)


def test_generation_stops_before_the_stop_string(model):
    free = model.generate("abc", max_new_tokens=30, temperature=1.0, seed=1).text
    stop = free[10:12]
    cut = model.generate("abc", max_new_tokens=30, temperature=1.0, seed=1, stop=stop)
    assert cut.text == free[: free.index(stop)]
    assert cut.finish_reason == "stop"


def test_an_end_token_is_no_text(model):
    completion = model.generate("abc", max_new_tokens=5, logit_bias={END: 1000.0}, ignore_end=False)
    assert (completion.text, completion.token_ids, completion.finish_reason) == ("", [END], "stop")


def test_end_tokens_can_be_passed_over(model):
    completion = model.generate("abc", max_new_tokens=5, logit_bias={END: 1000.0}, ignore_end=True)
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


def test_several_end_tokens_in_the_generation_config():
    assert make_model(eos_token_id=[3, 5]).end_token_ids == (3, 5)


def test_an_empty_prompt(model):
    with pytest.raises(PromptError, match="got an empty prompt"):
        model.generate("")


def test_a_prompt_longer_than_the_context(model):
    with pytest.raises(PromptError, match="got a prompt of 64 tokens, expected at most 63"):
        model.stream("a" * 64)


def test_a_token_id_out_of_range(model):
    with pytest.raises(TokenIdError, match="got token id 257"):
        model.generate([1, 257])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"topp": 0.5}, "got option topp, expected max_new_tokens"),
        ({"stop": ""}, "got stop='', expected a non-empty string"),
        ({"stop": [1]}, r"got stop=\[1\]"),
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
    with pytest.raises(PromptError, match="got a prompt with an element of type float, expected integers"):
        model.stream([1.5, 2.5])


def test_no_stop_is_none(model):
    assert model.generate("abc", max_new_tokens=5, stop=None) == model.generate("abc", max_new_tokens=5)


def test_a_chat_without_a_template(model):
    with pytest.raises(ValueError, match="chat template"):
        model.chat([{"role": "user", "content": "hello"}])


def test_weights_are_what_the_checkpoint_gave(model):
    numpy.testing.assert_array_equal(model.engine.weights.token_embedding, random_weights(gpt2, CONFIG).token_embedding)
