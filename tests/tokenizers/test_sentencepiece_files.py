"""Folders with SentencePiece files, complete and broken."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headway.errors import TokenizerError
from headway.tokenizers import byte_tokenizer, load_tokenizer
from headway.tokenizers.sentencepiece_files import EXTRA_IDS

NAMES = {"t5": "spiece.model", "llama": "tokenizer.model"}


@pytest.fixture
def marian(marian_folder: Path, tmp_path: Path) -> Path:
    """A copy that tests may change."""
    shutil.copytree(marian_folder, tmp_path / "marian")
    return tmp_path / "marian"


def configure(folder: Path, **config: Any) -> Path:
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return folder


def fails(folder: Path, *messages: str) -> None:
    with pytest.raises(TokenizerError) as caught:
        load_tokenizer(folder)
    for message in messages:
        assert message in f"{caught.value}\n{caught.value.hint}"


def test_what_transformers_saves_of_marian_opens_the_same(marian_folder: Path, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    with pytest.warns(UserWarning, match="sacremoses"):
        transformers.AutoTokenizer.from_pretrained(marian_folder).save_pretrained(tmp_path)
    assert {"source.spm", "target.spm", "vocab.json", "tokenizer_config.json"} <= {path.name for path in tmp_path.iterdir()}
    before, after = load_tokenizer(marian_folder), load_tokenizer(tmp_path)
    text = ">>fra<< The king</s> café <pad>."
    assert after.encode(text) == before.encode(text)
    assert after.decode(before.encode(text)) == before.decode(before.encode(text))
    assert (after.eos_token_ids, after.pad_token_id, after.vocab_size) == (before.eos_token_ids, before.pad_token_id, before.vocab_size)


def test_what_transformers_saves_of_t5_is_a_tokenizer_json_that_encodes_the_same(t5_model: bytes, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("google.protobuf")
    (tmp_path / "spiece.model").write_bytes(t5_model)
    transformers.T5Tokenizer.from_pretrained(tmp_path).save_pretrained(tmp_path / "saved")
    pieces, saved = load_tokenizer(tmp_path), load_tokenizer(tmp_path / "saved")
    assert (tmp_path / "saved" / "tokenizer.json").exists()
    for text in ("The king  said: <extra_id_0> café 中", "", " a</s>b"):
        assert saved.encode(text) == pieces.encode(text)
        assert saved.decode(pieces.encode(text)) == pieces.decode(pieces.encode(text))
    assert (saved.eos_token_ids, saved.pad_token_id, saved.unk_token_id) == (pieces.eos_token_ids, pieces.pad_token_id, pieces.unk_token_id)
    assert saved.vocab_size == pieces.vocab_size == 331 + EXTRA_IDS


@pytest.mark.parametrize("name", ["spiece.model", "tokenizer.model", "source.spm"])
def test_tokenizer_json_comes_before_the_pieces(tmp_path: Path, name: str) -> None:
    byte_tokenizer().save(tmp_path)
    (tmp_path / name).write_bytes(b"broken")
    assert load_tokenizer(tmp_path).vocab_size == 257


def test_a_folder_of_llama2c_with_the_original_model_is_read_as_llama2c(
    tmp_path: Path, small_llama2c: Any, write_llama2c: Callable[..., Path], llama_model: bytes
) -> None:
    write_llama2c(tmp_path / "tokenizer.bin", small_llama2c.pieces, small_llama2c.scores)
    (tmp_path / "tokenizer.model").write_bytes(llama_model)
    assert load_tokenizer(tmp_path).vocab_size == 273


def test_importing_takes_no_sentencepiece() -> None:
    code = "import sys, headway.tokenizers; assert 'sentencepiece' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_missing_library_is_named(tmp_path: Path, t5_model: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "spiece.model").write_bytes(t5_model)
    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    fails(tmp_path, "spiece.model without a library to read it", "pip install sentencepiece")


@pytest.mark.parametrize("kind", NAMES)
def test_a_model_cut_off_anywhere_is_named(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    model: bytes = request.getfixturevalue(f"{kind}_model")
    path = tmp_path / NAMES[kind]
    boundary = 0
    for _ in range(40):
        boundary += 2 + model[boundary + 1]
    for end in (0, 7, boundary, boundary + 1, len(model) // 2, len(model) - 1):
        path.write_bytes(model[:end])
        fails(tmp_path, str(path), "expected a complete SentencePiece model", "download the file again")


def test_a_model_cut_off_between_two_pieces_which_the_library_reads_is_named(tmp_path: Path, t5_model: bytes) -> None:
    boundary = 0
    for _ in range(40):
        boundary += 2 + t5_model[boundary + 1]
    (tmp_path / "spiece.model").write_bytes(t5_model[:boundary])
    fails(tmp_path, "spiece.model, truncated after 40 pieces, expected a complete SentencePiece model")


def test_what_is_no_model_at_all_is_named(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.model").write_text("IQ== 0\nIg== 1\n")
    fails(tmp_path, "tokenizer.model")


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        (["source.spm"], "without source.spm, expected source.spm, target.spm, vocab.json"),
        (["target.spm"], "without target.spm, expected source.spm, target.spm, vocab.json"),
        (["vocab.json"], "without vocab.json, expected source.spm, target.spm, vocab.json"),
        (["source.spm", "target.spm"], "without source.spm and target.spm, expected "),
    ],
)
def test_a_file_of_marians_that_is_missing_is_named(marian: Path, missing: list[str], message: str) -> None:
    for name in missing:
        (marian / name).unlink()
    fails(marian, message)


def test_each_language_needs_the_vocabulary_that_the_config_promises(marian: Path) -> None:
    fails(configure(marian, separate_vocabs=True), "without target_vocab.json")


def test_a_vocabulary_of_another_model_is_named(marian: Path) -> None:
    vocab = {piece: place for place, piece in enumerate(["</s>", "<unk>", "<pad>", *(f"▁wort{place}" for place in range(300))])}
    (marian / "vocab.json").write_text(json.dumps(vocab))
    fails(marian, "source.spm with 304 pieces, of which vocab.json lacks 304, expected files of one model")


def test_a_target_of_another_model_is_named(marian: Path, train_pieces: Callable[..., bytes]) -> None:
    words = [f"{first}{second}ъж" for first in "абвгдежз" for second in "иклмнопр"]
    (marian / "target.spm").write_bytes(train_pieces(words, vocab_size=27, model_type="unigram"))
    fails(marian, "target.spm with ", "expected files of one model")


@pytest.mark.parametrize("token", ["<unk>", "</s>"])
def test_a_vocabulary_without_what_marian_needs_is_named(marian: Path, token: str) -> None:
    vocab = json.loads((marian / "vocab.json").read_text())
    del vocab[token]
    (marian / "vocab.json").write_text(json.dumps(vocab))
    fails(marian, "whose vocabulary has no ", "expected <unk> and </s>")


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"sp_model_kwargs": {"enable_sampling": True}}, "with sp_model_kwargs {'enable_sampling': True}, expected none"),
        ({"added_tokens_decoder": {"0": {"content": "<pad>"}}}, "'<pad>' has id 0 in tokenizer_config.json"),
        ({"added_tokens_decoder": {"5": {"content": "<new>"}}}, "'<new>' has id 5 in tokenizer_config.json or added_tokens.json and None"),
        ({"eos_token": "<end>"}, "whose eos_token is '<end>', expected a token of its vocabulary"),
    ],
)
def test_a_config_that_contradicts_the_files_is_named(marian: Path, config: dict[str, Any], message: str) -> None:
    fails(configure(marian, **config), message)


@pytest.mark.parametrize(
    ("kind", "config", "message"),
    [
        ("t5", {"tokenizer_class": "AlbertTokenizer"}, "tokenizer_class 'AlbertTokenizer', spiece.model and no tokenizer.json"),
        ("t5", {"extra_ids": "many"}, "extra_ids 'many', expected a number from 0 to"),
        ("t5", {"extra_ids": -1}, "extra_ids -1, expected a number"),
        ("t5", {"extra_ids": 1_000_000}, "extra_ids 1000000, expected a number from 0 to 10,000"),
        ("t5", {"eos_token": None}, "where encode adds the eos_token and none is named"),
        ("llama", {"tokenizer_class": "CodeLlamaTokenizer"}, "'CodeLlamaTokenizer', tokenizer.model and no tokenizer.json"),
        ("llama", {"add_bos_token": True, "bos_token": None}, "where encode adds the bos_token and none is named"),
    ],
)
def test_a_config_that_would_need_other_rules_is_named(
    kind: str, config: dict[str, Any], message: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    (tmp_path / NAMES[kind]).write_bytes(request.getfixturevalue(f"{kind}_model"))
    fails(configure(tmp_path, **config), message)


def test_null_in_the_config_means_none(tmp_path: Path, llama_model: bytes) -> None:
    (tmp_path / "tokenizer.model").write_bytes(llama_model)
    tokenizer = load_tokenizer(configure(tmp_path, bos_token=None))
    assert tokenizer.bos_token_id is None
    assert tokenizer.encode("the") == tokenizer.encode("the", add_special_tokens=False)


def test_a_chat_template_is_found(tmp_path: Path, llama_model: bytes) -> None:
    (tmp_path / "tokenizer.model").write_bytes(llama_model)
    tokenizer = load_tokenizer(configure(tmp_path, chat_template="{{ bos_token }}{{ messages[0].content }}"))
    assert tokenizer.apply_chat_template([{"role": "user", "content": "Hi"}]) == "<s>Hi"
