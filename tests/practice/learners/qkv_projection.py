import numpy as np


def right_matrix_products(X, W_q, W_k, W_v):
    Q = np.dot(X, W_q)
    K = np.dot(X, W_k)
    V = np.dot(X, W_v)
    return Q, K, V


def right_weights_out_in(x, wq, wk, wv):
    return x @ wq.T, x @ wk.T, x @ wv.T


def right_matmul(X: np.ndarray, W_q: np.ndarray, W_k: np.ndarray, W_v: np.ndarray) -> tuple:
    return np.matmul(X, W_q), np.matmul(X, W_k), np.matmul(X, W_v)


def right_list(x, wq, wk, wv):
    return [x @ w for w in (wq, wk, wv)]


def right_stacked(x, wq, wk, wv):
    return np.stack([x @ wq, x @ wk, x @ wv])


def right_dict(embeddings, w_query, w_key, w_value):
    return {"Q": embeddings @ w_query, "K": embeddings @ w_key, "V": embeddings @ w_value}


def right_dict__words(inputs, W_query, W_key, W_value):
    return {"queries": inputs @ W_query, "keys": inputs @ W_key, "values": inputs @ W_value}


def right_einsum(x, Wq, Wk, Wv):
    return tuple(np.einsum("...ld,de->...le", x, w) for w in (Wq, Wk, Wv))


def right_loops(X, W_q, W_k, W_v):
    def times(a, b):
        out = np.zeros((len(a), b.shape[1]))
        for i in range(len(a)):
            for j in range(b.shape[1]):
                out[i, j] = sum(a[i, k] * b[k, j] for k in range(b.shape[0]))
        return out

    return times(X, W_q), times(X, W_k), times(X, W_v)


def right_with_biases(x, Wq, Wk, Wv, bq, bk, bv):
    return x @ Wq + bq, x @ Wk + bk, x @ Wv + bv


def right_with_biases_if_any(x, Wq, Wk, Wv, bq=None, bk=None, bv=None):
    def linear(w, b):
        return x @ w if b is None else x @ w + b

    return linear(Wq, bq), linear(Wk, bk), linear(Wv, bv)


def right_fused_split(x, w_qkv):
    return np.split(x @ w_qkv, 3, axis=-1)


def right_fused_out_in(x, w_qkv):
    q, k, v = np.split(x @ w_qkv.T, 3, axis=-1)
    return q, k, v


def right_fused_with_bias(x, w_qkv, b_qkv):
    return tuple(np.split(x @ w_qkv + b_qkv, 3, axis=-1))


def right_picogpt(x, c_attn):
    return np.split(x @ c_attn["w"] + c_attn["b"], 3, axis=-1)


class right_projections:
    def __init__(self, d_model, d_k):
        self.W_q = np.random.randn(d_model, d_k)
        self.W_k = np.random.randn(d_model, d_k)
        self.W_v = np.random.randn(d_model, d_k)

    def forward(self, x):
        return x @ self.W_q, x @ self.W_k, x @ self.W_v


class right_fused:
    def __init__(self, d_model):
        self.W_qkv = np.random.randn(d_model, 3 * d_model) * 0.02

    def __call__(self, x):
        return np.split(x @ self.W_qkv, 3, axis=-1)


def wrong_query_and_key_weights_exchanged(X, W_q, W_k, W_v):
    return X @ W_k, X @ W_q, X @ W_v


def wrong_key_and_value_weights_exchanged(X, W_q, W_k, W_v):
    return X @ W_q, X @ W_v, X @ W_k


def wrong_weights_one_place_on__order(X, W_q, W_k, W_v):
    return X @ W_k, X @ W_v, X @ W_q


def wrong_key_from_the_query_projection(X, W_q, W_k, W_v):
    return X @ W_q, X @ W_q, X @ W_v


def wrong_value_from_the_key_projection(X, W_q, W_k, W_v):
    Q = np.dot(X, W_q)
    K = np.dot(X, W_k)
    V = np.dot(X, W_k)
    return Q, K, V


def wrong_one_projection_for_all(X, W_q, W_k, W_v):
    Q = K = V = X @ W_q
    return Q, K, V


def wrong_value_weight_transposed(X, W_q, W_k, W_v):
    return X @ W_q, X @ W_k, X @ W_v.T


def wrong_value_not_projected(X, W_q, W_k, W_v):
    return X @ W_q, X @ W_k, X


def wrong_nothing_projected(X, W_q, W_k, W_v):
    return X, X, X


def wrong_element_by_element(X, W_q, W_k, W_v):
    return X * W_q, X * W_k, X * W_v


def wrong_query_alone(X, W_q, W_k, W_v):
    Q = X @ W_q
    K = X @ W_k
    V = X @ W_v
    return Q


def wrong_biases_missing(x, Wq, Wk, Wv, bq, bk, bv):
    return x @ Wq, x @ Wk, x @ Wv


def wrong_key_and_value_weights_exchanged__fused(x, w_qkv):
    q, v, k = np.split(x @ w_qkv, 3, axis=-1)
    return q, k, v


def wrong_weights_reshaped(x, wq, wk, wv):
    return tuple(x @ w.reshape(w.shape[1], w.shape[0]) for w in (wq, wk, wv))


def wrong_not_repeatable(x, d_k):
    d = x.shape[-1]
    W_q, W_k, W_v = (np.random.randn(d, d_k) for _ in range(3))
    return x @ W_q, x @ W_k, x @ W_v


def wrong_returns_nothing(X, W_q, W_k, W_v):
    Q, K, V = X @ W_q, X @ W_k, X @ W_v


class wrong_key_from_the_query_projection__class:
    def __init__(self, d_model, d_k):
        self.W_q = np.random.randn(d_model, d_k)
        self.W_k = np.random.randn(d_model, d_k)
        self.W_v = np.random.randn(d_model, d_k)

    def forward(self, x):
        return x @ self.W_q, x @ self.W_q, x @ self.W_v
