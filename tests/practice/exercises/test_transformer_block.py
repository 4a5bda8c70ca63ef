"""A class called Block may be a GPT's, which is causal, or an encoder's, which is not."""

from __future__ import annotations

from types import ModuleType

import pytest

from headway.practice.diagnosis.files import with_exercises
from headway.practice.diagnosis.nested import verdicts

BLOCK = """
import torch
import torch.nn as nn

class {name}(nn.Module):
    def __init__(self, dim, num_heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, num_heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x):
        h = self.norm1(x)
        x = x + self.attn(h, h, h)[0]{remark}
        return x + self.mlp(self.norm2(x))
"""


def judged(name, remark="", beside=""):
    text = BLOCK.format(name=name, remark=remark) + beside
    module = ModuleType("mine")
    exec(compile(text, "mine.py", "exec"), module.__dict__)
    (verdict,) = verdicts(list(with_exercises(module, text)))
    return verdict


def test_a_block_that_speaks_of_no_mask_may_be_an_encoders_and_is_told_so():
    verdict = judged("Block")
    assert verdict.is_correct, verdict
    assert "right for an encoder's block" in str(verdict)


@pytest.mark.parametrize(
    ("name", "remark"), [("GPTBlock", ""), ("Block", "  # causal self-attention"), ("Block", "  # the mask comes later")]
)
def test_a_block_that_speaks_of_a_mask_or_of_a_gpt_must_be_causal(name, remark):
    assert [cause.name for cause in judged(name, remark).causes] == ["not_causal"]


def test_a_block_beside_a_language_model_must_be_causal():
    beside = "\nclass BigramLanguageModel(nn.Module):\n    pass\n"
    assert [cause.name for cause in judged("Block", beside=beside).causes] == ["not_causal"]
