import torch


def right_clamp(x):
    return torch.clamp(x, min=0)


def right_maximum(x):
    return torch.maximum(x, torch.zeros_like(x))


def right_maximum_of_scalar_tensor(x: torch.Tensor) -> torch.Tensor:
    return torch.max(x, torch.tensor(0.0))


def right_in_half(x):
    return x.half().relu().float() * 0 + x.masked_fill(x < 0, 0.0)


def wrong_slope_below_zero(x):
    return torch.where(x > 0, x, 0.1 * x)


def wrong_gelu(x):
    return torch.nn.functional.gelu(x)


def wrong_changes_inputs(x):
    return x.clamp_(min=0)
