"""Functions that sample a token. Their probabilities are read from calls to the random generators instead of estimated.

While the function runs, the generators' sampling functions are replaced by ones that record the weights and return the i-th
choice; one run per choice shows which token each weight belongs to. A function that draws a uniform number is given numbers from a
grid, and the numbers at which its token changes are found by bisection. If further numbers decide the token too, each of them is
tried in the same way after one of those that lead to it.
"""

from __future__ import annotations

import importlib
import random
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy

from headway.arrays import from_numpy, to_numpy
from headway.practice.diagnosis.adapters.model_modules import as_modules, needs_module
from headway.practice.diagnosis.calls.calling import Call
from headway.practice.exercise import Inputs
from headway.practice.message import Message, OutputError
from headway.practice.outputs import Raised
from headway.practice.texts import Texts

TEXTS = Texts("diagnosis")

GRID, HALVINGS = 24, 24
"""Number of intervals of [0, 1) that are tested, and number of bisection steps for each interval with a change."""

MOST_NUMBERS = 16
"""Number of uniform draws of one token that are followed; the rest of the probability is left out."""

OTHER_NUMBERS = (0.01, 0.99)
"""Numbers that show by another token that a later draw matters."""

LEAST_POWER = -40.0
"""Power of 2 of the smallest probability that a race of exponential numbers shows, relative to the largest."""

LATEST = 8.0
"""Exponential number of the tokens that lose a race, from which a uniform number of float32 is made with little rounding."""

DRAWING = r"\b(multinomial|categorical|choices?|random|rand(_like)?|uniform_?|gumbel) *\("
"""Pattern of the code of a function that draws a token: it returns none of the probabilities themselves."""

NOISE = numpy.random.default_rng(0)
GENERATORS = (numpy.random.Generator, numpy.random.RandomState, random.Random)

DRAWS = TEXTS["draws"]

NOT_A_TOKEN = TEXTS["not_a_token"]


def _logits(inputs: Inputs) -> Any:
    """Return the logits of the inputs, of sequences those of the last positions, of a dict its values, or those of their model."""
    logits = inputs["logits"] if "logits" in inputs else inputs["model"].logits
    if isinstance(logits, dict):
        return numpy.array(list(logits.values()))
    return logits[:, -1] if logits.ndim == 3 else logits


@dataclass
class Spy:
    """A record of what one run requests from the generators, and the values to return.

    choice    index of the choice to return; None for the most likely one
    number    value to return in place of a uniform number
    earlier   values to return before it
    later     value to return after it; None for `number` again
    is_last   True to end the run at the next uniform draw
    weights   the weights of each draw
    numbers   number of uniform draws
    times     exponential numbers to return, one per token; None for ones
    races     number of exponential draws
    """

    choice: int | None = 0
    number: float = 0.5
    earlier: tuple[float, ...] = ()
    later: float | None = None
    is_last: bool = False
    weights: list[numpy.ndarray] = field(default_factory=list)
    numbers: int = 0
    times: numpy.ndarray | None = None
    races: int = 0

    def exponential(self, size: int) -> numpy.ndarray:
        """Return the exponential numbers of one row: the token with the largest probability per time wins."""
        self.races += 1
        return numpy.ones(size) if self.times is None or len(self.times) != size else self.times

    def draw(self, weights: Any) -> Any:
        """Record the weights and return the index of the choice; an array of indices for the most likely choice of several rows."""
        weights = numpy.asarray(weights, numpy.float64)
        self.weights.append(weights)
        return weights.argmax(-1) if self.choice is None else min(self.choice, weights.shape[-1] - 1)

    def uniform(self, low: float = 0.0, high: float = 1.0, size: Any = None) -> Any:
        """Return the number, or an array filled with it."""
        is_after = self.numbers > len(self.earlier)
        if is_after and self.is_last:
            raise NextDrawError
        drawn = self.later if is_after and self.later is not None else (*self.earlier, self.number)[min(self.numbers, len(self.earlier))]
        number = low + (high - low) * drawn
        self.numbers += 1
        return number if size is None else numpy.full(size, number)

    def uniforms(self, low: float, high: float, size: Any) -> Any:
        """Return one number, or one for each token: those with which Gumbel noise is that of the exponential numbers."""
        shape = _shape(size)
        if not shape or shape[-1] == 1:
            return self.uniform(low, high, size)
        return low + (high - low) * numpy.exp(-LATEST * numpy.broadcast_to(self.exponential(shape[-1]), shape))

    def gumbel(self, size: Any) -> Any:
        """Return Gumbel noise for each token."""
        shape = _shape(size)
        return -numpy.log(LATEST * numpy.broadcast_to(self.exponential(shape[-1] if shape else 1), shape))


