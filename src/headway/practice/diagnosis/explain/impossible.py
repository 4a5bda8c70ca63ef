"""Calls that raise however a program is called: names that a library lacks, values that no call is of, arguments that a function does not take."""

from __future__ import annotations

import ast
import difflib
import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any

from headway.practice.diagnosis.explain.raising import LIKENESS, File, Impossible, module_of, raising
from headway.practice.diagnosis.explain.tensor_slips import OF_ARRAYS
from headway.practice.diagnosis.explain.undefined import defined_names, nodes_of, running_lines, sets_no_others
from headway.practice.diagnosis.reading.subject import Subject, definitions, parsed
from headway.practice.diagnosis.reading.trees import constructor_in, is_of_self, last_name
from headway.practice.message import EMPTY
from headway.practice.texts import Texts
from headway.practice.verdict import Cause

TEXTS = Texts("diagnosis")

LACKS_NAME = r"module '[\w.]+' has no attribute '\w+'"
"""Pattern of the message for a name that a module never had; for one that was removed, libraries say so."""
PLAIN_DECORATORS = r"(torch\.)?(no_grad|inference_mode)|(nn\.|linen\.)?compact|staticmethod"
"""Pattern of the decorators that keep the parameters of a function."""
FLAX = ("flax.linen.module", "Module")
TYPES = ("int", "float", "bool", "str")


def impossible(subject: Subject) -> Cause | None:
    """Return the cause of the first expression of a subject that raises under every convention, or None."""
    return next((each.cause for each in impossibles(subject)), None)


def impossibles(subject: Subject) -> list[Impossible]:
    """Return the expressions of a subject that raise under every convention, in the order of their lines."""
    return subject.once("impossibles", lambda: _impossibles(replace(subject, value=getattr(subject.value, "written", subject.value))))


def _impossibles(subject: Subject) -> list[Impossible]:
    nodes, found = nodes_of(subject), definitions(parsed(subject.text))
    tree = found.get(subject.name)
    if nodes is None or tree is None:
        return []
    names = [name for node in nodes for name in defined_names(node)] + [node.arg for node in nodes if isinstance(node, ast.arg)]
    file = File(subject, nodes, {name: node for name, node in found.items() if names.count(name) == 1})
    lines = running_lines(subject)
    tried = {id(inner) for node in ast.walk(tree) if isinstance(node, ast.Try) for inner in ast.walk(node)}
    running = [node for node in ast.walk(tree) if isinstance(node, ast.expr) and node.lineno in lines and id(node) not in tried]
    in_calls = (each for node in running for way in WAYS for each in way(file, node))
    return sorted([*_unannotated(file, tree), *_misnamed_constructor(file, tree), *in_calls], key=lambda each: each.cause.line or 0)


def raises_in_call(subject: Subject) -> Cause | None:
    """Return the cause of the first expression that raises in every call and of which it is known what is meant; None if a call may pass without it."""
    tree = definitions(parsed(subject.text)).get(subject.name)
    if isinstance(tree, ast.ClassDef):
        bodies = [each.body for each in tree.body if isinstance(each, ast.FunctionDef) and each.name in ("__init__", "forward", "__call__")]
    else:
        bodies = [tree.body] if isinstance(tree, ast.FunctionDef) else []
    always = [statement for body in bodies for statement in _always_run(body)]
    known = (each for each in impossibles(subject) if each.written)
    return next((each.cause for each in known if any(each.node in ast.walk(statement) for statement in always)), None)


