"""Small random encoders with packed weights, and the same encoders with the unpacked weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy

from headway.functions import Packed
from headway.kernels.cpu.compiled_encoder import CompiledEncoder
from headway.kernels.cpu.packed_file import packed_weights
from headway.kernels.cpu.row_products import HAS_ROW_TILES
from headway.kernels.cpu.runtime import Runtime
from headway.language_model.encoders import NOT_PACKED
from headway.models import bert, distilbert, modernbert, mpnet
from headway.trees import leaves, tree_from_leaves
from tests.small_models import random_weights

SIZES = {"vocab_size": 101, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 40}
LONG = {"max_position_embeddings": 200}
MINILM = {"hidden_size": 384, "num_attention_heads": 12, "intermediate_size": 1536}
ENCODERS = {
    "bert": (bert, bert.Config(**SIZES | LONG)),
    "bert with whole blocks": (bert, bert.Config(**SIZES | LONG | {"hidden_size": 64, "num_attention_heads": 2, "intermediate_size": 100})),
    "bert with odd sizes": (bert, bert.Config(**SIZES | LONG | {"hidden_size": 33, "num_attention_heads": 3, "intermediate_size": 21})),
    "bert with less than a block": (
        bert,
        bert.Config(**SIZES | LONG | {"hidden_size": 9, "num_attention_heads": 3, "intermediate_size": 10}),
    ),
    "mpnet": (mpnet, mpnet.Config(**SIZES | LONG)),
    "distilbert": (distilbert, distilbert.Config(**SIZES | LONG)),
    "modernbert": (modernbert, modernbert.Config(**SIZES | {"num_hidden_layers": 4, "local_attention": 20})),
}
WIDE = {
    "bert as wide as MiniLM": (bert, bert.Config(**SIZES | LONG | MINILM)),
    "mpnet as wide as MiniLM": (mpnet, mpnet.Config(**SIZES | LONG | MINILM)),
    "modernbert of other widths": (
        modernbert,
        modernbert.Config(**SIZES | {"hidden_size": 192, "num_attention_heads": 3, "intermediate_size": 296, "local_attention": 20}),
    ),
}
KINDS = ("float32", "bfloat16", "int8", "int4", *(["int8_rows"] if HAS_ROW_TILES else []))


@dataclass(frozen=True)
class Encoder:
    architecture: Any
    config: Any
    weights: Any
    compiled: CompiledEncoder

    def encode(self, text: list[int]) -> numpy.ndarray:
        """Return the hidden states of the definitions with the unpacked weights."""
        return self.architecture.encode(numpy.array([text]), self.weights, self.config)[0]


def encoder(name: str, kind: str, runtime: Runtime, place: Callable[[Any], Any] = lambda leaf: leaf, deviation: float = 0.2) -> Encoder:
    """Return an encoder whose packed weights are those that `place` returns."""
    architecture, config = (ENCODERS | WIDE)[name]
    tree = random_weights(architecture, config, deviation=deviation)
    body = replace(tree, **dict.fromkeys(NOT_PACKED))
    packed = packed_weights(None, "", kind, list(leaves(body)), runtime)
    weights = replace(tree_from_leaves(type(tree), {path: place(leaf) for path, leaf in packed.items()}), position_bias=tree.position_bias)
    unpacked = {path: leaf.dense() if isinstance(leaf, Packed) else leaf for path, leaf in packed.items()}
    dense = replace(tree_from_leaves(type(tree), unpacked), position_bias=tree.position_bias)
    compiled = CompiledEncoder(
        architecture.spec(config), weights, runtime.encoder_pass, runtime.pool, max_seq_len=min(config.max_seq_len, 200)
    )
    return Encoder(architecture, config, dense, compiled)


def texts(*lengths: int) -> list[list[int]]:
    random = numpy.random.default_rng(5)
    return [random.integers(0, 101, length).tolist() for length in lengths]
