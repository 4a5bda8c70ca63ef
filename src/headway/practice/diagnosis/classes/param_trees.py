"""The tree of weights that a function takes, read from its source: which keys and fields it reads, itself and through what it calls."""

from __future__ import annotations

import ast
import copy
import dataclasses
import inspect
import re
import textwrap
import typing
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType, ModuleType, SimpleNamespace
from typing import Any

import numpy

from headway.practice.diagnosis.calls.wording import snake

EACH = "*"
"""Key of the elements of a list."""

OF_ARRAYS = {"shape", "dtype", "ndim", "size", "at", "reshape", "transpose", "mean", "sum", "swapaxes", "astype", "copy", "device", "mT"}
"""Attributes of an array, which are no fields of a tree."""

WRAPPERS = ("vmap", "jit", "checkpoint", "remat", "partial", "grad", "value_and_grad")
"""Functions that return a function like their first argument."""

MOST_DEEP = 6
"""Depth up to which calls are followed."""

Sizes = Mapping[str, int]
Leaf = tuple[tuple[str, ...], frozenset[str]]


@dataclass
class Node:
    """A part of a tree: the keys read from it, in order; an array if there are none.

    form        "dict", "attributes", "tuple", or the class whose fields the keys are
    uses        for an array: "turned" where it is transposed, else "plain"
    """

    children: dict[str, Node] = field(default_factory=dict)
    form: Any = "dict"
    uses: set[str] = field(default_factory=set)

    def at(self, path: tuple[str, ...]) -> Node:
        """Return the part at a path, made if it is not there."""
        node = self
        for key in path:
            node = node.children.setdefault(key, Node())
        return node

    @property
    def is_turned(self) -> bool:
        """Return True for an array that is transposed wherever it is used."""
        return self.uses == {"turned"}

    def leaves(self, path: tuple[str, ...] = (), siblings: frozenset[str] = frozenset()) -> Iterator[Leaf]:
        """Yield the arrays with their paths, and the keys next to theirs."""
        if not self.children:
            yield path, siblings
        for key, child in self.children.items():
            yield from child.leaves((*path, key), frozenset(self.children))

    def simplified(self) -> Node:
        """Return the tree in which an element of an array is the array."""
        if set(self.children) == {EACH} and not self.children[EACH].children:
            return Node(uses=self.uses | self.children[EACH].uses)
        return Node({key: child.simplified() for key, child in self.children.items()}, self.form, self.uses)


def tree_read(
    function: Callable[..., Any], parameter: str, module: ModuleType | None, keys: Mapping[str, object] = MappingProxyType({})
) -> Node:
    """Return the tree that a function reads from a parameter; an empty node if it reads nothing.

    keys   values of the parameters that keys are made of: `weights[f"{prefix}.weight"]`
    """
    root = Node()
    _Reader(module, root, 0).read(function, {parameter: ()}, {name: str(value) for name, value in keys.items()})
    root = root.simplified()
    _add_unread(root, _file_source(function))
    _give_fields(root, _annotation(function, parameter), module)
    return root


FIRST_NORM = r"(\w*(?:ln|norm)_?)1"
"""Pattern of the key of the first norm of a block."""


def _add_unread(node: Node, text: str) -> None:
    """Add the second norm next to the first if the file names it and nothing reads it, as where a block uses its first norm twice."""
    for child in node.children.values():
        _add_unread(child, text)
    for key in [*node.children]:
        first = re.fullmatch(FIRST_NORM, key)
        second = f"{first[1]}2" if first else key
        if second not in node.children and re.search(rf"\b{re.escape(second)}\b", text):
            node.children[second] = copy.deepcopy(node.children[key])


def _file_source(function: Callable[..., Any]) -> str:
    try:
        return "".join(inspect.findsource(function)[0])
    except (OSError, TypeError):
        return ""


def _annotation(function: Callable[..., Any], parameter: str) -> Any:
    """Return the annotation of a parameter; an empty one if it is one of the options that a decorator adds."""
    taken = inspect.signature(function).parameters.get(parameter)
    return inspect.Parameter.empty if taken is None else taken.annotation


