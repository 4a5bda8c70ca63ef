import math

import numpy as np


def right_deep_ml(parameter, grad, m, v, t, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8):
    m = beta1 * m + (1 - beta1) * grad
    v = beta2 * v + (1 - beta2) * (grad**2)
    m_hat = m / (1 - beta1**t)
    v_hat = v / (1 - beta2**t)
    parameter = parameter - learning_rate * m_hat / (np.sqrt(v_hat) + epsilon)
    return np.round(parameter, 5), np.round(m, 5), np.round(v, 5)


def right_plain(theta, g, m, v, t, lr, b1=0.9, b2=0.999, eps=1e-8):
    m = m + (1 - b1) * (g - m)
    v = v + (1 - b2) * (g * g - v)
    return theta - lr * (m / (1 - b1**t)) / ((v / (1 - b2**t)) ** 0.5 + eps), m, v


def right_cs336(param, grad, m, v, t, lr, betas=(0.9, 0.999), eps=1e-8):
    b1, b2 = betas
    m = b1 * m + (1 - b1) * grad
    v = b2 * v + (1 - b2) * grad**2
    lr_t = lr * math.sqrt(1 - b2**t) / (1 - b1**t)
    return param - lr_t * m / (np.sqrt(v) + eps), m, v


def right_counts_inside(w, dw, m, v, t, lr, beta1, beta2, eps):
    t += 1
    m = beta1 * m + (1 - beta1) * dw
    v = beta2 * v + (1 - beta2) * dw**2
    mt, vt = m / (1 - beta1**t), v / (1 - beta2**t)
    return w - lr * mt / (np.sqrt(vt) + eps), m, v, t


def right_point_alone(x, g, m, v, t, lr):
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
    return x - lr * m / (1 - 0.9**t) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)


def right_moments_first(x, g, m, v, t, lr):
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
    return m, v, x - lr * m / (1 - 0.9**t) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)


def right_single_number(x: float, g: float, m: float, v: float, t: int, lr: float = 0.001):
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    return x - lr * (m / (1 - 0.9**t)) / (math.sqrt(v / (1 - 0.999**t)) + 1e-8), m, v


def wrong_no_bias_correction(x, g, m, v, t, lr, beta1=0.9, beta2=0.999, eps=1e-8):
    m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g**2
    return x - lr * m / (np.sqrt(v) + eps), m, v


def wrong_mean_not_corrected(x, g, m, v, t, lr, beta1=0.9, beta2=0.999, eps=1e-8):
    m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g**2
    return x - lr * m / (np.sqrt(v / (1 - beta2**t)) + eps), m, v


def wrong_square_not_corrected(x, g, m, v, t, lr, beta1=0.9, beta2=0.999, eps=1e-8):
    m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g**2
    return x - lr * m / (1 - beta1**t) / (np.sqrt(v) + eps), m, v


def wrong_correction_without_power(x, g, m, v, t, lr, beta1=0.9, beta2=0.999, eps=1e-8):
    m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g**2
    return x - lr * m / (1 - beta1) / (np.sqrt(v / (1 - beta2)) + eps), m, v


def wrong_correction_multiplied(x, g, m, v, t, lr, beta1=0.9, beta2=0.999, eps=1e-8):
    m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g**2
    return x - lr * m * (1 - beta1**t) / (np.sqrt(v * (1 - beta2**t)) + eps), m, v


def wrong_step_counted_from_zero(x, g, m, v, t, lr, beta1=0.9, beta2=0.999, eps=1e-8):
    m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g**2
    with np.errstate(all="ignore"):
        mh, vh = m / np.float64(1 - beta1 ** (t - 1)), v / np.float64(1 - beta2 ** (t - 1))
        return x - lr * mh / (np.sqrt(vh) + eps), m, v


def wrong_eps_inside_root(x, g, m, v, t, lr, beta1=0.9, beta2=0.999, eps=1e-8):
    m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g**2
    return x - lr * m / (1 - beta1**t) / np.sqrt(v / (1 - beta2**t) + eps), m, v


def wrong_eps_missing(x, g, m, v, t, lr, beta1=0.9, beta2=0.999):
    m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g**2
    return x - lr * m / (1 - beta1**t) / np.sqrt(v / (1 - beta2**t)), m, v


def wrong_eps_after_division(x, g, m, v, t, lr, beta1=0.9, beta2=0.999, eps=1e-8):
    m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g**2
    return x - lr * (m / (1 - beta1**t) / np.sqrt(v / (1 - beta2**t)) + eps), m, v


def wrong_root_missing(x, g, m, v, t, lr, beta1=0.9, beta2=0.999, eps=1e-8):
    m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g**2
    return x - lr * m / (1 - beta1**t) / (v / (1 - beta2**t) + eps), m, v


def wrong_root_of_correction_missing(x, g, m, v, t, lr, beta1=0.9, beta2=0.999, eps=1e-8):
    m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g**2
    rate = lr * (1 - beta2**t) / (1 - beta1**t)
    return x - rate * m / (np.sqrt(v) + eps), m, v


