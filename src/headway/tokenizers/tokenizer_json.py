"""Read a tokenizer.json."""

from __future__ import annotations

from pathlib import Path

import tokenizers

from headway.errors import TokenizerError
from headway.json_files import parse_json_object
from headway.tokenizers.reading import read_text


def read_tokenizer_json(path: Path) -> tokenizers.Tokenizer:
    """Load a tokenizer.json with the tokenizers library.

    Errors   TokenizerError for a file that the library cannot read.
    """
    text = read_text(path)
    parse_json_object(text, str(path), TokenizerError)
    return tokenizers.Tokenizer.from_str(text)
