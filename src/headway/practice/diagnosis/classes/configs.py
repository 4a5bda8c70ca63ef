"""Sizes that a class reads from a config object or from the module's variables."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import logging
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from types import ModuleType
from typing import Any, Literal, get_args, get_origin

from headway.arrays import ARRAY_LIBRARIES, array_library, as_dtype
from headway.practice.diagnosis.calls.wording import (
    INNER,
    NOTHING,
    UNCAPPED,
    WIDTH,
    is_cap,
    is_dropout,
    is_named,
    neutral_value,
    roles_of_names,
    snake,
)
from headway.practice.diagnosis.classes.slots import is_module
from headway.practice.diagnosis.reading.subject import Subject, is_learners
from headway.practice.exercise import Role

CONFIG_NAMES = r"^(model_?)?(config|cfg|conf|args|hparams|configs|params|opts?|options|hp)$|_(config|cfg|args|params|hparams)$"
CONFIG_OF = r"^(config|cfg|args)_[a-z]+$"
"""Patterns of the names of configs, and of those that say afterwards whose they are: `config_trainer`."""

OF_PARTS = rf"{CONFIG_NAMES}|^((self|cross|masked|multi_?head)_?)?(attention|attn|mha|ffn|mlp|feed_?forward|encoder|decoder)$"


def is_size_role(role: Role) -> bool:
    """Return True for a role that a config or a variable may hold."""
    return (role.is_size or role.size_of is not None) and not role.is_submodule


ARRAY_ATTRIBUTES = {"shape", "dtype", "device", "T", "ndim", "size", "mT", "weight", "bias", "forward"}


class NoSuchSizeError(AttributeError, KeyError):
    """A size that a probe does not define, such as a single width for a projection between two widths."""


OF_POSITIONS = r"((use|with|add|has|enable)_)?(absolute_)?pos(ition(al)?)?_(enc(oding)?|emb(ed(ding)?)?)s?"
"""Pattern of the names of settings that switch positions on."""

COPIES = r"(to|as)_?dict|model_dump|copy|dict"
"""Pattern of the names of methods that return the fields again."""


class Config:
    """A config object that returns sizes as attributes or items, under any name that learners use."""

    def __init__(
        self,
        sizes: Mapping[str, Any],
        roles: Sequence[Role],
        dropout: float,
        base: Any = None,
        names: Iterable[str] = (),
        optional: Collection[str] = (),
        groups: Collection[str] = (),
        of_parts: Collection[str] = (),
    ) -> None:
        sized = [role for role in roles if is_size_role(role)]
        names = sorted(names)
        meant = roles_of_names(sorted({*names, *of_parts}), sized, is_shared=True)
        self.__dict__["_made_from"] = (sizes, sized, dropout, base, meant, optional, groups)
        self.__dict__["_names"] = names

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if re.fullmatch(COPIES, name):
            return lambda *_: self
        if name.startswith("get_"):
            return lambda *_: getattr(self, name.removeprefix("get_"))
        sizes, roles, dropout, base, meant, optional, groups = self.__dict__["_made_from"]
        if name in groups and name not in ({} if base is None else fields_of(base)):
            return self
        role = meant.get(name) or roles_of_names([name], roles).get(name)
        value = _value_of(name, role, sizes, dropout)
        if value is not NOTHING:
            return value
        fallback = fields_of(base).get(name, NOTHING) if base is not None else NOTHING
        if fallback is NOTHING and re.search(OF_PARTS, name):  # the settings of a part
            return self
        if fallback is NOTHING and name in optional:
            raise AttributeError(name)
        if fallback is NOTHING and _is_of_one_head(sizes, roles):
            fallback = _size_of_one_head(name, sizes)
        if fallback is NOTHING and re.fullmatch(OF_POSITIONS, name.lower()):
            return True
        value = neutral_value(name) if fallback is NOTHING else fallback
        return None if value is NOTHING else value  # a setting that is not given

    def items(self) -> Iterator[tuple[str, Any]]:
        """Yield the fields that the code reads, with their values; without the sizes that a probe does not define."""
        for name in self.__dict__["_names"]:
            with suppress(NoSuchSizeError):
                yield name, getattr(self, name)

    def __getitem__(self, key: str) -> Any:
        return getattr(self, key)

    def __setitem__(self, key: str, value: Any) -> None:
        setattr(self, key, value)

    def __contains__(self, key: str) -> bool:
        return isinstance(key, str) and self.get(key) is not None

    def get(self, key: str, default: Any = None) -> Any:
        """Return a value like dict.get; for a flag, and for what is no size, the default."""
        try:
            value = getattr(self, key)
        except NoSuchSizeError:
            return default
        return default if value is None or (isinstance(default, bool) and not isinstance(value, bool)) else value


def keywords(subject: Subject, name: str, sizes: Mapping[str, Any], roles: Sequence[Role], dropout: float) -> dict[str, Any]:
    """Return a dict of the keywords as which a class passes a parameter on, with the sizes of a probe; the others keep their defaults.

    Errors   NoSuchSizeError for a size that the probe does not define
    """
    taken = keywords_taken(subject, name)
    meant = roles_of_names([*taken], [role for role in roles if is_size_role(role)])
    values = {each: _value_of(each, meant.get(each), sizes, dropout) for each in taken}
    return {each: value for each, value in values.items() if value is not NOTHING}


def _value_of(name: str, role: Role | None, sizes: Mapping[str, Any], dropout: float) -> Any:
    """Return a field's value for these sizes; NOTHING for a field that is not a size."""
    if is_cap(name):
        return UNCAPPED
    if role is None or is_dropout(name):
        return dropout if is_dropout(name) else NOTHING
    if role.name not in sizes:
        raise NoSuchSizeError(name)
    return sizes[role.name]