def _resolved(annotation: Any, module: ModuleType | None) -> Any:
    """Return the type that an annotation names; None if it is unknown."""
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, dict(vars(module)) if module is not None else {})
    except Exception:  # a name that only a type checker knows
        return None


def _fields(kind: Any) -> list[str]:
    """Return the fields of a named tuple or a dataclass; none for other types."""
    if not inspect.isclass(kind):
        return []
    if dataclasses.is_dataclass(kind):
        return [each.name for each in dataclasses.fields(kind)]
    return list(getattr(kind, "_fields", ()))


def _give_fields(node: Node, annotation: Any, module: ModuleType | None) -> None:
    """Set the forms of a tree, and add the fields that nothing reads, from the types of its annotations."""
    kind = _resolved(annotation, module)
    element = next(iter(typing.get_args(kind)), None) if typing.get_origin(kind) in (list, tuple, Sequence) else None
    if element is not None and _fields(_resolved(element, module)):
        _give_fields(node.at((EACH,)), element, module)
    names = _fields(kind)
    if not names or not set(node.children) <= set(names):
        return
    node.form, node.children = kind, {name: node.children.get(name, Node()) for name in names}
    hints = inspect.get_annotations(kind)
    for name, child in node.children.items():
        _give_fields(child, hints.get(name), module)


class _Reader:
    """Follows a tree through the code of a function."""

    def __init__(self, module: ModuleType | None, root: Node, depth: int) -> None:
        self.module, self.root, self.depth = module, root, depth

    def read(self, function: Callable[..., Any], places: Mapping[str, tuple[str, ...]], keys: Mapping[str, str]) -> None:
        """Record what a function reads from its parameters.

        places   path in the tree by the name of a parameter
        keys     text by the name of a parameter
        """
        definition = _definition(function)
        if definition is not None and self.depth < MOST_DEEP:
            _Scope(self, dict(places), dict(keys)).visit_body(definition.body)

    def called(self, call: ast.Call, scope: _Scope) -> None:
        """Follow a call into a function of the file."""
        function = self._function(call.func)
        if function is None:
            return
        try:
            names = list(inspect.signature(function).parameters)
        except (TypeError, ValueError):
            return
        given = dict(zip(names, call.args, strict=False)) | {each.arg: each.value for each in call.keywords if each.arg is not None}
        places = {name: path for name, value in given.items() if (path := scope.path(value)) is not None}
        spread = [path for each in call.keywords if each.arg is None and (path := scope.path(each.value)) is not None]
        for path in spread[:1]:
            places |= {name: (*path, name) for name in names if name not in given and _is_required(function, name)}
        for path in places.values():
            self.root.at(path)
        if places:
            keys = {name: key for name, value in given.items() if (key := scope.text(value)) is not None}
            _Reader(self.module, self.root, self.depth + 1).read(function, places, keys)

    def _function(self, node: ast.expr) -> Callable[..., Any] | None:
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in WRAPPERS and node.args:
            return self._function(node.args[0])
        found = getattr(self.module, node.id, None) if isinstance(node, ast.Name) else None
        found = inspect.unwrap(found) if callable(found) and not inspect.isclass(found) else None
        return found if inspect.isfunction(found) else None


def _is_required(function: Callable[..., Any], name: str) -> bool:
    parameter = inspect.signature(function).parameters[name]
    return parameter.default is parameter.empty and parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)


@cache
def _definition(function: Callable[..., Any]) -> ast.FunctionDef | None:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return None
    return next((each for each in tree.body if isinstance(each, ast.FunctionDef)), None)


