import math

import numpy as np


def softmax(x, axis=-1):
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


def right_projected(Q, K, V):
    d_k = Q.shape[1]
    scores = np.matmul(Q, K.T) / np.sqrt(d_k)
    attention_weights = np.exp(scores) / np.sum(np.exp(scores), axis=1, keepdims=True)
    return np.matmul(attention_weights, V)


def right_projected__batches(Q, K, V):
    scores = Q @ np.swapaxes(K, -1, -2) / np.sqrt(Q.shape[-1])
    return softmax(scores) @ V


def right_projected__masked(Q, K, V, mask=None):
    scores = Q @ K.T / math.sqrt(K.shape[-1])
    if mask is not None:
        scores = np.where(mask == 0, -1e9, scores)
    return softmax(scores) @ V


def right_from_weights(X, W_q, W_k, W_v):
    Q, K, V = X @ W_q, X @ W_k, X @ W_v
    return softmax(Q @ K.T / np.sqrt(K.shape[1])) @ V


def right_from_weights__batches(x, Wq, Wk, Wv):
    q, k, v = x @ Wq, x @ Wk, x @ Wv
    weights = softmax(np.einsum("...id,...jd->...ij", q, k) / np.sqrt(q.shape[-1]))
    return np.einsum("...ij,...jd->...id", weights, v)


def right_from_weights__with_weights(x, w_q, w_k, w_v):
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    weights = softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]))
    return weights @ v, weights


def right_from_weights__weights_first(x, w_q, w_k, w_v):
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    weights = softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]))
    return weights, weights @ v


def right_weights_out_in(x, wq, wk, wv):
    q, k, v = x @ wq.T, x @ wk.T, x @ wv.T
    return softmax(q @ k.T / np.sqrt(wk.shape[0])) @ v


def right_told_its_width(x, w_q, w_k, w_v, d_k):
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    return softmax(q @ k.swapaxes(-1, -2) / np.sqrt(d_k)) @ v


def right_with_biases(x, Wq, bq, Wk, bk, Wv, bv):
    q, k, v = x @ Wq + bq, x @ Wk + bk, x @ Wv + bv
    return softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])) @ v


def right_with_output(x, Wq, Wk, Wv, Wo):
    q, k, v = x @ Wq, x @ Wk, x @ Wv
    return softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])) @ v @ Wo


def right_padded(x, Wq, Wk, Wv, mask):
    q, k, v = x @ Wq, x @ Wk, x @ Wv
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
    scores = np.where(mask[:, None, :] == 0, -1e9, scores)
    return softmax(scores) @ v


def right_loops(X, W_q, W_k, W_v):
    q, k, v = X.dot(W_q), X.dot(W_k), X.dot(W_v)
    n, d = q.shape
    out = np.zeros((n, v.shape[1]))
    for i in range(n):
        scores = [sum(q[i][c] * k[j][c] for c in range(d)) / math.sqrt(d) for j in range(n)]
        top = max(scores)
        exps = [math.exp(s - top) for s in scores]
        total = sum(exps)
        for j in range(n):
            out[i] += exps[j] / total * v[j]
    return out


def right_mask_multiplied_and_renormalised(Q, K, V, mask):
    e = np.exp(Q @ K.T / np.sqrt(Q.shape[-1])) * mask
    return (e / e.sum(axis=-1, keepdims=True)) @ V


def right_scale_split_between_both(Q, K, V):
    d = Q.shape[-1]
    return softmax((Q / d**0.25) @ (K / d**0.25).swapaxes(-1, -2)) @ V


def right_scale_on_the_query(x, Wq, Wk, Wv):
    q, k, v = x @ Wq / np.sqrt(Wq.shape[1]), x @ Wk, x @ Wv
    return softmax(q @ k.swapaxes(-1, -2)) @ v


def right_pattern_weaver(n, crystal_values, dimension):
    values = np.array(crystal_values, dtype=float)
    scores = np.outer(values, values) / np.sqrt(dimension)
    woven = []
    for i in range(n):
        weights = np.exp(scores[i] - scores[i].max())
        weights /= weights.sum()
        woven.append(round(float(weights @ values), 4))
    return woven


