# ruff: noqa: B905, N803, N806

import math

import numpy as np


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def softmax(x):
    exp_x = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return exp_x / np.sum(exp_x, axis=-1, keepdims=True)


def layer_norm(x, g, b, eps: float = 1e-5):
    mean = np.mean(x, axis=-1, keepdims=True)
    variance = np.var(x, axis=-1, keepdims=True)
    return g * ((x - mean) / np.sqrt(variance + eps)) + b


def linear(x, w, b):
    return x @ w + b


def ffn(x, c_fc, c_proj):
    return linear(gelu(linear(x, **c_fc)), **c_proj)


def attention(q, k, v, mask):
    return softmax(q @ k.T / np.sqrt(q.shape[-1]) + mask) @ v


def mha(x, c_attn, c_proj, n_head):
    x = linear(x, **c_attn)
    qkv_heads = [np.split(part, n_head, axis=-1) for part in np.split(x, 3, axis=-1)]
    causal_mask = (1 - np.tri(x.shape[0], dtype=x.dtype)) * -1e10
    out_heads = [attention(q, k, v, causal_mask) for q, k, v in zip(*qkv_heads)]
    return linear(np.hstack(out_heads), **c_proj)


def right_plain(x, mlp, attn, ln_1, ln_2, n_head):
    x = x + mha(layer_norm(x, **ln_1), **attn, n_head=n_head)
    return x + ffn(layer_norm(x, **ln_2), **mlp)


def right_loops(x, mlp, attn, ln_1, ln_2, n_head):
    T, C = x.shape
    d = C // n_head
    h = layer_norm(x, ln_1["g"], ln_1["b"])
    qkv = h @ attn["c_attn"]["w"] + attn["c_attn"]["b"]
    y = np.zeros_like(x)
    for head in range(n_head):
        for i in range(T):
            q = qkv[i, head * d : (head + 1) * d]
            scores = [q @ qkv[j, C + head * d : C + (head + 1) * d] / math.sqrt(d) for j in range(i + 1)]
            weights = np.exp(np.array(scores) - max(scores))
            weights /= weights.sum()
            for j in range(i + 1):
                y[i, head * d : (head + 1) * d] += weights[j] * qkv[j, 2 * C + head * d : 2 * C + (head + 1) * d]
    x = x + y @ attn["c_proj"]["w"] + attn["c_proj"]["b"]
    h = layer_norm(x, ln_2["g"], ln_2["b"])
    return x + gelu(h @ mlp["c_fc"]["w"] + mlp["c_fc"]["b"]) @ mlp["c_proj"]["w"] + mlp["c_proj"]["b"]


