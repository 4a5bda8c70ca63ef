"""Readings of a class's constructor and call method: the role of each parameter, and the values of those without a role."""

from __future__ import annotations

import inspect
import itertools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy

from headway.practice.diagnosis.calls.binding import DEVICE, FILL_VALUE, TABLE, Binding, fits_name
from headway.practice.diagnosis.calls.rotation import NUM_STYLES, UNROTATED, turned
from headway.practice.diagnosis.calls.wording import NOTHING, WIDTH, is_dropout, is_named, neutral_value, roles_of_names, snake
from headway.practice.diagnosis.classes.chosen_texts import chosen_texts
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
    is_size_role,
    keywords_taken,
    optional_fields,
    with_width_of_all_heads,
    with_width_of_head,
)
from headway.practice.diagnosis.classes.flax_modules import FlaxHolder, random_keys
from headway.practice.diagnosis.classes.given_vocabulary import OF_VOCABULARY, GivenVocabulary, given_vocabularies
from headway.practice.diagnosis.classes.input_widths import input_widths, is_width_of_all_heads
from headway.practice.diagnosis.classes.method_binding import call_binding, call_parameters, is_optional_bias
from headway.practice.diagnosis.classes.no_effect import stored_as, without_effect
from headway.practice.diagnosis.classes.shown import Shown, is_plain_name, shown_bindings, shown_configs
from headway.practice.diagnosis.classes.slots import module_library
from headway.practice.diagnosis.classes.state_dict import PLACE, StateDict, given_weights, reads_state_dict
from headway.practice.diagnosis.classes.submodules import Submodule, given_linears, is_part
from headway.practice.diagnosis.classes.unknown_sizes import unknown_sizes, with_unknown
from headway.practice.diagnosis.classes.usages import Usage, usages
from headway.practice.diagnosis.classes.variables import globals_read
from headway.practice.diagnosis.reading.subject import DOCSTRING, Subject, defines
from headway.practice.exercise import MISSING, Exercise, Inputs, Role
from headway.practice.names import fitting
from headway.practice.recipes.projections import joined_weights

BASE, OF_BASE = 10000.0, r"(rope_?|rotary_?)?(theta|base)"
"""Base of rotary positions, and the pattern of its name."""

OF_ROTATION = r"(rope|rotary|rotary_emb(edding)?)(_?(module|layer))?"
"""Pattern of the names of parts that rotate."""

METHODS = (
    "__call__",
    "forward",
    "call",
    "apply",
    "attend",
    "attention",
    "compute",
    "generate",
    "loss",
    "calculate",
    "calculate_loss",
    "compute_loss",
)
INHERITED = ("forward", "__call__")


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
    if meant := _settings_meant(subject, name, sizes):
        fallback = {**meant, **({} if fallback is None else fields_of(fallback))}
    return Config(
        sizes, roles, dropout, fallback, fields_read(subject, name), optional_fields(subject, name), groups_of_fields(subject, name)
    )


ACTIVATIONS = ("gelu", "relu", "silu", "swish")
"""Names of activations in settings."""

OF_ACTIVATION = r"(^|_)act(ivation)?(_|$)"
"""Pattern of the names of settings that name an activation."""


def _settings_meant(subject: Subject, name: str, sizes: Mapping[str, Any]) -> dict[str, Any]:
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


