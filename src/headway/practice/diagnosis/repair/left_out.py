"""Repairs that make a class right by leaving out parameters that it has learned, or by a bias more: an unlisted variant may have them on purpose."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Collection

from headway.practice.diagnosis.calls.calling import Call
from headway.practice.diagnosis.classes.instances import InstanceCall
from headway.practice.diagnosis.reading.subject import parsed
from headway.practice.diagnosis.reading.trees import stored_in
from headway.practice.diagnosis.repair.text import replaced_text
from headway.practice.verdict import Edit, Repair

WITHOUT_BIAS = r"\b\w*bias *= *False"
"""Pattern of an argument without which a layer has a bias."""


ROUNDING = r"//|%|\b(round|floor|ceil|trunc|sign|int)\("
"""Pattern of operations that make whole numbers, or what is left of them."""


OF_SELF = r"\bself\."
"""Start of the pattern of an attribute or a method."""


def leaves_out_parameters(repair: Repair, call: Call) -> bool:
    """Return True if an edit changes whether a layer has a bias, or no longer reads, or rounds, a parameter that the part does not have.

    What is computed from such a parameter counts as the parameter.
    """
    if not isinstance(call, InstanceCall):
        return False
    text = call.subject.text
    edits = [(each, replaced_text(text, each)) for each in repair.edits if each.cell is None]
    if any(re.search(WITHOUT_BIAS, each.replacement) and not re.search(WITHOUT_BIAS, replaced) for each, replaced in edits):
        return True
    if any(_gives_bias(text, each, replaced) for each, replaced in edits):
        return True
    names = _computed_from({name.partition(".")[0] for name in call.other_parameters}, call.subject.own_source)
    return any(no_longer_reads(names, each, replaced) for each, replaced in edits)


def _gives_bias(text: str, edit: Edit, replaced: str) -> bool:
    """Return True if an edit turns the flag for a bias of a layer on."""
    before = text.splitlines()[edit.line - 1][: edit.column - 1]
    return (replaced, edit.replacement) == ("False", "True") and re.search(r"\b\w*bias *= *$", before) is not None


def no_longer_reads(names: Collection[str], edit: Edit, replaced: str) -> bool:
    """Return True if an edit leaves fewer of the names, or rounds what is computed from one, after which its values hardly count.

    One variable that is computed from parameters may take the place of another.
    """
    is_rounded = len(re.findall(ROUNDING, edit.replacement)) > len(re.findall(ROUNDING, replaced))
    fewer = {name: len(re.findall(name, replaced)) - len(re.findall(name, edit.replacement)) for name in names}
    return (
        sum(fewer.values()) > 0
        or any(number > 0 for name, number in fewer.items() if name.startswith(OF_SELF))
        or (is_rounded and any(re.search(name, edit.replacement) for name in names))
    )


def _computed_from(attributes: Collection[str], source: str) -> set[str]:
    """Return patterns of attributes, and of the names and methods whose values are computed from them."""
    found = {rf"{OF_SELF}{each}\b" for each in attributes}
    tree = parsed(textwrap.dedent(source))
    assigned = [node for node in ast.walk(tree) if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign)]
    methods = [
        node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name not in ("__init__", "forward", "__call__")
    ]
    for _ in range(len(assigned) + len(methods) if found else 0):
        of_methods = {rf"{OF_SELF}{each.name}\(" for each in methods if _reads(each, found)}
        of_names = {
            rf"(?<![\w.]){name}\b(?! *=[^=])" for each in assigned if each.value and _reads(each.value, found) for name in stored_in(each)
        }
        if of_methods | of_names <= found:
            break
        found |= of_methods | of_names
    return found


def _reads(node: ast.AST, names: Collection[str]) -> bool:
    text = ast.unparse(node)
    return any(re.search(name, text) for name in names)
