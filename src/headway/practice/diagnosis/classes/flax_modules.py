"""Modules of Flax as classes whose instances hold their weights.

`flax.linen` keeps the weights of a module apart from it, in a tree that `init` makes for the first input and that `apply` takes. The rest
of the diagnosis reads and writes the arrays of an instance; here a module gets a class around it whose instances hold the tree.
"""

from __future__ import annotations

import inspect
import itertools
import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cache, partial
from types import ModuleType
from typing import Any, cast

from headway.practice.diagnosis.calls.binding import MODES
from headway.practice.diagnosis.calls.calling import ONLY_LIBRARY
from headway.practice.diagnosis.calls.jax_on_numpy import is_on_numpy, jax_on_numpy
from headway.practice.diagnosis.calls.quick_draws import quick_draws
from headway.practice.diagnosis.calls.replacing import replaced
from headway.practice.diagnosis.calls.traced import RECORDER, Operands, Refusal, Traces, is_traced, settings
from headway.practice.diagnosis.reading.subject import Subject, subjects_of

EVALUATING = {name: mode.neutral for mode in MODES for name in (mode.name, *mode.called)}
"""Fields and parameters that choose between training and evaluation, with their values for evaluation."""

OWN_FIELDS = ("parent", "name")
"""Fields that every module has."""

WEIGHTS = {"kernel": "weight", "scale": "weight", "embedding": "weight"}
"""Names of arrays in Flax, and those of the same arrays in PyTorch."""

OF_LIST = r"([a-z]\w*)([_.])(\d+)"
"""Pattern of the name of a module in a list: `heads_0`, or `heads.0` as in PyTorch."""


def subjects_in(module: ModuleType, text: str) -> list[Subject]:
    """Return the functions and classes of a file, with a class whose instances hold their weights around each module of Flax."""
    return [with_weights(each) for each in subjects_of(module, text)]


def with_weights(subject: Subject) -> Subject:
    """Return a subject with a class around its module of Flax; any other subject as it is."""
    return replace(subject, value=_holder(subject.value)) if _is_module(subject.value) else subject


def _is_module(value: Any) -> bool:
    linen = sys.modules.get("flax.linen")
    return linen is not None and inspect.isclass(value) and issubclass(value, linen.Module)


@dataclass
class _Known:
    """Results that instances with equal fields share.

    fields     the fields, kept so that no other object gets the address that their text may name
    traces     jaxprs of their calls
    refusals   exceptions with which they refuse operands, by the kinds of the operands
    """

    fields: Any
    traces: Traces = field(default_factory=lambda: Traces(_draws))
    refusals: dict[str, Refusal] = field(default_factory=dict)


