"""Values that a statement overwrites before anything reads them: it was meant to read them."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence

from headway.practice.diagnosis.reading.trees import names_in, read_in, stored_in

COST = 0.2


def overwritten(body: Sequence[ast.stmt], place: int) -> Iterator[tuple[float, list[ast.stmt], list[ast.stmt]]]:
    """Yield an assignment that reads its own variable in place of another one, if the variable has a value that nothing reads."""
    match body[place]:
        case ast.Assign([ast.Name(name)], value) as node if _is_dropped(name, body[:place]) and name not in read_in(value):
            called = {id(each.func) for each in ast.walk(value) if isinstance(each, ast.Call)}
            others = {each.id for each in names_in(ast.Load, value) if id(each) not in called} - {"self"}
            for other in sorted(others):
                changed = copy.deepcopy(node)
                for each in names_in(ast.Load, changed.value):
                    each.id = name if each.id == other else each.id
                yield COST, [node], [changed]


def _is_dropped(name: str, before: Sequence[ast.stmt]) -> bool:
    """Return True if the last of some statements about a variable assigns it."""
    last = next((each for each in reversed(before) if name in {*stored_in(each), *read_in(each)}), None)
    return isinstance(last, ast.Assign) and name in stored_in(last)
