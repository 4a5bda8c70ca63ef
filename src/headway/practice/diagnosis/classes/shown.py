"""Readings of a constructor and a call method from the file's own examples of them, for parameters whose names say nothing."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headway.practice.diagnosis.calls.binding import NO_EFFECT, OF_QUERIES, Binding, fits_name, operands_by_word
from headway.practice.diagnosis.calls.wording import NOTHING, is_named, neutral_value, roles_of_names
from headway.practice.diagnosis.classes.configs import fields_of, holds_fields, in_full_precision, is_size_role
from headway.practice.diagnosis.classes.usages import Usage, alias
from headway.practice.diagnosis.reading.evaluating import NeedsSizesError, Shape, UnknownValueError
from headway.practice.exercise import Role


@dataclass(frozen=True, eq=False)
class Shown:
    """A constructor argument as the file's example has it, with the probe's sizes in place of the example's.

    sizes   size in the example → name of its role
    """

    usage: Usage
    parameter: str
    sizes: Mapping[int, str]

    def at(self, sizes: Mapping[str, Any]) -> Any:
        """Return the argument for some sizes by role.

        Errors   UnknownValueError
        """
        return in_full_precision(self.usage.value(self.parameter, {old: sizes[role] for old, role in self.sizes.items() if role in sizes}))


def shown_bindings(
    usages: Sequence[Usage], parameters: Sequence[inspect.Parameter], roles: Sequence[Role]
) -> Iterator[tuple[Binding, dict[str, Any]]]:
    """Yield the roles of a constructor's parameters, and the example's values of those without a role."""
    for usage in usages:
        shape = _shape_of_input(usage)
        values, bound = _read(usage, [each.name for each in parameters], shape, roles)
        sizes: dict[int, str] = {}
        for part in [each for name in usage.given if name not in bound for each in usage.parts(name)]:
            sizes |= _sizes(*_read(part, list(part.given), shape, roles))
        sizes |= _sizes(values, bound)
        known = [each.name for each in parameters if each.name not in bound and _can_be_shown(usage, each.name)]
        fixed = {name: Shown(usage, name, sizes) for name in known}
        if all(each.default is not each.empty or each.name in bound or each.name in fixed for each in parameters):
            yield Binding({each.name: bound[each.name] for each in parameters if each.name in bound}), fixed


def _read(usage: Usage, names: Sequence[str], shape: tuple[int, ...], roles: Sequence[Role]) -> tuple[dict[str, Any], dict[str, Role]]:
    """Return the values of a constructor's parameters in an example, and their roles."""
    values = {name: shown_value(usage, name) for name in names}
    values = {name: value for name, value in values.items() if not isinstance(value, bool | str)}
    return values, _roles_of(values, {name: usage.aliases(name) for name in values}, shape, roles)


WIDTHS = {"hidden_size", "d_in"}
"""Roles of the width; an example that keeps its width is not used, since it may be large."""


def shown_configs(usages: Sequence[Usage], parameter: str, roles: Sequence[Role]) -> tuple[list[Any], bool]:
    """Return the configs of the file's examples, and whether their sizes have names that say nothing.

    Each config is returned as it is, and with the probe's sizes in place of the example's by their values, if the width is among them.
    """
    found: list[Any] = []
    is_unnamed = False
    for usage in usages[:1]:
        config = shown_value(usage, parameter)
        if not holds_fields(config):
            continue
        values = {name: value for name, value in fields_of(config).items() if type(value) is int}
        is_unnamed = not WIDTHS & {
            role.name for role in roles_of_names(list(values), [each for each in roles if is_size_role(each)]).values()
        }
        bound = _roles_of(values, {}, _shape_of_input(usage), roles)
        shown = Shown(usage, parameter, _sizes(values, bound))
        found += [config, *([shown] if any(role.name in WIDTHS and _is_replaced(shown, name) for name, role in bound.items()) else [])]
    return found[::-1] if is_unnamed else found, is_unnamed


def _is_replaced(shown: Shown, name: str) -> bool:
    """Return True if a field of a config has the size of a probe: the example gives it, and it is no default of the config's class."""
    try:
        config = shown.at(dict.fromkeys(shown.sizes.values(), PROBED))
    except UnknownValueError:
        return False
    return holds_fields(config) and fields_of(config).get(name) == PROBED


PROBED = 8
"""Size of a probe that tells what an example gives."""


def _sizes(values: Mapping[str, Any], bound: Mapping[str, Role]) -> dict[int, str]:
    """Return the role of each size of an example; of several roles of one size, that of the first parameter."""
    return {values[name]: role.name for name, role in reversed([*bound.items()]) if type(values[name]) is int and is_size_role(role)}


def shown_value(usage: Usage, name: str) -> Any:
    """Return a constructor argument of an example; NOTHING if it is not known."""
    try:
        return usage.value(name) if name in usage.given else NOTHING
    except UnknownValueError:
        return NOTHING


def _can_be_shown(usage: Usage, name: str) -> bool:
    """Return True for a constructor argument of an example that is known for the sizes of a probe."""
    if name not in usage.given:
        return False
    try:
        usage.value(name)
    except NeedsSizesError:
        return True
    except UnknownValueError:
        return False
    return True


