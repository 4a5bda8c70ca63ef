"""A probe's inputs as a learner's function takes them, and its answer as NumPy."""

from __future__ import annotations

import inspect
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy

from headway.arrays import array_library, as_dtype, from_numpy
from headway.errors import OptionError
from headway.practice.diagnosis.compare import Raised, as_numbers
from headway.practice.diagnosis.patience import TookTooLongError, patience
from headway.practice.diagnosis.subject import Subject
from headway.practice.exercise import MISSING, Exercise, Inputs, Role
from headway.practice.message import Message

DTYPES = {"numpy": "float64", "torch": "float32", "jax": "float32", "mlx": "float32", "list": "float64"}
"""What floating inputs come in: the dtype that people's own code is written for."""

PATIENCE_SECONDS = {"jax": 10.0, "torch": 3.0}
"""How long one call may work: libraries compile and load at the first."""

HASTE_SECONDS = {"numpy": 0.25, "list": 0.25}
"""The same where it may be asked in a way that it was not made for, and never come back: a small probe takes milliseconds."""

MOST_YIELDED = 1000
"""How much is taken of a function that yields its answer piece by piece."""


@dataclass(frozen=True)
class Binding:
    """Which parameter of a learner's function takes which role; parameters that stand for none keep their default."""

    role_of: Mapping[str, Role]

    def takes(self, role: str) -> bool:
        """Whether the function has a place for a role."""
        return any(each.name == role for each in self.role_of.values())


def bind(subject: Subject, roles: Sequence[Role]) -> Binding | None:
    """Match parameters to roles: by name first, what is left in the order of the roles; None where a required one fits nothing."""
    return bind_parameters(subject.parameters, roles)


def bind_parameters(
    parameters: Sequence[inspect.Parameter], roles: Sequence[Role], *, unnamed: Sequence[Role] | None = None
) -> Binding | None:
    """The same for some parameters; `unnamed` are the roles, in their order, that one of an unknown name may stand for."""
    bound: dict[str, Role] = {}
    free = list(roles)
    for parameter in parameters:
        role = next((role for role in free if _fits(parameter.name, role)), None)
        if role is not None:
            bound[parameter.name] = role
            free.remove(role)
    for parameter in parameters:
        if parameter.name in bound or parameter.default is not inspect.Parameter.empty:
            continue
        role = next((role for role in free if unnamed is None or role in unnamed), None)
        if role is None:
            return None
        bound[parameter.name] = role
        free.remove(role)
    return Binding({each.name: bound[each.name] for each in parameters if each.name in bound})


def following(role: Role) -> Any:
    """inputs → what a role is where a probe does not hold it and it follows from the rest; None where nothing says."""
    return role.neutral if callable(role.neutral) else role.size_of


def function_calls(subject: Subject, exercise: Exercise, library: str, kind: type[Call] | None = None) -> list[Call]:
    """The one way to call a function of the roles; none where its parameters do not fit."""
    binding = bind(subject, exercise.roles)
    return [] if binding is None else [(kind or Call)(subject, binding, library)]


def _fits(name: str, role: Role) -> bool:
    plain = name.lower().strip("_")
    return plain == role.name or plain in role.called