def config_parameter(subject: Subject, others: Collection[str] = ()) -> str | None:
    """Return the constructor parameter that takes all sizes at once: by its name, or because the class reads fields of it.

    others   parameters that are known to be something else
    """
    for parameter in (each for each in subject.parameters if not (each.name in others or is_dropout(each.name))):
        if parameter.name.lower() in ("params", "args", "opt", "options") and parameter.default is not parameter.empty:
            continue
        if _is_option(subject, parameter):
            continue
        is_open = (
            parameter.default is parameter.empty
            or is_config_class(parameter.default, subject.module)
            or (parameter.default is None and re.search(CONFIG_NAMES, parameter.name, re.IGNORECASE))
        )
        if holds_fields(parameter.default) or (is_open and _reads_fields(subject, parameter)):
            return parameter.name
    return None


def further_configs(subject: Subject, config: str | None) -> tuple[str, ...]:
    """Return the constructor parameters that take sizes or settings, too, next to the first config: `decoder_config` after `encoder_config`."""
    required = (each for each in subject.parameters if each.default is each.empty and each.name != config)
    named = (each for each in required if re.search(rf"{CONFIG_NAMES}|{CONFIG_OF}", each.name.lower()))
    return tuple(each.name for each in named if config and (fields_read(subject, each.name) or _is_annotated_as_config(each)))


def _is_annotated_as_config(parameter: inspect.Parameter) -> bool:
    """Return True for a parameter whose annotation is a class that is named after settings."""
    annotation = parameter.annotation
    name = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    return re.search(r"(Config|Settings|Args|Params)\W*$", name) is not None


def _is_option(subject: Subject, parameter: inspect.Parameter) -> bool:
    """Return True for settings of one part that are None by default, next to required sizes, and that a class only passes on: `rope_config=None`."""
    others = [each for each in subject.parameters if each.default is each.empty and each.kind is each.POSITIONAL_OR_KEYWORD]
    is_of_part = re.fullmatch(r"(?!model)\w+_(config|cfg)", parameter.name.lower()) is not None
    return parameter.default is None and is_of_part and len(others) > 1 and not fields_read(subject, parameter.name)


def keywords_taken(subject: Subject, name: str) -> Mapping[str, inspect.Parameter]:
    """Return what a class of the file takes that gets a parameter as its keywords: of `Attention(**name)`; nothing for any other parameter."""
    given = re.search(rf"\b(\w+)\([^()]*\*\*{re.escape(name)}\b", subject.own_source)
    value = getattr(subject.module, given[1], None) if given is not None else None
    if given is None or not (inspect.isclass(value) and is_layer(value)) or fields_read(subject, name):
        return {}
    return {each: taken for each, taken in inspect.signature(value).parameters.items() if not re.search(rf"\b{each} *=", given[0])}


