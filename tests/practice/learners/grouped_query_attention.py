import numpy as np


def softmax(x, axis=-1):
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


def attention(q, k, v):
    return softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])) @ v


def right_heads_repeated(query, key, value):
    n = query.shape[-3] // key.shape[-3]
    return attention(query, np.repeat(key, n, axis=-3), np.repeat(value, n, axis=-3))


def right_heads_broadcast(query, key, value, scale=None, mask=None):
    *lead, h_q, n, d = query.shape
    h, m = key.shape[-3:-1]
    q = query.reshape(*lead, h, h_q // h, n, d)
    k, v = key.reshape(*lead, h, 1, m, d), value.reshape(*lead, h, 1, m, d)
    scores = q @ k.swapaxes(-1, -2) * (d**-0.5 if scale is None else scale)
    if mask is not None:
        scores = scores + np.broadcast_to(mask, (*lead, h_q, n, m)).reshape(scores.shape)
    return (softmax(scores) @ v).reshape(query.shape)


def right_loop_over_heads(q, k, v):
    group = q.shape[1] // k.shape[1]
    return np.stack([attention(q[:, h], k[:, h // group], v[:, h // group]) for h in range(q.shape[1])], axis=1)


def right_heads_side_by_side(Q, K, V, num_heads, num_kv_heads):
    batch, length, width = Q.shape
    dim, repeats = width // num_heads, num_heads // num_kv_heads
    q = Q.reshape(batch, length, num_heads, dim).swapaxes(1, 2)
    k, v = (np.repeat(each.reshape(batch, -1, num_kv_heads, dim).swapaxes(1, 2), repeats, axis=1) for each in (K, V))
    return attention(q, k, v).swapaxes(1, 2).reshape(batch, length, width)


def right_heads_side_by_side__one_length(Q, K, V, num_heads, num_kv_heads):
    batch, length, width = Q.shape
    dim, repeats = width // num_heads, num_heads // num_kv_heads
    q = Q.reshape(batch, length, num_heads, dim).swapaxes(1, 2)
    k, v = (np.repeat(each.reshape(batch, length, num_kv_heads, dim).swapaxes(1, 2), repeats, axis=1) for each in (K, V))
    return attention(q, k, v).swapaxes(1, 2).reshape(batch, length, width)


def wrong_tiled_not_repeated__side_by_side(Q, K, V, num_heads, num_kv_heads):
    batch, length, width = Q.shape
    dim, repeats = width // num_heads, num_heads // num_kv_heads
    q = Q.reshape(batch, length, num_heads, dim).swapaxes(1, 2)
    k, v = (np.tile(each.reshape(batch, length, num_kv_heads, dim).swapaxes(1, 2), (1, repeats, 1, 1)) for each in (K, V))
    return attention(q, k, v).swapaxes(1, 2).reshape(batch, length, width)


def right_from_weights(x, Wq, Wk, Wv, Wo, num_heads, num_kv_heads):
    b, n, _ = x.shape
    q = (x @ Wq).reshape(b, n, num_heads, -1).transpose(0, 2, 1, 3)
    k = (x @ Wk).reshape(b, n, num_kv_heads, -1).transpose(0, 2, 1, 3)
    v = (x @ Wv).reshape(b, n, num_kv_heads, -1).transpose(0, 2, 1, 3)
    k, v = (np.repeat(t, num_heads // num_kv_heads, axis=1) for t in (k, v))
    return attention(q, k, v).transpose(0, 2, 1, 3).reshape(b, n, -1) @ Wo


def right_from_weights__no_output(x, W_q, W_k, W_v, n_heads, n_kv_heads):
    n = x.shape[0]
    q = (x @ W_q).reshape(n, n_heads, -1)
    k = (x @ W_k).reshape(n, n_kv_heads, -1)
    v = (x @ W_v).reshape(n, n_kv_heads, -1)
    heads = [attention(q[:, h], k[:, h * n_kv_heads // n_heads], v[:, h * n_kv_heads // n_heads]) for h in range(n_heads)]
    return np.concatenate(heads, axis=-1)


class right_class:
    def __init__(self, d_model, num_heads, num_kv_heads):
        self.h, self.g, self.d = num_heads, num_kv_heads, d_model // num_heads
        self.W_q = np.random.randn(d_model, num_heads * self.d)
        self.W_k = np.random.randn(d_model, num_kv_heads * self.d)
        self.W_v = np.random.randn(d_model, num_kv_heads * self.d)
        self.W_o = np.random.randn(num_heads * self.d, d_model)

    def forward(self, x):
        b, n, _ = x.shape
        q = (x @ self.W_q).reshape(b, n, self.h, self.d).transpose(0, 2, 1, 3)
        k = (x @ self.W_k).reshape(b, n, self.g, self.d).transpose(0, 2, 1, 3)
        v = (x @ self.W_v).reshape(b, n, self.g, self.d).transpose(0, 2, 1, 3)
        k, v = (np.repeat(t, self.h // self.g, axis=1) for t in (k, v))
        return attention(q, k, v).transpose(0, 2, 1, 3).reshape(b, n, -1) @ self.W_o


def wrong_tiled_not_repeated(query, key, value):
    n = query.shape[-3] // key.shape[-3]
    return attention(query, np.concatenate([key] * n, axis=-3), np.concatenate([value] * n, axis=-3))


def wrong_tiled_not_repeated__tile(query, key, value):
    n = query.shape[1] // key.shape[1]
    return attention(query, np.tile(key, (1, n, 1, 1)), np.tile(value, (1, n, 1, 1)))


def wrong_tiled_not_repeated__modulo(q, k, v):
    g = k.shape[1]
    return np.stack([attention(q[:, h], k[:, h % g], v[:, h % g]) for h in range(q.shape[1])], axis=1)


def wrong_keys_alone_tiled(query, key, value):
    n = query.shape[1] // key.shape[1]
    return attention(query, np.tile(key, (1, n, 1, 1)), np.repeat(value, n, axis=1))


def wrong_first_head_for_all(query, key, value):
    return attention(query, key[:, :1], value[:, :1])


def wrong_heads_averaged_into_one(query, key, value):
    return attention(query, key.mean(axis=1, keepdims=True), value.mean(axis=1, keepdims=True))


def wrong_scale(query, key, value):
    n = query.shape[1] // key.shape[1]
    k, v = np.repeat(key, n, axis=1), np.repeat(value, n, axis=1)
    return softmax(query @ k.swapaxes(-1, -2)) @ v


def wrong_scale__axis_of_heads(query, key, value):
    n = query.shape[1] // key.shape[1]
    k, v = np.repeat(key, n, axis=1), np.repeat(value, n, axis=1)
    return softmax(query @ k.swapaxes(-1, -2) / np.sqrt(query.shape[1])) @ v


def wrong_heads_not_repeated__positions_instead(query, key, value):
    n = query.shape[1] // key.shape[1]
    return attention(query, np.repeat(key, n, axis=2), np.repeat(value, n, axis=2))


def wrong_heads_not_repeated__values(query, key, value):
    n = query.shape[1] // key.shape[1]
    return attention(query, np.repeat(key, n, axis=1), value)


def wrong_softmax_over_axis_one(query, key, value):
    n = query.shape[1] // key.shape[1]
    k, v = np.repeat(key, n, axis=1), np.repeat(value, n, axis=1)
    return softmax(query @ k.swapaxes(-1, -2) / np.sqrt(query.shape[-1]), axis=1) @ v


def wrong_mask_ignored(query, key, value, scale=None, mask=None):
    n = query.shape[-3] // key.shape[-3]
    k, v = np.repeat(key, n, axis=-3), np.repeat(value, n, axis=-3)
    return softmax(query @ k.swapaxes(-1, -2) * (query.shape[-1] ** -0.5 if scale is None else scale)) @ v


def wrong_given_scale_ignored(query, key, value, scale=None, mask=None):
    n = query.shape[-3] // key.shape[-3]
    k, v = np.repeat(key, n, axis=-3), np.repeat(value, n, axis=-3)
    scores = query @ k.swapaxes(-1, -2) / np.sqrt(query.shape[-1])
    return softmax(scores if mask is None else scores + mask) @ v


class wrong_tiled_not_repeated__class:
    def __init__(self, d_model, num_heads, num_kv_heads):
        self.h, self.g, self.d = num_heads, num_kv_heads, d_model // num_heads
        self.W_q = np.random.randn(d_model, num_heads * self.d)
        self.W_k = np.random.randn(d_model, num_kv_heads * self.d)
        self.W_v = np.random.randn(d_model, num_kv_heads * self.d)
        self.W_o = np.random.randn(num_heads * self.d, d_model)

    def forward(self, x):
        b, n, _ = x.shape
        q = (x @ self.W_q).reshape(b, n, self.h, self.d).transpose(0, 2, 1, 3)
        k = (x @ self.W_k).reshape(b, n, self.g, self.d).transpose(0, 2, 1, 3)
        v = (x @ self.W_v).reshape(b, n, self.g, self.d).transpose(0, 2, 1, 3)
        k, v = (np.tile(t, (1, self.h // self.g, 1, 1)) for t in (k, v))
        return attention(q, k, v).transpose(0, 2, 1, 3).reshape(b, n, -1) @ self.W_o


class right_one_sequence__causal_by_default:
    def __init__(self, d_model, num_heads, num_kv_heads):
        self.num_heads, self.num_kv_heads = num_heads, num_kv_heads
        self.head_dim = d_model // num_heads
        inner = num_kv_heads * self.head_dim
        self.W_q, self.W_o = np.random.randn(d_model, d_model), np.random.randn(d_model, d_model)
        self.W_k, self.W_v = np.random.randn(d_model, inner), np.random.randn(d_model, inner)

    def split(self, x, num_heads):
        return x.reshape(len(x), num_heads, self.head_dim).transpose(1, 0, 2)

    def forward(self, x, causal=True):
        length, width = x.shape
        k, v = (self.split(x @ weight, self.num_kv_heads) for weight in (self.W_k, self.W_v))
        k, v = (np.repeat(each, self.num_heads // self.num_kv_heads, axis=0) for each in (k, v))
        scores = self.split(x @ self.W_q, self.num_heads) @ k.transpose(0, 2, 1) / np.sqrt(self.head_dim)
        if causal:
            scores = np.where(np.tri(length, dtype=bool), scores, -1e9)
        return (softmax(scores) @ v).transpose(1, 0, 2).reshape(length, width) @ self.W_o


class Rotation:
    def __init__(self, dims, base=1000000):
        self.rates = base ** (-np.arange(0, dims, 2) / dims)

    def __call__(self, x, offset=0):
        angles = (np.arange(x.shape[1]) + offset)[:, None, None] * self.rates
        first, second = np.split(x, 2, axis=-1)
        return np.concatenate([first * np.cos(angles) - second * np.sin(angles), first * np.sin(angles) + second * np.cos(angles)], -1)


class Right_given_weights_and_inner_biases:  # noqa: N801
    def __init__(self, hidden_size, num_heads, num_kv_heads, wq, wk, wv, wo, bq, bk, bv, theta=1000000):
        self.num_heads, self.num_kv_heads, self.head_dim = num_heads, num_kv_heads, hidden_size // num_heads
        self.wq, self.wk, self.wv, self.wo, self.bq, self.bk, self.bv = wq, wk, wv, wo, bq, bk, bv
        self.rope = Rotation(self.head_dim, theta)

    def __call__(self, x):
        batch, length, width = x.shape
        parts = ((self.wq, self.bq), (self.wk, self.bk), (self.wv, self.bv))
        q, k, v = (x @ weight.T + (0 if bias is None else bias) for weight, bias in parts)
        q = self.rope(q.reshape(batch, length, self.num_heads, self.head_dim)).swapaxes(1, 2)
        k = self.rope(k.reshape(batch, length, self.num_kv_heads, self.head_dim)).swapaxes(1, 2)
        v = v.reshape(batch, length, self.num_kv_heads, self.head_dim).swapaxes(1, 2)
        n = self.num_heads // self.num_kv_heads
        out = attention(q, np.repeat(k, n, axis=1), np.repeat(v, n, axis=1))
        return out.swapaxes(1, 2).reshape(batch, length, width) @ self.wo.T
