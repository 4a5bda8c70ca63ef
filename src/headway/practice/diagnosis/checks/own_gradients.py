"""Check of gradients that a learner computes by hand: a class's own `backward`, and tensors of the file's own."""

from __future__ import annotations

import inspect
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy

from headway.arrays import to_numpy
from headway.practice.diagnosis.calls.calling import Call
from headway.practice.diagnosis.calls.compare import as_numbers, floating_arrays
from headway.practice.diagnosis.calls.own_tensors import OWN, VALUES, kept, wrapped
from headway.practice.diagnosis.checks.gradients import has_own_backward, slope_of, weights_of
from headway.practice.diagnosis.classes.instances import InstanceCall
from headway.practice.diagnosis.classes.slots import GRADIENTS, Slot, slots_of
from headway.practice.exercise import Inputs
from headway.practice.message import EMPTY, Message
from headway.practice.texts import Texts
from headway.practice.verdict import Cause

TEXTS = Texts("diagnosis")

OWN_BACKWARD = TEXTS["own_backward"]
OWN_GRADIENTS = TEXTS["own_gradients"]


def own_gradient_cause(call: Call, choices: Sequence[Inputs]) -> Cause | Message | None:
    """Return a cause or note about gradients that the learner's own code computes; None if they are correct or there are none.

    choices   encoded inputs, the richest first; those count for which the learner's code computes gradients, without options if possible:
              `backward` may keep to the defaults
    """
    is_of_tensors = call.library in OWN
    if hasattr(call.subject.value, "__headway_run__"):
        with suppress(Exception):  # its context or its tensors may have more
            return _of_context(call, choices[0])
        return OWN_BACKWARD
    if not is_of_tensors and not (isinstance(call, InstanceCall) and has_own_backward(call)):
        return None

    def compared(encoded: Inputs) -> Cause | Message | None:
        return _of_backward(call, encoded) if isinstance(call, InstanceCall) and not is_of_tensors else _of_tensors(call, encoded)

    for encoded in sorted(choices, key=lambda each: _num_options(each, choices)):
        with suppress(Exception):  # backward may need inputs of two axes, or follow another protocol
            found = compared(encoded)
            if isinstance(found, Cause) and isinstance(call, InstanceCall):
                with suppress(Exception):
                    found = compared(_as_batch(call, encoded))
            return found
    return OWN_GRADIENTS if is_of_tensors else OWN_BACKWARD


def _of_context(call: Call, encoded: Inputs) -> Cause | Message | None:
    """Compare what `backward` of a function with a context returns for each operand with the slopes of `forward`."""
    arguments, run = call.arguments(encoded), call.subject.value.__headway_run__  # type: ignore[attr-defined]
    values = {name: to_numpy(each) for name, each in arguments.items() if _is_floating(each)}
    answer, backward = run(**arguments)
    weights = weights_of(answer.shape, 0)
    returned = backward(call.array(weights))
    gradients = returned if isinstance(returned, tuple) else (returned,)
    for name, gradient in zip([each.name for each in call.subject.parameters], gradients, strict=False):
        if name not in values or gradient is None:
            continue
        if to_numpy(gradient).shape != values[name].shape:
            return OWN_BACKWARD

        def loss(moved: numpy.ndarray, name: str = name) -> float:
            return float((weights * to_numpy(run(**arguments | {name: call.array(moved)})[0])).sum())

        wrong = _wrong(call, name, to_numpy(gradient), values[name], loss)
        if wrong is not None:
            return wrong
    return None


def _as_batch(call: InstanceCall, encoded: Inputs) -> Inputs:
    """Return the inputs with an axis in front of each matrix that the call method takes: `backward` may need a batch."""
    names = [role.name for role in call.construction.forward.role_of.values()]
    matrices = {name: encoded[name] for name in names if getattr(encoded.get(name), "ndim", 0) == 2}
    return encoded | {name: numpy.stack([each, each[::-1]]) for name, each in matrices.items()}


