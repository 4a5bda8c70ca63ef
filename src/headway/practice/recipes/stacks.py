"""Stacks of simple layers, so that a stack is judged without the conventions of its layers: their norms, attention and feed-forward.

A layer adds to a product of each vector the products of two means: of the vectors that its position sees, and of the encoder's outputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from headway import functions
from headway.arrays import array_namespace, asarray_like
from headway.practice.exercise import Convention, Inputs, Mistake, Role, Step
from headway.practice.recipes.blocks import layer_norm
from headway.practice.recipes.rotation import ROPE
from headway.practice.roles import Roles
from headway.practice.texts import Texts

TEXTS = Texts("shared/stacks")
ROLES = Roles("stacks", "models", "projections")

MASKS = {name: ROLES(name, neutral=None) for name in ("mask", "source_mask", "target_mask", "memory_mask")}
"""Roles of the masks that a class may take."""

OPERANDS = (MASKS["target_mask"], MASKS["source_mask"], ROLES("memory"), ROLES("target"), ROLES("source"))

WIDTH, NUM_HEADS, MOST_POSITIONS = 8, 2, 17


def _mean(x: Any, values: Any, visible: Any) -> Any:
    """Return the mean of the vectors that each position of x sees; with zero queries, attention is that."""
    return functions.scaled_dot_product_attention(0 * x, values, values, mask=visible)


def defined_layer(x: Any, weights: Inputs, visible: Any, memory: Any = None, memory_visible: Any = None) -> Any:
    """Return the output of a simple layer, in any array library."""
    total = x @ weights["own"] + _mean(x, x, visible) @ weights["seen"]
    if memory is not None:
        total = total + _mean(x, memory, memory_visible) @ weights["recalled"]
    return 3 * array_namespace(x).tanh(total / 3)


def defined_stack(token_ids: Any, table: Any, positions: Any, layers: Any, norm: Any, *seen: Any) -> Any:
    """Return the output of a stack computed by headway.functions."""
    order = asarray_like(range(token_ids.shape[-1]), token_ids)
    x = functions.embed(token_ids, table) + functions.learned_positions(order, positions)
    for weights in layers:
        x = defined_layer(x, weights, *seen)
    return functions.layer_norm(x, norm["g"], norm["b"])


def all_visible(x: Any, length: int | None = None) -> Any:
    """Return a mask (batch, positions, length) that hides nothing."""
    return asarray_like(numpy.ones((*x.shape[:2], length or x.shape[1]), bool), x)


def causal(x: Any) -> Any:
    """Return the mask of the positions up to each."""
    return asarray_like(numpy.tril(numpy.ones((*x.shape[:2], x.shape[1]), bool)), x)


def layer(x: Any, weights: Inputs, visible: Any, memory: Any = None, memory_visible: Any = None) -> Any:
    """Return the output of a simple layer, in NumPy."""

    def mean(values: Any, visible: Any) -> Any:
        shares = numpy.broadcast_to(visible, (*x.shape[:2], values.shape[1])) * numpy.ones(1)
        return shares / numpy.maximum(shares.sum(-1, keepdims=True), 1) @ values

    total = x @ weights["own"] + mean(x, visible) @ weights["seen"]
    return 3 * numpy.tanh((total if memory is None else total + mean(memory, memory_visible) @ weights["recalled"]) / 3)


def one_after_another(x: Any, layers: Sequence[Inputs], run: Any) -> Any:
    """Give each layer the output of the one before."""
    for place, weights in enumerate(layers):
        x = run(x, weights, place)
    return x


def _added(x: Any, layers: Sequence[Inputs], run: Any) -> Any:
    for place, weights in enumerate(layers):
        x = x + run(x, weights, place)
    return x


def waves(length: int) -> Any:
    """Return the sinusoidal positions of Vaswani et al. 2017."""
    angles = numpy.arange(length)[:, None] / 10000.0 ** (numpy.arange(0, WIDTH, 2) / WIDTH)
    return numpy.stack([numpy.sin(angles), numpy.cos(angles)], -1).reshape(length, WIDTH)


def embed(token_ids: Any, table: Any, positions: Any) -> Any:
    """Add a vector of each position to the vector of its token."""
    return table[token_ids] + positions[: token_ids.shape[-1]]


def placed(embed: Step, token_ids: Any, table: Any, positions: Any) -> Any:
    """Return the vectors of some tokens with their positions."""
    return embed(token_ids, table, positions)


def placed_scaled(embed: Step, token_ids: Any, table: Any, positions: Any) -> Any:
    """Return the vectors of some tokens times √hidden_size with their positions."""
    return _scaled(embed)(token_ids, table, positions)


def unplaced(embed: Step, token_ids: Any, table: Any, positions: Any) -> Any:
    """Return the vectors of some tokens without their positions."""
    return embed(token_ids, table, 0 * positions)


def placed_by_batch(embed: Step, token_ids: Any, table: Any, positions: Any) -> Any:
    """Return the vectors of some tokens with a position vector for each sequence in place of each position."""
    return embed(token_ids, table, 0 * positions) + positions[: len(token_ids), None]


def placed_before_scaling(embed: Step, token_ids: Any, table: Any, positions: Any) -> Any:
    """Return the sums of the vectors of some tokens and their positions, times √hidden_size."""
    return embed(token_ids, table, positions) * WIDTH**0.5


def of_keys(visible: Any) -> Any:
    """Return the mask (batch, positions, positions) that hides padding; each position sees itself."""
    return visible[:, None] | numpy.eye(visible.shape[1], dtype=bool)


STEPS: dict[str, Step] = {
    "embed": embed,
    "place": placed,
    "stack": one_after_another,
    "last_norm": layer_norm,
    "see": lambda visible, place: visible,
    **dict.fromkeys(("encoder_mask", "decoder_mask", "memory_mask"), lambda visible: visible),
    "memory": lambda memory, encoded, place: memory,
    "head": lambda x, table: x @ table.T,
}

WRONG_STACKS: dict[str, Step] = {
    "only_last_layer": lambda x, layers, run: run(x, layers[-1], 0),
    "first_layer_skipped": lambda x, layers, run: one_after_another(x, layers[1:], run),
    "last_layer_skipped": lambda x, layers, run: one_after_another(x, layers[:-1], run),
    "only_first_layer": lambda x, layers, run: run(x, layers[0], 0),
    "first_layer_repeated": lambda x, layers, run: one_after_another(x, [layers[0]] * len(layers), run),
    "layers_shared": lambda x, layers, run: one_after_another(x, [layers[-1]] * len(layers), run),
    "layers_backwards": lambda x, layers, run: one_after_another(x, layers[::-1], run),
    "residual_around_layers": _added,
}

ROTARY = rf"{ROPE}|rotary|freqs_cis|alibi|relative"


def _scaled(step: Step) -> Step:
    return lambda token_ids, table, positions: step(token_ids, table * WIDTH**0.5, positions)


def _with_waves(token_ids: Any, table: Any, positions: Any) -> Any:
    return embed(token_ids, table, waves(token_ids.shape[-1]))


def _bare(token_ids: Any, table: Any, positions: Any) -> Any:
    return table[token_ids]


EMBEDDINGS = (
    Convention(),
    Convention(TEXTS["scaled"], steps={"embed": _scaled(embed)}, without="table"),
    Convention(TEXTS["sinusoidal"], steps={"embed": _with_waves}, without="table", used_source=r"(?i)sinusoid|(?<!a)sin\("),
    Convention(TEXTS["scaled"], steps={"embed": _scaled(_with_waves)}, without="table", used_source=r"(?i)sinusoid|(?<!a)sin\("),
    Convention(TEXTS["positions_in_layers"], steps={"embed": _bare}, without="table", used_source=f"(?i){ROTARY}"),
    Convention(TEXTS["positions_in_layers"], steps={"embed": _scaled(_bare)}, without="table", used_source=f"(?i){ROTARY}"),
)
"""Embeddings of a class, which holds its tables."""

HEAD = Convention()
HEADLESS = Convention(
    TEXTS["head_elsewhere"], steps={"head": lambda x, table: x}, without="table", file_names=r"(?i)generator|head(?!s|_)|proj"
)
"""A model without its output layer, which another class of the file is."""

HEAD_GIVEN = Convention(
    TEXTS["head_elsewhere"], steps=HEADLESS.steps, without="table", source=r"def __init__\([^)]*\b(generator|\w*proj\w*)\b"
)
"""A model that is given its output layer, for its caller to apply."""


def mistakes(stack: str = "stack", norm: str = "last_norm", suffix: str = "") -> tuple[Mistake, ...]:
    """Return the mistakes of the steps with these names."""
    wrong: dict[str, dict[str, Any]] = {name: {stack: step} for name, step in WRONG_STACKS.items()}
    wrong["last_norm_missing"] = {norm: lambda x, norm: x}
    said = {name: name if suffix else None for name in wrong}
    return tuple(TEXTS.mistake(f"{name}{suffix}", key=name, said_as=said[name], **steps) for name, steps in wrong.items())


ALL: Step = numpy.ones_like

OF_DECODERS = (
    TEXTS.mistake("memory_missing", memory=lambda memory, encoded, place: None),
    TEXTS.mistake(
        "memory_missing_unmasked",
        memory=lambda memory, encoded, place: None,
        decoder_mask=ALL,
        key="memory_missing",
        said_as="memory_missing",
        pattern=r"(?i)dec\w*\(|layer\w*\(",
    ),
    TEXTS.mistake("later_targets_seen", decoder_mask=ALL),
    TEXTS.mistake("next_target_seen", decoder_mask=lambda earlier: numpy.tril(numpy.ones_like(earlier), 1)),
    TEXTS.mistake("earlier_targets_hidden", decoder_mask=numpy.transpose),
    TEXTS.mistake("padding_seen_by_decoder", memory_mask=ALL),
)
POSITIONS = (
    TEXTS.mistake("positions_missing", place=unplaced),
    TEXTS.mistake("positions_by_batch", place=placed_by_batch),
    TEXTS.mistake("positions_scaled", place=placed_before_scaling),
)


def side(random: Any, count: int) -> list[Inputs]:
    """Return the matrices of some layers."""
    return [
        {name: random.standard_normal((WIDTH, WIDTH)) * size for name, size in (("own", 0.35), ("seen", 0.5), ("recalled", 0.5))}
        for _ in range(count)
    ]


def common(random: Any) -> Inputs:
    """Return the position vectors and the final norm that all stacks of a probe share."""
    return {
        "positions": random.standard_normal((MOST_POSITIONS, WIDTH)),
        "norm": {"g": 1 + 0.4 * random.standard_normal(WIDTH), "b": 0.4 * random.standard_normal(WIDTH)},
    }


def sizes(tables: Sequence[str], layers: Sequence[str]) -> tuple[Role, ...]:
    """Return the roles of sizes for stacks with these tables and layers, the encoder's first."""

    def same(names: Sequence[str]) -> Any:
        return lambda inputs: len(inputs[names[0]]) if len({len(inputs[name]) for name in names}) == 1 else None

    of_sides = (
        ROLES.size("source_vocab_size", lambda inputs: len(inputs[tables[0]])),
        ROLES.size("target_vocab_size", lambda inputs: len(inputs[tables[-1]])),
        ROLES.size("num_encoder_layers", lambda inputs: len(inputs[layers[0]])),
        ROLES.size("num_decoder_layers", lambda inputs: len(inputs[layers[-1]])),
        ROLES.size("source_length", lambda inputs: MOST_POSITIONS),
        ROLES.size("target_length", lambda inputs: MOST_POSITIONS),
        ROLES.size("source_pad", lambda inputs: 0),
        ROLES.size("target_pad", lambda inputs: 0),
    )
    shared = (
        ROLES.size("vocab_size", same(tables)),
        ROLES.size("num_layers", same(layers)),
        ROLES.size("hidden_size", lambda inputs: WIDTH),
        ROLES.size("intermediate_size", lambda inputs: 3 * WIDTH),
        ROLES.size("num_heads", lambda inputs: NUM_HEADS),
        ROLES.size("num_kv_heads", lambda inputs: NUM_HEADS),
        ROLES.size("head_dim", lambda inputs: WIDTH // NUM_HEADS),
        ROLES.size("value_dim", lambda inputs: WIDTH // NUM_HEADS),
        ROLES.size("context_length", lambda inputs: MOST_POSITIONS),
        ROLES.size("expansion", lambda inputs: 3),
        ROLES.size("pad_id", lambda inputs: 0),
        ROLES.size("num_segments", lambda inputs: 2),
        ROLES.size("device", lambda inputs: "cpu"),
    )
    return (*of_sides, *shared) if len(tables) > 1 else (*shared, *of_sides)
