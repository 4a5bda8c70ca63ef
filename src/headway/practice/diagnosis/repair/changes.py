"""All single changes of a program, cheapest first."""

from __future__ import annotations

import ast
import builtins
import inspect
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

from headway.practice.diagnosis.reading.subject import CONSTRUCTORS
from headway.practice.diagnosis.reading.trees import parameters_in, read_in, stored_in
from headway.practice.diagnosis.repair.context import (
    Context,
    idioms_of,
    larger_of,
    own_expressions,
    scales_of_initial_values,
    settings_of,
    uncalled_methods,
    wrappers_of,
)
from headway.practice.diagnosis.repair.donors import Missing, alias_of
from headway.practice.diagnosis.repair.expressions import number_of, variants
from headway.practice.diagnosis.repair.filling import assignments_in, filled
from headway.practice.diagnosis.repair.foreseen import MOST_SAVED, UNCHANGED, Foresight
from headway.practice.diagnosis.repair.loops import steps
from headway.practice.diagnosis.repair.moved_heads import moved_heads
from headway.practice.diagnosis.repair.observation import NOTHING, Names, Observation, Seen
from headway.practice.diagnosis.repair.overwriting import overwritten
from headway.practice.diagnosis.repair.parallels import (
    exchanged,
    layers_like,
    like_another,
    next_layer,
    parallel,
    passed_on,
    residuals,
    sublayers,
)
from headway.practice.diagnosis.repair.program import Change, Findings, Program
from headway.practice.diagnosis.repair.sharing import unshared
from headway.practice.diagnosis.repair.surroundings import around
from headway.practice.diagnosis.repair.templates import parsed, table
from headway.practice.diagnosis.repair.tree import places
from headway.practice.diagnosis.repair.twins import of_twins
from headway.practice.diagnosis.repair.undefined import definitions, settings

_SUSPECT_BONUS, _RAISING_BONUS = 0.8, 1.3
_DEPARTURE_BONUS = 1.0
_SOURCE_BONUS = 0.8
_RETURN_BONUS = 1.5
"""Cost that a change saves on a line to which the diagnosis points, and on one that raises, on one where the program leaves the milestones, on one
that this one reads, and where the program returns a number in place of an array."""

_DROPPED = -0.6
"""Cost of keeping an array that a statement computes and drops, which no program does on purpose."""

_TRUST = 1.0
"""Additional cost of changing what is right by itself."""


@dataclass(frozen=True)
class _Site:
    """An expression and its place in the tree."""

    statement: int
    parent: ast.AST
    field: str
    index: int | None
    node: ast.expr


@dataclass(frozen=True)
class Gaps:
    """Parts that a program lacks.

    expressions   of right programs
    arrays        expressions of right programs that make an array from sizes alone
    name          a name for which it raises NameError
    attribute     a class and its attribute for which it raises AttributeError
    """

    expressions: Sequence[Missing] = ()
    arrays: Sequence[ast.expr] = ()
    name: str | None = None
    attribute: tuple[str, str] | None = None


@dataclass(frozen=True)
class Nearness:
    """Lines where a program leaves the milestones, lines that these read, and the values that changes would give them.

    misreturned   what the program returns, if it is a number where the part returns an array
    raises        True if the program raises at the lines to which the diagnosis points
    """

    departures: Collection[int] = ()
    sources: Collection[int] = ()
    foresight: Foresight | None = None
    misreturned: Sequence[ast.expr] = ()
    raises: bool = False


