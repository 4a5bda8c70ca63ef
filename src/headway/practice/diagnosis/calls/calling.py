"""Conversion of a probe's inputs to the learner's parameters and array library, and of the output to NumPy."""

from __future__ import annotations

import inspect
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy

from headway.arrays import array_library, as_dtype, from_numpy
from headway.errors import OptionError
from headway.practice.diagnosis.calls.binding import (
    CONSTRUCTOR_PREFIX,
    GIVEN,
    MODES,
    NO_EFFECT,
    TABLE,
    Binding,
    bind,
    bind_parameters,
    computed,
    derivation,
)
from headway.practice.diagnosis.calls.compare import as_numbers
from headway.practice.diagnosis.calls.given_layers import as_layer, given_layers
from headway.practice.diagnosis.calls.given_outputs import is_written, zeros_for_output
from headway.practice.diagnosis.calls.jax_on_numpy import jax_array
from headway.practice.diagnosis.calls.own_tensors import OWN, holds_data, own_class, own_libraries, wrapped
from headway.practice.diagnosis.calls.rotation import NUM_STYLES
from headway.practice.diagnosis.calls.timeout import TookTooLongError, time_limit
from headway.practice.diagnosis.reading.subject import Subject, is_learners
from headway.practice.exercise import MISSING, Exercise, Inputs, Role
from headway.practice.message import Message, OutputError
from headway.practice.outputs import Raised
from headway.practice.texts import Texts

TEXTS = Texts("diagnosis")

DTYPES = {"numpy": "float64", "torch": "float32", "jax": "float32", "mlx": "float32", "list": "float64", **dict.fromkeys(OWN, "float64")}
"""Dtype of floating inputs per library: the one that code for this library usually assumes."""

CALL_SECONDS = {"jax": 10.0, "torch": 3.0}
"""CPU seconds that one call may take; libraries compile and load during the first one. Default: 1."""

FIRST_ATTEMPT_SECONDS = {"numpy": 0.25, "list": 0.25}
"""CPU seconds for the first attempt. A wrong convention can cause an endless loop, and a small probe takes milliseconds."""

LIST_OF_NUMBERS = r"(typing\.)?(List|list|Sequence)\[(float|int)( *\| *(float|int))*\]"
"""Pattern of the annotations of a list of numbers."""

TORCH_METHODS = r"\.(unsqueeze|masked_fill_?|size|contiguous|expand|permute|type_as|chunk|scatter|gather|softmax|detach|(mul|add|sub|div|copy|zero|fill|clamp|addcmul|addcdiv|lerp)_)\(|\b(dim|keepdim)="
"""Tensor methods and options that identify PyTorch code in a file that imports no array library."""

UNLESS_NONE = r"\b{name}( is\b|\)? *[!=]= *None| or\b| and\b| *=(?!=))|\b(if|not|and|or|elif|while) {name}\b"
"""Pattern of the source of a function that tests whether an operand is given, or sets it, by the operand's name."""

ROUNDS = r"np\.float32\(|(dtype *=|astype\() *(np|numpy)\.float32|(?s:\A(?!.*(float64|double))(?=.*\btorch\.(as_)?tensor\())"
"""Pattern of the source of a function that converts arrays to float32, or numbers to tensors of PyTorch, which have float32 by default."""

LACKING = {
    "numpy": frozenset(("unsqueeze", "masked_fill", "contiguous", "expand", "permute", "type_as", "chunk", "softmax")),
    "list": frozenset(dir(numpy.ndarray)) - frozenset(dir(list)),
}
"""Attributes that operands of a library do not have; a function that reads one of them in every case is not tried with it."""

MOST_YIELDED = 1000
"""Number of values taken from a generator function."""


