"""A tokenizer for a checkpoint with random weights, and the checkpoint in llama.cpp's format."""

from __future__ import annotations

import json
from itertools import islice, product
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import gguf

LETTERS = "etaoinshrdlucmfwypvbgkqjxz"


def vocabulary(size: int) -> tuple[list[str], list[str]]:
    """Return tokens and merges of a byte-level BPE: the bytes as GPT-2 writes them, then all strings of 2, 3, … letters."""
    visible = [*range(33, 127), *range(161, 173), *range(174, 256)]
    shifted = iter(range(256, 512))
    tokens = [chr(byte) if byte in visible else chr(next(shifted)) for byte in range(256)]
    words = ("".join(letters) for length in (2, 3, 4, 5) for letters in product(LETTERS, repeat=length))
    strings = list(islice(words, size - len(tokens) - 1))
    return [*tokens, *strings, "<|end|>"], [f"{string[:-1]} {string[-1]}" for string in strings]


def write_tokenizer(folder: Path) -> None:
    """Write tokenizer.json and tokenizer_config.json into the folder."""
    size = json.loads((folder / "config.json").read_text())["vocab_size"]
    tokens, merges = vocabulary(size)
    end = {
        "id": size - 1,
        "content": "<|end|>",
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": False,
        "special": True,
    }
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    model = {"type": "BPE", "vocab": {token: index for index, token in enumerate(tokens)}, "merges": merges}
    tokenizer = {"version": "1.0", "added_tokens": [end], "pre_tokenizer": level, "decoder": level, "model": model}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|end|>", "model_max_length": 32768}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))


def write_gguf(folder: Path, target: Path, *, has_tokenizer: bool = True) -> None:
    """Write the checkpoint, and its tokenizer if wanted: matrices in float16, vectors in float32. llama-quantize makes Q8_0 of it."""
    import gguf
    import numpy
    from safetensors import safe_open

    config = json.loads((folder / "config.json").read_text())
    writer = gguf.GGUFWriter(target, "qwen2")
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(config["rope_parameters"]["rope_theta"])
    if has_tokenizer:
        _add_tokenizer(writer, *vocabulary(config["vocab_size"]))
    else:
        writer.add_vocab_size(config["vocab_size"])
        writer.add_tokenizer_model("no_vocab")
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.QWEN2, config["num_hidden_layers"])
    with safe_open(folder / "model.safetensors", "numpy") as tensors:
        for name in tensors.keys():  # noqa: SIM118 - it is no dict
            tensor = tensors.get_tensor(name)
            writer.add_tensor(names.get_name(name, (".weight", ".bias")), tensor.astype(numpy.float16) if tensor.ndim == 2 else tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_tokenizer(writer: gguf.GGUFWriter, tokens: list[str], merges: list[str]) -> None:
    from gguf import TokenType

    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([TokenType.NORMAL] * (len(tokens) - 1) + [TokenType.CONTROL])
    writer.add_token_merges(merges)
    writer.add_eos_token_id(len(tokens) - 1)
    writer.add_bos_token_id(len(tokens) - 1)
    writer.add_add_bos_token(False)
