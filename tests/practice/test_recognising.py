"""The part that a name means; names that fit several parts are tried as each of them."""

from __future__ import annotations

from types import ModuleType

import pytest

from headway.practice.diagnosis.files import with_exercises
from headway.practice.diagnosis.nested import verdicts
from headway.practice.diagnosis.sandbox import check_file
from headway.practice.judge.static import facts_of
from headway.practice.names import by_name, fitting
from tests.practice.public import embeddings
from tests.practice.public.attentions import CAUSAL_OVER_CONTEXT


def found_in(text):
    """Return the exercise and the verdict for every subject of a file."""
    module = ModuleType("learner")
    exec(compile(text, "learner.py", "exec"), module.__dict__)
    chosen = list(with_exercises(module, text))
    return {subject.name: (exercise.name, verdict) for (subject, exercise), verdict in zip(chosen, verdicts(chosen), strict=True)}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ScaleDotProductAttention", "scaled_dot_product_attention"),
        ("DotProductAttention", "scaled_dot_product_attention"),
        ("RotaryPositionalEmbedding", "rotary"),
        ("precompute_freqs_cis", "rotary_tables"),
        ("compute_rope_params", "rotary_tables"),
        ("get_inv_freq", "rotary_tables"),
        ("AdamW", "adamw"),
        ("Adam", "adam_step"),
        ("BPETokenizer", "bpe_tokenizer"),
        ("_merge_pair", "merge_pair"),
        ("compute_pairs", "pair_counts"),
        ("compute_pair_scores", None),
        ("PositionalEncoding", "sinusoidal_positions"),
        ("rotate_half", "rotate_half"),
        ("EarlyStopping", None),
        ("QHAdam", None),
        ("Lookahead", None),
        ("demo_kv_cache", None),
        ("TopKGating", None),
        ("AddNorm", "residual"),
        ("IdentityPositionalEncoding", None),
        ("DummyLayerNorm", None),
        ("NoOpAttention", None),
        ("no_op_norm", None),
        ("get_2d_sincos_pos_embed", None),
        ("PositionalEncoding1D", "sinusoidal_positions"),
        ("RelPositionalEncoding", None),
        ("NoPositionalEncoding", None),
        ("scaled_dot_product_scores", None),
        ("CompressedAttention", None),
    ],
)
def test_the_likeliest_part_of_a_name(name, expected):
    assert by_name(name) == expected


NORM = """
import numpy as np

def norm(x, weight, eps=1e-6):
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + eps) * weight

def normalize(x, weight, bias, eps=1e-5):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps) * weight + bias
"""


def test_a_name_that_fits_several_parts_is_tried_as_each():
    found = found_in(NORM)
    assert (found["norm"][0], found["normalize"][0]) == ("rms_norm", "layer_norm")
    assert all(verdict.is_correct for _, verdict in found.values())


PRIVATE = """
import numpy as np

def _softmax(x):
    return np.exp(x) / np.exp(x).sum(-1, keepdims=True)

def _merge(settings, others):
    return {**settings, **others}
"""


def test_private_functions_are_judged_only_if_they_can_be_called_as_their_part():
    found = found_in(PRIVATE)
    assert list(found) == ["_softmax"]
    assert found["_softmax"][1].causes[0].name == "no_shift"


ROTARY_CLASS = """
import numpy as np

class RotaryPositionalEmbedding:
    def __init__(self, theta, d_k, max_seq_len):
        angles = np.outer(np.arange(max_seq_len), theta ** -(np.arange(0, d_k, 2) / d_k))
        self.cos, self.sin = np.cos(angles), np.sin(angles)

    def forward(self, x, token_positions):
        cos, sin = self.cos[token_positions], self.sin[token_positions]
        a, b = x[..., ::2], x[..., 1::2]
        return np.stack([a * cos - b * sin, a * sin + b * cos], -1).reshape(x.shape)
"""


def test_a_rotary_class_with_positions_is_not_taken_for_sinusoidal_positions():
    name, verdict = found_in(ROTARY_CLASS)["RotaryPositionalEmbedding"]
    assert name == "rotary"
    assert verdict.is_correct, verdict


