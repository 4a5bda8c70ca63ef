"""The steps of cross-entropy."""

from __future__ import annotations

from typing import Any

import numpy


def softmax(x: Any, axis: Any = -1) -> Any:
    """Return the softmax, in NumPy."""
    powers = numpy.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


def log_softmax(x: Any, axis: Any = -1) -> Any:
    """Return the log-softmax, in NumPy."""
    shifted = x - x.max(axis, keepdims=True)
    return shifted - numpy.log(numpy.exp(shifted).sum(axis, keepdims=True))


def pick(log_probs: Any, targets: Any) -> Any:
    """Return the element of each row at its target."""
    return numpy.take_along_axis(log_probs, targets[..., None], -1)[..., 0]


def mean(surprise: Any, counts: Any, logits: Any) -> Any:
    """Return the mean over the rows that are not ignored."""
    return numpy.where(counts, surprise, 0).sum() / max(counts.sum(), 1)


def one_hot(log_probs: Any, targets: Any) -> Any:
    """Return arrays with 1 at each row's target and 0 elsewhere."""
    return numpy.eye(log_probs.shape[-1])[targets]


STEPS = {
    "operands": lambda logits, targets: (logits, targets),
    "log_probs": log_softmax,
    "counts": lambda targets, ignored: numpy.ones(targets.shape, bool) if ignored is None else targets != ignored,
    "targets": lambda targets: targets,
    "pick": pick,
    "unit": lambda: 1.0,
    "reduce": mean,
    "finish": lambda loss: loss,
}
