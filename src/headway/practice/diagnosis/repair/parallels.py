"""Statements written like their neighbours: what is done to the query is done to the key, what is done to the cosine to the sine."""

from __future__ import annotations

import ast
import copy
import difflib
import itertools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from headway.practice.diagnosis.reading.trees import is_of_self, last_name, names_in, stored_in
from headway.practice.diagnosis.repair.observation import Seen
from headway.practice.diagnosis.repair.templates import parsed

MAX_COPIES = 6
"""Variables to which one statement is repeated."""


def parallel(node: ast.Assign, body: Sequence[ast.stmt], arrays: Sequence[str]) -> Iterator[tuple[float, list[ast.stmt], list[ast.stmt]]]:
    """Yield an assignment with the value of a similar one of the same body, and followed by itself for other variables.

    arrays   variables that hold arrays
    """
    for stored in _stored_alike(node, body, arrays):
        yield 1.1, [node], [node, stored]
    if isinstance(node.targets[0], ast.Subscript):
        yield from _interleaved(node, body)
        yield from _written_alike(node, body)
    target = _name_of(node)
    if target is None:
        return
    place = next(index for index, each in enumerate(body) if each is node)
    values = [
        renamed(other.value, name, target)
        for _, other in sorted(enumerate(body), key=lambda each: abs(each[0] - place))
        if isinstance(other, ast.Assign) and (name := _name_of(other)) not in (None, target)
    ]
    for index in _indices_next_to(node, body):
        yield 0.9, [node], [ast.Assign(node.targets, ast.Subscript(node.value.value, index, ast.Load()))]  # type: ignore[attr-defined]
    values = [*values, *filter(None, map(_other_half, values))]
    for text, value in {ast.unparse(value): value for value in values}.items():
        if text != ast.unparse(node.value):
            yield 1.5, [node], [ast.Assign(node.targets, value)]
    if not isinstance(node.targets[0], ast.Name) or target not in {each.id for each in ast.walk(node.value) if isinstance(each, ast.Name)}:
        return
    for name in [each for each in arrays if each != target][:MAX_COPIES]:
        yield 1.6, [node], [node, ast.Assign([ast.Name(name, ast.Store())], renamed(node.value, target, name))]


def _indices_next_to(node: ast.Assign, body: Sequence[ast.stmt]) -> Iterator[ast.expr]:
    """Yield the other indices of the slices of the same body: for `s = sin[:n]`, that of `c = cos[start : start + n]`."""
    if not isinstance(node.value, ast.Subscript) or not _has_slice(node.value):
        return
    own = ast.unparse(node.value.slice)
    others = [each.value for each in body if isinstance(each, ast.Assign) and each is not node]
    indices = [each.slice for each in others if isinstance(each, ast.Subscript) and _has_slice(each)]
    yield from {text: index for index in indices if (text := ast.unparse(index)) != own}.values()


def _has_slice(node: ast.Subscript) -> bool:
    return any(isinstance(each, ast.Slice) for each in (node.slice, *getattr(node.slice, "elts", ())))


def _other_half(value: ast.expr) -> ast.expr | None:
    """Return the first half of a rotation for the second and the reverse: a · c − b · s for a · s + b · c."""
    match value:
        case ast.BinOp(ast.BinOp(a, ast.Mult(), s), ast.Add() | ast.Sub() as sign, ast.BinOp(b, ast.Mult(), c)):
            other = ast.Sub() if isinstance(sign, ast.Add) else ast.Add()
            return ast.BinOp(ast.BinOp(a, ast.Mult(), c), other, ast.BinOp(b, ast.Mult(), s))
    return None


def _stored_alike(node: ast.Assign, body: Sequence[ast.stmt], arrays: Sequence[str]) -> Iterator[ast.Assign]:
    """Yield the assignments of other variables to what they were read from, as this one keeps its own: `state["v"] = v` next to `state["m"] = m`.

    The name may be a key or an attribute anywhere in the target: `state["m"][i] = m`.
    """
    target, value = node.targets[0], node.value
    if not isinstance(target, ast.Subscript | ast.Attribute) or not isinstance(value, ast.Name):
        return
    own = ast.unparse(target)
    used = {ast.unparse(each) for statement in body for each in ast.walk(statement) if isinstance(each, ast.Subscript | ast.Attribute)}
    stored = {ast.unparse(each.targets[0]) for each in body if isinstance(each, ast.Assign)}
    for name in arrays:
        other = _WithKeys({value.id: name}).visit(copy.deepcopy(target))
        if (text := ast.unparse(other)) != own and text in used - stored:
            yield ast.Assign([other], ast.Name(name, ast.Load()))


