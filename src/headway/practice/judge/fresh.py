"""Fresh probes: those of an exercise with other random numbers, which no hand-in can know in advance."""

from __future__ import annotations

import string
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy

from headway.practice.exercise import Exercise, Inputs, Probe

_LOCK = threading.Lock()

Redraw = Callable[[Inputs, numpy.random.Generator], Inputs]


def fresh_probes(exercise: Exercise, seed: int) -> tuple[Probe, ...]:
    """Return the exercise's probes with their numbers drawn from another seed; shapes and special values stay."""
    with _LOCK:
        exercise.probes()  # fills the caches of toy models, whose weights do not depend on the seed
    with _LOCK, _seeded(seed):
        probes = exercise.probes()
    random = numpy.random.default_rng([seed, 1])
    redrawn = REDRAWN.get(exercise.name, _same)
    return tuple(replace(probe, name=f"{probe.name} #{seed}", inputs=redrawn(probe.inputs, random)) for probe in probes)


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Add a seed to those of all generators that are created within."""
    original = numpy.random.default_rng

    def default_rng(own: Any = None) -> numpy.random.Generator:
        return original([seed, own] if isinstance(own, int) else own)

    numpy.random.default_rng = default_rng  # type: ignore[assignment]
    try:
        yield
    finally:
        numpy.random.default_rng = original


def _same(inputs: Inputs, random: numpy.random.Generator) -> Inputs:
    return inputs


def _scaled(*names: str, by: float) -> Redraw:
    """Return a function that multiplies numbers by factors between 1 - `by` and 1 + `by`."""

    def redraw(inputs: Inputs, random: numpy.random.Generator) -> Inputs:
        def changed(value: Any) -> Any:
            if isinstance(value, numpy.ndarray) and value.dtype.kind == "f":
                return (value * random.uniform(1 - by, 1 + by, value.shape)).astype(value.dtype)
            return value * float(random.uniform(1 - by, 1 + by)) if type(value) is float else value

        return inputs | {name: changed(inputs[name]) for name in names if name in inputs}

    return redraw


def _longer(inputs: Inputs, random: numpy.random.Generator) -> Inputs:
    length = inputs.get("query_len", 0)
    return inputs | {"query_len": length + int(random.integers(0, 4))} if length > 1 else inputs


def _other_tokens(inputs: Inputs, random: numpy.random.Generator) -> Inputs:
    """Replace token ids other than the padding."""
    x, padding = inputs["x"], inputs.get("pad_id", 0)
    drawn = random.integers(1000, 2000, x.shape).astype(x.dtype)
    return inputs | {"x": numpy.where((x == padding) | (x == 0), x, drawn)}


def _permuted(inputs: Inputs, random: numpy.random.Generator) -> Inputs:
    """Permute the tokens of the vocabulary and add a constant, which changes no probability."""
    logits = inputs["logits"]
    order = random.permutation(logits.shape[-1])
    return inputs | {"logits": (logits[..., order] + random.uniform(-1, 1)).astype(logits.dtype)}


def _other_steps(inputs: Inputs, random: numpy.random.Generator) -> Inputs:
    """Multiply all numbers of steps by one factor, and each rate by another."""
    factor = int(random.integers(2, 6))
    counts = {name: value * factor for name, value in inputs.items() if type(value) is int}
    return _scaled("max_rate", "min_rate", by=0.1)(inputs | counts, random)


def _other_ids(inputs: Inputs, random: numpy.random.Generator) -> Inputs:
    """Renumber token ids; their order stays."""
    factor, offset = int(random.integers(1, 6)), int(random.integers(0, 50))

    def changed(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return type(value)(map(changed, value))
        return value * factor + offset if type(value) is int or isinstance(value, numpy.ndarray) else value

    return {name: changed(value) for name, value in inputs.items()}


def _other_letters(inputs: Inputs, random: numpy.random.Generator) -> Inputs:
    """Replace the small letters; their alphabetical order stays."""
    used = sorted({letter for letter in _text_in(inputs) if letter in string.ascii_lowercase})
    drawn = sorted(random.choice(list(string.ascii_lowercase), len(used), replace=False).tolist())
    letters = dict(zip(used, drawn, strict=True))
    codes = {ord(letter): ord(other) for letter, other in letters.items()}

    def changed(value: Any) -> Any:
        if isinstance(value, str):
            return "".join(letters.get(each, each) for each in value)
        if isinstance(value, bytes):
            return bytes(codes.get(each, each) for each in value)
        return type(value)(map(changed, value)) if isinstance(value, list | tuple) else value

    return {name: changed(value) for name, value in inputs.items()}


def _text_in(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("latin-1")
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return "".join(map(_text_in, parts))


def _more_letters(inputs: Inputs, random: numpy.random.Generator) -> Inputs:
    return inputs | {"ids": [*inputs["ids"], *random.integers(97, 123, 4).tolist()]} if isinstance(inputs.get("ids"), list) else inputs


MOST_PROMPTS = 500


def _other_prompt(inputs: Inputs, random: numpy.random.Generator) -> Inputs:
    """Draw a prompt after which the model decides, also for code that draws uniform numbers and takes the token at each."""
    prompt, model = inputs["prompt"], inputs["model"]
    drawn = prompt
    for _ in range(MOST_PROMPTS):
        drawn = random.integers(0, model.vocab_size, prompt.shape).astype(prompt.dtype)
        if model.decides(drawn, inputs["max_new_tokens"]):
            break
    return inputs | {"prompt": drawn}


REDRAWN: dict[str, Redraw] = {
    "relu": _scaled("x", by=0.2),
    "gelu": _scaled("x", by=0.2),
    "silu": _scaled("x", by=0.2),
    "causal_mask": _longer,
    "padding_mask": _other_tokens,
    "top_p": _permuted,
    "sample": _permuted,
    "generate": _other_prompt,
    "pair_counts": _other_ids,
    "merge_pair": _other_ids,
    "bpe_train": _other_letters,
    "bpe_encode": _other_letters,
    "bpe_decode": _more_letters,
    "gradient_descent": _scaled("start", "learning_rate", by=0.05),
    "cosine_schedule": _other_steps,
    "linear_schedule": _other_steps,
    "noam_schedule": _other_steps,
    "adam": _scaled("start", "learning_rate", by=0.05),
}
"""Changes of the probes whose numbers are not drawn from a generator."""
