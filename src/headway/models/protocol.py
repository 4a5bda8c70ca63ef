"""Types of an architecture, as protocols that the modules of architectures satisfy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy

from headway.arrays import Array, Operations
from headway.functions import KVCache
from headway.models.past import KVCaches
from headway.models.source import Source
from headway.models.stored import Stored


class Config(Protocol):
    """The checked keys of config.json. Each architecture has a class of its own with more fields."""

    @property
    def vocab_size(self) -> int:
        """Number of token ids, those of the source for an encoder–decoder."""

    @property
    def max_seq_len(self) -> int | None:
        """Longest sequence that the positions support; None for no limit."""


class Weights(Protocol):
    """A weight tree. Each architecture has a class of its own with more fields."""

    @property
    def token_embedding(self) -> Array:
        """Shape (vocab_size, hidden_size)."""


class Architecture(Protocol):
    """A module of an architecture.

    A module defines the functions of its KIND only: check KIND before calling one that other kinds lack. Config and Weights are
    typed as Any where each architecture has a class of its own.
    """

    __name__: str
    KIND: str
    PREFIX: str
    IGNORED_TENSORS: str
    WITHOUT_EFFECT: tuple[str, ...]
    Config: type[Any]
    Weights: type[Any]

    def stored_weights(self, config: Any, /) -> dict[str, Stored]:
        """Return the place of each leaf of the weight tree in a checkpoint."""

    def redundant_tensor(self, name: str, shape: tuple[int, ...], config: Any, /) -> numpy.ndarray | None:
        """Return the values that a checkpoint's tensor must have because the architecture fixes them, or None. Marian only."""

    def config_keys(self, keys: Mapping[str, object], /) -> Mapping[str, object]:
        """Return the keys of config.json as Config names them. Architectures whose files have others only."""

    def saved_keys(self, keys: Mapping[str, object], /) -> dict[str, object]:
        """Return the fields of a Config as config.json names them: the inverse of config_keys. Such architectures only."""

    def spec(self, config: Any, /) -> Any:
        """Return the parts of the layers as data: a DecoderSpec, an EncoderSpec or an EncoderDecoderSpec, by KIND."""

    def new_kv_cache(self, config: Any, batch_size: int, max_seq_len: int, like: Array, /) -> Sequence[KVCache]:
        """Return an empty KV cache per layer. Decoders and encoder–decoders only."""

    def hidden_states(
        self,
        token_ids: Array,
        weights: Any,
        config: Any,
        /,
        *,
        source: Any = None,
        kv_cache: KVCaches = None,
        padding: Array | None = None,
        ops: Operations = ...,
    ) -> Array:
        """Return the final hidden states. Decoders, and encoder–decoders, which take a source and no padding."""

    def logits(self, hidden: Array, weights: Any, config: Any, /, *, ops: Operations = ...) -> Array:
        """Return the logits of hidden states. Decoders and encoder–decoders only."""

    def encode(
        self,
        token_ids: Array,
        weights: Any,
        config: Any,
        /,
        *,
        lengths: Array | None = None,
        token_types: Array | None = None,
        ops: Operations = ...,
    ) -> Array:
        """Return a vector for each token. Encoders, and encoder–decoders, which take no token types."""

    def read(self, token_ids: Array, weights: Any, config: Any, /, *, lengths: Array | None = None, ops: Operations = ...) -> Source:
        """Return the source as the decoder attends to it. Encoder–decoders only."""

    def masked_token_logits(self, hidden: Array, weights: Any, config: Any, /, *, ops: Operations = ...) -> Array:
        """Return the logits of the masked-token head. Encoders only."""

    def class_logits(self, hidden: Array, weights: Any, config: Any, /, *, lengths: Array | None = None, ops: Operations = ...) -> Array:
        """Return the logits of the classes of whole texts. Encoders only."""
