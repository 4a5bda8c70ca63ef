# ruff: noqa: N801
import numpy as np


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


class LayerNorm:
    def __init__(self, d_model):
        self.gamma, self.beta = np.ones(d_model), np.zeros(d_model)

    def __call__(self, x):
        centred = x - x.mean(axis=-1, keepdims=True)
        return self.gamma * centred / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-6) + self.beta


class MultiHeadAttention:
    def __init__(self, d_model, num_heads):
        self.h, self.d_k = num_heads, d_model // num_heads
        self.Wq, self.Wk, self.Wv, self.Wo = (np.random.randn(d_model, d_model) * d_model**-0.5 for _ in range(4))

    def __call__(self, q, k, v, mask=None):
        def heads(x):
            return x.reshape(*x.shape[:-1], self.h, self.d_k).swapaxes(-2, -3)

        q, k, v = heads(q @ self.Wq), heads(k @ self.Wk), heads(v @ self.Wv)
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(self.d_k)
        if mask is not None:
            scores = np.where(mask == 0, -1e9, scores)
        out = (softmax(scores) @ v).swapaxes(-2, -3)
        return out.reshape(*out.shape[:-2], -1) @ self.Wo


class FeedForward:
    def __init__(self, d_model, d_ff):
        self.W1, self.b1 = np.random.randn(d_model, d_ff) * d_model**-0.5, np.zeros(d_ff)
        self.W2, self.b2 = np.random.randn(d_ff, d_model) * d_ff**-0.5, np.zeros(d_model)

    def __call__(self, x):
        return np.maximum(0, x @ self.W1 + self.b1) @ self.W2 + self.b2


class right_class:
    def __init__(self, d_model, num_heads, d_ff):
        self.self_attention = MultiHeadAttention(d_model, num_heads)
        self.cross_attention = MultiHeadAttention(d_model, num_heads)
        self.ffn = FeedForward(d_model, d_ff)
        self.norm1, self.norm2, self.norm3 = LayerNorm(d_model), LayerNorm(d_model), LayerNorm(d_model)

    def forward(self, x, enc_output, look_ahead_mask=None, padding_mask=None):
        x = self.norm1(x + self.self_attention(x, x, x, look_ahead_mask))
        x = self.norm2(x + self.cross_attention(x, enc_output, enc_output, padding_mask))
        return self.norm3(x + self.ffn(x))


class right_pre_norm(right_class):
    def forward(self, x, memory, src_mask=None):
        h = self.norm1(x)
        x = x + self.self_attention(h, h, h, np.tri(x.shape[-2]))
        x = x + self.cross_attention(self.norm2(x), memory, memory, src_mask)
        return x + self.ffn(self.norm3(x))


class wrong_later_positions_visible(right_class):
    def forward(self, x, memory, src_mask=None):
        x = self.norm1(x + self.self_attention(x, x, x))
        x = self.norm2(x + self.cross_attention(x, memory, memory, src_mask))
        return self.norm3(x + self.ffn(x))


class wrong_query_from_the_encoder(right_class):
    def forward(self, x, enc_output, look_ahead_mask=None):
        x = self.norm1(x + self.self_attention(x, x, x, look_ahead_mask))
        x = self.norm2(x + self.cross_attention(enc_output, x, x))
        return self.norm3(x + self.ffn(x))


class wrong_keys_from_the_decoder(right_class):
    def forward(self, x, enc_output, look_ahead_mask=None):
        x = self.norm1(x + self.self_attention(x, x, x, look_ahead_mask))
        x = self.norm2(x + self.cross_attention(x, x, enc_output))
        return self.norm3(x + self.ffn(x))


class wrong_source_mask_for_both(right_class):
    def forward(self, x, enc_output, look_ahead_mask, padding_mask):
        x = self.norm1(x + self.self_attention(x, x, x, padding_mask))
        x = self.norm2(x + self.cross_attention(x, enc_output, enc_output, padding_mask))
        return self.norm3(x + self.ffn(x))


class wrong_residual_3_missing(right_class):
    def forward(self, x, enc_output, look_ahead_mask=None, padding_mask=None):
        x = self.norm1(x + self.self_attention(x, x, x, look_ahead_mask))
        x = self.norm2(x + self.cross_attention(x, enc_output, enc_output, padding_mask))
        return self.norm3(self.ffn(x))


class wrong_norm_2_missing(right_class):
    def forward(self, x, enc_output, look_ahead_mask=None, padding_mask=None):
        x = self.norm1(x + self.self_attention(x, x, x, look_ahead_mask))
        x = x + self.cross_attention(x, enc_output, enc_output, padding_mask)
        return self.norm3(x + self.ffn(x))
