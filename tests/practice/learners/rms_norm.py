import math

import numpy as np


def right_plain(x, weight, eps=1e-6):
    return x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + eps) * weight


def right_llama(x, w):
    return w * (x * (np.mean(np.square(x), -1, keepdims=True) + 1e-5) ** -0.5)


def right_norm(x, gamma, eps=1e-8):
    n = x.shape[-1]
    return x * np.sqrt(n) / np.sqrt((x * x).sum(-1, keepdims=True) + n * eps) * gamma


def right_eps_outside(x, weight, eps=1e-6):
    rms = np.sqrt((x**2).mean(-1, keepdims=True))
    return weight * x / (rms + eps)


def right_eps_outside_own(x, g):
    rms = np.sqrt((x**2).mean(-1, keepdims=True))
    return x / (rms + 1e-8) * g


def right_floor(x, g, eps=1e-6):
    rms = np.sqrt((x**2).mean(-1, keepdims=True))
    return x / np.maximum(rms, eps) * g


def right_without_weight(x, eps=1e-5):
    return x / np.sqrt(np.mean(x * x, -1, keepdims=True) + eps)


def right_gemma(x, weight, eps=1e-6):
    return x / np.sqrt(np.mean(x * x, -1, keepdims=True) + eps) * (1 + weight)


def right_run_rmsnorm(d_model, eps, weights, in_features):
    return in_features / np.sqrt((in_features**2).sum(-1, keepdims=True) / d_model + eps) * weights


def right_vector_only(x: list, weight: list) -> list:
    root = math.sqrt(sum(v * v for v in x) / len(x) + 1e-6)
    return [v / root * w for v, w in zip(x, weight)]


def right_rounded(x, g, eps=1e-5):
    return np.round(x / np.sqrt(np.mean(x**2, -1, keepdims=True) + eps) * g, 4)


def wrong_mean_subtracted(x, weight, eps=1e-6):
    c = x - x.mean(-1, keepdims=True)
    return c / np.sqrt(np.mean(c**2, -1, keepdims=True) + eps) * weight


def wrong_mean_subtracted_above_alone(x, weight, eps=1e-6):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(np.mean(x**2, -1, keepdims=True) + eps) * weight


def wrong_variance_for_mean_square(x, weight, eps=1e-6):
    return x / np.sqrt(np.var(x, -1, keepdims=True) + eps) * weight


def wrong_sum_for_mean(x, weight, eps=1e-6):
    return x / np.sqrt(np.sum(x**2, -1, keepdims=True) + eps) * weight


def wrong_mean_over_n_minus_one(x, weight, eps=1e-6):
    return x / np.sqrt(np.sum(x**2, -1, keepdims=True) / (x.shape[-1] - 1) + eps) * weight


def wrong_root_missing(x, weight, eps=1e-6):
    return x / (np.mean(x**2, -1, keepdims=True) + eps) * weight


def wrong_square_for_root(x, weight, eps=1e-6):
    return x / (np.mean(x**2, -1, keepdims=True) + eps) ** 2 * weight


def wrong_multiplied_by_root(x, weight, eps=1e-6):
    return x * np.sqrt(np.mean(x**2, -1, keepdims=True) + eps) * weight


def wrong_multiplied_by_root__divided_by_inverse(x, weight, eps=1e-6):
    return x / (1 / np.sqrt(np.mean(x**2, -1, keepdims=True) + eps)) * weight


def wrong_mean_of_root(x, weight, eps=1e-6):
    return x / np.sqrt(np.abs(x).mean(-1, keepdims=True) ** 2 + eps) * weight


def wrong_not_squared(x, weight, eps=1e-6):
    return x / np.sqrt(x.mean(-1, keepdims=True) + eps) * weight


def wrong_mean_squared(x, weight, eps=1e-6):
    return x / np.sqrt(np.mean(x, -1, keepdims=True) ** 2 + eps) * weight


def wrong_eps_missing(x, weight):
    return x / np.sqrt(np.mean(x**2, -1, keepdims=True)) * weight


def wrong_eps_missing__argument(x, weight, eps=1e-6):
    return x / np.sqrt(np.mean(x**2, -1, keepdims=True)) * weight