def test_a_causal_attention_without_its_mask_is_not_taken_for_a_plain_one():
    name, verdict = found_in("""
import numpy as np

def causal_attention(x, W_q, W_k, W_v):
    q, k, v = x @ W_q, x @ W_k, x @ W_v
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v
""")["causal_attention"]
    assert (name, verdict.is_correct) == ("causal_self_attention", False)


BASES = """
class Tokenizer:
    def train(self, text, vocab_size):
        raise NotImplementedError

    def encode(self, text):
        raise NotImplementedError

    def decode(self, ids):
        raise NotImplementedError

class BytesTokenizer(Tokenizer):
    pass
"""


def test_a_base_class_that_only_raises_is_not_judged():
    assert "Tokenizer" not in found_in(BASES)


ALONE = BASES.partition("class BytesTokenizer")[0].replace("class Tokenizer:", "class Tokenizer:\n    merges = {}\n")


def test_a_base_class_whose_subclasses_are_in_other_files_is_not_judged():
    assert "Tokenizer" not in found_in(ALONE)
    assert "Tokenizer" in found_in(ALONE.replace("raise", "# TODO\n        raise"))


def test_a_failure_of_the_tool_accuses_nobody(monkeypatch):
    from headway.practice.diagnosis import nested

    def broken(*given):
        raise KeyError("query")

    monkeypatch.setattr(nested, "diagnose", broken)
    verdict = found_in("def softmax(x):\n    return x\n")["softmax"][1]
    assert verdict.status == "could not run"
    assert verdict.causes[0].name == "tool_error"


ATTENTION_HEAD = """
import torch
from torch import nn

class AttentionHead(nn.Module):
    def __init__(self, n_embd, head_size, block_size):
        super().__init__()
        self.key, self.query, self.value = (nn.Linear(n_embd, head_size, bias=False) for _ in range(3))
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))

    def forward(self, x):
        q, k, length = self.query(x), self.key(x), x.shape[1]
        scores = q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5
        scores = scores.masked_fill(self.tril[:length, :length] == 0, float("-inf"))
        return scores.softmax(-1) @ self.value(x)
"""


@pytest.mark.parametrize(
    ("removed", "part", "status"),
    [
        ((), "causal_self_attention", "correct"),
        (("masked_fill",), "causal_self_attention", "wrong"),
        (("masked_fill", "tril"), "self_attention", "correct"),
    ],
)
def test_an_attention_head_is_causal_if_its_source_says_so(removed, part, status):
    text = "\n".join(line for line in ATTENTION_HEAD.splitlines() if not any(each in line for each in removed))
    found, verdict = found_in(text)["AttentionHead"]
    assert (verdict.exercise, verdict.status) == (part, status), found


def test_my_in_front_of_a_name_says_nothing_about_the_part():
    assert by_name("MyBlock") == by_name("my_block") == by_name("Block") == "transformer_block"
    assert by_name("myelin") is None


GROUPS = """
import torch
from torch import nn

class Attention(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.n_heads, self.n_kv_heads, self.head_dim = args.n_heads, args.n_kv_heads, args.head_dim
        self.wq = nn.Linear(args.dim, args.n_heads * args.head_dim, bias=False)
        self.wk, self.wv = (nn.Linear(args.dim, args.n_kv_heads * args.head_dim, bias=False) for _ in range(2))
        self.wo = nn.Linear(args.n_heads * args.head_dim, args.dim, bias=False)

    def rope(self, x):
        half = x.shape[-1] // 2
        angles = torch.arange(x.shape[-2])[:, None] * 10000.0 ** (-torch.arange(half) / half)
        first, second = x[..., :half], x[..., half:]
        return torch.cat([first * angles.cos() - second * angles.sin(), first * angles.sin() + second * angles.cos()], -1)

    def forward(self, x, mask=None):
        batch, length, _ = x.shape
        split = lambda y, heads: y.view(batch, length, heads, self.head_dim).transpose(1, 2)
        q, k, v = split(self.wq(x), self.n_heads), split(self.wk(x), self.n_kv_heads), split(self.wv(x), self.n_kv_heads)
        k, v = (y.repeat_interleave(self.n_heads // self.n_kv_heads, dim=1) for y in (k, v))
        scores = self.rope(q) @ self.rope(k).transpose(-1, -2) / self.head_dim**0.5
        if mask is not None:
            scores = scores + mask
        return self.wo((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, -1))
"""


