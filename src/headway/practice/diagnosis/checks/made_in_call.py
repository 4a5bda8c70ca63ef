"""Layers that are made in the call: `nn.LayerNorm(d_model)(x)` in `forward`, whose weights are new at every call, or a dropout that is never off."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection

from headway.practice.diagnosis.classes.children import METHODS
from headway.practice.diagnosis.reading.subject import Subject, definitions, parsed
from headway.practice.message import EMPTY
from headway.practice.texts import Texts
from headway.practice.verdict import Cause

TEXTS = Texts("diagnosis")

WEIGHTED = ("Linear", "LayerNorm", "RMSNorm", "BatchNorm1d", "Embedding", "Conv1d", "MultiheadAttention", "TransformerEncoderLayer")
"""Layers of torch with weights."""

DROPOUTS = ("Dropout",)
"""Layers of torch that do nothing in eval mode, in which a new one is not."""

MOVES = ("to", "cuda", "cpu", "float", "half", "double")
"""Methods of a layer that return it."""

OTHER_NN = r"(?m)^ *(from|import) (flax|mlx)\b"
"""Pattern of the source of a file whose `nn` is not that of torch; a module of Flax makes its layers in the call."""


def made_in_call_cause(subject: Subject) -> Cause | None:
    """Return the cause for a layer with weights, or a dropout, that the call of a class makes and applies; None if there is none."""
    tree = definitions(parsed(subject.text)).get(subject.name)
    calls = [node for node in getattr(tree, "body", ()) if isinstance(node, ast.FunctionDef) and node.name in METHODS]
    if not isinstance(tree, ast.ClassDef) or re.search(OTHER_NN, subject.file_source):
        return None
    for node in (each for call in calls for each in ast.walk(call)):
        if isinstance(node, ast.Call) and (made := _layer(node.func)) is not None:
            says = TEXTS["layer_made_in_call"].format(layer=ast.unparse(made))
            return Cause("layer_made_in_call", says, TEXTS["make_in_constructor"], EMPTY, line=made.lineno)
        if isinstance(node, ast.Call) and (made := _layer(node.func, DROPOUTS)) is not None and ".training" not in subject.own_source:
            says = TEXTS["dropout_made_in_call"].format(layer=ast.unparse(made))
            return Cause("dropout_in_eval", says, TEXTS["make_in_constructor"], EMPTY, line=made.lineno)
    return None


def _layer(node: ast.expr, names: Collection[str] = WEIGHTED) -> ast.Call | None:
    """Return the construction of a layer of these names that is called at once, also after it was moved to a device; None for another function."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Call() as made, attr=move)) if move in MOVES:
            return _layer(made, names)
        case ast.Call(func=ast.Attribute(value=ast.Name(id="nn"), attr=name), keywords=options) if name in names:
            is_plain = any(each.arg == "elementwise_affine" and ast.unparse(each.value) == "False" for each in options)
            return None if is_plain else node
    return None
