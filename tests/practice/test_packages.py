"""Imports of files next to a learner's file, and of packages that are not installed."""

from importlib.util import find_spec
from types import ModuleType

import numpy
import pytest

from headway.practice.diagnosis.files import load_definitions, load_module
from headway.practice.diagnosis.sandbox import check_file


def test_relative_imports_work_in_a_folder_named_like_a_module_of_python(tmp_path):
    folder = tmp_path / "thread" / "part" / "of" / "course"  # Python has a module _thread
    folder.mkdir(parents=True)
    (tmp_path / "thread" / "sums.py").write_text("def total(x):\n    return x.sum(-1, keepdims=True)\n")
    text = "from ....sums import total\n\ndef share(x):\n    return x / total(x)\n"
    (folder / "share.py").write_text(text)
    module = load_module(folder / "share.py", text)
    assert isinstance(module, ModuleType), module
    assert module.share(numpy.array([1.0, 3.0])).tolist() == [0.25, 0.75]


def statuses(tmp_path, text):
    path = tmp_path / "mine.py"
    path.write_text(text)
    return {verdict.subject: verdict for verdict in check_file(path)}


@pytest.mark.slow
def test_parts_that_do_not_use_a_missing_package_are_judged(tmp_path):
    (tmp_path / "helper.py").write_text("import no_such_tokenizer\n")
    text = """
import numpy as np
import cupy
import no_such_package.nested as nested
from no_such_package import einsum
from jaxtyping import Float, jaxtyped
import helper

@jaxtyped(typechecker=None)
def softmax(x: Float[np.ndarray, "rows columns"]) -> nested.Array | None:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)

def relu(x):
    return einsum("i,i->i", x, x > 0)

def silu(x):
    return x / (1 + np.exp(-x)) if nested.IS_FAST else x
"""
    found = statuses(tmp_path, text)
    assert found["softmax"].is_correct, found["softmax"]
    assert found["relu"].status == found["silu"].status == "could not run"
    assert found["relu"].causes[0].name == "raises_ModuleNotFoundError"
    assert "add no_such_package" in found["relu"].causes[0].fix.en


@pytest.mark.slow
def test_a_class_of_lightning_is_judged_as_a_module_of_torch(tmp_path):
    pytest.importorskip("torch")
    text = """
import torch
import lightning as L

class RMSNorm(L.LightningModule):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = torch.nn.Parameter(torch.ones(dim))
    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight
"""
    assert statuses(tmp_path, text)["RMSNorm"].is_correct
    wrong = statuses(tmp_path, text.replace("torch.rsqrt(", "torch.sqrt("))["RMSNorm"]
    assert not wrong.is_correct


@pytest.mark.parametrize("line", ["class Layer(no_such_package.Module):\n    pass", "table = no_such_package.table()"])
def test_a_file_that_uses_a_missing_package_while_it_is_imported_cannot_run(tmp_path, line):
    (tmp_path / "mine.py").write_text(f"import no_such_package\n\n{line}\n\ndef relu(x):\n    return x * (x > 0)\n")
    first = check_file(tmp_path / "mine.py")[0]
    assert first.status == "could not run"
    assert "add no_such_package" in first.causes[0].fix.en


def test_a_missing_part_of_a_namespace_package_hides_no_definitions(tmp_path):
    (tmp_path / "vendor").mkdir()
    text = "from vendor.notebook import drive\ndrive.mount('/')\n\ndef relu(x):\n    return x * (x > 0)\n"
    assert statuses(tmp_path, text)["relu"].is_correct


def test_a_class_that_a_missing_package_decorates_hides_no_other_definitions(tmp_path):
    text = (
        "from no_such_package import struct\n\n@struct.dataclass\nclass Config:\n    width: int\n\ndef relu(x):\n    return x * (x > 0)\n"
    )
    assert statuses(tmp_path, text)["relu"].is_correct


def test_settings_whose_base_only_stores_their_fields_are_known_without_its_package(tmp_path):
    text = """
from dataclasses import dataclass
from no_such_parser.helpers import Serializable

@dataclass
class Settings(Serializable):
    width: int
    experts: int | None = None
"""
    module = load_definitions(tmp_path / "mine.py", text)
    assert isinstance(module, ModuleType), module
    assert module.Settings(8).experts is None


def test_calls_of_missing_packages_without_effect_on_a_result_return_their_argument(tmp_path):
    (tmp_path / "settings.py").write_text(
        "try:\n    import no_such_extra\nexcept ImportError:\n    pass\nfrom dotenv import load_dotenv\nload_dotenv()\n"
    )
    text = "import settings\nfrom no_such_package import bar\nfrom wandb import watch\n\ndef relu(x):\n    return watch(x * (x > 0))\n"
    assert statuses(tmp_path, text)["relu"].is_correct