@pytest.mark.slow
def test_an_attention_with_key_value_heads_is_judged_with_groups():
    assert found_in(GROUPS)["Attention"][1].is_correct
    assert found_in(GROUPS)["Attention"][0] == "grouped_query_attention"
    tiled = GROUPS.replace(
        "y.repeat_interleave(self.n_heads // self.n_kv_heads, dim=1)", "y.repeat(1, self.n_heads // self.n_kv_heads, 1, 1)"
    )
    assert [cause.name for cause in found_in(tiled)["Attention"][1].causes] == ["tiled_not_repeated"]


SAMPLERS = """
import numpy as np

def greedy_decode(probs):
    return np.argmax(probs)

def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))

def d_gelu(x):
    return (gelu(x + 1e-5) - gelu(x - 1e-5)) / 2e-5

def plot_gelu(x):
    print(gelu(x))

def prune_attention_heads(model, importance, share=0.75):
    return sorted(importance)[: int(len(importance) * share)]

def estimate_attention_flops(batch, seq_len, d_model):
    return 4 * batch * seq_len * d_model**2

def linear_flops(batch, d_in, d_out):
    return 2 * batch * d_in * d_out

class Generator:
    def __init__(self, vocab_size):
        self.vocab_size = vocab_size
    def generate(self, prompt_tokens, max_length):
        tokens = list(prompt_tokens)
        for _ in range(max_length):
            tokens.append(int(np.argmax(np.random.randn(self.vocab_size))))
        return tokens
"""


def test_what_chooses_from_probabilities_samples_and_what_has_no_model_is_not_accused():
    found = found_in(SAMPLERS)
    assert found["greedy_decode"][0] == "sample"
    assert found["greedy_decode"][1].is_correct, found["greedy_decode"][1]
    assert not {"d_gelu", "plot_gelu", "prune_attention_heads", "estimate_attention_flops", "linear_flops"} & set(found)
    assert "Generator" not in found or found["Generator"][1].status != "wrong", found["Generator"][1]


PLAIN = """
import numpy as np

class Norm:
    def __init__(self, width):
        self.gamma, self.beta = np.ones(width), np.zeros(width)
    def forward(self, x):
        return self.gamma * (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) + self.beta

class Thinking:
    def __init__(self, width, dropout_p=0.3):
        self.w1, self.b1 = np.random.randn(width, 4 * width), np.zeros(4 * width)
        self.w2, self.b2, self.dropout_p = np.random.randn(4 * width, width), np.zeros(width), dropout_p
    def forward(self, x, training=True):
        hidden = np.maximum(x @ self.w1 + self.b1, 0)
        if training:
            hidden = hidden * (np.random.rand(*hidden.shape) > self.dropout_p) / (1 - self.dropout_p)
        return hidden @ self.w2 + self.b2

class Attending:
    def __init__(self, width, num_heads):
        self.wq, self.wk, self.wv, self.wo = (np.random.randn(width, width) for _ in range(4))
        self.num_heads = num_heads
    def forward(self, x):
        heads = [(x @ w).reshape(*x.shape[:2], self.num_heads, -1).swapaxes(1, 2) for w in (self.wq, self.wk, self.wv)]
        scores = heads[0] @ heads[1].swapaxes(-1, -2) / np.sqrt(heads[0].shape[-1])
        scores = np.where(np.tril(np.ones(scores.shape[-2:])) == 1, scores, -1e9)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        out = weights / weights.sum(-1, keepdims=True) @ heads[2]
        return out.swapaxes(1, 2).reshape(x.shape) @ self.wo

class Minnow:
    def __init__(self, width, num_heads):
        self.attention = Attending(width, num_heads)
        self.mlp = Thinking(width)
        self.norm_1, self.norm_2 = Norm(width), Norm(width)
    def forward(self, x):
        x = x + self.attention.forward(self.norm_1.forward(x))
        return x + self.mlp.forward(self.norm_2.forward(x))
"""