def _always_run(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a body that run as a whole whenever it runs."""
    for statement in body:
        inner = [*ast.walk(statement)]
        if isinstance(statement, PLAIN_STATEMENTS) and not any(isinstance(each, IN_PART) for each in inner):
            yield statement
        if any(isinstance(each, ast.Return | ast.Yield | ast.YieldFrom | ast.Raise) for each in inner):
            return


PLAIN_STATEMENTS = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return)
IN_PART = (ast.IfExp, ast.BoolOp, ast.Lambda, ast.ListComp, ast.GeneratorExp, ast.DictComp, ast.SetComp)
"""Statements without others in them, and expressions of which a part may not run."""


def _lacking(file: File, node: ast.expr) -> Iterator[Impossible]:
    """Yield a name that a module lacks and that is a slip of one that it has: `torch.trill`."""
    module = module_of(file, node.value) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) else None
    if module is None or not isinstance(node, ast.Attribute) or any(_is_text(each, node.attr) for each in file.nodes):
        return
    try:
        getattr(module, node.attr)
    except AttributeError as error:
        near = like_in_module(module, node.attr)
        if near is not None and re.fullmatch(LACKS_NAME, str(error)):
            yield raising(file.subject, error, node, f"{ast.unparse(node.value)}.{near}")


def _with_point(file: File, node: ast.expr) -> Iterator[Impossible]:
    """Yield a name of a module that is written with a point in place of its underscore: `np.zeros.like`."""
    function = node.value if isinstance(node, ast.Attribute) else None
    module = module_of(file, function.value) if isinstance(function, ast.Attribute) else None
    if module is None or not isinstance(function, ast.Attribute) or not isinstance(node, ast.Attribute):
        return
    meant, value = f"{function.attr}_{node.attr}", getattr(module, function.attr, None)
    if callable(value) and not hasattr(value, node.attr) and callable(getattr(module, meant, None)):
        error = AttributeError(f"{ast.unparse(function)} has no attribute '{node.attr}'")
        yield raising(file.subject, error, node, f"{ast.unparse(function.value)}.{meant}")


def like_in_module(module: ModuleType, name: str) -> str | None:
    """Return the public name of a module that another name is a slip of; None if there is none."""
    known = {
        each.lower(): each for each in dir(module) if not each.startswith("_") and not isinstance(getattr(module, each, None), ModuleType)
    }
    near = difflib.get_close_matches(name.lower(), known, 1, LIKENESS)
    return known[near[0]] if near else None


def _is_text(node: ast.AST, text: str) -> bool:
    """Return True for a text in the file, such as that of `hasattr(torch, "compile")`."""
    return isinstance(node, ast.Constant) and node.value == text


def _absent_in_base(file: File, node: ast.expr) -> Iterator[Impossible]:
    """Yield an attribute of `super()` that no base class has: `super().__init()`."""
    owner = file.subject.value
    if not (isinstance(node, ast.Attribute) and ast.unparse(node.value) == "super()" and inspect.isclass(owner)):
        return
    if owner.__subclasses__() or not all(sets_no_others(each, file.subject) for each in owner.__mro__):
        return
    if not any(hasattr(each, node.attr) for each in owner.__mro__[1:]):
        near = difflib.get_close_matches(node.attr, dir(owner.__mro__[1]), 1)
        error = AttributeError(f"'super' object has no attribute '{node.attr}'")
        yield raising(file.subject, error, node, f"super().{near[0]}" if near else "")


def _with_other_arguments(file: File, node: ast.expr) -> Iterator[Impossible]:
    """Yield a call of the file's own function, class or layer with arguments that it does not take."""
    if not isinstance(node, ast.Call) or any(isinstance(each, ast.Starred) for each in node.args):
        return
    called = _called(file, node.func)
    if called is None or any(each.arg is None for each in node.keywords):
        return
    name, function, own = called
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    given = [None] * (len(node.args) + own)
    try:
        signature.bind(*given, **dict.fromkeys(str(each.arg) for each in node.keywords))
    except TypeError:
        taken = signature.replace(parameters=[*signature.parameters.values()][own:], return_annotation=signature.empty)
        taken = taken.replace(parameters=[each.replace(annotation=each.empty) for each in taken.parameters.values()])
        says = TEXTS["takes_other_arguments"].format(call=ast.unparse(node), name=name, taken=str(taken))
        fix = TEXTS["pass_what_it_takes"].format(name=name)
        yield Impossible(Cause("raises_TypeError", says, fix, EMPTY, line=node.lineno), node)


OF_TEXT_FIRST = ("einsum",)
"""Functions of libraries of arrays that take a text and then arrays."""

OF_ARRAY_FIRST = (
    *("softmax", "log_softmax", "sum", "mean", "cumsum", "argmax", "argsort", "sort", "topk", "cat", "concatenate", "stack"),
    *("chunk", "split", "unsqueeze", "squeeze", "expand_dims"),
)
"""Functions of libraries of arrays that take an array, or several, and then an axis or a number."""

OF_PATTERNS = ("rearrange", "reduce", "repeat")
"""Functions of einops, which take an array and then a text."""

OF_LIBRARIES = ("torch", "torch.nn.functional", "numpy", "jax.numpy", "jax.nn", "mlx.core")


def _in_other_order(file: File, node: ast.expr) -> Iterator[Impossible]:
    """Yield a call whose first two arguments are exchanged, of which one is a text or a number: `torch.softmax(-1, scores)`."""
    match node:
        case ast.Call(func=function, args=[first, second, *rest]) if not any(isinstance(each, ast.Starred) for each in node.args):
            name = last_name(function)
        case _:
            return
    kinds = [(_is_number(each), _is_a_text(each)) for each in (first, second)]
    module = module_of(file, function.value) if isinstance(function, ast.Attribute) else None
    is_of_arrays = module is not None and module.__name__ in OF_LIBRARIES
    is_exchanged = is_of_arrays and (
        (name in OF_TEXT_FIRST and kinds[1][1] and not any(kinds[0])) or (name in OF_ARRAY_FIRST and kinds[0][0] and not any(kinds[1]))
    )
    is_exchanged |= name == "masked_fill" and module is None and kinds[0][0] and not any(kinds[1]) and not rest
    is_exchanged |= name in OF_PATTERNS and _is_of_einops(file, function) and kinds[0][1] and not any(kinds[1])
    if is_exchanged:
        keywords = [ast.unparse(each) for each in node.keywords]
        written = f"{ast.unparse(function)}({', '.join([*map(ast.unparse, (second, first, *rest)), *keywords])})"
        yield raising(file.subject, TypeError(f"{name}() got its first two arguments in the other order"), node, written)


def _is_number(node: ast.expr) -> bool:
    """Return True for a number as it is written, with or without a sign."""
    value = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(value, ast.Constant) and isinstance(value.value, int | float) and not isinstance(value.value, bool)


def _is_a_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_of_einops(file: File, node: ast.expr) -> bool:
    """Return True for a function of einops, under its own name or that of the package."""
    if isinstance(node, ast.Attribute):
        module = module_of(file, node.value)
        return module is not None and module.__name__ == "einops"
    value = file.value(node.id) if isinstance(node, ast.Name) and node.id not in file.stored else None
    return getattr(value, "__module__", "").partition(".")[0] == "einops"


def _of_size(file: File, node: ast.expr) -> Iterator[Impossible]:
    """Yield a call of an attribute that holds a size of the constructor: `self.norm = width`, then `self.norm(x)`."""
    tree = file.once.get(file.subject.name)
    if not isinstance(node, ast.Call) or not is_of_self(node.func) or not isinstance(tree, ast.ClassDef):
        return
    constructor = constructor_in(tree)
    stores = [each for each in file.nodes if isinstance(each, ast.Attribute) and not isinstance(each.ctx, ast.Load)]
    held = dict(_assigned(constructor)) if constructor is not None else {}
    value = held.get(node.func.attr)
    if constructor is None or not isinstance(value, ast.Name) or [each.attr for each in stores].count(node.func.attr) != 1:
        return
    if value.id not in {each.arg for each in constructor.args.args} or not _is_size(file, value.id, constructor):
        return
    alike = {
        ast.unparse(each)
        for name, each in held.items()
        if name != node.func.attr and _without_number(name) == _without_number(node.func.attr)
    }
    meant = next(iter(alike)) if len(alike) == 1 else ""
    error = TypeError(f"self.{node.func.attr} is {value.id}, a number, which is called in `{ast.unparse(node)}`")
    yield raising(file.subject, error, value, meant if meant.endswith(f"({value.id})") else "")


def _assigned(constructor: ast.FunctionDef) -> Iterator[tuple[str, ast.expr]]:
    """Yield the attributes of self that a constructor assigns, with their values."""
    assignments = [node for node in ast.walk(constructor) if isinstance(node, ast.Assign)]
    for node in assignments:
        for target in node.targets:
            pairs = [(target, node.value)]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple) and len(target.elts) == len(node.value.elts):
                pairs = [*zip(target.elts, node.value.elts, strict=True)]
            yield from ((each.attr, value) for each, value in pairs if is_of_self(each))


