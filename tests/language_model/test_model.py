"""Text in, text out: streams, batches, beam searches, defaults; decoders and encoder–decoders."""

from __future__ import annotations

import gc
import inspect
import json
import weakref
from collections.abc import Iterator

import numpy
import pytest
import tokenizers

import headway
from headway.checkpoints import Checkpoint, resolve_model
from headway.errors import CheckpointError, ModelNotFoundError, OptionError, PromptError, TokenIdError, UnsupportedError
from headway.language_model import LanguageModel
from headway.models import bert, gpt2, t5
from headway.runners import ReferenceRunner
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
    chunks = list(model.stream("abc", max_new_tokens=30, temperature=1.0, seed=1))
    completion = model.generate("abc", max_new_tokens=30, temperature=1.0, seed=1)
    assert "".join(chunk.text for chunk in chunks) == completion.text == model.tokenizer.decode(completion.token_ids)
    assert chunks[-1].finish_reason == completion.finish_reason
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
    assert [chunk.token_id for chunk in read[0]] != [chunk.token_id for chunk in read[1]]


@pytest.mark.parametrize(("kind", "text"), [("decoder", " house house"), ("encoder-decoder", "house house")])
def test_a_continuation_keeps_its_first_space_and_an_answer_has_none(kind, text):
    backend = tokenizers.Tokenizer(tokenizers.models.WordLevel({"▁the": 0, "▁house": 1}, unk_token="▁the"))
    backend.decoder = tokenizers.decoders.Metaspace()
    model = model_of(kind)
    model.tokenizer = LibraryTokenizer(backend)
    assert model.generate([0, 0], max_new_tokens=2, logit_bias={1: 1000.0}).text == text


def test_bos_token_id_replaces_a_missing_decoder_start_token_id():
    answers = [
        make_answering_model(**keys).generate("abc", max_new_tokens=9, num_log_probs=0).log_probs
        for keys in ({"decoder_start_token_id": 65}, {"decoder_start_token_id": None, "bos_token_id": 65}, {"bos_token_id": 65})
    ]
    assert answers[0] == answers[1] != answers[2]


def test_an_encoder_decoder_without_a_start_token():
    with pytest.raises(OptionError, match="got an encoder–decoder without decoder_start_token_id"):
        make_answering_model(decoder_start_token_id=None).generate("abc")


def test_an_encoder_does_not_generate():
    config = bert.Config(
        vocab_size=257, hidden_size=6, num_hidden_layers=1, num_attention_heads=3, intermediate_size=11, max_position_embeddings=7
    )
    model = LanguageModel(Checkpoint(bert, config, random_weights(bert, config), {}), byte_tokenizer())
    with pytest.raises(UnsupportedError, match="got an encoder, which generates no text, expected a decoder or an encoder–decoder"):
        model.stream("abc")


@BOTH
def test_a_search_returns_the_best_text_and_alternatives(kind):
    model = model_of(kind)
    completion = model.generate("abc", num_beams=4, num_best=3, max_new_tokens=9)
    found = [completion, *completion.alternatives]
    assert len(found) == len({tuple(each.token_ids) for each in found}) == 3
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)
    assert all(each.text == model.tokenizer.decode(each.token_ids) for each in found)
    assert all((each.num_prompt_tokens, each.finish_reason) == (3, "length") for each in found)
    assert not any(each.alternatives for each in completion.alternatives)


@BOTH
def test_a_stream_of_a_search_is_its_best_text(kind):
    options = {"num_beams": 3, "num_best": 2, "max_new_tokens": 9, "length_penalty": 0.5, "early_stopping": "never"}
    chunks, completion = list(model_of(kind).stream("abc", **options)), model_of(kind).generate("abc", **options)
    assert "".join(chunk.text for chunk in chunks) == completion.text
    assert (chunks[-1].score, chunks[-1].alternatives) == (completion.score, completion.alternatives)
    assert all(chunk.score is None for chunk in chunks[:-1])


