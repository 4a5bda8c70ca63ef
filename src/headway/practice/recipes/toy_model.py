"""A tiny language model that is fast enough for thousands of calls and accepts token ids in any form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy

from headway.arrays import array_namespace, from_numpy, to_numpy
from headway.practice.message import BilingualError, CallError, TokenIndexError
from headway.practice.outputs import OwnData
from headway.practice.recipes.toy_cache import Caches, ToyCache
from headway.practice.texts import Texts

TEXTS = Texts("shared/toy_model")


class Fields(dict[str, Any]):
    """A dict whose values are attributes, too, as a config and the output of a model may be read."""

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return self[name]
        raise AttributeError(name)


class Config(Fields):
    """The sizes of a model, of which the context size is found under any name that means it."""

    def __missing__(self, name: str) -> int:
        if means_context(name):
            return int(self["context_size"])
        raise KeyError(name)

    def __getattr__(self, name: str) -> Any:
        return self["context_size"] if name not in self and means_context(name) else super().__getattr__(name)


class Device(str):
    """The name of a device, with its type as of torch.device."""

    __slots__ = ()

    @property
    def type(self) -> str:
        """The kind of the device."""
        return str(self)


CPU = Device("cpu")


class Part(SimpleNamespace):
    """A part of a model with some of its attributes; a class of its own, so that a missing attribute is known to be no mistake."""


TABLES = ("pos_embed", "pos_emb", "position_embed", "position_embedding", "pos_embedding", "wpe")
"""Names of the table of positions of an embedding."""


def like(values: numpy.ndarray, array: Any) -> Any:
    """Return numbers in the array library of an array: unchanged for NumPy and for what is no array."""
    if isinstance(array, numpy.ndarray) or not hasattr(array, "shape"):
        return values
    namespace = array_namespace(array).__name__
    library = next(name for name in ("torch", "jax", "mlx") if name in namespace)
    return from_numpy(numpy.asarray(values, numpy.float32), library)


class NoCacheError(BilingualError):
    """A call without the required cache; not a shape error, so it never equals the outcome of a mistake."""


OF_CONTEXT = r"(max|context|ctx|block|chunk|window|seq(uence)?|n|max_(seq(uence)?|context|ctx))_?(len(gth)?|size|ctx|seq_len|tokens|positions|window)|(max_)?(context|ctx)"
"""Pattern of the names of a context size."""


def means_context(name: str) -> bool:
    """Return True for a name that means a context size, such as WINDOW_SIZE."""
    return re.fullmatch(OF_CONTEXT, name.lower().lstrip("_")) is not None


TUPLES = ("pair", "triple", "flat pair")
"""Forms of output in which a cache follows the logits."""


DECIDED = 1.9
"""Largest sum of the probabilities, relative to the likeliest, at which that one has more than half."""


@dataclass(frozen=True)
class ToyModel:
    """Causal model with positions and a context of context_size tokens; the seed determines its weights.

    form          output: "logits", "pair" (logits, cache), "triple" (logits, None, cache), "attribute" (.logits, ["logits"]), "last" (last position
                  only), "flat pair" (logits of all rows in one matrix, cache) or "lists"
    needs_cache   True if every call but the first requires a cache
    caches        the caches
    """

    seed: int = 0
    vocab_size: int = 11
    context_size: int = 6
    form: str = "logits"
    needs_cache: bool = False
    caches: Caches = field(default_factory=Caches, compare=False)

    def __post_init__(self) -> None:
        weights(self.seed, self.vocab_size, self.context_size)  # drawn now, before the random generators are replaced

    def logits(self, token_ids: numpy.ndarray) -> numpy.ndarray:
        """Map (..., seq_len) to (..., seq_len, vocab_size).

        Errors   IndexError for more tokens than context_size, and for an id outside the vocabulary.
        """
        length = token_ids.shape[-1]
        if length > self.context_size:
            raise TokenIndexError(TEXTS["too_many_tokens"].format(length=length, limit=self.context_size))
        if length == 0:
            raise TokenIndexError(TEXTS["no_token"])
        embedding, positions, head = weights(self.seed, self.vocab_size, self.context_size)
        x = embedding[token_ids] + positions[:length]
        memory, states = numpy.zeros_like(x[..., 0, :]), []
        for place in range(length):
            memory = 0.5 * numpy.roll(memory, 1, axis=-1) + x[..., place, :]
            states.append(memory)
        return numpy.stack(states, axis=-2) @ head

    def decides(self, prompt: numpy.ndarray, num_tokens: int) -> bool:
        """Return True if more than half of the probability is that of one token at every step: then a uniform number of 0.5 leads to it."""
        ids = numpy.atleast_2d(prompt)
        for _ in range(num_tokens):
            logits = self.logits(ids[:, -self.context_size :])[:, -1]
            powers = numpy.exp(logits - logits.max(-1, keepdims=True))
            if powers.sum(-1).max() > DECIDED:
                return False
            ids = numpy.concatenate([ids, logits.argmax(-1)[:, None]], 1)
        return True

    def returning(self, form: str) -> ToyModel:
        """Return the model with another form of output."""
        return replace(self, form=form)

    def needing_cache(self) -> ToyModel:
        """Return the model with a required cache after the first call."""
        return replace(self, needs_cache=True)

    def __call__(self, token_ids: Any, *rest: Any, **named: Any) -> Any:
        """Return the logits of the tokens, which follow those in the cache, in the array library of the token ids.

        Errors   TypeError for values that are not token ids; NoCacheError for a missing cache.
        """
        given = to_numpy(token_ids) if hasattr(token_ids, "shape") else numpy.asarray(token_ids, dtype=numpy.int64)
        if given.dtype.kind not in "iu":
            raise CallError(TEXTS["not_integers"].format(dtype=given.dtype))
        cache = self.caches.of_call(given.shape[-1], rest, named, is_returned=self.form in (*TUPLES, "attribute"))
        if self.form in TUPLES and cache.is_returned:  # one that the caller made is changed in place
            cache = cache.following()
        if self.needs_cache and self.caches.received and not cache.length:
            raise NoCacheError(TEXTS["no_cache"])
        self.caches.received.append(given)
        logits = self.logits(cache.joined(given))[..., -given.shape[-1] :, :]
        logits = logits[..., -1, :] if self.form == "last" else logits
        if self.form == "lists":
            return logits.tolist()
        output: Any = like(logits.view(OwnData), token_ids)
        if self.form in TUPLES:
            output = output.reshape(-1, self.vocab_size) if self.form == "flat pair" else output
            return (output, None, cache) if self.form == "triple" else (output, cache)
        return Fields(logits=output, past_key_values=cache) if self.form == "attribute" else output

    forward = __call__

    def apply(self, variables: Any, token_ids: Any, **named: Any) -> Any:
        """Return the logits of the tokens as a module of Flax does, which is passed its weights."""
        return self(token_ids)

    def forget(self, *sizes: Any, **named: Any) -> None:
        """Reset all caches, whatever their sizes are."""
        self.caches.forget()

    setup_cache = setup_caches = setup_kv_cache = set_up_cache = forget
    reset_kv_cache = reset_cache = clear_cache = clear_kv_cache = reset_caches = forget

    def make_cache(self, *sizes: Any, **named_sizes: Any) -> ToyCache:
        """Return a cache for one sequence."""
        return ToyCache()

    init_cache = new_cache = init_kv_cache = make_cache

    @property
    def layers(self) -> list[None]:
        """List as long as the number of layers, as used to create caches."""
        return [None] * self.config.num_hidden_layers

    @property
    def config(self) -> Fields:
        """Sizes under the names of several libraries, as attributes and as keys."""
        names = ("context_size", "block_size", "n_positions", "context_length", "max_seq_len", "n_ctx", "max_position_embeddings")
        layers = dict.fromkeys(("n_layer", "n_layers", "num_layers", "num_hidden_layers"), 2)
        return Config(vocab_size=self.vocab_size, **dict.fromkeys(names, self.context_size), **layers)

    cfg = args = params = hparams = config

    @property
    def pos_emb(self) -> Part:
        """Table of positions, whose number of rows is the context size."""
        weight = numpy.zeros((self.context_size, 1))
        return Part(num_embeddings=self.context_size, weight=weight, shape=weight.shape)

    @property
    def lm_head(self) -> Part:
        """Layer of which only the device and the dtype are known, and its table of positions if it has one."""
        return Part(weight=next(self.parameters()), **dict.fromkeys(TABLES, self.pos_emb))

    head = output = tok_emb = token_embedding = token_emb = embedding = wte = lm_head

    def parameters(self) -> Iterator[Part]:
        """Yield an object with the device and the dtype of the weights."""
        yield Part(device=self.device, dtype=None)

    def __getattr__(self, name: str) -> Any:
        """Return the context size under any name that means it, methods that return sizes (`get_block_size`), and the table of positions under its names.

        Errors   AttributeError for other names
        """
        if means_context(name):
            return self.context_size
        if name in TABLES:
            return self.pos_emb
        if means_context(name.removeprefix("get_")):
            return lambda: self.context_size
        if name == "get_vocab_size":
            return lambda: self.vocab_size
        raise AttributeError(name)

    training = debug = verbose = False
    device = CPU

    def to(self, *options: Any, **named: Any) -> ToyModel:
        """Return self, like the methods of a module that move it or set its mode."""
        return self

    eval = train = to


@lru_cache
def weights(seed: int, vocab_size: int, context_size: int) -> tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]:
    """Return the token embedding, position embedding and output head of a toy model."""
    random = numpy.random.default_rng(seed)
    return random.standard_normal((vocab_size, 8)), random.standard_normal((context_size, 8)), random.standard_normal((8, vocab_size))
