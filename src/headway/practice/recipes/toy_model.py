"""A language model small enough to be asked thousands of times, which takes token ids as anyone hands them over."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy

from headway.arrays import array_namespace, from_numpy, to_numpy


@dataclass(frozen=True)
class ToyModel:
    """Causal, with positions, and with no room beyond context_size; another seed is another model.

    form   what it returns: "logits", "pair" (logits, None), "attribute" (.logits), "last" (of the last position only) or "lists"
    """

    seed: int = 0
    vocab_size: int = 11
    context_size: int = 6
    form: str = "logits"

    def __post_init__(self) -> None:
        weights(self.seed, self.vocab_size, self.context_size)  # now, while nobody listens to the generators

    def logits(self, token_ids: numpy.ndarray) -> numpy.ndarray:
        """(..., seq_len) to (..., seq_len, vocab_size).

        Errors   IndexError for more tokens than it has positions, and for an id outside the vocabulary.
        """
        length = token_ids.shape[-1]
        if length > self.context_size:
            raise IndexError(f"index {self.context_size} is out of bounds for the {self.context_size} positions of the model")
        if length == 0:
            raise IndexError("the model was given no token")
        embedding, positions, head = weights(self.seed, self.vocab_size, self.context_size)
        x = embedding[token_ids] + positions[:length]
        memory, states = numpy.zeros_like(x[..., 0, :]), []
        for place in range(length):
            memory = 0.5 * numpy.roll(memory, 1, axis=-1) + x[..., place, :]
            states.append(memory)
        return numpy.stack(states, axis=-2) @ head

    def returning(self, form: str) -> ToyModel:
        """The same model, returning its logits in another form."""
        return replace(self, form=form)

    def __call__(self, token_ids: Any, *rest: Any, **named: Any) -> Any:
        """The logits in the library of the token ids; NumPy's for lists."""
        is_array = hasattr(token_ids, "shape")
        given = to_numpy(token_ids) if is_array else numpy.asarray(token_ids, dtype=numpy.int64)
        if given.dtype.kind not in "iu":
            raise TypeError(f"token ids are whole numbers; came {given.dtype}")
        logits = self.logits(given)
        logits = logits[..., -1, :] if self.form == "last" else logits
        if self.form == "lists":
            return logits.tolist()
        if is_array and not isinstance(token_ids, numpy.ndarray):
            namespace = array_namespace(token_ids).__name__
            library = next(name for name in ("torch", "jax", "mlx") if name in namespace)
            logits = from_numpy(logits.astype(numpy.float32), library)
        if self.form == "pair":
            return logits, None
        return SimpleNamespace(logits=logits) if self.form == "attribute" else logits

    @property
    def config(self) -> SimpleNamespace:
        """Its sizes, by the names that they have elsewhere."""
        names = ("context_size", "block_size", "n_positions", "context_length", "max_seq_len", "n_ctx", "max_position_embeddings")
        return SimpleNamespace(vocab_size=self.vocab_size, **dict.fromkeys(names, self.context_size))

    @property
    def block_size(self) -> int:
        """As nanoGPT and others call the context size."""
        return self.context_size

    def eval(self) -> ToyModel:
        """As a module's."""
        return self

    def train(self, mode: bool = True) -> ToyModel:
        """As a module's."""
        return self


@lru_cache
def weights(seed: int, vocab_size: int, context_size: int) -> tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]:
    """What the tokens, the positions and the head of a toy model hold."""
    random = numpy.random.default_rng(seed)
    return random.standard_normal((vocab_size, 8)), random.standard_normal((context_size, 8)), random.standard_normal((8, vocab_size))
