"""Embeddings: one vector per text, for search, clustering and comparison."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, cast

import numpy

from headway import functions
from headway.arrays import Array, Operations, array_namespace, from_numpy, to_numpy
from headway.checkpoints import Checkpoint
from headway.checkpoints.sentence_transformers import Dense, SentenceOptions
from headway.errors import NotFiniteError, OptionError, PromptError
from headway.language_model.batches import batches, check_texts, padded_length
from headway.runners.protocols import Config, Weights
from headway.tokenizers import Tokenizer

POOLS = {
    "cls": "first_token_pool",
    "max": "max_pool",
    "mean": "mean_pool",
    "mean_sqrt_len_tokens": "mean_pool",  # sum / √n, which is mean · √n
    "lasttoken": "last_token_pool",
}
"""Functions by the pooling mode in a model's files."""


class EmbeddingArchitecture(Protocol):
    """The functions of an architecture that embeddings use; a decoder has hidden_states, the others have encode."""

    KIND: str

    def hidden_states(
        self, token_ids: Array, weights: Weights, config: Config, /, *, padding: Array | None = None, ops: Operations = ...
    ) -> Array:
        """Return a decoder's final hidden states, (batch_size, seq_len, hidden_size)."""

    def encode(
        self, token_ids: Array, weights: Weights, config: Config, /, *, lengths: Array | None = None, ops: Operations = ...
    ) -> Array:
        """Return an encoder's final hidden states, (batch_size, seq_len, hidden_size)."""


class EmbeddingStack(Protocol):
    """A compiled decoder."""

    def hidden_states(self, token_ids: Sequence[int], /) -> numpy.ndarray:
        """Return the final hidden states of one text, (seq_len, hidden_size)."""


class TextEncoder(Protocol):
    """A compiled encoder."""

    def encode(self, texts: Sequence[Sequence[int]], token_types: Sequence[Sequence[int]] | None = None, /) -> list[numpy.ndarray]:
        """Return the final hidden states of each text, (seq_len, hidden_size)."""


