"""Choice of the tokenizer files in a folder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from headway.errors import TokenizerError
from headway.tokenizers import LibraryTokenizer, Llama2cTokenizer, byte_tokenizer, load_tokenizer
from headway.tokenizers.byte_level import byte_characters


def test_tokenizer_json_comes_before_vocab_json(tmp_path: Path, made_up: dict[str, Path]) -> None:
    shutil.copytree(made_up["llama"], tmp_path, dirs_exist_ok=True)
    (tmp_path / "vocab.json").write_text(json.dumps(byte_characters()))
    (tmp_path / "merges.txt").write_text("")
    assert load_tokenizer(tmp_path).encode("the")[0] == 1


def test_a_vocab_json_without_merges_does_not_hide_the_others(tmp_path: Path) -> None:
    (tmp_path / "vocab.json").write_text("{}")
    with pytest.raises(TokenizerError, match="without a tokenizer"):
        load_tokenizer(tmp_path)


def test_the_path_may_be_a_model_file_beside_the_tokenizer(
    tmp_path: Path, small_llama2c: Llama2cTokenizer, write_llama2c: Callable[..., Path]
) -> None:
    write_llama2c(tmp_path / "tok273.bin", small_llama2c.pieces, small_llama2c.scores)
    (tmp_path / "stories.bin").write_bytes(b"weights")
    assert load_tokenizer(tmp_path / "stories.bin").vocab_size == load_tokenizer(str(tmp_path)).vocab_size == 273


def test_the_message_of_a_folder_without_a_tokenizer_lists_what_could_be_there(tmp_path: Path) -> None:
    with pytest.raises(TokenizerError) as caught:
        load_tokenizer(tmp_path)
    expected = ["tokenizer.json", "vocab.json and merges.txt", "encoder.json and vocab.bpe", "source.spm, target.spm and vocab.json"]
    for name in [*expected, "spiece.model", "tok*.bin", "tokenizer.model", "vocab.txt"]:
        assert name in str(caught.value)


def test_of_two_llama2c_tokenizers_none_is_guessed(
    tmp_path: Path, small_llama2c: Llama2cTokenizer, write_llama2c: Callable[..., Path]
) -> None:
    for name in ("tok273.bin", "tokenizer.bin"):
        write_llama2c(tmp_path / name, small_llama2c.pieces, small_llama2c.scores)
    with pytest.raises(TokenizerError, match=r"with tok273\.bin, tokenizer\.bin, expected one tokenizer"):
        load_tokenizer(tmp_path)
    assert load_tokenizer(tmp_path / "tok273.bin").vocab_size == 273


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ([], "without a tokenizer, expected tokenizer.json; vocab.json and merges.txt"),
        (["merges.txt"], "with merges.txt only, expected vocab.json and merges.txt"),
        (["vocab.bpe"], "with vocab.bpe only, expected encoder.json and vocab.bpe"),
        (["source.spm"], "without target.spm and vocab.json, expected source.spm, target.spm, vocab.json"),
    ],
)
def test_what_is_missing_is_said(tmp_path: Path, files: list[str], message: str) -> None:
    for name in files:
        (tmp_path / name).touch()
    with pytest.raises(TokenizerError) as caught:
        load_tokenizer(tmp_path)
    assert message in str(caught.value)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(TokenizerError, match="nowhere, which does not exist"):
        load_tokenizer(tmp_path / "nowhere")


@pytest.mark.parametrize("kept", [0.0, 0.3, 0.9])
def test_a_tokenizer_json_cut_off_is_named(tmp_path: Path, kept: float) -> None:
    byte_tokenizer().save(tmp_path)
    text = (tmp_path / "tokenizer.json").read_text(encoding="utf-8")
    (tmp_path / "tokenizer.json").write_text(text[: int(len(text) * kept)], encoding="utf-8")
    with pytest.raises(TokenizerError, match=r"tokenizer\.json that is not JSON"):
        load_tokenizer(tmp_path)


def test_truncation_and_padding_of_the_training_are_off(tmp_path: Path) -> None:
    tokenizer = byte_tokenizer()
    tokenizer.backend.enable_truncation(4)
    tokenizer.backend.enable_padding(length=8)
    tokenizer.save(tmp_path)
    assert load_tokenizer(tmp_path).encode("abcdefghijk") == list(b"abcdefghijk")
    assert load_tokenizer(tmp_path).encode("abc") == list(b"abc")


def test_loading_gives_a_library_tokenizer(made_up: dict[str, Path]) -> None:
    assert all(isinstance(load_tokenizer(folder), LibraryTokenizer) for folder in made_up.values())
