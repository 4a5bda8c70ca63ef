"""A model to run: an architecture with its config and weights on an array library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy

from headway import functions
from headway.arrays import Array, Operations, from_numpy
from headway.engine import ModelLimits
from headway.runners.protocols import Architecture, Config, EncoderDecoderArchitecture, EncoderDecoderConfig, Weights


@dataclass(frozen=True)
class Model:
    """A model to run.

    architecture            a module of headway.models: a decoder or an encoder–decoder
    array                   array library of the weights
    device                  device of the weights; None for the library's default
    ops                     functions that the architecture calls: headway.functions, or headway.kernels.operations(array)
    decoder_start_token_id  first token of an encoder–decoder's decoder
    """

    architecture: Architecture | EncoderDecoderArchitecture
    config: Config
    weights: Weights
    array: str = "numpy"
    device: str | None = None
    ops: Operations = functions
    decoder_start_token_id: int | None = None

    @property
    def is_encoder_decoder(self) -> bool:
        """True if an encoder reads the prompt and a decoder answers it."""
        return self.architecture.KIND == "encoder-decoder"

    @property
    def limits(self) -> ModelLimits:
        """Bounds on token ids and lengths."""
        is_encoder_decoder = self.is_encoder_decoder
        return ModelLimits(
            self.config.vocab_size,
            self.config.max_seq_len,
            is_encoder_decoder,
            cast(EncoderDecoderConfig, self.config).decoder_vocab_size if is_encoder_decoder else None,
            self.decoder_start_token_id,
        )

    def asarray(self, values: numpy.ndarray) -> Array:
        """Convert to an array of the model's library, on its device."""
        array: Array = from_numpy(numpy.ascontiguousarray(values), self.array, self.device)
        return array
