import numpy as np


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def attention(q, k, v, mask=None):
    s = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    if mask is not None:
        s = s + mask
    return softmax(s) @ v


def right_already_projected(Q, K, V, n_heads):
    seq_len, d_model = Q.shape
    d_k = d_model // n_heads
    heads = []
    for i in range(n_heads):
        cut = slice(i * d_k, (i + 1) * d_k)
        heads.append(attention(Q[:, cut], K[:, cut], V[:, cut]))
    return np.concatenate(heads, axis=-1)


def right_already_projected__reshaped(Q, K, V, n_heads):
    d_k = Q.shape[1] // n_heads
    q, k, v = (x.reshape(x.shape[0], n_heads, d_k).transpose(1, 0, 2) for x in (Q, K, V))
    return np.concatenate([attention(q[i], k[i], v[i]) for i in range(n_heads)], axis=-1)


def linear(x, w, b):
    return x @ w + b


def right_picogpt(x, c_attn, c_proj, n_head):
    x = linear(x, **c_attn)
    qkv = np.split(x, 3, axis=-1)
    qkv_heads = list(map(lambda x: np.split(x, n_head, axis=-1), qkv))
    causal_mask = (1 - np.tri(x.shape[0], dtype=x.dtype)) * -1e10
    out_heads = [attention(q, k, v, causal_mask) for q, k, v in zip(*qkv_heads)]
    x = np.hstack(out_heads)
    return linear(x, **c_proj)


def right_all_weights(x, Wq, Wk, Wv, Wo, num_heads, mask=None):
    b, n, d = x.shape
    hd = Wq.shape[1] // num_heads
    q = (x @ Wq).reshape(b, n, num_heads, hd).transpose(0, 2, 1, 3)
    k = (x @ Wk).reshape(b, n, num_heads, hd).transpose(0, 2, 1, 3)
    v = (x @ Wv).reshape(b, n, num_heads, hd).transpose(0, 2, 1, 3)
    s = np.einsum("bhid,bhjd->bhij", q, k) / np.sqrt(hd)
    if mask is not None:
        s = np.where(mask, s, -1e9)
    return np.einsum("bhij,bhjd->bihd", softmax(s), v).reshape(b, n, -1) @ Wo


def right_no_output_weights(x, w_q, w_k, w_v, n_heads):
    q, k, v = (np.stack(np.split(x @ w, n_heads, axis=-1), axis=-3) for w in (w_q, w_k, w_v))
    out = attention(q, k, v)
    return np.concatenate([out[..., h, :, :] for h in range(n_heads)], axis=-1)


def right_rows_out(query, key, value, w_q, w_k, w_v, w_o, num_heads):
    def split(x, w):
        y = x @ w.T
        return np.swapaxes(y.reshape(*y.shape[:-1], num_heads, -1), -2, -3)

    out = attention(split(query, w_q), split(key, w_k), split(value, w_v))
    out = np.swapaxes(out, -2, -3)
    return out.reshape(*out.shape[:-2], -1) @ w_o.T


class right_class:  # noqa: N801
    def __init__(self, d_model, num_heads):
        assert d_model % num_heads == 0
        self.h, self.d_k = num_heads, d_model // num_heads
        self.W_q = np.random.randn(d_model, d_model) / np.sqrt(d_model)
        self.W_k = np.random.randn(d_model, d_model) / np.sqrt(d_model)
        self.W_v = np.random.randn(d_model, d_model) / np.sqrt(d_model)
        self.W_o = np.random.randn(d_model, d_model) / np.sqrt(d_model)

    def split(self, x):
        return x.reshape(x.shape[0], x.shape[1], self.h, self.d_k).transpose(0, 2, 1, 3)

    def forward(self, x, mask=None):
        q, k, v = self.split(x @ self.W_q), self.split(x @ self.W_k), self.split(x @ self.W_v)
        s = q @ k.transpose(0, 1, 3, 2) / np.sqrt(self.d_k)
        if mask is not None:
            s = np.where(mask == 0, -1e9, s)
        out = (softmax(s) @ v).transpose(0, 2, 1, 3).reshape(x.shape)
        return out @ self.W_o


