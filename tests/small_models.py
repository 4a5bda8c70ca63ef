"""Small random models made here, for tests that need no oracle."""

from __future__ import annotations

from typing import Any

import numpy

from headway.arrays import from_numpy
from headway.engine import Engine, GenerationOptions, Request
from headway.kernels import operations
from headway.models import gpt2, llama
from headway.runners import Model, ReferenceRunner
from headway.trees import map_tree, tree_from_leaves

GPT2 = gpt2.Config(vocab_size=37, n_positions=29, n_embd=12, n_layer=2, n_head=3)
LLAMA = llama.Config(
    vocab_size=37,
    hidden_size=12,
    intermediate_size=17,
    num_hidden_layers=2,
    num_attention_heads=6,
    num_key_value_heads=2,
    max_position_embeddings=29,
    rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
)


def random_weights(architecture: Any, config: Any, *, seed: int = 0, deviation: float = 0.5) -> Any:
    random = numpy.random.default_rng(seed)
    arrays, by_place = {}, {}
    for path, place in architecture.stored_weights(config).items():
        if place not in by_place:  # a tied head is the embedding itself
            by_place[place] = (random.standard_normal(place.leaf_shape) * deviation).astype(numpy.float32)
        arrays[path] = by_place[place]
    return tree_from_leaves(architecture.Weights, arrays)


def small_model(architecture: Any = gpt2, config: Any = GPT2, array: str = "numpy") -> Model:
    weights = map_tree(lambda leaf: from_numpy(leaf, array), random_weights(architecture, config))
    return Model(architecture, config, weights, array, None, operations(array))


def engine_of(model: Model, **options: Any) -> Engine:
    """An engine that runs the definitions."""
    return Engine(ReferenceRunner(model), model.limits, **options)


def engine(architecture: Any = gpt2, config: Any = GPT2, array: str = "numpy") -> Engine:
    return engine_of(small_model(architecture, config, array))


def request(token_ids: Any, max_new_tokens: int | None = None, end_token_ids: Any = (), **options: Any) -> Request:
    """A request with its options as keywords."""
    return Request(token_ids, GenerationOptions(max_new_tokens=max_new_tokens, **options), end_token_ids)
