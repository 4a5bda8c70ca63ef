"""Constructions and calls of a file's own classes: examples, tests, and the constructors of other classes, read from the source."""

from __future__ import annotations

import ast
import copy
import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from types import ModuleType
from typing import Any, TypeAlias

from headway.practice.diagnosis.classes.configs import is_config_class, is_layer
from headway.practice.diagnosis.reading.evaluating import Evaluator, NeedsSizesError, Shape, UnknownValueError
from headway.practice.diagnosis.reading.subject import CONSTRUCTORS, Subject
from headway.practice.diagnosis.reading.trees import constructor_in

MOST_DEEP = 8
"""Number of calls through which the argument of a parameter is followed."""

MOST_USAGES = 4
"""Number of calls of one class that are read."""

DEMO = r"^(test|main|demo|example|run|check|verify|sanity)"
"""Start of the names of functions that show how a class is used."""


@dataclass(frozen=True, eq=False)
class Place:
    """The class, the function and the line of a call; the line of a call inside a class or function that is at the file's top level."""

    owner: ast.ClassDef | None
    function: ast.FunctionDef | None
    line: int


Assigned: TypeAlias = tuple[ast.expr, int | None, Place]
"""An assigned expression, its index in a tuple of targets, and the place of the assignment."""


@dataclass(frozen=True, eq=False)
class Usage:
    """One construction of a class in its file, with the first call of that instance.

    file       the file
    place      place of the construction
    given      the constructor's arguments by parameter
    called     arguments of the call by place in the argument list or by name; None if the instance is not called
    method     name of the method that is called; empty for the instance itself
    """

    file: File
    place: Place
    given: Mapping[str, ast.expr]
    called: Mapping[int | str, ast.expr] | None = None
    method: str = ""

    def value(self, parameter: str, scale: Mapping[int, int] | None = None) -> Any:
        """Return a constructor argument.

        scale   sizes of the example → sizes to use in their place

        Errors   UnknownValueError
        """
        return self.file.value(self.given[parameter], self.place, scale)

    def operand(self, name: int | str) -> Any:
        """Return an argument of the call; errors as for `value`."""
        if self.called is None or name not in self.called:
            raise UnknownValueError(str(name))
        return self.file.value(self.called[name], self.place)

    def parts(self, parameter: str) -> Iterator[Usage]:
        """Yield the constructions of the file's classes in a constructor argument."""
        return self.file.constructions(self.given[parameter], self.place)

    def aliases(self, parameter: str) -> str:
        """Return the name that the file gives a constructor argument; empty if it has none."""
        return alias(self.given[parameter]) if parameter in self.given else ""


def alias(node: ast.expr) -> str:
    """Return the name in an expression: of a variable, an attribute, or a key; "head_dim" for a width divided by the number of heads."""
    match node:
        case ast.Call(func=ast.Name(id="int"), args=[quotient]):
            return alias(quotient)
        case ast.BinOp(op=ast.FloorDiv() | ast.Div(), right=divisor) if "head" in alias(divisor).lower():
            return "head_dim"
        case ast.Name():
            return node.id
        case ast.Attribute():
            return node.attr
        case ast.Subscript(slice=ast.Constant(value=str(key))):
            return key
    return ""


