"""ONNX's test vectors. Every folder is either computed with headway.functions or listed as not supported."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from headway import functions
from tests.conftest import data_directory
from tests.functions.close import assert_close

VECTORS = data_directory() / "vectors" / "onnx_node"
FOLDERS = sorted(folder.name for folder in VECTORS.glob("test_*"))

Inputs = dict[str, np.ndarray]


def over_axes_from(norm: Callable, inputs: Inputs, attributes: dict) -> dict[str, np.ndarray]:
    """Normalize over all axes from `axis` to the last: reshape them to one axis."""
    x, *parameters = (inputs[name] for name in ("X", "W", "B") if name in inputs)
    axis = attributes.get("axis", -1) % x.ndim
    flat = norm(x.reshape(*x.shape[:axis], -1), *(p.reshape(-1) for p in parameters), eps=attributes.get("epsilon", 1e-5))
    return {"Y": flat.reshape(x.shape)}


def rotary_embedding(inputs: Inputs, attributes: dict) -> dict[str, np.ndarray]:
    x, cos, sin = inputs["input"], inputs["cos_cache"], inputs["sin_cache"]
    if "position_ids" in inputs:
        cos, sin = cos[inputs["position_ids"]], sin[inputs["position_ids"]]
    heads = functions.split_heads(x, attributes["num_heads"]) if x.ndim == 3 else x
    turned = functions.rotary(heads, cos[:, None], sin[:, None], interleaved=bool(attributes.get("interleaved", 0)))
    return {"output": functions.merge_heads(turned) if x.ndim == 3 else turned}


def attention(inputs: Inputs, attributes: dict) -> dict[str, np.ndarray]:
    query, key, value = inputs["Q"], inputs["K"], inputs["V"]
    is_flat = query.ndim == 3
    if is_flat:
        query = functions.split_heads(query, attributes["q_num_heads"])
        key, value = (functions.split_heads(x, attributes["kv_num_heads"]) for x in (key, value))
    past_len = inputs["past_key"].shape[-2] if "past_key" in inputs else 0
    if past_len:
        key, value = extended(inputs["past_key"], inputs["past_value"], key, value)
    mask = combined_mask(inputs, attributes, query.shape[-2], key.shape[-2], past_len)
    options = {"scale": attributes.get("scale"), "soft_cap": attributes.get("softcap") or None}
    y = functions.scaled_dot_product_attention(query, key, value, mask, **options)
    mode = attributes.get("qk_matmul_output_mode", 0)
    scores = functions.attention_weights(query, key, mask, **options) if mode == 3 else masked_scores(query, key, mask, mode)
    return {"Y": functions.merge_heads(y) if is_flat else y, "present_key": key, "present_value": value, "qk_matmul_output": scores}


def extended(past_key: np.ndarray, past_value: np.ndarray, key: np.ndarray, value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Append keys and values to those of the past, in a cache of exactly the final length."""

    def room(past: np.ndarray, new: np.ndarray) -> np.ndarray:
        return np.zeros((*past.shape[:-2], past.shape[-2] + new.shape[-2], past.shape[-1]), past.dtype)

    cache = functions.KVCache(room(past_key, key), room(past_value, value))
    cache.append(past_key, past_value)
    return cache.append(key, value)


def combined_mask(inputs: Inputs, attributes: dict, query_len: int, key_len: int, past_len: int) -> np.ndarray | None:
    """Combine the given mask, the causal mask and the padding of the keys.

    Without a past, ONNX aligns the causal mask with the first key (top left); with a past or nonpad_kv_seqlen, with the last.
    """
    mask, allowed = inputs.get("attn_mask"), np.ones((query_len, key_len), bool)
    lengths = inputs.get("nonpad_kv_seqlen")
    if lengths is not None:
        allowed = allowed & functions.padding_mask(lengths, key_len)
    if attributes.get("is_causal"):
        offsets = [past_len] if lengths is None else [int(length) - query_len for length in lengths]
        allowed = allowed & np.stack([functions.causal_mask(query_len, key_len, offset=offset) for offset in offsets])[:, None]
    if mask is None or mask.dtype == bool:
        return allowed if mask is None else mask & allowed
    return functions.apply_mask(np.broadcast_to(mask, np.broadcast_shapes(mask.shape, allowed.shape)), allowed)


