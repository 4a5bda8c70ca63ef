"""Calls of functions of JAX that are traced once and then computed with NumPy, operation by operation.

A module of Flax takes milliseconds for a call, most of them in its own Python code, and a diagnosis calls it thousands of times with arrays of
the same shapes. The second call for a kind of operands is traced to a jaxpr, and all later ones evaluate that by the rules of `jax_rules`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NoReturn

import numpy

from headway.practice.diagnosis.calls.jax_on_numpy import WITHOUT_EFFECT, to_jax
from headway.practice.diagnosis.calls.jax_rules import RULES, Array, NoRuleError, Rule

INLINED = {"pjit": "jaxpr", "jit": "jaxpr", "closed_call": "call_jaxpr", "custom_jvp_call": "call_jaxpr", "remat2": "jaxpr"}
"""Operations that only call a jaxpr, and the parameter that holds it."""


RECORDER = "__headway_record__"
"""Name of the function that instrumented code calls with each value: such code has to run each time."""

_settings: list[str | None] = []
"""The values of variables that are set, for each context that is open; None if functions depend on more than such values."""


@contextmanager
def untraced() -> Iterator[None]:
    """Run functions as they are inside the context, because they depend on more than their operands, such as functions that are replaced."""
    with under_settings(None):
        yield


@contextmanager
def under_settings(settings: str | None) -> Iterator[None]:
    """Keep the jaxprs inside the context apart from those under other values of variables.

    settings   text that tells the values apart; None if there is none, so that functions run as they are
    """
    _settings.append(settings)
    try:
        yield
    finally:
        _settings.pop()


def is_traced() -> bool:
    """Return True if a function may be computed from its jaxpr: outside of `untraced`, and while nothing follows the program's lines."""
    return None not in _settings and sys.gettrace() is None


def settings() -> tuple[str | None, ...]:
    """Return the texts of the contexts that are open."""
    return tuple(_settings)


@dataclass(frozen=True)
class Operands:
    """A tree of operands, flattened.

    leaves, structure   the leaves, and the tree without them
    places              places of the arrays of JAX among the leaves
    """

    leaves: Sequence[Any]
    structure: Any
    places: Sequence[int]

    @classmethod
    def of(cls, tree: Any) -> Operands:
        """Return a tree as operands."""
        import jax

        leaves, structure = jax.tree_util.tree_flatten(tree)
        return cls(leaves, structure, [place for place, leaf in enumerate(leaves) if isinstance(leaf, jax.Array)])

    @property
    def arrays(self) -> list[Any]:
        """Return the arrays of JAX."""
        return [self.leaves[place] for place in self.places]

    @property
    def kind(self) -> Any:
        """Return the structure, the shapes and dtypes of the arrays, and the other leaves."""
        kinds = list(self.leaves)
        for place, array in zip(self.places, self.arrays, strict=True):
            kinds[place] = array.shape, array.dtype, array.weak_type
        return self.structure, tuple(kinds), tuple(map(type, self.leaves))

    def with_arrays(self, arrays: Sequence[Any]) -> Any:
        """Return the tree with other arrays."""
        import jax

        filled = list(self.leaves)
        for place, array in zip(self.places, arrays, strict=True):
            filled[place] = array
        return jax.tree_util.tree_unflatten(self.structure, filled)


class Traces:
    """The jaxprs of one function by the kinds of its operands; an exception in place of one that cannot be traced because the shapes are wrong.

    needs_values   function that returns True for an exception with which a function refuses to be traced
    """

    def __init__(self, needs_values: Callable[[Exception], bool]) -> None:
        self._needs_values = needs_values
        self._found: dict[Any, _Program | Refusal | None] = {}
        self._seen: set[Any] = set()

    def call(self, function: Callable[[Any], Any], name: str, tree: Any) -> Any:
        """Return the output of a function for a tree of operands.

        function   a function without side effects: it is not called where a jaxpr of it is evaluated
        name       name that tells it apart from the others with jaxprs here
        """
        import jax

        operands = Operands.of(tree)
        arrays = operands.arrays
        if not is_traced() or any(isinstance(each, jax.core.Tracer) for each in arrays):
            return function(tree)
        key = (name, operands.kind, settings())
        try:
            if key not in self._found and key not in self._seen:
                self._seen.add(key)
                return function(tree)
        except TypeError:  # an operand without a hash
            return function(tree)
        if key not in self._found:
            self._found[key] = _traced(function, operands, self._needs_values)
        program = self._found[key]
        if isinstance(program, Refusal):
            program.repeat()
        if program is not None:
            try:
                return program.run(arrays)
            except Exception:  # an operation without a rule for these numbers
                self._found[key] = None
        return function(tree)