def _shape(size: Any) -> tuple[int, ...]:
    """Return the shape that a size of random numbers means: nothing, a number, or a shape."""
    return () if size is None else tuple(numpy.atleast_1d(size).tolist())


class Generator:
    """Replacement for a generator of NumPy or Python."""

    def __init__(self, spy: Spy) -> None:
        self.spy = spy

    def __getattr__(self, name: str) -> Any:
        return getattr(NOISE, name)  # draws that do not decide the token, such as discarded noise

    def choice(self, a: Any, size: Any = None, replace: bool = True, p: Any = None, **rest: Any) -> Any:
        """Act like numpy.random.choice, which rejects weights that do not sum to 1."""
        items = numpy.arange(a) if numpy.ndim(a) == 0 else numpy.asarray(a)
        weights = numpy.full(len(items), 1 / len(items)) if p is None else numpy.asarray(p)
        _check_sum(weights, len(items))
        chosen = items[self.spy.draw(weights)]
        return chosen if size is None else numpy.full(size, chosen)

    def multinomial(self, n: int, pvals: Any, size: Any = None) -> Any:
        """Act like numpy.random.multinomial for one draw: a one at the choice."""
        weights = numpy.asarray(pvals, numpy.float64)
        thrown = n * (numpy.arange(weights.shape[-1]) == numpy.asarray(self.spy.draw(weights))[..., None])
        return thrown if size is None else numpy.broadcast_to(thrown, (*numpy.atleast_1d(size), *thrown.shape))

    def random(self, size: Any = None) -> Any:
        """Return a number from [0, 1)."""
        return self.spy.uniforms(0.0, 1.0, size)

    def rand(self, *size: int) -> Any:
        """Act like numpy.random.rand."""
        return self.spy.uniforms(0.0, 1.0, size or None)

    def uniform(self, low: float = 0.0, high: float = 1.0, size: Any = None) -> Any:
        """Return a number from [low, high)."""
        return self.spy.uniforms(low, high, size)

    def gumbel(self, loc: float = 0.0, scale: float = 1.0, size: Any = None) -> Any:
        """Return Gumbel noise."""
        return loc + scale * self.spy.gumbel(size)

    def choices(self, population: Any, weights: Any = None, *, cum_weights: Any = None, k: int = 1) -> list[Any]:
        """Act like random.choices."""
        given = (
            numpy.diff(cum_weights, prepend=0) if cum_weights is not None else numpy.ones(len(population)) if weights is None else weights
        )
        given = numpy.asarray([float(weight) for weight in given])
        return [population[self.spy.draw(given / given.sum())]] * k


class NextDrawError(Exception):
    """The end of a run that draws another uniform number."""


class NotANumberError(ValueError, ArithmeticError):
    """Weights that contain NaN, as after a division by 0."""


