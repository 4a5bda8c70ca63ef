"""Readings of the method of a class that computes its part: the role of each parameter."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy

from headway.practice.diagnosis.calls.binding import NO_EFFECT, OF_SOURCE, Binding, bind_call, fits_name, masks_by_use
from headway.practice.diagnosis.classes.flax_modules import random_keys
from headway.practice.diagnosis.classes.no_effect import is_only_tested
from headway.practice.diagnosis.classes.shown import shown_operands
from headway.practice.diagnosis.classes.usages import Usage
from headway.practice.diagnosis.reading.subject import DOCSTRING, Subject, parameters_of, parsed
from headway.practice.diagnosis.reading.trees import is_of_self, parameters_in
from headway.practice.exercise import MISSING, Inputs, Role


def call_binding(subject: Subject, method: str, roles: Sequence[Role], examples: Sequence[Usage], style: int = 0) -> Binding | None:
    """Return the roles of a method's parameters, by their names, by the file's examples, and by position."""
    every = call_parameters(subject, method)
    keys = {} if any(each.name.lower() in OF_ATTENTION for each in every) else random_keys(every, subject)
    keys |= {each.name: False for each in every if _is_mode(each, roles, subject)}
    sides = _sides_of_image(every)
    parameters = [
        each for each in every if each.name not in {*keys, *sides} and not (is_optional_bias(each) or _is_optional_dict(each, subject))
    ]
    roles = [role for role in roles if not (role.is_size and _is_array_of_its_name(parameters, role, subject))]
    shown = shown_operands(examples, parameters, roles) | masks_by_use(subject, parameters, roles)
    left = [role for role in roles if role not in shown.values()]
    source = subject.own_source
    parts = [each.name for each in parameters if re.search(rf"(?<![\w.])(?<!def ){re.escape(each.name)}\(", _calling_source(each, subject))]
    called = bind_call([each for each in parameters if each.name not in shown], left, style, parts, subject.mask_flags)
    if called is None:
        called, shown = bind_call(parameters, roles, style, parts, subject.mask_flags), {}
    if called is None:
        return None
    role_of = {**called.role_of, **shown, **{name: Role(f"{NO_EFFECT}{name}", neutral=key) for name, key in keys.items()}, **sides}
    role_of |= _own_mask(role_of, roles, source)
    code = re.sub(DOCSTRING, "", subject.code)
    role_of |= _two_masks(parameters, role_of, code)
    role_of |= {each.name: replace(role_of[each.name], neutral=None) for each in parameters if _may_be_left_out(each, role_of, code)}
    return Binding({each.name: role_of[each.name] for each in every if each.name in role_of})


def _is_array_of_its_name(parameters: Sequence[inspect.Parameter], size: Role, subject: Subject) -> bool:
    """Return True if the only operand of a call has the name of a size, which the constructor takes too: `forward(self, in_features: Tensor)`."""
    required = [each for each in parameters if each.default is each.empty]
    if len(required) != 1 or not fits_name(required[0].name, size):
        return False
    is_array = re.search(r"Tensor|[Aa]rray|Float\[", str(required[0].annotation)) is not None
    return is_array and any(each.name == required[0].name for each in subject.parameters)


def _is_mode(parameter: inspect.Parameter, roles: Sequence[Role], subject: Subject) -> bool:
    """Return True for a required flag under a name that no role lists, of which only the truth is read: without it, nothing is special."""
    is_listed = any(fits_name(parameter.name, role) for role in roles) or parameter.name in subject.mask_flags
    return parameter.default is parameter.empty and not is_listed and is_only_tested(parameter.name, subject.own_source)


SIDES = (("H", "W"), ("h", "w"), ("height", "width"))
"""Names of the two sides of an image whose patches are the positions of a sequence, row by row."""


def _sides_of_image(parameters: Sequence[inspect.Parameter]) -> dict[str, Role]:
    """Return the roles of the sides of an image, which are required after its patches: it has one row."""
    required = [each.name for each in parameters if each.default is each.empty]
    pair = next((sides for sides in SIDES if tuple(required[-2:]) == sides), ())
    return {name: Role(f"{NO_EFFECT}{name}", size_of=size) for name, size in zip(pair, (_one_row, _num_patches), strict=False)}


def _one_row(inputs: Inputs) -> int:
    return 1


def _num_patches(inputs: Inputs) -> int:
    return int(inputs["query" if inputs.get("x") is None else "x"].shape[-2])


def _calling_source(parameter: inspect.Parameter, subject: Subject) -> str:
    """Return the source in which a parameter is called if it is a part; with that of the classes used, unless a function has its name."""
    return subject.own_source if re.search(rf"\bdef {re.escape(parameter.name)}\(", subject.used_source) else subject.used_source


def _own_mask(role_of: Mapping[str, Role], roles: Sequence[Role], source: str) -> dict[str, Role]:
    """Return the role of a layer's only mask if its name is that of a source mask, and it goes with the target: no call has it and the source."""
    masks = [name for name, role in role_of.items() if role.name.endswith("mask")]
    memory = next((name for name, role in role_of.items() if role.name == "encoder_output"), None)
    own = next((role for role in roles if role.name == "mask"), None)
    if len(masks) != 1 or memory is None or own is None or role_of[masks[0]].name != "encoder_mask" or re.search(OF_SOURCE, masks[0]):
        return {}
    calls = [ast.unparse(node) for node in ast.walk(parsed(source)) if isinstance(node, ast.Call)]
    of_mask = [call for call in calls if re.search(rf"\b{masks[0]}\b", call)]
    return {} if not of_mask or any(re.search(rf"\b{memory}\b", call) for call in of_mask) else {masks[0]: own}


