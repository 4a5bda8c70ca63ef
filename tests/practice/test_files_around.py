"""Files of one program: constants that several of them import, folders that they make, and modules that a package imports."""

import subprocess
import sys

import pytest

from headway.practice.diagnosis.files import load_module, with_exercises
from headway.practice.diagnosis.nested import verdicts
from headway.practice.diagnosis.sandbox import check_file

SIZES = "WIDTH, DROPOUT, LONGEST = 384, 0.1, 256\n"

ATTENTION = """
import numpy as np
import sizes
from sizes import WIDTH

class CausalSelfAttention:
    def __init__(self, num_heads):
        draw = np.random.default_rng(0).standard_normal
        self.num_heads = num_heads
        self.wq, self.wk, self.wv, self.wo = (draw((WIDTH, WIDTH)) * 0.02 for _ in range(4))
        self.hidden = np.triu(np.ones((sizes.LONGEST, sizes.LONGEST), bool), 1)

    def __call__(self, x):
        batch, length, _ = x.shape
        q, k, v = (np.swapaxes((x @ w).reshape(batch, length, self.num_heads, -1), 1, 2) for w in (self.wq, self.wk, self.wv))
        scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(WIDTH // self.num_heads)
        scores = np.where(self.hidden[:length, :length], -np.inf, scores)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights = weights / weights.sum(-1, keepdims=True)
        return np.swapaxes(weights @ v, 1, 2).reshape(batch, length, WIDTH) @ self.wo
"""

BLOCK = """
import numpy as np
from attention import CausalSelfAttention
from sizes import WIDTH

class LayerNorm:
    def __init__(self):
        self.gamma, self.beta = np.ones(WIDTH), np.zeros(WIDTH)

    def __call__(self, x):
        return self.gamma * (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) + self.beta

class FeedForward:
    def __init__(self):
        draw = np.random.default_rng(1).standard_normal
        self.w1, self.b1 = draw((WIDTH, 4 * WIDTH)), np.zeros(4 * WIDTH)
        self.w2, self.b2 = draw((4 * WIDTH, WIDTH)), np.zeros(WIDTH)

    def __call__(self, x):
        return np.maximum(x @ self.w1 + self.b1, 0) @ self.w2 + self.b2

class TransformerBlock:
    def __init__(self, num_heads):
        self.attention, self.feed_forward = CausalSelfAttention(num_heads), FeedForward()
        self.norm_1, self.norm_2 = LayerNorm(), LayerNorm()

    def __call__(self, x):
        x = x + self.attention(self.norm_1(x))
        return x + self.feed_forward(self.norm_2(x))
"""


def checked(folder, name, **files):
    for stem, text in files.items():
        (folder / f"{stem}.py").write_text(text)
    return {verdict.subject: verdict for verdict in check_file(folder / f"{name}.py", seed=1)}


def test_a_constant_that_several_files_import_is_a_size_of_each(tmp_path):
    found = checked(tmp_path, "block", sizes=SIZES, attention=ATTENTION, block=BLOCK)
    assert all(verdict.is_correct for verdict in found.values()), found


def test_a_constant_of_an_imported_module_is_a_size(tmp_path):
    assert checked(tmp_path, "attention", sizes=SIZES, attention=ATTENTION)["CausalSelfAttention"].is_correct


@pytest.mark.slow
@pytest.mark.parametrize(("right", "wrong"), [("WIDTH // self.num_heads", "WIDTH"), ("bool), 1)", "bool), 2)")])
def test_a_mistake_next_to_a_constant_of_several_files_is_found(tmp_path, right, wrong):
    assert ATTENTION.replace(right, wrong) != ATTENTION
    verdict = checked(tmp_path, "attention", sizes=SIZES, attention=ATTENTION.replace(right, wrong))["CausalSelfAttention"]
    assert verdict.status == "wrong"


SHARE = """
from . import sums

def softmax(x):
    return sums.share(x)
"""

