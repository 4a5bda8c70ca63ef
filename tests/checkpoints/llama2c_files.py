"""Writing llama2.c files of every version, for tests: the layouts that its export.py documents."""

from __future__ import annotations

import struct

import numpy

from headway.models import llama


def halves_to_interleaved(weight: numpy.ndarray, head_dim: int) -> numpy.ndarray:
    return weight.reshape(-1, 2, head_dim // 2, weight.shape[1]).swapaxes(1, 2).reshape(weight.shape)


def to_int8(weight: numpy.ndarray, group_size: int) -> bytes:
    """Round to -127…127 with a scale per group; return all integers, then all scales."""
    groups = weight.reshape(-1, group_size)
    scales = (abs(groups).max(axis=1) / 127).astype(numpy.float32)
    with numpy.errstate(invalid="ignore"):
        rounded = numpy.nan_to_num(numpy.round(groups / scales[:, None])).astype(numpy.int8)
    return rounded.tobytes() + scales.tobytes()


def llama2c_file(config: llama.Config, weights: llama.Weights, version: int, *, group_size: int = 4) -> bytes:
    """Return the content of a llama2.c file; version 2 rounds the matrices."""
    layers = weights.layers
    is_tied = config.tie_word_embeddings
    sizes = (
        config.hidden_size,
        config.intermediate_size,
        config.num_hidden_layers,
        config.num_attention_heads,
        config.num_key_value_heads,
        config.vocab_size if is_tied or version else -config.vocab_size,
        config.max_position_embeddings,
    )
    attention_norms = [layer.attention_norm.weight for layer in layers]
    feed_forward_norms = [layer.feed_forward_norm.weight for layer in layers]
    attention = [
        *(halves_to_interleaved(layer.attention.query.weight, config.head_dim) for layer in layers),
        *(halves_to_interleaved(layer.attention.key.weight, config.head_dim) for layer in layers),
        *(layer.attention.value.weight for layer in layers),
        *(layer.attention.output.weight for layer in layers),
    ]
    feed_forward = [getattr(layer.feed_forward, part).weight for part in ("gate", "down", "up") for layer in layers]
    head = [] if is_tied else [weights.output_head]

    def floats(arrays: list[numpy.ndarray]) -> bytes:
        return b"".join(numpy.ascontiguousarray(array, numpy.float32).tobytes() for array in arrays)

    if version == 0:
        tables = numpy.zeros((2, config.max_position_embeddings, config.head_dim // 2), numpy.float32)
        order = [weights.token_embedding, *attention_norms, *attention, *feed_forward_norms, *feed_forward, weights.norm.weight, tables]
        return struct.pack("<7i", *sizes) + floats([*order, *head])
    flags = struct.pack("<B", is_tied) + (struct.pack("<i", group_size) if version == 2 else b"")
    header = (struct.pack("<Ii7i", 0x616B3432, version, *sizes) + flags).ljust(256, b"\0")
    norms = [*attention_norms, *feed_forward_norms, weights.norm.weight]
    matrices = [weights.token_embedding, *attention, *feed_forward, *head]
    if version == 1:
        return header + floats([*norms, *matrices])
    return header + floats(norms) + b"".join(to_int8(matrix, group_size) for matrix in matrices)
