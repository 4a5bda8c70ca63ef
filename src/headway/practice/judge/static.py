"""Facts about a file that follow from its text alone."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from headway.practice.diagnosis.reading.abstract import left_to_subclasses
from headway.practice.diagnosis.reading.methods import (
    BYTE_PAIRS,
    CALLS_GENERATE,
    CLASSIFIER,
    CLASSIFIER_OF_TEXTS,
    OF_FACTORY,
    OF_MODELS,
    READ_BY,
    learns_merges,
    methods,
    only_allocates,
    parts_of_tokenizers,
)
from headway.practice.diagnosis.reading.missing import imported
from headway.practice.diagnosis.reading.other_layers import is_other_layer
from headway.practice.diagnosis.reading.removed import Use, removed_in
from headway.practice.diagnosis.reading.subject import definitions, first_line, is_of_byte_pairs
from headway.practice.names import NO_FUNCTION, means

MAX_CHARS = 2_000_000
OF_JAX = ("flax", "equinox")
"""Libraries of modules that import JAX."""
PRELOADED = ("torch", "jax", *OF_JAX)
"""Libraries that are imported before the file is; NumPy always is."""


@dataclass(frozen=True)
class Facts:
    """Facts about a file.

    lines      first line of each public function and class at top level, and of methods that are parts of their own; for a name that is bound again
               later, that line
    shadowed   lines of earlier definitions of a name
    functions  those of the names that are functions
    imports    top-level packages that the file imports, and JAX if it imports modules of it
    borrowing  those of the names whose code mentions what the file imports of Headway's own functions, also through other functions
    optional   definitions that need no verdict: private ones, abstract classes, classes of fields alone, tests, methods, functions that return a layer or show a part,
               classifiers, caches that others write, codes of single characters, and parts whose names also mean others
    tokenizing first lines of the methods of each class by the parts that they are if it is a right tokenizer, as (name, line)
    trains     True if running the file trains a model, which takes long and defines nothing
    removed    names that a later version of their library does not have
    """

    lines: dict[str, int] = field(default_factory=dict)
    shadowed: dict[str, tuple[int, ...]] = field(default_factory=dict)
    functions: frozenset[str] = frozenset()
    imports: frozenset[str] = frozenset()
    borrowing: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()
    tokenizing: dict[str, dict[str, tuple[str, int]]] = field(default_factory=dict)
    trains: bool = False
    removed: tuple[Use, ...] = ()

    @property
    def preloaded(self) -> list[str]:
        """Return the libraries to import before the file."""
        return [name for name in PRELOADED if name in self.imports]


def facts_of(text: str) -> Facts:
    """Return the facts about a file's text; none if it is not Python or too large."""
    if len(text) > MAX_CHARS:
        return Facts()
    try:
        tree = ast.parse(text)
        top = definitions(tree)
        own = methods(top.values())
        nodes: dict[str, ast.stmt] = {**top, **own}
        defined = {name: first_line(node) for name, node in nodes.items()}
        bound: dict[str, list[int]] = {}
        for name, line in _bindings(tree.body):
            bound.setdefault(name, []).append(line)
        imports = {name.partition(".")[0] for name in imported(ast.walk(tree))}
        imports |= {"jax"} if imports.intersection(OF_JAX) else set()
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Facts()
    lines = {name: max([line, *(bound.get(name, []))]) for name, line in defined.items()}
    shadowed = {name: tuple(line for line in sorted(set(bound.get(name, []))) if line < lines[name]) for name in defined}
    functions = frozenset(name for name, node in nodes.items() if not isinstance(node, ast.ClassDef))
    shadowed = {name: found for name, found in shadowed.items() if found}
    optional = frozenset(name for name, node in nodes.items() if name.startswith(("_", "test_")) or _is_no_part(node))
    optional |= frozenset(own) | frozenset(name for name in functions if re.search(OF_FACTORY, ast.unparse(nodes[name])))
    optional |= {name for name in functions if re.match(NO_FUNCTION, name.rpartition(".")[2], re.IGNORECASE)}
    classes = {name: node for name, node in top.items() if isinstance(node, ast.ClassDef)}
    optional |= {name for name, node in classes.items() if means(name, "feed_forward") and re.search(CLASSIFIER, ast.unparse(node))}
    models = {name: node for name, node in classes.items() if any(means(name, part) for part in OF_MODELS)}
    optional |= {name for name, node in models.items() if re.search(CLASSIFIER_OF_TEXTS, ast.unparse(node))}
    optional |= {name for name, node in classes.items() if means(name, "kv_cache") and only_allocates(node)}
    optional |= {name for name in nodes if any(means(name, part) for part in READ_BY)} | left_to_subclasses(top)
    optional |= {name for name, node in nodes.items() if means(name, "merge_pair") and learns_merges(node)}
    optional |= {name for name in functions if means(name, "sgd_optimizer")}  # a part only if it is correct
    optional |= {name for name in functions if means(name, "generate") and re.search(CALLS_GENERATE, ast.unparse(nodes[name]))}
    if not is_of_byte_pairs(text):
        optional |= {name for name in top if any(means(name, part) for part in BYTE_PAIRS)}
    tokenizing = {
        name: {part: (f"{name}.{method.name}", first_line(method)) for part, method in parts_of_tokenizers(node).items()}
        for name, node in classes.items()
    }
    return Facts(
        lines,
        shadowed,
        functions,
        frozenset(imports),
        _borrowing(tree, nodes),
        optional,
        tokenizing,
        any(map(_trains, tree.body)),
        tuple(removed_in(tree)),
    )


