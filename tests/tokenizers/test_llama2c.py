"""The llama2.c tokenizer, compared with its own texts and with a direct translation of the loop in run.c."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import PromptError, TokenIdError, TokenizerError
from headway.tokenizers import Llama2cTokenizer, load_tokenizer


def encode_as_run_c(tokenizer: Llama2cTokenizer, text: str) -> list[int]:
    """Encode as run.c does: one pass over all pairs of neighbors per merge."""
    tokens = [tokenizer.pieces.index(b" ")] if text else []
    for character in text:
        data = character.encode()
        tokens += [tokenizer.pieces.index(data)] if data in tokenizer.pieces else [byte + 3 for byte in data]
    while True:
        best_score, best_id, best_index = -1e10, -1, -1
        for index, (first, second) in enumerate(pairwise(tokens)):
            merged = tokenizer.pieces[first] + tokenizer.pieces[second]
            if merged in tokenizer.pieces and tokenizer.scores[tokenizer.pieces.index(merged)] > best_score:
                best_id, best_index = tokenizer.pieces.index(merged), index
                best_score = tokenizer.scores[best_id]
        if best_index == -1:
            return [1, *tokens]
        tokens[best_index : best_index + 2] = [best_id]


@given(text=st.text(st.sampled_from("ab é中😀x"), max_size=30))
def test_merges_are_those_of_run_c(small_llama2c: Llama2cTokenizer, text: str) -> None:
    assert small_llama2c.encode(text) == encode_as_run_c(small_llama2c, text)


def test_a_real_vocabulary_merges_as_run_c(tok512: Llama2cTokenizer) -> None:
    text = 'Lily said, "Let\'s go!"  They jumped; naïve 😀 12.'
    assert tok512.encode(text) == encode_as_run_c(tok512, text)


def test_the_texts_of_llama2_c_come_back(tok512: Llama2cTokenizer, data_dir: Path) -> None:
    expected = json.loads((data_dir / "weights/stories260K/expected.json").read_text(encoding="utf-8"))
    texts = [expected["greedy_200"], *(run["expected"] for run in expected["llama2_zig_runs"])]
    assert len(texts) == 6
    assert [tok512.decode(tok512.encode(text)) for text in texts] == texts
    token_ids = expected["helper_token_ids_NOT_third_party"]["ids"]
    assert tok512.encode(expected["greedy_200"]) == token_ids
    assert tok512.decode(token_ids) == expected["greedy_200"]


def test_what_the_file_of_512_tokens_holds(tok512: Llama2cTokenizer) -> None:
    assert (tok512.vocab_size, tok512.bos_token_id, tok512.eos_token_ids) == (512, 1, (1, 2))
    assert (tok512.unk_token_id, tok512.pad_token_id, tok512.mask_token_id) == (0, None, None)
    assert tok512.token(3) == "<0x00>"
    assert tok512.encode("") == [1]
    assert tok512.encode("", add_special_tokens=False) == []


@given(text=st.text(st.characters(codec="utf-8"), max_size=30).filter(lambda text: "<0x" not in text))
def test_every_text_comes_back(small_llama2c: Llama2cTokenizer, text: str) -> None:
    assert small_llama2c.decode(small_llama2c.encode(text)) == text


def test_a_space_is_dropped_behind_the_beginning_token_alone(small_llama2c: Llama2cTokenizer) -> None:
    space = small_llama2c.pieces.index(b" a")
    assert small_llama2c.decode([1, space, space]) == "a a"
    assert small_llama2c.decode([space, space]) == " a a"
    assert small_llama2c.decode([2, space]) == " a"


def test_special_tokens_are_shown_on_demand(small_llama2c: Llama2cTokenizer) -> None:
    assert small_llama2c.decode([1, 3 + ord("x"), 2]) == "x"
    assert small_llama2c.decode([1, 3 + ord("x"), 2], skip_special_tokens=False) == "\n<s>\nx\n</s>\n"


def test_a_long_text_takes_no_time_per_merge(small_llama2c: Llama2cTokenizer) -> None:
    # One pass per merge would be 10,000 passes over 20,000 tokens.
    assert len(small_llama2c.encode("ab" * 10_000)) < 20_000


def test_a_token_that_is_not_there(small_llama2c: Llama2cTokenizer) -> None:
    with pytest.raises(TokenIdError, match="got token id 9999, expected 0 to 272"):
        small_llama2c.token(9999)
    with pytest.raises(TokenIdError, match="got token id -1"):
        small_llama2c.decode([-1])


def test_half_a_surrogate_pair_is_refused(small_llama2c: Llama2cTokenizer) -> None:
    with pytest.raises(PromptError, match=r"U\+D800 at character 1"):
        small_llama2c.encode("a\ud800")


def test_a_file_is_read_to_its_end(tmp_path: Path, small_llama2c: Llama2cTokenizer, write_llama2c: Callable[..., Path]) -> None:
    path = write_llama2c(tmp_path / "tok273.bin", small_llama2c.pieces, small_llama2c.scores)
    tokenizer = load_tokenizer(path)
    assert isinstance(tokenizer, Llama2cTokenizer)
    assert (tokenizer.pieces, tokenizer.scores) == (small_llama2c.pieces, small_llama2c.scores)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param(lambda data: data[:-1], "whose token 272 at byte", id="cut off inside a piece"),
        pytest.param(lambda data: data + b"\0\0", "whose token 273 at byte", id="cut off inside a length"),
        pytest.param(lambda data: b"\1\0\0\0" + data[4:], "expected a length of at most 1 ", id="longer than the longest"),
        pytest.param(lambda data: b"", "with 0 tokens, expected three special tokens", id="empty"),
        pytest.param(lambda data: data[:300], "expected ", id="half of it"),
        pytest.param(lambda data: data.replace(b"<0x41>", b"<0x42>"), "<0x00> to <0xFF>", id="not the bytes"),
    ],
)
def test_a_broken_file_is_named(
    tmp_path: Path,
    small_llama2c: Llama2cTokenizer,
    write_llama2c: Callable[..., Path],
    change: Callable[[bytes], bytes],
    message: str,
) -> None:
    path = write_llama2c(tmp_path / "tokenizer.bin", small_llama2c.pieces, small_llama2c.scores)
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(TokenizerError) as caught:
        load_tokenizer(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)