class _Scope(ast.NodeVisitor):
    """Names that hold parts of the tree, while the statements of a function are visited in order."""

    def __init__(self, reader: _Reader, places: dict[str, tuple[str, ...]], keys: dict[str, str]) -> None:
        self.reader, self.places, self.keys = reader, places, keys

    def visit_body(self, body: list[ast.stmt]) -> None:
        """Visit statements in order."""
        for statement in body:
            self.visit(statement)

    def path(self, node: ast.expr) -> tuple[str, ...] | None:
        """Return the path of an expression that is a part of the tree, or None."""
        match node:
            case ast.Name(id=name):
                return self.places.get(name)
            case ast.Attribute(value=value, attr=name) if name not in OF_ARRAYS and name != "T":
                owner = self.path(value)
                return None if owner is None else self._step(owner, name, "attributes")
            case ast.Subscript(value=value, slice=index) if (key := self.text(index)) is not None:
                owner = self.path(value)
                return None if owner is None else self._step(owner, key, "dict")
            case ast.IfExp(body=body) if self._finds_key(node.test):
                return self.path(body)
            case ast.Call(func=ast.Attribute(value=value, attr="get"), args=[ast.Constant(value=str(name)), *_]):
                owner = self.path(value)
                return None if owner is None else self._step(owner, name, "dict")
            case ast.Subscript(value=value, slice=index) if not isinstance(index, ast.Tuple | ast.Slice):
                owner = self.path(value)
                return None if owner is None else (*owner, EACH)
        return None

    def text(self, node: ast.expr) -> str | None:
        """Return the text of an expression that is a key: a constant, a name of one, or `f"{prefix}.weight"`; None for another."""
        match node:
            case ast.Constant(value=str(text)):
                return text
            case ast.Name(id=name):
                return self.keys.get(name)
            case ast.FormattedValue(value=value, format_spec=None):
                return self.text(value)
            case ast.JoinedStr(values=values):
                parts = [self.text(each) for each in values]
                return None if None in parts else "".join(map(str, parts))
        return None

    def _finds_key(self, test: ast.expr) -> bool:
        """Return True for a condition that the tree has a key: `f"{prefix}.weight" in weights`."""
        match test:
            case ast.Compare(left=left, ops=[ast.In()], comparators=[owner]):
                return self.text(left) is not None and self.path(owner) is not None
        return False

    def visit_IfExp(self, node: ast.IfExp) -> None:
        """Visit what is read where the tree has a key, and nothing of the other case."""
        if self._finds_key(node.test):
            self.visit(node.body)
        else:
            self.generic_visit(node)

    def _step(self, owner: tuple[str, ...], name: str, form: str) -> tuple[str, ...]:
        self.reader.root.at(owner).form = form
        return (*owner, name)

    def generic_visit(self, node: ast.AST) -> None:
        """Record a part of the tree; otherwise visit what the node is made of."""
        path = self.path(node) if isinstance(node, ast.expr) else None
        if path is None:
            super().generic_visit(node)
        elif path:
            self.reader.root.at(path).uses.add("plain")

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """Note a transposed array."""
        path = self.path(node.value) if node.attr in ("T", "mT") else None
        if path:
            self.reader.root.at(path).uses.add("turned")
        else:
            self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        """Follow a call."""
        self.reader.called(node, self)
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        """Name parts of the tree."""
        self.visit(node.value)
        for target in node.targets:
            self._bind(target, node.value)

    def visit_For(self, node: ast.For) -> None:
        """Name the elements of a list."""
        self._bind_element(node.target, node.iter)
        self.visit(node.iter)
        for _ in self._with_keys(node.target, node.iter):
            self.visit_body(node.body)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        """Name the elements of a list."""
        self._bind_element(node.target, node.iter)
        self.visit(node.iter)

    def visit_ListComp(self, node: ast.ListComp) -> None:
        """Visit what is iterated over first."""
        self._visit_elements(node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> None:
        """Visit what is iterated over first."""
        self._visit_elements(node)

    def _visit_elements(self, node: ast.ListComp | ast.GeneratorExp) -> None:
        for each in node.generators:
            self.visit(each)
        for _ in self._with_keys(node.generators[0].target, node.generators[0].iter):
            self.visit(node.elt)

    def _with_keys(self, target: ast.expr, iterated: ast.expr) -> Iterator[None]:
        """Set a variable that iterates over given keys to each of them in turn; yield once if it does not."""
        keys = [each.value for each in getattr(iterated, "elts", ()) if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        for key in keys:
            self.keys[ast.unparse(target)] = key
            yield
        if not keys:
            yield

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            for one, other in zip(target.elts, value.elts, strict=True):
                self._bind(one, other)
            return
        path = self.path(value)
        if isinstance(target, ast.Name):
            self.places.pop(target.id, None)
            if (text := self.text(value)) is not None:
                self.keys[target.id] = text
            if path is not None:
                self.places[target.id] = path
        elif isinstance(target, ast.Tuple) and path is not None and all(isinstance(each, ast.Name) for each in target.elts):
            for each in target.elts:
                assert isinstance(each, ast.Name)
                self.places[each.id] = self._step(path, each.id, "tuple")
                self.reader.root.at(self.places[each.id])

    def _bind_element(self, target: ast.expr, iterated: ast.expr) -> None:
        match iterated, target:
            case ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]), ast.Tuple(elts=[_, element]):
                self._bind_element(element, inner)
            case ast.Call(func=ast.Name(id="zip"), args=given), ast.Tuple(elts=elements):
                for element, inner in zip(elements, given, strict=False):
                    self._bind_element(element, inner)
            case _, ast.Name(id=name):
                path = self.path(iterated)
                if path is not None:
                    self.places[name] = (*path, EACH)


