"""Experts in MXFP4, against transformers' own conversion."""

from __future__ import annotations

import json
import tracemalloc

import numpy
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers.integrations.mxfp4 import convert_moe_packed_tensors

from headway.checkpoints import load_checkpoint
from headway.checkpoints.mxfp4 import dequantized
from headway.errors import CheckpointError, UnsupportedError
from headway.trees import leaves
from tests.models.saved_by_transformers import OTHER_DECODERS, Case, save

GPT_OSS = next(case for case in OTHER_DECODERS if case.name == "gpt_oss")
WIDE = Case("gpt_oss", "GptOss", GPT_OSS.keys | {"hidden_size": 32, "intermediate_size": 64})
LARGE = Case("gpt_oss", "GptOss", GPT_OSS.keys | {"hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 4})
CONFIG = {"quantization_config": {"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]}}


def random_packed(*shape):
    generator = torch.Generator().manual_seed(0)
    blocks = torch.randint(0, 256, (*shape, 16), generator=generator, dtype=torch.uint8)
    return blocks, torch.randint(120, 127, shape, generator=generator, dtype=torch.uint8)


def test_every_byte_under_every_scale_is_that_of_transformers():
    blocks = torch.arange(256, dtype=torch.uint8).reshape(1, 1, 16, 16).repeat(1, 255, 1, 1)
    scales = torch.arange(255, dtype=torch.uint8).reshape(1, 255, 1).repeat(1, 1, 16)
    theirs = convert_moe_packed_tensors(blocks, scales, dtype=torch.float64).to(torch.bfloat16).float().numpy()
    ours = dequantized(blocks.numpy(), scales.numpy()).astype(numpy.float32)
    numpy.testing.assert_array_equal(ours.swapaxes(1, 2), theirs)


@pytest.fixture
def packed(tmp_path, request):
    """Return a folder with experts in MXFP4, and one with the numbers that transformers makes of them."""
    folders = tmp_path / "packed", tmp_path / "plain"
    for folder in folders:
        save(getattr(request, "param", WIDE), folder)
    tensors = load_file(folders[0] / "model.safetensors")
    plain = dict(tensors)
    for name in [name for name in tensors if name.endswith("_proj") and ".experts." in name]:
        count, inputs, outputs = tensors.pop(name).shape
        blocks, scales = random_packed(count, outputs, inputs // 32)
        tensors |= {f"{name}_blocks": blocks, f"{name}_scales": scales}
        plain[name] = convert_moe_packed_tensors(blocks, scales, dtype=torch.float32)
    save_file(tensors, folders[0] / "model.safetensors", {"format": "pt"})
    save_file(plain, folders[1] / "model.safetensors", {"format": "pt"})
    config = json.loads((folders[0] / "config.json").read_text())
    (folders[0] / "config.json").write_text(json.dumps(config | CONFIG))
    return folders


@pytest.mark.parametrize("array", ["numpy", "torch"])
def test_a_folder_with_packed_experts_has_the_weights_that_transformers_unpacks(packed, array):
    ours, theirs = (load_checkpoint(folder, array=array) for folder in packed)
    for (path, mine), (_, their) in zip(leaves(ours.weights), leaves(theirs.weights), strict=True):
        numpy.testing.assert_array_equal(numpy.asarray(mine), numpy.asarray(their), path)
    model = WIDE.model_class.from_pretrained(packed[1], dtype=torch.float32, attn_implementation="eager").eval()
    tokens = torch.arange(3, 16)[None]
    given = tokens if array == "torch" else tokens.numpy()
    logits = ours.architecture.forward(given, ours.weights, ours.config)
    with torch.no_grad():
        numpy.testing.assert_allclose(numpy.asarray(logits), model(tokens).logits.numpy(), atol=1e-4, rtol=0)


def test_without_a_dtype_the_experts_are_bfloat16(packed):
    loaded = load_checkpoint(packed[0], dtype=None)
    assert loaded.weights.layers[0].feed_forward.experts[0].gate.weight.dtype == "bfloat16"


@pytest.mark.parametrize("packed", [LARGE], indirect=True, ids=["large"])
def test_loading_keeps_at_most_one_tensor_in_addition_to_its_leaves(packed):
    load_checkpoint(packed[0], dtype="bfloat16")
    tracemalloc.start()
    loaded = load_checkpoint(packed[0], dtype="bfloat16")
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(loaded.weights.layers) == 4
    assert peak < 1.3 * held


@pytest.mark.parametrize(
    ("part", "change", "message"),
    [
        ("scales", lambda x: x[:, :-1], r"gate_up_proj_blocks of shape .* and .*gate_up_proj_scales of shape"),
        ("blocks", lambda x: x[..., :8].contiguous(), r"gate_up_proj_blocks of shape .*, expected \(…, rows, num_blocks, 16\)"),
        ("blocks", lambda x: x.to(torch.int16), "gate_up_proj_blocks of dtype int16, expected uint8"),
    ],
)
def test_blocks_and_scales_that_do_not_fit_are_named(packed, part, change, message):
    path = packed[0] / "model.safetensors"
    tensors = load_file(path)
    name = f"model.layers.1.mlp.experts.gate_up_proj_{part}"
    save_file(tensors | {name: change(tensors[name]).contiguous()}, path)
    with pytest.raises(CheckpointError, match=message):
        load_checkpoint(packed[0])


def test_another_format_of_gpt_oss_is_refused_by_its_name(packed):
    config = json.loads((packed[0] / "config.json").read_text())
    (packed[0] / "config.json").write_text(json.dumps(config | {"quantization_config": {"quant_method": "awq"}}))
    with pytest.raises(UnsupportedError, match="in the format AWQ"):
        load_checkpoint(packed[0])
