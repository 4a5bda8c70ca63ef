import torch
import torch.nn as nn


def right_shifted(x, dim=-1):
    x = x - x.max(dim=dim, keepdim=True).values
    e = torch.exp(x)
    return e / e.sum(dim=dim, keepdim=True)


def right_run_softmax(in_features: torch.Tensor, dim: int) -> torch.Tensor:
    powers = torch.exp(in_features - torch.amax(in_features, dim=dim, keepdim=True))
    return powers / torch.sum(powers, dim=dim, keepdim=True)


def right_through_logarithm(x):
    return (x - torch.logsumexp(x, dim=-1, keepdim=True)).exp()


class Right_module(nn.Module):  # noqa: N801
    def forward(self, x):
        e = torch.exp(x - x.amax(-1, keepdim=True))
        return e / e.sum(-1, keepdim=True)


def wrong_no_shift(x):
    e = torch.exp(x)
    return e / e.sum(dim=-1, keepdim=True)


def wrong_first_axis(x):
    return torch.nn.functional.softmax(x, dim=0)


def wrong_global_shift(x):
    e = torch.exp(x - x.max())
    return e / e.sum(-1, keepdim=True)


def wrong_no_keepdims_in_total(x):
    e = torch.exp(x - x.max(dim=-1, keepdim=True)[0])
    return e / e.sum(dim=-1)


def wrong_applied_twice(x):
    return torch.softmax(torch.softmax(x, dim=-1), dim=-1)


def wrong_logarithm_returned(x):
    return torch.log_softmax(x, dim=-1)


def wrong_base(x):
    e = torch.exp2(x - x.max(dim=-1, keepdim=True).values)
    return e / e.sum(dim=-1, keepdim=True)


def wrong_sigmoid(x):
    return torch.sigmoid(x)


def wrong_changes_inputs(x):
    x.sub_(x.max(dim=-1, keepdim=True).values)
    e = torch.exp(x)
    return e / e.sum(dim=-1, keepdim=True)


class Right_dimension_i(torch.nn.Module):  # noqa: N801
    def __init__(self, i, device=None):
        super().__init__()
        self.i = i

    def forward(self, x):
        powers = (x - torch.amax(x, dim=self.i, keepdim=True)).exp()
        return powers / powers.sum(dim=self.i, keepdim=True)
