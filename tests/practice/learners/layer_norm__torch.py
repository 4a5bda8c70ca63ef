import torch
import torch.nn as nn
import torch.nn.functional as F  # noqa: N812


def right_functional(x, weight, bias):
    return F.layer_norm(x, x.shape[-1:], weight, bias, 1e-5)


def right_functional_signature(input, normalized_shape, weight=None, bias=None, eps=1e-05):  # noqa: A002
    dims = tuple(range(-len(normalized_shape), 0))
    mean = input.mean(dims, keepdim=True)
    var = input.var(dims, unbiased=False, keepdim=True)
    y = (input - mean) * torch.rsqrt(var + eps)
    return y if weight is None else y * weight + bias


class Right_raschka(nn.Module):  # noqa: N801
    def __init__(self, emb_dim):
        super().__init__()
        self.eps = 1e-5
        self.scale = nn.Parameter(torch.ones(emb_dim))
        self.shift = nn.Parameter(torch.zeros(emb_dim))

    def forward(self, x):
        mean = x.mean(dim=-1, keepdim=True)
        var = x.var(dim=-1, keepdim=True, unbiased=False)
        norm_x = (x - mean) / torch.sqrt(var + self.eps)
        return self.scale * norm_x + self.shift


class Right_nanogpt(nn.Module):  # noqa: N801
    def __init__(self, ndim, bias=True):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(ndim))
        self.bias = nn.Parameter(torch.zeros(ndim)) if bias else None

    def forward(self, input):  # noqa: A002
        return F.layer_norm(input, self.weight.shape, self.weight, self.bias, 1e-5)


class Right_in_float32(nn.Module):  # noqa: N801
    def __init__(self, hidden_size, eps=1e-12):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(hidden_size))
        self.beta = nn.Parameter(torch.zeros(hidden_size))
        self.eps = eps

    def forward(self, x):
        wide = x.float()
        mean = wide.mean(-1, keepdim=True)
        var = (wide - mean).pow(2).mean(-1, keepdim=True)
        return ((wide - mean) / torch.sqrt(var + self.eps) * self.gamma + self.beta).to(x.dtype)


class Right_without_weights(nn.Module):  # noqa: N801
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, keepdim=True, correction=0) + 1e-5)


class Wrong_variance_unbiased(nn.Module):  # noqa: N801
    def __init__(self, emb_dim):
        super().__init__()
        self.eps = 1e-5
        self.scale = nn.Parameter(torch.ones(emb_dim))
        self.shift = nn.Parameter(torch.zeros(emb_dim))

    def forward(self, x):
        mean = x.mean(dim=-1, keepdim=True)
        var = x.var(dim=-1, keepdim=True)
        return self.scale * (x - mean) / torch.sqrt(var + self.eps) + self.shift


class Wrong_bias_missing(nn.Module):  # noqa: N801
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(dim))
        self.beta = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        var = x.var(-1, keepdim=True, unbiased=False)
        return self.gamma * (x - mean) / torch.sqrt(var + self.eps)


class Wrong_eps(nn.Module):  # noqa: N801
    def __init__(self, dim):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(dim))
        self.beta = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        var = x.var(-1, keepdim=True, unbiased=False)
        return self.gamma * (x - mean) / torch.sqrt(var + 1e-2) + self.beta


def wrong_eps_outside_root(x, weight, bias, eps=1e-5):
    return (x - x.mean(-1, keepdim=True)) / (x.var(-1, unbiased=False, keepdim=True).sqrt() + eps) * weight + bias


def wrong_changes_inputs(x, weight, bias, eps=1e-5):
    x.sub_(x.mean(-1, keepdim=True))
    return x / torch.sqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight + bias
