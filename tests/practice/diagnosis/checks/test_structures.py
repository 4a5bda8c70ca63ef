"""Wrong parts that their structure shows, and changes of order that make parts right."""

from __future__ import annotations

import pytest

from headway.practice.chinese_names import in_english
from headway.practice.diagnosis.sandbox import check_file
from tests.practice.diagnosis.checks.judging import verdict_on
from tests.practice.public import lengths_and_structures

MASK = """
import torch

def extended_attention_mask(input_ids, pad_id=0):
    is_real = (input_ids != pad_id).float()
    return {hidden}[:, None, None, :] * -1e9
"""

ATTENTION = """
import torch
from torch import nn

class Attention(nn.Module):
    def __init__(self, dim, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.qkv(x).view(batch, length, 3, self.num_heads, width // self.num_heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        weights = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, length, width))
"""

CAUSAL = """
import torch
from torch import nn

class SelfAttention(nn.Module):
    def __init__(self, dim, max_len):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.register_buffer("bias", {bias})

    def forward(self, x):
        length = x.shape[1]
        scores = self.q(x) @ self.k(x).mT / x.shape[-1] ** 0.5 + self.bias[:length, :length]
        return scores.softmax(-1) @ self.v(x)
"""

BLOCK = (
    ATTENTION
    + """
class Block(nn.Module):
    def __init__(self, dim, num_heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = Attention(dim, num_heads)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return self.norm2(x + self.mlp(x))
"""
)


@pytest.mark.parametrize(
    ("name", "cause"), [("Wrapped", "residual_normalized"), ("Several", "first_head_everywhere")], ids=["residual", "heads"]
)
def test_wrong_parts_under_other_names_are_recognised_by_their_structure(tmp_path, name, cause):
    pytest.importorskip("torch")
    program = next(each for each in lengths_and_structures.PROGRAMS if each.name == name)
    verdict = verdict_on(tmp_path, program.text.replace(*program.mistakes[0]), name)
    assert verdict.exercise == program.part
    assert [each.name for each in verdict.causes] == [cause]


def test_what_does_other_things_to_a_layer_is_no_residual(tmp_path):
    pytest.importorskip("torch")
    path = tmp_path / "learner.py"
    path.write_text(lengths_and_structures.AROUND.replace("x + branch", "x + branch.tanh()"))
    assert all(each.status == "not judged" for each in check_file(path))


def test_masks_by_lengths_are_compared_by_lengths_alone(tmp_path):
    pytest.importorskip("torch")
    program = lengths_and_structures.PROGRAMS[0]
    path = tmp_path / "learner.py"
    path.write_text(program.text.replace(*program.mistakes[0]))
    (verdict,) = check_file(path)
    assert verdict.status == "wrong"
    assert "mask_on_rows" not in {each.name for each in verdict.causes}
    assert [each.replacement for each in verdict.repair.edits] == [">="] or ">=" in verdict.repair.says.en


def test_masks_of_padding_that_hide_the_tokens_are_wrong(tmp_path):
    pytest.importorskip("torch")
    assert verdict_on(tmp_path, MASK.format(hidden="(1 - is_real)")).is_correct
    verdict = verdict_on(tmp_path, MASK.format(hidden="is_real"))
    assert [each.name for each in verdict.causes] == ["inverted"]


def test_axes_of_a_long_permutation_are_exchanged(tmp_path):
    pytest.importorskip("torch")
    path = tmp_path / "learner.py"
    path.write_text(ATTENTION.replace("2, 0, 3, 1, 4", "2, 0, 1, 3, 4"))
    (verdict,) = check_file(path)
    assert "permute(2, 0, 3, 1, 4)" in verdict.repair.says.en


def test_a_norm_of_a_sum_is_moved_into_the_layer(tmp_path):
    pytest.importorskip("torch")
    path = tmp_path / "learner.py"
    path.write_text(BLOCK)
    verdict = next(each for each in check_file(path) if each.subject == "Block")
    assert "x + self.mlp(self.norm2(x))" in verdict.repair.says.en


@pytest.mark.parametrize(
    "bias",
    [
        "torch.full((max_len, max_len), 1e-9).triu(1)",
        "torch.triu(torch.full((max_len, max_len), 1e-9), diagonal=1)",
        "torch.ones(max_len, max_len).triu(1) * 1e-9",
    ],
)
def test_numbers_near_zero_above_the_diagonal_are_wrong(tmp_path, bias):
    pytest.importorskip("torch")
    verdict = verdict_on(tmp_path, CAUSAL.format(bias=bias))
    assert [each.name for each in verdict.causes] == ["hidden_score_is_zero"]
    assert verdict_on(tmp_path, CAUSAL.format(bias=bias.replace("1e-9", "-1e9"))).is_correct


def test_chinese_names_are_read_in_english():
    assert in_english("前馈维度") == "feed_forward_dim"
    assert in_english("d_model") == "d_model"
