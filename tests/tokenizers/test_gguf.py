"""Tokenizers in GGUF files, against the tokenizers from which they were made."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import tokenizers

from headway.errors import TokenizerError
from headway.tokenizers import load_tokenizer
from headway.tokenizers.gguf import PATTERNS
from headway.tokenizers.training import train_bpe

gguf = pytest.importorskip("gguf", reason="llama.cpp's package gguf is not installed")

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("HEADWAY_TEST_DATA", ROOT.parent / "shared" / "data"))
TEXTS = [
    "Hello world",
    " two  spaces, and\ta tab\n\n new  line ",
    "It's John's: they'LL 'Ve 12345 done it!",
    "naïve 日本語 😀 Ünïcödé\u0301",
    "x = 3.14 * (y_1 - 0x7F) // comment\r\n    return",
    "",
]
CORPUS = [(ROOT / "README.md").read_text(), (ROOT / "docs" / "architecture.md").read_text()] * 2
TEMPLATE = "{% for m in messages %}<s>{{ m.content }}{% endfor %}"


def write(path: Path, values: dict[str, Any]) -> Path:
    """Write a file with these keys of tokenizer.ggml, and a chat template."""
    writer = gguf.GGUFWriter(path, "llama")
    for key, value in values.items():
        add = {str: writer.add_string, bool: writer.add_bool, int: writer.add_uint32}.get(type(value), writer.add_array)
        add(f"tokenizer.ggml.{key}", value)
    writer.add_string("tokenizer.chat_template", TEMPLATE)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    return path


@pytest.fixture(scope="module")
def bpe() -> tokenizers.Tokenizer:
    return train_bpe(CORPUS, 600, special_tokens=("<|end|>", "<|user|>")).backend


def byte_level(backend: tokenizers.Tokenizer, **values: Any) -> dict[str, Any]:
    import json

    state = json.loads(backend.to_str())
    ids = {token_id: token for token, token_id in backend.get_vocab().items()}
    special = {token["content"] for token in state["added_tokens"]}
    tokens = [ids[token_id] for token_id in range(len(ids))]
    return {
        **{"model": "gpt2", "pre": "gpt-2", "tokens": tokens, "token_type": [3 if token in special else 1 for token in tokens]},
        **{"merges": [" ".join(pair) for pair in state["model"]["merges"]], "eos_token_id": 0, "bos_token_id": 0},
        **values,
    }


def test_byte_level_equals_the_original(tmp_path, bpe):
    tokenizer = load_tokenizer(write(tmp_path / "model.gguf", byte_level(bpe)))
    for text in [*TEXTS, "a<|user|>b <|end|>"]:
        token_ids = bpe.encode(text).ids
        assert tokenizer.encode(text) == token_ids
        assert tokenizer.decode(token_ids, skip_special_tokens=False) == text
    assert (tokenizer.eos_token_ids, tokenizer.bos_token_id) == ((0,), 0)
    assert tokenizer.apply_chat_template([{"role": "user", "content": "hi"}]) == "<s>hi"


@pytest.mark.parametrize("name", sorted(PATTERNS))
def test_every_pattern_splits_texts_without_loss(tmp_path, bpe, name):
    tokenizer = load_tokenizer(write(tmp_path / "model.gguf", byte_level(bpe, pre=name, add_bos_token=False)))
    for text in TEXTS:
        assert tokenizer.decode(tokenizer.encode(text)) == text


@pytest.mark.parametrize(
    ("name", "text", "pieces"),
    [
        ("gpt-2", "a 123", ["a", " 123"]),
        ("smollm", "a 123", ["a", " ", "1", "2", "3"]),
        ("llama-bpe", "a 1234", ["a", " ", "123", "4"]),
        ("qwen2", "a 12", ["a", " ", "1", "2"]),
        ("gpt-4o", "aBc's 1234", ["a", "Bc's", " ", "123", "4"]),
        ("tekken", "aBc 12", ["a", "Bc", " ", "1", "2"]),
    ],
)
def test_pieces_of_each_family_of_patterns(tmp_path, bpe, name, text, pieces):
    tokenizer = load_tokenizer(write(tmp_path / "model.gguf", byte_level(bpe, pre=name)))
    found = [piece for piece, _ in tokenizer.backend.pre_tokenizer.pre_tokenize_str(text)]
    assert [piece.replace("Ġ", " ") for piece in found] == pieces


@pytest.mark.slow
def test_llama_cpps_own_texts_are_encoded_as_by_llama_cpp(tmp_path):
    """llama.cpp's test texts of Qwen2, with the tokens that it expects."""
    folder = DATA / "tokenizers" / "qwen2"
    if not (folder / "vocab.json").exists():
        pytest.skip(f"{folder} with the tokenizer of Qwen2 is not there")
    backend = load_tokenizer(folder).backend
    tokenizer = load_tokenizer(write(tmp_path / "model.gguf", byte_level(backend, pre="qwen2", bos_token_id=151643)))
    texts = (folder / "fixtures" / "ggml-vocab-qwen2.gguf.inp").read_text().split("\n__ggml_vocab_test__\n")
    expected = (folder / "fixtures" / "ggml-vocab-qwen2.gguf.out").read_text().split("\n")
    assert len(texts) > 40
    for text, line in zip(texts, expected, strict=False):
        assert tokenizer.encode(text) == list(map(int, line.split())), text


