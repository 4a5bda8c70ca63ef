"""What training knows of each architecture: its module, its config from the options, and the spread of its first weights."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from headway.models import gpt2, llama, marian, qwen3
from headway.train.options import TrainingOptions

RESIDUAL = ("output.weight", "down.weight")
"""The ends of the matrices' paths that write into the residual stream."""


@dataclass(frozen=True)
class Architecture:
    """An architecture that can be trained.

    module     of headway.models
    config     the vocabulary's size and the options to the module's Config
    deviation  a matrix's path and shape, and the options, to the standard deviation that it is drawn with
    """

    module: ModuleType
    config: Callable[[int, TrainingOptions], Any]
    deviation: Callable[[str, tuple[int, ...], TrainingOptions], float]

    @property
    def reads_pairs(self) -> bool:
        """Whether it learns to write the second text of a pair from the first, and not to continue texts."""
        return self.module.KIND == "encoder-decoder"


def small(path: str, shape: tuple[int, ...], options: TrainingOptions) -> float:
    """0.02; for what writes into the residual stream divided by √(2 · num_layers).

    Source   Radford et al. 2019, section 2.3
    """
    return 0.02 / math.sqrt(2 * options.num_layers) if path.endswith(RESIDUAL) else 0.02


def glorot(path: str, shape: tuple[int, ...], options: TrainingOptions) -> float:
    """√(2 / (in + out)); for the embedding, which is multiplied by √hidden_size, 1 / √hidden_size.

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


def _rotary(kind: Any) -> Callable[[int, TrainingOptions], Any]:
    def config(vocab_size: int, options: TrainingOptions) -> Any:
        return kind(
            vocab_size=vocab_size,
            hidden_size=options.hidden_size,
            intermediate_size=options.intermediate_size or 32 * math.ceil(options.hidden_size * 8 / 3 / 32),
            num_hidden_layers=options.num_layers,
            num_attention_heads=options.num_heads,
            num_key_value_heads=options.num_kv_heads,
            max_position_embeddings=options.context,
            rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
            tie_word_embeddings=True,
        )

    return config


def _transformer(vocab_size: int, options: TrainingOptions) -> marian.Config:
    inner = options.intermediate_size or 4 * options.hidden_size
    return marian.Config(
        vocab_size=vocab_size,
        d_model=options.hidden_size,
        encoder_layers=options.num_layers,
        decoder_layers=options.num_layers,
        encoder_attention_heads=options.num_heads,
        decoder_attention_heads=options.num_heads,
        encoder_ffn_dim=inner,
        decoder_ffn_dim=inner,
        max_position_embeddings=options.context,
        activation_function="relu",
        scale_embedding=True,
    )


ARCHITECTURES = {
    "gpt2": Architecture(gpt2, _gpt2, small),
    "llama": Architecture(llama, _rotary(llama.Config), small),
    "qwen3": Architecture(qwen3, _rotary(qwen3.Config), small),
    "transformer": Architecture(marian, _transformer, glorot),
}
"""By the name that headway train --architecture takes."""
