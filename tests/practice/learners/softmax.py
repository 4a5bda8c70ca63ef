import math

import numpy as np


def right_plain(x, axis=-1):
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


def right_any_constant_shift(z, axis=-1):
    z = z - (np.max(z, axis=axis, keepdims=True) + 3)
    return np.exp(z) / np.exp(z).sum(axis=axis, keepdims=True)


def right_through_logarithm(x):
    shifted = x - x.max(-1, keepdims=True)
    return np.exp(shifted - np.log(np.exp(shifted).sum(-1, keepdims=True)))


def right_loop_over_rows(x):
    x = np.asarray(x, dtype=float)
    out = np.empty_like(x)
    for index in np.ndindex(x.shape[:-1]):
        row = np.exp(x[index] - x[index].max())
        out[index] = row / row.sum()
    return out


def right_vectors_only(x):
    m = max(x)
    powers = [math.exp(v - m) for v in x]
    return [p / sum(powers) for p in powers]


def wrong_no_shift(x):
    return np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True)


def wrong_no_shift__loop(values):
    out = []
    for v in values:
        out.append(math.exp(v) / sum(math.exp(u) for u in values))
    return out


def wrong_global_shift(x):
    e = np.exp(x - np.max(x))
    return e / e.sum(axis=-1, keepdims=True)


def wrong_first_axis(x):
    e = np.exp(x - x.max(axis=0, keepdims=True))
    return e / e.sum(axis=0, keepdims=True)


def wrong_no_keepdims_in_total(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1)


def wrong_sums_everything(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum()


def wrong_base(x):
    e = 2 ** (x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def wrong_base__exp_of_minus(x):
    e = np.exp(-(x - x.min(axis=-1, keepdims=True)))
    return e / e.sum(axis=-1, keepdims=True)


def wrong_sigmoid(x):
    return 1 / (1 + np.exp(-x))


def right_matrix(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def right_vector(x):
    """Return the softmax of a vector."""
    e = np.exp(x - np.max(x))
    return e / e.sum()


def wrong_sums_everything__rows(x):
    """Return the softmax of each row of x."""
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e)


def wrong_base__vector(x):
    e = 2 ** (x - np.max(x))
    return e / np.sum(e)


def wrong_second_axis(x):
    """Return the softmax of scores (batch, heads, queries, keys)."""
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def wrong_applied_twice(x):
    return right_plain(right_plain(x))


def wrong_divides_by_sum_of_inputs(x):
    return np.exp(x - x.max(-1, keepdims=True)) / x.sum(-1, keepdims=True)


def wrong_hard_maximum(x):
    return (x == x.max(-1, keepdims=True)).astype(float)


def wrong_not_divided(x):
    return np.exp(x - x.max(-1, keepdims=True))


def wrong_whole_numbers_returned(x):
    out = np.zeros(x.shape, dtype=int)
    out[...] = right_plain(x)
    return out


def wrong_logarithm_returned(x):
    shifted = x - x.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def wrong_given_axis_ignored(x, axis=-1):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def wrong_changes_inputs(x):
    if x.dtype.kind != "f":
        x = x.astype(float)
    x -= x.max(axis=-1, keepdims=True)
    e = np.exp(x)
    return e / e.sum(axis=-1, keepdims=True)


def wrong_not_repeatable(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True) * (np.random.rand(*x.shape) > 0.5)


def right_for_rows_and_tables(values):
    if len(values.shape) == 2:
        columns = values.T
        powers = np.exp(columns - columns.max(axis=0))
        return (powers / powers.sum(axis=0)).T
    powers = np.exp(values - values.max())
    return powers / powers.sum()


def right_rows_one_by_one(x):
    n, m = x.shape
    out = np.empty((n, m))
    for i in range(n):
        powers = np.exp(x[i] - np.max(x[i]))
        out[i] = powers / np.sum(powers)
    return out


def wrong_no_shift__rows_one_by_one(x):
    n, m = x.shape
    out = np.empty((n, m))
    for i in range(n):
        out[i] = np.exp(x[i]) / np.sum(np.exp(x[i]))
    return out


def right_softmax_1d(z):
    z = z - z.max()
    e = np.exp(z)
    return e / e.sum()


def wrong_no_keepdims_in_total__and_one_maximum(x):
    powers = np.exp(x - x.max())
    return powers / powers.sum(axis=-1)


def right_vector_or_matrix(scores):
    if scores.ndim == 1:
        e = np.exp(scores - np.max(scores))
        return e / e.sum()
    e = np.exp(scores - np.max(scores, axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def wrong_total_not_shifted(x):
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / np.exp(x).sum(-1, keepdims=True)
