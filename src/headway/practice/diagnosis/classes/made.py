"""Classes whose constructor takes ready-made parts, constructed by a function of their file, `make_model`, or by the class of the whole model."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from headway.practice.diagnosis.calls.binding import fits_name
from headway.practice.diagnosis.calls.wording import is_dropout, is_named, snake
from headway.practice.diagnosis.classes.slots import module_library
from headway.practice.diagnosis.classes.submodules import SIZES, WEIGHTS_RETURNED, Submodule, is_part, kind_of
from headway.practice.diagnosis.reading.subject import Subject, defines, parameters_of, source_in
from headway.practice.exercise import Exercise, Role
from headway.practice.names import fitting
from headway.practice.recipes import stacks
from headway.practice.recipes.stacks import OPERANDS


def as_made(subject: Subject) -> Iterator[Subject]:
    """Yield a class as it is, and as constructed by each function of its file that makes it or what contains it, and by each such class."""
    value: Any = subject.value
    methods = {"__module__": value.__module__}
    if not defines(value, "forward") and defines(value, "encode") and defines(value, "decode"):
        methods["forward"] = _composed
    yield replace(subject, value=type(value.__name__, (value,), methods)) if "forward" in methods else subject
    for name, maker in list(vars(subject.module).items()) if subject.module is not None else ():
        if maker is not value and getattr(maker, "__module__", None) == value.__module__ and _makes(maker, name, subject):
            made: Any = type(value.__name__, (value,), {**methods, "__new__": _maker(maker, value, subject.own_source), "__init__": _keep})
            made.__signature__ = inspect.signature(maker)
            yield replace(subject, value=made, maker=name)


def _makes(maker: Any, name: str, subject: Subject) -> bool:
    """Return True for a function that returns instances of classes, and for a class that makes an instance of one which takes layers."""
    source = source_in(subject.file_source, name) or ""
    if inspect.isfunction(maker):
        return "return" in source and re.search(r"\b[A-Z]\w*\(", source) is not None
    taken = [each.name for each in subject.parameters if each.default is each.empty and not re.search(SIZES, snake(each.name))]
    is_made = inspect.isclass(maker) and re.search(rf"\b{subject.name}\(", source) is not None
    return is_made and module_library(maker) == "torch" and any(re.search(PARTS, snake(name)) for name in taken)


PARTS = r"layer|block|encoder|decoder|embed|module"
"""Pattern of the names of parameters for ready-made parts."""


def with_makers(subject: Subject, exercise: Exercise) -> Iterator[Subject]:
    """Yield a class, and as constructed by functions of its file if it takes layers; not as it is if these have the names of weights."""
    parts = [each.name for each in subject.parameters if each.default is each.empty and is_part(each.name, subject, is_called=True)]
    has_layers = any(role.is_weight and is_named(name, role) for name in parts for role in exercise.roles)
    takes_layers = parts and module_library(subject.value) == "torch"
    yield from (each for each in (as_made(subject) if takes_layers else (subject,)) if not (has_layers and each is subject))


def of_own_layers(subject: Subject, layer: str) -> Iterator[Subject]:
    """Yield a class that takes ready-made layers as constructed with layers of its file, which hold ready-made parts.

    layer   exercise of its layers
    """
    value: Any = subject.value
    held = list(vars(subject.module).values()) if subject.module is not None else []
    own = (each for each in held if inspect.isclass(each) and each.__module__ == value.__module__)
    of_file = next((each for each in own if fitting(each.__name__)[0][:1] == (layer,)), None)
    given = [each.name for each in subject.parameters if each.default is not None]  # what may be None are layers of another kind
    taken = [(name, re.search(TAKEN.format(re.escape(name)), subject.own_source)) for name in given]
    found = [(name, how[1]) for name, how in taken if how is not None and re.search(r"layer|block", snake(name))]
    if of_file is None or len(found) != 1 or module_library(value) != "torch":
        return
    source = source_in(subject.file_source, of_file.__name__) or ""
    name, is_list = found[0]
    optional = {each.name for each in subject.parameters if each.default is None and is_part(each.name, subject, is_called=True)}
    rest = [each for each in subject.parameters if each.name not in {name, *optional}]
    count = [inspect.Parameter("num_layers", inspect.Parameter.KEYWORD_ONLY)] if is_list else []

    def make(**named: Any) -> Any:
        layers = [_layer(of_file, source) for _ in range(named.pop("num_layers", 0))] if is_list else _layer(of_file, source)
        return value(**{name: layers}, **named)

    made: Any = type(
        value.__name__, (value,), {"__module__": value.__module__, "__new__": _maker(make, value, subject.own_source), "__init__": _keep}
    )
    made.__signature__ = inspect.Signature([each.replace(kind=each.KEYWORD_ONLY) for each in (*rest, *count)])
    yield replace(subject, value=made)


TAKEN = r"(ModuleList|Sequential)\(\*?{0}\)|(?:clones?\w*|copy)\({0}\b|[\[(]{0} for \w+ in range"
"""Pattern of the source of a constructor that takes a list of layers, or one that it copies, or should."""


def copies_layer(subject: Subject) -> bool:
    """Return True for a class that is given a layer and copies it several times: a stack, under whatever name."""
    given = (
        [each.name for each in subject.parameters if re.search(r"layer|block", snake(each.name))] if inspect.isclass(subject.value) else []
    )
    return any(re.search(rf"clones?\w*\({name}\b|\bcopy\({name}\)[^\n]*\bfor\b", subject.own_source) for name in given)


def _layer(kind: Any, source: str) -> Any:
    """Return a layer of the width of stacks, with ready-made parts in the places of those that its constructor takes."""
    num_returned = 1 + bool(re.search(WEIGHTS_RETURNED, source))
    spec = Submodule(stacks.WIDTH, stacks.NUM_HEADS, 3 * stacks.WIDTH, num_returned=num_returned)
    given: dict[str, Any] = {}
    for each in inspect.signature(kind).parameters.values():
        part = None if re.search(SIZES, snake(each.name)) else kind_of(each.name)
        if each.default is each.empty or is_dropout(each.name) or (type(each.default) is int and spec.size(each.name) is not None):
            given[each.name] = (
                0.0 if is_dropout(each.name) else spec.size(each.name) if part is None else replace(spec, kind=part).made("torch")
            )
    return kind(**given)


KEPT = r"(?m)^\s*self\.(\w+) *= *(\w+)$"
"""Pattern of the statement that keeps what a constructor is given."""


def _keep(self: Any, *others: Any, **named: Any) -> None:
    """Leave an instance as the function made it."""


def _maker(function: Callable[..., Any], value: type, source: str) -> Callable[..., Any]:
    """Return a constructor that gives the instance of a class with this source in what a function returns.

    A layer that the class copies, and which it keeps under a name that nothing reads, is left out.
    """
    kept = re.findall(KEPT, source)
    unread = [name for name, given in kept if len(re.findall(rf"\bself\.{name}\b", source)) == 1 and re.search(TAKEN.format(given), source)]

    def new(cls: type, *others: Any, **named: Any) -> Any:
        whole = function(*others, **named)
        found = next(each for each in whole.modules() if isinstance(each, value))
        for name in filter(vars(found).get("_modules", {}).__contains__, unread):
            delattr(found, name)
        found.__class__ = cls
        return found

    return new


def _composed(self: Any, source: Any, target: Any, source_mask: Any = None, target_mask: Any = None) -> Any:
    """Return the logits of a model with the methods `encode` and `decode`, and maybe one for its output layer."""
    given = {"source": source, "target": target, "source_mask": source_mask, "target_mask": target_mask}
    given["memory"] = _called(self.encode, given, OPERANDS[::-1])
    given["target"] = _called(self.decode, given, OPERANDS)
    last = next((name for name in ("project", "generate_logits", "output") if defines(type(self), name)), None)
    return given["target"] if last is None else getattr(self, last)(given["target"])


def _called(method: Callable[..., Any], given: dict[str, Any], roles: Sequence[Role]) -> Any:
    """Call a method with the operands that its parameters' names mean, the first role first."""
    meant = {each.name: next((role.name for role in roles if fits_name(each.name, role)), "") for each in parameters_of(method)}
    return method(**{name: given[role] for name, role in meant.items() if role in given})
