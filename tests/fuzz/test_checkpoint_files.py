"""Mutants of every file that describes or holds a model: each loads, or raises a HeadwayError."""

from __future__ import annotations

import dataclasses
import json
import random
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
from safetensors.numpy import load_file, save_file

from headway.checkpoints import load_checkpoint, open_checkpoint
from headway.checkpoints.llama2c import load_llama2c
from headway.checkpoints.sentence_transformers import read_sentence_options
from headway.checkpoints.writing import save_tensors
from headway.models import llama
from tests.checkpoints.llama2c_files import llama2c_file
from tests.fuzz.models import MODELS, ROPE, SIZES, write_model
from tests.fuzz.mutations import BYTES_PER_BYTE, byte_mutants, json_mutants, json_text, mutate_bytes, num_mutants, report, run
from tests.small_models import random_weights

pytestmark = pytest.mark.filterwarnings("ignore")  # NaN and overflow in the arithmetic of absurd models


def check(attempt: Callable[[Any], object], mutants: Iterator[tuple[int, Any]]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        failures = run(attempt, mutants, seconds_each=120, memory_bytes=128 * 2**20, bytes_per_byte=BYTES_PER_BYTE)
    assert not failures, report(failures)


def use(folder: Path) -> None:
    """Load a model and compute with it once."""
    loaded = load_checkpoint(folder)
    module, token_ids = loaded.architecture, numpy.array([[1, 2, 3]])
    if module.KIND == "decoder":
        module.hidden_states(token_ids, loaded.weights, loaded.config)
        assert len(module.spec(loaded.config).layers) == 1
    else:
        module.encode(token_ids, loaded.weights, loaded.config)


def test_safetensors(tmp_path):
    path = write_model(tmp_path, "gpt2") / "model.safetensors"

    def attempt(content: bytes) -> None:
        path.write_bytes(content)
        use(tmp_path)

    check(attempt, byte_mutants([path.read_bytes()], num_mutants(500)))


@pytest.mark.slow
def test_headers_of_safetensors(tmp_path):
    path = write_model(tmp_path, "gpt2") / "model.safetensors"
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")

    def attempt(header: bytes) -> None:
        path.write_bytes(len(header).to_bytes(8, "little") + header + content[8 + size :])
        use(tmp_path)

    check(attempt, json_mutants([json.loads(content[8 : 8 + size])], num_mutants(500)))


@pytest.mark.slow
def test_shard_indexes(tmp_path):
    write_model(tmp_path, "gpt2")
    (tmp_path / "model.safetensors").rename(tmp_path / "model-00001-of-00001.safetensors")
    names = load_names(tmp_path / "model-00001-of-00001.safetensors")
    index = {"metadata": {"total_size": 1}, "weight_map": dict.fromkeys(names, "model-00001-of-00001.safetensors")}

    def attempt(text: bytes) -> None:
        (tmp_path / "model.safetensors.index.json").write_bytes(text)
        use(tmp_path)

    check(attempt, json_mutants([index], num_mutants(500)))


def load_names(path: Path) -> list[str]:
    content = path.read_bytes()
    return [name for name in json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")]) if name != "__metadata__"]


def test_experts_in_mxfp4(tmp_path):
    """The header of a file whose experts are blocks and scales."""
    path = write_model(tmp_path, "gpt_oss") / "model.safetensors"
    tensors = dict(load_file(path))
    for name in [name for name in tensors if name.endswith("_proj") and ".experts." in name]:
        count, inputs, outputs = tensors.pop(name).shape
        tensors[f"{name}_blocks"] = numpy.zeros((count, outputs, -(-inputs // 32), 16), numpy.uint8)
        tensors[f"{name}_scales"] = numpy.zeros((count, outputs, -(-inputs // 32)), numpy.uint8)
    save_file(tensors, path)
    use(tmp_path)
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")

    def attempt(header: bytes) -> None:
        path.write_bytes(len(header).to_bytes(8, "little") + header + content[8 + size :])
        use(tmp_path)

    check(attempt, byte_mutants([content[8 : 8 + size]], num_mutants(300)))


@pytest.mark.parametrize("name", MODELS)
def test_configs(tmp_path, name):
    write_model(tmp_path, name)
    config = json.loads((tmp_path / "config.json").read_text())

    def attempt(text: bytes) -> None:
        (tmp_path / "config.json").write_bytes(text)
        use(tmp_path)

    check(attempt, json_mutants([config], num_mutants(300)))


@pytest.mark.slow
def test_generation_configs(tmp_path):
    from headway.language_model.options import own_options

    write_model(tmp_path, "gpt2")
    keys = {
        **{"do_sample": True, "temperature": 0.7, "top_k": 50, "top_p": 0.9, "typical_p": 1.0, "num_beams": 1, "length_penalty": 1.0},
        **{"eos_token_id": [1, 2], "bos_token_id": 0, "pad_token_id": 0, "suppress_tokens": [3], "bad_words_ids": [[4], [5]]},
        **{"max_new_tokens": 20, "max_length": 30, "min_length": 1, "repetition_penalty": 1.1, "no_repeat_ngram_size": 2},
        **{"early_stopping": False, "forced_eos_token_id": 1, "renormalize_logits": True, "transformers_version": "5.0"},
    }

    def attempt(text: bytes) -> None:
        (tmp_path / "generation_config.json").write_bytes(text)
        own_options(load_checkpoint(tmp_path).generation_config)

    check(attempt, json_mutants([keys], num_mutants(500)))


SENTENCE_FILES: dict[str, Any] = {
    "modules.json": [
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
        {"idx": 2, "name": "2", "path": "2_Dense", "type": "sentence_transformers.models.Dense"},
        {"idx": 3, "name": "3", "path": "3_Normalize", "type": "sentence_transformers.models.Normalize"},
    ],
    "1_Pooling/config.json": {"word_embedding_dimension": 6, "pooling_mode_mean_tokens": True, "pooling_mode_max_tokens": False},
    "2_Dense/config.json": {"in_features": 6, "out_features": 4, "bias": True, "activation_function": "torch.nn.modules.activation.Tanh"},
    "3_Normalize/config.json": {},
    "sentence_bert_config.json": {"max_seq_length": 128, "do_lower_case": False},
    "config_sentence_transformers.json": {
        "__version__": {"sentence_transformers": "5.0"},
        "prompts": {"query": "query: ", "document": ""},
        "default_prompt_name": "query",
        "similarity_fn_name": "cosine",
        "truncate_dim": 3,
    },
    "tokenizer_config.json": {"model_max_length": 512},
}


@pytest.mark.slow
def test_sentence_transformers_files(tmp_path):
    for name, content in SENTENCE_FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(json_text(content))
    tensors = {"linear.weight": numpy.ones((4, 6), numpy.float32), "linear.bias": numpy.ones(4, numpy.float32)}
    save_tensors(tmp_path / "2_Dense" / "model.safetensors", tensors, {})
    dense = (tmp_path / "2_Dense" / "model.safetensors").read_bytes()
    read_sentence_options(tmp_path)

    def attempt(mutant: tuple[str, bytes, bytes]) -> None:
        name, text, sound = mutant
        (tmp_path / name).write_bytes(text)
        try:
            read_sentence_options(tmp_path)
        finally:
            (tmp_path / name).write_bytes(sound)

    def mutants() -> Iterator[tuple[int, tuple[str, bytes, bytes]]]:
        for seed in range(num_mutants(500)):
            name = random.Random(seed).choice((*SENTENCE_FILES, "2_Dense/model.safetensors"))
            if name in SENTENCE_FILES:
                ((_, text),) = json_mutants([SENTENCE_FILES[name]], 1, first_seed=seed)
                yield seed, (name, text, json_text(SENTENCE_FILES[name]))
            else:
                yield seed, (name, mutate_bytes(random.Random(seed), dense), dense)

    check(attempt, mutants())


@pytest.mark.parametrize("version", [0, 1, 2])
@pytest.mark.parametrize("is_tied", [True, False], ids=["tied", "untied"])
def test_llama2c_files(tmp_path, version, is_tied):
    config = dataclasses.replace(llama.Config(**SIZES | {"rope_parameters": ROPE}), tie_word_embeddings=is_tied)
    content = llama2c_file(config, random_weights(llama, config), version)
    path = tmp_path / "model.bin"

    def attempt(mutant: bytes) -> None:
        path.write_bytes(mutant)
        open_checkpoint(tmp_path)

    path.write_bytes(content)
    assert load_llama2c(path).config.tie_word_embeddings == is_tied
    check(attempt, byte_mutants([content, content[:300]], num_mutants(300)))
