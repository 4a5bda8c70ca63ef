"""Names of a learner's file that have one meaning, and the expressions in it that raise in every call."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any

from headway.practice.diagnosis.explain.failure import line_in
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.message import EMPTY, describe_error
from headway.practice.texts import Texts
from headway.practice.verdict import Cause

TEXTS = Texts("diagnosis")

LIKENESS = 0.85
"""Likeness of two names from which one is a slip of the other; below, it may be a name of another version."""


@dataclass(frozen=True)
class File:
    """A learner's file, as far as its names have one meaning.

    once   functions and classes that are defined once and never assigned
    """

    subject: Subject
    nodes: Sequence[ast.AST]
    once: Mapping[str, ast.stmt]

    def value(self, name: str) -> Any:
        """Return the value of a name of the module; None for one that is assigned elsewhere as well."""
        return vars(self.subject.module).get(name) if self.subject.module is not None else None

    @cached_property
    def stored(self) -> frozenset[str]:
        """The names that the file assigns or that a function takes."""
        assigned = {node.id for node in self.nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
        return frozenset(assigned | {node.arg for node in self.nodes if isinstance(node, ast.arg)})


@dataclass(frozen=True)
class Impossible:
    """An expression, or a field, that raises under every convention.

    written   what is meant instead of the node; empty if it is not known
    """

    cause: Cause
    node: ast.expr | ast.stmt
    written: str = ""


def raising(subject: Subject, error: Exception, node: ast.expr, written: str) -> Impossible:
    """Return an expression that raises an exception, with what is meant in its place if that is known."""
    place = TEXTS["at_line"].format(written=line_in(subject, node.lineno))
    says = TEXTS["call_raises"].format(error=describe_error(error), place=place, arrays=EMPTY)
    fix = TEXTS["write_instead"].format(written=written) if written else TEXTS["make_call_work"]
    return Impossible(Cause(f"raises_{type(error).__name__}", says, fix, EMPTY, line=node.lineno), node, written)


def module_of(file: File, node: ast.expr) -> ModuleType | None:
    """Return the installed module that an expression names, which is not the learner's; None for another value."""
    if isinstance(node, ast.Attribute):
        outer = module_of(file, node.value)
        value = vars(outer).get(node.attr) if outer is not None else None
    else:
        value = file.value(node.id) if isinstance(node, ast.Name) and node.id not in file.stored else None
    is_installed = type(value) is ModuleType and "site-packages" in (getattr(value, "__file__", None) or "")
    return value if is_installed else None


def root_module(file: File, name: str) -> ModuleType | None:
    """Return an installed module that the file imports under its own name, or None."""
    module = module_of(file, ast.Name(name, ast.Load()))
    return module if module is not None and module.__name__ == name else None