def _reads_fields(subject: Subject, parameter: inspect.Parameter) -> bool:
    if parameter.annotation in (int, float, bool, "int", "float", "bool"):
        return False
    if re.search(CONFIG_NAMES, parameter.name, re.IGNORECASE):
        return True
    if inspect.isclass(parameter.annotation) and is_config_class(parameter.annotation, subject.module):
        return True
    return bool(fields_read(subject, parameter.name)) and not _is_called(subject, parameter.name)


def fields_read(subject: Subject, name: str) -> frozenset[str]:
    """Return the attributes and keys that a class's source reads from a variable."""
    read = fields_read_in(subject.code, name)
    return read | fields_read_in(subject.file_source, name) if f"in {name}.items()" in subject.code else read


def inner_widths_of_parts(subject: Subject, name: str) -> frozenset[str]:
    """Return the inner widths that the parts which a class makes read from a variable: next to `vit_inter_dim`, its own `vit_hidden_dim` is the width."""
    return frozenset(each for each in fields_read_in(subject.used_source, name) if re.search(INNER, snake(each)))


def optional_fields(subject: Subject, name: str) -> frozenset[str]:
    """Return the fields of a variable that the code can do without: it reads them by getattr with a default, or asks for them by hasattr.

    The code is that of the file, and of the author's files whose classes the file makes.
    """
    made = {*re.findall(r"\b([A-Z]\w*)\(", subject.code)}
    values = [vars(subject.module).get(each) for each in sorted(made)] if subject.module is not None else []
    modules = {each.__module__: None for each in values if inspect.isclass(each) and is_learners(each.__module__)}
    texts = [subject.file_source, *map(_text_of_module, modules)]
    return frozenset(field for text in texts for field in _optional_in(text, name))


def _text_of_module(name: str) -> str:
    """Return the text of an imported module; none if its file is gone."""
    try:
        return inspect.getsource(sys.modules[name])
    except (OSError, TypeError, KeyError):
        return ""


def groups_of_fields(subject: Subject, name: str) -> frozenset[str]:
    """Return the fields of a variable that hold fields themselves: `MODEL` for `config["MODEL"]["width"]`, or `config["MODEL"][kind]["width"]`."""
    return _groups_in(subject.code, name)


@cache
def _groups_in(text: str, name: str) -> frozenset[str]:
    of_variable = rf"(?<![\w.])(?:self\.)?{re.escape(name)}"
    items = re.findall(rf"{of_variable}\[['\"](\w+)['\"]\](?:\[(?:\w+\]\[)?['\"]\w|\.get\()", text)
    return frozenset({*items, *re.findall(rf"{of_variable}\.(\w+)\.(?=[a-z_]\w*\b(?!\())", text)} - ARRAY_ATTRIBUTES)


@cache
def _optional_in(text: str, name: str) -> frozenset[str]:
    variable = rf"(?:self\.)?{re.escape(name)}"
    found = re.findall(rf"""\bgetattr\(\s*{variable}\s*,\s*["'](\w+)["']\s*,|\bhasattr\(\s*{variable}\s*,\s*["'](\w+)["']""", text)
    return frozenset(field for each in found for field in each if field)


@cache
def fields_read_in(text: str, name: str) -> frozenset[str]:
    """Return the attributes and keys that a text reads from a variable; the same text is read for every instance that is constructed."""
    read = set(re.findall(rf"(?<![\w.\"'/])(?:self\.)?{re.escape(name)}\.([^\W\d]\w*)(?!\w*\()", text))  # no "config.json"
    read |= set(re.findall(rf"(?<![\w.])(?:self\.)?{re.escape(name)}(?:\.get\(|\[)\s*['\"](\w+)['\"]", text))
    if re.search(rf"\bin {re.escape(name)}\.items\(\):\s*(?:setattr\(self|self\.__setattr__\()", text):
        read |= _attributes_read_in(text)
    return frozenset(each for each in read - ARRAY_ATTRIBUTES if not each.startswith("__"))


def _attributes_read_in(text: str) -> set[str]:
    """Return the attributes of an instance that a text reads, without those that it only assigns, defines or calls."""
    assigned = {*re.findall(r"\bself\.(\w+)\s*(?:=(?!=)|:|\()", text), *re.findall(r"register_buffer\(\s*['\"](\w+)", text)}
    kept = {*re.findall(r"\bself\.(\w+) *=[^=\n]*\bself\.\1\b", text)}  # self.dropout = nn.Dropout(self.dropout)
    return {*re.findall(r"\bself\.([a-z]\w*)", text)} - assigned | kept


