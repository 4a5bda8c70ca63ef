"""The steps of the gated feed-forward."""

from __future__ import annotations

from headway.practice.exercises.feed_forward.steps import add
from headway.practice.recipes.activations import silu

STEPS = {
    "enter": lambda x: x,
    "weights": lambda gate, up, down: (gate, up, down),
    "gate": lambda x, weight: x @ weight.T,
    "up": lambda x, weight: x @ weight.T,
    "activation": silu,
    "bend_gate": lambda gate, activation: activation(gate),
    "bend_up": lambda up, activation: up,
    "join": lambda gate, up: gate * up,
    "down": lambda hidden, weight, bias: add(hidden @ weight.T, bias),
    "finish": lambda answer, x, activation: answer,
    "wrap": lambda answer, x: answer,
}