def _check_sum(weights: numpy.ndarray, size: int) -> None:
    precision = numpy.finfo(weights.dtype).eps ** 0.5 if weights.dtype.kind == "f" else 1.5e-8
    if weights.shape != (size,):
        raise ValueError("a and p must have same size")
    if numpy.isnan(weights).any():
        raise NotANumberError("probabilities contain NaN")
    if (weights < 0).any():
        raise ValueError("probabilities are not non-negative")
    if abs(float(weights.sum()) - 1) > precision:
        raise ValueError("probabilities do not sum to 1")


@dataclass
class DrawnCall(Call):
    """A function that may sample its output; the output is then the probability of each token."""

    has_drawn: set[bool] = field(default_factory=set)
    spy: Spy = field(default_factory=Spy)

    def __call__(self, inputs: Inputs) -> Any:
        """Return the probabilities if the function samples, else its own output."""
        first = self._run(inputs, Spy())
        if isinstance(first, Raised):
            return first
        if not (self.spy.weights or self.spy.numbers or self.spy.races):
            is_token = not (isinstance(first, numpy.ndarray) and first.dtype.kind == "f")
            return first if is_token or re.search(DRAWING, self.subject.code) is None else Raised(OutputError(NOT_A_TOKEN))
        self.has_drawn.add(True)
        if self.spy.weights:
            return self._by_weights(inputs, first)
        return self._by_races(inputs, first) if self.spy.races else self._by_numbers(inputs)

    @property
    def notes(self) -> tuple[Message, ...]:
        """Return a note if the function samples."""
        return (*super().notes, *([DRAWS] if self.has_drawn else []))

    def invoke(self, arguments: Mapping[str, Any]) -> Any:
        """Call the function, with a generator and with a module as the model if it takes them."""
        given = as_modules(arguments) if needs_module(self.subject, self.library) else arguments
        return super().invoke(_with_generators(self, given, self.spy))

    def _run(self, inputs: Inputs, spy: Spy) -> Any:
        self.spy = spy
        with replaced_generators(spy, getattr(self.subject.value, "__globals__", {})):
            return super().__call__(inputs)

    def _by_weights(self, inputs: Inputs, first: Any) -> Any:
        shape = _logits(inputs).shape
        weights = numpy.concatenate([numpy.atleast_2d(each) for each in self.spy.weights])
        if len(weights) != max(int(numpy.prod(shape[:-1])), 1):
            return Raised(OutputError(TEXTS["several_draws"].format(num_draws=len(weights), shape=shape[:-1])))
        answer = numpy.zeros((len(weights), shape[-1]))
        for choice in range(weights.shape[1]):
            drawn = first if choice == 0 else self._run(inputs, Spy(choice))
            tokens = _tokens(drawn, len(weights))
            if tokens is None or not ((tokens >= 0) & (tokens < answer.shape[1])).all():
                return drawn if isinstance(drawn, Raised) else Raised(OutputError(NOT_A_TOKEN))
            answer[numpy.arange(len(answer)), tokens] += weights[:, choice] / weights.sum(1)
        return answer.reshape(shape)

    def _by_races(self, inputs: Inputs, first: Any) -> Any:
        """Return the probabilities relative to the largest of each row: the times at which each token ties with the likeliest one."""
        logits = _logits(inputs)
        size, num_rows = logits.shape[-1], max(int(numpy.prod(logits.shape[:-1])), 1)
        tokens = _tokens(first, num_rows)
        if tokens is None or not ((tokens >= 0) & (tokens < size)).all():
            return Raised(OutputError(NOT_A_TOKEN))

        def wins(row: int, token: int, power: float) -> bool:
            times = numpy.where(numpy.arange(size) == token, 2.0**power, 1.0)
            drawn = _tokens(self._run(inputs, Spy(times=times)), num_rows)
            return drawn is not None and drawn[row] == token

        answer = numpy.zeros((num_rows, size))
        for row, token in numpy.ndindex(num_rows, size):
            low, high = LEAST_POWER, 0.0
            if token == tokens[row]:
                answer[row, token] = 1.0
            elif wins(row, token, low):
                for _ in range(HALVINGS + 6):
                    middle = (low + high) / 2
                    low, high = (middle, high) if wins(row, token, middle) else (low, middle)
                answer[row, token] = 2.0**low
        is_decided = numpy.any(inputs.get("temperature") == 0) and bool(((answer > 0).sum(-1) == 1).all())
        if is_decided and (tokens != logits.reshape(num_rows, size).argmax(-1)).any():  # it divides by 0, and no draw changes the token
            answer[:] = numpy.nan
        return (answer / answer.sum(-1, keepdims=True)).astype(numpy.float32).reshape(logits.shape)

    def _by_numbers(self, inputs: Inputs) -> Any:
        logits = _logits(inputs)
        if logits.ndim != 1:
            return Raised(OutputError(NOT_A_TOKEN))
        size = logits.shape[-1]
        intervals = self._intervals(inputs, size)
        if intervals is None:
            return Raised(OutputError(NOT_A_TOKEN))
        answer = self._by_several(inputs, size) if self._later_matter(inputs, intervals, size) else _lengths(intervals, size)
        return Raised(OutputError(NOT_A_TOKEN)) if answer is None else (answer / answer.sum()).astype(numpy.float32)

    def _token(self, inputs: Inputs, spy: Spy, size: int) -> int | None:
        """Return the token of one run, ANOTHER_DRAW if the run ended before, and None for any other output."""
        drawn = self._run(inputs, spy)
        if isinstance(drawn, Raised) and isinstance(drawn.error, NextDrawError):
            return ANOTHER_DRAW
        tokens = _tokens(drawn, 1)
        return None if tokens is None or not 0 <= tokens[0] < size else int(tokens[0])

    def _intervals(self, inputs: Inputs, size: int, earlier: tuple[float, ...] = (), *, is_last: bool = False) -> list[Interval] | None:
        """Return the intervals of a uniform number after earlier ones with the token of each, or None if any output is no token."""

        def token_at(number: float) -> int | None:
            return self._token(inputs, Spy(number=number, earlier=earlier, is_last=is_last), size)

        grid = (numpy.arange(GRID + 1) / GRID * (1 - 1e-9)).tolist()
        tokens = [token_at(number) for number in grid]
        found: list[Interval] = []
        for low, high, before, after in zip(grid[:-1], grid[1:], tokens[:-1], tokens[1:], strict=True):
            if before is None or after is None:
                return None
            found += _split_interval(low, high, before, after, token_at)
        return found

    def _later_matter(self, inputs: Inputs, intervals: Sequence[Interval], size: int) -> bool:
        """Return True if the token depends on another number than the first that is drawn."""
        middles = {token: (low + high) / 2 for low, high, token in intervals}
        return any(
            self._token(inputs, Spy(number=middle, later=later), size) != token
            for token, middle in middles.items()
            for later in OTHER_NUMBERS
        )

    def _by_several(self, inputs: Inputs, size: int, earlier: tuple[float, ...] = ()) -> numpy.ndarray | None:
        """Return the probabilities of the tokens after some draws, each of which may decide the token or lead to another draw."""
        intervals = self._intervals(inputs, size, earlier, is_last=True)
        if intervals is None:
            return None
        answer = _lengths(intervals, size)
        further = [(high - low, (low + high) / 2) for low, high, token in intervals if token == ANOTHER_DRAW]
        if further and len(earlier) < MOST_NUMBERS:
            after = self._by_several(inputs, size, (*earlier, max(further)[1]))
            return None if after is None else answer + sum(length for length, _ in further) * after
        return answer


