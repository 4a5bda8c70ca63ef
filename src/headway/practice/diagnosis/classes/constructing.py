"""Readings of a class's constructor and call method: the role of each parameter, and the values of those without a role."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from headway.practice.diagnosis.calls.binding import TABLE, Binding, fits_name
from headway.practice.diagnosis.calls.rotation import NUM_STYLES
from headway.practice.diagnosis.calls.wording import is_named, roles_of_names
from headway.practice.diagnosis.classes.called_methods import called_method
from headway.practice.diagnosis.classes.chosen_values import chosen_values, is_rate_of_dropout, settings_meant
from headway.practice.diagnosis.classes.configs import (
    Config,
    config_bases,
    config_parameter,
    configured,
    fallback_config,
    fields_needed,
    fields_of,
    fields_read,
    further_configs,
    groups_of_fields,
    inner_widths_of_parts,
    is_size_role,
    keywords_taken,
    optional_fields,
    with_width_of_all_heads,
    with_width_of_head,
)
from headway.practice.diagnosis.classes.constructor_readings import as_used, bases_of_powers, constructor_readings
from headway.practice.diagnosis.classes.flags import enabling_flags, is_flag, switches_of
from headway.practice.diagnosis.classes.given_vocabulary import OF_VOCABULARY, GivenVocabulary, given_vocabularies
from headway.practice.diagnosis.classes.method_binding import call_binding, call_parameters, is_optional_bias
from headway.practice.diagnosis.classes.shown import Shown, shown_configs
from headway.practice.diagnosis.classes.submodules import Submodule
from headway.practice.diagnosis.classes.unknown_sizes import unknown_sizes, with_unknown
from headway.practice.diagnosis.classes.usages import Usage, usages
from headway.practice.diagnosis.classes.variables import globals_read
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.exercise import Exercise, Role


@dataclass(frozen=True)
class Construction:
    """Description of how to construct and call an instance.

    constructor, forward   bindings of their parameters to roles
    config                 constructor parameter that takes all sizes at once
    configs                further ones, such as the config of a decoder after that of an encoder
    dropouts               constructor parameters that take a dropout rate
    flags                  constructor parameters that enable biases
    method                 method to call
    roles                  the exercise's roles
    fixed                  constructor parameters with values that have no effect
    base                   the file's own config; None for one that answers to any name
    variables              variables that hold sizes, with their modules
    wired                  correct parts that replace those of an instance; None to keep its own
    is_unrotated           True to leave out rotary positions and the norms of queries and keys
    is_plain               True if all of them are numbers, not configs
    spread                 constructor parameters for dicts that are passed on as keywords: `Attention(**attention_config)`
    """

    constructor: Binding
    forward: Binding
    config: str | None
    dropouts: tuple[str, ...]
    flags: tuple[str, ...]
    method: str
    roles: tuple[Role, ...]
    fixed: Mapping[str, Any] = field(default_factory=dict)
    base: Any = None
    variables: Mapping[str, Sequence[ModuleType]] = field(default_factory=dict)
    is_plain: bool = True
    wired: Submodule | None = None
    is_unrotated: bool = False
    spread: tuple[str, ...] = ()
    configs: tuple[str, ...] = ()

    @property
    def takes_all_sizes(self) -> bool:
        """Return True if sizes are passed under names of the file's own."""
        return self.config is not None or bool(self.variables) or self.is_shown or bool(self.spread) or self.has_vocabulary

    @property
    def is_shown(self) -> bool:
        """Return True if the file's own example has some of the arguments."""
        return any(isinstance(each, Shown) for each in self.fixed.values())

    @property
    def has_vocabulary(self) -> bool:
        """Return True if an argument is a vocabulary, which has the number of tokens."""
        return any(isinstance(each, GivenVocabulary) for each in self.fixed.values())

    def constructs_as(self, other: Construction) -> bool:
        """Return True if only the call of the method differs from that of another reading of the same class."""
        return self.constructor is other.constructor and self.fixed is other.fixed and self.base is other.base

    @property
    def sizes_taken(self) -> list[Role]:
        """Return the roles of sizes that a config or the module's variables may hold."""
        sizes = [role for role in self.roles if is_size_role(role)]
        if self.config is not None or not self.is_plain or self.is_shown or self.spread:
            return sizes
        meant = {role.name for role in roles_of_names(list(self.variables), sizes, is_shared=True).values()}
        meant |= {OF_VOCABULARY} if self.has_vocabulary else set()
        return [role for role in sizes if role.name in meant]


def config_for(construction: Construction, subject: Subject, sizes: Mapping[str, Any], dropout: float) -> Any:
    """Return the config that a constructor takes for the sizes of a probe: the file's own, or one that answers to any name."""
    base, name = construction.base, construction.config or ""
    roles = with_width_of_all_heads(with_width_of_head(construction.roles, subject, name), subject, name)
    if isinstance(base, Shown):
        return base.at(sizes)
    if base is not None:
        return with_unknown(configured(base, sizes, roles, dropout, fields_needed(subject, name)), unknown_sizes(subject.file_source, name))
    fallback = fallback_config(subject, name)
    if meant := settings_meant(subject, name, sizes):
        fallback = {**meant, **({} if fallback is None else fields_of(fallback))}
    return Config(
        sizes,
        roles,
        dropout,
        fallback,
        fields_read(subject, name),
        optional_fields(subject, name),
        groups_of_fields(subject, name),
        inner_widths_of_parts(subject, name),
    )


