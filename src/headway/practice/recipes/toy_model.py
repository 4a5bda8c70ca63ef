"""A language model small enough to be asked thousands of times, which takes token ids as anyone hands them over."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy

from headway.arrays import array_namespace, from_numpy, to_numpy
from headway.practice.recipes.toy_cache import Caches, ToyCache


class NoCacheError(Exception):
    """A call without the cache that it needs: no mistake in the shapes, and so none that a mistake of a recipe's may equal."""


@dataclass(frozen=True)
class ToyModel:
    """Causal, with positions, and with no room beyond context_size; another seed is another model.

    form          what it returns: "logits", "pair" (logits, cache), "attribute" (.logits), "last" (of the last position only) or "lists"
    needs_cache   whether it must be given what it remembers in every call but the first
    caches        what it remembers
    """

    seed: int = 0
    vocab_size: int = 11
    context_size: int = 6
    form: str = "logits"
    needs_cache: bool = False
    caches: Caches = field(default_factory=Caches, compare=False)

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

    def needing_cache(self) -> ToyModel:
        """The same model, which refuses a second call without a cache."""
        return replace(self, needs_cache=True)

    def __call__(self, token_ids: Any, *rest: Any, **named: Any) -> Any:
        """The logits of the tokens, which stand behind those of the cache, in the library of the token ids; NumPy's for lists.

        Errors   TypeError for what are no token ids; NoCacheError where a cache is needed and missing.
        """
        is_array = hasattr(token_ids, "shape")
        given = to_numpy(token_ids) if is_array else numpy.asarray(token_ids, dtype=numpy.int64)
        if given.dtype.kind not in "iu":
            raise TypeError(f"token ids are whole numbers; came {given.dtype}")
        cache = self.caches.of_call(given.shape[-1], rest, named, is_returned=self.form in ("pair", "attribute"))
        if self.needs_cache and self.caches.num_calls and not cache.length:
            raise NoCacheError("the model was called before, and is not given what it returned then")
        self.caches.num_calls += 1
        logits = self.logits(cache.joined(given))[..., -given.shape[-1] :, :]
        logits = logits[..., -1, :] if self.form == "last" else logits
        if self.form == "lists":
            return logits.tolist()
        if is_array and not isinstance(token_ids, numpy.ndarray):
            namespace = array_namespace(token_ids).__name__
            library = next(name for name in ("torch", "jax", "mlx") if name in namespace)
            logits = from_numpy(logits.astype(numpy.float32), library)
        if self.form == "pair":
            return logits, cache
        return SimpleNamespace(logits=logits, past_key_values=cache) if self.form == "attribute" else logits

    forward = __call__

    def forget(self) -> None:
        """As if it had never been called."""
        self.caches.forget()

    reset_kv_cache = reset_cache = clear_cache = clear_kv_cache = reset_caches = forget

    def make_cache(self) -> ToyCache:
        """A cache for one text."""
        return ToyCache()

    init_cache = new_cache = init_kv_cache = make_cache

    @property
    def layers(self) -> list[None]:
        """As many as it says it has: what people make a cache for."""
        return [None] * self.config.num_hidden_layers

    @property
    def config(self) -> SimpleNamespace:
        """Its sizes, by the names that they have elsewhere."""
        names = ("context_size", "block_size", "n_positions", "context_length", "max_seq_len", "n_ctx", "max_position_embeddings")
        layers = dict.fromkeys(("n_layer", "n_layers", "num_layers", "num_hidden_layers"), 2)
        return SimpleNamespace(vocab_size=self.vocab_size, **dict.fromkeys(names, self.context_size), **layers)

    @property
    def cfg(self) -> dict[str, int]:
        """The same as a dict."""
        return vars(self.config)

    @property
    def pos_emb(self) -> SimpleNamespace:
        """As large as its table of positions, which some ask for its context."""
        return SimpleNamespace(num_embeddings=self.context_size, weight=numpy.zeros((self.context_size, 1)))

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