@dataclass(frozen=True)
class _WithKeys(ast.NodeTransformer):
    """The expression with other texts as keys and other names of attributes."""

    names: Mapping[str, str]

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        return ast.Constant(self.names.get(node.value, node.value)) if isinstance(node.value, str) else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        return ast.Attribute(node.value, self.names.get(node.attr, node.attr), node.ctx)


def copied_lines(statements: Sequence[ast.stmt]) -> list[int]:
    """Return the lines of the assignments of one body that read or call the same for different names: a line copied and not adapted.

    Those of constructors, where several layers are made alike, are left out.
    """
    found = []
    for holder in (node for statement in statements for node in ast.walk(statement)):
        body = getattr(holder, "body", None) if getattr(holder, "name", "") != "__init__" else None
        values: dict[str, list[ast.Assign]] = {}
        for node in body if isinstance(body, list) else ():
            if isinstance(node, ast.Assign) and any(map(_reads_or_calls, ast.walk(node.value))):
                values.setdefault(ast.dump(node.value), []).append(node)
        found += [node.lineno for alike in values.values() if len(alike) > 1 for node in alike]
    return found


def _reads_or_calls(node: ast.AST) -> bool:
    return isinstance(node, ast.Subscript) or (isinstance(node, ast.Call) and bool(node.args))


MAX_EXCHANGED = 6
"""Pairs of names of one statement that are exchanged in it."""


def exchanged(node: ast.stmt, value: ast.expr, variables: Mapping[str, Seen]) -> Iterator[tuple[float, list[ast.stmt], list[ast.stmt]]]:
    """Yield a statement with two variables of the same kind exchanged throughout its value, those with the most similar names first."""
    names = list(dict.fromkeys(each.id for each in ast.walk(value) if isinstance(each, ast.Name) and each.id in variables))
    pairs = [pair for pair in itertools.combinations(names, 2) if variables[pair[0]].kind == variables[pair[1]].kind]
    pairs.sort(key=lambda pair: -_likeness(*pair))
    for one, other in pairs[:MAX_EXCHANGED]:
        changed = copy.copy(node)
        vars(changed)["value"] = _Exchanged({one: other, other: one}).visit(copy.deepcopy(value))
        yield 1.35, [node], [changed]


@dataclass(frozen=True)
class _Exchanged(ast.NodeTransformer):
    """The expression with other names of variables."""

    names: Mapping[str, str]

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Name(self.names.get(node.id, node.id), node.ctx)


MAX_SUBLAYERS = 6
"""Orders in which unused attributes take the places of others."""

MAX_UNUSED = 7
"""Unused names of which the orders are considered."""

ALIKE = 0.5
"""Likeness of the names of the same weight of two layers."""


def sublayers(node: ast.Assign, unused: Sequence[str]) -> Iterator[tuple[float, list[ast.stmt], list[ast.stmt]]]:
    """Yield an assignment next to itself with unused attributes of self in place of its own, as of attention and feed-forward.

    unused   attributes that the function does not read
    """
    used = list(dict.fromkeys(each.attr for each in ast.walk(node.value) if is_of_self(each)))
    if not used or _name_of(node) is None or not isinstance(node.targets[0], ast.Name):
        return
    for order in _likeliest_orders(used, unused):
        other = _WithAttributes(dict(zip(used, order, strict=True)))
        value = other.visit(copy.deepcopy(node.value))
        for each in (value, _OneOperand().visit(copy.deepcopy(value)), *_without_function(value)):
            added = ast.Assign(node.targets, each)
            yield 0.9, [node], [node, added]
            yield 0.9, [node], [added, node]


def next_layer(node: ast.Assign, unused: Sequence[str]) -> Iterator[tuple[float, list[ast.stmt], list[ast.stmt]]]:
    """Yield an assignment followed by another of its kind with unused variables: `h = h @ w2 + b2` after `h = relu(x @ w1 + b1)`.

    unused   variables with arrays that the function does not read
    """
    name = _name_of(node)
    read = list(dict.fromkeys(each.id for each in names_in(ast.Load, node.value)))
    used = [each for each in read if any(_likeness(each, other) >= ALIKE for other in unused)]
    if name is None or not isinstance(node.targets[0], ast.Name) or not used:
        return
    operands = [each for each in read if each not in used]
    for order in _likeliest_orders(used, unused):
        names = dict(zip(used, order, strict=True))
        for operand in operands[:MAX_SUBLAYERS]:
            value = _WithNames({**names, operand: name}).visit(copy.deepcopy(node.value))
            for each in (value, *_without_function(value)):
                yield 0.8, [node], [node, ast.Assign(node.targets, each)]


