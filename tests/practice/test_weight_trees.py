"""Functions that take their weights as one tree that nothing in their file initializes: named tuples, dicts, and what they pass on."""

import pytest

from headway.practice.diagnosis.calls.jax_on_numpy import jax_on_numpy
from headway.practice.diagnosis.classes.param_trees import sizes_of, tree_read
from headway.practice.diagnosis.diagnose import diagnose
from headway.practice.diagnosis.files import load_module, with_exercises
from headway.practice.diagnosis.reading.subject import subjects_of
from headway.practice.exercises import exercise

NAMED_TUPLES = """
from typing import NamedTuple

import numpy as np


class Norm(NamedTuple):
    gain: np.ndarray
    shift: np.ndarray


class Attention(NamedTuple):
    qkv: np.ndarray
    b_qkv: np.ndarray
    out: np.ndarray
    b_out: np.ndarray


class Mlp(NamedTuple):
    fc1: np.ndarray
    b1: np.ndarray
    fc2: np.ndarray
    b2: np.ndarray


class Layer(NamedTuple):
    attention: Attention
    mlp: Mlp
    norm_1: Norm
    norm_2: Norm


class Weights(NamedTuple):
    tokens: np.ndarray
    positions: np.ndarray
    layers: list[Layer]
    norm_f: Norm


def layer_norm(x: np.ndarray, params: Norm) -> np.ndarray:
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * params.gain + params.shift


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def feed_forward(x: np.ndarray, params: Mlp) -> np.ndarray:
    return gelu(x @ params.fc1 + params.b1) @ params.fc2 + params.b2


def causal_self_attention(x: np.ndarray, params: Attention, n_heads: int) -> np.ndarray:
    length, width = x.shape
    packed = np.split(x @ params.qkv + params.b_qkv, 3, axis=-1)
    q, k, v = (each.reshape(length, n_heads, -1).swapaxes(0, 1) for each in packed)
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    scores = np.where(np.tri(length, dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return (weights @ v).swapaxes(0, 1).reshape(length, width) @ params.out + params.b_out


def transformer_block(x: np.ndarray, params: Layer, n_heads: int) -> np.ndarray:
    x = x + causal_self_attention(layer_norm(x, params.norm_1), params.attention, n_heads)
    return x + feed_forward(layer_norm(x, params.norm_2), params.mlp)


def gpt(ids: np.ndarray, params: Weights, n_heads: int) -> np.ndarray:
    x = params.tokens[ids] + params.positions[np.arange(len(ids))]
    for layer in params.layers:
        x = transformer_block(x, layer, n_heads)
    return layer_norm(x, params.norm_f) @ params.tokens.T
"""

DICTS = """
from dataclasses import dataclass

import numpy as np


@dataclass
class Config:
    n_heads: int = 2
    d_model: int = 8


def layer_norm(x, w, eps=1e-5):
    mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return w["gamma"] * (x - mean) / np.sqrt(var + eps) + w["beta"]


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def mlp(mlp_params, x):
    w1, b1 = mlp_params["fc_in"]
    w2, b2 = mlp_params["fc_out"]
    return gelu(x @ w1 + b1) @ w2 + b2


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def causal_attention(cfg: Config, attn_params, x):
    n, d = x.shape[-2:]
    q, k, v = (x @ attn_params[name] for name in ("wq", "wk", "wv"))
    heads = [each.reshape(*x.shape[:-1], cfg.n_heads, d // cfg.n_heads).swapaxes(-2, -3) for each in (q, k, v)]
    s = heads[0] @ heads[1].swapaxes(-1, -2) / np.sqrt(d // cfg.n_heads)
    s = s + np.triu(np.full((n, n), -1e10), 1)
    return (softmax(s) @ heads[2]).swapaxes(-2, -3).reshape(x.shape) @ attn_params["wo"]


def transformer_block(cfg: Config, block_params, x):
    x = x + causal_attention(cfg, block_params["attn"], layer_norm(x, block_params["ln1"]))
    return x + mlp(block_params["mlp"], layer_norm(x, block_params["ln2"]))


def gpt2_forward(cfg: Config, params, ids):
    x = params["wte"][ids] + params["wpe"][: ids.shape[-1]]
    for i in range(len(params["blocks"])):
        x = transformer_block(cfg, params["blocks"][i], x)
    return layer_norm(x, params["ln_f"]) @ params["wte"].T
"""

OWN_NAMES = """
import numpy as np


def dense(x, params):
    return x @ params["weight"] + params["bias"]


def feed_forward(x, c_fc, c_proj):
    return np.maximum(dense(x, c_fc), 0) @ c_proj["weight"] + c_proj["bias"]


def causal_attention(x, c_attn, c_proj, n_head):
    q, k, v = np.split(dense(x, c_attn), 3, axis=-1)
    hidden = np.triu(np.ones((len(x), len(x)), bool), 1)
    out = []
    for a, b, c in zip(*(np.split(each, n_head, axis=-1) for each in (q, k, v)), strict=True):
        scores = np.where(hidden, -1e9, a @ b.T / np.sqrt(a.shape[-1]))
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        out.append(weights / weights.sum(-1, keepdims=True) @ c)
    return dense(np.concatenate(out, axis=-1), c_proj)
"""

PARTS = {"mlp": "feed_forward", "causal_attention": "causal_self_attention", "gpt": "gpt2", "gpt2_forward": "gpt2"}


def verdict_on(path, text, name):
    path.write_text(text)
    module = load_module(path, text)
    subject = next(each for each in subjects_of(module, text) if each.name == name)
    with jax_on_numpy():
        return diagnose(subject, exercise(PARTS.get(name, name)))


