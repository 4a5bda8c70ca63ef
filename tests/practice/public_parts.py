"""Programs in conventions of public code, with mistakes as replacements in their text."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Program:
    """A file with one function or class that is judged.

    name       name of the function or class
    part       exercise that it is
    mistakes   pairs of a right piece of the text and a wrong one
    """

    name: str
    part: str
    text: str
    mistakes: tuple[tuple[str, str], ...] = ()

    @property
    def id(self) -> str:
        """Return the name of the test case."""
        return f"{self.part}-{self.name}"


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

PROGRAMS = (
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
        "FeedForwardBlock",
        "feed_forward",
        """
import torch
from torch import nn

class FeedForwardBlock(nn.Module):
    def __init__(self, d_model: int, d_ff: int, dropout: float):
        super().__init__()
        self.linear_1 = nn.Linear(d_model, d_ff)
        self.dropout = nn.Dropout(dropout)
        self.linear_2 = nn.Linear(d_ff, d_model)
    def forward(self, x):
        return self.linear_2(self.dropout(torch.relu(self.linear_1(x))))
""",
        (
            ("torch.relu(self.linear_1(x))", "self.linear_1(x)"),
            ("torch.relu(self.linear_1(x))", "torch.sin(self.linear_1(x))"),
            ("self.linear_2(self.dropout(torch.relu(self.linear_1(x))))", "torch.relu(self.linear_2(self.linear_1(x)))"),
            ("self.linear_2(self.dropout(", "self.linear_2(1 + self.dropout("),
            ("torch.relu(self.linear_1(x))", "torch.softmax(self.linear_1(x), -1)"),
        ),
    ),
    Program(
        "cross_entropy_loss",
        "cross_entropy",
        """
import numpy as np

def cross_entropy_loss(logits, targets, smoothing=0.1, ignore_index=0):
    count, classes = logits.shape
    shifted = logits - logits.max(1, keepdims=True)
    log_probs = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
    kept = targets != ignore_index
    wanted = np.full((count, classes), smoothing / classes)
    wanted[np.arange(count)[kept], targets[kept]] += 1.0 - smoothing
    loss = -(wanted * log_probs).sum(1)[kept].mean()
    gradient = (np.exp(log_probs) - wanted) / max(kept.sum(), 1)
    return loss, gradient
""",
        (
            ("1.0 - smoothing", "1.0 + smoothing + 1"),
            ("[kept].mean()", ".mean()"),
            ("-(wanted", "(wanted"),
            ("[kept].mean()", "[kept].sum()"),
            ("log_probs = shifted -", "log_probs = logits -"),
        ),
    ),
    Program(
        "sample",
        "sample",
        """
import torch

def sample(logits, temperature=1.0, top_k=None):
    logits = logits / temperature
    if top_k is not None:
        kept, _ = torch.topk(logits, top_k)
        logits[logits < kept[..., -1:]] = float("-inf")
    return torch.multinomial(torch.softmax(logits, -1), 1)
""",
        (
            ("logits / temperature", "logits * temperature"),
            ("torch.topk(logits, top_k)", "torch.topk(logits, top_k + 1)"),
            ("kept[..., -1:]", "kept[..., :1]"),
            ("torch.softmax(logits, -1)", "torch.sigmoid(logits)"),
            ("logits < kept", "logits <= kept"),
        ),
    ),
    Program(
        "causal_lm_loss",
        "next_token_loss",
        """
import torch.nn.functional as F

def causal_lm_loss(logits, labels, ignore_index=-100):
    shifted = logits[:, :-1, :].contiguous()
    wanted = labels[:, 1:].contiguous()
    return F.cross_entropy(shifted.view(-1, shifted.size(-1)), wanted.view(-1), ignore_index=ignore_index)
