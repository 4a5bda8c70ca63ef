"""Encoders in GGUF files, against the folders from which llama.cpp's rules make them."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

import numpy
import pytest

from headway import load
from headway.checkpoints import open_checkpoint
from headway.errors import CheckpointError, TokenizerError, UnsupportedError
from headway.tokenizers import load_tokenizer

gguf = pytest.importorskip("gguf", reason="llama.cpp's package gguf is not installed")

from tests.checkpoints.gguf_encoder_files import CAPITALS, convert, round_matrices, save  # noqa: E402
from tests.checkpoints.gguf_files import write  # noqa: E402

KINDS: dict[str, dict[str, Any]] = {
    **{"BertModel": {}, "RobertaModel": {"type_vocab_size": 1}, "XLMRobertaModel": {"type_vocab_size": 1}, "DistilBertModel": {}},
    "ModernBertModel": {"num_hidden_layers": 4, "local_attention": 6},
}
TEXTS = [
    *("paris is the capital of france .", "Paris  PLAYINGS (\ta query )", "naïve café – 100 € ﬁ １２ 😀", "", "今天天气很好。", "x"),
    *(" The cat is asleep. ", "</s> [SEP] <s> [CLS] <unk>", "Who\nreads two words?", "capital" * 30),
]
PAIRS = [("a query", text) for text in TEXTS]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {kind: save(tmp_path_factory.mktemp(kind), kind, **keys) for kind, keys in KINDS.items()}


@pytest.mark.parametrize("kind", KINDS)
def test_tokens_of_texts_and_pairs_are_those_of_the_folder(tmp_path, folders, kind):
    theirs, ours = (load_tokenizer(path) for path in (folders[kind], convert(folders[kind], tmp_path / "model.gguf")))
    for text in TEXTS:
        assert ours.encode(text) == theirs.encode(text), text
        assert ours.encode_pair("a query", text, max_len=20) == theirs.encode_pair("a query", text, max_len=20), text
    names = ("cls_token_id", "sep_token_id", "unk_token_id", "pad_token_id", "bos_token_id")
    for name in names if kind == "XLMRobertaModel" else (*names[:4], "mask_token_id"):
        assert getattr(ours, name) == getattr(theirs, name), name
    assert ours.vocab_size == theirs.vocab_size


def test_a_vocabulary_with_capital_letters_keeps_those_of_texts(tmp_path):
    folder = save(tmp_path / "folder", "BertModel", words=CAPITALS)
    theirs, ours = (load_tokenizer(path) for path in (folder, convert(folder, tmp_path / "model.gguf")))
    assert [ours.encode(text) for text in TEXTS] == [theirs.encode(text) for text in TEXTS]
    assert ours.token(ours.encode("Paris")[1]) == "Paris"


@pytest.mark.parametrize("format_name", ["F32", "F16", "Q8_0"])
@pytest.mark.parametrize("kind", KINDS)
def test_vectors_are_those_of_a_folder_with_the_same_numbers(tmp_path, kind, format_name):
    folder = save(tmp_path / "folder", kind, **KINDS[kind])
    path = convert(folder, tmp_path / "model.gguf", kind=format_name)
    round_matrices(folder, format_name)
    theirs, ours = (load(each, weights="none").embed(TEXTS) for each in (folder, path))
    numpy.testing.assert_allclose(ours, theirs, atol=1e-6, rtol=0)
    if format_name == "F32":
        plain = open_checkpoint(path).weights
        numpy.testing.assert_array_equal(plain.token_embedding, open_checkpoint(folder).weights.token_embedding)


@pytest.mark.parametrize("weights", ["auto", "float32"])
@pytest.mark.parametrize("format_name", ["F16", "Q8_0"])
def test_compiled_vectors_are_close(tmp_path, folders, format_name, weights):
    path = convert(folders["XLMRobertaModel"], tmp_path / "model.gguf", kind=format_name)
    exact, compiled = (load(path, weights=each).embed(TEXTS) for each in ("none", weights))
    assert (exact * compiled).sum(axis=-1).min() > (0.999 if weights == "auto" else 0.999999)


@pytest.mark.parametrize(("number", "pooling"), [(1, "mean"), (2, "cls"), (3, "lasttoken"), (0, None), (4, None)])
def test_the_pooling_is_that_of_the_file(tmp_path, number, pooling):
    folder = save(tmp_path / "folder", "BertModel", pooling=pooling)
    model = load(convert(folder, tmp_path / "model.gguf", pooling=number), weights="none")
    numpy.testing.assert_allclose(model.embed(TEXTS), load(folder, weights="none").embed(TEXTS), atol=1e-6, rtol=0)
    assert model.embedder.options.is_declared == (pooling is not None)


@pytest.mark.parametrize("squeezes", [False, True])
@pytest.mark.parametrize("weights", ["none", "float32"])
def test_scores_of_a_reranker_are_those_of_the_folder(tmp_path, squeezes, weights):
    folder = save(tmp_path / "folder", "XLMRobertaForSequenceClassification", type_vocab_size=1, num_labels=1)
    path = convert(folder, tmp_path / "model.gguf", pooling=4, squeezes=squeezes)
    theirs, ours = (load(each, weights=weights).rerank("a query", TEXTS) for each in (folder, path))
    assert [each.index for each in ours] == [each.index for each in theirs]
    numpy.testing.assert_allclose([each.score for each in ours], [each.score for each in theirs], atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    ("kind", "keys"),
    [
        ("RobertaForSequenceClassification", {}),
        ("DistilBertForSequenceClassification", {}),
        *(("ModernBertForSequenceClassification", {"classifier_pooling": each}) for each in ("mean", "cls")),
    ],
)
def test_classes_are_those_of_the_folder(tmp_path, kind, keys):
    folder = save(tmp_path / "folder", kind, num_labels=3, **keys)
    path = convert(folder, tmp_path / "model.gguf")
    theirs, ours = (load(each, weights="none").classify(PAIRS) for each in (folder, path))
    for expected, actual in zip(theirs, ours, strict=True):
        assert [each.name for each in actual] == [each.name for each in expected]
        numpy.testing.assert_allclose([each.score for each in actual], [each.score for each in expected], atol=1e-5, rtol=0)


@pytest.mark.parametrize("keys", [{"num_labels": 1}, {}])
def test_the_classifier_of_a_bert_lacks_its_hidden_layer(tmp_path, keys):
    folder = save(tmp_path / "folder", "BertForSequenceClassification", **keys)
    model = load(convert(folder, tmp_path / "model.gguf"), weights="none")
    numpy.testing.assert_allclose(model.embed(TEXTS), load(folder, weights="none").embed(TEXTS), atol=1e-6, rtol=0)
    with pytest.raises(UnsupportedError, match="one layer of a classifier, expected its hidden layer and its output layer"):
        model.rerank("a query", TEXTS)


@functools.cache
def contents_of(path: Path) -> tuple[list[tuple[str, Any, Any, Any]], list[tuple[str, numpy.ndarray]]]:
    """Return the metadata and the tensors of a file; gguf's reader takes seconds for a table of bytes."""
    reader = gguf.GGUFReader(path)
    fields = [
        (name, each.types[0], each.types[1] if len(each.types) > 1 else None, each.contents()) for name, each in reader.fields.items()
    ]
    return fields, [(tensor.name, numpy.array(tensor.data)) for tensor in reader.tensors]