ANOTHER_DRAW = -1
"""In place of the token where a run draws another number."""

Interval = tuple[float, float, int]
"""An interval of uniform numbers that lead to the same token."""


def _lengths(intervals: Sequence[Interval], size: int) -> numpy.ndarray:
    """Return the total length of the intervals of each token."""
    answer = numpy.zeros(size)
    for low, high, token in intervals:
        if token != ANOTHER_DRAW:
            answer[token] += high - low
    return answer


def _with_generators(call: Call, arguments: Mapping[str, Any], spy: Spy) -> dict[str, Any]:
    """Return the arguments with a generator, a key or a seed for each parameter for one."""
    return {
        name: _generator(name, call.library, spy) if call.binding.role_of[name].name == "rng" else value
        for name, value in arguments.items()
    }


def _generator(name: str, library: str, spy: Spy) -> Any:
    if "seed" in name:
        return 0
    if library == "torch":
        return importlib.import_module("torch").Generator()
    return importlib.import_module("jax").random.PRNGKey(0) if library == "jax" else Generator(spy)


@dataclass
class LikeliestCall(Call):
    """A function that may sample and gets the most likely choice of every draw; uniform numbers stay random.

    weights   the weights of each draw of the last call
    """

    weights: list[numpy.ndarray] = field(default_factory=list)

    def invoke(self, arguments: Mapping[str, Any]) -> Any:
        """Call the function with the generators' functions replaced."""
        spy = Spy(choice=None)
        self.weights = spy.weights
        with replaced_generators(spy, getattr(self.subject.value, "__globals__", {})):
            return super().invoke(_with_generators(self, arguments, spy))


