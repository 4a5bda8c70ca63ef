"""Static methods without a decorator, functions of an autograd library with a context, and masks of methods: programs in conventions of public code."""

from __future__ import annotations

from tests.practice.public.program import Program

ACTIVATIONS = """
import numpy as np

class Logistic:
    @staticmethod
    def forward(z):
        return 1 / (1 + np.exp(-z))

class Swish:
    @staticmethod
    def forward(z):
        return z * Logistic.forward(z)

    @staticmethod
    def backward(z):
        s = Logistic.forward(z)
        return s + z * s * (1 - s)

class Softmax:
    def forward(z):
        powers = np.exp(z - z.max())
        return powers / powers.sum()

    @staticmethod
    def backward(z):
        s = Softmax.forward(z)
        return np.diag(s) - np.outer(s, s)
"""

FUNCTION = """
import numpy as np

class Context:
    def save(self, *arrays):
        self.saved = arrays

class LayerNormFunction:
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        mean = np.mean(x.data, axis=-1, keepdims=True)
        deviation = np.sqrt(np.var(x.data, axis=-1, keepdims=True) + eps)
        normal = (x.data - mean) / deviation
        ctx.save_for_backward(x, weight, bias)
        ctx.normal, ctx.deviation = normal, deviation
        return normal * weight.data.reshape(-1) + bias.data.reshape(-1)

    @staticmethod
    def backward(ctx, grad):
        x, weight, bias = ctx.saved_tensors
        rows = tuple(range(grad.ndim - 1))
        inner = grad * weight.data
        mean = inner.mean(-1, keepdims=True)
        slope = (inner * ctx.normal).mean(-1, keepdims=True)
        dx = (inner - mean - ctx.normal * slope) / ctx.deviation
        return dx, (grad * ctx.normal).sum(rows), grad.sum(rows), None
"""

OF_INSTANCES = """
import numpy as np

class Sigmoid:
    def __call__(self, x):
        return 1 / (1 + np.exp(-x))

class SiLU:
    def __init__(self):
        self.sigmoid = Sigmoid()

    def __call__(self, x):
        return x * self.sigmoid(x)

    def derivative(self, x):
        s = self.sigmoid(x)
        return s * (1 + x * (1 - s))
"""

PROGRAMS = (
    Program("SiLU", "silu", OF_INSTANCES, (("(1 + x * (1 - s))", "(1 + x * s * (1 - s))"),)),
    Program(
        "Swish",
        "silu",
        ACTIVATIONS,
        (("s + z * s * (1 - s)", "s + z * s * (1 - s) * (1 - s)"), ("z * Logistic.forward(z)", "Logistic.forward(z)")),
    ),
    Program("Softmax", "softmax", ACTIVATIONS, (("/ powers.sum()", "/ powers.max()"),)),
    Program(
        "LayerNormFunction",
        "layer_norm",
        FUNCTION,
        (
            ("(inner - mean - ctx.normal", "(inner - ctx.normal"),
            ("np.sqrt(np.var(x.data, axis=-1, keepdims=True) + eps)", "np.var(x.data, axis=-1, keepdims=True) + eps"),
        ),
    ),
    Program(
        "SoftmaxFunction",
        "softmax",
        """
import torch
from torch.autograd import Function

class SoftmaxFunction(Function):
    @staticmethod
    def forward(ctx, x, dim):
        powers = torch.exp(x - x.max(dim, keepdim=True).values)
        answer = powers / powers.sum(dim, keepdim=True)
        ctx.save_for_backward(answer)
        ctx.dim = dim
        return answer

    @staticmethod
    def backward(ctx, grad):
        (answer,) = ctx.saved_tensors
        return answer * (grad - (grad * answer).sum(ctx.dim, keepdim=True)), None
""",
        (("answer * (grad - (grad * answer).sum(ctx.dim, keepdim=True))", "answer * (1 - answer) * grad"),),
    ),
    Program(
        "SGD",
        "sgd_optimizer",
        """
import numpy as np

class SGD:
    def __init__(self, lr=0.01, weight_decay=0.0):
        self.lr, self.weight_decay = lr, weight_decay

    def update(self, params, grads):
        for param, grad in zip(params, grads):
            if self.weight_decay and param.ndim > 1:
                grad = grad + self.weight_decay * param
            param -= self.lr * grad
""",
        (("grad + self.weight_decay * param", "grad - self.weight_decay * param"), ("-= self.lr", "+= self.lr")),
    ),
    Program(
        "attention_pad_mask",
        "padding_mask",
        """
import torch

def attention_pad_mask(seq_q, seq_k, pad):
    return seq_k.eq(pad).unsqueeze(1).expand(seq_q.size(0), seq_q.size(1), seq_k.size(1))
""",
        (("seq_k.eq(pad)", "seq_k.gt(pad)"),),
    ),
    Program(
        "Translator.make_encoder_decoder_mask",
        "padding_mask",
        """
import torch

class Translator:
    def __init__(self, pad_idx, num_heads):
        self.pad_idx, self.num_heads = pad_idx, num_heads

    def make_encoder_decoder_mask(self, x, y):
        hidden = (x == self.pad_idx)[:, None, None, :]
        return hidden.expand(-1, self.num_heads, y.shape[1], x.shape[1])
""",
        (("(x == self.pad_idx)", "(x > self.pad_idx)"),),
    ),
    Program(
        "Local._sliding_window_mask",
        "sliding_window_mask",
        """
import torch

class Local:
    def __init__(self, window_size):
        self.window_size = window_size

    def _sliding_window_mask(self, seq_len, device):
        hidden = torch.ones(seq_len, seq_len, dtype=torch.bool, device=device)
        for row in range(seq_len):
            hidden[row, max(0, row - self.window_size + 1) : row + 1] = False
        return hidden
""",
        (("self.window_size + 1", "self.window_size"),),
    ),
    Program(
        "attention",
        "scaled_dot_product_attention",
        """
import math
import torch

def attention(q, k, v, mask=None):
    scores = (q / math.sqrt(q.size(2))) @ k.transpose(1, 2)
    if mask is not None:
        scores = scores + mask
    return scores.softmax(-1) @ v

def heads(q, k, v, num_heads, head_dim):
    n, b = q.shape[:2]
    q, k, v = (each.reshape(-1, b * num_heads, head_dim).transpose(0, 1) for each in (q, k, v))
    return attention(q, k, v).transpose(0, 1).reshape(n, b, num_heads * head_dim)
""",
        (("q.size(2)", "q.size(1)"), ("softmax(-1)", "softmax(1)")),
    ),
)
