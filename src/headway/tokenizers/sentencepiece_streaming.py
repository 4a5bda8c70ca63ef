"""Pieces of SentencePiece to text, one by one."""

from __future__ import annotations

import codecs
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from headway.tokenizers.tokenizer import StreamDecoder, check_token_ids

SPACE = "▁"
BROKEN_BYTE = re.compile("[\udc80-\udcff]")


class PieceStreamDecoder(StreamDecoder):
    """The library decides how a text begins, where spaces are dropped; behind that, a piece's text depends on no other.

    Bytes wait for the rest of their character. Each that is no UTF-8 becomes a U+FFFD of its own, as in the library.
    """

    def __init__(
        self,
        processor: Any,
        pieces: Mapping[int, str],
        *,
        skipped: Collection[str],
        shown: Collection[str],
        is_apart: bool,
        has_begun: bool,
    ) -> None:
        """Take the library's processor, the piece of each id, and how to treat special tokens.

        skipped     have no text
        shown       stand for themselves
        is_apart    a space stands behind those, and what follows begins a text
        has_begun   the first piece keeps its space
        """
        self.processor, self.pieces = processor, pieces
        self.skipped, self.shown, self.is_apart = skipped, shown, is_apart
        self.begins_with_space = has_begun
        self.utf8 = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self.has_begun, self.waiting = has_begun, list[str]()

    def hide(self, token_ids: Sequence[int]) -> None:
        """Take tokens that stand before the text, of whose own nothing is returned. Half a character at their end is dropped."""
        for token_id in token_ids:
            self.add(token_id)
        self.utf8.reset()

    def add(self, token_id: int) -> str:
        """See StreamDecoder."""
        check_token_ids([token_id])
        piece = self.pieces.get(token_id)
        if piece is None or piece in self.skipped:
            return ""
        piece_id = self.processor.piece_to_id(piece)
        if self.processor.is_byte(piece_id) and piece not in self.shown:
            self.has_begun, self.waiting = True, []
            return self._characters(bytes([int(piece[3:5], 16)]))
        before = self._characters(b"", is_end=True)
        if piece in self.shown:
            self.has_begun, self.waiting = not self.is_apart, []
            return before + piece + " " * self.is_apart
        return before + self._text(piece, piece_id)

    def flush(self) -> str:
        """See StreamDecoder."""
        text = self._characters(b"", is_end=True)
        self.has_begun, self.waiting = self.begins_with_space, []
        return text

    def _text(self, piece: str, piece_id: int) -> str:
        if self.has_begun:
            return "" if self.processor.is_control(piece_id) else piece.replace(SPACE, " ")
        self.waiting.append(piece)
        text = self.processor.decode_pieces(self.waiting).replace(SPACE, " ")
        if text:
            self.has_begun, self.waiting = True, []
        return text

    def _characters(self, data: bytes, *, is_end: bool = False) -> str:
        return BROKEN_BYTE.sub("\ufffd", self.utf8.decode(data, final=is_end))


class StrippingStreamDecoder(StreamDecoder):
    """Drops the spaces around a text, as Marian's tokenizer does: those at its end wait for more text."""

    def __init__(self, inner: PieceStreamDecoder) -> None:
        """Take the decoder whose text is to be stripped."""
        self.inner = inner
        self.has_begun, self.waiting = False, ""

    def hide(self, token_ids: Sequence[int]) -> None:
        """See PieceStreamDecoder. Spaces at their end belong to what follows, because decode drops them there."""
        for token_id in token_ids:
            self.add(token_id)
        self.inner.hide([])

    def add(self, token_id: int) -> str:
        """See StreamDecoder."""
        return self._stripped(self.inner.add(token_id))

    def flush(self) -> str:
        """See StreamDecoder."""
        text = self._stripped(self.inner.flush())
        self.has_begun, self.waiting = False, ""
        return text

    def _stripped(self, text: str) -> str:
        text = self.waiting + text
        if not self.has_begun:
            text = text.lstrip()
        shown = text.rstrip()
        self.has_begun = self.has_begun or bool(shown)
        self.waiting = text[len(shown) :]
        return shown
