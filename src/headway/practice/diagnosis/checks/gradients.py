"""Gradient check of a correct function in PyTorch or JAX, against finite differences of its own outputs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy

from headway.arrays import from_numpy, to_numpy
from headway.practice.diagnosis.calls.binding import NO_EFFECT
from headway.practice.diagnosis.calls.calling import Call
from headway.practice.diagnosis.calls.compare import floating_arrays
from headway.practice.diagnosis.classes.instances import InstanceCall
from headway.practice.diagnosis.classes.kept_caches import NAME
from headway.practice.diagnosis.classes.slots import Slot, module_library
from headway.practice.exercise import Inputs
from headway.practice.message import EMPTY, Message, describe_error
from headway.practice.texts import Texts
from headway.practice.verdict import Cause

TEXTS = Texts("diagnosis")

LIBRARIES = ("torch", "jax")
STEP_SIZE = 2.0**-7
"""Step size of the finite differences, in float32."""

AGREEMENT = 0.01
"""Relative agreement required between the slopes of a full and a half step; next to a kink they disagree, and nothing is checked."""

TOLERANCE = 0.05
"""Accepted difference between gradient and slope, relative to the largest slope of all inputs."""

WEIGHT_SHARE = 0.02
"""Smallest scale for the comparison of a weight's gradient, as a share of the largest slope: slopes of weights differ widely."""

INFERENCE = r"inference_mode"
NO_GRAD = rf"no_grad|{INFERENCE}"
DETACHING = r"detach|no_grad|\.data\b|\.item\(|\.numpy\(|np\.|numpy\.|torch\.tensor\(|stop_gradient|\.tolist\("
FOR_INFERENCE = TEXTS["for_inference"]
KEEPS_STATE = TEXTS["keeps_state"]
NO_PROOF = EMPTY


@dataclass(frozen=True)
class _Leaf:
    """An input or weight to differentiate with respect to.

    name    the learner's name for it
    unit    length of a step
    share   smallest scale for the comparison of its gradient, as a share of the largest slope
    """

    name: str
    value: numpy.ndarray
    unit: float = 1.0
    share: float = 1.0


@dataclass(frozen=True)
class Slope:
    """The slope of a loss along a direction.

    kink   difference between the slopes on both sides, and of full and half steps; the gradient may be any in between
    """

    value: float
    kink: float

    def is_far_from(self, along: float, size: float = 0.0) -> bool:
        """Return True if a gradient is not that of the slope; `size` is the smallest scale of the comparison."""
        return not abs(along - self.value) <= TOLERANCE * max(abs(along), abs(self.value), size) + 0.6 * self.kink


def gradient_cause(call: Call, encoded: Inputs, *, may_write: bool = False) -> Cause | Message | None:
    """Return a cause or note about the gradients at these inputs, or None if they are correct.

    may_write   True to pass results of other computations, into which autograd lets a function write

    The outputs must be correct, so that their slope is that of the definition.
    """
    if call.library not in LIBRARIES or has_own_backward(call):
        return None
    arguments = call.arguments(encoded)
    if isinstance(call, InstanceCall) and any(
        role.name == f"{NO_EFFECT}cache" or "start_pos" in role.name for role in call.binding.role_of.values()
    ):
        return KEEPS_STATE
    is_instance = isinstance(call, InstanceCall) and not _has_padding_row(call)
    return _of_inputs(call, arguments, may_write) or (
        _of_weights(call, arguments) if isinstance(call, InstanceCall) and is_instance else None
    )


def has_own_backward(call: Call) -> bool:
    """Return True for a class with a method of its own for gradients, in place of the library's."""
    is_module = module_library(call.subject.value) is not None if call.is_instance else False
    return call.is_instance and not is_module and any("backward" in vars(base) for base in call.subject.value.__mro__[:-1])  # type: ignore[attr-defined]


def _has_padding_row(call: InstanceCall) -> bool:
    """Return True for an embedding whose row for padding gets no gradient on purpose."""
    instance = next(iter(call.made.values()), None)
    modules = instance.modules() if instance is not None and call.library == "torch" and hasattr(instance, "modules") else ()
    return any(getattr(module, "padding_idx", None) is not None for module in modules)


def _of_inputs(call: Call, arguments: Inputs, may_write: bool) -> Cause | Message | None:
    leaves = [_Leaf(name, _shifted(value, place)) for place, (name, value) in enumerate(_floating(call, arguments))]
    slopes = [_slope(call, arguments, leaves, leaf) for leaf in leaves]
    if _steepest(slopes) < STEEP:
        return None
    try:
        if call.library == "torch":
            gradients = _torch_gradients(call, arguments, leaves, may_write)
        else:
            gradients = _jax_gradients(call, arguments, leaves)
    except Exception as error:
        return _raises(call, error)
    return _compared(call, leaves, slopes, gradients)