@BOTH
def test_a_batch_of_searches_gives_the_results_of_each_alone(kind):
    model, prompts = model_of(kind), ["a", "abcdef", "Hello"]
    together = model.generate(prompts, num_beams=3, num_best=2, max_new_tokens=9)
    for prompt, result in zip(prompts, together, strict=True):
        alone = model.generate(prompt, num_beams=3, num_best=2, max_new_tokens=9)
        for one, other in zip([result, *result.alternatives], [alone, *alone.alternatives], strict=True):
            assert (one.text, one.token_ids, one.finish_reason) == (other.text, other.token_ids, other.finish_reason)
            assert one.score == pytest.approx(other.score, abs=1e-5)


def test_a_stop_string_truncates_the_texts_of_a_search(model):
    free = model.generate("abc", num_beams=3, num_best=3, max_new_tokens=20)
    stop = free.text[4:6]
    cut = model.generate("abc", num_beams=3, num_best=3, max_new_tokens=20, stop=stop)
    assert (cut.text, cut.finish_reason, cut.score) == (free.text[: free.text.index(stop)], "stop", free.score)
    assert [each.text for each in cut.alternatives] == [each.text.partition(stop)[0] for each in free.alternatives]


def test_search_options_and_bad_words_of_generation_config_are_defaults():
    keys = {"num_beams": 3, "length_penalty": 0.5, "no_repeat_ngram_size": 2, "bad_words_ids": [[65]], "forced_eos_token_id": END}
    own, plain = make_answering_model(**keys), make_answering_model()
    by_hand = {
        "num_beams": 3,
        "length_penalty": 0.5,
        "no_repeat_ngram_size": 2,
        "suppress_tokens": [65],
        "forced_eos_token_id": END,
    }
    result = own.generate("abc", max_new_tokens=9)
    assert result == plain.generate("abc", max_new_tokens=9, **by_hand)
    assert result.token_ids[-1] == END
    assert result.score is not None
    off = dict.fromkeys(("no_repeat_ngram_size", "suppress_tokens", "forced_eos_token_id"))
    assert own.generate("abc", max_new_tokens=9, num_beams=1, **off) == plain.generate("abc", max_new_tokens=9)


@BOTH
def test_length_limits_of_generation_config_are_defaults(kind):
    num_before = 3 if kind == "decoder" else 1
    for keys, number in (({"max_length": 9}, 9 - num_before), ({"max_new_tokens": 5, "max_length": 9}, 5)):
        assert len(model_of(kind, **keys).generate("abc").token_ids) == number
        assert len(model_of(kind, **keys).generate("abc", max_new_tokens=12).token_ids) == 12


@BOTH
def test_min_length_of_generation_config_delays_end_tokens(kind):
    num_before = 3 if kind == "decoder" else 1
    own = model_of(kind, min_length=9, eos_token_id=END)
    wished = {"logit_bias": {END: 1000.0}, "max_new_tokens": 20}
    assert len(own.generate("abc", **wished).token_ids) == 9 - num_before + 1
    assert len(own.generate("abc", min_new_tokens=2, **wished).token_ids) == 3
    assert len(own.generate("abc", min_new_tokens=None, **wished).token_ids) == 1


def test_token_ids_are_a_prompt(model):
    assert model.generate(model.tokenizer.encode("abc"), max_new_tokens=9) == model.generate("abc", max_new_tokens=9)


def test_generation_stops_before_the_stop_string(model):
    free = model.generate("abc", max_new_tokens=30, temperature=1.0, seed=1).text
    stop = free[10:12]
    cut = model.generate("abc", max_new_tokens=30, temperature=1.0, seed=1, stop=stop)
    assert cut.text == free[: free.index(stop)]
    assert cut.finish_reason == "stop"


def test_an_end_token_adds_no_text(model):
    completion = model.generate("abc", max_new_tokens=5, logit_bias={END: 1000.0}, ignore_end=False)
    assert (completion.text, completion.token_ids, completion.finish_reason) == ("", [END], "stop")


def test_ignore_end_continues_after_end_tokens(model):
    completion = model.generate("abc", max_new_tokens=5, logit_bias={END: 1000.0}, ignore_end=True)
    assert (completion.token_ids, completion.finish_reason) == ([END] * 5, "length")


