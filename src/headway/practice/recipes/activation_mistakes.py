"""What is written instead of GELU and of SiLU alike; both are x times a gate."""

from __future__ import annotations

from typing import Any

from headway.practice.exercise import Mistake
from headway.practice.message import Message
from headway.practice.recipes.activations import relu, softplus

LARGE = Message("for large numbers the two are the same", "数值很大时两者相同")


def instead(function: Any) -> dict[str, Any]:
    """Another function in place of all of it."""
    return {"apply": lambda x, gate: function(x)}


def relu_instead(use: Message) -> Mistake:
    """ReLU; `use` says what to write."""
    said = Message("it is ReLU: nothing comes through below 0", "这是 ReLU：小于 0 处什么也不通过")
    return Mistake("relu", instead(relu), said, use, hides=LARGE, pattern=r"max|relu|>")


def softplus_instead(use: Message) -> Mistake:
    """Softplus; `use` says what to write."""
    said = Message("it is softplus, log(1 + exp x)", "这是 softplus，即 log(1 + exp x)")
    return Mistake("softplus", instead(softplus), said, use, hides=LARGE, pattern=r"log|softplus")


def not_bent(use: Message) -> Mistake:
    """Nothing at all; `use` says what to write."""
    return Mistake("not_bent", instead(lambda x: x), Message("it returns x as it is", "原样返回了 x"), use, hides=LARGE, pattern=r"return")
