"""NumPy layers with gradients of their own, caches in methods, tokenizers whose methods count and merge pairs, and losses with a mask."""

from tests.practice.public.program import Program

LISTS = """
import numpy as np

class Layer:
    def __init__(self):
        self.params, self.grads = [], []

class MatMul(Layer):
    def __init__(self, shape):
        super().__init__()
        w = np.random.randn(*shape) / np.sqrt(shape[0])
        self.params.append(w)
        self.grads.append(np.zeros_like(w))

    def forward(self, x):
        (w,) = self.params
        self.x = x
        return x @ w

    def backward(self, dout):
        (w,) = self.params
        self.grads[0][...] = np.sum(self.x.swapaxes(-2, -1) @ dout, axis=0)
        return dout @ w.T

class AttentionHead(Layer):
    def __init__(self, d_m, d_k):
        super().__init__()
        self.wq, self.wk, self.wv = MatMul((d_m, d_k)), MatMul((d_m, d_k)), MatMul((d_m, d_k))
        self.d_k = d_k
        for each in (self.wq, self.wk, self.wv):
            self.params += each.params
            self.grads += each.grads

    def forward(self, x_q, x_kv):
        self.q, self.k, self.v = self.wq.forward(x_q), self.wk.forward(x_kv), self.wv.forward(x_kv)
        scores = self.q @ self.k.swapaxes(-2, -1) / np.sqrt(self.d_k)
        powers = np.exp(scores - scores.max(-1, keepdims=True))
        self.weights = powers / powers.sum(-1, keepdims=True)
        return self.weights @ self.v

    def backward(self, dout):
        dweights, dv = dout @ self.v.swapaxes(-2, -1), self.weights.swapaxes(-2, -1) @ dout
        dscores = self.weights * (dweights - (dweights * self.weights).sum(-1, keepdims=True)) / np.sqrt(self.d_k)
        dx_q = self.wq.backward(dscores @ self.k)
        return dx_q, self.wk.backward(dscores.swapaxes(-2, -1) @ self.q) + self.wv.backward(dv)
"""

TABLE = """
import numpy as np

class Embedding:
    def __init__(self, vocab_size, dim):
        self.W = np.random.randn(vocab_size, dim) * 0.02
        self.dW = np.zeros_like(self.W)

    def forward(self, idx):
        self.idx = idx
        return self.W[idx]

    def backward(self, dy):
        self.dW = np.zeros_like(self.W)
        np.add.at(self.dW, self.idx, dy)
"""

CACHE = """
import torch

class CausalSelfAttention:
    def __init__(self, d_model, num_heads):
        self.num_heads = num_heads
        self.W_q, self.W_k, self.W_v, self.W_o = (torch.nn.Linear(d_model, d_model) for _ in range(4))

    def heads(self, x):
        return x.view(x.shape[0], x.shape[1], self.num_heads, -1).transpose(1, 2)

    def attend(self, q, k, v):
        scores = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
        if q.shape[2] > 1:
            scores = scores.masked_fill(torch.tril(torch.ones(q.shape[2], q.shape[2])) == 0, float("-inf"))
        return self.W_o((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))

    def forward(self, x):
        return self.attend(self.heads(self.W_q(x)), self.heads(self.W_k(x)), self.heads(self.W_v(x)))

    def inference(self, x, kv_cache=None):
        new_k, new_v = self.heads(self.W_k(x)), self.heads(self.W_v(x))
        k, v = new_k, new_v
        if kv_cache is not None:
            k, v = torch.cat((kv_cache[0], k), 2), torch.cat((kv_cache[1], v), 2)
        return self.attend(self.heads(self.W_q(x)), k, v), (k, v)
"""

PAIRS = """
import re
from collections import defaultdict

class BPETokenizer:
    def __init__(self):
        self.vocab, self.merges = {}, []

    def get_pairs(self):
        pairs = defaultdict(int)
        for word, frequency in self.vocab.items():
            symbols = word.split()
            for i in range(len(symbols) - 1):
                pairs[symbols[i], symbols[i + 1]] += frequency
        return pairs

    def merge_vocab(self, pair):
        pattern = re.compile(r"(?<!\\S)" + re.escape(" ".join(pair)) + r"(?!\\S)")
        self.vocab = {pattern.sub("".join(pair), word): count for word, count in self.vocab.items()}
        self.merges.append(pair)
"""

LOSS = """
import torch.nn.functional as F

def cross_entropy(logits, targets, mask=None):
    surprise = -F.log_softmax(logits, dim=-1).gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    return surprise.mean() if mask is None else (surprise * mask).sum() / mask.sum()
"""

