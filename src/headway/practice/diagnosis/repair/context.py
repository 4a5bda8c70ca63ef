"""Surroundings of an expression that may be changed."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from headway.practice.diagnosis.repair.donors import Missing
from headway.practice.diagnosis.repair.observation import Names, Seen


@dataclass(frozen=True)
class Context:
    """Surroundings of an expression.

    names      names seen in its function
    held       attributes of self seen anywhere in the program
    globals    other names: of the module, and those assigned anywhere in the function
    library    array library of the calls, and the name under which the file imports it
    alias      that name
    unused     parameters, variables and attributes that the function never reads
    own        different expressions of the program itself whose values are arrays
    expressions  values of the expressions that were evaluated, by the id of their nodes
    lacking    expressions of right programs that the program lacks
    made       those that make an array from sizes alone
    optional   parameters that are None by default
    module     names of the file and of Python
    undefined  a name for which the program raises NameError
    functions  functions of the file
    larger     operations of the function with a name as an operand, by the name
    raising    ids of the operands of the expression that raised
    """

    names: Names
    held: Mapping[str, Seen]
    globals: Sequence[str]
    library: str
    alias: str
    unused: frozenset[str] = frozenset()
    own: Sequence[ast.expr] = ()
    expressions: Mapping[int, Seen] = field(default_factory=dict)
    lacking: Sequence[Missing] = ()
    made: Sequence[ast.expr] = ()
    optional: frozenset[str] = frozenset()
    module: frozenset[str] = frozenset()
    undefined: str | None = None
    functions: Sequence[str] = ()
    larger: Mapping[str, Sequence[ast.expr]] = field(default_factory=dict)
    raising: frozenset[int] = frozenset()