@dataclass(eq=False)
class File:
    """A parsed file, with the calls in it and the places of their names."""

    tree: ast.Module
    module: ModuleType | None
    calls: list[tuple[ast.Call, Place]] = field(default_factory=list)
    statements: list[tuple[ast.stmt, Place]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._visit(self.tree, None, None)

    def _visit(self, node: ast.AST, owner: ast.ClassDef | None, function: ast.FunctionDef | None) -> None:
        for child in ast.iter_child_nodes(node):
            place = Place(owner, function, getattr(child, "lineno", 0))
            if isinstance(child, ast.Call):
                self.calls.append((child, place))
            if isinstance(child, ast.stmt):
                self.statements.append((child, place))
            if isinstance(child, ast.ClassDef) and function is None:
                self._visit(child, child, None)
            elif isinstance(child, ast.FunctionDef):
                self._visit(child, owner, child)
            else:
                self._visit(child, owner, function)

    def value(self, node: ast.expr, place: Place, scale: Mapping[int, int] | None = None, depth: int = 0) -> Any:
        """Return the value of an expression at a place.

        Errors   UnknownValueError
        """
        if depth > MOST_DEEP:
            raise UnknownValueError("too many calls")
        return Evaluator(
            lambda name: self._named(name, place, scale, depth + 1),
            lambda call, own: self._made(call, place, own),
            scale,
        ).value(node)

    def constructions(self, node: ast.expr, place: Place, depth: int = 0) -> Iterator[Usage]:
        """Yield the constructions of the file's classes in an expression and in those of its variables."""
        found = self._assigned(node.id, place) if isinstance(node, ast.Name) else None
        if found is not None and depth < MOST_DEEP:
            yield from self.constructions(found[0], found[2], depth + 1)
        if not isinstance(node, ast.Call):
            return
        classes = {each.name: each for each in self.tree.body if isinstance(each, ast.ClassDef)}
        owner = classes.get(node.func.id) if isinstance(node.func, ast.Name) else None
        init = constructor_in(owner) if owner else None
        if init is not None:
            given = dict(zip([each.arg for each in _parameters(init)[1:]], node.args, strict=False))
            yield Usage(self, place, given | {each.arg: each.value for each in node.keywords if each.arg is not None})
        for each in [*node.args, *(each.value for each in node.keywords)]:
            yield from self.constructions(each, place, depth + 1)

    def _named(self, node: ast.expr, place: Place, scale: Mapping[int, int] | None, depth: int) -> Any:
        """Return the value of a name or an attribute."""
        if isinstance(node, ast.Attribute):
            if isinstance(node.value, ast.Name) and node.value.id == "self" and place.owner is not None:
                return self._field(node.attr, place.owner, scale, depth)
            owner = self.value(node.value, place, scale, depth)
            if isinstance(owner, Shape) and node.attr == "shape":
                return owner.shape
            if isinstance(owner, Shape) or node.attr.startswith("__"):
                raise UnknownValueError(node.attr)
            return getattr(owner, node.attr)
        assert isinstance(node, ast.Name)
        found = self._assigned(node.id, place)
        if found is not None:
            return self._item(found, scale, depth)
        if place.function is not None and any(each.arg == node.id for each in _parameters(place.function)):
            return self._argument(node.id, place.function, place.owner, scale, depth)
        if place.function is not None:
            return self._named(node, Place(None, None, 1 << 30), scale, depth)
        if self.module is None or node.id not in vars(self.module):
            raise UnknownValueError(node.id)
        return vars(self.module)[node.id]

    @cached_property
    def _assignments(self) -> dict[tuple[ast.ClassDef | None, ast.FunctionDef | None, str], list[Assigned]]:
        """Return the expressions that are assigned to each name of a scope, and their indices in a tuple of targets, in order."""
        found: dict[tuple[ast.ClassDef | None, ast.FunctionDef | None, str], list[Assigned]] = {}
        for statement, place in self.statements:
            if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is None:
                continue
            for target in statement.targets if isinstance(statement, ast.Assign) else [statement.target]:
                for index, each in enumerate(target.elts) if isinstance(target, ast.Tuple) else [(None, target)]:
                    key = (place.owner, place.function, ast.unparse(each))
                    found.setdefault(key, []).append((statement.value, index, place))
        return found

    def _assigned(self, name: str, place: Place, prefix: str = "") -> Assigned | None:
        """Return the last expression that is assigned to a name before a line of its scope, and its index in a tuple of targets."""
        found = [each for each in self._assignments.get((place.owner, place.function, prefix + name), ()) if each[2].line < place.line]
        return found[-1] if found else None

    def _item(self, found: Assigned, scale: Mapping[int, int] | None, depth: int) -> Any:
        value = self.value(found[0], found[2], scale, depth)
        return value if found[1] is None else value[found[1]]

    def _field(self, name: str, owner: ast.ClassDef, scale: Mapping[int, int] | None, depth: int) -> Any:
        """Return an attribute of an instance: assigned by its constructor, or a field of its class."""
        makers = (each for each in owner.body if isinstance(each, ast.FunctionDef) and each.name in CONSTRUCTORS)
        found = next(filter(None, (self._assigned(name, Place(owner, each, 1 << 30), "self.") for each in makers)), None)
        if found is not None:
            return self._item(found, scale, depth)
        fields = [each for each in owner.body if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)]
        place = next((place for place, each in enumerate(fields) if each.target.id == name), None)  # type: ignore[union-attr]
        if place is None:
            raise UnknownValueError(name)
        return self._passed(owner.name, name, place, fields[place].value, scale, depth)

    def _argument(
        self, name: str, function: ast.FunctionDef, owner: ast.ClassDef | None, scale: Mapping[int, int] | None, depth: int
    ) -> Any:
        """Return the argument of a parameter in the first call that has a known one; else its default."""
        if owner is not None and function.name != "__init__":
            raise UnknownValueError(name)
        parameters = [each.arg for each in _parameters(function)][owner is not None :]
        defaults = [None] * (len(parameters) - len(function.args.defaults)) + list(function.args.defaults)
        place = parameters.index(name)
        return self._passed(function.name if owner is None else owner.name, name, place, defaults[place], scale, depth)

    def _passed(self, called: str, name: str, place: int, default: ast.expr | None, scale: Mapping[int, int] | None, depth: int) -> Any:
        unknown = UnknownValueError(name)
        for call, where in _demos_first([each for each in self.calls if _is_call_of(each[0], called)]):
            given = next(
                (each.value for each in call.keywords if each.arg == name), call.args[place] if place < len(call.args) else default
            )
            if given is None:
                continue
            try:
                return self.value(given, where, scale, depth)
            except UnknownValueError as error:
                unknown = error
        if default is None:
            raise unknown
        return self.value(default, Place(None, None, 1 << 30), scale, depth)

    def _made(self, call: ast.Call, place: Place, own: Evaluator) -> Any:
        """Return an instance of the file's or a library's class. Layers are made only for the sizes of a probe."""
        made = self.value(call.func, place)
        if made is copy.deepcopy:
            return own.value(call.args[0])
        is_part = inspect.isclass(made) and is_layer(made)
        if not is_part and not is_config_class(made, self.module):
            raise UnknownValueError(ast.unparse(call.func))
        if is_part and own.scale is None:
            raise NeedsSizesError(ast.unparse(call.func))
        given = {each.arg: own.value(each.value) for each in call.keywords if each.arg is not None}
        return made(*(own.value(each) for each in call.args), **given)


