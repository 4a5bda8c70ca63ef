"""Decode token by token: by bytes for byte-level tokens, through the library's decoder for others."""

from __future__ import annotations

import codecs
import re
import string
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import tokenizers

from headway.tokenizers.tokenizer import StreamDecoder, check_token_ids

DecoderStep = Mapping[str, object]
"""A decoder as tokenizer.json writes it, such as {"type": "Strip", "content": " ", "start": 1, "stop": 0}."""

BYTE_TOKEN = re.compile("<0x[0-9A-Fa-f]{2}>")
PER_TOKEN = {"ByteFallback", "Fuse", "Metaspace", "Replace", "Strip", "WordPiece"}
"""The library's decoders whose text of a token depends on no other, except for the first token and for runs of byte tokens."""


class BytesStreamDecoder(StreamDecoder):
    """Decode tokens that are bytes, with an incremental UTF-8 decoder. Python and Rust replace invalid bytes in the same way."""

    def __init__(self, token_bytes: Callable[[int, int | None], bytes]) -> None:
        """Take a function that returns the bytes of a token id, given the id and the previous id."""
        self.token_bytes = token_bytes
        self.utf8 = codecs.getincrementaldecoder("utf-8")("replace")
        self.previous: int | None = None

    def feed_context(self, token_ids: Sequence[int]) -> None:
        """Process preceding tokens without returning their text.

        An incomplete character at their end is dropped; its remaining bytes, if they follow, become U+FFFD.
        """
        for token_id in token_ids:
            self.add(token_id)
        self.utf8.reset()

    def add(self, token_id: int) -> str:
        """See StreamDecoder."""
        if not 0 <= token_id < 2**32:
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
    """Decode with the library's decoder: decode the pending tokens after an anchor token, and return the text after the anchor.

    The anchor, a token that is one plain character, replaces all earlier tokens. A run of byte tokens is held until its end,
    because the library writes one U+FFFD per byte if the whole run is not UTF-8. For decoders that may look further (CTC,
    BPEDecoder and unknown ones) all text is returned by flush.
    """

    def __init__(
        self, decode: Callable[[Sequence[int]], str], backend: tokenizers.Tokenizer, steps: Sequence[DecoderStep], skipped: Collection[str]
    ) -> None:
        """Take a function that decodes all ids, the tokenizer, its decoder's steps, and the tokens that have no text."""
        self.decode, self.backend, self.skipped = decode, backend, skipped
        self.anchor = plain_character(backend, decode)
        self.is_per_token = bool(self.anchor) and is_per_token(steps)
        self.pending: list[int] = []
        self.has_begun = False
        self.num_context_characters = 0

    def feed_context(self, token_ids: Sequence[int]) -> None:
        """Process preceding tokens without returning their text.

        They end a run of byte tokens. An incomplete character at their end is dropped; its remaining bytes become U+FFFD.
        """
        for token_id in token_ids:
            self.add(token_id)
        if self.is_per_token:
            self._release()
        else:
            self.num_context_characters = len(self.decode(self.pending))

    def add(self, token_id: int) -> str:
        """See StreamDecoder."""
        check_token_ids([token_id])
        token = self.backend.id_to_token(token_id)
        if token is None or token in self.skipped:
            return ""
        self.pending.append(token_id)
        return "" if not self.is_per_token or BYTE_TOKEN.fullmatch(token) else self._release()

    def flush(self) -> str:
        """See StreamDecoder."""
        text = self._release()[self.num_context_characters :]
        self.pending, self.has_begun, self.num_context_characters = [], False, 0
        return text

    def _release(self) -> str:
        if self.has_begun:
            text = self.decode([*self.anchor, *self.pending])[1:]
        else:
            text = self.decode(self.pending)
            # A decoder may strip the start of a text. Tokens that were stripped entirely still count for what it strips next.
            if not text:
                return ""
        self.pending, self.has_begun = [], True
        return text


def decoder_steps(decoder: DecoderStep | None) -> list[DecoderStep]:
    """Flatten a decoder of tokenizer.json into the list of its steps."""
    if decoder is None:
        return []
    parts = decoder.get("decoders")
    return [step for part in parts for step in decoder_steps(part)] if isinstance(parts, list) else [decoder]


def is_per_token(steps: Sequence[DecoderStep]) -> bool:
    """Return True if a token's text depends on no later token, and on earlier ones only in that it is not the first."""
    kinds = [str(step["type"]) for step in steps]
    after_fuse = kinds[kinds.index("Fuse") :] if "Fuse" in kinds else []
    has_end_strip = any(step.get("stop") for step in steps if step["type"] == "Strip")
    return set(kinds) <= PER_TOKEN and set(after_fuse) <= {"Fuse", "Strip"} and not has_end_strip


def plain_character(backend: tokenizers.Tokenizer, decode: Callable[[Sequence[int]], str]) -> list[int]:
    """Return the id of a letter (or another character) that decodes to itself, as a list; [] if there is none."""
    for character in _characters(backend):
        token_id = backend.token_to_id(character)
        if token_id is not None and decode([token_id]) == character:
            return [token_id]
    return []


def _characters(backend: tokenizers.Tokenizer) -> Iterator[str]:
    yield from string.ascii_letters
    yield from sorted(token for token in backend.get_vocab() if len(token) == 1)
