"""The layers of the original Transformer in steps: attention and feed-forward, each with a norm and a residual connection."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy

from headway.functions import FeedForwardWeights, LinearWeights, MultiHeadAttentionWeights, NormWeights
from headway.practice.exercise import Convention, Inputs, Role, Step, optional
from headway.practice.recipes import activations, projections
from headway.practice.recipes.attention import few_bits
from headway.practice.roles import Roles, extent
from headway.practice.texts import Texts

TEXTS = Texts("shared/layer_conventions")
ROLES = Roles("layers", "projections")

Sublayer = Callable[[Any], Any]
Pair = tuple[Sublayer, Sublayer]
Add = Callable[[Any, Any], Any]

KINDS = ("weight", "bias")


def layer(steps: Any, x: Any, parts: Sequence[Sublayer], held: Mapping[str, Any]) -> Any:
    """Apply sublayers in turn, each with its norm and residual connection, in the steps norms, order, sublayer, add, wire."""
    norms = [_norm(steps, held.get(f"norm_{place}_weight"), held.get(f"norm_{place}_bias")) for place in range(1, len(parts) + 1)]
    pairs = steps.order(list(zip(parts, steps.norms(norms), strict=True)))
    return steps.wire(x, [(part, norm, steps.add(place)) for place, (part, norm) in enumerate(pairs)], steps.sublayer)


def _norm(steps: Any, weight: Any, bias: Any) -> Sublayer:
    return lambda x: steps.norm(x, weight, bias)


def think(steps: Any, x: Any, held: Mapping[str, Any]) -> Any:
    """Feed-forward, in the steps activation and bend."""
    up = projections.project(x, held["up_weight"], held.get("up_bias"))
    return steps.bend(up, lambda hidden: projections.project(hidden, held["down_weight"], held.get("down_bias")), steps.activation)


def attention_held(held: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the weights of one attention under the names of recipes.projections."""
    return {f"{part}_{kind}": held.get(f"{prefix}{part}_{kind}") for part in projections.PARTS for kind in KINDS}


def attention_weights(held: Mapping[str, Any], prefix: str = "") -> MultiHeadAttentionWeights:
    """Return the weights of one attention as headway.functions takes them."""
    own = attention_held(held, prefix)
    if own["output_weight"] is None:
        own["output_weight"] = projections.identity(held["down_weight"].shape[0], held["down_weight"])
    query, key, value, output = (LinearWeights(own[f"{part}_weight"], own[f"{part}_bias"]) for part in projections.PARTS)
    return MultiHeadAttentionWeights(query, key, value, output)


def feed_forward_weights(held: Mapping[str, Any]) -> FeedForwardWeights:
    """Return the feed-forward's weights as headway.functions takes them."""
    return FeedForwardWeights(*(LinearWeights(held[f"{part}_weight"], held.get(f"{part}_bias")) for part in ("up", "down")))


def norm_weights(held: Mapping[str, Any], place: int) -> NormWeights:
    """Return a norm's weights; ones and no bias if there are none."""
    weight = held.get(f"norm_{place}_weight")
    return NormWeights(numpy.ones(held["down_weight"].shape[0]) if weight is None else weight, held.get(f"norm_{place}_bias"))


def layer_norm(x: Any, weight: Any, bias: Any, ddof: int = 0) -> Any:
    """Layer norm as defined in headway.functions."""
    return activations.scaled(activations.normed(x, ddof=ddof), weight, bias)


def _of_deviation(x: Any, weight: Any, bias: Any, eps: float) -> Any:
    """Layer norm by the standard deviation plus eps."""
    return activations.scaled(activations.divided_by_deviation(x, eps=eps), weight, bias)


OF_DEVIATION = r"np\.std\([\s\S]*std\w* *\+"
"""Pattern of the source of a norm that divides by the standard deviation plus eps, in NumPy."""

