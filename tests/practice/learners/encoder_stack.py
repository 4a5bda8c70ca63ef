import numpy as np


class Dense:
    def __init__(self, inputs, outputs):
        self.w, self.b = np.random.randn(inputs, outputs) * 0.1, np.zeros(outputs)

    def forward(self, x):
        return x @ self.w + self.b


class LayerNorm:
    def __init__(self, width):
        self.gamma, self.beta = np.ones(width), np.zeros(width)

    def forward(self, x):
        centred = x - x.mean(-1, keepdims=True)
        return self.gamma * centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-6) + self.beta


class Attention:
    def __init__(self, width, heads):
        self.heads = heads
        self.query, self.key, self.value, self.out = (Dense(width, width) for _ in range(4))

    def forward(self, x, mask):
        query, key, value = (
            each.forward(x).reshape(*x.shape[:2], self.heads, -1).transpose(0, 2, 1, 3) for each in (self.query, self.key, self.value)
        )
        scores = query @ key.transpose(0, 1, 3, 2) / np.sqrt(query.shape[-1])
        if mask is not None:
            scores = np.where(mask, scores, -1e9)
        powers = np.exp(scores - scores.max(-1, keepdims=True))
        return self.out.forward((powers / powers.sum(-1, keepdims=True) @ value).transpose(0, 2, 1, 3).reshape(x.shape))


class EncoderLayer:
    def __init__(self, width, heads, inner):
        self.attention, self.norm_1, self.norm_2 = Attention(width, heads), LayerNorm(width), LayerNorm(width)
        self.feed_forward = FeedForward(width, inner)

    def forward(self, x, mask=None, training=True):
        x = self.norm_1.forward(x + self.attention.forward(x, mask))
        return self.norm_2.forward(x + self.feed_forward.forward(x))


class FeedForward:
    def __init__(self, width, inner):
        self.up, self.down = Dense(width, inner), Dense(inner, width)

    def forward(self, x):
        return self.down.forward(np.maximum(self.up.forward(x), 0))


class PositionalEncoding:
    def __init__(self, width, length):
        angles = np.arange(length)[:, None] / 10000.0 ** (np.arange(0, width, 2) / width)
        self.pe = np.stack([np.sin(angles), np.cos(angles)], -1).reshape(length, width)

    def forward(self, x):
        return x + self.pe[: x.shape[1]]


class Base:
    def __init__(self, vocab_size, d_model, heads_num, layers_num, d_ff, max_length):
        self.embedding = np.random.randn(vocab_size, d_model)
        self.positions = PositionalEncoding(d_model, max_length)
        self.layers = [EncoderLayer(d_model, heads_num, d_ff) for _ in range(layers_num)]
        self.norm = LayerNorm(d_model)


class Right_numpy(Base):
    def forward(self, src, src_mask=None, training=True):
        x = self.positions.forward(self.embedding[src])
        for layer in self.layers:
            x = layer.forward(x, src_mask, training)
        return self.norm.forward(x)


class Right_numpy_with_positions_in_the_class(Base):
    def forward(self, src, src_mask=None):
        x = self.embedding[src] * np.sqrt(self.embedding.shape[1])
        angles = np.arange(x.shape[1])[:, None] / 10000.0 ** (np.arange(0, x.shape[2], 2) / x.shape[2])
        x = x + np.stack([np.sin(angles), np.cos(angles)], -1).reshape(x.shape[1:])
        for layer in self.layers:
            x = layer.forward(x, src_mask)
        return self.norm.forward(x)


class wrong_layers_shared(Base):
    def forward(self, src, src_mask=None):
        x = self.positions.forward(self.embedding[src])
        for _ in self.layers:
            x = self.layers[-1].forward(x, src_mask)
        return self.norm.forward(x)


class wrong_mask_ignored(Base):
    def forward(self, src, src_mask=None):
        x = self.positions.forward(self.embedding[src])
        for layer in self.layers:
            x = layer.forward(x)
        return self.norm.forward(x)


class wrong_positions_missing(Base):
    def forward(self, src, src_mask=None):
        x = self.embedding[src]
        for layer in self.layers:
            x = layer.forward(x, src_mask)
        return self.norm.forward(x)


class wrong_positions_scaled(Base):
    def forward(self, src, src_mask=None):
        x = self.positions.forward(self.embedding[src]) * np.sqrt(self.embedding.shape[1])
        for layer in self.layers:
            x = layer.forward(x, src_mask)
        return self.norm.forward(x)