@pytest.mark.slow
def test_a_layer_of_any_name_is_judged_without_the_dropout_of_its_parts():
    name, verdict = found_in(PLAIN)["Minnow"]
    assert name == "transformer_block"
    assert verdict.is_correct, verdict


TENSORS = """
import numpy as np

class Tensor:
    def __init__(self, data, children=()):
        self.data, self.shape, self.children = data, data.shape, children
    def __add__(self, other):
        return Tensor(self.data + getattr(other, "data", other), (self, other))
    def __mul__(self, other):
        return Tensor(self.data * getattr(other, "data", other), (self, other))
    def relu(self):
        return Tensor(np.maximum(self.data, 0), (self,))

def relu(x):
    return x.relu()
"""


@pytest.mark.parametrize("name", ["data", "value", "_value", "_array"])
def test_tensors_that_only_take_arrays_are_known(name):
    text = TENSORS.replace("self.data", f"self.{name}").replace('other, "data"', f'other, "{name}"')
    assert found_in(text)["relu"][1].is_correct


IN_BRANCHES = """
try:
    import torch
    from torch import nn
except ImportError:
    torch = None

if torch is not None:

    class FF_network(nn.Module):
        def __init__(self, embedding_size, num_units=116):
            super().__init__()
            self.ff = nn.Sequential(nn.Linear(embedding_size, num_units), nn.ReLU(), nn.Linear(num_units, embedding_size))

        def forward(self, x):
            return self.ff(x)

    class Start(nn.Module):
        def __init__(self, vocab_size, width, max_positions):
            super().__init__()
            self.words, self.places = nn.Embedding(vocab_size, width), nn.Embedding(max_positions, width)

        def forward(self, ids):
            return self.words(ids) + self.places(torch.arange(ids.shape[1]))
"""


def test_definitions_in_branches_are_judged_and_classes_of_any_name_by_their_form():
    found = found_in(IN_BRANCHES)
    assert found["FF_network"][0] == "feed_forward"
    assert found["FF_network"][1].is_correct
    assert found["Start"][0] == "learned_positions"
    assert found["Start"][1].is_correct


TABLE = """
import numpy as np

def pos_table(N, dim):
    angles = np.arange(N)[:, None] / np.power(10000, 2 * (np.arange(dim) // 2) / dim)
    table = np.zeros((N, dim))
    table[:, 0::2], table[:, 1::2] = np.sin(angles[:, 0::2]), np.cos(angles[:, 1::2])
    return table

def ffn(inputlayer, wt1, wt2):
    return np.maximum(0, inputlayer @ wt1) @ wt2
"""


def test_parameters_of_any_name_are_the_operands_of_a_probe_in_order():
    found = found_in(TABLE)
    assert found["pos_table"][0] == "sinusoidal_positions"
    assert found["pos_table"][1].is_correct
    assert found["ffn"][1].is_correct


def test_functions_of_any_name_are_parts_by_what_they_call():
    text = """
import numpy as np

def norm(x, p):
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5) * p["g"] + p["b"]

def attention(x, p, n_head):
    t, d = x.shape[-2:]
    q, k, v = (each.reshape(*x.shape[:-1], n_head, -1).swapaxes(-2, -3) for each in np.split(x @ p["c_attn"]["w"] + p["c_attn"]["b"], 3, -1))
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(d // n_head)
    scores = np.where(np.tril(np.ones((t, t), bool)), scores, -1e9)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    mixed = (weights / weights.sum(-1, keepdims=True) @ v).swapaxes(-2, -3).reshape(x.shape)
    return mixed @ p["c_proj"]["w"] + p["c_proj"]["b"]

def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))

def mlp(x, p):
    return gelu(x @ p["c_fc"]["w"] + p["c_fc"]["b"]) @ p["c_proj"]["w"] + p["c_proj"]["b"]

def step(x, mlp_, attn, ln_1, ln_2, n_head):
    x = x + attention(norm(x, ln_1), attn, n_head)
    return x + mlp(norm(x, ln_2), mlp_)
"""
    name, verdict = found_in(text)["step"]
    assert name == "transformer_block"
    assert verdict.is_correct, verdict
    assert "step" not in found_in(text.replace("return x + mlp(norm", "return mlp(norm")), "a name that says nothing accuses nobody"


