"""Classes called Block: a GPT block is causal, an encoder block is not."""

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


def judged(name, remark="", rest=""):
    text = BLOCK.format(name=name, remark=remark) + rest
    module = ModuleType("mine")
    exec(compile(text, "mine.py", "exec"), module.__dict__)
    (verdict,) = verdicts(list(with_exercises(module, text)))
    return verdict


def test_a_block_without_a_mask_is_accepted_as_an_encoder_block_with_a_note():
    verdict = judged("Block")
    assert verdict.is_correct, verdict
    assert "correct for an encoder block" in str(verdict)


@pytest.mark.parametrize(
    ("name", "remark"), [("GPTBlock", ""), ("Block", "  # causal self-attention"), ("Block", "  # the mask comes later")]
)
def test_a_block_that_mentions_a_mask_or_a_gpt_must_be_causal(name, remark):
    assert [cause.name for cause in judged(name, remark).causes] == ["not_causal"]


def test_a_block_in_a_file_with_a_language_model_must_be_causal():
    rest = "\nclass BigramLanguageModel(nn.Module):\n    pass\n"
    assert [cause.name for cause in judged("Block", rest=rest).causes] == ["not_causal"]
