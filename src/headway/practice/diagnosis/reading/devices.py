"""Files for one processor in place of CUDA and Metal devices, and of several devices of JAX, which the child process cannot use."""

from __future__ import annotations

import ast
import re


def on_processor(tree: ast.Module) -> ast.Module:
    """Return a file's tree with the processor in place of other devices. The tree is changed."""
    return ast.fix_missing_locations(_Processor().visit(tree)) if names_device(tree) else tree


def names_device(tree: ast.AST) -> bool:
    """Return True if a tree has a device or a method of CUDA or Metal, or a name that may be one, or shards an array over devices of JAX."""
    return re.search(rf"cuda|\bmps\b|{SHARDING}", ast.dump(tree)) is not None


SHARDING = r"with_(logical_|sharding_)?(constraint|partitioning)"
"""Pattern of the functions of JAX and Flax that return their first argument, an array or an initializer, with its placement on devices."""


class _Processor(ast.NodeTransformer):
    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        is_device = isinstance(node.value, str) and re.fullmatch(r"cuda(:\d+)?|mps(:0)?", node.value)
        return ast.copy_location(ast.Constant("cpu"), node) if is_device else node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        first = node.values[0] if node.values else None
        is_device = isinstance(first, ast.Constant) and first.value == "cuda:"
        return ast.copy_location(ast.Constant("cpu"), node) if is_device else node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if node.args and re.fullmatch(SHARDING, name):
            return node.args[0]
        is_move = isinstance(node.func, ast.Attribute) and node.func.attr == "cuda" and not isinstance(node.func.value, ast.Constant)
        return node.func.value if is_move and isinstance(node.func, ast.Attribute) else node
