"""Conventions of feed-forward modules: prefixed settings, fixed inner widths, a norm inside, lazy layers."""

import torch
import torch.nn as nn


class Settings:
    def __init__(self, lm_hidden_dim=64, lm_inter_dim=256, lm_dropout=0.1, **others):
        self.lm_hidden_dim, self.lm_inter_dim, self.lm_dropout = lm_hidden_dim, lm_inter_dim, lm_dropout


class right_prefixed_settings(nn.Module):  # noqa: N801
    def __init__(self, cfg):
        super().__init__()
        self.up, self.down = nn.Linear(cfg.lm_hidden_dim, cfg.lm_inter_dim), nn.Linear(cfg.lm_inter_dim, cfg.lm_hidden_dim)
        self.drop = nn.Dropout(cfg.lm_dropout)

    def forward(self, x):
        return self.drop(self.down(torch.relu(self.up(x))))


class wrong_activation_missing(right_prefixed_settings):  # noqa: N801
    def forward(self, x):
        return self.drop(self.down(self.up(x)))


class right_fixed_inner_width(nn.Module):  # noqa: N801
    def __init__(self, n_embd):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_embd, 128), nn.GELU(), nn.Linear(128, n_embd))

    def forward(self, x):
        return self.net(x)


class right_norm_and_residual_inside(nn.Module):  # noqa: N801
    def __init__(self, d_in, d_hid, dropout=0.1):
        super().__init__()
        self.w_1, self.w_2 = nn.Linear(d_in, d_hid), nn.Linear(d_hid, d_in)
        self.layer_norm = nn.LayerNorm(d_in, eps=1e-6)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.layer_norm(x + self.dropout(self.w_2(torch.relu(self.w_1(x)))))


class right_norm_first(nn.Module):  # noqa: N801
    def __init__(self, dim, hidden_dim, dropout=0.0):
        super().__init__()
        self.net = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, hidden_dim), nn.GELU(), nn.Linear(hidden_dim, dim), nn.Dropout(dropout))

    def forward(self, x):
        return self.net(x)


class right_lazy(nn.Module):  # noqa: N801
    def __init__(self, ffn_num_hiddens, ffn_num_outputs):
        super().__init__()
        self.dense1, self.dense2 = nn.LazyLinear(ffn_num_hiddens), nn.LazyLinear(ffn_num_outputs)

    def forward(self, x):
        return self.dense2(torch.relu(self.dense1(x)))


class right_gated_in_the_order_of_llama(nn.Module):  # noqa: N801
    def __init__(self, dim, hidden_dim, multiple_of, dropout):
        super().__init__()
        inner = multiple_of * ((int(2 * hidden_dim / 3) + multiple_of - 1) // multiple_of)
        self.w1, self.w2, self.w3 = nn.Linear(dim, inner, bias=False), nn.Linear(inner, dim, bias=False), nn.Linear(dim, inner, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.dropout(self.w2(nn.functional.silu(self.w1(x)) * self.w3(x)))
