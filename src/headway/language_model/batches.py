"""Checked texts, and batches of texts of similar length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy

from headway.engine.option_kinds import is_integer
from headway.errors import OptionError, PromptError

JAX_LENGTHS = 16
"""Batches are padded to a multiple of this length on JAX, which compiles a function for every shape."""


def check_texts(texts: Sequence[Any], batch_size: int, *, may_be_pairs: bool = False) -> list[Any]:
    """Return texts as a list.

    Errors   PromptError for no texts, or for one that is not a string, or a pair of strings where pairs are allowed; OptionError for a
             batch_size below 1.
    """
    if isinstance(texts, str):
        raise PromptError("got a string, expected a list of texts", hint="write [text]")
    if not isinstance(texts, Sequence | numpy.ndarray):
        raise PromptError(f"got texts of type {type(texts).__name__}, expected a list of texts")
    wrong = [each for each in texts if not isinstance(each, str) and not (may_be_pairs and _is_pair(each))]
    if wrong:
        expected = "strings or pairs of strings" if may_be_pairs else "strings"
        raise PromptError(f"got {wrong[0]!r:.100} among the texts, expected {expected}")
    if not len(texts):
        raise PromptError("got no texts, expected at least one")
    if not is_integer(batch_size) or batch_size < 1:
        raise OptionError(f"got batch_size={batch_size!r:.100}, expected an integer of at least 1")
    return list(texts)


def batches(lengths: Sequence[int], batch_size: int) -> Iterator[list[int]]:
    """Yield batches of indices, longest texts first; no text of a batch is shorter than half of its longest."""
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda index: lengths[index], reverse=True):
        if batch and (len(batch) == batch_size or 2 * lengths[index] < lengths[batch[0]]):
            yield batch
            batch = []
        batch.append(index)
    yield batch


def padded_length(longest: int, array: str, max_seq_len: int | None) -> int:
    """Return the number of columns of a batch whose longest text has this number of tokens."""
    if array != "jax":
        return longest
    rounded = -(-longest // JAX_LENGTHS) * JAX_LENGTHS
    return max(longest, min(rounded, max_seq_len or rounded))


def _is_pair(value: object) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and all(isinstance(each, str) for each in value)
