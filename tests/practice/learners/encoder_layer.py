# ruff: noqa: N801
import numpy as np


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def layer_norm(x, gamma, beta, eps=1e-6):
    mean = x.mean(axis=-1, keepdims=True)
    var = x.var(axis=-1, keepdims=True)
    return gamma * (x - mean) / np.sqrt(var + eps) + beta


def multi_head_attention(x, W_q, W_k, W_v, W_o, num_heads, mask=None):
    *lead, n, d = x.shape

    def heads(y):
        return y.reshape(*lead, n, num_heads, d // num_heads).swapaxes(-2, -3)

    q, k, v = heads(x @ W_q), heads(x @ W_k), heads(x @ W_v)
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(d // num_heads)
    if mask is not None:
        scores = np.where(mask, scores, -1e9)
    return (softmax(scores) @ v).swapaxes(-2, -3).reshape(*lead, n, d) @ W_o


def right_weights(x, W_q, W_k, W_v, W_o, W1, b1, W2, b2, gamma1, beta1, gamma2, beta2, num_heads, mask=None):
    x = layer_norm(x + multi_head_attention(x, W_q, W_k, W_v, W_o, num_heads, mask), gamma1, beta1)
    return layer_norm(x + np.maximum(0, x @ W1 + b1) @ W2 + b2, gamma2, beta2)


def right_pre_norm(x, W_q, W_k, W_v, W_o, W1, b1, W2, b2, gamma1, beta1, gamma2, beta2, num_heads, mask=None):
    x = x + multi_head_attention(layer_norm(x, gamma1, beta1), W_q, W_k, W_v, W_o, num_heads, mask)
    return x + np.maximum(0, layer_norm(x, gamma2, beta2) @ W1 + b1) @ W2 + b2


class LayerNorm:
    def __init__(self, d_model, eps=1e-5):
        self.gamma = np.ones(d_model)
        self.beta = np.zeros(d_model)
        self.eps = eps

    def __call__(self, x):
        return layer_norm(x, self.gamma, self.beta, self.eps)


class MultiHeadAttention:
    def __init__(self, d_model, num_heads):
        self.num_heads = num_heads
        self.W_q, self.W_k, self.W_v, self.W_o = (np.random.randn(d_model, d_model) * 0.1 for _ in range(4))

    def forward(self, x, mask=None):
        return multi_head_attention(x, self.W_q, self.W_k, self.W_v, self.W_o, self.num_heads, mask)


class FeedForward:
    def __init__(self, d_model, d_ff):
        self.W1, self.b1 = np.random.randn(d_model, d_ff) * 0.1, np.zeros(d_ff)
        self.W2, self.b2 = np.random.randn(d_ff, d_model) * 0.1, np.zeros(d_model)

    def forward(self, x):
        return np.maximum(0, x @ self.W1 + self.b1) @ self.W2 + self.b2


class right_class:
    def __init__(self, d_model, num_heads, d_ff):
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm1 = LayerNorm(d_model)
        self.norm2 = LayerNorm(d_model)

    def forward(self, x, mask=None):
        x = self.norm1(x + self.attention.forward(x, mask))
        return self.norm2(x + self.feed_forward.forward(x))


class wrong_residual_1_missing(right_class):
    def forward(self, x, mask=None):
        x = self.norm1(self.attention.forward(x, mask))
        return self.norm2(x + self.feed_forward.forward(x))


class wrong_parts_normalised_afterwards(right_class):
    def forward(self, x, mask=None):
        x = x + self.norm1(self.attention.forward(x, mask))
        return x + self.norm2(self.feed_forward.forward(x))


class wrong_norm_over_all_positions(right_class):
    def forward(self, x, mask=None):
        def norm(x, held):
            axes = (-2, -1)
            return held.gamma * (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-5) + held.beta

        x = norm(x + self.attention.forward(x, mask), self.norm1)
        return norm(x + self.feed_forward.forward(x), self.norm2)


def wrong_norm_shared(x, W_q, W_k, W_v, W_o, W1, b1, W2, b2, gamma1, beta1, gamma2, beta2, num_heads):
    x = layer_norm(x + multi_head_attention(x, W_q, W_k, W_v, W_o, num_heads), gamma1, beta1)
    return layer_norm(x + np.maximum(0, x @ W1 + b1) @ W2 + b2, gamma1, beta1)


def wrong_activation_missing(x, W_q, W_k, W_v, W_o, W1, b1, W2, b2, gamma1, beta1, gamma2, beta2, num_heads):
    x = layer_norm(x + multi_head_attention(x, W_q, W_k, W_v, W_o, num_heads), gamma1, beta1)
    return layer_norm(x + (x @ W1 + b1) @ W2 + b2, gamma2, beta2)


def wrong_residual_2_missing(x, W_q, W_k, W_v, W_o, W1, b1, W2, b2, gamma1, beta1, gamma2, beta2, num_heads):
    x = layer_norm(x + multi_head_attention(x, W_q, W_k, W_v, W_o, num_heads), gamma1, beta1)
    return layer_norm(np.maximum(0, x @ W1 + b1) @ W2 + b2, gamma2, beta2)


def right_one_is_hidden(x, W_q, W_k, W_v, W_o, W1, b1, W2, b2, gamma1, beta1, gamma2, beta2, num_heads, mask=None):
    def gelu(y):
        return 0.5 * y * (1 + np.tanh(np.sqrt(2 / np.pi) * (y + 0.044715 * y**3)))

    allowed = None if mask is None else mask == 0
    x = layer_norm(x + multi_head_attention(x, W_q, W_k, W_v, W_o, num_heads, allowed), gamma1, beta1)
    return layer_norm(x + gelu(x @ W1 + b1) @ W2 + b2, gamma2, beta2)


class wrong_sublayer_1_unused(right_class):
    def forward(self, x, mask=None):
        h = self.norm1(x)
        self.attention.forward(h, mask)
        x = x + h
        return x + self.feed_forward.forward(self.norm2(x))


class wrong_sublayer_2_unused(right_class):
    def forward(self, x, mask=None):
        x = self.norm1(x + self.attention.forward(x, mask))
        self.feed_forward.forward(x)
        return self.norm2(x + x)


class wrong_input_added_again(right_class):
    def forward(self, x, mask=None):
        y = x + self.attention.forward(self.norm1(x), mask)
        y = y + self.feed_forward.forward(self.norm2(y))
        return x + y
