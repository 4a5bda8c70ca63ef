"""Calls that raise however a program is called: names that a library lacks, values that no call is of, arguments that a function does not take."""

from __future__ import annotations

import ast
import difflib
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

from headway.practice.diagnosis.explain.failure import line_in
from headway.practice.diagnosis.explain.undefined import defined_names, nodes_of, running_lines, sets_no_others
from headway.practice.diagnosis.reading.subject import Subject, definitions, parsed
from headway.practice.diagnosis.reading.trees import constructor_in, is_of_self, last_name
from headway.practice.message import EMPTY, describe_error
from headway.practice.texts import Texts
from headway.practice.verdict import Cause

TEXTS = Texts("diagnosis")

LACKS_NAME = r"module '[\w.]+' has no attribute '\w+'"
"""Pattern of the message for a name that a module never had; for one that was removed, libraries say so."""
LIKENESS = 0.85
"""Likeness of two names from which one is a slip of the other; below, it may be a name of another version."""
ATTRIBUTES = {
    "requires_grad": "{array}.requires_grad_({arguments})",
    "shape": "{array}.shape[{arguments}]",
    "dtype": "{array}.dtype",
    "ndim": "{array}.ndim",
}
"""Attributes of arrays that are no methods, and what a call of them means."""
PLAIN_DECORATORS = r"(torch\.)?(no_grad|inference_mode)|(nn\.|linen\.)?compact|staticmethod"
"""Pattern of the decorators that keep the parameters of a function."""
FLAX = ("flax.linen.module", "Module")
TYPES = ("int", "float", "bool", "str")


@dataclass(frozen=True)
class File:
    """A learner's file, as far as its names have one meaning.

    once   functions and classes that are defined once and never assigned
    """

    subject: Subject
    nodes: Sequence[ast.AST]
    once: Mapping[str, ast.stmt]

    def value(self, name: str) -> Any:
        """Return the value of a name of the module; None for one that is assigned elsewhere as well."""
        return vars(self.subject.module).get(name) if self.subject.module is not None else None


@dataclass(frozen=True)
class Impossible:
    """An expression, or a field, that raises under every convention.

    written   what is meant instead of the node; empty if it is not known
    """

    cause: Cause
    node: ast.expr | ast.stmt
    written: str = ""


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


def _raising(subject: Subject, error: Exception, node: ast.expr, written: str) -> Impossible:
    place = TEXTS["at_line"].format(written=line_in(subject, node.lineno))
    says = TEXTS["call_raises"].format(error=describe_error(error), place=place, arrays=EMPTY)
    fix = TEXTS["write_instead"].format(written=written) if written else TEXTS["make_call_work"]
    return Impossible(Cause(f"raises_{type(error).__name__}", says, fix, EMPTY, line=node.lineno), node, written)


def _lacking(file: File, node: ast.expr) -> Iterator[Impossible]:
    """Yield a name that a module lacks and that is a slip of one that it has: `torch.trill`."""
    module = _module(file, node.value) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) else None
    if module is None or not isinstance(node, ast.Attribute) or any(_is_text(each, node.attr) for each in file.nodes):
        return
    try:
        getattr(module, node.attr)
    except AttributeError as error:
        near = like_in_module(module, node.attr)
        if near is not None and re.fullmatch(LACKS_NAME, str(error)):
            yield _raising(file.subject, error, node, f"{ast.unparse(node.value)}.{near}")


def _with_point(file: File, node: ast.expr) -> Iterator[Impossible]:
    """Yield a name of a module that is written with a point in place of its underscore: `np.zeros.like`."""
    function = node.value if isinstance(node, ast.Attribute) else None
    module = _module(file, function.value) if isinstance(function, ast.Attribute) else None
    if module is None or not isinstance(function, ast.Attribute) or not isinstance(node, ast.Attribute):
        return
    meant, value = f"{function.attr}_{node.attr}", getattr(module, function.attr, None)
    if callable(value) and not hasattr(value, node.attr) and callable(getattr(module, meant, None)):
        error = AttributeError(f"{ast.unparse(function)} has no attribute '{node.attr}'")
        yield _raising(file.subject, error, node, f"{ast.unparse(function.value)}.{meant}")


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


def _module(file: File, node: ast.expr) -> ModuleType | None:
    """Return the installed module that an expression names, which is not the learner's; None for another value."""
    if isinstance(node, ast.Attribute):
        outer = _module(file, node.value)
        value = vars(outer).get(node.attr) if outer is not None else None
    else:
        value = file.value(node.id) if isinstance(node, ast.Name) and not _is_stored(file, node.id) else None
    is_installed = type(value) is ModuleType and "site-packages" in (getattr(value, "__file__", None) or "")
    return value if is_installed else None


def _is_stored(file: File, name: str) -> bool:
    """Return True for a name that the file assigns or that a function takes."""
    return any(
        (isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load))
        or (isinstance(node, ast.arg) and node.arg == name)
        for node in file.nodes
    )


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
        yield _raising(file.subject, error, node, f"super().{near[0]}" if near else "")


