"""Calls of a learner's class as a function of roles: construct an instance, write the weights, switch to eval mode, call it.

The result depends neither on the initial weights nor on the order in which the class creates its layers.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy

from headway.practice.diagnosis.assignment import Assignment, assignments, wildcard_name
from headway.practice.diagnosis.calling import Binding, Call, bind_parameters, derived
from headway.practice.diagnosis.compare import as_numbers
from headway.practice.diagnosis.slots import Slot, is_module, module_library, slots_of
from headway.practice.diagnosis.subject import Subject, defines, parameters_of
from headway.practice.diagnosis.submodules import Submodule
from headway.practice.exercise import MISSING, Exercise, Inputs, Role
from headway.practice.message import Message
from headway.practice.texts import Texts

TEXTS = Texts("diagnosis")

CONFIGS = ("config", "cfg", "args", "conf", "hparams", "model_args", "configs")
DROPOUTS = tuple("dropout drop p p_drop dropout_p dropout_rate drop_rate drop_prob dropout_prob attn_drop attn_dropout attn_pdrop resid_pdrop "
                 "attention_dropout attention_dropout_rate attention_probs_dropout_prob resid_dropout proj_drop".split())  # fmt: skip
METHODS = ("__call__", "forward", "call", "apply", "attend", "attention", "compute", "generate")
DROPOUT = 0.5
"""Dropout rate that modules are constructed with; in eval mode it must have no effect."""

NOT_PARAMETERS = TEXTS["not_parameters"]


class NoSuchSizeError(AttributeError, KeyError):
    """A size that a probe does not define, such as a single width for a projection between two widths."""


class Config:
    """A config object that returns sizes as attributes or items, under any name that learners use."""

    def __init__(self, sizes: Mapping[str, Any], roles: Sequence[Role], dropout: float) -> None:
        names = {name: sizes[role.name] for role in reversed(roles) if role.name in sizes for name in (role.name, *role.called)}
        self.__dict__.update(dict.fromkeys(DROPOUTS, dropout) | names)

    def __getattr__(self, name: str) -> Any:
        raise NoSuchSizeError(name)

    def __getitem__(self, key: str) -> Any:
        return getattr(self, key)

    def __contains__(self, key: str) -> bool:
        return key in self.__dict__

    def get(self, key: str, default: Any = None) -> Any:
        """Return a value like dict.get."""
        return self.__dict__.get(key, default)


@dataclass(frozen=True)
class Construction:
    """Description of how to construct and call an instance.

    constructor, forward   bindings of their parameters to roles
    config                 constructor parameter that takes all sizes at once
    dropouts               constructor parameters that take a dropout rate
    flags                  constructor parameters that enable biases
    method                 method to call
    roles                  the exercise's roles
    """

    constructor: Binding
    forward: Binding
    config: str | None
    dropouts: tuple[str, ...]
    flags: tuple[str, ...]
    method: str
    roles: tuple[Role, ...]


AssignWeights = Callable[[Sequence[Slot], Inputs, Exercise], list[Assignment]]
"""A function that assigns weights to the arrays of an instance."""


def instance_calls(subject: Subject, exercise: Exercise, library: str, find: AssignWeights = assignments) -> list[Call]:
    """Return the ways to call a class in one array library: one for every possible assignment of weights to its arrays."""
    construction = _construction(subject, exercise)
    if construction is None or module_library(subject.value) not in (None, library):
        return []
    first = InstanceCall(subject, Binding({}), library, construction=construction)
    sample, instance = first.sample(exercise)
    own = replace(
        exercise, roles=tuple(role for role in exercise.roles if not (role.is_weight and construction.constructor.takes(role.name)))
    )
    held = find(slots_of(instance, subject.value.__module__), sample, own) if instance is not None else []
    return [replace(first, assignment=assignment, binding=_binding(construction, assignment)) for assignment in held or [Assignment({})]]


@dataclass
class InstanceCall(Call):
    """A learner's class called as a function, with one assignment of weights to its arrays."""

    construction: Construction = None  # type: ignore[assignment]
    assignment: Assignment = field(default_factory=lambda: Assignment({}))
    dropout: float = DROPOUT
    made: dict[Any, Any] = field(default_factory=dict)

    def sizes(self, inputs: Inputs) -> Inputs:
        """Return the sizes that the class takes and that follow from the inputs."""
        constructor_roles = {role.name for name, role in self.binding.role_of.items() if name.startswith(CONSTRUCTOR_PREFIX)}
        ways = {
            role.name: role.size_override[1] if constructor_roles & set(role.size_override[0]) else role.size_of
            for role in self.binding.role_of.values()
            if role.name not in inputs
        }
        known = {name: derived(size_of, inputs) for name, size_of in ways.items()}
        return {name: size for name, size in known.items() if size is not None}

    @property
    def parameters(self) -> list[inspect.Parameter]:
        """Return constructor parameters, forward parameters and weights as the parameters of one function."""
        required = _required(self)
        return [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=inspect.Parameter.empty if name in required else None)
            for name in self.binding.role_of
        ]

    @property
    def notes(self) -> tuple[Message, ...]:
        """Return notes on fused weights, and on weights that are not parameters."""
        instance = next(iter(self.made.values()), None)
        is_lost = any(not slot.is_parameter for slot in (self.weight_slots(instance) if instance is not None else ()))
        return (*self.assignment.notes, *([NOT_PARAMETERS] if is_lost else []))

    def fits(self, inputs: Inputs) -> bool:
        """Return True if an instance can be constructed for these inputs and its arrays have room for the weights."""
        if not super().fits(inputs):
            return False
        try:
            instance = self._instance(*self._constructor_arguments(self.arguments(inputs)))
        except NoSuchSizeError:
            return False
        except Exception:  # the call itself will report it
            return True
        slots = slots_of(instance, self.subject.value.__module__)
        names = {name for slot in slots for name in (slot.name, wildcard_name(slot.name))}
        lost = {role for name, content in self.assignment.contents.items() if name not in names for role in content.roles}
        return not lost & set(inputs) and self.assignment.has_capacity(slots, inputs)

    def invoke(self, arguments: Mapping[str, Any]) -> Any:
        """Return the output of an instance with its weights set."""
        return self.forward(self.instance_for(arguments), arguments)

    def instance_for(self, arguments: Mapping[str, Any]) -> Any:
        """Return a cached or new instance, with its weights set."""
        role_of = self.binding.role_of
        constructor, config_values = self._constructor_arguments(arguments)
        held = {role_of[name].name: as_numbers(value) for name, value in arguments.items() if name.startswith(WEIGHT_PREFIX)}
        instance = self._instance(constructor, config_values)
        self.assignment.write(slots_of(instance, self.subject.value.__module__), held | {"num_heads": config_values.get("num_heads", 1)})
        return instance

    def forward(self, instance: Any, arguments: Mapping[str, Any]) -> Any:
        """Return the output of an instance with its current weights."""
        call = instance if self.construction.method == "__call__" or is_module(instance) else getattr(instance, self.construction.method)
        return call(
            **{name: value for name, value in arguments.items() if not name.startswith((CONSTRUCTOR_PREFIX, CONFIG_PREFIX, WEIGHT_PREFIX))}
        )

    def without_dropout(self) -> InstanceCall:
        """Return the same call with a dropout rate of 0."""
        return replace(self, dropout=0.0, made={})

    def sample(self, exercise: Exercise) -> tuple[Inputs, Any]:
        """Return inputs and an instance constructed for their sizes; the instance is None if none can be constructed."""
        every = [probe.inputs for probe in exercise.probes()]
        every.sort(key=lambda inputs: (-len(inputs), -int(inputs.get("num_heads", 1))))
        maker = replace(self, binding=_binding(self.construction, Assignment({}), is_construction=True))
        for inputs in every:
            given = inputs | maker.sizes(inputs)
            arguments = {
                name: self._converted(given.get(role.name, role.neutral))
                for name, role in maker.binding.role_of.items()
                if role.name in given
            }
            if not {name for name in _required(maker) if name not in arguments}:
                try:
                    return given, maker._instance(*maker._constructor_arguments(arguments))
                except Exception:  # other sizes may work; the call itself will report the error
                    continue
        return {}, None

    def _constructor_arguments(self, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], Inputs]:
        """Return the constructor's arguments by parameter name, and all constructor and config values by role."""
        constructor = {name[len(CONSTRUCTOR_PREFIX) :]: value for name, value in arguments.items() if name.startswith(CONSTRUCTOR_PREFIX)}
        return constructor, {
            self.binding.role_of[name].name: value
            for name, value in arguments.items()
            if name.startswith((CONSTRUCTOR_PREFIX, CONFIG_PREFIX))
        }

    def _instance(self, constructor: Mapping[str, Any], config_values: Inputs) -> Any:
        key = tuple(_key(value) for value in (*constructor.items(), *config_values.items()))
        if key not in self.made:
            can_be_switched = callable(getattr(self.subject.value, "eval", None))
            rate = self.dropout if can_be_switched else 0.0
            config = (
                {} if self.construction.config is None else {self.construction.config: Config(config_values, self.construction.roles, rate)}
            )
            switches = dict.fromkeys(self.construction.dropouts, rate) | dict.fromkeys(self.construction.flags, True)
            parts = {name: value.made(self.library) for name, value in constructor.items() if isinstance(value, Submodule)}
            instance = self.subject.value(**{**constructor, **parts}, **config, **switches)
            if can_be_switched:
                instance.eval()
            self.made[key] = instance
        return self.made[key]

    def weight_slots(self, instance: Any) -> list[Slot]:
        """Return the slots of an instance that hold weights."""
        slots = slots_of(instance, self.subject.value.__module__)
        return [slot for slot in slots if {slot.name, wildcard_name(slot.name)} & set(self.assignment.contents)]