def constructions(subject: Subject, exercise: Exercise) -> Iterator[Construction]:
    """Yield the ways to read a class's constructor and call method, likeliest first; none if its parameters do not fit."""
    own = [name for name, value in vars(subject.value).items() if not name.startswith("_") and callable(value)]
    examples = usages(subject)
    defined = [name for name in METHODS if defines(subject.value, name)]
    computed = [name for name in defined if not _is_identity(name, subject)]
    defined = computed or (defined if len(own) == 1 else [])
    defined.sort(key=lambda name: (name != exercise.name, _passes_on(getattr(subject.value, name))))
    computing = [name for name in own if not re.search(r"backward|grad", name.lower())]
    method = defined[0] if defined else computing[0] if len(computing) == 1 else None
    method = method or next((name for name in computing if exercise.name in fitting(name)[0]), None)
    method = method or next((each.method for each in examples if each.method in own), None)
    if method is None:
        inherited = [
            name for name in INHERITED if callable(getattr(subject.value, name, None)) and module_library(subject.value) is not None
        ]
        method = next(iter(inherited), None)
    if method is None:
        return
    constructor = subject.parameters
    spread = tuple(each.name for each in constructor if each.default is each.empty and keywords_taken(subject, each.name))
    vocabularies = given_vocabularies(constructor, subject, exercise)
    config = None if spread else config_parameter(subject, set(vocabularies))
    dropouts = tuple(
        each.name
        for each in constructor
        if is_dropout(each.name) and not isinstance(each.default, bool) and each.name != config and not _may_be_layer(each, subject)
    )
    flags = (*_flags(constructor, exercise), *(each.name for each in constructor if each.default is False and each.name == "scale"))
    keys = random_keys(constructor, subject) | _state_dicts(constructor, subject) | given_weights(constructor, subject, exercise)
    keys |= (
        chosen_texts(constructor, subject, exercise)
        | vocabularies
        | _initializers(constructor, subject)
        | _implementations(constructor, subject)
        | without_effect(constructor, subject, exercise)
    )
    if exercise.name in OF_PROJECTIONS and module_library(subject.value) == "torch":
        keys |= given_linears(subject)
    configs = further_configs(subject, config)
    used = {config, *configs, *dropouts, *flags, *keys, *spread}
    rest = [each for each in constructor if each.name not in used and not (_is_flag(each, exercise) or is_optional_bias(each))]
    variables = globals_read(subject)
    is_plain = all(isinstance(getattr(modules[0], name), int | float) for name, modules in variables.items())
    bases = [*itertools.islice(config_bases(subject, config), 4)] if config is not None else []
    shown, is_unnamed = shown_configs(examples, config, exercise.roles) if config is not None else ([], False)
    bases = [*shown, *bases] if is_unnamed else [*bases, *shown]
    others = {each.name for each in rest if re.search(OF_OTHERS, str(each.annotation)) or is_part(each.name, subject, is_called=True)}
    names = [each.name for each in call_parameters(subject, method)]
    asked = [role for role in exercise.roles if any(is_named(name, role) for name in names)]
    known: dict[tuple[tuple[str, ...], int], Binding | None] = {}

    def called_with(operands: Sequence[Role], style: int = 0) -> Binding | None:
        key = tuple(role.name for role in operands), style
        if key not in known:  # several readings of the constructor leave the same operands
            known[key] = call_binding(subject, method, operands, examples, style)
        return known[key]

    for read, fixed in itertools.islice(_readings(rest, exercise, examples, others, subject), MAX_READINGS):
        powers = _bases_of_powers(rest, subject, exercise)
        switches = _switches(rest, exercise, names)
        made = Binding({**switches, **_as_used(read, subject, exercise).role_of, **powers})
        fixed = {name: value for name, value in fixed.items() if name not in powers and name not in switches} | keys
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


OF_PROJECTIONS = ("multi_head_attention", "self_attention")
"""Exercises whose classes may be given their linear layers, which keep the width."""

MASK_FLAG = r"((use|is|apply|with|has)_)?((attn|attention|causal|future)_)?mask(ed|ing)?|mask_future|autoregressive"
"""Pattern of the names of parameters that ask for a causal mask if they are True or False."""

OF_IMPLEMENTATION = r"backend|impl(ementation)?$|kernel|engine"
"""Pattern of the names of choices between implementations that compute the same."""


def _implementations(parameters: Sequence[inspect.Parameter], subject: Subject) -> dict[str, Any]:
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


def _may_be_layer(parameter: inspect.Parameter, subject: Subject) -> bool:
    """Return True for a dropout of None that the class may call, and does not use as a rate."""
    is_rate = rf"Dropout\([^)\n]*\b{parameter.name}\b|\b{parameter.name}\b *>|=(self\.)?{parameter.name}\b"
    return parameter.default is None and re.search(is_rate, subject.own_source) is None


def _switches(parameters: Sequence[inspect.Parameter], exercise: Exercise, called: Sequence[str]) -> dict[str, Role]:
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