def test_a_fully_connected_class_with_two_layers_is_a_feed_forward():
    text = """
import numpy as np

class Linear:
    def __init__(self, in_size, out_size, bias=True):
        self.W = np.random.randn(in_size, out_size)
        self.b = np.zeros(out_size)
        self.has_bias = bias

    def __call__(self, x):
        return x @ self.W + self.b if self.has_bias else x @ self.W

def relu(x):
    return np.maximum(x, 0)

class FullyConnected:
    def __init__(self, in_size, out_size):
        self.first = Linear(in_size, 4 * in_size, bias=False)
        self.second = Linear(4 * in_size, out_size)

    def __call__(self, x):
        return self.second(relu(self.first(x)))
"""
    found = found_in(text)
    assert [found[each][1].exercise for each in ("Linear", "FullyConnected")] == ["linear", "feed_forward"]
    assert all(verdict.is_correct for _, verdict in found.values()), found


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("MutiHeadAttention", "multi_head_attention"),
        ("MulitHeadAttenion", "multi_head_attention"),
        ("transfomer_block", "transformer_block"),
        ("PostionalEncoding", "sinusoidal_positions"),
        ("softmx", "softmax"),
        ("Grelu", "gelu"),
    ],
)
def test_a_misspelled_name_means_the_part(name, part):
    assert fitting(name)[0][0] == part


def test_a_name_of_something_else_is_not_respelled():
    assert not any(fitting(each)[0] for each in ("Headers", "flatten_list", "forward", "Evaluation", "masks", "Position"))


def test_a_layer_of_a_library_under_another_name_is_not_judged():
    text = """
from functools import partial
from torch import nn

Linear = partial(nn.Linear, bias=False)
LayerNorm = nn.LayerNorm

class FeedForward(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.up, self.down = Linear(width, inner), Linear(inner, width)

    def forward(self, x):
        return self.down(self.up(x).relu())
"""
    assert [*found_in(text)] == ["FeedForward"]


def test_a_function_that_returns_a_layer_with_its_settings_is_no_part():
    text = """
from functools import partial
import numpy as np

def dense(x, weight, bias=0.0):
    return x @ weight.T + bias

def make_dense(offset=0.0):
    return partial(dense, bias=offset)
"""
    assert "make_dense" not in found_in(text)


def test_a_function_that_passes_its_arguments_to_a_layer_of_a_library_is_no_part(tmp_path):
    text = """
from torch import nn

linear = lambda *args, **kwargs: nn.Linear(*args, bias=False, **kwargs)

def layer_norm(*args, **kwargs):
    return nn.LayerNorm(*args, eps=1e-6, **kwargs)

def relu(x):
    return x.clip(0)
"""
    (tmp_path / "mine.py").write_text(text)
    assert [each.subject for each in check_file(tmp_path / "mine.py")] == ["relu"]


def test_a_function_that_returns_the_layer_of_a_kind_is_no_part(tmp_path):
    text = """
class Gelu:
    pass

class Gated:
    pass

def make_ffn(config):
    if config.kind == "gelu":
        return Gelu(config)
    return Gated(config)

def relu(x):
    return x.clip(0)
"""
    (tmp_path / "mine.py").write_text(text)
    assert "make_ffn" not in [each.subject for each in check_file(tmp_path / "mine.py")]


def test_a_class_of_the_name_of_a_schedule_is_not_said_to_be_deleted(tmp_path):
    text = """
class CosineScheduleWithLog:
    def report(self):
        return {}

def relu(x):
    return x.clip(0)
"""
    (tmp_path / "mine.py").write_text(text)
    assert [each.subject for each in check_file(tmp_path / "mine.py")] == ["relu"]