@dataclass(frozen=True)
class Refusal:
    """An exception that only the kinds of the operands cause."""

    error: Exception
    traceback: TracebackType | None

    def repeat(self) -> NoReturn:
        """Raise the exception again, where it was raised first."""
        raise self.error.with_traceback(self.traceback)


@dataclass(frozen=True)
class _Step:
    """One operation: its rule, its parameters, and the places of its operands and outputs in the list of all values."""

    rule: Rule
    params: Mapping[str, Any]
    operands: Sequence[int]
    outputs: Sequence[int]


@dataclass(frozen=True)
class _Program:
    """A jaxpr as steps.

    values     constants in their places, and None in those of operands and of outputs of steps
    operands, outputs   places of the operands and of the outputs
    is_weak    the weak types of the outputs
    structure  tree of the outputs
    """

    values: Sequence[Array | None]
    operands: Sequence[int]
    steps: Sequence[_Step]
    outputs: Sequence[int]
    is_weak: Sequence[bool]
    structure: Any

    def run(self, arrays: Sequence[Any]) -> Any:
        """Return the output for operands of JAX."""
        import jax

        values: list[Any] = list(self.values)
        for place, array in zip(self.operands, arrays, strict=True):
            values[place] = numpy.asarray(array)
        with numpy.errstate(all="ignore"):
            for step in self.steps:
                found = step.rule(*[values[place] for place in step.operands], **step.params)
                for place, output in zip(step.outputs, found if isinstance(found, list) else [found], strict=True):
                    values[place] = output
        outputs = [to_jax(values[place], is_weak) for place, is_weak in zip(self.outputs, self.is_weak, strict=True)]
        return jax.tree_util.tree_unflatten(self.structure, outputs)


def _traced(function: Callable[[Any], Any], operands: Operands, needs_values: Callable[[Exception], bool]) -> _Program | Refusal | None:
    """Return a function as steps, or None if it cannot be traced or has an operation without a rule."""
    import jax

    def run(*arrays: Any) -> Any:
        return function(operands.with_arrays(arrays))

    try:
        closed, shapes = jax.make_jaxpr(run, return_shape=True)(*operands.arrays)
    except (jax.errors.JAXTypeError, jax.errors.JAXIndexError, jax.errors.UnexpectedTracerError):  # a branch on a value
        return None
    except Exception as error:
        return None if needs_values(error) else Refusal(error, error.__traceback__)
    try:
        return _Writer().program(closed, jax.tree_util.tree_structure(shapes))
    except NoRuleError:
        return None


class _Writer:
    """Writes a jaxpr as steps, those of inner jaxprs in their places."""

    def __init__(self) -> None:
        self.values: list[Array | None] = []
        self.steps: list[_Step] = []

    def program(self, closed: Any, structure: Any) -> _Program:
        operands = [self._place() for _ in closed.jaxpr.invars]
        outputs = self._written(closed.jaxpr, closed.consts, operands)
        is_weak = [bool(getattr(each, "weak_type", False)) for each in closed.out_avals]
        return _Program(self.values, operands, self.steps, outputs, is_weak, structure)

    def _place(self, value: Any = None, dtype: Any = None) -> int:
        self.values.append(None if value is None else numpy.asarray(value, dtype))
        return len(self.values) - 1

    def _written(self, jaxpr: Any, consts: Sequence[Any], operands: Sequence[int]) -> list[int]:
        """Add the steps of a jaxpr and return the places of its outputs.

        Errors   NoRuleError for an operation without a rule
        """
        place_of = dict(zip(jaxpr.invars, operands, strict=True))
        place_of |= {each: self._place(value) for each, value in zip(jaxpr.constvars, consts, strict=True)}

        def place(each: Any) -> int:
            return self._place(each.val, each.aval.dtype) if hasattr(each, "val") else place_of[each]

        for equation in jaxpr.eqns:
            name, given = equation.primitive.name, [place(each) for each in equation.invars]
            if name in INLINED:
                inner = equation.params[INLINED[name]]
                outputs = self._written(getattr(inner, "jaxpr", inner), getattr(inner, "consts", ()), given)
            elif name == "stop_gradient":
                outputs = given
            elif name in RULES:
                outputs = [self._place() for _ in equation.outvars]
                params = {key: value for key, value in equation.params.items() if value is not None and key not in WITHOUT_EFFECT}
                params.pop("weak_type", None)
                self.steps.append(_Step(RULES[name], params, given, outputs))
            else:
                raise NoRuleError
            place_of |= dict(zip(equation.outvars, outputs, strict=True))
        return [place(each) for each in jaxpr.outvars]
