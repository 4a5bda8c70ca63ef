"""The keys of config.json of encoders and encoder–decoders, from the metadata of a GGUF file.

Source   ggml-org/llama.cpp, conversion/bert.py, conversion/t5.py, src/models/bert.cpp, modern-bert.cpp and t5.cpp
"""

from __future__ import annotations

from typing import Any

from headway.checkpoints.gguf_metadata import Metadata
from headway.errors import CheckpointError, UnsupportedError
from headway.gguf_file import GGUFFile
from headway.json_files import short_repr

CLASSIFIER_POOLINGS = {1: "mean", 2: "cls"}
"""Poolings of ModernBERT's classifier by llama.cpp's number."""


def bert_keys(metadata: Metadata) -> dict[str, Any]:
    """Return the keys of BERT, DistilBERT or RoBERTa, which differ in their token types and classifiers.

    The position embedding of a file starts with the row of the first token.
    """
    keys = _sizes(metadata) | {
        "max_position_embeddings": metadata.num_rows("position_embd.weight"),
        "layer_norm_eps": metadata.get("attention.layer_norm_epsilon", 1e-12),
    }
    if not metadata.has("token_types.weight"):
        return keys | {"model_type": "distilbert"}
    keys["type_vocab_size"] = metadata.num_rows("token_types.weight")
    is_bert = metadata.file.metadata.get("tokenizer.ggml.model") == "bert" and not has_classifier(metadata.file)
    return keys | ({"model_type": "bert"} if is_bert else {"model_type": "roberta", "pad_token_id": -1})


def modern_bert_keys(metadata: Metadata) -> dict[str, Any]:
    """Return the keys of ModernBERT. A file without a window has full attention in every layer."""
    keys, theta = _sizes(metadata), metadata.get("rope.freq_base", 10_000.0)
    window = metadata.get("attention.sliding_window") or None
    number = metadata.get("classifier.pooling_type", 1)
    if number not in CLASSIFIER_POOLINGS:
        raise UnsupportedError(
            f"got {metadata.file.path} with modern-bert.classifier.pooling_type={short_repr(number)}, expected 1 (mean) or 2 (cls)"
        )
    return keys | {
        "model_type": "modernbert",
        "max_position_embeddings": metadata.integer("context_length"),
        "norm_eps": metadata.get("attention.layer_norm_epsilon", metadata.get("attention.layer_norm_rms_epsilon", 1e-5)),
        "hidden_activation": metadata.get("hidden_activation", "gelu"),
        "classifier_pooling": CLASSIFIER_POOLINGS[number],
        "layer_types": ["sliding_attention" if each and window else "full_attention" for each in _are_local(metadata)],
        "global_rope_theta": theta,
        "local_rope_theta": metadata.get("rope.freq_base_swa", theta),
        **({"local_attention": window} if window else {}),
    }


def t5_keys(metadata: Metadata) -> dict[str, Any]:
    """Return the keys of T5, of which a file of the architecture t5encoder has the encoder only.

    llama.cpp fixes the distance from which on relative positions share a bucket, and the activations. T5 1.1 has gated feed-forward
    networks and does not scale the logits.
    """
    is_gated = metadata.has("enc.blk.0.ffn_gate.weight")
    hidden, heads, num_layers = metadata.integer("embedding_length"), metadata.integer("attention.head_count"), metadata.num_layers()
    return {
        "model_type": "t5",
        "vocab_size": metadata.num_rows("token_embd.weight"),
        "d_model": hidden,
        "d_kv": metadata.integer("attention.key_length", max(hidden // heads, 1)),
        "d_ff": metadata.integer("feed_forward_length"),
        "num_layers": num_layers,
        "num_decoder_layers": metadata.num_layers("decoder_block_count", num_layers),
        "num_heads": heads,
        "relative_attention_num_buckets": metadata.integer("attention.relative_buckets_count"),
        "relative_attention_max_distance": 128,
        "layer_norm_epsilon": metadata.get("attention.layer_norm_rms_epsilon", 1e-6),
        "feed_forward_proj": "gated-gelu" if is_gated else "relu",
        "scale_decoder_outputs": not is_gated and not metadata.has("output.weight"),
    }


def has_classifier(file: GGUFFile) -> bool:
    """Return True if an encoder's file has a whole classifier; that of a BERT lacks the pooler, which is its hidden layer."""
    return {"cls.weight", "cls.output.weight"} <= set(file.tensors)


def _sizes(metadata: Metadata) -> dict[str, Any]:
    """Return the keys that BERT and ModernBERT share."""
    keys = {
        "vocab_size": metadata.num_rows("token_embd.weight"),
        "hidden_size": metadata.integer("embedding_length"),
        "num_hidden_layers": metadata.num_layers(),
        "num_attention_heads": metadata.integer("attention.head_count"),
        "intermediate_size": metadata.integer("feed_forward_length"),
    }
    return keys | ({"num_labels": metadata.num_rows("cls.output.weight")} if metadata.has("cls.output.weight") else {})


def _are_local(metadata: Metadata) -> list[bool]:
    """Return whether each layer has a window: the file has a flag for each, or n, if all but the first of n layers have one."""
    num_layers = metadata.num_layers()
    name = "attention.sliding_window_pattern"
    pattern = metadata.get(name, [index % 3 != 0 for index in range(num_layers)])
    if type(pattern) is int:
        return [pattern == 0 or index % pattern != 0 for index in range(num_layers)]
    if not isinstance(pattern, list) or len(pattern) != num_layers:
        raise CheckpointError(
            f"got {metadata.file.path} with {metadata.architecture}.{name}={short_repr(pattern)}, expected a number or one flag for each layer"
        )
    return [bool(each) for each in pattern]