def changes(
    program: Program,
    seen: Observation,
    library: str,
    findings: Findings,
    gaps: Gaps,
    near: Nearness,
    most: float = float("inf"),
) -> list[Change]:
    """Return the changes of a program in the order of their costs, without those of code that did not run.

    seen      values while the probe ran that fails
    most      highest cost
    """
    module = frozenset([*vars(builtins), *(vars(program.subject.module) if program.subject.module is not None else ())])
    held = {name: each for names in seen.names.values() for name, each in names.attributes.items()}
    alias = alias_of(program, library)
    held_names = vars(program.subject.module).items() if program.subject.module is not None else ()
    functions = [name for name, value in held_names if _is_own(value, program)]
    classes = [name for name, value in held_names if inspect.isclass(value) and _is_left_out(name, value, program)]
    found: list[Change] = []
    misreturned = frozenset(map(id, near.misreturned))
    raising, idioms = _raising(program.statements, seen), idioms_of(program.statements)
    wrappers = wrappers_of(program.statements)
    assignments = assignments_in(program.statements)
    right = {index for index, statement in enumerate(program.statements) if set(_defined(statement)) & set(findings.trusted)}
    for index, statement in enumerate(program.statements):
        methods = uncalled_methods(statement, program.statements)
        for function, nodes in _functions_with_bodies(statement):
            names = _names_in(function, seen)
            own_held = names.attributes or held
            unused, others = _unused(function, names, own_held), _globals(program, function)
            own = own_expressions(nodes, seen)
            context = Context(
                names,
                own_held,
                others,
                library,
                alias,
                unused,
                own,
                seen.expressions,
                gaps.expressions,
                gaps.arrays,
                _optional(function),
                module,
                gaps.name,
                functions,
                larger_of(nodes),
                settings_of(nodes, seen),
                raising,
                misreturned,
                idioms,
                wrappers,
                classes,
                [each for each in ([] if function is None else parameters_in(function)) if each != "self"],
                [each for each in methods if isinstance(function, ast.FunctionDef) and function.name not in (each, *CONSTRUCTORS)],
                assignments,
            )
            if gaps.name is not None and isinstance(function, ast.FunctionDef):
                found += definitions(index, function.body, function, gaps.name, context)
            owner, attribute = gaps.attribute or (None, "")
            if owner == getattr(statement, "name", "") and getattr(function, "name", "") == "__init__":
                assert isinstance(function, ast.FunctionDef)
                found += settings(index, function, attribute, context)
            scales = scales_of_initial_values(nodes) if getattr(function, "name", "") in CONSTRUCTORS else frozenset()
            for parent in nodes:
                here = [
                    *_statement_changes(index, parent, context),
                    *(change for site in _sites(index, parent) for change in _expression_changes(site, context)),
                ]
                found += [change for change in here if change.cost <= most - MOST_SAVED and id(change.old) not in scales]

    suspects = _whole_statements(program.statements, findings.suspects)
    lines = {*suspects, *near.departures, *near.sources}

    def adjusted(change: Change) -> float:
        bonus = max(
            (_RAISING_BONUS if near.raises else _SUSPECT_BONUS) * (change.line in suspects),
            _DEPARTURE_BONUS * (change.line in near.departures),
            _SOURCE_BONUS * (change.line in near.sources),
            _RETURN_BONUS * (id(change.old) in misreturned and isinstance(change.new, ast.Name)),
        )
        return change.cost - bonus + _TRUST * (change.statement in right)

    found.sort(key=adjusted)
    # which array was meant in place of a number depends on the convention
    likely = [each for each in found if each.line in lines and id(each.old) not in misreturned]
    foreseen = near.foresight.costs(likely) if near.foresight is not None else {}
    for change in likely:  # sizes that are equal for one probe may be those of differently shaped weights
        if foreseen.get(id(change)) == UNCHANGED and program.is_in_constructor(change):
            del foreseen[id(change)]
    found = [replace(each, cost=each.cost + foreseen[id(each)]) if id(each) in foreseen else each for each in found]
    found += of_twins(found, program.statements, lines)
    found = [each for each in found if each.cost <= most]
    found.sort(key=adjusted)
    return found


def _whole_statements(statements: Sequence[ast.stmt], lines: Collection[int]) -> set[int]:
    """Return all lines of the simple statements that have one of the lines: an exception in a call is reported at its first line."""
    found = set(lines)
    for node in (node for statement in statements for node in ast.walk(statement)):
        if isinstance(node, ast.stmt) and not hasattr(node, "body") and node.end_lineno is not None:
            own = range(node.lineno, node.end_lineno + 1)
            found |= set(own) if any(line in own for line in lines) else set()
    return found


def _is_written_to(node: ast.AST, parent: ast.AST) -> bool:
    """Return True for the name of what an element is assigned to, `counts` of `counts[pair] = 0`: its value is not recorded."""
    is_target = isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Store) and parent.value is node
    return is_target and isinstance(node, ast.Name)


