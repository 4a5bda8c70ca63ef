"""Classes whose part is another layer: one of several that a text names, the base, of which only the initial weights change, or one of patches of images."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import TypeGuard

from headway.practice.diagnosis.reading.trees import constructor_in, is_of_self, last_name, parameters_in

FEWEST_LAYERS = 2

READY_MADE = ("Linear", "Embedding", "LayerNorm", "RMSNorm")
"""Layers of libraries from which a class may derive."""

COMPUTING = ("__init__", "forward", "__call__")
"""Methods without which a class computes what its base does."""


def is_other_layer(node: ast.stmt) -> bool:
    """Return True for a class that needs no verdict, because another layer does what it does."""
    return isinstance(node, ast.ClassDef) and (only_chooses(node) or only_inherits(node) or embeds_patches(node))


def only_inherits(node: ast.ClassDef) -> bool:
    """Return True for a class of a library's layer with other initial weights: `class NoInit(nn.Linear)` with `reset_parameters` alone."""
    is_derived = any(ast.unparse(base).rpartition(".")[2] in READY_MADE for base in node.bases)
    return is_derived and not any(isinstance(each, ast.FunctionDef) and each.name in COMPUTING for each in node.body)


OF_PATCHES = r"(?i)patch"
"""Pattern of the size of the patches of an image."""


def embeds_patches(node: ast.ClassDef) -> bool:
    """Return True for a class that projects the patches of images: `self.patches = nn.Conv2d(channels, width, patch_size, stride=patch_size)`."""
    constructor = constructor_in(node)
    made = (each for each in ast.walk(constructor) if isinstance(each, ast.Call)) if constructor is not None else ()
    return any(last_name(each.func) == "Conv2d" and re.search(OF_PATCHES, _sizes_in(each)) for each in made)


def _sizes_in(call: ast.Call) -> str:
    """Return the arguments of a convolution after its channels."""
    return " ".join(ast.unparse(each) for each in (*call.args[2:], *(keyword.value for keyword in call.keywords)))


def only_chooses(node: ast.ClassDef) -> bool:
    """Return True for a class whose constructor makes one layer, of the kind that a required text names: `if kind == "ln": self.norm = LayerNorm(width)`."""
    constructor = constructor_in(node)
    if constructor is None:
        return False
    required = parameters_in(constructor)[: len(constructor.args.args) - len(constructor.args.defaults)]
    chosen = [name for statement in ast.walk(constructor) if _compares(statement, required) for name in _made_by(statement.body)]
    return len(chosen) >= FEWEST_LAYERS and len({*chosen}) == 1 and [*_made_by(ast.walk(constructor))] == chosen


def _compares(statement: ast.AST, names: list[str]) -> TypeGuard[ast.If]:
    """Return True for a branch for one text of a parameter."""
    test = statement.test if isinstance(statement, ast.If) else None
    if not isinstance(test, ast.Compare) or not isinstance(test.left, ast.Name) or test.left.id not in names:
        return False
    return all(isinstance(each, ast.Constant) and isinstance(each.value, str) for each in test.comparators)


def _made_by(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the attributes of self that statements assign the output of a call."""
    for each in nodes:
        target = each.targets[0] if isinstance(each, ast.Assign) and isinstance(each.value, ast.Call) else None
        if target is not None and is_of_self(target):
            yield target.attr
