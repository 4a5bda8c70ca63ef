"""Special and added tokens in each file that may declare them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headway.errors import TokenizerError
from headway.tokenizers import LibraryTokenizer, byte_tokenizer, load_tokenizer
from headway.tokenizers.byte_level import byte_characters


@pytest.fixture(params=["vocab.json", "tokenizer.json"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The 256 bytes and <|endoftext|>, in either kind of file."""
    if request.param == "tokenizer.json":
        byte_tokenizer().save(tmp_path)
        (tmp_path / "tokenizer_config.json").unlink()
    else:
        (tmp_path / "vocab.json").write_text(json.dumps({**byte_characters(), "<|endoftext|>": 256}))
        (tmp_path / "merges.txt").write_text("#version: 0.2\n")
    return tmp_path


def load(folder: Path, **files: dict[str, Any]) -> LibraryTokenizer:
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    return load_tokenizer(folder)


def test_end_of_text_begins_and_ends_where_no_file_says(folder: Path) -> None:
    tokenizer = load(folder)
    assert (tokenizer.bos_token_id, tokenizer.eos_token_ids) == (256, (256,))
    assert tokenizer.encode("a<|endoftext|>") == [97, 256]


def test_null_in_the_config_means_none(folder: Path) -> None:
    tokenizer = load(folder, tokenizer_config={"bos_token": None, "eos_token": None})
    assert (tokenizer.bos_token_id, tokenizer.eos_token_ids) == (None, ())


def test_the_config_comes_before_the_special_tokens_map(folder: Path) -> None:
    names = {"bos_token": "a", "eos_token": {"content": "b"}}
    tokenizer = load(folder, special_tokens_map=names, tokenizer_config={"bos_token": {"content": "c", "lstrip": False}})
    assert tokenizer.special_tokens == {"bos_token": "c", "eos_token": "b"}
    assert (tokenizer.bos_token_id, tokenizer.eos_token_ids) == (99, (98,))


def test_added_tokens_of_the_config_keep_their_ids_and_flags(folder: Path) -> None:
    added = {"257": {"content": "<call>", "special": False}, "258": {"content": "<end>", "special": True, "lstrip": True}}
    tokenizer = load(folder, tokenizer_config={"added_tokens_decoder": added, "eos_token": "<end>"})
    assert tokenizer.encode("a <call>b <end>") == [97, 32, 257, 98, 258]
    assert tokenizer.decode([257, 258]) == "<call>"
    assert tokenizer.eos_token_ids == (258,)


def test_the_end_token_is_special_whatever_its_flag_says(folder: Path) -> None:
    added = {"257": {"content": "<end>", "special": False}}
    tokenizer = load(folder, tokenizer_config={"added_tokens_decoder": added, "eos_token": "<end>"})
    assert tokenizer.decode(tokenizer.encode("a<end>")) == "a"


def test_added_tokens_json_is_special_where_something_names_the_token(folder: Path) -> None:
    tokenizer = load(
        folder,
        added_tokens={"<x>": 258, "<y>": 257, "<z>": 259},
        tokenizer_config={"additional_special_tokens": ["<x>"], "pad_token": "<z>"},
    )
    assert tokenizer.encode("<x><y><z>") == [258, 257, 259]
    assert tokenizer.decode([258, 257, 259]) == "<y>"


def test_a_gap_in_the_ids_stays_in_a_vocabulary_of_two_files(folder: Path) -> None:
    added = {"<x>": 300}
    if (folder / "vocab.json").exists():
        tokenizer = load(folder, added_tokens=added)
        assert tokenizer.encode("<x>") == [300]
        assert tokenizer.vocab_size == 301
        assert tokenizer.decode([300, 280]) == "<x>"
    else:
        with pytest.raises(TokenizerError, match=r"the token '<x>' has id 300 in .* and 257 in the vocabulary"):
            load(folder, added_tokens=added)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"added_tokens": {"a": 5}}, "'a' has id 5 in tokenizer_config.json or added_tokens.json and 97 in the vocabulary"),
        ({"added_tokens": {"<x>": 97}}, "'<x>' has id 97"),
        ({"added_tokens": {"<x>": "97"}}, "added_tokens.json with '<x>': '97', expected one id per token"),
        ({"added_tokens": {"<x>": 257, "<y>": 257}}, "added_tokens.json with '<y>': 257, expected one id per token"),
        (
            {"added_tokens": {"<x>": 257}, "tokenizer_config": {"added_tokens_decoder": {"258": {"content": "<x>"}}}},
            "added_tokens.json with '<x>': 257, expected one id per token, the same as in tokenizer_config.json",
        ),
        ({"tokenizer_config": {"added_tokens_decoder": {"x": {"content": "<x>"}}}}, "with the added token x"),
        ({"tokenizer_config": {"added_tokens_decoder": {"-1": {"content": "<x>"}}}}, "with the added token -1"),
        ({"tokenizer_config": {"added_tokens_decoder": {"257": {"words": 1}}}}, "with the added token 257"),
        ({"tokenizer_config": {"added_tokens_decoder": {"257": "<x>"}}}, "with the added token 257"),
        ({"tokenizer_config": {"eos_token": "<none>"}}, "whose eos_token is '<none>'"),
    ],
)
def test_ids_that_contradict_each_other_are_errors(folder: Path, files: dict[str, Any], message: str) -> None:
    with pytest.raises(TokenizerError) as caught:
        load(folder, **files)
    assert message in str(caught.value)