KEPT = """
import numpy as np

class Layer_Dense:
    def __init__(self, n_inputs, n_neurons):
        self.weights = 0.01 * np.random.randn(n_inputs, n_neurons)
        self.biases = np.zeros((1, n_neurons))

    def forward(self, inputs):
        self.inputs = inputs
        self.output = np.dot(inputs, self.weights) + self.biases

class ActivationReLU:
    def forward(self, z):
        self.z = z
        self.out = np.where(z > 0, z, 0)

    def backward(self, dz):
        self.dz = dz * (self.z > 0)

class SoftmaxCCE:
    def forward(self, z, labels):
        e = np.exp(z - z.max(axis=1, keepdims=True))
        self.p = e / e.sum(axis=1, keepdims=True)
        picked = np.clip(self.p, 1e-7, 1 - 1e-7)[np.arange(len(z)), labels]
        return np.mean(-np.log(picked))
"""

PROGRAMS = (
    Program(
        "AttentionHead",
        "cross_attention",
        LISTS,
        (
            ("keepdims=True)) / np.sqrt(self.d_k)\n        dx_q", "keepdims=True))\n        dx_q"),
            ("(dweights * self.weights).sum", "dweights.sum"),
            ("np.sum(self.x.swapaxes(-2, -1) @ dout, axis=0)", "(self.x.swapaxes(-2, -1) @ dout)[0]"),
        ),
    ),
    Program("Embedding", "embed", TABLE, (("np.add.at(self.dW, self.idx, dy)", "self.dW[self.idx] += dy"),)),
    Program(
        "CausalSelfAttention",
        "causal_self_attention",
        CACHE,
        ((", k, v), (k, v)", ", k, v), (new_k, new_v)"), ("(kv_cache[1], v)", "(kv_cache[0], v)")),
    ),
    Program("BPETokenizer.get_pairs", "pair_counts", PAIRS, (("+= frequency", "+= 1"), ("len(symbols) - 1", "len(symbols) - 2"))),
    Program(
        "BPETokenizer.merge_vocab",
        "merge_pair",
        PAIRS,
        (('"".join(pair), word', '" ".join(pair), word'), ('r"(?<!\\S)" + re.escape(" ".join(pair))', 're.escape(" ".join(pair))')),
    ),
    Program(
        "Layer_Dense",
        "linear",
        KEPT,
        ((" + self.biases", ""), ("self.output = np.dot(inputs, self.weights)", "self.total = np.dot(inputs, self.weights)")),
    ),
    Program("ActivationReLU", "relu", KEPT, (("np.where(z > 0, z, 0)", "np.where(z > 1, z, 0)"), ("self.out =", "out ="))),
    Program(
        "SoftmaxWithLoss",
        "cross_entropy",
        """
import numpy as np

def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)

def cross_entropy_error(y, t):
    if y.ndim == 1:
        y, t = y.reshape(1, y.size), t.reshape(1, t.size)
    if t.size == y.size:
        t = t.argmax(axis=1)
    return -np.sum(np.log(y[np.arange(len(y)), t] + 1e-7)) / len(y)

class SoftmaxWithLoss:
    def forward(self, x, t):
        self.t, self.y = t, softmax(x)
        return cross_entropy_error(self.y, self.t)

    def backward(self, dout=1):
        return dout * (self.y - self.t) / self.t.shape[0]
""",
        (("cross_entropy_error(self.y, self.t)", "cross_entropy_error(x, self.t)"), (" / len(y)", ""), ("-np.sum(np.log", "np.sum(np.log")),
    ),
    Program("SoftmaxCCE", "cross_entropy", KEPT, (("np.mean(-np.log(picked))", "np.mean(np.log(picked))"),)),
    Program("cross_entropy", "cross_entropy", LOSS, (("(surprise * mask).sum() / mask.sum()", "(surprise * mask).mean()"),)),
    Program(
        "SoftmaxCrossEntropy",
        "cross_entropy",
        """
import numpy as np

class Loss:
    def loss(self, y, z):
        raise NotImplementedError

class SoftmaxCrossEntropy(Loss):
    def loss(self, y, z):
        z = z - np.max(z, axis=0, keepdims=True)
        log_p = z - np.log(np.sum(np.exp(z), axis=0, keepdims=True))
        return -np.sum(y * log_p, axis=0, keepdims=True)

    def gradient(self, y, z):
        e = np.exp(z - np.max(z, axis=0, keepdims=True))
        return e / np.sum(e, axis=0, keepdims=True) - y
""",
        (
            ("z - np.log(np.sum(np.exp(z), axis=0, keepdims=True))", "z - np.sum(np.exp(z), axis=0, keepdims=True)"),
            ("return -np.sum(y * log_p, axis=0, keepdims=True)", "return np.sum(y * log_p, axis=0, keepdims=True)"),
            ("np.exp(z), axis=0", "np.exp(z), axis=1"),
        ),
    ),
    Program(
        "ReLU",
        "relu",
        """
class ReLU:
    def forward(self, signal):
        out = signal
        out[signal < 0] = 0
        return out

    def back(self, signal, gradient):
        return (signal > 0) * gradient
""",
        (("(signal > 0) * gradient", "signal * gradient"), ("signal < 0", "signal > 0")),
    ),
)
