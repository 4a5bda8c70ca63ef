"""Tables of rotary positions whose layout does not fit the rotation of the same file: each of the two is correct alone."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy

from headway.practice.diagnosis.calls.conventions import encoded_for
from headway.practice.diagnosis.reading.subject import DOCSTRING, Subject, parsed, without_comments
from headway.practice.diagnosis.reading.trees import functions_in
from headway.practice.exercises.rotary.conventions import IN_HALVES, REPEATED
from headway.practice.message import EMPTY, Message
from headway.practice.texts import Texts
from headway.practice.verdict import Cause, Verdict

TEXTS = Texts("rotary_tables")

LAYOUTS = (IN_HALVES, REPEATED)
"""Notes on the two layouts of tables that are as wide as x."""


DOUBLED = (
    r"\b(?P<angles>\w+) *= *(?:[\w.]+\.repeat_interleave\(|(?:torch\.|np\.|jnp\.|mx\.)(?:repeat_interleave|(?<!torch\.)repeat)\([\w.]+, *)"
    r"(?:repeats *= *)?2, *(?:axis *= *|dim *= *)?-1\)"
    r"|\b(?P<pairs>\w+) *= *(?:torch\.|np\.|jnp\.|mx\.)stack\([\[(](\w+), *\3[\])], *(?:axis *= *|dim *= *)?-1\)\.(?:flatten|reshape|view)\("
)
"""Pattern of angles, or of their cosines and sines, that are doubled so that neighbours are alike."""

HALVES_TURNED = r"\b(cat|concat|concatenate)\(\s*[\[(] *-\w+, *\w+ *[\])]"
"""Pattern of the exchange of two halves."""

OF_NEIGHBOURS = r"::2|\b(cat|concat|concatenate)\(\s*[\[(](\w+), *\2[\])]|rearrange|unflatten|, *-1, *2\)|view_as|even|odd|permut"
"""Pattern of code that may pair neighbours, or change the order of coordinates."""


def mixed_layout_cause(subject: Subject) -> Cause | None:
    """Return the cause for a subject that turns other pairs than those that its angles, or its coordinates, are arranged for; None if it is not sure."""
    return _of_angles(subject) or _of_coordinates(subject)


def _of_coordinates(subject: Subject) -> Cause | None:
    """Return the cause for neighbours that are exchanged as halves and added to coordinates in their own order: `x * cos + rotate_half(x) * sin`."""
    used = without_comments(subject.used_source)
    tree = parsed(subject.text)
    for function in functions_in(tree):
        line = _neighbours_as_halves(function)
        if line is not None and re.search(rf"\b{function.name}\b", used) and any(_is_added(node, function.name) for node in ast.walk(tree)):
            return Cause("layouts_differ", TEXTS["neighbours_as_halves"], TEXTS["join_by_turns"], EMPTY, line=line)
    return None


def _neighbours_as_halves(function: ast.FunctionDef) -> int | None:
    """Return the line in which a function returns its odd coordinates, negated, before its even ones; None for another function."""
    taken = {name: ast.unparse(value).replace("0::2", "::2") for node in ast.walk(function) for name, value in _assigned(node)}
    for node in ast.walk(function):
        match node:
            case ast.Return(
                ast.Call(ast.Attribute(attr="cat" | "concat" | "concatenate"), [ast.List([one, other]) | ast.Tuple([one, other]), *_])
            ):
                match one, other:
                    case ast.UnaryOp(ast.USub(), ast.Name(odd)), ast.Name(even):
                        first, second = taken.get(even, ""), taken.get(odd, "")
                        if re.fullmatch(r"\w+\[\.\.\., ::2\]", first) and second == first.replace("::2", "1::2"):
                            return node.lineno
    return None


def _assigned(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names that a statement assigns with their values."""
    match node:
        case ast.Assign([ast.Name(name)], value):
            yield name, value
        case ast.Assign([ast.Tuple(names)], ast.Tuple(values)) if len(names) == len(values):
            yield from ((each.id, value) for each, value in zip(names, values, strict=True) if isinstance(each, ast.Name))


