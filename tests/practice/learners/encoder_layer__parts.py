# ruff: noqa: N801
import numpy as np


class LayerNorm:
    def __init__(self, size):
        self.gamma, self.beta = np.ones(size), np.zeros(size)

    def __call__(self, x):
        centred = x - x.mean(axis=-1, keepdims=True)
        return self.gamma * centred / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-6) + self.beta


class SublayerConnection:
    def __init__(self, size):
        self.norm = LayerNorm(size)

    def __call__(self, x, sublayer):
        return x + sublayer(self.norm(x))


class right_annotated:
    def __init__(self, size, self_attn, feed_forward):
        self.self_attn, self.feed_forward = self_attn, feed_forward
        self.sublayer = [SublayerConnection(size), SublayerConnection(size)]

    def __call__(self, x, mask=None):
        x = self.sublayer[0](x, lambda x: self.self_attn(x, x, x, mask))
        return self.sublayer[1](x, self.feed_forward)


class right_called_forward(right_annotated):
    def forward(self, x, mask=None):
        attended = self.self_attn.forward(x, x, x, mask)
        x = self.sublayer[0].norm(x + attended)
        return self.sublayer[1].norm(x + self.feed_forward.forward(x))

    __call__ = forward


class wrong_residual_2_missing(right_annotated):
    def __call__(self, x, mask=None):
        x = self.sublayer[0](x, lambda x: self.self_attn(x, x, x, mask))
        return self.feed_forward(self.sublayer[1].norm(x))


class wrong_norm_1_missing(right_annotated):
    def __call__(self, x, mask=None):
        x = x + self.self_attn(x, x, x, mask)
        return self.sublayer[1](x, self.feed_forward)


class Layer:
    """A base class whose call passes everything on, as in files that write backward passes by hand."""

    def __init__(self):
        self.training = True

    def eval(self):
        self.training = False

    def __call__(self, x, **kwargs):
        return self.forward(x, **kwargs)


class right_reads_the_width_of_a_part(Layer):
    def __init__(self, self_attention_block, feed_forward_block, dropout, seed):
        super().__init__()
        self.rng = np.random.default_rng(seed)
        self.self_attention_block, self.feed_forward_block = self_attention_block, feed_forward_block
        width = self_attention_block.d_model
        self.norm1, self.norm2 = LayerNorm(width), LayerNorm(width)

    def eval(self):
        super().eval()
        self.self_attention_block.eval()

    def forward(self, x, mask):
        normed = self.norm1(x)
        x = x + self.self_attention_block(normed, normed, normed, mask)
        return x + self.feed_forward_block(self.norm2(x))

    def backward(self, gradient):
        d_query, d_key, d_value = self.self_attention_block.backward(gradient)
        return d_query + d_key + d_value


class wrong_residual_2_missing__reads_the_width_of_a_part(right_reads_the_width_of_a_part):
    def forward(self, x, mask):
        normed = self.norm1(x)
        x = x + self.self_attention_block(normed, normed, normed, mask)
        return self.feed_forward_block(self.norm2(x))