def right_pattern_weaver__lists(n, crystal_values, dimension):
    woven = []
    for i in range(n):
        scores = [crystal_values[i] * crystal_values[j] / dimension**0.5 for j in range(n)]
        highest = max(scores)
        exps = [math.exp(s - highest) for s in scores]
        total = sum(exps)
        woven.append(round(sum(e / total * v for e, v in zip(exps, crystal_values)), 4))
    return woven


def right_pattern_weaver__numbers_as_text(n, crystal_values, dimension):
    woven = []
    for i in range(n):
        scores = np.array([crystal_values[i] * value for value in crystal_values]) / np.sqrt(dimension)
        weights = softmax(scores)
        woven.append(f"{np.dot(weights, crystal_values):.4f}")
    return [float(text) for text in woven]


class right_class:
    def __init__(self, d_model):
        self.d_model = d_model
        self.W_q = np.random.randn(d_model, d_model)
        self.W_k = np.random.randn(d_model, d_model)
        self.W_v = np.random.randn(d_model, d_model)

    def forward(self, x):
        q, k, v = x @ self.W_q, x @ self.W_k, x @ self.W_v
        return softmax(q @ k.swapaxes(-1, -2) / np.sqrt(self.d_model)) @ v


class right_class_of_two_widths:
    def __init__(self, d_in, d_out):
        rng = np.random.default_rng(0)
        self.params = {name: rng.standard_normal((d_in, d_out)) for name in ("Wq", "Wk", "Wv")}

    def __call__(self, x, mask=None):
        q, k, v = (x @ self.params[name] for name in ("Wq", "Wk", "Wv"))
        s = q @ k.swapaxes(-1, -2) / np.sqrt(k.shape[-1])
        if mask is not None:
            s = np.where(mask, s, -np.inf)
        return softmax(s) @ v


class right_class_called_attention:
    def __init__(self, embed_dim):
        self.wq = np.random.rand(embed_dim, embed_dim)
        self.wk = np.random.rand(embed_dim, embed_dim)
        self.wv = np.random.rand(embed_dim, embed_dim)
        self.bq = np.zeros(embed_dim)
        self.bk = np.zeros(embed_dim)
        self.bv = np.zeros(embed_dim)

    def attention(self, x):
        q = x @ self.wq + self.bq
        k = x @ self.wk + self.bk
        v = x @ self.wv + self.bv
        return softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])) @ v


def wrong_scale__none(X, W_q, W_k, W_v):
    Q, K, V = X @ W_q, X @ W_k, X @ W_v
    return softmax(Q @ K.T) @ V


def wrong_scale__projected(Q, K, V):
    return softmax(Q @ K.T) @ V


def wrong_scale__multiplied(Q, K, V):
    return softmax(Q @ K.T * np.sqrt(Q.shape[-1])) @ V


def wrong_scale__not_rooted(Q, K, V):
    return softmax(Q @ K.T / Q.shape[-1]) @ V


def wrong_scale__sequence_length(Q, K, V):
    return softmax(Q @ K.T / np.sqrt(Q.shape[0])) @ V


def wrong_scale__twice(X, W_q, W_k, W_v):
    Q, K, V = X @ W_q / np.sqrt(W_q.shape[1]), X @ W_k, X @ W_v
    return softmax(Q @ K.T / np.sqrt(K.shape[1])) @ V


def wrong_scale__width_of_the_input(x, Wq, Wk, Wv):
    q, k, v = x @ Wq, x @ Wk, x @ Wv
    return softmax(q @ k.swapaxes(-1, -2) / np.sqrt(x.shape[-1])) @ v


def wrong_scale__pattern_weaver(n, crystal_values, dimension):
    values = np.array(crystal_values, dtype=float)
    return [round(float(softmax(value * values) @ values), 4) for value in values]


def wrong_scale__pattern_weaver_not_rooted(n, crystal_values, dimension):
    values = np.array(crystal_values, dtype=float)
    return [round(float(softmax(value * values / dimension) @ values), 4) for value in values]


def wrong_softmax_missing__pattern_weaver(n, crystal_values, dimension):
    values = np.array(crystal_values, dtype=float)
    return [round(float(value * values / np.sqrt(dimension) @ values), 4) for value in values]


