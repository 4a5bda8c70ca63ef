"""The transformer of Vaswani et al. 2017: a stack of encoder layers, and a stack of decoder layers that also sees the encoder's output."""

from __future__ import annotations

from typing import Any

import numpy

from headway import functions
from headway.practice.exercise import Convention, Exercise, Inputs, Probe, Step, optional
from headway.practice.recipes import stacks
from headway.practice.recipes.distributions import softmax
from headway.practice.roles import Roles
from headway.practice.texts import Texts

TEXTS = Texts("encoder_decoder")
ROLES = Roles("stacks")


def recipe(
    steps: Any,
    source: Any,
    target: Any,
    source_table: Any,
    target_table: Any,
    source_layers: Any,
    target_layers: Any,
    positions: Any,
    norm: Any,
    mask: Any = None,
    **rest: Any,
) -> Any:
    """The definition as named steps; those of recipes.stacks for each side."""
    visible = numpy.ones(source.shape, bool) if mask is None else mask
    earlier = numpy.tril(numpy.ones((target.shape[1], target.shape[1]), bool))
    encoded: list[Any] = []

    def encode(x: Any, weights: Inputs, place: int) -> Any:
        encoded.append(stacks.layer(x, weights, steps.encoder_mask(stacks.of_keys(visible))))
        return encoded[-1]

    def decode(x: Any, weights: Inputs, place: int) -> Any:
        return stacks.layer(
            x, weights, steps.decoder_mask(earlier), steps.memory(memory, encoded, place), steps.memory_mask(visible[:, None])
        )

    start = steps.source_embed(steps.embed, source, source_table, positions)
    memory = steps.encoder_norm(steps.encoder_stack(start, source_layers, encode), norm)
    encoded.insert(0, start)
    x = steps.target_embed(steps.embed, target, target_table, positions)
    return steps.finish(steps.head(steps.decoder_norm(steps.decoder_stack(x, target_layers, decode), norm), target_table))


def definition(
    source: Any,
    target: Any,
    source_table: Any,
    target_table: Any,
    source_layers: Any,
    target_layers: Any,
    positions: Any,
    norm: Any,
    mask: Any = None,
    **rest: Any,
) -> Any:
    """Return the logits of stacks of simple layers computed by headway.functions."""

    def visible(length: int) -> Any:
        seen = stacks.all_visible(target if length == target.shape[1] else source, source.shape[1])
        return seen if mask is None else seen & mask[:, None, :]

    memory = stacks.defined_stack(source, source_table, positions, source_layers, norm, visible(source.shape[1]))
    of_target = (stacks.causal(target), memory, visible(target.shape[1]))
    return functions.unembed(stacks.defined_stack(target, target_table, positions, target_layers, norm, *of_target), target_table)


STEPS: dict[str, Step] = {
    **stacks.STEPS,
    **dict.fromkeys(("source_embed", "target_embed"), stacks.placed),
    **dict.fromkeys(("encoder_stack", "decoder_stack"), stacks.one_after_another),
    **dict.fromkeys(("encoder_norm", "decoder_norm"), stacks.layer_norm),
    "finish": lambda logits: logits,
}


MISTAKES = (
    TEXTS.mistake("positions_missing", source_embed=stacks.unplaced, target_embed=stacks.unplaced),
    TEXTS.mistake("source_positions_missing", source_embed=stacks.unplaced),
    TEXTS.mistake("target_positions_missing", target_embed=stacks.unplaced),
    TEXTS.mistake("target_not_scaled", source_embed=stacks.placed_scaled),
    TEXTS.mistake("source_not_scaled", target_embed=stacks.placed_scaled),
    stacks.TEXTS.mistake("positions_scaled", source_embed=stacks.placed_before_scaling, target_embed=stacks.placed_before_scaling),
    stacks.TEXTS.mistake("positions_by_batch", source_embed=stacks.placed_by_batch, target_embed=stacks.placed_by_batch),
    *stacks.mistakes(stack="encoder_stack", norm="encoder_norm", suffix="_in_encoder"),
    *stacks.mistakes(stack="decoder_stack", norm="decoder_norm", suffix="_in_decoder"),
    *stacks.OF_DECODERS,
    TEXTS.mistake("memory_of_embedding", memory=lambda memory, encoded, place: encoded[0]),
    TEXTS.mistake("memory_of_first_layer", memory=lambda memory, encoded, place: encoded[1]),
    TEXTS.mistake("memory_of_same_layer", memory=lambda memory, encoded, place: encoded[place + 1]),
    TEXTS.mistake("padding_seen_by_encoder", encoder_mask=stacks.ALL),
    TEXTS.mistake("padding_seen", encoder_mask=stacks.ALL, memory_mask=stacks.ALL),
)


