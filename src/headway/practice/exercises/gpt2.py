"""GPT-2: token and position embeddings, a stack of blocks, a final layer norm, and a head tied to the token table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy

from headway import functions
from headway.arrays import asarray_like
from headway.practice.exercise import Convention, Exercise, Inputs, Probe, Step, optional, unchanged
from headway.practice.exercises.transformer_block import EXERCISE as BLOCK
from headway.practice.exercises.transformer_block import RELU
from headway.practice.recipes import blocks as of_blocks
from headway.practice.recipes.activations import rms_normed, softmax
from headway.practice.recipes.block_mistakes import MISTAKES as BLOCK_MISTAKES
from headway.practice.recipes.encoding import changed, first_of_tuple
from headway.practice.recipes.rotation import ROPE
from headway.practice.roles import Roles
from headway.practice.texts import Texts

TEXTS = Texts("gpt2")
ROLES = Roles("gpt2")


def recipe(steps: Any, token_ids: Any, wte: Any, wpe: Any, blocks: Any, ln_f: Any, num_heads: int, **rest: Any) -> Any:
    """The definition as named steps: embed, stack, last_weights, last_norm, head, finish; those of recipes.blocks in each block."""
    x = steps.embed(token_ids, wte, wpe)
    x = steps.stack(x, blocks, lambda x, weights: of_blocks.block(steps, x, **weights, num_heads=num_heads))
    return steps.finish(steps.head(steps.last_norm(x, steps.last_weights(ln_f, blocks)), wte))


def definition(token_ids: Any, wte: Any, wpe: Any, blocks: Any, ln_f: Any, num_heads: int, **rest: Any) -> Any:
    """Return the logits computed by headway.functions."""
    positions = asarray_like(range(token_ids.shape[-1]), token_ids)
    x = functions.embed(token_ids, wte) + functions.learned_positions(positions, wpe)
    for weights in blocks:
        x = BLOCK.definition(x, **weights, num_heads=num_heads)
    return functions.unembed(functions.layer_norm(x, ln_f["g"], ln_f["b"]), wte)


def _one_after_another(x: Any, blocks: Any, block: Any) -> Any:
    for weights in blocks:
        x = block(x, weights)
    return x


STEPS: dict[str, Step] = {
    **of_blocks.STEPS,
    "embed": lambda token_ids, wte, wpe: wte[token_ids] + wpe[: token_ids.shape[-1]],
    "stack": _one_after_another,
    "last_norm": of_blocks.layer_norm,
    "head": lambda x, wte: x @ wte.T,
}


WAVES = r"(?i)sinusoid|(?<!a)sin\("
"""Pattern of source code that computes sinusoidal positions."""


def with_waves(x: Any) -> Any:
    """Add sinusoidal positions to token vectors."""
    width = x.shape[-1]
    angles = numpy.arange(x.shape[-2])[:, None] / 10000.0 ** (numpy.arange(0, width, 2) / width)
    return x + numpy.stack([numpy.sin(angles), numpy.cos(angles)], -1).reshape(-1, width)


def rms_norm(x: Any, weight: Any) -> Any:
    """RMSNorm with the epsilon of Llama."""
    return rms_normed(x, 1e-6) * weight


MISTAKES = (
    TEXTS.mistake("positions_missing", embed=lambda token_ids, wte, wpe: wte[token_ids]),
    TEXTS.mistake("positions_by_token_id", embed=lambda token_ids, wte, wpe: wte[token_ids] + wpe[token_ids % len(wpe)]),
    TEXTS.mistake(
        "positions_by_small_token_id", embed=lambda token_ids, wte, wpe: wte[token_ids] + wpe[token_ids], said_as="positions_by_token_id"
    ),
    TEXTS.mistake("last_position_for_all", embed=lambda token_ids, wte, wpe: wte[token_ids] + wpe[token_ids.shape[-1] - 1]),
    TEXTS.mistake("first_position_for_all", embed=lambda token_ids, wte, wpe: wte[token_ids] + wpe[0]),
    TEXTS.mistake("positions_from_one", embed=lambda token_ids, wte, wpe: wte[token_ids] + wpe[1 : token_ids.shape[-1] + 1]),
    TEXTS.mistake("embedding_scaled", embed=lambda token_ids, wte, wpe: wte[token_ids] * wte.shape[1] ** 0.5 + wpe[: token_ids.shape[-1]]),
    TEXTS.mistake("only_last_block", stack=lambda x, blocks, block: [block(x, weights) for weights in blocks][-1]),
    TEXTS.mistake("only_first_block", stack=lambda x, blocks, block: block(x, blocks[0])),
    TEXTS.mistake(
        "residual_around_blocks", stack=lambda x, blocks, block: _one_after_another(x, blocks, lambda x, each: x + block(x, each))
    ),
    TEXTS.mistake("blocks_backwards", stack=lambda x, blocks, block: _one_after_another(x, blocks[::-1], block)),
    TEXTS.mistake("last_norm_missing", last_norm=unchanged),
    TEXTS.mistake("hidden_states_returned", head=unchanged),
    TEXTS.mistake("probabilities_returned", finish=softmax),
    TEXTS.mistake("only_last_position_returned", finish=lambda logits: logits[..., -1, :]),
    *(each for each in BLOCK_MISTAKES if each.name != "input_added_again"),  # the same as residual_around_blocks
)


TAKES = optional(Convention(encode=changed(token_ids=lambda ids: ids.tolist())))


def _of_flat(answer: Any, inputs: Inputs) -> Any:
    """Return logits (batch · seq_len, vocab_size) as (batch, seq_len, vocab_size)."""
    answer = first_of_tuple(2)(answer, inputs)
    shape = inputs["token_ids"].shape
    is_flat = getattr(answer, "ndim", 0) == 2 and len(shape) == 2 and len(answer) == shape[0] * shape[1]
    return answer.reshape(*shape, -1) if is_flat else answer


RETURNS = optional(
    Convention(TEXTS["returns_logits_loss"], decode=first_of_tuple(2)),
    Convention(TEXTS["returns_flat_logits"], decode=_of_flat, source=r"(view|reshape)\("),
    Convention(
        TEXTS["last_position_only"], decode=first_of_tuple(2), steps={"finish": lambda logits: logits[..., -1:, :]}, source=r"targets"
    ),
)
BATCH = TEXTS["batch"]
ONE = TEXTS["one"]


def probes() -> tuple[Probe, ...]:
    """Models of one and two blocks, with a single text and with a batch."""
    random = numpy.random.default_rng(43)

    def model(vocab_size: int, max_seq_len: int, width: int, num_blocks: int, num_heads: int, inner: int | None = None) -> Inputs:
        return {
            "wte": random.standard_normal((vocab_size, width)),
            "wpe": random.standard_normal((max_seq_len, width)),
            "blocks": [of_blocks.weights(random, width, inner or 2 * width + 1) for _ in range(num_blocks)],
            "ln_f": {"g": 1 + 0.4 * random.standard_normal(width), "b": 0.4 * random.standard_normal(width)},
            "num_heads": num_heads,
        }

    small, single, usual = model(11, 9, 6, 2, 3), model(5, 8, 4, 1, 2), model(11, 9, 6, 2, 3, inner=24)
    return (
        Probe("text", {"token_ids": numpy.array([3, 10, 3, 0, 8]), **small}, ONE),
        Probe("one block", {"token_ids": numpy.array([4, 1, 2]), **single}, ONE),
        Probe("batch", {"token_ids": numpy.array([[3, 10, 3, 0, 8], [7, 7, 1, 2, 9]]), **small}, BATCH),
        Probe(
            "batch, inner width four times the hidden size", {"token_ids": numpy.array([[3, 10, 3, 0, 8], [7, 7, 1, 2, 9]]), **usual}, BATCH
        ),
        Probe("batch, inner biases missing", {"token_ids": numpy.array([[3, 8, 3, 0], [7, 7, 1, 2]]), **_unbiased(usual, "c_attn")}, BATCH),
        Probe("batch, attention biases missing", {"token_ids": numpy.array([[3, 8, 3], [7, 1, 2]]), **_unbiased(usual, "attn")}, BATCH),
        Probe("batch, no biases", {"token_ids": numpy.array([[3, 10, 3, 0], [7, 7, 1, 2]]), **_unbiased(usual, "attn", "mlp")}, BATCH),
        Probe("attention biases missing", {"token_ids": numpy.array([3, 8, 3, 1]), **_unbiased(usual, "attn")}, ONE),
        Probe("no biases", {"token_ids": numpy.array([3, 10, 3, 0]), **_unbiased(usual, "attn", "mlp")}, ONE),
    )


def _unbiased(model: Inputs, *names: str) -> Inputs:
    return model | {"blocks": [of_blocks.unbiased(block, *names) for block in model["blocks"]]}


POSITIONS = optional(
    Convention(
        TEXTS["positions_in_blocks"],
        steps={"embed": lambda token_ids, wte, wpe: wte[token_ids]},
        used_source=rf"(?i){ROPE}|rotary|freqs_(cis|complex)|view_as_complex|alibi",
    ),
    Convention(TEXTS["sinusoidal"], steps={"embed": lambda token_ids, wte, wpe: with_waves(wte[token_ids])}, used_source=WAVES),
    Convention(
        TEXTS["scaled_sinusoidal"],
        steps={"embed": lambda token_ids, wte, wpe: with_waves(wte[token_ids] * wte.shape[1] ** 0.5)},
        used_source=WAVES,
    ),
)
EPSILONS = tuple(
    replace(each, steps={**each.steps, "last_norm": each.steps["norm"]}) if each.steps else each for each in of_blocks.EPSILONS
)
OF_NO_ORDER = r"(?i)\A(?![\s\S]*((?<!attention)gpt|llama|pre[-_ ]?(norm|ln|layer)))"
"""Pattern of what names no model with norms before the sublayers: a language model may have them after the sums as well."""


def _biased_as_attention(ln_f: Any, blocks: Any) -> Any:
    """Return the weights of the last norm, without its bias if the attention has none: one setting gives biases to both."""
    return ln_f if blocks[0]["attn"]["c_attn"]["b"].any() else ln_f | {"b": 0.0}


LAST_NORM = optional(
    Convention(TEXTS["rms_norm"], steps={"last_norm": lambda x, norm: rms_norm(x, norm["g"])}, used_source=r"(?i)rms"),
    Convention(
        TEXTS["norm_without_bias"],
        steps={"last_norm": lambda x, norm: of_blocks.layer_norm(x, norm | {"b": 0.0})},
        used_source=r"bias\s*[=:]\s*(bool\s*=\s*)?(False|None|config|cfg)",
    ),
    Convention(
        TEXTS["norm_without_bias"], steps={"last_weights": _biased_as_attention}, used_source=r"(?i)norm\w*\([^()\n]*\b\w*bias\w* *[,)=]"
    ),
    Convention(TEXTS["post_norm"], steps={"last_norm": unchanged}, used_source=r"(?i)(norm|ln)_?\w*\(\s*\w+\s*\+"),
    *(
        Convention(TEXTS["post_norm_blocks"], steps={"connect": of_blocks.post_norm, **last}, called=OF_NO_ORDER, used_source=OF_NO_ORDER)
        for last in ({}, {"last_norm": unchanged})
    ),
)

KINDS: tuple[Callable[[Any], Any], ...] = (lambda seen: seen, lambda seen: ~seen, lambda seen: numpy.where(seen, 0.0, -1e9))
"""Meanings of a mask: True for what is seen, True for what is hidden, and a number that is added to the scores."""

SHAPES: tuple[Callable[[Any], Any], ...] = (
    lambda ids: (ids.shape[-1],) * 2,
    lambda ids: (*ids.shape[:-1], 1, *(ids.shape[-1],) * 2),
    lambda ids: (*ids.shape[:-1], *(ids.shape[-1],) * 2),
)
"""Shapes of a causal mask: for all sequences, and for each, with an axis for the heads or without."""


def _masked(kind: Callable[[Any], Any], shape: Callable[[Any], Any]) -> Convention:
    def encode(inputs: Inputs) -> Inputs:
        ids = inputs["token_ids"]
        return inputs | {"mask": kind(numpy.broadcast_to(numpy.tri(ids.shape[-1]) > 0, shape(ids))).copy()}

    return Convention(TEXTS["takes_causal_mask"], encode)


MASKED = tuple(_masked(kind, shape) for shape in SHAPES for kind in KINDS)


def _mask_taken(ask: Any) -> Convention | None:
    """Return the form of a mask with which a model hides later positions; None if it does so without one, or in no form."""
    sequences = {probe.inputs["token_ids"].ndim: probe.inputs for probe in probes()}  # a batch, or a single one
    for example in sequences.values():
        if _hides(ask, Convention(), example):
            return None
        form = next((form for form in MASKED if _hides(ask, form, example)), None)
        if form is not None:
            return form
    return None


def _hides(ask: Any, form: Convention, example: Inputs) -> bool:
    """Return True if the last token has an effect on the logits of the last position alone."""
    ids = example["token_ids"]
    last = numpy.arange(ids.shape[-1]) == ids.shape[-1] - 1
    other = numpy.where(last, (ids + 1) % len(example["wte"]), ids)
    answers = [_logits(ask(form.encode(example | {"token_ids": each}) or example)) for each in (ids, other)]
    if any(numpy.shape(each)[:-1] != ids.shape or not numpy.isfinite(each).all() for each in answers):
        return False
    is_moved = (numpy.abs(answers[0] - answers[1]) > 1e-4).any(-1).reshape(-1, len(last)).any(0)
    return bool((is_moved == last).all())


def _logits(answer: Any) -> Any:
    answer = answer[0] if isinstance(answer, tuple) and answer else answer
    return answer if isinstance(answer, numpy.ndarray) else numpy.empty(0)


TAKES_MASK = optional(Convention(reads=_mask_taken, role="mask"))

NO_HEAD: dict[str, Step] = {"head": unchanged}
HEADLESS = optional(
    Convention(TEXTS["head_elsewhere"], steps=NO_HEAD, called=r"(?<!lm)model$", file_names=r"head(?!s|_)"),
    Convention(TEXTS["head_elsewhere"], steps=NO_HEAD, called=r"^transformer$", file_source=r"head\w* *= *(nn\.)?Linear\("),
)
"""A model without its output head, which another class of the file has."""

EXERCISE = Exercise(
    name="gpt2",
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(
        *ROLES.each("token_ids", "wte", "wpe", "blocks", "ln_f", "num_heads"),
        ROLES("mask", neutral=None),
        ROLES("positions", neutral=lambda inputs: numpy.arange(inputs["token_ids"].shape[-1])),
    ),
    probes=probes,
    mistakes=MISTAKES,
    conventions=(TAKES, TAKES_MASK, RETURNS, POSITIONS, EPSILONS, LAST_NORM, HEADLESS, (*of_blocks.GELUS, replace(RELU, without="wte"))),
    is_trained_through=False,
    calls="model",
)
