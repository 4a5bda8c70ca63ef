"""Architectures that can be trained: the model module, its config, and the standard deviations of its initial weights."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import TypeAlias

from headway.models import gpt2, llama, marian, qwen3
from headway.train.options import TrainingOptions

Config: TypeAlias = gpt2.Config | llama.Config | qwen3.Config | marian.Config
Weights: TypeAlias = gpt2.Weights | llama.Weights | qwen3.Weights | marian.Weights

RESIDUAL = ("output.weight", "down.weight")
"""Path suffixes of the matrices whose output is added to the residual stream."""


@dataclass(frozen=True)
class Architecture:
    """An architecture that can be trained.

    module     module of headway.models
    config     function that makes the module's Config from the vocabulary size and the options
    deviation  function that returns the standard deviation of an initial matrix from its path, its shape and the options
    """

    module: ModuleType
    config: Callable[[int, TrainingOptions], Config]
    deviation: Callable[[str, tuple[int, ...], TrainingOptions], float]

    @property
    def reads_pairs(self) -> bool:
        """True for an encoder–decoder, which is trained on pairs of texts."""
        return self.module.KIND == "encoder-decoder"


def gpt2_deviation(path: str, shape: tuple[int, ...], options: TrainingOptions) -> float:
    """Standard deviation of GPT-2: 0.02, divided by √(2 · num_layers) for matrices whose output is added to the residual stream.

    Source   Radford et al. 2019, section 2.3
    """
    return 0.02 / math.sqrt(2 * options.num_layers) if path.endswith(RESIDUAL) else 0.02


def glorot_deviation(path: str, shape: tuple[int, ...], options: TrainingOptions) -> float:
    """Standard deviation of Glorot: √(2 / (in + out)); 1 / √hidden_size for the embedding, which the model multiplies by √hidden_size.

    Source   Glorot and Bengio 2010, equation 16; Vaswani et al. 2017, section 3.4
    """
    return 1 / math.sqrt(options.hidden_size) if path == "token_embedding" else math.sqrt(2 / sum(shape))


def _gpt2(vocab_size: int, options: TrainingOptions) -> gpt2.Config:
    return gpt2.Config(
        vocab_size=vocab_size,
        n_positions=options.context,
        n_embd=options.hidden_size,
        n_layer=options.num_layers,
        n_head=options.num_heads,
        n_inner=options.intermediate_size,
    )


def _with_rotary(config_class: type[llama.Config] | type[qwen3.Config]) -> Callable[[int, TrainingOptions], Config]:
    def config(vocab_size: int, options: TrainingOptions) -> Config:
        return config_class(
            vocab_size=vocab_size,
            hidden_size=options.hidden_size,
            intermediate_size=options.intermediate_size or 32 * math.ceil(options.hidden_size * 8 / 3 / 32),
            num_hidden_layers=options.num_layers,
            num_attention_heads=options.num_heads,
            num_key_value_heads=options.num_kv_heads or options.num_heads,
            max_position_embeddings=options.context,
            rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
            tie_word_embeddings=True,
        )

    return config


def _transformer(vocab_size: int, options: TrainingOptions) -> marian.Config:
    intermediate_size = options.intermediate_size or 4 * options.hidden_size
    return marian.Config(
        vocab_size=vocab_size,
        d_model=options.hidden_size,
        encoder_layers=options.num_layers,
        decoder_layers=options.num_layers,
        encoder_attention_heads=options.num_heads,
        decoder_attention_heads=options.num_heads,
        encoder_ffn_dim=intermediate_size,
        decoder_ffn_dim=intermediate_size,
        max_position_embeddings=options.context,
        activation_function="relu",
        scale_embedding=True,
    )


ARCHITECTURES = {
    "gpt2": Architecture(gpt2, _gpt2, gpt2_deviation),
    "llama": Architecture(llama, _with_rotary(llama.Config), gpt2_deviation),
    "qwen3": Architecture(qwen3, _with_rotary(qwen3.Config), gpt2_deviation),
    "transformer": Architecture(marian, _transformer, glorot_deviation),
}
"""Architectures by the name that `headway train --architecture` takes."""
