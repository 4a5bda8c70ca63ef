import math

import numpy as np


def relu(x):
    return np.maximum(0, x)


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def right_relu(x, W1, b1, W2, b2):
    return np.maximum(0, x @ W1 + b1) @ W2 + b2


def right_out_in(x, w_up, w_down):
    return relu(x @ w_up.T) @ w_down.T


def right_gelu(x, w1, b1, w2, b2):
    hidden = gelu(np.dot(x, w1) + b1)
    return np.dot(hidden, w2) + b2


def right_exact_gelu(x, w1, b1, w2, b2):
    hidden = x @ w1 + b1
    hidden = 0.5 * hidden * (1 + np.vectorize(math.erf)(hidden / math.sqrt(2)))
    return hidden @ w2 + b2


def right_silu(x, w1, w2):
    hidden = x @ w1
    return (hidden / (1 + np.exp(-hidden))) @ w2


def right_einsum(x, w1, w2):
    hidden = np.einsum("...d,fd->...f", x, w1)
    return np.einsum("...f,df->...d", hidden * (hidden > 0), w2)


def right_optional_biases(x, w1, w2, b1=None, b2=None, activation=relu):
    h = x @ w1.T
    if b1 is not None:
        h = h + b1
    y = activation(h) @ w2.T
    return y if b2 is None else y + b2


def right_token_by_token(x, W1, b1, W2, b2):
    out = []
    for token in x:
        hidden = [max(0.0, float(np.dot(row, token)) + b) for row, b in zip(W1, b1)]
        out.append([float(np.dot(row, hidden)) + b for row, b in zip(W2, b2)])
    return np.array(out)


def wrong_activation_missing(x, W1, b1, W2, b2):
    return (x @ W1 + b1) @ W2 + b2


def wrong_activation_after_second(x, W1, b1, W2, b2):
    return relu((x @ W1 + b1) @ W2 + b2)


def wrong_activation_after_second__gelu(x, W1, b1, W2, b2):
    return gelu((x @ W1 + b1) @ W2 + b2)


def wrong_activation_after_both(x, W1, b1, W2, b2):
    return relu(relu(x @ W1 + b1) @ W2 + b2)


def wrong_activation_before_first(x, W1, b1, W2, b2):
    return (relu(x) @ W1 + b1) @ W2 + b2


def wrong_up_bias_missing(x, W1, b1, W2, b2):
    return relu(x @ W1) @ W2 + b2


def wrong_down_bias_missing(x, W1, b1, W2, b2):
    return relu(x @ W1 + b1) @ W2


def wrong_biases_missing(x, W1, b1, W2, b2):
    return gelu(x @ W1) @ W2


def wrong_up_bias_after_activation(x, W1, b1, W2, b2):
    return (relu(x @ W1) + b1) @ W2 + b2


def wrong_residual_added(x, W1, b1, W2, b2):
    return x + gelu(x @ W1 + b1) @ W2 + b2


def wrong_normalised_first(x, W1, b1, W2, b2):
    x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    return gelu(x @ W1 + b1) @ W2 + b2


def wrong_first_map_alone(x, W1, b1, W2, b2):
    return relu(x @ W1 + b1)


def wrong_second_map_is_first_transposed(x, w1, w2):
    return relu(x @ w1.T) @ w1


def wrong_weights_exchanged(x, w1, w2):
    return relu(x @ w2.T) @ w1.T


def wrong_up_reshaped(x, w1, w2):
    return relu(x @ w1.reshape(x.shape[-1], -1)) @ w2.T


def wrong_both_reshaped(x, w1, w2):
    return relu(x @ w1.reshape(w1.shape[::-1])) @ w2.reshape(w2.shape[::-1])


def wrong_sigmoid_for_activation(x, W1, b1, W2, b2):
    return 1 / (1 + np.exp(-(x @ W1 + b1))) @ W2 + b2


def wrong_tanh_for_activation(x, W1, b1, W2, b2):
    return np.tanh(x @ W1 + b1) @ W2 + b2


def wrong_softmax_for_activation(x, W1, b1, W2, b2):
    h = x @ W1 + b1
    e = np.exp(h - h.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ W2 + b2


def wrong_tokens_summed(x, w1, w2):
    h = relu(x @ w1.T).sum(axis=-2, keepdims=True)
    return np.broadcast_to(h @ w2.T, x.shape).copy()


def wrong_slope_below_zero(x, W1, b1, W2, b2):
    h = x @ W1 + b1
    return np.where(h > 0, h, 0.01 * h) @ W2 + b2


def wrong_scale(x, W1, b1, W2, b2):
    return 2 * (relu(x @ W1 + b1) @ W2 + b2)


def wrong_not_repeatable(x, W1, b1, W2, b2):
    h = relu(x @ W1 + b1)
    h = h * (np.random.rand(*h.shape) > 0.1) / 0.9
    return h @ W2 + b2


def wrong_changes_inputs(x, W1, b1, W2, b2):
    h = relu(x @ W1 + b1)
    x *= 0
    x += h @ W2 + b2
    return x


def _linear(x, w, b):
    return x @ w + b


def right_picogpt(x, c_fc, c_proj):
    return _linear(gelu(_linear(x, **c_fc)), **c_proj)


def wrong_activation_missing__picogpt(x, c_fc, c_proj):
    return _linear(_linear(x, **c_fc), **c_proj)


def wrong_biases_multiplied(x, W1, b1, W2, b2):
    return np.einsum("...i,io,o->...o", np.maximum(np.einsum("...i,io,o->...o", x, W1, b1), 0), W2, b2)
