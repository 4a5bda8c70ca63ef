"""One norm in the places of two: a layer that makes a single norm and applies it before, or after, both of its parts."""

from __future__ import annotations

import ast
import re

from headway.practice.diagnosis.checks.shared_layers import ON_PURPOSE
from headway.practice.diagnosis.reading.subject import Subject, definitions, parsed
from headway.practice.diagnosis.reading.trees import is_of_self
from headway.practice.message import EMPTY
from headway.practice.texts import Texts
from headway.practice.verdict import Cause

TEXTS = Texts("diagnosis")

LAYERS = ("transformer_block", "encoder_layer")
"""Exercises of layers with two parts, each with a norm of its own."""

NORM = r"(Layer|RMS)_?Norm(alization)?"
"""Pattern of the classes of norms."""

WITHOUT_WEIGHTS = r"affine *= *False|bias_?only"
"""Pattern of a norm that holds nothing to share."""


def repeated_norm_cause(subject: Subject, exercise: str) -> Cause | None:
    """Return the cause for a layer with one norm that it applies twice, or None."""
    tree = definitions(parsed(subject.text)).get(subject.name)
    if exercise not in LAYERS or not isinstance(tree, ast.ClassDef) or re.search(ON_PURPOSE, subject.own_source):
        return None
    norms = [each for each in ast.walk(tree) if _makes_norm(each)]
    if len(norms) != 1 or not isinstance(norms[0], ast.Assign) or not is_of_self(norms[0].targets[0]):
        return None
    name = norms[0].targets[0].attr
    calls = [each for each in ast.walk(tree) if isinstance(each, ast.Call) and is_of_self(each.func) and each.func.attr == name]
    if len({each.lineno for each in calls}) != 2:
        return None
    says, fix = TEXTS["norm_applied_again"].format(norm=f"self.{name}"), TEXTS["make_each_norm"]
    return Cause("layers_shared", says, fix, EMPTY, line=max(each.lineno for each in calls))


def _makes_norm(node: ast.AST) -> bool:
    """Return True for a statement that assigns a new norm with weights: `self.norm1 = nn.LayerNorm(width)`."""
    if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)):
        return False
    made = ast.unparse(node.value)
    return re.fullmatch(NORM, ast.unparse(node.value.func).rpartition(".")[2]) is not None and not re.search(WITHOUT_WEIGHTS, made)
