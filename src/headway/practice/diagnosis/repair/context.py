"""Surroundings of an expression that may be changed."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headway.practice.diagnosis.classes.called_methods import METHODS
from headway.practice.diagnosis.reading.subject import CONSTRUCTORS
from headway.practice.diagnosis.reading.trees import is_of_self, parameters_in
from headway.practice.diagnosis.repair.donors import Missing
from headway.practice.diagnosis.repair.observation import Names, Observation, Seen

Variant = tuple[float, ast.expr]
"""Cost and the new expression."""

MAX_OWN = 16
"""Expressions of the program that are combined with others."""
MAX_LARGER = 4
"""Operations that are tried in place of one of their operands."""


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
    larger     operations of the function with a name, an attribute or a number as an operand, by the source of the operand
    settings   numbers that the function reads from an object other than self, such as config.n_embd, by their source
    raising    ids of the operands of the expression that raised
    misreturned   ids of what is returned, if it is a number where the part returns an array
    idioms     calls of methods that exchange axes, as the program writes them
    wrappers   calls that pass a function to another one with its operand, such as self.sublayer[0](x, self.attention)
    classes    classes of the file that the program does not use
    operands   parameters of the function
    methods    methods of its class with one operand that the program never calls
    assignments  different assignments of the program
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
    settings: Mapping[str, Seen] = field(default_factory=dict)
    raising: frozenset[int] = frozenset()
    misreturned: frozenset[int] = frozenset()
    idioms: Sequence[ast.Call] = ()
    wrappers: Sequence[ast.Call] = ()
    classes: Sequence[str] = ()
    operands: Sequence[str] = ()
    methods: Sequence[str] = ()
    assignments: Sequence[ast.stmt] = ()

    @property
    def unused_parts(self) -> list[str]:
        """Return the attributes of self that hold functions or objects which the function does not use."""
        return [name for name, seen in self._unused_attributes if seen.kind not in PLAIN]

    @property
    def unused_weights(self) -> list[str]:
        """Return the attributes of self that hold arrays which the function does not use."""
        return [name for name, seen in self._unused_attributes if seen.is_array]

    @property
    def _unused_attributes(self) -> list[tuple[str, Seen]]:
        """Return the attributes of self that the function does not use, with their values, in the order of their names."""
        return [(name, self.held[name]) for name in sorted(self.held) if f"self.{name}" in self.unused]

    @property
    def unused_variables(self) -> list[str]:
        """Return the parameters and variables with arrays that the function does not read."""
        return sorted(name for name, seen in self.names.variables.items() if name in self.unused and seen.is_array)

    @property
    def known(self) -> dict[str, Seen]:
        """Return the values in scope by their source: variables, attributes of self and settings."""
        return {**self.names.variables, **{f"self.{name}": seen for name, seen in self.held.items()}, **self.settings}


def uncalled_methods(statement: ast.stmt, statements: Sequence[ast.stmt]) -> list[str]:
    """Return the names of the methods of a class with one operand that no statement of a program mentions.

    What a library calls, such as forward, is none of them, and neither are properties and static methods.
    """
    if not isinstance(statement, ast.ClassDef):
        return []
    mentioned = {node.attr for each in statements for node in ast.walk(each) if isinstance(node, ast.Attribute)} | {*CONSTRUCTORS, *METHODS}
    functions = [each for each in statement.body if isinstance(each, ast.FunctionDef) and not each.decorator_list]
    return [each.name for each in functions if each.name not in mentioned and len(parameters_in(each)) == 2]


PLAIN = ("int", "float", "bool", "str", "list", "tuple", "dict", "NoneType", "Size", "float array", "int array", "bool array")
"""Kinds of values that are neither functions nor objects of a class."""


def widths_of(context: Context) -> dict[int, str]:
    """Return the widths of the arrays in scope, each with one of the arrays."""
    return {each.shape[-1]: name for name, each in reversed(context.names.variables.items()) if each.is_array and each.shape}


EXCHANGES = ("transpose", "swapaxes", "permute", "permute_dims", "movedim", "moveaxis")


def idioms_of(statements: Sequence[ast.stmt]) -> list[ast.Call]:
    """Return the different calls of methods that exchange axes which are written as numbers."""
    calls = [node for statement in statements for node in ast.walk(statement) if isinstance(node, ast.Call) and not node.keywords]
    found = [node for node in calls if isinstance(node.func, ast.Attribute) and node.func.attr in EXCHANGES and node.args]
    plain = [
        node
        for node in found
        if not any(isinstance(part, ast.Name | ast.Attribute | ast.Call) for each in node.args for part in ast.walk(each))
    ]
    return list({ast.unparse(ast.Call(ast.Name(_method(node)), node.args, [])): node for node in plain}.values())


def wrappers_of(statements: Sequence[ast.stmt]) -> list[ast.Call]:
    """Return the calls with two operands of which the second is a function: one in a lambda, or an attribute of self that is called elsewhere."""
    calls = [node for statement in statements for node in ast.walk(statement) if isinstance(node, ast.Call)]
    called = {ast.unparse(node.func) for node in calls}
    pairs = [node for node in calls if len(node.args) == 2 and not node.keywords]
    return [
        each for each in pairs if isinstance(each.args[1], ast.Lambda) or (is_of_self(each.args[1]) and ast.unparse(each.args[1]) in called)
    ]


DRAWS = r"(?i)rand\w*|(standard_|truncated_)?normal_?|uniform_?|(glorot|xavier|kaiming)\w*"
"""Pattern of the names of functions that draw numbers."""


def scales_of_initial_values(nodes: Sequence[ast.AST]) -> frozenset[int]:
    """Return the ids of factors of random numbers, and of the products: the probes replace the initial values of weights."""
    found: set[int] = set()
    for node in nodes:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
            fixed = [side for side in (node.left, node.right) if not _draws(side)]
            if len(fixed) < 2:
                found |= {id(node), *(id(each) for side in fixed for each in ast.walk(side))}
    return frozenset(found)


def _draws(node: ast.expr) -> bool:
    return any(re.fullmatch(DRAWS, _name_called(each)) for each in ast.walk(node))


def _name_called(node: ast.AST) -> str:
    match node:
        case ast.Call(ast.Attribute(attr=name)) | ast.Call(ast.Name(name)):
            return name
    return ""


def _method(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else ""


def own_expressions(nodes: Sequence[ast.AST], seen: Observation) -> list[ast.expr]:
    """Return the different calls, elements, fields and operations of a function whose values are arrays, short ones first."""
    arrays: list[ast.expr] = [
        node
        for node in nodes
        if (isinstance(node, ast.Call | ast.Subscript | ast.BinOp) or (isinstance(node, ast.Attribute) and not is_of_self(node)))
        and isinstance(getattr(node, "ctx", None), ast.Load | None)
        and (each := seen.expressions.get(id(node))) is not None
        and each.is_array
    ]
    different = {ast.dump(node): node for node in arrays}
    return sorted(different.values(), key=lambda node: len(ast.dump(node)))[:MAX_OWN]


def larger_of(nodes: Sequence[ast.AST]) -> dict[str, list[ast.expr]]:
    """Return the different operations of a function with a simple operand, and its calls with nothing else, by the source of the operand.

    Another use of it may lack them.
    """
    found: dict[str, dict[str, ast.expr]] = {}
    for node in nodes:
        if isinstance(node, ast.BinOp | ast.Call):
            for part in (node.left, node.right) if isinstance(node, ast.BinOp) else node.args if len(node.args) == 1 else ():
                if isinstance(part, ast.Name | ast.Attribute | ast.Constant):
                    found.setdefault(ast.unparse(part), {})[ast.dump(node)] = node
    return {name: list(operations.values())[:MAX_LARGER] for name, operations in found.items()}


def settings_of(nodes: Sequence[ast.AST], seen: Observation) -> dict[str, Seen]:
    """Return the numbers that a function reads from an object other than self, by their source."""
    read = [node for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id != "self"]
    values = {ast.unparse(node): seen.expressions.get(id(node)) for node in read}
    return {text: value for text, value in values.items() if value is not None and value.kind in ("int", "float")}


def is_module(node: ast.expr, context: Context) -> bool:
    """Return True for `np`, `torch.nn.functional` or `self`: what a call without its function would leave nothing of."""
    root = node
    while isinstance(root, ast.Attribute):
        root = root.value
    return isinstance(root, ast.Name) and root.id not in context.names.variables and root.id != "x"


def literal(value: Any) -> ast.expr:
    """Return the expression of a number or another constant."""
    if type(value) in (int, float) and value < 0:
        return ast.UnaryOp(ast.USub(), ast.Constant(-value))
    return ast.Constant(value)