LETTERS = 2
"""Length up to which a name is an abbreviation that may mean anything."""


def is_plain_name(name: str, roles: Sequence[Role]) -> bool:
    """Return True for a parameter's name that says what it is."""
    return neutral_value(name) is not NOTHING or (len(name) > LETTERS and any(is_named(name, role) for role in roles))


def _roles_of(values: Mapping[str, Any], aliases: Mapping[str, str], shape: tuple[int, ...], roles: Sequence[Role]) -> dict[str, Role]:
    """Return the roles of parameters: by name, by the names that the file passes, by the sizes of the example, by the words of names."""
    bound: dict[str, Role] = {}
    ways = (lambda name: name, lambda name: aliases.get(name, ""))
    for name_of in ways:
        for name in (each for each in values if each not in bound and len(name_of(each)) > LETTERS):
            role = next((each for each in roles if each not in bound.values() and is_named(name_of(name), each)), None)
            bound |= {} if role is None else {name: role}
    sizes = [role for role in roles if is_size_role(role)]
    bound |= _by_size({name: value for name, value in values.items() if type(value) is int}, shape, sizes, bound)
    for name_of in ways:
        left = {name_of(name): name for name, value in values.items() if name not in bound and name_of(name) and _may_be_size(value)}
        free = [role for role in sizes if role not in bound.values()]
        bound |= {left[name]: role for name, role in roles_of_names(list(left), free).items()}
    unread = [name for name, value in values.items() if name not in bound and type(value) is int and len(name) <= LETTERS]
    width = next((role for role in sizes if role.name == "hidden_size" and role not in bound.values()), None)
    if width is not None and len(unread) == 1 and not any(role.name in ("d_in", "d_out") for role in bound.values()):
        bound[unread[0]] = width  # the only size whose name says nothing
    return bound


def _may_be_size(value: Any) -> bool:
    return value is NOTHING or (isinstance(value, int | float) and not isinstance(value, bool))


def _by_size(values: Mapping[str, int], shape: tuple[int, ...], roles: Sequence[Role], bound: Mapping[str, Role]) -> dict[str, Role]:
    """Return the roles of parameters that have the size of an axis of the example's input, or divide its width into heads."""
    free = {role.name: role for role in roles if role not in bound.values()}
    found: dict[str, Role] = {}

    def take(role: str, fits: Callable[[int], bool], fits_better: Callable[[int], bool] = lambda value: True) -> None:
        fitting = [name for name, value in values.items() if name not in found and name not in bound and fits(value)]
        fitting = fitting if len(fitting) < 2 else [name for name in fitting if fits_better(values[name])]
        if role in free and len(fitting) == 1:
            found[fitting[0]] = free[role]

    if shape:
        width = shape[-1]
        take("hidden_size" if "hidden_size" in free else "d_in", lambda value: value == width)
        take("num_heads", lambda value: 1 < value < width and width % value == 0 and value not in shape, lambda value: value**2 <= width)
        heads = next((values.get(name, 0) for name, role in {**bound, **found}.items() if role.name == "num_heads"), 0)
        take("head_dim", lambda value: heads > 0 and value == width // heads)
        take("intermediate_size", lambda value: value > width and value % width == 0)
    return found


def _shape_of_input(usage: Usage) -> tuple[int, ...]:
    """Return the shape of the first array of numbers that an example passes to the instance; empty if it is not known."""
    operands = [_operand(usage, key) for key in usage.called or {}]
    return next((each.shape for each in operands if isinstance(each, Shape) and each.kind == "f" and len(each.shape) > 1), ())


def _operand(usage: Usage, key: int | str) -> Any:
    try:
        return usage.operand(key)
    except UnknownValueError:
        return NOTHING


def shown_operands(usages: Sequence[Usage], parameters: Sequence[inspect.Parameter], roles: Sequence[Role]) -> dict[str, Role]:
    """Return the roles of a method's parameters that no role lists, from the arguments of the example: their names, or values without effect."""
    found: dict[str, Role] = {}
    listed = {role.name for role in roles if any(fits_name(each.name, role) for each in parameters)}
    worded = operands_by_word(parameters, roles)
    for usage in usages:
        for place, parameter in enumerate(parameters):
            key = parameter.name if parameter.name in (usage.called or {}) else place
            if (
                usage.called is None
                or key not in usage.called
                or parameter.name in found
                or parameter.name in worded
                or re.match(rf"{OF_QUERIES}.*mask", parameter.name.lower())
                or any(fits_name(parameter.name, role) for role in roles)
            ):
                continue
            free = [role for role in roles if role.name not in listed and role not in found.values()]
            role = next((each for each in free if fits_name(alias(usage.called[key]), each)), None)
            value = _operand(usage, key)
            if role is not None:
                found[parameter.name] = role
            elif (
                parameter.default is parameter.empty
                and "mask" not in parameter.name.lower()
                and (value is None or isinstance(value, bool | str) or (isinstance(value, int | float) and value == 0))
            ):
                found[parameter.name] = Role(f"{NO_EFFECT}{parameter.name}", neutral=value)
    return found
