"""Parts that compute with an array class of the learner's own, with mistakes as replacements in their text."""

from __future__ import annotations

from tests.practice.public.program import Program

TENSOR = """
import numpy as np

class Tensor:
    def __init__(self, data, parents=()):
        self.data = np.asarray(data, dtype=np.float64)
        self.grad = np.zeros_like(self.data)
        self.parents = parents
        self.shape = self.data.shape
    def __add__(self, other):
        return Tensor(self.data + own(other).data, (self, other))
    def __sub__(self, other):
        return Tensor(self.data - own(other).data, (self, other))
    def __mul__(self, other):
        return Tensor(self.data * own(other).data, (self, other))
    def __truediv__(self, other):
        return Tensor(self.data / own(other).data, (self, other))
    def __matmul__(self, other):
        return Tensor(self.data @ own(other).data, (self, other))
    def mean(self):
        return Tensor(self.data.mean(-1, keepdims=True), (self,))
    def sum(self):
        return Tensor(self.data.sum(-1, keepdims=True), (self,))
    def exp(self):
        return Tensor(np.exp(self.data), (self,))
    def sqrt(self):
        return Tensor(np.sqrt(self.data), (self,))
    def relu(self):
        return Tensor(np.maximum(self.data, 0), (self,))

def own(value):
    return value if isinstance(value, Tensor) else Tensor(value)
"""

VALUE = """
import math

class Value:
    __slots__ = ("data", "grad")
    def __init__(self, data):
        self.data = float(data)
        self.grad = 0.0
    def __add__(self, other):
        return Value(self.data + (other.data if isinstance(other, Value) else other))
    def __mul__(self, other):
        return Value(self.data * (other.data if isinstance(other, Value) else other))
    def __pow__(self, power):
        return Value(self.data**power)
    def __truediv__(self, other):
        return self * other**-1
    def exp(self):
        return Value(math.exp(self.data))
    __radd__, __rmul__ = __add__, __mul__
"""

BACKEND = """
import numpy as np

class Tensor:
    def __init__(self, data, requires_grad=False):
        self.data = np.asarray(data, dtype=np.float64)
        self.requires_grad = requires_grad
        self.backend = np
        self.shape = self.data.shape
    def __add__(self, other):
        return Tensor(self.data + other.data)
    def __mul__(self, other):
        return Tensor(self.data * other.data)

class Module:
    def __init__(self):
        self._modules = {}
"""