def test_log_probs_are_one_per_token(model):
    completion = model.generate("abc", max_new_tokens=6, num_log_probs=2)
    assert len(completion.log_probs) == len(completion.top_log_probs) == 6
    assert all(log_prob == max(top.values()) for log_prob, top in zip(completion.log_probs, completion.top_log_probs, strict=True))


def test_without_options_and_without_a_generation_config_decoding_is_greedy(model):
    assert model.generate("abc", max_new_tokens=9) == model.generate("abc", max_new_tokens=9, temperature=0)


def test_sampling_options_of_generation_config_are_defaults():
    own = make_model(do_sample=True, temperature=0.6, top_k=5)
    assert own.generate("abc", max_new_tokens=9, seed=2) == make_model().generate("abc", max_new_tokens=9, seed=2, temperature=0.6, top_k=5)


def test_a_sampler_without_a_temperature_samples_at_1(model):
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
def test_unknown_options_and_wrong_stop_strings(model, options, message):
    with pytest.raises(OptionError, match=message):
        model.generate("abc", **options)


def test_none_turns_off_an_option_of_generation_config():
    own = make_model(do_sample=True, temperature=0.6, top_k=1)
    wide = make_model().generate("abc", max_new_tokens=9, seed=2, temperature=0.6)
    assert own.generate("abc", max_new_tokens=9, seed=2, top_k=None) == wide
    assert own.generate("abc", max_new_tokens=9, seed=2) != wide


def test_values_that_mean_off_in_published_files():
    own = make_model(do_sample=True, top_k=-1, top_p=1.0, min_p=0.0, repetition_penalty=1.0, suppress_tokens=[], bad_words_ids=None)
    assert own.defaults == {"temperature": 1.0}


@pytest.mark.parametrize("keys", [{"temperature": "hot"}, {"top_p": [1]}, {"top_k": 2.5}, {"eos_token_id": "x"}])
def test_a_wrong_generation_config_is_a_checkpoint_error(keys):
    with pytest.raises(CheckpointError, match=r"generation_config\.json"):
        make_model(do_sample=True, **keys)


def test_numpy_integers_are_token_ids_and_floats_are_not(model):
    token_ids = model.tokenizer.encode("abc")
    assert model.generate(numpy.array(token_ids), max_new_tokens=5) == model.generate(token_ids, max_new_tokens=5)
    with pytest.raises(PromptError, match="got a prompt with an element of type float, expected integers"):
        model.stream([1.5, 2.5])


def test_stop_may_be_none(model):
    assert model.generate("abc", max_new_tokens=5, stop=None) == model.generate("abc", max_new_tokens=5)


def test_a_chat_without_a_template(model):
    with pytest.raises(ValueError, match="chat template"):
        model.chat([{"role": "user", "content": "hello"}])


def test_the_engine_has_the_weights_of_the_checkpoint(model):
    numpy.testing.assert_array_equal(model.model.weights.token_embedding, random_weights(gpt2, CONFIG).token_embedding)


@pytest.mark.parametrize(
    "prompt",
    [
        *(None, 5, 1.5, [1.0], [True], [None], b"x", bytearray(b"x"), memoryview(b"x"), {5: 1}, {5}, object(), [3, "a"], ["a", 3], [[1.0]]),
        *([b"x"], numpy.array([1.5]), numpy.array([True]), numpy.array(5), numpy.array(["a", 3], object)),
    ],
    ids=lambda prompt: type(prompt).__name__,
)
def test_a_prompt_of_another_type(model, prompt):
    with pytest.raises(PromptError, match="got a prompt .*expected"):
        model.generate(prompt, max_new_tokens=2)
    with pytest.raises(PromptError, match="got a prompt .*expected"):
        list(model.stream(prompt, max_new_tokens=2))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint64"])
def test_integer_arrays_are_token_ids(model, dtype):
    expected = model.generate([5, 7, 11], max_new_tokens=4)
    assert model.generate(numpy.array([5, 7, 11], dtype), max_new_tokens=4) == expected
    assert model.generate(list(numpy.array([5, 7, 11], dtype)), max_new_tokens=4) == expected
    assert model.generate([numpy.array([5, 7, 11], dtype)], max_new_tokens=4) == [expected]
    assert model.generate(numpy.array([[5, 7, 11]] * 2, dtype), max_new_tokens=4) == [expected] * 2
    assert model.generate([(5, 7, 11)], max_new_tokens=4) == [expected]