def _without_number(name: str) -> str:
    return re.sub(r"_?\d+$", "", name)


SIZED = ("Linear", "LayerNorm", "Embedding", "RMSNorm")
"""Layers of PyTorch whose positional arguments are sizes."""


def _is_size(file: File, name: str, constructor: ast.FunctionDef) -> bool:
    """Return True for a parameter of a constructor that it gives a layer of PyTorch as a size, or multiplies and divides, and does not assign."""
    if any(isinstance(each, ast.Name) and each.id == name and not isinstance(each.ctx, ast.Load) for each in ast.walk(constructor)):
        return False
    for node in ast.walk(constructor):
        match node:
            case ast.Call(func=ast.Attribute(attr=layer) as function, args=sizes) if layer in SIZED:
                module = module_of(file, function.value)
                if module is not None and module.__name__ == "torch.nn" and any(ast.unparse(each) == name for each in sizes):
                    return True
            case ast.BinOp(left=left, op=ast.Mult() | ast.FloorDiv() | ast.Mod(), right=right):
                if name in (ast.unparse(left), ast.unparse(right)):
                    return True
    return False


def _called(file: File, node: ast.expr) -> tuple[str, Callable[..., Any], int] | None:
    """Return the name and the function that a call is of, and the number of operands that Python adds; None if it is not sure."""
    if isinstance(node, ast.Name):
        value = file.value(node.id) if node.id in file.once else None
        if inspect.isclass(value):
            return _method(file, value, "__init__", node.id)
        is_plain = inspect.isfunction(value) and _is_plain(file.once[node.id])
        return (node.id, value, 0) if is_plain and callable(value) else None
    owner = _class_of(file, node)
    if owner is None:
        return None
    return _method(file, owner, "forward" if _is_torch(owner) else "__call__", owner.__name__)


