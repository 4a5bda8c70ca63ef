import math

import numpy as np


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def right_plain(q, k, v):
    return softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])) @ v


def right_two_dimensional(Q, K, V):
    d_k = Q.shape[1]
    scores = np.matmul(Q, K.T) / np.sqrt(d_k)
    return softmax(scores, axis=1) @ V


def right_without_shift(Q, K, V):
    # the reference solution of a well-known site
    scores = np.dot(Q, K.T) / np.sqrt(Q.shape[1])
    weights = np.exp(scores) / np.sum(np.exp(scores), axis=1, keepdims=True)
    return np.dot(weights, V)


def right_masked(query, key, value, mask=None):
    scores = query @ key.swapaxes(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -1e9)
    return softmax(scores) @ value


def right_mask_of_zeros_and_ones(q, k, v, mask=None):
    s = np.einsum("...qd,...kd->...qk", q, k) * q.shape[-1] ** -0.5
    if mask is not None:
        s = np.where(mask == 0, -np.inf, s)
    return np.einsum("...qk,...kd->...qd", softmax(s), v)


def right_mask_true_is_hidden(q, k, v, mask=None):
    s = q @ np.swapaxes(k, -1, -2) / np.sqrt(k.shape[-1])
    if mask is not None:
        s = np.where(mask, -1e9, s)
    return softmax(s) @ v


def right_mask_one_is_hidden(q, k, v, mask):
    s = q @ np.swapaxes(k, -1, -2) / np.sqrt(k.shape[-1])
    s = s + mask * -1e9
    return softmax(s) @ v


def right_mask_added(q, k, v, mask=None):
    s = q @ np.swapaxes(k, -1, -2) / np.sqrt(k.shape[-1])
    if mask is not None:
        s = s + mask
    return softmax(s) @ v


def right_mask_and_normalise_again(q, k, v, mask=None):
    w = softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(k.shape[-1]))
    if mask is not None:
        w = w * mask
        w = w / w.sum(-1, keepdims=True)
    return w @ v


def right_mask_per_head(q, k, v, mask=None):
    s = q @ np.swapaxes(k, -1, -2) / np.sqrt(k.shape[-1])
    if mask is not None:
        s = np.where(mask[:, None] if q.ndim == 4 else mask, s, -np.inf)
    return softmax(s) @ v


def right_scale_on_both(q, k, v):
    d = q.shape[-1] ** 0.25
    return softmax((q / d) @ np.swapaxes(k / d, -1, -2)) @ v


def right_scale_on_query(q, k, v, scale=None):
    scale = 1 / np.sqrt(q.shape[-1]) if scale is None else scale
    return softmax((q * scale) @ np.swapaxes(k, -1, -2)) @ v


def right_loops(Q, K, V):
    out = np.zeros((len(Q), V.shape[1]))
    for i in range(len(Q)):
        s = [sum(Q[i][c] * K[j][c] for c in range(len(Q[i]))) / math.sqrt(len(Q[i])) for j in range(len(K))]
        top = max(s)
        powers = [math.exp(x - top) for x in s]
        total = sum(powers)
        for j in range(len(K)):
            out[i] += powers[j] / total * V[j]
    return out


def right_lists(q, k, v):
    rows = []
    for a in q:
        s = [sum(x * y for x, y in zip(a, b)) / math.sqrt(len(a)) for b in k]
        p = [math.exp(x - max(s)) for x in s]
        rows.append([sum(w * row[c] for w, row in zip(p, v)) / sum(p) for c in range(len(v[0]))])
    return rows


def right_online(q, k, v):
    # one key at a time, as flash attention does
    m = np.full(q.shape[:-1] + (1,), -np.inf)
    total = np.zeros(q.shape[:-1] + (1,))
    out = np.zeros(q.shape[:-1] + (v.shape[-1],))
    for j in range(k.shape[-2]):
        s = (q * k[..., j : j + 1, :]).sum(-1, keepdims=True) / np.sqrt(q.shape[-1])
        new = np.maximum(m, s)
        out = out * np.exp(m - new) + np.exp(s - new) * v[..., j : j + 1, :]
        total = total * np.exp(m - new) + np.exp(s - new)
        m = new
    return out / total


def right_returns_weights_too(q, k, v):
    w = softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]))
    return w @ v, w


def right_weights_first(q, k, v):
    w = softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]))
    return w, w @ v


def right_causal_bottom_right(q, k, v, is_causal=False):
    s = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    if is_causal:
        s = np.where(np.tril(np.ones(s.shape[-2:]), k.shape[-2] - q.shape[-2]) == 1, s, -np.inf)
    return softmax(s) @ v


