"""What training makes small."""

from __future__ import annotations

from headway.arrays import Array, array_namespace, as_floating, as_index, at_least_float32, cast
from headway.errors import ShapeError
from headway.functions.embedding import check_token_ids
from headway.functions.softmax import log_softmax


def cross_entropy(logits: Array, targets: Array, *, ignored: int | None = None) -> Array:
    """The mean surprise at the right answer, in nats.

        mean of -log softmax(logits)[target]

    Shapes
        logits   (..., vocab_size)
        targets  (...) integer
        return   ()

    ignored  a target that does not count, such as -100 for padding; every target counts by default

    Zero where every target is ignored. Computed in float32 for half precision.

    Errors   ShapeError where targets is not logits without its last axis; DtypeError and TokenIdError as in embed.

    >>> import numpy as np
    >>> round(float(cross_entropy(np.log(np.array([[0.25, 0.75]])), np.array([1]))), 4)
    0.2877

    Source   Shannon 1948; Goodfellow et al. 2016, section 6.2.1
    """
    xp = array_namespace(logits, targets)
    if tuple(targets.shape) != tuple(logits.shape[:-1]):
        raise ShapeError(
            f"came: logits {tuple(logits.shape)} and targets {tuple(targets.shape)}; expected: targets {tuple(logits.shape[:-1])}, one per row"
        )
    counts = xp.ones_like(targets) > 0 if ignored is None else targets != ignored
    targets = xp.where(counts, targets, xp.zeros_like(targets))
    check_token_ids(targets, logits.shape[-1])
    surprise = -xp.take_along_axis(log_softmax(at_least_float32(logits)), as_index(targets)[..., None], axis=-1)[..., 0]
    total = xp.sum(xp.where(counts, surprise, xp.zeros_like(surprise)))
    number = xp.sum(cast(counts, surprise.dtype))
    return cast(total / xp.where(number == 0, xp.ones_like(number), number), as_floating(logits).dtype)
