"""Parts with other axes, sizes or states: one head without an output projection, a batch axis after the positions, options that hold moments."""

from tests.practice.public.program import Program

SINGLE_HEADS = """
import numpy as np

def attend(q, k, v, hidden=None):
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if hidden is not None:
        scores = scores + hidden
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True) @ v

def normalize(x, eps=1e-6):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps)

class Inner:
    def __init__(self, d_model, d_ff=64):
        self.W1, self.b1 = np.random.randn(d_model, d_ff), np.zeros(d_ff)
        self.W2, self.b2 = np.random.randn(d_ff, d_model), np.zeros(d_model)

    def __call__(self, x):
        return np.maximum(0, x @ self.W1 + self.b1) @ self.W2 + self.b2
"""

OF_A_COLUMN = """
import numpy as np

def dense(W, x):
    # W: (T, N), x: (N, 1)
    return W.dot(x)

def softmax(z):
    powers = np.exp(z - z.max())
    return powers / powers.sum(axis=0)
"""

OF_TWO_VECTORS = '''
import numpy as np

def cross_entropy(p, q):
    """Return the loss.

    p: vector of predicted probabilities
    q: vector of true probabilities
    """
    return -np.sum(q * np.log(p))
'''

COLUMNS_OF_EXAMPLES = """
import numpy as np

def softmax(Z):
    powers = np.exp(Z - np.max(Z, axis=0))
    return powers / np.sum(powers, axis=0)

def forward(X, params):
    return softmax(np.dot(params["W"], X) + params["b"])

def gradients(X, Y, params):
    m = X.shape[1]
    dZ = forward(X, params) - Y
    return np.dot(dZ, X.T) / m, np.sum(dZ, axis=1, keepdims=True) / m
"""

