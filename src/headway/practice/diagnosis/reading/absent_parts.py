"""Correct parts in place of those that a file imports from missing files of its author: `from .basics import softmax`.

A hand-in is often one file of several. What it computes with `softmax` or `LayerNorm` is judged with correct ones, and a layer whose attention
is in another file by how it connects its parts.
"""

from __future__ import annotations

import ast
import builtins
import copy
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from headway import functions
from headway.arrays import array_namespace
from headway.practice.diagnosis.reading.absent_constants import constant_in_place
from headway.practice.recipes.byte_pairs import merged


def counted_pairs(ids: Sequence[Any], counts: dict[Any, int] | None = None) -> dict[Any, int]:
    """Count the adjacent pairs of ids, on top of the counts if they are given, which are updated."""
    counts = {} if counts is None else counts
    for pair in pairwise(ids):
        counts[pair] = counts.get(pair, 0) + 1
    return counts


def copies(layer: Any, number: Any) -> Any:
    """Return a list of copies of a layer of PyTorch; the number may be the first argument."""
    layer, number = (number, layer) if isinstance(layer, int) else (layer, number)
    return sys.modules["torch"].nn.ModuleList([copy.deepcopy(layer) for _ in range(number)])


CLONES = ("clones", "get_clones", "_get_clones", "clone_layers", "clone_module", "clone_modules")
"""Names of functions that copy a layer."""

FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "softmax": (functions.softmax, ("axis",)),
    "log_softmax": (functions.log_softmax, ("axis",)),
    "linear": (functions.linear, ("weight", "bias")),
    "relu": (functions.relu, ()),
    "gelu": (functions.gelu, ()),
    "silu": (functions.silu, ()),
    "swish": (functions.silu, ()),
    "sigmoid": (functions.sigmoid, ()),
    "get_array_module": (array_namespace, ()),
    "get_stats": (counted_pairs, ("counts",)),
    "merge": (merged, ("pair", "joined")),
    **dict.fromkeys(CLONES, (copies, ("number",))),
}
"""Correct functions by name, with their parameters after the first."""

LIBRARIES = {"np": "numpy", "numpy": "numpy", "jnp": "jax.numpy", "math": "math", "torch": "torch"}
"""Modules by the names under which files import them, also from a missing file of the author that chooses one: `from common.np import *`."""

NORMS, TABLES = ("LayerNorm", "RMSNorm"), ("Linear", "Embedding")
"""Layers of torch that take one size, and two."""


@dataclass(frozen=True)
class AbsentFunction:
    """A correct function in place of an absent one of this name."""

    name: str

    def __call__(self, x: Any, *others: Any, **named: Any) -> Any:
        """Return the output for arguments by place, or by name, where an axis is also called `dim`."""
        function, parameters = FUNCTIONS[self.name]
        given = dict(zip(parameters, others, strict=False)) | {"axis" if name == "dim" else name: value for name, value in named.items()}
        return function(x, **{name: value for name, value in given.items() if name in parameters})


