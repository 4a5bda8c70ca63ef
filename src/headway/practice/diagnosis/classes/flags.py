"""Parameters of a constructor that are True or False: biases, causal masks, activations."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence

from headway.practice.diagnosis.calls.wording import is_named
from headway.practice.exercise import Exercise, Role

MASK_FLAG = r"((use|is|apply|with|has)_)?((attn|attention|causal|future)_)?mask(ed|ing)?|mask_future|autoregressive"
"""Pattern of the names of parameters that ask for a causal mask if they are True or False."""


def switches_of(parameters: Sequence[inspect.Parameter], exercise: Exercise, called: Sequence[str]) -> dict[str, Role]:
    """Return the roles of flags, such as one for an activation after a linear layer, which no example needs to show.

    `mask=False` asks for a causal mask in a class whose call takes no mask.

    called   names of the parameters of the call
    """
    flags = [role for role in exercise.roles if isinstance(role.neutral, bool)]
    choices = [each for each in parameters if isinstance(each.default, bool) or _is_required_flag(each)]
    chosen = {each.name: role for each in choices for role in flags if is_named(each.name, role)}
    causal = next((role for role in flags if role.name == "is_causal"), None)
    if causal is None or causal in chosen.values() or any("mask" in name.lower() for name in called):
        return chosen
    masks = [each.name for each in choices if each.default is not True and re.fullmatch(MASK_FLAG, each.name.lower())]
    return chosen | dict.fromkeys(masks[:1], causal)


def _is_required_flag(parameter: inspect.Parameter) -> bool:
    return parameter.default is parameter.empty and parameter.annotation in (bool, "bool")


def enabling_flags(constructor: Sequence[inspect.Parameter], exercise: Exercise) -> tuple[str, ...]:
    """Return the parameters that enable a bias or the scale of scores, and those that make a causal part causal.

    A constructor that takes weights as arrays has no flags of a bias or a mask.
    """
    scales = [each.name for each in constructor if each.default is False and each.name == "scale"]
    weights = {name for role in exercise.roles if role.is_weight and "bias" not in role.name for name in (role.name, *role.called)}
    if any(each.name.lower() in weights for each in constructor):
        return tuple(scales)
    biases = [each.name for each in constructor if each.default is each.empty and each.name.lower().endswith("bias")]
    causal = [
        each.name
        for each in (constructor if exercise.name in CAUSAL else ())
        if (re.fullmatch(CAUSAL_FLAG, each.name.lower()) and _is_off(each)) or (each.name == "mask" and each.default is False)
    ]
    return (*biases, *causal, *scales)


CAUSAL = ("causal_self_attention", "transformer_block")
"""Exercises of what is causal in every case."""


CAUSAL_TEXT = r"causal|autoregressive"
"""Pattern of the texts that ask for a causal mask."""


def causal_text(name: str, source: str) -> str | None:
    """Return the text with which the source compares a parameter, if it asks for a causal mask: `mask_type == "causal"`."""
    texts = re.findall(rf"\b{re.escape(name)} *== *['\"](\w+)['\"]", source)
    return next((text for text in texts if re.fullmatch(CAUSAL_TEXT, text.lower())), None)


CAUSAL_FLAG = r"(is_|use_|apply_)?(causal(_mask)?|decoder|masked|masking|autoregressive|mask_future|future_mask)"
"""Pattern of the names of flags that ask for a causal mask."""


def _is_off(parameter: inspect.Parameter) -> bool:
    return parameter.default is parameter.empty or parameter.default is False


def is_flag(parameter: inspect.Parameter, exercise: Exercise) -> bool:
    """Return True for a parameter such as `bias=True`, which enables a weight and is not the weight itself."""
    weights = {name for role in exercise.roles if role.is_weight for name in (role.name, *role.called)}
    return isinstance(parameter.default, bool) and parameter.name.lower() in weights