def function_calls(subject: Subject, exercise: Exercise, library: str, call_class: type[Call] | None = None) -> list[Call]:
    """Return the call that binds the function's parameters to the roles by name, and then by position; an empty list if they do not match.

    If no probe has these roles, the parameters without a known name may be those that a probe has, in order.
    """
    every = exercise.inputs
    binding = _bound_to_first(subject, exercise, every) or bind(subject, exercise.roles)
    kind = call_class or Call
    named = [] if binding is None else [kind(subject, each, library) for each in _in_all_styles(binding, subject, exercise)]
    if any(call.fits(inputs | call.sizes(inputs)) for call in named for inputs in every):
        return named
    return [*named, *(kind(subject, each, library, is_guessed=True) for each in _bound_as_probes(subject, exercise, every))]


def _in_all_styles(binding: Binding, subject: Subject, exercise: Exercise) -> list[Binding]:
    """Return the binding, and those with the other shapes of tables of rotary positions if a function takes some."""
    if not any(role.name.startswith(TABLE) for role in binding.role_of.values()):
        return [binding]
    styles = (bind(subject, exercise.roles, style) for style in range(NUM_STYLES))
    return [each for each in styles if each is not None]


def _bound_as_probes(subject: Subject, exercise: Exercise, every: Sequence[Inputs]) -> Iterator[Binding]:
    """Yield the bindings under which the parameters without a known name are the operands of a probe, in order."""
    for names in dict.fromkeys(map(frozenset, every)):
        roles = [role for role in exercise.roles if role.name in names]
        binding = bind(subject, roles)
        if binding is not None and all(binding.takes(role.name) for role in roles if role.neutral is MISSING and role.size_of is None):
            yield binding


def _bound_to_first(subject: Subject, exercise: Exercise, every: Sequence[Inputs]) -> Binding | None:
    """Return the binding of a function that takes the only array of all probes under the name of a number; None for others.

    Of `sample(p, key)`, p are the probabilities.
    """
    named = bind(subject, exercise.roles)
    arrays = {name for inputs in every for name, value in inputs.items() if isinstance(value, numpy.ndarray)}
    always = [role for role in exercise.roles if role.name in arrays and all(role.name in inputs for inputs in every)]
    if named is None or not subject.parameters or len(always) != 1 or named.takes(always[0].name):
        return None
    first, rest = subject.parameters[0].name, subject.parameters[1:]
    others = bind_parameters(rest, [role for role in exercise.roles if role not in always], unnamed=())
    role = named.role_of.get(first)
    is_number = (
        role is not None
        and role.name not in arrays
        and not role.is_size
        and any(isinstance(inputs.get(role.name), int | float) for inputs in every)
    )
    return Binding({first: always[0], **others.role_of}) if is_number and others is not None else None


