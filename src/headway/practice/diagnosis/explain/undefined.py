"""Names and attributes that a program reads and that nothing in its file defines: a mistake under every convention."""

from __future__ import annotations

import ast
import builtins
import dis
import inspect
import itertools
import re
import sys
from collections.abc import Iterator, Sequence
from types import CodeType

from headway.practice.diagnosis.classes.called_methods import INHERITED, METHODS
from headway.practice.diagnosis.classes.variables import codes_of
from headway.practice.diagnosis.explain.failure import line_in, own_frame
from headway.practice.diagnosis.reading.subject import Subject, definitions, parsed
from headway.practice.diagnosis.reading.trees import is_of_self
from headway.practice.message import EMPTY, describe_error
from headway.practice.texts import Texts
from headway.practice.verdict import Cause

TEXTS = Texts("diagnosis")
MODULE = ("torch.nn.modules.module", "Module")
NNX = "flax.nnx."
"""Start of the names of the modules that define the base classes of `flax.nnx`."""
UNSET = r"'(\w+)' object has no attribute '(\w+)'"
"""Pattern of the message of an AttributeError."""
UNBOUND = "cannot access local variable '{}' where it is not associated with a value"
"""Message of an UnboundLocalError."""
DYNAMIC = frozenset(("setattr", "__dict__", "globals", "exec"))
"""Names of what defines others without naming them."""


def is_undefined(error: BaseException, subject: Subject) -> bool:
    """Return True for a name, or an attribute of the learner's own class, that nothing in the file defines where it is read."""
    nodes = nodes_of(subject)
    if nodes is None:
        return False
    if isinstance(error, UnboundLocalError):
        return _is_read_first(error, subject, nodes)
    if type(error) is NameError and error.name:
        return error.name not in _globals(subject, nodes)
    found = re.fullmatch(rf"{UNSET}(\. .*)?", str(error)) if isinstance(error, AttributeError) else None
    owner = vars(subject.module).get(found[1]) if found and subject.module else None
    if found is None or not inspect.isclass(owner) or not all(_is_known(each, subject) for each in owner.__mro__):
        return False
    return found[2] not in _attributes_set(owner, nodes)


def undefined(subject: Subject) -> Cause | None:
    """Return the cause of the first name, or attribute of `self`, that a subject reads when it is called and that nothing in the file defines."""
    nodes = nodes_of(subject)
    if nodes is None or any({getattr(node, "id", ""), getattr(node, "attr", "")} & DYNAMIC for node in nodes):
        return None
    known, codes = _globals(subject, nodes), _running(subject)
    names = ((line, NameError(f"name '{name}' is not defined")) for name, line in _read_globals(codes) if name not in known)
    found = [*names, *_unset_attributes(subject, codes, nodes), *_unbound(codes, nodes)]
    line, error = min(found, key=lambda each: each[0], default=(0, None))
    if error is None:
        return None
    place = TEXTS["at_line"].format(written=line_in(subject, line))
    says = TEXTS["call_raises"].format(error=describe_error(error), place=place, arrays=EMPTY)
    fix = TEXTS["define_name" if type(error) is NameError else "make_call_work"]
    return Cause(f"raises_{type(error).__name__}", says, fix, EMPTY, line=line)


def _unbound(codes: Sequence[CodeType], nodes: Sequence[ast.AST]) -> Iterator[tuple[int, NameError]]:
    """Yield the local variables that a function always reads before anything assigns them, with their lines: `mask = pad(mask)`."""
    starts = {code.co_firstlineno for code in codes}
    for node in nodes:
        if isinstance(node, ast.FunctionDef) and min([node.lineno, *(each.lineno for each in node.decorator_list)]) in starts:
            yield from ((line, UnboundLocalError(UNBOUND.format(name))) for name, line in _read_unbound(node))


def _read_unbound(function: ast.FunctionDef) -> Iterator[tuple[str, int]]:
    """Yield the names that statements of a function read which always run, and that only they or later ones assign, with their lines."""
    inner = [each for each in ast.walk(function) if each is not function]
    if any(isinstance(each, ast.Global | ast.Nonlocal | ast.FunctionDef | ast.ClassDef) for each in inner):
        return
    left = {name for each in inner for name in defined_names(each)} - {each.arg for each in inner if isinstance(each, ast.arg)}
    for statement in function.body:
        parts = [*ast.walk(statement)]
        bound = {name for each in parts for name in defined_names(each)}
        if not any(isinstance(each, ast.comprehension | ast.NamedExpr) for each in parts) and _is_simple(statement):
            yield from (
                (each.id, each.lineno)
                for each in parts
                if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load) and each.id in left
            )
        if any(isinstance(each, ast.Return | ast.Raise) for each in parts):
            return
        left -= bound


