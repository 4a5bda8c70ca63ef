import numpy as np


def softmax(x, axis=-1):
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


class Head:
    def __init__(self, d_model, head_dim):
        self.W_q = np.random.randn(d_model, head_dim)
        self.W_k = np.random.randn(d_model, head_dim)
        self.W_v = np.random.randn(d_model, head_dim)

    def forward(self, x):
        q, k, v = x @ self.W_q, x @ self.W_k, x @ self.W_v
        return softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])) @ v


class CausalHead(Head):
    def forward(self, x):
        q, k, v = x @ self.W_q, x @ self.W_k, x @ self.W_v
        s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
        return softmax(np.where(np.tri(x.shape[-2]) == 1, s, -np.inf)) @ v


class right_heads:
    def __init__(self, d_model, num_heads):
        self.heads = [Head(d_model, d_model // num_heads) for _ in range(num_heads)]

    def forward(self, x):
        return np.concatenate([head.forward(x) for head in self.heads], axis=-1)


class right_heads_and_output:
    def __init__(self, d_model, num_heads):
        self.heads = [Head(d_model, d_model // num_heads) for _ in range(num_heads)]
        self.W_o = np.random.randn(d_model, d_model)

    def forward(self, x):
        return np.concatenate([head.forward(x) for head in self.heads], axis=-1) @ self.W_o


class right_causal_heads:
    def __init__(self, d_model, head_dim, num_heads):
        self.heads = [CausalHead(d_model, head_dim) for _ in range(num_heads)]

    def __call__(self, x):
        return np.concatenate([head.forward(x) for head in self.heads], axis=-1)


def right_lists_of_weights(x, w_q, w_k, w_v, num_heads):
    heads = []
    for q, k, v in zip(*(np.split(x @ w, num_heads, axis=-1) for w in (w_q, w_k, w_v))):
        heads.append(softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])) @ v)
    return np.concatenate(heads, axis=-1)


class wrong_heads_summed:
    def __init__(self, d_model, num_heads):
        self.heads = [Head(d_model, d_model // num_heads) for _ in range(num_heads)]

    def forward(self, x):
        return sum(head.forward(x) for head in self.heads)


class wrong_heads_averaged:
    def __init__(self, d_model, num_heads):
        self.heads = [Head(d_model, d_model // num_heads) for _ in range(num_heads)]

    def forward(self, x):
        return np.mean([head.forward(x) for head in self.heads], axis=0)


class wrong_heads_concatenated_along_positions:
    def __init__(self, d_model, num_heads):
        self.heads = [Head(d_model, d_model // num_heads) for _ in range(num_heads)]

    def forward(self, x):
        return np.concatenate([head.forward(x) for head in self.heads], axis=-2)


class wrong_first_head_everywhere:
    def __init__(self, d_model, num_heads):
        self.heads = [Head(d_model, d_model // num_heads) for _ in range(num_heads)]

    def forward(self, x):
        return np.concatenate([self.heads[0].forward(x) for _ in self.heads], axis=-1)


class wrong_last_head_everywhere:
    def __init__(self, d_model, num_heads):
        self.heads = [Head(d_model, d_model // num_heads) for _ in range(num_heads)]

    def forward(self, x):
        for head in self.heads:
            out = head.forward(x)
        return np.concatenate([out] * len(self.heads), axis=-1)


class wrong_heads_in_reverse:
    def __init__(self, d_model, num_heads):
        self.heads = [Head(d_model, d_model // num_heads) for _ in range(num_heads)]

    def forward(self, x):
        out = np.zeros((*x.shape[:-1], 0))
        for head in self.heads:
            out = np.concatenate([head.forward(x), out], axis=-1)
        return out


class UnscaledHead(Head):
    def forward(self, x):
        q, k, v = x @ self.W_q, x @ self.W_k, x @ self.W_v
        return softmax(q @ k.swapaxes(-1, -2)) @ v


class wrong_scale:
    def __init__(self, d_model, num_heads):
        self.heads = [UnscaledHead(d_model, d_model // num_heads) for _ in range(num_heads)]

    def forward(self, x):
        return np.concatenate([head.forward(x) for head in self.heads], axis=-1)


class wrong_no_output_projection:
    def __init__(self, d_model, num_heads):
        self.heads = [Head(d_model, d_model // num_heads) for _ in range(num_heads)]
        self.W_o = np.random.randn(d_model, d_model)

    def forward(self, x):
        return np.concatenate([head.forward(x) for head in self.heads], axis=-1)