def wrong_eps_ignored(x, weight, eps=1e-6):
    return x / np.sqrt(np.mean(x**2, -1, keepdims=True) + 1e-6) * weight


def wrong_eps_subtracted(x, weight, eps=1e-6):
    return x / np.sqrt(np.mean(x**2, -1, keepdims=True) - eps) * weight


def wrong_first_axis(x, weight, eps=1e-6):
    return x / np.sqrt(np.mean(x**2, 0, keepdims=True) + eps) * weight


def wrong_second_axis(x, weight, eps=1e-6):
    return x / np.sqrt(np.mean(x**2, 1, keepdims=True) + eps) * weight


def wrong_all_axes(x, weight, eps=1e-6):
    return x / np.sqrt(np.mean(x**2) + eps) * weight


def wrong_all_axes_but_the_first(x, weight, eps=1e-6):
    axes = tuple(range(1, x.ndim))
    return x / np.sqrt(np.mean(x**2, axes, keepdims=True) + eps) * weight


def wrong_no_keepdims(x, weight, eps=1e-6):
    return x / np.sqrt(np.mean(x**2, -1) + eps) * weight


def wrong_weight_missing(x, weight, eps=1e-6):
    return x / np.sqrt(np.mean(x**2, -1, keepdims=True) + eps)


def wrong_weight_before_norm(x, weight, eps=1e-6):
    x = weight * x
    return x / np.sqrt(np.mean(x**2, -1, keepdims=True) + eps)


def wrong_weight_added(x, weight, eps=1e-6):
    return x / np.sqrt(np.mean(x**2, -1, keepdims=True) + eps) + weight


def wrong_weight_divides(x, weight, eps=1e-6):
    return x / (np.sqrt(np.mean(x**2, -1, keepdims=True) + eps) * weight)


def wrong_one_plus_weight(x, weight, eps=1e-6):
    return x / np.sqrt(np.mean(x**2, -1, keepdims=True) + eps) * (1 + weight)


def wrong_weight_per_row(x, weight, eps=1e-6):
    return x / np.sqrt(np.mean(x**2, -1, keepdims=True) + eps) * weight.reshape(-1, 1)


def wrong_computed_in_half_precision(x, weight, eps=1e-6):
    x = x.astype(np.float16)
    return x / np.sqrt(np.mean(x**2, -1, keepdims=True) + np.float16(eps)) * weight


def wrong_eps(x, weight, eps=1e-6):
    return x / np.sqrt(np.mean(x**2, -1, keepdims=True) + np.sqrt(eps)) * weight


def wrong_eps__too_large(x, weight):
    return x / np.sqrt(np.mean(x**2, -1, keepdims=True) + 0.5) * weight


def wrong_changes_inputs(x, weight, eps=1e-6):
    x /= np.sqrt(np.mean(x**2, -1, keepdims=True) + eps)
    return x * weight


class Differentiable:
    """A function with its gradient, called with arrays, as in a small autograd library."""

    def __call__(self, *arrays):
        self.inputs = arrays
        return self.forward(*arrays)

    def forward(self, *arrays):
        raise NotImplementedError

    def backward(self, upstream):
        raise NotImplementedError


class Right_function_with_gradient(Differentiable):
    def __init__(self, eps=1e-6):
        self.eps = eps

    def forward(self, x, w):
        self.inverse = (np.mean(x * x, axis=-1, keepdims=True) + self.eps) ** -0.5
        self.normed = x * self.inverse
        return self.normed * w

    def backward(self, upstream):
        x, w = self.inputs
        scaled = upstream * w
        d_x = self.inverse * (scaled - self.normed * np.mean(scaled * self.normed, axis=-1, keepdims=True))
        return d_x, np.sum(upstream * self.normed, axis=tuple(range(x.ndim - 1)))


class Wrong_weight_missing__function_with_gradient(Right_function_with_gradient):
    def forward(self, x, w):
        self.inverse = (np.mean(x * x, axis=-1, keepdims=True) + self.eps) ** -0.5
        return x * self.inverse