def wrong_scale_after_softmax(Q, K, V):
    return softmax(Q @ K.T) / np.sqrt(Q.shape[-1]) @ V


def wrong_keys_not_transposed(Q, K, V):
    return softmax(Q @ K / np.sqrt(Q.shape[-1])) @ V


def wrong_scores_transposed(Q, K, V):
    return softmax(K @ Q.T / np.sqrt(Q.shape[-1])) @ V


def wrong_key_not_used(Q, K, V):
    return softmax(Q @ Q.T / np.sqrt(Q.shape[-1])) @ V


def wrong_scores_of_keys_with_keys(Q, K, V):
    return softmax(K @ K.T / np.sqrt(K.shape[-1])) @ V


def wrong_value_is_key(Q, K, V):
    return softmax(Q @ K.T / np.sqrt(K.shape[-1])) @ K


def wrong_key_and_value_exchanged(Q, K, V):
    return softmax(Q @ V.T / np.sqrt(Q.shape[-1])) @ K


def wrong_weights_transposed(Q, K, V):
    return softmax(Q @ K.T / np.sqrt(Q.shape[-1])).T @ V


def wrong_weights_returned(Q, K, V):
    return softmax(Q @ K.T / np.sqrt(Q.shape[-1]))


def wrong_weights_returned__from_weights(x, Wq, Wk, Wv):
    q, k, v = x @ Wq, x @ Wk, x @ Wv
    return softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]))


def wrong_softmax_over_queries(X, W_q, W_k, W_v):
    Q, K, V = X @ W_q, X @ W_k, X @ W_v
    return softmax(Q @ K.T / np.sqrt(K.shape[1]), axis=0) @ V


def wrong_softmax_over_axis_one(x, Wq, Wk, Wv):
    q, k, v = x @ Wq, x @ Wk, x @ Wv
    return softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]), axis=1) @ v


def wrong_softmax_over_everything(X, W_q, W_k, W_v):
    Q, K, V = X @ W_q, X @ W_k, X @ W_v
    e = np.exp(Q @ K.T / np.sqrt(K.shape[1]))
    return e / e.sum() @ V


def wrong_divided_without_keepdims(Q, K, V):
    e = np.exp(Q @ K.T / np.sqrt(K.shape[1]))
    return e / e.sum(axis=1) @ V


def wrong_softmax_missing(X, W_q, W_k, W_v):
    return (X @ W_q) @ (X @ W_k).T / np.sqrt(W_k.shape[1]) @ (X @ W_v)


def wrong_softmax_twice(Q, K, V):
    return softmax(softmax(Q @ K.T / np.sqrt(K.shape[1]))) @ V


def wrong_sigmoid_for_softmax(Q, K, V):
    return 1 / (1 + np.exp(-Q @ K.T / np.sqrt(K.shape[1]))) @ V


def wrong_exponentials_not_divided(Q, K, V):
    return np.exp(Q @ K.T / np.sqrt(K.shape[1])) @ V


def wrong_hardest_key_only(Q, K, V):
    return V[np.argmax(Q @ K.T, axis=1)]


def wrong_scores_normalised(Q, K, V):
    q = Q / np.linalg.norm(Q, axis=-1, keepdims=True)
    k = K / np.linalg.norm(K, axis=-1, keepdims=True)
    return softmax(q @ k.T / np.sqrt(K.shape[1])) @ V


def wrong_last_row_everywhere(Q, K, V):
    out = np.zeros((len(Q), V.shape[1]))
    for i in range(len(Q)):
        out[:] = softmax(Q[i] @ K.T / np.sqrt(K.shape[1])) @ V
    return out


def wrong_rows_add_up(Q, K, V):
    out, row = [], np.zeros(V.shape[1])
    for q in Q:
        row = row + softmax(q @ K.T / np.sqrt(K.shape[1])) @ V
        out.append(row)
    return np.array(out)


def wrong_whole_numbers_out(Q, K, V):
    out = np.zeros_like(V)
    for i in range(len(Q)):
        out[i] = softmax(Q[i] @ K.T / np.sqrt(K.shape[1])) @ V
    return out


