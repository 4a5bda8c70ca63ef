"""llama2.c's checkpoint file: seven sizes, then float32 weights one after another.

Source   karpathy/llama2.c, run.c (read_checkpoint, memory_map_weights); the format before its version 1
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy

from headway.arrays import array_library, as_dtype, cast, check_computing, from_numpy
from headway.checkpoints.reading import Checkpoint
from headway.errors import CheckpointError
from headway.models import llama
from headway.trees import map_tree, tree_from_leaves


def load_llama2c(path: Path, *, array: str = "numpy", dtype: str = "float32", device: str | None = None) -> Checkpoint:
    """Load a .bin file of llama2.c as a Llama.

    Its rotary pairs are interleaved; the rows of query and key are put in the order of halves, which gives the same scores.

    Errors   CheckpointError where the sizes are no model's, or the file is not as long as they ask for.
    """
    check_computing(array, dtype, device)
    try:
        header = numpy.fromfile(path, numpy.int32, 7)
        values = numpy.memmap(path, numpy.float32, mode="c", offset=28)
    except (OSError, ValueError) as error:
        raise CheckpointError(f"came: {path}, which cannot be read ({error}); expected: a checkpoint of llama2.c") from error
    hidden, inner, layers, heads, kv_heads, vocab, seq_len = (int(size) for size in header) if header.size == 7 else (0,) * 7
    is_tied, vocab = vocab > 0, abs(vocab)
    if min(hidden, inner, layers, heads, kv_heads, vocab, seq_len) < 1 or hidden % heads or heads % kv_heads:
        raise CheckpointError(
            f"came: {path} with the sizes {header.tolist()}; expected: those of a llama2.c checkpoint (hidden, inner, layers, heads, kv heads, vocabulary, context)"
        )
    head_dim = hidden // heads
    shapes = {
        "token_embedding": (vocab, hidden),
        "attention_norm.weight": (layers, hidden),
        "attention.query.weight": (layers, hidden, hidden),
        "attention.key.weight": (layers, kv_heads * head_dim, hidden),
        "attention.value.weight": (layers, kv_heads * head_dim, hidden),
        "attention.output.weight": (layers, hidden, hidden),
        "feed_forward_norm.weight": (layers, hidden),
        "feed_forward.gate.weight": (layers, inner, hidden),
        "feed_forward.down.weight": (layers, hidden, inner),
        "feed_forward.up.weight": (layers, inner, hidden),
        "norm.weight": (hidden,),
        "rotary tables, not used": (2, seq_len, head_dim // 2),
        **({} if is_tied else {"output_head": (vocab, hidden)}),
    }
    sizes = [int(numpy.prod(shape)) for shape in shapes.values()]
    if sum(sizes) != len(values):
        raise CheckpointError(f"came: {path} with {len(values)} numbers; expected: {sum(sizes)}, by its header; download it again")
    parts = numpy.split(values, numpy.cumsum(sizes)[:-1])
    stacked = {name: part.reshape(shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)}
    config = llama.Config(
        vocab_size=vocab,
        hidden_size=hidden,
        intermediate_size=inner,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        max_position_embeddings=seq_len,
        rms_norm_eps=1e-5,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
        tie_word_embeddings=is_tied,
    )
    weights = tree_from_leaves(llama.Weights, _leaves(stacked, layers, head_dim, is_tied))
    namespace = array_library(array)
    weights = map_tree(lambda leaf: cast(from_numpy(numpy.asarray(leaf), array, device), as_dtype(dtype, namespace)), weights)
    return Checkpoint(llama, config, weights, {})


def _leaves(stacked: dict[str, numpy.ndarray], num_layers: int, head_dim: int, is_tied: bool) -> dict[str, Any]:
    leaves = {name: stacked[name] for name in ("token_embedding", "norm.weight")}
    leaves["output_head"] = stacked["token_embedding" if is_tied else "output_head"]
    for index in range(num_layers):
        for name, arrays in stacked.items():
            if name.startswith(("attention", "feed_forward")):
                is_turned = name in ("attention.query.weight", "attention.key.weight")
                leaves[f"layers.{index}.{name}"] = _interleaved_to_halves(arrays[index], head_dim) if is_turned else arrays[index]
    return leaves


def _interleaved_to_halves(weight: numpy.ndarray, head_dim: int) -> numpy.ndarray:
    """Rows (head, pair, 2) to rows (head, 2, pair)."""
    return weight.reshape(-1, head_dim // 2, 2, weight.shape[1]).swapaxes(1, 2).reshape(weight.shape)
