"""The toy model as the decoder of a model with an encoder, and a model with given logits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy

from headway.arrays import to_numpy
from headway.practice.exercise import unchanged
from headway.practice.message import CallError
from headway.practice.recipes.toy_model import CPU, Part, ToyModel, like, weights
from headway.practice.texts import Texts

TEXTS = Texts("shared/toy_model")

SOURCE = numpy.array([[3, 8, 1, 5]])
"""The text that a translator is given."""

OF_HEAD = (
    r"(final_|output_|out_|vocab_|lm_|to_)?(generator|proj(ect(ion)?)?|linear|fc|out(put)?|dense|head|logits|vocab|classifier|unembed(ding)?)"
    r"(_(layer|proj(ection)?|linear|head|out(put)?|fc|vocab|logits))?"
)
"""Pattern of the names of an output head."""


@dataclass(frozen=True)
class ToyTranslator(ToyModel):
    """A model with an encoder: `encode(source, ...)`, `decode(...)` of that and of token ids, and a head that keeps the logits.

    Called as a whole, it takes the source first.
    """

    def encode(self, source: Any, *rest: Any, **named: Any) -> Any:
        """Map token ids (batch, source_len) to the encoder's output (batch, source_len, 8)."""
        return like(weights(self.seed, self.vocab_size, self.context_size)[0][to_numpy(source)], source)

    def decode(self, *given: Any, **named: Any) -> Any:
        """Map the encoder's output and token ids (batch, seq_len), in any order, to logits (batch, seq_len, vocab_size).

        Errors   TypeError without the output of `encode` for the source.
        """
        arrays = [each for each in (*given, *named.values()) if hasattr(each, "shape")]
        memory = next((each for each in arrays if len(each.shape) == 3 and to_numpy(each).dtype.kind == "f"), None)
        ids = next((each for each in arrays if len(each.shape) == 2 and to_numpy(each).dtype.kind in "iu"), None)
        if ids is None or memory is None or not numpy.allclose(to_numpy(memory), to_numpy(self.encode(SOURCE)), atol=1e-5):
            raise CallError(TEXTS["no_source"])
        return super().__call__(ids)

    def __call__(self, token_ids: Any, *rest: Any, **named: Any) -> Any:
        """Return the logits of the token ids that follow those of the source."""
        return self.decode(self.encode(token_ids), *rest, **named)

    forward = __call__

    def __getattr__(self, name: str) -> Any:
        """Return a head that keeps the logits under the names of one, and what the toy model has under others."""
        if re.fullmatch(OF_HEAD, name.lower().lstrip("_")):
            return unchanged
        return super().__getattr__(name)


@dataclass(frozen=True)
class FixedModel:
    """A model whose logits at the last position are given; those at the earlier positions are the same ones in another order.

    logits   (vocab_size,) or (batch, vocab_size)
    """

    logits: numpy.ndarray

    def __call__(self, token_ids: Any, *rest: Any, **named: Any) -> Any:
        """Return logits (batch, seq_len, vocab_size) for token ids (batch, seq_len), or without the batch axis for a single text."""
        length = token_ids.shape[-1]
        rows = numpy.atleast_2d(self.logits) if len(token_ids.shape) > 1 else self.logits.reshape(-1)
        steps: list[numpy.ndarray] = [numpy.roll(rows, length - 1 - place, axis=-1) for place in range(length)]
        return like(numpy.stack(steps, axis=-2), token_ids)

    forward = __call__

    def eval(self) -> FixedModel:
        """Return self, like the method of a module."""
        return self

    def parameters(self) -> Iterator[Part]:
        """Yield an object with the device of the weights."""
        yield Part(device=self.device, dtype=None)

    training = False
    device = CPU


def prompt_of(logits: numpy.ndarray) -> numpy.ndarray:
    """Return token ids for a model with these logits: (batch, 3)."""
    return numpy.tile(numpy.array([2, 0, 1]), (len(numpy.atleast_2d(logits)), 1))
