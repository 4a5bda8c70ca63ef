"""A learner's function or class, with what is known without running it."""

from __future__ import annotations

import ast
import dis
import functools
import inspect
import linecache
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from headway.practice.diagnosis.reading.contexts import of_context
from headway.practice.diagnosis.reading.methods import (
    METHODS,
    OF_BYTE_PAIRS,
    called_of_class,
    methods,
    of_operands,
    with_tables,
    without_instance,
)
from headway.practice.diagnosis.reading.parameters import is_learners, parameters_of, parsed
from headway.practice.diagnosis.reading.trees import functions_in, in_branches, parameters_in, stored_in

Result = TypeVar("Result")

LIBRARY_OF_IMPORT = {"numpy": "numpy", "torch": "torch", "jax": "jax", "mlx": "mlx"}

OF_ANY_PART = r"(?i)solve|solution|submission|answer|forward|func(tion)?|fn|impl(ementation)?|"
"""Pattern of the names of functions and files that do not say which part they are."""

NUMBERED = r"^[\d_. -]+"
"""Pattern of the number at the start of a file's name."""

DOCSTRING = r"\"{3}[\s\S]*?\"{3}|'{3}[\s\S]*?'{3}"
"""Pattern of a docstring."""


@dataclass(frozen=True)
class Subject:
    """One function or class to check.

    value      the function or class
    name       the name it is defined under
    line       line of the definition, including decorators, counted from 1
    source     source lines of the definition, the first one at `line`
    module     the module that defines it; None for a function that was passed alone
    imports    array libraries that the file imports, in order
    text       text of the whole file, or blank lines and the definition for a function that was passed alone; empty if unknown
    has_wrong_parts   True if it uses classes that are wrong, so that it is called with correct parts in their places
    has_definitions   True while definitions, which have no gradients, are in place of functions that it calls
    maker      name of the function or class of the file that constructs the class with its parts; empty if it is called directly
    """

    value: Callable[..., Any]
    name: str
    line: int = 1
    source: tuple[str, ...] = ()
    module: ModuleType | None = None
    imports: tuple[str, ...] = field(default=())
    text: str = field(default="", repr=False)
    has_wrong_parts: bool = False
    has_definitions: bool = False
    maker: str = ""
    _results: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def once(self, name: str, compute: Callable[[], Result]) -> Result:
        """Return a result of this name, computed the first time; a copy by dataclasses.replace computes its own."""
        if name not in self._results:
            self._results[name] = compute()
        found: Result = self._results[name]
        return found

    @cached_property
    def parameters(self) -> list[inspect.Parameter]:
        """Return the parameters without self, *args and **kwargs."""
        try:
            return parameters_of(self.value)
        except (TypeError, ValueError):
            return []

    @cached_property
    def own_source(self) -> str:
        """Return the source of the definition."""
        return "\n".join(self.source)

    @cached_property
    def code(self) -> str:
        """Return the source of the definition without comments."""
        return without_comments(self.own_source)

    @cached_property
    def file_source(self) -> str:
        """Return the source of the file, or of the definition alone for a function that was passed alone."""
        return _text_of(self.module) if getattr(self.module, "__file__", None) else self.own_source

    @cached_property
    def used_source(self) -> str:
        """Return the source of the definition and of what it names, directly or through others, in its file and in the files around it."""
        made = source_in(self.file_source, self.maker) if self.maker else None
        found = {self.name: self.own_source} | ({} if made is None else {self.maker: made})
        waiting = [(name, self.module, self.file_source) for name in found]
        while waiting:
            name, module, text = waiting.pop()
            for word in set(re.findall(r"[^\W\d]\w*", found[name])) - set(found):
                origin, place, named = module, text, word
                if word not in _defined_in(text):
                    value = getattr(module, word, None)
                    origin = _module_near(value, module)
                    place, named = _text_of(origin), getattr(value, "__name__", word)
                if (source := source_in(place, named)) is not None:
                    found[word] = source
                    waiting.append((word, origin, place))
        return "\n".join(found.values())

    @cached_property
    def mask_flags(self) -> frozenset[str]:
        """Return the parameters for masks that choose whether to mask, and are no masks: `mask=False`, `if mask:`; but not `unmasked=True`."""
        lines = range(self.line, self.line + len(self.source))
        functions = _functions_of(self.text)
        own = [node for node in functions if node.lineno in lines]
        names = {each for node in own for each in parameters_in(node) if re.search("(?i)(?<!un)mask", each)}
        return frozenset(name for name in names if all(_is_flag(name, node, functions) for node in own if name in parameters_in(node)))

    @cached_property
    def attributes_read(self) -> frozenset[str]:
        """Return the attributes that every call reads of an operand as it was passed."""
        lines = range(self.line, self.line + len(self.source))
        own = [node for node in _functions_of(self.text) if node.lineno in lines]
        called = [node for node in own if node.name in (self.name, "forward", "__call__")]
        return frozenset(_attributes_read(called[0])) if len(called) == 1 else frozenset()

    @property
    def is_method(self) -> bool:
        """Return True for a method of an instance that is a part of its own."""
        return "." in self.name and re.fullmatch(METHODS, self.short_name) is not None

    @cached_property
    def short_name(self) -> str:
        """Return the name without that of the class that a method belongs to; for `solve` and the like, the name of the file: `rope.py`."""
        path = getattr(self.module, "__file__", None)
        if path and re.fullmatch(OF_ANY_PART, self.name):
            stems = (re.sub(NUMBERED, "", stem) for stem in (Path(path).stem, Path(path).parent.name))
            return next((re.sub(r"\W", "_", stem) for stem in stems if not re.fullmatch(OF_ANY_PART, stem)), self.name)
        return self.name.rpartition(".")[2]

    @property
    def is_private(self) -> bool:
        """Return True if the name starts with an underscore."""
        return self.short_name.startswith("_")

    def line_of(self, pattern: str | None, elsewhere: str | None = None) -> int | None:
        """Return the number of the first source line that matches, ignoring comments and docstrings.

        Lines that compute come before those of constructors and headings, whose names match most patterns.

        elsewhere   pattern of the names of the functions whose lines come last
        """
        if pattern is None:
            return None
        numbered = [(line, text.partition("#")[0]) for line, text in enumerate(self.source, self.line) if line not in self._lines_of_texts]
        last = _lines_of(node for node in _functions_of(self.text) if elsewhere is not None and re.search(elsewhere, node.name))
        found = [
            (line in last, line in self._lines_of_constructors or bool(re.match(HEADING, text)), line)
            for line, text in numbered
            if re.search(pattern, text)
        ]
        return min(found)[-1] if found else None

    @cached_property
    def _lines_of_constructors(self) -> frozenset[int]:
        """The lines of the file's constructors."""
        return _lines_of(node for node in _functions_of(self.text) if node.name in CONSTRUCTORS)

    @cached_property
    def _lines_of_texts(self) -> frozenset[int]:
        """The lines of the file that hold docstrings and other texts without an effect."""
        nodes = [node for node in ast.walk(parsed(self.text)) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)]
        return _lines_of(nodes)