def _is_called(subject: Subject, name: str) -> bool:
    """Return True if a class calls a parameter or stores it as a part of its own, as it does with a submodule, or encodes texts with it."""
    return bool(re.search(rf"(?<![\w.])(self\.)?{re.escape(name)}(\.(encode|decode))?\(", subject.own_source))


OF_SETTINGS = r"Config|Args|Params|Settings|Options|Hyper|^(config|cfg|args|hparams|params|settings)$"
"""Pattern of the names of classes that hold settings."""


def is_config_class(value: Any, module: ModuleType | None) -> bool:
    """Return True for a class of the file that holds settings, or one of another file whose name says so."""
    if not inspect.isclass(value) or module is None or is_layer(value):
        return False
    return value.__module__ == module.__name__ or (bool(re.search(OF_SETTINGS, value.__name__)) and is_learners(value.__module__))


def is_layer(value: type) -> bool:
    """Return True for a class that computes."""
    return any(name in vars(value) for name in ("forward", "__call__")) or any(
        base.__module__.partition(".")[0] in ("torch", "mlx", "flax", "equinox", "jax") for base in value.__mro__
    )


def holds_fields(value: Any) -> bool:
    """Return True for an object that holds settings: a dict with names as keys, a namespace, an instance of a plain class."""
    if isinstance(value, dict):
        return (
            bool(value) and all(isinstance(key, str) for key in value) and not is_module(value) and not callable(next(iter(value.values())))
        )
    if value is None or inspect.isclass(value) or isinstance(value, ModuleType | str | bytes | int | float | tuple | list | set):
        return False
    if callable(value) or is_module(value) or hasattr(value, "shape") or hasattr(value, "__array__") or isinstance(value, logging.Logger):
        return False
    held = getattr(value, "__dict__", {})
    return any(isinstance(each, int | float) for name, each in {**class_fields(type(value)), **held}.items() if not name.startswith("_"))


def class_fields(value: type) -> dict[str, Any]:
    """Return the settings that a class has as attributes, by name."""
    held = (each for base in reversed(value.__mro__) for each in vars(base).items())
    return {name: each for name, each in held if not name.startswith("_") and isinstance(each, int | float | str | type(None))}


def fields_of(base: Any) -> dict[str, Any]:
    """Return the fields of a config object or class, by name."""
    if isinstance(base, dict):
        return dict(base)
    if inspect.isclass(base):
        return class_fields(base)
    return {
        **class_fields(type(base)),
        **{name: value for name, value in getattr(base, "__dict__", {}).items() if not name.startswith("_")},
    }


def config_bases(subject: Subject, name: str) -> Iterator[Any]:
    """Yield the file's own configs that may be passed as a parameter: its default, an instance of its class, an object of the file."""
    parameter = next((each for each in subject.parameters if each.name == name), None)
    if parameter is not None and holds_fields(parameter.default):
        yield parameter.default
    read = fields_read(subject, name) or fields_read_in(subject.file_source, name)
    annotated = _class_of(parameter) if parameter is not None else None
    module = {} if subject.module is None else vars(subject.module)
    classes = [value for value in module.values() if is_config_class(value, subject.module)]
    if inspect.isclass(annotated) and annotated in classes:
        classes.insert(0, annotated)
    for value in (value for key, value in module.items() if not key.startswith("__") and holds_fields(value)):
        if read and read <= set(fields_of(value)) | _attributes(type(value)):
            yield value
    for each in classes:
        names = _attributes(each) | set(fields_of(_as_instance(each)))
        if (each is annotated or read) and read <= names:
            yield each


def base_of(subject: Subject, name: str, first: Any) -> Any:
    """Return the config that is passed as a further parameter in place of the first one, if it is annotated with another class; else the first.

    None if no object of the file is one.
    """
    parameter = next((each for each in subject.parameters if each.name == name), None)
    kind = None if parameter is None else parameter.annotation
    kind = getattr(subject.module, kind, None) if isinstance(kind, str) else kind
    if first is None or not inspect.isclass(kind) or kind is inspect.Parameter.empty or first is kind or isinstance(first, kind):
        return first
    return next(config_bases(subject, name), None)


