"""Streaming: each text has complete characters only, and together they equal decode."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from headway.errors import TokenIdError
from headway.tokenizers import Llama2cTokenizer, Tokenizer, byte_tokenizer, character_tokenizer, load_tokenizer
from headway.tokenizers.streaming import BYTE_TOKEN, is_per_token

KINDS = ["byte_level", "llama", "gemma", "metaspace", "wordpiece", "no_decoder", "bpe_decoder", "two_spaces", "llama2c"]
TEXT = st.text(st.one_of(st.sampled_from(" a▁théc中at.,'😀\n<>"), st.characters(codec="utf-8")), max_size=40)


@pytest.fixture(scope="module", params=KINDS)
def tokenizer(request: pytest.FixtureRequest, made_up: dict[str, Path], small_llama2c: Llama2cTokenizer) -> Tokenizer:
    return small_llama2c if request.param == "llama2c" else load_tokenizer(made_up[request.param])


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


@given(data=st.data())
def test_pieces_after_a_prompt_make_what_decode_adds_to_it(tokenizer: Tokenizer, data: st.DataObject) -> None:
    prompt = tokenizer.encode(data.draw(TEXT))
    token_ids = data.draw(st.lists(st.integers(0, tokenizer.vocab_size - 1), max_size=20))
    # The library decodes a run of byte tokens as a whole, even if the prompt ends inside it.
    assume(not (ends_in_bytes(tokenizer, prompt) and ends_in_bytes(tokenizer, token_ids[::-1])))
    assert tokenizer.decode(prompt) + "".join(stream(tokenizer, token_ids, after=prompt)) == tokenizer.decode([*prompt, *token_ids])


def ends_in_bytes(tokenizer: Tokenizer, token_ids: list[int]) -> bool:
    shown = [token_id for token_id in token_ids if tokenizer.token(token_id) not in ("<unk>", "<s>", "</s>")]
    return bool(shown) and BYTE_TOKEN.fullmatch(tokenizer.token(shown[-1])) is not None


@pytest.mark.parametrize("kind", ["byte_level", "llama", "gemma", "metaspace"])
@given(data=st.data())
def test_nothing_of_a_prompt_is_returned_whatever_it_ends_in(made_up: dict[str, Path], kind: str, data: st.DataObject) -> None:
    tokenizer = load_tokenizer(made_up[kind])
    some_ids = st.lists(st.integers(0, tokenizer.vocab_size - 1), max_size=12)
    prompt, token_ids = data.draw(some_ids), data.draw(some_ids)
    assume(tokenizer.decode(prompt))
    assert stream(tokenizer, token_ids, after=prompt) == stream(tokenizer, token_ids, after=tokenizer.encode("the"))


@pytest.mark.parametrize("kind", ["llama", "gemma"])
def test_a_prompt_may_end_in_an_emoji_or_in_half_of_one(made_up: dict[str, Path], kind: str) -> None:
    tokenizer = load_tokenizer(made_up[kind])
    pieces = ["▁", "▁cat", *(f"<0x{byte:02X}>" for byte in "😀".encode())]
    space, cat, *emoji = map(tokenizer.backend.token_to_id, pieces)
    assert stream(tokenizer, [space, cat], after=tokenizer.encode("the 😀")) == [" ", " cat", ""]
    assert stream(tokenizer, [], after=tokenizer.encode("the 😀")) == [""]
    assert stream(tokenizer, [*emoji[2:], cat], after=[cat, *emoji[:2]]) == ["", "", "\ufffd\ufffd cat", ""]
    assert stream(tokenizer, [cat], after=[cat, *emoji[:2]]) == [" cat", ""]


def test_half_a_character_of_a_prompt_is_dropped() -> None:
    tokenizer, emoji = byte_tokenizer(), list("😀".encode())
    assert stream(tokenizer, [*emoji[2:], 0x41], after=emoji[:2]) == ["\ufffd", "\ufffd", "A", ""]
    assert stream(tokenizer, [], after=emoji[:2]) == [""]


def test_text_that_arrives_with_flush_lacks_the_prompts(made_up: dict[str, Path]) -> None:
    tokenizer = load_tokenizer(made_up["bpe_decoder"])
    prompt, more = tokenizer.encode("ab"), tokenizer.encode("b a")
    assert stream(tokenizer, more, after=prompt)[-1] == " b a"


@given(text=st.text(st.characters(codec="utf-8"), max_size=20))
def test_no_piece_of_a_text_has_half_a_character(text: str) -> None:
    tokenizer = byte_tokenizer()
    assume(tokenizer.special_tokens["eos_token"] not in text)
    assert [piece for piece in stream(tokenizer, tokenizer.encode(text)) if piece] == list(text)


@given(data=st.lists(st.integers(0, 255), max_size=20))
def test_broken_utf8_is_replaced_as_python_replaces_it(data: list[int]) -> None:
    pieces = stream(byte_tokenizer(), data)
    assert "".join(pieces) == bytes(data).decode(errors="replace")


@pytest.mark.parametrize(
    ("data", "pieces"),
    [
        pytest.param([0xF0, 0x9F, 0x98, 0x80], ["", "", "", "😀", ""], id="a character waits for its last byte"),
        pytest.param([0xF0, 0x9F, 0x41], ["", "", "\ufffdA", ""], id="replaced once it cannot become valid"),
        pytest.param([0xE4, 0xB8], ["", "", "\ufffd"], id="replaced at the end"),
        pytest.param([0xFF, 0x41], ["\ufffd", "A", ""], id="a byte that begins nothing is replaced at once"),
        pytest.param([0xE0, 0x80], ["", "\ufffd\ufffd", ""], id="too long a form"),
    ],
)
def test_when_bytes_become_text(data: list[int], pieces: list[str]) -> None:
    assert stream(byte_tokenizer(), data) == pieces


def test_sentencepiece_words_arrive_one_by_one(made_up: dict[str, Path]) -> None:
    tokenizer = load_tokenizer(made_up["llama"])
    token_ids = [tokenizer.backend.token_to_id(token) for token in ("<s>", "▁the", "▁cat", "<0xC3>", "<0xA9>", "s", "</s>")]
    assert stream(tokenizer, token_ids) == ["", "the", " cat", "", "", "és", "", ""]


def test_a_prompt_decides_whether_the_first_word_keeps_its_space(made_up: dict[str, Path]) -> None:
    tokenizer = load_tokenizer(made_up["llama"])
    (cat,) = [tokenizer.backend.token_to_id("▁cat")]
    assert stream(tokenizer, [cat]) == ["cat", ""]
    assert stream(tokenizer, [cat], after=tokenizer.encode("the")) == [" cat", ""]


def test_spaces_taken_off_the_beginning_may_be_two_tokens(made_up: dict[str, Path]) -> None:
    tokenizer = load_tokenizer(made_up["two_spaces"])
    space, cat = (tokenizer.backend.token_to_id(token) for token in ("▁", "▁cat"))
    assert stream(tokenizer, [space, cat, cat]) == ["", "cat", " cat", ""]


@pytest.mark.parametrize("text", ["中文 é", "12+3=15", " ▁"])
def test_text_without_latin_letters_arrives_one_by_one_too(text: str) -> None:
    tokenizer = character_tokenizer([text])
    assert stream(tokenizer, tokenizer.encode(text)) == [*text, ""]
    assert stream(tokenizer, tokenizer.encode(text), after=tokenizer.encode(text)) == [*text, ""]


def test_a_decoder_starts_anew_after_flush(tokenizer: Tokenizer) -> None:
    token_ids = tokenizer.encode("the cat a")
    decoder = tokenizer.stream_decoder()
    first = "".join([*map(decoder.add, token_ids), decoder.flush()])
    assert "".join([*map(decoder.add, token_ids), decoder.flush()]) == first == tokenizer.decode(token_ids)


def test_a_negative_id_is_an_error(tokenizer: Tokenizer) -> None:
    with pytest.raises(TokenIdError, match="got token id -1, expected 0 or more"):
        tokenizer.stream_decoder().add(-1)


@pytest.mark.parametrize(("kind", "method"), [("byte_level", "token_bytes"), ("llama", "decode"), ("metaspace", "decode")])
def test_a_token_costs_the_same_early_and_late(made_up: dict[str, Path], monkeypatch: pytest.MonkeyPatch, kind: str, method: str) -> None:
    tokenizer = load_tokenizer(made_up[kind])
    token_ids = tokenizer.encode("the cat sat, ", add_special_tokens=False) * 500
    decoder = tokenizer.stream_decoder()
    real, num_decoded = getattr(decoder, method), []

    def count(token_ids: int | list[int], *more: int) -> str | bytes:
        num_decoded.append(len(token_ids) if isinstance(token_ids, list) else 1)
        return real(token_ids, *more)

    monkeypatch.setattr(decoder, method, count)
    for token_id in token_ids:
        decoder.add(token_id)
    assert max(num_decoded) <= 3  # all tokens, if the whole text were decoded for each
    assert len(token_ids) // 2 < len(num_decoded) <= len(token_ids)


def test_decoders_that_look_further_are_known() -> None:
    fuse, replace = {"type": "Fuse"}, {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
    assert is_per_token([replace, {"type": "ByteFallback"}, fuse, {"type": "Strip", "content": " ", "start": 1, "stop": 0}])
    assert not is_per_token([fuse, {"type": "Strip", "content": " ", "start": 0, "stop": 1}])
    assert not is_per_token([fuse, replace])
    assert not is_per_token([{"type": "CTC"}])
