"""Taking out the spaces that stand before punctuation, where tokenizer_config.json says clean_up_tokenization_spaces."""

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
    """The text after each replacement, one behind the other.

    >>> clean_up("do n't , please !")
    "don't, please!"
    """
    for old, new in REPLACEMENTS:
        text = text.replace(old, new)
    return text


class CleaningStreamDecoder(StreamDecoder):
    """Cleans up what another decoder returns: what may be the beginning of something to replace waits for the rest of it."""

    def __init__(self, inner: StreamDecoder) -> None:
        """Take the decoder whose text is to be cleaned up."""
        self.inner = inner
        self.waiting = [""] * len(REPLACEMENTS)

    def add(self, token_id: int) -> str:
        """See StreamDecoder."""
        return self._cleaned(self.inner.add(token_id), is_end=False)

    def flush(self) -> str:
        """See StreamDecoder."""
        text = self._cleaned(self.inner.flush(), is_end=True)
        self.waiting = [""] * len(REPLACEMENTS)
        return text

    def _cleaned(self, text: str, is_end: bool) -> str:
        for place, (old, new) in enumerate(REPLACEMENTS):
            text = self.waiting[place] + text
            kept = 0 if is_end else _begun(text.split(old)[-1], old)
            text, self.waiting[place] = text[: len(text) - kept].replace(old, new), text[len(text) - kept :]
        return text


def _begun(text: str, pattern: str) -> int:
    """How many characters at the end of the text may become the pattern, being its beginning."""
    return next((length for length in range(len(pattern) - 1, 0, -1) if text.endswith(pattern[:length])), 0)