class right_class_of_lists:  # noqa: N801
    def __init__(self, embed_dim, n_heads):
        d = embed_dim // n_heads
        self.params = {
            "Wq": [np.random.randn(embed_dim, d) for _ in range(n_heads)],
            "Wk": [np.random.randn(embed_dim, d) for _ in range(n_heads)],
            "Wv": [np.random.randn(embed_dim, d) for _ in range(n_heads)],
            "Wo": np.random.randn(embed_dim, embed_dim),
        }

    def __call__(self, x):
        p = self.params
        heads = [attention(x @ q, x @ k, x @ v) for q, k, v in zip(p["Wq"], p["Wk"], p["Wv"])]
        return np.concatenate(heads, axis=-1) @ p["Wo"]


class right_class_stacked_by_head:  # noqa: N801
    def __init__(self, d_model, heads):
        self.q = np.random.randn(heads, d_model, d_model // heads)
        self.k = np.random.randn(heads, d_model, d_model // heads)
        self.v = np.random.randn(heads, d_model, d_model // heads)
        self.o = np.random.randn(d_model, d_model)

    def forward(self, x):
        q, k, v = (np.einsum("bld,hde->bhle", x, w) for w in (self.q, self.k, self.v))
        out = attention(q, k, v)
        return out.transpose(0, 2, 1, 3).reshape(x.shape) @ self.o


def wrong_heads_viewed_not_split(x, Wq, Wk, Wv, Wo, num_heads):
    b, n, d = x.shape
    q, k, v = ((x @ w).reshape(b, num_heads, n, -1) for w in (Wq, Wk, Wv))
    return attention(q, k, v).transpose(0, 2, 1, 3).reshape(b, n, -1) @ Wo


def wrong_heads_viewed_both_ways(Q, K, V, n_heads):
    n, d = Q.shape
    q, k, v = (x.reshape(n_heads, -1, d // n_heads) for x in (Q, K, V))
    return attention(q, k, v).reshape(n, d)


def wrong_heads_viewed_not_merged(Q, K, V, n_heads):
    n, d = Q.shape
    q, k, v = (x.reshape(-1, n_heads, d // n_heads).transpose(1, 0, 2) for x in (Q, K, V))
    return attention(q, k, v).reshape(n, d)


def wrong_attends_over_heads(Q, K, V, n_heads):
    n, d = Q.shape
    q, k, v = (x.reshape(-1, n_heads, d // n_heads) for x in (Q, K, V))
    return attention(q, k, v).reshape(n, d)


def wrong_heads_take_every_nth_column(Q, K, V, n_heads):
    heads = [attention(Q[:, h::n_heads], K[:, h::n_heads], V[:, h::n_heads]) for h in range(n_heads)]
    return np.concatenate(heads, axis=-1)


def wrong_heads_concatenated_along_positions(Q, K, V, n_heads):
    heads = [attention(*parts) for parts in zip(*(np.split(x, n_heads, axis=-1) for x in (Q, K, V)))]
    return np.concatenate(heads, axis=0)


def wrong_heads_summed(Q, K, V, n_heads):
    return sum(attention(*parts) for parts in zip(*(np.split(x, n_heads, axis=-1) for x in (Q, K, V))))


def wrong_heads_averaged(Q, K, V, n_heads):
    return sum(attention(*parts) for parts in zip(*(np.split(x, n_heads, axis=-1) for x in (Q, K, V)))) / n_heads


def wrong_heads_in_reverse(Q, K, V, n_heads):
    heads = []
    for parts in zip(*(np.split(x, n_heads, axis=-1) for x in (Q, K, V))):
        heads.insert(0, attention(*parts))
    return np.concatenate(heads, axis=-1)


def wrong_last_head_everywhere(Q, K, V, n_heads):
    d = Q.shape[1] // n_heads
    head, heads = np.zeros((Q.shape[0], d)), []
    for h in range(n_heads):
        head[:] = attention(Q[:, h * d : (h + 1) * d], K[:, h * d : (h + 1) * d], V[:, h * d : (h + 1) * d])
        heads.append(head)
    return np.concatenate(heads, axis=-1)


def wrong_first_head_everywhere(Q, K, V, n_heads):
    d = Q.shape[1] // n_heads
    return np.concatenate([attention(Q[:, :d], K[:, :d], V[:, :d]) for _ in range(n_heads)], axis=-1)


def wrong_scale(Q, K, V, n_heads):
    d = Q.shape[1]
    heads = []
    for q, k, v in zip(*(np.split(x, n_heads, axis=-1) for x in (Q, K, V))):
        heads.append(softmax(q @ k.T / np.sqrt(d)) @ v)
    return np.concatenate(heads, axis=-1)


def wrong_whole_numbers_out(Q, K, V, n_heads):
    d = Q.shape[1] // n_heads
    out = np.zeros_like(Q)
    for h in range(n_heads):
        cut = slice(h * d, (h + 1) * d)
        out[:, cut] = attention(Q[:, cut], K[:, cut], V[:, cut])
    return out


def wrong_softmax_over_queries(Q, K, V, n_heads):
    heads = []
    for q, k, v in zip(*(np.split(x, n_heads, axis=-1) for x in (Q, K, V))):
        heads.append(softmax(q @ k.T / np.sqrt(q.shape[1]), axis=0) @ v)
    return np.concatenate(heads, axis=-1)


def wrong_no_output_projection(x, Wq, Wk, Wv, Wo, num_heads):
    q, k, v = (np.stack(np.split(x @ w, num_heads, axis=-1), axis=-3) for w in (Wq, Wk, Wv))
    out = attention(q, k, v)
    return np.concatenate([out[..., h, :, :] for h in range(num_heads)], axis=-1)


def wrong_key_and_value_weights_exchanged__picogpt(x, c_attn, c_proj, n_head):
    q, v, k = np.split(linear(x, **c_attn), 3, axis=-1)
    heads = [np.split(part, n_head, axis=-1) for part in (q, k, v)]
    mask = (1 - np.tri(x.shape[0])) * -1e10
    return linear(np.hstack([attention(a, b, c, mask) for a, b, c in zip(*heads)]), **c_proj)


def wrong_diagonal_hidden__picogpt(x, c_attn, c_proj, n_head):
    heads = [np.split(part, n_head, axis=-1) for part in np.split(linear(x, **c_attn), 3, axis=-1)]
    mask = np.triu(np.ones((len(x), len(x)))) * -1e10
    return linear(np.hstack([attention(a, b, c, mask) for a, b, c in zip(*heads)]), **c_proj)


class wrong_no_output_projection__class:  # noqa: N801
    def __init__(self, d_model, num_heads):
        self.h = num_heads
        self.wq, self.wk, self.wv = (np.random.randn(d_model, d_model) for _ in range(3))

    def forward(self, x):
        q, k, v = (np.stack(np.split(x @ w, self.h, axis=-1), axis=-3) for w in (self.wq, self.wk, self.wv))
        out = attention(q, k, v)
        return np.concatenate([out[..., h, :, :] for h in range(self.h)], axis=-1)


class wrong_one_projection_for_all:  # noqa: N801
    def __init__(self, d_model, num_heads):
        self.h = num_heads
        self.w = np.random.randn(d_model, d_model)
        self.wo = np.random.randn(d_model, d_model)

    def forward(self, x):
        q = k = v = np.stack(np.split(x @ self.w, self.h, axis=-1), axis=-3)
        out = attention(q, k, v)
        return np.concatenate([out[..., h, :, :] for h in range(self.h)], axis=-1) @ self.wo


def right_mask_of_zeros_and_ones(x, Wq, Wk, Wv, Wo, n_heads, attention_mask=None):
    b, n, d = x.shape
    q, k, v = ((x @ w).reshape(b, n, n_heads, d // n_heads).transpose(0, 2, 1, 3) for w in (Wq, Wk, Wv))
    s = q @ k.swapaxes(-1, -2) / np.sqrt(d // n_heads)
    if attention_mask is not None:
        s = np.where(attention_mask[:, None, None, :] == 1, s, -np.inf)
    return (softmax(s) @ v).transpose(0, 2, 1, 3).reshape(b, n, d) @ Wo


def right_with_biases(x, W_q, b_q, W_k, b_k, W_v, b_v, W_o, b_o, num_heads):
    q, k, v = (np.stack(np.split(x @ w + b, num_heads, axis=-1), axis=-3) for w, b in ((W_q, b_q), (W_k, b_k), (W_v, b_v)))
    out = attention(q, k, v)
    return np.concatenate([out[..., h, :, :] for h in range(num_heads)], axis=-1) @ W_o + b_o


def wrong_scale__number_of_heads(Q, K, V, n_heads):
    heads = []
    for q, k, v in zip(*(np.split(x, n_heads, axis=-1) for x in (Q, K, V))):
        heads.append(softmax(q @ k.T / np.sqrt(n_heads)) @ v)
    return np.concatenate(heads, axis=-1)


def wrong_scale__none(Q, K, V, n_heads):
    heads = [softmax(q @ k.T) @ v for q, k, v in zip(*(np.split(x, n_heads, axis=-1) for x in (Q, K, V)))]
    return np.concatenate(heads, axis=-1)


def wrong_scale__width_of_the_input(x, Wq, Wk, Wv, Wo, num_heads):
    q, k, v = (np.stack(np.split(x @ w, num_heads, axis=-1), axis=-3) for w in (Wq, Wk, Wv))
    out = softmax(q @ k.swapaxes(-1, -2) / np.sqrt(x.shape[-1])) @ v
    return np.concatenate([out[..., h, :, :] for h in range(num_heads)], axis=-1) @ Wo


def wrong_scale_after_softmax(Q, K, V, n_heads):
    heads = [softmax(q @ k.T) / np.sqrt(q.shape[1]) @ v for q, k, v in zip(*(np.split(x, n_heads, axis=-1) for x in (Q, K, V)))]
    return np.concatenate(heads, axis=-1)


def wrong_softmax_missing(Q, K, V, n_heads):
    heads = [q @ k.T / np.sqrt(q.shape[1]) @ v for q, k, v in zip(*(np.split(x, n_heads, axis=-1) for x in (Q, K, V)))]
    return np.concatenate(heads, axis=-1)


def wrong_value_is_key(Q, K, V, n_heads):
    heads = [attention(q, k, k) for q, k, v in zip(*(np.split(x, n_heads, axis=-1) for x in (Q, K, V)))]
    return np.concatenate(heads, axis=-1)


def wrong_scores_transposed(Q, K, V, n_heads):
    heads = [attention(k, q, v) for q, k, v in zip(*(np.split(x, n_heads, axis=-1) for x in (Q, K, V)))]
    return np.concatenate(heads, axis=-1)


def wrong_weights_transposed(Q, K, V, n_heads):
    heads = [softmax(q @ k.T / np.sqrt(q.shape[1])).T @ v for q, k, v in zip(*(np.split(x, n_heads, axis=-1) for x in (Q, K, V)))]
    return np.concatenate(heads, axis=-1)


def wrong_mask_ignored(x, Wq, Wk, Wv, Wo, num_heads, mask=None):
    q, k, v = (np.stack(np.split(x @ w, num_heads, axis=-1), axis=-3) for w in (Wq, Wk, Wv))
    out = attention(q, k, v)
    return np.concatenate([out[..., h, :, :] for h in range(num_heads)], axis=-1) @ Wo


def wrong_mask_after_softmax(x, Wq, Wk, Wv, Wo, num_heads, mask=None):
    b, n, d = x.shape
    q, k, v = ((x @ w).reshape(b, n, num_heads, -1).transpose(0, 2, 1, 3) for w in (Wq, Wk, Wv))
    w = softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]))
    if mask is not None:
        w = w * mask
    return (w @ v).transpose(0, 2, 1, 3).reshape(b, n, -1) @ Wo


def wrong_hidden_score_is_zero(x, Wq, Wk, Wv, Wo, num_heads, mask):
    b, n, d = x.shape
    q, k, v = ((x @ w).reshape(b, n, num_heads, -1).transpose(0, 2, 1, 3) for w in (Wq, Wk, Wv))
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    return (softmax(np.where(mask == 0, 1e-9, s)) @ v).transpose(0, 2, 1, 3).reshape(b, n, -1) @ Wo


def wrong_fill_too_small(x, Wq, Wk, Wv, Wo, num_heads, mask):
    b, n, d = x.shape
    q, k, v = ((x @ w).reshape(b, n, num_heads, -1).transpose(0, 2, 1, 3) for w in (Wq, Wk, Wv))
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    return (softmax(np.where(mask == 0, -3.0, s)) @ v).transpose(0, 2, 1, 3).reshape(b, n, -1) @ Wo


def wrong_value_from_the_key_projection(x, Wq, Wk, Wv, Wo, num_heads):
    q, k, v = (np.stack(np.split(x @ w, num_heads, axis=-1), axis=-3) for w in (Wq, Wk, Wk))
    out = attention(q, k, v)
    return np.concatenate([out[..., h, :, :] for h in range(num_heads)], axis=-1) @ Wo


def wrong_batch_and_heads_exchanged(x, Wq, Wk, Wv, Wo, num_heads):
    b, n, _ = x.shape
    q, k, v = ((x @ w).reshape(b, n, num_heads, -1).transpose(0, 2, 1, 3).reshape(b * num_heads, n, -1) for w in (Wq, Wk, Wv))
    out = attention(q, k, v).reshape(num_heads, b, n, -1).transpose(1, 2, 0, 3)
    return out.reshape(b, n, -1) @ Wo


def wrong_output_weight_transposed(x, Wq, Wk, Wv, Wo, num_heads):
    q, k, v = (np.stack(np.split(x @ w, num_heads, axis=-1), axis=-3) for w in (Wq, Wk, Wv))
    out = attention(q, k, v)
    return np.concatenate([out[..., h, :, :] for h in range(num_heads)], axis=-1) @ Wo.T


def wrong_biases_missing(x, W_q, b_q, W_k, b_k, W_v, b_v, W_o, b_o, num_heads):
    q, k, v = (np.stack(np.split(x @ w, num_heads, axis=-1), axis=-3) for w in (W_q, W_k, W_v))
    out = attention(q, k, v)
    return np.concatenate([out[..., h, :, :] for h in range(num_heads)], axis=-1) @ W_o


def wrong_sees_one_ahead__picogpt(x, c_attn, c_proj, n_head):
    heads = [np.split(part, n_head, axis=-1) for part in np.split(linear(x, **c_attn), 3, axis=-1)]
    mask = np.triu(np.ones((len(x), len(x))), 2) * -1e10
    return linear(np.hstack([attention(a, b, c, mask) for a, b, c in zip(*heads)]), **c_proj)


def wrong_sees_the_future_alone__sign_of_the_mask(x, c_attn, c_proj, n_head):
    heads = [np.split(part, n_head, axis=-1) for part in np.split(linear(x, **c_attn), 3, axis=-1)]
    mask = (1 - np.tri(len(x))) * 1e10
    return linear(np.hstack([attention(a, b, c, mask) for a, b, c in zip(*heads)]), **c_proj)


class right_one_sequence__masked_by_default:
    def __init__(self, d_model, num_heads):
        self.num_heads = num_heads
        self.W_q, self.W_k, self.W_v, self.W_o = (np.random.randn(d_model, d_model) for _ in range(4))

    def forward(self, x, use_mask=True):
        length, width = x.shape
        weights = (self.W_q, self.W_k, self.W_v)
        q, k, v = ((x @ each).reshape(length, self.num_heads, -1).transpose(1, 0, 2) for each in weights)
        scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
        if use_mask:
            scores = scores + np.triu(np.full((length, length), -1e9), 1)
        return (softmax(scores) @ v).transpose(1, 0, 2).reshape(length, width) @ self.W_o


def wrong_keys_viewed_transposed(Q, K, V, n_heads):
    n, d = Q.shape
    q, v = (x.reshape(-1, n_heads, d // n_heads).transpose(1, 0, 2) for x in (Q, V))
    scores = q @ K.reshape(n_heads, d // n_heads, n) / np.sqrt(d // n_heads)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return (weights @ v).transpose(1, 0, 2).reshape(n, d)