def _lines_of(nodes: Iterable[ast.stmt]) -> frozenset[int]:
    return frozenset(line for node in nodes for line in range(node.lineno, (node.end_lineno or node.lineno) + 1))


HEADING = r"\s*(async )?(def|class) "
"""Pattern of the first line of a definition."""

CONSTRUCTORS = ("__init__", "__new__", "__post_init__", "setup")
"""Names of the methods that set the attributes of an instance."""


def without_comments(text: str) -> str:
    """Return a source without what follows the first # of each line."""
    return "\n".join(line.partition("#")[0] for line in text.splitlines())


def is_of_byte_pairs(text: str) -> bool:
    """Return True for a source in whose code, without comments and docstrings, encode and decode may be those of byte pairs."""
    return re.search(OF_BYTE_PAIRS, re.sub(DOCSTRING, "", without_comments(text)), re.IGNORECASE) is not None


@cache
def _functions_of(text: str) -> Sequence[ast.FunctionDef]:
    """Return the functions and methods in a file's text."""
    return functions_in(parsed(text))


BRANCHING = (ast.IfExp, ast.BoolOp, ast.Lambda, ast.comprehension, ast.NamedExpr)


def _attributes_read(function: ast.FunctionDef) -> Iterator[str]:
    """Yield the attributes that the leading statements without branches read of parameters without a default, before these are assigned."""
    taken = function.args
    names = {each.arg for each in [*taken.posonlyargs, *taken.args][: -len(taken.defaults) or None]} - {"self"}
    for statement in function.body:
        nodes = [*ast.walk(statement)]
        if not isinstance(statement, ast.Assign | ast.Expr | ast.Return) or any(isinstance(node, BRANCHING) for node in nodes):
            return
        yield from (
            node.attr for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in names
        )
        names -= {*stored_in(statement)}


