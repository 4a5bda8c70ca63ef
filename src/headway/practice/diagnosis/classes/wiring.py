"""A layer whose attention, feed-forward and norms are replaced by correct ones, so that only their connection is judged.

The parts of a layer may follow conventions that the layer's exercise does not know, such as rotary positions or a gated feed-forward.
They are judged as subjects of their own, so the layer is judged with ready-made ones in their places.
"""

from __future__ import annotations

import inspect
import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy

from headway.arrays import to_numpy
from headway.practice.diagnosis.classes.slots import is_module, module_library
from headway.practice.diagnosis.classes.submodules import Kind, Submodule, kind_of
from headway.practice.names import fitting


def parts_of(module: Any) -> Iterator[tuple[Any, str, Any, Kind]]:
    """Yield the outermost parts of a module of torch or MLX: their owner, the name in it, the part, and its kind."""
    for name, child in _children(module):
        kind = None if _has_no_effect(child) else kind_of(name) or kind_of(type(child).__name__)
        if kind is not None and not _is_wrapper(child, kind):
            yield module, name, child, kind
        else:
            yield from parts_of(child)


def _children(module: Any) -> Iterator[tuple[str, Any]]:
    """Yield the modules that a module holds as attributes, with their names."""
    children = module.named_children() if module_library(type(module)) == "torch" else module.children().items()
    yield from ((name, child) for name, child in children if is_module(child))


def _has_no_effect(part: Any) -> bool:
    """Return True for a dropout, whose name may be that of the part before it."""
    return bool(re.search("Dropout|DropPath|Identity", type(part).__name__))


def _is_wrapper(part: Any, kind: Kind) -> bool:
    """Return True for a module around other parts: a list, or one that takes what it connects to its residual."""
    forward = getattr(type(part), "forward" if module_library(type(part)) == "torch" else "__call__", None)
    if forward is None or forward.__qualname__.startswith(("Module.", "_forward_unimplemented")):
        return True
    taken = [each for each in list(inspect.signature(forward).parameters.values())[1:] if each.default is each.empty]
    return kind == "norm" and (len(taken) > 1 or any(True for _ in parts_of(part)))


ATTENDING = {"transformer_block", "encoder_layer", "decoder_layer"}
"""Parts that a block may be."""


def wire_blocks(model: Any, spec: Submodule, run: Callable[[numpy.ndarray], Any]) -> None:
    """Replace a model's blocks by ready-made ones, after checks that only the model as it is can answer.

    run   token ids (batch, seq_len) → the model's output

    Errors   ValueError if it has no blocks, if its file defines some that are not judged by themselves, if a later token has an effect
             on an earlier position, or if the order of tokens has none
    """
    blocks = _blocks_of(model)
    own = [type(block).__name__ for _, _, block in blocks if type(block).__module__ == type(model).__module__]
    if not blocks or not all(any(fitting(name)) for name in own):
        raise ValueError(f"got blocks {own}, expected some that are judged by themselves")
    extras = _expect_causal(model, blocks[0][2], blocks[-1][2], run)
    for owner, name, _ in blocks:
        made = replace(spec, kind="block").made("torch")
        made.extras = extras
        setattr(owner, name, made)


def _blocks_of(model: Any) -> list[tuple[Any, str, Any]]:
    """Return the blocks of the outermost list of blocks in a model: their owner, the name in it, and the block."""
    for owner in model.modules():
        if type(owner).__name__ in ("ModuleList", "Sequential", "ModuleDict"):
            found = [(owner, name, child) for name, child in owner.named_children() if is_block(child)]
            if found:
                return found
    return []


def is_block(module: Any) -> bool:
    """Return True for a module with attention and a feed-forward, or with the name of a layer."""
    if type(module).__module__.startswith("torch.") or type(module).forward.__qualname__.startswith(("Module.", "_forward_unimplemented")):
        return False
    kinds = {kind for *_, kind in parts_of(module)}
    return {"attention", "feed_forward"} <= kinds or bool(ATTENDING & {*itertools.chain(*fitting(type(module).__name__))})


def _expect_causal(model: Any, first: Any, last: Any, run: Callable[[numpy.ndarray], Any]) -> tuple[Any, ...] | None:
    """Check with random weights which positions the blocks' outputs depend on.

    Returns what a block returns after its output, None for a single value.
    """
    import torch

    random, drawn = torch.Generator().manual_seed(7), [(each, each.data.clone()) for each in model.parameters()]
    ids = numpy.array([[3, 1, 4, 2], [0, 2, 1, 3]])
    later, swapped = ids.copy(), ids[:, [1, 0, 2, 3]]
    later[:, -1] = (ids[:, -1] + 1) % 5
    found: dict[Any, list[Any]] = {first: [], last: []}
    hooks = [each.register_forward_hook(lambda module, given, output: found[module].append(output)) for each in found]
    with torch.no_grad():
        for each, _ in drawn:
            each.data.copy_(torch.randn(each.shape, generator=random) * 0.5 + (each.ndim == 1))
        for tokens in (ids, later, swapped):
            run(tokens)
        for each, values in drawn:
            each.data.copy_(values)
    for hook in hooks:
        hook.remove()
    if [len(outputs) for outputs in found.values()] != [3] * len(found):
        raise ValueError("got blocks that are not called once in each pass")
    extras = found[first][0][1:] if isinstance(found[first][0], tuple) else None
    before, after, _ = (_hidden(output) for output in found[last])
    one, _, other = (_hidden(output) for output in found[first])
    if not numpy.allclose(after[:, :-1], before[:, :-1], rtol=1e-4, atol=1e-5) or numpy.allclose(after[:, -1], before[:, -1]):
        raise ValueError("got an effect of a later token, expected a causal model")
    if numpy.allclose(one[:, -1], other[:, -1], rtol=1e-4, atol=1e-5):
        raise ValueError("got no effect of the order of tokens, expected positions")
    return extras


def _hidden(output: Any) -> numpy.ndarray:
    values: numpy.ndarray = to_numpy(output[0] if isinstance(output, tuple) else output)
    return values


def wire(module: Any, spec: Submodule) -> None:
    """Replace a module's parts by ready-made ones.

    Errors   ValueError if it has not the parts of a layer, or if one is neither of its library nor judged by itself
    """
    parts = list(parts_of(module))
    kinds = [kind for *_, kind in parts]
    own = [part for *_, part, _ in parts if not type(part).__module__.startswith(("torch.", "mlx."))]
    library = module_library(type(module))
    if (
        library is None
        or "attention" not in kinds
        or kinds.count("feed_forward") != 1
        or not own
        or not all(any(fitting(type(part).__name__)) for part in own)
    ):
        raise ValueError(f"got parts {kinds}, expected those of a layer")
    for owner, name, _, kind in parts:
        setattr(owner, name, replace(spec, kind=kind).made(library))