""",
        (
            ("wanted = labels[:, 1:]", "wanted = labels[:, :-1]"),
            ("logits[:, :-1, :]", "logits[:, 1:, :]"),
            (", ignore_index=ignore_index)", ")"),
            ("ignore_index=ignore_index)", "ignore_index=ignore_index, reduction='sum')"),
            ("shifted.view(-1, shifted.size(-1))", "shifted.view(-1, shifted.size(-1)).softmax(-1)"),
            ("wanted.view(-1)", "wanted.view(-1).roll(1)"),
        ),
    ),
    Program(
        "compute_loss",
        "cross_entropy",
        """
import torch.nn.functional as F

def compute_loss(logits, targets):
    B, T, C = logits.shape
    return F.cross_entropy(logits.view(B * T, C), targets.view(B * T))
""",
        (
            ("logits.view(B * T, C)", "-logits.view(B * T, C)"),
            ("targets.view(B * T))", "targets.view(B * T)) / T"),
            ("logits.view(B * T, C)", "logits.view(B * T, C).softmax(1)"),
            ("logits.view(B * T, C)", "logits.transpose(0, 1).reshape(B * T, C)"),
            ("targets.view(B * T))", "targets.view(B * T), reduction='sum')"),
        ),
    ),
    Program(
        "create_window_mask",
        "sliding_window_mask",
        """
import torch

def create_window_mask(seq_len, window_size):
    place = torch.arange(seq_len)
    distance = place[:, None] - place[None, :]
    return (distance >= 0) & (distance < window_size)
""",
        (
            ("distance < window_size", "distance <= window_size"),
            ("distance >= 0", "distance > 0"),
            ("(distance >= 0) & ", ""),
            ("place[:, None] - place[None, :]", "place[None, :] - place[:, None]"),
            ("(distance >= 0) &", "(distance >= 0) |"),
            ("distance < window_size", "distance < seq_len"),
        ),
    ),
    Program(
        "get_stats",
        "pair_counts",
        """
import collections

def get_stats(vocab):
    pairs = collections.defaultdict(int)
    for word, freq in vocab.items():
        symbols = word.split()
        for i in range(len(symbols) - 1):
            pairs[symbols[i], symbols[i + 1]] += freq
    return pairs
""",
        (
            ("+= freq", "+= 1"),
            ("+= freq", "= freq"),
            ("range(len(symbols) - 1)", "range(len(symbols) - 2)"),
            ("symbols[i], symbols[i + 1]", "symbols[i + 1], symbols[i]"),
            ("range(len(symbols) - 1)", "range(0, len(symbols) - 1, 2)"),
        ),
    ),
    Program(
        "MLP",
        "feed_forward",
        """
from dataclasses import dataclass
from torch import nn

@dataclass
class Config:
    num_layers: int = 12
    hidden_size: int = 768
    vocab_size: int = 50257
    block_size: int = 1024
    resid_dropout: float = 0.0

