"""Ready-made submodules for constructors such as EncoderLayer(size, self_attn, feed_forward): correct ones in the learner's library."""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy

from headway import functions
from headway.arrays import array_namespace, from_numpy, is_boolean, to_numpy
from headway.functions import FeedForwardWeights, LinearWeights, MultiHeadAttentionWeights
from headway.practice.diagnosis.calling import DTYPES
from headway.practice.diagnosis.subject import Subject
from headway.practice.exercise import Inputs, Role

ATTENTION = "self_attn self_attention attn attention mha multi_head_attention self_attention_block attention_block self_attention_layer slf_attn self_mha"
CROSS = "src_attn cross_attn cross_attention enc_attn encoder_attention cross_attention_block enc_dec_attn encoder_decoder_attention memory_attn"
FEED_FORWARD = (
    "feed_forward ff ffn mlp feed_forward_block feedforward position_wise_feed_forward positionwise_feed_forward pos_ffn ffn_block"
)

WEIGHTS_RETURNED = r"att\w*\([^\n]*\)\s*\[0\]|,\s*\w+\s*=\s*self\.\w*att"
"""Pattern of source code in which the attention returns more than its output."""


@dataclass(frozen=True)
class Submodule:
    """Specification of a submodule.

    inner         inner width of a feed-forward; None for an attention
    has_weights   True if the attention returns (output, None), as if None were its weights
    """

    width: int
    num_heads: int
    inner: int | None = None
    has_weights: bool = False

    def made(self, library: str) -> Any:
        """Return a new submodule."""
        attention, feed_forward = _classes(library)
        return attention(self) if self.inner is None else feed_forward(self)


def submodule_roles(prefixes: list[str], subject: Subject) -> tuple[Role, ...]:
    """Return the roles of submodules for a layer with one attention per prefix."""
    has_weights = bool(re.search(WEIGHTS_RETURNED, "\n".join(subject.source)))

    def attention(inputs: Inputs) -> Submodule:
        return Submodule(inputs["down_weight"].shape[0], inputs["num_heads"], has_weights=has_weights)

    def feed_forward(inputs: Inputs) -> Submodule:
        return Submodule(inputs["down_weight"].shape[0], inputs["num_heads"], inputs["up_weight"].shape[0])

    names = [ATTENTION, CROSS][: len(prefixes)]
    attentions = [
        Role(f"{prefix}attention_part", tuple(called.split()), size_of=attention, is_submodule=True)
        for prefix, called in zip(prefixes, names, strict=True)
    ]
    return (*attentions, Role("feed_forward_part", tuple(FEED_FORWARD.split()), size_of=feed_forward, is_submodule=True))


class _Linear:
    """A linear layer with a weight of shape (out, in), for libraries that have none."""

    def __init__(self, library: str, inner: int, outer: int) -> None:
        self.weight = from_numpy(numpy.ones((outer, inner), DTYPES[library]), library)
        self.bias = from_numpy(numpy.zeros(outer, DTYPES[library]), library)


@lru_cache
def _classes(library: str) -> tuple[Any, Any]:
    """Return the attention and feed-forward classes, derived from the library's Module if it has one."""
    names = {"torch": "torch.nn", "mlx": "mlx.nn"}
    nn = importlib.import_module(names[library]) if library in names else None
    base = object if nn is None else nn.Module

    def linear(inner: int, outer: int) -> Any:
        return _Linear(library, inner, outer) if nn is None else nn.Linear(inner, outer)

    class Attention(base):  # type: ignore[misc, valid-type]
        def __init__(self, spec: Submodule) -> None:
            super().__init__()
            self.query, self.key, self.value, self.output = (linear(spec.width, spec.width) for _ in range(4))
            self.spec = spec

        def forward(self, query: Any, key: Any = None, value: Any = None, mask: Any = None, **named: Any) -> Any:
            is_mask = key is not None and value is None
            mask = key if is_mask else next((each for name, each in named.items() if "mask" in name and each is not None), mask)
            key, value = (query, query) if key is None or is_mask else (key, value)
            weights = MultiHeadAttentionWeights(_weights(self.query), _weights(self.key), _weights(self.value), _weights(self.output))
            answer = functions.multi_head_attention(query, key, value, weights, num_heads=self.spec.num_heads, mask=_read(mask))
            return (answer, None) if self.spec.has_weights else answer

    class FeedForward(base):  # type: ignore[misc, valid-type]
        def __init__(self, spec: Submodule) -> None:
            super().__init__()
            self.up, self.down = linear(spec.width, spec.inner or 0), linear(spec.inner or 0, spec.width)

        def forward(self, x: Any) -> Any:
            return functions.feed_forward(x, FeedForwardWeights(_weights(self.up), _weights(self.down)), activation=functions.relu)

    if library != "torch":
        Attention.__call__, FeedForward.__call__ = Attention.forward, FeedForward.forward
    return Attention, FeedForward


def _weights(layer: Any) -> LinearWeights:
    return LinearWeights(layer.weight, layer.bias)


def _read(mask: Any) -> Any:
    """Convert a mask to the convention of headway.functions: 1 and 0 to booleans, with an axis for the heads."""
    if mask is None:
        return None
    if not is_boolean(mask) and numpy.isin(to_numpy(mask), (0, 1)).all():
        mask = mask != 0
    return array_namespace(mask).expand_dims(mask, axis=1) if mask.ndim == 3 else mask
