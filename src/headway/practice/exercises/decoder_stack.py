"""A stack of decoder layers: causal self-attention, and attention to the encoder's output."""

from __future__ import annotations

from typing import Any

import numpy

from headway import functions
from headway.practice.exercise import Convention, Exercise, Inputs, Probe, Step
from headway.practice.recipes import stacks
from headway.practice.roles import Roles
from headway.practice.texts import Texts

TEXTS = Texts("decoder_stack")
ROLES = Roles("decoder_stack", "stacks")


def recipe(steps: Any, x: Any, memory: Any, table: Any, positions: Any, layers: Any, norm: Any, mask: Any = None, **rest: Any) -> Any:
    """The definition as named steps: place, embed, stack, memory, the masks, last_norm, finish."""
    visible = (numpy.ones(memory.shape[:2], bool) if mask is None else mask)[:, None]
    earlier = numpy.tril(numpy.ones((x.shape[1], x.shape[1]), bool))

    def run(x: Any, weights: Inputs, place: int) -> Any:
        return stacks.layer(x, weights, steps.decoder_mask(earlier), steps.memory(memory, [], place), steps.memory_mask(visible))

    return steps.finish(steps.last_norm(steps.stack(steps.place(steps.embed, x, table, positions), layers, run), norm), table)


def definition(x: Any, memory: Any, table: Any, positions: Any, layers: Any, norm: Any, mask: Any = None, **rest: Any) -> Any:
    """Return the output of simple layers computed by headway.functions."""
    visible = stacks.all_visible(x, memory.shape[1])
    visible = visible if mask is None else visible & mask[:, None, :]
    return stacks.defined_stack(x, table, positions, layers, norm, stacks.causal(x), memory, visible)


STEPS: dict[str, Step] = {**stacks.STEPS, "finish": lambda x, table: x}

FINISHES = (
    Convention(),
    Convention(TEXTS["logits"], steps={"finish": lambda x, table: x @ table.T}, without="table", source=r"Linear\(|head|proj|vocab"),
    Convention(
        TEXTS["log_probabilities"],
        steps={"finish": lambda x, table: functions.log_softmax(x @ table.T)},
        without="table",
        source=r"(?i)log_?softmax",
    ),
)
SEES_ALL = (
    Convention(),
    Convention(
        TEXTS["sees_all"], steps={"decoder_mask": stacks.ALL}, without="table", used_source=r"(?i)\A(?![\s\S]*(mask|tri[lu]|causal))"
    ),
)


def probes() -> tuple[Probe, ...]:
    """Batches through three and four layers, without and with padding of the source."""
    random = numpy.random.default_rng(61)

    def model(count: int, source_length: int) -> Inputs:
        memory = random.standard_normal((2, source_length, stacks.WIDTH))
        return {
            "memory": memory,
            "table": random.standard_normal((11, stacks.WIDTH)),
            "layers": stacks.side(random, count),
            **stacks.common(random),
        }

    ids = numpy.array([[3, 10, 3, 7, 8], [7, 7, 1, 2, 9]])
    padding = numpy.array([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0]]) != 0
    return (
        Probe("three layers", {"x": ids, **model(3, 6)}),
        Probe("four layers", {"x": ids[:, :4], **model(4, 3)}),
        Probe("padding", {"x": ids, "mask": padding, **model(3, 6)}),
    )


EXERCISE = Exercise(
    name="decoder_stack",
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(ROLES("x"), ROLES("memory"), ROLES("mask", neutral=None), *map(ROLES, ("table", "positions", "layers", "norm"))),
    probes=probes,
    mistakes=(*stacks.POSITIONS, *stacks.mistakes(), *stacks.OF_DECODERS),
    conventions=(stacks.EMBEDDINGS, FINISHES, SEES_ALL),
    is_trained_through=False,
    calls="stack",
)