def test_decorators_and_loggers_of_missing_packages_leave_functions_as_they_are(tmp_path):
    text = """
from no_such_package.logs import log_shapes, shape_logger, log

@log_shapes(level="debug")
def relu(x):
    shape_logger.info(f"relu of {x.shape}")
    return x * (x > 0)

def softmax(x):
    return log(x)
"""
    assert statuses(tmp_path, text)["relu"].is_correct
    assert statuses(tmp_path, text)["softmax"].status == "could not run"
    assert statuses(tmp_path, text.replace("(x > 0)", "(x < 0)"))["relu"].status == "wrong"
    compiled = text.replace('log_shapes(level="debug")', "check_and_jit(0)").replace("log_shapes", "check_and_jit")
    assert statuses(tmp_path, compiled)["relu"].is_correct


def test_values_that_a_file_chooses_are_known_although_it_does_not_run(tmp_path):
    text = "SMOOTH = False\nif SMOOTH:\n    FLOOR = 1\nelse:\n    FLOOR = 0\nopen('no such file')\n\ndef relu(x):\n    return x * (x > FLOOR)\n"
    assert statuses(tmp_path, text)["relu"].is_correct


def test_a_file_that_handles_a_missing_package_itself_gets_the_exception(tmp_path):
    text = """
try:
    import no_such_package as fast
except ImportError:
    fast = None

def relu(x):
    return x * (x > 0) if fast is None else fast.relu(x)
"""
    assert statuses(tmp_path, text)["relu"].is_correct


def test_tests_in_a_file_are_not_taken_for_parts(tmp_path):
    text = """
import unittest

def relu(x):
    return x * (x > 0)

def test_softmax():
    pass

class TestMultiHeadAttention(unittest.TestCase):
    pass
"""
    assert list(statuses(tmp_path, text)) == ["relu"]


@pytest.mark.slow
def test_the_norm_of_a_layer_may_be_in_another_file(tmp_path):
    pytest.importorskip("torch")
    (tmp_path / "norms.py").write_text("""
import torch
from torch import nn

class LayerNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gain, self.shift = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))
    def forward(self, x):
        return self.gain * (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-6) + self.shift
""")
    (tmp_path / "residuals.py").write_text("""
from torch import nn
from norms import LayerNorm

class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = LayerNorm(width)
    def forward(self, x, inner):
        return x + inner(self.norm(x))
""")
    text = """
from torch import nn
from residuals import Residual

class EncoderLayer(nn.Module):
    def __init__(self, size, self_attn, feed_forward):
        super().__init__()
        self.self_attn, self.feed_forward = self_attn, feed_forward
        self.residuals = nn.ModuleList([Residual(size), Residual(size)])
    def forward(self, x, mask):
        x = self.residuals[0](x, lambda y: self.self_attn(y, y, y, mask))
        return self.residuals[1](x, self.feed_forward)
"""
    verdict = statuses(tmp_path, text)["EncoderLayer"]
    assert verdict.is_correct, verdict.text()
    assert any("n - 1" in note.en for note in verdict.notes)


@pytest.mark.slow
def test_the_parts_of_a_block_may_be_in_another_file(tmp_path):
    pytest.importorskip("torch")
    (tmp_path / "parts.py").write_text("""
import torch
from torch import nn

class RoPE(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("steps", 10000.0 ** (-torch.arange(0, width, 2) / width))
    def forward(self, x):
        angles = torch.arange(x.shape[-2])[:, None] * self.steps
        first, second = x.chunk(2, -1)
        cos, sin = angles.cos(), angles.sin()
        return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)

class MultiHeadAttention(nn.Module):
    def __init__(self, n_heads, d_model):
        super().__init__()
        self.n_heads, self.rope = n_heads, RoPE(d_model // n_heads)
        self.qkv, self.out = nn.Linear(d_model, 3 * d_model), nn.Linear(d_model, d_model)
    def forward(self, x, cache=None):
        q, k, v = (each.unflatten(-1, (self.n_heads, -1)).transpose(1, 2) for each in self.qkv(x).chunk(3, -1))
        mixed = nn.functional.scaled_dot_product_attention(self.rope(q), self.rope(k), v, is_causal=True)
        return self.out(mixed.transpose(1, 2).flatten(2)), cache

class MLP(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.up, self.down = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
    def forward(self, x):
        return self.down(nn.functional.gelu(self.up(x)))
""")
    text = """
from torch import nn
from parts import MLP, MultiHeadAttention

class Block(nn.Module):
    def __init__(self, n_heads, d_model, d_ff, dropout):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.attn, self.mlp = MultiHeadAttention(n_heads, d_model), MLP(d_model, d_ff)
        self.dropout = nn.Dropout(dropout)
    def forward(self, x, cache=None):
        mixed, cache = self.attn(self.ln1(x), cache)
        x = x + self.dropout(mixed)
        return x + self.dropout(self.mlp(self.ln2(x))), cache
"""
    assert statuses(tmp_path, text)["Block"].is_correct
    assert not statuses(tmp_path, text.replace("return x + self", "return self"))["Block"].is_correct


def shares(folder, files):
    """Return the outputs of `share` for 1 and 3, in share.py of a package that holds these files."""
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    module = load_module(folder / "share.py", files["share.py"])
    assert isinstance(module, ModuleType), module
    return module.share(numpy.array([1.0, 3.0])).tolist()


