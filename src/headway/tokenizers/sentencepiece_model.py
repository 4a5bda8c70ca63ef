"""SentencePiece model files, read with the `sentencepiece` library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from headway.errors import TokenizerError
from headway.tokenizers.sentencepiece_file import check_model

if TYPE_CHECKING:
    from sentencepiece import SentencePieceProcessor

WITHOUT_SPACE = b"\x1a\x02\x18\x00"
"""Appended to a model, sets normalizer_spec (field 3) add_dummy_prefix (field 3) to false: protobuf merges a repeated message.

Source   sentencepiece, src/sentencepiece_model.proto
"""


class PieceModel:
    """A SentencePiece model: encodes text to pieces, and decodes them."""

    def __init__(self, processor: SentencePieceProcessor) -> None:
        """Wrap a processor of the library."""
        self.processor = processor

    @cached_property
    def ids(self) -> dict[str, int]:
        """The id of each piece."""
        return {self.processor.IdToPiece(token_id): token_id for token_id in range(self.num_pieces)}

    @property
    def num_pieces(self) -> int:
        """Number of pieces."""
        return self.processor.GetPieceSize()

    def encode_ids(self, text: str) -> list[int]:
        """Return the ids of a text.

        Errors   TokenizerError if the library cannot encode the text.
        """
        try:
            return self.processor.EncodeAsIds(text)
        except (RuntimeError, ValueError) as error:
            raise TokenizerError(f"the sentencepiece library cannot encode the text: {error!s:.200}") from error

    def encode_pieces(self, text: str) -> list[str]:
        """Return the pieces of a text.

        Errors   TokenizerError if the library cannot encode the text.
        """
        try:
            return self.processor.EncodeAsPieces(text)
        except (RuntimeError, ValueError) as error:
            raise TokenizerError(f"the sentencepiece library cannot encode the text: {error!s:.200}") from error

    def decode(self, pieces: Sequence[str]) -> str:
        """Return the text of pieces.

        Errors   TokenizerError if the library cannot decode them.
        """
        try:
            return self.processor.DecodePieces(pieces)
        except (RuntimeError, ValueError) as error:
            raise TokenizerError(f"the sentencepiece library cannot decode the pieces: {error!s:.200}") from error

    def byte(self, piece: str) -> int | None:
        """Return the byte of a byte piece such as <0x0A>, or None."""
        return int(piece[3:5], 16) if self.processor.IsByte(self.processor.PieceToId(piece)) else None

    def is_control(self, piece: str) -> bool:
        """Return True for a control symbol, which has no text."""
        return self.processor.IsControl(self.processor.PieceToId(piece))


def open_model(path: Path, data: bytes) -> PieceModel:
    """Open a model file with the library.

    Errors   TokenizerError for a broken or truncated file, and if the library is not installed.
    """
    try:
        import sentencepiece
    except ImportError as error:
        raise TokenizerError(
            f"got {path} without a library to read it, expected sentencepiece", hint="install it: pip install sentencepiece"
        ) from error
    check_model(path, data)
    processor = sentencepiece.SentencePieceProcessor()
    try:
        processor.LoadFromSerializedProto(data)
        model = PieceModel(processor)
        # Fails for pieces that are not UTF-8.
        _ = model.ids
    except (RuntimeError, ValueError) as error:
        raise TokenizerError(
            f"got {path}, which the sentencepiece library cannot read ({error!s:.200}), expected a complete SentencePiece model",
            hint="download the file again",
        ) from error
    return model


def check_vocab_matches(model: PieceModel, path: Path, vocab: Mapping[str, int], vocab_name: str) -> None:
    """Raise TokenizerError if a vocabulary lacks most pieces. A few are normally missing: pieces that the training text never had."""
    processor = model.processor
    special = (processor.IsControl, processor.IsUnknown, processor.IsByte)
    pieces = [piece for piece, token_id in model.ids.items() if not any(is_kind(token_id) for is_kind in special)]
    num_missing = sum(piece not in vocab for piece in pieces)
    if num_missing * 2 > len(pieces):
        raise TokenizerError(
            f"got {path} with {len(pieces)} pieces, of which {vocab_name} lacks {num_missing}, expected files of one model",
            hint="download them again",
        )