def sentencepiece_values(**values: Any) -> tuple[sentencepiece.SentencePieceProcessor, dict[str, Any]]:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter("\n".join(CORPUS).split("\n")),
        model_writer=model,
        **{"vocab_size": 600, "model_type": "bpe", "byte_fallback": True, "remove_extra_whitespaces": False},
        **{"normalization_rule_name": "identity", "character_coverage": 0.99, "minloglevel": 2},
    )
    theirs = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    ids = range(theirs.GetPieceSize())
    kinds = ((theirs.IsUnknown, 2), (theirs.IsControl, 3), (theirs.IsByte, 6))
    found = {
        **{"model": "llama", "pre": "default", "tokens": [theirs.IdToPiece(each) for each in ids]},
        "scores": [theirs.GetScore(each) for each in ids],
        "token_type": [next((number for is_kind, number in kinds if is_kind(each)), 1) for each in ids],
        **{"bos_token_id": 1, "eos_token_id": 2, "unknown_token_id": 0},
    }
    return theirs, found | values


def test_sentencepiece_equals_the_original(tmp_path):
    theirs, values = sentencepiece_values()
    tokenizer = load_tokenizer(write(tmp_path / "model.gguf", values))
    for text in TEXTS:
        assert tokenizer.encode(text) == [1, *theirs.EncodeAsIds(text)]
        assert tokenizer.decode(theirs.EncodeAsIds(text)) == text
    assert tokenizer.encode("Hello</s>") == [1, *theirs.EncodeAsIds("Hello"), 2]


def test_a_text_without_a_first_space(tmp_path):
    theirs, values = sentencepiece_values(add_space_prefix=False, add_bos_token=False)
    tokenizer = load_tokenizer(write(tmp_path / "model.gguf", values))
    assert tokenizer.encode(" the Model") == theirs.EncodeAsIds("the Model")
    assert tokenizer.decode(tokenizer.encode("the  Model")) == "the  Model"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"model": "rwkv"}, r"tokenizer\.ggml\.model='rwkv', expected 'gpt2', 'llama', 'bert' or 't5'"),
        ({"pre": "klingon"}, r"tokenizer\.ggml\.pre='klingon', expected one of gpt-2"),
        ({"token_type": [1]}, r"token_type=\[1\], expected 600 numbers from 1 to 6"),
        ({"eos_token_id": 10**6}, r"eos_token_id=1000000, expected a token id from 0 to 599"),
        ({"merges": ["x"]}, r"merges='x', expected two tokens"),
        ({"tokens": ["a", "a"], "token_type": [1, 1]}, "2 tokens, of which 1 differ"),
        ({"model": "llama"}, r"scores=None, expected 600 numbers"),
        ({"add_bos_token": 1}, r"add_bos_token=1, expected true or false"),
    ],
)
def test_broken_metadata_is_named(tmp_path, bpe, values, message):
    with pytest.raises(TokenizerError, match=message):
        load_tokenizer(write(tmp_path / "model.gguf", byte_level(bpe, **values)))
