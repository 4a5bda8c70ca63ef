"""Layers of PyTorch in place of the weights that a function takes: `embedding(tokens)` for a table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.exercise import Role

CALLED = r"(?<![\w.]){name}\("
"""Pattern of the source of a function that calls one of its operands."""


def given_layers(subject: Subject, role_of: Mapping[str, Role]) -> set[str]:
    """Return the parameters that a function calls although they are weights by their roles: it takes layers."""
    body = subject.code.partition(":\n")[2] or subject.code.partition(":")[2]
    return {name for name, role in role_of.items() if role.is_weight and re.search(CALLED.format(name=re.escape(name)), body)}


def as_layer(weight: Any, role: Role) -> Any:
    """Return a layer of PyTorch that holds a weight: an embedding for a table, else a linear layer without a bias."""
    from torch import nn

    if role.name == "table":
        return nn.Embedding.from_pretrained(weight, freeze=False)
    layer = nn.Linear(weight.shape[1], weight.shape[0], bias=False, dtype=weight.dtype)
    layer.weight.data = weight
    return layer
