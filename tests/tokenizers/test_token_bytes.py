"""Tokens as bytes, which constrained decoding needs: together they are the text."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.tokenizers import Llama2cTokenizer, load_tokenizer
from headway.tokenizers.tokenizer import Tokenizer

KINDS = ("byte_level", "llama", "gemma", "metaspace", "wordpiece", "two_spaces", "small_llama2c")
TEXTS = ("a cat sat at the", "the cat, the 中 é cat.", "bat 😀 cats")


@pytest.fixture(scope="module", params=KINDS)
def tokenizer(request: pytest.FixtureRequest, made_up: dict[str, Path], small_llama2c: Llama2cTokenizer) -> Tokenizer:
    return small_llama2c if request.param == "small_llama2c" else load_tokenizer(made_up[request.param])


@pytest.mark.parametrize("text", TEXTS)
def test_the_bytes_of_the_tokens_are_the_text_that_follows_other_text(tokenizer: Tokenizer, text: str) -> None:
    before = tokenizer.encode("a", add_special_tokens=False)
    token_ids = [token_id for token_id in tokenizer.encode(text, add_special_tokens=False) if tokenizer.token_bytes(token_id) is not None]
    decoder = tokenizer.stream_decoder(after=before)
    decoded = "".join([*map(decoder.add, token_ids), decoder.flush()])
    assert b"".join(tokenizer.token_bytes(token_id) or b"" for token_id in token_ids).decode() == decoded
    assert decoded.strip()


def test_special_tokens_and_ids_without_a_token_have_no_bytes(tokenizer: Tokenizer) -> None:
    special = [tokenizer.bos_token_id, tokenizer.unk_token_id, *tokenizer.eos_token_ids, tokenizer.vocab_size, -1]
    assert {tokenizer.token_bytes(token_id) for token_id in special if token_id is not None} == {None}


@pytest.mark.slow
def test_gpt2_and_qwen2_split_any_text_into_its_bytes(data_dir: Path) -> None:
    for name in ("gpt2", "qwen2"):
        tokenizer = load_tokenizer(data_dir / "tokenizers" / name)
        text = '{"naïve": ["中文 😀", -1.5e3]}\n\t<tool_call>'
        token_ids = tokenizer.encode(text, add_special_tokens=False)
        assert b"".join(tokenizer.token_bytes(token_id) or b"?" for token_id in token_ids) == text.encode()