PROGRAMS = (
    Program(
        "softmax",
        "softmax",
        """
import numpy as np

def softmax(x):
    powers = np.exp(x - np.max(x))
    return powers / powers.sum()

print(softmax(np.array([1.0, 2.0, 3.0])))
""",
        (("x - np.max(x)", "x"), ("powers.sum()", "powers.max()")),
    ),
    Program(
        "layernorm",
        "layer_norm",
        """
import numpy as np

def layernorm(x, g, b):
    centred = x - x.mean(axis=1, keepdims=True)
    return centred / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5) * g + b

def attention(x, w, num_heads):
    q, k, v = (part.reshape(len(x), num_heads, -1).transpose(1, 0, 2) for part in np.split(x @ w, 3, axis=1))
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[2])
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return (powers / powers.sum(-1, keepdims=True) @ v).transpose(1, 0, 2).reshape(len(x), -1)
""",
        (("x.var(axis=1", "x.var(axis=0"), ("x.mean(axis=1", "x.mean(axis=0")),
    ),
    Program(
        "EncoderBlock",
        "encoder_layer",
        SINGLE_HEADS
        + """
class EncoderBlock:
    def __init__(self, d_model=16):
        self.WQ, self.WK, self.WV = (np.random.randn(d_model, d_model) for _ in range(3))
        self.ffn = Inner(d_model)

    def __call__(self, x):
        x = normalize(x + attend(x @ self.WQ, x @ self.WK, x @ self.WV))
        return normalize(x + self.ffn(x))
""",
        (("x @ self.WK, x @ self.WV", "x @ self.WK, x @ self.WK"), ("normalize(x + self.ffn(x))", "normalize(self.ffn(x))")),
    ),
    Program(
        "DecoderBlock",
        "decoder_layer",
        SINGLE_HEADS
        + """
class DecoderBlock:
    def __init__(self, d_model=16):
        self.WQ_self, self.WK_self, self.WV_self = (np.random.randn(d_model, d_model) for _ in range(3))
        self.WQ_cross, self.WK_cross, self.WV_cross = (np.random.randn(d_model, d_model) for _ in range(3))
        self.ffn = Inner(d_model)

    def __call__(self, y, memory):
        later = np.triu(np.full((y.shape[1], y.shape[1]), -1e9), 1)
        y = normalize(y + attend(y @ self.WQ_self, y @ self.WK_self, y @ self.WV_self, later))
        y = normalize(y + attend(y @ self.WQ_cross, memory @ self.WK_cross, memory @ self.WV_cross))
        return normalize(y + self.ffn(y))
""",
        (("-1e9), 1)", "-1e9), 0)"), ("memory @ self.WV_cross", "y @ self.WV_cross")),
    ),
    Program(
        "ResidualAttentionBlock",
        "encoder_layer",
        """
import torch
from torch import nn

class QuickGELU(nn.Module):
    def forward(self, x):
        return x * torch.sigmoid(1.702 * x)

class ResidualAttentionBlock(nn.Module):
    def __init__(self, d_model, n_head, attn_mask=None):
        super().__init__()
        self.attn, self.attn_mask = nn.MultiheadAttention(d_model, n_head), attn_mask
        self.ln_1, self.ln_2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.mlp = nn.Sequential(nn.Linear(d_model, 4 * d_model), QuickGELU(), nn.Linear(4 * d_model, d_model))

    def forward(self, x):
        y = self.ln_1(x)
        x = x + self.attn(y, y, y, need_weights=False, attn_mask=self.attn_mask)[0]
        return x + self.mlp(self.ln_2(x))
""",
        (("self.mlp(self.ln_2(x))", "self.mlp(self.ln_1(x))"), ("return x + self.mlp", "return self.mlp")),
    ),
    Program(
        "adam",
        "adam_step",
        """
import numpy as np

def adam(w, dw, config=None):
    config = {} if config is None else config
    for name, value in (("learning_rate", 1e-3), ("beta1", 0.9), ("beta2", 0.999), ("epsilon", 1e-8), ("t", 0)):
        config.setdefault(name, value)
    config.setdefault("m", np.zeros_like(w))
    config.setdefault("v", np.zeros_like(w))
    config["t"] = config["t"] + 1
    config["m"] = config["beta1"] * config["m"] + (1 - config["beta1"]) * dw
    config["v"] = config["beta2"] * config["v"] + (1 - config["beta2"]) * dw**2
    mean = config["m"] / (1 - config["beta1"] ** config["t"])
    square = config["v"] / (1 - config["beta2"] ** config["t"])
    return w - config["learning_rate"] * mean / (np.sqrt(square) + config["epsilon"]), config
""",
        (('1 - config["beta2"] ** config["t"]', '1 - config["beta1"] ** config["t"]'), ("dw**2", "dw")),
    ),
    Program(
        "sgd",
        "sgd_optimizer",
        """
import numpy as np

def sgd(w, dw, config=None):
    config = {} if config is None else config
    config.setdefault("learning_rate", 1e-2)
    w -= config["learning_rate"] * dw
    return w, config
""",
        (("w -= ", "w += "), ('w -= config["learning_rate"] * dw', "w -= dw")),
    ),
    Program(
        "momentum_update",
        "sgd_optimizer",
        """
import numpy as np

def momentum_update(theta, grad, config):
    velocity = config.get("velocity", np.zeros_like(theta))
    config["velocity"] = velocity = config.get("momentum", 0.9) * velocity - config["lr"] * grad
    return theta + velocity, config
""",
        (
            ('config.get("velocity", np.zeros_like(theta))', "np.zeros_like(theta)"),
            ('- config["lr"]', '+ config["lr"]'),
            ("theta + velocity", "theta - velocity"),
            ("theta + velocity", "velocity"),
        ),
    ),
    Program(
        "Adam",
        "adam_optimizer",
        """
import numpy as np

class Adam:
    def __init__(self, params, grads, lr=0.001, betas=(0.9, 0.999), eps=1e-8):
        self.params, self.grads, self.lr, self.betas, self.eps, self.t = params, grads, lr, betas, eps, 0
        self.m = {name: np.zeros_like(each) for name, each in params.items()}
        self.v = {name: np.zeros_like(each) for name, each in params.items()}

    def step(self):
        self.t += 1
        for name in self.params:
            self.m[name] = self.betas[0] * self.m[name] + (1 - self.betas[0]) * self.grads[name]
            self.v[name] = self.betas[1] * self.v[name] + (1 - self.betas[1]) * self.grads[name] ** 2
            mean, square = self.m[name] / (1 - self.betas[0] ** self.t), self.v[name] / (1 - self.betas[1] ** self.t)
            self.params[name] -= self.lr * mean / (np.sqrt(square) + self.eps)
""",
        (("np.sqrt(square)", "square"), ("self.lr * mean", "self.lr * self.m[name]")),
    ),
    Program(
        "AdamW",
        "adamw",
        """
import numpy as np

class AdamW:
    def __init__(self, params, lr=0.001, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01):
        self.params, self.lr, self.beta1, self.beta2, self.eps, self.weight_decay, self.t = params, lr, beta1, beta2, eps, weight_decay, 0
        self.m, self.v = ({name: np.zeros_like(each) for name, each in params.items()} for _ in range(2))

    def step(self, grads):
        self.t += 1
        for name, each in self.params.items():
            self.m[name] = self.beta1 * self.m[name] + (1 - self.beta1) * grads[name]
            self.v[name] = self.beta2 * self.v[name] + (1 - self.beta2) * grads[name] ** 2
            mean, square = self.m[name] / (1 - self.beta1**self.t), self.v[name] / (1 - self.beta2**self.t)
            if each.ndim >= 2:
                each -= self.lr * self.weight_decay * each
            each -= self.lr * mean / (np.sqrt(square) + self.eps)
""",
        (("self.lr * self.weight_decay * each", "self.weight_decay * each"),),
    ),
    Program(
        "PadMask",
        "padding_mask",
        """
import torch

def PadMask(padded_input, input_lengths):
    positions = torch.arange(padded_input.shape[1], device=padded_input.device)
    return positions[None, :] >= input_lengths[:, None]
""",
        ((">= input", "> input"),),
    ),
    Program(
        "sequence_mask",
        "padding_mask",
        """
import torch

def sequence_mask(x, lengths, fill_value=0):
    is_padding = torch.arange(x.shape[1]) >= lengths.unsqueeze(1)
    x[is_padding] = fill_value
    return x
""",
        (("x[is_padding]", "x[~is_padding]"), (">= lengths", "> lengths")),
    ),
    Program(
        "real_token_mask",
        "padding_mask",
        """
import numpy as np

def real_token_mask(tokens, pad_token_id=31999):
    return (tokens != pad_token_id)[:, None, None, :]
""",
        (("!= pad_token_id", "> pad_token_id"), ("[:, None, None, :]", "[:, None, :, None]")),
    ),
    Program(
        "pad_mask_of",
        "padding_mask",
        """
import torch

BLANK = 40100

def pad_mask_of(ids):
    return torch.where(ids == BLANK, float("-inf"), 0.0).unsqueeze(1)
""",
        (('"-inf"), 0.0', '"inf"), 0.0'), ("ids == BLANK", "ids != BLANK")),
    ),
    Program(
        "Translator.pad_mask",
        "padding_mask",
        """
import torch.nn as nn

pad_idx = 0

class Translator(nn.Module):
    def __init__(self, encoder, pad_idx):
        super().__init__()
        self.encoder = encoder
        self.pad_idx = pad_idx

    def pad_mask(self, tokens):
        return (tokens != self.pad_idx)[:, None, None]

    def forward(self, tokens):
        return self.encoder(tokens, self.pad_mask(tokens))
""",
        (("!= self.pad_idx", "> self.pad_idx"),),
    ),
    Program(
        "Block.causal_mask",
        "causal_mask",
        """
import numpy as np

class Block:
    def __init__(self, cfg, attention):
        self.cfg = cfg
        self.attention = attention

    def causal_mask(self, x_btd):
        mask = np.tril(np.ones((x_btd.shape[1], x_btd.shape[1])))[None, None]
        return np.tile(mask, (x_btd.shape[0], self.cfg.num_heads, 1, 1))

    def __call__(self, x):
        return self.attention(x, mask=self.causal_mask(x))
""",
        (("np.tril", "np.triu"), ("x_btd.shape[1])))", "x_btd.shape[1])), -1)")),
    ),
    Program(
        "attention_mask",
        "causal_mask",
        """
import torch

def attention_mask(nd, ns):
    queries, keys = torch.arange(nd)[:, None], torch.arange(ns)[None]
    return (keys <= queries + ns - nd).float()
""",
    ),
    Program(
        "LanguageModel.make_mask",
        "causal_mask",
        """
import torch
from torch import nn

class LanguageModel(nn.Module):
    def __init__(self, decoder):
        super().__init__()
        self.decoder = decoder

    def make_mask(self, size):
        return torch.full((size, size), float("-inf")).triu(diagonal=1)

    def forward(self, x):
        return self.decoder(x, tgt_mask=self.make_mask(x.shape[1]))
""",
        (("diagonal=1", "diagonal=0"), (".triu(", ".tril(")),
    ),
    Program(
        "Decoder.get_attention_mask",
        "causal_mask",
        """
import torch
from torch import nn

class Decoder(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.output = nn.Linear(width, width)

    def get_attention_mask(self, seq_len):
        hidden = torch.triu(torch.ones(seq_len, seq_len), diagonal=1)
        mask = torch.zeros_like(hidden)
        return mask.masked_fill(hidden.bool(), float("-inf"))[None, None]
""",
        (("hidden.bool()", "mask.bool()"), ("diagonal=1", "diagonal=0")),
    ),
    Program(
        "new_self_attn_mask",
        "padding_mask",
        """
import torch

def new_self_attn_mask(seq, pad_token_id):
    hidden = torch.zeros(seq.shape).masked_fill(seq == pad_token_id, float("-inf"))
    return hidden[:, None, None, :]
""",
        (("seq == pad_token_id", "seq <= pad_token_id"), ('"-inf"', '"inf"')),
    ),
    Program(
        "CausalMask",
        "causal_mask",
        """
import torch

def CausalMask(padded_input):
    length = padded_input.shape[1]
    return torch.triu(torch.ones(length, length), diagonal=1).bool()
""",
        (("diagonal=1", "diagonal=0"),),
    ),
    Program(
        "train_bpe",
        "bpe_train",
        """
import re
from collections import Counter

words = {"l o w </w>": 5, "n e w e s t </w>": 6}

def train_bpe(vocab, num_merges):
    merges = []
    for _ in range(num_merges):
        pairs = Counter()
        for word, count in vocab.items():
            parts = word.split()
            for pair in zip(parts, parts[1:]):
                pairs[pair] += count
        if not pairs:
            break
        best = max(pairs, key=pairs.get)
        merges.append(best)
        pattern = re.compile(r"(?<!\\S)" + re.escape(" ".join(best)) + r"(?!\\S)")
        vocab = {pattern.sub("".join(best), word): count for word, count in vocab.items()}
    return vocab, merges
""",
        (("pairs[pair] += count", "pairs[pair] += 1"), ("max(pairs", "min(pairs")),
    ),
    Program(
        "repeat_kv",
        "repeat_kv",
        """
import torch

def repeat_kv(x, n_rep):
    length, heads, head_dim = x.shape
    return x[:, :, None, :].expand(length, heads, n_rep, head_dim).reshape(length, heads * n_rep, head_dim)
""",
        (("x[:, :, None, :]", "x[:, None]"),),
    ),
    Program(
        "cross_attention",
        "cross_attention",
        """
import numpy as np

def cross_attention(encoder_out, decoder_state, W_Q, W_K, W_V):
    q, k, v = decoder_state @ W_Q, encoder_out @ W_K, encoder_out @ W_V
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True) @ v
""",
        (("encoder_out @ W_V", "decoder_state @ W_V"),),
    ),
    Program(
        "causal_dot_product_attention",
        "scaled_dot_product_attention",
        """
import torch

def causal_dot_product_attention(queries, keys, values):
    scores = torch.einsum("bqhd,bkhd->bhqk", queries, keys) / queries.shape[-1] ** 0.5
    length = queries.shape[1]
    allowed = torch.tril(torch.ones(length, length)).bool()
    weights = torch.softmax(scores.masked_fill(~allowed, float("-inf")), dim=-1)
    return torch.einsum("bhqk,bkhd->bqhd", weights, values)
""",
        (("torch.tril", "torch.triu"), ("queries.shape[-1]", "queries.shape[-2]")),
    ),
    Program(
        "GPT",
        "gpt2",
        """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2, self.c_attn = nn.LayerNorm(width), nn.LayerNorm(width), nn.Linear(width, 3 * width)
        self.c_proj, self.up, self.down = nn.Linear(width, width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x, mask=None):
        q, k, v = (each.unflatten(-1, (self.heads, -1)).transpose(1, 2) for each in self.c_attn(self.ln_1(x)).chunk(3, -1))
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        x = x + self.c_proj((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))
        return x + self.down(nn.functional.gelu(self.up(self.ln_2(x)), approximate="tanh"))

class GPT(nn.Module):
    def __init__(self, vocab_size, width, heads, layers):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab_size, width), nn.Parameter(torch.zeros(1, 64, width))
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.ln_f, self.head = nn.LayerNorm(width), nn.Linear(width, vocab_size, bias=False)

    def forward(self, ids, mask=None):
        x = self.wte(ids) + self.wpe[:, : ids.shape[1]]
        for block in self.blocks:
            x = block(x, mask)
        return self.head(self.ln_f(x))
""",
        (("self.head(self.ln_f(x))", "self.head(x)"), ("self.wpe[:, : ids.shape[1]]", "self.wpe[:, 1 : ids.shape[1] + 1]")),
    ),
    Program(
        "SwiGLU",
        "gated_feed_forward",
        """
import torch
from torch import nn

class SwiGLU(nn.Module):
    def __init__(self, dim_in, dim_out, hidden_dim, dtype=torch.bfloat16):
        super().__init__()
        self.up, self.gate = (nn.Linear(dim_in, hidden_dim, bias=False, dtype=dtype) for _ in range(2))
        self.down = nn.Linear(hidden_dim, dim_out, bias=False, dtype=dtype)

    def forward(self, x):
        return self.down((self.up(x).float() * nn.functional.silu(self.gate(x).float())).to(x.dtype))
""",
        (("nn.functional.silu(self.gate(x).float())", "nn.functional.silu(self.up(x).float())"),),
    ),
    Program(
        "PositionFeedForward",
        "feed_forward",
        """
import torch
from torch import nn

class PositionFeedForward(nn.Module):
    def __init__(self, hidden_dim, pf_dim):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(hidden_dim, pf_dim), nn.Linear(pf_dim, hidden_dim)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))
""",
        (("self.fc2(torch.relu(self.fc1(x)))", "torch.relu(self.fc2(self.fc1(x)))"),),
    ),
    Program(
        "Translator.subsequent_mask",
        "causal_mask",
        """
import torch
from torch import nn

class Translator(nn.Module):
    def __init__(self, width, negative_inf=-1e9):
        super().__init__()
        self.out, self.negative_inf = nn.Linear(width, width), negative_inf

    def subsequent_mask(self, size):
        return torch.ones(size, size).triu(1) * self.negative_inf
""",
        (("negative_inf=-1e9", "negative_inf=1e9"), ("triu(1)", "triu(0)")),
    ),
    Program(
        "Translator.make_seq_mask",
        "causal_mask",
        """
import torch

class Translator(torch.nn.Module):
    def make_seq_mask(self, query):
        length = query.size(1)
        return torch.ones(1, length, length, device=query.device).tril().long()
""",
        (("tril()", "tril(1)"), ("tril()", "triu()")),
    ),
    Program(
        "Translator.make_src_tgt_mask",
        "padding_mask",
        """
import torch

class Translator(torch.nn.Module):
    def make_pad_mask(self, rows, columns, pad=1):
        return (rows != pad)[:, None, :, None] & (columns != pad)[:, None, None, :]

    def make_src_tgt_mask(self, src, tgt):
        return self.make_pad_mask(tgt, src)
""",
        (("(tgt, src)", "(src, tgt)"), ("& (columns", "| (columns")),
    ),
    Program(
        "softmax",
        "softmax",
        OF_A_COLUMN,
        (("np.exp(z - z.max())", "np.exp(z)"), ("powers / powers.sum(axis=0)", "powers / powers.max()")),
    ),
    Program(
        "cross_entropy",
        "cross_entropy",
        OF_TWO_VECTORS,
        (("-np.sum(q * np.log(p))", "-np.sum(p * np.log(p))"), ("-np.sum", "np.sum")),
    ),
    Program(
        "dense",
        "linear",
        """
import numpy as np

# x: a flattened array
def dense(x, weights, bias):
    out = np.zeros(weights.shape[0])
    for j, row in enumerate(weights):
        total = 0
        for i, each in enumerate(row):
            total += each * x[i]
        out[j] = total + bias[j]
    return out
""",
        (("total + bias[j]", "total"), ("each * x[i]", "each + x[i]")),
    ),
    Program(
        "Adam",
        "adam_optimizer",
        """
import numpy as np

class Adam:
    def __init__(self, rate=0.001, beta1=0.9, beta2=0.999, eps=1e-8):
        self.rate, self.beta1, self.beta2, self.eps = rate, beta1, beta2, eps

    def step(self, weights, grad, state, t):
        if not state:
            state["mean"], state["square"] = np.zeros_like(weights), np.zeros_like(weights)
        state["mean"] = self.beta1 * state["mean"] + (1 - self.beta1) * grad
        state["square"] = self.beta2 * state["square"] + (1 - self.beta2) * grad**2
        mean, square = state["mean"] / (1 - self.beta1**t), state["square"] / (1 - self.beta2**t)
        return weights - self.rate * mean / (np.sqrt(square) + self.eps), state
""",
        (("1 - self.beta2**t", "1 - self.beta1**t"), ("if not state", "if True"), ("weights - ", "weights + ")),
    ),
    Program(
        "momentum_step",
        "sgd_optimizer",
        """
import numpy as np

class Momentum:
    def __init__(self, lr=0.1, beta=0.9):
        self.lr, self.beta = lr, beta

    def step(self, theta, grad, state, t):
        velocity = self.beta * state.get("v", 0.0) + (1 - self.beta) * grad
        return theta - self.lr * velocity, {"v": velocity}

def momentum_step(theta, grad, state, t, lr=0.1, beta=0.9):
    return Momentum(lr, beta).step(theta, grad, state, t)
""",
        (("theta - self.lr * velocity", "theta - self.lr * grad"), ("+ (1 - self.beta)", "- (1 - self.beta)")),
    ),
    Program(
        "AdamOptimizer",
        "adam_optimizer",
        """
import numpy as np

class AdamOptimizer:
    def __init__(self, learning_rate=1e-3, b1=0.9, b2=0.999, eps=1e-8):
        self.learning_rate, self.b1, self.b2, self.eps = learning_rate, b1, b2, eps

    def init(self, params):
        return {k: np.zeros_like(p) for k, p in params.items()}, {k: np.zeros_like(p) for k, p in params.items()}, 0

    def update(self, params, grads, state):
        m, v, count = state
        count = count + 1
        m = {k: self.b1 * m[k] + (1 - self.b1) * grads[k] for k in params}
        v = {k: self.b2 * v[k] + (1 - self.b2) * grads[k] ** 2 for k in params}
        rate = self.learning_rate * np.sqrt(1 - self.b2**count) / (1 - self.b1**count)
        new = {k: p - rate * m[k] / (np.sqrt(v[k]) + self.eps * np.sqrt(1 - self.b2**count)) for k, p in params.items()}
        return new, (m, v, count)
""",
        (("count = count + 1", "count = 1"), ("grads[k] ** 2", "grads[k]")),
    ),
    Program(
        "KVCache",
        "kv_cache",
        """
import torch

class LayerKVCache:
    def __init__(self):
        self.ks, self.vs = None, None
    def append_kvs(self, ks, vs):
        self.ks = ks if self.ks is None else torch.cat([self.ks, ks], dim=-2)
        self.vs = vs if self.vs is None else torch.cat([self.vs, vs], dim=-2)
    def get_kv_prefix(self):
        return self.ks, self.vs

class KVCache:
    def __init__(self):
        self.layers = {}
    def append_kvs(self, layer_idx, ks, vs):
        self.layers.setdefault(layer_idx, LayerKVCache()).append_kvs(ks, vs)
    def get_kv_prefix(self, layer_idx):
        return self.layers[layer_idx].get_kv_prefix()
""",
        (("torch.cat([self.vs, vs], dim=-2)", "torch.cat([self.ks, vs], dim=-2)"),),
    ),
    Program(
        "StaticKVCache",
        "kv_cache",
        """
import torch

class StaticKVCache:
    def __init__(self, n_layers, batch, n_heads, max_seq, head_dim, device):
        self.k = torch.zeros(n_layers, batch, n_heads, max_seq, head_dim, device=device)
        self.v = torch.zeros_like(self.k)
    def write(self, layer_idx, k, v, pos, n):
        self.k[layer_idx, :, :, pos : pos + n] = k
        self.v[layer_idx, :, :, pos : pos + n] = v
    def read(self, layer_idx, end_pos):
        return self.k[layer_idx, :, :, :end_pos], self.v[layer_idx, :, :, :end_pos]
""",
        (("= v\n    def read", "= v[:, :, -1:]\n    def read"), ("pos : pos + n] = k", "pos : pos + n] = k.flip(2)")),
    ),
    Program(
        "softmax", "softmax", COLUMNS_OF_EXAMPLES, (("np.sum(powers, axis=0)", "np.sum(powers)"), ("m = X.shape[1]", "m = X.shape[0]"))
    ),
)
