"""Greedy generation: compute the logits, append the most likely next token, and repeat."""

from __future__ import annotations

from typing import Any

import numpy

from headway.arrays import array_namespace, asarray_like, cast
from headway.practice.exercise import Exercise, Inputs, Probe, Step
from headway.practice.exercises.generate.conventions import CACHES, COUNTS, ENDS, MODELS, PROMPTS, RETURNED, TEXT
from headway.practice.exercises.generate.mistakes import MISTAKES
from headway.practice.recipes.toy_model import ToyModel
from headway.practice.roles import Roles
from headway.practice.texts import Texts

TEXTS = Texts("generate")
ROLES = Roles("generate")


def recipe(steps: Any, model: Any, prompt: Any, max_new_tokens: int, eos: Any = None, **rest: Any) -> Any:
    """The definition as named steps, per row: count, window, returned, at, choose, is_end, append, give.

    A mistake may be one only for a function that is given the context size (`is_for_given_context`).
    """
    model, is_told = steps.model(model), "context_size" in rest
    rows = [_completed(steps, model, row.tolist(), max_new_tokens, eos, is_told) for row in numpy.atleast_2d(prompt)]
    answer = steps.batch(rows)
    return answer[0] if numpy.ndim(prompt) == 1 else answer


def _completed(steps: Any, model: Any, prompt: list[int], max_new_tokens: int, eos: int | None, is_told: bool) -> numpy.ndarray:
    ids, window = list(prompt), steps.window if is_told or not steps.is_for_given_context else STEPS["window"]
    for _ in range(steps.count(max_new_tokens, len(prompt))):
        logits = steps.returned(model.logits(numpy.array(window(ids, model.context_size, prompt))), len(ids) - len(prompt))
        token = int(steps.choose(logits, steps.at(logits)))
        is_end = steps.is_end(token, eos, ids)
        if is_end and not steps.end_is_kept:
            break
        ids = steps.append(ids, token, model.context_size)
        if is_end:
            break
    return numpy.array(steps.give(ids, prompt))


def definition(model: Any, prompt: Any, max_new_tokens: int, eos: Any = None, **rest: Any) -> Any:
    """Generate with an explicit loop over arrays."""
    xp = array_namespace(prompt)
    if prompt.ndim == 2:
        return xp.stack([definition(model, row, max_new_tokens, eos) for row in prompt])
    ids = prompt
    for _ in range(max_new_tokens):
        token = int(model(ids[-model.context_size :])[-1].argmax())
        if token == eos:
            break
        ids = xp.concat([ids, cast(asarray_like([token], ids), ids.dtype)])
    return ids


STEPS: dict[str, Step] = {
    "model": lambda model: model,
    "count": lambda max_new_tokens, prompt_len: max_new_tokens,
    "window": lambda ids, context_size, prompt: ids[-context_size:],
    "is_for_given_context": False,  # type: ignore[dict-item]
    "returned": lambda logits, num_new: logits,
    "at": lambda logits: logits[-1],
    "choose": lambda logits, scores: scores.argmax(),
    "is_end": lambda token, eos, ids: eos is not None and token == eos,
    "end_is_kept": False,  # type: ignore[dict-item]
    "append": lambda ids, token, context_size: [*ids, token],
    "give": lambda ids, prompt: ids,
    "batch": lambda rows: numpy.stack(rows) if len({len(row) for row in rows}) == 1 else rows,
}

BATCH = TEXTS["batch"]


def probes() -> tuple[Probe, ...]:
    """A short text, one longer than the context, a prompt longer than it; stop tokens in the completion and the prompt; a batch."""
    model, other = ToyModel(3), ToyModel(8, context_size=4)
    short: Inputs = {"model": model, "prompt": numpy.array([1, 7, 3]), "max_new_tokens": 3}
    growing: Inputs = {"model": other, "prompt": numpy.array([2, 9]), "max_new_tokens": 7}
    long = {"model": other, "prompt": numpy.array([5, 0, 8, 8, 1, 6]), "max_new_tokens": 5}
    batch = {"model": model, "prompt": numpy.array([[4, 1, 10], [9, 2, 6]]), "max_new_tokens": 3}
    roomy: Inputs = {"model": ToyModel(5, context_size=32), "prompt": numpy.array([8, 2, 0]), "max_new_tokens": 4}
    end = int(definition(**growing)[4])
    short_end = int(definition(**short)[4])
    return (
        Probe("short", short),
        Probe("one token", short | {"max_new_tokens": 1, "prompt": numpy.array([6])}),
        Probe("longer than the context", growing | {"context_size": 4}),
        Probe("prompt longer than the context", long | {"context_size": 4}),
        Probe("longer than the model's context", growing, TEXTS["beyond_context"]),
        Probe("long context", roomy),
        Probe("long context, given", roomy | {"context_size": 32}),
        Probe("batch", batch, BATCH),
        Probe("stop token", growing | {"context_size": 4, "eos": end}),
        Probe("stop token, short", short | {"eos": short_end}),
        Probe("stop token, short, context given", short | {"context_size": 6, "eos": short_end}),
        Probe("stop token in the prompt", short | {"eos": 7}),
    )


EXERCISE = Exercise(
    name="generate",
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(
        ROLES("model"),
        ROLES("tokenizer"),
        ROLES("params"),
        ROLES("num_heads", neutral=2),
        ROLES("prompt"),
        ROLES("max_new_tokens"),
        ROLES.size("context_size", lambda inputs: inputs["model"].context_size if "model" in inputs else None),
        ROLES("eos"),
        ROLES("temperature", neutral=1.0),
        ROLES("top_k", neutral=lambda inputs: inputs["model"].vocab_size),
        ROLES("top_p", neutral=1.0),
        ROLES("repetition_penalty", neutral=1.0, off=1.0),
        ROLES("do_sample", neutral=False),
        ROLES("rng", neutral=None),
    ),
    may_write=True,
    probes=probes,
    mistakes=MISTAKES,
    conventions=(COUNTS, CACHES, MODELS, PROMPTS, RETURNED, ENDS, TEXT),
    drawing="likeliest",
    calls="generate",
    is_trained_through=False,
)