@dataclass
class Call:
    """A learner's function with its parameters bound, called with arrays of one library.

    has_full_timeout   True to apply CALL_SECONDS instead of FIRST_ATTEMPT_SECONDS
    place              index among the calls that the subject allows
    is_guessed         True if the roles of some parameters are a guess, which counts only if it makes the outputs right
    num_calls          number of calls made
    """

    subject: Subject
    binding: Binding
    library: str
    has_changed_inputs: bool = False
    endless: set[bool] = field(default_factory=set)
    has_full_timeout: bool = False
    place: int = 0
    is_guessed: bool = False
    num_calls: int = 0

    def __call__(self, inputs: Inputs) -> Any:
        """Return the output as NumPy, or Raised."""
        self.num_calls += 1
        try:
            arguments = self.arguments(inputs)
        except (Exception, SystemExit) as error:  # a constructor of the learner's own tensors
            return Raised(error)
        filling = self._filled_in_place(arguments)
        before = {name: _copied(arguments[name]) for name in [*self._watched(arguments), *filling]}
        try:
            answer = self.run(arguments)
        except (Exception, SystemExit) as error:
            self.endless |= {True} if isinstance(error, TookTooLongError) else set()
            return Raised(error)
        changed = [name for name, value in before.items() if not _equal(value, arguments[name])]
        filled = [name for name in filling if name in changed]
        self.has_changed_inputs |= len(changed) > len(filled)
        try:
            answer = self._written(arguments, filled) if answer is None else answer
            numbers = self._with_digits(as_numbers(answer))
            if numbers is None and answer is not None:
                raise OutputError(TEXTS["output_type"].format(type=type(answer).__name__))
            return numbers
        except Exception as error:  # an output that contains itself, or whose methods raise
            return Raised(error)

    def _watched(self, arguments: Mapping[str, Any]) -> list[str]:
        """Return the names of the arguments that the function must not change."""
        return [name for name in arguments if not (self.binding.role_of[name].may_change or self.is_in_place)]

    def _filled_in_place(self, arguments: Mapping[str, Any]) -> list[str]:
        """Return the name of the first array, which a function that works in place fills with its output; none for other functions."""
        return [name for name, value in arguments.items() if hasattr(value, "shape")][:1] if self._says_in_place else []

    @cached_property
    def _says_in_place(self) -> bool:
        """True for a function that returns nothing, and says so by its annotation or that it works in place."""
        return self._returns_nothing and re.search(WORKS_IN_PLACE, self.subject.own_source, re.IGNORECASE) is not None

    @cached_property
    def _returns_nothing(self) -> bool:
        """True for a function without a return statement that has a value."""
        return not (inspect.isclass(self.subject.value) or returns_value(self.subject))

    def _written(self, arguments: Mapping[str, Any], filled: Sequence[str]) -> Any:
        """Return the array, list or dict that a function without a return statement writes into, None if there is none."""
        if filled:
            return arguments[filled[0]]
        if not self._returns_nothing:
            return None
        source, role_of = self.subject.own_source, self.binding.role_of
        lists = {
            name: value
            for name, value in arguments.items()
            if isinstance(value, list) or (isinstance(value, dict) and role_of[name].may_change) or role_of[name].name.startswith(NO_EFFECT)
        }
        written = (name for name in lists if any(_is_changed(each, source) for each in (name, *_elements(name, source))))
        return next((lists[name] for name in written), None)

    def run(self, arguments: Mapping[str, Any]) -> Any:
        """Return the function's own output, or raise TookTooLongError; after one timeout the next calls get less time."""
        enough = CALL_SECONDS.get(self.library, 1.0)
        seconds = enough if self.has_full_timeout else FIRST_ATTEMPT_SECONDS.get(self.library, enough)
        with time_limit(min(0.1, seconds) if self.endless else seconds):
            return self.invoke(arguments)

    def arguments(self, inputs: Inputs) -> dict[str, Any]:
        """Return the inputs under the function's parameter names, as arrays of its library."""
        self._check_ranks(inputs)
        inputs = {**inputs, **self._outputs_given(inputs)}
        switched = {name: role for name, role in self.binding.role_of.items() if name in self.switched_names and role.name not in inputs}
        off = {name: role.off(inputs) if callable(role.off) else role.off for name, role in switched.items()}
        return off | {
            name: self._argument(name, inputs.get(role.name, None if callable(role.neutral) else role.neutral))
            for name, role in self.binding.role_of.items()
            if role.name in inputs or name in self._always_given
        }

    def _outputs_given(self, inputs: Inputs) -> Inputs:
        """Return the arrays that the function writes its output into; their shape is that of the inputs under the conventions of the call."""
        roles = [role for role in self.binding.role_of.values() if role.size_of is zeros_for_output and role.name in inputs]
        return {role.name: zeros_for_output(inputs) for role in roles}

    def precise(self, inputs: Inputs) -> Inputs:
        """Return the inputs as the function received them, rounded to their dtype."""
        return {name: mapped(self._rounded, value) for name, value in inputs.items()}

    def sizes(self, inputs: Inputs) -> Inputs:
        """Return required inputs that follow from the others: sizes and neutral operands."""
        required = [role for name, role in self.binding.role_of.items() if self._is_required(name) and role.name not in inputs]
        known = {role.name: computed(derivation(role), inputs) for role in required if derivation(role) is not None}
        return {name: value for name, value in known.items() if value is not None} | self._filters_off(inputs)

    def _filters_off(self, inputs: Inputs) -> Inputs:
        """Return None for the required filters that may be None by their annotations, if an input has none of them: `top_k: int | None`."""
        role_of = self.binding.role_of
        filters = [each for each in self.parameters if each.name in role_of and role_of[each.name].off is not MISSING]
        absent = [each for each in filters if self._is_required(each.name) and role_of[each.name].neutral is MISSING]
        optional = [each for each in absent if re.search(r"\bNone\b|\bOptional\b", str(each.annotation))]
        return {role_of[each.name].name: None for each in optional if role_of[each.name].name not in inputs}

    def fits(self, inputs: Inputs) -> bool:
        """Return True if the function has a parameter for every input, and an input for every required parameter."""
        is_given = all(
            role.name in inputs or role.neutral is not MISSING for name, role in self.binding.role_of.items() if self._is_required(name)
        )
        return is_given and all(self.binding.takes(role) for role in inputs)

    def invoke(self, arguments: Mapping[str, Any]) -> Any:
        """Call the function with converted arguments."""
        positional = [arguments[p.name] for p in self.parameters if p.kind is p.POSITIONAL_ONLY and p.name in arguments]
        named = {p.name: arguments[p.name] for p in self.parameters if p.kind is not p.POSITIONAL_ONLY and p.name in arguments}
        return completed(self.subject.value(*positional, **named))

    @cached_property
    def is_in_place(self) -> bool:
        """Return True for a function that says so, or that its file also calls for its effect alone, on lists: `softmax(scores, size)`."""
        changes = self.library == "list" and re.search(BY_ELEMENT, self.subject.own_source) is not None
        is_called_alone = changes and re.search(rf"(?m)^[ \t]+{self.subject.name}\(.*\)$", self.subject.file_source) is not None
        return is_called_alone or self._says_in_place

    @property
    def is_instance(self) -> bool:
        """Return True for a class that is called as a function, an InstanceCall."""
        return False

    @property
    def is_wired(self) -> bool:
        """Return True for a class that is called with correct parts in the places of its own."""
        return False

    def without_dropout(self) -> Call:
        """Return the call with dropout off; a function has none that could be turned off."""
        return self

    @property
    def has_guessed_operands(self) -> bool:
        """Return True if it takes operands that no role lists."""
        return False

    @property
    def parameters(self) -> Sequence[inspect.Parameter]:
        """Return the function's parameters."""
        return self.subject.parameters

    @property
    def is_wide(self) -> bool:
        """Return True if code for this library usually computes in float64; half precision is then not checked."""
        return DTYPES[self.library] == "float64"

    @property
    def notes(self) -> tuple[Message, ...]:
        """Return notes on how the function was called: the options that were turned off."""
        role_of = self.binding.role_of
        return tuple(
            TEXTS["switched_off"].format(
                name=name.removeprefix(CONSTRUCTOR_PREFIX), value=getattr(role_of[name].off, "__name__", role_of[name].off)
            )
            for name in sorted(self.switched_names)
        ) + ((TEXTS["writes_into_inputs"],) if self.is_in_place else ())

    def _with_digits(self, answer: Any) -> Any:
        """Return an output in float32 if the function's source converts to it: it then has no more digits, whatever its dtype is."""
        if isinstance(answer, tuple):
            return tuple(map(self._with_digits, answer))
        is_wide = isinstance(answer, numpy.ndarray) and answer.dtype == numpy.float64
        return answer.astype(numpy.float32) if is_wide and re.search(ROUNDS, self.subject.own_source) else answer

    def _is_required(self, name: str) -> bool:
        return name in self.required_names

    @cached_property
    def required_names(self) -> set[str]:
        """Return the parameters without a default, and those that are given a value in place of it."""
        given = {name for name, role in self.binding.role_of.items() if role.name.startswith(GIVEN)} | self._arrays_needed
        return {parameter.name for parameter in self.parameters if parameter.default is parameter.empty} | given

    @cached_property
    def _arrays_needed(self) -> set[str]:
        """The parameters of a function that are None by default, but whose elements it takes without a test: `sin_cache[positions]`."""
        if self.is_instance:
            return set()
        code = self.subject.code.partition(":\n")[2]
        names = [each.name for each in self.parameters if each.default is None and each.name in self.binding.role_of]
        return {name for name in names if re.search(rf"= *{name}\[", code) and not re.search(UNLESS_NONE.format(name=name), code)}

    @cached_property
    def _always_given(self) -> set[str]:
        """The parameters that get a value even if a probe has none."""
        modes = {name for name, role in self.binding.role_of.items() if role in MODES}
        return self.required_names | self.turned_names | modes

    @cached_property
    def turned_names(self) -> set[str]:
        """Return the flags whose default is the opposite of their role's neutral value."""
        flags = {each.name: each.default for each in self.parameters if isinstance(each.default, bool)}
        return {name for name, role in self.binding.role_of.items() if name in flags and role.neutral is (not flags[name])}

    @cached_property
    def switched_names(self) -> set[str]:
        """Return the parameters whose default is a number with an effect that their role turns off."""
        defaults = {parameter.name: parameter.default for parameter in self.parameters}
        return {
            name
            for name, role in self.binding.role_of.items()
            if role.off is not MISSING and type(defaults.get(name)) in (int, float) and defaults[name] != role.off
            if defaults[name] not in OFF_AS_WELL.get(role.name, ())
        }

    def _check_ranks(self, inputs: Inputs) -> None:
        """Raise a TypeError for an array with several axes under a parameter that is annotated as a list of numbers."""
        for name, role in self._lists_of_numbers.items():
            value = inputs.get(role.name)
            if isinstance(value, numpy.ndarray) and value.ndim > 1:
                raise TypeError(f"got {value.ndim} axes, expected a list of numbers for {name}")

    @cached_property
    def _lists_of_numbers(self) -> dict[str, Role]:
        """The roles of the parameters that are annotated as lists of numbers."""
        names = [each.name for each in self.parameters if re.fullmatch(LIST_OF_NUMBERS, str(each.annotation))]
        return {name: self.binding.role_of[name] for name in names if name in self.binding.role_of}

    def _argument(self, name: str, value: Any) -> Any:
        """Return a value as the argument with that name."""
        converted = self._converted(value)
        is_matrix = name in self.layers_given and getattr(converted, "ndim", 0) == 2
        return as_layer(converted, self.binding.role_of[name]) if is_matrix else converted

    @cached_property
    def layers_given(self) -> set[str]:
        """The parameters of a function of PyTorch that take layers in place of their weights."""
        is_function = self.library == "torch" and inspect.isfunction(self.subject.value)
        return given_layers(self.subject, self.binding.role_of) if is_function else set()

    def _converted(self, value: Any) -> Any:
        """Convert a value to the learner's library; containers are copied, so that no call modifies the inputs of the next."""
        return mapped(self.array, value)

    def array(self, value: Any) -> Any:
        """Convert one array to the learner's library; other values stay."""
        if not isinstance(value, numpy.ndarray):
            return value
        value = self._rounded(value)
        if self.library == "list":
            return value.tolist()
        if self.library in OWN:
            return wrapped(numpy.array(value), self.subject, self.library)
        if self.library == "jax":
            return jax_array(value)
        return numpy.array(value) if self.library == "numpy" else from_numpy(numpy.array(value), self.library)

    def _rounded(self, value: Any) -> Any:
        """Round an array to the library's dtype; float16 stays float16, since only half-precision probes contain it."""
        if isinstance(value, numpy.ndarray) and value.dtype.kind == "c" and DTYPES[self.library] == "float32":
            return value.astype(numpy.complex64)
        is_wide = _is_floating(value) and value.dtype != numpy.float16
        return value.astype(as_dtype(DTYPES[self.library], numpy)) if is_wide else value


