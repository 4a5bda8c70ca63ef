"""Gradients of a right function, in the libraries that train: against the slope of its own answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy

from headway.arrays import from_numpy, to_numpy
from headway.practice.diagnosis.calling import Call
from headway.practice.diagnosis.compare import floating_arrays
from headway.practice.diagnosis.instances import InstanceCall
from headway.practice.diagnosis.slots import Slot
from headway.practice.exercise import Inputs
from headway.practice.message import Message
from headway.practice.verdict import Cause

LIBRARIES = ("torch", "jax")
STEP = 2.0**-7
"""How far inputs are moved to see the slope, in float32."""

AGREES = 0.01
"""How near two slopes must be, from a whole and from half a step, to say what the slope is: beside a kink they are not."""

DIFFERS = 0.05
"""How far a gradient may be from the slope, relative to the largest of the slopes of all inputs."""

WEIGHT_SHARE = 0.02
"""Weights differ in what they matter: the gradient of each is measured against its own slope, down to this share of the largest."""

MEANT_TO = r"no_grad|inference_mode"
LEAVES = r"detach|\.data\b|\.item\(|\.numpy\(|np\.|numpy\.|torch\.tensor\(|stop_gradient|\.tolist\("
FOR_INFERENCE = Message(
    "it computes no gradients (no_grad): right for inference, not for training", "它不计算梯度（no_grad）：可用于推理，不能用于训练"
)
NOWHERE = Message("", "")


@dataclass(frozen=True)
class _Leaf:
    """An input or a weight that a gradient is asked of.

    name    as the learner calls it
    unit    how long a step is
    share   of the largest of all slopes: what is shorter is measured against that
    """

    name: str
    value: numpy.ndarray
    unit: float = 1.0
    share: float = 1.0


def gradient_cause(call: Call, encoded: Inputs) -> Cause | Message | None:
    """What is wrong with the gradients at these inputs, or what is to be said of them; None where nothing is.

    The answers must be right already: their slope then is that of the definition, under whatever convention.
    """
    if call.library not in LIBRARIES:
        return None
    arguments = call.arguments(encoded)
    return _of_inputs(call, arguments) or (_of_weights(call, arguments) if isinstance(call, InstanceCall) else None)


def _of_inputs(call: Call, arguments: Inputs) -> Cause | Message | None:
    leaves = [_Leaf(name, _off_the_grid(value)) for name, value in _floating(call, arguments)]
    slopes = [_slope(call, arguments, leaves, leaf) for leaf in leaves]
    known = [(leaf, slope) for leaf, slope in zip(leaves, slopes, strict=True) if slope is not None]
    size = max((abs(slope) for _, slope in known), default=0.0)
    if size < 1e-4:
        return None
    try:
        gradients = {"torch": _torch_gradients, "jax": _jax_gradients}[call.library](call, arguments, leaves)
    except Exception as error:
        return _raises(call, error)
    return _compared(call, known, dict(zip([leaf.name for leaf in leaves], gradients, strict=True)), size)


def _compared(
    call: Call, known: Sequence[tuple[_Leaf, float]], gradients: dict[str, numpy.ndarray | None], size: float
) -> Cause | Message | None:
    wrong = []
    for leaf, slope in known:
        gradient = gradients[leaf.name]
        along = 0.0 if gradient is None else float((gradient * _direction(leaf)).sum())
        if not abs(along - slope) <= DIFFERS * max(abs(along), abs(slope), leaf.share * size):
            wrong.append((leaf.name, along, slope))
    if not wrong:
        return None
    if re.search(MEANT_TO, "\n".join(call.subject.source)):
        return FOR_INFERENCE
    names = ", ".join(name for name, _, _ in wrong)
    name, along, slope = wrong[0]
    numbers = {"name": names, "first": name, "along": f"{along:.4g}", "slope": f"{slope:.4g}"}
    if all(along == 0.0 for _, along, _ in wrong):
        return _cause(
            call,
            "gradient_stops",
            Message(
                "its answers are right, but no gradient reaches {name}: along one direction the loss rises by {slope} per unit of {first}, "
                "and its gradient says 0",
                "结果正确，但梯度传不到 {name}：沿某一方向，{first} 每变化一个单位损失变化 {slope}，而它的梯度是 0",
            ).format(**numbers),
            LEAVES,
        )
    return _cause(
        call,
        "gradient_is_wrong",
        Message(
            "its answers are right, its gradients are not: along one direction the loss rises by {slope} per unit of {first}, "
            "and its gradient says {along}",
            "结果正确，梯度不对：沿某一方向，{first} 每变化一个单位损失变化 {slope}，而它的梯度给出 {along}",
        ).format(**numbers),
        LEAVES,
    )


def _raises(call: Call, error: Exception) -> Cause:
    first = str(error).strip().splitlines()[0] if str(error).strip() else ""
    said = f"{type(error).__name__}: {first[:200]}"
    pattern = r"[-+*/]=|\[.*\]\s*=[^=]|_\(" if re.search("in-?place|modified", str(error), re.IGNORECASE) else LEAVES
    return _cause(
        call,
        "gradient_raises",
        Message(f"its answers are right, but it cannot be trained through: {said}", f"结果正确，但无法通过它反向传播：{said}"),
        pattern,
    )


def _cause(call: Call, name: str, says: Message, pattern: str) -> Cause:
    fix = Message(
        "stay in the library's own differentiable functions from input to answer: no .detach(), .data, .item(), .numpy(), np.…, "
        "torch.tensor(x) of a tensor, and no change in place",
        "从输入到结果都使用该库可求导的函数：不要用 .detach()、.data、.item()、.numpy()、np.…，不要对张量再用 torch.tensor(x)，也不要原地修改",
    )
    return Cause(name, says, fix, NOWHERE, Message("without training nothing shows it", "不训练时看不出来"), call.subject.line_of(pattern))


def _floating(call: Call, arguments: Inputs) -> Iterator[tuple[str, numpy.ndarray]]:
    """The arguments that a gradient can be asked of: what a class holds is no argument of its own."""
    passed = call.making.forward.role_of if isinstance(call, InstanceCall) else arguments
    for name, value in arguments.items():
        numbers = to_numpy(value) if name in passed and hasattr(value, "dtype") else None
        is_finite = numbers is not None and numbers.dtype.kind == "f" and numbers.size and bool(numpy.isfinite(numbers).all())
        if is_finite and numbers is not None and numpy.abs(numbers).max() < 1e4:  # no mask that is added
            yield name, numbers.astype(numpy.float32)


def _off_the_grid(value: numpy.ndarray) -> numpy.ndarray:
    """Probes hold sixteenths, and some functions have a kink at 0."""
    return numpy.asarray(value + numpy.random.default_rng(3).uniform(0.02, 0.04, value.shape), numpy.float32)


def _direction(leaf: _Leaf) -> numpy.ndarray:
    return leaf.unit * numpy.random.default_rng(5).standard_normal(leaf.value.shape)


def _slope(call: Call, arguments: Inputs, leaves: Sequence[_Leaf], moved: _Leaf) -> float | None:
    """How the answers, weighted, change along a direction of one input; None where that cannot be said."""

    def at(step: float) -> float:
        values = [replace(leaf, value=leaf.value + (step * _direction(leaf) if leaf is moved else 0.0)) for leaf in leaves]
        return _loss(call.run(arguments | {leaf.name: _array(call, leaf.value) for leaf in values}))

    try:
        return _slope_of(at)
    except Exception:  # it was asked off the probes' grid, where it may refuse
        return None


def _loss(answer: Any) -> float:
    return float(sum((_weights(output.shape, place) * to_numpy(output)).sum() for place, output in enumerate(floating_arrays(answer))))


def _slope_of(at: Callable[[float], float]) -> float | None:
    """How a loss changes with a step; None where a whole and half a step do not agree on it."""
    whole, half = ((at(step) - at(-step)) / (2 * step) for step in (STEP, STEP / 2))
    return half if numpy.isfinite(half) and abs(whole - half) <= AGREES * max(abs(whole), abs(half)) + 1e-3 else None


def _array(call: Call, value: numpy.ndarray) -> Any:
    return from_numpy(numpy.asarray(value, numpy.float32), call.library)


def _weights(shape: Sequence[int], place: int) -> numpy.ndarray:
    return numpy.random.default_rng(7 + place).standard_normal(tuple(shape))


def _torch_gradients(call: Call, arguments: Inputs, leaves: Sequence[_Leaf]) -> list[numpy.ndarray | None]:
    import torch

    held = {leaf.name: _array(call, leaf.value).requires_grad_() for leaf in leaves}
    with torch.enable_grad():
        # A learner may not change a leaf in place; what is computed from one may be, where autograd allows it.
        return _torch_gradients_of(call.run(arguments | held), list(held.values()))


def _torch_gradients_of(answer: Any, leaves: Sequence[Any]) -> list[numpy.ndarray | None]:
    import torch

    weighted = [
        (torch.from_numpy(_weights(output.shape, place)).to(output.dtype) * output).sum()
        for place, output in enumerate(floating_arrays(answer))
    ]
    trained = [leaf for leaf in leaves if leaf.requires_grad]
    if not trained or not any(each.requires_grad for each in weighted):
        return [None] * len(leaves)
    found = iter(torch.autograd.grad(sum(each for each in weighted if each.requires_grad), trained, allow_unused=True))
    gradients = [next(found) if leaf.requires_grad else None for leaf in leaves]
    return [None if each is None else to_numpy(each) for each in gradients]


def _of_weights(call: InstanceCall, arguments: Inputs) -> Cause | Message | None:
    """The same for what a class of torch holds in parameters; what it holds otherwise no optimiser would find, which is said elsewhere."""
    if call.library != "torch":
        return None
    import torch

    instance = call.instance_for(arguments)
    slots = [slot for slot in call.held_by(instance) if slot.is_parameter]
    leaves = [_Leaf(slot.name, to_numpy(slot.array).copy(), _unit(to_numpy(slot.array)), WEIGHT_SHARE) for slot in slots]

    def at(slot: Slot, leaf: _Leaf, step: float) -> float:
        slot.write(leaf.value + step * _direction(leaf))
        answer = call.forward(instance, arguments)
        slot.write(leaf.value)
        return _loss(answer)

    slopes = [_slope_of(partial(at, slot, leaf)) for slot, leaf in zip(slots, leaves, strict=True)]
    known = [(leaf, slope) for leaf, slope in zip(leaves, slopes, strict=True) if slope is not None]
    size = max((abs(slope) for _, slope in known), default=0.0)
    if size < 1e-4:
        return None
    try:
        with torch.enable_grad():
            gradients = _torch_gradients_of(call.forward(instance, arguments), [slot.array for slot in slots])
    except Exception as error:
        return _raises(call, error)
    return _compared(call, known, dict(zip([leaf.name for leaf in leaves], gradients, strict=True)), size)


def _unit(values: numpy.ndarray) -> float:
    """How large numbers are; 1 where they are all 0."""
    return float(numpy.sqrt((values.astype(numpy.float64) ** 2).mean())) or 1.0


def _jax_gradients(call: Call, arguments: Inputs, leaves: Sequence[_Leaf]) -> list[numpy.ndarray | None]:
    import jax

    def loss(values: list[Any]) -> Any:
        outputs = floating_arrays(call.run(arguments | dict(zip([leaf.name for leaf in leaves], values, strict=True))))
        return sum(
            ((_weights(output.shape, place).astype(numpy.float32) * output).sum() for place, output in enumerate(outputs)), start=0.0
        )

    differentiate: Callable[..., Any] = jax.grad(loss)
    return [to_numpy(each) for each in differentiate([_array(call, leaf.value) for leaf in leaves])]