def _class_of(parameter: inspect.Parameter) -> Any:
    """Return the class of a config that a parameter is, if its default is that class itself: `config=Settings`; else what it is annotated with."""
    return parameter.default if inspect.isclass(parameter.default) and parameter.default is not parameter.empty else parameter.annotation


MOST_LIKE = 3
"""Number of fields that a class reads from a config from which a config of the file is known to be the one it takes."""


def missing_field(subject: Subject) -> tuple[str, str] | None:
    """Return the name of the file's only config class and of a field that a class reads from it but that it lacks."""
    name = config_parameter(subject) if inspect.isclass(subject.value) else None
    module = {} if subject.module is None else vars(subject.module)
    classes = [value for value in module.values() if is_config_class(value, subject.module) and hasattr(value, "__dataclass_fields__")]
    if name is None or len(classes) != 1 or any(base.__module__ != classes[0].__module__ for base in classes[0].__mro__[:-1]):
        return None
    read, known = fields_read(subject, name), _attributes(classes[0]) | set(fields_of(_as_instance(classes[0])))
    lacking = {each for each in read - known if not re.search(rf"(?<!\bself)\.{each} *=[^=]|['\"]{each}['\"]", subject.file_source)}
    is_meant = len(read & known) >= MOST_LIKE and "__getattr__" not in known
    return (classes[0].__name__, min(lacking)) if lacking and is_meant else None


def fallback_config(subject: Subject, name: str) -> Any:
    """Return the file's config with the most of the fields that its classes read from a parameter; None if there is none."""
    if subject.module is None:
        return None
    read = fields_read_in(subject.file_source, name)
    known = [
        value
        for key, value in vars(subject.module).items()
        if not key.startswith("__") and (holds_fields(value) or is_config_class(value, subject.module))
    ]
    return max(map(_as_instance, known), key=lambda value: len(read & set(fields_of(value))), default=None)


def _as_instance(value: Any) -> Any:
    """Return an instance of a config class with its defaults, or the class itself if it has none."""
    if not inspect.isclass(value):
        return value
    try:
        return value()
    except Exception:  # the learner's constructor may need anything
        return value


def _attributes(value: type) -> set[str]:
    """Return the names of a class's fields, properties and constructor parameters."""
    if issubclass(value, dict):
        return set()
    try:
        taken = set(inspect.signature(value).parameters)
    except (TypeError, ValueError):
        taken = set()
    return taken | {name for name in dir(value) if not name.startswith("_")}


def fields_needed(subject: Subject, name: str) -> Collection[str] | None:
    """Return the fields that a class reads from a variable; None if others may read more, because it passes the variable on."""
    return _needed_in(subject.code, name)


@cache
def _needed_in(code: str, name: str) -> frozenset[str] | None:
    body = "\n".join(line for line in code.splitlines() if not re.match(r"\s*def ", line))
    is_passed = re.search(rf"[(,=]\s*(\*\*|self\.)?{re.escape(name)}\s*[,)]", body)
    return None if is_passed else fields_read_in(code, name) | fields_read_in(body, f"self.{name}")


def configured(
    base: Any,
    sizes: Mapping[str, Any],
    roles: Sequence[Role],
    dropout: float,
    needed: Collection[str] | None = None,
    *,
    is_variable: bool = False,
) -> Any:
    """Return a copy of a config with the sizes of a probe; a class is instantiated.

    needed        fields of which the sizes must be known; None for all
    is_variable   True for a class whose own attributes are read, although it could be instantiated
    """
    roles = [role for role in roles if is_size_role(role)]
    if inspect.isclass(base) and not (is_variable or needs_no_instance(base)):
        return _instantiated(base, sizes, roles, dropout, needed)
    fields = fields_of(base)
    changed = changes(list(fields), fields, sizes, roles, dropout, needed)
    if isinstance(base, dict):
        return type(base)({**base, **changed}) if type(base) is dict else Config(sizes, roles, dropout, base)
    if inspect.isclass(base):
        metaclass: Any = type(base)
        return metaclass(base.__name__, (base,), changed)
    if dataclasses.is_dataclass(base) and not inspect.isclass(base) and base.__dataclass_fields__:  # without annotations it has none
        try:
            return dataclasses.replace(base, **{name: value for name, value in changed.items() if name in base.__dataclass_fields__})
        except (TypeError, ValueError):
            pass
    made = copy.copy(base)
    for name, value in changed.items():
        object.__setattr__(made, name, value)
    return made


