"""Mistakes shared by GELU and SiLU, which are both x times a gate."""

from __future__ import annotations

from typing import Any

from headway.practice.exercise import Mistake
from headway.practice.message import Message
from headway.practice.recipes.activations import relu, softplus
from headway.practice.texts import Texts

TEXTS = Texts("shared/activation_mistakes")


def instead(function: Any) -> dict[str, Any]:
    """Return the steps that use another function in place of the activation."""
    return {"apply": lambda x, gate: function(x)}


def relu_instead(use: Message) -> Mistake:
    """Return the mistake of using ReLU; `use` is the fix."""
    return TEXTS.mistake("relu", **instead(relu), fix=use)


def softplus_instead(use: Message) -> Mistake:
    """Return the mistake of using softplus; `use` is the fix."""
    return TEXTS.mistake("softplus", **instead(softplus), fix=use)


def not_bent(use: Message) -> Mistake:
    """Return the mistake of a missing activation; `use` is the fix."""
    return TEXTS.mistake("not_bent", **instead(lambda x: x), fix=use)
