"""The sequences of one training step."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy

from headway.trees import map_tree

if TYPE_CHECKING:
    import torch

IGNORED = -100
"""Target of a position that is not part of the loss."""

Ids: TypeAlias = "numpy.ndarray | torch.Tensor"


@dataclass(frozen=True)
class Batch:
    """Inputs and targets of one step.

    token_ids   (batch_size, seq_len) integer: input of the decoder
    targets     (batch_size, seq_len) integer: the next token of each position, or IGNORED
    source_ids  (batch_size, source_len) integer: input of the encoder, for pairs
    lengths     (batch_size,) integer: number of tokens of each source, padding not included, for pairs
    """

    token_ids: Ids
    targets: Ids
    source_ids: Ids | None = None
    lengths: Ids | None = None

    @property
    def num_targets(self) -> int:
        """Number of targets in the loss."""
        is_counted: Ids = self.targets != IGNORED
        return int(is_counted.sum())

    def shard(self, index: int, count: int) -> Batch:
        """Return the rows of process `index` of `count`: every count-th row, starting at index.

        All processes have to take part in every pass. With fewer rows than processes, the rest get the first row without targets.
        """
        if index < len(self.token_ids):
            return map_tree(lambda array: array[index::count], self)
        return replace(map_tree(lambda array: array[:1], self), targets=numpy.full_like(self.targets[:1], IGNORED))
