"""The statements of a function's source: their lines, the names that they read, and the text to show."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType

from headway.look.trace import Source

METADATA = ("shape", "dtype", "ndim", "device", "size")
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(frozen=True)
class Statement:
    """A statement of a function.

    line    its first line
    reads   names that it reads, in order
    makes   names that it assigns
    called  names of the functions that it calls, without their modules
    has_product  True if it multiplies matrices with @
    has_shift    True if an index moves elements along an axis: x[1:], x[::-1], x[order]
    """

    line: int
    reads: tuple[str, ...]
    makes: tuple[str, ...]
    called: tuple[str, ...]
    has_product: bool
    has_shift: bool


@dataclass(frozen=True)
class FunctionSource:
    """A function's text and statements.

    first_of   first line of the statement that a line belongs to
    """

    source: Source
    docstring: str
    first_of: dict[int, int]
    statements: dict[int, Statement]


@lru_cache(maxsize=512)
def function_source(code: CodeType, text: str | None = None) -> FunctionSource | None:
    """Return the source of a code object; None if it is not available.

    text   text of its file; read from the file by default
    """
    content = "".join(linecache.getlines(code.co_filename)) if text is None else text
    node = _node_of(content, code)
    if node is None:
        return None
    docstring = "" if isinstance(node, ast.Lambda) else ast.get_docstring(node) or ""
    body = [node] if isinstance(node, ast.Lambda) else node.body[1 if docstring else 0 :]
    first_of: dict[int, int] = {}
    statements: dict[int, Statement] = {}
    for each in body:
        _collect(each, first_of, statements)
    first = node.lineno
    hidden = (
        set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)) if docstring and not isinstance(node, ast.Lambda) else set()
    )
    lines = content.splitlines()
    numbers = [number for number in range(first, (node.end_lineno or first) + 1) if number not in hidden]
    shown = tuple((number, lines[number - 1].rstrip()) for number in numbers)
    margin = min((len(line) - len(line.lstrip()) for _, line in shown if line.strip()), default=0)
    shown = tuple((number, line[margin:]) for number, line in shown)
    source = Source(code.co_filename, code.co_name, shown, _equation(docstring), docstring.partition("\n")[0])
    return FunctionSource(source, docstring, first_of, statements)


def _node_of(content: str, code: CodeType) -> FunctionNode | None:
    try:
        tree = _parsed(content)
    except (SyntaxError, ValueError, RecursionError):
        return None
    for node in ast.walk(tree):
        if not isinstance(node, FunctionNode):
            continue
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(each.lineno for each in decorators)])
        if first == code.co_firstlineno and getattr(node, "name", "<lambda>") == code.co_name:
            return node
    return None


@lru_cache(maxsize=64)
def _parsed(content: str) -> ast.Module:
    return ast.parse(content)


def _collect(node: ast.stmt | ast.Lambda, first_of: dict[int, int], statements: dict[int, Statement]) -> None:
    """Add a statement, and the statements in it; of a compound statement, only its header is the statement itself."""
    blocks = [getattr(node, name, []) for name in ("body", "orelse", "finalbody")] if isinstance(node, ast.stmt) else []
    blocks += [handler.body for handler in getattr(node, "handlers", [])] + [case.body for case in getattr(node, "cases", [])]
    inner = [each for block in blocks for each in block]
    last = inner[0].lineno - 1 if inner else node.end_lineno or node.lineno
    for line in range(node.lineno, max(last, node.lineno) + 1):
        first_of.setdefault(line, node.lineno)
    if not isinstance(node, ast.FunctionDef | ast.ClassDef):
        own = [part for part in ast.iter_child_nodes(node) if part not in inner and not isinstance(part, ast.ExceptHandler)]
        statements.setdefault(node.lineno, _statement(node.lineno, own))
        for each in inner:
            _collect(each, first_of, statements)


def _statement(line: int, parts: list[ast.AST]) -> Statement:
    nodes = [node for part in parts for node in _computing(part)]
    names = [node for node in nodes if isinstance(node, ast.Name)]
    called = [node.func for node in nodes if isinstance(node, ast.Call)]
    functions = {id(each) for each in called}
    return Statement(
        line,
        tuple(dict.fromkeys(node.id for node in names if isinstance(node.ctx, ast.Load) and id(node) not in functions)),
        tuple(dict.fromkeys(node.id for node in names if isinstance(node.ctx, ast.Store))),
        tuple(each.attr if isinstance(each, ast.Attribute) else each.id for each in called if isinstance(each, ast.Attribute | ast.Name)),
        any(isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult) for node in nodes),
        any(_shifts(index) for node in nodes if isinstance(node, ast.Subscript) for index in _indices(node)),
    )


def _indices(node: ast.Subscript) -> list[ast.expr]:
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]


def _shifts(index: ast.expr) -> bool:
    if isinstance(index, ast.Slice):
        return index.lower is not None or index.step is not None
    return not isinstance(index, ast.Constant)


def _computing(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of an expression without those that only ask for the shape, the dtype or the library of an array."""
    if (isinstance(node, ast.Attribute) and node.attr in METADATA) or (isinstance(node, ast.keyword) and node.arg in ("like", "dtype")):
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _computing(child)


def _equation(docstring: str) -> str:
    """Return the indented line after the summary, which is the equation in Headway's docstrings."""
    blocks = docstring.split("\n\n")
    is_equation = len(blocks) > 1 and blocks[1].startswith("    ") and "Shapes" in docstring
    return "\n".join(line.strip() for line in blocks[1].splitlines()) if is_equation else ""