def constructions(subject: Subject, exercise: Exercise) -> Iterator[Construction]:
    """Yield the ways to read a class's constructor and call method, likeliest first; none if its parameters do not fit."""
    examples = usages(subject)
    method = called_method(subject, exercise, examples)
    if method is None:
        return
    constructor = subject.parameters
    spread = tuple(each.name for each in constructor if each.default is each.empty and keywords_taken(subject, each.name))
    vocabularies = given_vocabularies(constructor, subject, exercise)
    config = None if spread else config_parameter(subject, set(vocabularies))
    configs = further_configs(subject, config)
    dropouts = tuple(each.name for each in constructor if each.name != config and is_rate_of_dropout(each, subject))
    flags = enabling_flags(constructor, exercise)
    chosen = chosen_values(constructor, subject, exercise) | vocabularies
    used = {config, *configs, *dropouts, *flags, *chosen, *spread}
    rest = [each for each in constructor if each.name not in used and not (is_flag(each, exercise) or is_optional_bias(each))]
    variables = globals_read(subject)
    is_plain = all(isinstance(getattr(modules[0], name), int | float) for name, modules in variables.items())
    names = [each.name for each in call_parameters(subject, method)]
    asked = [role for role in exercise.roles if any(is_named(name, role) for name in names)]
    bases = _bases(subject, config, examples, exercise)
    known: dict[tuple[tuple[str, ...], int], Binding | None] = {}

    def called_with(operands: Sequence[Role], style: int = 0) -> Binding | None:
        key = tuple(role.name for role in operands), style
        if key not in known:  # several readings of the constructor leave the same operands
            known[key] = call_binding(subject, method, operands, examples, style)
        return known[key]

    for read, values in constructor_readings(rest, exercise, examples, subject):
        powers = bases_of_powers(rest, subject, exercise)
        switches = switches_of(rest, exercise, names)
        made = Binding({**switches, **as_used(read, subject, exercise).role_of, **powers})
        fixed = {name: value for name, value in values.items() if name not in powers and name not in switches} | chosen
        free = [role for role in exercise.roles if not (role.is_weight or role.is_size or role.is_submodule or made.takes(role.name))]
        free += [role for role in exercise.roles if role.is_size and (role in asked or not made.takes(role.name))]
        free += _weights_passed(subject, method, exercise) if config is None and not any(map(is_size_role, made.role_of.values())) else []
        called = called_with(free)
        if called is None:
            return
        takes_tables = any(role.name.startswith(TABLE) for role in called.role_of.values())
        for base, style in itertools.product([*bases, None], range(NUM_STYLES if takes_tables else 1)):
            called = called_with(free, style) or called
            roles = _without(exercise.roles, "num_heads") if _is_one_head(subject, config, made, exercise) else exercise.roles
            if (config is not None or spread) and any(role.name == "max_seq_len" for role in roles):
                roles = _without(roles, "seq_len")  # a length in a config is the longest one
            yield Construction(
                made, called, config, dropouts, flags, method, roles, fixed, base, variables, is_plain, spread=spread, configs=configs
            )


def _bases(subject: Subject, config: str | None, examples: Sequence[Usage], exercise: Exercise) -> list[Any]:
    """Return the configs that a constructor may be given: those of the file, and those of its examples, first if the sizes have no names."""
    if config is None:
        return []
    shown, is_unnamed = shown_configs(examples, config, exercise.roles)
    own = itertools.islice(config_bases(subject, config), MAX_CONFIGS)
    return [*shown, *own] if is_unnamed else [*own, *shown]


MAX_CONFIGS = 4
"""Number of the file's own configs that are tried."""


def _weights_passed(subject: Subject, method: str, exercise: Exercise) -> list[Role]:
    """Return the weights that a method needs by name: a function with its gradient, written as a class, holds none itself."""
    needed = [each.name for each in call_parameters(subject, method) if each.default is each.empty]
    return [role for role in exercise.roles if role.is_weight and any(fits_name(name, role) for name in needed)]


def _is_one_head(subject: Subject, config: str | None, constructor: Binding, exercise: Exercise) -> bool:
    """Return True for a class that takes or reads the width of its head, and whose config's number of heads it does not read."""
    if config is None or constructor.takes("num_heads") or fields_needed(subject, config) is None:  # others read the number of heads
        return False
    sizes = [role for role in exercise.roles if is_size_role(role)]
    meant = {role.name for role in roles_of_names(sorted(fields_read(subject, config)), sizes, is_shared=True).values()}
    return bool(meant) and "num_heads" not in meant and (constructor.takes("head_dim") or "head_dim" in meant)


def _without(roles: Sequence[Role], name: str) -> tuple[Role, ...]:
    return tuple(role for role in roles if role.name != name)