def _num_options(encoded: Inputs, choices: Sequence[Inputs]) -> int:
    """Return the number of numbers in inputs that other inputs leave to their defaults, such as an axis."""
    return sum(type(value) in (int, float) and any(name not in each for each in choices) for name, value in encoded.items())


def _of_backward(call: InstanceCall, encoded: Inputs) -> Cause | Message | None:
    """Compare backward(gradient of the output) with the slopes of forward."""
    backward = call.subject.value.backward  # type: ignore[attr-defined]
    needed = [each for each in list(inspect.signature(backward).parameters.values())[1:] if each.default is each.empty]
    arguments = call.arguments(encoded)
    operands = [name for name in call.construction.forward.role_of if _is_array(arguments.get(name))]
    if len(needed) != 1 or not operands:
        return OWN_BACKWARD
    instance, random = call.instance_for(arguments), numpy.random.default_rng(3)
    values = {name: to_numpy(arguments[name]) for name in operands}
    values = {
        name: each.astype(numpy.float64) + random.uniform(0.02, 0.04, each.shape) if _is_floating(each) else each
        for name, each in values.items()
    }

    def loss(name: str, value: numpy.ndarray) -> float:
        given = {**values, name: value}
        (answer,) = floating_arrays(call.forward(instance, arguments | {each: call.array(given[each]) for each in given}))
        return float((weights_of(answer.shape, 0) * to_numpy(answer)).sum())

    (answer,) = floating_arrays(call.forward(instance, arguments | {name: call.array(each) for name, each in values.items()}))
    given = weights_of(answer.shape, 0)
    masks = {name for name, role in call.construction.forward.role_of.items() if role.name.endswith("mask")}
    moved = {name: each for name, each in values.items() if _is_floating(each) and name not in masks}
    found = _of_operands(instance.backward(call.array(given)), moved)
    if found is None or any(each.shape == given.shape and numpy.allclose(each, given) for each in found.values()):
        return OWN_BACKWARD  # left to the loss, or to the caller
    held = slots_of(instance, call.subject.value.__module__, with_gradients=True)
    causes = (_wrong(call, name, each, values[name], partial(loss, name)) for name, each in found.items())
    gradients = [(slot, _gradient_of(slot, held)) for slot in call.weight_slots(instance)]
    known = [(slot, gradient.copy()) for slot, gradient in gradients if gradient is not None]
    first = operands[0]
    of_weights = (_wrong_weight(call, slot, gradient, values[first], partial(loss, first)) for slot, gradient in known)
    wrong = next(filter(None, itertools.chain(causes, of_weights)), None)
    return wrong or (OWN_BACKWARD if len(known) < len(gradients) else None)


def _of_operands(returned: Any, operands: Mapping[str, numpy.ndarray]) -> dict[str, numpy.ndarray] | None:
    """Return the gradient of each operand among what `backward` returned; None if it has another form."""
    if not operands:  # ids of tokens
        return {}
    arrays = _arrays(returned)
    if len(operands) == 1:
        shape = next(iter(operands.values())).shape
        arrays = [each for each in arrays if each.shape == shape][:1]
    if [each.shape for each in arrays] != [each.shape for each in operands.values()]:
        return None
    return dict(zip(operands, arrays, strict=True))


