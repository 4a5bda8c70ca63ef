import numpy as np


def right_deep_ml(f, grad, x0, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8, num_iterations=10):
    x = x0
    m = np.zeros_like(x)
    v = np.zeros_like(x)
    for t in range(1, num_iterations + 1):
        g = grad(x)
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g**2
        x = x - learning_rate * (m / (1 - beta1**t)) / (np.sqrt(v / (1 - beta2**t)) + epsilon)
    return x


def right_single_number(grad, x0, lr, steps):
    x, m, v = x0, 0.0, 0.0
    for t in range(steps):
        g = grad(x)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        x = x - lr * (m / (1 - 0.9 ** (t + 1))) / ((v / (1 - 0.999 ** (t + 1))) ** 0.5 + 1e-8)
    return x


def wrong_step_counted_from_zero(grad, x0, lr, steps):
    x, m, v = x0, 0.0, 0.0
    for t in range(steps):
        g = grad(x)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        with np.errstate(all="ignore"):
            x = x - lr * (m / np.float64(1 - 0.9**t)) / ((v / np.float64(1 - 0.999**t)) ** 0.5 + 1e-8)
    return x


def wrong_no_bias_correction(grad, x0, lr, steps):
    x, m, v = x0, 0.0, 0.0
    for _ in range(steps):
        g = grad(x)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        x = x - lr * m / (v**0.5 + 1e-8)
    return x


def wrong_moments_begun_anew(grad, x0, lr, steps):
    x = x0
    for t in range(1, steps + 1):
        m, v = 0.0, 0.0
        g = grad(x)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        x = x - lr * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)) ** 0.5 + 1e-8)
    return x


def wrong_corrected_moments_kept(grad, x0, lr, steps):
    x, m, v = x0, 0.0, 0.0
    for t in range(1, steps + 1):
        g = grad(x)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        m, v = m / (1 - 0.9**t), v / (1 - 0.999**t)
        x = x - lr * m / (v**0.5 + 1e-8)
    return x


def wrong_one_step_too_few(grad, x0, lr, steps):
    x, m, v = x0, 0.0, 0.0
    for t in range(1, steps):
        g = grad(x)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        x = x - lr * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)) ** 0.5 + 1e-8)
    return x