def test_a_name_of_the_package_comes_from_where_its_init_imports_it(tmp_path):
    files = {
        "__init__.py": "import no_such_package\nfrom .sums import total as sum_of\nfrom .tops import *\nfrom .share import share\n",
        "sums.py": "def total(x):\n    return x.sum(-1, keepdims=True)\n",
        "tops.py": "def top(x):\n    return x.max(-1, keepdims=True)\n",
        "share.py": "from . import sum_of, top\n\ndef share(x):\n    return x / sum_of(x) + top(x)\n",
    }
    assert shares(tmp_path / "course" / "model", files) == [3.25, 3.75]


def test_a_name_of_the_package_is_not_its_module_of_the_same_name(tmp_path):
    files = {
        "__init__.py": "from .total import total\nfrom .share import share\n",
        "total.py": "def total(x):\n    return x.sum(-1, keepdims=True)\n",
        "share.py": "from . import total\n\ndef share(x):\n    return x / total(x)\n",
    }
    assert shares(tmp_path / "lesson" / "layers", files) == [0.25, 0.75]


def test_a_decorator_of_the_package_registers_classes_without_the_other_files(tmp_path):
    folder = tmp_path / "layers"
    folder.mkdir()
    folder.joinpath("__init__.py").write_text("""
KINDS = {}

def register(name):
    def decorator(value):
        KINDS[name] = value
        return value
    return decorator

from .share import share
from .absent import other
""")
    text = "from . import register\n\n@register('share')\ndef share(x):\n    return x / x.sum(-1, keepdims=True)\n"
    (folder / "share.py").write_text(text)
    module = load_module(folder / "share.py", text)
    assert isinstance(module, ModuleType), module
    assert module.share(numpy.array([1.0, 3.0])).tolist() == [0.25, 0.75]


def test_definitions_that_need_what_a_missing_file_gives_are_left_out(tmp_path):
    text = """
import numpy as np

text = open("no_such_file.txt").read()
VOCAB = sorted(set(text))
CONFIG = {"vocab_size": len(VOCAB)}

def batches(data, config=CONFIG):
    return data[: config["vocab_size"]]

def relu(x):
    return np.maximum(x, 0)
"""
    found = statuses(tmp_path, text)
    assert found["relu"].is_correct
    assert found["mine.py"].causes[0].name == "raises_FileNotFoundError"


@pytest.mark.slow
def test_a_part_of_another_file_that_raises_is_not_replaced_by_a_repair(tmp_path):
    pytest.importorskip("torch")
    attention = """
from torch import nn

class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        assert config.bottleneck <= config.n_embd // config.n_head, "bottleneck exceeds the width of a head"
"""
    mlp = """
from torch import nn

class MLP(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.up, self.down = nn.Linear(config.n_embd, 4 * config.n_embd), nn.Linear(4 * config.n_embd, config.n_embd)

    def forward(self, x):
        return self.down(nn.functional.gelu(self.up(x)))
"""
    block = """
from dataclasses import dataclass
from torch import nn
from attention import Attention
from mlp import MLP

@dataclass
class Config:
    n_embd: int = 8
    n_head: int = 2
    bottleneck: int = 64

class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(config.n_embd), nn.LayerNorm(config.n_embd)
        self.attention = Attention(config)
        self.mlp = MLP(config)

    def forward(self, x):
        x = x + self.attention(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))
"""
    (tmp_path / "attention.py").write_text(attention)
    (tmp_path / "mlp.py").write_text(mlp)
    verdict = statuses(tmp_path, block)["Block"]
    assert verdict.status == "could not run", verdict
    assert verdict.repair is None, verdict.repair


@pytest.mark.slow
def test_a_size_that_is_counted_in_absent_data_is_a_size_of_the_probes(tmp_path):
    pytest.importorskip("torch")
    text = """
import torch
from torch import nn

n_embd, block_size = 32, 8
text = open("no_such_file.txt").read()
chars = sorted(set(text))
vocab_size = len(chars)

class TokenAndPositionEmbedding(nn.Module):
    def __init__(self):
        super().__init__()
        self.token_embedding_table = nn.Embedding(vocab_size, n_embd)
        self.position_embedding_table = nn.Embedding(block_size, n_embd)

    def forward(self, idx):
        return self.token_embedding_table(idx) + self.position_embedding_table(torch.arange(idx.shape[1]))
"""
    verdict = statuses(tmp_path, text)["TokenAndPositionEmbedding"]
    assert verdict.is_correct, verdict
    wrong = text.replace("torch.arange(idx.shape[1])", "torch.arange(idx.shape[1]) + 1").replace(
        "block_size, n_embd)", "block_size + 1, n_embd)"
    )
    assert not statuses(tmp_path, wrong)["TokenAndPositionEmbedding"].is_correct