def _two_masks(parameters: Sequence[inspect.Parameter], role_of: Mapping[str, Role], source: str) -> dict[str, Role]:
    """Return the roles of two masks that an attention uses even if they are None: that of padding then hides nothing."""
    masks = [each.name for each in parameters if "mask" in each.name.lower() and each.default is None]
    padding = [name for name in masks if "pad" in name.lower()]
    own = next((role for name, role in role_of.items() if name in masks and role.name == "mask"), None)
    is_of_one = own is not None and sum(name in role_of for name in masks) == 1  # a decoder layer has one for each attention
    if len(masks) != 2 or len(padding) != 1 or not is_of_one or own is None or any(_is_tested(name, source) for name in masks):
        return {}
    return {name: Role(f"{NO_EFFECT}{name}", size_of=_no_padding) if name in padding else own for name in masks}


def _is_tested(name: str, source: str) -> bool:
    """Return True if a source tests whether an operand is given, other than for assertions about it."""
    of_checks = rf"(?m)^( *)if {name} is not None:\n(?:\1 +(?:assert|raise|print)\b.*\n)+(?!\1 )"
    names = "|".join((name, *_given_as(name, source)))
    tested = rf"\b({names}) *(is|==|!=) *(not )?None|\b(if|not|and|or) ({names})\b(?! *[=!<>.\[])"
    return re.search(tested, re.sub(of_checks, "", source)) is not None


def _given_as(name: str, source: str) -> list[str]:
    """Return the parameters of the functions and methods of a source that it gives an operand for: `mask` of `self._visible(padding_mask, device)`."""
    nodes = [*ast.walk(parsed(source))]
    taken = {each.name: [part for part in parameters_in(each) if part != "self"] for each in nodes if isinstance(each, ast.FunctionDef)}
    found = []
    for call in (each for each in nodes if isinstance(each, ast.Call)):
        called = call.func.attr if is_of_self(call.func) else getattr(call.func, "id", "")
        by_place = zip(taken.get(called, ()), call.args, strict=False)
        by_name = ((each.arg, each.value) for each in call.keywords if each.arg in taken.get(called, ()))
        found += [part for part, value in (*by_place, *by_name) if part and isinstance(value, ast.Name) and value.id == name]
    return [each for each in dict.fromkeys(found) if each != name]


def _may_be_left_out(parameter: inspect.Parameter, role_of: Mapping[str, Role], source: str) -> bool:
    """Return True for a mask that is required, but may be None: by its annotation, or because the method asks whether it is."""
    role, name = role_of.get(parameter.name), parameter.name
    if (
        role is None
        or role.name != "mask"
        or "mask" not in name.lower()
        or role.neutral is not MISSING
        or parameter.default is not parameter.empty
    ):
        return False
    return re.search(r"\b(Optional|None)\b", str(parameter.annotation)) is not None or _is_tested(name, source)


def _no_padding(inputs: Inputs) -> numpy.ndarray:
    """Return a mask (batch, keys) that is True for no key, as for padding."""
    keys = inputs["key"] if "key" in inputs else inputs["x"]
    return numpy.zeros(keys.shape[:-1], bool)


OF_ATTENTION = ("query", "queries", "q", "value", "values", "v")
"""Names of operands next to which `key` is no random key."""


def call_parameters(subject: Subject, method: str) -> list[inspect.Parameter]:
    """Return the parameters of the method that is called."""
    is_bound = not isinstance(inspect.getattr_static(subject.value, method), staticmethod)
    return parameters_of(getattr(subject.value, method), is_bound=is_bound)


def is_optional_bias(parameter: inspect.Parameter) -> bool:
    """Return True for an array that is added to the scores if it is given, which is no flag for the biases of layers."""
    return parameter.default is None and re.fullmatch(r"(attn|attention|mask)_bias", parameter.name.lower()) is not None


def _is_optional_dict(parameter: inspect.Parameter, subject: Subject) -> bool:
    """Return True for a parameter that need not be given and whose elements the class reads by text: several masks in one operand."""
    return parameter.default is None and re.search(rf"\b{re.escape(parameter.name)}\[['\"]", subject.own_source) is not None
