"""GGUF files of small random models, written with llama.cpp's own package."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gguf
import numpy

from headway.checkpoints.gguf import PARTS, PERMUTED
from headway.models.tensor_names import EXPERTS
from headway.trees import leaves
from tests.small_models import random_weights

TOKENS = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", "a", "b", "▁a", "ab", "▁ab", "▁b"]
TYPES = [2, 3, 3, *[6] * 256, *[1] * 7]
VOCAB_SIZE = len(TOKENS)
SCORES = [0.0] * 260 + [-10.0, -11.0, -1.0, -3.0, -2.0, -4.0]


def write_gguf(path: Path, name: str, module: Any, config: Any, metadata: dict[str, Any], formats: dict[str, str] | None = None) -> Any:
    """Write random weights in llama.cpp's layout and return them as a tree.

    metadata  values by key, without the architecture in front
    formats   number formats by the end of a tensor's name; F32 by default
    """
    weights = random_weights(module, config, deviation=0.3)
    writer = gguf.GGUFWriter(path, name)
    add_metadata(writer, {f"{name}.{key}": value for key, value in metadata.items()})
    add_sentencepiece(writer)
    for tensor, array in tensors(name, config, weights).items():
        kind = next((kind for end, kind in (formats or {}).items() if tensor.endswith(end)), "F32")
        number_format = gguf.GGMLQuantizationType[kind]
        writer.add_tensor(tensor, gguf.quants.quantize(array, number_format), raw_dtype=number_format)
    write(writer)
    return weights


def add_metadata(writer: gguf.GGUFWriter, values: dict[str, Any]) -> None:
    for key, value in values.items():
        match value:
            case bool():
                writer.add_bool(key, value)
            case int():
                writer.add_uint32(key, value)
            case float():
                writer.add_float32(key, value)
            case str():
                writer.add_string(key, value)
            case _:
                writer.add_array(key, value)


def add_sentencepiece(writer: gguf.GGUFWriter) -> None:
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(TOKENS)
    writer.add_token_scores(SCORES)
    writer.add_token_types(TYPES)
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)


def write(writer: gguf.GGUFWriter) -> None:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def tensors(name: str, config: Any, weights: Any) -> dict[str, numpy.ndarray]:
    """Return the weights by llama.cpp's names, in its order of rows."""
    heads = {"attention.query": config.num_attention_heads, "attention.key": config.num_key_value_heads} if name in PERMUTED else {}
    found: dict[str, numpy.ndarray] = {"token_embd.weight": weights.token_embedding, "output_norm.weight": weights.norm.weight}
    if weights.output_head is not weights.token_embedding:
        found["output.weight"] = weights.output_head
    experts: dict[str, list[numpy.ndarray]] = {}
    parts = PARTS | ({"feed_forward_norm": "post_attention_norm"} if name == "gpt-oss" else {})
    for index, layer in enumerate(weights.layers):
        for path, array in leaves(layer):
            part, _, kind = path.rpartition(".") if path != "attention.sinks" else (path, ".", "weight")
            if part.startswith(EXPERTS):
                matrix = part.rpartition(".")[2]
                experts.setdefault(f"blk.{index}.ffn_{matrix}_exps.{kind}", []).append(array)
                continue
            found[f"blk.{index}.{parts[part]}.{kind}"] = permuted(array, heads[part]) if part in heads else array
    return found | {tensor: numpy.stack(arrays) for tensor, arrays in experts.items()}


def permuted(array: numpy.ndarray, num_heads: int) -> numpy.ndarray:
    """Return rows of halves of each head as rows of pairs.

    Source   ggml-org/llama.cpp, LlamaModel.permute
    """
    return array.reshape(num_heads, 2, -1, *array.shape[1:]).swapaxes(1, 2).reshape(array.shape)
