"""Folders as sentence-transformers writes them, in the form of its versions before 5 and in that of version 6."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy
import pytest
from safetensors.numpy import save_file

from headway.checkpoints import resolve_model
from headway.checkpoints.sentence_transformers import Normalize, SentenceOptions, read_sentence_options
from headway.errors import CheckpointError, UnsupportedError

OLD = {
    "modules.json": [
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
        {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"},
    ],
    "sentence_bert_config.json": {"max_seq_length": 128, "do_lower_case": True},
    "config_sentence_transformers.json": {
        "__version__": {"sentence_transformers": "2.0.0", "transformers": "4.6.1", "pytorch": "1.8.1"},
        "prompts": {"query": "query: "},
        "default_prompt_name": None,
        "similarity_fn_name": "dot",
    },
    "1_Pooling/config.json": {
        "word_embedding_dimension": 6,
        "pooling_mode_cls_token": False,
        "pooling_mode_mean_tokens": True,
        "pooling_mode_max_tokens": False,
        "pooling_mode_mean_sqrt_len_tokens": False,
        "include_prompt": False,
    },
}
NEW = {
    "modules.json": [
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.base.modules.transformer.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.sentence_transformer.modules.pooling.Pooling"},
        {"idx": 2, "name": "2", "path": "2_Dense", "type": "sentence_transformers.base.modules.dense.Dense"},
        {"idx": 3, "name": "3", "path": "3_Normalize", "type": "sentence_transformers.base.modules.normalize.Normalize"},
    ],
    "sentence_bert_config.json": {
        "transformer_task": "feature-extraction",
        "modality_config": {"text": {"method": "forward", "method_output_name": "last_hidden_state"}},
        "module_output_name": "token_embeddings",
    },
    "tokenizer_config.json": {"model_max_length": 256},
    "config_sentence_transformers.json": {
        "__version__": {"sentence_transformers": "6.2.0", "transformers": "5.23.0", "pytorch": "2.13.0"},
        "model_type": "SentenceTransformer",
        "prompts": {"query": "find: ", "document": None},
        "default_prompt_name": "query",
        "similarity_fn_name": "cosine",
        "truncate_dim": 3,
    },
    "1_Pooling/config.json": {"embedding_dimension": 6, "pooling_mode": "lasttoken", "include_prompt": True},
    "2_Dense/config.json": {
        "in_features": 6,
        "out_features": 5,
        "bias": True,
        "activation_function": "torch.nn.modules.linear.Identity",
        "module_input_name": "sentence_embedding",
        "module_output_name": "sentence_embedding",
    },
    "3_Normalize/config.json": {"module_input_name": "sentence_embedding", "module_output_name": "sentence_embedding"},
}
WEIGHT, BIAS = numpy.arange(30, dtype=numpy.float32).reshape(5, 6), numpy.arange(5, dtype=numpy.float32)


def write(folder: Path, files: dict[str, Any]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(content))
    if "2_Dense/config.json" in files:
        save_file({"linear.weight": WEIGHT, "linear.bias": BIAS}, folder / "2_Dense" / "model.safetensors")
    return folder


def changed(files: dict[str, Any], name: str, **keys: Any) -> dict[str, Any]:
    return files | {name: files.get(name, {}) | keys}


def with_module(kind: str, path: str = "4_More") -> dict[str, Any]:
    return OLD | {"modules.json": [*OLD["modules.json"], {"idx": 4, "name": "4", "path": path, "type": kind}]}


def test_the_form_before_version_5_is_read(tmp_path):
    assert read_sentence_options(write(tmp_path, OLD)) == SentenceOptions(
        pools=("mean",),
        steps=(Normalize(),),
        max_seq_length=128,
        do_lower_case=True,
        includes_prompt=False,
        prompts={"query": "query: "},
        default_prompt_name=None,
        similarity="dot",
        truncate_dim=None,
        is_declared=True,
    )


def test_the_form_of_version_6_is_read(tmp_path):
    options = read_sentence_options(write(tmp_path, NEW))
    assert (options.pools, options.includes_prompt, options.is_declared) == (("lasttoken",), True, True)
    assert (options.max_seq_length, options.do_lower_case, options.truncate_dim) == (256, False, 3)
    assert (options.prompts, options.default_prompt_name, options.similarity) == ({"query": "find: "}, "query", "cosine")
    dense, last = options.steps
    assert last == Normalize()
    assert dense.activation is None
    assert (dense.weight.tolist(), dense.bias.tolist()) == (WEIGHT.tolist(), BIAS.tolist())


def test_a_folder_that_says_nothing_is_pooled_by_the_mean_and_normalized():
    options = read_sentence_options(resolve_model("stories"))
    assert options == SentenceOptions(pools=("mean",), steps=(Normalize(),), is_declared=False)


def test_a_file_is_taken_for_its_folder(tmp_path):
    write(tmp_path, OLD)
    (tmp_path / "model.bin").touch()
    assert read_sentence_options(tmp_path / "model.bin") == read_sentence_options(tmp_path)


@pytest.mark.parametrize(
    ("keys", "pools"),
    [
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, ("cls",)),
        ({"pooling_mode_max_tokens": True, "pooling_mode_cls_token": True}, ("cls", "max", "mean")),
        ({"pooling_mode_mean_sqrt_len_tokens": True, "pooling_mode_mean_tokens": False}, ("mean_sqrt_len_tokens",)),
        ({"pooling_mode_lasttoken": True, "pooling_mode_mean_tokens": False}, ("lasttoken",)),
        ({"pooling_mode_mean_tokens": False}, ("mean",)),
        ({"pooling_mode": "max"}, ("max",)),
        ({"pooling_mode": ["mean", "cls"]}, ("mean", "cls")),
    ],
)
def test_the_ways_to_pool(tmp_path, keys, pools):
    assert read_sentence_options(write(tmp_path, changed(OLD, "1_Pooling/config.json", **keys))).pools == pools


@pytest.mark.parametrize(
    ("name", "activation"),
    [
        ("torch.nn.modules.linear.Identity", None),
        ("torch.nn.modules.activation.Tanh", "tanh"),
        ("torch.nn.modules.activation.ReLU", "relu"),
        ("torch.nn.modules.activation.GELU", "gelu"),
        ("torch.nn.modules.activation.SiLU", "silu"),
        ("torch.nn.modules.activation.Sigmoid", "sigmoid"),
    ],
)
def test_the_activations_of_a_dense(tmp_path, name, activation):
    files = changed(NEW, "2_Dense/config.json", activation_function=name)
    assert read_sentence_options(write(tmp_path, files)).steps[0].activation == activation


def test_a_dense_without_bias(tmp_path):
    write(tmp_path, changed(NEW, "2_Dense/config.json", bias=False))
    save_file({"linear.weight": WEIGHT}, tmp_path / "2_Dense" / "model.safetensors")
    assert read_sentence_options(tmp_path).steps[0].bias is None


@pytest.mark.parametrize("longest", [1000000000000000019884624838656, 1e30])
def test_a_length_that_stands_for_no_limit_is_none(tmp_path, longest):
    assert read_sentence_options(write(tmp_path, changed(NEW, "tokenizer_config.json", model_max_length=longest))).max_seq_length is None


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (
            with_module("sentence_transformers.models.LayerNorm"),
            "with the module 'sentence_transformers.models.LayerNorm', expected only Transformer",
        ),
        (with_module("custom_code.Normalize"), "with the module 'custom_code.Normalize', expected"),
        (with_module("sentence_transformers.models.Pooling"), "with Transformer, Pooling, Normalize, Pooling, expected a Transformer"),
        (OLD | {"modules.json": OLD["modules.json"][:1]}, "with Transformer, expected a Transformer in the folder itself, then a Pooling"),
        (
            OLD | {"modules.json": [{**OLD["modules.json"][0], "path": "0_BERT"}, *OLD["modules.json"][1:]]},
            ", expected a Transformer in the folder itself",
        ),
        (OLD | {"modules.json": [{**each, "kwargs": ["task"]} for each in OLD["modules.json"]]}, "with kwargs="),
        (
            changed(OLD, "1_Pooling/config.json", pooling_mode_weightedmean_tokens=True),
            "with pooling 'weightedmean', expected one of cls, max",
        ),
        (changed(OLD, "1_Pooling/config.json", pooling_mode="median"), "with pooling 'median'"),
        (changed(OLD, "1_Pooling/config.json", attention_pooling=True), "with attention_pooling=True, expected"),
        (changed(NEW, "2_Dense/config.json", activation_function="torch.nn.modules.activation.Mish"), "activation_function='torch"),
        (
            changed(NEW, "2_Dense/config.json", activation_function="evil.Tanh"),
            "activation_function='evil.Tanh', expected one of torch.nn's",
        ),
        (changed(NEW, "2_Dense/config.json", use_residual=True), "with use_residual=True"),
        (changed(NEW, "2_Dense/config.json", module_input_name="token_embeddings"), "with module_input_name='token_embeddings'"),
        (changed(NEW, "3_Normalize/config.json", module_output_name="other"), "with module_output_name='other'"),
        (changed(NEW, "sentence_bert_config.json", transformer_task="fill-mask"), "with transformer_task='fill-mask'"),
        (changed(NEW, "sentence_bert_config.json", query_expansion={"length": 32}), "with query_expansion="),
        (changed(NEW, "sentence_bert_config.json", modality_config={"image": {}}), "with modality_config="),
        (changed(OLD, "config_sentence_transformers.json", similarity_fn_name="maxsim"), "with similarity_fn_name='maxsim', expected one"),
        (changed(OLD, "config_sentence_transformers.json", model_type="CrossEncoder"), "with model_type='CrossEncoder'"),
    ],
)
def test_what_is_not_built_is_named(tmp_path, files, message):
    with pytest.raises(UnsupportedError, match=f"got .*{message}"):
        read_sentence_options(write(tmp_path, files))


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (OLD | {"modules.json": {}}, "modules.json with a JSON dict, expected an array"),
        (OLD | {"modules.json": [{"type": 3}]}, "modules.json with the module .*, expected an object with type and path"),
        (OLD | {"1_Pooling/config.json": []}, "config.json with a JSON list, expected an object"),
        (changed(OLD, "sentence_bert_config.json", max_seq_length=0), "max_seq_length=0, expected an integer of at least 1"),
        (changed(OLD, "sentence_bert_config.json", max_seq_length="128"), "max_seq_length='128'"),
        (changed(OLD, "config_sentence_transformers.json", prompts=["query"]), "prompts=.*, expected an object of strings"),
        (changed(OLD, "config_sentence_transformers.json", prompts={"query": 7}), "prompts="),
        (
            changed(OLD, "config_sentence_transformers.json", default_prompt_name="x"),
            "default_prompt_name='x', expected one of its prompts",
        ),
        (changed(OLD, "config_sentence_transformers.json", truncate_dim=0), "truncate_dim=0"),
        (changed(NEW, "2_Dense/config.json", out_features=7), r"model.safetensors with .*\(5, 6\).*, expected .*\(7, 6\)"),
        (changed(NEW, "2_Dense/config.json", bias=False), "model.safetensors with .*linear.bias"),
    ],
)
def test_what_is_broken_is_named(tmp_path, files, message):
    with pytest.raises(CheckpointError, match=f"got .*{message}"):
        read_sentence_options(write(tmp_path, files))


@pytest.mark.parametrize("path", ["../1_Pooling", "/etc", "1_Pooling/../..", "C:\\x", "a\\..\\b"])
def test_a_module_outside_the_folder_is_never_opened(tmp_path, path):
    modules = [OLD["modules.json"][0], {**OLD["modules.json"][1], "path": path}]
    with pytest.raises(CheckpointError, match="with the path .*, expected a folder inside this one"):
        read_sentence_options(write(tmp_path, OLD | {"modules.json": modules}))


def test_a_module_without_its_config_is_named(tmp_path):
    write(tmp_path, OLD)
    (tmp_path / "1_Pooling" / "config.json").unlink()
    with pytest.raises(CheckpointError, match="1_Pooling without config.json, expected it, because modules.json names"):
        read_sentence_options(tmp_path)


def test_a_dense_stored_as_a_pickle_is_never_opened(tmp_path):
    write(tmp_path, NEW)
    (tmp_path / "2_Dense" / "model.safetensors").rename(tmp_path / "2_Dense" / "pytorch_model.bin")
    with pytest.raises(CheckpointError, match="2_Dense without model.safetensors, expected it; a pickle can run code"):
        read_sentence_options(tmp_path)


def test_a_file_that_is_no_json_is_named(tmp_path):
    write(tmp_path, OLD)
    (tmp_path / "modules.json").write_text("[")
    with pytest.raises(CheckpointError, match=r"modules.json that is not JSON"):
        read_sentence_options(tmp_path)
