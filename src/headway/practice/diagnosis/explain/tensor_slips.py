"""Slips in the use of tensors that raise in every call: methods that arrays lack, functions that are not called, values of another kind."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterator

from headway.practice.diagnosis.explain.raising import LIKENESS, File, Impossible, module_of, raising, root_module

ATTRIBUTES = {
    "requires_grad": "{array}.requires_grad_({arguments})",
    "shape": "{array}.shape[{arguments}]",
    "dtype": "{array}.dtype",
    "ndim": "{array}.ndim",
}
"""Attributes of arrays that are no methods, and what a call of them means."""


def _of_attribute(file: File, node: ast.expr) -> Iterator[Impossible]:
    """Yield a call of an attribute of arrays that is no method: `table.requires_grad(False)`."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ATTRIBUTES):
        return
    name, root = node.func.attr, node.func.value
    while isinstance(root, ast.Attribute):
        root = root.value
    is_of_other = isinstance(root, ast.Name) and (file.value(root.id) is not None or (root.id == "self" and name != "requires_grad"))
    if _is_defined(file, name) or is_of_other or not {*file.subject.imports} & {"torch", "numpy", "jax", "mlx"}:
        return
    array, arguments = ast.unparse(node.func.value), ", ".join(map(ast.unparse, node.args))
    written = ATTRIBUTES[name].format(array=array, arguments=arguments)
    yield raising(file.subject, TypeError(f"{array}.{name} is no method"), node, written)


def _of_tensor(file: File, node: ast.expr) -> Iterator[Impossible]:
    """Yield a method of a tensor of PyTorch that is a slip of one that tensors have: `scores.mask_fill(mask, value)` for `scores = q @ k.mT`."""
    torch = root_module(file, "torch")
    if torch is None or not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return
    name, array = node.func.attr, node.func.value
    if hasattr(torch.Tensor, name) or not _is_tensor(file, array):
        return
    known = [each for each in dir(torch.Tensor) if not each.startswith("_")]
    near = difflib.get_close_matches(name, known, 1, LIKENESS)
    if near:
        written = f"{ast.unparse(array)}.{near[0]}({', '.join(map(ast.unparse, [*node.args, *node.keywords]))})"
        yield raising(file.subject, AttributeError(f"'Tensor' object has no attribute '{name}'"), node, written)


ONLY_METHODS = ("contiguous", "clone", "detach", "squeeze", "unsqueeze", "transpose", "permute", "flatten", "float", "softmax")
"""Methods of arrays, which no other kind of value has as an attribute with attributes of its own."""


def _of_uncalled_method(file: File, node: ast.expr) -> Iterator[Impossible]:
    """Yield an attribute of a method that is not called: `x.contiguous.view(2, -1)`."""
    match node:
        case ast.Attribute(ast.Attribute(array, method) as uncalled, name) if method in ONLY_METHODS and not name.startswith("_"):
            if not _is_defined(file, method) and root_module(file, "torch") is not None and module_of(file, array) is None:
                error = AttributeError(f"the method '{method}' has no attribute '{name}'")
                yield raising(file.subject, error, node, f"{ast.unparse(uncalled)}().{name}")


def _is_defined(file: File, name: str) -> bool:
    """Return True if the file defines a function or class of this name, or assigns an attribute of it."""
    return any(
        getattr(each, "name", None) == name
        or (isinstance(each, ast.Attribute) and each.attr == name and not isinstance(each.ctx, ast.Load))
        for each in file.nodes
    )


def _is_tensor(file: File, node: ast.expr) -> bool:
    """Return True for a call of a function of PyTorch, a product by `@`, what arithmetic makes of these, and a name that the file gives no other value."""
    match node:
        case ast.Call(ast.Attribute(owner, name)):
            module = module_of(file, owner)
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

MADE_BOOLEAN = r"\.bool\(\)$|\.(to|type)\(torch\.bool\)$"
"""Pattern of a tensor of PyTorch that is made one of booleans."""


def _of_booleans(file: File, node: ast.expr) -> Iterator[Impossible]:
    """Yield a difference with a tensor of booleans, which PyTorch has none of: `1 - triu(x).bool()`."""
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub)) or root_module(file, "torch") is None:
        return
    if re.search(MADE_BOOLEAN, ast.unparse(node.right)):
        written = f"~{ast.unparse(node.right)}" if ast.unparse(node.left) in ("1", "1.0", "True") else ""
        yield raising(file.subject, RuntimeError("Subtraction, the `-` operator, with a bool tensor is not supported"), node, written)


OF_TENSORS = ("cos", "sin", "tan", "exp", "log", "sqrt", "tanh", "sigmoid", "relu", "abs", "square")
"""Functions of PyTorch that take a tensor alone."""


def _of_number(file: File, node: ast.expr) -> Iterator[Impossible]:
    """Yield a function of tensors that is called with a Python number: `torch.cos(position * 0.01)` in a loop over a range."""
    match node:
        case ast.Call(ast.Attribute(ast.Name("torch"), name), [number]) if name in OF_TENSORS and root_module(file, "torch") is not None:
            names = {each.id for each in ast.walk(number) if isinstance(each, ast.Name)}
            if names and names <= _counters(file) and all(isinstance(each, OF_NUMBERS) for each in ast.walk(number)):
                error = TypeError(f"{name}(): argument 'input' must be Tensor, not float")
                written = f"math.{name}({ast.unparse(number)})" if name not in ("sigmoid", "relu", "abs", "square") else ""
                yield raising(file.subject, error, node, written)


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
        if made is not None and module_of(file, made.value) is not None:
            function = ast.unparse(made)
            error = TypeError(f"unsupported operand type for {type(node.op).__name__}: {function} is not called")
            yield raising(file.subject, error, made, f"{function}(…)")
            return


def _uncalled(file: File, target: str) -> Iterator[ast.Attribute]:
    """Yield the functions that make an array like another and that the file assigns to a target without a call."""
    for node in file.nodes:
        match node:
            case ast.Assign(targets, ast.Attribute(attr="zeros_like" | "ones_like" | "empty_like") as function):
                if any(ast.unparse(each) == target for each in targets):
                    yield function


OF_ARRAYS = (
    _of_attribute,
    _of_tensor,
    _of_uncalled_method,
    _of_booleans,
    _of_number,
    _of_function,
)
"""Functions that yield these slips."""
