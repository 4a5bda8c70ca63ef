"""A small random model, run by transformers and by the engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
import torch

from headway.checkpoints import load_checkpoint
from headway.engine import Engine
from headway.kernels import operations
from headway.runners import Model
from tests.models.saved_by_transformers import VOCAB_SIZE, Case
from tests.small_models import engine_of

FAMILIES = ("gpt2", "llama", "t5", "marian")
FILL = 96
"""Padding of shorter hypotheses in transformers; a token that is never generated here. With 0, transformers would use an end token."""


@dataclass(frozen=True)
class Oracle:
    """A model of transformers, and the folder it saved."""

    model: Any
    folder: Path

    @property
    def is_encoder_decoder(self) -> bool:
        return bool(self.model.config.is_encoder_decoder)

    @property
    def start(self) -> int | None:
        return self.model.generation_config.decoder_start_token_id

    def engine(self, array: str = "numpy") -> Engine:
        return engine_of(self.runnable(array))

    def runnable(self, array: str = "numpy") -> Model:
        loaded = load_checkpoint(self.folder, array=array)
        return Model(loaded.architecture, loaded.config, loaded.weights, array, None, operations(array), self.start)

    def generate(self, prompt: Sequence[int], **options: Any) -> tuple[list[list[int]], list[float]]:
        """The tokens that transformers generates after a prompt, and the scores of a beam search."""
        given = torch.tensor([list(prompt)])
        with torch.no_grad():
            output = self.model.generate(
                given,
                attention_mask=torch.ones_like(given),
                do_sample=False,
                use_cache=False,  # its cache has as many layers as the encoder, and the decoders here have more
                output_scores=True,
                return_dict_in_generate=True,
                **{"pad_token_id": FILL, "suppress_tokens": [FILL], **options},
            )
        start = 1 if self.is_encoder_decoder else len(prompt)
        rows = [[token_id for token_id in row[start:].tolist() if token_id != FILL] for row in output.sequences]
        return rows, output.sequences_scores.tolist() if "sequences_scores" in output else []


def make_oracle(case: Case, folder: Path) -> Oracle:
    model = case.model().float()
    model.save_pretrained(folder)
    return Oracle(model, folder)


def prompts(*lengths: int, seed: int = 0) -> list[list[int]]:
    random = numpy.random.default_rng(seed)
    return [random.integers(3, VOCAB_SIZE - 10, length).tolist() for length in lengths]
