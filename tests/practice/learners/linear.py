import numpy as np


def right_out_in(x, weight, bias=None):
    y = x @ weight.T
    return y if bias is None else y + bias


def right_in_out(x, w, b):
    return x @ w + b


def right_dot(inputs, weights, bias):
    return np.dot(inputs, weights) + bias


def right_einsum(x, W, b):
    return np.einsum("...i,oi->...o", x, W) + b


def right_without_bias(x, W):
    return np.matmul(x, W.T)


def right_columns(W, b, A_prev):
    return W @ A_prev + b


def right_loops(x, w, b):
    out = np.zeros((x.shape[0], w.shape[0]))
    for i in range(x.shape[0]):
        for j in range(w.shape[0]):
            out[i, j] = b[j]
            for k in range(x.shape[1]):
                out[i, j] += x[i, k] * w[j, k]
    return out


def right_lists(x, w, b):
    return [[sum(p * q for p, q in zip(row, column)) + offset for column, offset in zip(w, b)] for row in x]


def right_told_its_sizes(d_in, d_out, weights, in_features):
    assert weights.shape == (d_out, d_in)
    return in_features @ weights.T


def right_cs231n(x, w, b):
    out = x.reshape(x.shape[0], -1).dot(w) + b
    cache = (x, w, b)
    return out


def wrong_bias_missing(x, w, b):
    return x @ w


def wrong_bias_per_row(x, weight, bias):
    return x @ weight.T + bias.reshape(-1, 1)


def wrong_bias_subtracted(x, w, b):
    return x @ w - b


def wrong_bias_multiplied(x, w, b):
    return x @ w.T * b


def wrong_bias_summed(x, w, b):
    return x @ w.T + np.sum(b)


def wrong_first_bias_for_all(x, w, b):
    return x @ w.T + b[0]


def wrong_bias_before_product(x, w, b):
    return (x + b) @ w.T


def wrong_weight_reshaped(x, weight, bias=None):
    y = x @ weight.reshape(weight.shape[1], weight.shape[0])
    return y if bias is None else y + bias


def wrong_elementwise_product(x, w):
    return x * w


def wrong_answer_transposed(x, w):
    return np.dot(w, x.T)


def wrong_input_transposed(x, w, b):
    return x.T @ w.T + b


def wrong_summed_over_rows(x, w):
    return np.einsum("bi,oi->o", x, w)


def wrong_relu_applied(x, w, b):
    return np.maximum(0, x @ w + b)


def wrong_sigmoid_applied(x, w, b):
    return 1 / (1 + np.exp(-(x @ w + b)))


def wrong_tanh_applied(x, w, b):
    return np.tanh(x @ w.T + b)


def wrong_whole_numbers_returned(x, w):
    out = np.zeros(x.shape[:-1] + (w.shape[0],), dtype=int)
    out[...] = x @ w.T
    return out


def wrong_scale(x, weight):
    return x @ weight.T / np.sqrt(weight.shape[1])


def wrong_scale__half(x, w, b):
    return 0.5 * (x @ w) + b


def wrong_bias_scale(x, w, b):
    y = x @ w.T + b
    for _ in range(2):
        y = y + b
    return y


def wrong_not_repeatable(x, weight):
    weight = np.random.randn(*weight.shape)
    return x @ weight.T


def wrong_changes_inputs(x, weight, bias):
    bias += 0.0 * bias + 1e-3
    return x @ weight.T + bias - 1e-3


class Right_function_with_gradient:
    def forward(self, x, w, b):
        self.saved = x, w
        return x @ w + b

    def backward(self, upstream):
        x, w = self.saved
        rows = upstream.reshape(-1, upstream.shape[-1])
        return upstream @ w.T, x.reshape(-1, x.shape[-1]).T @ rows, rows.sum(0)
