"""The compiled encoder against transformers and against itself: texts of any lengths, together and alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st
from platformdirs import user_cache_path

from headway.checkpoints import load_checkpoint
from headway.errors import HeadwayError, NotFiniteError, PromptError, TokenIdError, UnsupportedError
from headway.functions import normalize
from headway.kernels.cpu.compiled_encoder import CompiledEncoder, check_encoder_supported
from headway.language_model import load
from headway.language_model.encoders import compiled_encoder
from tests.kernels.cpu.packed_encoders import ENCODERS, KINDS, WIDE
from tests.kernels.cpu.packed_encoders import encoder as packed_encoder
from tests.kernels.cpu.packed_encoders import texts as packed_texts
from tests.kernels.cpu.packed_models import TOLERANCE, error
from tests.models.test_encoders import FAMILIES, LENGTHS, Family, Saved, save
from tests.small_encoders import save_bert

NAMES = ["bert", "roberta", "mpnet", "distilbert", "modernbert", "modernbert with biases, mean"]
ROUNDING = TOLERANCE | {"int8_rows": TOLERANCE["int8"]}
every_family = pytest.mark.parametrize("family", NAMES)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder of the module's own, in which code that was compiled before is found."""
    folder, compiled = tmp_path_factory.mktemp("cache"), user_cache_path("headway") / "compiled"
    compiled.mkdir(parents=True, exist_ok=True)
    (folder / "compiled").symlink_to(compiled)
    return folder


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory):
    kept: dict[str, Saved] = {}

    def get(family: str) -> Saved:
        if family not in kept:
            kept[family] = save(FAMILIES[family], "Model", tmp_path_factory.mktemp("encoder"))
        return kept[family]

    return get


@pytest.fixture(scope="module")
def encoder(saved, folder):
    kept: dict[Any, CompiledEncoder] = {}

    def get(family: str, kind: str = "float32", num_threads: int = 1) -> CompiledEncoder:
        key = family, kind, num_threads
        if key not in kept:
            path = saved(family).folder
            kept[key] = compiled_encoder(load_checkpoint(path), path, kind, num_threads=num_threads, folder=folder)
        return kept[key]

    return get


def rows(saved: Saved) -> list[list[int]]:
    return [row[:length].tolist() for row, length in zip(saved.token_ids, LENGTHS, strict=True)]


@every_family
@pytest.mark.parametrize(("kind", "tolerance"), [("float32", 1e-4), ("bfloat16", 0.1), ("int8", 0.1)])
def test_hidden_states_are_those_of_transformers(saved, encoder, family, kind, tolerance):
    saved = saved(family)
    result, expected = numpy.concatenate(encoder(family, kind).encode(rows(saved))), saved.real(saved.hidden)
    numpy.testing.assert_allclose(result, expected, atol=tolerance, rtol=0)
    cosines = (normalize(result) * normalize(expected)).sum(axis=-1)
    assert cosines.min() > {"float32": 0.999999, "bfloat16": 0.999, "int8": 0.999}[kind]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [*ENCODERS, *WIDE])
def test_hidden_states_are_those_of_the_definitions_with_the_packed_weights(runtime, name, kind):
    """The weights are the same, so the difference is the rounding of activations alone, in every kind."""
    tested, given = packed_encoder(name, kind, runtime), packed_texts(13, 1, 60)
    result, expected = numpy.concatenate(tested.compiled.encode(given)), numpy.concatenate([tested.encode(text) for text in given])
    assert error(result, expected) < ROUNDING[kind]
    assert (normalize(result) * normalize(expected)).sum(axis=-1).min() > (0.999999 if kind == "float32" else 0.999)


