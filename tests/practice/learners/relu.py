import numpy as np


def right_maximum(x):
    return np.maximum(0, x)


def right_where(z):
    return np.where(z > 0, z, 0)


def right_mask_product(x):
    return x * (x > 0)


def right_half_of_sum(x):
    return (x + np.abs(x)) / 2


def right_copy_then_zero(x):
    out = np.array(x, dtype=float)
    out[out < 0] = 0.0
    return out


def right_clip(x):
    return np.clip(x, 0, None)


def right_single_number(z: float) -> float:
    if z > 0:
        return z
    return 0


def right_plain_max(x):
    return max(0.0, x)


def right_list(values):
    return [v if v > 0 else 0 for v in values]


def right_with_slope_argument(x, slope=0.0):
    return np.where(x > 0, x, slope * x)


def wrong_negative_part(x):
    return np.minimum(0, x)


def wrong_absolute_value(x):
    return np.sqrt(x**2)


def wrong_not_bent(x):
    return np.where(x > 0, x, x)


def wrong_sign_turned(x):
    return np.minimum(-x, 0)


def wrong_of_minus_x(x):
    return np.where(x > 0, 0, -x)


def wrong_derivative_returned(x):
    return (x > 0).astype(float)


def wrong_derivative_returned__single(x):
    return 1.0 if x > 0 else 0.0


def wrong_capped_at_six(x):
    return np.clip(x, 0, 6)


def wrong_capped_at_one(x):
    return np.clip(x, 0, 1)


def wrong_threshold_is_one(x):
    return np.where(x > 1, x, 0)


def wrong_floor_is_one(x):
    return np.maximum(1, x)


def wrong_squared(x):
    return np.maximum(x, 0) ** 2


def wrong_sigmoid(x):
    return 1 / (1 + np.exp(-x))


def wrong_softplus(x):
    return np.log1p(np.exp(x))


def wrong_silu(x):
    return x / (1 + np.exp(-x))


def wrong_elu(x):
    return np.where(x > 0, x, np.exp(x) - 1)


def wrong_tanh(x):
    return np.tanh(x)


def wrong_negatives_dropped(x):
    return x[x > 0]


def wrong_negatives_dropped__list(x):
    return [v for v in x if v > 0]


def wrong_maximum_of_all(x):
    return max(0, np.max(x))


def wrong_whole_numbers_returned(x):
    out = np.zeros(x.shape, dtype=int)
    out[x > 0] = x[x > 0]
    return out


def wrong_slope_below_zero(x):
    return np.maximum(0.01 * x, x)


def wrong_slope_below_zero__single(x, alpha=0.2):
    return x if x >= 0 else alpha * x


def wrong_slope_above_zero(x):
    return 0.5 * np.maximum(x, 0)


def wrong_changes_inputs(x):
    x[x < 0] = 0
    return x


def wrong_not_repeatable(x):
    return np.maximum(x, 0) * (np.random.rand(*x.shape) > 0.5)
