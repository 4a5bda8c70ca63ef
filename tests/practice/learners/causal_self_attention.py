import math

import numpy as np


def softmax(x, axis=-1):
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


def linear(x, w, b):
    return x @ w + b


def attention(q, k, v, mask):
    return softmax(q @ k.T / np.sqrt(q.shape[-1]) + mask) @ v


def right_gpt_one_head(x, c_attn, c_proj):
    q, k, v = np.split(linear(x, **c_attn), 3, axis=-1)
    causal_mask = (1 - np.tri(x.shape[0], dtype=x.dtype)) * -1e10
    return linear(attention(q, k, v, causal_mask), **c_proj)


def right_gpt_heads(x, c_attn, c_proj, n_head):
    x = linear(x, **c_attn)
    qkv_heads = [np.split(part, n_head, axis=-1) for part in np.split(x, 3, axis=-1)]
    causal_mask = (1 - np.tri(x.shape[0], dtype=x.dtype)) * -1e10
    out_heads = [attention(q, k, v, causal_mask) for q, k, v in zip(*qkv_heads)]
    return linear(np.hstack(out_heads), **c_proj)


def right_projected(Q, K, V):
    n = Q.shape[0]
    scores = Q @ K.T / np.sqrt(Q.shape[1])
    scores[np.triu_indices(n, k=1)] = -np.inf
    return softmax(scores) @ V


def right_projected__masked(Q, K, V, mask=None):
    seq_len, d = Q.shape
    scores = Q @ K.T / np.sqrt(d)
    allowed = np.tril(np.ones((seq_len, seq_len), dtype=bool))
    if mask is not None:
        allowed = allowed & mask
    return softmax(np.where(allowed, scores, -1e9)) @ V


def right_from_weights(X, W_q, W_k, W_v):
    q, k, v = X @ W_q, X @ W_k, X @ W_v
    scores = q @ k.T / np.sqrt(k.shape[-1])
    mask = np.triu(np.ones_like(scores), k=1) * -1e9
    return softmax(scores + mask) @ v


def right_from_weights__batches(x, Wq, Wk, Wv):
    q, k, v = x @ Wq, x @ Wk, x @ Wv
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    n = x.shape[-2]
    return softmax(np.where(np.tri(n, dtype=bool), scores, -np.inf)) @ v


def right_loops(X, W_q, W_k, W_v):
    q, k, v = X @ W_q, X @ W_k, X @ W_v
    out = []
    for i in range(len(X)):
        scores = np.array([q[i] @ k[j] / math.sqrt(k.shape[1]) for j in range(i + 1)])
        out.append(softmax(scores) @ v[: i + 1])
    return np.array(out)


def right_renormalised(Q, K, V):
    weights = softmax(Q @ K.T / np.sqrt(Q.shape[-1])) * np.tri(len(Q))
    return weights / weights.sum(axis=-1, keepdims=True) @ V


def right_masked_attention(Q, K, V, mask):
    scores = Q @ K.T / np.sqrt(Q.shape[-1])
    return softmax(scores + mask) @ V


