"""Operations that record: a namespace with the names of headway.functions, passed to a model as `ops`."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, TypeAlias

import numpy

from headway import functions
from headway.arrays import Array
from headway.functions import MultiHeadAttentionWeights
from headway.trees import leaves

Operation: TypeAlias = Callable[..., Array]


@dataclass(frozen=True)
class Ablation:
    """A part of the stack to switch off: a head of a layer's self-attention, or with head=None all that the layer adds."""

    layer: int
    head: int | None = None


@dataclass(frozen=True)
class Attended:
    """One attention of a pass.

    weights    (batch_size, num_heads, query_len, key_len); where a head has a sink, its rows sum to less than 1
    residual   residual stream that enters the layer; None for cross-attention
    """

    is_cross: bool
    num_kv_heads: int
    weights: numpy.ndarray
    residual: Array | None


@dataclass(frozen=True)
class _Norm:
    """A norm that was computed, with its arguments, so that it can be applied to other inputs."""

    name: str
    x: Array
    result: Array
    args: tuple[object, ...]
    kwargs: dict[str, object]
    layer: str | None


class Recorder:
    """Attention weights and residual streams of the passes that use `ops`.

    weights   the model's weight tree; it says to which layer a norm belongs
    ablated   parts to switch off, of the passes while `can_ablate` is True
    """

    def __init__(self, weights: object, ablated: Collection[Ablation] = ()) -> None:
        self.ablated = frozenset(ablated)
        self.can_ablate = True
        self.attended: list[Attended] = []
        self.norms: list[_Norm] = []
        self.num_self, self.num_feed_forward = 0, 0
        self._is_cross = self._has_sinks = self._is_in_feed_forward = False
        self._residual: Array | None = None
        self._layer_of = {id(leaf): _layer(path) for path, leaf in leaves(weights)}
        self.ops = SimpleNamespace(
            **{name: getattr(functions, name) for name in functions.__all__}
            | {
                "multi_head_attention": self._self_attention,
                "cross_attention": self._cross_attention,
                "scaled_dot_product_attention": self._attend,
                "attention_with_sinks": self._attend_with_sinks,
                "rms_norm": self._norm("rms_norm"),
                "layer_norm": self._norm("layer_norm"),
                "feed_forward": self._feed_forward("feed_forward"),
                "gated_feed_forward": self._feed_forward("gated_feed_forward"),
                "mixture_of_experts": self._feed_forward("mixture_of_experts"),
            }
        )

    def begin(self, *, can_ablate: bool) -> None:
        """Begin a stack of layers, such as the decoder after the encoder."""
        self.can_ablate = can_ablate
        self.attended, self.norms, self.num_self, self.num_feed_forward = [], [], 0, 0

    def final_norm(self, hidden: Array) -> _Norm | None:
        """Return the norm after the last layer whose result these hidden states are; None for a model without one."""
        return next((each for each in reversed(self.norms) if each.result is hidden and each.layer is None), None)

    def _self_attention(self, query: Array, key: Array, value: Array, weights: MultiHeadAttentionWeights, **options: Any) -> Array:
        norm = next((each for each in reversed(self.norms) if each.result is query), None)
        layer = self._layer_of.get(id(weights.query.weight))
        is_before = norm is not None and norm.layer is not None and norm.layer == layer  # a post-norm belongs to the layer before
        self._residual = norm.x if norm is not None and is_before else query
        is_cross, self._is_cross = self._is_cross, key is not query
        result = functions.multi_head_attention(query, key, value, weights, **options)
        self._is_cross = is_cross
        return self._unless_off(result, self.num_self - 1)

    def _cross_attention(self, *args: Any, **options: Any) -> Array:
        self._is_cross = True
        result = functions.cross_attention(*args, **options)
        self._is_cross = False
        return self._unless_off(result, self.num_self - 1)

    def _attend_with_sinks(self, *args: Any, **options: Any) -> Array:
        self._has_sinks = True
        result = functions.attention_with_sinks(*args, **options | {"ops": self.ops})
        self._has_sinks = False
        return result

    def _attend(self, query: Array, key: Array, value: Array, mask: Array | None = None, **options: Any) -> Array:
        weights = numpy.asarray(functions.attention_weights(query, key, mask, **options))
        if self._has_sinks:  # the last key is the sink, which is no position
            weights = weights[..., :-1]
        residual = None if self._is_cross else self._residual
        self.attended.append(Attended(self._is_cross, key.shape[-3], weights, residual))
        result = functions.scaled_dot_product_attention(query, key, value, mask, **options)
        if not self._is_cross:
            off = [head for head in range(query.shape[-3]) if self._is_off(Ablation(self.num_self, head))]
            self.num_self += 1
            if off:
                result = numpy.array(result)
                result[..., off, :, :] = 0
        return result

    def _norm(self, name: str) -> Operation:
        def norm(x: Array, *args: object, **kwargs: object) -> Array:
            result: Array = getattr(functions, name)(x, *args, **kwargs)
            weight = args[0] if args else kwargs.get("weight")
            self.norms.append(_Norm(name, x, result, args, kwargs, self._layer_of.get(id(weight))))
            return result

        return norm

    def _feed_forward(self, name: str) -> Operation:
        def feed_forward(*args: object, **kwargs: object) -> Array:
            is_expert, self._is_in_feed_forward = self._is_in_feed_forward, True
            result: Array = getattr(functions, name)(*args, **kwargs)
            self._is_in_feed_forward = is_expert
            if is_expert:
                return result
            self.num_feed_forward += 1
            return self._unless_off(result, self.num_feed_forward - 1)

        return feed_forward

    def _unless_off(self, result: Array, layer: int) -> Array:
        return numpy.zeros_like(result) if self._is_off(Ablation(layer)) else result

    def _is_off(self, part: Ablation) -> bool:
        return self.can_ablate and part in self.ablated


def applied(norm: _Norm | None, x: Array) -> Array:
    """Return x after a norm with the arguments that were recorded; x itself without one."""
    if norm is None:
        return x
    result: Array = getattr(functions, norm.name)(x, *norm.args, **norm.kwargs)
    return result


def _layer(path: str) -> str | None:
    """Return the layer that the path of a weight is in: "decoder.layers.3"; None outside the layers."""
    match = re.match(r"(.*?\b\d+)\.", path)
    return match[1] if match else None