def _is_flag(name: str, function: ast.FunctionDef, others: Sequence[ast.FunctionDef]) -> bool:
    """Return True for a parameter that defaults to True or False, or whose truth is all that is read of it, there and where it is passed on to."""
    taken = function.args
    defaults = dict(zip(reversed([*taken.posonlyargs, *taken.args]), reversed(taken.defaults), strict=False))
    defaults |= {each: value for each, value in zip(taken.kwonlyargs, taken.kw_defaults, strict=True) if value is not None}
    if any(each.arg == name and isinstance(value, ast.Constant) and isinstance(value.value, bool) for each, value in defaults.items()):
        return True
    nodes = [*ast.walk(function)]
    remade = [each for node in nodes if isinstance(node, ast.If) and _makes_anew(name, node) for each in node.body]
    left = {id(node) for each in remade for node in ast.walk(each)}
    read = [node for node in nodes if isinstance(node, ast.Name) and node.id == name and id(node) not in left]
    tested = [node.test for node in nodes if isinstance(node, ast.If | ast.IfExp)]
    given = [(node, each) for node in nodes if isinstance(node, ast.Call) for each in (*node.args, *(word.value for word in node.keywords))]
    passed = [each for _, each in given]
    is_passed = any(each in passed for each in read)
    called = {ast.unparse(node.func).rpartition(".")[2] for node, each in given if each in read}
    others = [node for node in others if node is not function and name in parameters_in(node)] if is_passed else []
    others = [node for node in others if node.name in called] or others
    return (
        bool(read)
        and all(each in tested or each in passed for each in read)
        and (not is_passed or bool(others))
        and all(_is_flag(name, node, ()) for node in others)
    )


def _makes_anew(name: str, choice: ast.If) -> bool:
    """Return True for `if mask:` in whose body the first statement about the mask makes it."""
    about = (each for each in choice.body if any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(each)))
    match choice.test, next(about, None):
        case ast.Name(id=tested), ast.Assign(targets=[ast.Name(id=made)], value=value):
            return tested == made == name and not any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(value))
    return False


def _text_of(module: ModuleType | None) -> str:
    """Return the source of a module's file, empty if there is none."""
    path = getattr(module, "__file__", None)
    return "".join(linecache.getlines(path)) if path else ""


def source_with_bases(subject: Subject) -> str:
    """Return the source of a class and of the classes of its file that it derives from."""
    value: Any = subject.value
    bases = [base.__name__ for base in value.__mro__[1:] if base.__module__ == value.__module__]
    return "\n".join([subject.own_source, *(source_in(subject.file_source, name) or "" for name in bases)])


