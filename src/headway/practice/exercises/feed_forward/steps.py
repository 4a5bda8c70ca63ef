"""The steps of the feed-forward."""

from __future__ import annotations

from typing import Any

from headway.practice.recipes.activations import relu


def add(product: Any, bias: Any) -> Any:
    """Add the bias if there is one."""
    return product if bias is None else product + bias


STEPS = {
    "enter": lambda x: x,
    "before": lambda x, activation: x,
    "weights": lambda up, down: (up, down),
    "up": lambda x, up: x @ up.T,
    "up_bias": add,
    "activation": relu,
    "bend": lambda hidden, activation: activation(hidden),
    "middle": lambda hidden, bias: hidden,
    "down": lambda hidden, down: hidden @ down.T,
    "down_bias": add,
    "finish": lambda answer, x, activation: answer,
    "wrap": lambda answer, x: answer,
}
