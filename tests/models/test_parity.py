"""Every architecture against transformers, which saved the folder that is loaded here."""

from __future__ import annotations

import json
from itertools import product

import numpy
import pytest
import torch

from headway import functions
from headway.arrays import ARRAY_LIBRARIES, from_numpy, to_numpy
from headway.checkpoints import load_checkpoint, save_checkpoint
from headway.engine import Engine, GenerationOptions, Request
from headway.errors import UnsupportedError
from headway.kernels import operations
from headway.kernels.cpu.pass_plan import Rows
from headway.language_model.decoders import can_compile, compiled_decoder
from headway.runners import Model
from tests.models.saved_by_transformers import CASES, OTHER_DECODERS, UNCOMPILED
from tests.small_models import engine_of

LOGITS = 1e-4
PACKED = {"float32": (2e-6, 2e-6), "bfloat16": (0.02, 0.02), "int8": (0.05, 0.05), "int4": (0.05, 0.7)}
"""By kind of the packed weights, of the largest logit: the error of the products, and that of the rounded weights. Weights of 4 bits change
the logits of a model with two random layers by up to half of the largest; the products add 0.02 to that."""
OTHERS = [case.name for case in OTHER_DECODERS]
BEYOND = ("phi3 beyond its original length", "llama with dynamic rope")
"""transformers gives the tokens of a pass the angles of the last one; the compiled decoder gives each token its own."""
MIXTURES = ("olmoe", "mixtral", "qwen3_moe", "qwen3_moe with normalized shares")
"""Rounded activations may choose other experts, so only float32 is compared."""
OTHERS_COMPILED = [name for name in OTHERS if name not in (*UNCOMPILED, *BEYOND)]
ONE_PER_ARCHITECTURE = ("gpt2", "llama with llama3 rope", "mistral with a window", "qwen2", "qwen3", "gemma3")
every_decoder = pytest.mark.parametrize("name", [*(case.name for case in CASES), *OTHERS])
every_case = pytest.mark.parametrize("name", [*(case.name for case in CASES), *OTHERS_COMPILED])
one_per_architecture = pytest.mark.parametrize("name", ONE_PER_ARCHITECTURE)
every_library = pytest.mark.parametrize("array", ARRAY_LIBRARIES)


@every_decoder
def test_logits_equal_those_of_transformers(saved_model, name):
    saved = saved_model(name)
    loaded = load_checkpoint(saved.folder)
    logits = loaded.architecture.forward(saved.token_ids, loaded.weights, loaded.config)
    numpy.testing.assert_allclose(logits, saved.logits, atol=LOGITS, rtol=0)


@every_library
@one_per_architecture
def test_logits_equal_those_of_transformers_in_every_library_with_its_fastest_operations(saved_model, name, array):
    saved = saved_model(name)
    loaded = load_checkpoint(saved.folder, array=array)
    logits = loaded.architecture.forward(from_numpy(saved.token_ids, array), loaded.weights, loaded.config, ops=operations(array))
    numpy.testing.assert_allclose(to_numpy(logits), saved.logits, atol=LOGITS, rtol=0)


@every_decoder
def test_greedy_tokens_equal_those_of_transformers(saved_model, name):
    saved = saved_model(name)
    assert _greedy(load_checkpoint(saved.folder), saved.token_ids[0], "numpy") == saved.greedy


@every_library
@one_per_architecture
def test_greedy_tokens_equal_those_of_transformers_in_every_library(saved_model, name, array):
    saved = saved_model(name)
    assert _greedy(load_checkpoint(saved.folder, array=array), saved.token_ids[0], array) == saved.greedy


@every_library
@one_per_architecture
def test_decoding_one_by_one_equals_one_pass(saved_model, name, array):
    expect_cached_logits(saved_model(name), array)


@pytest.mark.parametrize("name", [name for name in OTHERS if name not in BEYOND])
def test_decoding_one_by_one_equals_one_pass_of_other_decoders(saved_model, name):
    expect_cached_logits(saved_model(name), "numpy")


def expect_cached_logits(saved, array):
    loaded = load_checkpoint(saved.folder, array=array)
    cache = loaded.architecture.new_kv_cache(loaded.config, 2, 17, loaded.weights.token_embedding)
    parts = [saved.token_ids[:, :5], *(saved.token_ids[:, i : i + 1] for i in range(5, 13))]
    passes = [loaded.architecture.forward(from_numpy(part.copy(), array), loaded.weights, loaded.config, kv_cache=cache) for part in parts]
    numpy.testing.assert_allclose(numpy.concatenate([to_numpy(each) for each in passes], axis=1), saved.logits, atol=LOGITS, rtol=0)


@one_per_architecture
def test_a_prefix_of_padding_changes_nothing(saved_model, name):
    saved = saved_model(name)
    loaded = load_checkpoint(saved.folder)
    padded = numpy.concatenate([numpy.zeros((2, 3), numpy.int64), saved.token_ids], axis=1)
    logits = loaded.architecture.forward(padded, loaded.weights, loaded.config, padding=numpy.array([3, 3]))
    numpy.testing.assert_allclose(logits[:, 3:], saved.logits, atol=LOGITS, rtol=0)


