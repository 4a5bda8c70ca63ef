"""Common mistakes in the feed-forward."""

from __future__ import annotations

from typing import Any

import numpy

from headway.practice.exercises.feed_forward.steps import add
from headway.practice.recipes.activations import sigmoid
from headway.practice.texts import Texts

TEXTS = Texts("feed_forward")


def _softmax(x: Any) -> Any:
    powers = numpy.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def _normed(x: Any) -> Any:
    return (x - x.mean(-1, keepdims=True)) / numpy.sqrt(x.var(-1, keepdims=True) + 1e-5)


MISTAKES = (
    TEXTS.mistake("activation_missing", {"bend": lambda hidden, activation: hidden}),
    TEXTS.mistake(
        "activation_after_second", {"bend": lambda hidden, activation: hidden, "finish": lambda answer, x, activation: activation(answer)}
    ),
    TEXTS.mistake("activation_after_both", {"finish": lambda answer, x, activation: activation(answer)}),
    TEXTS.mistake("activation_before_first", {"before": lambda x, activation: activation(x), "bend": lambda hidden, activation: hidden}),
    TEXTS.mistake("up_bias_missing", {"up_bias": lambda product, bias: product}),
    TEXTS.mistake("down_bias_missing", {"down_bias": lambda product, bias: product}),
    TEXTS.mistake("biases_missing", {"up_bias": lambda product, bias: product, "down_bias": lambda product, bias: product}),
    TEXTS.mistake("up_bias_after_activation", {"up_bias": lambda product, bias: product, "middle": add}),
    TEXTS.mistake("residual_added", {"finish": lambda answer, x, activation: answer + x}),
    TEXTS.mistake("normalised_first", {"before": lambda x, activation: _normed(x)}),
    TEXTS.mistake("first_map_alone", {"down": lambda hidden, down: hidden, "down_bias": lambda product, bias: product}),
    TEXTS.mistake("second_map_is_first_transposed", {"weights": lambda up, down: (up, up.T)}),
    TEXTS.mistake("weights_exchanged", {"weights": lambda up, down: (down, up)}),
    TEXTS.mistake("up_reshaped", {"up": lambda x, up: x @ up.reshape(up.shape[::-1])}),
    TEXTS.mistake("down_reshaped", {"down": lambda hidden, down: hidden @ down.reshape(down.shape[::-1])}),
    TEXTS.mistake(
        "both_reshaped",
        {"up": lambda x, up: x @ up.reshape(up.shape[::-1]), "down": lambda hidden, down: hidden @ down.reshape(down.shape[::-1])},
    ),
    TEXTS.mistake("sigmoid_for_activation", {"activation": sigmoid}),
    TEXTS.mistake("tanh_for_activation", {"activation": numpy.tanh}),
    TEXTS.mistake("softmax_for_activation", {"activation": _softmax}),
    TEXTS.mistake("absolute_value_for_activation", {"activation": numpy.abs}),
    TEXTS.mistake("minimum_for_maximum", {"activation": lambda x: numpy.minimum(x, 0)}),
    TEXTS.mistake(
        "tokens_summed",
        {"middle": lambda hidden, bias: hidden if hidden.ndim < 2 else numpy.broadcast_to(hidden.sum(-2, keepdims=True), hidden.shape)},
    ),
    TEXTS.mistake(
        "tokens_averaged",
        {"middle": lambda hidden, bias: hidden if hidden.ndim < 2 else numpy.broadcast_to(hidden.mean(-2, keepdims=True), hidden.shape)},
    ),
)
