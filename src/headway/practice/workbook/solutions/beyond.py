"""NumPy solutions of parts that the workbook's GPT-2 does not use, for find-the-bug exercises."""
# ruff: noqa: D103
# mypy: ignore-errors

import numpy as np

from headway.practice.workbook.solutions.in_numpy import linear, softmax


def log_softmax(x, axis=-1):
    shifted = x - np.max(x, axis=axis, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))


def relu(x):
    return np.maximum(x, 0)


def sigmoid(x):
    return 0.5 + 0.5 * np.tanh(0.5 * x)


def silu(x):
    return x * sigmoid(x)


def rms_norm(x, weight, eps=1e-6):
    mean_square = np.mean(x**2, axis=-1, keepdims=True)
    return x / np.sqrt(mean_square + eps) * weight


def gated_feed_forward(x, gate_weight, up_weight, down_weight):
    gate = silu(linear(x, gate_weight))
    hidden = gate * linear(x, up_weight)
    return linear(hidden, down_weight)


def sinusoidal_positions(seq_len, hidden_size, base=10000):
    positions = np.arange(seq_len)[:, None]
    angles = positions / base ** (np.arange(0, hidden_size, 2) / hidden_size)
    table = np.zeros((seq_len, hidden_size))
    table[:, 0::2] = np.sin(angles)
    table[:, 1::2] = np.cos(angles[:, : hidden_size // 2])
    return table


def rotary(x, theta=10000):
    head_dim = x.shape[-1]
    frequencies = theta ** (-np.arange(0, head_dim, 2) / head_dim)
    angles = np.arange(x.shape[-2])[:, None] * frequencies
    cos, sin = np.cos(angles), np.sin(angles)
    a, b = x[..., : head_dim // 2], x[..., head_dim // 2 :]
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)


def cross_entropy(logits, targets):
    log_probabilities = log_softmax(logits)
    rows = np.arange(len(targets))
    return -np.mean(log_probabilities[rows, targets])


def temperature(logits, temperature):
    return softmax(logits / temperature)


def top_k(logits, k):
    smallest_kept = np.sort(logits, axis=-1)[..., -k, None]
    return np.where(logits >= smallest_kept, logits, -np.inf)


def top_p(logits, p):
    probabilities = softmax(logits)
    order = np.argsort(-probabilities, axis=-1)
    ordered = np.take_along_axis(probabilities, order, axis=-1)
    before = np.cumsum(ordered, axis=-1) - ordered
    is_kept = np.empty(logits.shape, bool)
    np.put_along_axis(is_kept, order, before < p, axis=-1)
    return np.where(is_kept, logits, -np.inf)


def adam_step(point, gradient, mean, square, step, learning_rate=1e-3, beta1=0.9, beta2=0.999, eps=1e-8):
    mean = beta1 * mean + (1 - beta1) * gradient
    square = beta2 * square + (1 - beta2) * gradient**2
    mean_hat = mean / (1 - beta1**step)
    square_hat = square / (1 - beta2**step)
    return point - learning_rate * mean_hat / (np.sqrt(square_hat) + eps), mean, square