def _state_dicts(parameters: Sequence[inspect.Parameter], subject: Subject) -> dict[str, Any]:
    """Return the parameters for a dict of weights by name, and for the number of the layer that it is read at, with values."""
    dicts = {each.name: StateDict() for each in parameters if each.default is each.empty and reads_state_dict(each.name, subject)}
    return {**dicts, **{each.name: PLACE for each in parameters if dicts and re.fullmatch(r"(layer|block)_?(id|idx|index|num)", each.name)}}


def _initializers(parameters: Sequence[inspect.Parameter], subject: Subject) -> dict[str, Any]:
    """Return the required fields for initializers of a module of Flax, with one."""
    if not (inspect.isclass(subject.value) and issubclass(subject.value, FlaxHolder)):
        return {}
    names = [each.name for each in parameters if each.default is each.empty and re.search(r"(^|_)init(ializer)?$", each.name)]
    return {name: import_module("jax").nn.initializers.normal() for name in names}


def _as_used(made: Binding, subject: Subject, exercise: Exercise) -> Binding:
    """Return the roles of a constructor's parameters by their use: the length of the input for one that is reshaped to, a divisor for a scale.

    A shape that is annotated as a number is a width.
    """
    roles = {role.name: role for role in exercise.roles}
    annotations = {each.name: getattr(each.annotation, "__name__", each.annotation) for each in subject.parameters}
    inputs = input_widths(subject.parameters, subject.own_source)

    def as_used(name: str, role: Role) -> Role:
        if role.name == "context_length" and "seq_len" in roles and not made.takes("seq_len") and _is_exact(name, subject):
            return roles["seq_len"]
        if role.name == "normalized_shape" and "hidden_size" in roles and annotations.get(name) == "int":
            return roles["hidden_size"]
        if role.name == "scale" and "temperature" in roles and _uses(r"/ *self\.", name, subject):
            return roles["temperature"]
        if role.name == "head_dim" and "d_out" in roles and re.search(rf"\b{re.escape(name)} *(//?|%) *(self\.)?\w*heads?\b", subject.code):
            return roles["d_out"]  # the width of all heads together
        if role.name in ("head_dim", "value_dim") and made.takes("hidden_size") and name in inputs:
            return roles["hidden_size"]
        if role.name in ("head_dim", "value_dim") and made.takes("num_heads") and is_width_of_all_heads(name, subject.code):
            return roles["hidden_size"]
        if (
            role.name == "hidden_size"
            and made.takes("d_in")
            and "head_dim" in roles
            and not made.takes("head_dim")
            and _is_per_head(name, subject)
        ):
            return roles["head_dim"]
        if role.name == "seq_len" and "x" in roles and re.search(r"(^|_)max", snake(name)) and _is_cropped(subject, role):
            return LONGEST
        is_of_rows = role.name == "vocab_size" and "positions" in roles and "max_seq_len" in roles and not made.takes("max_seq_len")
        if is_of_rows and re.fullmatch(OF_ROWS, name) and len(re.findall(OF_TABLES, subject.code)) == 1:
            return roles["max_seq_len"]
        return role

    return Binding({name: as_used(name, role) for name, role in made.role_of.items()})


def _is_per_head(name: str, subject: Subject) -> bool:
    """Return True for a width that a class multiplies by the number of heads, and never divides by it."""
    width, heads = rf"(self\.)?{re.escape(name)}\b", r"(self\.)?\w*heads?\b"
    is_factor = re.search(rf"\b{width} *\* *{heads}|\b{heads} *\* *{width}", subject.code) is not None
    return is_factor and re.search(rf"\b{width} *(//?|%) *{heads}", subject.code) is None


def _longest(inputs: Inputs) -> int | None:
    """Return more positions than the input has, so that a table that is cropped to a wrong length differs."""
    x = inputs.get("x")
    length = inputs.get("seq_len") if x is None else x.shape[-2]
    return None if length is None else length + MORE_POSITIONS


def _is_cropped(subject: Subject, length: Role) -> bool:
    """Return True for a class that takes as many rows of a table as its input has, or as it is called with."""
    given = re.findall(r"def (?:forward|__call__)\(self, *(\w+)", subject.own_source)
    return re.search(CROPPED, subject.code) is not None or any(is_named(each, length) or re.search(r"_len(gth)?$", each) for each in given)


