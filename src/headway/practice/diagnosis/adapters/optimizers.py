"""Calls of a learner's optimizer: a torch.optim.Optimizer, a class with an update method, or a function of one step."""

from __future__ import annotations

import copy
import inspect
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import numpy

from headway.arrays import from_numpy
from headway.practice.diagnosis.adapters.optimizer_forms import OBJECTS, form_of, forms_in, is_like, values_of
from headway.practice.diagnosis.adapters.optimizer_roles import (
    BATCH_SIZE,
    CLOSURE,
    COUNT,
    GRADS,
    MEAN,
    MEAN_HAT,
    NAME,
    PAIRED,
    PARAMS,
    SHAPES,
    SQUARE,
    SQUARE_HAT,
    STATE,
)
from headway.practice.diagnosis.adapters.optimizer_settings import (
    DECAY_ROLE,
    OF_MOMENTUM,
    RATE_ROLE,
    SETTINGS,
    configs,
    decays_rate,
    keyed_settings,
    rates_of_moments,
    turned_off,
)
from headway.practice.diagnosis.adapters.parameter_holders import Parameter
from headway.practice.diagnosis.calls.binding import Binding, bind_parameters, fits_name
from headway.practice.diagnosis.calls.calling import Call
from headway.practice.diagnosis.calls.compare import as_numbers
from headway.practice.diagnosis.calls.own_tensors import OWN
from headway.practice.diagnosis.reading.subject import Subject, defines, parameters_of, source_with_bases
from headway.practice.exercise import Exercise, Inputs, Role
from headway.practice.message import CallError
from headway.practice.outputs import OwnData
from headway.practice.recipes.adam import BETA1, BETA2, EPS, RATE
from headway.practice.texts import Texts

TEXTS = Texts("diagnosis")

METHODS = (
    "step",
    "update",
    "__call__",
    "apply",
    "update_params",
    "optimize",
    "apply_gradients",
    "step_params",
    "update_parameters",
    "calculate_update",
)
OF_DIRECTION = r"((get|compute|calc|calculate)_)?((update|step|descent|search)_)?(direction|delta)s?"
"""Pattern of the names of methods that take gradients alone and return the change of the parameters, or the direction that the rate multiplies."""

CORRECTS = r"^(use_|apply_)?bias_?correct(ion)?$"
"""Pattern of the name of a flag that corrects the bias of the moments, which may be off by default."""

READS_GRADIENT = r"\.grad\b"
"""Pattern of the source of a function whose parameters hold their gradients."""

AROUND = (r"^(pre|before|begin)_", r"^(post|after|end)_")
"""Names of the methods that a training loop calls before and after those of all layers."""


MAKES_STATE = r"^init$|(init(iali[sz]e)?|create|make)_\w*(state|adam|optim)|(adam|sgd|optim\w*)_init"
"""Pattern of the name of a function that makes the first state of parameters, which it returns."""

RETURNS_CHANGE = r"\breturn \(?(\w+_)?(updates?|deltas?)\b"
"""Pattern of the source of a step that returns what is to be added to the parameters."""

BEGINS = r"(?:(reset|init(iali[sz]e)?|register|add)_(param(eter)?s?|state)|setup)\("
"""Pattern of the name of a method that makes the state of parameters."""