class FlaxHolder:
    """A module with its weights, which get their shapes from the first input; until then `params` is None.

    parts   callables in place of modules inside it, by their names
    written   the module as it is in the learner's file
    known   what the calls of instances with equal fields have shown, by the text of the fields
    is_recorded   True if the module's code notes its values, so that it has to run each time
    """

    written: Any
    known: dict[str, _Known]
    is_recorded: bool

    def __init__(self, *fields: Any, **named: Any) -> None:
        self._known = self.known.setdefault(repr((fields, named)), _Known((fields, named)))
        self._run = partial(_run, self._made(*fields, **named), None if self.is_recorded else self._known.traces)
        self._closed: Callable[[Any], Any] = _unchanged
        self._others: Mapping[str, Any] = {}
        self._replacement: Replacement | None = None
        self.params: dict[str, Any] | None = None
        self.parts: dict[str, Any] = {}

    def replace_parts(self, made: Replacement, check: Callable[[dict[str, Any]], None]) -> None:
        """Call others in the places of modules inside this one; `check` gets the parts that were replaced in the first call, by their names."""
        self._replacement, self._check = made, check

    def _made(self, *fields: Any, **named: Any) -> Any:
        raise NotImplementedError

    def _call(self, method: str, *operands: Any, **named: Any) -> Any:
        intercept = None if self._replacement is None else self._intercept
        if self.params is None:
            replaced: dict[str, Any] = {}
            run = partial(self._run, "init", method, intercept and partial(intercept, replaced), {}, *operands, **named)
            tree = dict(run() if intercept is not None else self._initialized(run, (method, operands, named)))
            if intercept is not None:
                self._check(replaced)
            params = tree.pop("params", {})
            self._closed, self._others, self.params = partial(_closed, params), tree, _opened(params)
        variables = {**self._others, "params": self._closed(self.params)}
        return self._run("apply", method, intercept and partial(intercept, {}), variables, *operands, **named)

    def _initialized(self, run: Callable[[], Any], given: Any) -> Any:
        """Return the weights that a module makes for operands; one that refuses their shapes is not run again for others of these shapes."""
        key, refusals = repr((Operands.of(given).kind, settings())), self._known.refusals
        if key in refusals and is_traced():
            refusals[key].repeat()
        try:
            return run()
        except (TypeError, ValueError) as error:
            if is_traced():
                refusals[key] = Refusal(error, error.__traceback__)
            raise

    def _intercept(self, replaced: dict[str, Any], proceed: Callable[..., Any], operands: Any, named: Any, context: Any) -> Any:
        """Call what is in the place of a module, or the module itself."""
        module, name = context.module, ".".join(context.module.path)
        if not name or context.method_name != "__call__" or self._replacement is None:
            return proceed(*operands, **named)
        if name not in self.parts:
            part = self._replacement(module.path[-1], module)
            if part is None:
                return proceed(*operands, **named)
            self.parts[name] = part
        replaced[name] = module
        return self.parts[name](*operands, **named)


Replacement = Callable[[str, Any], Any]
"""A function that returns what is called in the place of a module of this name, or None to keep the module."""


def _holder(module: Any) -> type[FlaxHolder]:
    """Return the class of instances of a module with their weights."""
    fields = _parameters(module)
    methods = {name: _method(name, each) for name, each in vars(module).items() if inspect.isfunction(each) and _is_called(name)}
    of_calls = {name for each in methods.values() for name in each.flags}
    flags = {name: value for name, value in _flags(fields).items() if name not in of_calls}

    def made(self: FlaxHolder, *given: Any, **named: Any) -> Any:
        return module(*given, **{**flags, **named})

    contents: dict[str, Any] = {
        "_made": made,
        "written": module,
        "known": {},
        "is_recorded": _is_recorded(module),
        ONLY_LIBRARY: "jax",
        "__module__": module.__module__,
        "__doc__": module.__doc__,
        **methods,
    }
    if flags or of_calls:
        contents["eval"] = _unchanged
    holder: Any = type(module.__name__, (FlaxHolder,), contents)
    holder.__signature__ = inspect.Signature([each for each in fields if each.name not in EVALUATING])
    return holder


def _parameters(module: Any) -> list[inspect.Parameter]:
    return [each for each in inspect.signature(module).parameters.values() if each.name not in OWN_FIELDS]


def _flags(parameters: list[inspect.Parameter]) -> dict[str, bool]:
    return {each.name: EVALUATING[each.name] for each in parameters if each.name in EVALUATING}


def _is_called(name: str) -> bool:
    return name == "__call__" or not (name.startswith("_") or name == "setup")


def _method(name: str, function: Callable[..., Any]) -> Any:
    """Return a method of a holder that runs a method of its module in evaluation."""
    parameters = list(inspect.signature(function).parameters.values())
    flags = _flags(parameters)

    def call(self: FlaxHolder, *operands: Any, **named: Any) -> Any:
        return self._call(name, *operands, **{**flags, **named})

    changed: Any = call
    changed.__signature__ = inspect.Signature([each for each in parameters if each.name not in flags])
    changed.flags = tuple(flags)
    return changed


def _is_recorded(module: Any) -> bool:
    functions = [inspect.unwrap(each) for each in vars(module).values() if inspect.isfunction(each)]
    return any(RECORDER in getattr(each, "__globals__", {}) for each in functions)


def _draws(error: Exception) -> bool:
    """Return True for the exception of a module that draws random numbers without a key."""
    return type(error).__name__ == "InvalidRngError"


