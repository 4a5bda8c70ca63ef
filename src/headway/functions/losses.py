"""Loss functions."""

from __future__ import annotations

from typing import Any

from headway.arrays import ArrayT, array_namespace, as_floating, as_index, at_least_float32, cast
from headway.errors import ShapeError
from headway.functions.embedding import check_token_ids
from headway.functions.softmax import log_softmax


def cross_entropy(logits: ArrayT, targets: ArrayT, *, ignored: int | None = None) -> ArrayT:
    """Cross-entropy loss: the mean negative log-likelihood of the targets, in nats.

        mean of -log softmax(logits)[target]

    Shapes
        logits   (..., vocab_size)
        targets  (...) integer
        return   ()

    ignored  target value to leave out of the mean, such as -100 for padding; None (no such value) by default

    Returns 0 if every target is ignored. float16 and bfloat16 are computed in float32.

    Errors   ShapeError if targets.shape is not logits.shape[:-1]; DtypeError and TokenIdError as in embed.

    >>> import numpy as np
    >>> round(float(cross_entropy(np.log(np.array([[0.25, 0.75]])), np.array([1]))), 4)
    0.2877

    Source   Shannon 1948; Goodfellow et al. 2016, section 6.2.1
    """
    xp = array_namespace(logits, targets)
    if tuple(targets.shape) != tuple(logits.shape[:-1]):
        raise ShapeError(
            f"got logits {tuple(logits.shape)} and targets {tuple(targets.shape)}, expected targets {tuple(logits.shape[:-1])}, one per row"
        )
    is_counted: Any = xp.ones_like(targets) > 0 if ignored is None else targets != ignored
    targets = xp.where(is_counted, targets, xp.zeros_like(targets))
    check_token_ids(targets, logits.shape[-1])
    losses = -xp.take_along_axis(log_softmax(at_least_float32(logits)), as_index(targets)[..., None], axis=-1)[..., 0]
    total = xp.sum(xp.where(is_counted, losses, xp.zeros_like(losses)))
    num_counted = xp.sum(cast(is_counted, losses.dtype))
    return cast(total / xp.where(num_counted == 0, xp.ones_like(num_counted), num_counted), as_floating(logits).dtype)