def _raising(statements: Sequence[ast.stmt], seen: Observation) -> frozenset[int]:
    """Return the ids of the operands of expressions that have no value although all of their operands have one, or are constants."""
    found: set[int] = set()
    for node in (node for statement in statements for node in ast.walk(statement)):
        if isinstance(node, ast.Call | ast.BinOp | ast.Subscript) and id(node) not in seen.expressions:
            inner = [
                each
                for each in ast.iter_child_nodes(node)
                if isinstance(each, ast.Name | ast.Attribute) and each is not getattr(node, "func", None)
            ]
            if inner and all(id(each) in seen.expressions or _is_written_to(each, node) for each in inner):
                found |= {id(each) for each in inner}
    return frozenset(found)


def _is_own(value: Any, program: Program) -> bool:
    """Return True for another function of the file."""
    return inspect.isfunction(value) and value.__code__.co_filename == program.path and value.__name__ != program.subject.name


def _is_left_out(name: str, value: type, program: Program) -> bool:
    """Return True for another class of the file that the program does not use."""
    return value.__module__ == getattr(program.subject.module, "__name__", None) and name not in {
        defined for statement in program.statements for defined in _defined(statement)
    }


def _functions_with_bodies(statement: ast.stmt) -> Iterator[tuple[ast.FunctionDef | ast.Lambda | None, list[ast.AST]]]:
    """Yield each function of a statement with its own nodes that hold others, and the statement's nodes outside of functions."""
    owned: dict[ast.FunctionDef | ast.Lambda | None, list[ast.AST]] = {}

    def visit(node: ast.AST, function: ast.FunctionDef | ast.Lambda | None) -> None:
        inner = node if isinstance(node, ast.FunctionDef | ast.Lambda) else function
        owned.setdefault(inner, []).append(node)
        if isinstance(node, ast.Raise | ast.Assert):
            return
        for place in places(node):
            if not _is_docstring(place.node):
                visit(place.node, inner)

    holder = ast.Module([statement], [])
    visit(holder, None)
    for function, nodes in owned.items():
        yield function, [node for node in nodes if node is not holder]


def _sites(index: int, parent: ast.AST) -> Iterator[_Site]:
    """Yield the expressions that a node holds directly."""
    is_number = isinstance(parent, ast.UnaryOp) and number_of(parent) is not None
    if isinstance(parent, ast.Raise | ast.Assert) or is_number or _is_docstring(parent):
        return
    for place in places(parent):
        if place.is_read:
            yield _Site(index, parent, place.field, place.index, place.node)  # type: ignore[arg-type]


def _expression_changes(site: _Site, context: Context) -> Iterator[Change]:
    if not (_has_run(site.node, context) or _is_written_to(site.node, site.parent)):
        return
    seen = context.expressions.get(id(site.node))
    is_stored = isinstance(site.parent, ast.Assign) and isinstance(site.parent.targets[0], ast.Attribute | ast.Subscript)
    if _copies_a_copy(site, context):
        alike = (name for name, each in context.names.variables.items() if each == seen and name != ast.unparse(site.node))
        yield from (_change(site, OF_COPY, ast.Name(name, ast.Load())) for name in alike)
    if isinstance(site.node, ast.Name) and seen is not None and seen.kind == "int":
        # the next element or the one before, and a counter that is kept
        steps_of_place = (ast.Add(), ast.Sub()) if site.field == "slice" else (ast.Add(),) if is_stored else ()
        yield from (_change(site, 1.4, ast.BinOp(site.node, operator, ast.Constant(1))) for operator in steps_of_place)
    if site.field == "iter" and seen is not None and seen.kind == "int":
        yield _change(site, 1.0, parsed("range(N)", {"N": site.node}))
    is_called = isinstance(site.parent, ast.Call) and site.field == "func"
    is_base = isinstance(site.parent, ast.Attribute)
    siblings = getattr(site.parent, site.field) if site.index is not None else []
    for cost, new in (*variants(site.node, context), *layers_like(site.node, siblings)):
        if (is_called or is_base) and isinstance(new, ast.Constant):
            continue
        yield _change(site, cost, new)
    if site.field == "iter" and isinstance(getattr(site.parent, "target", None), ast.Tuple):  # each element is unpacked
        yield from (_change(site, 1.3, parsed(text, {"E": site.node})) for text in table()["wraps"]["unpacked"])
    is_chained = is_base and isinstance(site.node, ast.Call | ast.BinOp | ast.Subscript) and seen is not None and seen.is_array
    if (
        is_called
        or (is_base and not is_chained)
        or isinstance(site.node, ast.Slice | ast.Starred | ast.keyword)
        or site.field in ("slice", "test", "iter", "dims")
    ):
        return
    if (
        isinstance(site.node, ast.Constant)
        or number_of(site.node) is not None
        or isinstance(site.parent, ast.Tuple | ast.List | ast.Slice | ast.arguments)
    ):
        return
    if isinstance(site.parent, ast.keyword):
        yield _change(site, 1.15, ast.UnaryOp(ast.USub(), site.node))
    for cost, new in around(site.node, seen, context):
        if isinstance(site.node, ast.Tuple) and isinstance(new, ast.Subscript):  # one of several outputs
            continue
        is_whole = isinstance(site.parent, ast.Assign | ast.Return | ast.AugAssign)
        yield _change(site, cost + 0.2 * (not is_whole) + 0.2 * is_chained, new)