def source_in(text: str, name: str) -> str | None:
    """Return the source of the definition of a name in a file's text, None if it has none."""
    definition = _defined_in(text).get(name)
    return None if definition is None else "\n".join(text.splitlines()[definition.lineno - 1 : definition.end_lineno])


@cache
def _defined_in(text: str) -> dict[str, ast.stmt]:
    return definitions(parsed(text))


def _module_near(value: Any, module: ModuleType | None) -> ModuleType | None:
    """Return the module of a class or function that a file imports from another file of the same author, not from an installed package."""
    if not (inspect.isclass(value) or inspect.isfunction(value)) or not is_learners(value.__module__):
        return None
    other = sys.modules[value.__module__]
    return None if other is module else other


def defines(value: Any, name: str) -> bool:
    """Return True if a class or one of its bases, other than object or a library's Module, defines a method."""
    return any(
        name in vars(base) for base in value.__mro__ if base is not object and base.__module__.partition(".")[0] not in ("torch", "mlx")
    )


def first_method(value: Any, names: Sequence[str]) -> str:
    """Return the first of these methods that a class defines with a body, or an empty string."""
    return next((name for name in names if defines(value, name) and not _is_left_out(getattr(value, name))), "")


def _is_left_out(method: Any) -> bool:
    """Return True for a method without a body: `def encode(self, text): ...`."""
    code = getattr(method, "__code__", None)
    return (
        code is not None
        and not code.co_names
        and all(each is None or each == method.__doc__ for each in code.co_consts)
        and {each.opname for each in dis.get_instructions(code)} <= {"RESUME", "NOP", "LOAD_CONST", "RETURN_VALUE", "RETURN_CONST"}
    )


def subjects_of(module: ModuleType, text: str) -> list[Subject]:
    """Return the functions and classes that a file defines at top level, in order, then the methods that are parts of their own."""
    tree, lines = ast.parse(text), text.splitlines()
    imports = tuple(dict.fromkeys([*_imports(tree), *_imported_by(module)]))
    found = []
    defined = definitions(tree)
    _set_classes(vars(module), defined)
    _set_static(vars(module), defined)
    for name, node in {**defined, **methods(defined.values())}.items():
        value = value_of(name, vars(module))
        if callable(value) and not (isinstance(node, ast.Assign) and _is_layer_of_library(value, module)):
            first = first_line(node)
            source = textwrap.dedent("\n".join(lines[first - 1 : node.end_lineno])).split("\n")
            found.append(Subject(value, name, first, tuple(source), module, imports, text))
    return found


def _set_classes(namespace: dict[str, Any], defined: Mapping[str, ast.stmt]) -> None:
    """Give the names of classes that a file later assigns an instance to their classes again: `Attention = Attention()`."""
    for name, node in defined.items():
        held = type(namespace.get(name))
        if isinstance(node, ast.ClassDef) and held.__name__ == name and held.__module__ == namespace.get("__name__"):
            namespace[name] = held


def _set_static(namespace: Mapping[str, Any], defined: Mapping[str, ast.stmt]) -> None:
    """Let the methods without an instance that a file calls as those of their class be static, as they are in effect."""
    for name, node in defined.items():
        owner = namespace.get(name) if isinstance(node, ast.ClassDef) else None
        for method in called_of_class(node, defined.values()) if isinstance(node, ast.ClassDef) and inspect.isclass(owner) else ():
            if inspect.isfunction(vars(owner).get(method)):
                setattr(owner, method, staticmethod(vars(owner)[method]))


def _is_layer_of_library(value: Any, module: ModuleType) -> bool:
    """Return True for a class that the file does not define, with or without arguments: `Dense = partial(nn.Dense, use_bias=False)`."""
    made = value.func if isinstance(value, functools.partial) else value
    return inspect.isclass(made) and made.__module__ != module.__name__


