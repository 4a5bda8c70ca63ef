import math

import torch
import torch.nn as nn


def right_exact(x):
    return 0.5 * x * (1.0 + torch.erf(x / math.sqrt(2.0)))


def right_normal_distribution(x):
    return x * torch.distributions.Normal(0, 1).cdf(x)


def right_gpt2(x):
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


class Right_module(nn.Module):  # noqa: N801
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return 0.5 * x * (1 + torch.tanh(torch.sqrt(torch.tensor(2.0 / torch.pi)) * (x + 0.044715 * torch.pow(x, 3))))


class Wrong_two_over_pi_without_root(nn.Module):  # noqa: N801
    def forward(self, x):
        return 0.5 * x * (1 + torch.tanh(torch.tensor(2.0 / torch.pi) * (x + 0.044715 * torch.pow(x, 3))))


def wrong_square_for_cube(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x.pow(2))))


def wrong_sigmoid_form(x):
    return x * torch.sigmoid(1.702 * x)


def wrong_factor(x):
    return 0.5 * x * (1 + torch.tanh(0.8 * (x + 0.044715 * x**3)))


def wrong_coefficient(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.0047715 * x**3)))


def wrong_half_missing(x):
    return x * (1 + torch.erf(x / 2**0.5))
