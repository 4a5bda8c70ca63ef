"""A layer whose attention, feed-forward and norms are replaced by correct ones, so that only their connection is judged.

The parts of a layer may follow conventions that the layer's exercise does not know, such as rotary positions or a gated feed-forward.
They are judged as subjects of their own, so the layer is judged with ready-made ones in their places.
"""

from __future__ import annotations

import inspect
import itertools
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import numpy

from headway.arrays import to_numpy
from headway.practice.diagnosis.calls.compare import as_numbers
from headway.practice.diagnosis.calls.wording import snake
from headway.practice.diagnosis.classes.children import children, every_part, is_container, method_of, put
from headway.practice.diagnosis.classes.flax_modules import FlaxHolder
from headway.practice.diagnosis.classes.slots import module_library, slots_of
from headway.practice.diagnosis.classes.submodules import Kind, Submodule, is_ready_made, kind_of
from headway.practice.names import fitting


class OtherPartsError(ValueError):
    """An instance that has other parts than those that ready-made ones replace."""


MODES = ("training", "train", "is_training", "deterministic")
"""Parameters that turn dropout on or off, which are no operands."""


def parts_of(module: Any) -> Iterator[tuple[Any, Any, Any, Kind]]:
    """Yield the outermost parts of a module or object: their owner, the name in it, the part, and its kind."""
    for name, child in children(module):
        kind = _kind_of_part(str(name), child)
        if kind is not None and not _is_wrapper(child, kind):
            yield module, name, child, kind
        else:
            yield from parts_of(child)


def _has_no_effect(part: Any) -> bool:
    """Return True for a dropout, whose name may be that of the part before it."""
    return bool(re.search("Dropout|DropPath|Identity", type(part).__name__))


def _is_wrapper(part: Any, kind: Kind) -> bool:
    """Return True for a module around other parts: a list, one that holds a part that its layer is given, or one that takes what it connects to its residual."""
    method = method_of(type(part))
    if method is None or is_container(part):
        return True
    if not is_ready_made(part) and any(map(is_ready_made, every_part(part))):
        return True
    parameters = list(inspect.signature(getattr(type(part), method)).parameters.values())[1:]
    taken = [each for each in parameters if each.default is each.empty and each.name not in MODES]
    return kind == "norm" and (len(taken) > 1 or any(True for _ in parts_of(part)))


ATTENDING = {"transformer_block", "encoder_layer", "decoder_layer"}
"""Parts that a block may be."""


def wire_blocks(model: Any, spec: Submodule, library: str, run: Callable[[numpy.ndarray], Any]) -> None:
    """Replace a model's blocks by ready-made ones, after checks that only the model as it is can answer.

    run   token ids (batch, seq_len) → the model's output

    Errors   OtherPartsError if it has no blocks, if its file defines some that are not judged by themselves, if a later token has an effect
             on an earlier position, or if the order of tokens has none
    """
    blocks = [] if isinstance(model, FlaxHolder) else _blocks_of(model)
    own = [type(block).__name__ for _, _, block in blocks if type(block).__module__ == type(model).__module__]
    if not blocks or not all(any(fitting(name)) for name in own):
        raise OtherPartsError(f"got blocks {own}, expected some that are judged by themselves")
    extras = _expect_causal(model, blocks, run, is_stepwise=spec.is_stepwise)
    for owner, name, _ in blocks:
        made = replace(spec, kind="block").made(library)
        made.extras = extras
        put(owner, name, made)


def _blocks_of(model: Any) -> list[tuple[Any, Any, Any]]:
    """Return the blocks of the outermost list of blocks in a model: their owner, the name in it, and the block."""
    for owner in every_part(model):
        if is_container(owner) or type(owner).__name__ in ("ModuleList", "Sequential", "ModuleDict"):
            found = [(owner, name, child) for name, child in children(owner) if is_block(child)]
            if found:
                return found
    return []


HALVES = {"intermediate", "output"}
"""Names of the halves of a feed-forward, of which the second adds the residual, in layers of BERT."""


def is_block(module: Any) -> bool:
    """Return True for a module with attention and a feed-forward, or with the name of a layer."""
    if type(module).__module__.startswith("torch.") or method_of(type(module)) is None or is_container(module):
        return False
    kinds, names = {kind for *_, kind in parts_of(module)}, {str(name) for name, _ in children(module)}
    has_both = "attention" in kinds and ("feed_forward" in kinds or names >= HALVES)
    return has_both or bool(ATTENDING & {*itertools.chain(*fitting(type(module).__name__))})


class _Recorder:
    """A block in whose place this is called, and what it returned."""

    def __init__(self, block: Any) -> None:
        self.block, self.outputs = block, list[Any]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.block, name)

    def __call__(self, *others: Any, **named: Any) -> Any:
        self.outputs.append(called(self.block, *others, **named))
        return self.outputs[-1]

    forward = __call__

    def join(self, count: int) -> None:
        """Replace the last outputs, of one position each, by one of all positions."""
        self.outputs[-count:] = [numpy.concatenate([*map(_hidden, self.outputs[-count:])], axis=-2)]


def called(part: Any, *others: Any, **named: Any) -> Any:
    """Return what a part computes."""
    return (part if module_library(type(part)) else getattr(part, method_of(type(part)) or "__call__"))(*others, **named)


def without_gradients() -> Any:
    """Return a context without gradients if torch is loaded."""
    return sys.modules["torch"].no_grad() if "torch" in sys.modules else nullcontext()