@pytest.mark.parametrize(
    "options",
    [
        {"logit_bias": {5: 1e308}},
        {"presence_penalty": 1e308},
        {"frequency_penalty": -1e308},
        {"repetition_penalty": 1e-300},
        {"temperature": 1, "top_p": 1e-50},
        {"temperature": 1, "typical_p": 1e-50},
        {"temperature": 1e308},
        {"stop": 5},
        {"stop": b"x"},
        {"num_beams": 100_000},
        {"max_new_tokens": 10**30},
        {"ignore_end": "no"},
        {"temperature": numpy.array([1.0, 2.0])},
        {"num_beams": numpy.array([1, 2])},
    ],
    ids=str,
)
def test_an_option_that_would_overflow_or_has_another_type(model, options):
    with pytest.raises(OptionError, match=f"got {list(options)[-1]}=.*, expected"):
        model.generate("abc", **{"max_new_tokens": 2} | options)


@pytest.mark.parametrize(
    "options",
    [
        {"logit_bias": {5: 1000.0, 6: -1000.0}},
        {"presence_penalty": 100.0, "frequency_penalty": -100.0},
        {"repetition_penalty": 0.01},
        {"repetition_penalty": 100.0},
        {"temperature": 1e6},
        {"temperature": 1e-6},
        {"temperature": 1, "top_p": 1e-6},
        {"temperature": 1, "typical_p": 1e-6},
        {"temperature": 1, "min_p": 1e-6},
        {"temperature": 1, "top_k": 10**30},
        {"num_log_probs": 10**30},
        {"no_repeat_ngram_size": 10**30},
        {"seed": 10**30, "temperature": 1},
    ],
    ids=str,
)
def test_values_at_the_bounds_generate(model, options):
    assert len(model.generate("abc", max_new_tokens=9, ignore_end=True, **options).token_ids) == 9


class Decoder:
    """A decoder that records whether it is open."""

    def __init__(self) -> None:
        self.num_closed = 0

    def close(self) -> None:
        self.num_closed += 1

    max_rows, page_size, page_bytes, window, adapters = 512, 128, 1 << 20, None, ()

    def allocate(self, num_pages):
        pass

    def run(self, batch):
        assert not self.num_closed
        return numpy.zeros((sum(rows.num_wanted for rows in batch), 257), numpy.float32)

    def hidden_states(self, token_ids):
        assert not self.num_closed
        return numpy.ones((len(token_ids), 12), numpy.float32)


def model_with_decoder() -> tuple[LanguageModel, Decoder]:
    decoder = Decoder()
    return LanguageModel(Checkpoint(gpt2, CONFIG, random_weights(gpt2, CONFIG), {}), byte_tokenizer(), decoder=decoder), decoder


def test_closing_a_model_closes_its_decoder_once():
    model, decoder = model_with_decoder()
    with model:
        assert model.generate("abc", max_new_tokens=3).token_ids == [0, 0, 0]
        model.embed(["a"])
        assert not model.is_closed
    model.close()
    assert (model.is_closed, decoder.num_closed) == (True, 1)


def test_closing_a_model_frees_its_weights():
    weights = random_weights(gpt2, CONFIG)
    embedding = weakref.ref(weights.token_embedding)
    model = LanguageModel(Checkpoint(gpt2, CONFIG, weights, {}), byte_tokenizer())
    del weights
    model.embed(["a"])
    model.close()
    assert embedding() is None


@pytest.mark.parametrize(
    "call",
    [
        lambda model: model.generate("abc"),
        lambda model: model.stream("abc"),
        lambda model: model.embed(["abc"]),
        lambda model: model.fill_mask("abc"),
        lambda model: model.embedder,
    ],
)
def test_a_closed_model_cannot_be_used(call):
    model = make_model()
    model.close()
    with pytest.raises(OptionError, match="got a closed model, expected an open one"):
        call(model)


def test_a_model_that_is_no_longer_used_closes_its_decoder():
    model, decoder = model_with_decoder()
    del model
    gc.collect()
    assert decoder.num_closed == 1


