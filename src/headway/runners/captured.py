"""A decoder on PyTorch whose decode steps are captured as CUDA graphs, as a runner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy

from headway.engine import Batch
from headway.errors import UnsupportedError
from headway.models.adapter import Update
from headway.runners.model import Model
from headway.runners.protocols import CapturedDecoder, KVCache
from headway.runners.reference import Group, ReferenceRunner


class CapturedRunner(ReferenceRunner):
    """Runs a decoder by its captured twin: see headway.kernels.captured_decoder."""

    has_fixed_batch_size = True

    def __init__(self, model: Model, decoder: CapturedDecoder) -> None:
        """Start without sequences."""
        super().__init__(model)
        self.decoder = decoder

    def add_adapter(self, name: str, updates: Mapping[str, Update]) -> None:
        """Raise UnsupportedError: captured steps have no adapters."""
        raise UnsupportedError(
            f"got the adapter {name!r:.200} for a decoder of captured CUDA graphs, expected one that runs the definitions",
            hint='load the model with weights="none"',
        )

    def _next_logits(self, group: Group, batch: Batch) -> numpy.ndarray:
        (cache,) = group.kv_cache
        return self.decoder.next_logits([rows.token_ids for rows in batch], cache)

    def _empty_kv_cache(self, num_rows: int, max_seq_len: int) -> Sequence[KVCache]:
        return [self.decoder.new_cache(num_rows, max_seq_len)]