def edited(path: Path, folder: Path, **values: Any) -> Path:
    """Replace metadata of a file: a key's last part and its value, or None to leave it out; or a tensor's name and None."""
    fields, tensors = contents_of(path)
    (architecture,) = (content for name, _, _, content in fields if name == "general.architecture")
    writer = gguf.GGUFWriter(folder / "edited.gguf", architecture)
    for name, kind, of, content in fields:
        end = name.rpartition(".")[2]
        if name.startswith("GGUF.") or name == "general.architecture" or values.get(end, 0) is None:
            continue
        writer.add_key_value(name, values.get(end, content), kind, of)
    for name, data in tensors:
        if values.get(name, 0) is not None:
            writer.add_tensor(name, data)
    write(writer)
    return folder / "edited.gguf"


@pytest.fixture(scope="module")
def unigram_file(folders: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return convert(folders["XLMRobertaModel"], tmp_path_factory.mktemp("unigram") / "model.gguf", pooling=1)


@pytest.mark.slow  # gguf reads the table of the normalizer byte by byte
@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ({"position_embd.weight": None}, CheckpointError, r"without the tensor position_embd\.weight"),
        ({"blk.1.attn_q.bias": None}, CheckpointError, r"without blk\.1\.attn_q\.bias"),
        ({"pooling_type": 9}, CheckpointError, r"bert\.pooling_type=9, expected a number from 0 to 4"),
        ({"feed_forward_length": 63}, CheckpointError, r"blk\.0\.ffn_up\.weight of shape \(64, 32\), expected \(63, 32\)"),
        ({"scores": None}, TokenizerError, r"scores=None, expected \d+ numbers"),
        ({"scores": [float("nan")] * 402}, TokenizerError, r"scores=\[nan\], expected finite numbers"),
        ({"precompiled_charsmap": b"abcdefg"}, TokenizerError, "with a broken normalizer table"),
        ({"eos_token_id": None, "seperator_token_id": None}, TokenizerError, "add_eos_token=True, expected an eos_token_id"),
        ({"seperator_token_id": 999}, TokenizerError, "seperator_token_id=999, expected a token id from 0 to"),
    ],
)
def test_broken_files_are_refused_by_name(tmp_path, unigram_file, values, error, message):
    path = edited(unigram_file, tmp_path, **values)
    with pytest.raises(error, match=message):
        load(path, weights="none").embed(["a"])