class MLP(nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        self.c_fc = nn.Linear(config.hidden_size, 4 * config.hidden_size)
        self.gelu = nn.GELU()
        self.c_proj = nn.Linear(4 * config.hidden_size, config.hidden_size)
        self.resid_dropout = nn.Dropout(config.resid_dropout)
    def forward(self, x):
        return self.resid_dropout(self.c_proj(self.gelu(self.c_fc(x))))
""",
        (
            ("self.c_proj(self.gelu(self.c_fc(x)))", "self.c_proj(self.c_fc(x))"),
            ("self.c_proj(self.gelu(self.c_fc(x)))", "self.gelu(self.c_proj(self.c_fc(x)))"),
            ("self.c_proj(self.gelu(self.c_fc(x)))", "self.c_proj(self.gelu(self.c_fc(self.gelu(x))))"),
            ("self.gelu = nn.GELU()", "self.gelu = nn.Softplus(10)"),
            ("self.c_proj(self.gelu(self.c_fc(x)))", "self.c_proj(self.gelu(self.c_fc(x) * 2))"),
        ),
    ),
    Program(
        "Embedding",
        "embed",
        """
import torch

class Embedding:
    def __init__(self, in_size, embed_size):
        self.params = {"E": torch.randn(in_size, embed_size)}
    def forward(self, idx):
        self.cache = idx
        return self.params["E"][idx]
    def backward(self, dx):
        self.grads = {"E": torch.zeros_like(self.params["E"])}
        self.grads["E"][self.cache] = dx
        return dx
""",
        (
            ('self.params["E"][idx]', 'self.params["E"][idx - 1]'),
            ('self.params["E"][idx]', 'self.params["E"][idx] * 2'),
            ('self.params["E"][idx]', 'self.params["E"][idx].flip(-1)'),
            ('self.params["E"][idx]', 'self.params["E"][: len(idx)]'),
            ('self.params["E"][idx]', 'self.params["E"][idx].mean(0)'),
        ),
    ),
    Program(
        "generate_text",
        "generate",
        """
import torch

def generate_text(model, input_ids, maximum_new_tokens, temperature, top_k_tokens, top_p, repetition_penalty=1.2):
    model.eval()
    device = next(model.parameters()).device
    input_ids = input_ids.to(device)
    for _ in range(maximum_new_tokens):
        logits = model(input_ids[:, -model.context_length:])[:, -1, :]
        if repetition_penalty != 1.0:
            seen = torch.gather(logits, 1, input_ids)
            logits = logits.scatter(1, input_ids, torch.where(seen > 0, seen / repetition_penalty, seen * repetition_penalty))
        logits = logits / temperature
        if top_k_tokens is not None:
            least = torch.topk(logits, top_k_tokens)[0][:, -1:]
            logits = logits.masked_fill(logits < least, float("-inf"))
        next_token = torch.multinomial(torch.softmax(logits, dim=-1), 1)
        input_ids = torch.cat([input_ids, next_token], dim=1)
    return input_ids
""",
        (
            ("[:, -1, :]", "[:, 0, :]"),
            ("-model.context_length:", ":model.context_length"),
            ("torch.cat([input_ids, next_token], dim=1)", "torch.cat([next_token, input_ids], dim=1)"),
            ("range(maximum_new_tokens)", "range(maximum_new_tokens + 1)"),
            ("logits / temperature", "-logits / temperature"),
        ),
    ),
    Program(
        "LayerNormalization",
        "layer_norm",
        """
import numpy as np

class LayerNormalization:
    def __init__(self, size, eps=1e-6):
        self.eps = eps
        self.alpha = np.ones(size)
        self.bias = np.zeros(size)
    def __call__(self, x):
        mean = x.mean(axis=-1, keepdims=True)
        std = x.std(axis=-1, keepdims=True)
        return self.alpha * (x - mean) / (std + self.eps) + self.bias
""",
        (
            ("std + self.eps", "std - self.eps"),
            ("std + self.eps", "std**2 + self.eps"),
            ("x.std(axis=-1", "x.std(axis=0"),
            ("(x - mean) /", "x /"),
            ("(std + self.eps) + self.bias", "(std + self.eps + self.bias)"),
            ("x.mean(axis=-1", "x.mean(axis=0"),
        ),
    ),
    Program(
        "Norm",
        "layer_norm",
        """
import torch
from torch import nn

class Norm(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.eps = 1e-6
        self.a = nn.Parameter(torch.ones(features))
        self.b = nn.Parameter(torch.zeros(features))

    def forward(self, x):
        mean = x.mean(dim=-1, keepdim=True)
        return self.a * (x - mean) / (x.std(dim=-1, keepdim=True) + self.eps) + self.b
""",
        (
            ("(x - mean) /", "x /"),
            ("x.std(dim=-1", "x.std(dim=-2"),
            ("self.a * (x - mean)", "(x - mean)"),
        ),
    ),
    Program(
        "TransformerMLP",
        "feed_forward",
        """
import numpy as np

class Linear:
    def __init__(self, n_in, n_out):
        self.weight = np.empty((n_in, n_out), dtype=np.float32)
        self.bias = np.empty(n_out, dtype=np.float32)
    def __call__(self, x):
        return x @ self.weight + self.bias

class TransformerMLP:
    def __init__(self, n_outer, n_inner):
        self.c_fc = Linear(n_outer, n_inner)
        self.c_proj = Linear(n_inner, n_outer)
    def __call__(self, x):
        return self.c_proj(np.maximum(self.c_fc(x), 0))
""",
        (
            ("np.maximum(self.c_fc(x), 0)", "self.c_fc(x)"),
            ("x @ self.weight + self.bias", "x @ self.weight - self.bias"),
        ),
    ),
    Program(
        "Norm",
        "layer_norm",
        """
import torch
from torch import nn

class Norm(nn.Module):
    def __init__(self, width, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(width))
        self.shift = nn.Parameter(torch.zeros(width))

    def forward(self, x):
        batch, length, width = x.shape
        rows = x.view(batch * length, width)
        centred = rows - rows.mean(1, keepdim=True)
        normed = centred / torch.sqrt((centred ** 2).mean(1, keepdim=True) + self.eps)
        return (self.scale * normed + self.shift).view(batch, length, width)
""",
        (
            ("rows.mean(1, keepdim=True)", "rows.mean(0, keepdim=True)"),
            ("(centred ** 2).mean(1, keepdim=True)", "(centred ** 2).mean()"),
            ("x.view(batch * length, width)", "x.view(batch * length, width) - x[0, 0]"),
            ("self.scale * normed", "normed"),
        ),
    ),
    Program(
        "MLP",
        "feed_forward",
        """
import torch
from torch import nn

class MLP(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.W_in = nn.Parameter(torch.randn(width, inner))
        self.b_in = nn.Parameter(torch.zeros(inner))
        self.W_out = nn.Parameter(torch.randn(inner, width))
        self.b_out = nn.Parameter(torch.zeros(width))

    def forward(self, x):
        hidden = torch.relu(torch.einsum("bpd,dh->bph", x, self.W_in) + self.b_in)
        return torch.einsum("bph,hd->bpd", hidden, self.W_out) + self.b_out
""",
        (
            ('"bpd,dh->bph"', '"bpd,dh->ph"'),
            ("torch.relu(", "torch.tanh("),
            ("+ self.b_in", "- self.b_in"),
        ),
    ),
    Program(
        "GatedFeedForward",
        "gated_feed_forward",
        """
import torch
from torch import nn

class GatedFeedForward(nn.Module):
    '''A GLU: the product of one branch and the sigmoid of the other.'''

    def __init__(self, d_model, d_ff):
        super().__init__()
        self.gate = nn.Linear(d_model, d_ff)
        self.up = nn.Linear(d_model, d_ff)
        self.down = nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.down(self.up(x) * torch.sigmoid(self.gate(x)))
""",
        (
            ("torch.sigmoid(self.gate(x))", "torch.tanh(self.gate(x))"),
            ("torch.sigmoid(self.gate(x))", "self.gate(x)"),
            ("self.up(x) * torch", "self.up(x) + torch"),
            ("A GLU: the", "The"),
        ),
    ),
    Program(
        "nll_and_perplexity",
        "cross_entropy",
        """
import math
import torch

def nll_and_perplexity(log_probs, target_ids):
    nll = -log_probs[torch.arange(len(target_ids)), target_ids].mean().item()
    return nll, math.exp(nll)
""",
        (
            ("-log_probs", "log_probs"),
            (".mean()", ".sum()"),
            ("target_ids].", "0]."),
        ),
    ),
    Program(
        "PreNormBlock",
        "transformer_block",
        """
import torch
from torch import nn

class PreNormBlock(nn.Module):
    '''Norms before the parts, GPT-2 style.'''
    def __init__(self, width, heads):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
    def forward(self, x):
        y = self.norm_1(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.mlp(self.norm_2(x))
""",
        (("self.mlp(self.norm_2(x))", "self.mlp(x)"),),
    ),
    Program(
        "FeedForward",
        "feed_forward",
        """
from dataclasses import dataclass
from torch import nn

@dataclass
class Settings:
    n_embd: int = 128
    n_head: int = 4
    def __post_init__(self):
        if self.n_embd % self.n_head:
            raise ValueError("n_embd must be divisible by n_head")

class FeedForward(nn.Module):
    def __init__(self, cfg: Settings):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(cfg.n_embd, 4 * cfg.n_embd), nn.GELU(), nn.Linear(4 * cfg.n_embd, cfg.n_embd))
    def forward(self, x):
        return self.net(x)
""",
        (("return self.net(x)", "return 2 * self.net(x)"),),
    ),
    Program(
        "ResidualMLP",
        "feed_forward",
        """
from torch import nn

class ResidualMLP(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.up, self.down, self.act = nn.Linear(width, inner), nn.Linear(inner, width), nn.ReLU()
    def forward(self, x):
        return x + self.down(self.act(self.up(x)))
""",
        (("x + self.down", "2 * x + self.down"),),
    ),
    Program(
        "MultiheadAttention",
        "multi_head_attention",
        """
import math
import torch
from torch import nn

class MultiheadAttention(nn.Module):
    def __init__(self, width, args):
        super().__init__()
        self.heads, self.size = args["n_head"], args["d_k"]
        self.q, self.k, self.v = (nn.Linear(width, self.size * self.heads) for _ in range(3))
        self.out = nn.Linear(self.size * self.heads, width)
    def split(self, x):
        return x.view(x.size(0), x.size(1), self.heads, self.size).transpose(1, 2)
    def forward(self, query, key, value, q_padding_mask=None, v_padding_mask=None, masked=False):
        q, k, v = self.split(self.q(query)), self.split(self.k(key)), self.split(self.v(value))
        scores = q @ k.transpose(2, 3) / math.sqrt(self.size)
        if masked:
            scores = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), float("-inf"))
        if v_padding_mask is not None:
            scores = scores.masked_fill(~v_padding_mask[:, None, None], float("-inf"))
        y = (scores.softmax(-1) @ v).transpose(1, 2)
        return self.out(y.reshape(query.size(0), query.size(1), -1))

class Layer(nn.Module):
    def __init__(self, width, settings):
        super().__init__()
        self.attention = MultiheadAttention(width, settings["self_attention"])
    def forward(self, x, mask=None):
        return self.attention(x, x, x, mask, mask)
""",
        (("triu(1)", "triu(0)"), (" / math.sqrt(self.size)", " / self.size")),
    ),
    Program(
        "EncoderLayer",
        "encoder_layer",
        """
import math
from torch import nn

class Attention(nn.Module):
    def __init__(self, width, args):
        super().__init__()
        self.heads = args["n_head"]
        self.q, self.k, self.v, self.out = (nn.Linear(width, width) for _ in range(4))
    def forward(self, x):
        q, k, v = (each(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for each in (self.q, self.k, self.v))
        return self.out(((q @ k.transpose(2, 3) / math.sqrt(q.size(-1))).softmax(-1) @ v).transpose(1, 2).flatten(2))

class EncoderLayer(nn.Module):
    def __init__(self, width, encoder_args):
        super().__init__()
        self.attention = Attention(width, encoder_args["self_attention"])
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.dropout = nn.Dropout(encoder_args["dropout"])
        self.ffn = nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width))
    def forward(self, x):
        x = self.norm_1(x + self.dropout(self.attention(x)))
        return self.norm_2(x + self.dropout(self.ffn(x)))
""",
        (("self.norm_2(x + self.dropout(self.ffn(x)))", "x + self.dropout(self.ffn(self.norm_2(x)))[:1]"),),
    ),
    Program(
        "merge_pair",
        "merge_pair",
        """
def merge_pair(sequences, pair, new_id):
    out = []
    for ids in sequences:
        merged, place = [], 0
        while place < len(ids):
            found = tuple(ids[place : place + 2]) == tuple(pair)
            merged.append(new_id if found else ids[place])
            place += 1 + found
        out.append(merged)
    return out
""",
        (("place += 1 + found", "place += 1"),),
    ),
    Program(
        "train_tokenizer",
        "bpe_train",
        """
import re
from collections import Counter

def bytes_to_unicode():
    visible = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in visible]
    return {byte: chr(byte) for byte in visible} | {byte: chr(256 + place) for place, byte in enumerate(hidden)}

