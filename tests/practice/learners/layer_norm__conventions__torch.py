"""The norm of the Annotated Transformer, right by its own contract, and mistakes that have one of its two deviations."""

import torch
import torch.nn as nn


class right_sample_deviation(nn.Module):  # noqa: N801
    def __init__(self, features, eps=1e-6):
        super().__init__()
        self.a_2, self.b_2, self.eps = nn.Parameter(torch.ones(features)), nn.Parameter(torch.zeros(features)), eps

    def forward(self, x):
        return self.a_2 * (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + self.eps) + self.b_2


class wrong_variance_unbiased(right_sample_deviation):  # noqa: N801
    def forward(self, x):
        return self.a_2 * (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, keepdim=True) + self.eps) + self.b_2