def masked_scores(query: np.ndarray, key: np.ndarray, mask: np.ndarray, mode: int) -> np.ndarray | None:
    """Return the scores before the softmax (mode 2); no vector of this mode has grouped heads or a soft cap."""
    if mode != 2:
        return None
    return functions.apply_mask(query @ np.swapaxes(key, -1, -2) / math.sqrt(query.shape[-1]), mask)


def tensor_scatter(inputs: Inputs, attributes: dict) -> dict[str, np.ndarray]:
    """Write to the cache at another position in each sequence, with one KVCache per sequence."""
    assert attributes.get("axis", -2) == -2
    assert attributes.get("mode", b"linear") == b"linear"
    caches = [
        functions.KVCache(past.copy(), past.copy(), length=int(length))
        for past, length in zip(inputs["past_cache"], inputs["write_indices"], strict=True)
    ]
    for cache, update in zip(caches, inputs["update"], strict=True):
        cache.append(update, update)
    return {"present_cache": np.stack([cache.keys for cache in caches])}


OPERATORS: dict[str, Callable[[Inputs, dict], dict]] = {
    "Attention": attention,
    "Gelu": lambda inputs, attributes: {
        "y": (functions.gelu_tanh if attributes.get("approximate") == b"tanh" else functions.gelu)(inputs["x"])
    },
    "LayerNormalization": lambda inputs, attributes: over_axes_from(functions.layer_norm, inputs, attributes),
    "LogSoftmax": lambda inputs, attributes: {"y": functions.log_softmax(inputs["x"], axis=attributes.get("axis", -1))},
    "RMSNormalization": lambda inputs, attributes: over_axes_from(functions.rms_norm, inputs, attributes),
    "RotaryEmbedding": rotary_embedding,
    "Softmax": lambda inputs, attributes: {"y": functions.softmax(inputs["x"], axis=attributes.get("axis", -1))},
    "Swish": lambda inputs, attributes: {"y": functions.silu(attributes.get("alpha", 1.0) * inputs["x"]) / attributes.get("alpha", 1.0)},
    "TensorScatter": tensor_scatter,
}

# The functions return the normalized vectors only, not the statistics.
UNCHECKED_OUTPUTS = {"Mean", "InvStdDev"}


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_definitions_compute_what_onnx_publishes(folder):
    node, inputs, expected = read(folder)
    if node.op_type not in OPERATORS:
        pytest.fail(f"{folder}: no function is mapped to ONNX's {node.op_type}")
    attributes = {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}
    came = OPERATORS[node.op_type](inputs, attributes)
    for name, array in expected.items():
        if name not in UNCHECKED_OUTPUTS:
            assert came[name].dtype == array.dtype
            assert_close(came[name], array)


def test_every_mapped_operator_has_a_vector(data_dir):
    assert {read(folder)[0].op_type for folder in FOLDERS} == OPERATORS.keys()


def read(folder: str) -> tuple[onnx.NodeProto, Inputs, Inputs]:
    """Read the only node of the folder's model, its inputs and its outputs by name."""
    (node,) = onnx.load(VECTORS / folder / "model.onnx").graph.node

    def tensors(kind: str, names: list[str]) -> Inputs:
        files = [VECTORS / folder / "test_data_set_0" / f"{kind}_{number}.pb" for number in range(len(names))]
        return {name: numpy_helper.to_array(onnx.load_tensor(file)) for name, file in zip(names, files, strict=True)}

    return node, tensors("input", [n for n in node.input if n]), tensors("output", [n for n in node.output if n])
