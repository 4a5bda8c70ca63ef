"""The description of an architecture that a compiled decoder needs in addition to the weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy

from headway.models.rope import rotary_tables

if TYPE_CHECKING:
    from headway.models import llama, qwen2, qwen3


@dataclass(frozen=True)
class Stack:
    """A pre-norm decoder: layers of attention and feed-forward, each with a norm and a residual connection, then a norm and the head.

    norm      layer_norm or rms_norm
    scales    factor of the attention scores, by layer
    windows   number of positions that a token attends to, by layer; None for all
    rotary    returns the cosines and sines of the first n positions, (n, head_dim // 2) each; None without rotary positions
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
    rotary: Callable[[int], tuple[numpy.ndarray, numpy.ndarray]] | None = None


def rotary_stack(config: llama.Config | qwen2.Config | qwen3.Config, activation: str, windows: tuple[int | None, ...]) -> Stack:
    """Return the Stack of Llama, Qwen2 or Qwen3."""

    def rotary(num_positions: int) -> tuple[numpy.ndarray, numpy.ndarray]:
        positions = numpy.arange(num_positions)[None]
        cos, sin = rotary_tables(positions, config.head_dim, config.rope_parameters, like=numpy.zeros(0, numpy.float32))
        return numpy.asarray(cos)[0, 0], numpy.asarray(sin)[0, 0]

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