def raises_when_made(subject: Subject) -> Cause | None:
    """Return the cause of a class that raises whenever it is used, or None.

    It is a name that nothing defines, in a statement that runs whenever an instance is made, or a local variable that its call reads before it is assigned.
    """
    cause, tree = undefined(subject), definitions(parsed(subject.text)).get(subject.name)
    if cause is None or not isinstance(tree, ast.ClassDef):
        return None
    methods = {each.name: each.body for each in tree.body if isinstance(each, ast.FunctionDef) and each.name in ("__init__", *INHERITED)}
    body = [each for name in methods if name != "__init__" for each in methods[name]]
    if cause.name == "raises_NameError":
        body = list(itertools.takewhile(_is_simple, methods.get("__init__", ())))
    elif cause.name != "raises_UnboundLocalError":
        return None
    return cause if any(each.lineno <= (cause.line or 0) <= (each.end_lineno or 0) for each in body) else None


def _is_simple(statement: ast.stmt) -> bool:
    """Return True for a statement that always runs as a whole, and those after it."""
    is_plain = isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr | ast.Assert)
    return is_plain and not any(isinstance(each, ast.IfExp | ast.BoolOp | ast.Lambda) for each in ast.walk(statement))


def nodes_of(subject: Subject) -> list[ast.AST] | None:
    """Return the nodes of a subject's file; None if it cannot be read, or imports names that it does not list."""
    nodes = [*ast.walk(parsed(subject.text))]
    return None if not nodes[1:] or any(isinstance(node, ast.alias) and node.name == "*" for node in nodes) else nodes


def _globals(subject: Subject, nodes: Sequence[ast.AST]) -> set[str]:
    """Return the names that functions of the file can read from outside: those that the module has or may assign, and Python's own."""
    module = nodes[0]
    stored = {name for node in _outside_functions(module) for name in defined_names(node)}
    declared = {name for node in nodes if isinstance(node, ast.Global) for name in node.names}
    return {*stored, *declared, *vars(builtins), *(vars(subject.module) if subject.module is not None else ()), "__class__"}


def _outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes below one that are inside of no function and no class, with the definitions themselves."""
    for each in ast.iter_child_nodes(node):
        yield each
        if not isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield from _outside_functions(each)


def _running(subject: Subject) -> list[CodeType]:
    """Return the file's code that runs when a function is called, or an instance of a class is made and called, with the functions inside."""
    file = getattr(subject.module, "__file__", None)
    codes = {code.co_name: code for code in codes_of(subject.value) if code.co_filename == file}
    apart = {"generate"} if codes.keys() & {"forward", "__call__"} else set()  # judged as a part of its own
    waiting = [name for name in ("__init__", *METHODS) if name in codes and name not in apart]
    used: dict[str, CodeType] = {} if {*waiting} - {"__init__"} else codes
    while waiting:
        name = waiting.pop()
        used |= {name: codes[name]}
        waiting += [each for each in _names_in(codes[name]) if each in codes and each not in used]
    found = [*used.values()]
    for code in found:
        found += [each for each in code.co_consts if isinstance(each, CodeType)]
    return found


def running_lines(subject: Subject) -> set[int]:
    """Return the lines of the file that run when a function is called, or an instance of a class is made and called."""
    return _lines_of(_running(subject))


def _lines_of(codes: Sequence[CodeType]) -> set[int]:
    return {line for code in codes for _, _, line in code.co_lines() if line is not None}


def _names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _names_in(each)


def _read_globals(codes: Sequence[CodeType]) -> Iterator[tuple[str, int]]:
    """Yield the global names that code reads, with their lines."""
    for code in codes:
        for instruction in dis.get_instructions(code):
            if instruction.opname == "LOAD_GLOBAL":
                line = instruction.positions.lineno if instruction.positions is not None else None
                yield str(instruction.argval), line or code.co_firstlineno