@pytest.mark.parametrize("name", ["PreNorm", "LayerNormalize"])
def test_a_norm_before_a_given_layer_is_no_norm(name, tmp_path):
    text = f"""
from torch import nn

class {name}(nn.Module):
    def __init__(self, width, fn):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.fn = fn

    def forward(self, x, **others):
        return self.fn(self.norm(x), **others)

class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        return self.norm(x)
"""
    assert [*found_in(text)] == ["Norm"]
    path = tmp_path / "learner.py"
    path.write_text(text)
    assert "wrong" not in [each.status for each in check_file(path)]


PRE_NORM = """
from typing import Callable
import jax.numpy as jnp
from flax import linen as nn

class LayerNorm(nn.Module):
    @nn.compact
    def __call__(self, x):
        scale, bias = self.param("scale", nn.initializers.ones, x.shape[-1:]), self.param("bias", nn.initializers.zeros, x.shape[-1:])
        return scale * (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-6) + bias

class PreNorm(nn.Module):
    fn: Callable

    @nn.compact
    def __call__(self, x, **others):
        return self.fn(LayerNorm()(x), **others)

class NormFirst(nn.Module):
    layer: nn.Module

    @nn.compact
    def __call__(self, x):
        layer = self.layer
        return layer(nn.LayerNorm()(x))

def prenorm(x, fn, eps=1e-6):
    return fn((x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + eps))
"""


def test_a_norm_before_a_layer_that_is_a_field_or_an_operand_is_no_norm(tmp_path):
    pytest.importorskip("flax")
    path = tmp_path / "learner.py"
    path.write_text(PRE_NORM)
    assert [(each.subject, each.status) for each in check_file(path)] == [("LayerNorm", "correct")]


def test_a_cross_attention_hides_later_positions_only_if_its_name_says_so():
    pytest.importorskip("torch")
    text = CAUSAL_OVER_CONTEXT.replace("CausalCrossAttention", "CrossAttention")
    assert not found_in(text)["CrossAttention"][1].is_correct


def test_a_table_of_waves_that_is_called_an_embedding_is_confirmed(tmp_path):
    pytest.importorskip("torch")
    path = tmp_path / "learner.py"
    path.write_text(next(each.text for each in embeddings.PROGRAMS if each.name == "sincos_embed"))
    assert [(each.exercise, each.status) for each in check_file(path)] == [("sinusoidal_positions", "correct")]


def test_a_classifier_is_no_feed_forward(tmp_path):
    """It returns probabilities of classes, as an expert of a toy mixture does."""
    text = """
from torch import nn

class MLP(nn.Module):
    def __init__(self, input_size, output_size, hidden_size):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(input_size, hidden_size), nn.Linear(hidden_size, output_size)
        self.relu, self.softmax = nn.ReLU(), nn.Softmax(1)

    def forward(self, x):
        return self.softmax(self.fc2(self.relu(self.fc1(x))))
"""
    (tmp_path / "mine.py").write_text(text)
    assert [each.status for each in check_file(tmp_path / "mine.py")] in ([], ["not judged"])
    assert found_in(text.replace("self.softmax(self.fc2(self.relu(self.fc1(x))))", "self.fc2(self.relu(self.fc1(x)))"))["MLP"][1].is_correct


def test_codes_of_single_characters_are_no_byte_pairs_where_a_text_is_read(tmp_path):
    text = """
def read(path):
    with open(path, "r", encoding="utf-8") as file:
        return file.read()

table = {each: place for place, each in enumerate("abc ")}

def encode(text):
    return [table[each] for each in text]

def decode(ids):
    return "".join("abc "[each] for each in ids)
"""
    (tmp_path / "mine.py").write_text(text + "\ndef relu(x):\n    return x * (x > 0)\n")
    assert [each.subject for each in check_file(tmp_path / "mine.py") if each.status != "not judged"] == ["relu"]
    (tmp_path / "mine.py").write_text(text + "\nmerges = {}\n")
    assert "encode" in [each.subject for each in check_file(tmp_path / "mine.py")]