@dataclass(frozen=True)
class Embedder:
    """A model with its tokenizer, and the pooling of hidden states into one vector per text.

    Every token of an encoder sees the whole text, a token of a decoder only the tokens before it.

    options  pooling and the steps after it, from the model's sentence-transformers files
    stack    compiled twin of a decoder; None runs the architecture
    encoder  compiled twin of an encoder; None runs the architecture
    owner    object that must live as long as the embedder, because it closes the stack
    """

    checkpoint: Checkpoint
    tokenizer: Tokenizer
    options: SentenceOptions = field(default_factory=SentenceOptions)
    array: str = "numpy"
    device: str | None = None
    ops: Operations = functions
    stack: EmbeddingStack | None = None
    encoder: TextEncoder | None = None
    owner: object = None

    def embed(
        self,
        texts: Sequence[str],
        *,
        batch_size: int = 32,
        is_normalized: bool | None = None,
        prompt: str | None = None,
        on_batch: Callable[[int], None] | None = None,
        on_cut: Callable[[list[int]], None] | None = None,
    ) -> numpy.ndarray:
        """Return the embeddings of texts, (num_texts, hidden_size) in float32. They do not depend on the batch.

        batch_size     maximum number of texts per batch; texts of similar length are batched together
        is_normalized  True scales every vector to length 1, False leaves it; None does what the model's files say, and
                       normalizes if they do not say
        prompt         name of a prompt in the model's files, which is put before every text; None for the model's default
                       prompt, "" for no prompt
        on_batch       called with the number of finished texts after each batch
        on_cut         called with the indices of the texts that are truncated, if any

        A text longer than max_seq_len is truncated at its end; special tokens such as [CLS] and [SEP] are kept.

        Errors   PromptError for no texts, a text that is not a string, or a text without tokens; OptionError for an unknown
                 prompt or a wrong batch_size; NotFiniteError if a vector has NaN or infinite components.
        """
        texts, start = check_texts(texts, batch_size), self._prompt(prompt)
        rows = [self._token_ids(start + text) for text in texts]
        limit = sys.maxsize if self.max_seq_len is None else self.max_seq_len
        cut = [index for index, row in enumerate(rows) if len(row) > limit]
        if cut and on_cut:
            on_cut(cut)
        for index in cut:
            rows[index] = self._cut(start + texts[index], rows[index], limit)
        num_unpooled = 0 if self.options.includes_prompt else self._prompt_len(start)
        empty = [index for index, row in enumerate(rows) if len(row) <= num_unpooled]
        if empty:
            raise PromptError(
                f"got text {empty[0]}, {texts[empty[0]]!r}, without a token to pool, expected at least one", hint="remove the text"
            )
        vectors: dict[int, numpy.ndarray] = {}
        for chosen in batches([len(row) for row in rows], batch_size):
            vectors |= zip(chosen, self._batch([rows[index] for index in chosen], num_unpooled), strict=True)
            if on_batch:
                on_batch(len(vectors))
        return self._finish(numpy.stack([vectors[index] for index in range(len(rows))]), is_normalized)

    def similarity(self, one: numpy.ndarray, others: numpy.ndarray) -> numpy.ndarray:
        """Return the similarity of `one` (hidden_size,) to each of `others` (num_texts, hidden_size); larger is more similar.

        The model's files choose the measure:

        cosine           one · other / (|one| · |other|), the default
        dot              one · other
        euclidean        -√Σ (one - other)²
        manhattan        -Σ |one - other|
        """
        kind = self.options.similarity
        if kind in ("euclidean", "manhattan"):
            distances: numpy.ndarray = numpy.linalg.norm(others - one, ord=2 if kind == "euclidean" else 1, axis=-1)
            return -distances
        products: numpy.ndarray = others @ one if kind == "dot" else functions.normalize(others) @ functions.normalize(one)
        return products

    def prompt_name(self, *candidates: str) -> str:
        """Return the first of these names that the model has a prompt for, or ""."""
        return next((name for name in candidates if name in self.options.prompts), "")

    @property
    def max_seq_len(self) -> int | None:
        """Maximum number of tokens of a text, special tokens included; None for no limit."""
        limits = [each for each in (self.options.max_seq_length, self.checkpoint.config.max_seq_len) if each is not None]
        return min(limits, default=None)

    def _prompt(self, name: str | None) -> str:
        prompts = self.options.prompts
        name = self.options.default_prompt_name if name is None else name
        if name is not None and not isinstance(name, str):
            raise OptionError(f"got prompt={name!r:.100}, expected the name of a prompt", hint="leave prompt out")
        if name and name not in prompts:
            expected = f"one of {', '.join(prompts)}" if prompts else "no prompt, because the model's files name none"
            raise OptionError(f"got prompt={name!r:.100}, expected {expected}", hint="leave prompt out")
        return prompts[name] if name else ""

    def _token_ids(self, text: str) -> list[int]:
        """Return the token ids of a text, special tokens included."""
        return self.tokenizer.encode(self._cased(text))

    def _cut(self, text: str, token_ids: list[int], limit: int) -> list[int]:
        """Truncate a text's token ids to `limit`, keeping the special tokens at both ends."""
        num_before, content = self._parts(self._cased(text), token_ids)
        num_kept = max(limit - len(token_ids) + len(content), 0)
        return [*token_ids[:num_before], *content[:num_kept], *token_ids[num_before + len(content) :]][:limit]

    def _cased(self, text: str) -> str:
        return text.lower() if self.options.do_lower_case else text

    def _parts(self, text: str, token_ids: list[int]) -> tuple[int, list[int]]:
        """Return the number of special tokens before a text, and the token ids of the text itself."""
        content = self.tokenizer.encode(text, add_special_tokens=False)
        for before in range(len(token_ids) - len(content) + 1):
            if token_ids[before : before + len(content)] == content:
                return before, content
        return 0, token_ids

    def _prompt_len(self, prompt: str) -> int:
        """Return the number of tokens of a prompt and the special tokens before it; 0 for no prompt."""
        before, content = self._parts(prompt, self.tokenizer.encode(prompt)) if prompt else (0, [])
        return before + len(content)

    def _batch(self, rows: Sequence[Sequence[int]], num_unpooled: int) -> numpy.ndarray:
        """Return the pooled vectors of a batch. Decoders are padded on the left, so that the last token is in the last column."""
        if self.encoder:
            texts = [hidden[num_unpooled:][None] for hidden in self.encoder.encode(rows)]
            return numpy.concatenate([self._pool(hidden, numpy.ones(hidden.shape[:2], bool)) for hidden in texts])
        lengths = numpy.array([len(row) for row in rows])
        seq_len = padded_length(int(lengths.max()), self.array, self.checkpoint.config.max_seq_len)
        is_left = self.checkpoint.architecture.KIND == "decoder"
        is_real = functions.padding_mask(lengths, seq_len, is_left=is_left)[:, 0, 0, :]
        token_ids = numpy.zeros((len(rows), seq_len), numpy.int64)
        token_ids[is_real] = [token_id for row in rows for token_id in row]
        first = (seq_len - lengths if is_left else 0 * lengths) + num_unpooled
        is_pooled = is_real & (numpy.arange(seq_len) >= first[:, None])
        hidden = self._hidden(token_ids, lengths if not is_real.all() else None)
        return self._pool(hidden, is_pooled)

    def _hidden(self, token_ids: numpy.ndarray, lengths: numpy.ndarray | None) -> Array:
        """Return the hidden states of every token, padding included."""
        model = self.checkpoint
        if self.stack:
            starts = numpy.zeros(len(token_ids), int) if lengths is None else token_ids.shape[1] - lengths
            hidden = numpy.zeros((*token_ids.shape, model.weights.token_embedding.shape[-1]), numpy.float32)
            for row, tokens, start in zip(hidden, token_ids, starts, strict=True):
                row[start:] = self.stack.hidden_states(tokens[start:].tolist())
            return hidden
        arguments = (self._array(token_ids), model.weights, model.config)
        architecture = cast(EmbeddingArchitecture, model.architecture)
        if architecture.KIND == "decoder":
            padding = None if lengths is None else self._array(token_ids.shape[1] - lengths)
            return architecture.hidden_states(*arguments, padding=padding, ops=self.ops)
        return architecture.encode(*arguments, lengths=None if lengths is None else self._array(lengths), ops=self.ops)

    def _pool(self, hidden: Array, is_pooled: numpy.ndarray) -> numpy.ndarray:
        mask, parts = self._array(is_pooled), []
        for name in self.options.pools:
            pooled = to_numpy(getattr(self.ops, POOLS[name])(hidden, mask)).astype(numpy.float32)
            root = numpy.sqrt(is_pooled.sum(axis=1, dtype=numpy.float32))[:, None]
            parts.append(pooled * root if name == "mean_sqrt_len_tokens" else pooled)
        return numpy.concatenate(parts, axis=-1)

    def _finish(self, vectors: numpy.ndarray, is_normalized: bool | None) -> numpy.ndarray:
        """Apply the steps after the pooling, in NumPy."""
        for step in self.options.steps:
            if isinstance(step, Dense):
                vectors = activation_function(step.activation)(functions.linear(vectors, step.weight, step.bias))
            elif is_normalized is not False:
                vectors = functions.normalize(vectors)
        vectors = vectors[:, : self.options.truncate_dim]
        wrong = numpy.flatnonzero(~numpy.isfinite(vectors).all(axis=-1))
        if wrong.size:
            raise NotFiniteError(
                f"got a vector with NaN or infinite components for text {wrong[0]}, expected finite numbers",
                hint="load the model with dtype='float32', or download it again",
            )
        return functions.normalize(vectors) if is_normalized else vectors

    def _array(self, values: numpy.ndarray) -> Array:
        array: Array = from_numpy(values, self.array, self.device)
        return array


def activation_function(name: str | None) -> Callable[[numpy.ndarray], numpy.ndarray]:
    """Return an activation by its name in sentence_transformers.ACTIVATIONS."""
    if name is None:
        return lambda x: x
    return (lambda x: array_namespace(x).tanh(x)) if name == "tanh" else getattr(functions, name)
