"""Interfaces of the objects that a runner runs: an architecture with its config and weights, a captured decoder, a KV cache."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Self

import numpy

from headway.arrays import Array, Operations


class Config(Protocol):
    """The part of a model's config that is read here."""

    @property
    def vocab_size(self) -> int:
        """Number of token ids of the prompt."""

    @property
    def max_seq_len(self) -> int | None:
        """Longest sequence that the model supports; None for no limit."""


class EncoderDecoderConfig(Config, Protocol):
    """The part of an encoder–decoder's config that is read here."""

    @property
    def decoder_vocab_size(self) -> int:
        """Number of token ids of the completion."""


class Weights(Protocol):
    """The part of a weight tree that is read here."""

    @property
    def token_embedding(self) -> Array:
        """Shape (vocab_size, hidden_size); the KV cache has its dtype and device."""


class KVCache(Protocol):
    """Keys and values of the rows of a batch, for one layer or for all."""

    def take(self, rows: Sequence[int], /) -> None:
        """Replace row i by a copy of rows[i]; a row may be taken several times, or dropped."""


class JoinableKVCache(KVCache, Protocol):
    """Keys and values of one layer, which can be joined with those of other rows."""

    @property
    def length(self) -> int:
        """Number of filled positions."""

    @classmethod
    def join(cls, caches: Sequence[Self], length: int, max_seq_len: int, /) -> Self:
        """Return the rows of several caches, aligned at their last positions; see headway.functions.KVCache."""


class Architecture(Protocol):
    """A decoder: a module of headway.models."""

    KIND: str

    def new_kv_cache(self, config: Config, batch_size: int, max_seq_len: int, like: Array, /) -> Sequence[KVCache]:
        """Return an empty KV cache per layer."""

    def hidden_states(
        self,
        token_ids: Array,
        weights: Weights,
        config: Config,
        /,
        *,
        kv_cache: Sequence[KVCache] | None = None,
        padding: Array | None = None,
        ops: Operations = ...,
    ) -> Array:
        """Return the final hidden states, (batch_size, seq_len, hidden_size)."""

    def logits(self, hidden: Array, weights: Weights, config: Config, /, *, ops: Operations = ...) -> Array:
        """Return the logits, (..., vocab_size)."""


class EncoderDecoderArchitecture(Protocol):
    """An encoder–decoder: a module of headway.models."""

    KIND: str

    def read(self, token_ids: Array, weights: Weights, config: Config, /, *, lengths: Array | None = None, ops: Operations = ...) -> object:
        """Run the encoder; return what the cross-attention of each decoder layer needs, as a tree of arrays."""

    def new_kv_cache(self, config: Config, batch_size: int, max_seq_len: int, like: Array, /) -> Sequence[KVCache]:
        """Return an empty KV cache per decoder layer."""

    def hidden_states(
        self,
        token_ids: Array,
        weights: Weights,
        config: Config,
        /,
        *,
        source: object,
        kv_cache: Sequence[KVCache] | None = None,
        ops: Operations = ...,
    ) -> Array:
        """Return the decoder's final hidden states, (batch_size, seq_len, hidden_size)."""

    def logits(self, hidden: Array, weights: Weights, config: Config, /, *, ops: Operations = ...) -> Array:
        """Return the logits, (..., vocab_size)."""


class CapturedDecoder(Protocol):
    """A decoder as one call per pass over a batch of rows, captured as CUDA graphs."""

    def new_cache(self, num_rows: int, max_seq_len: int, /) -> KVCache:
        """Return an empty KV cache for all layers."""

    def next_logits(self, token_ids: Sequence[Sequence[int]], cache: KVCache, /) -> numpy.ndarray:
        """Append tokens to every row; return the logits after the last token of each, (num_rows, vocab_size)."""

    def close(self) -> None:
        """Release the weights."""