@pytest.mark.parametrize(
    "keep", [lambda model: model.stream("abc", max_new_tokens=9), lambda model: model.embedder], ids=["stream", "embedder"]
)
def test_a_stream_and_an_embedder_keep_the_decoder_open(keep):
    model, decoder = model_with_decoder()
    kept = keep(model)
    del model
    gc.collect()
    assert decoder.num_closed == 0
    assert len(list(kept)) == 9 if isinstance(kept, Iterator) else kept.embed(["abc"]).shape == (1, 12)
    del kept
    gc.collect()
    assert decoder.num_closed == 1


def test_unsupported_sentence_transformers_files_do_not_prevent_generation(tmp_path):
    for path in resolve_model("stories").iterdir():
        (tmp_path / path.name).symlink_to(path)
    modules = [{"type": f"sentence_transformers.models.{name}", "path": path} for name, path in (("Transformer", ""), ("Pooling", "1"))]
    (tmp_path / "modules.json").write_text(json.dumps(modules))
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / "config.json").write_text(json.dumps({"pooling_mode": "weightedmean"}))
    model = headway.load(tmp_path, weights="none")
    assert model.generate("Once", max_new_tokens=2).num_prompt_tokens > 0
    with pytest.raises(UnsupportedError, match="weightedmean"):
        model.embed(["Once"])


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b", "/" + "x" * 300, None, 5, b"x", []])
def test_a_name_that_no_model_can_have(name):
    with pytest.raises(ModelNotFoundError, match="neither a folder nor a file|expected the name"):
        headway.load(name)


@pytest.mark.parametrize("number", [1.5, 0, -1, "2", True])
def test_a_wrong_number_of_threads(number):
    with pytest.raises(OptionError, match=f"got num_threads={number!r}, expected an integer from 1 to 1024"):
        headway.load("stories", num_threads=number)


def test_deprecated_names_still_work():
    with pytest.warns(DeprecationWarning, match=r"headway\.Piece is deprecated, use headway\.Chunk"):
        assert headway.Piece is headway.Chunk
    with pytest.warns(DeprecationWarning, match='weights="plain" is deprecated'):
        model = headway.load("stories", weights="plain")
    assert isinstance(model.engine.runner, ReferenceRunner)
    with pytest.warns(DeprecationWarning, match=r"load\(tell=…\) is deprecated, use progress=…"):
        headway.load("stories", weights="none", tell=lambda *_: None)


def test_the_keywords_of_generate_stream_and_chat_are_the_options():
    for method in (LanguageModel.generate, LanguageModel.stream, LanguageModel.chat):
        (generation,) = [each for each in inspect.signature(method).parameters.values() if each.kind is each.VAR_KEYWORD]
        assert generation.annotation == "Unpack[GenerationOptionsDict]"


@pytest.mark.slow
def test_a_type_checker_knows_the_keywords(tmp_path):
    (tmp_path / "caller.py").write_text(
        'import headway\nmodel = headway.load()\nmodel.generate("a", top_k=5)\nmodel.stream("a", stop=["b"], num_beams=None)\n'
        'model.generate("a", top_k="5")\nmodel.chat([], topk=5)\nreveal_type(model.generate(["a"]))\nreveal_type(model.generate("a"))\n'
    )
    # Of other packages, numpy only: the rest has no part in the signatures, and takes a minute.
    (tmp_path / "mypy.ini").write_text(
        "[mypy]\nfollow_imports = skip\nignore_missing_imports = true\n[mypy-headway.*,numpy.*]\nfollow_imports = silent\n"
    )
    api = pytest.importorskip("mypy.api", reason="no type checker; run: pip install mypy")
    report, _, _ = api.run([str(tmp_path / "caller.py"), f"--cache-dir={tmp_path}", f"--config-file={tmp_path / 'mypy.ini'}"])
    found = {
        number: line for line in report.splitlines() for number in range(1, 9) if f"caller.py:{number}: " in line and "Possible" not in line
    }
    assert not {1, 2, 3, 4} & set(found)
    assert "error: No overload variant" in report
    assert 'error: Unexpected keyword argument "topk" for "chat"' in report
    assert ["Completion" in found[7], "list[" in found[7], "list[" in found[8]] == [True, True, False]
