"""Functions named `solve` or `solution`, whose file says which part they are, and which write into an output that they are given."""

from __future__ import annotations

import pytest

from headway.practice.diagnosis.files import load_module, with_exercises
from headway.practice.diagnosis.nested import verdicts

SOFTMAX = """
import numpy as np

def solution(x):
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)
"""

SOFTMAX_OF_VECTOR = """
import torch

def solve(input: torch.Tensor, output: torch.Tensor, N: int):
    powers = torch.exp(input - input.max())
    output[:] = powers / powers.sum()
"""

NORM = """
import torch

def solve(input: torch.Tensor, gamma: torch.Tensor, beta: torch.Tensor, output: torch.Tensor, N: int, C: int, eps: float):
    centered = input - input.mean(dim=1, keepdim=True)
    output[:] = gamma * centered / torch.sqrt((centered**2).mean(dim=1, keepdim=True) + eps) + beta
"""

ROTATION = """
import torch

def solve(Q: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, output: torch.Tensor, M: int, D: int):
    first, second = Q[..., : D // 2], Q[..., D // 2 :]
    torch.add(Q * cos, torch.cat((-second, first), dim=-1) * sin, out=output)
"""

ATTENTION = """
import torch

def solve(Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor, output: torch.Tensor, M: int, N: int, d: int):
    scores = Q.view(M, d) @ K.view(N, d).T / d**0.5
    output.copy_(torch.softmax(scores, dim=-1) @ V)
"""

HEADS = """
import torch

def solve(Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor, output: torch.Tensor, N: int, d_model: int, h: int):
    q, k, v = (each.view(N, h, d_model // h).transpose(0, 1) for each in (Q, K, V))
    weights = torch.softmax(q @ k.transpose(-2, -1) / (d_model // h) ** 0.5, dim=-1)
    output.copy_((weights @ v).transpose(0, 1).reshape(N, d_model))
"""

FILES = {
    "softmax/solution.py": (SOFTMAX, "softmax", "- x.max(-1, keepdims=True)", ""),
    "softmax.py": (SOFTMAX_OF_VECTOR, "softmax", "input - input.max()", "input"),
    "03-layer-norm.py": (NORM, "layer_norm", " + beta", ""),
    "rope.py": (ROTATION, "rotary", "(-second, first)", "(second, first)"),
    "softmax_attention.py": (ATTENTION, "scaled_dot_product_attention", "d**0.5", "N**0.5"),
    "12-multi-head-attention/solution.py": (HEADS, "multi_head_attention", "(d_model // h) ** 0.5", "d_model**0.5"),
}


def judged(path, text):
    """Return the verdicts on a text in a file."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return verdicts(list(with_exercises(load_module(path, text), text)))


@pytest.mark.parametrize("name", FILES)
def test_a_function_of_any_name_is_the_part_that_its_file_is_named_after(tmp_path, name):
    text, part, right, wrong = FILES[name]
    if "torch" in text:
        pytest.importorskip("torch")
    (verdict,) = judged(tmp_path / name, text)
    assert (verdict.exercise, verdict.status) == (part, "correct")
    (verdict,) = judged(tmp_path / name, text.replace(right, wrong))
    assert (verdict.exercise, verdict.status) == (part, "wrong")


def test_a_file_whose_name_is_no_part_says_nothing_of_its_functions(tmp_path):
    assert judged(tmp_path / "day_one.py", SOFTMAX.replace("powers.sum(-1, keepdims=True)", "1")) == []
