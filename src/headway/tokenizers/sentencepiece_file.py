"""Check the protobuf of a SentencePiece model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from headway.errors import TokenizerError

NORMALIZER_FIELD = 3


def check_model(path: Path, data: bytes) -> None:
    """Raise TokenizerError for a truncated model."""
    try:
        fields = list(_fields(data))
    except IndexError:
        fields = []
    if NORMALIZER_FIELD not in fields:
        raise TokenizerError(
            f"got {path}, truncated, expected a complete SentencePiece model",
            hint="download the file again",
        )


def _fields(data: bytes) -> Iterator[int]:
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