SAMPLE_NORM = optional(
    Convention(
        TEXTS["norm_divides_by_sample_deviation"],
        steps={"norm": lambda x, weight, bias: layer_norm(x, weight, bias, ddof=1)},
        used_source=r"\.std\(",
    ),
    *(
        Convention(TEXTS["norm_divides_by_deviation"], steps={"norm": partial(_of_deviation, eps=eps)}, used_source=OF_DEVIATION)
        for eps in (1e-6, 1e-5)
    ),
)
"""The norm inside a layer; the one of the file is judged by itself."""

BARE_NORM: Mapping[str, Step] = {"norm": lambda x, weight, bias: layer_norm(x, None, None)}
"""The norm of a layer that has no weights for it."""


def post_norm(x: Any, part: Sublayer, norm: Sublayer, add: Add) -> Any:
    """Normalize after the residual sum, as in Vaswani et al. 2017."""
    return norm(add(x, part(x)))


def pre_norm(x: Any, part: Sublayer, norm: Sublayer, add: Add) -> Any:
    """Normalize before the sublayer, as in GPT-2."""
    return add(x, part(norm(x)))


def in_turn(x: Any, parts: Sequence[tuple[Sublayer, Sublayer, Add]], sublayer: Callable[..., Any]) -> Any:
    """Pass the output of each sublayer to the next."""
    for part, norm, add in parts:
        x = sublayer(x, part, norm, add)
    return x


def _sum(x: Any, y: Any) -> Any:
    return x + y


STEPS = projections.STEPS | {
    "norm": layer_norm,
    "sublayer": post_norm,
    "add": lambda place: _sum,
    "wire": in_turn,
    "activation": activations.relu,
    "bend": lambda hidden, down, activation: down(activation(hidden)),
}


SIZE = 100.0
"""Magnitude of the inputs, large enough that a norm's epsilon has no visible effect."""


class Draw:
    """Random sequences and weights for a layer of some width."""

    def __init__(self, seed: int, width: int, num_heads: int) -> None:
        self.random, self.width, self.num_heads = numpy.random.default_rng(seed), width, num_heads

    def sequence(self, *shape: int) -> Any:
        """Return a sequence of the layer's width."""
        return few_bits(self.random.standard_normal((*shape, self.width))) * SIZE

    def weights(self, prefixes: Sequence[str], *, biases: Sequence[str] = (), norm_biases: bool = True, norms: bool = True) -> Inputs:
        """Return all weights of a layer with one attention per prefix, with the requested biases."""
        width, inner, drawn = self.width, 4 * self.width, self.random.standard_normal
        sizes = {"query": 1 / SIZE, "key": 1 / SIZE, "value": 1.0, "output": 1.0}
        held: Inputs = {"num_heads": self.num_heads}
        for prefix in prefixes:
            held |= {f"{prefix}{part}_weight": drawn((width, width)) * (1.3 * size * width**-0.5) for part, size in sizes.items()}
            held |= {f"{prefix}{part}_bias": drawn(width) * 0.4 * SIZE * size for part, size in sizes.items() if part in biases}
        entering = SIZE if norms else 1.0  # size of what enters the feed-forward
        held |= {"up_weight": drawn((inner, width)) * (width**-0.5 / entering), "down_weight": drawn((width, inner)) * (inner**-0.5 * SIZE)}
        if "up" in biases:
            held |= {"up_bias": drawn(inner) * 0.4, "down_bias": drawn(width) * 0.4 * SIZE}
        for place in range(1, len(prefixes) + 2):
            held |= {f"norm_{place}_weight": SIZE * (1 + 0.4 * drawn(width))} if norms else {}
            held |= {f"norm_{place}_bias": SIZE * 0.4 * drawn(width)} if norms and norm_biases else {}
        return held

    def example(self, prefixes: Sequence[str]) -> Inputs:
        """Return weights with biases of zero."""
        held = self.weights(prefixes, biases=BIASED)
        return {name: numpy.zeros_like(value) if name.endswith("bias") else value for name, value in held.items()}


