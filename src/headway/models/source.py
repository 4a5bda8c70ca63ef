"""The encoder's output in the form that the decoder of an encoder–decoder attends to."""

from __future__ import annotations

from dataclasses import dataclass

from headway.arrays import Array


@dataclass(frozen=True)
class Source:
    """Keys and values of the cross-attention, computed once per generation.

    layers   the keys and values of each decoder layer, both (batch_size, num_heads, source_len, head_dim)
    mask     (batch_size, 1, 1, source_len) boolean, False at padding; None without padding
    """

    layers: tuple[tuple[Array, Array], ...]
    mask: Array | None = None
