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

OF_EMBEDDING = r"((src|source|tgt|trg|target|enc(oder)?|dec(oder)?|input|output)_)((tok(en)?|word)_)?emb(ed(ding)?s?)?(_layer)?"
OF_PLACES = r"((src|source|tgt|trg|target|enc(oder)?|dec(oder)?)_)?(pos(ition(al)?)?_?enc(oding|oder)?|pe)"
OF_MASK = r"(make|generate|create|get)_(src|source|tgt|trg|target|causal|subsequent|square_subsequent)_mask"
OF_WIDTH = r"d_model|hidden_(size|dim)|emb(ed(ding)?)?_(size|dim)"
"""Patterns of the names of a layer of embeddings, of positions, of what makes a mask, and of the width."""

NEAR = 0.999
"""Cosine from which two vectors count as one."""


@dataclass(frozen=True)
class ToyTranslator(ToyModel):
    """A model with an encoder: `encode(source, ...)`, `decode(...)` of that and of token ids, and a head that keeps the logits.

    Called as a whole, it takes the source first. Its parts can be called one by one, too: an embedding and the positions of each side,
    `encoder(vectors, ...)` and `decoder(...)`.
    """

    def encode(self, source: Any, *rest: Any, **named: Any) -> Any:
        """Map token ids (batch, source_len) to the encoder's output (batch, source_len, 8)."""
        return like(self._table[to_numpy(source)], source)

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

    def encoder(self, source: Any, *rest: Any, **named: Any) -> Any:
        """Map token ids or their vectors to the encoder's output."""
        return like(self.encode(self._ids_of(source)), source)

    def decoder(self, *given: Any, **named: Any) -> Any:
        """Map the encoder's output and token ids or their vectors, in any order, to logits."""
        operands = (*given, *named.values())
        return like(self.decode(*map(self._ids_of, operands)), next((each for each in operands if hasattr(each, "shape")), None))

    def _vectors(self, token_ids: Any, *rest: Any) -> Any:
        """Map token ids to vectors, none of which is one of the encoder's output."""
        return like(-self._table[to_numpy(token_ids)], token_ids)

    @property
    def _table(self) -> numpy.ndarray:
        return weights(self.seed, self.vocab_size, self.context_size)[0]

    def _ids_of(self, given: Any) -> Any:
        """Return an operand in NumPy, and the token ids in place of their vectors, scaled or not; what is no array stays."""
        vectors = to_numpy(given) if hasattr(given, "shape") else numpy.zeros(0)
        if vectors.ndim != 3 or vectors.dtype.kind != "f" or vectors.shape[-1] != self._table.shape[1]:
            return vectors if hasattr(given, "shape") else given
        directions, rows = (each / numpy.linalg.norm(each, axis=-1, keepdims=True) for each in (vectors, -self._table))
        cosines = directions @ rows.T
        return cosines.argmax(-1) if (cosines.max(-1) > NEAR).all() else vectors

    def __getattr__(self, name: str) -> Any:
        """Return a head that keeps the logits, and other parts, under their names, and what the toy model has under others."""
        plain = name.lower().lstrip("_")
        if re.fullmatch(OF_HEAD, plain) or re.fullmatch(OF_PLACES, plain):
            return unchanged
        if re.fullmatch(OF_EMBEDDING, plain):
            return self._vectors
        if re.fullmatch(OF_MASK, plain):
            return _open_mask
        if re.fullmatch(OF_WIDTH, plain):
            return self._table.shape[1]
        return super().__getattr__(name)


def _open_mask(token_ids: Any, *rest: Any) -> Any:
    """Return a mask for token ids: a toy model hides nothing by it."""
    length = token_ids.shape[-1]
    return like(numpy.ones((1, length, length)), token_ids)


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
