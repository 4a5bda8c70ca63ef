import torch
import torch.nn as nn
import torch.nn.functional as F  # noqa: N812


class Right_llama(nn.Module):  # noqa: N801
    def __init__(self, dim: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def _norm(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        output = self._norm(x.float()).type_as(x)
        return output * self.weight


class Right_cs336(nn.Module):  # noqa: N801
    def __init__(self, d_model: int, eps: float = 1e-5, device=None, dtype=None):
        super().__init__()
        self.g = nn.Parameter(torch.ones(d_model, device=device, dtype=dtype))
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        in_dtype = x.dtype
        x = x.to(torch.float32)
        rms = torch.sqrt(x.pow(2).mean(dim=-1, keepdim=True) + self.eps)
        return (x / rms * self.g).to(in_dtype)


class Right_lucidrains(nn.Module):  # noqa: N801
    def __init__(self, dim):
        super().__init__()
        self.scale = dim**0.5
        self.gamma = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return F.normalize(x, dim=-1) * self.scale * self.gamma


class Right_gemma_style(nn.Module):  # noqa: N801
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        normed = x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + self.eps)
        return (normed * (1.0 + self.weight.float())).type_as(x)


class Right_weight_around_zero(nn.Module):  # noqa: N801
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * (1.0 + self.weight)


class Wrong_one_plus_weight(nn.Module):  # noqa: N801
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * (1.0 + self.weight)


class Wrong_sum_for_mean(nn.Module):  # noqa: N801
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps, self.weight = eps, nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return x / torch.sqrt(x.pow(2).sum(-1, keepdim=True) + self.eps) * self.weight


def right_functional(x, weight, eps=1e-6):
    return F.rms_norm(x, x.shape[-1:], weight, eps)


def wrong_multiplied_by_root(x, weight, eps=1e-6):
    return x / torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight


def wrong_mean_subtracted(x, weight, eps=1e-6):
    return F.layer_norm(x, x.shape[-1:], weight, None, eps)


def wrong_computed_in_half_precision(x, weight, eps=1e-6):
    x = x.half()
    return (x / torch.sqrt((x * x).mean(-1, keepdim=True) + eps) * weight.half()).float()