def single_head(held: Inputs) -> Inputs:
    """Return the weights of a layer whose attentions have one head and no output projection."""
    return {name: value for name, value in held.items() if not name.endswith(("output_weight", "output_bias", "num_heads"))}


BIASED = ("query", "key", "value", "output", "up")
PROJECTED = ("output", "up")


def weight_roles(prefixes: Sequence[str]) -> tuple[Role, ...]:
    """Return the roles of the weights of a layer with one attention per prefix."""
    own = [role for role in projections.WEIGHTS if role.is_weight]
    numbered = [*enumerate(prefixes, 1)] if len(prefixes) > 1 else [(0, prefix) for prefix in prefixes]
    attentions = tuple(
        Role(f"{prefix}{role.name}", _prefixed(role, prefix, place), is_weight=True, is_optional=role.is_optional, held_as=role.held_as)
        for place, prefix in numbered
        for role in own
    )
    feed_forward = (
        *ROLES.weights("up_weight", "down_weight"),
        *ROLES.weights("up_bias", "down_bias", is_optional=True),
    )
    norms = tuple(
        Role(f"norm_{place}_{kind}", _norm_names(place, kind), is_weight=True, is_optional=kind == "bias")
        for place in range(1, len(prefixes) + 2)
        for kind in KINDS
    )
    return (*attentions, *feed_forward, *norms)


def _prefixed(role: Role, prefix: str, place: int) -> tuple[str, ...]:
    """Return the names of a weight of one of several attentions: `self_w_q`, `w_q_self`, `w_q1`."""
    if not prefix:
        return role.called
    word, names = prefix.strip("_"), (role.name, *role.called)
    numbered = (form.format(name, place) for name in names if name[-1].isalpha() for form in ("{0}{1}", "{0}_{1}"))
    return (*(form.format(word, name) for name in names for form in ("{0}_{1}", "{1}_{0}")), *numbered)


NORM_FORMS = {
    "weight": "gamma g ln{}_g ln{}_gamma ln{}_weight norm{}_weight ln{}_w scale".split(),
    "bias": "beta ln{}_b ln{}_beta ln{}_bias norm{}_bias shift".split(),
}


def _norm_names(place: int, kind: str) -> tuple[str, ...]:
    return tuple(
        name for stem in NORM_FORMS[kind] for name in ([stem.format(place)] if "{}" in stem else [f"{stem}{place}", f"{stem}_{place}"])
    )


def _head_dim(inputs: Inputs) -> int:
    return int(inputs["down_weight"].shape[0]) // int(inputs.get("num_heads", 1))


def _longest(inputs: Inputs) -> int:
    return max(int(value.shape[-2]) for name, value in inputs.items() if name in ("x", "query", "encoder_output")) + 3


def _num_sequences(inputs: Inputs) -> int | None:
    """Return the number of sequences; None for a single one."""
    x = inputs["x" if "x" in inputs else "query"]
    return x.shape[0] if x.ndim > 2 else None


SIZES = (
    ROLES.size("hidden_size", extent("down_weight", 0)),
    ROLES.size("d_out", extent("query_weight", 0)),
    ROLES.size("head_dim", _head_dim),
    ROLES.size("value_dim", _head_dim),
    ROLES.size("intermediate_size", extent("up_weight", 0)),
    ROLES.size("num_kv_heads", lambda inputs: inputs.get("num_heads", 1)),
    ROLES.size("expansion", lambda inputs: inputs["up_weight"].shape[0] // inputs["up_weight"].shape[1]),
    ROLES.size("context_length", _longest),
    ROLES.size("seq_len", lambda inputs: max(int(inputs[name].shape[-2]) for name in ("x", "query") if name in inputs)),
    ROLES.size("batch_size", _num_sequences),
    ROLES.size("normalized_shape", lambda inputs: inputs["down_weight"].shape[:1]),
    ROLES.size("has_bias", lambda inputs: "up_bias" in inputs),
    ROLES.size("device", lambda inputs: "cpu"),
)
