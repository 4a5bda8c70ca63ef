"""Functions that take their options as fields of one object, treated as functions of these options."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from headway.practice.diagnosis.calls.wording import roles_of_names, snake
from headway.practice.diagnosis.classes.configs import CONFIG_NAMES, NUM_HEADS, fields_read
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.exercise import Role

HEAD_WIDTH = r"(d|dim)_?heads?|heads?_?(dim|size|width)|d_?k"
"""Pattern of the name of the width of a head."""

OPTIONS = "options"
"""Attribute of the function around another one: the dict that the latter returned in its last call, or was given, for what it has set there."""


def with_options(subject: Subject, roles: Sequence[Role]) -> Subject:
    """Return the function with the fields that it reads as parameters of its own; the subject itself if it takes no such object."""
    parameter = next((each for each in subject.parameters if re.search(CONFIG_NAMES, each.name.lower())), None)
    if inspect.isclass(subject.value) or parameter is None:
        return subject
    made = _dataclass(parameter, subject)
    read = sorted(fields_read(replace(subject, source=tuple(subject.used_source.splitlines())), parameter.name))
    fields = [each.name for each in dataclasses.fields(made)] if made else read
    bound = [name for name in read if any(name.lower() in (role.name, *role.called) for role in roles)]
    if not bound:
        return subject
    has_heads = any(role.name == "num_heads" for role in roles)
    single = [] if has_heads else [name for name in fields if re.fullmatch(NUM_HEADS, snake(name))]  # its width is that of one head
    defaults = dict.fromkeys(fields) | dict.fromkeys(single, 1)
    defaults |= {name: role.neutral for name, role in roles_of_names(bound, roles).items() if isinstance(role.neutral, int | float)}
    defaults |= {each.name: each.default for each in dataclasses.fields(made) if _has_default(each)} if made else {}
    widths = [] if has_heads else [name for name in fields if re.fullmatch(HEAD_WIDTH, snake(name)) and defaults[name] is None]
    function, kept = subject.value, [each for each in subject.parameters if each is not parameter]
    has_keys = made is None and re.search(rf"\b{parameter.name}(\[|\.(get|setdefault)\()", subject.used_source) is not None
    state = [name for name in bound if re.search(rf"\b{parameter.name}\[['\"]{name}['\"]\] *(=|\W=)(?!=)", subject.used_source)]

    def called(**given: Any) -> Any:
        options = ({} if has_keys else defaults | dict.fromkeys(widths, _width(given))) | {
            name: given.pop(name) for name in bound if name in given
        }
        passed = made(**options) if made else options if has_keys else SimpleNamespace(**options)
        answer = function(**given, **{parameter.name: passed})
        returned = next((each for each in answer if isinstance(each, dict)), passed) if isinstance(answer, tuple) else passed
        setattr(called, OPTIONS, returned if has_keys else {})
        return _with_state(answer, returned, state) if has_keys else answer

    own = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=defaults.get(name)) for name in bound]
    named = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in kept]
    called.__signature__ = inspect.Signature([*named, *own])  # type: ignore[attr-defined]
    called.__wrapped__ = function  # type: ignore[attr-defined]
    return replace(subject, value=called)


def _width(given: Mapping[str, Any]) -> int | None:
    """Return the last axis of the first array with several axes; None without one."""
    return next((int(each.shape[-1]) for each in given.values() if len(getattr(each, "shape", ())) > 1), None)


def _with_state(answer: Any, options: Any, names: Sequence[str]) -> Any:
    """Return a tuple with the arrays and numbers of the options that the function has set in place of the options themselves; counters stay there."""
    if not (isinstance(answer, tuple) and any(each is options for each in answer)):
        return answer
    return (*(each for each in answer if each is not options), *(options[name] for name in names if not isinstance(options[name], int)))


def _dataclass(parameter: inspect.Parameter, subject: Subject) -> type | None:
    """Return the dataclass of a parameter's annotation."""
    annotation = parameter.annotation
    found = getattr(subject.module, annotation.strip("'\""), None) if isinstance(annotation, str) else annotation
    return found if inspect.isclass(found) and dataclasses.is_dataclass(found) else None


def _has_default(field: dataclasses.Field[Any]) -> bool:
    return field.default is not dataclasses.MISSING