def right_causal_top_left(q, k, v, is_causal=False):
    s = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    if is_causal:
        s = s + np.triu(np.full(s.shape[-2:], -np.inf), 1)
    return softmax(s) @ v


def right_causal_square_only(q, k, v, causal=False):
    s = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    if causal:
        s = np.where(np.tril(np.ones((q.shape[-2], q.shape[-2]), bool)), s, -1e9)
    return softmax(s) @ v


def right_told_the_width(q, k, v, d_k):
    return softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(d_k)) @ v


class right_class:  # noqa: N801
    def __init__(self, d_k):
        self.d_k = d_k

    def forward(self, q, k, v, mask=None):
        s = q @ np.swapaxes(k, -1, -2) / np.sqrt(self.d_k)
        if mask is not None:
            s = np.where(mask, s, -np.inf)
        return softmax(s) @ v


def wrong_scale(q, k, v):
    return softmax(q @ np.swapaxes(k, -1, -2)) @ v


def wrong_scale__multiplied(q, k, v):
    return softmax(q @ np.swapaxes(k, -1, -2) * np.sqrt(q.shape[-1])) @ v


def wrong_scale__sequence_length(Q, K, V):
    return softmax(Q @ K.T / np.sqrt(K.shape[0])) @ V


def wrong_scale__without_root(q, k, v):
    return softmax(q @ np.swapaxes(k, -1, -2) / q.shape[-1]) @ v


def wrong_scale__precedence(q, k, v):
    return softmax(q @ np.swapaxes(k, -1, -2) / (q.shape[-1] ** 1 / 2)) @ v


def wrong_scale__heads(q, k, v):
    return softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[1])) @ v


def wrong_scale__twice(q, k, v, mask=None):
    q = q / np.sqrt(q.shape[-1])
    s = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    if mask is not None:
        s = np.where(mask, s, -np.inf)
    return softmax(s) @ v


def wrong_scale__whole_model(q, k, v):
    return softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1] * (q.shape[-3] if q.ndim > 2 else 1))) @ v


def wrong_scale_after_softmax(q, k, v):
    return softmax(q @ np.swapaxes(k, -1, -2)) / np.sqrt(q.shape[-1]) @ v


def wrong_given_scale_ignored(q, k, v, scale=None):
    return softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])) @ v


def wrong_keys_not_transposed(Q, K, V):
    return softmax(Q @ K / np.sqrt(Q.shape[-1])) @ V


def wrong_key_not_used(q, k, v):
    return softmax(q @ np.swapaxes(q, -1, -2) / np.sqrt(q.shape[-1])) @ v


def wrong_scores_transposed(q, k, v):
    return softmax(k @ np.swapaxes(q, -1, -2) / np.sqrt(q.shape[-1])) @ v


def wrong_scores_normalised(q, k, v):
    q = q / np.linalg.norm(q, axis=-1, keepdims=True)
    k = k / np.linalg.norm(k, axis=-1, keepdims=True)
    return softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])) @ v


def wrong_keys_cut_to_the_queries__loop(Q, K, V):
    n, d = Q.shape
    scores = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            scores[i, j] = Q[i] @ K[j] / np.sqrt(d)
    w = softmax(scores)
    out = np.zeros((n, V.shape[1]))
    for i in range(n):
        for j in range(n):
            out[i] += w[i, j] * V[j]
    return out


def wrong_softmax_over_queries(q, k, v):
    return softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]), axis=-2) @ v


def wrong_softmax_over_first_axis(q, k, v):
    return softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]), axis=0) @ v


def wrong_softmax_over_everything(q, k, v):
    s = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    return np.exp(s) / np.exp(s).sum() @ v


def wrong_softmax_missing(q, k, v):
    return q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]) @ v


def wrong_softmax_twice(q, k, v):
    return softmax(softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]))) @ v


def wrong_exponentials_not_divided(q, k, v):
    return np.exp(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])) @ v


def wrong_divided_without_keepdims(q, k, v):
    e = np.exp(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]))
    return e / e.sum(axis=-1) @ v


def wrong_hardest_key_only(q, k, v):
    s = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    return np.take_along_axis(v, s.argmax(-1)[..., None], -2)


def wrong_weights_transposed(Q, K, V):
    return softmax(Q @ K.T / np.sqrt(Q.shape[-1])).T @ V


def wrong_weights_returned(q, k, v):
    return softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]))


def wrong_value_is_key(q, k, v):
    return softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])) @ k


def wrong_last_row_everywhere(Q, K, V):
    out = np.zeros((len(Q), V.shape[1]))
    for i in range(len(Q)):
        w = softmax(K @ Q[i] / np.sqrt(Q.shape[1]))
        out[:] = w @ V
    return out