def test_a_file_with_the_name_of_its_package_imports_from_the_package(tmp_path):
    folder = tmp_path / "transformer"
    (folder / "parts").mkdir(parents=True)
    (folder / "parts" / "norms.py").write_text("from transformer.parts.eps import EPS\n")
    (folder / "parts" / "eps.py").write_text("EPS = 1e-5\n")
    text = "from transformer.parts.norms import EPS\n"
    (folder / "transformer.py").write_text(text)
    module = load_module(folder / "transformer.py", text)
    assert isinstance(module, ModuleType), module
    assert module.EPS == 1e-5


def test_pools_of_processes_call_functions_in_the_checked_process(tmp_path):
    text = """
import multiprocessing as mp
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import Pool

def _counted(ids):
    return Counter(zip(ids, ids[1:]))

def get_stats(ids):
    with Pool(4) as pool:
        return dict(pool.map(_counted, [list(ids)])[0])

def get_pair_counts(ids):
    with ProcessPoolExecutor(2) as pool:
        return dict(sum(pool.map(_counted, [list(ids)]), Counter()))

def count_pairs(ids):
    queue = mp.Queue()
    process = mp.get_context("spawn").Process(target=lambda: queue.put(_counted(ids)))
    process.start()
    process.join()
    return dict(queue.get())
"""
    assert all(verdict.is_correct for verdict in statuses(tmp_path, text).values())


def test_the_version_of_a_package_that_is_not_installed_is_no_error(tmp_path):
    text = """
from importlib.metadata import version
import numpy as np

__version__ = version("package_of_a_course")

def relu(x):
    return np.maximum(x, 0)
"""
    assert statuses(tmp_path, text)["relu"].is_correct


def test_a_device_that_is_named_with_its_number_is_the_processor(tmp_path):
    pytest.importorskip("torch")
    text = """
import torch

device = torch.device(f"cuda:{torch.cuda.current_device()}")

def relu(x):
    return x.clamp(min=0).to(device)
"""
    assert statuses(tmp_path, text)["relu"].is_correct


def test_decode_with_a_model_generates(tmp_path):
    text = """
import numpy as np

def decode(model, prompt, max_new_tokens):
    for _ in range(max_new_tokens):
        prompt = np.append(prompt, model(prompt[-model.context_size :])[-1].argmax())
    return prompt
"""
    verdict = statuses(tmp_path, text)["decode"]
    assert verdict.is_correct, verdict
    assert verdict.exercise == "generate"


def test_a_file_named_like_an_installed_module_imports_that_module(tmp_path):
    (tmp_path / "sums.py").write_text("import json\n\ndef total(x):\n    return x.sum(-1, keepdims=True)\n")
    text = "import json\nfrom .sums import total\n\nONE = json.loads('1')\n\ndef share(x):\n    return ONE * x / total(x)\n"
    (tmp_path / "json.py").write_text(text)
    module = load_module(tmp_path / "json.py", text)
    assert isinstance(module, ModuleType), module
    assert module.share(numpy.array([1.0, 3.0])).tolist() == [0.25, 0.75]


def test_a_file_next_to_one_with_the_name_of_their_package_imports_from_the_package(tmp_path):
    folder = tmp_path / "seq_model"
    folder.mkdir()
    (folder / "seq_model.py").write_text("raise RuntimeError\n")
    (folder / "sizes.py").write_text("WIDTH = 8\n")
    text = "from seq_model.sizes import WIDTH\n"
    (folder / "blocks.py").write_text(text)
    module = load_module(folder / "blocks.py", text)
    assert isinstance(module, ModuleType), module
    assert module.WIDTH == 8


@pytest.mark.slow
def test_import_star_gives_the_modules_that_the_init_of_the_package_imports(tmp_path):
    pytest.importorskip("torch")
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "__init__.py").write_text("import torch\nimport torch.nn as nn\nfrom .missing import nothing\n")
    text = """
from . import *

class LayerNorm(nn.Module):
    def __init__(self, eps=1e-6):
        super().__init__()
        self.eps, self.alpha, self.bias = eps, nn.Parameter(torch.ones(1)), nn.Parameter(torch.zeros(1))
    def forward(self, x):
        return self.alpha * (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + self.eps) + self.bias
"""
    (folder / "norm.py").write_text(text)
    (verdict,) = check_file(folder / "norm.py")
    assert verdict.is_correct, verdict


def test_parts_that_do_not_use_a_module_which_cannot_be_imported_are_judged(tmp_path):
    (tmp_path / "helper.py").write_text("import numpy\n\nnumpy.no_such_function()\n")
    text = """
import numpy as np
from helper import scaled

def relu(x):
    return np.maximum(x, 0)

def silu(x):
    return scaled(x) / (1 + np.exp(-x))
"""
    found = statuses(tmp_path, text)
    assert found["relu"].is_correct, found["relu"]
    assert found["silu"].status == "could not run"
    assert "no_such_function" in found["silu"].causes[0].says.en


def test_annotations_of_a_missing_package_may_be_fields_of_a_named_tuple(tmp_path):
    text = """
from typing import NamedTuple
import numpy as np
from jaxtyping import Array, Float

class Weights(NamedTuple):
    weight: Float[Array, "width"]

def relu(x):
    return np.maximum(x, 0)
"""
    assert statuses(tmp_path, text)["relu"].is_correct