OFF_AS_WELL = {"top_k": (0,), "top_p": (0, 1)}
"""Roles of filters with further numbers that turn them off."""


def _is_changed(name: str, source: str) -> bool:
    """Return True if a function writes into an array, a list or a dict of a name, or removes elements of it."""
    return (
        is_written(name, source)
        or re.search(rf"(?m)^\s+(del {name}\[|{name}\[.*\] [-+]= |{name}\.(pop|insert|update)\()", source) is not None
    )


def _elements(name: str, source: str) -> list[str]:
    """Return the variables of loops over an operand: `for word in words`."""
    return re.findall(rf"(?m)^\s+for (?:\w+, *)?(\w+) in (?:enumerate\()?{name}\)?:$", source)


WORKS_IN_PLACE = r"\) *-> *None *:|\bin[- ]?place\b|原地|就地"
"""Pattern of a function that changes its first array and returns nothing."""


def returns_value(subject: Subject) -> bool:
    """Return True if a subject has a return statement with a value other than None, or is an expression."""
    source = subject.own_source
    return "lambda" in source or re.search(r"\breturn +[^\s#]", source.replace("return None", "")) is not None


def completed(answer: Any) -> Any:
    """Return an output, with the values that a generator yields as a list, and the fields of a dataclass or of an object that only holds values as a tuple."""
    if is_dataclass(answer) and not inspect.isclass(answer) and not (callable(answer) or hasattr(answer, "dtype") or holds_data(answer)):
        return tuple(getattr(answer, each.name) for each in fields(answer))
    if held := _held_in_record(answer):
        return held[0] if len(held) == 1 else held
    return list(itertools.islice(answer, MOST_YIELDED)) if inspect.isgenerator(answer) else answer