@one_per_architecture
def test_a_later_token_never_changes_an_earlier_logit(saved_model, name):
    saved = saved_model(name)
    loaded = load_checkpoint(saved.folder)
    changed = saved.token_ids.copy()
    changed[:, 8] = (changed[:, 8] + 1) % 97
    before, after = (loaded.architecture.forward(ids, loaded.weights, loaded.config) for ids in (saved.token_ids, changed))
    numpy.testing.assert_array_equal(before[:, :8], after[:, :8])
    assert abs(before[:, 8:] - after[:, 8:]).max() > 1e-3


@one_per_architecture
def test_half_precision_stays_half_precision(saved_model, name):
    saved = saved_model(name)
    loaded = load_checkpoint(saved.folder, dtype="float16")
    logits = loaded.architecture.forward(saved.token_ids, loaded.weights, loaded.config, ops=functions)
    assert logits.dtype == numpy.float16
    numpy.testing.assert_allclose(logits.astype(numpy.float32), saved.logits, atol=0.05, rtol=0.05)


@pytest.mark.parametrize("name", [*(name for name in OTHERS if "vision" not in name), "mistral with a window"])
def test_transformers_reads_a_saved_checkpoint(saved_model, tmp_path, name):
    saved = saved_model(name)
    loaded = load_checkpoint(saved.folder)
    save_checkpoint(tmp_path, loaded.architecture, loaded.config, loaded.weights, generation_config={"pad_token_id": 0})
    theirs = saved.case.model_class.from_pretrained(tmp_path, dtype=torch.float32, attn_implementation="eager").eval()
    with torch.no_grad():
        numpy.testing.assert_allclose(theirs(torch.from_numpy(saved.token_ids)).logits.numpy(), saved.logits, atol=LOGITS, rtol=0)


@pytest.mark.parametrize("name", UNCOMPILED)
def test_a_decoder_that_the_kernels_do_not_support_runs_on_the_definitions(saved_model, name):
    saved = saved_model(name)
    loaded = load_checkpoint(saved.folder)
    assert not can_compile(loaded)
    with pytest.raises(UnsupportedError, match=r"got packed weights for \w+: got a decoder with .*, expected one that the compiled"):
        compiled_decoder(loaded, saved.folder, "float32")


def test_every_key_of_a_vision_models_config_outside_of_its_text_model_is_unused(saved_model):
    folder = saved_model("gemma3 with a vision model").folder
    keys = json.loads((folder / "config.json").read_text())
    assert {"vision_config", "text_config"} <= set(keys)
    assert load_checkpoint(folder).config.sliding_window == keys["text_config"]["sliding_window"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        each
        for each in product((*(case.name for case in CASES), *OTHERS_COMPILED), PACKED)
        if each[0] not in MIXTURES or each[1] == "float32"
    ],
)
def test_the_compiled_decoder_says_what_transformers_says(saved_model, kernels, name, kind):
    saved = saved_model(name)
    loaded, stack = load_checkpoint(saved.folder), compiled(saved, kind, kernels)
    stack.allocate(2)
    stack.run([Rows(0, row[:5], [page], 0) for page, row in enumerate(saved.token_ids.tolist())])
    logits = stack.run([Rows(5, row[5:], [page], 1) for page, row in enumerate(saved.token_ids.tolist())])
    defined = loaded.architecture.forward(saved.token_ids, stack.weights, loaded.config)[
        :, -1
    ]  # the definitions on the same packed weights
    of_products, of_weights = PACKED[kind]
    assert abs(logits - defined).max() <= of_products * abs(saved.logits).max()
    assert abs(defined - saved.logits[:, -1]).max() <= of_weights * abs(saved.logits).max()


@every_case
def test_greedy_tokens_of_the_compiled_decoder_equal_those_of_transformers(saved_model, kernels, name):
    saved = saved_model(name)
    loaded = load_checkpoint(saved.folder, dtype=None)
    engine = Engine(compiled(saved, "float32", kernels), Model(loaded.architecture, loaded.config, loaded.weights).limits)
    request = Request(saved.token_ids[0].tolist(), GenerationOptions(max_new_tokens=20), end_token_ids=(2,))
    assert [token.token_id for token in engine.stream([request])] == saved.greedy


def compiled(saved, kind, kernels):
    """The stack of a saved model, its weights straight from the file."""
    return compiled_decoder(load_checkpoint(saved.folder, dtype=None), saved.folder, kind, cache_kind="float32", folder=kernels)


def _greedy(loaded, prompt, array) -> list[int]:
    engine = engine_of(Model(loaded.architecture, loaded.config, loaded.weights, array, None, operations(array)))
    request = Request(prompt.tolist(), GenerationOptions(max_new_tokens=20), end_token_ids=(2,))
    return [token.token_id for token in engine.stream([request])]
