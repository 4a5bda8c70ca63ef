"""Forms in which sequences and weights are passed to self-, cross- and multi-head attention."""

from __future__ import annotations

from collections.abc import Callable

import numpy

from headway.practice.exercise import Convention, Inputs, optional, unchanged
from headway.practice.recipes.encoding import without
from headway.practice.recipes.projections import PARTS
from headway.practice.texts import Texts

TEXTS = Texts("shared/projection_forms")


def _is_self_attention(inputs: Inputs) -> bool:
    return inputs["query"] is inputs["key"] and inputs["key"] is inputs["value"]


def _one_sequence(name: str) -> Callable[[Inputs], Inputs | None]:
    return lambda inputs: without(inputs, "query", "key", "value") | {name: inputs["query"]} if _is_self_attention(inputs) else None


def two_sequences(inputs: Inputs) -> Inputs | None:
    """Return the inputs with one sequence for the query and one, the context, for key and value; None if those two differ."""
    query, context = inputs["query"], inputs["key"]
    return without(inputs, "query", "key", "value") | {"query": query, "context": context} if context is inputs["value"] else None


FORMS = optional(Convention(encode=_one_sequence("x"), role="x"), Convention(encode=_one_sequence("query"), role="query"))
"""Separate query, key and value arguments, or one sequence for all three."""


def turned(inputs: Inputs) -> Inputs:
    """Return the inputs with weights transposed to (in, out)."""
    return inputs | {name: value.T for name, value in inputs.items() if name.endswith("_weight")}


def _fused(inputs: Inputs) -> Inputs:
    """Return the inputs with query, key and value weights concatenated."""
    fused = inputs | {"fused_weight": numpy.concatenate([inputs[f"{part}_weight"] for part in PARTS[:3]])}
    if "query_bias" in inputs:
        fused["fused_bias"] = numpy.concatenate([inputs[f"{part}_bias"] for part in PARTS[:3]])
    return without(fused, *(f"{part}_{kind}" for part in PARTS[:3] for kind in ("weight", "bias")))


def _fused_in_out(inputs: Inputs) -> Inputs:
    return turned(_fused(inputs))


def _layers(inputs: Inputs) -> Inputs:
    """Return the weights as in GPT-2's checkpoint: {"w": (in, out), "b": (out,)}."""
    given = _fused_in_out(inputs)
    layers = {
        name: {"w": given[name], "b": given.get(name.replace("weight", "bias"), numpy.zeros(given[name].shape[1]))}
        for name in ("fused_weight", "output_weight")
        if name in given
    }
    return without(given, "fused_bias", "output_bias") | layers


IN_OUT = TEXTS["in_out"]
WEIGHT_FORMS = optional(
    Convention(IN_OUT, turned, role="query_weight", named=r"^(?!held_)"),
    Convention(encode=_fused, role="fused_weight"),
    Convention(IN_OUT, _fused_in_out, role="fused_weight"),
    Convention(TEXTS["layers_as_dicts"], _layers, role="fused_weight"),
)
"""Forms of weights that are passed as arguments; a class's own weights are found in the instance."""


def _no_output(inputs: Inputs) -> Inputs | None:
    """Return the inputs without output projection; None if nothing is projected."""
    if "output_weight" in inputs:
        return without(inputs, "output_weight", "output_bias")
    return inputs if "query_weight" in inputs or "fused_weight" in inputs else None


WITHOUT_OUTPUT = optional(Convention(TEXTS["no_output_projection"], _no_output, steps={"output": unchanged}, without="output_weight"))
"""Presence of an output projection in functions that take weights."""
