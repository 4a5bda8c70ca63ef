"""Reading JSON files that somebody else wrote, with limits on size, depth and digits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from headway.errors import CheckpointError, HeadwayError

MAX_BYTES = 256 * 1024 * 1024
"""Largest file that is read; the largest tokenizer.json published so far has about 35 MB."""

MAX_DIGITS = 20
"""Most digits of an integer; 2**64 has 20."""


def read_json_object(path: Path, error: type[HeadwayError] = CheckpointError) -> dict[str, Any]:
    """Return the object in a JSON file.

    error    the exception class for a file that is too large, not JSON, nested too deeply, or not an object

    Errors   `error` as above; OSError as reading raises it.
    """
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise error(f"got {path} with {size:,} bytes, expected at most {MAX_BYTES:,}", hint="is this the right file?")
    return parse_json_object(path.read_bytes(), str(path), error)


def parse_json_object(text: str | bytes, name: str, error: type[HeadwayError] = CheckpointError) -> dict[str, Any]:
    """Return the object in JSON text; `name` is what error messages call the text.

    Errors   `error` for text that is not JSON, not UTF-8, nested too deeply, or not an object, and for integers over 20 digits.
    """
    try:
        value = json.loads(text.decode("utf-8-sig") if isinstance(text, bytes) else text, parse_int=_parse_int)
    except RecursionError:
        raise error(
            f"got {name} with JSON nested too deeply, expected at most a few hundred levels", hint="download the file again"
        ) from None
    except ValueError as cause:
        raise error(f"got {name} that is not JSON ({cause}), expected a JSON object", hint="download the file again") from cause
    if not isinstance(value, dict):
        raise error(f"got {name} with a JSON {type(value).__name__}, expected an object", hint="download the file again")
    return value


def _parse_int(digits: str) -> int:
    if len(digits.lstrip("-")) > MAX_DIGITS:
        raise ValueError(f"an integer of {len(digits)} digits")
    return int(digits)