def _wrong_weight(
    call: Call, slot: Slot, gradient: numpy.ndarray, x: numpy.ndarray, loss: Callable[[numpy.ndarray], float]
) -> Cause | None:
    """Return the cause of a weight's wrong gradient; it may be averaged over the rows."""
    before = to_numpy(slot.array).copy()

    def moved(value: numpy.ndarray) -> float:
        slot.write(value)
        found = loss(x)
        slot.write(before)
        return found

    causes = [_wrong(call, slot.name, gradient * factor, before, moved) for factor in (1, len(x), x.size // x.shape[-1])]
    return causes[0] if all(causes) else None


def _wrong(call: Call, name: str, gradient: numpy.ndarray, value: numpy.ndarray, loss: Callable[[numpy.ndarray], float]) -> Cause | None:
    direction = numpy.random.default_rng(5).standard_normal(value.shape)
    slope = slope_of(lambda step: loss(value + step * direction))
    along = float((gradient * direction).sum())
    if slope is None or not slope.is_far_from(along, 1e-3):
        return None
    says = TEXTS["wrong_backward"].format(first=name, along=f"{along:.4g}", slope=f"{slope.value:.4g}")
    return Cause("gradient_is_wrong", says, TEXTS["fix_backward"], EMPTY, line=call.subject.line_of(r"def _?backward"))


def _gradient_of(slot: Slot, held: Sequence[Slot]) -> numpy.ndarray | None:
    """Return the array whose name is that of a weight's gradient: dW, W_grad, grads["W"], or of the same place: params[0], grads[0]."""
    if (last := slot.name.rpartition(".")[2]).isdigit():
        places = {re.sub(r"\bparams\b", name, slot.name) for name in GRADIENTS}
        found = next((each for each in held if each.name in places and each.name != slot.name and each.shape == slot.shape), None)
        return None if found is None else to_numpy(found.array)
    key = re.escape(last)
    pattern = rf"(^|\.)(d_?{key}|{key}_?grad(ient)?|grad(ient)?_?{key})$|grads?(ients)?\.{key}$"
    fitting = [each for each in held if re.search(pattern, each.name, re.IGNORECASE) and each.shape == slot.shape]
    near = [each for each in fitting if each.name.startswith(slot.name.removesuffix(last))] or fitting
    return to_numpy(near[0].array) if len(near) == 1 else None


def _of_tensors(call: Call, encoded: Inputs) -> Cause | Message | None:
    """Compare the `grad` of the operands after `backward` of a weighted sum of the outputs with the slopes of the function."""
    arrays = {name: encoded[role.name] for name, role in call.binding.role_of.items() if _is_floating(encoded.get(role.name))}
    arguments = call.arguments(encoded)
    made = {name: wrapped(value, call.subject, call.library) for name, value in arrays.items()}
    if call.is_instance or not any(hasattr(each, "backward") for value in made.values() for each in _leaves(value)):
        return None if not call.is_instance else OWN_GRADIENTS

    def run(values: dict[str, Any]) -> Any:
        return call.run(arguments | values)

    def loss(changed: dict[str, numpy.ndarray]) -> float:
        answer = numpy.asarray(as_numbers(run({name: wrapped(value, call.subject, call.library) for name, value in changed.items()})))
        return float((weights_of(answer.shape, 0) * answer).sum())

    answer = run(made)
    weighted = numpy.asarray(as_numbers(answer))
    total = _total(answer, weights_of(weighted.shape, 0), call)
    if numpy.size(kept(total)) != 1:
        return OWN_GRADIENTS
    total.backward()
    for name, value in arrays.items():
        gradient = numpy.asarray([each.grad for each in _leaves(made[name])], dtype=numpy.float64).reshape(value.shape)
        wrong = _wrong(call, name, gradient, value, lambda moved, name=name: loss(arrays | {name: moved}))  # type: ignore[misc]
        if wrong is not None:
            return wrong
    return None


def _total(answer: Any, weights: numpy.ndarray, call: Call) -> Any:
    """Return the weighted sum of the outputs as one tensor of the learner's."""
    if call.library != VALUES:
        return (answer * wrapped(weights, call.subject, call.library)).sum()
    leaves = list(_leaves(answer))
    terms = [leaf * float(weight) for leaf, weight in zip(leaves, weights.reshape(-1), strict=True)]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple):
        for each in value:
            yield from _leaves(each)
    else:
        yield value


def _arrays(returned: Any) -> list[numpy.ndarray]:
    parts = returned if isinstance(returned, list | tuple) else [returned]
    return [to_numpy(each) for each in parts if hasattr(each, "dtype") and hasattr(each, "shape")]


def _is_floating(value: Any) -> bool:
    return _is_array(value) and to_numpy(value).dtype.kind == "f"


def _is_array(value: Any) -> bool:
    return hasattr(value, "dtype") and hasattr(value, "shape") and to_numpy(value).ndim > 0
