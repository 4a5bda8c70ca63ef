"""Expressions of right programs that a learner's program lacks, with the learner's own names.

A right program of the same part runs on the same probe. Values tell which of its expressions the learner's program computes too, and
under which names. An expression whose value the learner's program never computes, around one that it does, is what may be missing.
"""

from __future__ import annotations

import ast
import builtins
import copy
import functools
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from headway.practice.diagnosis.adapters import calls_of
from headway.practice.diagnosis.calls.calling import Call
from headway.practice.diagnosis.calls.conventions import output_of
from headway.practice.diagnosis.reading.subject import subjects_of
from headway.practice.diagnosis.repair.observation import Names, Recorder, Seen
from headway.practice.diagnosis.repair.program import Program, program_of
from headway.practice.diagnosis.repair.templates import ALIASES, filled
from headway.practice.diagnosis.repair.tree import places
from headway.practice.exercise import Exercise, Inputs
from headway.practice.exercises import exercise as by_name

MAX_NODES = 40
"""Size of the expressions that are taken."""
MAX_DEPTH = 2
"""Assignments of the right program that are put in place of a variable."""
HOLE = "__headway_hole__"


@dataclass(frozen=True)
class Missing:
    """An expression of a right program whose value the learner's program does not compute.

    around    digest of the value that it is computed from
    made      source → the expression with the learner's names, around that source
    """

    around: int
    made: Callable[[ast.expr], ast.expr]


@dataclass(frozen=True)
class Own:
    """A learner's program.

    expressions   by the digest of their value, the shortest one
    names         names of its module: of other libraries and functions
    alias         name under which it imports its array library
    """

    expressions: Mapping[int, ast.expr]
    names: Collection[str]
    alias: str


def alias_of(program: Program, library: str) -> str:
    """Return the name under which the file imports an array library."""
    module = {"numpy": "numpy", "torch": "torch", "jax": "jax.numpy", "mlx": "mlx.core"}.get(library, "numpy")
    for name, value in vars(program.subject.module).items() if program.subject.module is not None else ():
        if getattr(value, "__name__", None) == module:
            return name
    return ALIASES.get(library, "np")


def own_of(program: Program, seen: Mapping[int, Names], recorder: Recorder, library: str) -> Own:
    """Return the expressions of a program by their values, and its names."""
    found: dict[int, ast.expr] = {}
    for each in seen.values():
        found |= {value.digest: ast.Name(name, ast.Load()) for name, value in each.variables.items() if value.digest is not None}
    for node in sorted(recorder.nodes, key=lambda each: len(ast.dump(each))):
        value = recorder.values.get(id(node))
        if value is not None and value.digest is not None:
            found.setdefault(value.digest, node)
    names = vars(program.subject.module) if program.subject.module is not None else {}
    return Own(found, names, alias_of(program, library))


@functools.cache
def _programs(exercise: str, library: str) -> tuple[str, ...]:
    table = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    return tuple(table.get(exercise, {}).get(library, {}).get("programs", ()))


@functools.cache
def _donors(exercise: str, library: str) -> tuple[Program, ...]:
    found = []
    for number, text in enumerate(_programs(exercise, library)):
        module = ModuleType(f"donor_{number}")
        module.__file__ = f"<donor {exercise} {number}>"
        with suppress(Exception):  # a library that is not installed
            exec(compile(text, module.__file__, "exec"), module.__dict__)
            program = program_of([each for each in subjects_of(module, text) if each.name.lower().startswith("right")][-1])
            found += [program] if program is not None else []
    return tuple(found)


Values = Mapping[int, Seen]
"""Value of every expression of a program, by the id of its node."""


@dataclass(frozen=True)
class Donor:
    """A right program of a part, with the values of its expressions on some inputs."""

    program: Program
    values: Values


def donors_of(exercise: Exercise, library: str, inputs: Inputs) -> list[Donor]:
    """Return the right programs of a part with their values on some inputs."""
    programs = _donors(exercise.name, "numpy" if library == "list" else library)
    return [Donor(program, _values(program, exercise, library, inputs)) for program in programs]


def missing(donors: Sequence[Donor], own: Own) -> list[Missing]:
    """Return the different expressions of right programs that a program lacks."""
    found: dict[tuple[int, str], Missing] = {}
    for donor in donors:
        for each in _missing_of(donor, own):
            found.setdefault((each.around, ast.unparse(each.made(ast.Name("x", ast.Load())))), each)
    return list(found.values())


MAX_MADE = 12
"""Expressions that make an array from sizes alone."""


def made_of_sizes(donors: Sequence[Donor], own: Own) -> list[ast.expr]:
    """Return the different expressions of right programs that make an array the program lacks from sizes alone, in the learner's names."""
    found: dict[str, ast.expr] = {}
    for donor in donors:
        values = donor.values
        for node in (each for statement in donor.program.statements for each in ast.walk(statement)):
            seen = values.get(id(node))
            if (
                seen is None
                or not seen.is_array
                or seen.digest in own.expressions
                or not isinstance(node, ast.Call | ast.BinOp | ast.Compare)
            ):
                continue
            if _size(node) > MAX_NODES or any(values[id(each)].is_array for each in ast.walk(node) if _is_operand(each, values)):
                continue
            with suppress(_UnknownError):
                new = _Renaming(ast.Constant(None), _assigned(donor.program), values, own).of(node)
                found.setdefault(ast.unparse(new), new)
    return list(found.values())[:MAX_MADE]


