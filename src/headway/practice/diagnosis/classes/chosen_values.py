"""Values of parameters and config fields that have no role, chosen by the code that reads them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import cache
from importlib import import_module
from typing import Any

from headway.practice.diagnosis.calls.rotation import UNROTATED
from headway.practice.diagnosis.calls.wording import NOTHING, is_dropout, neutral_value, snake
from headway.practice.diagnosis.classes.chosen_texts import chosen_texts
from headway.practice.diagnosis.classes.flax_modules import FlaxHolder, random_keys
from headway.practice.diagnosis.classes.no_effect import without_effect
from headway.practice.diagnosis.classes.slots import module_library
from headway.practice.diagnosis.classes.state_dict import PLACE, StateDict, given_weights, reads_state_dict
from headway.practice.diagnosis.classes.submodules import given_linears
from headway.practice.diagnosis.classes.unknown_sizes import unknown_sizes
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.exercise import Exercise
from headway.practice.names import fitting

ACTIVATIONS = ("gelu", "relu", "silu", "swish")
"""Names of activations in settings."""


OF_ACTIVATION = r"(^|_)act(ivation)?(_|$)"
"""Pattern of the names of settings that name an activation."""


def settings_meant(subject: Subject, name: str, sizes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a config that are no sizes of the part and that the file's code shows the values of: the scale, an activation."""
    powers, named = _settings_in(subject.file_source, name)
    scales = {field: sizes["head_dim"] ** power for field, power in powers.items()} if "head_dim" in sizes else {}
    return {**unknown_sizes(subject.file_source, name), **scales, **named}


@cache
def _settings_in(source: str, name: str) -> tuple[dict[str, float], dict[str, str]]:
    """Return the power of the head width that each scale in a config is, and the activation that each field for one names.

    A scale is a field that a class stores: a root if the file divides by it, else its reciprocal.
    """
    stored = re.search(rf"self\.(\w+) *= *{re.escape(name)}\.(\w*scale)\b", source)
    is_divisor = stored is not None and re.search(rf"/ *self\.{stored[1]}\b", source) is not None
    powers = {} if stored is None else {stored[2]: 0.5 if is_divisor else -0.5}
    activation = next((each for each in ACTIVATIONS if re.search(rf"['\"]{each}['\"]|\bACT2FN\b", source)), None)
    looked_up = re.findall(rf"getattr\([\w.]+, *(?:self\.)?{re.escape(name)}\.(\w+)\)(\(\))?", source)
    in_library = {field: "ReLU" if made else "relu" for field, made in looked_up if re.search(OF_ACTIVATION, field)}
    fields = [] if activation is None else re.findall(rf"\b{re.escape(name)}(?:\.|\[['\"])(\w+)", source)
    return powers, {field: activation for field in fields if activation and re.search(OF_ACTIVATION, field)} | in_library


def chosen_values(parameters: Sequence[inspect.Parameter], subject: Subject, exercise: Exercise) -> dict[str, Any]:
    """Return values for the parameters of a constructor that are no sizes: keys, weights, layers, texts, what has no effect."""
    values = random_keys(parameters, subject) | state_dicts(parameters, subject) | given_weights(parameters, subject, exercise)
    values |= chosen_texts(parameters, subject, exercise) | initializers(parameters, subject) | implementations(parameters, subject)
    values |= without_effect(parameters, subject, exercise)
    if exercise.name in OF_PROJECTIONS and module_library(subject.value) == "torch":
        values |= given_linears(subject)
    return values


OF_PROJECTIONS = ("multi_head_attention", "self_attention")
"""Exercises whose classes may be given their linear layers, which keep the width."""


OF_IMPLEMENTATION = r"backend|impl(ementation)?$|kernel|engine"
"""Pattern of the names of choices between implementations that compute the same."""