def _held_in_record(answer: Any) -> tuple[Any, ...]:
    """Return the values of an object of a learner's class without a base that has no methods, or that holds arrays alone; empty for another value."""
    kind = type(answer)
    if kind.__bases__ != (object,) or not is_learners(kind.__module__) or hasattr(answer, "dtype") or holds_data(answer):
        return ()
    held = tuple(vars(answer).values())
    if {name for name, each in vars(kind).items() if inspect.isroutine(each) and name != "__repr__"} == {"__init__"}:
        return held
    filled = tuple(each for each in held if each is not None and not _is_empty(each))
    return filled if all(hasattr(each, "dtype") or holds_data(each) for each in filled) else ()


def _is_empty(value: Any) -> bool:
    return isinstance(value, dict | list | tuple) and not value


ONLY_LIBRARY = "__headway_library__"
"""Attribute of a class that takes arrays of one library only."""


def libraries_for(subject: Subject) -> list[str]:
    """Return the array libraries to try: what the annotations mention, then imported libraries, NumPy, plain lists, and tensors of the file."""
    if (only := getattr(subject.value, ONLY_LIBRARY, None)) is not None:
        return [only]
    annotations = " ".join(str(each.annotation) for each in subject.parameters)
    own = own_libraries(subject)
    made = own_class(subject) if own else None
    is_own = made is not None and (not subject.imports or re.search(rf"\b{made.__name__}\b", annotations))
    found = own if is_own else []
    is_by_element = not subject.imports and re.search(BY_ELEMENT, subject.own_source)
    found = [*found, "list"] if is_by_element or re.search("list", annotations, re.IGNORECASE) else found
    others = [name for name in subject.imports if name != "numpy" and _is_here(name)]
    plain = [name for name in subject.imports if name == "numpy"]
    found += [*plain, *others] if _computes_in_numpy(subject) else [*others, *plain]
    if not subject.imports and re.search(TORCH_METHODS, subject.own_source):
        found.append("torch")
    every = [name for name in dict.fromkeys([*found, "numpy", "list", *own]) if name != "torch" or _is_here(name)]
    return [name for name in every if name not in LACKING or not LACKING[name] & subject.attributes_read] or every[:1]