def _expect_causal(
    model: Any, blocks: Sequence[tuple[Any, Any, Any]], run: Callable[[numpy.ndarray], Any], *, is_stepwise: bool = False
) -> tuple[Any, ...] | None:
    """Check with random weights which positions the blocks' outputs depend on.

    Returns what a block returns after its output, None for a single value.
    """
    random = numpy.random.default_rng(7)
    drawn = [(slot, as_numbers(slot.array).copy()) for slot in slots_of(model, type(model).__module__) if slot.is_parameter]
    ids = numpy.array([[3, 1, 4, 2], [4, 2, 1, 3]])  # not 0, which may be padding
    later, swapped = ids.copy(), ids[:, [1, 0, 2, 3]]
    later[:, -1] = ids[:, -1] % 4 + 1
    recorders = [_Recorder(block) for *_, block in (blocks[0], blocks[-1])]
    places = [each[:2] for each in (blocks[0], blocks[-1])][: len(blocks)]
    for (owner, name), recorder in zip(places, recorders, strict=False):
        put(owner, name, recorder)
    with without_gradients():
        for slot, values in drawn:
            slot.write(random.standard_normal(values.shape) * 0.5 + (values.ndim == 1))
        try:
            run(ids)
        except Exception:  # a model of single texts
            ids, later, swapped = ids[0], later[0], swapped[0]
        for recorder in recorders:
            recorder.outputs.clear()
        for tokens in (ids, later, swapped):
            run(tokens)
            for recorder in recorders[: len(places)] if is_stepwise else ():
                recorder.join(tokens.shape[-1])
        for slot, values in drawn:
            slot.write(values)
    first, last = recorders[0].outputs, recorders[len(places) - 1].outputs
    if [len(first), len(last)] != [3, 3]:
        raise OtherPartsError("got blocks that are not called once in each pass")
    extras = tuple(first[0][1:]) if isinstance(first[0], tuple | list) else None
    before, after, _ = map(_hidden, last)
    one, _, other = map(_hidden, first)
    earlier, newest = (..., slice(-1), slice(None)), (..., -1, slice(None))
    if not numpy.allclose(after[earlier], before[earlier], rtol=1e-4, atol=1e-5) or numpy.allclose(after[newest], before[newest]):
        raise OtherPartsError("got an effect of a later token, expected a causal model")
    if numpy.allclose(one[newest], other[newest], rtol=1e-4, atol=1e-5):
        raise OtherPartsError("got no effect of the order of tokens, expected positions")
    return extras


def _hidden(output: Any) -> numpy.ndarray:
    values: numpy.ndarray = to_numpy(output[0] if isinstance(output, tuple | list) else output)
    return values


def wire(module: Any, spec: Submodule, library: str) -> None:
    """Replace a module's parts by ready-made ones.

    Errors   OtherPartsError if it has not the parts of a layer, or if one is neither of its library nor judged by itself
    """
    if isinstance(module, FlaxHolder):
        module.replace_parts(partial(_ready_made, spec, library), _check_flax)
        return
    parts = list(parts_of(module))
    kept: list[Kind] = ["attention"] if spec.is_around else []
    _check([*kept, *(kind for *_, kind in parts)], [part for *_, part, _ in parts])
    for owner, name, part, kind in parts:
        is_causal = spec.is_causal or (kind == "attention" and _is_made_causal(part))
        put(owner, name, replace(spec, kind=kind, operands=_operands_of(part), is_causal=is_causal).made(library))


CAUSAL_FLAG = r"_?((is|use|apply)_)?causal(_mask)?|autoregressive|(mask|hide)_future"
"""Pattern of the attributes of an attention that hides later positions if they are True."""


def _is_made_causal(part: Any) -> bool:
    """Return True for an attention that its layer constructs to hide later positions: `Attention(config, is_causal=True)`."""
    held = getattr(part, "__dict__", {})
    return any(value is True and re.fullmatch(CAUSAL_FLAG, name) for name, value in held.items())


def _operands_of(part: Any) -> tuple[str, ...]:
    """Return the names of the operands of a part of the file's own."""
    method = method_of(type(part))
    return () if method is None else tuple(inspect.signature(getattr(type(part), method)).parameters)[1:]


OF_EXPERTS = r"MoE|MOE|Moe(?![a-z])|(?i:mixture|experts)"
"""Pattern of the names of mixtures of experts, in place of a feed-forward: a part that nothing judges."""


def _check(kinds: Sequence[Kind | None], parts: Sequence[Any]) -> None:
    """Raise OtherPartsError for other parts than those of a layer."""
    own = [type(part).__name__ for part in parts if not type(part).__module__.startswith(("torch.", "mlx.", "flax."))]
    are_known = all(any(fitting(name)) or re.search(OF_EXPERTS, name) for name in own)
    if "attention" not in kinds or kinds.count("feed_forward") != 1 or not own or not are_known:
        raise OtherPartsError(f"got parts {kinds}, expected those of a layer")


def _ready_made(spec: Submodule, library: str, name: str, part: Any) -> Any:
    """Return a ready-made part in place of a module of Flax; None for one that is no part."""
    kind = _kind_of_part(name, part)
    return None if kind is None else replace(spec, kind=kind, operands=_operands_of(part)).made(library)


PROJECTION = r"(^|_)(qkv|kv|q|k|v|o|query|key|value|out|output)_?(proj(ection)?|linear)$"
"""Pattern of the names of the projections of an attention that its layer computes itself: attn_q_proj."""


def _kind_of_part(name: str, part: Any) -> Kind | None:
    if _has_no_effect(part) or re.search(PROJECTION, snake(name)):
        return None
    return kind_of(name) or kind_of(type(part).__name__)


def _check_flax(parts: dict[str, Any]) -> None:
    _check([_kind_of_part(name.rpartition(".")[2], part) for name, part in parts.items()], list(parts.values()))