def joined(word, pair):
    left, out = list(word), []
    while left:
        first = left.pop(0)
        out.append(first + left.pop(0) if left and (first, left[0]) == pair else first)
    return tuple(out)

def train_tokenizer(text, vocab_size):
    letters = bytes_to_unicode()
    words = Counter(tuple(letters[byte] for byte in word.encode()) for word in re.findall(r" ?[^ ]+", text))
    merges = {}
    for rank in range(vocab_size - 256):
        counts = Counter()
        for word, count in words.items():
            for pair in zip(word, word[1:]):
                counts[pair] += count
        best = max(counts, key=counts.get)
        words = {joined(word, best): count for word, count in words.items()}
        merges[best] = rank
    encoder = {letter: byte for byte, letter in letters.items()}
    for first, second in merges:
        encoder[first + second] = len(encoder)
    return encoder, merges
""",
        (("counts[pair] += count", "counts[pair] += 1"),),
    ),
    Program(
        "Adam",
        "adam_optimizer",
        """
import numpy as np

class Adam:
    def __init__(self, alpha=0.001, beta=0.9, beta2=0.999, epsilon=1e-8):
        self.alpha, self.beta, self.beta2, self.epsilon = alpha, beta, beta2, epsilon
    def update(self, gradient, weights, v, m, v_hat, m_hat, t):
        m = self.beta * m + (1 - self.beta) * gradient
        v = self.beta2 * v + (1 - self.beta2) * gradient**2
        m_hat = m / (1 - self.beta**t)
        v_hat = v / (1 - self.beta2**t)
        return weights - self.alpha * m_hat / (np.sqrt(v_hat) + self.epsilon), v, m, v_hat, m_hat