@pytest.mark.parametrize("kind", ["int4", "int8"])
def test_weights_in_few_bits_are_those_of_the_model(runtime, kind):
    """Against the unrounded weights: errors of packing itself would be in both sides of the comparison above."""
    exact, rounded = (packed_encoder("bert as wide as MiniLM", each, runtime, deviation=0.05) for each in ("float32", kind))
    one, other = (numpy.concatenate(each.compiled.encode(packed_texts(30, 7))) for each in (exact, rounded))
    assert (normalize(one) * normalize(other)).sum(axis=-1).min() > {"int4": 0.98, "int8": 0.9999}[kind]


texts = st.lists(st.lists(st.integers(4, 96), min_size=1, max_size=15), min_size=1, max_size=9)


@pytest.mark.parametrize("kind", ["float32", "int8"])
@pytest.mark.parametrize("family", ["bert", "mpnet", "modernbert"])
@settings(max_examples=25, deadline=None)
@given(texts=texts)
def test_texts_of_any_lengths_get_together_what_they_get_alone(encoder, family, kind, texts):
    own = encoder(family, kind)
    together = own.encode(texts)
    for text, hidden in zip(texts, together, strict=True):
        numpy.testing.assert_array_equal(own.encode([text])[0], hidden)
    numpy.testing.assert_array_equal(encoder(family, kind, 2).encode(texts[::-1])[0], together[-1])


@pytest.mark.parametrize("family", ["bert", "modernbert"])
def test_heads_of_whole_blocks_in_a_task_with_few_tokens_left(folder, tmp_path, family):
    """Heads of 32 numbers are not copied; of 125 tokens in a pass, the last task has 5; 3 tokens alone are another product."""
    keys = FAMILIES[family].keys | {"hidden_size": 64, "num_attention_heads": 2, "max_position_embeddings": 130}
    path = save(Family(FAMILIES[family].name, keys), "Model", tmp_path).folder
    checkpoint, rng = load_checkpoint(path), numpy.random.default_rng(0)
    long, short = (rng.integers(4, 97, size).tolist() for size in (122, 3))
    model = getattr(transformers, f"{FAMILIES[family].name}Model").from_pretrained(path, attn_implementation="eager").eval()
    with torch.no_grad():
        expected = model(torch.tensor([long])).last_hidden_state[0].numpy()
    for kind, tolerance in (("float32", 1e-4), ("int8", 0.15)):
        own = compiled_encoder(checkpoint, path, kind, num_threads=1, folder=folder)
        together = own.encode([long, short])
        numpy.testing.assert_allclose(together[0], expected, atol=tolerance, rtol=0)
        for text, hidden in zip((long, short), together, strict=True):
            numpy.testing.assert_array_equal(own.encode([text])[0], hidden)
        own.close()


@pytest.mark.parametrize("family", ["bert", "modernbert"])
def test_more_tokens_than_a_pass_holds_are_computed_in_several_passes(encoder, family, monkeypatch):
    own, texts = encoder(family), [[5, 6, 7 + index] for index in range(9)]
    expected = own.encode(texts)
    monkeypatch.setattr("headway.kernels.cpu.compiled_encoder.TOKENS_PER_PASS", 7)
    for one, other in zip(own.encode(texts), expected, strict=True):
        numpy.testing.assert_array_equal(one, other)


def test_token_types_are_read(saved, encoder):
    loaded, own = load_checkpoint(saved("bert").folder), encoder("bert")
    types = [0, 0, 1, 1]
    expected = loaded.architecture.encode(numpy.array([[5, 6, 7, 8]]), loaded.weights, loaded.config, token_types=numpy.array([types]))
    numpy.testing.assert_allclose(own.encode([[5, 6, 7, 8]], [types])[0], expected[0], atol=1e-4, rtol=0)


