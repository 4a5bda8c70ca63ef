import numpy as np


def softmax(x, axis=-1):
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


def attention(q, k, v):
    return softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])) @ v


def right_two_sequences(x, context, Wq, Wk, Wv):
    return attention(x @ Wq, context @ Wk, context @ Wv)


def right_two_sequences__output(decoder_hidden, encoder_output, W_q, W_k, W_v, W_o):
    return attention(decoder_hidden @ W_q, encoder_output @ W_k, encoder_output @ W_v) @ W_o


def right_matrices(x_1, x_2, W_query, W_key, W_value):
    q, k, v = x_1 @ W_query, x_2 @ W_key, x_2 @ W_value
    return softmax(q @ k.T / np.sqrt(W_key.shape[1])) @ v


def right_masked(x, memory, Wq, Wk, Wv, mask=None):
    q, k, v = x @ Wq, memory @ Wk, memory @ Wv
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if mask is not None:
        scores = np.where(mask == 0, -1e9, scores)
    return softmax(scores) @ v


def right_padding(dec, enc, Wq, Wk, Wv, src_mask):
    q, k, v = dec @ Wq, enc @ Wk, enc @ Wv
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
    return softmax(np.where(src_mask[:, None, :], scores, -np.inf)) @ v


def right_heads(x, context, Wq, Wk, Wv, Wo, num_heads):
    b, n, _ = x.shape
    m = context.shape[1]
    d = Wq.shape[1] // num_heads
    q = (x @ Wq).reshape(b, n, num_heads, d).transpose(0, 2, 1, 3)
    k = (context @ Wk).reshape(b, m, num_heads, d).transpose(0, 2, 1, 3)
    v = (context @ Wv).reshape(b, m, num_heads, d).transpose(0, 2, 1, 3)
    return attention(q, k, v).transpose(0, 2, 1, 3).reshape(b, n, -1) @ Wo


def right_projected(Q, K, V):
    return attention(Q, K, V)


class right_class:
    def __init__(self, d_model, d_context):
        self.W_q = np.random.randn(d_model, d_model)
        self.W_k = np.random.randn(d_context, d_model)
        self.W_v = np.random.randn(d_context, d_model)

    def forward(self, x, context):
        return attention(x @ self.W_q, context @ self.W_k, context @ self.W_v)


class right_class_of_heads:
    def __init__(self, d_model, num_heads):
        self.h = num_heads
        self.Wq, self.Wk, self.Wv, self.Wo = (np.random.randn(d_model, d_model) for _ in range(4))

    def split(self, x):
        return x.reshape(x.shape[0], x.shape[1], self.h, -1).transpose(0, 2, 1, 3)

    def forward(self, x, encoder_output, mask=None):
        q, k, v = self.split(x @ self.Wq), self.split(encoder_output @ self.Wk), self.split(encoder_output @ self.Wv)
        s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
        if mask is not None:
            s = np.where(mask, s, -1e9)
        out = (softmax(s) @ v).transpose(0, 2, 1, 3)
        return out.reshape(out.shape[0], out.shape[1], -1) @ self.Wo


def wrong_sequences_exchanged(x, context, Wq, Wk, Wv):
    return attention(context @ Wq, x @ Wk, x @ Wv)


def wrong_context_not_used(x, context, Wq, Wk, Wv):
    return attention(x @ Wq, x @ Wk, x @ Wv)


def wrong_query_not_used(x, context, Wq, Wk, Wv):
    return attention(context @ Wq, context @ Wk, context @ Wv)


def wrong_values_from_the_query(x, context, Wq, Wk, Wv):
    return attention(x @ Wq, context @ Wk, x @ Wv)


def wrong_keys_from_the_query(x, context, Wq, Wk, Wv):
    return attention(x @ Wq, x @ Wk, context @ Wv)


def wrong_scale(x, context, Wq, Wk, Wv):
    q, k, v = x @ Wq, context @ Wk, context @ Wv
    return softmax(q @ k.swapaxes(-1, -2)) @ v


def wrong_scale__width_of_the_context(x, context, Wq, Wk, Wv):
    q, k, v = x @ Wq, context @ Wk, context @ Wv
    return softmax(q @ k.swapaxes(-1, -2) / np.sqrt(context.shape[-1])) @ v