def _is_added(node: ast.AST, name: str) -> bool:
    """Return True for `x * cos + name(x) * sin`."""
    match node:
        case ast.BinOp(ast.BinOp(ast.Name(first), ast.Mult()), ast.Add(), ast.BinOp(ast.Call(called, [ast.Name(second)]), ast.Mult())):
            return first == second and ast.unparse(called).rpartition(".")[2] == name
    return False


def _of_angles(subject: Subject) -> Cause | None:
    """Return the cause for a subject that doubles its angles for pairs of neighbours and turns pairs of halves; None if it is not sure."""
    text = re.sub(DOCSTRING, "", without_comments(subject.used_source))
    found = re.search(DOUBLED, text)
    if found is None or re.search(OF_NEIGHBOURS, text) or not re.search(HALVES_TURNED, text):
        return None
    name = found["angles"] or found["pairs"]
    waves = {wave for each in re.finditer(DOUBLED, text) for wave in ("cos", "sin") if wave in (each["angles"] or "")}
    if len(waves) < 2 and not all(re.search(rf"\b{wave}\({name}\)|\b{name}\.{wave}\(", text) for wave in ("cos", "sin")):
        return None
    before, doubled, _ = subject.text.partition(found[0])
    line = subject.line_of(re.escape(found[0])) or (before.count("\n") + 1 if doubled else None)
    return Cause("layouts_differ", TEXTS["repeated_in_rotation"], TEXTS["concatenate_angles"], EMPTY, line=line)


def with_cause_of_layouts(verdict: Verdict) -> Verdict:
    """Return a verdict with a repair alone, of other lines than that which doubles angles for other pairs than those that are turned, with the latter cause."""
    cause = None if verdict.trial is None or verdict.causes else mixed_layout_cause(verdict.trial.call.subject)
    if cause is None or verdict.repair is None or cause.line in {edit.line for edit in verdict.repair.edits}:
        return verdict
    return replace(verdict, status="wrong", causes=(cause,), notes=(), difference=None, repair=None, is_confirmed=True)


def with_fitting_tables(verdict: Verdict, others: Sequence[Verdict]) -> Verdict:
    """Return the verdict on correct tables, as wrong if every correct rotation among the others needs the other layout; any other verdict as it is."""
    if verdict.exercise != "rotary_tables" or not verdict.is_correct:
        return verdict
    rotations = {
        layout: each.subject
        for each in others
        if each.exercise == "rotary" and each.is_correct
        for layout in LAYOUTS
        if layout in each.notes
    }
    own = _layout(verdict)
    if own is None or not rotations or own in rotations:
        return verdict
    (rotation,) = rotations.values()
    repeated = TEXTS["repeated_for_halves"], TEXTS["concatenate_angles"]
    halves = TEXTS["halves_for_repeated"], TEXTS["repeat_angles"]
    says, fix = repeated if own == REPEATED else halves
    cause = Cause("layouts_differ", says.format(rotation=rotation), fix, EMPTY, line=verdict.line)
    return replace(verdict, status="wrong", causes=(cause,))


def _layout(verdict: Verdict) -> Message | None:
    """Return the note on the layout of the tables that a function returns; None if they are half as wide as x, or of another form."""
    trial = verdict.trial
    if trial is None:
        return None
    probe = trial.probes[0]
    encoded = encoded_for(trial.call, trial.conventions, probe.inputs)
    answer = None if encoded is None else trial.call(encoded)
    return _layout_of(answer, probe.inputs["head_dim"])


def _layout_of(answer: Any, head_dim: int) -> Message | None:
    tables = [numpy.asarray(each) for each in answer if hasattr(each, "shape")] if isinstance(answer, tuple | list) else []
    if len(tables) != 2 or any(table.shape[-1:] != (head_dim,) or table.dtype.kind != "f" for table in tables):
        return None
    pairs = {
        REPEATED: [(table[..., ::2], table[..., 1::2]) for table in tables],
        IN_HALVES: [(table[..., : head_dim // 2], table[..., head_dim // 2 :]) for table in tables],
    }
    return next((layout for layout, each in pairs.items() if all(numpy.allclose(a, b, atol=1e-6) for a, b in each)), None)