def wrong_gradient_not_squared(x, g, m, v, t, lr, beta1=0.9, beta2=0.999, eps=1e-8):
    m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g
    return x - lr * m / (1 - beta1**t) / (np.sqrt(v / (1 - beta2**t)) + eps), m, v


def wrong_betas_exchanged(x, g, m, v, t, lr, beta1=0.9, beta2=0.999, eps=1e-8):
    m, v = beta2 * m + (1 - beta2) * g, beta1 * v + (1 - beta1) * g**2
    return x - lr * m / (1 - beta2**t) / (np.sqrt(v / (1 - beta1**t)) + eps), m, v


def wrong_betas_exchanged_in_correction(x, g, m, v, t, lr, beta1=0.9, beta2=0.999, eps=1e-8):
    m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g**2
    return x - lr * m / (1 - beta2**t) / (np.sqrt(v / (1 - beta1**t)) + eps), m, v


def wrong_old_and_new_exchanged(x, g, m, v, t, lr, beta1=0.9, beta2=0.999, eps=1e-8):
    m, v = (1 - beta1) * m + beta1 * g, (1 - beta2) * v + beta2 * g**2
    return x - lr * m / (1 - beta1**t) / (np.sqrt(v / (1 - beta2**t)) + eps), m, v


def wrong_one_minus_beta1_missing(x, g, m, v, t, lr, beta1=0.9, beta2=0.999, eps=1e-8):
    m, v = beta1 * m + g, beta2 * v + (1 - beta2) * g**2
    return x - lr * m / (1 - beta1**t) / (np.sqrt(v / (1 - beta2**t)) + eps), m, v


def wrong_one_minus_beta_missing(x, g, m, v, t, lr, beta1=0.9, beta2=0.999, eps=1e-8):
    m, v = beta1 * m + g, beta2 * v + g**2
    return x - lr * m / (1 - beta1**t) / (np.sqrt(v / (1 - beta2**t)) + eps), m, v


def wrong_old_moments_used(x, g, m, v, t, lr, beta1=0.9, beta2=0.999, eps=1e-8):
    x = x - lr * m / (1 - beta1**t) / (np.sqrt(v / (1 - beta2**t)) + eps)
    return x, beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g**2


def wrong_gradient_for_mean(x, g, m, v, t, lr, beta1=0.9, beta2=0.999, eps=1e-8):
    m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g**2
    return x - lr * g / (np.sqrt(v / (1 - beta2**t)) + eps), m, v


def wrong_square_not_used(x, g, m, v, t, lr, beta1=0.9, beta2=0.999, eps=1e-8):
    m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g**2
    return x - lr * m / (1 - beta1**t), m, v


def wrong_ascent(x, g, m, v, t, lr, beta1=0.9, beta2=0.999, eps=1e-8):
    m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g**2
    return x + lr * (m / (1 - beta1**t)) / (np.sqrt(v / (1 - beta2**t)) + eps), m, v


def wrong_corrected_moments_kept(x, g, m, v, t, lr, beta1=0.9, beta2=0.999, eps=1e-8):
    m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g**2
    m = m / (1 - beta1**t)
    v = v / (1 - beta2**t)
    return x - lr * m / (np.sqrt(v) + eps), m, v


def wrong_step_length(x, g, m, v, t, lr, beta1=0.9, beta2=0.999, eps=1e-8):
    m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g**2
    return x - lr**2 * (m / (1 - beta1**t)) / (np.sqrt(v / (1 - beta2**t)) + eps), m, v


def wrong_beta2(x, g, m, v, t, lr, beta1=0.9, beta2=0.999, eps=1e-8):
    m, v = beta1 * m + (1 - beta1) * g, beta2**2 * v + (1 - beta2**2) * g**2
    return x - lr * (m / (1 - beta1**t)) / (np.sqrt(v / (1 - beta2**t)) + eps), m, v


def wrong_eps(x, g, m, v, t, lr, beta1=0.9, beta2=0.999, eps=1e-8):
    m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g**2
    return x - lr * (m / (1 - beta1**t)) / (np.sqrt(v / (1 - beta2**t)) + eps**0.5), m, v


def right_in_place(x, g, m, v, t, lr, beta1=0.9, beta2=0.999, eps=1e-8):
    m *= beta1
    m += (1 - beta1) * g
    v *= beta2
    v += (1 - beta2) * g**2
    return x - lr * (m / (1 - beta1**t)) / (np.sqrt(v / (1 - beta2**t)) + eps), m, v


def wrong_one_minus_beta2_missing(x, g, m, v, t, lr, beta1=0.9, beta2=0.999, eps=1e-8):
    m, v = beta1 * m + (1 - beta1) * g, beta2 * v + g * g
    return x - lr * (m / (1 - beta1**t)) / (np.sqrt(v / (1 - beta2**t)) + eps), m, v


def wrong_average_squared(x, g, m, v, t, lr, beta1=0.9, beta2=0.999, eps=1e-8):
    m = beta1 * m + (1 - beta1) * g
    v = (beta2 * v + (1 - beta2) * g) ** 2
    return x - lr * (m / (1 - beta1**t)) / (np.sqrt(v / (1 - beta2**t)) + eps), m, v
