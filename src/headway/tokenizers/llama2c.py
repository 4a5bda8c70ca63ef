"""llama2.c's tokenizer file: SentencePiece pieces and their scores.

Source   karpathy/llama2.c, run.c (build_tokenizer, encode, decode)
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from heapq import heappop, heappush
from pathlib import Path

from headway.errors import TokenIdError, TokenizerError
from headway.tokenizers.streaming import BytesStreamDecoder
from headway.tokenizers.tokenizer import StreamDecoder, Tokenizer, check_text, check_token_ids

UNK, BOS, EOS, FIRST_BYTE = 0, 1, 2, 3
WORST_SCORE = -1e10
MERGED_AWAY = -1
BYTE_PIECE = re.compile(rb"<0x([0-9A-F]{2})>")


def read_llama2c_tokenizer(path: Path) -> Llama2cTokenizer:
    """Read a tokenizer.bin: the longest length (int32), then score (float32), length (int32) and bytes of each token.

    The file does not say how many tokens it has: they are read to its end.

    Errors   TokenizerError where it ends inside a token, or is something else.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise TokenizerError(f"came: {path}, which cannot be read ({error.strerror}); expected: a tokenizer of llama2.c") from error
    longest = struct.unpack_from("<i", data)[0] if len(data) >= 4 else 0
    pieces: list[bytes] = []
    scores: list[float] = []
    offset = 4
    while offset < len(data):
        score, length = struct.unpack_from("<fi", data, offset) if offset + 8 <= len(data) else (0.0, 0)
        start, offset = offset + 8, offset + 8 + length
        if not 0 <= length <= longest or offset > len(data):
            raise TokenizerError(
                f"came: {path}, whose token {len(pieces)} at byte {start - 8} has length {length} in a file of {len(data)} bytes; "
                f"expected: a length up to {longest} and the file's end behind a token; download it again"
            )
        pieces.append(data[start:offset])
        scores.append(score)
    if [_byte_of(piece) for piece in pieces[FIRST_BYTE : FIRST_BYTE + 256]] != list(range(256)) or b" " not in pieces:
        raise TokenizerError(
            f"came: {path} with {len(pieces)} tokens; expected: three special ones, <0x00> to <0xFF>, then others, a space among them, "
            "as llama2.c's tokenizer.py writes them"
        )
    return Llama2cTokenizer(pieces, scores)


def _byte_of(piece: bytes) -> int | None:
    match = BYTE_PIECE.fullmatch(piece)
    return int(match[1], 16) if match else None


class Llama2cTokenizer(Tokenizer):
    """Encodes and decodes as run.c does."""

    def __init__(self, pieces: Sequence[bytes], scores: Sequence[float]) -> None:
        """Take the pieces, whose ids are their places, and the score of each."""
        self.pieces, self.scores = list(pieces), list(scores)
        self.ids: dict[bytes, int] = {}
        for token_id, piece in enumerate(self.pieces):
            self.ids.setdefault(piece, token_id)
        self.bos_token_id = BOS
        # run.c stops where the model begins another text.
        self.eos_token_ids = (BOS, EOS)
        self.unk_token_id = UNK
        self.special_tokens = {}
        self.chat_templates = {}

    @property
    def vocab_size(self) -> int:
        """See Tokenizer."""
        return len(self.pieces)

    def encode(self, text: str, *, add_special_tokens: bool = True) -> list[int]:
        """See Tokenizer. The beginning token, a space, then characters (or their bytes), merged by the best score."""
        check_text(text)
        token_ids = [self.ids[b" "]] if text else []
        for character in text:
            data = character.encode()
            token_ids += [self.ids[data]] if data in self.ids else [byte + FIRST_BYTE for byte in data]
        return [BOS] * add_special_tokens + self._merged(token_ids)

    def _merged(self, token_ids: list[int]) -> list[int]:
        """Merge the neighbours whose piece has the best score, the leftmost of equals, until no two make a piece.

        run.c goes through the whole text for each merge; a heap finds the same pairs in the same order.
        """
        current = list(token_ids)
        left = list(range(-1, len(current) - 1))
        right = list(range(1, len(current) + 1))
        heap: list[tuple[float, int, int, int, int]] = []

        def offer(first: int, second: int) -> None:
            if first >= 0 and second < len(current):
                a, b = current[first], current[second]
                merged = self.ids.get(self.pieces[a] + self.pieces[b])
                if merged is not None and self.scores[merged] > WORST_SCORE:
                    heappush(heap, (-self.scores[merged], first, a, b, merged))

        for place in range(len(current) - 1):
            offer(place, place + 1)
        while heap:
            _, first, a, b, merged = heappop(heap)
            second = right[first]
            if current[first] != a or second >= len(current) or current[second] != b:
                continue
            current[first], current[second] = merged, MERGED_AWAY
            right[first] = right[second]
            if right[first] < len(current):
                left[right[first]] = first
            offer(left[first], first)
            offer(first, right[first])
        return [token_id for token_id in current if token_id != MERGED_AWAY]

    def decode(self, token_ids: Sequence[int], *, skip_special_tokens: bool = True) -> str:
        """See Tokenizer."""
        check_token_ids(token_ids)
        pairs = zip(token_ids, [None, *token_ids], strict=False)
        return b"".join(self._bytes(token_id, previous, skip_special_tokens) for token_id, previous in pairs).decode(errors="replace")

    def _bytes(self, token_id: int, previous: int | None, skip_special_tokens: bool) -> bytes:
        if token_id >= len(self.pieces) or (skip_special_tokens and token_id in (BOS, EOS)):
            return b""
        piece = self.pieces[token_id]
        if previous == BOS and piece.startswith(b" "):
            piece = piece[1:]
        byte = _byte_of(piece)
        return piece if byte is None else bytes([byte])

    def token(self, token_id: int) -> str:
        """See Tokenizer."""
        if not 0 <= token_id < len(self.pieces):
            raise TokenIdError(f"came: token id {token_id}; expected: 0 to {len(self.pieces) - 1}")
        return self.pieces[token_id].decode(errors="replace")

    def stream_decoder(self, *, after: Sequence[int] = (), skip_special_tokens: bool = True) -> StreamDecoder:
        """See Tokenizer."""
        decoder = BytesStreamDecoder(lambda token_id, previous: self._bytes(token_id, previous, skip_special_tokens))
        decoder.hide(after)
        return decoder