MORE_POSITIONS = 4
"""Rows of a table after those of the positions of a probe."""

LONGEST = Role("longest_seq_len", is_size=True, size_of=_longest)
"""Number of the rows of a table of positions of which a class takes the first."""

CROPPED = r"\[([^][\n]*, *)?: *(\w+\.(size\(|shape\b)|(?!max)(\w*_)?(len|length|seqlen|tokens|positions|t|l|s|n)\b *[-+,\]])"
"""Pattern of the source of a class that takes as many rows of a table as its input has."""

OF_ROWS, OF_TABLES = r"(n|num)_embeddings?", r"\b(Embedding|Parameter|Embed)\("
"""Patterns of the name of a number of rows of any table, and of the source of a table: the only one of a class for positions is theirs."""


def _bases_of_powers(parameters: Sequence[inspect.Parameter], subject: Subject, exercise: Exercise) -> dict[str, Role]:
    """Return the parameter of a constructor that the class raises to a power, whatever its name, with the role of a base."""
    base = next((role for role in exercise.roles if role.name == "base"), None)
    if base is None or any(is_named(each.name, base) for each in parameters):
        return {}
    return {each.name: base for each in parameters if _uses(r"self\.", each.name, subject, after=r" *\*\* *[(-]")}


RESHAPED = r"\.(?:reshape|view|unflatten|expand)\([^\n]*\bself\."
"""Pattern of a call that gives an array a shape with an attribute in it, up to the attribute's name."""


def _is_exact(name: str, subject: Subject) -> bool:
    """Return True for a length to which a class reshapes its input, or a part that it passes the length on to."""
    if _uses(RESHAPED, name, subject):
        return True
    is_passed_on = re.search(rf"= *[\w.]+\([^()]*\b{re.escape(name)}\b", subject.code) is not None
    return is_passed_on and re.search(rf"{RESHAPED}{re.escape(name)}\b", subject.used_source) is not None


def _uses(before: str, name: str, subject: Subject, after: str = "") -> bool:
    """Return True if the attribute that holds a constructor's parameter is between two patterns in a class."""
    stored = stored_as(name, subject)
    return stored is not None and re.search(rf"{before}{stored}\b{after}", subject.code) is not None


def _weights_passed(subject: Subject, method: str, exercise: Exercise) -> list[Role]:
    """Return the weights that a method needs by name: a function with its gradient, written as a class, holds none itself."""
    needed = [each.name for each in call_parameters(subject, method) if each.default is each.empty]
    return [role for role in exercise.roles if role.is_weight and any(fits_name(name, role) for name in needed)]


def _readings(
    parameters: Sequence[inspect.Parameter], exercise: Exercise, examples: Sequence[Usage], others: Collection[str], subject: Subject
) -> Iterator[tuple[Binding, dict[str, Any]]]:
    """Yield the readings of a constructor by names and by the file's examples, those first if a name says nothing.

    others   parameters that are no sizes by their annotation, or because the class calls them
    """
    roles = _constructor_roles(exercise)
    projected = _projected(parameters, exercise, subject)
    by_name = itertools.chain(projected, _constructor_bindings(parameters, exercise, others, subject.used_source))
    first = next(by_name, None)
    by_example = [
        each
        for each in shown_bindings(examples, parameters, roles)
        if first is None or each[1] or dict(each[0].role_of) != dict(first[0].role_of)
    ]
    unclear = [each for each in parameters if each.default is each.empty and not is_plain_name(each.name, roles)]
    is_doubtful = not all(re.fullmatch(WIDTH_OF_OPERAND, each.name) for each in unclear)
    given = [] if first is None else [first]
    yield from itertools.chain(by_example, given, by_name) if is_doubtful else itertools.chain(given, by_example, by_name)