def right_batches_by_einsum(x, mlp, attn, ln_1, ln_2, n_head):
    *lead, T, C = x.shape
    qkv = linear(layer_norm(x, **ln_1), **attn["c_attn"]).reshape(*lead, T, 3, n_head, C // n_head)
    q, k, v = (qkv[..., i, :, :] for i in range(3))
    scores = np.einsum("...qhd,...khd->...hqk", q, k) / math.sqrt(C // n_head)
    weights = softmax(np.where(np.tri(T, dtype=bool), scores, -np.inf))
    x = x + linear(np.einsum("...hqk,...khd->...qhd", weights, v).reshape(*lead, T, C), **attn["c_proj"])
    return x + ffn(layer_norm(x, **ln_2), **mlp)


def right_exact_gelu(x, mlp, attn, ln_1, ln_2, n_head):
    x = x + mha(layer_norm(x, **ln_1), **attn, n_head=n_head)
    h = linear(layer_norm(x, **ln_2), **mlp["c_fc"])
    h = h * 0.5 * (1 + np.vectorize(math.erf)(h / math.sqrt(2)))
    return x + linear(h, **mlp["c_proj"])


def right_post_norm_block(x, mlp, attn, ln_1, ln_2, n_head):
    x = layer_norm(x + mha(x, **attn, n_head=n_head), **ln_1)
    return layer_norm(x + ffn(x, **mlp), **ln_2)


def wrong_residual_from_normalised(x, mlp, attn, ln_1, ln_2, n_head):
    x = layer_norm(x, **ln_1)
    x = x + mha(x, **attn, n_head=n_head)
    x = layer_norm(x, **ln_2)
    return x + ffn(x, **mlp)


def wrong_norms_after_the_sums(x, mlp, attn, ln_1, ln_2, n_head):
    x = layer_norm(x + mha(x, **attn, n_head=n_head), **ln_1)
    return layer_norm(x + ffn(x, **mlp), **ln_2)


def wrong_parts_normalised_afterwards(x, mlp, attn, ln_1, ln_2, n_head):
    x = x + layer_norm(mha(x, **attn, n_head=n_head), **ln_1)
    return x + layer_norm(ffn(x, **mlp), **ln_2)


def wrong_second_norm_skipped(x, mlp, attn, ln_1, ln_2, n_head):
    x = x + mha(layer_norm(x, **ln_1), **attn, n_head=n_head)
    return x + ffn(x, **mlp)


def wrong_first_norm_skipped(x, mlp, attn, ln_1, ln_2, n_head):
    x = x + mha(x, **attn, n_head=n_head)
    return x + ffn(layer_norm(x, **ln_2), **mlp)


def wrong_first_norm_used_twice(x, mlp, attn, ln_1, ln_2, n_head):
    x = x + mha(layer_norm(x, **ln_1), **attn, n_head=n_head)
    return x + ffn(layer_norm(x, **ln_1), **mlp)


def wrong_norms_exchanged(x, mlp, attn, ln_1, ln_2, n_head):
    x = x + mha(layer_norm(x, **ln_2), **attn, n_head=n_head)
    return x + ffn(layer_norm(x, **ln_1), **mlp)


def wrong_in_parallel(x, mlp, attn, ln_1, ln_2, n_head):
    return x + mha(layer_norm(x, **ln_1), **attn, n_head=n_head) + ffn(layer_norm(x, **ln_2), **mlp)


def wrong_feed_forward_first(x, mlp, attn, ln_1, ln_2, n_head):
    x = x + ffn(layer_norm(x, **ln_2), **mlp)
    return x + mha(layer_norm(x, **ln_1), **attn, n_head=n_head)


def wrong_residuals_missing(x, mlp, attn, ln_1, ln_2, n_head):
    x = mha(layer_norm(x, **ln_1), **attn, n_head=n_head)
    return ffn(layer_norm(x, **ln_2), **mlp)


def wrong_residual_of_attention_missing(x, mlp, attn, ln_1, ln_2, n_head):
    x = mha(layer_norm(x, **ln_1), **attn, n_head=n_head)
    return x + ffn(layer_norm(x, **ln_2), **mlp)


def wrong_residual_of_feed_forward_missing(x, mlp, attn, ln_1, ln_2, n_head):
    x = x + mha(layer_norm(x, **ln_1), **attn, n_head=n_head)
    return ffn(layer_norm(x, **ln_2), **mlp)


def wrong_second_residual_from_input(x, mlp, attn, ln_1, ln_2, n_head):
    a = x + mha(layer_norm(x, **ln_1), **attn, n_head=n_head)
    return x + ffn(layer_norm(a, **ln_2), **mlp)


def _block(x, mlp, attn, ln_1, ln_2, n_head, *, attend=None, norm=layer_norm, act=gelu, bias=True):
    def project(x, layer):
        return x @ layer["w"] + (layer["b"] if bias else 0)

    x = x + (attend or mha)(norm(x, **ln_1), **attn, n_head=n_head)
    return x + project(act(project(norm(x, **ln_2), mlp["c_fc"])), mlp["c_proj"])


def _mha(x, c_attn, c_proj, n_head, *, scale=None, mask=None, order=(0, 1, 2), by_reshape=False, out=linear, bias=True):
    T, C = x.shape
    parts = np.split(x @ c_attn["w"] + (c_attn["b"] if bias else 0), 3, axis=-1)
    split = (lambda p: p.reshape(n_head, T, -1)) if by_reshape else (lambda p: p.reshape(T, n_head, -1).transpose(1, 0, 2))
    q, k, v = (split(parts[i]) for i in order)
    allowed = np.tri(T, dtype=bool) if mask is None else mask(T)
    scores = q @ k.transpose(0, 2, 1) * (q.shape[-1] ** -0.5 if scale is None else scale(C))
    y = (softmax(np.where(allowed, scores, -1e9)) @ v).transpose(1, 0, 2).reshape(T, C)
    return out(y, **c_proj) if bias else y @ c_proj["w"]


def wrong_not_causal(x, mlp, attn, ln_1, ln_2, n_head):
    return _block(x, mlp, attn, ln_1, ln_2, n_head, attend=lambda x, **w: _mha(x, **w, mask=lambda T: np.ones((T, T), bool)))


def wrong_mask_transposed(x, mlp, attn, ln_1, ln_2, n_head):
    return _block(x, mlp, attn, ln_1, ln_2, n_head, attend=lambda x, **w: _mha(x, **w, mask=lambda T: np.tri(T, dtype=bool).T))


def wrong_scale_missing(x, mlp, attn, ln_1, ln_2, n_head):
    return _block(x, mlp, attn, ln_1, ln_2, n_head, attend=lambda x, **w: _mha(x, **w, scale=lambda C: 1))


def wrong_scale_of_whole_width(x, mlp, attn, ln_1, ln_2, n_head):
    return _block(x, mlp, attn, ln_1, ln_2, n_head, attend=lambda x, **w: _mha(x, **w, scale=lambda C: 1 / math.sqrt(C)))


def wrong_one_head(x, mlp, attn, ln_1, ln_2, n_head):
    return _block(x, mlp, attn, ln_1, ln_2, 1)


def wrong_heads_split_without_transpose(x, mlp, attn, ln_1, ln_2, n_head):
    return _block(x, mlp, attn, ln_1, ln_2, n_head, attend=lambda x, **w: _mha(x, **w, by_reshape=True))


def wrong_query_and_key_exchanged(x, mlp, attn, ln_1, ln_2, n_head):
    return _block(x, mlp, attn, ln_1, ln_2, n_head, attend=lambda x, **w: _mha(x, **w, order=(1, 0, 2)))


def wrong_key_and_value_exchanged(x, mlp, attn, ln_1, ln_2, n_head):
    return _block(x, mlp, attn, ln_1, ln_2, n_head, attend=lambda x, **w: _mha(x, **w, order=(0, 2, 1)))


def wrong_output_projection_missing(x, mlp, attn, ln_1, ln_2, n_head):
    return _block(x, mlp, attn, ln_1, ln_2, n_head, attend=lambda x, **w: _mha(x, **w, out=lambda y, w, b: y))


def wrong_output_projection_transposed(x, mlp, attn, ln_1, ln_2, n_head):
    return _block(x, mlp, attn, ln_1, ln_2, n_head, attend=lambda x, **w: _mha(x, **w, out=lambda y, w, b: y @ w.T + b))


def wrong_biases_missing(x, mlp, attn, ln_1, ln_2, n_head):
    return _block(x, mlp, attn, ln_1, ln_2, n_head, bias=False, attend=lambda x, **w: _mha(x, **w, bias=False))


def wrong_activation_missing(x, mlp, attn, ln_1, ln_2, n_head):
    return _block(x, mlp, attn, ln_1, ln_2, n_head, act=lambda h: h)


def wrong_relu_for_gelu(x, mlp, attn, ln_1, ln_2, n_head):
    return _block(x, mlp, attn, ln_1, ln_2, n_head, act=lambda h: np.maximum(h, 0))


def wrong_silu_for_gelu(x, mlp, attn, ln_1, ln_2, n_head):
    return _block(x, mlp, attn, ln_1, ln_2, n_head, act=lambda h: h / (1 + np.exp(-h)))


def wrong_variance_of_n_minus_one(x, mlp, attn, ln_1, ln_2, n_head):
    def norm(x, g, b):
        return g * (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, ddof=1, keepdims=True) + 1e-5) + b

    return _block(x, mlp, attn, ln_1, ln_2, n_head, norm=norm)


def wrong_norm_without_weights(x, mlp, attn, ln_1, ln_2, n_head):
    return _block(x, mlp, attn, ln_1, ln_2, n_head, norm=lambda x, g, b: layer_norm(x, 1, 0))


def wrong_changes_inputs(x, mlp, attn, ln_1, ln_2, n_head):
    x += mha(layer_norm(x, **ln_1), **attn, n_head=n_head)
    x += ffn(layer_norm(x, **ln_2), **mlp)
    return x


class _Norm:
    def __init__(self, dim):
        self.gamma, self.beta = np.ones(dim), np.zeros(dim)

    def forward(self, x):
        return layer_norm(x, self.gamma, self.beta)


class _Attention:
    def __init__(self, dim, num_heads):
        self.num_heads = num_heads
        self.W_q, self.W_k, self.W_v, self.W_o = (np.random.randn(dim, dim) for _ in range(4))

    def forward(self, x):
        q, k, v = (np.stack(np.split(x @ w, self.num_heads, axis=-1)) for w in (self.W_q, self.W_k, self.W_v))
        scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1]) + np.triu(np.full((len(x), len(x)), -1e9), 1)
        return np.concatenate(list(softmax(scores) @ v), axis=-1) @ self.W_o


