"""Text to vectors, one per text: for search, grouping and comparison."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy

from headway import functions
from headway.arrays import Array, Operations, array_namespace, from_numpy, to_numpy
from headway.checkpoints import Checkpoint
from headway.checkpoints.sentence_transformers import Dense, SentenceOptions
from headway.errors import NotFiniteError, OptionError, PromptError
from headway.tokenizers import Tokenizer

POOLS = {
    "cls": "first_token_pool",
    "max": "max_pool",
    "mean": "mean_pool",
    "mean_sqrt_len_tokens": "mean_pool",  # the sum over √n: the mean times √n
    "lasttoken": "last_token_pool",
}
"""What a folder calls a way to pool, and the function that it is."""

JAX_LENGTHS = 16
"""JAX compiles anew for every shape, so there a batch is padded to a multiple of this."""


@dataclass(frozen=True)
class Embedder:
    """A model, its tokenizer, and how the vectors of a text's tokens become one.

    An encoder and an encoder–decoder's encoder see the whole text from every token, a decoder what came before it.
    """

    checkpoint: Checkpoint
    tokenizer: Tokenizer
    options: SentenceOptions = field(default_factory=SentenceOptions)
    array: str = "numpy"
    device: str | None = None
    ops: Operations = functions
    stack: Any = None

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
        """Vectors of the texts, (num_texts, hidden_size) in float32; each is what its text alone would get.

        batch_size     how many texts run together at most; only those of about the same length do
        is_normalized  whether every vector has length 1; what the folder says by default, and True where it says nothing
        prompt         the name of a prompt of the folder's, put before every text; the folder's default one by default, "" for none
        on_batch       called with the number of texts done, after each batch
        on_cut         called with the indices of the texts that are cut, where there are any

        A text longer than max_seq_len is cut at its end; the tokens that stand around every text stay.

        Errors   PromptError for no texts, one that is no string, or one without a token; OptionError for an unknown prompt;
                 NotFiniteError where the model's numbers are NaN or infinite.
        """
        texts, start = self._checked(texts, batch_size), self._prompt(prompt)
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
                f"came: text {empty[0]}, {texts[empty[0]]!r}, which has no token to pool; expected: at least one; take it out"
            )
        vectors: dict[int, numpy.ndarray] = {}
        for chosen in _batches([len(row) for row in rows], batch_size):
            vectors |= zip(chosen, self._batch([rows[index] for index in chosen], num_unpooled), strict=True)
            if on_batch:
                on_batch(len(vectors))
        return self._finish(numpy.stack([vectors[index] for index in range(len(rows))]), is_normalized)

    def similarity(self, one: numpy.ndarray, others: numpy.ndarray) -> numpy.ndarray:
        """How near vectors (num_texts, hidden_size) are to one (hidden_size,), larger being nearer, as the folder compares them.

        cosine           one · other / (|one| · |other|), the default
        dot              one · other
        euclidean        -√Σ (one - other)²
        manhattan        -Σ |one - other|
        """
        kind = self.options.similarity
        if kind in ("euclidean", "manhattan"):
            return -numpy.linalg.norm(others - one, ord=2 if kind == "euclidean" else 1, axis=-1)
        return others @ one if kind == "dot" else functions.normalize(others) @ functions.normalize(one)

    def prompt_name(self, *candidates: str) -> str:
        """The first of these names that the folder has a prompt for; "" for none."""
        return next((name for name in candidates if name in self.options.prompts), "")

    @property
    def max_seq_len(self) -> int | None:
        """How many tokens of a text are read, those around it included; None: all."""
        limits = [each for each in (self.options.max_seq_length, self.checkpoint.config.max_seq_len) if each is not None]
        return min(limits, default=None)

    def _checked(self, texts: Sequence[str], batch_size: int) -> list[str]:
        if isinstance(texts, str):
            raise PromptError("came: one text; expected: a list of texts; write [text]")
        wrong = [each for each in texts if not isinstance(each, str)]
        if wrong:
            raise PromptError(f"came: {wrong[0]!r} among the texts; expected: strings")
        if not len(texts):
            raise PromptError("came: no texts; expected: at least one")
        if batch_size < 1:
            raise OptionError(f"came: batch_size={batch_size}; expected: at least 1")
        return list(texts)

    def _prompt(self, name: str | None) -> str:
        prompts = self.options.prompts
        name = self.options.default_prompt_name if name is None else name
        if name and name not in prompts:
            expected = f"one of the model's own, {', '.join(prompts)}" if prompts else "none; this model names no prompts; leave it out"
            raise OptionError(f"came: prompt={name!r}; expected: {expected}")
        return prompts[name] if name else ""

    def _token_ids(self, text: str) -> list[int]:
        """All token ids of a text."""
        return self.tokenizer.encode(self._cased(text))

    def _cut(self, text: str, token_ids: list[int], limit: int) -> list[int]:
        """A text's token ids, cut to so many between what stands around every text."""
        before, content = self._parts(self._cased(text), token_ids)
        room = max(limit - len(token_ids) + len(content), 0)
        return [*token_ids[:before], *content[:room], *token_ids[before + len(content) :]][:limit]

    def _cased(self, text: str) -> str:
        return text.lower() if self.options.do_lower_case else text

    def _parts(self, text: str, token_ids: list[int]) -> tuple[int, list[int]]:
        """How many tokens stand before a text's own, and the text's own."""
        content = self.tokenizer.encode(text, add_special_tokens=False)
        for before in range(len(token_ids) - len(content) + 1):
            if token_ids[before : before + len(content)] == content:
                return before, content
        return 0, token_ids

    def _prompt_len(self, prompt: str) -> int:
        """How many tokens a prompt takes at the beginning of a text, those before every text included; 0 for none."""
        before, content = self._parts(prompt, self.tokenizer.encode(prompt)) if prompt else (0, [])
        return before + len(content)

    def _batch(self, rows: Sequence[Sequence[int]], num_unpooled: int) -> numpy.ndarray:
        """The pooled vectors of some token ids, padded to the longest: before them for a decoder, whose last token is to be the last."""
        lengths = numpy.array([len(row) for row in rows])
        seq_len, is_left = self._padded(int(lengths.max())), self.checkpoint.architecture.KIND == "decoder"
        is_real = functions.padding_mask(lengths, seq_len, is_left=is_left)[:, 0, 0, :]
        token_ids = numpy.zeros((len(rows), seq_len), numpy.int64)
        token_ids[is_real] = [token_id for row in rows for token_id in row]
        first = (seq_len - lengths if is_left else 0 * lengths) + num_unpooled
        is_pooled = is_real & (numpy.arange(seq_len) >= first[:, None])
        hidden = self._hidden(token_ids, lengths if not is_real.all() else None)
        return self._pool(hidden, is_pooled)

    def _padded(self, longest: int) -> int:
        if self.array != "jax":
            return longest
        rounded = -(-longest // JAX_LENGTHS) * JAX_LENGTHS
        return max(longest, min(rounded, self.checkpoint.config.max_seq_len or rounded))

    def _hidden(self, token_ids: numpy.ndarray, lengths: numpy.ndarray | None) -> Array:
        """The model's vectors of every token, padding included."""
        model = self.checkpoint
        if self.stack:
            starts = numpy.zeros(len(token_ids), int) if lengths is None else token_ids.shape[1] - lengths
            hidden = numpy.zeros((*token_ids.shape, model.weights.token_embedding.shape[-1]), numpy.float32)
            for row, tokens, start in zip(hidden, token_ids, starts, strict=True):
                row[start:] = self.stack.hidden_states(tokens[start:].tolist())
            return hidden
        arguments = (self._array(token_ids), model.weights, model.config)
        if model.architecture.KIND == "decoder":
            padding = None if lengths is None else self._array(token_ids.shape[1] - lengths)
            return model.architecture.hidden_states(*arguments, padding=padding, ops=self.ops)
        return model.architecture.encode(*arguments, lengths=None if lengths is None else self._array(lengths), ops=self.ops)

    def _pool(self, hidden: Array, is_pooled: numpy.ndarray) -> numpy.ndarray:
        mask, parts = self._array(is_pooled), []
        for name in self.options.pools:
            pooled = to_numpy(getattr(self.ops, POOLS[name])(hidden, mask)).astype(numpy.float32)
            root = numpy.sqrt(is_pooled.sum(axis=1, dtype=numpy.float32))[:, None]
            parts.append(pooled * root if name == "mean_sqrt_len_tokens" else pooled)
        return numpy.concatenate(parts, axis=-1)

    def _finish(self, vectors: numpy.ndarray, is_normalized: bool | None) -> numpy.ndarray:
        """What follows the pooling, in NumPy: it is little work."""
        for step in self.options.steps:
            if isinstance(step, Dense):
                vectors = _activation(step.activation)(functions.linear(vectors, step.weight, step.bias))
            elif is_normalized is not False:
                vectors = functions.normalize(vectors)
        vectors = vectors[:, : self.options.truncate_dim]
        wrong = numpy.flatnonzero(~numpy.isfinite(vectors).all(axis=-1))
        if wrong.size:
            raise NotFiniteError(
                f"came: a vector with NaN or infinite numbers for text {wrong[0]}; expected: finite ones; "
                "load the model in float32, or download it again"
            )
        return functions.normalize(vectors) if is_normalized else vectors

    def _array(self, values: numpy.ndarray) -> Array:
        return from_numpy(values, self.array, self.device)


def _batches(lengths: Sequence[int], batch_size: int) -> Iterator[list[int]]:
    """Indices of texts to run together, the longest first; in each batch no text is shorter than half of the longest."""
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda index: lengths[index], reverse=True):
        if batch and (len(batch) == batch_size or 2 * lengths[index] < lengths[batch[0]]):
            yield batch
            batch = []
        batch.append(index)
    yield batch


def _activation(name: str | None) -> Callable[[Array], Array]:
    if name is None:
        return lambda x: x
    return (lambda x: array_namespace(x).tanh(x)) if name == "tanh" else getattr(functions, name)
