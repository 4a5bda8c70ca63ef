"""A model file of SentencePiece, through the library of that name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from headway.errors import TokenizerError

NORMALIZER_FIELD = 3
WITHOUT_SPACE = b"\x1a\x02\x18\x00"
"""Behind a model file: its field 3, normalizer_spec, whose field 3, add_dummy_prefix, is false. A message read twice is merged.

Source   sentencepiece, src/sentencepiece_model.proto
"""


def read_bytes(path: Path) -> bytes:
    """A file as it is.

    Errors   TokenizerError where it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise TokenizerError(f"came: {path}, which cannot be read ({error.strerror}); expected: a SentencePiece model") from error


def open_processor(path: Path, data: bytes) -> Any:
    """The library's processor of a model file.

    The library reads files that end between two of their fields: the pieces come first, how text is normalized comes last.

    Errors   TokenizerError where it is broken or cut off, and where the library is not installed.
    """
    try:
        import sentencepiece
    except ImportError as error:
        raise TokenizerError(
            f"came: {path}, and no library to read it; expected: sentencepiece; install it: pip install sentencepiece"
        ) from error
    remedy = "expected: a SentencePiece model, whole; download it again"
    processor = sentencepiece.SentencePieceProcessor()
    try:
        processor.LoadFromSerializedProto(data)
    except RuntimeError as error:
        raise TokenizerError(f"came: {path}, which the sentencepiece library does not read ({error}); {remedy}") from error
    if NORMALIZER_FIELD not in _fields(data):
        raise TokenizerError(f"came: {path}, cut off behind {processor.get_piece_size()} pieces; {remedy}")
    return processor


def piece_ids(processor: Any) -> dict[str, int]:
    """The pieces of a model file, and their places in it."""
    return {processor.id_to_piece(token_id): token_id for token_id in range(processor.get_piece_size())}


def check_together(processor: Any, path: Path, ids: Mapping[str, int], vocab_name: str) -> None:
    """Refuse a vocabulary that lacks most pieces. Of a model's own, few are missing: those that its training text never had."""
    special = (processor.is_control, processor.is_unknown, processor.is_byte)
    pieces = [piece for piece, token_id in piece_ids(processor).items() if not any(is_kind(token_id) for is_kind in special)]
    missing = sum(piece not in ids for piece in pieces)
    if missing * 2 > len(pieces):
        raise TokenizerError(
            f"came: {path}, of whose {len(pieces)} pieces {vocab_name} lacks {missing}; expected: files of one model; download them again"
        )


def _fields(data: bytes) -> Iterator[int]:
    """The numbers of a message's fields, all of which have a length."""
    place = 0
    while place < len(data):
        tag, place = _varint(data, place)
        length, place = _varint(data, place)
        place += length
        yield tag >> 3


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while data[place] & 0x80:
        value |= (data[place] & 0x7F) << shift
        place, shift = place + 1, shift + 7
    return value | data[place] << shift, place + 1