def _projected(parameters: Sequence[inspect.Parameter], exercise: Exercise, subject: Subject) -> Iterator[tuple[Binding, dict[str, Any]]]:
    """Yield the reading of two widths of the same meaning, `model_dim` and `embedding_dim`, between which the class projects.

    The first may be a number of the file, as in `nn.Linear(N_EMBD, n_embd)`.
    """
    needed = [each.name for each in parameters if each.default is each.empty]
    sizes = {role.name: role for role in exercise.roles if is_size_role(role)}
    alike = len(needed) in (1, 2) and {"d_in", "d_out", "hidden_size"} <= set(sizes)
    if not alike or any(role.name != "hidden_size" for name in needed for role in roles_of_names([name], list(sizes.values())).values()):
        return
    held = [name for name, value in vars(subject.module).items() if type(value) is int] if subject.module is not None else []
    for entering, leaving in itertools.permutations(needed) if len(needed) == 2 else ((name, needed[0]) for name in held):
        of_linear = rf"Linear\(\s*(in_features *= *)?{re.escape(entering)}\s*,\s*(out_features *= *)?{re.escape(leaving)}\b"
        if len(re.findall(of_linear, subject.code)) >= MIN_PROJECTIONS:
            yield Binding({name: sizes["d_in" if name == entering else "d_out"] for name in needed}), {}


MIN_PROJECTIONS = 3
"""Number of layers of a class between the same two widths from which they are those of queries, keys and values."""


def _is_one_head(subject: Subject, config: str | None, constructor: Binding, exercise: Exercise) -> bool:
    """Return True for a class that takes or reads the width of its head, and whose config's number of heads it does not read."""
    if config is None or constructor.takes("num_heads") or fields_needed(subject, config) is None:  # others read the number of heads
        return False
    sizes = [role for role in exercise.roles if is_size_role(role)]
    meant = {role.name for role in roles_of_names(sorted(fields_read(subject, config)), sizes, is_shared=True).values()}
    return bool(meant) and "num_heads" not in meant and (constructor.takes("head_dim") or "head_dim" in meant)


def _without(roles: Sequence[Role], name: str) -> tuple[Role, ...]:
    return tuple(role for role in roles if role.name != name)


MOST_EXCHANGED = 3
"""Number of sizes up to which every order of them is tried."""

WIDTH_OF_OPERAND = r"(query|key|value|q|k|v)_(size|dim|width|features)|d_model_[qkvQKV]"
"""Pattern of the widths of three operands; a class that takes all three takes those of its inputs."""

OF_OTHERS = r"\b(Callable|Module|str)\b"
"""Pattern of annotations of parameters that are no sizes."""

OF_INPUTS = r"(q|k|v|kv|query|key|value)_(in|input)_(dim|size|features|width)"
OWN_WIDTH = rf"(d_?)?(out|output|in|input)(_(dim|size|features|width|channels))?|(ffn_)?num_(in|out)puts?|{OF_INPUTS}"
"""Patterns of the names of the widths of the inputs of an attention, and of the width of the output, or of the input, of a part that keeps its width."""

UNMISTAKABLE = ("vocab_size",)
"""Sizes whose names mean nothing else, so that no other reading is tried."""

OF_BATCH = r"batch(_size)?|bsz?|n(um)?_batch"
"""Pattern of the name of a number of sequences."""

UNUSED_SIZE = 2
MAX_READINGS = 40
"""Number of readings of a constructor that are tried."""


OF_POSITIONS = r"pos(ition)?(al)?_?(emb(ed(ding)?)?|enc(od(ing|er))?)s?"
"""Pattern of the name of a layer of positions, which an attention that is given one applies to its queries and keys."""


def _neutral_value(parameter: inspect.Parameter) -> Any:
    """Return the value that a parameter without a role takes by its name, or a rotation by 0 for one whose annotation is a class that rotates.

    A layer of positions of any class is one that rotates.
    """
    value = neutral_value(parameter.name)
    is_rotation = fitting(_kind(parameter))[0][:1] == ("rotary",)
    is_layer = _is_layer(parameter) and re.fullmatch(OF_POSITIONS, snake(parameter.name)) is not None
    return UNROTATED if value is NOTHING and (is_rotation or is_layer) else value


