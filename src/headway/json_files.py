"""Reading JSON files from unknown sources, with limits on size, depth and digits."""

from __future__ import annotations

import json
import reprlib
from pathlib import Path
from typing import Any

from headway.errors import CheckpointError, HeadwayError

MAX_BYTES = 256 * 1024 * 1024
"""Largest file that is read; the largest tokenizer.json published so far has about 35 MB."""

MAX_DIGITS = 40
"""Most digits of an integer. Tokenizers write 1e30, with 31 digits, as model_max_length for no limit."""

_HINT = "correct the file, or download it again"


def read_json_object(path: Path, error: type[HeadwayError] = CheckpointError) -> dict[str, Any]:
    """Return the object in a JSON file.

    error    the exception class for a file that is too large, not JSON, nested too deeply, or not an object

    Errors   `error` as above; OSError as reading raises it.
    """
    return parse_json_object(_read(path, error), str(path), error)


def read_json_array(path: Path, error: type[HeadwayError] = CheckpointError) -> list[Any]:
    """Return the array in a JSON file; arguments and errors as in read_json_object."""
    return _parse(_read(path, error), str(path), error, list, "an array")


def parse_json_object(text: str | bytes, name: str, error: type[HeadwayError] = CheckpointError) -> dict[str, Any]:
    """Return the object in JSON text; `name` is what error messages call the text.

    Errors   `error` for text that is not JSON, not UTF-8, nested too deeply, or not an object, and for integers over 40 digits.
    """
    return _parse(text, name, error, dict, "an object")


def short_repr(value: object) -> str:
    """Return repr(value), cut to 120 characters: values from files can be long, deep, or not printable."""
    text = _SHORT.repr(value)
    return text if len(text) <= 120 else f"{text[:117]}..."


_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 80
_SHORT.maxlist = _SHORT.maxdict = _SHORT.maxtuple = 8
_SHORT.maxlevel = 3


def _read(path: Path, error: type[HeadwayError]) -> bytes:
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise error(f"got {path} with {size:,} bytes, expected at most {MAX_BYTES:,}", hint="check that this is the right file")
    return path.read_bytes()


def _parse(text: str | bytes, name: str, error: type[HeadwayError], kind: type, kind_name: str) -> Any:
    try:
        value = json.loads(text.decode("utf-8-sig") if isinstance(text, bytes) else text, parse_int=_parse_int)
    except RecursionError:
        raise error(f"got {name} with JSON nested too deeply, expected at most a few hundred levels", hint=_HINT) from None
    except ValueError as cause:
        raise error(f"got {name} that is not JSON ({cause}), expected a JSON file", hint=_HINT) from cause
    if not isinstance(value, kind):
        raise error(f"got {name} with a JSON {type(value).__name__}, expected {kind_name}", hint=_HINT)
    return value


def _parse_int(digits: str) -> int:
    if len(digits.lstrip("-")) > MAX_DIGITS:
        raise ValueError(f"an integer of {len(digits)} digits")
    return int(digits)