LAYER = "single_linear_layer"
"""Owner of the arrays of a single linear layer."""

NORM = r"norm|(^|[._])ln|gamma|beta|gain|scale|shift"
SHAPES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (rf"^{LAYER}\.", ("in_features", "out_features")),
    (NORM, ("hidden_size",)),
    (r"(^|[._])w?pos|pos_?emb|wpe|(^|[._])w_?p$|position", ("context_length", "hidden_size")),
    (r"qkv|c_attn|in_proj", ("hidden_size", "all_heads")),
    (r"lm_?head|unembed|vocab|logits|(^|[._])head$|de_?embed|output_head", ("hidden_size", "vocab_size")),
    (r"wte|tok|embed|(^|[._])emb|(^|[._])w_?e$", ("vocab_size", "hidden_size")),
    (r"gate|(^|[._])up(_proj|_?\d)?($|[._])|(^|[._])w_?3$", ("hidden_size", "intermediate_size")),
    (r"(^|[._])[wb]?_?[qkv](_|$|\.|w$|b$|proj)|query|(?<!_)key|value", ("hidden_size", "hidden_size")),
    (r"(att|mha|head).*(out|proj|[._][wb]?_?o([._]|$))|(^|[._])[wb]_?o$|o_proj|wo$", ("hidden_size", "hidden_size")),
    (r"down|fc_?2|[wb]_?2|(^|[._])c_proj|proj|out|linear_?2|ff_?2|dense_?2|lin_?2", ("intermediate_size", "hidden_size")),
    (r"up|fc|[wb]_?1|(^|[._])in|_in($|\.)|linear_?1|ff_?1|dense_?1|lin_?1", ("hidden_size", "intermediate_size")),
)
"""Sizes (in, out) of the arrays that names mean; the first pattern that matches counts."""

PLAIN = r"[wbgx]|weight|bias|kernel|scale|offset"
"""Pattern of keys that say nothing without that of their owner."""

BIAS = r"(^|[._])b(ias)?(_?\w|_\w+)?$|bias|beta|shift"

NUMBERS = {"num_heads": r"(n|num)_?heads?", "num_layers": r"(n|num)_?layers?"}
"""Sizes that a tree may hold next to its arrays, and patterns of their keys."""


SETTINGS = {r"(layer_|rms_)?(norm_)?(eps|epsilon)": 1e-6}
"""Numbers that a tree may hold next to its arrays, by the pattern of their keys."""


def setting_of_leaf(path: tuple[str, ...]) -> float | None:
    """Return the number that a leaf holds which is no size; None for a size and for an array."""
    return next((number for pattern, number in SETTINGS.items() if path and re.fullmatch(pattern, path[-1].lower())), None)