def _kind(parameter: inspect.Parameter) -> str:
    """Return the name of the class of a parameter's annotation, or an empty text."""
    annotation = parameter.annotation
    return (annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")).partition("|")[0].strip()


def _is_layer(parameter: inspect.Parameter) -> bool:
    """Return True for a parameter whose annotation says that it is a module."""
    return _kind(parameter).rpartition(".")[2] == "Module"


def _constructor_bindings(
    parameters: Sequence[inspect.Parameter], exercise: Exercise, others: Collection[str], source: str
) -> Iterator[tuple[Binding, dict[str, Any]]]:
    """Yield the roles of a constructor's parameters, and the values of parameters that have no role."""
    roles = [*_constructor_roles(exercise), *_fused_weight(parameters, exercise)]
    sizes = [role for role in roles if is_size_role(role)]
    listed: dict[str, Role] = {}
    exact = {parameter.name for parameter in parameters} & {*UNMISTAKABLE}
    for parameter in parameters:
        open_roles = [each for each in roles if each not in listed.values() and (each.name not in exact or each.name == parameter.name)]
        role = next((each for each in open_roles if is_named(parameter.name, each)), None)
        if role is not None:
            listed[parameter.name] = role
    open_ones = [
        each for each in parameters if each.name not in listed and (each.default is each.empty or isinstance(each.default, int | float))
    ]
    entering = [each.name for each in parameters if re.fullmatch(OF_INPUTS, each.name)]
    names = [each.name for each in parameters if each.name not in entering and (each.name not in listed or is_size_role(listed[each.name]))]
    bound = listed | {name: role for name, role in roles_of_names(names, sizes).items() if _can_be_size(name, role, parameters)}
    bound |= _factors(bound, sizes, source)
    called = {each.name for each in parameters if each.default is None and each.name in others}
    bound = {name: role for name, role in bound.items() if not (name in called and is_size_role(role))}  # a layer is no number
    fixed = {each.name: FILL_VALUE.neutral for each in parameters if each.default is None and fits_name(each.name, FILL_VALUE)}
    unknown: list[str] = []
    is_projection = {"d_in", "d_out"} & {role.name for role in roles}
    width = None if is_projection else next((role for role in bound.values() if role.name == "hidden_size"), None)
    for parameter in open_ones:
        if parameter.name in bound or parameter.default is not parameter.empty:
            continue
        value = False if parameter.annotation in (bool, "bool") else _neutral_value(parameter)
        text = _causal_text(parameter.name, source) if exercise.name in CAUSAL else None
        is_own = re.fullmatch(OWN_WIDTH, parameter.name) is not None and "bool" not in str(parameter.annotation)
        if text is not None:
            fixed[parameter.name] = text
        elif width is not None and (is_own or (value is NOTHING and _is_width(parameter.name))):
            bound[parameter.name] = width
        elif value is NOTHING and "vocab" in snake(parameter.name) and not any("vocab" in role.name for role in roles):
            fixed[parameter.name] = UNUSED_SIZE  # of a part that embeds no tokens
        elif value is NOTHING and re.fullmatch(OF_BATCH, snake(parameter.name)):
            fixed[parameter.name] = UNUSED_SIZE  # of a part that reads the number of its inputs from them
        elif value is NOTHING:
            unknown.append(parameter.name)
        else:
            fixed[parameter.name] = value
    given = {each.name for each in parameters if each.default is None and each.name in listed and listed[each.name].is_weight}
    if given and given != set(bound) and not unknown:  # weights of another layer, which may be shared
        yield Binding({each.name: bound[each.name] for each in parameters if each.name in bound and each.name not in given}), fixed
    left = [role for role in exercise.roles if role.is_size and role.name != DEVICE.name and role not in bound.values()]
    choices = [[NOTHING] if name in others else [*left, NOTHING] for name in unknown]
    order = [each.name for each in parameters]
    three = [name for name in order if re.fullmatch(WIDTH_OF_OPERAND, name)]
    entering = [*three, *(name for name in unknown if re.fullmatch(OWN_WIDTH, name))] if len(three) == 3 else entering
    width = next((role for name in ("d_in", "hidden_size") for role in roles if entering and role.name == name), None)
    if width is not None:
        of_inputs = bound | dict.fromkeys(entering, width)
        yield Binding({name: of_inputs[name] for name in order if name in of_inputs}), fixed | dict.fromkeys(set(unknown) - set(entering))
    for choice in itertools.product(*choices):
        taken = [role for role in choice if isinstance(role, Role)]
        if len({role.name for role in taken}) < len(taken):
            continue
        of_choice = bound | {name: role for name, role in zip(unknown, choice, strict=True) if isinstance(role, Role)}
        none = {name: None for name, role in zip(unknown, choice, strict=True) if not isinstance(role, Role)}
        yield Binding({name: of_choice[name] for name in order if name in of_choice}), fixed | none
    bases = {each.name: BASE for each in parameters if each.default is None and re.fullmatch(OF_BASE, each.name.lower())}
    if bases and not unknown:  # without rotary positions, a model may have none
        yield Binding({name: bound[name] for name in order if name in bound}), fixed | bases
    rotations = {each.name: turned for each in parameters if each.default is None and re.fullmatch(OF_ROTATION, each.name.lower())}
    if rotations and not unknown and exercise.calls == "model":
        yield Binding({name: bound[name] for name in order if name in bound}), fixed | rotations
    sized = [name for name in order if name in bound and bound[name] in sizes and bound[name].name not in UNMISTAKABLE]
    for name, other, role in itertools.product(
        [name for name in unknown[:1] if name not in others], sized[:MOST_EXCHANGED], left
    ):  # n_embed, d_embed
        of_both = bound | {name: bound[other], other: role}
        yield Binding({each: of_both[each] for each in order if each in of_both}), fixed
    if 2 <= len(sized) <= MOST_EXCHANGED:
        for exchanged in itertools.islice(itertools.permutations([bound[name] for name in sized]), 1, None):
            of_order = bound | dict(zip(sized, exchanged, strict=True))
            yield Binding({name: of_order[name] for name in order if name in of_order}), fixed | dict.fromkeys(unknown)
    for name in sized[:MOST_EXCHANGED]:
        for role in [each for each in sizes if each not in bound.values() and each.name != DEVICE.name]:
            yield Binding({each: role if each == name else bound[each] for each in order if each in bound}), fixed | dict.fromkeys(unknown)
    of_heads = [name for name in sized if bound[name].name in ("head_dim", "value_dim")]
    width = next((role for role in sizes if role.name == "hidden_size"), None)
    if of_heads and width is not None:  # the width of all heads together
        of_all = bound | dict.fromkeys(of_heads, width)
        yield Binding({name: of_all[name] for name in order if name in of_all}), fixed | dict.fromkeys(unknown)
    needed = {each.name for each in parameters if each.default is each.empty}
    if not set(bound) <= needed:  # options that exclude each other
        yield Binding({name: bound[name] for name in order if name in bound and name in needed}), fixed | dict.fromkeys(unknown)
    if bound != listed:
        yield Binding({name: listed[name] for name in order if name in listed}), fixed | dict.fromkeys(unknown)


def _factors(bound: Mapping[str, Role], sizes: Sequence[Role], source: str) -> dict[str, Role]:
    """Return the expansion for an inner width that the source multiplies by the width: `Linear(d_model, d_model * d_mlp)`."""
    expansion = next((role for role in sizes if role.name == "expansion"), None)
    width = next((name for name, role in bound.items() if role.name == "hidden_size"), None)
    inner = next((name for name, role in bound.items() if role.name == "intermediate_size"), None)
    if expansion is None or expansion in bound.values() or width is None or inner is None:
        return {}
    product = rf"\b{width} *\* *(self\.)?{inner}\b|(?<![\w.]){inner} *\* *(self\.)?{width}\b"
    return {inner: expansion} if re.search(product, source) else {}


FRACTIONS = ("eps", "expansion")
"""Sizes that need not be whole numbers."""


def _can_be_size(name: str, role: Role, parameters: Sequence[inspect.Parameter]) -> bool:
    """Return True unless a parameter is a layer, or its default a flag, a text, or a fraction where a whole number is meant: `length_factor=1.0`."""
    parameter = next(each for each in parameters if each.name == name)
    if _is_layer(parameter):
        return False
    default = parameter.default
    kinds = int | float if role.name in FRACTIONS else int
    return default is inspect.Parameter.empty or default is None or (isinstance(default, kinds) and not isinstance(default, bool))


def _is_identity(method: str, subject: Subject) -> bool:
    """Return True for a method that returns its operand as it is, next to the method that computes the part."""
    return re.search(rf"def {method}\(self, (\w+)[^\n]*:\s*({DOCSTRING})?\s*return \1 *(\n|\Z)", subject.code) is not None


def _passes_on(method: Any) -> bool:
    """Return True for a method that passes any arguments on, such as the __call__ of a base class that calls `forward`."""
    try:
        taken = [*inspect.signature(method).parameters.values()][1:]
    except (TypeError, ValueError):  # an attribute that is no function, such as `loss = 0.0`, and some functions of libraries
        return False
    is_any = [each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD) for each in taken]
    return bool(taken) and (all(is_any) or (any(is_any) and _calls_forward(method)))


