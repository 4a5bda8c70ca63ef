"""Removing spaces before punctuation: equal to transformers, also when streaming."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headway.tokenizers.cleaning import CleaningStreamDecoder, clean_up
from headway.tokenizers.tokenizer import StreamDecoder

TEXT = st.text(st.sampled_from(" .?!,'ntmsvex"), max_size=30)


class Letters(StreamDecoder):
    """Each token is a character; the last one is held until flush."""

    def __init__(self) -> None:
        self.waiting = ""

    def add(self, token_id: int) -> str:
        text, self.waiting = self.waiting, chr(token_id)
        return text

    def flush(self) -> str:
        text, self.waiting = self.waiting, ""
        return text


@given(text=TEXT)
def test_cleans_up_as_transformers(text: str) -> None:
    from transformers import PreTrainedTokenizerBase

    assert clean_up(text) == PreTrainedTokenizerBase.clean_up_tokenization(None, text)


@given(texts=st.lists(TEXT, min_size=1, max_size=3))
def test_letter_by_letter_equals_at_once_in_each_text(texts: list[str]) -> None:
    decoder = CleaningStreamDecoder(Letters())
    for text in texts:
        assert "".join([*(decoder.add(ord(letter)) for letter in text), decoder.flush()]) == clean_up(text)


def test_only_what_may_be_replaced_waits() -> None:
    decoder = CleaningStreamDecoder(Letters())
    assert [decoder.add(ord(letter)) for letter in "ab n't c"] == ["", "a", "b", "", "", "", "n't", ""]
    assert decoder.flush() == " c"
