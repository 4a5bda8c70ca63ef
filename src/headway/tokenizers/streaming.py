"""Token by token to text: by bytes where tokens are bytes, by a window where the library's decoder must be asked."""

from __future__ import annotations

import codecs
import re
import string
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import tokenizers

from headway.tokenizers.tokenizer import StreamDecoder, check_token_ids

BYTE_TOKEN = re.compile("<0x[0-9A-Fa-f]{2}>")
PER_TOKEN = {"ByteFallback", "Fuse", "Metaspace", "Replace", "Strip", "WordPiece"}
"""The library's decoders that turn a token into text without looking at others, but for the first, and for runs of byte tokens."""


class BytesStreamDecoder(StreamDecoder):
    """For tokens that are bytes: UTF-8 arrives byte by byte, and Python and Rust agree on what replaces a broken character."""

    def __init__(self, token_bytes: Callable[[int, int | None], bytes]) -> None:
        """Take a function of a token id and the one before it."""
        self.token_bytes = token_bytes
        self.utf8 = codecs.getincrementaldecoder("utf-8")("replace")
        self.previous: int | None = None

    def hide(self, token_ids: Sequence[int]) -> None:
        """Take tokens that stand before the text, of whose own nothing is returned.

        Half a character at their end is dropped: the other half, behind them, becomes U+FFFD.
        """
        for token_id in token_ids:
            self.add(token_id)
        self.utf8.reset()

    def add(self, token_id: int) -> str:
        """See StreamDecoder."""
        check_token_ids([token_id])
        text = self.utf8.decode(self.token_bytes(token_id, self.previous))
        self.previous = token_id
        return text

    def flush(self) -> str:
        """See StreamDecoder."""
        text = self.utf8.decode(b"", final=True)
        self.utf8.reset()
        self.previous = None
        return text


class WindowStreamDecoder(StreamDecoder):
    """For the library's other decoders: decodes the waiting tokens behind a letter, and returns what stands behind that letter.

    The letter, or another character where there is none, takes the place of all that came before. A run of byte tokens waits
    for its end, because the library makes one U+FFFD per byte of a run that is not UTF-8 as a whole. Where a decoder may look
    further (CTC, BPEDecoder and those that nobody knows), the text arrives with flush.
    """

    def __init__(self, backend: tokenizers.Tokenizer, decoder: Mapping[str, Any] | None, skipped: Collection[str]) -> None:
        """Take the tokenizer, its decoder as tokenizer.json writes it, and the tokens that have no text."""
        self.backend, self.skipped = backend, skipped
        self.behind = _plain_character(backend)
        self.is_per_token = bool(self.behind) and is_per_token(decoder_steps(decoder))
        self.waiting: list[int] = []
        self.has_begun = False
        self.num_hidden = 0

    def hide(self, token_ids: Sequence[int]) -> None:
        """Take tokens that stand before the text, of whose own nothing is returned.

        A run of byte tokens ends with them, and half a character at their end is dropped: the other half, behind them,
        becomes U+FFFD.
        """
        for token_id in token_ids:
            self.add(token_id)
        if self.is_per_token:
            self._release()
        else:
            self.num_hidden = len(self._decode(self.waiting))

    def add(self, token_id: int) -> str:
        """See StreamDecoder."""
        check_token_ids([token_id])
        token = self.backend.id_to_token(token_id)
        if token is None or token in self.skipped:
            return ""
        self.waiting.append(token_id)
        return "" if not self.is_per_token or BYTE_TOKEN.fullmatch(token) else self._release()

    def flush(self) -> str:
        """See StreamDecoder."""
        text = self._release()[self.num_hidden :]
        self.waiting, self.has_begun, self.num_hidden = [], False, 0
        return text

    def _release(self) -> str:
        if self.has_begun:
            text = self._decode([*self.behind, *self.waiting])[1:]
        else:
            text = self._decode(self.waiting)
            # Tokens whose text is taken off the beginning decide how much is taken off the next one.
            if not text:
                return ""
        self.waiting, self.has_begun = [], True
        return text

    def _decode(self, token_ids: Sequence[int]) -> str:
        return self.backend.decode(token_ids, skip_special_tokens=False)


def decoder_steps(decoder: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    """A decoder of tokenizer.json as the list of its steps."""
    if decoder is None:
        return []
    return [step for part in decoder["decoders"] for step in decoder_steps(part)] if decoder["type"] == "Sequence" else [decoder]


def is_per_token(steps: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a token's text depends on no token behind it, and on none before it but that it is not the first."""
    kinds = [step["type"] for step in steps]
    behind_fuse = kinds[kinds.index("Fuse") :] if "Fuse" in kinds else []
    has_end_strip = any(step.get("stop") for step in steps if step["type"] == "Strip")
    return set(kinds) <= PER_TOKEN and set(behind_fuse) <= {"Fuse", "Strip"} and not has_end_strip


def _plain_character(backend: tokenizers.Tokenizer) -> list[int]:
    """The id of a letter, or else of another character, that decodes to itself, or none where there is no such token."""
    for character in _characters(backend):
        token_id = backend.token_to_id(character)
        if token_id is not None and backend.decode([token_id], skip_special_tokens=False) == character:
            return [token_id]
    return []


def _characters(backend: tokenizers.Tokenizer) -> Iterator[str]:
    yield from string.ascii_letters
    yield from sorted(token for token in backend.get_vocab() if len(token) == 1)