""",
        (("v / (1 - self.beta2**t)", "v / (1 - self.beta**t)"), ("gradient**2", "gradient")),
    ),
    Program(
        "train_bpe",
        "bpe_train",
        """
import re
from collections import Counter

def train_bpe(input_path, vocab_size, special_tokens):
    with open(input_path, encoding="utf-8") as file:
        parts = re.split("|".join(map(re.escape, special_tokens)), file.read())
    words = Counter(word for part in parts for word in re.findall(r" ?[^ ]+", part))
    words = {tuple(bytes([byte]) for byte in word.encode()): count for word, count in words.items()}
    vocab = {byte: bytes([byte]) for byte in range(256)} | {256 + i: each.encode() for i, each in enumerate(special_tokens)}
    merges = []
    while len(vocab) < vocab_size:
        counts = Counter()
        for word, count in words.items():
            for pair in zip(word, word[1:]):
                counts[pair] += count
        best = max(counts, key=lambda pair: (counts[pair], pair))
        merged = {}
        for word, count in words.items():
            out = []
            for symbol in word:
                if out and (out[-1], symbol) == best:
                    out[-1] += symbol
                else:
                    out.append(symbol)
            merged[tuple(out)] = count
        words = merged
        merges.append(best)
        vocab[len(vocab)] = best[0] + best[1]
    return vocab, merges