OF_COPY = 1.0
"""Cost of another array for a copy of a copy, which has no use: `skip_3 = skip_2` after `skip_2 = x`."""


def _copies_a_copy(site: _Site, context: Context) -> bool:
    """Return True for a name that is given a second name although it is one of another variable itself."""
    if not (isinstance(site.node, ast.Name) and isinstance(site.parent, ast.Assign) and isinstance(site.parent.targets[0], ast.Name)):
        return False
    own = [each for each in context.assignments if site.node.id in stored_in(each)]
    return len(own) == 1 and isinstance(own[0], ast.Assign) and isinstance(own[0].value, ast.Name)


def _has_run(node: ast.AST, context: Context) -> bool:
    """Return True if a node or one inside it was evaluated, or holds nothing that is recorded."""
    kinds = ast.Name | ast.Attribute | ast.Call | ast.BinOp | ast.Subscript
    inner = [each for each in ast.walk(node) if isinstance(each, kinds) and not isinstance(getattr(each, "ctx", None), ast.Store)]
    if isinstance(node, ast.Name) and node.id == context.undefined:
        return True
    return not inner or any(id(each) in context.expressions for each in inner)


def _statement_changes(index: int, parent: ast.AST, context: Context) -> Iterator[Change]:
    """Yield the changes of statements: removed, exchanged, unwrapped, returned."""
    if isinstance(parent, ast.While):
        yield from steps(index, parent)
    if isinstance(parent, ast.AugAssign):
        for operator in (ast.Add(), ast.Sub(), ast.Mult(), ast.Div()):
            if not isinstance(parent.op, type(operator)):
                yield Change(1.3, index, parent, "op", None, parent.op, operator)
    for field in ("body", "orelse"):
        body = getattr(parent, field, None)
        if not isinstance(body, list) or isinstance(parent, ast.ClassDef | ast.Module):
            continue
        for place, node in enumerate(body):
            if not _has_run(node, context):
                continue
            for cost, old, new in _rewritten(body, place, node, context):
                yield Change(cost, index, parent, field, place, old, new)