def _split_interval(low: float, high: float, before: int, after: int, token_at: Callable[[float], int | None]) -> list[Interval]:
    """Split an interval at the numbers where the token changes; changes that no bisection step separates are missed."""
    if before == after:
        return [(low, high, before)]
    if high - low < 2.0**-HALVINGS:
        return [(low, (low + high) / 2, before), ((low + high) / 2, high, after)]
    middle = (low + high) / 2
    token = token_at(middle)
    if token is None:
        return [(low, high, before)]
    return _split_interval(low, middle, before, token, token_at) + _split_interval(middle, high, token, after, token_at)


def _tokens(drawn: Any, num_rows: int) -> numpy.ndarray | None:
    """Return one token id per row, or None if the output contains anything else."""
    drawn = drawn[0] if isinstance(drawn, tuple) and drawn else drawn
    is_ids = isinstance(drawn, numpy.ndarray) and drawn.dtype.kind in "iu" and drawn.size == num_rows
    return drawn.reshape(-1) if is_ids else None


@contextmanager
def replaced_generators(spy: Spy, names: dict[str, Any]) -> Iterator[None]:
    """Replace the generators' functions in their modules and in the learner's module."""
    generator = Generator(spy)
    patches: list[tuple[Any, str, Any]] = [
        *((numpy.random, name, getattr(generator, name)) for name in ("choice", "multinomial", "random", "rand", "uniform", "gumbel")),
        (numpy.random, "random_sample", generator.random),
        (numpy.random, "default_rng", lambda *seed: generator),
        (numpy.random, "RandomState", lambda *seed: generator),
        (random, "choices", generator.choices),
        (random, "random", generator.random),
        (random, "uniform", generator.uniform),
        *_torch_patches(spy),
        *_jax_and_mlx_patches(spy),
    ]
    before = [(module, name, getattr(module, name)) for module, name, _ in patches]
    replacements = {id(original): patch[2] for (_, _, original), patch in zip(before, patches, strict=True)}
    found = {name: value for name, value in names.items() if id(value) in replacements or isinstance(value, GENERATORS)}
    try:
        for module, name, replacement in patches:
            setattr(module, name, replacement)
        names.update({name: replacements.get(id(value), generator) for name, value in found.items()})
        yield
    finally:
        for module, name, original in before:
            setattr(module, name, original)
        names.update(found)