class _Mlp:
    def __init__(self, dim, ff_dim):
        self.W1, self.b1 = np.random.randn(dim, ff_dim), np.zeros(ff_dim)
        self.W2, self.b2 = np.random.randn(ff_dim, dim), np.zeros(dim)

    def forward(self, x):
        return np.maximum(0, x @ self.W1 + self.b1) @ self.W2 + self.b2


class right_class_of_single_sequences:
    def __init__(self, dim, num_heads, ff_dim):
        self.ln1, self.ln2, self.attn, self.mlp = _Norm(dim), _Norm(dim), _Attention(dim, num_heads), _Mlp(dim, ff_dim)

    def forward(self, x):
        x = x + self.attn.forward(self.ln1.forward(x))
        return x + self.mlp.forward(self.ln2.forward(x))


def wrong_feed_forward_missing(x, mlp, attn, ln_1, ln_2, n_head):
    return x + mha(layer_norm(x, **ln_1), **attn, n_head=n_head)


def wrong_attention_missing(x, mlp, attn, ln_1, ln_2, n_head):
    return x + ffn(layer_norm(x, **ln_2), **mlp)


def wrong_feed_forward_unused(x, mlp, attn, ln_1, ln_2, n_head):
    x = x + mha(layer_norm(x, **ln_1), **attn, n_head=n_head)
    h = layer_norm(x, **ln_2)
    ffn(h, **mlp)
    return x + h


def wrong_attention_unused(x, mlp, attn, ln_1, ln_2, n_head):
    h = layer_norm(x, **ln_1)
    mha(h, **attn, n_head=n_head)
    x = x + h
    return x + ffn(layer_norm(x, **ln_2), **mlp)


def wrong_input_added_again(x, mlp, attn, ln_1, ln_2, n_head):
    start = x
    x = x + mha(layer_norm(x, **ln_1), **attn, n_head=n_head)
    x = x + ffn(layer_norm(x, **ln_2), **mlp)
    return x + start