def test_each_layer_of_a_modernbert_may_have_a_flag_for_its_window(tmp_path):
    types = ["sliding_attention", "full_attention", "sliding_attention", "sliding_attention"]
    folder = save(tmp_path / "folder", "ModernBertModel", num_hidden_layers=4, local_attention=4, layer_types=types)
    path = convert(folder, tmp_path / "model.gguf")
    assert open_checkpoint(path).config.layer_types == types
    numpy.testing.assert_allclose(*(load(each, weights="none").embed(TEXTS) for each in (path, folder)), atol=1e-6, rtol=0)
    no_window = open_checkpoint(edited(path, tmp_path, sliding_window=0)).config
    assert no_window.layer_types == ["full_attention"] * 4


def test_other_values_of_a_modernbert_are_refused(tmp_path):
    folder = save(tmp_path / "folder", "ModernBertForSequenceClassification", num_labels=2, classifier_pooling="cls")
    path = convert(folder, tmp_path / "model.gguf")
    with pytest.raises(UnsupportedError, match=r"modern-bert\.classifier\.pooling_type=3, expected 1 \(mean\) or 2 \(cls\)"):
        open_checkpoint(edited(path, tmp_path, pooling_type=3))
    with pytest.raises(UnsupportedError, match="hidden_act='klingon'"):
        open_checkpoint(edited(path, tmp_path, hidden_activation="klingon"))


def test_tokens_of_another_kind_are_refused(tmp_path, folders):
    path = convert(folders["BertModel"], tmp_path / "model.gguf")
    tokens = [f"▁▁{index}" for index in range(25)]
    with pytest.raises(TokenizerError, match="tokens of SentencePiece and tokenizer.ggml.model='bert'"):
        load_tokenizer(edited(path, tmp_path, tokens=tokens))
    with pytest.raises(TokenizerError, match=r"without the unk_token, '\[UNK\]', expected the tokens of a BERT"):
        load_tokenizer(edited(path, tmp_path, tokens=[token[2:] for token in tokens], unknown_token_id=None))


@pytest.mark.parametrize("name", ["nomic-bert", "jina-bert-v2", "neo-bert"])
def test_other_encoders_are_refused_by_name(tmp_path, name):
    writer = gguf.GGUFWriter(tmp_path / "model.gguf", name)
    write(writer)
    with pytest.raises(UnsupportedError, match=rf"general\.architecture='{re.escape(name)}', expected one of .*bert"):
        open_checkpoint(tmp_path / "model.gguf")