TRAINING = r"^(pre_?)?train(_model|_loop|ing)?$|^fit$|^backward$"
"""Pattern of the names of functions and methods that train."""


def _trains(node: ast.stmt) -> bool:
    """Return True for a statement at top level that trains a model, but not under `if __name__ == "__main__"`."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.If):
        return False
    called = (
        each.func
        for each in ast.walk(node)
        if isinstance(each, ast.Call) and (each.args or each.keywords or not isinstance(node, ast.Expr))
    )
    return any(re.search(TRAINING, ast.unparse(each).rpartition(".")[2]) for each in called)


def _borrowing(tree: ast.Module, nodes: dict[str, ast.stmt]) -> frozenset[str]:
    """Return the definitions whose code mentions a name that is imported from Headway, or another such definition."""
    imported = _imports_of_headway(tree)
    inner = {node: _imports_of_headway(node) for node in nodes.values()}
    mentioned = {name: {each.id for each in ast.walk(node) if isinstance(each, ast.Name)} for name, node in nodes.items()}
    found = {name for name, node in nodes.items() if mentioned[name] & (imported | inner[node])}
    while more := {name for name in nodes if name not in found and mentioned[name] & found}:
        found |= more
    return frozenset(found)


def _imports_of_headway(node: ast.AST) -> set[str]:
    """Return the names that import statements bind to Headway's own functions."""
    names = set()
    for each in ast.walk(node):
        if isinstance(each, ast.Import | ast.ImportFrom):
            for alias in each.names:
                whole = f"{each.module}.{alias.name}" if isinstance(each, ast.ImportFrom) else alias.name
                if whole.startswith("headway") and not whole.startswith("headway.practice"):
                    names.add(alias.asname or alias.name.partition(".")[0])
    return names


def is_abstract(node: ast.stmt) -> bool:
    """Return True for a class that leaves methods to its subclasses: abstract, or raising NotImplementedError."""
    if not isinstance(node, ast.ClassDef):
        return False
    names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)} | {
        each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)
    }
    return bool(names & {"NotImplementedError", "abstractmethod"})


def is_record(node: ast.stmt) -> bool:
    """Return True for a named tuple or a dataclass of fields alone: it holds weights or settings."""
    if not isinstance(node, ast.ClassDef):
        return False
    marks = [*node.bases, *(each.func if isinstance(each, ast.Call) else each for each in node.decorator_list)]
    is_marked = any(ast.unparse(each).rpartition(".")[2] in ("NamedTuple", "dataclass") for each in marks)
    return is_marked and not any(isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) for each in node.body)


def _is_no_part(node: ast.stmt) -> bool:
    """Return True for a class that needs no verdict: an abstract one, one of tests, one that only holds fields, or one whose part is another layer."""
    return is_abstract(node) or is_test_case(node) or is_record(node) or is_other_layer(node)


def is_test_case(node: ast.stmt) -> bool:
    """Return True for a class of tests: one whose base is named TestCase."""
    bases = node.bases if isinstance(node, ast.ClassDef) else []
    return any(ast.unparse(base).rpartition(".")[2] == "TestCase" for base in bases)


def _bindings(body: list[ast.stmt]) -> Iterator[tuple[str, int]]:
    """Yield the names that statements at top level bind to functions, classes or other values, with the line."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, first_line(node)
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            is_alias = isinstance(node.value, ast.Name | ast.Attribute | ast.Lambda | ast.Call)
            made = ast.unparse(node.value.func) if isinstance(node.value, ast.Call) else ""  # an instance: `Attention = Attention()`
            yield from ((name, node.lineno) for target in targets for name in _names_in(target) if is_alias and name != made)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((alias.asname or alias.name, node.lineno) for alias in node.names)


def _names_in(target: ast.expr) -> list[str]:
    return [each.id for each in ast.walk(target) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)]
