"""GGUF files of small T5 models that transformers saved: names of tensors and special tokens by llama.cpp's own package.

What is left out and renamed follows ggml-org/llama.cpp, conversion/t5.py.
"""

from __future__ import annotations

import io
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import gguf
import numpy
import sentencepiece
import torch
import transformers
from safetensors.numpy import load_file, save_file

from headway.tokenizers.sentencepiece_file import _fields
from tests.checkpoints.gguf_encoder_files import README
from tests.checkpoints.gguf_files import write
from tests.tokenizers.test_pairs import CORPUS

SIZES = {"d_model": 32, "d_kv": 16, "d_ff": 64, "num_layers": 2, "num_decoder_layers": 3, "num_heads": 4}
SIZES |= {"relative_attention_num_buckets": 8, "vocab_size": 330}
IDS = {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}


@lru_cache(1)
def pieces() -> bytes:
    """The model file of T5's tokenizer."""
    trained = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        **{"sentence_iterator": iter(CORPUS + README), "model_writer": trained, "vocab_size": 320, "minloglevel": 2},
        **{"model_type": "unigram", "normalization_rule_name": "nmt_nfkc", "pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1},
    )
    return trained.getvalue()


def save(folder: Path, kind: str = "T5ForConditionalGeneration", **keys: Any) -> Path:
    """Save a random model of a class of transformers with its tokenizer."""
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    model = getattr(transformers, kind)(transformers.T5Config(**{**SIZES, **IDS, **keys}))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
    model.save_pretrained(folder)
    if keys.get("tie_word_embeddings") is False:  # transformers 5 does not make a head of its own
        tensors = load_file(folder / "model.safetensors")
        tensors["lm_head.weight"] = numpy.random.default_rng(1).normal(size=(SIZES["vocab_size"], SIZES["d_model"])).astype(numpy.float32)
        save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    (folder / "spiece.model").write_bytes(pieces())
    named = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "T5Tokenizer", "extra_ids": 0, **named}))
    return folder


def convert(folder: Path, path: Path, *, kind: str = "F32", more: str | None = None) -> Path:
    """Write a folder's model as llama.cpp's converter does; `more` is the name of a further position bias."""
    config = json.loads((folder / "config.json").read_text())
    is_encoder = config["architectures"] == ["T5EncoderModel"]
    architecture = gguf.MODEL_ARCH.T5ENCODER if is_encoder else gguf.MODEL_ARCH.T5
    writer = gguf.GGUFWriter(path, gguf.MODEL_ARCH_NAMES[architecture])
    writer.add_context_length(512)
    writer.add_embedding_length(config["d_model"])
    writer.add_feed_forward_length(config["d_ff"])
    writer.add_block_count(config["num_layers"])
    writer.add_head_count(config["num_heads"])
    writer.add_key_length(config["d_kv"])
    writer.add_value_length(config["d_kv"])
    writer.add_layer_norm_eps(config["layer_norm_epsilon"])
    writer.add_layer_norm_rms_eps(config["layer_norm_epsilon"])
    writer.add_relative_attn_buckets_count(config["relative_attention_num_buckets"])
    if not is_encoder:
        writer.add_decoder_block_count(config["num_decoder_layers"])
        writer.add_decoder_start_token_id(config.get("decoder_start_token_id", 0))
    add_vocabulary(writer, folder, config["vocab_size"])
    names = gguf.get_tensor_name_map(architecture, max(config["num_layers"], config["num_decoder_layers"]))
    for name, array in load_file(folder / "model.safetensors").items():
        if name.endswith("embed_tokens.weight"):  # the same as shared.weight
            continue
        number_format = gguf.GGMLQuantizationType[kind if array.ndim == 2 and "relative_attention_bias" not in name else "F32"]
        stored = names.get_name(name, try_suffixes=(".weight",))
        writer.add_tensor(stored, gguf.quants.quantize(array, number_format), raw_dtype=number_format)
    if more:
        writer.add_tensor(more, numpy.zeros((8, 4), numpy.float32))
    write(writer)
    return path


def add_vocabulary(writer: gguf.GGUFWriter, folder: Path, vocab_size: int) -> None:
    model = sentencepiece.SentencePieceProcessor(model_proto=pieces())
    normalizer = next(value for number, _, value in _fields(pieces()) if number == 3)
    num_unused = vocab_size - model.GetPieceSize()
    ids = range(model.GetPieceSize())
    kinds = {True: gguf.TokenType.CONTROL, False: gguf.TokenType.NORMAL}
    types = [gguf.TokenType.UNKNOWN if model.IsUnknown(each) else kinds[model.IsControl(each)] for each in ids]
    writer.add_tokenizer_model("t5")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([model.IdToPiece(each) for each in ids] + [f"[PAD{each}]" for each in range(len(ids), vocab_size)])
    writer.add_token_scores([model.GetScore(each) for each in ids] + [-10000.0] * num_unused)
    writer.add_token_types(types + [gguf.TokenType.UNUSED] * num_unused)
    writer.add_add_space_prefix(True)
    writer.add_remove_extra_whitespaces(True)
    writer.add_precompiled_charsmap(next(value for number, _, value in _fields(normalizer) if number == 2))
    gguf.SpecialVocab(folder, n_vocab=vocab_size).add_to_gguf(writer)