@pytest.mark.parametrize("name", ["layer_norm", "feed_forward", "causal_self_attention", "transformer_block", "gpt"])
def test_functions_of_named_tuples_are_judged_with_the_fields_of_the_classes(tmp_path, name):
    verdict = verdict_on(tmp_path / "named_tuples.py", NAMED_TUPLES, name)
    assert verdict.is_correct, verdict


@pytest.mark.parametrize("name", ["layer_norm", "mlp", "causal_attention", "transformer_block", "gpt2_forward"])
def test_functions_of_dicts_are_judged_with_the_keys_that_they_read(tmp_path, name):
    verdict = verdict_on(tmp_path / "dicts.py", DICTS, name)
    assert verdict.is_correct, verdict


@pytest.mark.parametrize("name", ["feed_forward", "causal_attention"])
def test_functions_of_several_dicts_under_names_of_their_own_are_judged_as_one_tree(tmp_path, name):
    verdict = verdict_on(tmp_path / "own_names.py", OWN_NAMES, name)
    assert verdict.is_correct, verdict


@pytest.mark.slow
def test_a_tree_may_hold_the_number_of_heads(tmp_path):
    text = OWN_NAMES.replace("c_attn, c_proj, n_head)", "params)").replace("np.split(each, n_head", 'np.split(each, params["n_heads"]')
    text = text.replace("dense(x, c_attn)", 'dense(x, params["c_attn"])').replace("axis=-1), c_proj)", 'axis=-1), params["c_proj"])')
    right, wrong = (
        verdict_on(tmp_path / f"{name}.py", text, "causal_attention")
        for name, text in (("right", text), ("wrong", text.replace(", 1)", ", 0)")))
    )
    assert right.is_correct, right
    assert not wrong.is_correct


MISTAKES = [
    (OWN_NAMES, "/ np.sqrt(a.shape[-1])", "", "causal_attention", "scale"),
    (OWN_NAMES, "np.maximum(dense(x, c_fc), 0)", "dense(x, c_fc)", "feed_forward", None),
    (NAMED_TUPLES, "/ np.sqrt(q.shape[-1])", "", "causal_self_attention", "scale"),
    (NAMED_TUPLES, "np.tri(length, dtype=bool)", "np.tri(length, dtype=bool).T", "causal_self_attention", None),
    (NAMED_TUPLES, "x = x + causal", "x = causal", "transformer_block", None),
    (DICTS, "+ np.triu(np.full((n, n), -1e10), 1)", "+ 0", "causal_attention", "causal_ignored"),
    (DICTS, 'block_params["ln2"]', 'block_params["ln1"]', "transformer_block", None),
    (DICTS, 'params["wpe"][: ids.shape[-1]]', 'params["wpe"][1 : ids.shape[-1] + 1]', "gpt2_forward", "positions_from_one"),
    (DICTS, "gelu(x @ w1 + b1)", "gelu(x @ w1)", "mlp", None),
]


@pytest.mark.slow
@pytest.mark.parametrize(("text", "right", "wrong", "name", "cause"), MISTAKES)
def test_mistakes_in_functions_of_trees_are_found(tmp_path, text, right, wrong, name, cause):
    assert right in text
    verdict = verdict_on(tmp_path / "wrong_trees.py", text.replace(right, wrong), name)
    assert not verdict.is_correct, verdict
    if cause is not None:
        assert verdict.causes[0].name == cause, verdict


def test_named_tuples_are_no_parts_themselves(tmp_path):
    path = tmp_path / "records.py"
    path.write_text(NAMED_TUPLES)
    module = load_module(path, NAMED_TUPLES)
    assert [subject.name for subject, _ in with_exercises(module, NAMED_TUPLES)][:2] == ["layer_norm", "gelu"]


def test_a_tree_is_read_through_calls_loops_and_unpacking(tmp_path):
    path = tmp_path / "dicts.py"
    path.write_text(DICTS)
    module = load_module(path, DICTS)
    tree = tree_read(module.gpt2_forward, "params", module)
    paths = {".".join(path) for path, _ in tree.leaves()}
    assert {"wte", "wpe", "ln_f.gamma", "blocks.*.attn.wq", "blocks.*.mlp.fc_in.w1"} <= paths
    assert set(sizes_of(tree)) == {"vocab_size", "hidden_size", "context_length", "num_layers", "intermediate_size"}


def test_a_key_whose_size_is_unknown_makes_no_tree(tmp_path):
    path = tmp_path / "unknown.py"
    text = "def transformer_block(x, params, n_heads):\n    return x @ params['zeta'] + params['theta_7']\n"
    path.write_text(text)
    module = load_module(path, text)
    assert sizes_of(tree_read(module.transformer_block, "params", module)) is None


TWO_NORMS = """
# weights: {"ln_1": {"g", "b"}, "ln_2": {"g", "b"}}
def norm(x, g, b):
    return g * (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True) + b

def block(x, weights):
    x = x + norm(x, **weights["ln_1"])
    return x + norm(x, **weights["ln_1"])
"""


def test_the_second_norm_that_a_file_names_is_in_its_tree(tmp_path):
    for text, names in ((TWO_NORMS, ["ln_1", "ln_2"]), (TWO_NORMS.replace("ln_2", "other"), ["ln_1"])):
        path = tmp_path / f"{names[-1]}.py"
        path.write_text(text)
        module = load_module(path, text)
        assert list(tree_read(module.block, "weights", module).children) == names