def names_needed(file: Path, known: Collection[str], of_class: str) -> list[str]:
    """Return the names of modules, functions, classes and constants that a file uses and does not define, which `import *` of a missing file gives it.

    known      names that the file has already
    of_class   pattern of the names of classes
    """
    try:
        nodes = [*ast.walk(ast.parse(file.read_text(encoding="utf-8")))]
    except (OSError, UnicodeDecodeError, SyntaxError):
        return []
    bound = {each.id for each in nodes if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    bound |= {each.name for each in nodes if isinstance(each, ast.FunctionDef | ast.ClassDef)} | {*known, *vars(builtins)}
    bound |= {each.asname or each.name.partition(".")[0] for each in nodes if isinstance(each, ast.alias)}
    bound |= {each.arg for each in nodes if isinstance(each, ast.arg)}
    used = dict.fromkeys(each.id for each in nodes if isinstance(each, ast.Name) and each.id not in bound)
    return [
        name
        for name in used
        if name in LIBRARIES or name in FUNCTIONS or re.fullmatch(of_class, name) or constant_in_place(name) is not None
    ]


class AbsentBase:
    """A base class in place of an absent one, which takes any arguments."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass


class AbsentOptimizer(AbsentBase):
    """A base class of optimizers, which holds what torch's does if it is given parameters and their settings."""

    def __init__(self, *given: Any, **named: Any) -> None:
        params, defaults = given if len(given) == 2 else (*given, named) if len(given) == 1 else (named.pop("params", None), named)
        if isinstance(params, Iterable) and isinstance(defaults, dict):
            self.defaults = dict(defaults)
            self.param_groups = [{"params": list(params), **defaults}]
            self.state: dict[Any, dict[str, Any]] = defaultdict(dict)


class AbsentLayer(AbsentBase):
    """A base class of layers in NumPy, whose call is `forward`."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self._parameters: dict[str, Any] = {}
        self._modules: dict[str, Any] = {}
        self._buffers: dict[str, Any] = {}
        self.training = False

    def __call__(self, *operands: Any, **named: Any) -> Any:
        """Return the output of the layer, whose own class defines `forward`."""
        output: Callable[..., Any] = vars(type(self))["forward"]
        return output(self, *operands, **named)


BASES: Mapping[str, type[AbsentBase]] = {
    r"(base|abstract)?_?(bpe)?_?tokenizer(_?base)?": AbsentBase,
    r"(base|abstract)?_?optimi[sz]er(_?base)?": AbsentOptimizer,
    r"(base|abstract)?_?(layer|module)(_?base)?": AbsentLayer,
}
"""Patterns of the names of base classes without which the classes derived from them compute what they did, and what takes their places.

A tokenizer defines its own methods, an optimizer its step and a layer its output.
"""


def base_in_place(path: str, *, uses_torch: bool) -> type[AbsentBase] | None:
    """Return the class in place of an absent base class with this full name; None for another one, and for a layer of a file that may use torch's.

    A layer or an optimizer must be in a file of a folder: `from .base import Optimizer`, not `package.Optimizer`, which others may publish.

    uses_torch   True for a file that imports PyTorch
    """
    folders, _, name = path.rpartition(".")
    found = next((base for pattern, base in BASES.items() if re.fullmatch(pattern, name, re.IGNORECASE)), None)
    is_published = found is not AbsentBase and "." not in folders
    return None if is_published or (found is AbsentLayer and uses_torch) else found


OF_ACTIVATIONS = r"_?get_(act(ivation)?|nonlinearity)(_(fn|func|function|layer))?"
"""Pattern of the name of a function that returns an activation by its name."""

LAYERS = {"relu": "ReLU", "gelu": "GELU", "silu": "SiLU", "swish": "SiLU", "sigmoid": "Sigmoid"}
"""Layers of torch by the names of their activations."""


class AbsentActivations(AbsentFunction):
    """A function in place of an absent one that returns an activation by its name."""

    def __call__(self, x: Any, *others: Any, **named: Any) -> Any:
        """Return the activation of this name, a layer of torch where torch is imported.

        Errors   ModuleNotFoundError for another name, or anything else
        """
        name, torch = str(x).lower(), sys.modules.get("torch")
        if name not in LAYERS or others or named:
            raise ModuleNotFoundError(f"No activation of the missing {self.name} is known for {x!r}", name=self.name)
        return AbsentFunction(name) if torch is None else getattr(torch.nn, LAYERS[name])()


def instance_in_place(name: str, others: Sequence[Any], named: Mapping[str, Any], error: Callable[[], Exception]) -> Any:
    """Return an instance in place of one of an absent class: torch's own layer of this name, or an object that raises when it is called."""
    torch = sys.modules.get("torch")
    given = [*others, *(value for key, value in named.items() if key not in ("bias", "eps"))]
    sizes = [each for each in given if isinstance(each, int) and not isinstance(each, bool)]
    if torch is not None and name in NORMS and sizes:
        return getattr(torch.nn, name)(sizes[0], eps=named.get("eps", 1e-5))
    if torch is not None and name in TABLES and len(sizes) > 1:
        return getattr(torch.nn, name)(*sizes[:2], **({"bias": bool(named["bias"])} if "bias" in named else {}))

    def forward(self: Any, *operands: Any, **named: Any) -> Any:
        raise error()

    methods = {"__module__": __name__, "forward": forward} | ({} if torch is not None else {"__call__": forward})
    return type(name, (object if torch is None else torch.nn.Module,), methods)()