def wrong_rows_add_up(Q, K, V):
    out, acc = np.zeros((len(Q), V.shape[1])), 0
    for i in range(len(Q)):
        w = softmax(K @ Q[i] / np.sqrt(Q.shape[1]))
        for j in range(len(K)):
            acc = acc + w[j] * V[j]
        out[i] = acc
    return out


def wrong_whole_numbers_out(Q, K, V):
    out = np.zeros_like(V, shape=(len(Q), V.shape[1]))
    for i in range(len(Q)):
        out[i] = softmax(K @ Q[i] / np.sqrt(Q.shape[1])) @ V
    return out


def wrong_mask_ignored(q, k, v, mask=None):
    s = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    if mask is not None:
        np.where(mask, s, -1e9)
    return softmax(s) @ v


def wrong_mask_after_softmax(q, k, v, mask=None):
    w = softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]))
    if mask is not None:
        w = w * mask
    return w @ v


def wrong_minus_infinity_after_softmax(q, k, v, mask=None):
    w = softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]))
    if mask is not None:
        w = np.where(mask, w, -np.inf)
    return w @ v


def wrong_mask_added_as_zero_and_one(q, k, v, mask=None):
    s = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    if mask is not None:
        s = s + np.where(mask, 1.0, 0.0)
    return softmax(s) @ v


def wrong_hidden_score_is_zero(q, k, v, mask=None):
    s = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    if mask is not None:
        s = s * mask
    return softmax(s) @ v


def wrong_hidden_score_is_zero__slip_of_the_exponent(q, k, v, mask=None):
    s = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    if mask is not None:
        s = np.where(mask, s, 1e-9)
    return softmax(s) @ v


def wrong_hidden_score_is_large(q, k, v, mask=None):
    s = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    if mask is not None:
        s = np.where(mask, s, 1e9)
    return softmax(s) @ v


def wrong_fill_too_small(q, k, v, mask=None):
    s = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    if mask is not None:
        s = np.where(mask, s, -1)
    return softmax(s) @ v


def wrong_zero_times_infinity(q, k, v, mask=None):
    s = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    if mask is not None:
        s = s + (1 - mask.astype(int)) * -np.inf
    return softmax(s) @ v


def wrong_diagonal_hidden(q, k, v, is_causal=False):
    s = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    if is_causal:
        s = np.where(np.triu(np.ones(s.shape[-2:])) == 1, -np.inf, s)
    return softmax(s) @ v


def wrong_sees_one_ahead(q, k, v, is_causal=False):
    s = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    if is_causal:
        s = np.where(np.triu(np.ones(s.shape[-2:]), k=2) == 1, -1e9, s)
    return softmax(s) @ v


def wrong_causal_upside_down(q, k, v, is_causal=False):
    s = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    if is_causal:
        s = np.where(np.triu(np.ones(s.shape[-2:])) == 1, s, -1e9)
    return softmax(s) @ v


def wrong_causal_ignored(q, k, v, mask=None, is_causal=False):
    return right_masked(q, k, v, mask)


def wrong_mask_replaces_the_causal(q, k, v, mask=None, is_causal=False):
    s = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    if mask is None and is_causal:
        mask = np.tril(np.ones(s.shape[-2:], bool), k.shape[-2] - q.shape[-2])
    if mask is not None:
        s = np.where(mask, s, -1e9)
    return softmax(s) @ v


def wrong_either_mask_allows(q, k, v, mask=None, is_causal=False):
    s = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    if is_causal:
        lower = np.tril(np.ones(s.shape[-2:], bool), k.shape[-2] - q.shape[-2])
        mask = lower if mask is None else mask | lower
    if mask is not None:
        s = np.where(mask, s, -1e9)
    return softmax(s) @ v


def wrong_changes_inputs(q, k, v):
    q /= np.sqrt(q.shape[-1])
    return softmax(q @ np.swapaxes(k, -1, -2)) @ v


def wrong_not_repeatable(q, k, v):
    w = softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]))
    return (w * (np.random.rand(*w.shape) > 0.1) / 0.9) @ v


def right_one_mask_for_all_heads(Q, K, V, mask=None):  # noqa: N803
    scores = Q @ K.transpose(0, 1, 3, 2) / np.sqrt(Q.shape[-1])
    if mask is not None:
        scores = np.where(mask[np.newaxis, np.newaxis, :, :], -1e9, scores)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ V


def right_with_modes(q, k, v, mask, dropout_key, dropout_rate, training):
    scores = np.where(mask, q @ k.swapaxes(-2, -1) / np.sqrt(q.shape[-1]), -1e9)
    weights = softmax(scores)
    if training and dropout_rate > 0:
        weights = weights * (np.random.default_rng(dropout_key).random(weights.shape) > dropout_rate) / (1 - dropout_rate)
    return weights @ v