def _of_attribute(file: File, node: ast.expr) -> Iterator[Impossible]:
    """Yield a call of an attribute of arrays that is no method: `table.requires_grad(False)`."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ATTRIBUTES):
        return
    name, root = node.func.attr, node.func.value
    while isinstance(root, ast.Attribute):
        root = root.value
    is_own = any(
        getattr(each, "name", None) == name or (isinstance(each, ast.Attribute) and each.attr == name and isinstance(each.ctx, ast.Store))
        for each in file.nodes
    )
    is_of_other = isinstance(root, ast.Name) and (file.value(root.id) is not None or (root.id == "self" and name != "requires_grad"))
    if is_own or is_of_other or not {*file.subject.imports} & {"torch", "numpy", "jax", "mlx"}:
        return
    array, arguments = ast.unparse(node.func.value), ", ".join(map(ast.unparse, node.args))
    written = ATTRIBUTES[name].format(array=array, arguments=arguments)
    yield _raising(file.subject, TypeError(f"{array}.{name} is no method"), node, written)


def _of_tensor(file: File, node: ast.expr) -> Iterator[Impossible]:
    """Yield a method of a tensor of PyTorch that is a slip of one that tensors have: `scores.mask_fill(mask, value)` for `scores = q @ k.mT`."""
    torch = _root_module(file, "torch")
    if torch is None or not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return
    name, array = node.func.attr, node.func.value
    if hasattr(torch.Tensor, name) or not _is_tensor(file, array):
        return
    known = [each for each in dir(torch.Tensor) if not each.startswith("_")]
    near = difflib.get_close_matches(name, known, 1, LIKENESS)
    if near:
        written = f"{ast.unparse(array)}.{near[0]}({', '.join(map(ast.unparse, [*node.args, *node.keywords]))})"
        yield _raising(file.subject, AttributeError(f"'Tensor' object has no attribute '{name}'"), node, written)


ONLY_METHODS = ("contiguous", "clone", "detach", "squeeze", "unsqueeze", "transpose", "permute", "flatten", "float", "softmax")
"""Methods of arrays, which no other kind of value has as an attribute with attributes of its own."""


def _of_uncalled_method(file: File, node: ast.expr) -> Iterator[Impossible]:
    """Yield an attribute of a method that is not called: `x.contiguous.view(2, -1)`."""
    match node:
        case ast.Attribute(ast.Attribute(array, method) as uncalled, name) if method in ONLY_METHODS and not name.startswith("_"):
            is_own = any(
                getattr(each, "name", None) == method
                or (isinstance(each, ast.Attribute) and each.attr == method and not isinstance(each.ctx, ast.Load))
                for each in file.nodes
            )
            if not is_own and _root_module(file, "torch") is not None and _module(file, array) is None:
                error = AttributeError(f"the method '{method}' has no attribute '{name}'")
                yield _raising(file.subject, error, node, f"{ast.unparse(uncalled)}().{name}")


def _is_tensor(file: File, node: ast.expr) -> bool:
    """Return True for a call of a function of PyTorch, a product by `@`, what arithmetic makes of these, and a name that the file gives no other value."""
    match node:
        case ast.Call(ast.Attribute(owner, name)):
            module = _module(file, owner)
            return module is not None and (module.__name__, name) in OF_SCORES
        case ast.BinOp(left, op, right):
            return isinstance(op, ast.MatMult) or (
                isinstance(op, ast.Mult | ast.Div) and (_is_tensor(file, left) or _is_tensor(file, right))
            )
        case ast.Name(name):
            stores = [each for each in file.nodes if isinstance(each, ast.Name) and each.id == name and not isinstance(each.ctx, ast.Load)]
            assigned = [
                each for each in file.nodes if isinstance(each, ast.Assign) and len(each.targets) == 1 and each.targets[0] in stores
            ]
            is_taken = any(isinstance(each, ast.arg) and each.arg == name for each in file.nodes)
            others = [each for each in assigned if not _reads(each.value, name)]
            return not is_taken and len(assigned) == len(stores) and bool(others) and all(_is_tensor(file, each.value) for each in others)
    return False


def _reads(node: ast.expr, name: str) -> bool:
    return any(isinstance(each, ast.Name) and each.id == name for each in ast.walk(node))


OF_SCORES = {("torch", name) for name in ("matmul", "bmm", "einsum", "softmax", "tril", "triu", "ones", "zeros", "exp", "sqrt", "cat")}
"""Functions of PyTorch that return a tensor, whatever they are given."""


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


MADE_BOOLEAN = r"\.bool\(\)$|\.(to|type)\(torch\.bool\)$"
"""Pattern of a tensor of PyTorch that is made one of booleans."""


def _of_booleans(file: File, node: ast.expr) -> Iterator[Impossible]:
    """Yield a difference with a tensor of booleans, which PyTorch has none of: `1 - triu(x).bool()`."""
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub)) or _root_module(file, "torch") is None:
        return
    if re.search(MADE_BOOLEAN, ast.unparse(node.right)):
        written = f"~{ast.unparse(node.right)}" if ast.unparse(node.left) in ("1", "1.0", "True") else ""
        yield _raising(file.subject, RuntimeError("Subtraction, the `-` operator, with a bool tensor is not supported"), node, written)


def _root_module(file: File, name: str) -> ModuleType | None:
    """Return an installed module that the file imports under its own name, or None."""
    module = _module(file, ast.Name(name, ast.Load()))
    return module if module is not None and module.__name__ == name else None


OF_TENSORS = ("cos", "sin", "tan", "exp", "log", "sqrt", "tanh", "sigmoid", "relu", "abs", "square")
"""Functions of PyTorch that take a tensor alone."""


def _of_number(file: File, node: ast.expr) -> Iterator[Impossible]:
    """Yield a function of tensors that is called with a Python number: `torch.cos(position * 0.01)` in a loop over a range."""
    match node:
        case ast.Call(ast.Attribute(ast.Name("torch"), name), [number]) if name in OF_TENSORS and _root_module(file, "torch") is not None:
            names = {each.id for each in ast.walk(number) if isinstance(each, ast.Name)}
            if names and names <= _counters(file) and all(isinstance(each, OF_NUMBERS) for each in ast.walk(number)):
                error = TypeError(f"{name}(): argument 'input' must be Tensor, not float")
                written = f"math.{name}({ast.unparse(number)})" if name not in ("sigmoid", "relu", "abs", "square") else ""
                yield _raising(file.subject, error, node, written)


OF_NUMBERS = (ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.Name, ast.Constant, ast.expr_context)


def _counters(file: File) -> set[str]:
    """Return the names that the file assigns in loops over ranges alone."""
    loops = [node for node in file.nodes if isinstance(node, ast.For) and isinstance(node.target, ast.Name)]
    counting = [each.target for each in loops if isinstance(each.iter, ast.Call) and ast.unparse(each.iter.func) == "range"]
    stored = [each for each in file.nodes if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load)]
    taken = {each.arg for each in file.nodes if isinstance(each, ast.arg)}
    others = {each.id for each in stored if each not in counting} | taken
    return {each.id for each in counting if isinstance(each, ast.Name)} - others


def _of_function(file: File, node: ast.expr) -> Iterator[Impossible]:
    """Yield a computation with a function of a library in place of the array that it makes: `v[key] = np.zeros_like`, then `0.9 * v[key]`."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult | ast.Add | ast.Sub):
        return
    for operand in (node.left, node.right):
        made = next(_uncalled(file, ast.unparse(operand)), None) if isinstance(operand, ast.Subscript) else None
        if made is not None and _module(file, made.value) is not None:
            function = ast.unparse(made)
            error = TypeError(f"unsupported operand type for {type(node.op).__name__}: {function} is not called")
            yield _raising(file.subject, error, made, f"{function}(…)")
            return


