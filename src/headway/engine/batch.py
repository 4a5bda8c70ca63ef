"""Input of a pass: the rows of some sequences, which is all that a runner sees."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple, Protocol, TypeAlias

import numpy


class SequenceRows(NamedTuple):
    """The rows of one sequence in a pass: tokens to append to its KV cache.

    sequence_id  number of the sequence
    parent_id    the sequence whose cache this one continues: itself, or the one from which it was forked since the last pass
    start        position of the first token, which is the number of cached tokens
    token_ids    the tokens, at least one
    pages        page numbers of the sequence in order, enough for all its positions; -1 for a page that a sliding window has freed
    num_wanted   logits are wanted after the last num_wanted tokens
    max_len      maximum number of tokens that the sequence will have
    source_ids   prompt of an encoder–decoder, in the first rows of a sequence
    adapter      name of the adapter that the rows are computed with; None for the model itself
    """

    sequence_id: int
    parent_id: int
    start: int
    token_ids: Sequence[int]
    pages: Sequence[int]
    num_wanted: int
    max_len: int = 0
    source_ids: Sequence[int] = ()
    adapter: str | None = None


Batch: TypeAlias = Sequence[SequenceRows]


class Runner(Protocol):
    """A model that computes passes."""

    @property
    def max_rows(self) -> int:
        """Maximum number of tokens in a pass."""

    @property
    def page_size(self) -> int | None:
        """Number of tokens in a page; None if the runner keeps the cache of each sequence itself."""

    @property
    def adapters(self) -> Collection[str]:
        """Names of the adapters that rows can be computed with."""

    def remove_adapter(self, name: str, /) -> None:
        """Free an adapter, which no later batch may name."""

    def run(self, batch: Batch, /) -> numpy.ndarray:
        """Append the tokens of the batch; return the wanted logits, (sum of num_wanted, vocab_size) float32, in the order of the batch."""


class UnpagedRunner(Runner, Protocol):
    """A runner that keeps the cache of each sequence itself."""

    def release(self, sequence_ids: Sequence[int], /) -> None:
        """Forget sequences that have ended."""


class PagedRunner(Runner, Protocol):
    """A runner over a KV cache in pages, which the engine assigns to sequences."""

    @property
    def page_bytes(self) -> int:
        """Size of a page in all layers."""

    @property
    def window(self) -> int | None:
        """Number of positions that every layer is limited to; None if a layer attends to all positions."""

    def allocate(self, num_pages: int, /) -> None:
        """Provide memory for the pages 0 to num_pages - 1, keeping those that exist.

        Errors   ResourceError if there is not enough memory.
        """

    def copy_page(self, source: int, target: int, /) -> None:
        """Copy the content of a page."""