def _run(module: Any, traces: Traces | None, action: str, method: str, intercept: Any, variables: Any, *operands: Any, **named: Any) -> Any:
    """Initialize a module with operands, or apply it to them; random numbers are passed only if it draws some, because Flax checks them slowly.

    traces   jaxprs of the module's calls; None if its program must run
    """
    import jax
    from flax import linen
    from flax.errors import InvalidRngError

    with nullcontext() if intercept is None else linen.intercept_methods(intercept), _shapes_kept():
        if action == "init":
            # the initial values are drawn with dozens of primitives, which JAX would compile for each shape
            with jax_on_numpy(), _one_key(), quick_draws():
                made = linen.Module.init(module, {"params": _key(), "dropout": _key()}, *operands, method=method, **named)
                return _unboxed(made)

        def applied(given: tuple[Any, ...]) -> Any:
            weights, positional, keywords = given
            try:
                return linen.Module.apply(module, weights, *positional, method=method, **keywords)
            except InvalidRngError:
                if any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree_util.tree_leaves((weights, positional))):
                    raise  # a jaxpr would drop the same numbers each time
                return linen.Module.apply(module, weights, *positional, method=method, rngs={"dropout": next(_DRAWS)}, **keywords)

        given = (variables, operands, named)
        is_traced = traces is not None and intercept is None and is_on_numpy()
        return traces.call(applied, method, given) if traces is not None and is_traced else _compiled_once(applied, given)


def _unboxed(tree: Any) -> Any:
    """Return variables in their order, with the arrays in place of those that say how they are partitioned among devices."""
    if isinstance(tree, dict):
        return {name: _unboxed(each) for name, each in tree.items()}
    return tree.unbox() if hasattr(tree, "unbox") else tree


def random_key(name: str) -> Any:
    """Return a value for a parameter that takes a random key, or the random numbers of `flax.nnx`: `rngs`."""
    return sys.modules["flax.nnx"].Rngs(0) if name.endswith("rngs") and "flax.nnx" in sys.modules else _key()


DRAWN_BY_JAX = r"\bjax\.random\.|\b(jr|jrandom)\.\w+\("
"""Pattern of the source of a function that draws random numbers by JAX."""

RANDOM_KEYS = r"(\w*_)?(keys?|rngs?)"
"""Pattern of the names of parameters that take random numbers in JAX."""


def random_keys(parameters: Sequence[inspect.Parameter], subject: Subject) -> dict[str, Any]:
    """Return the parameters of a module of JAX, or of a function of trees that draws by JAX, that take random numbers, with values.

    They are required ones, and `rngs: nnx.Rngs = None`, without which a layer of nnx cannot be made.
    """
    is_module = any(base.__module__.partition(".")[0] in ("equinox", "flax") for base in inspect.getmro(cast(type, subject.value)))
    if not (is_module or re.search(DRAWN_BY_JAX, subject.used_source)):
        return {}
    needed = [each.name for each in parameters if each.default is each.empty or (each.default is None and "Rngs" in str(each.annotation))]
    return {name: random_key(name) for name in needed if re.fullmatch(RANDOM_KEYS, name)}


def _one_key() -> AbstractContextManager[None]:
    """Draw all initial values with one key: Flax takes as long to derive one for each of them as to draw."""
    return replaced(sys.modules["flax.core.scope"], {"_fold_in_static": lambda key, data: key})


_SHAPES: dict[Any, Any] = {}
"""Shapes of parameters by the names and the arguments of their initializers."""


def _shapes_kept() -> AbstractContextManager[None]:
    """Keep the shapes of parameters: Flax traces the initializer of each parameter in each call to check its shape, half of the time of a call."""
    import jax

    own = jax.eval_shape

    def eval_shape(function: Any, *operands: Any, **named: Any) -> Any:
        code = getattr(function, "__code__", None)
        held = (
            dict(zip(code.co_freevars, function.__closure__ or (), strict=True)) if code is not None and not operands and not named else {}
        )
        if not {"init_fn", "init_args", "init_kwargs"} <= set(held):
            return own(function, *operands, **named)
        initializer, given, others = (held[name].cell_contents for name in ("init_fn", "init_args", "init_kwargs"))
        key = getattr(initializer, "__module__", ""), getattr(initializer, "__qualname__", ""), str(given)
        if others or not given or not key[0].startswith(("jax", "flax")):  # an initializer of the learner's may be changed
            return own(function)
        if key not in _SHAPES:
            _SHAPES[key] = own(function)
        return _SHAPES[key]

    return replaced(jax, {"eval_shape": eval_shape})


