"""Tokenizers of the library: the same ids and texts as transformers, on real and made-up folders."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import PromptError, TokenIdError
from headway.tokenizers import LibraryTokenizer, byte_tokenizer, load_tokenizer

KINDS = ["byte_level", "llama", "gemma", "metaspace", "wordpiece"]
TEXT = st.text(st.one_of(st.sampled_from(" the cats.é中😀\n<>/"), st.characters(codec="utf-8")), max_size=30)


@pytest.fixture(scope="module", params=KINDS)
def both(request: pytest.FixtureRequest, made_up: dict[str, Path]) -> tuple[LibraryTokenizer, object]:
    transformers = pytest.importorskip("transformers")
    folder = made_up[request.param]
    return load_tokenizer(folder), transformers.AutoTokenizer.from_pretrained(folder)


@given(text=TEXT, special=st.booleans())
def test_encodes_and_decodes_as_transformers(both: tuple[LibraryTokenizer, object], text: str, special: bool) -> None:
    ours, theirs = both
    token_ids = ours.encode(text, add_special_tokens=special)
    assert token_ids == theirs(text, add_special_tokens=special)["input_ids"]
    for skips in (True, False):
        assert ours.decode(token_ids, skip_special_tokens=skips) == theirs.decode(token_ids, skip_special_tokens=skips)


def test_knows_itself_as_transformers_does(both: tuple[LibraryTokenizer, object]) -> None:
    ours, theirs = both
    assert (ours.bos_token_id, ours.eos_token_ids) == (theirs.bos_token_id, (theirs.eos_token_id,))
    assert ours.vocab_size == len(theirs)
    assert [ours.token(token_id) for token_id in range(ours.vocab_size)] == theirs.convert_ids_to_tokens(list(range(ours.vocab_size)))


def test_special_tokens_are_added_on_demand(made_up: dict[str, Path]) -> None:
    llama = load_tokenizer(made_up["llama"])
    assert llama.encode("the", add_special_tokens=False) == llama.encode("the")[1:]
    assert llama.encode("the")[0] == llama.bos_token_id == 1


def test_an_id_without_a_token_adds_nothing() -> None:
    assert byte_tokenizer().decode([104, 9999, 105]) == "hi"


@pytest.mark.parametrize("token_id", [-1, 2**32])
def test_an_id_that_no_vocabulary_has_is_an_error(token_id: int) -> None:
    with pytest.raises(TokenIdError, match=f"came: token id {token_id}; expected: 0 or more"):
        byte_tokenizer().decode([104, token_id])


@pytest.mark.parametrize("token_id", [-1, 257])
def test_a_token_that_is_not_there(token_id: int) -> None:
    with pytest.raises(TokenIdError, match=f"came: token id {token_id}; expected: one of the vocabulary's, 0 to 256"):
        byte_tokenizer().token(token_id)


def test_half_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(PromptError, match=r"U\+DCFF, at character 2; expected: whole characters"):
        byte_tokenizer().encode("ab\udcff")