""",
        (("(counts[pair], pair))", "(-counts[pair], pair))"),),
    ),
    Program(
        "TransformerBlock",
        "transformer_block",
        """
import math
import torch
from torch import nn

class RotaryPositionalEmbedding(nn.Module):
    def __init__(self, theta, d_k, max_seq_len):
        super().__init__()
        angles = torch.arange(max_seq_len)[:, None] / theta ** (torch.arange(0, d_k, 2) / d_k)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())
    def forward(self, x):
        cos, sin = self.cos[: x.size(-2)], self.sin[: x.size(-2)]
        even, odd = x[..., ::2], x[..., 1::2]
        return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)

class Attention(nn.Module):
    def __init__(self, d_model, num_heads, RoPE):
        super().__init__()
        self.heads, self.RoPE = num_heads, RoPE
        self.qkv, self.out = nn.Linear(d_model, 3 * d_model), nn.Linear(d_model, d_model)
    def forward(self, x):
        q, k, v = (each.unflatten(-1, (self.heads, -1)).transpose(1, 2) for each in self.qkv(x).chunk(3, dim=-1))
        scores = self.RoPE(q) @ self.RoPE(k).transpose(2, 3) / math.sqrt(q.size(-1))
        scores = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), float("-inf"))
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))

class TransformerBlock(nn.Module):
    def __init__(self, d_model: int, num_heads: int, d_ff: int, RoPE: RotaryPositionalEmbedding):
        super().__init__()
        self.attn = Attention(d_model, num_heads, RoPE)
        self.ffn = nn.Sequential(nn.Linear(d_model, d_ff), nn.GELU(), nn.Linear(d_ff, d_model))
        self.ln1, self.ln2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.ffn(self.ln2(x))