def wrong_scale__width_of_the_input(x, context, Wq, Wk, Wv):
    q, k, v = x @ Wq, context @ Wk, context @ Wv
    return softmax(q @ k.swapaxes(-1, -2) / np.sqrt(x.shape[-1])) @ v


def wrong_softmax_over_queries(x, context, Wq, Wk, Wv):
    q, k, v = x @ Wq, context @ Wk, context @ Wv
    return softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]), axis=-2) @ v


def wrong_scores_transposed(x, context, Wq, Wk, Wv):
    q, k, v = x @ Wq, context @ Wk, context @ Wv
    return softmax(k @ q.swapaxes(-1, -2) / np.sqrt(q.shape[-1])) @ v


def wrong_value_from_the_key_projection(x, context, Wq, Wk, Wv):
    return attention(x @ Wq, context @ Wk, context @ Wk)


def wrong_weights_returned(x, context, Wq, Wk, Wv):
    q, k = x @ Wq, context @ Wk
    return softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]))


def wrong_mask_ignored(x, memory, Wq, Wk, Wv, mask=None):
    return attention(x @ Wq, memory @ Wk, memory @ Wv)


def wrong_mask_on_rows(x, memory, Wq, Wk, Wv, mask):
    q, k, v = x @ Wq, memory @ Wk, memory @ Wv
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    return softmax(np.where(mask[:, :, None] == 0, -1e9, scores)) @ v


def wrong_mask_after_softmax(x, memory, Wq, Wk, Wv, mask):
    q, k, v = x @ Wq, memory @ Wk, memory @ Wv
    return softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])) * mask[:, None, :] @ v


def wrong_heads_viewed_not_split(x, context, Wq, Wk, Wv, Wo, num_heads):
    b, n, _ = x.shape
    m = context.shape[1]
    d = Wq.shape[1] // num_heads
    q = (x @ Wq).reshape(b, num_heads, n, d)
    k = (context @ Wk).reshape(b, num_heads, m, d)
    v = (context @ Wv).reshape(b, num_heads, m, d)
    return attention(q, k, v).transpose(0, 2, 1, 3).reshape(b, n, -1) @ Wo


def wrong_scale__heads(x, context, Wq, Wk, Wv, Wo, num_heads):
    b, n, width = x.shape
    m = context.shape[1]
    d = Wq.shape[1] // num_heads
    q = (x @ Wq).reshape(b, n, num_heads, d).transpose(0, 2, 1, 3)
    k = (context @ Wk).reshape(b, m, num_heads, d).transpose(0, 2, 1, 3)
    v = (context @ Wv).reshape(b, m, num_heads, d).transpose(0, 2, 1, 3)
    w = softmax(q @ k.swapaxes(-1, -2) / np.sqrt(width))
    return (w @ v).transpose(0, 2, 1, 3).reshape(b, n, -1) @ Wo


class wrong_sequences_exchanged__class:
    def __init__(self, d_model, num_heads):
        self.h = num_heads
        self.Wq, self.Wk, self.Wv, self.Wo = (np.random.randn(d_model, d_model) for _ in range(4))

    def split(self, x):
        return x.reshape(x.shape[0], x.shape[1], self.h, -1).transpose(0, 2, 1, 3)

    def forward(self, x, encoder_output):
        q, k, v = self.split(encoder_output @ self.Wq), self.split(x @ self.Wk), self.split(x @ self.Wv)
        out = attention(q, k, v).transpose(0, 2, 1, 3)
        return out.reshape(out.shape[0], out.shape[1], -1) @ self.Wo


class right_heads_of_one_sequence:
    def __init__(self, d_model, num_heads):
        self.num_heads = num_heads
        self.W_q, self.W_k, self.W_v, self.W_o = (np.random.randn(d_model, d_model) for _ in range(4))

    def split(self, x):
        length, width = x.shape
        return x.reshape(length, self.num_heads, width // self.num_heads).transpose(1, 0, 2)

    def forward(self, x, context, mask=None):
        q, k, v = self.split(x @ self.W_q), self.split(context @ self.W_k), self.split(context @ self.W_v)
        scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
        if mask is not None:
            scores = np.where(mask, scores, -1e9)
        return (softmax(scores) @ v).transpose(1, 0, 2).reshape(x.shape) @ self.W_o
