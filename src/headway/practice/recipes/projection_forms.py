"""Forms in which sequences and weights are passed to self-, cross- and multi-head attention."""

from __future__ import annotations

from collections.abc import Callable

import numpy

from headway.practice.exercise import Convention, Inputs, Step, optional, unchanged
from headway.practice.recipes.encoding import without
from headway.practice.recipes.projections import PARTS, interleaved, interleaved_again, joined_weights
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


def query_and_keys(inputs: Inputs) -> Inputs | None:
    """Return the inputs without the value for a function that computes keys and values from its keys; None if those two differ."""
    return without(inputs, "value") if inputs["key"] is inputs["value"] else None


def _in_one_list(*names: str) -> Callable[[Inputs], Inputs | None]:
    """Return an encoding that passes operands as one list; None for inputs with a mask that has no place in it."""

    def encode(inputs: Inputs) -> Inputs | None:
        if "mask" in inputs and "mask" not in names:
            return None
        return without(inputs, *names) | {"x": [inputs.get(name) for name in names]}

    return encode


UNPACKED = r"\[0\][\s\S]*\[1\][\s\S]*\[2\]|\w+, *\w+, *\w+ *= *\w+\n"
"""Pattern of the source of a function that takes the elements of a list."""
FORMS = optional(
    Convention(encode=_one_sequence("x"), role="x"),
    Convention(encode=_one_sequence("query"), role="query"),
    Convention(TEXTS["in_one_list"], _in_one_list("query", "key", "value"), role="x", used_source=UNPACKED),
    Convention(
        TEXTS["in_one_list"], _in_one_list("query", "key", "value", "mask"), role="x", used_source=r"\w+, *\w+, *\w+, *\w+ *= *\w+\n"
    ),
)
"""Separate query, key and value arguments, one sequence for all three, or a list of the three."""


def turned(inputs: Inputs) -> Inputs:
    """Return the inputs with weights transposed to (in, out)."""
    return inputs | {name: value.T for name, value in inputs.items() if name.endswith("_weight")}


def _fused(inputs: Inputs) -> Inputs:
    """Return the inputs with query, key and value weights concatenated."""
    fused = inputs | {"fused_weight": joined_weights(inputs)}
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


def _wide(inputs: Inputs) -> Inputs | None:
    """Return weights whose heads are as wide as the input, with zeros for the additional rows.

    The queries are scaled so that a scale by the root of the larger width gives the same scores.
    """
    heads, width = inputs.get("num_heads", 1), inputs["query_weight"].shape[1]
    own = len(inputs["query_weight"]) // heads
    if own > width or len(inputs["value_weight"]) != heads * own or any(inputs[f"{part}_weight"].shape[1] != width for part in PARTS[:3]):
        return None

    def widened(array: numpy.ndarray, axis: int) -> numpy.ndarray:
        parts = numpy.moveaxis(array, axis, 0).reshape(heads, own, -1)
        wide = numpy.concatenate([parts, numpy.zeros((heads, width - own, parts.shape[2]))], axis=1).reshape(heads * width, -1)
        return numpy.moveaxis(wide.reshape(heads * width, *numpy.delete(array.shape, axis)), 0, axis)

    found = dict(inputs)
    for part in PARTS[:3]:
        factor = (width / own) ** 0.5 if part == PARTS[0] else 1.0
        found |= {name: widened(inputs[name] * factor, 0) for name in (f"{part}_weight", f"{part}_bias") if inputs.get(name) is not None}
    return found | ({"output_weight": widened(inputs["output_weight"], 1)} if inputs.get("output_weight") is not None else {})


OF_HEADS = r"(self\.)?(n_?|num_?)?heads?"
WIDE = rf"Linear\(\s*(self\.)?(?P<width>\w+), *((self\.)?(?P=width) *\* *{OF_HEADS}|{OF_HEADS} *\* *(self\.)?(?P=width))\b"
"""Pattern of the source of an attention whose heads are as wide as its input, as in "Transformers from scratch" by Peter Bloem."""

IN_OUT = TEXTS["in_out"]
WEIGHT_FORMS = optional(
    Convention(IN_OUT, turned, role="query_weight", named=r"^(?!held_)"),
    Convention(encode=_fused, role="fused_weight"),
    Convention(IN_OUT, _fused_in_out, role="fused_weight"),
    Convention(TEXTS["layers_as_dicts"], _layers, role="fused_weight"),
    Convention(TEXTS["wide_heads"], _wide, role="query_weight", source=WIDE),
)
"""Forms of weights that are passed as arguments; a class's own weights are found in the instance."""


INTERLEAVED = r"(\b(\w+_)?(dims?|d\w?|d_\w+|size|depth|hs|hd)|-1),\s*(self\.)?((n|num|nb)_?)?(heads?|h)\s*,?\s*\)|\(\s*\w+ +((n|num)_?)?h(eads?)?\s*\)[^'\"\n]*->"
"""Pattern of the source of an attention that splits the width into (head_dim, heads)."""
SPLITS: tuple[dict[str, Step], ...] = ({"split": interleaved}, {"split": interleaved, "merge": interleaved_again})
HEADS = optional(
    *(Convention(TEXTS["heads_interleaved"], steps=steps, role="query_weight", named=r"^weight__", source=INTERLEAVED) for steps in SPLITS),
)
"""Columns of each head in a class with its own projections, whose columns may have any order."""


def _no_output(inputs: Inputs) -> Inputs | None:
    """Return the inputs without output projection; None if nothing is projected."""
    if "output_weight" in inputs:
        return without(inputs, "output_weight", "output_bias")
    return inputs if "query_weight" in inputs or "fused_weight" in inputs else None


WITHOUT_OUTPUT = optional(Convention(TEXTS["no_output_projection"], _no_output, steps={"output": unchanged}, without="output_weight"))
"""Presence of an output projection in functions that take weights."""