def implementations(parameters: Sequence[inspect.Parameter], subject: Subject) -> dict[str, Any]:
    """Return for each parameter that chooses between implementations the first of an enumeration, or the text that means the usual one."""
    chosen = [each for each in parameters if each.default is each.empty and re.search(OF_IMPLEMENTATION, snake(each.name))]
    kinds = {each.name: getattr(subject.module, str(getattr(each.annotation, "__name__", each.annotation)), None) for each in chosen}
    listed = {name: next(iter(kind)) for name, kind in kinds.items() if inspect.isclass(kind) and issubclass(kind, Enum)}
    usual = {each.name: _usual_kind(each.name, subject.own_source) for each in parameters if each.default is each.empty}
    return {name: text for name, text in usual.items() if text is not None} | listed


USUAL = r"exact|standard|full|vanilla|plain|dense|default|softmax|(scaled_?)?dot(_?product)?|eager|naive"
"""Pattern of the texts that mean a part without changes among those that a required parameter is compared with."""


@cache
def _usual_kind(name: str, source: str) -> str | None:
    """Return the first of the texts that a source compares a parameter with and that means the usual form of a part; None without one."""
    compared = re.findall(rf"(?<![\w.])(?:self\.)?{re.escape(name)}(?:\.lower\(\))? *(?:==|(?:not +)?in\b) *([^\n:]*)", source)
    return next((text for text in re.findall(r"['\"](\w+)['\"]", " ".join(compared)) if re.fullmatch(USUAL, text, re.IGNORECASE)), None)


def state_dicts(parameters: Sequence[inspect.Parameter], subject: Subject) -> dict[str, Any]:
    """Return the parameters for a dict of weights by name, and for the number of the layer that it is read at, with values."""
    dicts = {each.name: StateDict() for each in parameters if each.default is each.empty and reads_state_dict(each.name, subject)}
    return {**dicts, **{each.name: PLACE for each in parameters if dicts and re.fullmatch(r"(layer|block)_?(id|idx|index|num)", each.name)}}


def initializers(parameters: Sequence[inspect.Parameter], subject: Subject) -> dict[str, Any]:
    """Return the required fields for initializers of a module of Flax, with one."""
    if not (inspect.isclass(subject.value) and issubclass(subject.value, FlaxHolder)):
        return {}
    names = [each.name for each in parameters if each.default is each.empty and re.search(r"(^|_)init(ializer)?$", each.name)]
    return {name: import_module("jax").nn.initializers.normal() for name in names}


OF_POSITIONS = r"pos(ition)?(al)?_?(emb(ed(ding)?)?|enc(od(ing|er))?)s?"
"""Pattern of the name of a layer of positions, which an attention that is given one applies to its queries and keys."""


def value_by_name(parameter: inspect.Parameter) -> Any:
    """Return the value that a parameter without a role takes by its name, or a rotation by 0 for one whose annotation is a class that rotates.

    A layer of positions of any class is one that rotates.
    """
    value = neutral_value(parameter.name)
    is_rotation = fitting(_kind(parameter))[0][:1] == ("rotary",)
    is_of_positions = is_layer(parameter) and re.fullmatch(OF_POSITIONS, snake(parameter.name)) is not None
    return UNROTATED if value is NOTHING and (is_rotation or is_of_positions) else value


def _kind(parameter: inspect.Parameter) -> str:
    """Return the name of the class of a parameter's annotation, or an empty text."""
    annotation = parameter.annotation
    return (annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")).partition("|")[0].strip()


def is_layer(parameter: inspect.Parameter) -> bool:
    """Return True for a parameter whose annotation says that it is a module."""
    return _kind(parameter).rpartition(".")[2] == "Module"


def is_rate_of_dropout(parameter: inspect.Parameter, subject: Subject) -> bool:
    """Return True for a parameter that is a rate of dropout, not a flag, nor a layer that the class may call if it is not None."""
    if not is_dropout(parameter.name) or isinstance(parameter.default, bool):
        return False
    is_rate = rf"Dropout\([^)\n]*\b{parameter.name}\b|\b{parameter.name}\b *>|=(self\.)?{parameter.name}\b"
    return parameter.default is not None or re.search(is_rate, subject.own_source) is not None