SUMS = """
from pathlib import Path
import numpy as np

Path(__file__).with_name("checkpoints").mkdir(exist_ok=True)

def share(x):
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)
"""


def test_a_folder_that_cannot_be_made_and_a_module_that_the_package_imports_hide_no_parts(tmp_path):
    folder = tmp_path / "course"
    folder.mkdir()
    (folder / "__init__.py").write_text("from . import sums\n")
    assert checked(folder, "share", sums=SUMS, share=SHARE)["softmax"].is_correct
    assert not (folder / "checkpoints").exists()


def test_a_file_with_the_name_of_its_package_hides_no_other_files_of_it(tmp_path):
    folder = tmp_path / "course"
    folder.mkdir()
    (folder / "__init__.py").touch()
    shares = "import numpy as np\n\ndef share(x):\n    powers = np.exp(x - x.max(-1, keepdims=True))\n    return powers / powers.sum(-1, keepdims=True)\n"
    text = "from course import shares\n\ndef softmax(x):\n    return shares.share(x)\n"
    assert checked(folder, "mine", shares=shares, course="from course import mine\n", mine=text)["softmax"].is_correct


def test_a_package_of_the_current_folder_does_not_hide_one_of_the_program(tmp_path, monkeypatch):
    folder, elsewhere = tmp_path / "program" / "lessons", tmp_path / "elsewhere" / "lessons"
    for each in (folder, elsewhere):
        each.mkdir(parents=True)
        (each / "__init__.py").touch()
    monkeypatch.chdir(elsewhere.parent)
    shares = "import numpy as np\n\ndef share(x):\n    powers = np.exp(x - x.max(-1, keepdims=True))\n    return powers / powers.sum(-1, keepdims=True)\n"
    ratios = "from lessons.shares import share\n\ndef ratio(x):\n    return share(x)\n"
    text = "from .ratios import ratio\n\ndef softmax(x):\n    return ratio(x)\n"
    assert checked(folder, "mine", shares=shares, ratios=ratios, mine=text)["softmax"].is_correct


def test_a_package_may_have_had_another_name(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "ratios.py").write_text("import numpy as np\n\ndef powers(x):\n    return np.exp(x - x.max(-1, keepdims=True))\n")
    text = "from earlier_name.parts.ratios import powers\n\ndef softmax(x):\n    return powers(x) / powers(x).sum(-1, keepdims=True)\n"
    assert checked(tmp_path / "parts", "mine", mine=text)["softmax"].is_correct


TRAINING = """
import argparse
import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("--corpus", required=True)
arguments = parser.parse_args()

def share(x):
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)

def sized(x):
    return x[: arguments.length]
"""


def test_the_definitions_of_a_file_that_needs_arguments_can_be_imported(tmp_path):
    text = "from training import share, sized\n\ndef softmax(x):\n    return share(x)\n\ndef relu(x):\n    return sized(x) * (x > 0)\n"
    found = checked(tmp_path, "mine", training=TRAINING, mine=text)
    assert found["softmax"].is_correct, found
    assert found["relu"].status == "could not run"


def test_a_file_that_handles_an_exception_of_another_gets_it(tmp_path):
    text = (
        "import numpy as np\n\ntry:\n    from training import relu\nexcept Exception:\n    def relu(x):\n        return np.maximum(x, 0)\n"
    )
    text += "\ndef silu(x):\n    return x / (1 + np.exp(-x)) + 0 * relu(x)\n"
    assert checked(tmp_path, "mine", training="raise RuntimeError\n\ndef relu(x):\n    return x * float('nan')\n", mine=text)[
        "silu"
    ].is_correct


def test_a_definition_that_raises_does_not_hide_the_others(tmp_path):
    (tmp_path / "mine.py").write_text("""
import numpy as np

class Attention:
    def forward(self, x, width=x.shape):
        return x

def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)
""")
    found = {verdict.subject: verdict.status for verdict in check_file(tmp_path / "mine.py")}
    assert found == {"mine.py": "could not run", "softmax": "correct"}