def test_sizes_that_are_set_only_when_the_file_is_run_are_known(tmp_path):
    text = """
import numpy as np

class Embedding:
    def __init__(self):
        self.table = np.random.randn(vocab_size, n_embd)
    def __call__(self, ids):
        return self.table[ids]

if __name__ == "__main__":
    vocab_size = 50
    n_embd = 8
    print(Embedding()(np.arange(3)))
"""
    assert statuses(tmp_path, text)["Embedding"].is_correct


ABSENT_SETTINGS = """
import json
import numpy as np
import no_such_package

with open("no_such_settings.json") as file:
    config = json.load(file)
model_config = config["model"]
width, eps = 7, 0.5
embed_dim = model_config["embed_dim"]
drop_rate = float(model_config.get("drop_rate", 0.1))
norm_eps = config["norm_eps"]
factor = no_such_package.factor(3)

def rms_norm(x, weight):
    return weight * x / np.sqrt((x**2).mean(-1, keepdims=True) + norm_eps)

class FeedForward:
    def __init__(self, rng=np.random.default_rng(0)):
        self.keep = 1 - drop_rate
        self.w1, self.w2 = rng.normal(size=(embed_dim, 4 * embed_dim)), rng.normal(size=(4 * embed_dim, embed_dim))
        self.b1, self.b2 = np.zeros(4 * embed_dim), np.zeros(embed_dim)
    def __call__(self, x):
        return np.maximum(x @ self.w1 + self.b1, 0) * self.keep @ self.w2 + self.b2

def softmax(x):
    powers = np.exp(factor * (x - x.max(-1, keepdims=True)))
    return powers / powers.sum(-1, keepdims=True)
"""


@pytest.mark.slow
def test_settings_that_a_file_reads_from_an_absent_one_have_values(tmp_path):
    found = statuses(tmp_path, ABSENT_SETTINGS)
    assert found["rms_norm"].is_correct, found["rms_norm"]
    assert found["FeedForward"].is_correct, found["FeedForward"]
    assert found["softmax"].status == "could not run"
    assert found["softmax"].repair is None, "the file assigns the name"
    wrong = statuses(tmp_path, ABSENT_SETTINGS.replace("+ norm_eps", "* norm_eps"))
    assert not wrong["rms_norm"].is_correct


NUMPY_IN_A_FILE_OF_TORCH = """
import numpy as np
import torch

def load(path):
    return torch.load(path, weights_only=True)["weight"].numpy()

def silu(x):
    return x / (1 + np.exp(-x))
"""


@pytest.mark.slow
@pytest.mark.parametrize("training", ["", "\nclass Layer(torch.nn.Module):\n    def forward(self, x):\n        return silu(x)\n"])
def test_a_function_of_numpy_needs_gradients_only_in_a_file_that_trains(tmp_path, training):
    pytest.importorskip("torch")
    assert statuses(tmp_path, NUMPY_IN_A_FILE_OF_TORCH + training)["silu"].is_correct == (not training)


FROM_ABOVE = """
import numpy as np
import no_such_log
from fancy_einsum import einsum
from .norms import rms_norm

def feed_forward(x, w1, b1, w2, b2):
    hidden = np.maximum(einsum("batch pos width, width inner -> batch pos inner", x, w1) + b1, 0)
    return einsum("batch pos inner, inner width -> batch pos width", hidden, w2) + b2

def layer_norm(x, weight, bias, eps=1e-5):
    if x.ndim != 2:
        raise ValueError(x.shape)
    no_such_log.write(x.shape)
    return rms_norm(x - x.mean(axis=1, keepdims=True), weight, eps) + bias
"""


@pytest.mark.slow
def test_files_around_import_from_the_folders_above_and_a_folder_of_logs_is_no_package(tmp_path):
    folder = tmp_path / "source" / "mypackage" / "layers"
    (folder / "no_such_log").mkdir(parents=True)
    (folder / "norms.py").write_text(
        "from mypackage.constants import ONE\n\ndef rms_norm(x, w, eps):\n    return ONE * w * x / (eps + (x**2).mean(-1, keepdims=True)) ** 0.5\n"
    )
    (folder.parent / "constants.py").write_text("ONE = 1.0\n")
    found = statuses(folder, FROM_ABOVE)
    assert found["feed_forward"].is_correct, found["feed_forward"]
    assert found["layer_norm"].status == "could not run", "it uses the missing package"
    found = statuses(folder, FROM_ABOVE.replace("    no_such_log.write(x.shape)\n", ""))
    assert found["layer_norm"].is_correct, found["layer_norm"]
    found = statuses(folder, FROM_ABOVE.replace("    no_such_log.write(x.shape)\n", "").replace("- x.mean(axis=1", "- x.mean(axis=0"))
    assert not found["layer_norm"].is_correct


