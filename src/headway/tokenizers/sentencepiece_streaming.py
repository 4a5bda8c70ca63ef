"""Decode SentencePiece pieces one at a time."""

from __future__ import annotations

import codecs
import re
from collections.abc import Collection, Mapping, Sequence

from headway.tokenizers.sentencepiece_model import PieceModel
from headway.tokenizers.tokenizer import StreamDecoder, check_token_ids

SPACE = "▁"
BROKEN_BYTE = re.compile("[\udc80-\udcff]")


class PieceStreamDecoder(StreamDecoder):
    """Decode pieces. Only the start of a text, where spaces are dropped, needs the library; after it, each piece has its own text.

    Bytes are held until their character is complete. Each byte that is not UTF-8 becomes one U+FFFD, as in the library.
    """

    def __init__(
        self,
        model: PieceModel,
        pieces: Mapping[int, str],
        *,
        skipped: Collection[str],
        shown: Collection[str],
        is_apart: bool,
        has_begun: bool,
    ) -> None:
        """Take the model, the piece of each id, and the treatment of special tokens.

        skipped     pieces without text
        shown       pieces whose text is the piece itself
        is_apart    add a space after each of `shown` and treat what follows as the start of a text
        has_begun   keep the space of the first piece
        """
        self.model, self.pieces = model, pieces
        self.skipped, self.shown, self.is_apart = skipped, shown, is_apart
        self.begins_with_space = has_begun
        self.utf8 = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self.has_begun, self.pending = has_begun, list[str]()

    def feed_context(self, token_ids: Sequence[int]) -> None:
        """Process preceding tokens without returning their text. An incomplete character at their end is dropped."""
        for token_id in token_ids:
            self.add(token_id)
        self.utf8.reset()

    def add(self, token_id: int) -> str:
        """See StreamDecoder."""
        check_token_ids([token_id])
        piece = self.pieces.get(token_id)
        if piece is None or piece in self.skipped:
            return ""
        byte = self.model.byte(piece)
        if byte is not None and piece not in self.shown:
            self.has_begun, self.pending = True, []
            return self._characters(bytes([byte]))
        before = self._characters(b"", is_end=True)
        if piece in self.shown:
            self.has_begun, self.pending = not self.is_apart, []
            return before + piece + " " * self.is_apart
        return before + self._text(piece)

    def flush(self) -> str:
        """See StreamDecoder."""
        text = self._characters(b"", is_end=True)
        self.has_begun, self.pending = self.begins_with_space, []
        return text

    def _text(self, piece: str) -> str:
        if self.has_begun:
            return "" if self.model.is_control(piece) else piece.replace(SPACE, " ")
        self.pending.append(piece)
        text = self.model.decode(self.pending).replace(SPACE, " ")
        if text:
            self.has_begun, self.pending = True, []
        return text

    def _characters(self, data: bytes, *, is_end: bool = False) -> str:
        return BROKEN_BYTE.sub("\ufffd", self.utf8.decode(data, final=is_end))


class StrippingStreamDecoder(StreamDecoder):
    """Strip the spaces around a text, as Marian's tokenizer does. Trailing spaces are held until more text follows."""

    def __init__(self, inner: PieceStreamDecoder) -> None:
        """Wrap the decoder whose text is stripped."""
        self.inner = inner
        self.has_begun, self.pending = False, ""

    def feed_context(self, token_ids: Sequence[int]) -> None:
        """See PieceStreamDecoder. Trailing spaces of the context are returned with the text that follows, as decode strips them."""
        for token_id in token_ids:
            self.add(token_id)
        self.inner.feed_context([])

    def add(self, token_id: int) -> str:
        """See StreamDecoder."""
        return self._strip(self.inner.add(token_id))

    def flush(self) -> str:
        """See StreamDecoder."""
        text = self._strip(self.inner.flush())
        self.has_begun, self.pending = False, ""
        return text

    def _strip(self, text: str) -> str:
        text = self.pending + text
        if not self.has_begun:
            text = text.lstrip()
        final = text.rstrip()
        self.has_begun = self.has_begun or bool(final)
        self.pending = text[len(final) :]
        return final
