"""Read a tokenizer's files; every error names the file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeGuard

from headway.errors import TokenizerError
from headway.json_files import MAX_BYTES, read_json_object

JsonObject = Mapping[str, object]
"""The object of a JSON file. Nothing about its values is checked yet."""


def read_bytes(path: Path) -> bytes:
    """Return the contents of a file.

    Errors   TokenizerError for a file that cannot be read or is larger than MAX_BYTES.
    """
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise TokenizerError(f"got {path} with {size:,} bytes, expected at most {MAX_BYTES:,}", hint="is this the right file?")
        return path.read_bytes()
    except OSError as error:
        raise TokenizerError(f"got {path}, which cannot be read ({error.strerror}), expected a readable file") from error


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file.

    Errors   TokenizerError for a file that cannot be read or is not UTF-8.
    """
    try:
        return read_bytes(path).decode()
    except UnicodeDecodeError as error:
        raise TokenizerError(f"got {path}, not UTF-8 at byte {error.start}, expected UTF-8 text", hint="download the file again") from error


def read_json(path: Path) -> JsonObject:
    """Return the object of a JSON file.

    Errors   TokenizerError for a file that cannot be read, is not JSON or holds anything but an object.
    """
    try:
        return read_json_object(path, TokenizerError)
    except OSError as error:
        raise TokenizerError(f"got {path}, which cannot be read ({error.strerror}), expected a JSON file") from error


def read_optional_json(path: Path) -> JsonObject:
    """Return the object of a JSON file, or {} if the file does not exist."""
    return read_json(path) if path.exists() else {}


def read_vocab(path: Path) -> dict[str, int]:
    """Return the token ids of a JSON file that maps tokens to ids.

    Errors   TokenizerError for an invalid file, for ids that are not integers from 0 to 2**32 - 1, and for duplicate ids.
    """
    vocab: dict[str, int] = {}
    for token, token_id in read_json(path).items():
        if not is_token_id(token_id):
            raise TokenizerError(f"got {path} with {token!r:.60}: {token_id!r:.60}, expected token ids from 0 on")
        check_token_text(token, path)
        vocab[token] = token_id
    if not vocab:
        raise TokenizerError(f"got {path} with no tokens, expected tokens and their ids")
    num_ids = len(set(vocab.values()))
    if num_ids != len(vocab):
        raise TokenizerError(f"got {path} with {len(vocab)} tokens and {num_ids} different ids, expected one id per token")
    return vocab


def is_token_id(value: object) -> TypeGuard[int]:
    """Return True for an int (not a bool) from 0 to 2**32 - 1."""
    return type(value) is int and 0 <= value < 2**32


def check_token_text(token: str, path: Path) -> None:
    """Raise TokenizerError if a token has a lone surrogate, which JSON can write and UTF-8 cannot."""
    try:
        token.encode()
    except UnicodeEncodeError as error:
        raise TokenizerError(f"got {path} with the token {token!r:.60}, expected text that has a UTF-8 form") from error
