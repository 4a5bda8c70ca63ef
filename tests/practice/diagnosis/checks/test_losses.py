"""A model with targets: its loss is the cross-entropy of its logits."""

from __future__ import annotations

import pytest

from tests.practice.diagnosis.checks.judging import verdict_on

MODEL = """
import torch
import torch.nn.functional as F
from torch import nn

class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads = config.n_head
        self.ln_1, self.ln_2 = nn.LayerNorm(config.n_embd), nn.LayerNorm(config.n_embd)
        self.qkv, self.proj = nn.Linear(config.n_embd, 3 * config.n_embd), nn.Linear(config.n_embd, config.n_embd)
        self.mlp = nn.Sequential(nn.Linear(config.n_embd, 4 * config.n_embd), nn.GELU(), nn.Linear(4 * config.n_embd, config.n_embd))

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(self.ln_1(x)).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        hidden = torch.ones(t, t, dtype=torch.bool).triu(1)
        scores = (q @ k.transpose(-2, -1) / (c // self.heads) ** 0.5).masked_fill(hidden, float("-inf"))
        x = x + self.proj((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, t, c))
        return x + self.mlp(self.ln_2(x))

class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(config.vocab_size, config.n_embd), nn.Embedding(config.block_size, config.n_embd)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.n_layer)])
        self.ln_f, self.head = nn.LayerNorm(config.n_embd), nn.Linear(config.n_embd, config.vocab_size, bias=False)

    def forward(self, idx, targets=None):
        x = self.wte(idx) + self.wpe(torch.arange(idx.shape[1]))
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.ln_f(x))
        if targets is None:
            return logits, None
        B, T, V = logits.shape
        return logits, F.cross_entropy(logits.view(B * T, V), targets.reshape(B * T))
"""
LOSS = "F.cross_entropy(logits.view(B * T, V), targets.reshape(B * T))"


def test_the_mean_cross_entropy_of_the_logits_is_correct(tmp_path):
    assert MODEL.count(LOSS) == 1
    assert verdict_on(tmp_path, MODEL, "GPT").is_correct


@pytest.mark.parametrize(
    "wrong",
    [
        "F.cross_entropy(logits.view(B, V, T), targets)",
        "F.cross_entropy(logits.view(B * T, V), targets.t().reshape(B * T))",
        "F.cross_entropy(logits.softmax(-1).view(B * T, V), targets.reshape(B * T))",
        "F.nll_loss(logits.view(B * T, V), targets.reshape(B * T))",
    ],
)
def test_another_loss_is_found(tmp_path, wrong):
    verdict = verdict_on(tmp_path, MODEL.replace(LOSS, wrong), "GPT")
    assert [cause.name for cause in verdict.causes] == ["loss_differs"]


@pytest.mark.parametrize(
    "right",
    [
        "F.cross_entropy(logits[:, :-1].reshape(-1, V), targets[:, 1:].reshape(-1))",
        "F.cross_entropy(logits.transpose(1, 2), targets)",
        "F.cross_entropy(logits.view(B * T, V), targets.reshape(B * T), label_smoothing=0.1)",
    ],
)
def test_losses_of_other_forms_are_correct(tmp_path, right):
    assert verdict_on(tmp_path, MODEL.replace(LOSS, right), "GPT").is_correct
