"""One layer in all places: `[Layer(config)] * 6`, or a loop that adds or applies it. Ready-made layers take its places one by one, so no output shows it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from headway.practice.diagnosis.reading.subject import Subject, definitions, parsed
from headway.practice.diagnosis.reading.trees import is_of_self, last_name, read_in, stored_in
from headway.practice.message import EMPTY
from headway.practice.texts import Texts
from headway.practice.verdict import Cause

TEXTS = Texts("diagnosis")

ON_PURPOSE = r"(?i)share|sharing|albert|universal|recurr|recurs|tied|weight.?tying|perceiver|looped"
"""Pattern of the source of a class that uses one layer several times on purpose."""

LISTS = ("ModuleList", "Sequential")

NUMBER_OF_LAYERS = r"(?i)(^|_)(n|num|number)?_?(of_)?(layers?|blocks?|enc|dec|encoders?|decoders?)$|^nx$|^N$|depth$"
"""Pattern of the names of numbers of layers."""

STATELESS = r"(?i)relu|gelu|silu|tanh|sigmoid|softmax|swish|dropout|identity|flatten|tensor|config"
"""Pattern of the names of layers without weights."""


def shared_layers_cause(subject: Subject) -> Cause | None:
    """Return the cause for a list of layers in which one object is in all places, or for one that is applied in place of several; else None."""
    found = definitions(parsed(subject.text))
    tree = found.get(subject.name)
    if not isinstance(tree, ast.ClassDef | ast.FunctionDef) or re.search(ON_PURPOSE, subject.own_source):
        return None
    made = {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and _is_class(node.value.func)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    lists = [value for node in ast.walk(tree) for value in _lists_of(node)] if isinstance(tree, ast.ClassDef) else []
    repeated = next((value for value in lists if _repeats(value, made)), None) or next(_added(tree, made), None)
    if repeated is not None:
        return Cause("layers_shared", TEXTS["layers_shared"], TEXTS["make_each_layer"], EMPTY, line=repeated.lineno)
    copied = next(_copied(tree), None)
    if copied is not None:
        layer = ast.unparse(copied.args[0])
        return Cause(
            "layers_shared",
            TEXTS["copies_share_weights"].format(layer=layer),
            TEXTS["copy_deeply"].format(layer=layer),
            EMPTY,
            line=copied.lineno,
        )
    own = {name for name, node in found.items() if isinstance(node, ast.ClassDef)}
    for call, number in _applied(tree, own):
        says = TEXTS["layer_applied_again"].format(layer=ast.unparse(call.func), number=number)
        return Cause("layers_shared", says, TEXTS["make_each_layer"], EMPTY, line=call.lineno)
    return None


def _added(tree: ast.AST, made: set[str]) -> Iterator[ast.expr]:
    """Yield the layers that a loop appends to a list although they are made once, before the loop."""
    for loop in (node for node in ast.walk(tree) if isinstance(node, ast.For) and _is_range(node.iter)):
        inside = {*stored_in(loop)}
        for node in ast.walk(loop):
            match node:
                case ast.Call(func=ast.Attribute(attr="append"), args=[ast.Name(name) as layer]) if name in made - inside:
                    yield layer


A_LAYER = r"(?i)fc|linear|layer|norm|block|module|att|proj|mlp|(?<![a-z])ffn?(?![a-z])"
"""Pattern of the names of layers with weights."""


def _copied(tree: ast.AST) -> Iterator[ast.Call]:
    """Yield the shallow copies of one layer in the places of several: `self.q = copy.copy(fc)` and `self.k = copy.copy(fc)`, or a list of them."""
    assigned = [node.value for node in ast.walk(tree) if isinstance(node, ast.Assign) and any(map(is_of_self, node.targets))]
    texts = [ast.unparse(each) for each in assigned]
    lists = [each.elt for each in ast.walk(tree) if isinstance(each, ast.ListComp | ast.GeneratorExp)]
    for each in (*(value for value, text in zip(assigned, texts, strict=True) if texts.count(text) > 1), *lists):
        match each:
            case ast.Call(func=ast.Attribute(value=ast.Name("copy"), attr="copy"), args=[ast.Name(layer)]) if re.search(A_LAYER, layer):
                yield each


def _applied(tree: ast.AST, own: set[str]) -> Iterator[tuple[ast.Call, str]]:
    """Yield the calls of a single layer, of a class of the file, that a loop over the number of layers repeats, with the name of that number.

    own   names of the classes of the file
    """
    stored = [node for node in ast.walk(tree) if is_of_self(node) and not isinstance(node.ctx, ast.Load)]
    single = {
        target.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and last_name(node.value.func) in own
        for target in node.targets
        if is_of_self(target) and [each.attr for each in stored].count(target.attr) == 1 and _is_class(node.value.func)
    }
    for loop in (node for node in ast.walk(tree) if isinstance(node, ast.For) and _is_range(node.iter)):
        number = last_name(loop.iter.args[-1]) if isinstance(loop.iter, ast.Call) and len(loop.iter.args) == 1 else ""
        names = {*stored_in(loop.target)}
        match loop.body:
            case [ast.Assign([ast.Name(state)], ast.Call(func=layer, args=[ast.Name(given), *_]) as call)] if state == given:
                is_single = is_of_self(layer) and layer.attr in single
                if is_single and re.search(NUMBER_OF_LAYERS, number) and not names & read_in(call):
                    yield call, number


def _is_range(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) == "range"


def _lists_of(node: ast.AST) -> Iterator[ast.expr]:
    """Yield what a module makes a list of layers from, and a list times a number that an attribute holds."""
    if isinstance(node, ast.Call) and last_name(node.func) in LISTS:
        yield from (each.value if isinstance(each, ast.Starred) else each for each in node.args)
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp) and any(map(is_of_self, node.targets)):
        yield node.value


def _repeats(node: ast.expr, made: set[str]) -> bool:
    """Return True for a list with the same layer in all places.

    made   names of layers that are made once
    """

    def is_layer(each: ast.expr, *, is_called: bool) -> bool:
        return (is_called and isinstance(each, ast.Call) and _is_class(each.func)) or (isinstance(each, ast.Name) and each.id in made)

    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        lists = [each for each in (node.left, node.right) if isinstance(each, ast.List) and len(each.elts) == 1]
        return any(is_layer(each.elts[0], is_called=True) for each in lists)
    return isinstance(node, ast.ListComp | ast.GeneratorExp) and is_layer(node.elt, is_called=False)


def _is_class(node: ast.expr) -> bool:
    return last_name(node)[:1].isupper() and not re.search(STATELESS, last_name(node))
