"""The tokenizer file of llama2.c: SentencePiece pieces and their scores.

Source   karpathy/llama2.c, run.c (build_tokenizer, encode, decode)
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Sequence
from heapq import heappop, heappush
from pathlib import Path

from headway.errors import TokenIdError, TokenizerError
from headway.tokenizers.reading import read_bytes
from headway.tokenizers.streaming import BytesStreamDecoder
from headway.tokenizers.tokenizer import StreamDecoder, Tokenizer, check_text, check_token_ids

UNK, BOS, EOS, FIRST_BYTE = 0, 1, 2, 3
MIN_SCORE = -1e10
MERGED_AWAY = -1
BYTE_PIECE = re.compile(rb"<0x([0-9A-F]{2})>")


def read_llama2c_tokenizer(path: Path) -> Llama2cTokenizer:
    """Read a tokenizer.bin: the length of the longest token (int32), then score (float32), length (int32) and bytes of each token.

    The file does not store the number of tokens; they continue to its end.

    Errors   TokenizerError for a file that ends inside a token, has a score that is NaN, or is not of this format.
    """
    data = read_bytes(path)
    max_length = struct.unpack_from("<i", data)[0] if len(data) >= 4 else 0
    pieces: list[bytes] = []
    scores: list[float] = []
    offset = 4
    while offset < len(data):
        score, length = struct.unpack_from("<fi", data, offset) if offset + 8 <= len(data) else (0.0, 0)
        start, offset = offset + 8, offset + 8 + length
        if not 0 <= length <= max_length or offset > len(data):
            raise TokenizerError(
                f"got {path}, whose token {len(pieces)} at byte {start - 8} has length {length} in a file of {len(data)} bytes, "
                f"expected a length of at most {max_length} and no incomplete token",
                hint="download the file again",
            )
        if math.isnan(score):
            raise TokenizerError(f"got {path}, whose token {len(pieces)} has the score NaN, expected a number")
        pieces.append(data[start:offset])
        scores.append(score)
    if [_byte_of(piece) for piece in pieces[FIRST_BYTE : FIRST_BYTE + 256]] != list(range(256)) or b" " not in pieces:
        raise TokenizerError(
            f"got {path} with {len(pieces)} tokens, expected three special tokens, <0x00> to <0xFF>, then others with a space among them",
            hint="write the file with tokenizer.py of llama2.c",
        )
    return Llama2cTokenizer(pieces, scores)


def _byte_of(piece: bytes) -> int | None:
    match = BYTE_PIECE.fullmatch(piece)
    return int(match[1], 16) if match else None


class Llama2cTokenizer(Tokenizer):
    """Encode and decode as run.c does."""

    def __init__(self, pieces: Sequence[bytes], scores: Sequence[float]) -> None:
        """Take the pieces, whose ids are their indices, and the score of each."""
        self.pieces, self.scores = list(pieces), list(scores)
        self.ids: dict[bytes, int] = {}
        for token_id, piece in enumerate(self.pieces):
            self.ids.setdefault(piece, token_id)
        self.bos_token_id = BOS
        # run.c stops at the bos token too: the model starts another text.
        self.eos_token_ids = (BOS, EOS)
        self.unk_token_id = UNK
        self.special_tokens = {}
        self.chat_templates = {}

    @property
    def vocab_size(self) -> int:
        """See Tokenizer."""
        return len(self.pieces)

    def encode(self, text: str, *, add_special_tokens: bool = True) -> list[int]:
        """See Tokenizer. Start from the bos token, a space and the characters (or their bytes), then merge by the highest score."""
        check_text(text)
        token_ids = [self.ids[b" "]] if text else []
        for character in text:
            data = character.encode()
            token_ids += [self.ids[data]] if data in self.ids else [byte + FIRST_BYTE for byte in data]
        return [BOS] * add_special_tokens + self._merge(token_ids)

    def _merge(self, token_ids: list[int]) -> list[int]:
        """Merge the pair of neighbors with the highest score, the leftmost of equals, until no pair forms a piece.

        run.c scans the whole text for each merge; a heap finds the same pairs in the same order.
        """
        current = list(token_ids)
        left = list(range(-1, len(current) - 1))
        right = list(range(1, len(current) + 1))
        heap: list[tuple[float, int, int, int, int]] = []

        def push_pair(first: int, second: int) -> None:
            if first >= 0 and second < len(current):
                a, b = current[first], current[second]
                merged = self.ids.get(self.pieces[a] + self.pieces[b])
                if merged is not None and self.scores[merged] > MIN_SCORE:
                    heappush(heap, (-self.scores[merged], first, a, b, merged))

        for index in range(len(current) - 1):
            push_pair(index, index + 1)
        while heap:
            _, first, a, b, merged = heappop(heap)
            second = right[first]
            if current[first] != a or second >= len(current) or current[second] != b:
                continue
            current[first], current[second] = merged, MERGED_AWAY
            right[first] = right[second]
            if right[first] < len(current):
                left[right[first]] = first
            push_pair(left[first], first)
            push_pair(first, right[first])
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
            raise TokenIdError(f"got token id {token_id}, expected 0 to {len(self.pieces) - 1}")
        return self.pieces[token_id].decode(errors="replace")

    def token_bytes(self, token_id: int) -> bytes | None:
        """See Tokenizer."""
        return None if token_id in (UNK, BOS, EOS) or not 0 <= token_id < len(self.pieces) else self._bytes(token_id, None, True)

    def stream_decoder(self, *, after: Sequence[int] = (), skip_special_tokens: bool = True) -> StreamDecoder:
        """See Tokenizer."""
        decoder = BytesStreamDecoder(lambda token_id, previous: self._bytes(token_id, previous, skip_special_tokens))
        decoder.feed_context(after)
        return decoder
