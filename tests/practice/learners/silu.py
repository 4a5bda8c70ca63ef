import math

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def right_quotient(x):
    return x / (1 + np.exp(-x))


def right_own_sigmoid(x):
    return x * sigmoid(x)


def right_swish_with_beta(x, beta=1.0):
    return x * sigmoid(beta * x)


def right_half_tanh(x):
    return 0.5 * x * (1 + np.tanh(x / 2))


def right_both_sides(x):
    x = np.asarray(x, dtype=np.float64)
    small = np.exp(-np.abs(x))
    return x * np.where(x >= 0, 1 / (1 + small), small / (1 + small))


def right_single_number(x: float) -> float:
    return x / (1 + math.exp(-x))


def right_rounded(x):
    return np.round(x * sigmoid(x), 4)


def right_list(xs):
    return [x / (1.0 + math.exp(-x)) if x > -700 else 0.0 for x in xs]


def wrong_sigmoid_returned(x):
    return sigmoid(x)


def wrong_exponent_sign(x):
    return x / (1 + np.exp(x))


def wrong_exponential_overflows(x):
    return x * np.exp(x) / (np.exp(x) + 1)


def wrong_exponential_overflows__single(x):
    return x * math.exp(x) / (1 + math.exp(x))


def wrong_parentheses_missing(x):
    return x * 1 / 1 + np.exp(-x)


def wrong_one_missing(x):
    return x / np.exp(-x)


def wrong_gate_added(x):
    return x + sigmoid(x)


def wrong_gate_applied_twice(x):
    s = sigmoid(x)
    return x * s**2


def wrong_sigmoid_of_sigmoid(x):
    return x * sigmoid(sigmoid(x))


def wrong_tanh_for_sigmoid(x):
    return x * np.tanh(x)


def wrong_softmax_for_sigmoid(x):
    e = np.exp(x - np.max(x))
    return x * e / e.sum()


def wrong_hard_gate(x):
    return x * np.minimum(np.maximum(x + 3, 0), 6) / 6


def wrong_relu(x):
    return np.maximum(x, 0)


def wrong_gelu(x):
    return np.array([0.5 * v * (1 + math.erf(v / math.sqrt(2))) for v in np.ravel(x)]).reshape(np.shape(x))


def wrong_gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def wrong_softplus(x):
    return np.logaddexp(x, 0)


def wrong_mish(x):
    return x * np.tanh(np.logaddexp(0, x))


def wrong_derivative_returned(x):
    s = sigmoid(x)
    return s + x * s * (1 - s)


def wrong_sign_turned(x):
    return -x * sigmoid(x)


def wrong_not_bent(x):
    return x * 1.0


def wrong_steepness(x):
    return x * sigmoid(1.702 * x)


def wrong_steepness__twice(x):
    return x * sigmoid(2 * x)


def wrong_changes_inputs(x):
    x *= sigmoid(x)
    return x


def wrong_gate_added__rounded(x):
    return np.round(x + sigmoid(x), 4)


def right_bounded_exponent(x):
    return x / (1 + np.exp(-np.clip(x, -30, 30)))