def _method(file: File, owner: type, name: str, shown: str) -> tuple[str, Callable[..., Any], int] | None:
    """Return a method that a class of the file defines itself, with the number of operands that Python adds."""
    tree, function = file.once.get(owner.__name__), vars(owner).get(name)
    code = getattr(inspect.unwrap(function) if callable(function) else None, "__code__", None)
    if getattr(code, "co_filename", None) != getattr(file.subject.module, "__file__", None):  # another is in its place
        return None
    if not isinstance(tree, ast.ClassDef) or tree.decorator_list or tree.keywords or not inspect.isfunction(function):
        return None
    found = [each for each in tree.body if isinstance(each, ast.FunctionDef) and each.name == name]
    if len(found) != 1 or not _is_plain(found[0]) or _calls_otherwise(owner):
        return None
    return (shown if name == "__init__" else f"{shown}.{name}"), function, 1


def _calls_otherwise(owner: type) -> bool:
    """Return True for a class of the learner's that changes how instances are made, or how a module of PyTorch is called."""
    own = [each for each in (*owner.__mro__, *inspect.getmro(type(owner))) if each.__module__ == owner.__module__]
    changed = ("__new__", "__call__") if _is_torch(owner) else ("__new__",)
    return type(owner) in own or any(name in vars(each) for each in own for name in changed)