def _is_operand(node: ast.AST, values: Values) -> bool:
    return isinstance(node, ast.Name) and id(node) in values


def _values(program: Program, exercise: Exercise, library: str, inputs: Inputs) -> dict[int, Seen]:
    """Return the value of every expression of a right program, by the id of its node."""
    recorder, calls = _recorded(program, exercise.name, library)
    for call in calls:
        recorder.values.clear()
        for known in (getattr(call, name, {}) for name in ("made", "unmade", "slots")):  # a constructor's values are noted when it runs
            known.clear()
        with suppress(Exception):
            output_of(call, tuple(group[0] for group in exercise.conventions), inputs)
        if recorder.values:
            return dict(recorder.values)
    return {}


@functools.cache
def _recorded(program: Program, exercise: str, library: str) -> tuple[Recorder, Sequence[Call]]:
    """Return the recorder of a right program, and the ways to call it."""
    subject, recorder = program.recording()
    return recorder, () if subject is None else calls_of(subject, by_name(exercise), library)


def _missing_of(donor: Donor, own: Own) -> Iterator[Missing]:
    values = donor.values
    for statement in donor.program.statements:
        for node in ast.walk(statement):
            seen = values.get(id(node))
            if (
                seen is None
                or not _is_amount(seen)
                or seen.digest in own.expressions
                or not isinstance(node, ast.BinOp | ast.Call | ast.Subscript | ast.IfExp)
                or _size(node) > MAX_NODES
            ):
                continue
            for operand in _operands(node):
                around = values.get(id(operand))
                if around is None or around.digest is None or around.digest not in own.expressions:
                    continue
                if _is_amount(around) or (around.kind == "int" and not seen.is_array):
                    with suppress(_UnknownError):
                        yield Missing(around.digest, _made(node, _Renaming(operand, _assigned(donor.program), values, own)))


def _is_amount(seen: Seen) -> bool:
    """Return True for an array and for a number that may have a fraction."""
    return seen.is_array or seen.kind == "float"


def _operands(node: ast.expr) -> list[ast.expr]:
    """Return the expressions directly inside one, and the receiver of a method."""
    found = [place.node for place in places(node) if isinstance(place.node, ast.expr)]
    return [each.value if isinstance(each, ast.Attribute) and isinstance(node, ast.Call) and each is node.func else each for each in found]


class _UnknownError(Exception):
    """A name of a right program that has no counterpart in the learner's."""


def _made(node: ast.expr, renaming: _Renaming) -> Callable[[ast.expr], ast.expr]:
    template = renaming.of(node)
    return lambda source: filled(template, {HOLE: source})


@dataclass(frozen=True)
class _Renaming:
    """The learner's names in an expression of a right program.

    operand    the expression that becomes the hole
    assigned   expressions by the variable that they are assigned to
    """

    operand: ast.expr
    assigned: Mapping[str, ast.expr]
    values: Mapping[int, Seen]
    own: Own

    def of(self, node: Any, depth: int = 0) -> Any:
        """Return an expression with the learner's names.

        Errors   _UnknownError for a name that the learner's program has no counterpart of.
        """
        if isinstance(node, list):
            return [self.of(each, depth) for each in node]
        if not isinstance(node, ast.AST):
            return node
        if node is self.operand:
            return ast.Name(HOLE, ast.Load())
        seen = self.values.get(id(node))
        if seen is not None and seen.digest is not None and seen.digest in self.own.expressions:
            return copy.deepcopy(self.own.expressions[seen.digest])  # it may contain the place of the change
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            return self._name(node, depth)
        return type(node)(**{name: self.of(value, depth) for name, value in ast.iter_fields(node)})

    def _name(self, node: ast.Name, depth: int) -> ast.expr:
        if node.id in self.assigned and depth < MAX_DEPTH:
            found: ast.expr = self.of(self.assigned[node.id], depth + 1)
            return found
        if node.id in ALIASES.values():
            return ast.Name(self.own.alias, ast.Load())
        if node.id not in self.own.names and not hasattr(builtins, node.id):
            raise _UnknownError(node.id)
        return ast.Name(node.id, ast.Load())


def _assigned(program: Program) -> dict[str, ast.expr]:
    """Return the expressions of a program that are assigned to one variable, once."""
    found: dict[str, list[ast.expr]] = {}
    for statement in program.statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                found.setdefault(node.targets[0].id, []).append(node.value)
    return {name: values[0] for name, values in found.items() if len(values) == 1}


def _size(node: ast.AST) -> int:
    return sum(1 for _ in ast.walk(node))
