"""What the decoder of an encoder–decoder sees of the text that its encoder read."""

from __future__ import annotations

from dataclasses import dataclass

from headway.arrays import Array


@dataclass(frozen=True)
class Source:
    """An encoder's output as every decoder layer attends to it, computed once for a whole generation.

    layers   for each layer its cross-attention's keys and values, both (batch_size, num_heads, source_len, head_dim)
    mask     (batch_size, 1, 1, source_len) boolean, False at padding; None where there is none
    """

    layers: tuple[tuple[Array, Array], ...]
    mask: Array | None = None