def _is_plain(node: ast.stmt) -> bool:
    """Return True for a function without decorators that may change its parameters."""
    return isinstance(node, ast.FunctionDef) and all(re.match(PLAIN_DECORATORS, ast.unparse(each)) for each in node.decorator_list)


def _is_torch(owner: type) -> bool:
    return any(each.__module__ == "torch.nn.modules.module" for each in owner.__mro__)


def _class_of(file: File, node: ast.expr) -> type | None:
    """Return the class of the file that an attribute of `self` holds an instance of; None if it may be another."""
    tree = file.once.get(file.subject.name)
    if not is_of_self(node) or tree is None or not inspect.isclass(file.subject.value) or "__setattr__" in vars(file.subject.value):
        return None
    stores = [
        each for each in file.nodes if isinstance(each, ast.Attribute) and each.attr == node.attr and not isinstance(each.ctx, ast.Load)
    ]
    assigned = [each for each in ast.walk(tree) if isinstance(each, ast.Assign) and len(each.targets) == 1]
    values = [each.value for each in assigned if is_of_self(each.targets[0]) and each.targets[0] in stores]
    inside = {id(each) for each in ast.walk(tree)}
    if not values or len(values) != len([each for each in stores if id(each) in inside or not is_of_self(each)]):
        return None
    names = {each.func.id if isinstance(each, ast.Call) and isinstance(each.func, ast.Name) else "" for each in values}
    name = names.pop() if len(names) == 1 else ""
    owner = file.value(name) if name in file.once else None
    return owner if inspect.isclass(owner) else None


def _unannotated(file: File, tree: ast.stmt) -> Iterator[Impossible]:
    """Yield the fields of a Flax module that are written as values: `width = int`."""
    owner = file.subject.value
    if not isinstance(tree, ast.ClassDef) or not any((each.__module__, each.__name__) == FLAX for each in getattr(owner, "__mro__", ())):
        return
    read = {each.attr for each in ast.walk(tree) if is_of_self(each)}
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Name) and statement.value.id in TYPES:
            name = ast.unparse(statement.targets[0])
            if name in read:
                says = TEXTS["field_without_annotation"].format(written=ast.unparse(statement), name=name)
                written = f"{name}: {statement.value.id}"
                fix = TEXTS["write_instead"].format(written=written)
                yield Impossible(Cause("raises_TypeError", says, fix, EMPTY, line=statement.lineno), statement, written)


MISNAMED = r"_*(init|inti|int|iint|innit|inits)_*"
"""Pattern of the names that are slips of that of the constructor."""


def _misnamed_constructor(file: File, tree: ast.stmt) -> Iterator[Impossible]:
    """Yield a method of a class without a constructor that calls the base class's and whose name is a slip: `def __init(self, width)`."""
    owner = file.subject.value
    if (
        not isinstance(tree, ast.ClassDef)
        or not inspect.isclass(owner)
        or not all(sets_no_others(each, file.subject) for each in owner.__mro__)
    ):
        return
    methods = [each for each in tree.body if isinstance(each, ast.FunctionDef)]
    if any(each.name == "__init__" for each in methods):
        return
    called = {each.func.attr for each in file.nodes if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute)}
    for each in methods:
        calls_base = any(ast.unparse(node) == "super().__init__()" for node in ast.walk(each))
        if calls_base and re.fullmatch(MISNAMED, each.name) and each.name not in called:
            says = TEXTS["misnamed_constructor"].format(name=each.name)
            fix = TEXTS["write_instead"].format(written="def __init__")
            yield Impossible(Cause("raises_TypeError", says, fix, EMPTY, line=each.lineno), each)


WAYS = (
    _lacking,
    _with_point,
    _absent_in_base,
    *OF_ARRAYS,
    _with_other_arguments,
    _in_other_order,
    _of_size,
)
