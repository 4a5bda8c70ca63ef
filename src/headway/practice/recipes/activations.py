"""Activations, softmax and normalization in NumPy, used as correct steps and as mistakes, and the probes for activations."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from headway.practice.exercise import QUIET, Inputs, Probe
from headway.practice.outputs import Raised
from headway.practice.roles import Roles
from headway.practice.texts import Texts

TEXTS = Texts("shared/activations")

_erf = numpy.vectorize(math.erf, otypes=[numpy.float64])


def floating(x: Any) -> Any:
    """Return x as a floating array."""
    x = numpy.asarray(x)
    return x if x.dtype.kind == "f" else x.astype(numpy.float64)


def erf(x: Any) -> Any:
    """Error function."""
    return numpy.asarray(_erf(x))


def sigmoid(x: Any) -> Any:
    """Logistic function 1 / (1 + exp(-x)), without overflow."""
    return 0.5 + 0.5 * numpy.tanh(0.5 * x)


def relu(x: Any) -> Any:
    """ReLU: max(x, 0)."""
    return numpy.maximum(x, 0)


def silu(x: Any) -> Any:
    """SiLU: x · sigmoid(x)."""
    return x * sigmoid(x)


def gelu(x: Any) -> Any:
    """GELU in its exact form: x · Φ(x)."""
    return 0.5 * x * (1 + erf(x / math.sqrt(2)))


def gelu_tanh(x: Any) -> Any:
    """GELU in the tanh form of GPT-2."""
    return 0.5 * x * (1 + numpy.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def rms_normed(x: Any, eps: float) -> Any:
    """Divide by the root mean square of the last axis."""
    return x / numpy.sqrt((x**2).mean(-1, keepdims=True) + eps)


def quick_gelu(x: Any) -> Any:
    """Sigmoid approximation of GELU: x · sigmoid(1.702 x)."""
    return x * sigmoid(1.702 * x)


def softplus(x: Any) -> Any:
    """Softplus: log(1 + exp x)."""
    return numpy.logaddexp(0, x)


def elu(x: Any) -> Any:
    """ELU: x above zero, exp(x) - 1 below."""
    return numpy.where(x > 0, x, numpy.expm1(numpy.minimum(x, 0)))


def hard_swish(x: Any) -> Any:
    """Hard swish: x · min(max(x + 3, 0), 6) / 6."""
    return x * numpy.clip(x + 3, 0, 6) / 6


def mish(x: Any) -> Any:
    """Mish: x · tanh(softplus x)."""
    return x * numpy.tanh(softplus(x))


def softmax(x: Any, axis: int | None = -1) -> Any:
    """Softmax as in most libraries: NaN where everything is masked."""
    powers = numpy.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


def normed(x: Any, *, axis: int | tuple[int, ...] = -1, eps: float = 1e-5, ddof: int = 0) -> Any:
    """Layer norm without weights."""
    return (x - x.mean(axis, keepdims=True)) / numpy.sqrt(x.var(axis, keepdims=True, ddof=ddof) + eps)


def divided_by_deviation(x: Any, *, eps: float, ddof: int = 0) -> Any:
    """Layer norm without weights that divides by the standard deviation plus eps."""
    return (x - x.mean(-1, keepdims=True)) / (x.std(-1, keepdims=True, ddof=ddof) + eps)


def scaled(x: Any, weight: Any, bias: Any) -> Any:
    """Return x · weight + bias, of which either may be None."""
    x = x if weight is None else x * weight
    return x if bias is None else x + bias


ARRAYS = TEXTS["arrays"]
MATRICES = TEXTS["matrices"]
SINGLE = (-1.7, -1.0, -0.4, 0.0, 0.6, 1.0, 1.3, 2.0, 3.5, 7.3)
X = Roles("activations")("x")


def probes_of(*beyond: Probe) -> tuple[Probe, ...]:
    """Return single numbers for functions that use `x > 0` or math.exp, a row, a matrix, three axes, and further probes."""
    random = numpy.random.default_rng(11)
    return (
        *(Probe(f"the number {number}", {"x": numpy.array(number)}, QUIET) for number in SINGLE),
        Probe("row", {"x": numpy.array([*SINGLE, -4.4])}, ARRAYS),
        Probe("matrix", {"x": random.standard_normal((3, 5)) * 2}, MATRICES),
        Probe("three axes", {"x": random.standard_normal((2, 3, 5))}, MATRICES),
        Probe("whole numbers", {"x": numpy.array([-2, 0, 3])}, caution=TEXTS["whole"]),
        *beyond,
    )


def answers_at(ask: Callable[[Inputs], Any], numbers: Sequence[float]) -> Any:
    """Return the function's outputs for some numbers, in one call or one by one; None if it returns none."""
    answer = ask({"x": numpy.array(numbers)})
    if isinstance(answer, Raised):
        singles = [ask({"x": numpy.array(number)}) for number in numbers]
        if any(isinstance(each, Raised) or numpy.size(each) != 1 for each in singles):
            return None
        answer = numpy.array([numpy.asarray(each, numpy.float64).reshape(()) for each in singles])
    is_fit = isinstance(answer, numpy.ndarray) and answer.shape == numpy.shape(numbers) and numpy.isfinite(answer).all()
    return answer.astype(numpy.float64) if is_fit else None
