"""Statements written like their neighbours: what is done to the query is done to the key, what is done to the cosine to the sine."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

MAX_COPIES = 6
"""Variables to which one statement is repeated."""


def parallel(node: ast.Assign, body: Sequence[ast.stmt], arrays: Sequence[str]) -> Iterator[tuple[float, list[ast.stmt], list[ast.stmt]]]:
    """Yield an assignment with the value of a similar one of the same body, and followed by itself for other variables.

    arrays   variables that hold arrays
    """
    target = _name_of(node)
    if target is None:
        return
    values = [
        renamed(other.value, name, target)
        for other in body
        if isinstance(other, ast.Assign) and (name := _name_of(other)) not in (None, target)
    ]
    for text, value in {ast.unparse(value): value for value in values}.items():
        if text != ast.unparse(node.value):
            yield 1.5, [node], [ast.Assign(node.targets, value)]
    if not isinstance(node.targets[0], ast.Name) or target not in {each.id for each in ast.walk(node.value) if isinstance(each, ast.Name)}:
        return
    for name in [each for each in arrays if each != target][:MAX_COPIES]:
        yield 1.6, [node], [node, ast.Assign([ast.Name(name, ast.Store())], renamed(node.value, target, name))]


def _name_of(node: ast.Assign) -> str | None:
    target = node.targets[0]
    return target.id if isinstance(target, ast.Name) else target.attr if isinstance(target, ast.Attribute) else None


def renamed(value: ast.expr, one: str, other: str) -> ast.expr:
    """Return a copy of an expression with the words of one name replaced by those of another: `W_q(query)` for `q` and `k` is `W_k(key)`."""
    words, others = one.split("_"), other.split("_")
    pairs = dict(zip(words, others, strict=True)) if len(words) == len(others) else {one: other}
    pairs = {first: second for first, second in pairs.items() if first != second}
    pairs |= {first[0]: second[0] for first, second in pairs.items() if first and second and first[0] != second[0]}
    copied = ast.parse(ast.unparse(value), mode="eval").body
    for node in ast.walk(copied):
        if isinstance(node, ast.Name):
            node.id = _with_words(node.id, pairs)
        elif isinstance(node, ast.Attribute):
            node.attr = _with_words(node.attr, pairs)
    for node in ast.walk(copied):
        for name in ("lineno", "col_offset", "end_lineno", "end_col_offset"):
            if hasattr(node, name):
                delattr(node, name)
    return copied


def _with_words(name: str, pairs: dict[str, str]) -> str:
    if len(name) in (2, 3) and name[:-1].lower() == "w" and name[-1] in pairs:
        return name[:-1] + pairs[name[-1]]
    return "_".join(pairs.get(word, word) for word in name.split("_"))