@pytest.mark.parametrize(
    ("texts", "types", "error", "message"),
    [
        ([[]], None, PromptError, "got a text of 0 tokens, expected 1 to 19"),
        ([[5] * 20], None, PromptError, "got a text of 20 tokens, expected 1 to 19"),
        ([[5, 97]], None, TokenIdError, "ids from 5 to 97 for 2 tokens, expected 0 to 96"),
        ([[-1]], None, TokenIdError, "ids from -1 to -1"),
        ([[5, 6]], [[0, 2]], TokenIdError, "ids from 0 to 2 for 2 tokens, expected 0 to 1"),
        ([[5, 6]], [[0]], TokenIdError, "got 1 ids from 0 to 0 for 2 tokens"),
    ],
)
def test_ids_outside_of_the_tables_are_refused(encoder, texts, types, error, message):
    with pytest.raises(error, match=message):
        encoder("bert").encode(texts, types)


def test_a_closed_encoder_cannot_be_called(saved, folder):
    path = saved("bert").folder
    own = compiled_encoder(load_checkpoint(path), path, "float32", num_threads=2, folder=folder)
    own.encode([[5]])
    own.close()
    own.close()
    with pytest.raises(HeadwayError, match="closed model"):
        own.encode([[5]])


def test_an_encoder_that_the_kernels_do_not_support_is_refused(saved):
    from dataclasses import replace

    loaded = load_checkpoint(saved("bert").folder)
    spec = loaded.architecture.spec(loaded.config)
    wider = replace(spec.layers[0], feed_forward=replace(spec.layers[0].feed_forward, intermediate_size=64))
    with pytest.raises(UnsupportedError, match="layers of different sizes"):
        check_encoder_supported(replace(spec, layers=(wider, *spec.layers[1:])))
    with pytest.raises(UnsupportedError, match="several kinds of norms"):
        check_encoder_supported(replace(spec, embedding_norm=replace(spec.embedding_norm, eps=0.5)))


def test_the_default_on_numpy_is_compiled_and_close_to_the_definitions(tmp_path):
    texts = ["paris is the capital of france .", "play ##ing", "the"]
    path = save_bert(tmp_path, "BertForSequenceClassification", num_labels=1)
    packed, exact = load(path), load(path, weights="none")
    assert isinstance(packed.embedder.encoder, CompiledEncoder)
    assert exact.embedder.encoder is None
    one, other = packed.embed(texts), exact.embed(texts)
    assert 0.999 < (one * other).sum(axis=-1).min() < 1
    scores = [[each.score for each in sorted(model.rerank("the", texts), key=lambda each: each.index)] for model in (packed, exact)]
    numpy.testing.assert_allclose(*scores, atol=0.02)
    packed.close()


@pytest.mark.parametrize("family", ["bert", "modernbert with biases, mean"])
def test_classes_equal_those_of_the_definitions(tmp_path, family):
    from headway.checkpoints.classification import ClassifierOptions
    from headway.language_model import Classifier
    from headway.tokenizers import byte_tokenizer

    saved = save(FAMILIES[family], "ForSequenceClassification", tmp_path)
    checkpoint = load_checkpoint(saved.folder)
    compiled = compiled_encoder(checkpoint, saved.folder, "float32", num_threads=1)
    one, other = (Classifier(checkpoint, byte_tokenizer(), ClassifierOptions({}), encoder=each) for each in (None, compiled))
    rows = [[5, 6, 7], [8] * 9]
    types = [[0] * len(row) for row in rows]
    numpy.testing.assert_allclose(one._batch(rows, types), other._batch(rows, types), atol=1e-4, rtol=0)


def test_weights_that_are_not_finite_are_named(saved, folder):
    path = saved("roberta").folder
    checkpoint = load_checkpoint(path)
    weight = checkpoint.weights.layers[0].attention.query.weight
    changed = numpy.array(weight)
    changed[0, 0] = numpy.nan
    object.__setattr__(checkpoint.weights.layers[0].attention.query, "weight", changed)
    with pytest.raises(NotFiniteError, match=r"layers\.0\.attention\.query\.weight"):
        compiled_encoder(checkpoint, path, "int4", num_threads=1, folder=folder)