SHRINKING = r"\* *(\w+) *\+ *\(1(\.0?)? *- *[\w.]+\) *\* *\1\.detach\(\)"
"""Pattern of the source of a function that makes its gradient smaller on purpose: alpha * x + (1 - alpha) * x.detach()."""

STEEP = 1e-4
"""Slope from which a function depends on its operands."""


def _steepest(slopes: Sequence[Slope | None]) -> float:
    """Return the largest slope that is known, 0 if there is none."""
    return max((abs(slope.value) for slope in slopes if slope is not None), default=0.0)


def _compared(
    call: Call, leaves: Sequence[_Leaf], slopes: Sequence[Slope | None], gradients: Sequence[numpy.ndarray | None]
) -> Cause | Message | None:
    wrong, size = [], _steepest(slopes)
    for leaf, slope, gradient in zip(leaves, slopes, gradients, strict=True):
        if slope is None:
            continue
        along = 0.0 if gradient is None else float((gradient * _direction(leaf)).sum())
        if slope.is_far_from(along, leaf.share * size):
            wrong.append((leaf.name, along, slope.value))
    if not wrong or re.search(SHRINKING, call.subject.own_source):
        return None
    if _is_for_inference(call):
        return FOR_INFERENCE
    names = ", ".join(name for name, _, _ in wrong)
    name, along, expected = wrong[0]
    numbers = {"name": names, "first": name, "along": f"{along:.4g}", "slope": f"{expected:.4g}"}
    if all(along == 0.0 for _, along, _ in wrong):
        return _cause(
            call,
            "gradient_stops",
            TEXTS["no_gradient"].format(**numbers),
            DETACHING,
        )
    return _cause(
        call,
        "gradient_is_wrong",
        TEXTS["wrong_gradient"].format(**numbers),
        DETACHING,
    )


def _is_for_inference(call: Call) -> bool:
    """Return True for code without gradients on purpose; a part of a model whose call method alone has no_grad prevents training."""
    is_module = call.is_instance and module_library(call.subject.value) == "torch"
    return re.search(INFERENCE if is_module else NO_GRAD, call.subject.own_source) is not None


def _raises(call: Call, error: Exception) -> Cause | Message:
    if "backward through the graph a second time" in str(error) and re.search(rf"self\.({NAME})\b", call.subject.used_source):
        return KEEPS_STATE  # the graph of an earlier call is in a buffer
    pattern = r"[-+*/]=|\[.*\]\s*=[^=]|_\(" if re.search("in-?place|modified", str(error), re.IGNORECASE) else DETACHING
    return _cause(
        call,
        "gradient_raises",
        TEXTS["backward_raises"].format(error=describe_error(error, max_chars=200)),
        pattern,
    )


def _cause(call: Call, name: str, says: Message, pattern: str) -> Cause:
    fix = TEXTS["use_differentiable_functions"]
    return Cause(name, says, fix, NO_PROOF, TEXTS["forward_pass_hides"], call.subject.line_of(pattern))


def _floating(call: Call, arguments: Inputs) -> Iterator[tuple[str, numpy.ndarray]]:
    """Yield the floating arguments of the call, without the weights that a class holds."""
    passed = call.construction.forward.role_of if isinstance(call, InstanceCall) else arguments
    for name, value in arguments.items():
        numbers = to_numpy(value) if name in passed and hasattr(value, "dtype") else None
        is_finite = numbers is not None and numbers.dtype.kind == "f" and numbers.size and bool(numpy.isfinite(numbers).all())
        if is_finite and numbers is not None and numpy.abs(numbers).max() < 1e4:  # larger values are additive masks
            yield name, numbers.astype(numpy.float32)


def _shifted(value: numpy.ndarray, place: int) -> numpy.ndarray:
    """Move an input off multiples of 1/16 and off 0, where some functions have a kink, and off the other inputs, which some compare with it."""
    return numpy.asarray(value + numpy.random.default_rng((3, place)).uniform(0.02, 0.04, value.shape), numpy.float32)


def _direction(leaf: _Leaf) -> numpy.ndarray:
    return leaf.unit * numpy.random.default_rng(5).standard_normal(leaf.value.shape)


def _slope(call: Call, arguments: Inputs, leaves: Sequence[_Leaf], moved: _Leaf) -> Slope | None:
    """Return the slope of the weighted outputs along one direction of one input, or None if it is not defined."""

    def at(step: float) -> float:
        values = [replace(leaf, value=leaf.value + (step * _direction(leaf) if leaf is moved else 0.0)) for leaf in leaves]
        return _loss(call.run(arguments | {leaf.name: _array(call, leaf.value) for leaf in values}))

    try:
        return slope_of(at)
    except Exception:  # the function may reject inputs other than the probes
        return None


def _loss(answer: Any) -> float:
    return float(sum((weights_of(output.shape, place) * to_numpy(output)).sum() for place, output in enumerate(floating_arrays(answer))))


