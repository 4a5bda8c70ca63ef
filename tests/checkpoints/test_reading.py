"""Reading sound Hugging Face folders, and the errors for broken ones."""

from __future__ import annotations

import json
import shutil
import struct
import tracemalloc
from pathlib import Path

import numpy
import pytest
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from headway.checkpoints import load_checkpoint, save_checkpoint
from headway.errors import CheckpointError, ModelNotFoundError, OptionError, UnsupportedError
from headway.models import bert, gpt2, llama
from headway.trees import leaves
from tests.fuzz.models import write_model
from tests.small_models import random_weights


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small sound GPT-2."""
    return write_gpt2(tmp_path / "model")


def write_gpt2(folder: Path, **keys: object) -> Path:
    config = gpt2.Config(**({"vocab_size": 13, "n_positions": 11, "n_embd": 6, "n_layer": 2, "n_head": 3} | keys))
    save_checkpoint(folder, gpt2, config, random_weights(gpt2, config))
    return folder


def edit(folder: Path, **keys: object) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | keys))


def rewrite(folder: Path, change) -> None:
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors")


def rewrite_header(path: Path, change) -> None:
    content = path.read_bytes()
    (size,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + size])
    change(header)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + content[8 + size :])


def test_what_is_saved_is_loaded(folder):
    loaded = load_checkpoint(folder)
    again = folder.parent / "again"
    save_checkpoint(again, gpt2, loaded.config, loaded.weights)
    assert load_file(folder / "model.safetensors").keys() == load_file(again / "model.safetensors").keys()
    for (path, first), (_, second) in zip(leaves(loaded.weights), leaves(load_checkpoint(again).weights), strict=True):
        numpy.testing.assert_array_equal(first, second, err_msg=path)


def test_float32_weights_are_views_of_the_mapped_file_and_changing_them_does_not_change_the_file(folder):
    before = (folder / "model.safetensors").read_bytes()
    weights = load_checkpoint(folder).weights
    assert not weights.token_embedding.flags.owndata
    assert weights.output_head is weights.token_embedding
    weights.token_embedding[...] = 7.0
    assert (folder / "model.safetensors").read_bytes() == before


def test_a_header_of_any_length_gives_aligned_arrays(folder):
    path = folder / "model.safetensors"
    before = load_checkpoint(folder).weights.token_embedding.copy()
    content = path.read_bytes()
    (size,) = struct.unpack("<Q", content[:8])
    path.write_bytes(struct.pack("<Q", size + 3) + content[8 : 8 + size] + b"   " + content[8 + size :])
    after = load_checkpoint(folder).weights.token_embedding
    assert after.flags.aligned
    numpy.testing.assert_array_equal(before, after)


def test_names_without_the_prefix_are_found(folder):
    rewrite(folder, lambda tensors: [tensors.__setitem__(n.removeprefix("transformer."), tensors.pop(n)) for n in list(tensors)])
    assert load_checkpoint(folder).config.n_layer == 2


def test_buffers_of_old_files_are_ignored(folder):
    rewrite(folder, lambda tensors: tensors.update({"transformer.h.0.attn.bias": numpy.ones((1, 1, 11, 11), numpy.float32)}))
    assert load_checkpoint(folder).config.n_layer == 2


@pytest.fixture
def bert_folder(tmp_path: Path) -> Path:
    """A small sound BERT with both of the parts that a checkpoint may lack."""
    config = bert.Config(
        vocab_size=13,
        hidden_size=6,
        num_hidden_layers=2,
        num_attention_heads=3,
        intermediate_size=11,
        max_position_embeddings=7,
        tie_word_embeddings=False,
    )
    save_checkpoint(tmp_path / "model", bert, config, random_weights(bert, config))
    return tmp_path / "model"


POOLER = ("bert.pooler.dense.weight", "bert.pooler.dense.bias")


def test_optional_parts_are_saved_and_loaded(bert_folder):
    tensors, weights = load_file(bert_folder / "model.safetensors"), load_checkpoint(bert_folder).weights
    numpy.testing.assert_array_equal(weights.pooler.weight, tensors["bert.pooler.dense.weight"])
    numpy.testing.assert_array_equal(weights.masked_token_head.bias, tensors["cls.predictions.decoder.bias"])


def test_an_absent_part_is_none_in_the_tree(bert_folder):
    rewrite(bert_folder, lambda tensors: [tensors.pop(name) for name in POOLER])
    weights = load_checkpoint(bert_folder).weights
    assert weights.pooler is None
    assert weights.masked_token_head is not None


def test_a_model_without_its_optional_parts_is_saved_and_loaded_again(bert_folder):
    rewrite(bert_folder, lambda tensors: [tensors.pop(name) for name in list(tensors) if name in POOLER or name.startswith("cls.")])
    loaded = load_checkpoint(bert_folder)
    save_checkpoint(bert_folder.parent / "again", bert, loaded.config, loaded.weights)
    again = load_checkpoint(bert_folder.parent / "again").weights
    assert (again.pooler, again.masked_token_head) == (None, None)
    assert load_file(bert_folder / "model.safetensors").keys() == load_file(bert_folder.parent / "again" / "model.safetensors").keys()


@pytest.mark.parametrize("name", POOLER)
def test_a_part_that_is_half_absent(bert_folder, name):
    rewrite(bert_folder, lambda tensors: tensors.pop(name))
    with pytest.raises(CheckpointError, match=rf"without {name}, expected all or none of the tensors of its pooler"):
        load_checkpoint(bert_folder)


def test_a_tied_tensor_does_not_make_a_part_half_present(bert_folder):
    edit(bert_folder, tie_word_embeddings=True)
    rewrite(bert_folder, lambda tensors: [tensors.pop(name) for name in list(tensors) if name.startswith("cls.")])
    assert load_checkpoint(bert_folder).weights.masked_token_head is None


def test_old_names_are_found_with_the_prefix_and_without(bert_folder):
    before = load_checkpoint(bert_folder).weights

    def age(tensors):
        for name in [name for name in tensors if "LayerNorm" in name]:
            old = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
            tensors[old.removeprefix("bert.") if "layer.1" in name else old] = tensors.pop(name)

    rewrite(bert_folder, age)
    assert "bert.embeddings.LayerNorm.gamma" in load_file(bert_folder / "model.safetensors")
    for (path, first), (_, second) in zip(leaves(before), leaves(load_checkpoint(bert_folder).weights), strict=True):
        numpy.testing.assert_array_equal(first, second, err_msg=path)


def test_no_such_folder(tmp_path):
    with pytest.raises(ModelNotFoundError, match=r"got .*nowhere, expected a folder"):
        load_checkpoint(tmp_path / "nowhere")


def test_no_config(folder):
    (folder / "config.json").unlink()
    with pytest.raises(CheckpointError, match=r"without config\.json"):
        load_checkpoint(folder)


def test_a_config_that_is_not_json(folder):
    (folder / "config.json").write_text("{")
    with pytest.raises(CheckpointError, match=r"config\.json that is not JSON"):
        load_checkpoint(folder)


def test_a_truncated_file(folder):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(
        CheckpointError, match=r"model\.safetensors with .* bytes, expected .* according to its header\nhint: download the file again"
    ):
        load_checkpoint(folder)


def test_an_empty_file(folder):
    (folder / "model.safetensors").write_bytes(b"")
    with pytest.raises(CheckpointError, match="with 0 bytes, expected a safetensors file"):
        load_checkpoint(folder)


def test_a_header_longer_than_the_file(folder):
    path = folder / "model.safetensors"
    path.write_bytes(struct.pack("<Q", 10**9) + path.read_bytes()[8:])
    with pytest.raises(CheckpointError, match="a header of 1,000,000,000 bytes, expected at most"):
        load_checkpoint(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda entry: {"data_offsets": [entry["data_offsets"][0], entry["data_offsets"][1] + 4]}, "of 28 bytes, expected 24"),
        (lambda entry: {"data_offsets": [10**9, 10**9 + 24]}, "expected it to start at"),
        (lambda entry: {"data_offsets": [0, 24]}, "at bytes 0 to 72, expected it to start at 24"),
        (lambda entry: {"data_offsets": [24, 0]}, "of -24 bytes, expected 24"),
        (lambda entry: {"data_offsets": [0]}, "expected two offsets"),
        (lambda entry: {"data_offsets": [True, 24]}, "expected two offsets"),
        (lambda entry: {"data_offsets": None}, "expected two offsets"),
        (lambda entry: {"dtype": "F64"}, "of 24 bytes, expected 48"),
        (lambda entry: {"dtype": "NONSENSE"}, "of dtype NONSENSE, expected one of F64"),
        (lambda entry: {"dtype": ["F32"]}, "expected dtype, shape and data_offsets"),
        (lambda entry: {"shape": [-6]}, "expected a list of sizes"),
        (lambda entry: {"shape": [2**40, 2**40, 0]}, "expected a list of sizes"),
        (lambda entry: {"shape": [1] * 80 + [6]}, "expected a list of sizes"),
        (lambda entry: {"shape": 6}, "expected a list of sizes"),
    ],
)
def test_a_header_that_does_not_fit_the_file(folder, change, message):
    def rewrite(header):
        entry = header["transformer.ln_f.weight"]
        entry.update(change(entry))

    rewrite_header(folder / "model.safetensors", rewrite)
    with pytest.raises(CheckpointError, match=rf"model\.safetensors.*{message}"):
        load_checkpoint(folder)


@pytest.mark.parametrize(
    "header", [b"[]", b"[" * 100_000, b'{"a": 1}', b'{"a": ' + b"9" * 5000 + b"}", b"\xff\xfe", b'{"a": {"dtype": "F32"}}']
)
def test_a_header_that_is_not_one(folder, header):
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header)
    with pytest.raises(CheckpointError, match=r"model\.safetensors"):
        load_checkpoint(folder)


FIRST, SECOND = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"


@pytest.fixture
def sharded(folder: Path) -> Path:
    tensors = load_file(folder / "model.safetensors")
    names = sorted(tensors)
    for shard, part in ((FIRST, names[:9]), (SECOND, names[9:])):
        save_file({name: tensors[name] for name in part}, folder / shard)
    write_index(folder, {name: FIRST if name in names[:9] else SECOND for name in names})
    (folder / "model.safetensors").unlink()
    return folder


def write_index(folder: Path, weight_map: object) -> None:
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))


@pytest.mark.parametrize("shard", ["x" * 300, "x" * 5000, "\ud800", "ä" * 200, "a\0b", "a\nb"])
def test_a_shard_with_a_name_that_no_file_can_have(sharded, shard):
    write_index(sharded, {"transformer.wte.weight": f"{shard}.safetensors"})
    with pytest.raises(CheckpointError, match=r"expected names of \.safetensors files") as caught:
        load_checkpoint(sharded)
    str(caught.value).encode()


def test_a_missing_shard(sharded):
    assert load_checkpoint(sharded).config.n_layer == 2
    (sharded / SECOND).unlink()
    with pytest.raises(CheckpointError, match=r"without model-00002-of-00002\.safetensors, expected every shard"):
        load_checkpoint(sharded)


@pytest.mark.parametrize("weight_map", [None, [FIRST], "all", {"transformer.wte.weight": 1}, {"transformer.wte.weight": [FIRST]}])
def test_an_index_of_another_form(sharded, weight_map):
    write_index(sharded, weight_map)
    with pytest.raises(CheckpointError, match=r"index\.json with weight_map=.*, expected an object"):
        load_checkpoint(sharded)


@pytest.mark.parametrize("place", ["../other/{}", "{}/../x", "..", ".", "", "..\\{}", "C:{}"])
def test_an_index_that_names_a_place_outside_the_folder(sharded, place):
    shutil.copytree(sharded, sharded.parent / "other")
    write_index(sharded, {"transformer.wte.weight": place.format(FIRST)})
    with pytest.raises(CheckpointError, match=r"index\.json with '.*', expected names of \.safetensors files in this folder"):
        load_checkpoint(sharded)


def test_an_index_that_names_an_absolute_path(sharded):
    write_index(sharded, {"transformer.wte.weight": str(sharded / FIRST)})
    with pytest.raises(CheckpointError, match=r"expected names of \.safetensors files in this folder"):
        load_checkpoint(sharded)


def test_an_index_that_misplaces_a_tensor(sharded):
    weight_map = json.loads((sharded / "model.safetensors.index.json").read_text())["weight_map"]
    write_index(sharded, weight_map | {"transformer.wte.weight": FIRST})
    with pytest.raises(CheckpointError, match=r"with transformer\.wte\.weight in model-00001-of-00002\.safetensors, expected"):
        load_checkpoint(sharded)


def test_the_index_chooses_between_two_shards_with_the_same_tensor(sharded):
    second = load_file(sharded / SECOND)
    save_file(second | {"transformer.h.0.attn.c_attn.bias": numpy.zeros(18, numpy.float32)}, sharded / SECOND)
    assert load_checkpoint(sharded).weights.layers[0].attention.query.bias.any()


def test_a_missing_tensor(folder):
    rewrite(folder, lambda tensors: tensors.pop("transformer.h.1.mlp.c_fc.weight"))
    with pytest.raises(CheckpointError, match=r"without transformer\.h\.1\.mlp\.c_fc\.weight"):
        load_checkpoint(folder)


def test_an_additional_tensor(folder):
    rewrite(folder, lambda tensors: tensors.update({"transformer.h.2.ln_1.weight": numpy.ones(6, numpy.float32)}))
    with pytest.raises(CheckpointError, match=r"additional tensors transformer\.h\.2\.ln_1\.weight, expected"):
        load_checkpoint(folder)


def test_a_tensor_of_another_shape(folder):
    edit(folder, n_positions=12)
    with pytest.raises(CheckpointError, match=r"tensor transformer\.wpe\.weight of shape \(11, 6\), expected \(12, 6\)"):
        load_checkpoint(folder)


def test_a_pickle_is_named_and_never_opened(folder):
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(b"cos\nsystem\n(S'false'\ntR.")
    with pytest.raises(CheckpointError, match=r"pytorch_model\.bin, expected model\.safetensors.*a pickle can run code"):
        load_checkpoint(folder)


def test_an_architecture_that_is_not_supported(folder):
    edit(folder, model_type="mamba")
    with pytest.raises(UnsupportedError, match=r"got model_type 'mamba', expected one of gpt2, llama"):
        load_checkpoint(folder)


@pytest.mark.parametrize("model_type", [None, 7, ["gpt2"], {"name": "gpt2"}])
def test_a_model_type_that_is_not_a_string(folder, model_type):
    edit(folder, model_type=model_type)
    with pytest.raises(CheckpointError, match=r"config\.json with model_type=.*, expected a string"):
        load_checkpoint(folder)


def test_a_config_key_that_is_not_supported(folder):
    edit(folder, attention_sinks=4)
    with pytest.raises(UnsupportedError, match=r"attention_sinks=4, expected[^\n]*\nhint:.*ignored_config_keys"):
        load_checkpoint(folder)
    assert load_checkpoint(folder, ignored_config_keys=["attention_sinks"]).config.n_layer == 2


@pytest.mark.parametrize(("key", "value"), [("quantization_config", {"bits": 4}), ("add_cross_attention", True)])
def test_a_known_key_that_would_change_the_result(folder, key, value):
    edit(folder, **{key: value})
    with pytest.raises(UnsupportedError, match=key):
        load_checkpoint(folder)


def test_an_activation_that_is_not_supported(folder):
    edit(folder, activation_function="mish")
    with pytest.raises(UnsupportedError, match=r"activation_function='mish', expected one of 'gelu_new'"):
        load_checkpoint(folder)


def test_heads_that_do_not_divide(folder):
    edit(folder, n_head=4)
    with pytest.raises(CheckpointError, match="n_embd=6 and n_head=4, expected n_embd to be a multiple of n_head"):
        load_checkpoint(folder)


def test_a_config_without_a_size(folder):
    keys = json.loads((folder / "config.json").read_text())
    del keys["n_layer"]
    (folder / "config.json").write_text(json.dumps(keys))
    with pytest.raises(CheckpointError, match="without n_layer"):
        load_checkpoint(folder)


def test_a_size_of_another_type(folder):
    edit(folder, n_layer="two")
    with pytest.raises(CheckpointError, match="n_layer='two', expected int"):
        load_checkpoint(folder)


@pytest.mark.parametrize(
    ("rope", "message"),
    [
        ({"rope_type": "spiral", "factor": 2.0}, "got config.json with rope_type='spiral', expected one of"),
        ({"rope_type": "longrope", "factor": 2.0}, "rope_type 'longrope' without short_factor, long_factor"),
        ({"rope_type": "llama3", "factor": 2.0}, "without low_freq_factor, high_freq_factor"),
        ({"rope_type": "linear", "factor": 2.0, "warp": 3}, "rope_type 'linear' with 'warp'"),
        (
            {"rope_type": "longrope", "factor": 2.0, "short_factor": [1], "long_factor": [1], "original_max_position_embeddings": 1},
            "'longrope' with original_max_position_embeddings=1, expected more than 1",
        ),
        ({"rope_type": "linear", "factor": float("nan")}, "factor=nan, expected a finite number above 0"),
    ],
)
def test_a_rope_type_that_is_not_supported(tmp_path, rope, message):
    from headway.models.rope import rope_parameters

    with pytest.raises(CheckpointError, match=message):
        rope_parameters({"rope_scaling": rope, "max_position_embeddings": 32})


def test_kv_heads_that_do_not_divide():
    sizes = {"vocab_size": 7, "hidden_size": 12, "intermediate_size": 5, "num_hidden_layers": 1, "num_attention_heads": 6}
    with pytest.raises(CheckpointError, match="num_attention_heads to be a multiple of num_key_value_heads"):
        llama.Config(**sizes, rope_parameters={}, num_key_value_heads=4)


def test_an_unknown_dtype(folder):
    with pytest.raises(OptionError, match="got dtype 'int3'"):
        load_checkpoint(folder, dtype="int3")


def test_an_unknown_array_library(folder):
    with pytest.raises(OptionError, match="got array library 'tensorflow', expected one of numpy, torch, jax, mlx"):
        load_checkpoint(folder, array="tensorflow")


def test_a_folder_that_cannot_be_written_keeps_what_it_had(folder, monkeypatch):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    loaded = load_checkpoint(shutil.copytree(folder, folder.parent / "copy"))

    def full(*_: object, **__: object) -> None:
        raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    monkeypatch.setattr("headway.checkpoints.writing.save_file", full)
    with pytest.raises(OSError, match="No space left"):
        save_checkpoint(folder, gpt2, loaded.config, loaded.weights)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_without_generation_config_the_keys_of_config_are_used(folder):
    (folder / "generation_config.json").unlink()
    edit(folder, num_beams=4, bad_words_ids=[[3]], decoder_start_token_id=3, eos_token_id=0, length_penalty=None, architectures=["X"])
    asked = {"num_beams": 4, "bad_words_ids": [[3]], "decoder_start_token_id": 3, "eos_token_id": 0}
    assert load_checkpoint(folder).generation_config == asked


def test_with_generation_config_only_token_ids_are_taken_from_config(folder):
    (folder / "generation_config.json").write_text('{"eos_token_id": 5, "num_beams": 2}')
    edit(folder, num_beams=4, max_length=9, decoder_start_token_id=3, eos_token_id=0, pad_token_id=1)
    asked = {"num_beams": 2, "eos_token_id": 5, "decoder_start_token_id": 3, "pad_token_id": 1}
    assert load_checkpoint(folder).generation_config == asked


LAYER_COUNTS = {
    "gpt2": ("n_layer",),
    "llama": ("num_hidden_layers",),
    "qwen2": ("num_hidden_layers",),
    "qwen3": ("num_hidden_layers",),
    "bert": ("num_hidden_layers",),
    "t5": ("num_layers", "num_decoder_layers"),
    "marian": ("encoder_layers", "decoder_layers"),
}


@pytest.mark.parametrize("count", [10_001, 10**9, 10**30])
@pytest.mark.parametrize(("name", "key"), [(name, key) for name, keys in LAYER_COUNTS.items() for key in keys])
def test_an_absurd_number_of_layers_is_an_error(tmp_path, name, key, count):
    write_model(tmp_path, name)
    edit(tmp_path, **{key: count, "layer_types": None})
    with pytest.raises(CheckpointError, match=f"got config.json with {key}={count}, expected at most 10000"):
        load_checkpoint(tmp_path)


def test_more_layers_than_the_checkpoint_has_are_missing_tensors(tmp_path):
    write_model(tmp_path, "llama")
    edit(tmp_path, num_hidden_layers=2)
    with pytest.raises(CheckpointError, match=r"without model\.layers\.1\.input_layernorm\.weight"):
        load_checkpoint(tmp_path)


@pytest.mark.parametrize(
    ("name", "key", "count"),
    [
        ("llama", "num_hidden_layers", 10_000),
        ("gpt2", "n_layer", 500),
        ("marian", "decoder_layers", 500),
        ("t5", "num_layers", 500),
        ("bert", "num_hidden_layers", 500),
        ("qwen3_moe", "num_experts", 5_000),
        ("gpt_oss", "num_local_experts", 5_000),
    ],
)
def test_more_layers_or_experts_than_tensors_are_refused_without_memory_for_them(tmp_path, name, key, count):
    write_model(tmp_path, name)
    edit(tmp_path, **{key: count, "layer_types": None})
    tracemalloc.start()
    try:
        with pytest.raises(CheckpointError, match=rf"got {key}={count} .*and \d+ tensors, expected at least one tensor for each"):
            load_checkpoint(tmp_path)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


def test_a_header_longer_than_the_file_is_refused_without_memory_for_it(folder):
    path = folder / "model.safetensors"
    path.write_bytes((90_000_000).to_bytes(8, "little") + path.read_bytes()[8:])
    tracemalloc.start()
    try:
        with pytest.raises(CheckpointError, match="a header of 90,000,000 bytes, expected no more than the file has"):
            load_checkpoint(folder)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("text", ["1" + "0" * 400, "1" + "0" * 400 + ".5", "1e400", "1e-400", "1e20", "1e-20"])
def test_a_rope_base_that_would_overflow(tmp_path, text):
    path = write_model(tmp_path, "llama") / "config.json"
    path.write_text(path.read_text().replace('"rope_theta": 10000.0', f'"rope_theta": {text}'))
    with pytest.raises(CheckpointError, match="rope_theta=|an integer of 401 digits"):
        load_checkpoint(tmp_path)


def test_a_rope_scaling_that_would_divide_by_zero(tmp_path):
    write_model(tmp_path, "llama")
    edit(tmp_path, rope_parameters={"rope_type": "yarn", "rope_theta": 1, "factor": 2.0})
    with pytest.raises(CheckpointError, match="'yarn' with rope_theta=1, expected another number"):
        load_checkpoint(tmp_path)


@pytest.mark.parametrize(
    ("keys", "name"),
    [
        ({"quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": False}}, "GPTQ"),
        ({"quantization_config": {"quant_method": "awq", "bits": 4, "zero_point": True, "version": "gemm"}}, "AWQ"),
        ({"quantization_config": {"quant_method": "compressed-tensors", "format": "pack-quantized"}}, "compressed-tensors"),
        ({"compression_config": {"quant_method": "compressed-tensors", "format": "dense"}}, "compressed-tensors"),
        ({"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}, "FP8"),
        ({"quantization_config": {"quant_method": "bitsandbytes", "load_in_4bit": True}}, "bitsandbytes"),
        ({"quantization_config": {"load_in_8bit": True}}, "bitsandbytes"),
        ({"quantization_config": {"quant_method": "mxfp4"}}, "MXFP4"),
        ({"quantization_config": {"quant_method": "later"}}, "'later'"),
        ({"quantization": {"group_size": 64, "bits": 4}, "quantization_config": {"group_size": 64, "bits": 4}}, "MLX, 4 bits, 'affine'"),
    ],
)
def test_quantized_weights_are_refused_by_the_name_of_their_format(folder, keys, name):
    edit(folder, **keys)
    with pytest.raises(UnsupportedError, match=f"in the format {name}.*expected float32") as caught:
        load_checkpoint(folder)
    assert "GGUF" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("file", "name"), [("quantize_config.json", "GPTQ"), ("quant_config.json", "AWQ"), ("hf_quant_config.json", "NVIDIA ModelOpt")]
)
def test_quantized_weights_without_a_key_are_refused_by_the_file_of_their_format(folder, file, name):
    (folder / file).write_text('{"bits": 4}')
    with pytest.raises(UnsupportedError, match=f"in the format {name}, expected float32"):
        load_checkpoint(folder)
