"""Feed-forward layers in conventions of public code, with mistakes as replacements in their text."""

from __future__ import annotations

from tests.practice.public.program import Program

PROGRAMS = (
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
        "NarrowMLP",
        "feed_forward",
        """
from dataclasses import dataclass
from torch import nn

@dataclass
class ModelConfig:
    n_layer: int = 3
    n_embd: int = 128
    initializer_range: float = 0.02
    def __post_init__(self):
        if self.n_embd not in (128, 256):
            raise ValueError(f"n_embd must be 128 or 256, got {self.n_embd}")

class NarrowMLP(nn.Module):
    def __init__(self, config: ModelConfig):
        super().__init__()
        self.up, self.down = nn.Linear(config.n_embd, 2 * config.n_embd), nn.Linear(2 * config.n_embd, config.n_embd)
        nn.init.normal_(self.down.weight, std=config.initializer_range / (2 * config.n_layer) ** 0.5)
    def forward(self, x):
        return self.down(nn.functional.gelu(self.up(x)))
""",
        (("self.down(nn.functional.gelu(self.up(x)))", "nn.functional.gelu(self.down(self.up(x)))"),),
    ),
    Program(
        "Dense",
        "linear",
        """
import numpy as np

class Dense:
    def __init__(self, n_in, n_out, nonlin=True):
        self.w = np.random.randn(n_in, n_out)
        self.b = np.zeros(n_out)
        self.nonlin = nonlin

    def __call__(self, x):
        out = x @ self.w + self.b
        return np.maximum(out, 0) if self.nonlin else out
""",
        (("x @ self.w + self.b", "x @ self.w - self.b"),),
    ),
    Program(
        "FeedForwardNetwork",
        "feed_forward",
        """
from torch import nn

class FeedForwardNetwork(nn.Module):
    def __init__(self, input: int, hidden_layer_factor: int, output: int, bias: bool, dropout: float):
        super().__init__()
        self.hidden = nn.Linear(input, hidden_layer_factor * input, bias)
        self.projections = nn.Linear(hidden_layer_factor * input, output, bias)
        self.gelu, self.drop = nn.GELU(), nn.Dropout(dropout)

    def forward(self, x):
        return self.drop(self.projections(self.gelu(self.hidden(x))))
""",
        (("self.gelu(self.hidden(x))", "self.hidden(x)"),),
    ),
    Program(
        "MLP",
        "feed_forward",
        """
from torch import nn

class Settings:
    num_classes = 10
    width = 24
    mlp_width = 64

settings = Settings()

class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(settings.width)
        self.inner = nn.Linear(settings.width, settings.mlp_width)
        self.classes = nn.Linear(settings.mlp_width, settings.num_classes)

    def forward(self, x):
        return self.classes(self.inner(self.norm(x)).relu())
""",
        (("(self.norm(x)).relu()", "(self.norm(x))"), (".relu()", ".sigmoid()")),
    ),
    Program(
        "PointwiseFeedForward",
        "feed_forward",
        """
from torch import nn

class PointwiseFeedForward(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv1d(width, inner, 1), nn.ReLU(), nn.Conv1d(inner, width, 1))

    def forward(self, features):
        return self.layers(features)
""",
        (("nn.ReLU(), ", ""), ("nn.ReLU()", "nn.Sigmoid()")),
    ),
    Program(
        "GatedLinearUnit",
        "gated_feed_forward",
        """
import torch
from torch import nn

class GatedLinearUnit(nn.Module):
    def __init__(self, d_model, d_ff=None):
        super().__init__()
        d_ff = 8 * d_model // 3 if d_ff is None else d_ff
        assert d_ff % 32 == 0, "the inner width has to be a multiple of 32"
        self.w1 = nn.Linear(d_model, d_ff, bias=False)
        self.w2 = nn.Linear(d_ff, d_model, bias=False)
        self.w3 = nn.Linear(d_model, d_ff, bias=False)

    def forward(self, x):
        gate = self.w1(x)
        return self.w2(gate * torch.sigmoid(gate) * self.w3(x))
""",
        (("gate * torch.sigmoid(gate)", "torch.sigmoid(gate)"), ("* self.w3(x)", "+ self.w3(x)"), ("self.w3(x))", "self.w1(x))")),
    ),
)
