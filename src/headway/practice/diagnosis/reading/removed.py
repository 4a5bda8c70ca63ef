"""Names that later versions of a library removed: a file that uses them is judged as with the version that its author had."""

from __future__ import annotations

import ast
import functools
import pkgutil
import re
import sys
import tomllib
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.resources import files
from types import ModuleType
from typing import Any

REMOVED: dict[str, dict[str, str]] = tomllib.loads(files(__package__).joinpath("removed.toml").read_text(encoding="utf-8"))
"""Replacement of each removed name, by module."""


@dataclass(frozen=True)
class Use:
    """A removed name in a file: its line, its full name, and its replacement."""

    line: int
    name: str
    instead: str


def restore_removed(packages: Collection[str]) -> None:
    """Give the modules of these packages the names that the installed version has removed, and PyTorch the masks of bytes.

    Effects   sets attributes of the modules, and replaces two methods of torch.Tensor
    """
    for place, names in REMOVED.items():
        if place.partition(".")[0] in packages:
            with suppress(ImportError), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                _restore(import_module(place), names)
    if "torch" in packages:
        _restore_byte_masks()


def _restore(module: ModuleType, names: dict[str, str]) -> None:
    for name, instead in names.items():
        if hasattr(module, name):
            continue
        with suppress(ImportError, AttributeError, ValueError):
            value = float(instead) if instead == "-inf" else pkgutil.resolve_name(instead)
            setattr(module, name, value)
            if isinstance(value, ModuleType):
                sys.modules.setdefault(f"{module.__name__}.{name}", value)


def _restore_byte_masks() -> None:
    """Let the tensors of PyTorch accept masks of bytes in masked_fill, as its early versions do."""
    from torch import Tensor, uint8

    def accepting(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def fill(tensor: Any, mask: Any, value: Any) -> Any:
            return method(tensor, mask.bool() if getattr(mask, "dtype", None) == uint8 else mask, value)

        return fill

    for name in ("masked_fill", "masked_fill_"):
        if not hasattr(getattr(Tensor, name), "__wrapped__"):
            setattr(Tensor, name, accepting(getattr(Tensor, name)))


BYTE_MASK = r"(?i)\w*mask\w*\b.*(uint8|ByteTensor|\.byte\(\))"
"""Pattern of a line that makes a mask of bytes."""


def has_byte_masks(source: str) -> bool:
    """Return True for the source of a program that masks scores with an array of bytes."""
    return "masked_fill" in source and re.search(BYTE_MASK, source) is not None


def removed_in(tree: ast.Module) -> Iterator[Use]:
    """Yield the removed names that a file uses, in the order of its lines."""
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    aliases = [alias for node in imports if isinstance(node, ast.Import) for alias in node.names]
    places = {each.asname or each.name.partition(".")[0]: each.name if each.asname else each.name.partition(".")[0] for each in aliases}
    uses = []
    for node in imports:
        if isinstance(node, ast.ImportFrom) and not node.level:
            places |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
            uses += [(node.lineno, str(node.module), alias.name) for alias in node.names]
    for each in ast.walk(tree):
        if isinstance(each, ast.Attribute):
            first, _, rest = ast.unparse(each.value).partition(".")
            place = places.get(first, "")
            uses.append((each.lineno, f"{place}.{rest}" if rest else place, each.attr))
    for line, place, name in sorted(uses):
        if name in REMOVED.get(place, {}):
            yield Use(line, f"{place}.{name}", REMOVED[place][name])