def _calls_forward(method: Any) -> bool:
    return "forward" in getattr(getattr(method, "__code__", None), "co_names", ())


def _flags(constructor: Sequence[inspect.Parameter], exercise: Exercise) -> tuple[str, ...]:
    """Return the required parameters that enable a bias, and those that make a causal part causal; none for a constructor that takes weights as arrays."""
    weights = {name for role in exercise.roles if role.is_weight and "bias" not in role.name for name in (role.name, *role.called)}
    if any(each.name.lower() in weights for each in constructor):
        return ()
    biases = [each.name for each in constructor if each.default is each.empty and each.name.lower().endswith("bias")]
    causal = [
        each.name
        for each in (constructor if exercise.name in CAUSAL else ())
        if (re.fullmatch(CAUSAL_FLAG, each.name.lower()) and _is_off(each)) or (each.name == "mask" and each.default is False)
    ]
    return (*biases, *causal)


CAUSAL = ("causal_self_attention", "transformer_block")
"""Exercises of what is causal in every case."""

CAUSAL_TEXT = r"causal|autoregressive"
"""Pattern of the texts that ask for a causal mask."""


def _causal_text(name: str, source: str) -> str | None:
    """Return the text with which the source compares a parameter, if it asks for a causal mask: `mask_type == "causal"`."""
    texts = re.findall(rf"\b{re.escape(name)} *== *['\"](\w+)['\"]", source)
    return next((text for text in texts if re.fullmatch(CAUSAL_TEXT, text.lower())), None)