LAYER_OF_ANOTHER_FILE = """
from torch import nn
from attention_of_course import MultiHeadAttention

class EncoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.attention_norm, self.feed_forward_norm = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def forward(self, x, mask=None):
        x = self.attention_norm(x + self.attention(x, x, x, mask))
        return self.feed_forward_norm(x + self.feed_forward(x))
"""
WRONG_ATTENTION = """
import torch
from torch import nn

class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.fc_q, self.fc_k, self.fc_v, self.fc_out = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, q, k, v, mask=None):
        q, k, v = (self.fc_q(x).unflatten(-1, (self.n_heads, -1)).transpose(1, 2) for x in (q, k, v))
        scores = q @ k.mT / q.shape[-1] ** 0.5
        scores = scores if mask is None else scores.masked_fill(mask == 0, -1e9)
        return self.fc_out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))
"""


@pytest.mark.parametrize(("change", "is_right"), [(("", ""), True), (("x + self.attention(", "self.attention("), False)])
def test_a_wrong_part_of_another_file_is_no_mistake_of_a_layer(tmp_path, change, is_right):
    pytest.importorskip("torch")
    (tmp_path / "attention_of_course.py").write_text(WRONG_ATTENTION)
    path, text = tmp_path / "layer.py", LAYER_OF_ANOTHER_FILE.replace(*change) if change[0] else LAYER_OF_ANOTHER_FILE
    path.write_text(text)
    (verdict,) = verdicts([each for each in with_exercises(load_module(path, text), text) if each[0].name == "EncoderLayer"])
    assert verdict.is_correct == is_right


OWN_OPTIMIZER = """
import torch

class SGD(torch.optim.Optimizer):
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                p.data -= group["lr"] * p.grad
"""


def test_the_compiler_that_an_optimizer_imports_is_there_before_its_calls(tmp_path):
    pytest.importorskip("torch")
    (tmp_path / "descent.py").write_text(OWN_OPTIMIZER)
    program = (
        "import sys, pathlib; from headway.practice.diagnosis.files import load_module; path = pathlib.Path(sys.argv[1]); "
        "load_module(path, path.read_text()); print('torch._dynamo' in sys.modules)"
    )
    printed = subprocess.run([sys.executable, "-c", program, str(tmp_path / "descent.py")], capture_output=True, text=True, check=True)
    assert printed.stdout == "True\n"


ADAPTED = """
from torch import nn

class SelfAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.num_heads, self.rank = config.num_heads, getattr(config, "rank", 0)
        self.qkv, self.out = nn.Linear(config.width, 3 * config.width), nn.Linear(config.width, config.width)
        if self.rank > 0:
            self.down, self.up = nn.Linear(config.width, self.rank), nn.Linear(self.rank, config.width)

    def forward(self, x):
        q, k, v = (each.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for each in self.qkv(x).chunk(3, -1))
        return self.out(nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
"""

LAYER = """
from torch import nn
from adapted import SelfAttention

class EncoderLayer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.attention = SelfAttention(config)
        self.norm_1, self.norm_2 = nn.LayerNorm(config.width), nn.LayerNorm(config.width)
        self.up, self.down = nn.Linear(config.width, config.inner), nn.Linear(config.inner, config.width)

    def forward(self, x):
        x = x + self.attention(self.norm_1(x))
        return x + self.down(nn.functional.gelu(self.up(self.norm_2(x))))
"""


def test_fields_that_another_file_can_do_without_are_not_given(tmp_path):
    pytest.importorskip("torch")
    (tmp_path / "adapted.py").write_text(ADAPTED)
    (tmp_path / "layer.py").write_text(LAYER)
    (verdict,) = check_file(tmp_path / "layer.py")
    assert verdict.is_correct, verdict