def _rewritten(
    body: list[ast.stmt], place: int, node: ast.stmt, context: Context
) -> Iterator[tuple[float, list[ast.stmt], list[ast.stmt]]]:
    """Yield costs with the statements before and after each change at one place of a body."""
    if isinstance(node, ast.Expr) and _is_docstring(node):
        return
    dropped = context.expressions.get(id(node.value)) if isinstance(node, ast.Expr) else None
    if isinstance(node, ast.Expr) and dropped is not None and dropped.is_array and (changed := _changed_by(node.value)) is not None:
        yield _DROPPED, [node], [ast.Assign([ast.Name(changed, ast.Store())], node.value)]
    if isinstance(node, ast.Pass):
        yield from filled(node, context)
    if not isinstance(node, ast.Return | ast.Pass):
        yield 1.7, [node], ([] if len(body) > 1 else [ast.Pass()])
    if place + 1 < len(body) and not isinstance(body[place + 1], ast.Return | ast.FunctionDef):
        is_early = context.undefined is not None and context.undefined in stored_in(body[place + 1])
        yield 0.3 if is_early else 1.9, [node, body[place + 1]], [body[place + 1], node]
    if isinstance(node, ast.If):
        yield 1.6, [node], node.body
        if node.orelse:
            yield 1.6, [node], node.orelse
            yield 1.5, [node], [ast.If(node.test, node.orelse, node.body)]
        yield 1.4, [node], [ast.If(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)]
        yield from _best_so_far(node, context)
    if isinstance(node, ast.For | ast.With):
        yield 2.0, [node], node.body
    if isinstance(node, ast.For) and len(node.body) > 1:  # the last statement belongs after the loop
        yield 1.8, [node], [ast.For(node.target, node.iter, node.body[:-1], node.orelse), node.body[-1]]
    if isinstance(node, ast.For) and place + 1 < len(body):  # the next statement belongs into the loop
        longer = ast.For(node.target, node.iter, [*node.body, body[place + 1]], node.orelse)
        yield 1.9, [node, body[place + 1]], [longer]
    yield from _around_loop(body, place, node)
    yield from unshared(body, place, context.library)
    yield from overwritten(body, place)
    yield from moved_heads(body, place, context.names.variables, context.library)
    if isinstance(node, ast.Return) and node.value is not None:
        for name, seen in context.names.variables.items():
            if seen.is_array and not (isinstance(node.value, ast.Name) and node.value.id == name):
                yield 0.8 if name in context.unused else 1.6, [node], [ast.Return(ast.Name(name, ast.Load()))]
    elif place == len(body) - 1 and isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        yield 1.7, [node], [node, ast.Return(ast.Name(node.targets[0].id, ast.Load()))]
    elif place == len(body) - 1 and isinstance(node, ast.Expr):
        yield 1.5, [node], [ast.Return(node.value)]
    if isinstance(node, ast.Assign | ast.AugAssign | ast.Return) and node.value is not None:
        yield from exchanged(node, node.value, context.names.variables)
    if isinstance(node, ast.Assign | ast.Return) and node.value is not None and not isinstance(node.value, ast.Constant):
        yield from passed_on(node, node.value, context.unused_parts)
    if isinstance(node, ast.Assign):
        yield from parallel(node, body, [name for name, seen in context.names.variables.items() if seen.is_array])
        unused = context.unused_parts
        layers = [*unused, *context.unused_weights]
        added = [*sublayers(node, layers), *residuals(node, unused, context.operands), *like_another(node, body, unused, context.unused)]
        added += next_layer(node, context.unused_variables)
        yield from {tuple(map(ast.dump, each[2])): each for each in reversed(added)}.values()
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        yield from _followed(node, node.targets[0].id, context)
        yield (
            1.9 if number_of(node.value) is None else 1.2,
            [node],
            [ast.AugAssign(ast.Name(node.targets[0].id, ast.Store()), ast.Add(), node.value)],
        )
        if _is_update_of(node.value, node.targets[0].id):  # what it was read from is to change, too
            yield 1.4, [node], [ast.AugAssign(ast.Name(node.targets[0].id, ast.Store()), node.value.op, node.value.right)]
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        yield 1.6, [node], [ast.Assign([ast.Name(node.target.id, ast.Store())], node.value)]


def _around_loop(body: list[ast.stmt], place: int, node: ast.stmt) -> Iterator[tuple[float, list[ast.stmt], list[ast.stmt]]]:
    """Yield a first value that each iteration of the next loop starts from, and one that the first iteration alone starts from."""
    following = body[place + 1] if place + 1 < len(body) else None
    if isinstance(node, ast.Assign) and isinstance(following, ast.For):
        yield (
            _cost_of_start(node),
            [node, following],
            [ast.For(following.target, following.iter, [node, *following.body], following.orelse)],
        )
    if isinstance(node, ast.For) and len(node.body) > 1 and isinstance(node.body[0], ast.Assign):
        yield _cost_of_start(node.body[0]), [node], [node.body[0], ast.For(node.target, node.iter, node.body[1:], node.orelse)]


def _cost_of_start(node: ast.Assign) -> float:
    """Return the cost of moving an assignment around a loop: little for the start of a sum or a list."""
    is_start = isinstance(node.value, ast.Constant) or (isinstance(node.value, ast.List) and not node.value.elts)
    return 0.7 if is_start else 1.5


def _is_update_of(value: ast.expr, name: str) -> TypeGuard[ast.BinOp]:
    """Return True for an operation whose left operand is the variable."""
    return isinstance(value, ast.BinOp) and isinstance(value.left, ast.Name) and value.left.id == name


def _changed_by(call: ast.expr) -> str | None:
    """Return the variable whose changed value a call returns: that of a method, or the first operand of a function; None for others."""
    match call:
        case ast.Call(ast.Attribute(ast.Name(name), method)) if not method.endswith("_") and name not in LIBRARIES:
            return name
        case ast.Call(ast.Attribute(ast.Name()), [ast.Name(name), *_]):
            return name
    return None