class right_class:
    def __init__(self, d_model, num_heads):
        self.h = num_heads
        self.W_q, self.W_k, self.W_v, self.W_o = (np.random.randn(d_model, d_model) * 0.02 for _ in range(4))

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = ((x @ w).reshape(b, n, self.h, -1).transpose(0, 2, 1, 3) for w in (self.W_q, self.W_k, self.W_v))
        s = q @ k.transpose(0, 1, 3, 2) / np.sqrt(d // self.h)
        s = np.where(np.triu(np.ones((n, n)), 1) == 1, -np.inf, s)
        return (softmax(s) @ v).transpose(0, 2, 1, 3).reshape(b, n, d) @ self.W_o


class right_class_of_one_head:
    def __init__(self, d_in, d_out, context_length):
        self.W_query = np.random.rand(d_in, d_out)
        self.W_key = np.random.rand(d_in, d_out)
        self.W_value = np.random.rand(d_in, d_out)
        self.mask = np.triu(np.ones((context_length, context_length)), k=1).astype(bool)

    def forward(self, x):
        n = x.shape[-2]
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        s = q @ k.swapaxes(-1, -2)
        s = np.where(self.mask[:n, :n], -np.inf, s)
        return softmax(s / np.sqrt(k.shape[-1])) @ v


def wrong_causal_ignored(X, W_q, W_k, W_v):
    q, k, v = X @ W_q, X @ W_k, X @ W_v
    return softmax(q @ k.T / np.sqrt(k.shape[-1])) @ v


def wrong_causal_ignored__lost(Q, K, V):
    scores = Q @ K.T / np.sqrt(Q.shape[1])
    np.where(np.tri(len(Q)), scores, -np.inf)
    return softmax(scores) @ V


def wrong_sees_one_ahead(Q, K, V):
    scores = Q @ K.T / np.sqrt(Q.shape[1])
    scores[np.triu_indices(len(Q), k=2)] = -np.inf
    return softmax(scores) @ V


def wrong_diagonal_hidden(Q, K, V):
    scores = Q @ K.T / np.sqrt(Q.shape[1])
    scores[np.triu_indices(len(Q))] = -np.inf
    return softmax(scores) @ V


def wrong_diagonal_hidden__finite(Q, K, V):
    scores = Q @ K.T / np.sqrt(Q.shape[1])
    return softmax(np.where(np.tril(np.ones(scores.shape), k=-1) == 0, -1e9, scores)) @ V


def wrong_diagonal_hidden__added(X, W_q, W_k, W_v):
    q, k, v = X @ W_q, X @ W_k, X @ W_v
    scores = q @ k.T / np.sqrt(k.shape[-1])
    return softmax(scores + np.triu(np.ones_like(scores)) * -1e9) @ v


def wrong_causal_upside_down(Q, K, V):
    scores = Q @ K.T / np.sqrt(Q.shape[1])
    return softmax(np.where(np.triu(np.ones(scores.shape)) == 1, scores, -1e9)) @ V


def wrong_sees_the_future_alone(Q, K, V):
    scores = Q @ K.T / np.sqrt(Q.shape[1])
    return softmax(np.where(np.tril(np.ones(scores.shape)) == 1, -1e9, scores)) @ V


def wrong_hidden_score_is_zero(Q, K, V):
    scores = Q @ K.T / np.sqrt(Q.shape[1])
    return softmax(np.tril(scores)) @ V


def wrong_hidden_score_is_zero__small_fill(Q, K, V):
    scores = Q @ K.T / np.sqrt(Q.shape[1])
    return softmax(np.where(np.tri(len(Q)) == 1, scores, 1e-9)) @ V


def wrong_hidden_score_is_large(Q, K, V):
    scores = Q @ K.T / np.sqrt(Q.shape[1])
    return softmax(np.where(np.tri(len(Q)) == 1, scores, 1e9)) @ V


def wrong_mask_added_as_zero_and_one(Q, K, V):
    scores = Q @ K.T / np.sqrt(Q.shape[1])
    return softmax(scores + np.tri(len(Q))) @ V


def wrong_mask_after_softmax(Q, K, V):
    return np.tril(softmax(Q @ K.T / np.sqrt(Q.shape[1]))) @ V


def wrong_minus_infinity_after_softmax(Q, K, V):
    weights = softmax(Q @ K.T / np.sqrt(Q.shape[1]))
    return np.where(np.tri(len(Q)) == 1, weights, -np.inf) @ V


def wrong_large_number_after_softmax(Q, K, V):
    weights = softmax(Q @ K.T / np.sqrt(Q.shape[1]))
    return np.where(np.tri(len(Q)) == 1, weights, -1e9) @ V


def wrong_zero_times_infinity(Q, K, V):
    mask = np.triu(np.ones((len(Q), len(Q))), 1)
    return softmax(Q @ K.T / np.sqrt(Q.shape[1]) + mask * -np.inf) @ V


def wrong_fill_too_small(Q, K, V):
    scores = Q @ K.T / np.sqrt(Q.shape[1])
    return softmax(np.where(np.tri(len(Q)) == 1, scores, -1)) @ V


def wrong_scale(Q, K, V):
    scores = Q @ K.T
    scores[np.triu_indices(len(Q), k=1)] = -np.inf
    return softmax(scores) @ V


def wrong_scale__from_weights(X, W_q, W_k, W_v):
    q, k, v = X @ W_q, X @ W_k, X @ W_v
    scores = q @ k.T / k.shape[1]
    scores[np.triu_indices(len(q), k=1)] = -np.inf
    return softmax(scores) @ v


def wrong_scale__heads(x, c_attn, c_proj, n_head):
    width = x.shape[-1]
    qkv_heads = [np.split(part, n_head, axis=-1) for part in np.split(linear(x, **c_attn), 3, axis=-1)]
    mask = (1 - np.tri(len(x))) * -1e10
    out_heads = [softmax(q @ k.T / np.sqrt(width) + mask) @ v for q, k, v in zip(*qkv_heads)]
    return linear(np.hstack(out_heads), **c_proj)


def wrong_softmax_over_queries(Q, K, V):
    scores = Q @ K.T / np.sqrt(Q.shape[1])
    scores[np.triu_indices(len(Q), k=1)] = -np.inf
    return softmax(scores, axis=0) @ V


def wrong_no_output_projection(x, c_attn, c_proj, n_head):
    qkv_heads = [np.split(part, n_head, axis=-1) for part in np.split(linear(x, **c_attn), 3, axis=-1)]
    mask = (1 - np.tri(len(x))) * -1e10
    return np.hstack([attention(q, k, v, mask) for q, k, v in zip(*qkv_heads)])


def wrong_key_and_value_weights_exchanged(x, c_attn, c_proj, n_head):
    q, v, k = np.split(linear(x, **c_attn), 3, axis=-1)
    heads = [np.split(part, n_head, axis=-1) for part in (q, k, v)]
    mask = (1 - np.tri(len(x))) * -1e10
    return linear(np.hstack([attention(*parts, mask) for parts in zip(*heads)]), **c_proj)


def wrong_heads_in_reverse(x, c_attn, c_proj, n_head):
    heads = [np.split(part, n_head, axis=-1) for part in np.split(linear(x, **c_attn), 3, axis=-1)]
    mask = (1 - np.tri(len(x))) * -1e10
    return linear(np.hstack([attention(*parts, mask) for parts in zip(*heads)][::-1]), **c_proj)


def wrong_value_is_key(Q, K, V):
    scores = Q @ K.T / np.sqrt(Q.shape[1])
    scores[np.triu_indices(len(Q), k=1)] = -np.inf
    return softmax(scores) @ K


def wrong_last_row_everywhere(Q, K, V):
    out = np.zeros_like(V)
    for i in range(len(Q)):
        out[:] = softmax(Q[i] @ K[: i + 1].T / np.sqrt(Q.shape[1])) @ V[: i + 1]
    return out


class wrong_diagonal_hidden__class:
    def __init__(self, d_model, num_heads):
        self.h = num_heads
        self.W_q, self.W_k, self.W_v, self.W_o = (np.random.randn(d_model, d_model) * 0.02 for _ in range(4))

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = ((x @ w).reshape(b, n, self.h, -1).transpose(0, 2, 1, 3) for w in (self.W_q, self.W_k, self.W_v))
        s = q @ k.transpose(0, 1, 3, 2) / np.sqrt(d // self.h)
        s = np.where(np.triu(np.ones((n, n))) == 1, -1e9, s)
        return (softmax(s) @ v).transpose(0, 2, 1, 3).reshape(b, n, d) @ self.W_o