def _torch_patches(spy: Spy) -> list[tuple[Any, str, Any]]:
    torch = sys.modules.get("torch")
    if torch is None:
        return []
    multinomial, rand = torch.multinomial, torch.rand

    def drawn(input: Any, num_samples: int, replacement: bool = False, **rest: Any) -> Any:
        if bool(input.isnan().any()):
            raise NotANumberError("probabilities contain NaN")
        multinomial(input, num_samples, replacement)  # let PyTorch validate the arguments
        weights = to_numpy(input).astype(numpy.float64)
        choice = spy.draw(weights / weights.sum(-1, keepdims=True))
        return torch.as_tensor(numpy.broadcast_to(numpy.asarray(choice)[..., None], (*input.shape[:-1], num_samples)).copy())

    def number(*size: Any, **rest: Any) -> Any:
        drawn = numpy.asarray(spy.uniforms(0.0, 1.0, tuple(rand(*size).shape)))
        return torch.as_tensor(drawn.copy(), dtype=torch.float64 if rest.get("dtype") is torch.float64 else torch.float32)

    def filled(tensor: Any, low: float = 0.0, high: float = 1.0, **rest: Any) -> Any:
        return tensor.copy_(torch.as_tensor(spy.uniforms(low, high, tuple(tensor.shape))))

    def race(tensor: Any, *rate: Any, **rest: Any) -> Any:
        return tensor.copy_(torch.as_tensor(spy.exponential(tensor.shape[-1])))

    return [
        (torch, "multinomial", drawn),
        (torch.Tensor, "multinomial", drawn),
        (torch, "rand", number),
        (torch, "rand_like", lambda tensor, **rest: number(*tensor.shape, **rest)),
        (torch.Tensor, "uniform_", filled),
        (torch.Tensor, "exponential_", race),
    ]


def _jax_and_mlx_patches(spy: Spy) -> list[tuple[Any, str, Any]]:
    def categorical(library: str, random_module: Any) -> tuple[Any, str, Any]:
        def drawn(*arguments: Any, axis: int = -1, **rest: Any) -> Any:
            logits = to_numpy(arguments[1] if library == "jax" else arguments[0]).astype(numpy.float64)
            powers = numpy.exp(logits - logits.max(axis, keepdims=True))
            choice = spy.draw(numpy.moveaxis(powers / powers.sum(axis, keepdims=True), axis, -1))
            return from_numpy(numpy.broadcast_to(choice, logits.max(axis).shape).astype(numpy.int32), library)

        return random_module, "categorical", drawn

    def gumbel(library: str, random_module: Any) -> tuple[Any, str, Any]:
        def drawn(*arguments: Any, shape: Any = None, **rest: Any) -> Any:
            given = [each for each in arguments if isinstance(each, tuple | list)]
            return from_numpy(numpy.array(spy.gumbel(tuple(given[0] if given else shape or ())), numpy.float32), library)

        return random_module, "gumbel", drawn

    def choice(key: Any, a: Any, shape: Any = (), replace: bool = True, p: Any = None, axis: int = 0) -> Any:
        chosen = numpy.asarray(Generator(spy).choice(to_numpy(a) if hasattr(a, "dtype") else a, p=None if p is None else to_numpy(p)))
        return from_numpy(numpy.broadcast_to(chosen, tuple(numpy.atleast_1d(shape).astype(int))).copy(), "jax")

    def uniform(key: Any, shape: Any = (), dtype: Any = None, minval: float = 0.0, maxval: float = 1.0) -> Any:
        return from_numpy(numpy.array(spy.uniforms(minval, maxval, tuple(shape)), numpy.float32), "jax")

    of_jax = sys.modules.get("jax.random")
    drawn_by_jax = [] if of_jax is None else [(of_jax, "choice", choice), (of_jax, "uniform", uniform)]
    libraries = [
        (library, sys.modules[name]) for library, name in (("jax", "jax.random"), ("mlx", "mlx.core.random")) if name in sys.modules
    ]
    return [*(patch(*each) for each in libraries for patch in (categorical, gumbel)), *drawn_by_jax]
