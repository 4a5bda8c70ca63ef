"""Classes of texts, and the relevance of texts to a query, by encoders with a sequence-classification head."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Protocol, TypeAlias, cast

import numpy

from headway import functions
from headway.arrays import Array, Operations, from_numpy, to_numpy
from headway.checkpoints import Checkpoint
from headway.checkpoints.classification import ClassifierOptions
from headway.engine.option_kinds import is_integer
from headway.errors import NotFiniteError, OptionError, PromptError, UnsupportedError
from headway.functions import Matrix
from headway.language_model.batches import batches, check_texts, padded_length
from headway.language_model.embedding import TextEncoder, activation_function
from headway.runners.protocols import Config, Weights
from headway.tokenizers import Tokenizer

Text: TypeAlias = str | tuple[str, str]
"""A text, or a pair of texts such as a premise and a hypothesis."""


@dataclass(frozen=True)
class Label:
    """A class of a text, and its probability; for a regression, the number that was predicted."""

    name: str
    score: float


@dataclass(frozen=True)
class Ranked:
    """A text with its position among the given ones, and its relevance to the query; larger is more relevant."""

    index: int
    score: float
    text: str


class ClassifyingArchitecture(Protocol):
    """The functions of an encoder with a classifier."""

    def spec(self, config: Config, /) -> Any:
        """Return the parts of the model as data: see headway.models.encoder_spec."""

    def encode(
        self,
        token_ids: Array,
        weights: Weights,
        config: Config,
        /,
        *,
        lengths: Array | None = None,
        token_types: Array | None = None,
        ops: Operations = ...,
    ) -> Array:
        """Return the final hidden states, (batch_size, seq_len, hidden_size)."""

    def class_logits(
        self, hidden: Array, weights: Weights, config: Config, /, *, lengths: Array | None = None, ops: Operations = ...
    ) -> Array:
        """Return the logits, (batch_size, num_labels)."""


@dataclass(frozen=True)
class Classifier:
    """An encoder with a classifier and its tokenizer.

    options  names of the labels and the activation of the scores, from the model's files
    encoder  compiled twin of the encoder; None runs the architecture
    """

    checkpoint: Checkpoint
    tokenizer: Tokenizer
    options: ClassifierOptions = field(default_factory=lambda: ClassifierOptions({}))
    array: str = "numpy"
    device: str | None = None
    ops: Operations = functions
    encoder: TextEncoder | None = None

    def __post_init__(self) -> None:
        if getattr(self.checkpoint.weights, "classifier", None) is None:
            raise UnsupportedError(
                f"got a model of kind {self.checkpoint.architecture.KIND!r} without a classifier, expected an encoder with one, "
                "such as a reranker",
                hint="use a checkpoint saved from a class such as BertForSequenceClassification",
            )

    def logits(
        self,
        texts: Sequence[Text],
        *,
        batch_size: int = 32,
        on_batch: Callable[[int], None] | None = None,
        on_cut: Callable[[list[int]], None] | None = None,
    ) -> numpy.ndarray:
        """Return the logits of the classes of texts, or of pairs of texts, (num_texts, num_labels) in float32.

        batch_size   maximum number of texts per batch; texts of similar length are batched together
        on_batch     called with the number of finished texts after each batch
        on_cut       called with the indices of the texts that are truncated, if any

        A text longer than max_seq_len is truncated at its end; of a pair, the longer text first.

        Errors   PromptError for no texts, a text that is not a string or a pair of strings, or one without tokens; OptionError for a
                 wrong batch_size; NotFiniteError if a logit is NaN or infinite.
        """
        texts = check_texts(texts, batch_size, may_be_pairs=True)
        limit = sys.maxsize if self.max_seq_len is None else self.max_seq_len
        rows = [self.tokenizer.encode_pair(*((each, None) if isinstance(each, str) else each), max_len=limit) for each in texts]
        empty = next((index for index, row in enumerate(rows) if not row.token_ids), None)
        if empty is not None:
            raise PromptError(
                f"got text {empty}, {texts[empty]!r:.100}, without tokens, expected at least one",
                hint="remove the text; this model's tokenizer adds no special tokens",
            )
        cut = [index for index, row in enumerate(rows) if row.is_cut]
        if cut and on_cut:
            on_cut(cut)
        logits: dict[int, numpy.ndarray] = {}
        for chosen in batches([len(row.token_ids) for row in rows], batch_size):
            token_ids, types = ([getattr(rows[index], name) for index in chosen] for name in ("token_ids", "token_types"))
            logits |= zip(chosen, self._batch(token_ids, types), strict=True)
            if on_batch:
                on_batch(len(logits))
        result = numpy.stack([logits[index] for index in range(len(rows))])
        wrong = numpy.flatnonzero(~numpy.isfinite(result).all(axis=-1))
        if wrong.size:
            raise NotFiniteError(
                f"got NaN or infinity among the logits of text {wrong[0]}, expected finite numbers",
                hint="load the model with dtype='float32', or download it again",
            )
        return result

    def classify(
        self,
        texts: Sequence[Text],
        *,
        top_k: int | None = None,
        batch_size: int = 32,
        on_batch: Callable[[int], None] | None = None,
        on_cut: Callable[[list[int]], None] | None = None,
    ) -> list[list[Label]]:
        """Return the labels of each text, the most likely first.

        top_k   number of labels per text; all by default

        The scores are those of transformers' pipeline: a softmax over the labels; a sigmoid per label if there is one label, or if the
        model's files name several independent ones; the logits themselves for a regression. Other options and errors as logits.
        """
        _check_top_k(top_k)
        scores = self._probabilities(self.logits(texts, batch_size=batch_size, on_batch=on_batch, on_cut=on_cut))
        order = numpy.argsort(-scores, axis=-1, kind="stable")[:, :top_k]
        return [
            [Label(self.label_name(label), float(row[label])) for label in chosen.tolist()]
            for row, chosen in zip(scores, order, strict=True)
        ]

    def rerank(
        self,
        query: str,
        texts: Sequence[str],
        *,
        top_k: int | None = None,
        batch_size: int = 32,
        on_batch: Callable[[int], None] | None = None,
        on_cut: Callable[[list[int]], None] | None = None,
    ) -> list[Ranked]:
        """Return texts by their relevance to a query, the most relevant first; ties keep their order.

        top_k   number of texts to return; all by default

        The score is the model's logit after the activation that its sentence-transformers files name, the sigmoid by default.
        Other options and errors as logits; also UnsupportedError for a model with several labels.
        """
        _check_top_k(top_k)
        if not isinstance(query, str):
            raise PromptError(f"got a query of type {type(query).__name__}, expected a str")
        texts = cast(list[str], check_texts(texts, batch_size))
        if self.num_labels != 1:
            raise UnsupportedError(f"got a model with {self.num_labels} labels, expected a reranker, which has one", hint="use classify")
        logits = self.logits([(query, text) for text in texts], batch_size=batch_size, on_batch=on_batch, on_cut=on_cut)[:, 0]
        scores = activation_function(self.options.score_activation)(logits)
        order = numpy.argsort(-scores, kind="stable").tolist()[:top_k]
        return [Ranked(index, float(scores[index]), texts[index]) for index in order]

    def label_name(self, label: int) -> str:
        """Return the name of a label, by its number."""
        return self.options.names.get(label, f"LABEL_{label}")

    @property
    def num_labels(self) -> int:
        """Number of labels."""
        return int(self.checkpoint.config.num_labels)

    @property
    def max_seq_len(self) -> int | None:
        """Maximum number of tokens of a text or a pair, special tokens included; None for no limit."""
        limits = [each for each in (self.options.max_seq_length, self.checkpoint.config.max_seq_len) if each is not None]
        return min(limits, default=None)

    def _probabilities(self, logits: numpy.ndarray) -> numpy.ndarray:
        if self.options.problem_type == "regression":
            return logits
        is_independent = self.options.problem_type == "multi_label_classification" or self.num_labels == 1
        return functions.sigmoid(logits) if is_independent else functions.softmax(logits)

    def _batch(self, rows: Sequence[Sequence[int]], types: Sequence[Sequence[int]]) -> numpy.ndarray:
        """Return the logits of a batch, padded on the right."""
        model, architecture = self.checkpoint, cast(ClassifyingArchitecture, self.checkpoint.architecture)
        spec, lengths = architecture.spec(model.config), numpy.array([len(row) for row in rows])
        if spec.num_pair_types == 1:
            types = [[0] * len(row) for row in rows]
        given = None
        if self.encoder:
            encoded = self.encoder.encode(rows, types)
            # The classifier reads one vector of each text.
            hidden: Array = numpy.stack([each.mean(axis=0) if spec.classifier.takes_mean else each[0] for each in encoded])[:, None]
        else:
            seq_len = padded_length(int(lengths.max()), self.array, model.config.max_seq_len)
            token_ids, token_types = numpy.zeros((2, len(rows), seq_len), numpy.int64)
            for index, (row, row_types) in enumerate(zip(rows, types, strict=True)):
                token_ids[index, : len(row)], token_types[index, : len(row)] = row, row_types
            given = None if (lengths == seq_len).all() else self._array(lengths)
            hidden = architecture.encode(
                self._array(token_ids),
                model.weights,
                model.config,
                lengths=given,
                token_types=self._array(token_types),
                ops=self.ops,
            )
        ops = SimpleNamespace(**vars(self.ops) | {"linear": _linear_on_one_thread}) if self.encoder else self.ops
        logits: numpy.ndarray = to_numpy(architecture.class_logits(hidden, model.weights, model.config, lengths=given, ops=ops))
        return logits.astype(numpy.float32)

    def _array(self, values: numpy.ndarray) -> Array:
        array: Array = from_numpy(values, self.array, self.device)
        return array


def _check_top_k(top_k: int | None) -> None:
    if top_k is not None and (not is_integer(top_k) or top_k < 1):
        raise OptionError(f"got top_k={top_k!r:.100}, expected an integer of at least 1")


def _linear_on_one_thread(x: numpy.ndarray, weight: Any, bias: numpy.ndarray | None = None) -> numpy.ndarray:
    """Twin of functions.linear without BLAS, whose threads would keep all cores busy for a while after a product.

    The compiled encoder's next pass would share the cores with them, and take half as long again. A row's result does not depend on the
    others.
    """
    if isinstance(weight, Matrix):
        weight = weight.dense()
    result: numpy.ndarray = numpy.einsum("...j,kj->...k", x, numpy.asarray(weight, x.dtype))
    return result if bias is None else result + bias
