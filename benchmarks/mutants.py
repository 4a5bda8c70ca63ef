"""Single edits of a function or class that change what it computes."""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

OPERATORS = {
    ast.Add: ("+", ("-",)),
    ast.Sub: ("-", ("+",)),
    ast.Mult: ("*", ("/", "+")),
    ast.Div: ("/", ("*",)),
    ast.Pow: ("**", ("*",)),
    ast.FloorDiv: ("//", ("*",)),
}
COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
REMOVED_CALLS = ("transpose", "t", "swapaxes", "mean", "sum", "repeat_interleave", "repeat")
NO_RESULT = re.compile(
    r"drop|random|init|xavier|kaiming|normal_|uniform|print|assert|raise|device|dtype|max_?(seq|len|pos)|block_size|context_len"
    r"|requires_grad|Parameter|no_grad|astype|\.float\(|\.to\(|type_as|contiguous|register_buffer|return_|inf|1e-?\d|eps|ndim|\.dim\(|isinstance"
)
"""Text of statements that change no result, or only the start values, the precision or the messages."""


_Span = Callable[[ast.expr | ast.stmt], tuple[int, int]]


@dataclass(frozen=True)
class Mutant:
    """A changed program.

    object  the name of the function or class that was changed
    says    the edit as one line
    """

    text: str
    object: str
    line: int
    says: str


@dataclass(frozen=True)
class _Edit:
    kind: str
    start: int
    end: int
    replacement: str


def mutants_of(text: str, name: str, chooser: random.Random) -> Iterator[Mutant]:
    """Yield programs with one edit in the function or class, none of them syntactically wrong.

    The kind of each edit is chosen at random first, so that kinds that apply at many places do not prevail.
    """
    tree = ast.parse(text)
    starts = [0, *(position + 1 for position, character in enumerate(text) if character == "\n")]

    def position(line: int, column: int) -> int:
        start = starts[line - 1]
        of_line = text[start : starts[line]] if line < len(starts) else text[start:]
        return start + len(of_line.encode()[:column].decode())

    def span(node: ast.expr | ast.stmt) -> tuple[int, int]:
        return position(node.lineno, node.col_offset), position(node.end_lineno or node.lineno, node.end_col_offset or 0)

    definition = next(
        (node for node in reversed(tree.body) if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name), None
    )
    if definition is None:
        return
    by_kind: dict[str, list[_Edit]] = {}
    for edit in dict.fromkeys(_edits(definition, text, span)):
        by_kind.setdefault(edit.kind, []).append(edit)
    while by_kind:
        kind = chooser.choice(list(by_kind))
        of_kind = by_kind[kind]
        edit = of_kind.pop(chooser.randrange(len(of_kind)))
        if not of_kind:
            del by_kind[kind]
        changed = text[: edit.start] + edit.replacement + text[edit.end :]
        try:
            same = ast.dump(ast.parse(changed)) == ast.dump(tree)
        except SyntaxError:
            continue
        if same:
            continue
        before = text[edit.start : edit.end]
        line = text.count("\n", 0, edit.start) + 1
        yield Mutant(changed, name, line, f"{' '.join(before.split())} → {edit.replacement or '(nothing)'}")


def _edits(definition: ast.FunctionDef | ast.ClassDef, text: str, span: _Span) -> Iterator[_Edit]:
    functions = [node for node in ast.walk(definition) if isinstance(node, ast.FunctionDef)]
    for function in functions:
        if re.search(r"back|grad|repr|weights|save|load|update|pretrained|plot", function.name):
            continue
        names = [argument.arg for argument in function.args.args if argument.arg not in ("self", "cls", "mask")]
        for statement in _statements(function.body):
            start, end = span(statement)
            if NO_RESULT.search(text[start:end]):
                continue
            yield from _statement_edits(statement, start, end)
            for node in ast.walk(statement):
                if isinstance(node, ast.expr):
                    yield from _expression_edits(node, text, span, names)
            stored = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
            names += sorted(stored - {*names, "_"})


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the simple statements."""
    for statement in body:
        if isinstance(statement, ast.If | ast.For | ast.While | ast.With):
            yield from _statements(statement.body)
            yield from _statements(getattr(statement, "orelse", []))
        elif isinstance(statement, ast.Assign | ast.AugAssign | ast.Return):
            yield statement


def _statement_edits(statement: ast.stmt, start: int, end: int) -> Iterator[_Edit]:
    """Yield the removal of a statement that changes a name which has a value already."""
    if isinstance(statement, ast.AugAssign):
        yield _Edit("statement", start, end, "pass")
    if isinstance(statement, ast.Assign) and isinstance(target := statement.targets[0], ast.Name):
        read = {node.id for node in ast.walk(statement.value) if isinstance(node, ast.Name)}
        if target.id in read:
            yield _Edit("statement", start, end, "pass")


def _expression_edits(node: ast.expr, text: str, span: _Span, names: list[str]) -> Iterator[_Edit]:
    start, end = span(node)
    match node:
        case ast.BinOp(left=left, op=operator, right=right):
            (left_start, left_end), (right_start, right_end) = span(left), span(right)
            between = text[left_end:right_start]
            for sign, others in (OPERATORS[type(operator)],) if type(operator) in OPERATORS else ():
                for other in others:
                    yield _Edit("operator", left_end, right_start, between.replace(sign, other, 1))
                yield _Edit("term", start, end, f"({text[left_start:left_end]})")
                if isinstance(operator, ast.Add | ast.Mult):
                    yield _Edit("term", start, end, f"({text[right_start:right_end]})")
        case ast.Compare(left=left, comparators=[right]):
            left_end, right_start = span(left)[1], span(right)[0]
            sign = text[left_end:right_start].strip()
            if sign in COMPARISONS:
                yield _Edit("operator", left_end, right_start, f" {COMPARISONS[sign]} ")
        case ast.Constant(value=bool() as flag):
            yield _Edit("constant", start, end, str(not flag))
        case ast.Constant(value=int() as number):
            yield _Edit("constant", start, end, str(number + 1))
            if number > 0:
                yield _Edit("constant", start, end, str(number - 1))
        case ast.Constant(value=float() as number):
            yield _Edit("constant", start, end, repr(2 * number))
        case ast.Call(func=called, args=arguments):
            if len(arguments) >= 2 and all(isinstance(argument, ast.Name | ast.Constant | ast.UnaryOp) for argument in arguments[:2]):
                (first_start, first_end), (second_start, second_end) = span(arguments[0]), span(arguments[1])
                swapped = text[second_start:second_end] + text[first_end:second_start] + text[first_start:first_end]
                yield _Edit("arguments", first_start, second_end, swapped)
            if len(arguments) == 1 and not node.keywords and isinstance(arguments[0], ast.Name | ast.BinOp | ast.Call):
                yield _Edit("call", start, end, f"({text[slice(*span(arguments[0]))]})")
            if isinstance(called, ast.Attribute) and called.attr in REMOVED_CALLS:
                yield _Edit("call", start, end, text[slice(*span(called.value))])
        case ast.Attribute(value=value, attr="T" | "mT"):
            yield _Edit("call", start, end, text[slice(*span(value))])
        case ast.Name(id=name, ctx=ast.Load()) if name in names:
            for other in names:
                if other != name:
                    yield _Edit("name", start, end, other)
