"""Parts that a learner takes ready-made from an array library, such as `torch.softmax` in a softmax.

The source is searched, not the run: a hand-in that hides the name, with getattr for example, is not found.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from headway.practice.diagnosis.reading.subject import definitions
from headway.practice.message import EMPTY
from headway.practice.source import Source
from headway.practice.texts import Texts
from headway.practice.verdict import Cause, Verdict

TEXTS = Texts("check")

LIBRARIES = ("torch", "jax", "mlx", "scipy", "flax", "equinox", "optax", "tensorflow", "keras", "transformers")
METHODS = ("softmax", "log_softmax", "relu")
"""Parts that are methods of a tensor."""

ATTENTION = ("scaleddotproductattention", "dotproductattention")
HEADS = ("multiheadattention", "multiheaddotproductattention")
NAMES = {
    "softmax": ("softmax",),
    "log_softmax": ("logsoftmax",),
    "linear": ("linear", "dense"),
    "embed": ("embedding", "embed"),
    "relu": ("relu",),
    "gelu": ("gelu",),
    "silu": ("silu", "swish"),
    "layer_norm": ("layernorm",),
    "rms_norm": ("rmsnorm",),
    "scaled_dot_product_attention": ATTENTION,
    "causal_mask": ("generatesquaresubsequentmask",),
    "self_attention": HEADS,
    "causal_self_attention": HEADS,
    "cross_attention": HEADS,
    "multi_head_attention": HEADS,
    "grouped_query_attention": HEADS,
    "transformer_block": ("transformerencoderlayer", "transformerdecoderlayer"),
    "encoder_layer": ("transformerencoderlayer",),
    "decoder_layer": ("transformerdecoderlayer",),
    "cross_entropy": ("crossentropy", "crossentropyloss"),
    "gradient_descent": ("sgd",),
    "linear_regression": ("lstsq",),
    "adam_step": ("adam", "adamw"),
    "adam": ("adam", "adamw"),
}
"""Names of the part itself in the libraries, in lower case without underscores."""


def judged(verdict: Verdict, source: Source, *, is_forbidden: bool) -> Verdict:
    """Return a correct verdict with a note on the library's own function that it calls, or as wrong if that is forbidden.

    The verdict is one on the source, before it is located.
    """
    found = _ready_made(verdict, source) if verdict.is_correct else None
    if found is None:
        return verdict
    name, line = found
    says = TEXTS["calls_librarys_own"].format(name=name)
    if not is_forbidden:
        return replace(verdict, notes=(*verdict.notes, says))
    return replace(verdict, status="wrong", causes=(Cause("forbidden", says, TEXTS["use_simpler_operations"], EMPTY, line=line),))


def _ready_made(verdict: Verdict, source: Source) -> tuple[str, int] | None:
    """Return the library's name and the line of the first use, in the definition or in what it uses."""
    wanted = NAMES.get(verdict.exercise, ())
    if not wanted or source.tree is None:
        return None
    imported = dict(_imports(source.tree))
    if not imported:
        return None
    for node in _used(source.tree, verdict.subject):
        for each in ast.walk(node):
            name = _qualified(each, imported)
            if isinstance(each, ast.expr) and name is not None and name.rpartition(".")[2].replace("_", "").lower() in wanted:
                return name, each.lineno
            if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and each.func.attr in METHODS:
                is_method = each.func.attr == verdict.exercise and _root(each.func) not in ("self", "cls", *imported)
                if is_method and not _is_of_another_module(each.func, source.tree):
                    return f".{each.func.attr}()", each.lineno
    return None


def _imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the names that are bound to a library or a part of it, with what they are."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] in LIBRARIES:
                    yield (alias.asname, alias.name) if alias.asname else (alias.name.partition(".")[0],) * 2
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] in LIBRARIES:
            yield from ((alias.asname or alias.name, f"{node.module}.{alias.name}") for alias in node.names)


def _qualified(node: ast.AST, imported: dict[str, str]) -> str | None:
    """Return the full name of a library's attribute: torch.nn.functional.softmax for F.softmax."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in imported:
        return None
    return ".".join([imported[node.id], *reversed(names)])


def _root(node: ast.expr) -> str | None:
    while isinstance(node, ast.Attribute | ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def _is_of_another_module(function: ast.Attribute, tree: ast.Module) -> bool:
    """Return True for `mine.softmax(x)` with `import mine`, which is the learner's own function."""
    names = {
        (alias.asname or alias.name).partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    return isinstance(function.value, ast.Name) and function.value.id in names


def _used(tree: ast.Module, name: str) -> list[ast.stmt]:
    """Return the definition of a name and the top-level statements that define what it uses, directly or through others."""
    statements: dict[str, ast.stmt] = {
        target.id: node
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    statements |= {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    statements |= definitions(tree)
    found: dict[str, ast.stmt] = {}
    waiting = [name]
    while waiting:
        current = waiting.pop()
        if current in statements and current not in found:
            found[current] = statements[current]
            waiting += [each.id for each in ast.walk(statements[current]) if isinstance(each, ast.Name)]
    return list(found.values())