def value_of(name: str, namespace: Mapping[str, Any]) -> Any:
    """Return the function or class of a name, the class in a class, or the function of the method of a class."""
    owner, _, method = name.rpartition(".")
    held: Any = None
    for place, part in enumerate(owner.split(".") if owner else ()):
        held = namespace.get(part) if place == 0 else vars(held).get(part) if inspect.isclass(held) else None
    value = namespace.get(method) if not owner else vars(held).get(method) if inspect.isclass(held) else None
    if not owner or inspect.isclass(value):
        return (of_operands(value) or with_tables(value) or of_context(value) if inspect.isclass(value) else None) or value
    if isinstance(value, staticmethod):
        return value.__func__ if inspect.isfunction(inspect.unwrap(value.__func__)) else None
    if not inspect.isfunction(value):
        return None
    return value if re.fullmatch(METHODS, method) else without_instance(value, held)


def first_line(node: ast.stmt) -> int:
    """Return the line at which a definition starts, decorators included."""
    return min(each.lineno for each in (node, *getattr(node, "decorator_list", ())))


def definitions(tree: ast.Module) -> dict[str, ast.stmt]:
    """Return the functions and classes at a file's top level by name, including names assigned a lambda or a partial.

    For a name that is defined several times, return the last definition; of those in the branches of a statement, the first.
    """
    found: dict[str, ast.stmt] = {}
    for node in tree.body:
        name = _defined_name(node)
        if name is not None and not name.startswith("__"):
            found.pop(name, None)
            found[name] = node
        for each in _defined_in_branches(node):
            found.setdefault(each.name, each)
    return found


def _defined_in_branches(statement: ast.stmt) -> Iterator[ast.FunctionDef | ast.ClassDef]:
    """Yield the functions and classes that a statement such as `if torch is not None:` or `try:` defines, but not the file run as a program."""
    if isinstance(statement, ast.If) and "__main__" in ast.unparse(statement.test):
        return
    if isinstance(statement, ast.If | ast.Try):
        for each in in_branches(statement):
            if isinstance(each, ast.FunctionDef | ast.ClassDef):
                yield each
            else:
                yield from _defined_in_branches(each)


def _defined_name(node: ast.stmt) -> str | None:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return node.name
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target, value = node.targets[0], node.value
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        target, value = node.target, node.value
    else:
        return None
    return target.id if isinstance(target, ast.Name) and _is_function(value) else None


def _is_function(value: ast.expr) -> bool:
    """Return True for a lambda, and for a call of functools.partial."""
    if isinstance(value, ast.Lambda):
        return True
    called = value.func if isinstance(value, ast.Call) else None
    return (isinstance(called, ast.Name) and called.id == "partial") or (isinstance(called, ast.Attribute) and called.attr == "partial")


def subject_of(value: Callable[..., Any]) -> Subject:
    """Return the subject for a single function or class."""
    module = inspect.getmodule(value)
    try:
        lines, first = inspect.getsourcelines(value)
    except (OSError, TypeError):
        lines, first = [], 1
    try:
        imports = _imports(ast.parse(inspect.getsource(module))) if module else ()
    except (OSError, TypeError, SyntaxError):
        imports = ()
    source = tuple(line.rstrip("\n") for line in lines)
    text = "\n" * (first - 1) + textwrap.dedent("".join(lines))
    return Subject(value, getattr(value, "__name__", type(value).__name__), first, source, None, imports, text)


def _imported_by(module: ModuleType) -> tuple[str, ...]:
    """Return the array libraries whose modules a module holds, which `import *` of another file may have given it."""
    held = (value.__name__.partition(".")[0] for value in vars(module).values() if isinstance(value, ModuleType))
    return tuple(dict.fromkeys(LIBRARY_OF_IMPORT[name] for name in held if name in LIBRARY_OF_IMPORT))


def _imports(tree: ast.Module) -> tuple[str, ...]:
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name.partition(".")[0] for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.append(node.module.partition(".")[0])
    return tuple(dict.fromkeys(LIBRARY_OF_IMPORT[name] for name in names if name in LIBRARY_OF_IMPORT))