CONSTRUCTOR_PREFIX, CONFIG_PREFIX, WEIGHT_PREFIX = "constructor__", "config__", "weight__"
"""Prefixes of parameter names: constructor parameters, config values, and weights. Parameters of forward have no prefix."""


def _binding(construction: Construction, assignment: Assignment, *, is_construction: bool = False) -> Binding:
    """Return all roles of a class as the parameters of one function."""
    role_of = {CONSTRUCTOR_PREFIX + name: role for name, role in construction.constructor.role_of.items()}
    bound = {role.name for role in role_of.values()}
    if construction.config is not None:
        role_of |= {CONFIG_PREFIX + role.name: role for role in construction.roles if _is_config_value(role) and role.name not in bound}
    elif any(
        role.is_submodule for role in role_of.values()
    ):  # ready-made submodules need the number of heads even if the class does not take it
        role_of |= {CONFIG_PREFIX + role.name: role for role in construction.roles if role.name == "num_heads" and role.name not in bound}
    if is_construction:
        return Binding(role_of)
    role_of |= construction.forward.role_of
    bound = {role.name for role in role_of.values()}
    holds = [role for role in construction.roles if role.is_weight and role.name not in bound and assignment.roles]
    role_of |= {WEIGHT_PREFIX + role.name: role for role in holds if role.name in assignment.roles or not role.is_optional}
    return Binding(role_of)


