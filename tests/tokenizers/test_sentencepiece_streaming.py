"""Streaming with SentencePiece models: each text is final, has complete characters only, and together they equal decode."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from headway.errors import TokenIdError
from headway.tokenizers import Tokenizer, load_tokenizer

TEXT = st.text(st.one_of(st.sampled_from(" the cat.,'né中😀\n▁<>"), st.characters(codec="utf-8")), max_size=30)


@pytest.fixture(scope="module")
def tokenizers(t5_model: bytes, llama_model: bytes, marian_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tokenizer]:
    cleans_up = {"tokenizer_class": "T5Tokenizer", "clean_up_tokenization_spaces": True}
    kinds = {
        "t5": ("spiece.model", t5_model, {}),
        "llama": ("tokenizer.model", llama_model, {}),
        "clean": ("spiece.model", t5_model, cleans_up),
    }
    made = {"marian": load_tokenizer(marian_folder)}
    for kind, (name, model, config) in kinds.items():
        folder = tmp_path_factory.mktemp(kind)
        (folder / name).write_bytes(model)
        (folder / "tokenizer_config.json").write_text(json.dumps(config))
        made[kind] = load_tokenizer(folder)
    return made


@pytest.fixture(scope="module", params=["t5", "llama", "clean", "marian"])
def tokenizer(request: pytest.FixtureRequest, tokenizers: dict[str, Tokenizer]) -> Tokenizer:
    return tokenizers[request.param]


@pytest.fixture(scope="module")
def llama(tokenizers: dict[str, Tokenizer]) -> Tokenizer:
    return tokenizers["llama"]


@pytest.fixture(scope="module")
def ids_of(tokenizers: dict[str, Tokenizer]) -> Callable[..., list[int]]:
    def find(kind: str, *pieces: str) -> list[int]:
        tokenizer = tokenizers[kind]
        table = {tokenizer.token(place): place for place in range(tokenizer.vocab_size)}
        return [table[piece] for piece in pieces]

    return find


def stream(tokenizer: Tokenizer, token_ids: list[int], **options: object) -> list[str]:
    decoder = tokenizer.stream_decoder(**options)
    return [*map(decoder.add, token_ids), decoder.flush()]


@given(text=TEXT, skips=st.booleans())
def test_pieces_of_an_encoded_text_make_its_decoding(tokenizer: Tokenizer, text: str, skips: bool) -> None:
    token_ids = tokenizer.encode(text)
    assert "".join(stream(tokenizer, token_ids, skip_special_tokens=skips)) == tokenizer.decode(token_ids, skip_special_tokens=skips)


@given(data=st.data(), skips=st.booleans())
def test_pieces_of_any_token_ids_make_their_decoding(tokenizer: Tokenizer, data: st.DataObject, skips: bool) -> None:
    token_ids = data.draw(st.lists(st.integers(0, tokenizer.vocab_size + 2), max_size=30))
    assert "".join(stream(tokenizer, token_ids, skip_special_tokens=skips)) == tokenizer.decode(token_ids, skip_special_tokens=skips)


@pytest.mark.parametrize("kind", ["t5", "llama", "marian"])
@given(data=st.data())
def test_pieces_after_a_prompt_make_what_decode_adds_to_it(tokenizers: dict[str, Tokenizer], kind: str, data: st.DataObject) -> None:
    tokenizer = tokenizers[kind]
    prompt = tokenizer.encode(data.draw(TEXT))
    token_ids = data.draw(st.lists(st.integers(0, tokenizer.vocab_size - 1), max_size=20))
    assert tokenizer.decode(prompt) + "".join(stream(tokenizer, token_ids, after=prompt)) == tokenizer.decode([*prompt, *token_ids])


@given(text=TEXT)
def test_no_piece_has_half_a_character(llama: Tokenizer, text: str) -> None:
    assume("\ufffd" not in text)
    assert not any("\ufffd" in piece for piece in stream(llama, llama.encode(text)))


def test_a_character_of_bytes_arrives_whole(llama: Tokenizer, ids_of: Callable[..., list[int]]) -> None:
    emoji = ids_of("llama", *(f"<0x{byte:02X}>" for byte in "😀".encode()))
    (cat,) = ids_of("llama", "▁the")
    assert stream(llama, [cat, *emoji, cat]) == ["the", "", "", "", "😀", " the", ""]
    assert stream(llama, [*emoji[:2], cat]) == ["", "", "\ufffd\ufffd the", ""]
    assert stream(llama, emoji[:3]) == ["", "", "", "\ufffd\ufffd\ufffd"]
    assert stream(llama, [*emoji[2:], cat], after=[cat, *emoji[:2]]) == ["\ufffd", "\ufffd", " the", ""]


def test_a_prompt_decides_whether_the_first_word_keeps_its_space(
    tokenizers: dict[str, Tokenizer], ids_of: Callable[..., list[int]]
) -> None:
    for kind, tokenizer in tokenizers.items():
        (the,) = ids_of(kind, "▁the")
        assert stream(tokenizer, [the, the]) == ["the", " the", ""]
        assert stream(tokenizer, [the], after=[the]) == [" the", ""]


def test_llama_drops_one_space_of_a_text_and_t5_all(tokenizers: dict[str, Tokenizer], ids_of: Callable[..., list[int]]) -> None:
    for kind, pieces in (("llama", ["", " the", " the", ""]), ("t5", ["", "the", " the", ""])):
        space, the = ids_of(kind, "▁", "▁the")
        assert stream(tokenizers[kind], [space, the, the]) == pieces


def test_marian_holds_spaces_back_until_something_follows(tokenizers: dict[str, Tokenizer], ids_of: Callable[..., list[int]]) -> None:
    space, the, end = ids_of("marian", "▁", "▁the", "</s>")
    marian = tokenizers["marian"]
    assert stream(marian, [the, space, the, space, end]) == ["the", "", "  the", "", "", ""]
    assert stream(marian, [the, end, the], skip_special_tokens=False) == ["the", "</s>", " the", ""]
    assert stream(marian, [the], after=[the, space]) == ["  the", ""]


def test_a_decoder_starts_anew_after_flush(tokenizer: Tokenizer) -> None:
    token_ids = tokenizer.encode("the cat a ")
    decoder = tokenizer.stream_decoder()
    first = "".join([*map(decoder.add, token_ids), decoder.flush()])
    assert "".join([*map(decoder.add, token_ids), decoder.flush()]) == first == tokenizer.decode(token_ids)


def test_a_negative_id_is_an_error(tokenizer: Tokenizer) -> None:
    with pytest.raises(TokenIdError, match="got token id -1, expected 0 or more"):
        tokenizer.stream_decoder().add(-1)