def test_what_changes_nothing_is_no_part():
    text = """
import numpy as np

def unstacked(x, axis=0):
    return np.moveaxis(x, axis, axis)
"""
    assert found_in(text) == {}
    kept = "    return np.where(x >= np.sort(x)[-k], x, -np.inf)\n"
    assert found_in(f"import numpy as np\n\ndef cut(x, k):\n{kept}")["cut"][0] == "top_k"


OF_ANY_NAME = """
import torch

def move_all(tensors, lr):
    with torch.no_grad():
        for each in tensors:
            each -= lr * each.grad
"""


def test_an_update_of_any_name_is_an_optimizer_if_it_is_right():
    pytest.importorskip("torch")
    (found,) = found_in(OF_ANY_NAME).items()
    assert found[0] == "move_all"
    assert found[1][0] == "sgd_optimizer"
    assert found[1][1].is_correct
    for wrong in ("each += lr * each.grad", "each -= each.grad", "each -= lr * each.grad.abs()"):
        assert not found_in(OF_ANY_NAME.replace("each -= lr * each.grad", wrong))


def test_a_layer_that_hides_padding_in_its_input_is_no_causal_mask():
    text = "class Masking:\n    def __call__(self, x, mask_value=0):\n        return x * (x != mask_value)\n"
    assert found_in(text) == {}


def test_a_function_that_returns_an_instance_of_the_class_that_it_is_annotated_with_is_no_part():
    text = "class FeedForward:\n    pass\n\ndef small_mlp(width: int) -> FeedForward:\n    return FeedForward(width)\n"
    assert "small_mlp" in facts_of(text).optional


def test_the_derivative_of_a_loss_is_no_loss():
    text = "import numpy as np\n\ndef dcross_entropy(logits, targets):\n    return np.exp(logits) - np.eye(logits.shape[1])[targets]\n"
    assert found_in(text) == {}


def test_the_size_of_a_part_is_no_part():
    assert facts_of("def mlp_hidden_dim(dim):\n    return 4 * dim\n").optional == {"mlp_hidden_dim"}


def test_functions_that_show_a_part_need_no_verdict():
    text = "def generate(model, ids):\n    return ids\n\ndef benchmark_generation(model, ids):\n    generate(model, ids)\n"
    assert facts_of(text).optional == {"benchmark_generation"}


def test_words_with_ids_are_no_byte_pairs_though_a_comment_names_them():
    text = 'def tokenize(text, vocab):\n    """Return ids of words; BPE would merge pairs."""\n    return [vocab[word] for word in text.split()]  # no bytes\n'
    assert found_in(text) == {}
    assert "bpe_encode" in {part for part, _ in found_in(text.replace("word in text.split()", "word in merge(text)")).values()}


def test_limiting_each_element_is_no_clipping_of_the_norm():
    text = """
import numpy as np

def clip_grads(grads, limit):
    return [np.clip(g, -limit, limit) for g in grads]
"""
    assert found_in(text) == {}


@pytest.mark.parametrize(
    "text",
    [
        "import math\ndef get_lr(step, total, lr):\n    return lr * step / 80 if step < 80 else lr * (1 + math.cos(math.pi * step / total)) / 2\n",
        "def get_lr(step, total, lr):\n    return lr * (1 - step / total) ** 0.9\n",
        "import math\ndef cosine_scheduler(high, low, epochs):\n    return [low + (high - low) * (1 + math.cos(math.pi * i / epochs)) / 2 for i in range(epochs)]\n",
    ],
    ids=["with numbers of its own", "of another kind", "of all steps at once"],
)
def test_other_schedules_are_not_judged(text):
    assert found_in(text) == {}


def test_the_derivative_of_a_part_is_not_repaired_as_the_part(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("import numpy as np\n\ndef relu(x):\n    return np.maximum(0, x)\n\ndef drelu(x):\n    return x > 0\n")
    assert [each.subject for each in check_file(path)] == ["relu"]