CAUSAL_FLAG = r"(is_|use_|apply_)?(causal(_mask)?|decoder|masked|masking|autoregressive|mask_future|future_mask)"
"""Pattern of the names of flags that ask for a causal mask."""


def _is_off(parameter: inspect.Parameter) -> bool:
    return parameter.default is parameter.empty or parameter.default is False


def _is_flag(parameter: inspect.Parameter, exercise: Exercise) -> bool:
    """Return True for a parameter such as `bias=True`, which enables a weight and is not the weight itself."""
    weights = {name for role in exercise.roles if role.is_weight for name in (role.name, *role.called)}
    return isinstance(parameter.default, bool) and parameter.name.lower() in weights


def _is_width(name: str) -> bool:
    """Return True for the name of a width by itself: `d_model` next to `input_size`, but not `embedding`, which may be a layer."""
    return re.fullmatch(WIDTH, snake(name)) is not None and re.search("model|dim|size|width", snake(name)) is not None


def _fused_weight(parameters: Sequence[inspect.Parameter], exercise: Exercise) -> list[Role]:
    """Return the role of a fused weight for a constructor that requires one and the output weight: `w_qkv` alone may be a layer or a flag."""
    fused, output = (next((role for role in exercise.roles if role.name == name), None) for name in ("fused_weight", "output_weight"))
    needed = [each.name for each in parameters if each.default is each.empty]
    if fused is None or output is None or not all(any(is_named(name, role) for name in needed) for role in (fused, output)):
        return []
    return [replace(fused, size_of=joined_weights)]


def _constructor_roles(exercise: Exercise) -> list[Role]:
    """Return the roles that a constructor may take: weights, sizes, scalars, optional operands and a tokenizer."""
    arrays = {name for inputs in exercise.inputs for name, value in inputs.items() if isinstance(value, numpy.ndarray)}
    scalars = {name for inputs in exercise.inputs for name in inputs} - arrays
    return [
        role
        for role in exercise.roles
        if role.is_weight or role.is_size or role.size_of or role.name in {*scalars, "tokenizer"} or role.neutral is not MISSING
    ]
