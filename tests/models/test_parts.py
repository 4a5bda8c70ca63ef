"""Parts that the interpreters of specs share."""

from __future__ import annotations

from dataclasses import replace

import numpy
import pytest

from headway.models import llama
from headway.models.decoder import decoder_functions
from headway.models.parts import scaled_embedding
from tests.small_models import random_weights

CONFIG = llama.Config(
    vocab_size=11,
    hidden_size=8,
    intermediate_size=9,
    num_hidden_layers=2,
    num_attention_heads=2,
    rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
)


def test_the_spec_of_a_config_is_computed_once():
    computed = []

    def spec(config):
        computed.append(config)
        return llama.spec(config)

    made = decoder_functions(spec)
    weights, config, other = random_weights(llama, CONFIG), replace(CONFIG), replace(CONFIG, rms_norm_eps=1.0)
    tokens = numpy.array([[1, 2]])
    cache = made.new_kv_cache(config, 1, 4, weights.token_embedding)
    logits = made.forward(tokens, weights, config, kv_cache=cache)
    assert computed == [config]
    assert abs(made.forward(tokens, weights, other) - logits).max() > 1e-6  # another config has its own
    assert computed == [config, other]
    assert config == CONFIG


def test_the_factor_of_embeddings_is_rounded_as_the_embeddings_are():
    assert scaled_embedding(numpy.array([1.0], numpy.float16), 1 / 3).tolist() == [float(numpy.float16(1 / 3))]
    assert scaled_embedding(numpy.array([1.0]), 1 / 3).tolist() == [1 / 3]


def test_an_odd_number_of_rotated_coordinates_is_refused():
    from headway.errors import CheckpointError
    from headway.models.rope import rotary_dim

    assert rotary_dim(20, {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5}) == 10
    with pytest.raises(CheckpointError, match="head_dim=10 and partial_rotary_factor=0.5, expected an even product"):
        rotary_dim(10, {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5})


def test_the_default_head_dim_of_qwen3_is_that_of_transformers():
    import transformers

    from headway.models import qwen3

    rope = {"rope_type": "default", "rope_theta": 1e4}
    sizes = {"vocab_size": 9, "hidden_size": 64, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 4}
    assert qwen3.Config(**sizes, rope_parameters=rope).head_dim == transformers.Qwen3Config(**sizes).head_dim == 128
