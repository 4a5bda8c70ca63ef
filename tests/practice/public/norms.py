"""Norms in conventions of public code, with mistakes as replacements in their text."""

from __future__ import annotations

from tests.practice.public.program import Program

PROGRAMS = (
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
        "softmax",
        "softmax",
        """
import torch

def softmax(x, dim):
    dtype = x.dtype
    x = x.to(torch.float32)
    powers = torch.exp(x - torch.amax(x, dim=dim, keepdim=True))
    return (powers / powers.sum(dim=dim, keepdim=True)).to(dtype)
""",
        (("powers.sum(dim=dim, keepdim=True)", "powers.sum()"),),
    ),
    Program(
        "layer_norm",
        "layer_norm",
        """
import numpy as np

def layer_norm(x: list[float], gamma: list[float], beta: list[float], eps: float = 1e-5) -> list[float]:
    values = np.array(x)
    return (np.array(gamma) * (values - values.mean()) / np.sqrt(values.var() + eps) + np.array(beta)).tolist()
""",
        (("values.var() + eps", "values.var()"), ("values.var()", "values.var(ddof=1)"), ("- values.mean()", "- values.max()")),
    ),
    Program(
        "layer_norm",
        "layer_norm",
        """
from math import sqrt

def layer_norm(rows, g, b, eps=1e-5):
    normed = []
    for row in rows:
        mean = sum(row) / len(row)
        deviation = sqrt(sum((each - mean) ** 2 for each in row) / len(row) + eps)
        normed.append([(each - mean) / deviation * scale + shift for each, scale, shift in zip(row, g, b)])
    return normed
""",
        (("/ len(row) + eps", "/ (len(row) - 1) + eps"), ("* scale + shift", "* shift + scale")),
    ),
    Program(
        "ln_forward",
        "layer_norm",
        """
import numpy as np

def scores_of(Q, K, head_dim):
    return Q @ K.T / np.sqrt(head_dim)

def ln_forward(X, gamma, beta, eps=1e-8):
    mean = X.mean(axis=1, keepdims=True)
    std = np.sqrt(X.var(axis=1, keepdims=True) + eps)
    normalized = (X - mean) / std
    return gamma * normalized + beta, (normalized, std)
""",
        (("X.var(axis=1", "X.var(axis=0"),),
    ),
    Program(
        "RMSNorm",
        "rms_norm",
        """
import torch
from torch import nn

class RMSNorm(nn.Module):
    def __init__(self, normalized_shape: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.normalized_shape, self.eps = normalized_shape, eps
        self.scale = nn.Parameter(torch.ones(normalized_shape))

    def forward(self, x):
        if x.shape[-1] != self.normalized_shape:
            raise ValueError("another width")
        return x * torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + self.eps) * self.scale
""",
        (("dim=-1", "dim=0"), ("torch.rsqrt", "torch.sqrt")),
    ),
    Program(
        "rmsnorm",
        "rms_norm",
        """
import math

def rmsnorm(out, x, weight):
    size = len(x)
    total = 0.0
    for j in range(size):
        total += x[j] * x[j]
    scale = 1.0 / math.sqrt(total / size + 1e-5)
    for j in range(size):
        out[j] = weight[j] * (scale * x[j])
    return out
""",
        (("total / size", "total"), ("x[j] * x[j]", "x[j]"), ("weight[j] * (scale * x[j])", "scale * x[j]")),
    ),
    Program(
        "rmsnorm",
        "rms_norm",
        """
import numpy as np

def rmsnorm(o, x, weight):
    o[:] = weight * x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + 1e-5)
""",
        (("np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + 1e-5)", "np.mean(x**2, axis=-1, keepdims=True)"), ("weight * x", "x")),
    ),
    Program(
        "LayerNorm",
        "layer_norm",
        """
import torch
from torch import nn

class LayerNorm(nn.Module):
    def __init__(self, size, eps=1e-6):
        super().__init__()
        self.size, self.eps = size, eps
        self.gain, self.shift = nn.Parameter(torch.ones(size)), nn.Parameter(torch.zeros(size))

    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        normed = centred * torch.rsqrt((centred**2).mean(-1, keepdim=True) + self.eps)
        return normed * self.gain.view(1, 1, self.size) + self.shift.view(1, 1, self.size)
""",
        (("(centred**2).mean(-1", "(centred**2).mean(1"), ("torch.rsqrt", "torch.sqrt")),
    ),
    Program(
        "LayerNorm",
        "layer_norm",
        """
import torch
from torch import nn

class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-10):
        super().__init__()
        self.gamma, self.beta, self.eps = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model)), eps

    def forward(self, x):
        variance = torch.clamp(x.var(dim=-1, unbiased=False, keepdim=True), min=self.eps)
        return self.gamma * (x - x.mean(dim=-1, keepdim=True)) / torch.sqrt(variance + self.eps) + self.beta
""",
        (("min=self.eps", "max=self.eps"), ("unbiased=False, ", "")),
    ),
)