LIBRARIES = ("np", "numpy", "torch", "F", "nn", "jnp", "jax", "mx", "math", "self")
"""Names of modules, whose functions are no methods of an array."""


def _best_so_far(node: ast.If, context: Context) -> Iterator[tuple[float, list[ast.stmt], list[ast.stmt]]]:
    """Yield a branch that is also taken only if what it stores in a variable that nothing reads is less, or more, than the variable."""
    for each in node.body:
        if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name) and each.targets[0].id in context.unused:
            for operator in (ast.Lt(), ast.Gt()):
                is_better = ast.Compare(each.value, [operator], [ast.Name(each.targets[0].id, ast.Load())])
                yield 0.6, [node], [ast.If(ast.BoolOp(ast.And(), [node.test, is_better]), node.body, node.orelse)]


def _followed(node: ast.Assign, name: str, context: Context) -> Iterator[tuple[float, list[ast.stmt], list[ast.stmt]]]:
    """Yield an assignment followed by one of what the program lacks, under the condition that its optional operand is given."""
    value = context.expressions.get(id(node.value))
    for each in context.lacking:
        if value is None or value.digest != each.around:
            continue
        new = each.made(ast.Name(name, ast.Load()))
        statement = ast.Assign([ast.Name(name, ast.Store())], new)
        optional = sorted(context.optional & {one.id for one in ast.walk(new) if isinstance(one, ast.Name)} - {name})
        if optional:
            is_given = ast.Compare(ast.Name(optional[0], ast.Load()), [ast.IsNot()], [ast.Constant(None)])
            yield 1.15, [node], [node, ast.If(is_given, [statement], [])]


def _change(site: _Site, cost: float, new: ast.expr) -> Change:
    return Change(cost, site.statement, site.parent, site.field, site.index, site.node, new)


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _names_in(function: ast.FunctionDef | ast.Lambda | None, seen: Observation) -> Names:
    """Return the names seen in a function and in its comprehensions, which run as functions of their own."""
    if function is None:
        return NOTHING
    first, last = _first_line(function), function.end_lineno or function.lineno
    inside = [names for line, names in seen.names.items() if first <= line <= last]
    rest = function.args.kwarg.arg if function.args.kwarg else None  # options that the definition has no use for
    return Names(*({name: each for held in kinds for name, each in held.items() if name != rest} for kinds in _columns(inside)))


def _columns(names: Sequence[Names]) -> tuple[list[dict[str, Seen]], list[dict[str, Seen]]]:
    return [each.variables for each in names], [each.attributes for each in names]


def _first_line(function: ast.FunctionDef | ast.Lambda) -> int:
    """Return the first line of a function as its code object counts it: that of the first decorator."""
    return min([function.lineno, *(each.lineno for each in getattr(function, "decorator_list", []))])


def _globals(program: Program, function: ast.FunctionDef | ast.Lambda | None) -> list[str]:
    """Return the names of the program's statements, of the function's parameters, and those that it assigns."""
    names = [name for statement in program.statements for name in _defined(statement) if name != program.subject.name]
    if function is not None:
        names += [*parameters_in(function), *stored_in(function)]
    return [name for name in dict.fromkeys(names) if name != "self"]


def _defined(statement: ast.stmt) -> list[str]:
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return [statement.name]
    return [target.id for target in getattr(statement, "targets", []) if isinstance(target, ast.Name)]


def _optional(function: ast.FunctionDef | ast.Lambda | None) -> frozenset[str]:
    """Return the parameters that are None by default."""
    if function is None:
        return frozenset()
    arguments = function.args
    last = arguments.args[len(arguments.args) - len(arguments.defaults) :]
    pairs = [*zip(last, arguments.defaults, strict=True), *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
    return frozenset(each.arg for each, value in pairs if isinstance(value, ast.Constant) and value.value is None)


def _unused(function: ast.FunctionDef | ast.Lambda | None, names: Names, held: Mapping[str, Seen]) -> frozenset[str]:
    """Return the parameters, variables and attributes of self that a function does not read."""
    if function is None:
        return frozenset()
    read = read_in(function)
    used = {node.attr for node in ast.walk(function) if isinstance(node, ast.Attribute)}
    parameters = set(parameters_in(function))
    return frozenset((set(names.variables) | parameters) - read - {"self"}) | {f"self.{name}" for name in held if name not in used}
