"""Prompts of the calls of a language model: texts or token ids, one or several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, cast

import numpy

from headway.engine.option_kinds import is_integer
from headway.errors import PromptError
from headway.tokenizers import Tokenizer

Prompt: TypeAlias = str | Sequence[int] | numpy.ndarray
"""A text, or token ids."""

Prompts: TypeAlias = list[str] | list[list[int]] | list[numpy.ndarray]
"""A batch of prompts."""


def token_ids_of_prompt(prompt: object, tokenizer: Tokenizer) -> list[int]:
    """Return the token ids of a prompt.

    Errors   PromptError for anything but a text or a sequence of integers.
    """
    if isinstance(prompt, str):
        return tokenizer.encode(prompt)
    hint = "pass a str, a list of token ids, or a list of prompts"
    if not _is_sequence(prompt):
        raise PromptError(f"got a prompt of type {type(prompt).__name__}, expected a text or token ids", hint=hint)
    token_ids = list(cast(Sequence[object], prompt))
    for each in token_ids:
        if not is_integer(each):
            raise PromptError(f"got a prompt with an element of type {type(each).__name__}, expected integers", hint=hint)
    return [int(cast(int, token_id)) for token_id in token_ids]


def is_batch(prompt: object) -> bool:
    """Return True for a sequence of prompts, False for one prompt."""
    if not _is_sequence(prompt):
        return False
    first = next(iter(cast(Sequence[object], prompt)), None)
    return isinstance(first, str) or _is_sequence(first)


def _is_sequence(value: object) -> bool:
    """Return True for a list, a tuple, another sequence, or a NumPy array; False for strings and bytes."""
    if isinstance(value, numpy.ndarray):
        return value.ndim > 0
    return isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray | memoryview)