def _is_config_value(role: Role) -> bool:
    return bool(role.is_size or role.size_of) and not role.is_submodule


def _required(call: InstanceCall) -> set[str]:
    """Return the parameters that require a value."""
    construction = call.construction
    needed = {CONSTRUCTOR_PREFIX + each.name for each in call.subject.parameters if each.default is each.empty}
    needed |= {CONSTRUCTOR_PREFIX + name for name, role in construction.constructor.role_of.items() if role.size_of is not None}
    needed |= {each.name for each in _forward(call.subject, construction.method) if each.default is each.empty}
    needed |= {WEIGHT_PREFIX + role.name for role in construction.roles if role.is_weight and not role.name.endswith("bias")}
    return needed & set(call.binding.role_of)


def _construction(subject: Subject, exercise: Exercise) -> Construction | None:
    """Return how to construct and call a class, or None if its parameters do not fit."""
    own = [name for name, value in vars(subject.value).items() if not name.startswith("_") and callable(value)]
    method = next((name for name in METHODS if defines(subject.value, name)), own[0] if len(own) == 1 else None)
    constructor = subject.parameters
    if method is None:
        return None
    config = next((each.name for each in constructor if each.name.lower() in CONFIGS and each.default is each.empty), None)
    dropouts = tuple(each.name for each in constructor if each.name.lower() in DROPOUTS)
    flags = _flags(constructor, exercise)
    rest = [each for each in constructor if each.name not in (config, *dropouts, *flags) and not _is_flag(each, exercise)]
    made = bind_parameters(rest, _constructor_roles(exercise), unnamed=[role for role in exercise.roles if role.is_size])
    if made is None:
        return None
    free = [role for role in exercise.roles if not (role.is_weight or role.is_size or role.is_submodule or made.takes(role.name))]
    free += [role for role in exercise.roles if role.is_size and not made.takes(role.name)]
    called = bind_parameters(_forward(subject, method), free)
    return None if called is None else Construction(made, called, config, dropouts, flags, method, exercise.roles)


def _flags(constructor: Sequence[inspect.Parameter], exercise: Exercise) -> tuple[str, ...]:
    """Return the required parameters that enable a bias; none for a constructor that takes weights as arrays."""
    weights = {name for role in exercise.roles if role.is_weight and "bias" not in role.name for name in (role.name, *role.called)}
    if any(each.name.lower() in weights for each in constructor):
        return ()
    return tuple(each.name for each in constructor if each.default is each.empty and each.name.lower().endswith("bias"))


def _is_flag(parameter: inspect.Parameter, exercise: Exercise) -> bool:
    """Return True for a parameter such as `bias=True`, which enables a weight and is not the weight itself."""
    weights = {name for role in exercise.roles if role.is_weight for name in (role.name, *role.called)}
    return isinstance(parameter.default, bool) and parameter.name.lower() in weights


def _constructor_roles(exercise: Exercise) -> list[Role]:
    """Return the roles that a constructor may take: weights, sizes, scalars and optional operands."""
    arrays = {name for probe in exercise.probes() for name, value in probe.inputs.items() if isinstance(value, numpy.ndarray)}
    scalars = {name for probe in exercise.probes() for name in probe.inputs} - arrays
    return [
        role
        for role in exercise.roles
        if role.is_weight or role.is_size or role.size_of or role.name in scalars or role.neutral is not MISSING
    ]


def _forward(subject: Subject, method: str) -> list[inspect.Parameter]:
    is_bound = not isinstance(inspect.getattr_static(subject.value, method), staticmethod)
    return parameters_of(getattr(subject.value, method), is_bound=is_bound)


def _key(value: tuple[str, Any]) -> Any:
    numbers = as_numbers(value[1]) if hasattr(value[1], "dtype") else value[1]
    return value[0], numbers.tobytes() if isinstance(numbers, numpy.ndarray) else repr(numbers)