BY_ELEMENT = r"(?m)^\s+\w+\[\w+\] *[-+*/]?= "
"""Pattern of a function that changes one element at a time."""


def _computes_in_numpy(subject: Subject) -> bool:
    """Return True for a function or class of NumPy alone in a file that trains nothing with another library."""
    bases = subject.value.__mro__ if inspect.isclass(subject.value) else ()
    is_module = any(base.__module__.partition(".")[0] in OF_MODULES for base in bases)
    is_alone = re.search(OF_NUMPY, subject.used_source) and not re.search(OF_OTHERS, subject.used_source)
    holds_arrays = inspect.isclass(subject.value) and re.search(OWN_ARRAYS, subject.own_source) is not None
    return bool(is_alone) and not is_module and (holds_arrays or not re.search(TRAINS, subject.file_source))


OWN_ARRAYS = r"self\.\w+ *= *(np|numpy)\."
"""Pattern of the source of a class whose instances hold arrays of NumPy, which no other library differentiates."""

OF_MODULES = ("torch", "flax", "equinox", "mlx")
"""Libraries of base classes whose instances hold arrays of a library."""

OF_NUMPY = r"\b(np|numpy)\."
OF_OTHERS = r"\b(torch|jax|jnp|mx|mlx|nn|F)\."
TRAINS = r"\bnn\.Module|requires_grad|\.backward\(|\bgrad\("
"""Pattern of a file whose functions must be differentiable."""


