"""Mistakes in GPT-2's transformer block."""

from __future__ import annotations

from typing import Any

import numpy

from headway.practice.recipes.blocks import layer_norm, post_norm, pre_norm, split_without_transpose
from headway.practice.texts import Texts

TEXTS = Texts("shared/block_mistakes")


def _residual_from_normed(x: Any, attend: Any, think: Any, norm_1: Any, norm_2: Any) -> Any:
    x = norm_1(x)
    x = x + attend(x)
    x = norm_2(x)
    return x + think(x)


def _first_residual_from_normed(x: Any, attend: Any, think: Any, norm_1: Any, norm_2: Any) -> Any:
    x = norm_1(x)
    x = x + attend(x)
    return x + think(norm_2(x))


def _second_residual_from_normed(x: Any, attend: Any, think: Any, norm_1: Any, norm_2: Any) -> Any:
    x = norm_2(x + attend(norm_1(x)))
    return x + think(x)


def _normed_parts(x: Any, attend: Any, think: Any, norm_1: Any, norm_2: Any) -> Any:
    x = x + norm_1(attend(x))
    return x + norm_2(think(x))


def _second_without_norm(x: Any, attend: Any, think: Any, norm_1: Any, norm_2: Any) -> Any:
    x = x + attend(norm_1(x))
    return x + think(x)


def _first_without_norm(x: Any, attend: Any, think: Any, norm_1: Any, norm_2: Any) -> Any:
    x = x + attend(x)
    return x + think(norm_2(x))


def _without_residuals(x: Any, attend: Any, think: Any, norm_1: Any, norm_2: Any) -> Any:
    return think(norm_2(attend(norm_1(x))))


def _first_residual_missing(x: Any, attend: Any, think: Any, norm_1: Any, norm_2: Any) -> Any:
    x = attend(norm_1(x))
    return x + think(norm_2(x))


def _second_residual_missing(x: Any, attend: Any, think: Any, norm_1: Any, norm_2: Any) -> Any:
    return think(norm_2(x + attend(norm_1(x))))


def _second_from_input(x: Any, attend: Any, think: Any, norm_1: Any, norm_2: Any) -> Any:
    return x + think(norm_2(x + attend(norm_1(x))))


def _feed_forward_first(x: Any, attend: Any, think: Any, norm_1: Any, norm_2: Any) -> Any:
    x = x + think(norm_2(x))
    return x + attend(norm_1(x))


MISTAKES = (
    TEXTS.mistake("residual_from_normalised", {"wire": _residual_from_normed}),
    *(
        TEXTS.mistake(
            name, {"wire": wire}, pattern=r"norm|ln", said_as="residual_from_normalised", key="residual_of_one_from_normalised", part=part
        )
        for name, wire, part in (
            ("first_residual_from_normalised", _first_residual_from_normed, TEXTS["attention"]),
            ("second_residual_from_normalised", _second_residual_from_normed, TEXTS["feed_forward"]),
        )
    ),
    TEXTS.mistake("norms_after_the_sums", {"wire": post_norm}),
    TEXTS.mistake("parts_normalised_afterwards", {"wire": _normed_parts}),
    TEXTS.mistake("second_norm_skipped", {"wire": _second_without_norm}),
    TEXTS.mistake("first_norm_skipped", {"wire": _first_without_norm}),
    TEXTS.mistake("first_norm_used_twice", {"wire": lambda x, attend, think, norm_1, norm_2: pre_norm(x, attend, think, norm_1, norm_1)}),
    TEXTS.mistake("second_norm_used_twice", {"wire": lambda x, attend, think, norm_1, norm_2: pre_norm(x, attend, think, norm_2, norm_2)}),
    TEXTS.mistake("norms_exchanged", {"wire": lambda x, attend, think, norm_1, norm_2: pre_norm(x, attend, think, norm_2, norm_1)}),
    TEXTS.mistake("in_parallel", {"wire": lambda x, attend, think, norm_1, norm_2: x + attend(norm_1(x)) + think(norm_2(x))}),
    TEXTS.mistake("feed_forward_first", {"wire": _feed_forward_first}),
    TEXTS.mistake("residuals_missing", {"wire": _without_residuals}),
    TEXTS.mistake("residual_of_attention_missing", {"wire": _first_residual_missing}),
    TEXTS.mistake("residual_of_feed_forward_missing", {"wire": _second_residual_missing}),
    TEXTS.mistake("second_residual_from_input", {"wire": _second_from_input}),
    TEXTS.mistake("not_causal", {"mask": lambda query_len, key_len: numpy.ones((query_len, key_len), bool)}),
    TEXTS.mistake("mask_transposed", {"mask": lambda query_len, key_len: numpy.triu(numpy.ones((query_len, key_len), bool))}),
    TEXTS.mistake("scale_missing", {"scale": lambda head_dim, num_heads: 1.0}),
    TEXTS.mistake("scale_of_whole_width", {"scale": lambda head_dim, num_heads: (head_dim * num_heads) ** -0.5}),
    TEXTS.mistake("one_head", {"heads": lambda num_heads: 1}),
    TEXTS.mistake("heads_split_without_transpose", {"split": split_without_transpose}),
    TEXTS.mistake("query_and_key_exchanged", {"order": lambda query, key, value: (key, query, value)}),
    TEXTS.mistake("key_and_value_exchanged", {"order": lambda query, key, value: (query, value, key)}),
    TEXTS.mistake("output_projection_missing", {"project": lambda x, layer: x}),
    TEXTS.mistake("output_projection_transposed", {"project": lambda x, layer: x @ layer["w"].T + layer["b"]}),
    TEXTS.mistake("biases_missing", {"linear": lambda x, layer: x @ layer["w"], "project": lambda x, layer: x @ layer["w"]}),
    TEXTS.mistake("activation_missing", {"activation": lambda x: x}),
    TEXTS.mistake("relu_for_gelu", {"activation": lambda x: numpy.maximum(x, 0)}),
    TEXTS.mistake("silu_for_gelu", {"activation": lambda x: x / (1 + numpy.exp(-x))}),
    TEXTS.mistake("variance_of_n_minus_one", {"norm": lambda x, norm: layer_norm(x, norm, ddof=1)}),
    TEXTS.mistake("norm_without_weights", {"norm": lambda x, norm: layer_norm(x, {"g": 1.0, "b": 0.0})}),
)