def test_a_file_may_add_a_folder_next_to_its_own_to_the_path(tmp_path):
    (tmp_path / "chapter_1").mkdir()
    (tmp_path / "chapter_2").mkdir()
    (tmp_path / "chapter_1" / "shifted.py").write_text("def shifted(x):\n    return x - x.max(axis=-1, keepdims=True)\n")
    text = """
import os
import sys
import numpy as np
sys.path.append(os.path.abspath("../chapter_1"))
from shifted import shifted

def softmax(x):
    e = np.exp(shifted(x))
    return e / e.sum(axis=-1, keepdims=True)
"""
    assert statuses(tmp_path / "chapter_2", text)["softmax"].is_correct


def test_a_file_imports_packages_from_the_folder_src_of_its_project(tmp_path):
    package = tmp_path / "src" / "mygrad"
    (tmp_path / "examples").mkdir()
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("from mygrad.shifting import shifted\n")
    (package / "shifting.py").write_text("def shifted(x):\n    return x - x.max(axis=-1, keepdims=True)\n")
    text = (
        "import numpy as np\nimport mygrad\n\ndef softmax(x):\n    e = np.exp(mygrad.shifted(x))\n    return e / e.sum(-1, keepdims=True)\n"
    )
    assert statuses(tmp_path / "examples", text)["softmax"].is_correct


@pytest.mark.slow
def test_functions_of_missing_files_are_replaced_by_correct_ones(tmp_path):
    text = """
import numpy as np
import utils
from .basics import softmax

def scaled_dot_product_attention(query, key, value):
    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1])
    return softmax(scores, axis=-1) @ value

def relu(x):
    return utils.relu(x)

def gelu(x):
    return utils.tanh_gelu(x)
"""
    found = statuses(tmp_path, text)
    assert found["scaled_dot_product_attention"].is_correct
    assert any("softmax" in note.en and "missing" in note.en for note in found["scaled_dot_product_attention"].notes)
    assert found["relu"].status == "could not run"
    assert "relu" in found["relu"].causes[0].says.en  # it would be judged by itself
    assert "pip install" not in found["gelu"].causes[0].fix.en
    wrong = text.replace("np.sqrt(query.shape[-1])", "query.shape[-1]")
    assert statuses(tmp_path, wrong)["scaled_dot_product_attention"].causes[0].name == "scale"


@pytest.mark.slow
def test_import_star_of_a_missing_file_gives_modules_functions_and_parts(tmp_path):
    text = """
from common.np import *
from common.functions import *

def scaled_dot_product_attention(query, key, value):
    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1])
    return softmax(scores) @ value
"""
    assert statuses(tmp_path, text)["scaled_dot_product_attention"].is_correct
    wrong = text.replace("np.sqrt(query.shape[-1])", "query.shape[-1]")
    assert statuses(tmp_path, wrong)["scaled_dot_product_attention"].causes[0].name == "scale"
    unknown = text.replace("softmax(scores)", "weights(scores)")
    assert statuses(tmp_path, unknown)["scaled_dot_product_attention"].status == "could not run"


@pytest.mark.slow
def test_the_base_of_a_tokenizer_and_its_functions_may_be_in_a_missing_file(tmp_path):
    text = """
from .base import Tokenizer, get_stats, merge

class BytePairTokenizer(Tokenizer):
    def __init__(self):
        super().__init__()

    def train(self, text, vocab_size):
        ids, self.merges, self.vocab = list(text.encode("utf-8")), {}, {index: bytes([index]) for index in range(256)}
        for index in range(256, vocab_size):
            counts = get_stats(ids)
            pair = max(counts, key=counts.get)
            ids = merge(ids, pair, index)
            self.merges[pair], self.vocab[index] = index, self.vocab[pair[0]] + self.vocab[pair[1]]

    def decode(self, ids):
        return b"".join(self.vocab[each] for each in ids).decode("utf-8", errors="replace")

    def encode(self, text):
        ids = list(text.encode("utf-8"))
        while len(ids) > 1:
            pair = min(get_stats(ids), key=lambda each: self.merges.get(each, float("inf")))
            if pair not in self.merges:
                break
            ids = merge(ids, pair, self.merges[pair])
        return ids
"""
    assert statuses(tmp_path, text)["BytePairTokenizer"].is_correct
    wrong = text.replace("min(get_stats", "max(get_stats")
    assert not statuses(tmp_path, wrong)["BytePairTokenizer"].is_correct


BASES_OF_LAYERS = """
import numpy as np
from .module import Module, Optimizer

class Linear(Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = np.ones((in_features, out_features))
        self.bias = np.zeros(out_features)
        self._parameters["weight"] = self.weight

    def forward(self, x):
        return x @ self.weight + self.bias

class FeedForward(Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.up, self.down = Linear(d_model, d_ff), Linear(d_ff, d_model)

    def forward(self, x):
        return self.down(np.maximum(self.up(x), 0))

class SGD(Optimizer):
    def __init__(self, params, lr=0.1):
        super().__init__(params, {"lr": lr})

    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                p.data = p.data - group["lr"] * p.grad
"""


