"""Classes and reranking: against sentence-transformers' CrossEncoder and transformers' pipeline, and relations of any model."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.errors import CheckpointError, NotFiniteError, OptionError, PromptError, UnsupportedError
from headway.functions import linear
from headway.language_model import load
from headway.language_model.classifier import _linear_on_one_thread
from headway.tokenizers import byte_tokenizer, load_tokenizer
from tests.small_encoders import VOCAB, save_bert

QUERY = "the capital of france"
TEXTS = ["paris is the capital of france .", "play ##ing", "the", "( a capital )", "find : paris", "of of of of of of the " * 3, "is the"]
PAIRS = [(QUERY, text) for text in TEXTS]


def save_classifier(folder: Path, num_labels: int = 3, **keys: Any) -> Path:
    names = {index: f"class {index}" for index in range(num_labels)}
    return save_bert(folder, "BertForSequenceClassification", id2label=names, label2id={name: i for i, name in names.items()}, **keys)


@pytest.fixture(scope="module")
def reranker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_classifier(tmp_path_factory.mktemp("reranker"), 1)


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_classifier(tmp_path_factory.mktemp("classifier"))


@pytest.mark.parametrize("activation", [None, "torch.nn.modules.linear.Identity", "torch.nn.modules.activation.Sigmoid"])
@pytest.mark.parametrize("form", ["version 6", "version 4", "version 2"])
def test_scores_and_order_are_those_of_a_cross_encoder(reranker, tmp_path, form, activation):
    library = pytest.importorskip("sentence_transformers", reason="no oracle; run: pip install sentence-transformers")
    theirs = library.CrossEncoder(str(reranker), device="cpu")
    if form == "version 6":
        theirs.save_pretrained(str(tmp_path))
        if activation:
            edit(tmp_path / "config_sentence_transformers.json", activation_fn=activation)
    else:
        for path in reranker.iterdir():
            (tmp_path / path.name).write_bytes(path.read_bytes())
        old, nested = {"sbert_ce_default_activation_function": activation}, {"sentence_transformers": {"activation_fn": activation}}
        edit(tmp_path / "config.json", **((nested if form == "version 4" else old) if activation else {}))
    theirs = library.CrossEncoder(str(tmp_path), device="cpu")
    ranked = load(tmp_path, weights="none").rerank(QUERY, TEXTS, batch_size=3)
    expected = theirs.rank(QUERY, TEXTS, return_documents=True)
    assert [(each.index, each.text) for each in ranked] == [(each["corpus_id"], each["text"]) for each in expected]
    numpy.testing.assert_allclose([each.score for each in ranked], [each["score"] for each in expected], atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    ("num_labels", "problem_type"),
    [(1, None), (3, None), (1, "regression"), (3, "single_label_classification"), (3, "multi_label_classification")],
)
def test_labels_and_scores_are_those_of_the_pipeline(tmp_path, num_labels, problem_type):
    folder = save_classifier(tmp_path, num_labels, problem_type=problem_type)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder)
    pipeline = transformers.pipeline("text-classification", model=model, tokenizer=tokenizer, top_k=None, device="cpu")
    expected = pipeline(TEXTS, truncation=True)
    for labels, row in zip(load(folder, weights="none").classify(TEXTS, batch_size=2), expected, strict=True):
        assert [each.name for each in labels] == [each["label"] for each in row]
        numpy.testing.assert_allclose([each.score for each in labels], [each["score"] for each in row], atol=1e-5, rtol=0)


def test_pairs_are_classified_with_their_token_types(classifier):
    model, tokenizer = (
        kind.from_pretrained(classifier) for kind in (transformers.AutoModelForSequenceClassification, transformers.AutoTokenizer)
    )
    encoded = tokenizer(*map(list, zip(*PAIRS, strict=True)), padding=True, truncation=True, return_tensors="pt")
    with torch.no_grad():
        expected = model.eval()(**encoded).logits.numpy()
    numpy.testing.assert_allclose(load(classifier, weights="none").classifier.logits(PAIRS), expected, atol=1e-5, rtol=0)


words = st.lists(st.sampled_from(VOCAB[5:]), max_size=20).map(" ".join)


@settings(max_examples=40, deadline=None)
@given(first=words, second=words, max_len=st.integers(3, 30))
def test_pairs_are_truncated_as_by_transformers(classifier, first, second, max_len):
    theirs = transformers.AutoTokenizer.from_pretrained(classifier)
    own = load_tokenizer(classifier)
    for pair in ((first, second), (first, None)):
        expected = theirs(
            *[[each] for each in pair if each is not None], truncation=True, max_length=max_len
        )  # as a batch, because "" is no pair
        encoded = own.encode_pair(*pair, max_len=max_len)
        assert (encoded.token_ids, encoded.token_types) == (expected["input_ids"][0], expected["token_type_ids"][0])
        assert encoded.is_cut == (len(own.encode_pair(*pair).token_ids) > max_len)


@pytest.mark.parametrize("batch_size", [1, 2, 32])
def test_a_texts_logits_do_not_depend_on_its_batch(classifier, batch_size):
    model = load(classifier).classifier
    alone = numpy.concatenate([model.logits([pair]) for pair in PAIRS])
    numpy.testing.assert_allclose(model.logits(PAIRS, batch_size=batch_size), alone, atol=1e-5, rtol=0)


@pytest.mark.parametrize("weights", ["none", "float32"])
def test_an_empty_text_has_the_logits_of_its_special_tokens(classifier, weights):
    tokenizer = transformers.AutoTokenizer.from_pretrained(classifier)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(classifier).eval()
    with torch.no_grad():
        expected = model(**tokenizer([""], return_tensors="pt")).logits.numpy()
    numpy.testing.assert_allclose(load(classifier, weights=weights).classifier.logits([""]), expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("weights", ["none", "float32"])
def test_a_text_without_tokens_is_named(classifier, weights):
    model = replace(load(classifier, weights=weights).classifier, tokenizer=byte_tokenizer())
    with pytest.raises(PromptError, match="got text 1, '', without tokens, expected at least one"):
        model.logits(["a", ""])


def test_top_k_keeps_the_first(classifier, reranker):
    one, all_labels = (load(classifier).classify(TEXTS, top_k=top_k) for top_k in (1, None))
    assert one == [row[:1] for row in all_labels]
    two, all_texts = (load(reranker).rerank(QUERY, TEXTS, top_k=top_k) for top_k in (2, None))
    assert two == all_texts[:2]


def test_equal_texts_keep_their_order(reranker):
    assert [each.index for each in load(reranker).rerank(QUERY, ["paris"] * 5, batch_size=1)] == list(range(5))


def test_on_cut_gets_the_truncated_texts_and_on_batch_the_finished_ones(reranker):
    calls: list[Any] = []
    load(reranker).rerank("paris", ["the", "of " * 30, "is"], batch_size=2, on_cut=calls.append, on_batch=calls.append)
    assert calls == [[1], 1, 3]


def test_labels_without_names_are_numbered(classifier, tmp_path):
    for path in classifier.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    edit(tmp_path / "config.json", id2label=None, num_labels=3)
    assert {label.name for label in load(tmp_path).classify(["paris"])[0]} == {"LABEL_0", "LABEL_1", "LABEL_2"}


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("paris", "got a string, expected a list of texts"),
        ([], "got no texts, expected at least one"),
        ([("a", "b", "c")], "expected strings or pairs of strings"),
        ([("a", 3)], "expected strings or pairs of strings"),
        ([3], "got 3 among the texts"),
    ],
)
def test_texts_that_cannot_be_classified_are_named(classifier, texts, message):
    with pytest.raises(PromptError, match=message):
        load(classifier).classify(texts)


def test_wrong_options_are_named(classifier, reranker):
    for options, message in (({"top_k": 0}, "top_k=0, expected an integer of at least 1"), ({"batch_size": 0}, "batch_size=0, expected")):
        with pytest.raises(OptionError, match=f"got {message}"):
            load(classifier).classify(TEXTS, **options)
    with pytest.raises(PromptError, match="got a query of type int, expected a str"):
        load(reranker).rerank(3, TEXTS)
    with pytest.raises(PromptError, match="expected strings$"):
        load(reranker).rerank(QUERY, [("a", "b")])


def test_a_model_with_several_labels_is_no_reranker(classifier):
    with pytest.raises(UnsupportedError, match="got a model with 3 labels, expected a reranker, which has one\nhint: use classify"):
        load(classifier).rerank(QUERY, TEXTS)


@pytest.mark.parametrize("kind", ["BertModel", "BertForMaskedLM"])
def test_a_model_without_a_classifier_is_refused(tmp_path, kind):
    with pytest.raises(UnsupportedError, match="without a classifier, expected an encoder with one"):
        load(save_bert(tmp_path, kind)).classify(TEXTS)


def test_a_decoder_is_refused():
    with pytest.raises(UnsupportedError, match="got a model of kind 'decoder' without a classifier"):
        load().rerank("a", ["b"])


@pytest.mark.parametrize(
    ("keys", "error", "message"),
    [
        ({"architectures": ["BertForTokenClassification"]}, UnsupportedError, "expected a model that classifies whole texts"),
        ({"problem_type": "other"}, UnsupportedError, "problem_type='other', expected one of regression"),
        ({"id2label": {"a": "b", "c": "d", "e": "f"}}, CheckpointError, "id2label=.*expected an object of numbers and names"),
        ({"sentence_transformers": {"activation_fn": "mine.Activation"}}, UnsupportedError, "'mine.Activation' of its scores"),
        ({"sbert_ce_default_activation_function": "torch.nn.Softplus"}, UnsupportedError, "Softplus' of its scores, expected one of"),
    ],
)
def test_files_that_are_not_supported_are_named(classifier, tmp_path, keys, error, message):
    for path in classifier.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    edit(tmp_path / "config.json", **keys)
    with pytest.raises(error, match=message):
        load(tmp_path).classify(TEXTS)


def test_logits_that_are_not_finite_are_an_error(classifier):
    model = load(classifier)
    model.classifier.checkpoint.weights.classifier.output.bias.setflags(write=True)
    model.classifier.checkpoint.weights.classifier.output.bias[0] = numpy.nan
    with pytest.raises(NotFiniteError, match="among the logits of text 0"):
        model.classify(TEXTS)


def edit(path: Path, **keys: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | keys))


def test_a_product_without_blas_equals_the_definition_and_depends_on_its_row_only():
    random = numpy.random.default_rng(0)
    x, weight, bias = (random.standard_normal(shape, numpy.float32) for shape in ((5, 40), (7, 40), (7,)))
    for added in (None, bias):
        together = _linear_on_one_thread(x, weight, added)
        numpy.testing.assert_allclose(together, linear(x, weight, added), rtol=1e-5, atol=1e-5)
        numpy.testing.assert_array_equal(together[2:3], _linear_on_one_thread(x[2:3], weight, added))
