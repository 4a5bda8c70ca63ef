import math

import numpy as np


def erf(x):
    return np.vectorize(math.erf)(x)


def right_exact(x):
    return 0.5 * x * (1 + erf(x / np.sqrt(2)))


def right_tanh(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def right_tanh_factored(x):
    return x * 0.5 * (1.0 + np.tanh(0.7978845608028654 * x * (1.0 + 0.044715 * x * x)))


def right_tanh_as_sigmoid(x):
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * np.power(x, 3))
    return x / (1 + np.exp(-2 * inner))


def right_single_exact(x: float) -> float:
    return x * (1 + math.erf(x / math.sqrt(2))) / 2


def right_single_tanh_rounded(x: float) -> float:
    return round(0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))), 4)


def right_complementary(x):
    return 0.5 * x * np.vectorize(math.erfc)(-x / math.sqrt(2))


def right_both(x, approximate="none"):
    if approximate == "tanh":
        return right_tanh(x)
    return right_exact(x)


def right_both_by_flag(x, approximate=True):
    return right_tanh(x) if approximate else right_exact(x)


def right_quick_gelu(x):
    return x / (1 + np.exp(-1.702 * x))


def wrong_half_missing(x):
    return x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def wrong_half_missing__exact(x):
    return x * (1 + erf(x / 2**0.5))


def wrong_one_missing(x):
    return 0.5 * x * np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))


def wrong_one_missing__exact(x):
    return 0.5 * x * erf(x / np.sqrt(2))


def wrong_one_minus(x):
    return 0.5 * x * (1 - erf(x / np.sqrt(2)))


def wrong_gate_returned(x):
    return 0.5 * (1 + erf(x / np.sqrt(2)))


def wrong_gate_returned__tanh(x):
    return 0.5 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def wrong_erf_without_root(x):
    return 0.5 * x * (1 + erf(x))


def wrong_square_for_cube(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**2)))


def wrong_two_over_pi_without_root(x):
    return 0.5 * x * (1 + np.tanh((2 / np.pi) * (x + 0.044715 * x**3)))


def wrong_factor_on_x_alone(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * x + 0.044715 * x**3))


def wrong_cube_of_everything(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x) ** 3))


def wrong_cubic_term_missing(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * x))


def wrong_cubic_term_subtracted(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x - 0.044715 * x**3)))


def wrong_erf_of_the_tanh_form(x):
    return 0.5 * x * (1 + erf(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def wrong_tanh_of_the_exact_form(x):
    return 0.5 * x * (1 + np.tanh(x / np.sqrt(2)))


def wrong_sigmoid_for_tanh(x):
    inner = np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)
    return 0.5 * x * (1 + 1 / (1 + np.exp(-inner)))


def wrong_sigmoid_form(x):
    return x / (1 + np.exp(-1.702 * x))


def wrong_density_for_cumulative(x):
    return x * np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)


def wrong_relu(x):
    return np.maximum(x, 0)


def wrong_silu(x):
    return x / (1 + np.exp(-x))


def wrong_softplus(x):
    return np.log(1 + np.exp(x))


def wrong_derivative_returned(x):
    return 0.5 * (1 + erf(x / np.sqrt(2))) + x * np.exp(-0.5 * x**2) / np.sqrt(2 * np.pi)


def wrong_factor(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(np.pi / 2) * (x + 0.044715 * x**3)))


def wrong_factor__root_of_two_over_pi(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2) / np.pi * (x + 0.044715 * x**3)))


def wrong_factor__missing(x):
    return 0.5 * x * (1 + np.tanh(x + 0.044715 * x**3))


def wrong_coefficient(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.44715 * x**3)))


def wrong_coefficient__missing(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + x**3)))


def wrong_erf_factor(x):
    return 0.5 * x * (1 + erf(x / 2))


def wrong_erf_factor__times(x):
    return 0.5 * x * (1 + erf(x * np.sqrt(2)))


def wrong_sigmoid_factor(x):
    return x / (1 + np.exp(-1.782 * x))


def wrong_changes_inputs(x):
    y = 0.5 * x * (1 + erf(x / np.sqrt(2)))
    x *= 0
    return y


def wrong_half_missing__single(x):
    return x * (1 + math.erf(x / math.sqrt(2)))


def wrong_square_for_cube__single_rounded(x):
    return round(0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**2))), 4)
