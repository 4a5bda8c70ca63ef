"""Check of an attention that is judged without its rotation: one that its constructor switches on, or one by the tables that it is given.

The rotation's place is taken by a change of sign, which the scores do not show if it concerns the queries and the keys alike. So the outputs must
be those without the rotation.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy

from headway.practice.diagnosis.calls.binding import TABLE, Binding
from headway.practice.diagnosis.calls.calling import Call
from headway.practice.diagnosis.calls.conventions import output_of
from headway.practice.diagnosis.checks.trial import Trial
from headway.practice.diagnosis.classes.instances import InstanceCall
from headway.practice.diagnosis.classes.no_effect import stored_as
from headway.practice.diagnosis.classes.unrotated import PART, turned
from headway.practice.diagnosis.reading.trees import is_of_self
from headway.practice.exercise import Role
from headway.practice.message import EMPTY
from headway.practice.outputs import Raised
from headway.practice.texts import Texts
from headway.practice.verdict import Cause

TEXTS = Texts("diagnosis")

SWITCH = rf"(use_|with_|apply_|is_|has_)?(\w*({PART})\w*|rpe|rotate|rotated)"
"""Pattern of the names of parameters that switch a rotation on."""

SETTINGS = {r"theta|base|rope_\w*": 10000.0, r"max\w*|context\w*|block_size|seq_?len\w*|\w*positions": 64}
"""Values of the other parameters that such a rotation needs, by the pattern of their names."""

MOST_PROBES = 3


def rotation_cause(trial: Trial) -> Cause | None:
    """Return a cause if a correct attention rotates anything but its queries and keys when its rotation is switched on; else None."""
    call = trial.call
    tables = {name: role for name, role in call.binding.role_of.items() if role.name.startswith(TABLE)}
    if tables and _differs(_turning(call, tables), trial):
        return _rotates_others(call, next(iter(tables)))
    if not isinstance(call, InstanceCall) or call.construction.is_unrotated or not re.search(PART, call.subject.own_source):
        return None
    for parameter in call.subject.parameters:
        switched = _switched(call, parameter)
        if switched is not None and _differs(switched, trial):
            return _rotates_others(call, parameter.name)
    return None


def _rotates_others(call: Call, parameter: str) -> Cause:
    says = TEXTS["rotates_others"].format(parameter=parameter)
    return Cause("rotates_others", says, TEXTS["rotate_queries_and_keys"], EMPTY, line=call.subject.line_of(rf"=.*({PART})\w*\("))


def _differs(call: Call, trial: Trial) -> bool:
    """Return True if a call returns other outputs than a correct trial for some of its first probes."""
    pairs = [(probe, output_of(call, trial.conventions, probe.inputs)) for probe in trial.probes[:MOST_PROBES]]
    return not all(isinstance(answer, Raised) or trial.is_same(probe, answer) for probe, answer in pairs)


def _turning(call: Call, tables: Mapping[str, Role]) -> Call:
    """Return the call with tables of half turns in place of those of the angle 0."""

    def turned_table(role: Role) -> Role:
        return replace(role, size_of=lambda inputs: _negated(role.size_of(inputs)) if role.size_of is not None else None)

    binding = Binding({**call.binding.role_of, **{name: turned_table(role) for name, role in tables.items()}})
    return replace(call, binding=binding)


def _negated(table: Any) -> Any:
    """Return cosines and sines with the other sign; positions as they are."""
    if isinstance(table, tuple):
        return tuple(map(_negated, table))
    return -table if isinstance(table, numpy.ndarray) and table.dtype.kind in "fc" else table


def _switched(call: InstanceCall, parameter: inspect.Parameter) -> InstanceCall | None:
    """Return the call with the rotation that a parameter of the constructor switches on, or None for other parameters."""
    if not re.fullmatch(SWITCH, parameter.name.lower()) or not _guards_rotation(call, parameter.name):
        return None
    construction, others = call.construction, call.subject.parameters
    given: dict[str, Any] = {each.name: _setting(each.name) for each in others if each.default is None and _setting(each.name) is not None}
    given = {name: value for name, value in given.items() if name not in construction.constructor.role_of}
    if parameter.default is False or (parameter.default is None and _is_flag(call, parameter.name)):
        construction = replace(construction, fixed={**construction.fixed, **given, parameter.name: True}, is_unrotated=True)
    elif parameter.default is None:
        construction = replace(construction, fixed={**construction.fixed, **given, parameter.name: turned})
    else:
        return None
    return replace(call, construction=construction, made={}, unmade={}, slots={})


def _setting(name: str) -> Any:
    return next((value for pattern, value in SETTINGS.items() if re.fullmatch(pattern, name.lower())), None)


def _is_flag(call: InstanceCall, name: str) -> bool:
    """Return True if a class only stores a parameter and tests whether it is true: it is no rotation that the class is given."""
    tree = ast.parse(textwrap.dedent(call.subject.own_source))
    attribute = stored_as(name, call.subject)
    tested = [each for node in ast.walk(tree) if isinstance(node, ast.If | ast.IfExp) for each in ast.walk(node.test)]
    stored = [node.value for node in ast.walk(tree) if isinstance(node, ast.Assign)]
    read = [
        node for node in ast.walk(tree) if (isinstance(node, ast.Name) and node.id == name) or (is_of_self(node) and node.attr == attribute)
    ]
    loaded = [node for node in read if isinstance(node.ctx, ast.Load)]
    return bool(loaded) and all(any(node is each for each in (*tested, *stored)) for node in loaded)


def _guards_rotation(call: InstanceCall, name: str) -> bool:
    """Return True if all that a parameter chooses in the call method is a rotation."""
    attribute = stored_as(name, call.subject)
    tree = ast.parse(textwrap.dedent(call.subject.own_source))
    methods = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name != "__init__"]
    tests = [node for method in methods for node in ast.walk(method) if isinstance(node, ast.If)]
    guarded = [node for node in tests if any(is_of_self(each) and each.attr == attribute for each in ast.walk(node.test))]
    return bool(guarded) and all(not node.orelse and re.search(PART, ast.unparse(node.body[0])) for node in guarded)