def needs_no_instance(base: type) -> bool:
    """Return True for a class whose own attributes are the settings."""
    makes_fields = dataclasses.is_dataclass(base) or issubclass(base, tuple)  # a named tuple
    return not makes_fields and getattr(base, "__init__", None) is object.__init__


def _instantiated(base: type, sizes: Mapping[str, Any], roles: Sequence[Role], dropout: float, needed: Collection[str] | None) -> Any:
    parameters = [each for each in inspect.signature(base).parameters.values() if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
    defaults = {each.name: each.default for each in parameters}
    given = changes(list(defaults), defaults, sizes, roles, dropout, needed)
    for each in parameters:
        if each.default is each.empty and each.name not in given:
            value = get_args(each.annotation)[0] if get_origin(each.annotation) is Literal else neutral_value(each.name)
            given[each.name] = (False if each.annotation in (bool, "bool") else None) if value is NOTHING else value
    if all(role.name != "num_heads" for role in roles):  # the class may check that the width divides by it
        given |= {name: 1 for name in defaults if re.search("heads?$", name) and name not in given}
    try:
        made = base(**given)
    except (ValueError, AssertionError):  # it only allows the sizes of its author's model
        if not (dataclasses.is_dataclass(base) or hasattr(base, "model_construct")):
            raise
        made = _unchecked(base, given)
    fields = {name: value for name, value in fields_of(made).items() if name not in defaults or _is_of_part(name, value)}
    known = [name for name, role in roles_of_names(list(fields), roles, is_shared=True).items() if role.name in sizes or is_dropout(name)]
    known += [name for name, value in fields.items() if _is_of_part(name, value) and name not in known]
    for name, value in changes(known, fields, sizes, roles, dropout, needed).items():
        with suppress(AttributeError, TypeError):  # a property
            object.__setattr__(made, name, value)
    return made


def _is_of_part(name: str, value: Any) -> bool:
    """Return True for a field that holds the settings of a part, such as those of the attention."""
    return bool(re.search(OF_PARTS, name)) and not isinstance(value, dict) and holds_fields(value)


def _unchecked(base: type, given: Mapping[str, Any]) -> Any:
    """Return an instance of a dataclass or pydantic model with these fields, and the others as by default, without its checks."""
    if hasattr(base, "model_construct"):
        return base.model_construct(**given)
    made: Any = object.__new__(base)
    for each in dataclasses.fields(base):
        default = each.default_factory() if each.default_factory is not dataclasses.MISSING else each.default
        if each.name in given or default is not dataclasses.MISSING:
            object.__setattr__(made, each.name, given.get(each.name, default))
    return made


NUM_HEADS = r"(n|num)_?(attention_|attn_|q_)?heads?"
"""Pattern of the name of a number of heads."""


def with_width_of_head(roles: Sequence[Role], subject: Subject, name: str) -> tuple[Role, ...]:
    """Return the roles, that of the width of a head under the name of the field that follows the number of heads in a shape, next to a width."""
    of_config = rf"(?:self\.)?{re.escape(name)}\."
    shape = r"\.(?:view|reshape)\((?:[^()]|\([^()]*\))*?"
    found = re.search(rf"{shape}\b{of_config}{NUM_HEADS},\s*{of_config}(\w+)\s*[,)]", subject.code)
    field = found[found.lastindex or 0] if found is not None else ""
    others = [each for each in fields_read(subject, name) if each != field and re.search(r"model|emb|dim|width", each)]
    if not field or not others or any(is_named(field, role) for role in roles if role.name == "head_dim"):
        return tuple(roles)
    return tuple(
        replace(
            role,
            called=(*role.called, snake(field)) if role.name == "head_dim" else tuple(each for each in role.called if each != snake(field)),
        )
        for role in roles
    )


def with_width_of_all_heads(roles: Sequence[Role], subject: Subject, name: str) -> tuple[Role, ...]:
    """Return the roles, that of the width under the names of the fields that the class or its parts divide by a number of heads: `config.d_k // config.n_heads`."""
    of_config = rf"\b(?:self\.)?{re.escape(name)}\."
    divided = {snake(field) for field in re.findall(rf"{of_config}(\w+) *(?://|%) *{of_config}\w*heads?\w*", subject.used_source)}
    of_head = {field for field in divided if any(role.name in OF_HEAD for role in roles_of_names([field], roles).values())}
    if not of_head or not any(role.name == "hidden_size" for role in roles):
        return tuple(roles)
    return tuple(
        replace(role, called=(*role.called, *sorted(of_head)))
        if role.name == "hidden_size"
        else replace(role, called=tuple(each for each in role.called if each not in of_head))
        for role in roles
    )


OF_HEAD = ("head_dim", "value_dim")
"""Sizes of a single head."""


def _is_of_one_head(sizes: Mapping[str, Any], roles: Sequence[Role]) -> bool:
    """Return True for a part of one head or of some, which has the width of a head and none of a model."""
    return "head_dim" in sizes and not any(role.name == "hidden_size" for role in roles)


def _size_of_one_head(name: str, sizes: Mapping[str, Any]) -> Any:
    """Return the value of a field for a part of heads: 1 for a number of heads if there is none, their width for that of a model; else NOTHING."""
    num_heads = sizes.get("num_heads") or 1
    if re.fullmatch(NUM_HEADS, snake(name)):
        return num_heads
    return num_heads * sizes["head_dim"] if re.fullmatch(WIDTH, snake(name)) else NOTHING


SHARE_ROTATED = r"(rope|rotary)_(pct|percent(age)?|fraction|share|partial_factor)|partial_(rope|rotary)(_factor)?"
"""Pattern of the names of fields for the share of the coordinates that rotate, which is all of them in the definition."""


def changes(
    names: Sequence[str],
    now: Mapping[str, Any],
    sizes: Mapping[str, Any],
    roles: Sequence[Role],
    dropout: float,
    needed: Collection[str] | None = None,
) -> dict[str, Any]:
    """Return new values of the fields that are sizes, dropout rates, caps of the scores, dtypes or shares of what rotates."""
    meant = _of_all_heads(roles_of_names(names, roles, is_shared=True), now)
    found: dict[str, Any] = {}
    if _is_of_one_head(sizes, roles):
        of_head = {name: _size_of_one_head(name, sizes) for name in names if name not in meant}
        found |= {name: value for name, value in of_head.items() if value is not NOTHING}
    for name in names:
        if is_dropout(name) and not isinstance(now[name], bool):
            found[name] = dropout
        elif is_cap(name) and type(now[name]) in (int, float):
            found[name] = UNCAPPED
        elif snake(name) == "multiple_of":
            found[name] = neutral_value(name)
        elif re.fullmatch(SHARE_ROTATED, snake(name)) and isinstance(now[name], float):
            found[name] = 1.0
        elif _is_of_part(name, now[name]):
            found[name] = configured(now[name], sizes, roles, dropout, ())
        elif name in meant and (isinstance(now[name], int | float | type(None)) or now[name] is inspect.Parameter.empty):
            if meant[name].name in sizes:
                size = sizes[meant[name].name]
                if isinstance(size, bool) or not isinstance(now[name], bool):  # `use_rotary_embeddings: bool = False` is no width
                    found[name] = size
            elif needed is None or name in needed:
                raise NoSuchSizeError(name)
        elif (wide := in_full_precision(now[name])) is not now[name]:
            found[name] = wide
    return found


def in_full_precision(value: Any) -> Any:
    """Return float32 of the same library for a dtype of half precision, in which outputs cannot be compared closely."""
    is_dtype = inspect.isclass(value) or type(value).__name__.lower().endswith("dtype")
    if not is_dtype or not re.fullmatch(r"([a-z.]+\.)?b?float16", value.__name__ if inspect.isclass(value) else str(value)):
        return value
    home = (value.__module__ if inspect.isclass(value) else type(value).__module__).split(".")[0]
    return as_dtype("float32", array_library(home if home in ARRAY_LIBRARIES else "numpy"))


def _of_all_heads(meant: Mapping[str, Role], now: Mapping[str, Any]) -> dict[str, Role]:
    """Return the roles of names, that of the width for a size of a head of which there are several but which is as large as the width."""
    width = next((name for name, role in meant.items() if role.name == "hidden_size"), None)
    has_heads = any(role.name == "num_heads" and isinstance(now[name], int) and now[name] > 1 for name, role in meant.items())
    if width is None or not has_heads or not isinstance(now[width], int):
        return dict(meant)
    return {name: meant[width] if role.name in OF_HEAD and now[name] == now[width] else role for name, role in meant.items()}
