"""Files for one processor in place of CUDA and Metal devices, and of several devices of JAX, which the child process cannot use; and for one precision."""

from __future__ import annotations

import ast
import contextlib
import re
import sys
from collections.abc import Iterator
from typing import Any

from headway.practice.diagnosis.reading.trees import last_name


def on_processor(tree: ast.Module, *, is_set: bool | None = None) -> ast.Module:
    """Return a file's tree with the processor in place of other devices, and without casts to half precision. The tree is changed.

    is_set   True if settings of the file give the dtype of its weights, so that casts are removed; None to look in the tree
    """
    if is_set or (is_set is None and sets_dtype(tree)):
        tree = _SinglePrecision().visit(tree)
    return ast.fix_missing_locations(_Processor().visit(tree)) if names_device(tree) else tree


def sets_dtype(tree: ast.AST) -> bool:
    """Return True if a tree casts to half precision and takes the dtype of its weights from settings, or computes in another dtype than that of its weights.

    For example `nn.Linear(…, dtype=config.dtype)` and `nn.Dense(…, param_dtype=jnp.float32, dtype=jnp.bfloat16)`: outputs can be compared in float32.
    """
    dumped = ast.dump(tree)
    return re.search(HALF, dumped) is not None and re.search(rf"{DTYPE_OF_SETTINGS}|arg='param_dtype'", dumped) is not None


HALF = r"attr='b?float16'"
OF_SETTINGS = r"Name\(id='(\w+_)?(config|cfg|conf|args)'[^()]*\(\)\)"
DTYPE_OF_SETTINGS = rf"arg='dtype', value=(Attribute\(value={OF_SETTINGS}, attr='\w*dtype'|Subscript\(value={OF_SETTINGS}, slice=Constant\(value='\w*dtype')"
"""Patterns of the dumped tree of a dtype of half precision, and of a dtype that settings give."""


def names_device(tree: ast.AST) -> bool:
    """Return True if a tree has a device or a method of CUDA or Metal, or a name that may be one, or shards an array over devices of JAX."""
    return re.search(rf"cuda|\bmps\b|{SHARDING}", ast.dump(tree)) is not None


SHARDING = r"with_(logical_|sharding_)?(constraint|partitioning)"
"""Pattern of the functions of JAX and Flax that return their first argument, an array or an initializer, with its placement on devices."""


RANGES = "nvtx"
"""Name of torch's module that marks ranges of a program for CUDA's profiler."""


def mark_no_ranges() -> None:
    """Let the functions that mark ranges for CUDA's profiler do nothing, also in a torch without CUDA, where they raise an exception."""
    torch = sys.modules.get("torch")
    if torch is not None:
        ranges: Any = torch.cuda.nvtx
        ranges.range = _no_range
        ranges.range_push = ranges.range_pop = ranges.range_start = ranges.range_end = ranges.mark = _no_mark


@contextlib.contextmanager
def _no_range(*args: Any, **keywords: Any) -> Iterator[None]:
    yield


def _no_mark(*args: Any, **keywords: Any) -> int:
    return 0


OF_TORCH = r"torch\.(cuda|mps)\.\w+"
"""Pattern of the functions of a device."""

OF_DEVICE, MEMORY = r"synchronize|empty_cache|reset_peak_memory_stats", r"(max_)?memory_(allocated|reserved)"
"""Patterns of the names of those that wait for it or free its memory, and of those that return a number of bytes."""

CURRENT = "current_device"
"""Name of the one that returns the device that is in use."""


def _on_processor(name: str) -> str | int | None:
    """Return the result of a function of a device for the processor."""
    return "cpu" if name == CURRENT else 0 if re.fullmatch(MEMORY, name) else None


class _Processor(ast.NodeTransformer):
    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        is_device = isinstance(node.value, str) and re.fullmatch(r"cuda(:\d+)?|mps(:0)?", node.value)
        return ast.copy_location(ast.Constant("cpu"), node) if is_device else node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        first = node.values[0] if node.values else None
        is_device = isinstance(first, ast.Constant) and first.value == "cuda:"
        return ast.copy_location(ast.Constant("cpu"), node) if is_device else node

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        self.generic_visit(node)
        if re.fullmatch(SHARDING, last_name(node.value)):  # `shard = jax.lax.with_sharding_constraint`
            node.value = ast.copy_location(ast.parse("lambda value, *placement, **others: value", mode="eval").body, node.value)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        name = last_name(node.func)
        if node.args and re.fullmatch(SHARDING, name):
            return node.args[0]
        if re.fullmatch(rf"{OF_DEVICE}|{MEMORY}|{CURRENT}", name) and re.fullmatch(OF_TORCH, ast.unparse(node.func)):
            return ast.copy_location(ast.Constant(_on_processor(name)), node)
        is_move = isinstance(node.func, ast.Attribute) and node.func.attr == "cuda" and not isinstance(node.func.value, ast.Constant)
        return node.func.value if is_move and isinstance(node.func, ast.Attribute) else node


class _SinglePrecision(ast.NodeTransformer):
    """Removes `.to(torch.bfloat16)`, and `dtype=jnp.bfloat16` of layers with a `param_dtype`."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if any(each.arg == "param_dtype" for each in node.keywords):
            node.keywords = [each for each in node.keywords if each.arg != "dtype" or not _is_half(each.value)]
        if not (isinstance(node.func, ast.Attribute) and node.func.attr == "to" and len(node.args) == 1 and not node.keywords):
            return node
        return node.func.value if _is_half(node.args[0]) else node


def _is_half(node: ast.expr) -> bool:
    """Return True for a dtype of half precision."""
    return isinstance(node, ast.Attribute) and re.fullmatch("b?float16", node.attr) is not None
