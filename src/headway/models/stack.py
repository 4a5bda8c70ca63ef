"""What a compiled decoder needs to know of an architecture, beyond its weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy

from headway.models.rope import rotary_tables


@dataclass(frozen=True)
class Stack:
    """A pre-norm decoder: norm, attention, norm, feed-forward, each time added to what came in; a norm and the head above.

    norm      layer_norm or rms_norm
    scales    by layer, what the scores are multiplied by
    windows   by layer, how many positions a token sees; None for all
    rotary    from a number of positions to their cosines and sines, (num_positions, head_dim // 2) each; None where there is none
    """

    num_layers: int
    hidden_size: int
    intermediate_size: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    norm: str
    eps: float
    activation: str
    scales: tuple[float, ...]
    windows: tuple[int | None, ...]
    rotary: Callable[[int], tuple[Any, Any]] | None = None


def rotary_stack(config: Any, activation: str, windows: tuple[int | None, ...]) -> Stack:
    """The stack of Llama and those like it."""

    def rotary(num_positions: int) -> tuple[Any, Any]:
        places = numpy.arange(num_positions)[None]
        cos, sin = rotary_tables(places, config.head_dim, config.rope_parameters, like=numpy.zeros(0, numpy.float32))
        return cos[0, 0], sin[0, 0]

    return Stack(
        config.num_hidden_layers,
        config.hidden_size,
        config.intermediate_size,
        config.num_attention_heads,
        config.num_key_value_heads,
        config.head_dim,
        "rms_norm",
        config.rms_norm_eps,
        activation,
        (config.head_dim**-0.5,) * config.num_hidden_layers,
        windows,
        rotary,
    )
