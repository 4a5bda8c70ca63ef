import torch
import torch.nn.functional as F


def right_sigmoid(x):
    return x * torch.sigmoid(x)


def right_run_silu(in_features: torch.Tensor) -> torch.Tensor:
    return in_features * in_features.sigmoid()


def right_in_float64(x):
    return (x.double() * torch.sigmoid(x.double())).to(x.dtype)


def wrong_gelu(x):
    return F.gelu(x)


def wrong_sigmoid_returned(x):
    return torch.sigmoid(x)


def wrong_hard_gate(x):
    return F.hardswish(x)
