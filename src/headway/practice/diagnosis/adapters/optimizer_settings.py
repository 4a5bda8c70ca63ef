"""Settings that a learner's optimizer takes: the parameters that hold them, by role."""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Mapping

from headway.practice.diagnosis.calls.binding import fits_name
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.roles import Roles

ROLES = Roles("optimizers")
RATE_ROLE = ROLES("learning_rate")
DECAY_ROLE = ROLES("weight_decay")
SETTINGS = (RATE_ROLE, ROLES("beta1"), ROLES("beta2"), ROLES("betas"), ROLES("eps"), DECAY_ROLE)
OF_MOMENTUM = (RATE_ROLE, *ROLES.each("momentum", "dampening", "nesterov"), DECAY_ROLE)
"""Settings of Adam, and of stochastic gradient descent."""

CONFIG = r"(cli_?)?args|cfg|(optim_)?config|hparams|settings|options|opts"
"""Pattern of the name of a parameter that holds settings."""

KEY = r"(?:\[|\.(?:get|setdefault)\()['\"](\w+)['\"]"
"""Pattern of a key that is read from a dict, or given a default."""


def keyed_settings(subject: Subject) -> list[inspect.Parameter]:
    """Return a parameter for each key of the dict that holds a function's settings and its state, such as CS231n's `config`; none without one."""
    names = [] if inspect.isclass(subject.value) else [each.name for each in subject.parameters if re.fullmatch(CONFIG, each.name)]
    keys = dict.fromkeys(key for name in names for key in re.findall(rf"\b{name}{KEY}", subject.own_source))
    return [inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=None) for key in keys]


def configs(subject: Subject) -> dict[str, dict[str, str]]:
    """Return the required parameters that hold settings as attributes, with the role of each attribute that the source reads."""
    names = [each.name for each in subject.parameters if each.default is each.empty and re.fullmatch(CONFIG, each.name)]
    read = {name: re.findall(rf"\b{name}\.(?!get\b|setdefault\b)(\w+)", subject.own_source) for name in names}
    return {
        name: {each: role.name for each in fields for role in SETTINGS if fits_name(each, role)} for name, fields in read.items() if fields
    }


A_RATE = r"(lr|rate|alpha|eta)\b"
"""Pattern of the end of a name of the learning rate."""


def decays_rate(subject: Subject, name: str) -> bool:
    """Return True if a decay multiplies the number of steps, or is near 1: it is that of the learning rate, or of a moment."""
    if any(each.name == name and _is_near_one(each) for each in subject.parameters):  # it keeps nearly all of a mean
        return True
    multiplied = rf"\b{name} *\*\*? *(self\.)?(iter|step|epoch|t\b)|{A_RATE} *(\*=|= *(self\.)?\w*{A_RATE} *\*) *(self\.)?{name}\b"
    return re.search(multiplied, subject.own_source) is not None


MOMENTS = {"beta1": r"momentum|(first|mean)_decay|decay_?1", "beta2": r"decay(_rate|_?2)?|(second|square|rms(prop)?|var(iance)?)_decay"}
"""Names of the rates of Adam's moments whose defaults are near 1, next to those that fit the roles."""


def rates_of_moments(subject: Subject, settings: Mapping[str, str]) -> dict[str, str]:
    """Return the parameters for the rates of moments that have names of other settings, and defaults near 1: `momentum=0.9, decay=0.999`."""
    near = [each.name for each in subject.parameters if _is_near_one(each) and each.name not in settings.values()]
    found = {role: next((name for name in near if re.fullmatch(pattern, name)), None) for role, pattern in MOMENTS.items()}
    return {role: name for role, name in found.items() if name is not None and role not in settings}


def _is_near_one(parameter: inspect.Parameter) -> bool:
    """Return True for a parameter whose default is the rate of a mean over steps."""
    return isinstance(parameter.default, float) and 0.5 <= parameter.default < 1


def turned_off(subject: Subject, settings: Collection[str]) -> dict[str, float]:
    """Return values without effect for the other settings with numbers as defaults: a limit of gradients, a decay of the learning rate."""
    numbers = [each for each in subject.parameters if type(each.default) in (int, float) and each.name not in settings]
    found = {each.name: 1e9 for each in numbers if re.search(r"clip|max_(grad_)?norm", each.name)}
    for name in (each.name for each in numbers if "decay" in each.name):
        is_factor = re.search(rf"\*= *(self\.)?{name}\b|{A_RATE} *\* *(self\.)?{name}\b|\b{name} *\*\*", subject.own_source)
        found[name] = 1.0 if is_factor else 0.0
    return found
