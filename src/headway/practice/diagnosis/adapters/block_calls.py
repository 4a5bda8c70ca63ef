"""Calls of GPT-2's block as a class: a probe's dicts of weights are converted to single weights."""

from __future__ import annotations

import inspect
from dataclasses import fields, replace
from typing import Any

import numpy

from headway.practice.diagnosis.adapters.layers import layer_calls
from headway.practice.diagnosis.calls.calling import Call, function_calls
from headway.practice.diagnosis.classes.instances import InstanceCall
from headway.practice.diagnosis.classes.params import as_class
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.exercise import Exercise, Inputs, Role
from headway.practice.recipes import projections
from headway.practice.recipes.layers import SIZES, weight_roles


def flat(inputs: Inputs) -> Inputs:
    """Return the weights of a block as single arrays (out, in), without biases of zero; inputs in this form are unchanged."""
    if "attn" not in inputs:
        return inputs
    attention, feed_forward = inputs["attn"], inputs["mlp"]
    queries = {
        f"{part}_{kind}": each.T
        for kind, array in (("weight", attention["c_attn"]["w"]), ("bias", attention["c_attn"]["b"]))
        for part, each in zip(projections.PARTS, numpy.split(array, 3, -1), strict=False)
    }
    layers = {"output": attention["c_proj"], "up": feed_forward["c_fc"], "down": feed_forward["c_proj"]}
    held = queries | {f"{name}_{kind}": layer[kind[0]].T for name, layer in layers.items() for kind in ("weight", "bias")}
    norms = {"norm_1": inputs["ln_1"], "norm_2": inputs["ln_2"]}
    held |= {f"{name}_{kind}": norm[key] for name, norm in norms.items() for kind, key in (("weight", "g"), ("bias", "b"))}
    held = {name: value for name, value in held.items() if not name.endswith("bias") or value.any()}
    rest = {name: value for name, value in inputs.items() if name not in ("attn", "mlp", "ln_1", "ln_2")}
    return rest | held


class BlockCall(InstanceCall):
    """A class called with the weights of a block as single arrays."""

    def arguments(self, inputs: Inputs) -> dict[str, Any]:
        """Return the arguments, as in InstanceCall."""
        return super().arguments(flat(inputs))

    def sizes(self, inputs: Inputs) -> Inputs:
        """Return the sizes, as in InstanceCall."""
        return super().sizes(flat(inputs))

    def fits(self, inputs: Inputs) -> bool:
        """Return True if the class takes these inputs, as in InstanceCall."""
        return super().fits(flat(inputs))


def block_calls(subject: Subject, exercise: Exercise, library: str) -> list[Call]:
    """Return the ways to call a block; none for a class with a mask, which need not be causal: that is an encoder layer."""
    subject = as_class(subject, library) or subject
    if not inspect.isclass(subject.value):
        return function_calls(subject, exercise, library)
    roles = (
        Role("x", projections.SEQUENCE.called),
        Role("mask", ("attn_mask", "attention_mask", "src_mask", "padding_mask")),
        *weight_roles(("",)),
        Role("num_heads", projections.NUM_HEADS.called, size_of=lambda inputs: inputs["num_heads"]),
        *SIZES,
    )

    def probes() -> Any:
        return tuple(replace(probe, inputs=flat(probe.inputs)) for probe in exercise.probes())

    own = replace(exercise, roles=roles, probes=probes, fused=projections.FUSED)
    calls = [call for call in layer_calls(subject, own, library) if isinstance(call, InstanceCall) and not call.binding.takes("mask")]
    return [BlockCall(**{field.name: getattr(call, field.name) for field in fields(call)}) for call in calls]
