import numpy as np


def right_picogpt(x, g, b, eps: float = 1e-5):
    mean = np.mean(x, axis=-1, keepdims=True)
    variance = np.var(x, axis=-1, keepdims=True)
    return g * (x - mean) / np.sqrt(variance + eps) + b


def right_plain(x, eps=1e-6):
    mu = x.mean(-1, keepdims=True)
    return (x - mu) / np.sqrt(((x - mu) ** 2).mean(-1, keepdims=True) + eps)


def right_own_epsilon(x):
    mu = x.mean(-1, keepdims=True)
    var = x.var(-1, keepdims=True)
    return (x - mu) * (var + 1e-12) ** -0.5


def right_odd_epsilon(x, gamma, beta):
    return gamma * (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 3e-7) + beta


def right_optional_weights(x, weight=None, bias=None, eps=1e-5):
    y = (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + eps)
    if weight is not None:
        y = y * weight
    if bias is not None:
        y = y + bias
    return y


def right_cs231n(x, gamma, beta, ln_param):
    eps = ln_param.get("eps", 1e-5)
    xt = x.T
    mu = xt.mean(axis=0)
    xc = xt - mu
    std = np.sqrt((xc**2).mean(axis=0) + eps)
    xhat = (xc / std).T
    return gamma * xhat + beta, (xhat, std, gamma)


def right_deep_ml(X, gamma, beta, epsilon=1e-5):
    mean = np.mean(X, axis=-1, keepdims=True)
    variance = np.var(X, axis=-1, keepdims=True)
    norm = (X - mean) / np.sqrt(variance + epsilon)
    return np.round(norm * gamma + beta, 5)


def right_loops(x, weight, bias, eps):
    out = np.zeros_like(x)
    for index in np.ndindex(x.shape[:-1]):
        row = x[index]
        mean = sum(row) / len(row)
        var = sum((v - mean) ** 2 for v in row) / len(row)
        for j, v in enumerate(row):
            out[(*index, j)] = (v - mean) / (var + eps) ** 0.5 * weight[j] + bias[j]
    return out


def right_variance_by_moments(x, weight, bias, eps=1e-5):
    mean = x.mean(-1, keepdims=True)
    var = (x * x).mean(-1, keepdims=True) - mean * mean
    return (x - mean) / np.sqrt(var + eps) * weight + bias


def right_vector_of_floats(x: list) -> list:
    m = sum(x) / len(x)
    v = sum((t - m) ** 2 for t in x) / len(x)
    return [(t - m) / (v + 1e-5) ** 0.5 for t in x]


def wrong_variance_unbiased(x, gamma, beta, eps=1e-5):
    return gamma * (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, ddof=1, keepdims=True) + eps) + beta


def right_std_and_eps(x, gamma, beta, eps=1e-5):
    return gamma * (x - x.mean(-1, keepdims=True)) / (x.std(-1, keepdims=True) + eps) + beta


def wrong_eps_outside_root(x, gamma, beta, eps=1e-5):
    return gamma * (x - x.mean(-1, keepdims=True)) / (np.sqrt(x.var(-1, keepdims=True)) + eps) + beta


def wrong_eps_outside_root__own(x):
    return (x - x.mean(-1, keepdims=True)) / (np.sqrt(x.var(-1, keepdims=True)) + 1e-8)


def wrong_eps_missing(x, gamma, beta):
    return gamma * (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True) + beta


def wrong_eps_ignored(x, eps=1e-5):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


def wrong_eps_subtracted(x, eps=1e-5):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) - eps)


def wrong_root_missing(x, g, b, eps=1e-5):
    return (x - x.mean(-1, keepdims=True)) / (x.var(-1, keepdims=True) + eps) * g + b


def wrong_square_for_root(x, g, b, eps=1e-5):
    return (x - x.mean(-1, keepdims=True)) / (x.var(-1, keepdims=True) + eps) ** 2 * g + b


def wrong_multiplied_by_root(x, eps=1e-5):
    return (x - x.mean(-1, keepdims=True)) / (1 / np.sqrt(x.var(-1, keepdims=True) + eps))


def wrong_not_divided(x):
    return x - x.mean(-1, keepdims=True)


def wrong_mean_not_subtracted(x, g, b, eps=1e-5):
    return x / np.sqrt(x.var(-1, keepdims=True) + eps) * g + b


def wrong_mean_of_squares(x, eps=1e-5):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(np.mean(x**2, -1, keepdims=True) + eps)


def wrong_rms_norm(x, g, eps=1e-5):
    return x / np.sqrt(np.mean(x**2, -1, keepdims=True) + eps) * g