def _likeliest_orders(used: Sequence[str], unused: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the unused names in the places of the used ones, those that are written most like them first."""
    near = sorted(unused, key=lambda name: -max((_likeness(each, name) for each in used), default=0.0))[:MAX_UNUSED]
    return sorted(itertools.permutations(near, len(used)), key=lambda order: -sum(map(_likeness, used, order)))[:MAX_SUBLAYERS]


def _without_function(value: ast.expr) -> Iterator[ast.expr]:
    """Yield the operand of a function or method of one operand, such as an activation."""
    match value:
        case ast.Call(ast.Attribute(ast.Call() as inner), []):
            yield inner
        case ast.Call(ast.Name() | ast.Attribute(), [ast.Call() | ast.BinOp() as inner, *_]):
            yield inner


NORM = r"(?i)norm|(^|_)ln"
"""Pattern of the names of norms."""
MAX_UNUSED_LAYERS = 2
"""Unused layers, and unused norms, that are called."""


def residuals(node: ast.Assign, unused: Sequence[str], operands: Sequence[str]) -> Iterator[tuple[float, list[ast.stmt], list[ast.stmt]]]:
    """Yield an assignment to a variable followed by the sum of the variable and what an unused layer makes of it, normalized first or not.

    unused     attributes that the function does not read
    operands   further operands of the function, which the layer may take: a mask
    """
    if not isinstance(node.targets[0], ast.Name):
        return
    name = node.targets[0].id
    norms = [each for each in unused if re.search(NORM, each)]
    layers = [each for each in unused if each not in norms][:MAX_UNUSED_LAYERS]
    others = [each for each in operands if each != name]
    further: list[tuple[str, ...]] = [(), *((each,) for each in others), *([tuple(others)] if len(others) > 1 else [])]
    for layer, norm, rest in itertools.product(layers, [*norms[:MAX_UNUSED_LAYERS], None], further):
        inner = f"self.{norm}({name})" if norm else name
        added = f"{name} + self.{layer}({', '.join((inner, *rest))})"
        cost = 0.5 if norm and len(layers) == 1 else 0.9
        for text in (added, f"self.{norm}({name} + self.{layer}({', '.join((name, *rest))}))") if norm else (added,):
            yield cost, [node], [node, ast.Assign(node.targets, parsed(text, {}))]


def passed_on(
    node: ast.Assign | ast.Return, value: ast.expr, unused: Sequence[str]
) -> Iterator[tuple[float, list[ast.stmt], list[ast.stmt]]]:
    """Yield a statement whose value an unused layer is given, as the projection at the end of a part.

    unused   attributes that the function does not read
    """
    for name in unused[:MAX_UNUSED_LAYERS]:
        passed = parsed(f"self.{name}(V)", {"V": value})
        yield 1.0, [node], [ast.Return(passed) if isinstance(node, ast.Return) else ast.Assign(node.targets, passed)]


def like_another(
    node: ast.Assign, body: Sequence[ast.stmt], unused: Sequence[str], unread: Collection[str]
) -> Iterator[tuple[float, list[ast.stmt], list[ast.stmt]]]:
    """Yield an assignment followed by a copy of another one with unused attributes of self, which takes what this one assigns.

    After `a, w = self.attention_2(x)`, `x = self.residual_3(f, x)` after `f = …` becomes `x = self.residual_2(a, x)`.

    unused   attributes that the function does not read
    unread   variables that it does not read
    """
    assigned = stored_in(node)
    if not assigned:
        return
    for before, other in itertools.pairwise(body):
        used = list(dict.fromkeys(each.attr for each in ast.walk(other) if is_of_self(each)))
        if other is node or not isinstance(other, ast.Assign) or len(used) != 1 or _name_of(other) is None:
            continue
        for name in sorted(unused, key=lambda name: -_likeness(used[0], name))[:MAX_SUBLAYERS]:
            value = _WithAttributes({used[0]: name}).visit(copy.deepcopy(other.value))
            value = _WithNames(dict.fromkeys(stored_in(before), assigned[0])).visit(value)
            yield 0.4 if assigned[0] in unread else 0.9, [node], [node, ast.Assign(other.targets, value)]


@dataclass(frozen=True)
class _WithNames(ast.NodeTransformer):
    """The expression with other variables."""

    names: Mapping[str, str]

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Name(self.names.get(node.id, node.id), node.ctx)


def _likeness(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, one, other).ratio()


@dataclass(frozen=True)
class _WithAttributes(ast.NodeTransformer):
    """The expression with other attributes of self."""

    names: Mapping[str, str]

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        return ast.Attribute(node.value, self.names.get(node.attr, node.attr), node.ctx) if is_of_self(node) else node


class _OneOperand(ast.NodeTransformer):
    """The expression with calls of attributes of self that are given their first operand only."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        return ast.Call(node.func, node.args[:1], []) if is_of_self(node.func) else node


def layers_like(node: ast.expr, others: Sequence[ast.expr]) -> Iterator[tuple[float, ast.expr]]:
    """Yield the calls next to an element of a sequence of layers in its place, also with their first two operands exchanged."""
    for other in others:
        if isinstance(other, ast.Call) and len(other.args) > 1 and other is not node:
            first, second, *rest = other.args
            yield 1.5, other
            yield 1.4, ast.Call(other.func, [second, first, *rest], other.keywords)


def _interleaved(node: ast.Assign, body: Sequence[ast.stmt]) -> Iterator[tuple[float, list[ast.stmt], list[ast.stmt]]]:
    """Yield an assignment to some positions with the operand of that to the others, and together with one to the others, as of sine and cosine."""
    target, value = node.targets[0], node.value
    if not isinstance(target, ast.Subscript) or not isinstance(value, ast.Call) or not value.args:
        return
    for other in body:
        if not isinstance(other, ast.Assign) or not isinstance(other.value, ast.Call) or other is node:
            continue
        place = other.targets[0]
        if isinstance(place, ast.Subscript) and ast.dump(place.value) == ast.dump(target.value):
            yield 1.3, [node], [ast.Assign(node.targets, ast.Call(value.func, other.value.args, value.keywords))]
    name = last_name(value.func)
    for function in OPPOSITES.get(name, ()):
        called = (
            ast.Attribute(value.func.value, function, ast.Load())
            if isinstance(value.func, ast.Attribute)
            else ast.Name(function, ast.Load())
        )
        for index in _next_to(target.slice):
            added = ast.Assign([ast.Subscript(target.value, index, ast.Store())], ast.Call(called, value.args, value.keywords))
            yield 1.4, [node], [added, node]


def _written_alike(node: ast.Assign, body: Sequence[ast.stmt]) -> Iterator[tuple[float, list[ast.stmt], list[ast.stmt]]]:
    """Yield an assignment to elements of an array as another one is written, as of the keys and the values of a cache."""
    name = _name_of_array(node)
    for other in body:
        if isinstance(other, ast.Assign) and other is not node and (one := _name_of_array(other)) is not None and name not in (None, one):
            target, value = (renamed(each, one, str(name)) for each in (other.targets[0], other.value))
            assert isinstance(target, ast.Subscript)
            new = ast.Subscript(target.value, target.slice, ast.Store())
            if (ast.unparse(new), ast.unparse(value)) != (ast.unparse(node.targets[0]), ast.unparse(node.value)):
                yield 1.1, [node], [ast.Assign([new], value)]


def _name_of_array(node: ast.Assign) -> str | None:
    """Return the name of the variable or attribute to whose elements a statement assigns."""
    target = node.targets[0]
    held = target.value if isinstance(target, ast.Subscript) else None
    return held.id if isinstance(held, ast.Name) else held.attr if isinstance(held, ast.Attribute) else None


OPPOSITES = {"sin": ("cos",), "cos": ("sin",)}


def _next_to(index: ast.expr) -> Iterator[ast.expr]:
    """Yield the index of the positions before or after those of an index, of which every second is meant."""
    match index:
        case ast.Tuple(elts=[*first, last]):
            for each in _next_to(last):
                yield ast.Tuple([*first, each], ast.Load())
        case ast.BinOp(left=left, op=ast.Add(), right=ast.Constant(value=1)):
            yield left
        case ast.Name():
            yield ast.BinOp(index, ast.Add(), ast.Constant(1))
        case ast.Slice(lower=ast.Constant(value=1), upper=upper, step=step):
            yield ast.Slice(ast.Constant(0), upper, step)
        case ast.Slice(lower=None | ast.Constant(value=0), upper=upper, step=step):
            yield ast.Slice(ast.Constant(1), upper, step)


def _name_of(node: ast.Assign) -> str | None:
    target = node.targets[0]
    return target.id if isinstance(target, ast.Name) else target.attr if isinstance(target, ast.Attribute) else None


LETTERS = {"q": "query", "k": "key", "v": "value"}


def renamed(value: ast.expr, one: str, other: str) -> ast.expr:
    """Return a copy of an expression with the words of one name replaced by those of another: `W_q(query)` for `q` and `k` is `W_k(key)`."""
    words, others = one.split("_"), other.split("_")
    pairs = dict(zip(words, others, strict=True)) if len(words) == len(others) else {one: other}
    pairs = {first: second for first, second in pairs.items() if first != second}
    pairs |= {first.lower(): second.lower() for first, second in pairs.items()}
    pairs |= {LETTERS[first]: LETTERS[second] for first, second in pairs.items() if first in LETTERS and second in LETTERS}
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
