"""Check a SentencePiece model before the `sentencepiece` library reads it.

The library trusts its files: a broken table of the normalizer makes it read outside the table or run without end.

Source   sentencepiece, src/sentencepiece_model.proto; darts-clone, include/darts.h
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from headway.errors import TokenizerError

PIECES, NORMALIZER, DENORMALIZER, SELF_TEST = 1, 3, 5, 4
"""Fields of ModelProto. The library itself checks the pieces: their text, scores and types."""
CHARSMAP = 2
"""Field of NormalizerSpec."""
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
"""Wire types of protobuf."""
MAX_PIECES = 2_000_000
UNITS_PER_BLOCK = 256

Field = tuple[int, int, bytes | int]
"""Number, wire type and value of a protobuf field."""


def check_model(path: Path, data: bytes) -> None:
    """Raise TokenizerError for a model that is truncated, not protobuf, or has invalid pieces or normalizer tables."""
    try:
        _check(data)
    except ValueError as error:
        raise TokenizerError(f"got {path}, {error}, expected a complete SentencePiece model", hint="download the file again") from error


def _check(data: bytes) -> None:
    num_pieces = 0
    has_normalizer = False
    for number, wire_type, value in _fields(data):
        if number == PIECES:
            num_pieces += 1
        elif number in (NORMALIZER, DENORMALIZER):
            has_normalizer = has_normalizer or number == NORMALIZER
            _check_normalizer(_message(value))
        elif number == SELF_TEST and wire_type != BYTES:
            raise ValueError("with self-test data that is not a message")
        if num_pieces > MAX_PIECES:
            raise ValueError(f"with more than {MAX_PIECES:,} pieces")
    # The pieces come first and the normalizer last, so a file that is truncated between two fields has no normalizer.
    if not has_normalizer:
        raise ValueError(f"truncated after {num_pieces} pieces")


def _message(value: bytes | int) -> bytes:
    if not isinstance(value, bytes):
        raise ValueError("with a number in place of a message")
    return value


def _check_normalizer(data: bytes) -> None:
    for number, _, value in _fields(data):
        if number == CHARSMAP and _message(value):
            check_charsmap(_message(value))


def check_charsmap(data: bytes) -> None:
    """Raise ValueError for a table of the normalizer that leads outside itself.

    The table is the size of a double-array trie in bytes (uint32), the trie (uint32 units), and zero-terminated UTF-8 texts. The child of
    the node at unit `i` for a byte `c` is at `i ^ offset(unit) ^ c`; a node with a value has it, an index into the texts, at `i ^ offset`.
    """
    # NumPy takes 0.1 s to import, which a program without SentencePiece files does not need.
    import numpy as np

    size = struct.unpack_from("<I", data)[0] if len(data) >= 4 else 0
    texts = data[4 + size :]
    if not size or size % (4 * UNITS_PER_BLOCK) or 4 + size >= len(data) or texts[-1] != 0:
        raise ValueError("with a broken normalizer table")
    try:
        texts.decode()
    except UnicodeDecodeError:
        raise ValueError("with a normalizer table whose texts are not UTF-8") from None
    units = np.frombuffer(data, "<u4", size // 4, offset=4).astype(np.int64)
    index = np.arange(len(units))
    bases = index ^ ((units >> 10) << ((units & (1 << 9)) >> 6))
    # Units with the highest bit set are values. No path leads through them, except through unit 0, the root.
    is_node = (units < 1 << 31) | (index == 0)
    if (bases[is_node] | 0xFF).max() >= len(units):
        raise ValueError("with a normalizer table that leads outside itself")
    values = units[bases[is_node & ((units >> 8) & 1 == 1)]] & 0x7FFF_FFFF
    if len(values) and values.max() >= len(texts):
        raise ValueError("with a normalizer table whose texts are missing")


def _fields(data: bytes) -> Iterator[Field]:
    """Yield the fields of a protobuf message.

    Errors   ValueError for a message that ends inside a field, and for unknown wire types.
    """
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        wire_type = tag & 7
        if not tag >> 3:
            raise ValueError("with a field number 0")
        if wire_type == VARINT:
            number, position = _varint(data, position)
            yield tag >> 3, wire_type, number
            continue
        if wire_type == BYTES:
            length, position = _varint(data, position)
        elif wire_type in (FIXED32, FIXED64):
            length = 4 if wire_type == FIXED32 else 8
        else:
            raise ValueError(f"with a field of wire type {wire_type}")
        if position + length > len(data):
            raise ValueError("truncated")
        yield tag >> 3, wire_type, data[position : position + length]
        position += length


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while position < len(data) and shift < 70:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return value, position
        shift += 7
    raise ValueError("truncated")