def wrong_sum_for_mean_of_squares(x, g, b, eps=1e-5):
    c = x - x.mean(-1, keepdims=True)
    return c / np.sqrt((c**2).sum(-1, keepdims=True) + eps) * g + b


def wrong_minimum_and_maximum(x):
    low, high = x.min(-1, keepdims=True), x.max(-1, keepdims=True)
    return (x - low) / (high - low)


def wrong_absolute_deviation(x, eps=1e-5):
    c = x - x.mean(-1, keepdims=True)
    return c / np.sqrt(np.abs(c).mean(-1, keepdims=True) ** 2 + eps)


def wrong_first_axis(x, g, b, eps=1e-5):
    return g * (x - x.mean(axis=0)) / np.sqrt(x.var(axis=0) + eps) + b


def wrong_second_axis(x, g, b, eps=1e-5):
    return g * (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + eps) + b


def wrong_all_axes(x, g, b, eps=1e-5):
    return g * (x - np.mean(x)) / np.sqrt(np.var(x) + eps) + b


def wrong_all_axes_but_the_first(x, g, b, eps=1e-5):
    axes = tuple(range(1, x.ndim))
    return g * (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps) + b


def wrong_first_axis_in_variance(x, g, b, eps=1e-5):
    return g * (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(0) + eps) + b


def wrong_all_axes_in_variance(x, g, b, eps=1e-5):
    return g * (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var() + eps) + b


def wrong_no_keepdims(x, g, b, eps=1e-5):
    return g * (x - x.mean(-1)) / np.sqrt(x.var(-1) + eps) + b


def wrong_no_keepdims_in_mean_used_twice(x, g, b, eps=1e-5):
    c = x - x.mean(-1)
    return g * c / np.sqrt((c**2).mean(-1, keepdims=True) + eps) + b


def wrong_no_keepdims_in_variance(x, g, b, eps=1e-5):
    return g * (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1) + eps) + b


def wrong_no_keepdims_in_mean(x, eps=1e-5):
    return (x - x.mean(-1)) / np.sqrt(x.var(-1, keepdims=True) + eps)


def wrong_weight_missing(x, gamma, beta, eps=1e-5):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps) + beta


def wrong_bias_missing(x, gamma, beta, eps=1e-5):
    return gamma * (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps)


def wrong_weight_and_bias_missing(x, gamma, beta, eps=1e-5):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps)


def wrong_weight_and_bias_exchanged(x, gamma, beta, eps=1e-5):
    return beta * (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps) + gamma


def wrong_bias_before_weight(x, gamma, beta, eps=1e-5):
    return gamma * ((x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps) + beta)


def wrong_weight_before_norm(x, gamma, beta, eps=1e-5):
    x = x * gamma
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps) + beta


def wrong_weight_added(x, gamma, beta, eps=1e-5):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps) + gamma + beta


def wrong_one_plus_weight(x, gamma, beta, eps=1e-5):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps) * (1 + gamma) + beta


def wrong_weight_per_row(x, gamma, beta, eps=1e-5):
    return gamma[:, np.newaxis] * (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps) + beta


def wrong_computed_in_half_precision(x, eps=1e-5):
    x = x.astype(np.float16)
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(((x - x.mean(-1, keepdims=True)) ** 2).mean(-1, keepdims=True) + np.float16(eps))


def wrong_eps(x, eps=1e-5):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps**2)


def wrong_eps__far_too_large(x):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 0.1)


def wrong_changes_inputs(x, gamma, beta, eps=1e-5):
    x -= x.mean(-1, keepdims=True)
    x /= np.sqrt((x**2).mean(-1, keepdims=True) + eps)
    return x * gamma + beta


def wrong_default_value(x, gamma, beta, eps=1):
    mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return gamma * (x - mean) / np.sqrt(var + eps) + beta


class Parameter:
    def __init__(self, data):
        self.data, self.grad = data, np.zeros_like(data)


class Module:
    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)


class right_module_of_its_own(Module):  # noqa: N801
    def __init__(self, size, eps=1e-5):
        self.gamma, self.beta = Parameter(np.ones(size)), Parameter(np.zeros(size))
        self.eps = eps

    def scaled(self, x):
        return (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + self.eps)

    def forward(self, x):
        return self.scaled(x) * self.gamma.data + self.beta.data


class wrong_mean_not_subtracted__module_of_its_own(right_module_of_its_own):  # noqa: N801
    def scaled(self, x):
        return x / np.sqrt(x.var(axis=-1, keepdims=True) + self.eps)


def right_converted_to_float32(x, weight, eps=1e-5):
    x = np.array(x, dtype=np.float32)
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps) * weight
