"""Mistakes in GPT-2's transformer block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from headway.practice.exercise import Step, unchanged
from headway.practice.recipes.blocks import in_turn, layer_norm, of_outputs, usual
from headway.practice.recipes.layers import Add, Sublayer, post_norm
from headway.practice.recipes.projection_mistakes import view
from headway.practice.texts import Texts

TEXTS = Texts("shared/block_mistakes")


def _from_normed(connect: Step) -> Step:
    def connected(x: Any, part: Sublayer, norm: Sublayer, add: Add) -> Any:
        normed = norm(x)
        return add(normed, part(normed))

    return connected


def _normed_afterwards(connect: Step) -> Step:
    return of_outputs


def _without_norm(connect: Step) -> Step:
    return lambda x, part, norm, add: connect(x, part, lambda x: x, add)


def _without_residual(connect: Step) -> Step:
    return lambda x, part, norm, add: connect(x, part, norm, lambda x, y: y)


def _left_out(connect: Step) -> Step:
    return lambda x, part, norm, add: x


def _unused(connect: Step) -> Step:
    return lambda x, part, norm, add: connect(x, lambda x: x, norm, add)


def _around(connect: Step) -> Step:
    return post_norm


IN_TURN = in_turn(usual, usual)


def _with_norms(chosen: Callable[[Sublayer, Sublayer], tuple[Sublayer, Sublayer]]) -> Step:
    """Return the usual wiring with other norms in the places of the first and of the second."""
    return lambda x, attend, think, norm_1, norm_2, connect: IN_TURN(x, attend, think, *chosen(norm_1, norm_2), connect)


MISTAKES = (
    TEXTS.mistake("residual_from_normalised", wire=in_turn(_from_normed, _from_normed)),
    *(
        TEXTS.mistake(
            name, wire=wire, pattern=r"norm|ln", said_as="residual_from_normalised", key="residual_of_one_from_normalised", part=part
        )
        for name, wire, part in (
            ("first_residual_from_normalised", in_turn(_from_normed, usual), TEXTS["attention"]),
            ("second_residual_from_normalised", in_turn(usual, _from_normed), TEXTS["feed_forward"]),
        )
    ),
    TEXTS.mistake("norms_after_the_sums", wire=in_turn(_around, _around)),
    TEXTS.mistake("parts_normalised_afterwards", wire=in_turn(_normed_afterwards, _normed_afterwards)),
    TEXTS.mistake("second_norm_skipped", wire=in_turn(usual, _without_norm)),
    TEXTS.mistake("first_norm_skipped", wire=in_turn(_without_norm, usual)),
    TEXTS.mistake("first_norm_used_twice", wire=_with_norms(lambda norm_1, norm_2: (norm_1, norm_1))),
    TEXTS.mistake("second_norm_used_twice", wire=_with_norms(lambda norm_1, norm_2: (norm_2, norm_2))),
    TEXTS.mistake("norms_exchanged", wire=_with_norms(lambda norm_1, norm_2: (norm_2, norm_1))),
    TEXTS.mistake("in_parallel", wire=lambda x, attend, think, norm_1, norm_2, connect: x + attend(norm_1(x)) + think(norm_2(x))),
    TEXTS.mistake(
        "feed_forward_first", wire=lambda x, attend, think, norm_1, norm_2, connect: IN_TURN(x, think, attend, norm_2, norm_1, connect)
    ),
    TEXTS.mistake("residuals_missing", wire=in_turn(_without_residual, _without_residual)),
    TEXTS.mistake("residual_of_attention_missing", wire=in_turn(_without_residual, usual)),
    TEXTS.mistake("residual_of_feed_forward_missing", wire=in_turn(usual, _without_residual)),
    TEXTS.mistake("attention_missing", wire=in_turn(_left_out, usual)),
    TEXTS.mistake("feed_forward_missing", wire=in_turn(usual, _left_out)),
    TEXTS.mistake("attention_unused", wire=in_turn(_unused, usual), pattern=r"drop|att|mha", key="part_unused", part=TEXTS["attention"]),
    TEXTS.mistake(
        "feed_forward_unused",
        wire=in_turn(usual, _unused),
        pattern=r"drop|mlp|ffn|feed|ff\(",
        key="part_unused",
        part=TEXTS["feed_forward"],
    ),
    TEXTS.mistake(
        "input_added_again",
        wire=lambda x, attend, think, norm_1, norm_2, connect: x + IN_TURN(x, attend, think, norm_1, norm_2, connect),
    ),
    TEXTS.mistake(
        "second_residual_from_input", wire=lambda x, attend, think, norm_1, norm_2, connect: x + think(norm_2(x + attend(norm_1(x))))
    ),
    TEXTS.mistake("not_causal", mask=lambda query_len, key_len: numpy.ones((query_len, key_len), bool)),
    TEXTS.mistake("mask_transposed", mask=lambda query_len, key_len: numpy.triu(numpy.ones((query_len, key_len), bool))),
    TEXTS.mistake("scale_missing", scale=lambda head_dim, num_heads: 1.0),
    TEXTS.mistake("scale_of_whole_width", scale=lambda head_dim, num_heads: (head_dim * num_heads) ** -0.5),
    TEXTS.mistake("one_head", heads=lambda num_heads: 1),
    TEXTS.mistake("heads_split_without_transpose", split=view),
    TEXTS.mistake("query_and_key_exchanged", order=lambda query, key, value: (key, query, value)),
    TEXTS.mistake("key_and_value_exchanged", order=lambda query, key, value: (query, value, key)),
    TEXTS.mistake("output_projection_missing", project=unchanged),
    TEXTS.mistake("output_projection_transposed", project=lambda x, layer: x @ layer["w"].T + layer["b"]),
    TEXTS.mistake("biases_missing", linear=lambda x, layer: x @ layer["w"], project=lambda x, layer: x @ layer["w"]),
    TEXTS.mistake("activation_missing", activation=unchanged),
    TEXTS.mistake("relu_for_gelu", activation=lambda x: numpy.maximum(x, 0)),
    TEXTS.mistake("silu_for_gelu", activation=lambda x: x / (1 + numpy.exp(-x))),
    TEXTS.mistake("variance_of_n_minus_one", norm=lambda x, norm: layer_norm(x, norm, ddof=1)),
    TEXTS.mistake("norm_without_weights", norm=lambda x, norm: layer_norm(x, {"g": 1.0, "b": 0.0})),
)
