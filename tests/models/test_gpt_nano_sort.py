"""A trained minGPT that sorts letters, with its authors' activations of every step: GPT-2, layer by layer."""

from __future__ import annotations

import base64
import json
import math
from typing import Any

import numpy
import pytest

from headway import functions
from headway.arrays import ARRAY_LIBRARIES, from_numpy, to_numpy
from headway.engine import GenerationOptions, Request
from headway.models import gpt2
from headway.runners import Model
from headway.trees import map_tree, tree_from_leaves
from tests.small_models import engine_of

TOLERANCE = 2e-5  # float32 sums of up to 192 terms, and activations up to about 10


def array(entry: dict[str, Any]) -> numpy.ndarray:
    dtype = {"torch.float32": numpy.float32, "torch.int64": numpy.int64}[entry["dtype"]]
    return numpy.frombuffer(base64.b64decode(entry["data"]), dtype).reshape(entry["shape"])


@pytest.fixture(scope="module")
def model(data_dir) -> tuple[gpt2.Config, gpt2.Weights]:
    stored = json.loads((data_dir / "weights/gpt_nano_sort/gpt-nano-sort-model.json").read_text())
    sizes = stored["config"]
    config = gpt2.Config(
        vocab_size=sizes["vocab_size"],
        n_positions=sizes["block_size"],
        n_embd=sizes["n_embd"],
        n_layer=sizes["n_layer"],
        n_head=sizes["n_head"],
        tie_word_embeddings=False,
    )
    leaves = {}
    for path, place in gpt2.stored_weights(config).items():
        tensor = array(stored[place.name])
        rows = slice(*(place.columns or (None,)))  # these weights are stored (out, in): the columns of ours are their rows
        leaves[path] = tensor[rows] if place.is_transposed or tensor.ndim == 1 else tensor
    return config, tree_from_leaves(gpt2.Weights, leaves)


@pytest.fixture(scope="module")
def steps(data_dir) -> dict[str, numpy.ndarray]:
    stored = json.loads((data_dir / "weights/gpt_nano_sort/gpt-nano-sort-t0-partials.json").read_text())
    arrays = {name: array(entry) for name, entry in stored.items() if name != "config"}
    return arrays | {"idx": arrays["idx"].astype(numpy.int64)}


class Recorder:
    """The definitions, with every result kept by the function's name."""

    def __init__(self) -> None:
        self.results: dict[str, list[Any]] = {}

    def __getattr__(self, name: str) -> Any:
        function = getattr(functions, name)

        def recorded(*operands: Any, **options: Any) -> Any:
            result = function(*operands, **options)
            self.results.setdefault(name, []).append(result)
            return result

        return recorded


def test_every_step_of_the_first_layer_and_every_layer_equal_the_authors(model, steps):
    config, weights = model
    ops = Recorder()
    logits = gpt2.forward(steps["idx"], weights, config, ops=ops)
    kept = ops.results
    heads = kept["split_heads"]
    scores = heads[0] @ heads[1].swapaxes(-1, -2) / math.sqrt(config.n_embd // config.n_head)
    seq_len = steps["idx"].shape[-1]
    visible = numpy.tril(numpy.ones((seq_len, seq_len), bool))
    assert not numpy.isfinite(steps["att"][..., ~visible]).any()
    residual = steps["x"] + kept["multi_head_attention"][0]
    computed = {
        "tok_emb": kept["embed"][0],
        "pos_emb": kept["learned_positions"][0],
        "x": kept["embed"][0] + kept["learned_positions"][0],
        "ln1": kept["layer_norm"][0],
        "q": heads[0],
        "k": heads[1],
        "v": heads[2],
        "qkv": numpy.concatenate(kept["linear"][:3], axis=-1),
        "attSm": functions.attention_weights(heads[0], heads[1], is_causal=True),
        "y": kept["merge_heads"][0],
        "yProj": kept["multi_head_attention"][0],
        "attnResid": residual,
        "ln2": kept["layer_norm"][1],
        "fc": kept["linear"][4],
        "gelu": kept["gelu_tanh"][0],
        "mlp": kept["feed_forward"][0],
        "mlpResid": residual + kept["feed_forward"][0],
        "block0": residual + kept["feed_forward"][0],
        "block1": residual + kept["feed_forward"][0] + kept["multi_head_attention"][1] + kept["feed_forward"][1],
        "block2": residual + kept["feed_forward"][0] + sum(kept["multi_head_attention"][i] + kept["feed_forward"][i] for i in (1, 2)),
        "ln_f": kept["layer_norm"][-1],
        "lm_head": logits,
        "probs": functions.softmax(logits),
    }
    numpy.testing.assert_allclose(scores[..., visible], steps["att"][..., visible], atol=TOLERANCE, rtol=TOLERANCE)
    assert computed.keys() | {"idx", "att"} == steps.keys()
    for name, result in computed.items():
        numpy.testing.assert_allclose(result.reshape(steps[name].shape), steps[name], atol=TOLERANCE, rtol=TOLERANCE, err_msg=name)


@pytest.mark.parametrize("library", ARRAY_LIBRARIES)
def test_the_logits_are_the_authors_in_every_library(model, steps, library):
    config, weights = model
    weights = map_tree(lambda leaf: from_numpy(leaf.copy(), library), weights)
    logits = to_numpy(gpt2.forward(from_numpy(steps["idx"].copy(), library), weights, config))
    numpy.testing.assert_allclose(logits, steps["lm_head"], atol=TOLERANCE, rtol=TOLERANCE)


@pytest.mark.parametrize("letters", [[2, 0, 1, 1, 0, 2], [0, 0, 0, 0, 0, 0], [2, 2, 1, 1, 0, 0], [1, 0, 2, 0, 2, 1]])
def test_it_sorts(model, letters):
    config, weights = model
    engine = engine_of(Model(gpt2, config, weights))
    assert [token.token_id for token in engine.stream([Request(letters, GenerationOptions(max_new_tokens=5))])] == sorted(letters)[:5]