def _unset_attributes(subject: Subject, codes: Sequence[CodeType], nodes: Sequence[ast.AST]) -> Iterator[tuple[int, AttributeError]]:
    """Yield the attributes of `self` that a class with a constructor reads and that nothing in the file sets, with their lines."""
    owner = subject.value
    if not inspect.isclass(owner) or "__init__" not in vars(owner) or not all(sets_no_others(each, subject) for each in owner.__mro__):
        return
    defined = _attributes_set(owner, nodes) | _held_by_modules(owner)
    lines = _lines_of(codes)
    of_inner = {id(inner) for function in nodes if isinstance(function, ast.FunctionDef) for inner in _in_classes(function)}
    for node in nodes:
        if id(node) in of_inner or not is_of_self(node) or not isinstance(node.ctx, ast.Load) or node.lineno not in lines:
            continue
        if node.attr not in defined and not hasattr(owner, node.attr) and not node.attr.startswith("__"):
            yield node.lineno, AttributeError(f"'{owner.__name__}' object has no attribute '{node.attr}'")


def _in_classes(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """Yield the nodes of the classes that a function defines."""
    for node in ast.walk(function):
        if isinstance(node, ast.ClassDef):
            yield from ast.walk(node)


def _attributes_set(owner: type, nodes: Sequence[ast.AST]) -> set[str]:
    """Return the attributes that the file may give instances of a class: as fields, in methods of related classes, from outside, or by a text."""
    others = [node for node in nodes if isinstance(node, ast.ClassDef) and not _is_related(owner, node.name)]
    of_own = {id(each) for node in nodes if isinstance(node, ast.ClassDef) and _is_related(owner, node.name) for each in ast.walk(node)}
    elsewhere = {id(inner) for node in others for inner in ast.walk(node) if is_of_self(inner)} - of_own
    stored = [
        node for node in nodes if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load) and id(node) not in elsewhere
    ]
    asked = {id(each) for node in nodes for each in _asked_of_others(node)}
    texts = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in asked]
    fields = (name for each in owner.__mro__ for name in inspect.get_annotations(each))
    named = (node.arg for node in nodes if isinstance(node, ast.keyword) and node.arg)
    return {*(node.attr for node in stored), *texts, *named, *fields}


def _asked_of_others(node: ast.AST) -> list[ast.expr]:
    """Return the names that `hasattr` or `getattr` looks up in something else than an instance: `hasattr(F, "gelu")`."""
    match node:
        case ast.Call(func=ast.Name("hasattr" | "getattr"), args=[owner, *names]) if "self" not in ast.unparse(owner):
            return names
    return []


def _is_related(owner: type, name: str) -> bool:
    """Return True if a class of the file is another one, its base or derived from it."""
    related = {*owner.__mro__, *owner.__subclasses__()}
    return any(each.__name__ == name for each in related)


def _is_read_first(error: UnboundLocalError, subject: Subject, nodes: Sequence[ast.AST]) -> bool:
    """Return True if the function that raised assigns the variable only after the line that reads it."""
    frame, found = own_frame(error, subject), re.search(r"local variable '(\w+)'", str(error))
    if frame is None or found is None:
        return False
    first, line = frame.tb_frame.f_code.co_firstlineno, frame.tb_lineno
    stored = [node.lineno for node in nodes if isinstance(node, ast.Name) and node.id == found[1] and not isinstance(node.ctx, ast.Load)]
    is_in_loop = any(isinstance(node, ast.For | ast.While) and node.lineno < line <= (node.end_lineno or 0) for node in nodes)
    return not is_in_loop and not any(first <= each < line for each in stored)


def sets_no_others(owner: type, subject: Subject) -> bool:
    """Return True for a class of the learner's file, `object` and the modules of PyTorch and nnx, whose instances hold nothing unknown."""
    is_module = (owner.__module__, owner.__name__) == MODULE or owner.__module__.startswith(NNX)
    return owner.__module__ == subject.value.__module__ or owner is object or is_module


def _held_by_modules(owner: type) -> set[str]:
    """Return the attributes that every module of PyTorch holds; none for another class."""
    torch = sys.modules.get("torch")
    return set(vars(torch.nn.Module())) if torch is not None and issubclass(owner, torch.nn.Module) else set()


def _is_known(owner: type, subject: Subject) -> bool:
    """Return True for a class of the learner's file, of PyTorch, nnx or Python, whose attributes are all known."""
    is_library = owner.__module__.partition(".")[0] in ("builtins", "torch") or owner.__module__.startswith(NNX)
    return owner.__module__ == subject.value.__module__ or is_library


def defined_names(node: ast.AST) -> list[str]:
    """Return the names that a node defines."""
    if isinstance(node, ast.Name):
        return [] if isinstance(node.ctx, ast.Load) else [node.id]
    if isinstance(node, ast.alias):  # `import torch.nn as nn` does not define torch
        return [node.asname or node.name.partition(".")[0]]
    fields = [getattr(node, each, None) for each in ("name", "rest")]
    return [each for each in fields if isinstance(each, str)]
