"""Common mistakes in the gated feed-forward."""

from __future__ import annotations

from typing import Any

import numpy

from headway.practice.exercises.feed_forward.steps import add
from headway.practice.recipes.activations import gelu, gelu_tanh, quick_gelu, relu, sigmoid, silu
from headway.practice.texts import Texts

TEXTS = Texts("gated_feed_forward")

GATE = TEXTS["gate"]
SILU = TEXTS["silu"]
ACT = r"silu|sigmoid|gelu|relu|exp|tanh"


def _product_with_reshaped(x: Any, weight: Any) -> Any:
    return x @ weight.reshape(weight.shape[::-1])


def _softmax(x: Any) -> Any:
    powers = numpy.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


MISTAKES = (
    TEXTS.mistake("activation_on_up", {"bend_gate": lambda gate, activation: gate, "bend_up": lambda up, activation: activation(up)}),
    TEXTS.mistake("activation_missing", {"bend_gate": lambda gate, activation: gate}),
    TEXTS.mistake("activation_on_both", {"bend_up": lambda up, activation: activation(up)}),
    TEXTS.mistake("activation_on_product", {"bend_gate": lambda gate, activation: gate, "join": lambda gate, up: silu(gate * up)}),
    TEXTS.mistake(
        "activation_on_answer", {"bend_gate": lambda gate, activation: gate, "finish": lambda answer, x, activation: activation(answer)}
    ),
    TEXTS.mistake("up_not_used", {"join": lambda gate, up: gate}),
    TEXTS.mistake("gate_not_used", {"join": lambda gate, up: up}),
    TEXTS.mistake("gate_used_twice", {"weights": lambda gate, up, down: (gate, gate, down)}),
    TEXTS.mistake("up_used_twice", {"weights": lambda gate, up, down: (up, up, down)}),
    TEXTS.mistake("branches_added", {"join": lambda gate, up: gate + up}),
    TEXTS.mistake("first_maps_alone", {"down": lambda hidden, weight, bias: hidden}),
    TEXTS.mistake("residual_added", {"finish": lambda answer, x, activation: answer + x}),
    TEXTS.mistake("sigmoid_for_silu", {"activation": sigmoid}),
    TEXTS.mistake("exponent_sign", {"activation": lambda x: x * sigmoid(-x)}),
    TEXTS.mistake("tanh_for_silu", {"activation": numpy.tanh}),
    TEXTS.mistake("softmax_for_silu", {"activation": _softmax}),
    TEXTS.mistake("relu_for_silu", {"activation": relu}),
    TEXTS.mistake("gelu_for_silu", {"activation": gelu}),
    TEXTS.mistake("gelu_tanh_for_silu", {"activation": gelu_tanh}),
    TEXTS.mistake("quick_gelu_for_silu", {"activation": quick_gelu}),
    TEXTS.mistake("gate_reshaped", {"gate": _product_with_reshaped}),
    TEXTS.mistake(
        "all_reshaped",
        {
            "gate": _product_with_reshaped,
            "up": _product_with_reshaped,
            "down": lambda hidden, weight, bias: add(_product_with_reshaped(hidden, weight), bias),
        },
    ),
    TEXTS.mistake(
        "tokens_summed",
        {
            "down": lambda hidden, weight, bias: add(
                hidden @ weight.T if hidden.ndim < 2 else numpy.broadcast_to(hidden.sum(-2, keepdims=True), hidden.shape) @ weight.T, bias
            )
        },
    ),
)