@dataclass
class OptimizerCall(Call):
    """A learner's optimizer run for several steps; the output is every parameter after each step.

    settings   role → constructor's or function's parameter
    holds      form in which parameters are passed, one of HOLDS, "pairs", "dicts", "with_gradients" or one of OBJECTS
    is_array   True if the step count and the settings are passed as arrays without axes
    turned_off values without effect for other parameters of the constructor
    change     factor of what a step returns in the change of the parameters; None if it changes or returns the parameters
    """

    settings: Mapping[str, str] = None  # type: ignore[assignment]
    holds: str = "list"
    is_array: bool = False
    turned_off: Mapping[str, float] = field(default_factory=dict)
    change: float | None = None

    @property
    def parameters(self) -> Sequence[inspect.Parameter]:
        """Return one parameter per role, independent of the learner's own."""
        required = ("points", "gradients")
        return [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=inspect.Parameter.empty if name in required else None)
            for name in self.binding.role_of
        ]

    def invoke(self, arguments: Mapping[str, Any]) -> Any:
        """Run the optimizer on copies of the parameters."""
        points, settings = [self._copy(each) for each in arguments["points"]], self._settings(arguments)
        rate = arguments.get("learning_rate") or RATE
        is_class = inspect.isclass(self.subject.value)
        take = self._class_step(points, settings, rate) if is_class else self._function_step(points, settings)
        found: list[Any] = []
        for gradients in arguments["gradients"]:
            found += [numpy.array(as_numbers(each)) for each in take([self._copy(each) for each in gradients])]
        return tuple(found)

    def _copy(self, value: Any) -> Any:
        return from_numpy(numpy.array(as_numbers(value)), self.library) if self.library != "list" else copy.deepcopy(value)

    def _settings(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings by the learner's parameter names; without decay if the probe has none."""
        beta1, beta2 = (arguments.get(name) or usual for name, usual in (("beta1", BETA1), ("beta2", BETA2)))
        known = {
            "learning_rate": arguments.get("learning_rate") or RATE,
            "beta1": beta1,
            "beta2": beta2,
            "betas": (beta1, beta2),
            "eps": arguments.get("eps") or EPS,
            "weight_decay": arguments.get("weight_decay") or 0.0,
            "momentum": arguments.get("momentum") or 0.0,
            "dampening": arguments.get("dampening") or 0.0,
            "nesterov": bool(arguments.get("nesterov")),
        }
        turned_on: dict[str, Any] = {
            each.name: True for each in self.subject.parameters if each.default is False and re.search(CORRECTS, each.name)
        }
        held = {
            name: SimpleNamespace(**{field: known[role] for field, role in fields.items()})
            for name, fields in configs(self.subject).items()
        }
        return turned_on | dict(self.turned_off) | held | {name: self._scalar(known[role]) for role, name in self.settings.items()}

    def _scalar(self, value: Any) -> Any:
        return from_numpy(numpy.array(value, numpy.float32), self.library) if self.is_array and not isinstance(value, tuple) else value

    def _class_step(self, points: list[Any], settings: Mapping[str, Any], rate: float) -> Callable[[list[Any]], list[Any]]:
        """Return a function that takes one step of a class's instances and returns the parameters.

        rate   learning rate, for a method that takes it
        """
        value = self.subject.value
        method = _stepping(value)
        takes = bind_parameters([each for each in self.subject.parameters if each.name not in settings], (PARAMS, GRADS, SHAPES))
        if takes is None:
            raise CallError(TEXTS["constructor_has_required_parameters_settings"])
        taken = parameters_of(getattr(value, method), is_bound=True)
        if (
            takes.role_of == {}
            and any(fits_name(each.name, MEAN) for each in taken)
            and any(fits_name(each.name, SQUARE) for each in taken)
        ):
            return self._step_of_moments(points, getattr(value(**settings), method), taken, {})
        bound = bind_parameters(taken, (PAIRED, PARAMS, GRADS, NAME, COUNT, CLOSURE, RATE_ROLE, STATE, BATCH_SIZE))
        bound = bound if bound is None else _with_pairs(bound, self.subject.own_source)
        if bound is None or (bound.takes("state") and re.search(RETURNS_CHANGE, self.subject.own_source)):
            raise CallError(TEXTS["method_has_unknown_parameters"].format(method=method))
        is_given = takes.takes("gradient") or bound.takes("gradient") or bound.takes("points_with_gradients")
        is_given = is_given or self.holds == "with_gradients"
        held = self._held(points, is_own=not is_given)
        is_taken = bound.takes("points") or bound.takes("points_with_gradients") or not takes.takes("points")
        is_gradient_first = any(role is PAIRED and name.startswith("grad") for name, role in bound.role_of.items())
        size = {"single": 1, "layer": 2}.get(self.holds, len(held))
        groups = [held[start : start + size] for start in range(0, len(held), size)]
        passed = [form_of(group, self.holds) for group in groups]
        zeros = ([self._copy(0 * numpy.array(as_numbers(_data(each)))) for each in group] for group in groups)
        kept = [form_of(each, self.holds) for each in zeros] if takes.takes("gradient") else passed
        is_shared = self.holds == "layer" and not takes.role_of  # one optimizer is given each layer in turn
        shapes = [form_of([tuple(_data(each).shape) for each in group], self.holds) for group in groups]
        given = ({PARAMS: form, GRADS: slopes, SHAPES: sizes} for form, slopes, sizes in zip(passed, kept, shapes, strict=True))
        made = [
            value(**settings, **{name: forms[role] for name, role in takes.role_of.items()})
            for forms in itertools.islice(given, 1 if is_shared else len(groups))
        ]
        instances = made * len(groups) if is_shared else made
        for instance, form in zip(instances, passed, strict=True):
            _begin(instance, form, source_with_bases(self.subject))
        states = [self._first_state(group, bound, taken, _methods_of(instance)) for group, instance in zip(groups, instances, strict=True)]
        from_zero = self._counts_from_zero(bound)
        count = 0

        def take(gradients: list[Any]) -> list[Any]:
            nonlocal count
            count += 1
            _call_around(made, AROUND[0])
            for place, (instance, group) in enumerate(zip(instances, groups, strict=True)):
                slopes = gradients[place * size : (place + 1) * size]
                self._set_gradients(group, slopes)
                if takes.takes("gradient"):
                    _refill(kept[place], form_of(slopes, self.holds))
                for (_, slope), now in zip(passed[place], slopes, strict=True) if self.holds == "with_gradients" else ():
                    slope[...] = now
                forms = {
                    "points": passed[place] if self.holds in OBJECTS or not is_taken else form_of(group, self.holds),
                    "gradient": form_of(slopes, self.holds),
                    "points_with_gradients": [pair[::-1] if is_gradient_first else pair for pair in zip(group, slopes, strict=True)],
                    "step": count - from_zero,
                    "name": f"p{place}",
                    "learning_rate": self._scalar(rate),
                    "state": states[place],
                    "batch_size": 1,
                }
                called = {name: forms[role.name] for name, role in bound.role_of.items() if role.name in forms}
                before = self._numbers_in(forms["points"])
                answer = getattr(instance, method)(**called)
                if bound.takes("state") and isinstance(answer, tuple) and len(answer) == 2:
                    answer, states[place] = answer
                if self.change is not None:
                    factor = self.change * (1 if RATE_ROLE.name in self.settings else rate)
                    group[:] = [point + factor * each for point, each in zip(group, values_of(answer, self.holds), strict=True)]
                    continue
                now = self._numbers_in(forms["points"])
                is_changed = not is_taken and not all(map(numpy.array_equal, before, now))  # it may return its changes, or norms
                group[:] = self._after(group, forms["points"], None if is_changed else answer)
            _call_around(made, AROUND[1])
            return [_data(each) for group in groups for each in group]

        return take

    def _counts_from_zero(self, bound: Binding) -> bool:
        """Return True if the source adds 1 to the number of the step that it is given."""
        counts = [name for name, role in bound.role_of.items() if role is COUNT]
        return any(re.search(rf"(?<![.\w]){name} *\+ *1\b", self.subject.own_source) for name in counts)

    def _held(self, points: list[Any], *, is_own: bool) -> list[Any]:
        if self.library == "torch":
            import torch

            return [torch.nn.Parameter(each) for each in points] if is_own else points
        if not is_own:
            return points
        return [Parameter(each, f"p{place}") for place, each in enumerate(points)]

    def _set_gradients(self, group: Sequence[Any], gradients: Sequence[Any]) -> None:
        for each, gradient in zip(group, gradients, strict=True):
            if isinstance(each, Parameter) or getattr(each, "requires_grad", False):
                each.grad = gradient.view(OwnData) if isinstance(gradient, numpy.ndarray) else gradient

    def _after(self, group: Sequence[Any], passed: Any, answer: Any) -> list[Any]:
        """Return the parameters after a step: what it returned, or what it modified."""
        if self.holds in OBJECTS:
            return list(group)
        answer = answer[0] if isinstance(answer, tuple) and len(answer) == 1 else answer
        values = values_of(answer if is_like(answer, passed) else passed, self.holds)
        return values if len(values) == len(group) else list(group)

    def _numbers_in(self, passed: Any) -> list[numpy.ndarray]:
        """Return copies of the numbers of the parameters that were passed; none for parameters as objects."""
        return [] if self.holds in OBJECTS else [numpy.array(as_numbers(_data(each))) for each in values_of(passed, self.holds)]

    def _function_step(self, points: list[Any], settings: Mapping[str, Any]) -> Callable[[list[Any]], list[Any]]:
        """Return a function that takes one step of a function for each parameter."""
        rest = [each for each in self.subject.parameters if each.name not in settings]
        bound = bind_parameters(rest, (PARAMS, GRADS, MEAN, SQUARE, COUNT, STATE))
        if bound is not None and bound.takes("points") and bound.takes("gradient") and bound.takes("state"):
            return self._step_of_state(points, settings, bound)
        in_place = bind_parameters(rest, (PARAMS, BATCH_SIZE))
        if in_place is not None and in_place.takes("points"):
            return self._step_in_place(points, settings, in_place)
        return self._step_of_moments(points, self.subject.value, rest, settings)

    def _step_in_place(self, points: list[Any], settings: Mapping[str, Any], bound: Binding) -> Callable[[list[Any]], list[Any]]:
        """Return a function that takes one step of a function that changes parameters, which hold the mean gradient of one example."""
        held = self._held(points, is_own=True)
        forms = {"points": form_of(held, self.holds), "batch_size": 1}
        given = {name: forms[role.name] for name, role in bound.role_of.items()}

        def take(gradients: list[Any]) -> list[Any]:
            self._set_gradients(held, gradients)
            self.subject.value(**settings, **given)
            return [_data(each) for each in held]

        return take

    def _step_of_moments(
        self, points: list[Any], step: Callable[..., Any], taken: Sequence[inspect.Parameter], settings: Mapping[str, Any]
    ) -> Callable[[list[Any]], list[Any]]:
        """Return a function that takes one step of a function for each parameter, which returns the parameter and its moments in the order taken."""
        bound = bind_parameters(taken, (PARAMS, GRADS, MEAN, SQUARE, COUNT, MEAN_HAT, SQUARE_HAT))
        if bound is None or not (bound.takes("points") and bound.takes("gradient") and bound.takes("mean") and bound.takes("square")):
            raise CallError(TEXTS["function_takes_parameter_gradient_moments"])
        order = [role.name for role in bound.role_of.values() if role.name in ("mean", "square")]
        states = [(each, self._copy(0 * numpy.array(as_numbers(each))), self._copy(0 * numpy.array(as_numbers(each)))) for each in points]
        count = 0

        def take(gradients: list[Any]) -> list[Any]:
            nonlocal count
            count += 1
            for place, gradient in enumerate(gradients):
                point, *moments = states[place]
                known = dict(zip(order, moments, strict=True)) | {"points": point, "gradient": gradient, "step": self._scalar(count)}
                known |= {each.name: self._copy(0 * numpy.array(as_numbers(point))) for each in (MEAN_HAT, SQUARE_HAT)}
                answer = step(**settings, **{name: known[role.name] for name, role in bound.role_of.items()})
                parts = [each for each in answer if hasattr(each, "shape")] if isinstance(answer, tuple | list) else []
                states[place] = (parts[0], parts[1], parts[2]) if len(parts) >= 3 else (point, *moments)
            return [point for point, _, _ in states]

        return take

    def _step_of_state(self, points: list[Any], settings: Mapping[str, Any], bound: Binding) -> Callable[[list[Any]], list[Any]]:
        """Return a function that takes one step of all parameters.

        The moments and the step count are in a dict, under its keys in the source, or in an object of the class that annotates the state.
        A dict that holds the settings as well has nothing else before the first step.
        """
        in_state, settings = (settings, {}) if keyed_settings(self.subject) else ({}, settings)
        groups = [[each] for each in points] if self.holds == "single" else [points]
        around = {} if self.subject.module is None else vars(self.subject.module)
        helds = [
            {
                "points": form_of(group, self.holds),
                "state": dict(in_state) or self._first_state(group, bound, self.subject.parameters, around),
            }
            for group in groups
        ]
        from_zero = self._counts_from_zero(bound)
        count = 0

        def take(gradients: list[Any]) -> list[Any]:
            nonlocal count
            count += 1
            given = [[each] for each in gradients] if self.holds == "single" else [gradients]
            for group, held, slopes in zip(groups, helds, given, strict=True):
                known = held | {"gradient": form_of(slopes, self.holds), "step": count - from_zero}
                answer = self.subject.value(**settings, **{name: known[role.name] for name, role in bound.role_of.items()})
                if isinstance(answer, tuple) and len(answer) == 2:
                    held["points"], held["state"] = answer
                group[:] = self._after(group, held["points"], held["points"])
            return [each for group in groups for each in group]

        return take

    def _first_state(self, group: Sequence[Any], bound: Binding, taken: Sequence[inspect.Parameter], around: Mapping[str, Any]) -> Any:
        """Return what is passed as the state in the first step.

        It is what a function next to the step makes of the parameters, else zeros under its keys, or nothing in it if the source fills an empty one.

        around   methods of the class, or definitions of the file
        """
        parameter = next((each for each in taken if bound.role_of.get(each.name) is STATE), None)
        if parameter is None:
            return None
        makes = next((each for name, each in around.items() if re.search(MAKES_STATE, name) and _takes_points_alone(each)), None)
        if makes is not None:
            return makes(form_of(group, self.holds))
        form = self._form_of_state(parameter)
        name, source = parameter.name, self.subject.own_source
        is_filled = form is dict and re.search(rf"\b(in|not) {name}\b|\b{name}\.setdefault\(|len\({name}\)", source)
        keys = () if is_filled else dict.fromkeys(_fields_of(form) or re.findall(rf"\b{name}\[['\"](\w+)['\"]\]", source))

        def zeros() -> Any:
            return form_of([self._copy(0 * numpy.array(as_numbers(each))) for each in group], self.holds)

        return form(**{key: 0 if fits_name(key, COUNT) else zeros() for key in keys})

    def _form_of_state(self, parameter: inspect.Parameter) -> Callable[..., Any]:
        """Return the class of the file that annotates the state, whose objects have named fields; dict if there is none."""
        annotation = parameter.annotation
        found = getattr(self.subject.module, annotation, None) if isinstance(annotation, str) else annotation
        return found if inspect.isclass(found) and _fields_of(found) else dict


def _fields_of(form: Any) -> tuple[str, ...]:
    """Return the names of the fields of a named tuple or a dataclass; none for other classes."""
    return tuple(getattr(form, "_fields", ()) or getattr(form, "__dataclass_fields__", ()))


def _refill(kept: Any, values: Any) -> None:
    """Replace the arrays in a dict, a list or an array by others of the same form."""
    if isinstance(kept, dict):
        kept.update(values)
    else:
        kept[:] = values


def _call_around(instances: Sequence[Any], pattern: str) -> None:
    """Call the methods without parameters whose names match."""
    for instance in instances:
        for name, each in vars(type(instance)).items():
            if re.search(pattern, name) and inspect.isfunction(each) and not parameters_of(each, is_bound=True):
                each(instance)


def _begin(instance: Any, form: Any, source: str) -> None:
    """Call the method that makes the state of parameters, which a training loop calls before the first step."""
    for name in dir(type(instance)) if re.search(BEGINS, source) else ():
        method = getattr(type(instance), name)
        taken = parameters_of(method, is_bound=True) if re.search(rf"def {BEGINS}", f"def {name}(") and inspect.isfunction(method) else []
        if len(taken) == 1 and (fits_name(taken[0].name, PARAMS) or taken[0].name == "target") and f"self.{name}(" not in source:
            method(instance, form)


def _methods_of(instance: Any) -> dict[str, Any]:
    return {name: getattr(instance, name) for name, each in vars(type(instance)).items() if inspect.isfunction(each)}


def _takes_points_alone(function: Any) -> bool:
    """Return True for a function or a method of an instance that needs parameters and nothing else."""
    taken = parameters_of(function) if inspect.isroutine(function) else []
    needed = [each for each in taken if each.default is each.empty]
    return len(needed) == 1 and fits_name(needed[0].name, PARAMS)


def _with_pairs(bound: Binding, source: str) -> Binding:
    """Return a binding in which the parameters that a loop unpacks as arrays with gradients are pairs: `for p, g in params`."""

    def is_paired(name: str) -> bool:
        names = re.findall(rf"\bfor \(?(\w+), *(\w+)\)? in (?:list\()?{name}\b(?![.(\[])", source)
        return bool(names) and all(fits_name(each, GRADS) for _, each in names)

    if bound.takes("gradient"):
        return bound
    return Binding({name: PAIRED if role is PARAMS and is_paired(name) else role for name, role in bound.role_of.items()})


def _stepping(value: Any) -> str:
    """Return the method that takes a step: by its name, else the first public one that takes parameters and gradients, or returns the change; "" for none."""
    known = (name for name in METHODS if defines(value, name))
    others = (name for name, each in vars(value).items() if not name.startswith("_") and _takes_both(each))
    returning = (name for name, each in vars(value).items() if re.fullmatch(OF_DIRECTION, name) and inspect.isfunction(each))
    return next(itertools.chain(known, others, returning), "")


def _signs(subject: Subject) -> tuple[float, ...]:
    """Return the factors of what a step returns in the change of the parameters, that of the sign in its source first."""
    return (1.0, -1.0) if re.search(r"(=|return|\() *-", subject.own_source) else (-1.0, 1.0)


def _takes(method: Any, role: Role) -> bool:
    """Return True if a method needs an operand."""
    return any(each.default is each.empty and fits_name(each.name, role) for each in parameters_of(method, is_bound=True))


def _takes_both(method: Any) -> bool:
    names = [each.name for each in parameters_of(method, is_bound=True)] if inspect.isfunction(method) else []
    return all(any(fits_name(name, role) for name in names) for role in (PARAMS, GRADS))


def _data(value: Any) -> Any:
    if isinstance(value, Parameter):
        return value.data
    return value.detach() if hasattr(value, "detach") else value


OF_RATE = r"(?<!decay)_(lr|rate)$|^(lr|learning_rate)_?(init(ial)?|0)$"
"""Pattern of other names of the learning rate, of which an optimizer has one."""


def optimizer_calls(subject: Subject, exercise: Exercise, library: str) -> list[Call]:
    """Return the ways to call an optimizer: one per form in which parameters may be passed.

    A function that takes all points and gradients at once, such as the definition, is called directly.
    """
    is_of_arrays = any(re.search(r"(?i)list\[\W*[\w.]*(Tensor|Parameter|Variable)\b", str(each.annotation)) for each in subject.parameters)
    if library in OWN or (library == "list" and is_of_arrays):
        return []  # scalars of an autograd library, or a list of objects that hold arrays
    roles = {role.name: role for role in exercise.roles}
    if {"points", "gradients"} <= {parameter.name for parameter in subject.parameters}:
        binding = Binding({each.name: roles[each.name] for each in subject.parameters if each.name in roles})
        return [Call(subject, binding, library)]
    taken_settings = keyed_settings(subject) or subject.parameters
    named = bind_parameters([each.replace(default=None) for each in taken_settings], OF_MOMENTUM if "momentum" in roles else SETTINGS)
    assert named is not None  # every parameter has a default
    settings = {role.name: name for name, role in named.role_of.items() if role is not DECAY_ROLE or not decays_rate(subject, name)}
    settings |= rates_of_moments(subject, settings) if "beta1" in roles else {}
    of_rate = [each.name for each in subject.parameters if each.name not in named.role_of and re.search(OF_RATE, each.name)]
    settings |= {RATE_ROLE.name: of_rate[0]} if len(of_rate) == 1 and RATE_ROLE.name not in settings else {}
    if {"betas", "beta2"} <= set(settings):  # `beta` next to `beta2` is the first of the two
        settings["beta1"] = settings.pop("betas")
    in_configs = {role for fields in configs(subject).values() for role in fields.values()}
    reached = set(settings) | in_configs | ({"beta1", "beta2"} if "betas" in settings else set())
    taken = {name: role for name, role in roles.items() if name in ("points", "gradients") or name in reached}
    if inspect.isclass(subject.value):
        method = _stepping(subject.value)
        if not method:
            return []
        is_direction = re.fullmatch(OF_DIRECTION, method) is not None
        is_rate_given = is_direction or _takes(getattr(subject.value, method), RATE_ROLE)
        in_call = {RATE_ROLE.name} if RATE_ROLE.name in roles and is_rate_given else set()
        taken = {name: role for name, role in roles.items() if name in taken or name in in_call}
        forms = forms_in(source_with_bases(subject))
        off = turned_off(subject, settings.values()) if "momentum" in roles else {}
        changes = _signs(subject) if is_direction else (None,)
        call = OptimizerCall(subject, Binding(taken), library, settings=settings, turned_off=off)
        return [replace(call, holds=form, change=change) for form in forms for change in changes]
    known = _roles_of(subject)
    if {"points", "gradient", "state"} <= known:
        forms = ("single",) if keyed_settings(subject) else ("dict", "single")
        return [OptimizerCall(subject, Binding(taken), library, settings=settings, holds=form) for form in forms]
    if known == {"points"} and re.search(READS_GRADIENT, subject.own_source):
        objects = ["model"] if re.search(OBJECTS["model"], subject.own_source) else []
        return [OptimizerCall(subject, Binding(taken), library, settings=settings, holds=form) for form in ("list", *objects)]
    if not {"points", "mean"} <= known:
        return []
    return [OptimizerCall(subject, Binding(taken), library, settings=settings, is_array=is_array) for is_array in (False, True)]


def _roles_of(subject: Subject) -> set[str]:
    found = bind_parameters([each.replace(default=None) for each in subject.parameters], (PARAMS, GRADS, MEAN, SQUARE, COUNT, STATE))
    return {role.name for role in found.role_of.values()} if found else set()


def lists(inputs: Inputs, change: Callable[[Any], Any]) -> Inputs:
    """Return the inputs with `change` applied to every parameter and gradient."""
    return inputs | {
        "points": [change(each) for each in inputs["points"]],
        "gradients": [[change(each) for each in step] for step in inputs["gradients"]],
    }
