"""Nodes of syntax trees: functions and their parameters, names, attributes of self."""

from __future__ import annotations

import ast
from typing import TypeGuard


def functions_in(*trees: ast.AST) -> list[ast.FunctionDef]:
    """Return the functions and methods in trees, those inside others included."""
    return [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


def parameters_in(function: ast.FunctionDef | ast.Lambda) -> list[str]:
    """Return the names of a function's parameters without *args and **kwargs."""
    taken = function.args
    return [each.arg for each in (*taken.posonlyargs, *taken.args, *taken.kwonlyargs)]


def names_in(kind: type[ast.expr_context], *trees: ast.AST) -> list[ast.Name]:
    """Return the names in trees that are read, with ast.Load, or assigned, with ast.Store."""
    return [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, kind)]


def stored_in(*trees: ast.AST) -> list[str]:
    """Return the names that are assigned in trees, as text."""
    return [node.id for node in names_in(ast.Store, *trees)]


def read_in(*trees: ast.AST) -> set[str]:
    """Return the names that are read in trees, as text."""
    return {node.id for node in names_in(ast.Load, *trees)}


def returned_by(*trees: ast.AST) -> list[ast.expr]:
    """Return the expressions of the return statements in trees."""
    return [node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Return) and node.value is not None]


def without_texts(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return statements without those that are texts, such as docstrings."""
    return [node for node in body if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))]


def in_branches(statement: ast.If | ast.Try) -> list[ast.stmt]:
    """Return the statements in the branches of an `if`, or of a `try` with its handlers."""
    handlers = [each for handler in getattr(statement, "handlers", ()) for each in handler.body]
    return [*statement.body, *handlers, *statement.orelse]


def attributes_of(name: str, tree: ast.AST) -> list[str]:
    """Return the attributes that a tree reads of a name; none if it uses the name in another way."""
    attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)]
    read = [node.attr for node in attributes if isinstance(node.value, ast.Name) and node.value.id == name]
    uses = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == name]
    return read if len(read) == len(uses) else []


def is_of_self(node: ast.AST) -> TypeGuard[ast.Attribute]:
    """Return True for an attribute of self."""
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"


def last_name(node: ast.expr) -> str:
    """Return the last part of a name in dotted form, empty for another expression."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def constructor_in(tree: ast.ClassDef) -> ast.FunctionDef | None:
    """Return the constructor that a class defines itself."""
    return next((each for each in tree.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"), None)