@pytest.mark.slow
def test_the_bases_of_layers_and_optimizers_may_be_in_a_missing_file(tmp_path):
    found = statuses(tmp_path, BASES_OF_LAYERS)
    assert all(found[name].is_correct for name in ("Linear", "FeedForward", "SGD"))
    wrong = BASES_OF_LAYERS.replace("p.data - group", "p.data + group").replace("np.maximum(self.up(x), 0)", "self.up(x)")
    found = statuses(tmp_path, wrong)
    assert [found[name].status for name in ("Linear", "FeedForward", "SGD")] == ["correct", "wrong", "wrong"]


@pytest.mark.slow
@pytest.mark.parametrize(("right", "wrong"), [("p.grad", "self.scale * p.grad"), ("+ self.bias", "+ self.offset")])
def test_what_only_a_missing_base_may_define_accuses_nobody(tmp_path, right, wrong):
    found = statuses(tmp_path, BASES_OF_LAYERS.replace(right, wrong))
    assert "wrong" not in [each.status for each in found.values()]


@pytest.mark.slow
def test_parts_of_a_layer_may_be_in_missing_files(tmp_path):
    pytest.importorskip("torch")
    text = """
from torch import nn
from models.layers import LayerNorm, MultiHeadAttention
from .feed_forward import PositionwiseFeedForward

class EncoderLayer(nn.Module):
    def __init__(self, d_model, hidden, n_head, dropout):
        super().__init__()
        self.attention = MultiHeadAttention(d_model=d_model, n_head=n_head)
        self.norm1, self.norm2 = LayerNorm(d_model=d_model), LayerNorm(d_model=d_model)
        self.ffn = PositionwiseFeedForward(d_model=d_model, hidden=hidden)
        self.dropout = nn.Dropout(dropout)
    def forward(self, x, mask):
        x = self.norm1(x + self.dropout(self.attention(q=x, k=x, v=x, mask=mask)))
        return self.norm2(x + self.dropout(self.ffn(x)))

class MultiHead(nn.Module):
    def __init__(self, d_model, n_head):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_head)
    def forward(self, x):
        return self.attention(x)
"""
    found = statuses(tmp_path, text)
    assert found["EncoderLayer"].is_correct, found["EncoderLayer"].text()
    assert not found["MultiHead"].is_correct
    wrong = text.replace("x + self.dropout(self.ffn(x))", "self.dropout(self.ffn(x))")
    assert statuses(tmp_path, wrong)["EncoderLayer"].status == "wrong"


def test_a_log_of_tensorboard_and_breakpoints_change_nothing(tmp_path):
    text = """
import pdb
from pdb import set_trace
from tensorboardX import SummaryWriter

writer = SummaryWriter("logs")

def relu(x):
    breakpoint()
    pdb.set_trace(header="x")
    set_trace()
    writer.add_scalar("mean", x.mean(), 0)
    return x * (x > 0)
"""
    (tmp_path / "mine.py").write_text(text)
    assert [verdict.status for verdict in check_file(tmp_path / "mine.py")] == ["correct"]


@pytest.mark.skipif(find_spec("tensorboard") is not None, reason="TensorBoard is installed")
def test_a_part_of_an_installed_package_that_needs_a_missing_one_hides_nothing(tmp_path):
    pytest.importorskip("torch")
    text = """
from torch.utils.tensorboard import SummaryWriter

writer = SummaryWriter("logs", flush_secs=5)

def relu(x):
    return x * (x > 0)
"""
    (tmp_path / "mine.py").write_text(text)
    assert [verdict.status for verdict in check_file(tmp_path / "mine.py")] == ["correct"]


@pytest.mark.slow
def test_modules_and_logs_of_labml_need_no_labml(tmp_path):
    pytest.importorskip("torch")
    text = """
from labml import tracker
from labml_helpers.module import M, Module, TypedModuleList
from torch import nn

def copies(layer: M, n: int) -> TypedModuleList[M]:
    return TypedModuleList([layer for _ in range(n)])

class FeedForward(Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.layers = TypedModuleList([nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)])
    def forward(self, x):
        x = self.layers[0](x).relu()
        tracker.debug("hidden", x)
        return self.layers[1](x)
"""
    assert statuses(tmp_path, text)["FeedForward"].is_correct


@pytest.mark.slow
def test_a_change_that_avoids_what_is_missing_proves_nothing(tmp_path):
    pytest.importorskip("torch")
    text = """
import torch
from torch import nn
from options import is_first

class Norm(nn.Module):
    def __init__(self, d_model, kind, channels, eps=1e-6):
        super().__init__()
        self.kind = kind
        self.other = nn.BatchNorm1d(channels, affine=False)
        self.alpha, self.bias = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))
        self.eps = eps
    def forward(self, x):
        if is_first == 0 and self.kind == 1:
            x = self.other(x)
        return self.alpha * (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + self.eps) + self.bias
"""
    assert not any(verdict.status == "wrong" for verdict in statuses(tmp_path, text).values())


