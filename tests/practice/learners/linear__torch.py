import math

import torch
import torch.nn as nn
from torch.nn import functional as F  # noqa: N812


def right_functional(x, weight, bias=None):
    return F.linear(x, weight, bias)


def right_addmm(x, w, b):
    return torch.addmm(b, x, w)


class Right_cs336(nn.Module):  # noqa: N801
    def __init__(self, in_features, out_features, device=None, dtype=None):
        super().__init__()
        std = math.sqrt(2 / (in_features + out_features))
        self.weight = nn.Parameter(torch.empty(out_features, in_features, device=device, dtype=dtype))
        nn.init.trunc_normal_(self.weight, 0.0, std, -3 * std, 3 * std)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.einsum("oi,...i->...o", self.weight, x)


class Right_with_bias(nn.Module):  # noqa: N801
    def __init__(self, in_features: int, out_features: int, bias: bool = True):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(out_features, in_features) / math.sqrt(in_features))
        self.bias = nn.Parameter(torch.zeros(out_features)) if bias else None

    def forward(self, x):
        y = x @ self.weight.T
        return y if self.bias is None else y + self.bias


class Right_in_out(nn.Module):  # noqa: N801
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W = nn.Parameter(torch.randn(d_in, d_out))
        self.b = nn.Parameter(torch.zeros(d_out))

    def forward(self, x):
        return x @ self.W + self.b


class Wrong_bias_missing(nn.Module):  # noqa: N801
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(out_features, in_features))
        self.bias = nn.Parameter(torch.zeros(out_features))

    def forward(self, x):
        return x @ self.weight.T


class Wrong_not_repeatable(nn.Module):  # noqa: N801
    def __init__(self, in_features, out_features):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features

    def forward(self, x):
        return nn.Linear(self.in_features, self.out_features)(x)


def wrong_weight_reshaped(x, weight):
    return x @ weight.view(weight.shape[1], weight.shape[0])


def wrong_scale(x, weight):
    return F.linear(x, weight) / weight.shape[0] ** 0.5
