"""Names that later versions of a library removed: a file that uses them is judged as with the version that its author had."""

from __future__ import annotations

import ast
import functools
import pkgutil
import re
import sys
import tomllib
import warnings
from collections.abc import Callable, Collection, Iterator, MutableMapping
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


def restore_removed(packages: Collection[str], text: str) -> None:
    """Give the modules that a file needs the names that the installed version has removed, and PyTorch the masks of bytes.

    packages   the packages and modules that are imported, in dotted form
    text       the text of the file

    Effects   sets attributes of the modules, and replaces two methods of torch.Tensor
    """
    for place, names in REMOVED.items():
        if place.partition(".")[0] in packages:
            with suppress(ImportError), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                _restore(import_module(place), names)
    if "torch" in packages:
        _restore_byte_masks()
    if "ROPE_INIT_FUNCTIONS" in text and "transformers.modeling_rope_utils" in packages:
        _restore_default_rotation()


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


def _restore_default_rotation() -> None:
    """Give transformers' functions for the frequencies of rotary positions the one without scaling, which version 5 has removed."""
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    if isinstance(ROPE_INIT_FUNCTIONS, MutableMapping):  # not a stand-in for a package that is missing
        ROPE_INIT_FUNCTIONS.setdefault("default", _default_frequencies)


def _default_frequencies(config: Any = None, device: Any = None, seq_len: int | None = None, **settings: Any) -> tuple[Any, float]:
    """Return the frequencies of rotary positions (head size / 2,) and the factor of cosines and sines, 1.

    config     configuration with rope_theta, head_dim or hidden_size and num_attention_heads, and partial_rotary_factor
    settings   base and dim, if there is no config
    """
    import torch

    base = settings.get("base") or getattr(config, "rope_theta", None) or config.rope_parameters["rope_theta"]
    dim = settings.get("dim") or getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    dim = int(dim * (getattr(config, "partial_rotary_factor", None) or 1.0))
    return 1.0 / base ** (torch.arange(0, dim, 2, device=device).float() / dim), 1.0


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
