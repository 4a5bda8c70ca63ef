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


def _adam(grad, x0, lr, steps, change):
    x, m, v = x0, 0.0, 0.0
    for t in range(1, steps + 1):
        x, m, v = change(x, grad(x), m, v, t, lr)
    return x


def _moments(g, m, v, b1=0.9, b2=0.999):
    return b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g**2


def _moved(x, m, v, t, lr):
    return x - lr * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)


def wrong_ascent(grad, x0, lr, steps):
    def change(x, g, m, v, t, lr):
        m, v = _moments(g, m, v)
        return _moved(x, m, v, t, -lr), m, v

    return _adam(grad, x0, lr, steps, change)


def wrong_mean_not_corrected(grad, x0, lr, steps):
    def change(x, g, m, v, t, lr):
        m, v = _moments(g, m, v)
        return x - lr * m / (np.sqrt(v / (1 - 0.999**t)) + 1e-8), m, v

    return _adam(grad, x0, lr, steps, change)


def wrong_square_not_corrected(grad, x0, lr, steps):
    def change(x, g, m, v, t, lr):
        m, v = _moments(g, m, v)
        return x - lr * (m / (1 - 0.9**t)) / (np.sqrt(v) + 1e-8), m, v

    return _adam(grad, x0, lr, steps, change)


def wrong_correction_without_power(grad, x0, lr, steps):
    def change(x, g, m, v, t, lr):
        m, v = _moments(g, m, v)
        return x - lr * (m / (1 - 0.9)) / (np.sqrt(v / (1 - 0.999)) + 1e-8), m, v

    return _adam(grad, x0, lr, steps, change)


def wrong_root_missing(grad, x0, lr, steps):
    def change(x, g, m, v, t, lr):
        m, v = _moments(g, m, v)
        return x - lr * (m / (1 - 0.9**t)) / (v / (1 - 0.999**t) + 1e-8), m, v

    return _adam(grad, x0, lr, steps, change)


def wrong_gradient_not_squared(grad, x0, lr, steps):
    def change(x, g, m, v, t, lr):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g
        with np.errstate(all="ignore"):
            return _moved(x, m, v, t, lr), m, v

    return _adam(grad, x0, lr, steps, change)


def wrong_betas_exchanged(grad, x0, lr, steps):
    def change(x, g, m, v, t, lr):
        m, v = _moments(g, m, v, 0.999, 0.9)
        return x - lr * (m / (1 - 0.999**t)) / (np.sqrt(v / (1 - 0.9**t)) + 1e-8), m, v

    return _adam(grad, x0, lr, steps, change)


def wrong_gradient_for_mean(grad, x0, lr, steps):
    def change(x, g, m, v, t, lr):
        m, v = _moments(g, m, v)
        return x - lr * g / (np.sqrt(v / (1 - 0.999**t)) + 1e-8), m, v

    return _adam(grad, x0, lr, steps, change)


def wrong_square_not_used(grad, x0, lr, steps):
    def change(x, g, m, v, t, lr):
        m, v = _moments(g, m, v)
        return x - lr * m / (1 - 0.9**t), m, v

    return _adam(grad, x0, lr, steps, change)


def wrong_one_minus_beta_missing(grad, x0, lr, steps):
    def change(x, g, m, v, t, lr):
        m, v = 0.9 * m + g, 0.999 * v + g**2
        return _moved(x, m, v, t, lr), m, v

    return _adam(grad, x0, lr, steps, change)


def wrong_one_minus_beta1_missing(grad, x0, lr, steps):
    def change(x, g, m, v, t, lr):
        m, v = 0.9 * m + g, 0.999 * v + 0.001 * g**2
        return _moved(x, m, v, t, lr), m, v

    return _adam(grad, x0, lr, steps, change)


def wrong_one_step_too_many(grad, x0, lr, steps):
    def change(x, g, m, v, t, lr):
        m, v = _moments(g, m, v)
        return _moved(x, m, v, t, lr), m, v

    return _adam(grad, x0, lr, steps + 1, change)


def wrong_gradient_of_the_start(grad, x0, lr, steps):
    g, x, m, v = grad(x0), x0, 0.0, 0.0
    for t in range(1, steps + 1):
        m, v = _moments(g, m, v)
        x = _moved(x, m, v, t, lr)
    return x


def wrong_returned_inside_the_loop(grad, x0, lr, steps):
    x, m, v = x0, 0.0, 0.0
    for t in range(1, steps + 1):
        m, v = _moments(grad(x), m, v)
        x = _moved(x, m, v, t, lr)
        return x
    return x
