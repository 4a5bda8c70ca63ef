"""vocab.json and merges.txt: the reference ids of GPT-2 and Qwen2, and broken files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import pre_tokenizers

from headway.errors import TokenizerError
from headway.tokenizers import LibraryTokenizer, load_tokenizer
from headway.tokenizers.byte_level import byte_characters

GPT2_PATTERNS = ["Hello  world", "I'll we've", " \n\n x", "123456", "é中😀", "a<|endoftext|>b"]


def test_gpt2_encodes_every_prompt_of_ggml(gpt2: LibraryTokenizer, data_dir: Path) -> None:
    lines = (data_dir / "tokenizers/gpt2/fixtures/ggml_prompts_gpt-2.txt").read_text(encoding="utf-8").splitlines()
    cases = [line.rpartition(" => ") for line in lines]
    assert len(cases) == 100
    assert [gpt2.encode(text) for text, _, _ in cases] == [[int(each) for each in token_ids.split(",")] for _, _, token_ids in cases]
    assert [gpt2.decode(gpt2.encode(text)) for text, _, _ in cases] == [text for text, _, _ in cases]


def test_qwen2_encodes_every_case_of_llama_cpp(qwen2: LibraryTokenizer, data_dir: Path) -> None:
    fixtures = data_dir / "tokenizers/qwen2/fixtures"
    texts = (fixtures / "ggml-vocab-qwen2.gguf.inp").read_bytes().decode().split("\n__ggml_vocab_test__\n")
    lines = (fixtures / "ggml-vocab-qwen2.gguf.out").read_text().splitlines()
    lines += [""] * (len(texts) - len(lines))
    assert len(texts) == len(lines) == 47
    for text, line in zip(texts, lines, strict=True):
        assert qwen2.encode(text) == [int(each) for each in line.split()], text


def test_what_gpt2_and_qwen2_know_of_themselves(gpt2: LibraryTokenizer, qwen2: LibraryTokenizer) -> None:
    assert (gpt2.vocab_size, gpt2.bos_token_id, gpt2.eos_token_ids) == (50257, 50256, (50256,))
    assert (qwen2.vocab_size, qwen2.bos_token_id, qwen2.eos_token_ids) == (151646, None, (151645,))
    assert not gpt2.has_chat_template
    assert qwen2.has_chat_template


def test_special_tokens_in_a_text_become_their_one_id(gpt2: LibraryTokenizer, qwen2: LibraryTokenizer) -> None:
    assert gpt2.encode("a<|endoftext|>") == [64, 50256]
    assert qwen2.encode("<|im_start|>user\n") == [151644, 872, 198]
    assert qwen2.decode([151644, 872, 198]) == "user\n"
    assert qwen2.decode([151644, 872, 198], skip_special_tokens=False) == "<|im_start|>user\n"


def test_qwen2_puts_letters_and_their_accents_together(qwen2: LibraryTokenizer) -> None:
    assert qwen2.encode("e\u0301") == qwen2.encode("\u00e9")


@given(text=st.text(st.characters(codec="utf-8"), max_size=30))
def test_gpt2_gives_every_text_back(gpt2: LibraryTokenizer, text: str) -> None:
    assert gpt2.decode(gpt2.encode(text), skip_special_tokens=False) == text


def test_each_byte_has_a_character_and_it_is_the_librarys() -> None:
    assert sorted(byte_characters().values()) == list(range(256))
    assert set(byte_characters()) == set(pre_tokenizers.ByteLevel.alphabet())
    assert byte_characters()["Ġ"] == ord(" ")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """All bytes, and the merges of "the"."""
    vocab = {**byte_characters(), "<|endoftext|>": 256, "th": 257, "the": 258}
    (tmp_path / "vocab.json").write_text(json.dumps(vocab))
    (tmp_path / "merges.txt").write_text("#version: 0.2\nt h\nth e\n")
    return tmp_path


def configure(folder: Path, **config: Any) -> None:
    (folder / "tokenizer_config.json").write_text(json.dumps(config))


def test_a_folder_of_two_files_is_enough(folder: Path) -> None:
    tokenizer = load_tokenizer(folder)
    assert tokenizer.encode("the t") == [258, ord(" "), ord("t")]
    assert tokenizer.bos_token_id == 256


def test_windows_line_ends_change_nothing(folder: Path) -> None:
    (folder / "merges.txt").write_bytes(b"#version: 0.2\r\nt h\r\nth e\r\n")
    assert load_tokenizer(folder).encode("the") == [258]


def test_beginning_and_end_tokens_are_added_where_the_config_says_so(folder: Path) -> None:
    configure(folder, tokenizer_class="GPT2Tokenizer", add_bos_token=True)
    assert load_tokenizer(folder).encode("the") == [256, 258]
    assert load_tokenizer(folder).encode("the", add_special_tokens=False) == [258]
    configure(folder, tokenizer_class="GPT2Tokenizer", add_bos_token=True, add_eos_token=True)
    assert load_tokenizer(folder).encode("the") == [256, 258, 256]


def test_a_prefix_space_is_added_where_the_config_says_so(folder: Path) -> None:
    configure(folder, add_prefix_space=True)
    assert load_tokenizer(folder).encode("the") == [ord(" "), 258]


def test_special_tokens_are_text_where_the_config_says_so(folder: Path) -> None:
    configure(folder, split_special_tokens=True)
    assert 256 not in load_tokenizer(folder).encode("<|endoftext|>")


@pytest.mark.parametrize("name", ["GPT2Tokenizer", "GPT2TokenizerFast", "Qwen2Tokenizer", "Qwen2TokenizerFast"])
@pytest.mark.parametrize("text", GPT2_PATTERNS)
def test_encodes_as_transformers(folder: Path, name: str, text: str) -> None:
    transformers = pytest.importorskip("transformers")
    configure(folder, tokenizer_class=name)
    assert load_tokenizer(folder).encode(text) == transformers.AutoTokenizer.from_pretrained(folder)(text)["input_ids"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("vocab.json", '{"a": 0, "b', "vocab.json that is not JSON"),
        ("vocab.json", "[]", "vocab.json with a JSON list, expected an object"),
        ("vocab.json", "{}", "vocab.json with no tokens"),
        ("vocab.json", '{"a": -1}', "vocab.json with 'a': -1, expected token ids from 0 on"),
        ("vocab.json", '{"a": "x"}', "vocab.json with 'a': 'x'"),
        ("vocab.json", '{"a": 0, "b": 0}', "with 2 tokens and 1 different ids"),
        ("vocab.json", b"\xff", "vocab.json that is not JSON ('utf-8' codec can't decode byte 0xff in position 0"),
        ("merges.txt", "t h\nth", "merges.txt, line 2: 'th', expected two tokens"),
        ("merges.txt", "t h e", "merges.txt, line 1: 't h e', expected two tokens"),
        ("merges.txt", "x y", "merges.txt, line 1: 'x y', where 'xy' is not in vocab.json"),
        ("tokenizer_config.json", '{"tokenizer_class": "RobertaTokenizer"}', "tokenizer_class 'RobertaTokenizer' and no tokenizer.json"),
        ("tokenizer_config.json", '{"eos_token": "</s>"}', "whose eos_token is '</s>', expected a token of its vocabulary"),
        ("tokenizer_config.json", '{"bos_token": null, "add_bos_token": true}', "add_bos_token and no bos_token"),
    ],
)
def test_a_broken_file_is_named(folder: Path, name: str, content: str | bytes, message: str) -> None:
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(TokenizerError) as caught:
        load_tokenizer(folder)
    assert message in str(caught.value)


def test_merges_cut_off_between_two_lines_are_found(data_dir: Path, tmp_path: Path) -> None:
    source = data_dir / "tokenizers" / "gpt2"
    (tmp_path / "encoder.json").write_bytes((source / "encoder.json").read_bytes())
    lines = (source / "vocab.bpe").read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "vocab.bpe").write_text("".join(lines[:30_000]), encoding="utf-8")
    with pytest.raises(TokenizerError, match=r"vocab\.bpe with 29999 merges and 20001 tokens of the vocabulary that no merge produces"):
        load_tokenizer(tmp_path)