@dataclass
class Call:
    """A learner's function, bound and called in one array library.

    is_patient   whether it is given all the time that a slow function needs
    """

    subject: Subject
    binding: Binding
    library: str
    has_changed_inputs: bool = False
    endless: set[bool] = field(default_factory=set)
    is_patient: bool = False

    def __call__(self, inputs: Inputs) -> Any:
        """The answer as NumPy, or what was raised."""
        arguments = self.arguments(inputs)
        before = {name: _copied(value) for name, value in arguments.items()}
        try:
            answer = self.run(arguments)
            answer = list(itertools.islice(answer, MOST_YIELDED)) if inspect.isgenerator(answer) else answer
        except (Exception, SystemExit) as error:
            self.endless |= {True} if isinstance(error, TookTooLongError) else set()
            return Raised(error)
        kept = [name for name in arguments if not self.binding.role_of[name].may_change]
        self.has_changed_inputs |= any(not _equal(before[name], arguments[name]) for name in kept)
        return as_numbers(answer)

    def run(self, arguments: Mapping[str, Any]) -> Any:
        """The function's own answer, or TookTooLongError; once a call was endless, the next ones get less time."""
        enough = PATIENCE_SECONDS.get(self.library, 1.0)
        seconds = enough if self.is_patient else HASTE_SECONDS.get(self.library, enough)
        with patience(min(0.1, seconds) if self.endless else seconds):
            return self.invoke(arguments)

    def arguments(self, inputs: Inputs) -> dict[str, Any]:
        """The inputs by the function's own names, in its own library."""
        return {
            name: self._converted(inputs.get(role.name, None if callable(role.neutral) else role.neutral))
            for name, role in self.binding.role_of.items()
            if role.name in inputs or self._is_required(name)
        }

    def precise(self, inputs: Inputs) -> Inputs:
        """The inputs as the function saw them: rounded to the dtype they came in."""
        return {name: _mapped(self._rounded, value) for name, value in inputs.items()}

    def sizes(self, inputs: Inputs) -> Inputs:
        """What the function insists on being told and that follows from the inputs: whole numbers, and neutral operands."""
        insisted = [role for name, role in self.binding.role_of.items() if self._is_required(name) and role.name not in inputs]
        known = {role.name: following(role)(inputs) for role in insisted if following(role) is not None}
        return {name: value for name, value in known.items() if value is not None}

    def fits(self, inputs: Inputs) -> bool:
        """Whether the function has a place for all that is given, and all is given that the function insists on."""
        is_told = all(
            role.name in inputs or role.neutral is not MISSING for name, role in self.binding.role_of.items() if self._is_required(name)
        )
        return is_told and all(self.binding.takes(role) for role in inputs)

    def invoke(self, arguments: Mapping[str, Any]) -> Any:
        """The function's own answer to arguments of its own library, by its own names."""
        positional = [arguments[p.name] for p in self.parameters if p.kind is p.POSITIONAL_ONLY and p.name in arguments]
        named = {p.name: arguments[p.name] for p in self.parameters if p.kind is not p.POSITIONAL_ONLY and p.name in arguments}
        return self.subject.value(*positional, **named)

    @property
    def parameters(self) -> Sequence[inspect.Parameter]:
        """What the function takes."""
        return self.subject.parameters

    @property
    def is_wide(self) -> bool:
        """Whether people compute in float64 in this library: half precision is then none of their concern."""
        return DTYPES[self.library] == "float64"

    @property
    def notes(self) -> tuple[Message, ...]:
        """What is to be said of how it is called."""
        return ()

    def _is_required(self, name: str) -> bool:
        return name in self._insists_on

    @cached_property
    def _insists_on(self) -> set[str]:
        return {parameter.name for parameter in self.parameters if parameter.default is parameter.empty}

    def _converted(self, value: Any) -> Any:
        """A value in the learner's library; dicts, lists and tuples are new ones, so that no call changes what the next is given."""
        return _mapped(self._array, value)

    def _array(self, value: Any) -> Any:
        if not isinstance(value, numpy.ndarray):
            return value
        value = self._rounded(value)
        if self.library == "list":
            return value.tolist()
        return numpy.array(value) if self.library == "numpy" else from_numpy(numpy.array(value), self.library)

    def _rounded(self, value: Any) -> Any:
        """A leaf in the library's dtype; half precision stays, which only a probe of it is in."""
        if isinstance(value, numpy.ndarray) and value.dtype.kind == "c" and DTYPES[self.library] == "float32":
            return value.astype(numpy.complex64)
        is_wide = _is_floating(value) and value.dtype != numpy.float16
        return value.astype(as_dtype(DTYPES[self.library], numpy)) if is_wide else value


def libraries_for(subject: Subject) -> list[str]:
    """The array libraries to try, the likeliest first: lists where it says so, those the file imports, then NumPy, then plain lists."""
    found = ["list"] if any(re.search("list", str(each.annotation), re.IGNORECASE) for each in subject.parameters) else []
    found += [name for name in subject.imports if name != "numpy" and _is_here(name)]
    found += [name for name in subject.imports if name == "numpy"]
    return list(dict.fromkeys([*found, "numpy", "list"]))


def _is_here(library: str) -> bool:
    try:
        array_library(library)
    except OptionError:
        return False
    return True


def _is_floating(value: Any) -> bool:
    return isinstance(value, numpy.ndarray) and value.dtype.kind == "f"


def _mapped(change: Callable[[Any], Any], value: Any) -> Any:
    """The value with every leaf of its dicts, lists and tuples changed."""
    if isinstance(value, dict):
        return {key: _mapped(change, each) for key, each in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_mapped(change, each) for each in value)
    return change(value)


def _copied(value: Any) -> Any:
    if type(value) in (list, tuple, dict):
        return _mapped(_copied, value)
    numbers = as_numbers(value) if hasattr(value, "dtype") else value
    return numbers.copy() if isinstance(numbers, numpy.ndarray) else numbers


def _equal(before: Any, after: Any) -> bool:
    if isinstance(before, numpy.ndarray):
        return numpy.array_equal(before, as_numbers(after), equal_nan=before.dtype.kind in "fc")
    if isinstance(before, dict):
        return before.keys() == after.keys() and all(_equal(before[key], after[key]) for key in before)
    if isinstance(before, list | tuple):
        return len(before) == len(after) and all(map(_equal, before, after))
    return bool(before == after)
