"""A layer whose attention, feed-forward and norms are replaced by correct ones, so that only their connection is judged.

The parts of a layer may follow conventions that the layer's exercise does not know, such as rotary positions or a gated feed-forward.
They are judged as subjects of their own, so the layer is judged with ready-made ones in their places.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from headway.practice.diagnosis.submodules import Kind, Submodule, kind_of
from headway.practice.names import fitting


def parts_of(module: Any) -> Iterator[tuple[Any, str, Any, Kind]]:
    """Yield the outermost parts of a torch module: their owner, the name in it, the part, and its kind."""
    for name, child in module.named_children():
        kind = kind_of(name) or kind_of(type(child).__name__)
        if kind is not None and not _is_wrapper(child, kind):
            yield module, name, child, kind
        else:
            yield from parts_of(child)


def _is_wrapper(part: Any, kind: Kind) -> bool:
    """Return True for a module around other parts: a list, or one that takes what it connects to its residual."""
    forward = type(part).forward
    if forward.__qualname__.startswith(("Module.", "_forward_unimplemented")):
        return True
    taken = [each for each in list(inspect.signature(forward).parameters.values())[1:] if each.default is each.empty]
    return kind == "norm" and (len(taken) > 1 or any(True for _ in parts_of(part)))


def wire(module: Any, spec: Submodule) -> None:
    """Replace a module's parts by ready-made ones.

    Errors   ValueError if it has not the parts of a layer, or if its file defines one that is not judged by itself
    """
    parts = list(parts_of(module))
    kinds = [kind for *_, kind in parts]
    own = [part for *_, part, _ in parts if type(part).__module__ == type(module).__module__]
    if (
        "attention" not in kinds
        or kinds.count("feed_forward") != 1
        or not own
        or not all(any(fitting(type(part).__name__)) for part in own)
    ):
        raise ValueError(f"got parts {kinds}, expected those of a layer")
    for owner, name, _, kind in parts:
        setattr(owner, name, replace(spec, kind=kind).made("torch"))
