"""Compatibility of a correct function with the calls in later files.

The check accepts many variants, such as transposed weights or attention without a causal mask. Later files call the function with
the stub's signature unless the learner changes those files too, so an incompatibility is reported but not counted as wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy

from headway.arrays import array_library, to_numpy
from headway.practice.diagnosis.files import load_module, read_source
from headway.practice.diagnosis.reading.subject import subjects_of
from headway.practice.message import Message, describe_error
from headway.practice.texts import Texts
from headway.practice.verdict import Cause, Verdict
from headway.practice.workbook.child import ask, function_of, in_library, serve
from headway.practice.workbook.parts import Part, part
from headway.practice.workbook.solutions import in_numpy

TEXTS = Texts("workbook")

TIMEOUT_SECONDS = 60.0

TOLERANCE = 0.02
"""Exceeds the difference between the two forms of gelu."""

EXAMPLES: Mapping[str, Callable[[numpy.random.Generator], tuple[list[Any], dict[str, Any]]]] = {
    "linear": lambda random: ([_draw(random, 5, 6), _draw(random, 4, 6), _draw(random, 4)], {}),
    "scaled_dot_product_attention": lambda random: ([_draw(random, 2, 5, 3) for _ in range(3)], {"is_causal": True}),
    "multi_head_attention": lambda random: ([_draw(random, 5, 6), _layer(random, 6, 18), _layer(random, 6, 6), 2], {}),
    "feed_forward": lambda random: (
        [_draw(random, 5, 6), _draw(random, 8, 6), _draw(random, 8), _draw(random, 6, 8), _draw(random, 6)],
        {},
    ),
}
"""Arguments that later files pass, for the parts with several accepted variants."""

CALLS = {
    "linear": "x, weight, bias",
    "scaled_dot_product_attention": "query, key, value, is_causal=True",
    "multi_head_attention": "x, c_attn, c_proj, num_heads",
    "feed_forward": "x, up_weight, up_bias, down_weight, down_bias",
}
"""The same arguments as they appear in later files."""

REQUIREMENTS = {
    "linear": TEXTS["needs_linear"],
    "scaled_dot_product_attention": TEXTS["needs_attention"],
    "multi_head_attention": TEXTS["causal_attention"],
    "feed_forward": TEXTS["needs_feed_forward"],
}
"""Requirements that are most often not met."""


def incompatibility(folder: Path, part: Part, array: str) -> Message | None:
    """Return the incompatibility with the calls in later files; None if there is none or the function cannot be called."""
    if part.name not in EXAMPLES:
        return None
    positional, named = EXAMPLES[part.name](numpy.random.default_rng(1))
    question = {"part": part.name, "array": array, "positional": positional, "named": named}
    answer = ask("headway.practice.workbook.compatibility", folder, question, timeout_seconds=TIMEOUT_SECONDS)
    if isinstance(answer, Cause) or "nothing" in answer:
        return None
    if "error" in answer:
        found = TEXTS["raises"].format(error=Message(**answer["error"]))
    else:
        found, expected = TEXTS["differs"], getattr(in_numpy, part.name)(*positional, **named)
        if numpy.shape(answer["values"]) == expected.shape and numpy.allclose(answer["values"], expected, TOLERANCE, TOLERANCE):
            return None
    return TEXTS["incompatible"].format(call=f"{part.name}({CALLS[part.name]})", needs=REQUIREMENTS[part.name], found=found)


def _layer(random: numpy.random.Generator, width: int, height: int) -> dict[str, Any]:
    return {"w": _draw(random, width, height), "b": _draw(random, height)}


def _draw(random: numpy.random.Generator, *shape: int) -> Any:
    return random.standard_normal(shape).astype(numpy.float32)


def _answered(folder: Path, question: Mapping[str, Any]) -> dict[str, Any]:
    array, chosen = question["array"], part(question["part"])
    array_library(array)
    path = folder / f"{chosen.name}.py"
    text = read_source(path)
    module = load_module(path, text)
    subject = None if isinstance(module, Verdict) else function_of(chosen, subjects_of(module, text))
    if subject is None or isinstance(subject.value, type):
        return {"nothing": True}
    try:
        answer = subject.value(*in_library(question["positional"], array), **question["named"])
        return {"values": to_numpy(answer).tolist()}
    except (Exception, SystemExit) as error:
        return {"error": asdict(describe_error(error))}


if __name__ == "__main__":
    serve(_answered)