def _parameters(function: ast.FunctionDef) -> list[ast.arg]:
    return [*function.args.posonlyargs, *function.args.args]


def _is_call_of(call: ast.Call, name: str) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == name


def _demos_first(calls: Sequence[tuple[ast.Call, Place]]) -> list[tuple[ast.Call, Place]]:
    """Return calls with those of examples and tests first."""

    def rank(each: tuple[ast.Call, Place]) -> int:
        _, place = each
        if place.owner is not None:
            return 2
        return 0 if place.function is None else 1 if re.search(DEMO, place.function.name) else 2

    return sorted(calls, key=rank)


@lru_cache(maxsize=4)
def _parsed(text: str, module: ModuleType | None) -> File | None:
    try:
        return File(ast.parse(text), module)
    except (SyntaxError, RecursionError):
        return None


def usages(subject: Subject) -> list[Usage]:
    """Return the first constructions of a class in its file, examples and tests first."""
    file = _parsed(subject.text, subject.module) if subject.module is not None else None
    if file is None or not inspect.isclass(subject.value):
        return []
    found = []
    for call, place in _demos_first([each for each in file.calls if _is_call_of(each[0], subject.name)]):
        if any(isinstance(each, ast.Starred) for each in call.args) or any(each.arg is None for each in call.keywords):
            continue
        names = [each.name for each in subject.parameters]
        given = dict(zip(names, call.args, strict=False)) | {each.arg: each.value for each in call.keywords if each.arg in names}
        found.append(Usage(file, place, given, *_call_of_instance(file, call, place)))
    return sorted(found, key=lambda each: each.called is None)[:MOST_USAGES]


def _call_of_instance(file: File, construction: ast.Call, place: Place) -> tuple[dict[int | str, ast.expr] | None, str]:
    """Return the arguments and the method of the first call of a constructed instance."""
    targets = [
        ast.unparse(target)
        for statement, _ in file.statements
        if isinstance(statement, ast.Assign) and any(each is construction for each in ast.walk(statement.value))
        for target in statement.targets
    ]
    for call, where in file.calls:
        owner, method = call.func, ""
        if isinstance(call.func, ast.Attribute) and ast.unparse(call.func) not in targets:
            owner, method = call.func.value, call.func.attr
        is_here = owner is construction or (where.owner is place.owner and ast.unparse(owner) in targets)
        if (
            is_here
            and call is not construction
            and (call.args or call.keywords)
            and method not in ("to", "load_state_dict", "train", "apply")
        ):
            return dict(enumerate(call.args)) | {each.arg: each.value for each in call.keywords if each.arg is not None}, method
    return None, ""