PROGRAMS = (
    Program(
        "LayerNorm",
        "layer_norm",
        BACKEND
        + """
class LayerNorm(Module):
    def __init__(self, width, eps=1e-5):
        super().__init__()
        self.gamma, self.beta, self.eps = Tensor(np.ones(width)), Tensor(np.zeros(width)), eps
    def __call__(self, x):
        xp = x.backend
        mean = xp.mean(x.data, axis=-1, keepdims=True)
        var = xp.var(x.data, axis=-1, keepdims=True)
        return Tensor((x.data - mean) / xp.sqrt(var + self.eps) * self.gamma.data + self.beta.data)
""",
        (("xp.var(", "x.var("), ("(x.data - mean)", "(x.data + mean)")),
    ),
    Program(
        "Linear",
        "linear",
        TENSOR.replace("data", "arr")
        + """
class Linear:
    def __init__(self, d_in, d_out):
        self.w = Tensor(np.random.uniform(-1, 1, (d_in, d_out)))
        self.b = Tensor(np.zeros(d_out))
    def forward(self, x):
        return x @ self.w + self.b
""",
        ((" + self.b\n", " - self.b\n"),),
    ),
    Program(
        "softmax",
        "softmax",
        TENSOR
        + """
def softmax(x):
    powers = (x - Tensor(x.data.max(-1, keepdims=True))).exp()
    return powers / powers.sum()
""",
        (
            ("powers / powers.sum()", "powers / powers.mean()"),
            ("powers / powers.sum()", "powers"),
            ("x.data.max(-1, keepdims=True)", "0 * x.data"),
            (").exp()", ")"),
            ("x.data.max(-1, keepdims=True)", "x.data"),
        ),
    ),
    Program(
        "LayerNorm",
        "layer_norm",
        TENSOR
        + """
class LayerNorm:
    def __init__(self, dim, eps=1e-5):
        self.gamma = Tensor(np.ones(dim))
        self.beta = Tensor(np.zeros(dim))
        self.eps = eps
    def __call__(self, x):
        centred = x - x.mean()
        spread = (centred * centred).mean() + self.eps
        return centred / spread.sqrt() * self.gamma + self.beta
""",
        (
            ("(centred * centred).mean()", "(centred * centred).sum()"),
            ("/ spread.sqrt()", "/ spread"),
            ("* self.gamma + self.beta", "* self.beta + self.gamma"),
            ("x - x.mean()", "x"),
            (" + self.beta\n", "\n"),
        ),
    ),
    Program(
        "FeedForward",
        "feed_forward",
        TENSOR
        + """
class Linear:
    def __init__(self, d_in, d_out, rng):
        self.weight = Tensor(rng.normal(0.0, 0.02, (d_in, d_out)))
        self.bias = Tensor(np.zeros(d_out))
    def __call__(self, x):
        return x @ self.weight + self.bias

class FeedForward:
    def __init__(self, d_model, d_ff, rng):
        self.up = Linear(d_model, d_ff, rng)
        self.down = Linear(d_ff, d_model, rng)
    def __call__(self, x):
        return self.down(self.up(x).relu())
""",
        (
            ("self.up(x).relu()", "self.up(x)"),
            ("self.down(self.up(x).relu())", "self.down(self.up(x).relu()).relu()"),
            ("self.down(self.up(x).relu())", "self.down(self.up(x.relu()))"),
            ("self.down(self.up(x).relu())", "x + self.down(self.up(x).relu()) * 2"),
            ("x @ self.weight + self.bias", "x @ self.weight"),
        ),
    ),
    Program(
        "rmsnorm",
        "rms_norm",
        VALUE
        + """
def rmsnorm(x):
    square = sum(xi * xi for xi in x) / len(x)
    scale = (square + 1e-5) ** -0.5
    return [xi * scale for xi in x]
""",
        (
            ("xi * xi for", "xi for"),
            (" / len(x)", ""),
            ("** -0.5", "** 0.5"),
            ("+ 1e-5", "+ 1.0"),
            ("** -0.5", "** -1"),
        ),
    ),
    Program(
        "FeedForward",
        "feed_forward",
        """
import numpy as np

class Linear:
    def __init__(self, in_dim, out_dim, rng):
        self.W, self.b = rng.uniform(-0.1, 0.1, size=(in_dim, out_dim)), np.zeros(out_dim)
        self.dW, self.db = np.zeros_like(self.W), np.zeros_like(self.b)

    def forward(self, x):
        self.x = x
        return x @ self.W + self.b

    def backward(self, dy):
        rows, grads = self.x.reshape(-1, self.x.shape[-1]), dy.reshape(-1, dy.shape[-1])
        self.dW, self.db = rows.T @ grads, grads.sum(axis=0)
        return dy @ self.W.T

class FeedForward:
    def __init__(self, dim, hidden_dim, rng):
        self.up, self.down = Linear(dim, hidden_dim, rng), Linear(hidden_dim, dim, rng)

    def forward(self, x):
        inner = self.up.forward(x)
        self.is_positive = inner > 0
        return self.down.forward(inner * self.is_positive)

    def backward(self, dy):
        return self.up.backward(self.down.backward(dy) * self.is_positive)
""",
        (("inner > 0", "inner < 0"), ("self.down.backward(dy) * self.is_positive", "self.down.backward(dy)")),
    ),
    Program(
        "positional_encoding",
        "sinusoidal_positions",
        """
import numpy as np

def positional_encoding(tokens):  # (length, width)
    length, width = tokens.shape[0], tokens.shape[1]
    table = np.zeros((length, width))
    angles = np.arange(length)[:, np.newaxis] / 10000 ** (np.arange(0, width, 2) / width)
    table[:, 0::2], table[:, 1::2] = np.sin(angles), np.cos(angles)
    return table
""",
        (("np.arange(0, width, 2) / width", "np.arange(0, width, 2) / length"), ("np.sin(angles), np.cos", "np.cos(angles), np.sin")),
    ),
    Program(
        "MiniGPT",
        "gpt2",
        """
import numpy as np

def softmax(x):
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)

class Norm:
    def __init__(self, width, eps=1e-6):
        self.eps, self.gamma, self.beta = eps, np.ones(width), np.zeros(width)

    def forward(self, x):
        return self.gamma * (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + self.eps) + self.beta

class Attention:
    def __init__(self, width, num_heads):
        self.num_heads = num_heads
        self.W_q, self.W_k, self.W_v, self.W_o = (np.random.randn(width, width) * 0.02 for _ in range(4))

    def split(self, x):
        return x.reshape(*x.shape[:2], self.num_heads, -1).transpose(0, 2, 1, 3)

    def forward(self, x, mask):
        q, k, v = self.split(x @ self.W_q), self.split(x @ self.W_k), self.split(x @ self.W_v)
        scores = np.where(mask == 0, -1e9, q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]))
        return (softmax(scores) @ v).transpose(0, 2, 1, 3).reshape(x.shape) @ self.W_o

class FeedForward:
    def __init__(self, width, inner):
        self.W1, self.b1 = np.random.randn(width, inner) * 0.02, np.zeros(inner)
        self.W2, self.b2 = np.random.randn(inner, width) * 0.02, np.zeros(width)

    def forward(self, x):
        return np.maximum(0, x @ self.W1 + self.b1) @ self.W2 + self.b2

class Block:
    def __init__(self, width, num_heads, inner):
        self.attention, self.ffn = Attention(width, num_heads), FeedForward(width, inner)
        self.ln1, self.ln2 = Norm(width), Norm(width)

    def forward(self, x, mask):
        x = x + self.attention.forward(self.ln1.forward(x), mask)
        return x + self.ffn.forward(self.ln2.forward(x))

class MiniGPT:
    def __init__(self, vocab_size, d_model, num_heads, d_ff, num_layers, max_len=512):
        self.embedding = np.random.randn(vocab_size, d_model) * 0.02
        self.positions = np.random.randn(max_len, d_model) * 0.02
        self.blocks = [Block(d_model, num_heads, d_ff) for _ in range(num_layers)]
        self.ln_f, self.head = Norm(d_model), np.random.randn(d_model, vocab_size) * 0.02

    def forward(self, token_ids):
        x = self.embedding[token_ids] + self.positions[: token_ids.shape[1]]
        mask = np.tril(np.ones((token_ids.shape[1], token_ids.shape[1])))
        for block in self.blocks:
            x = block.forward(x, mask)
        logits = self.ln_f.forward(x) @ self.head
        return logits, softmax(logits[:, -1])
""",
        (("x = block.forward(x, mask)", "x = self.blocks[0].forward(x, mask)"), ("self.ln_f.forward(x) @", "x @")),
    ),
    Program(
        "MultiHeadAttention",
        "multi_head_attention",
        """
import numpy as np

class Dense:
    def __init__(self, inputs, units):
        self.w = np.random.uniform(-1, 1, (inputs, units))
        self.b = np.zeros(units)
        self.v, self.m = np.zeros_like(self.w), np.zeros_like(self.w)
        self.v_hat, self.m_hat = np.zeros_like(self.w), np.zeros_like(self.w)
        self.vb, self.mb = np.zeros_like(self.b), np.zeros_like(self.b)

    def forward(self, x):
        return x @ self.w + self.b

class MultiHeadAttention:
    def __init__(self, d_model=512, heads_num=8):
        self.heads_num, self.d_k = heads_num, d_model // heads_num
        self.K, self.Q, self.V, self.O = (Dense(d_model, d_model) for _ in range(4))

    def split(self, x):
        return x.reshape(x.shape[0], -1, self.heads_num, self.d_k).transpose(0, 2, 1, 3)

    def forward(self, query, key, value, mask):
        q, k, v = self.split(self.Q.forward(query)), self.split(self.K.forward(key)), self.split(self.V.forward(value))
        scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(self.d_k)
        if mask is not None:
            scores = np.where(np.asarray(mask)[:, np.newaxis] == 0, -np.inf, scores)
        e = np.exp(scores - scores.max(-1, keepdims=True))
        weights = e / e.sum(-1, keepdims=True)
        out = (weights @ v).transpose(0, 2, 1, 3).reshape(query.shape[0], -1, self.heads_num * self.d_k)
        return self.O.forward(out), weights
""",
        (("np.sqrt(self.d_k)", "self.d_k"), ("(weights @ v).transpose(0, 2, 1, 3)", "(weights @ v)")),
    ),
    Program(
        "softmax",
        "softmax",
        """
import numpy as np
import types

def package():
    class Tensor:
        def __init__(self, data, children=(), requires_grad=False):
            assert isinstance(data, np.ndarray)
            self.data, self.shape, self.requires_grad = data, data.shape, requires_grad
        def __add__(self, other):
            return Tensor(self.data + other.data, (self, other))
        def __mul__(self, other):
            return Tensor(self.data * other.data, (self, other))
    made = types.ModuleType("mini")
    made.Tensor = Tensor
    return made

mini = package()

def softmax(x: mini.Tensor, dim: int = -1) -> mini.Tensor:
    powers = np.exp(x.data - np.max(x.data, axis=dim, keepdims=True))
    return mini.Tensor(powers / np.sum(powers, axis=dim, keepdims=True), children=(x,), requires_grad=x.requires_grad)
""",
        (("np.sum(powers, axis=dim, keepdims=True)", "np.sum(powers)"), ("x.data - np.max(x.data, axis=dim, keepdims=True)", "x.data")),
    ),
    Program(
        "ReLU",
        "relu",
        """
import numpy as np

class Tensor(np.ndarray):
    def __new__(cls, values):
        made = np.asarray(values).view(cls)
        made.source, made.grad = None, np.zeros(values.shape)
        return made

class Layer:
    def __call__(self, x: Tensor):
        self.x = x
        y = self.forward(x)
        y.source = self
        return y

class ReLU(Layer):
    def forward(self, x: Tensor):
        self.kept = np.where(x > 0)
        return np.maximum(0, x)

    def backward(self, gradient):
        found = np.zeros_like(gradient)
        found[self.kept] = gradient[self.kept]
        return found
""",
        (("np.maximum(0, x)", "np.minimum(0, x)"), ("np.maximum(0, x)", "np.maximum(0.1 * x, x)")),
    ),
    Program(
        "batched_cross_entropy",
        "cross_entropy",
        TENSOR
        + """
def batched_cross_entropy(input: Tensor, target: Tensor, ignore_index=-100) -> Tensor:
    powers = np.exp(input.data - input.data.max(axis=-1, keepdims=True))
    chances = powers / powers.sum(axis=-1, keepdims=True)
    chosen = chances[np.arange(chances.shape[0]), target.data.astype(int)]
    counted = target.data != ignore_index
    return Tensor((-np.log(chosen)).mean(keepdims=True, where=counted), (input,))
""".replace("batched_cross_entropy", "batched_cross_entropy"),
        ((", where=counted", ""), ("-np.log(chosen)", "np.log(chosen)")),
    ),
    Program(
        "cross_entropy",
        "cross_entropy",
        TENSOR
        + """
def cross_entropy(input: Tensor, target: int):
    powers = np.exp(input.data - input.data.max(axis=-1, keepdims=True))
    chance = (powers / np.sum(powers))[target]
    return Tensor(-np.log(chance).mean(keepdims=True), (input,))
""",
        (("np.sum(powers)", "np.max(powers)"),),
    ),
)
