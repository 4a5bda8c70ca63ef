"""Common mistakes in cross-entropy."""

from __future__ import annotations

from typing import Any

import numpy

from headway.practice.exercises.cross_entropy.steps import log_softmax, mean, one_hot, pick, softmax
from headway.practice.texts import Texts

TEXTS = Texts("cross_entropy")


def steps_of(function: Any) -> dict[str, Any]:
    """Return steps for another function from log-probabilities and targets to the loss."""
    return {
        "pick": lambda log_probs, targets: -numpy.asarray(function(log_probs, targets)),
        "reduce": lambda surprise, counts, logits: surprise,
    }


def _binary(log_probs: Any, targets: Any) -> Any:
    hot = one_hot(log_probs, targets)
    return -(hot * log_probs + (1 - hot) * numpy.log1p(-numpy.exp(log_probs)))


def _shifted(logits: Any, targets: Any) -> Any:
    return logits[..., :-1, :], targets[..., 1:]


MISTAKES = (
    TEXTS.mistake("logarithm_of_softmax", {"log_probs": lambda logits: numpy.log(softmax(logits))}),
    TEXTS.mistake("no_shift", {"log_probs": lambda logits: logits - numpy.log(numpy.exp(logits).sum(-1, keepdims=True))}),
    TEXTS.mistake(
        "no_shift_in_softmax", {"log_probs": lambda logits: numpy.log(numpy.exp(logits) / numpy.exp(logits).sum(-1, keepdims=True))}
    ),
    TEXTS.mistake("logits_taken_for_probabilities", {"log_probs": numpy.log}),
    TEXTS.mistake("logarithm_missing", {"log_probs": softmax}),
    TEXTS.mistake("softmax_missing", {"log_probs": lambda logits: logits}),
    TEXTS.mistake("softmax_twice", {"log_probs": lambda logits: log_softmax(softmax(logits))}),
    TEXTS.mistake("softmax_over_rows", {"log_probs": lambda logits: log_softmax(logits, 0)}),
    TEXTS.mistake("softmax_over_everything", {"log_probs": lambda logits: log_softmax(logits, None)}),
    TEXTS.mistake("sign_missing", {"finish": lambda loss: -loss}),
    TEXTS.mistake("summed", {"reduce": lambda surprise, counts, logits: numpy.where(counts, surprise, 0).sum()}),
    TEXTS.mistake("averaged_over_classes", {"reduce": lambda surprise, counts, logits: mean(surprise, counts, logits) / logits.shape[-1]}),
    TEXTS.mistake("ignored_averaged_in", {"reduce": lambda surprise, counts, logits: numpy.where(counts, surprise, 0).sum() / counts.size}),
    TEXTS.mistake(
        "averaged_over_batch_alone",
        {"reduce": lambda surprise, counts, logits: numpy.where(counts, surprise, 0).sum() / (surprise.shape or (1,))[0]},
    ),
    TEXTS.mistake("not_averaged", {"reduce": lambda surprise, counts, logits: surprise}),
    TEXTS.mistake("perplexity_returned", {"finish": numpy.exp}),
    TEXTS.mistake("every_row_with_every_target", steps_of(lambda log_probs, targets: -log_probs[:, targets].mean())),
    TEXTS.mistake("rows_of_targets", steps_of(lambda log_probs, targets: -log_probs[targets].mean())),
    TEXTS.mistake(
        "targets_counted_from_one",
        {"targets": lambda targets: targets - 1, "pick": lambda log_probs, targets: pick(log_probs, targets % log_probs.shape[-1])},
    ),
    TEXTS.mistake("largest_for_target", {"pick": lambda log_probs, targets: log_probs.max(-1)}),
    TEXTS.mistake("all_classes_averaged", steps_of(lambda log_probs, targets: -log_probs.mean())),
    TEXTS.mistake("entropy_returned", {"pick": lambda log_probs, targets: (numpy.exp(log_probs) * log_probs).sum(-1)}),
    TEXTS.mistake("binary_cross_entropy", steps_of(lambda log_probs, targets: _binary(log_probs, targets).mean())),
    TEXTS.mistake("binary_cross_entropy_summed", steps_of(lambda log_probs, targets: _binary(log_probs, targets).sum(-1).mean())),
    TEXTS.mistake("squared_error", steps_of(lambda log_probs, targets: ((numpy.exp(log_probs) - one_hot(log_probs, targets)) ** 2).mean())),
    TEXTS.mistake("shifted_inside", {"operands": _shifted}),
    TEXTS.mistake("ignored_counted", {"counts": lambda targets, ignored: numpy.ones(targets.shape, bool), "pick": pick}),
    TEXTS.mistake("fractions_cut_off", {"finish": numpy.trunc}),
)