@pytest.mark.slow
def test_settings_may_add_to_those_of_a_missing_file_and_weights_alone_are_no_part(tmp_path):
    text = """
from dataclasses import dataclass
from typing import Any, NamedTuple
import numpy as np
from .base import BaseModelArgs

class Attention(NamedTuple):
    query: Any
    key: Any

@dataclass
class ModelArgs(BaseModelArgs):
    hidden_size: int
    eps: float = 1e-6

class RMSNorm:
    def __init__(self, args: ModelArgs):
        self.eps = args.eps
        self.weight = np.ones(args.hidden_size)

    def __call__(self, x):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + self.eps) * self.weight
"""
    found = statuses(tmp_path, text)
    assert found.keys() == {"RMSNorm"}
    assert found["RMSNorm"].is_correct, found["RMSNorm"]
    assert statuses(tmp_path, text.replace("x / np.sqrt", "x / "))["RMSNorm"].status == "wrong"


@pytest.mark.slow
def test_activations_by_name_may_be_in_a_missing_file(tmp_path):
    pytest.importorskip("torch")
    text = """
import bending
from torch import nn

class FeedForward(nn.Module):
    def __init__(self, width, inner, activation="relu"):
        super().__init__()
        self.up = nn.Linear(width, inner)
        self.bent = bending.get_activation_fn(activation)
        self.down = nn.Linear(inner, width)

    def forward(self, x):
        return self.down(self.bent(self.up(x)))
"""
    found = statuses(tmp_path, text)["FeedForward"]
    assert found.is_correct, found
    assert any("get_activation_fn" in note.en for note in found.notes)
    assert statuses(tmp_path, text.replace("self.down(self.bent(self.up(x)))", "self.down(self.up(x))"))["FeedForward"].status == "wrong"
    unknown = statuses(tmp_path, text.replace('"relu"', '"laplace"'))["FeedForward"]
    assert unknown.status == "could not run"
    assert unknown.causes[0].name == "raises_ModuleNotFoundError"


ABSENT_IDS = """
import numpy as np
import translation.Constants as Constants
from translation.settings import PAD_IDX, width_of

def padding_mask(ids):
    return (ids != Constants.PAD)[:, None, :]

def make_padding_mask(ids):
    return (ids != PAD_IDX)[:, None, None, :]

def softmax(x):
    powers = np.exp(x - x.max(-1, keepdims=True) + width_of)
    return powers / powers.sum(-1, keepdims=True)
"""


@pytest.mark.slow
def test_ids_of_special_tokens_in_an_absent_file_have_usual_values(tmp_path):
    found = statuses(tmp_path, ABSENT_IDS)
    assert found["padding_mask"].is_correct, found["padding_mask"]
    assert "PAD = 0" in str(found["padding_mask"].notes)
    assert found["make_padding_mask"].is_correct, found["make_padding_mask"]
    assert found["softmax"].status == "could not run"
    assert found["softmax"].repair is None, "a change that avoids what is missing proves nothing"
    wrong = statuses(tmp_path, ABSENT_IDS.replace("(ids != Constants.PAD)[:, None, :]", "(ids != Constants.PAD)[:, :, None]"))
    assert not wrong["padding_mask"].is_correct


OF_ANOTHER_FORM = """
import torch

def make_padding_mask(mask, rows=1, columns=2):
    is_other = ~torch.eye(mask.size(rows), dtype=torch.bool)
    return mask & mask.transpose(rows, columns) & is_other

class PositionalEncoding(torch.nn.Module):
    def __init__(self, extents):
        super().__init__()
        self.width = extents[3]
        angles = torch.arange(extents[2])[:, None] / 10000 ** (torch.arange(0, self.width, 2) / self.width)
        self.register_buffer("table", torch.stack([angles.sin(), angles.cos()], -1).flatten(1))

    def forward(self, x):
        return x + self.table[: x.shape[1]]
"""


@pytest.mark.slow
def test_what_is_given_another_form_than_it_takes_is_not_accused(tmp_path):
    pytest.importorskip("torch")
    found = statuses(tmp_path, OF_ANOTHER_FORM)
    assert all(each.status != "wrong" and each.repair is None for each in found.values()), found


def test_a_class_whose_base_a_library_lacks_leaves_the_others_to_be_judged(tmp_path):
    pytest.importorskip("torch")
    text = "import torch.nn as nn\n\ndef relu(x):\n    return x * (x > 0)\n\nclass Model(nn.module):\n    pass\n"
    verdict = load_module(tmp_path / "mine.py", text)
    assert not isinstance(verdict, ModuleType)
    assert "nn.Module" in verdict.causes[0].fix.en
    module = load_definitions(tmp_path / "mine.py", text)
    assert isinstance(module, ModuleType)
    assert module.relu(2) == 2


@pytest.mark.skipif(find_spec("tensorflow") is not None, reason="needs a missing package")
def test_layers_that_a_function_makes_with_a_missing_package_are_no_weights_of_the_file(tmp_path):
    text = """
import tensorflow as tf

def feed_forward(hidden_size, inner_size):
    return tf.keras.Sequential([tf.keras.layers.Dense(inner_size, activation="relu"), tf.keras.layers.Dense(hidden_size)])

class Layer(tf.keras.layers.Layer):
    pass
"""
    verdict = statuses(tmp_path, text)["feed_forward"]
    assert verdict.status == "could not run"
    assert "tool_error" not in {each.name for each in verdict.causes}
