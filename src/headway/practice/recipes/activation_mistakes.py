"""Mistakes shared by GELU and SiLU, which are both x times a gate."""

from __future__ import annotations

from typing import Any

from headway.practice.exercise import Mistake
from headway.practice.message import Message
from headway.practice.recipes.activations import relu, softplus

LARGE = Message("large inputs give the same result", "输入较大时结果相同")


def instead(function: Any) -> dict[str, Any]:
    """Return the steps that use another function in place of the activation."""
    return {"apply": lambda x, gate: function(x)}


def relu_instead(use: Message) -> Mistake:
    """Return the mistake of using ReLU; `use` is the fix."""
    message = Message("this is ReLU: negative inputs give 0", "这是 ReLU：负数的输出为 0")
    return Mistake("relu", instead(relu), message, use, hides=LARGE, pattern=r"max|relu|>")


def softplus_instead(use: Message) -> Mistake:
    """Return the mistake of using softplus; `use` is the fix."""
    message = Message("this is softplus, log(1 + exp x)", "这是 softplus，即 log(1 + exp x)")
    return Mistake("softplus", instead(softplus), message, use, hides=LARGE, pattern=r"log|softplus")


def not_bent(use: Message) -> Mistake:
    """Return the mistake of a missing activation; `use` is the fix."""
    return Mistake("not_bent", instead(lambda x: x), Message("returns x unchanged", "原样返回了 x"), use, hides=LARGE, pattern=r"return")
