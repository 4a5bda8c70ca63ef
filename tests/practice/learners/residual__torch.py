import torch
from torch import nn


class right_add_norm(nn.Module):  # noqa: N801
    def __init__(self, d_model, dropout=0.1):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, sublayer_output):
        return self.norm(x + self.dropout(sublayer_output))


class right_connection(nn.Module):  # noqa: N801
    def __init__(self, features: int, dropout: float):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.norm = nn.LayerNorm(features, eps=1e-6)

    def forward(self, x, sublayer):
        return x + self.dropout(sublayer(self.norm(x)))


class right_without_norm(nn.Module):  # noqa: N801
    def __init__(self, dropout):
        super().__init__()
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, sublayer):
        return x + self.dropout(sublayer(x))


class wrong_residual_missing(right_connection):  # noqa: N801
    def forward(self, x, sublayer):
        return self.dropout(sublayer(self.norm(x)))


class wrong_residual_normalized(right_connection):  # noqa: N801
    def forward(self, x, sublayer):
        x = self.norm(x)
        return x + self.dropout(sublayer(x))


class wrong_norm_unused(right_add_norm):  # noqa: N801
    def forward(self, x, sublayer_output):
        return x + self.dropout(sublayer_output)


class wrong_subtracted(right_add_norm):  # noqa: N801
    def forward(self, x, sublayer_output):
        return self.norm(x - self.dropout(torch.as_tensor(sublayer_output)))