def _is_here(library: str) -> bool:
    try:
        array_library(library)
    except OptionError:
        return False
    return True


def _is_floating(value: Any) -> bool:
    return isinstance(value, numpy.ndarray) and value.dtype.kind == "f"


def mapped(change: Callable[[Any], Any], value: Any) -> Any:
    """Return the value with `change` applied to every leaf of its dicts, lists, tuples and namespaces; a Counter stays one."""
    if type(value) is SimpleNamespace:
        return SimpleNamespace(**mapped(change, vars(value)))
    if isinstance(value, dict):
        found = {key: mapped(change, each) for key, each in value.items()}
        return Counter(found) if isinstance(value, Counter) else found
    if type(value) in (list, tuple):
        return type(value)(mapped(change, each) for each in value)
    return change(value)


def _copied(value: Any) -> Any:
    if type(value) in (list, tuple, dict, Counter, SimpleNamespace):
        return mapped(_copied, value)
    if type(value) is numpy.ndarray:
        return value.copy()
    numbers = as_numbers(value) if hasattr(value, "dtype") or holds_data(value) else value
    return numbers.copy() if isinstance(numbers, numpy.ndarray) else numbers


def _equal(before: Any, after: Any) -> bool:
    if isinstance(before, numpy.ndarray):
        after = after if type(after) is numpy.ndarray else as_numbers(after)
        is_alike = isinstance(after, numpy.ndarray) and (before.dtype, before.shape) == (after.dtype, after.shape)
        if is_alike and before.tobytes() == after.tobytes():  # far quicker for small arrays
            return True
        return numpy.array_equal(before, after, equal_nan=before.dtype.kind in "fc")
    if type(before) is SimpleNamespace:
        return _equal(vars(before), vars(after))
    if isinstance(before, dict):
        return before.keys() == after.keys() and all(_equal(before[key], after[key]) for key in before)
    if isinstance(before, list | tuple):
        return len(before) == len(after) and all(map(_equal, before, after))
    return bool(before == after)
