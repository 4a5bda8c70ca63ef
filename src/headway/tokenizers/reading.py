"""Reading a tokenizer's files, with errors that name the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from headway.errors import TokenizerError


def read_text(path: Path) -> str:
    """A UTF-8 file.

    Errors   TokenizerError where it cannot be read.
    """
    try:
        return path.read_bytes().decode()
    except OSError as error:
        raise TokenizerError(f"came: {path}, which cannot be read ({error.strerror}); expected: a file with text") from error
    except UnicodeDecodeError as error:
        raise TokenizerError(f"came: {path}, not UTF-8 at byte {error.start}; expected: a text file in UTF-8; download it again") from error


def read_json(path: Path) -> dict[str, Any]:
    """A JSON file that holds an object.

    Errors   TokenizerError where it is broken, cut off or holds something else.
    """
    try:
        value = json.loads(read_text(path))
    except (json.JSONDecodeError, RecursionError) as error:
        raise TokenizerError(f"came: {path}, broken or cut off ({error}); expected: a JSON file; download it again") from error
    if not isinstance(value, dict):
        raise TokenizerError(f"came: {path} with a {type(value).__name__}; expected: a JSON object, {{…}}")
    return value


def read_json_if_there(path: Path) -> dict[str, Any]:
    """A JSON file that holds an object, or {} where there is no such file."""
    return read_json(path) if path.exists() else {}


def read_vocab(path: Path) -> dict[str, int]:
    """A JSON file of tokens and their ids.

    Errors   TokenizerError where it is broken, or two tokens have one id.
    """
    vocab = read_json(path)
    wrong = [f"{token!r}: {token_id!r}" for token, token_id in vocab.items() if type(token_id) is not int or not 0 <= token_id < 2**32]
    if wrong or not vocab:
        raise TokenizerError(f"came: {path} with {wrong[0] if wrong else 'no tokens'}; expected: tokens and their ids, 0 or more")
    num_ids = len(set(vocab.values()))
    if num_ids != len(vocab):
        raise TokenizerError(f"came: {path}, which gives {len(vocab)} tokens {num_ids} ids; expected: an id of its own for each")
    return vocab