def slope_of(at: Callable[[float], float]) -> Slope | None:
    """Return the slope of a loss, or None if full and half steps disagree."""
    middle, ends = at(0.0), [(step, at(step), at(-step)) for step in (STEP_SIZE, STEP_SIZE / 2)]
    whole, half = ((after - before) / (2 * step) for step, after, before in ends)
    if not numpy.isfinite(half) or abs(whole - half) > AGREEMENT * max(abs(whole), abs(half)) + 1e-3:
        return None
    bends = [(after + before - 2 * middle) / step for step, after, before in ends]  # curvature shrinks with the step, a kink does not
    return Slope(half, abs(2 * bends[1] - bends[0]) + 2 * abs(whole - half))


def _array(call: Call, value: numpy.ndarray) -> Any:
    return from_numpy(numpy.asarray(value, numpy.float32), call.library)


def weights_of(shape: Sequence[int], place: int) -> numpy.ndarray:
    """Return the fixed random numbers that weight an output in the loss."""
    return numpy.random.default_rng(7 + place).standard_normal(tuple(shape))


def _torch_gradients(call: Call, arguments: Inputs, leaves: Sequence[_Leaf], may_write: bool) -> list[numpy.ndarray | None]:
    import torch

    held = {leaf.name: _array(call, leaf.value).requires_grad_() for leaf in leaves}
    with torch.enable_grad():
        # In-place changes of a leaf are the learner's mistake; autograd decides about those of intermediate results.
        given = {name: each.clone() for name, each in held.items()} if may_write else held
        return _torch_gradients_of(call.run(arguments | given), list(held.values()))


def _torch_gradients_of(answer: Any, leaves: Sequence[Any]) -> list[numpy.ndarray | None]:
    import torch

    weighted = [
        (torch.from_numpy(weights_of(output.shape, place)).to(output.dtype) * output).sum()
        for place, output in enumerate(floating_arrays(answer))
    ]
    trained = [leaf for leaf in leaves if leaf.requires_grad]
    if not trained or not any(each.requires_grad for each in weighted):
        return [None] * len(leaves)
    for leaf in trained:
        leaf.grad = None
        leaf.retain_grad()
    sum(each for each in weighted if each.requires_grad).backward()  # autograd.grad cannot pass through a checkpoint
    gradients = [leaf.grad if leaf.requires_grad else None for leaf in leaves]
    for leaf in trained:
        leaf.grad = None
    return [None if each is None else to_numpy(each) for each in gradients]


def _of_weights(call: InstanceCall, arguments: Inputs) -> Cause | Message | None:
    """Check the gradients of a module's parameters; for a plain class, those of its tensors, which training makes parameters."""
    if call.library != "torch":
        return None
    import torch

    instance = call.instance_for(arguments)
    slots = [slot for slot in call.weight_slots(instance) if slot.is_parameter]
    leaves = [_Leaf(slot.name, to_numpy(slot.array).copy(), _unit(to_numpy(slot.array)), WEIGHT_SHARE) for slot in slots]

    def at(slot: Slot, leaf: _Leaf, step: float) -> float:
        slot.write(leaf.value + step * _direction(leaf))
        loss = _loss(call.forward(instance, arguments))  # before the write, which changes outputs that are views of the weight
        slot.write(leaf.value)
        return loss

    slopes = [slope_of(partial(at, slot, leaf)) for slot, leaf in zip(slots, leaves, strict=True)]
    if _steepest(slopes) < STEEP:
        return None
    is_module = module_library(call.subject.value) is not None
    plain = [] if is_module else [slot.array for slot in slots if slot.array.is_leaf and not slot.array.requires_grad]
    try:
        for tensor in plain:
            tensor.requires_grad_()
        with torch.enable_grad():
            gradients = _torch_gradients_of(call.forward(instance, arguments), [slot.array for slot in slots])
    except Exception as error:
        return _raises(call, error)
    finally:
        for tensor in plain:
            tensor.requires_grad_(False)
    return _compared(call, leaves, slopes, gradients)


def _unit(values: numpy.ndarray) -> float:
    """Return the root mean square, or 1 if all numbers are 0."""
    return float(numpy.sqrt((values.astype(numpy.float64) ** 2).mean())) or 1.0


def _jax_gradients(call: Call, arguments: Inputs, leaves: Sequence[_Leaf]) -> list[numpy.ndarray | None]:
    import jax

    def loss(values: list[Any]) -> Any:
        outputs = floating_arrays(call.run(arguments | dict(zip([leaf.name for leaf in leaves], values, strict=True))))
        return sum(
            ((weights_of(output.shape, place).astype(numpy.float32) * output).sum() for place, output in enumerate(outputs)), start=0.0
        )

    differentiate: Callable[..., Any] = jax.grad(loss)
    return [to_numpy(each) for each in differentiate([_array(call, leaf.value) for leaf in leaves])]