OF_SCALED_LOGITS = r"(?s)\.weight *= *self\..*\*=? *\(?(self\.)?\w*(model|dim|emb|size|width)\w* *\*\* *\(?-"
"""Pattern of the source of a model whose output layer shares the weights of an embedding, and which multiplies by a power of the width below 1."""

OUTPUTS = (
    Convention(),
    Convention(TEXTS["log_probabilities"], steps={"finish": functions.log_softmax}, used_source=r"(?i)log_?softmax"),
    Convention(TEXTS["probabilities"], steps={"finish": softmax}, used_source=r"(?i)softmax"),
    Convention(TEXTS["logits_scaled"], steps={"finish": lambda logits: logits * stacks.WIDTH**-0.5}, source=OF_SCALED_LOGITS),
)


def _with_label(inputs: Inputs) -> Inputs:
    """Return the inputs with another target after the last, which is only a label."""
    target = inputs["target"]
    return inputs | {"target": numpy.concatenate([target, target[:, :1]], axis=1)}


SHIFTS = optional(Convention(TEXTS["drops_last_target"], _with_label, without="target_table", source=r"\[:, *:-1\]"))


def probes() -> tuple[Probe, ...]:
    """Two vocabularies and one, as many layers on both sides and not, sequences of several lengths, with and without padding."""
    random = numpy.random.default_rng(59)

    def model(source_vocab: int, target_vocab: int | None, source_layers: int, target_layers: int) -> Inputs:
        table = random.standard_normal((source_vocab, stacks.WIDTH))
        return {
            "source_table": table,
            "target_table": table if target_vocab is None else random.standard_normal((target_vocab, stacks.WIDTH)),
            "source_layers": stacks.side(random, source_layers),
            "target_layers": stacks.side(random, target_layers),
            **stacks.common(random),
        }

    source, target = numpy.array([[3, 10, 3, 7, 8], [7, 7, 1, 2, 9]]), numpy.array([[1, 10, 5, 4], [2, 6, 10, 9]])
    padded = numpy.array([[3, 10, 3, 7, 8, 5], [6, 7, 1, 5, 0, 0]])
    return (
        Probe("one vocabulary", {"source": source, "target": target, **model(11, None, 3, 3)}),
        Probe("padding", {"source": padded, "target": target, "mask": padded != 0, **model(11, None, 3, 3)}),
        Probe("two vocabularies", {"source": source, "target": target, **model(11, 13, 4, 4)}),
        Probe("two tables", {"source": source, "target": target, **model(11, 11, 3, 3)}),
        Probe("as many positions", {"source": source, "target": source[:, ::-1].copy(), **model(11, None, 3, 3)}),
        Probe("more decoder layers", {"source": source, "target": target, **model(11, None, 3, 4)}),
    )


EXERCISE = Exercise(
    name="encoder_decoder",
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(
        *(ROLES(name) for name in ("source", "target", "source_table", "target_table", "source_layers", "target_layers")),
        *(ROLES(name) for name in ("positions", "norm")),
        ROLES("mask", neutral=None),
    ),
    probes=probes,
    mistakes=MISTAKES,
    conventions=(stacks.EMBEDDINGS, (stacks.HEAD, stacks.HEADLESS, stacks.HEAD_GIVEN), OUTPUTS, SHIFTS),
    is_trained_through=False,
    calls="stack",
)
