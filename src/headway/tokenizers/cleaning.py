"""Remove spaces before punctuation, as clean_up_tokenization_spaces in tokenizer_config.json asks."""

from __future__ import annotations

from headway.tokenizers.tokenizer import StreamDecoder

REPLACEMENTS = (
    (" .", "."),
    (" ?", "?"),
    (" !", "!"),
    (" ,", ","),
    (" ' ", "'"),
    (" n't", "n't"),
    (" 'm", "'m"),
    (" 's", "'s"),
    (" 've", "'ve"),
    (" 're", "'re"),
)
"""Source   transformers, PreTrainedTokenizerBase.clean_up_tokenization"""


def clean_up(text: str) -> str:
    """Apply the replacements one after another.

    >>> clean_up("do n't , please !")
    "don't, please!"
    """
    for old, new in REPLACEMENTS:
        text = text.replace(old, new)
    return text


class CleaningStreamDecoder(StreamDecoder):
    """Apply `clean_up` to another decoder's text. Text that may be the start of a pattern is held until the rest arrives."""

    def __init__(self, inner: StreamDecoder) -> None:
        """Wrap the decoder whose text is cleaned up."""
        self.inner = inner
        self.pending = [""] * len(REPLACEMENTS)

    def add(self, token_id: int) -> str:
        """See StreamDecoder."""
        return self._clean(self.inner.add(token_id), is_end=False)

    def flush(self) -> str:
        """See StreamDecoder."""
        text = self._clean(self.inner.flush(), is_end=True)
        self.pending = [""] * len(REPLACEMENTS)
        return text

    def _clean(self, text: str, is_end: bool) -> str:
        for index, (old, new) in enumerate(REPLACEMENTS):
            text = self.pending[index] + text
            num_held = 0 if is_end else _partial_match_length(text.split(old)[-1], old)
            text, self.pending[index] = text[: len(text) - num_held].replace(old, new), text[len(text) - num_held :]
        return text


def _partial_match_length(text: str, pattern: str) -> int:
    """Return the length of the longest proper prefix of `pattern` that `text` ends with."""
    return next((length for length in range(len(pattern) - 1, 0, -1) if text.endswith(pattern[:length])), 0)