def wrong_position_meets_itself_only(x, Wq, Wk, Wv):
    q, k, v = x @ Wq, x @ Wk, x @ Wv
    scores = np.einsum("...ld,...ld->...l", q, k)[..., None] / np.sqrt(q.shape[-1])
    return softmax(scores) * v


def wrong_one_projection_for_all(X, W_q, W_k, W_v):
    Q = K = V = X @ W_q
    return softmax(Q @ K.T / np.sqrt(Q.shape[1])) @ V


def wrong_nothing_projected(X, W_q, W_k, W_v):
    return softmax(X @ X.T / np.sqrt(X.shape[1])) @ X


def wrong_value_not_projected(X, W_q, W_k, W_v):
    Q, K = X @ W_q, X @ W_k
    return softmax(Q @ K.T / np.sqrt(Q.shape[1])) @ X


def wrong_value_from_the_key_projection(X, W_q, W_k, W_v):
    Q, K, V = X @ W_q, X @ W_k, X @ W_k
    return softmax(Q @ K.T / np.sqrt(Q.shape[1])) @ V


def wrong_key_from_the_query_projection(x, Wq, Wk, Wv):
    q, k, v = x @ Wq, x @ Wq, x @ Wv
    return softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])) @ v


def wrong_mask_ignored(Q, K, V, mask=None):
    scores = Q @ K.T / np.sqrt(Q.shape[-1])
    if mask is not None:
        np.where(mask, scores, -1e9)
    return softmax(scores) @ V


def wrong_mask_on_rows(x, Wq, Wk, Wv, mask):
    q, k, v = x @ Wq, x @ Wk, x @ Wv
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
    scores = np.where(mask[:, :, None] == 0, -1e9, scores)
    return softmax(scores) @ v


def wrong_mask_after_softmax(Q, K, V, mask):
    return softmax(Q @ K.T / np.sqrt(Q.shape[-1])) * mask @ V


def wrong_hidden_score_is_zero(Q, K, V, mask):
    return softmax(Q @ K.T / np.sqrt(Q.shape[-1]) * mask) @ V


def right_mask_added(Q, K, V, mask):
    return softmax(Q @ K.T / np.sqrt(Q.shape[-1]) + mask) @ V


def wrong_hidden_score_is_zero__small_fill(Q, K, V, mask):
    scores = Q @ K.T / np.sqrt(Q.shape[-1])
    return softmax(np.where(mask == 0, 1e-9, scores)) @ V


def wrong_minus_infinity_after_softmax(Q, K, V, mask):
    weights = softmax(Q @ K.T / np.sqrt(Q.shape[-1]))
    return np.where(mask == 0, -np.inf, weights) @ V


def wrong_fill_too_small(Q, K, V, mask):
    scores = Q @ K.T / np.sqrt(Q.shape[-1])
    return softmax(np.where(mask == 0, -5, scores)) @ V


def wrong_not_repeatable(x, d_k):
    d = x.shape[-1]
    W_q, W_k, W_v = (np.random.randn(d, d_k) for _ in range(3))
    q, k, v = x @ W_q, x @ W_k, x @ W_v
    return softmax(q @ k.swapaxes(-1, -2) / np.sqrt(d_k)) @ v


def wrong_changes_inputs(Q, K, V):
    Q /= np.sqrt(Q.shape[-1])
    return softmax(Q @ K.T) @ V


def wrong_returns_nothing(Q, K, V):
    softmax(Q @ K.T / np.sqrt(Q.shape[-1])) @ V


class wrong_scale__class:
    def __init__(self, d_model):
        self.W_q, self.W_k, self.W_v = (np.random.randn(d_model, d_model) for _ in range(3))

    def forward(self, x):
        q, k, v = x @ self.W_q, x @ self.W_k, x @ self.W_v
        return softmax(q @ k.swapaxes(-1, -2)) @ v


class wrong_value_from_the_key_projection__class:
    def __init__(self, d_model):
        self.W_q, self.W_k, self.W_v = (np.random.randn(d_model, d_model) for _ in range(3))

    def forward(self, x):
        q, k, v = x @ self.W_q, x @ self.W_k, x @ self.W_k
        return softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])) @ v