def number_of_leaf(path: tuple[str, ...]) -> str | None:
    """Return the name of the size that a leaf holds; None for an array."""
    return next((name for name, pattern in NUMBERS.items() if path and re.fullmatch(pattern, path[-1].lower())), None)


def sizes_of_leaf(path: tuple[str, ...], siblings: Collection[str]) -> tuple[str, ...] | None:
    """Return the names of the sizes of an array from its path in a tree and from the keys next to it; None if they say nothing."""
    name = ".".join(snake(each) for each in path if each != EACH)
    last = name.rpartition(".")[2]
    is_attention = bool(re.search(r"att|mha", name.rpartition(".")[0])) or _has_queries_only(siblings)
    named = (name,) if re.fullmatch(PLAIN, last) else (last, name)
    found = next((sizes for text in named for pattern, sizes in SHAPES if re.search(pattern, text)), None)
    if found == ("intermediate_size", "hidden_size") and is_attention:
        found = ("hidden_size", "hidden_size")
    if found is None or len(found) == 1:
        return found
    return found[1:] if re.search(BIAS, last) else found


def _has_queries_only(names: Collection[str]) -> bool:
    """Return True for the keys of an attention: queries, and no weight of a feed-forward."""
    others = [pattern for pattern, sizes in SHAPES if "intermediate_size" in sizes and "out" not in pattern]
    plain = [snake(each) for each in names]
    queries = [pattern for pattern, _ in SHAPES if "qkv" in pattern]
    return any(re.search(pattern, each) for each in plain for pattern in queries) and not any(
        re.search(pattern, each) for each in plain for pattern in others if not any(re.search(query, each) for query in queries)
    )


def sizes_of(tree: Node, owner: tuple[str, ...] = ()) -> list[str] | None:
    """Return the names of all sizes of a tree; None if those of an array are unknown.

    owner   words that say whose weights it holds
    """
    found: dict[str, None] = {}
    for path, siblings in tree.leaves(owner):
        if setting_of_leaf(path) is not None:
            continue
        number = number_of_leaf(path)
        sizes = (number,) if number else sizes_of_leaf(path, siblings)
        if not path or sizes is None:
            return None
        found |= dict.fromkeys("hidden_size" if each == "all_heads" else each for each in sizes)
        found |= {"num_layers": None} if EACH in path else {}
    return list(found)


def arrays_of(tree: Node, sizes: Sizes, path: tuple[str, ...] = (), siblings: Collection[str] = ()) -> Any:
    """Return the arrays of a tree, and the sizes next to them, as dicts and lists."""
    if not tree.children and (number := number_of_leaf(path)):
        return sizes[number]
    if not tree.children and (setting := setting_of_leaf(path)) is not None:
        return setting
    if not tree.children:
        names = sizes_of_leaf(path, siblings) or ()
        shape = tuple(3 * sizes["hidden_size"] if name == "all_heads" else sizes[name] for name in names)
        is_gain = len(shape) == 1 and not re.search(BIAS, snake(path[-1]))
        return numpy.full(shape[::-1] if tree.is_turned else shape, float(is_gain))
    if set(tree.children) == {EACH}:
        return [arrays_of(tree.children[EACH], sizes, (*path, EACH)) for _ in range(sizes["num_layers"])]
    return {key: arrays_of(child, sizes, (*path, key), tree.children) for key, child in tree.children.items()}


def formed(tree: Node, arrays: Any) -> Any:
    """Return arrays in the form that the function takes: its own classes, tuples, objects with attributes."""
    if not tree.children:
        return arrays
    if set(tree.children) == {EACH}:
        return [formed(tree.children[EACH], each) for each in arrays]
    parts = {key: formed(child, arrays[key]) for key, child in tree.children.items()}
    if tree.form == "dict":
        return parts
    if tree.form == "tuple":
        return tuple(parts.values())
    return SimpleNamespace(**parts) if tree.form == "attributes" else tree.form(**parts)
