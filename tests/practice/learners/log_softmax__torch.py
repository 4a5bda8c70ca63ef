import math

import torch


def right_logsumexp(x, dim=-1):
    return x - torch.logsumexp(x, dim=dim, keepdim=True)


def right_shifted(x: torch.Tensor) -> torch.Tensor:
    x = x - x.amax(dim=-1, keepdim=True)
    return x - x.exp().sum(dim=-1, keepdim=True).log()


def wrong_logarithm_of_softmax(x):
    return torch.log(torch.softmax(x, dim=-1))


def wrong_first_axis(x):
    return x.log_softmax(dim=0)


def wrong_floor(x):
    return torch.log(torch.softmax(x, dim=-1) + 1e-8)


def wrong_unit(x):
    return torch.log_softmax(x, dim=-1) / math.log(2)