class Model(nn.Module):
    def __init__(self, vocab_size, context_length, d_model, num_layers, num_heads, d_ff, rope_theta):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, d_model)
        rope = RotaryPositionalEmbedding(rope_theta, d_model // num_heads, context_length)
        self.layers = nn.ModuleList(TransformerBlock(d_model, num_heads, d_ff, rope) for _ in range(num_layers))
    def forward(self, x):
        x = self.embed(x)
        for layer in self.layers:
            x = layer(x)
        return x
""",
        (("self.ffn(self.ln2(x))", "self.ffn(x)"),),
    ),
    Program(
        "GPTBlock",
        "transformer_block",
        """
import math
import torch
from torch import nn

class RoPE(nn.Module):
    def __init__(self, theta, d_k, max_seq_len):
        super().__init__()
        self.angles = torch.arange(max_seq_len)[:, None] / theta ** (torch.arange(0, d_k, 2) / d_k)
    def forward(self, x, positions):
        cos, sin = self.angles[positions].cos(), self.angles[positions].sin()
        even, odd = x[..., ::2], x[..., 1::2]
        return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)

class RMSNorm(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight

class MultiheadSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads, max_seq_len, theta):
        super().__init__()
        self.heads, self.rope = num_heads, RoPE(theta, d_model // num_heads, max_seq_len)
        self.q, self.k, self.v, self.out = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
    def forward(self, x, token_positions):
        q, k, v = (each(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for each in (self.q, self.k, self.v))
        at = token_positions.unsqueeze(1)
        scores = self.rope(q, at) @ self.rope(k, at).transpose(2, 3) / math.sqrt(q.size(-1))
        scores = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), float("-inf"))
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))

class SwiGLU(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.w1, self.w2, self.w3 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model), nn.Linear(d_model, d_ff)
    def forward(self, x):
        return self.w2(nn.functional.silu(self.w1(x)) * self.w3(x))

class GPTBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, *, max_seq_len, theta):
        super().__init__()
        self.norm_1, self.norm_2 = RMSNorm(d_model), RMSNorm(d_model)
        self.attn = MultiheadSelfAttention(d_model, num_heads, max_seq_len, theta)
        self.ffn = SwiGLU(d_model, d_ff)
    def forward(self, x, token_positions=None):
        batch, length, _ = x.shape
        if token_positions is None:
            token_positions = torch.arange(length).unsqueeze(0).expand(batch, -1)
        x = x + self.attn(self.norm_1(x), token_positions=token_positions)
        return x + self.ffn(self.norm_2(x))
""",
        (("x + self.attn(self.norm_1(x)", "self.attn(self.norm_1(x)"),),
    ),
    Program(
        "DotProductAttention",
        "scaled_dot_product_attention",
        """
import math
import torch
from torch import nn

class DotProductAttention(nn.Module):
    def forward(self, query, key, value):
        return torch.softmax(query @ key.transpose(-2, -1), dim=-1) @ value

class ScaledDotProductAttention(nn.Module):
    def forward(self, query, key, value):
        return torch.softmax(query @ key.transpose(-2, -1) / math.sqrt(query.size(-1)), dim=-1) @ value
""",
        (("torch.softmax(query @ key.transpose(-2, -1), dim=-1)", "torch.softmax(query @ key.transpose(-2, -1), dim=-2)"),),
    ),
)
