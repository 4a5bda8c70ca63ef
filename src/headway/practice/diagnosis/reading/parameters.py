"""Parameters of a learner's function or class, with those that it reads of its keywords or passes on to its base class."""

from __future__ import annotations

import ast
import inspect
import re
import sys
import sysconfig
import textwrap
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any


@cache
def parsed(text: str) -> ast.Module:
    """Return the syntax tree of a text, without statements if it is not Python."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return ast.Module([], [])


def is_learners(name: str) -> bool:
    """Return True for a module that was imported from a file of the learner, not from an installed package."""
    place = getattr(sys.modules.get(name), "__file__", None)
    return place is not None and name.partition(".")[0] != "headway" and _is_learners(place)


@cache
def _is_learners(place: str) -> bool:
    return not re.search(r"(site|dist)-packages", place) and not Path(place).is_relative_to(sysconfig.get_path("stdlib"))


def parameters_of(function: Callable[..., Any], *, is_bound: bool = False) -> list[inspect.Parameter]:
    """Return a function's parameters without *args and **kwargs, and without self if it is a method.

    The parameters of a class are those of its constructor, also where its metaclass, as in `flax.nnx`, takes any. The keys that a function
    reads of its **kwargs by name are parameters: `kwargs["width"]`, `kwargs.get("scale", None)`; so are those of a constructor that it passes
    them on to: `super().__init__(**kwargs)`.
    """
    if inspect.isclass(function) and type(function).__call__ is not type.__call__ and inspect.isfunction(function.__init__):
        function, is_bound = function.__init__, True
    inner = _decorated(function)
    parameters = list(inspect.signature(inner).parameters.values())[is_bound:]
    named = [each for each in parameters if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
    rest = next((each.name for each in parameters if each.kind is each.VAR_KEYWORD), None)
    if rest is None:
        return named
    found = [*_keys_of_keywords(inner.__init__ if inspect.isclass(inner) else inner, rest), *_passed_on(inner, rest)]
    return list({each.name: each for each in (*found[::-1], *named[::-1])}.values())[::-1]


def _source_of(function: Any) -> str:
    """Return the source of a learner's function, empty for any other."""
    if not inspect.isfunction(function) or not is_learners(function.__module__):
        return ""
    try:
        return textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):
        return ""


def _keys_of_keywords(function: Any, name: str) -> list[inspect.Parameter]:
    """Return the keys that a learner's function reads of the dict of its keywords as parameters; one read without a default is required."""
    return list(_keys_read(_source_of(function), name).values())


def _passed_on(value: Any, name: str) -> list[inspect.Parameter]:
    """Return the parameters of the base class to whose constructor a learner's class passes the dict of its keywords, without those it sets itself."""
    owners = [base for base in value.__mro__ if "__init__" in vars(base)] if inspect.isclass(value) else []
    if len(owners) < 2 or not is_learners(owners[1].__module__):
        return []
    for node in ast.walk(parsed(_source_of(vars(owners[0])["__init__"]))):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr="__init__"), args=args, keywords=words):
                if any(word.arg is None and isinstance(word.value, ast.Name) and word.value.id == name for word in words):
                    given = len([each for each in args if not isinstance(each, ast.Starred)])
                    rest = parameters_of(vars(owners[1])["__init__"], is_bound=True)[given:]
                    set_here = {word.arg for word in words}
                    return [each.replace(kind=each.KEYWORD_ONLY) for each in rest if each.name not in set_here]
    return []


@cache
def _keys_read(text: str, name: str) -> Mapping[str, inspect.Parameter]:
    """Return the keys of a dict that a source reads by name: `kwargs["width"]`, `kwargs.pop("width")`, `kwargs.get("scale", 1.0)`."""
    found: dict[str, inspect.Parameter] = {}
    for node in ast.walk(parsed(text)):
        default: Any = inspect.Parameter.empty
        match node:
            case ast.Subscript(value=ast.Name(id=read), slice=ast.Constant(value=str(key)), ctx=ast.Load()):
                pass
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=read), attr="get" | "pop" as method), args=[ast.Constant(value=str(key)), *others]
            ):
                default = _literal(others[0]) if others else None if method == "get" else default
            case _:
                continue
        if read == name and key.isidentifier():
            found.setdefault(key, inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=default))
    return found


def _literal(node: ast.expr) -> Any:
    """Return the value of a literal, None for any other expression."""
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None


def _decorated(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that a decorator without `functools.wraps` has wrapped, which passes any arguments on; any other function as it is."""
    inner = inspect.unwrap(function)
    code, cells = getattr(inner, "__code__", None), getattr(inner, "__closure__", None) or ()
    passes_on = code is not None and code.co_flags & inspect.CO_VARARGS and code.co_flags & inspect.CO_VARKEYWORDS
    wrapped = [each for each in map(_content, cells) if inspect.isfunction(each) and each is not inner]
    return wrapped[0] if passes_on and len(wrapped) == 1 else function


def _content(cell: Any) -> Any:
    """Return what a name of an enclosing function holds; None if it is not assigned yet."""
    try:
        return cell.cell_contents
    except ValueError:
        return None