@cache
def _key() -> Any:
    import jax

    return jax.random.PRNGKey(0)


def _keys() -> Iterator[Any]:
    import jax

    yield from map(jax.random.PRNGKey, itertools.count(1))


_DRAWS = _keys()
"""A key for each call that drops something, so that a dropout in evaluation differs from call to call."""


def _compiled_once(function: Callable[[Any], Any], tree: Any) -> Any:
    """Return the output of a function for a tree, compiled as a whole: JAX compiles each primitive of a function that is not, in seconds."""
    import jax

    operands = Operands.of(tree)

    def run(arrays: list[Any]) -> Any:
        return function(operands.with_arrays(arrays))

    try:
        return jax.jit(run)(operands.arrays)
    except jax.errors.JAXTypeError:  # a branch on a value, or a conversion to NumPy
        return run(operands.arrays)


def _unchanged(value: Any) -> Any:
    return value


class _Weights(dict[str, Any]):
    """Weights that keep their shapes, as parameters of PyTorch do: another order of them is refused before it changes an instance for good."""

    def __setitem__(self, key: str, value: Any) -> None:
        own = self.get(key)
        if not isinstance(own, dict | None) and own.shape != value.shape:
            raise ValueError(f"got a weight of shape {value.shape}, expected {own.shape}")
        super().__setitem__(key, value)


def _opened(tree: Mapping[str, Any], owner: str = "") -> dict[str, Any]:
    """Return a tree of weights with the names of PyTorch, lists as dicts by place, and matrices with two axes.

    owner   name of the module whose weights they are
    """
    opened = _Weights()
    for name, each in tree.items():
        holder, key = opened, WEIGHTS.get(name, name)
        if (place := _place(name, tree)) is not None:
            holder, key = opened.setdefault(place[0], {}), place[1]
        if isinstance(each, Mapping):
            holder[key] = _opened(each, name)
        else:
            holder[key] = each.reshape(_flat_shape(name, each.shape, tree, owner))
    return opened


def _closed(tree: Mapping[str, Any], opened: Mapping[str, Any]) -> dict[str, Any]:
    """Return the weights of an opened tree in the form of the tree that it was made from."""
    closed = {}
    for name, each in tree.items():
        place = _place(name, tree)
        value = opened[WEIGHTS.get(name, name)] if place is None else opened[place[0]][place[1]]
        closed[name] = _closed(each, value) if isinstance(each, Mapping) else value.reshape(each.shape)
    return closed


def _place(name: str, tree: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the list that a module is in, and its place; None for one that is in no list."""
    match = re.fullmatch(OF_LIST, name)
    return (match[1], match[3]) if match is not None and f"{match[1]}{match[2]}0" in tree and match[1] not in tree else None


OF_OUTPUT = r"out|(^|_)o(_|$)|wo|c_?proj"
"""Pattern of the name of a layer whose inputs have an axis for the heads."""


def _flat_shape(name: str, shape: tuple[int, ...], tree: Mapping[str, Any], owner: str) -> tuple[int, ...]:
    """Return the shape of a layer's array with its input axes as one, and its output axes as one: of (width, heads, head_dim)."""
    if name == "bias" and "kernel" in tree:
        return (-1,)
    if name != "kernel" or len(shape) < 3:
        return shape
    is_output = re.search(OF_OUTPUT, owner.lower()) is not None
    num_outputs = len(tree["bias"].shape) if "bias" in tree else 1 if is_output else len(shape) - 1
    return (-1, math.prod(shape[len(shape) - num_outputs :]))
