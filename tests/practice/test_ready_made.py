from __future__ import annotations

import pytest

from headway.practice import ready_made
from headway.practice.exercises import NAMES
from headway.practice.source import read
from headway.practice.verdict import Verdict


def judged(tmp_path, text, part="softmax", **options):
    path = tmp_path / "mine.py"
    path.write_text(text)
    verdict = Verdict(part, part, text[: text.index(f" {part}")].count("\n") + 1, "correct")
    return ready_made.judged(verdict, read(path), **({"is_forbidden": False} | options))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("import torch\ndef softmax(x):\n    return torch.softmax(x, -1)\n", "torch.softmax"),
        ("import torch.nn.functional as F\ndef softmax(x):\n    return F.softmax(x, -1)\n", "torch.nn.functional.softmax"),
        ("from torch import nn\nclass Own(nn.Module):\n    pass\ndef softmax(x):\n    return nn.Softmax(-1)(x)\n", "torch.nn.Softmax"),
        ("from jax.nn import softmax as s\ndef softmax(x):\n    return s(x)\n", "jax.nn.softmax"),
        ("import mlx.core as mx\ndef softmax(x):\n    return mx.softmax(x, -1)\n", "mlx.core.softmax"),
        ("import torch\ndef softmax(x):\n    return (x + 0).softmax(-1)\n", ".softmax()"),
        (
            "import torch\n_ready = torch.softmax\ndef _helper(x):\n    return _ready(x, -1)\ndef softmax(x):\n    return _helper(x)\n",
            "torch.softmax",
        ),
    ],
)
def test_a_ready_made_part_is_noted_and_wrong_if_forbidden(tmp_path, text, name):
    verdict = judged(tmp_path, text)
    assert (verdict.status, [note.en for note in verdict.notes]) == ("correct", [f"calls {name}, the library's own"])
    forbidden = judged(tmp_path, text, is_forbidden=True)
    assert (forbidden.status, forbidden.rule) == ("wrong", "softmax/forbidden")
    line = text.splitlines()[forbidden.causes[0].line - 1]
    assert "softmax" in line.lower() or line == "    return s(x)"


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (
            "import torch\ndef softmax(x):\n    e = torch.exp(x - x.max(-1, keepdim=True).values)\n    return e / e.sum(-1, keepdim=True)\n",
            "softmax",
        ),
        ("import torch\ndef other(x):\n    return torch.softmax(x, -1)\ndef softmax(x):\n    return x\n", "softmax"),
        ("import torch\ndef log_softmax(x):\n    return torch.log(torch.softmax(x, -1))\n", "log_softmax"),
        ("import torch, mine\ndef softmax(x):\n    return mine.softmax(x)\n", "softmax"),
        (
            "import torch\nclass K:\n    def softmax(self, x):\n        return self.softmax(x)\ndef relu(x):\n    return K().softmax(x)\n",
            "relu",
        ),
        (
            "from torch import nn\nclass multi_head_attention(nn.Module):\n    def __init__(self):\n        self.q = nn.Linear(4, 4)\n",
            "multi_head_attention",
        ),
        ("def softmax(x):\n    return x.softmax(-1)\n", "softmax"),
    ],
)
def test_a_part_of_ones_own_is_not_noted(tmp_path, text, part):
    assert judged(tmp_path, text, part, is_forbidden=True).status == "correct"


def test_wrong_verdicts_stay_as_they_are(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("import torch\ndef softmax(x):\n    return torch.softmax(x, 0)\n")
    wrong = Verdict("softmax", "softmax", 2, "wrong")
    assert ready_made.judged(wrong, read(path), is_forbidden=True) == wrong


def test_the_table_names_parts():
    assert set(ready_made.NAMES) <= set(NAMES)
