"""One step's sequences."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy

from headway.arrays import Array
from headway.trees import map_tree

IGNORED = -100
"""The target of a place where nothing is asked."""


@dataclass(frozen=True)
class Batch:
    """What the decoder reads and what it is to write; for pairs, also what the encoder reads.

    token_ids   (batch_size, seq_len) integer
    targets     (batch_size, seq_len) integer: the token that follows each one, or IGNORED
    source_ids  (batch_size, source_len) integer, for pairs
    lengths     (batch_size,) integer: how many tokens of each source are real, for pairs
    """

    token_ids: Array
    targets: Array
    source_ids: Array | None = None
    lengths: Array | None = None

    @property
    def num_targets(self) -> int:
        """How many tokens are asked for."""
        return int((self.targets != IGNORED).sum())

    def share(self, index: int, count: int) -> Batch:
        """The rows of one process among several: every count-th, from index on.

        A process that no row is left for gets the first one, with nothing asked: all have to take part in every pass.
        """
        if index < len(self.token_ids):
            return map_tree(lambda array: array[index::count], self)
        return replace(map_tree(lambda array: array[:1], self), targets=numpy.full_like(self.targets[:1], IGNORED))
