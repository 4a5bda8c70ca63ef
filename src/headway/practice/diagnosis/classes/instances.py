"""Calls of a learner's class as a function of roles: construct an instance, write the weights, switch to eval mode, call it.

The result depends neither on the initial weights nor on the order in which the class creates its layers.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import TracebackType
from typing import Any, TypeAlias

import numpy

from headway.arrays import array_namespace
from headway.practice.diagnosis.calls.binding import CONSTRUCTOR_PREFIX, NO_EFFECT, TABLE, computed, derivation
from headway.practice.diagnosis.calls.calling import Call, completed, mapped
from headway.practice.diagnosis.calls.compare import as_numbers
from headway.practice.diagnosis.calls.jax_on_numpy import jax_on_numpy
from headway.practice.diagnosis.calls.quick_draws import quick_draws
from headway.practice.diagnosis.calls.rotation import head_dim
from headway.practice.diagnosis.calls.timeout import TookTooLongError
from headway.practice.diagnosis.classes.assignment import Assignment, Contents, wildcard_name
from headway.practice.diagnosis.classes.called_methods import INHERITED
from headway.practice.diagnosis.classes.class_binding import (
    CONFIG_PREFIX,
    PREFIXES,
    WEIGHT_PREFIX,
    WIDTHS,
    class_binding,
)
from headway.practice.diagnosis.classes.configs import NoSuchSizeError, base_of, keywords
from headway.practice.diagnosis.classes.constructing import Construction, config_for
from headway.practice.diagnosis.classes.flax_modules import FlaxHolder
from headway.practice.diagnosis.classes.gates import opened_gates
from headway.practice.diagnosis.classes.given_vocabulary import GivenVocabulary
from headway.practice.diagnosis.classes.kept_caches import KEEPS_CACHE, Contained, caches_of, collide, refill, restore, shared_caches
from headway.practice.diagnosis.classes.mask_flags import mask_flags
from headway.practice.diagnosis.classes.method_binding import call_parameters
from headway.practice.diagnosis.classes.shown import Shown
from headway.practice.diagnosis.classes.slots import (
    Slot,
    has_unset_arrays,
    is_module,
    module_library,
    slots_of,
    switch_off_dropout,
    with_digits_of,
)
from headway.practice.diagnosis.classes.state_dict import GivenWeight, StateDict
from headway.practice.diagnosis.classes.submodules import GivenLinear, Submodule, is_called
from headway.practice.diagnosis.classes.unrotated import leave_out, rotations
from headway.practice.diagnosis.classes.variables import global_values, globals_set
from headway.practice.diagnosis.classes.widening import INNER_WIDTH, divisor_of, give_room
from headway.practice.diagnosis.classes.wiring import OtherPartsError, wire, wire_blocks
from headway.practice.diagnosis.reading.subject import parsed
from headway.practice.diagnosis.reading.trees import functions_in, is_of_self
from headway.practice.exercise import MISSING, Exercise, Inputs, Role
from headway.practice.message import EndsProcessError, Message
from headway.practice.recipes.rotation import SOURCE as ROTARY_SOURCE
from headway.practice.texts import Texts

TEXTS = Texts("diagnosis")

DROPOUT = 0.5
"""Dropout rate that modules are constructed with; in eval mode it must have no effect."""

MAX_FAILED = 8
"""Number of probes for whose sizes no instance can be constructed after which no others are tried."""

NOT_PARAMETERS = TEXTS["not_parameters"]
PARTS_REPLACED = {False: TEXTS["parts_replaced"], True: TEXTS["parts_around"]}
UNROTATED = TEXTS["unrotated"]
EACH_CALL_ANEW = TEXTS["each_call_anew"]
ONE_SIZE = TEXTS["one_size"]

KEPT_OUTPUTS = ("output", "outputs", "out")
"""Attributes in which an instance keeps the output of a method that returns nothing."""


FUSED = ("query", "key", "value")
"""Parts of a fused weight."""

Fused: TypeAlias = tuple[tuple[str, ...], str]
"""The order of the parts of a fused weight, and their nesting."""


@dataclass
class InstanceCall(Call):
    """A learner's class called as a function, with one assignment of weights to its arrays.

    made     the instances by sizes
    unmade   what the constructor raised, by sizes
    fresh    the caches of an instance before its first call
    tables   what each instance has put in caches of the file that all share
    gates    the gates of the instances' sublayers, which are open and hold no weights
    """

    construction: Construction = None  # type: ignore[assignment]
    assignment: Assignment = field(default_factory=lambda: Assignment({}))
    dropout: float = DROPOUT
    made: dict[Hashable, Any] = field(default_factory=dict)
    unmade: dict[Hashable, tuple[Exception, TracebackType | None]] = field(default_factory=dict)
    slots: dict[int, tuple[Any, list[int], list[Slot]]] = field(default_factory=dict)
    fresh: dict[int, tuple[Any, list[Contained]]] = field(default_factory=dict)
    tables: dict[int, tuple[Any, list[Contained]]] = field(default_factory=dict)
    gates: list[Any] = field(default_factory=list)

    def sizes(self, inputs: Inputs) -> Inputs:
        """Return the sizes that the class takes and that follow from the inputs."""
        prefixes = (CONSTRUCTOR_PREFIX,) if self.has_weights else (CONSTRUCTOR_PREFIX, CONFIG_PREFIX)
        constructor_roles = {role.name for name, role in self.binding.role_of.items() if name.startswith(prefixes)}
        ways = {
            role.name: role.size_override[1] if constructor_roles & set(role.size_override[0]) else role.size_of or self._derivation(name)
            for name, role in self.binding.role_of.items()
            if role.name not in inputs
        }
        known = {name: computed(size_of, inputs) for name, size_of in ways.items() if size_of is not None}
        return {name: size for name, size in known.items() if size is not None}

    def _derivation(self, name: str) -> Any:
        """Return the function that computes a required operand of the method, such as an activation, or a bias of the constructor, or None."""
        is_bias = name.startswith(CONSTRUCTOR_PREFIX) and self.binding.role_of[name].name.endswith("bias")
        is_operand = name in self.construction.forward.role_of or is_bias
        return derivation(self.binding.role_of[name]) if is_operand and name in self.required_names else None

    @property
    def parameters(self) -> list[inspect.Parameter]:
        """Return constructor parameters, forward parameters and weights as the parameters of one function."""
        required = _required(self)
        defaults = {
            CONSTRUCTOR_PREFIX + each.name: each.default for each in self.subject.parameters if type(each.default) in (bool, int, float)
        }
        role_of, called = self.binding.role_of, call_parameters(self.subject, self.construction.method)
        defaults |= {
            each.name: False for each in called if each.default is False and each.name in role_of and role_of[each.name].neutral is True
        }
        return [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=inspect.Parameter.empty if name in required else defaults.get(name)
            )
            for name in self.binding.role_of
        ]

    @property
    def notes(self) -> tuple[Message, ...]:
        """Return notes on fused weights, and on weights that are not parameters."""
        instance = next(iter(self.made.values()), None)
        is_lost = any(not slot.is_parameter for slot in (self.weight_slots(instance) if instance is not None else ()))
        wired = [PARTS_REPLACED[self.construction.wired.is_around]] if self.construction.wired is not None else []
        unrotated = [UNROTATED] if self.construction.is_unrotated else []
        gates = [TEXTS["opened_gates"]] if self.gates else []
        kept = [EACH_CALL_ANEW] if self.keeps_cache else []
        kept += [ONE_SIZE] if collide([contents for _, contents in self.tables.values()]) else []
        output = [TEXTS["kept_output"].format(method=self.construction.method, name=self.kept_output)] if self.kept_output else []
        return (*super().notes, *self.assignment.notes, *([NOT_PARAMETERS] if is_lost else []), *wired, *unrotated, *gates, *kept, *output)

    @property
    def contents(self) -> list[Contents]:
        """The weights in each array, those of a model's blocks included."""
        return [each for held in (self.assignment, getattr(self, "block", None)) if held is not None for each in held.contents.values()]

    @property
    def fused(self) -> set[Fused]:
        """The order and the nesting of queries, keys and values in fused weights."""
        fused = [each for each in self.contents if len(each.roles) == len(FUSED) and each.roles[0].endswith("weight")]
        return {(tuple(part for role in each.roles for part in FUSED if part in role), each.layout) for each in fused}

    def fits(self, inputs: Inputs) -> bool:
        """Return True if an instance can be constructed for these inputs and its arrays have room for the weights."""
        if not super().fits(inputs) or (self._rotates and (head_dim(inputs) or 0) % 2):
            return False
        try:
            instance = self.made_for(self.arguments(inputs))
        except (NoSuchSizeError, OtherPartsError):
            return False
        except Exception:  # the call itself will report it
            return True
        known = self.slots.get(id(instance))
        slots = known[2] if known is not None and known[0] is instance else self._slots(instance)  # their names and shapes stay
        names = {name for slot in slots for name in (slot.name, wildcard_name(slot.name))}
        lost = {role for name, content in self.assignment.contents.items() if name not in names for role in content.roles}
        if inputs.get("num_kv_heads", 1) > 1 and re.search(OF_GROUPS, self.subject.own_source) is None and "key_weight" in inputs:
            lost |= {"key_weight"} - self.assignment.exact_roles(slots, inputs)  # multi-query attention
        return not lost & set(inputs) and self.assignment.has_capacity(slots, inputs)

    @property
    def is_instance(self) -> bool:
        """Return True."""
        return True

    @property
    def is_wired(self) -> bool:
        """Return True if correct parts are in the places of the instance's own."""
        return self.construction.wired is not None

    @property
    def has_weights(self) -> bool:
        """Return True if the instance holds weights or its constructor takes them."""
        return bool(self.assignment.roles) or any(role.is_weight for role in self.construction.constructor.role_of.values())

    @property
    def has_guessed_operands(self) -> bool:
        """Return True if the method takes operands that no role lists, such as tables or a cache."""
        return any(role.name.startswith((TABLE, NO_EFFECT)) for role in self.construction.forward.role_of.values())

    @property
    def _rotates(self) -> bool:
        """Return True for a class with rotary positions, which need heads of even width."""
        if self.construction.wired is not None or self.construction.is_unrotated:
            return False
        if any(each.default is False and re.search(ROTATES_ON_REQUEST, each.name, re.IGNORECASE) for each in self.subject.parameters):
            return False
        takes_tables = any(role.name.startswith(TABLE) for role in self.binding.role_of.values())
        return takes_tables or bool(re.search(ROTARY_SOURCE, self.subject.own_source, re.IGNORECASE))

    def _argument(self, name: str, value: Any) -> Any:
        """Return a value as the argument with that name: weights, which no call receives, stay NumPy arrays."""
        return mapped(self._rounded, value) if name.startswith(WEIGHT_PREFIX) else super()._argument(name, value)

    def _watched(self, arguments: Mapping[str, Any]) -> list[str]:
        """Return the names of the arguments that a call must not change."""
        return [name for name in super()._watched(arguments) if not name.startswith(WEIGHT_PREFIX)]

    def invoke(self, arguments: Mapping[str, Any]) -> Any:
        """Return the output of an instance with its weights set."""
        instance = self.instance_for(arguments)
        answer = self.forward(instance, arguments)
        return with_digits_of(self.weight_slots(instance), answer) if self.is_wide else answer

    def instance_for(self, arguments: Mapping[str, Any]) -> Any:
        """Return a cached or new instance, with its weights set."""
        role_of = self.binding.role_of
        _, config_values = self._constructor_arguments(arguments)
        held = {role_of[name].name: as_numbers(value) for name, value in arguments.items() if name.startswith(WEIGHT_PREFIX)}
        instance = self.made_for(arguments)
        self.assignment.write(self._slots(instance), held | {"num_heads": config_values.get("num_heads", 1)})
        return instance

    def run_with_own_parts(self, inputs: Inputs, *, context_length: int | None = None) -> Any:
        """Return the output of an instance with its own parts, whose weights are those of the constructor.

        context_length   length for which the instance is made; None for that of the exercise
        """
        own = self.with_own_parts()
        arguments = own.arguments(inputs)
        if context_length is not None:
            arguments |= {name: context_length for name, role in self.binding.role_of.items() if role.name == "context_length"}
        return own.forward(own.made_for(arguments), arguments)

    def with_own_parts(self) -> InstanceCall:
        """Return the call of a class whose own parts stay in their places, with its own rotation."""
        return replace(self, construction=replace(self.construction, wired=None, is_unrotated=False), made={}, unmade={})

    def forward(self, instance: Any, arguments: Mapping[str, Any]) -> Any:
        """Return the output of an instance with its current weights, and with the caches that it had before its first call."""
        if self.keeps_cache:
            restore(self.fresh.setdefault(id(instance), (instance, caches_of(instance)))[1])
        return self._stepwise(instance, arguments) if self.takes_one_token else self.continued(instance, arguments)

    @cached_property
    def takes_one_token(self) -> bool:
        """True for a model that refuses several tokens at once, and takes the number of those before."""
        return self._start is not None and re.search(ONE_TOKEN, self.subject.own_source) is not None

    @cached_property
    def _start(self) -> str | None:
        """Name of the operand of a model for the number of tokens before, None if it has none."""
        role_of = self.construction.forward.role_of
        numbers = (name for name, role in role_of.items() if role.name.startswith(NO_EFFECT) and type(role.neutral) is int)
        return next(numbers, None) if any(role.name == "token_ids" for role in role_of.values()) else None

    def _stepwise(self, instance: Any, arguments: Mapping[str, Any]) -> Any:
        """Return the outputs of a model for one token after the other as one array."""
        named = next(name for name, role in self.construction.forward.role_of.items() if role.name == "token_ids")
        ids, start = arguments[named], self._start or ""
        steps = ({named: ids[..., place : place + 1], start: place} for place in range(ids.shape[-1]))
        outputs = [self.continued(instance, {**arguments, **step}) for step in steps]
        return array_namespace(outputs[0]).concat(outputs, axis=-2)

    def continued(self, instance: Any, arguments: Mapping[str, Any]) -> Any:
        """Return the output of an instance as it is."""
        refill(self.tables.get(id(instance), (instance, ()))[1])
        method = self.construction.method
        is_called = method == "__call__" or (method in INHERITED and is_module(instance))
        call = instance if is_called else getattr(instance, method)
        given = {name: value for name, value in arguments.items() if not name.startswith(PREFIXES)}
        given |= mask_flags(self.subject, self.construction, given)
        positional = [given.pop(each.name) for each in self._positional_only if each.name in given]
        with globals_set(self.subject.module, self._variables(arguments), self.construction.variables):
            answer = self.read(call(*positional, **given))
        return getattr(instance, self.kept_output) if answer is None and self.kept_output is not None else answer

    def read(self, answer: Any) -> Any:
        """Return an output as values, as in `completed`."""
        return completed(answer)

    @cached_property
    def kept_output(self) -> str | None:
        """Name of the attribute that holds the output of a method that returns nothing; None for a module of a library."""
        if module_library(self.subject.value) is not None:
            return None
        methods = functions_in(parsed(textwrap.dedent(self.subject.own_source)))
        inner = [each for node in methods if node.name == self.construction.method for each in ast.walk(node)]
        names = [each.attr for each in inner if is_of_self(each) and isinstance(each.ctx, ast.Store) and each.attr in KEPT_OUTPUTS]
        return names[-1] if names and not any(isinstance(each, ast.Return) for each in inner) else None

    @cached_property
    def keeps_cache(self) -> bool:
        """True for a class that joins the keys and values of earlier calls, which it keeps, to its own: each call is another sequence."""
        return re.search(KEEPS_CACHE, self.subject.used_source) is not None

    @cached_property
    def _positional_only(self) -> list[inspect.Parameter]:
        return [each for each in call_parameters(self.subject, self.construction.method) if each.kind is each.POSITIONAL_ONLY]

    def _variables(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the module's variables for the sizes in the arguments."""
        construction = self.construction
        functions = rotations(self.subject.module) if construction.is_unrotated else {}
        if not construction.variables:
            return functions
        _, sizes = self._constructor_arguments(arguments)
        return functions | global_values(self.subject, construction.variables, sizes, construction.roles, self._dropout_rate)

    @property
    def _dropout_rate(self) -> float:
        return self.dropout if callable(getattr(self.subject.value, "eval", None)) else 0.0

    def without_dropout(self) -> InstanceCall:
        """Return the same call with a dropout rate of 0."""
        return replace(self, dropout=0.0, made={}, unmade={})

    def sample(self, exercise: Exercise) -> tuple[Inputs, Any]:
        """Return inputs and an instance constructed for their sizes; the instance is None if none can be constructed."""
        every = [*exercise.inputs]
        every.sort(key=lambda inputs: (-len(inputs), -int(inputs.get("num_heads", 1))))
        maker = replace(self, binding=class_binding(self.construction, Assignment({}), is_construction=True))
        num_failed = 0
        for inputs in every:
            if num_failed == MAX_FAILED:
                break
            given = inputs | maker.sizes(inputs)
            arguments = {
                name: self._converted(given.get(role.name, role.neutral))
                for name, role in maker.binding.role_of.items()
                if role.name in given or name in maker.turned_names
            }
            if not {name for name in _required(maker) if name not in arguments}:
                try:
                    return given, maker._filled(maker.made_for(arguments), given, arguments)
                except (TookTooLongError, OtherPartsError):  # it has the same parts in other sizes
                    break
                except Exception:  # other sizes may work; the call itself will report the error
                    num_failed += 1
        return {}, None

    def _constructor_arguments(self, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], Inputs]:
        """Return the constructor's arguments by parameter name, and all constructor and config values by role."""
        constructor = {name[len(CONSTRUCTOR_PREFIX) :]: value for name, value in arguments.items() if name.startswith(CONSTRUCTOR_PREFIX)}
        sizes = {
            self.binding.role_of[name].name: value
            for name, value in arguments.items()
            if name.startswith((CONSTRUCTOR_PREFIX, CONFIG_PREFIX))
        }
        if self.construction.wired is None:
            return constructor, sizes
        role_of = {name: role.name for name, role in self.construction.constructor.role_of.items()}
        wide = {name: value * self._widening if role_of[name] in WIDTHS else value for name, value in constructor.items()}
        return wide, {name: value * self._widening if name in WIDTHS else value for name, value in sizes.items()}

    def made_for(self, arguments: Mapping[str, Any]) -> Any:
        """Return a cached or new instance for the sizes in the arguments."""
        constructor, config_values = self._constructor_arguments(arguments)
        key = tuple(_key(value) for value in (*constructor.items(), *config_values.items(), *self._inferred_widths(arguments)))
        if key not in self.made:
            construction = self.construction
            if key in self.unmade:
                raise self.unmade[key][0].with_traceback(self.unmade[key][1])
            try:
                shared = self.subject.once("shared caches", lambda: shared_caches(self.subject))
                refill(shared)
                instance = self._constructed(constructor, config_values, arguments)
                give_room(slots_of(instance, self.subject.value.__module__))
                self.tables[id(instance)] = instance, [(held, dict(held)) for held, _ in shared]
            except Exception as error:
                if not isinstance(error, TookTooLongError):  # there may be more time later
                    self.unmade[key] = error, error.__traceback__
                raise
            if construction.wired is not None:
                width, inner = (config_values[name] // self._widening for name in WIDTHS[:2])
                spec = replace(construction.wired, width=width, inner=inner, num_heads=config_values["num_heads"])
                spec = replace(spec, is_stepwise=self.takes_one_token)
                try:
                    self._wire(instance, spec, arguments)
                except OtherPartsError as error:
                    self.unmade[key] = error, error.__traceback__
                    raise
                self.slots.pop(id(instance), None)  # its parts are others now
            self.gates.extend(opened_gates(instance, self.subject))
            if construction.is_unrotated:
                leave_out(instance, self.subject)
            has_eval = callable(getattr(self.subject.value, "eval", None))
            if has_eval:
                instance.eval()
            if not has_eval or self.library == "jax":  # rates that nnx passes to its functions have no mode
                switch_off_dropout(instance, self.subject.value.__module__)
            self.made[key] = self._filled(instance, {}, arguments)
        return self.made[key]

    def _inferred_widths(self, arguments: Mapping[str, Any]) -> list[tuple[str, Any]]:
        """Return the widths of the operands of a module of Flax, which gives its weights their shapes."""
        if not (inspect.isclass(self.subject.value) and issubclass(self.subject.value, FlaxHolder)):
            return []
        return [(name, arguments[name].shape[-1:]) for name in self.construction.forward.role_of if hasattr(arguments.get(name), "shape")]

    def _constructed(self, constructor: Mapping[str, Any], sizes: Inputs, arguments: Mapping[str, Any]) -> Any:
        """Return what the learner's constructor returns for constructor arguments and sizes."""
        construction, rate = self.construction, self._dropout_rate
        constructor, sizes = self._as_multiples(constructor, sizes)
        switches: dict[str, Any] = dict.fromkeys(construction.dropouts, rate) | dict.fromkeys(construction.flags, True)
        switches |= {
            name: each.at(sizes) if isinstance(each, Shown | StateDict | GivenLinear | GivenVocabulary) else each
            for name, each in construction.fixed.items()
        }
        switches |= {name: self._converted(each.at(sizes)) for name, each in construction.fixed.items() if isinstance(each, GivenWeight)}
        if construction.config is not None:
            for name in (construction.config, *construction.configs):
                base = construction.base if name == construction.config else base_of(self.subject, name, construction.base)
                switches[name] = config_for(replace(construction, config=name, base=base), self.subject, sizes, rate)
        switches |= {name: keywords(self.subject, name, sizes, construction.roles, rate) for name in construction.spread}
        parts = {name: self._part(name, value) for name, value in constructor.items() if isinstance(value, Submodule)}
        given = {**constructor, **parts, **switches}
        positional = [given.pop(each.name) for each in self.subject.parameters if each.kind is each.POSITIONAL_ONLY and each.name in given]
        with globals_set(self.subject.module, self._variables(arguments), construction.variables), jax_on_numpy(), quick_draws():
            try:
                return _in_float32(self.subject.value(*positional, **given))
            except SystemExit as error:
                raise EndsProcessError(TEXTS["ends_the_process"]) from error

    def _as_multiples(self, constructor: Mapping[str, Any], sizes: Inputs) -> tuple[dict[str, Any], Inputs]:
        """Return constructor arguments and sizes with the next inner width that is a multiple of what assertions require."""
        inner = next((role for role in self.construction.roles if role.name == INNER_WIDTH), None)
        divisor = 1 if inner is None else divisor_of(inner, self.subject.used_source)
        role_of = {name: role.name for name, role in self.construction.constructor.role_of.items()}
        return (
            {name: _multiple(value, divisor) if role_of.get(name) == INNER_WIDTH else value for name, value in constructor.items()},
            {name: _multiple(value, divisor) if name == INNER_WIDTH else value for name, value in sizes.items()},
        )

    @property
    def _widening(self) -> int:
        """Factor between the widths in the constructor and in the call."""
        wired = self.construction.wired
        return 1 if wired is None or wired.kind == "block" or wired.is_around else WIDENING

    def _wire(self, instance: Any, spec: Submodule, arguments: Mapping[str, Any]) -> None:
        """Replace the instance's parts, or its blocks."""
        if spec.kind != "block":
            wire(instance, spec, self.library)
            return
        if module_library(type(instance)) is not None:
            instance.eval()
        needed = {each.name for each in call_parameters(self.subject, self.construction.method) if each.default is each.empty}
        role_of = self.construction.forward.role_of
        named = next(name for name, role in role_of.items() if role.name == "token_ids")
        others = {name: role for name, role in role_of.items() if name in needed and name != named}

        def run(ids: numpy.ndarray) -> Any:
            neutral = {
                name: self._converted(role.neutral({"token_ids": ids})) if callable(role.neutral) else role.neutral
                for name, role in others.items()
            }
            return self.forward(instance, {**arguments, **neutral, named: self._converted(ids)})

        wire_blocks(instance, spec, self.library, run)

    def _part(self, name: str, spec: Submodule) -> Any:
        """Return a part for a constructor's parameter, or a function that makes it if the constructor calls it."""
        return (lambda *sizes, **named: spec.made(self.library)) if is_called(name, self.subject) else spec.made(self.library)

    def _filled(self, instance: Any, given: Inputs, arguments: Mapping[str, Any]) -> Any:
        """Return the instance after one call if its arrays get their shapes from the first input."""
        if not has_unset_arrays(instance):
            return instance
        known = {name: value for name, value in arguments.items() if not name.startswith(PREFIXES)}
        if known:
            self.forward(instance, {**arguments, **known})
        role_of = self.construction.forward.role_of
        if known or not given or not role_of:
            return instance
        first = next((value for value in given.values() if isinstance(value, numpy.ndarray)), None)
        needed = [each.name for each in call_parameters(self.subject, self.construction.method) if each.default is each.empty]
        masks = [name for name in needed if name in role_of and "mask" in role_of[name].name]
        operands = {name: self._converted(self._operand(role, given, first)) for name, role in role_of.items()}
        for mask in _open_masks(first) if masks else (None,):
            try:
                self.forward(instance, {**arguments, **operands, **dict.fromkeys(masks, self._converted(mask))})
                break
            except Exception:
                if mask is None:
                    raise
        return instance

    def _operand(self, role: Role, given: Inputs, first: Any) -> Any:
        """Return an operand for a first call, without masks."""
        if role.name.startswith((TABLE, NO_EFFECT)) and role.size_of is not None:
            return computed(role.size_of, given)
        neutral = None if role.neutral is MISSING or callable(role.neutral) else role.neutral
        return given.get(role.name, first) if role.name in SEQUENCES else neutral

    def _slots(self, instance: Any) -> list[Slot]:
        """Return the slots of an instance, found once for a torch module as long as it has the same parameters.

        Arrays that a call stores in the instance, such as its output, are no slots.
        """
        home = self.subject.value.__module__
        if module_library(type(instance)) != "torch":
            found = slots_of(instance, home)
            first = self.slots.get(id(instance))
            if first is None or first[0] is not instance:
                self.slots[id(instance)] = (instance, [], found)
                return found
            names = {slot.name for slot in first[2]}
            return [slot for slot in found if slot.name in names]
        parameters = [id(each) for each in instance.parameters()]
        known = self.slots.get(id(instance))
        if known is None or known[:2] != (instance, parameters):
            known = self.slots[id(instance)] = (instance, parameters, self.ungated(slots_of(instance, home)))
        return known[2]

    def ungated(self, slots: Sequence[Slot]) -> list[Slot]:
        """Return the slots that are no gates of sublayers."""
        return [slot for slot in slots if all(slot.array is not each for each in self.gates)]

    def weight_slots(self, instance: Any) -> list[Slot]:
        """Return the slots of an instance that hold weights."""
        slots = self._slots(instance)
        return [slot for slot in slots if {slot.name, wildcard_name(slot.name)} & set(self.assignment.contents)]

    @property
    def other_parameters(self) -> list[str]:
        """Return the names of the parameters of a class that the part does not have, such as those of a norm."""
        instance = next(iter(self.made.values()), None)
        if instance is None:
            return []
        weights = {slot.name for slot in self.weight_slots(instance)}
        return [slot.name for slot in self._slots(instance) if slot.is_parameter and slot.name not in weights]


def _in_float32(instance: Any) -> Any:
    """Return a torch module in float32 if all its parameters have half precision, whose rounding would hide what it computes, or double."""
    if module_library(type(instance)) == "torch":
        sizes = {each.dtype.itemsize for each in instance.parameters() if each.is_floating_point()}
        return instance.float() if sizes in ({2}, {8}) else instance
    return instance


def _multiple(size: Any, divisor: int) -> Any:
    """Return the smallest multiple of a number that is not below a size."""
    return -(-size // divisor) * divisor if isinstance(size, int) else size


def _required(call: InstanceCall) -> set[str]:
    """Return the parameters that require a value."""
    construction = call.construction
    needed = {CONSTRUCTOR_PREFIX + each.name for each in call.subject.parameters if each.default is each.empty}
    given = (name for name, role in construction.constructor.role_of.items() if role.size_of is not None or role.name == "axis")
    needed |= {CONSTRUCTOR_PREFIX + name for name in given}
    needed |= {each.name for each in call_parameters(call.subject, construction.method) if each.default is each.empty}
    needed |= {WEIGHT_PREFIX + role.name for role in construction.roles if role.is_weight and not role.name.endswith("bias")}
    return needed & set(call.binding.role_of)


ONE_TOKEN = r"\bassert +\(?(\w+|\w+\.(shape\[(1|-1)\]|size\(1\))) *== *1\b"
"""Pattern of a model that takes one token at a time."""

OF_GROUPS = r"(?i)kv_?heads?|key_value_(head|group)|n(um)?_?kv|group"
"""Pattern of the source of an attention that may have several heads of keys and values."""

ROTATES_ON_REQUEST = (
    r"^(use|with|has|is|apply|add|enable)_?\w*(rope|rotary|rotat)|^(rope|rotary(_emb\w*|_pos\w*)?)$|(rope|rotary)_?(on|enabled)$"
)
"""Pattern of the names of flags for rotary positions; `rope_traditional` only chooses their pairs."""

WIDENING = 8
"""Factor between these sizes in the constructor and in the call, so that the widths of the parts suit rotary positions and groups."""

SEQUENCES = ("x", "query", "key", "value", "encoder_output", "context", "token_ids")
"""Operands from which the arrays of an instance get their shapes."""


def _open_masks(first: Any) -> Iterator[Any]:
    """Yield masks of several shapes that hide nothing, at last None, for vectors or token ids with or without a batch axis."""
    axes = numpy.shape(first)[: -1 if first.dtype.kind == "f" else None]
    batch, length = axes[:-1][:1], axes[-1]
    for shape in ((), (length, length), (*batch, length, length), (*batch, 1, length, length), (*batch, length)):
        yield numpy.ones(shape, bool)
    yield None


def _key(value: tuple[str, Any]) -> Hashable:
    numbers = as_numbers(value[1]) if hasattr(value[1], "dtype") else value[1]
    return value[0], numbers.tobytes() if isinstance(numbers, numpy.ndarray) else repr(numbers)
