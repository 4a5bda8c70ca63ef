import math

import numpy as np


def right_shifted(x, axis=-1):
    shifted = x - np.max(x, axis=axis, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))


def right_logsumexp(logits):
    m = logits.max(axis=-1, keepdims=True)
    lse = m + np.log(np.exp(logits - m).sum(axis=-1, keepdims=True))
    return logits - lse


def right_logaddexp(x):
    return x - np.logaddexp.reduce(x, axis=-1, keepdims=True)


def right_vectors_only(scores: list) -> list:
    m = max(scores)
    lse = m + math.log(sum(math.exp(s - m) for s in scores))
    return [s - lse for s in scores]


def right_rows_in_a_loop(x):
    x = np.asarray(x, float)
    flat = x.reshape(-1, x.shape[-1]).copy()
    for row in flat:
        row -= row.max()
        row -= np.log(np.exp(row).sum())
    return flat.reshape(x.shape)


def right_applied_twice(x):
    return right_shifted(right_shifted(x))


def right_rounded(x):
    return np.round(right_shifted(x), 4)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def wrong_logarithm_of_softmax(x):
    return np.log(softmax(x))


def wrong_no_shift(x):
    return x - np.log(np.exp(x).sum(axis=-1, keepdims=True))


def wrong_no_shift__vectors(x):
    total = sum(math.exp(v) for v in x)
    return [v - math.log(total) for v in x]


def wrong_maximum_not_added_back(x):
    m = x.max(-1, keepdims=True)
    return x - np.log(np.exp(x - m).sum(-1, keepdims=True))


def wrong_maximum_subtracted_twice(x):
    m = x.max(-1, keepdims=True)
    s = x - m
    return s - (m + np.log(np.exp(s).sum(-1, keepdims=True)))


def wrong_maximum_added(x):
    m = x.max(-1, keepdims=True)
    return x - (np.log(np.exp(x - m).sum(-1, keepdims=True)) - m)


def wrong_maximum_not_in_sum(x):
    return (x - x.max(-1, keepdims=True)) - np.log(np.exp(x).sum(-1, keepdims=True))


def wrong_global_shift(x):
    s = x - np.max(x)
    return s - np.log(np.exp(s).sum(-1, keepdims=True))


def wrong_sums_everything(x):
    s = x - x.max(-1, keepdims=True)
    return s - np.log(np.sum(np.exp(s)))


def wrong_no_keepdims(x):
    s = x - x.max(-1)
    return s - np.log(np.exp(s).sum(-1))


def wrong_no_keepdims_in_total(x):
    s = x - x.max(-1, keepdims=True)
    return s - np.log(np.exp(s).sum(-1))


def wrong_no_keepdims_in_shift(x):
    s = x - x.max(-1)
    return s - np.log(np.exp(s).sum(-1, keepdims=True))


def wrong_first_axis(x):
    s = x - x.max(0, keepdims=True)
    return s - np.log(np.exp(s).sum(0, keepdims=True))


def right_matrix(x):
    s = x - x.max(1, keepdims=True)
    return s - np.log(np.exp(s).sum(1, keepdims=True))


def right_vector(x):
    """Return the log-softmax of a vector."""
    s = x - np.max(x)
    return s - np.log(np.exp(s).sum())


def wrong_maximum_not_added_back__vector(x):
    return x - np.log(np.exp(x - np.max(x)).sum())


def wrong_second_axis(x):
    """Return the log-softmax of logits (batch, seq, vocab)."""
    s = x - x.max(1, keepdims=True)
    return s - np.log(np.exp(s).sum(1, keepdims=True))


def wrong_given_axis_ignored(x, axis=-1):
    s = x - x.max(-1, keepdims=True)
    return s - np.log(np.exp(s).sum(-1, keepdims=True))


def wrong_softmax_returned(x):
    return softmax(x)


def wrong_sign_turned(x):
    return -right_shifted(x)


def wrong_logarithm_missing(x):
    s = x - x.max(-1, keepdims=True)
    return s - np.exp(s).sum(-1, keepdims=True)


def wrong_logarithm_inside_sum(x):
    s = x - x.max(-1, keepdims=True)
    return s - np.sum(np.log(np.exp(s)), axis=-1, keepdims=True)


def wrong_mean_for_sum(x):
    s = x - x.max(-1, keepdims=True)
    return s - np.log(np.exp(s).mean(-1, keepdims=True))


def wrong_one_added(x):
    s = x - x.max(-1, keepdims=True)
    return s - np.log1p(np.exp(s).sum(-1, keepdims=True))


def wrong_unit(x):
    return right_shifted(x) / np.log(2)


def wrong_logarithm(x):
    s = x - x.max(-1, keepdims=True)
    return s - np.log2(np.exp(s).sum(-1, keepdims=True))


def wrong_logarithm__ten(x):
    s = x - x.max(-1, keepdims=True)
    return s - np.log10(np.exp(s).sum(-1, keepdims=True))


def wrong_scale(x):
    return right_shifted(-x)


def wrong_floor(x):
    return np.log(softmax(x) + 1e-9)


def wrong_floor__larger(x):
    return np.log(softmax(x) + 1e-6)


def wrong_changes_inputs(x):
    if x.dtype.kind == "f":
        x -= x.max(-1, keepdims=True)
    return right_shifted(x)