def _uncalled(file: File, target: str) -> Iterator[ast.Attribute]:
    """Yield the functions that make an array like another and that the file assigns to a target without a call."""
    for node in file.nodes:
        match node:
            case ast.Assign(targets, ast.Attribute(attr="zeros_like" | "ones_like" | "empty_like") as function):
                if any(ast.unparse(each) == target for each in targets):
                    yield function


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
    module = _module(file, function.value) if isinstance(function, ast.Attribute) else None
    is_of_arrays = module is not None and module.__name__ in OF_LIBRARIES
    is_exchanged = is_of_arrays and (
        (name in OF_TEXT_FIRST and kinds[1][1] and not any(kinds[0])) or (name in OF_ARRAY_FIRST and kinds[0][0] and not any(kinds[1]))
    )
    is_exchanged |= name == "masked_fill" and module is None and kinds[0][0] and not any(kinds[1]) and not rest
    is_exchanged |= name in OF_PATTERNS and _is_of_einops(file, function) and kinds[0][1] and not any(kinds[1])
    if is_exchanged:
        keywords = [ast.unparse(each) for each in node.keywords]
        written = f"{ast.unparse(function)}({', '.join([*map(ast.unparse, (second, first, *rest)), *keywords])})"
        yield _raising(file.subject, TypeError(f"{name}() got its first two arguments in the other order"), node, written)


def _is_number(node: ast.expr) -> bool:
    """Return True for a number as it is written, with or without a sign."""
    value = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(value, ast.Constant) and isinstance(value.value, int | float) and not isinstance(value.value, bool)


def _is_a_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_of_einops(file: File, node: ast.expr) -> bool:
    """Return True for a function of einops, under its own name or that of the package."""
    if isinstance(node, ast.Attribute):
        module = _module(file, node.value)
        return module is not None and module.__name__ == "einops"
    value = file.value(node.id) if isinstance(node, ast.Name) and not _is_stored(file, node.id) else None
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
    yield _raising(file.subject, error, value, meant if meant.endswith(f"({value.id})") else "")


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
                module = _module(file, function.value)
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
    _of_attribute,
    _of_tensor,
    _of_uncalled_method,
    _with_other_arguments,
    _of_booleans,
    _of_number,
    _of_function,
    _in_other_order,
    _of_size,
)
