"""Pairs of texts as token ids, kept beside the run so that a resumed one trains on the very same."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy

from headway.errors import TrainingError
from headway.files import replacing
from headway.tokenizers import Tokenizer
from headway.train.batch import IGNORED, Batch
from headway.train.options import TrainingOptions
from headway.train.pairs import Pair

FILE = "pairs.npz"
BATCHES_PER_POOL = 64
"""Batches whose pairs are sorted into classes of length together."""
FACTOR = 4
"""How much longer the longest pairs of a class may be than the shortest. Finer classes save little, and batches of one kind teach less."""
NUM_VALIDATION = 2048
"""Pairs that are validated on at most."""


@dataclass(frozen=True)
class PairCorpus:
    """Token ids of pairs: those of all sources one behind the other, and where each ends; the same of the targets.

    Every source and every target ends with the end token. The pairs from num_train on are for validation.
    start_token_id begins what the decoder reads.
    """

    source: numpy.ndarray
    source_ends: numpy.ndarray
    target: numpy.ndarray
    target_ends: numpy.ndarray
    num_train: int
    start_token_id: int

    def batch(self, step: int, options: TrainingOptions) -> Batch:
        """The pairs of one step: the same for the same seed and step, whatever ran before; every pair once per epoch.

        Short pairs come together, and long ones, so that a batch is not mostly padding.
        """
        per_epoch = self.num_train // options.batch_size
        epoch, index = divmod(step, per_epoch)
        return self._padded(self._epoch(epoch, options)[index])

    def validation_batches(self, options: TrainingOptions) -> Iterator[Batch]:
        """The first pairs of the validation part, always the same."""
        chosen = numpy.arange(self.num_train, min(len(self.source_ends), self.num_train + NUM_VALIDATION))
        for first in range(0, len(chosen), options.batch_size):
            yield self._padded(chosen[first : first + options.batch_size])

    @cached_property
    def _epochs(self) -> dict[tuple[int, int, int], numpy.ndarray]:
        """The order of the epoch under way."""
        return {}

    def _epoch(self, epoch: int, options: TrainingOptions) -> numpy.ndarray:
        """The indices of an epoch's pairs (num_batches, batch_size): shuffled, sorted by classes of length within pools, the batches shuffled again."""
        batch_size = options.batch_size
        key = (epoch, options.seed, batch_size)
        if key not in self._epochs:
            self._epochs.clear()
            rng = numpy.random.default_rng([options.seed, epoch])
            order = rng.permutation(self.num_train)
            lengths = (numpy.diff(self.source_ends, prepend=0) + numpy.diff(self.target_ends, prepend=0))[order]
            pools = numpy.arange(self.num_train) // (BATCHES_PER_POOL * batch_size)
            classes = numpy.floor(numpy.log(lengths) / numpy.log(FACTOR))
            order = order[numpy.lexsort((classes, pools))]
            num_batches = self.num_train // batch_size
            self._epochs[key] = order[: num_batches * batch_size].reshape(num_batches, batch_size)[rng.permutation(num_batches)]
        return self._epochs[key]

    def _padded(self, chosen: numpy.ndarray) -> Batch:
        source, lengths = _rows(self.source, self.source_ends, chosen, fill=0)
        targets, _ = _rows(self.target, self.target_ends, chosen, fill=IGNORED)
        token_ids = numpy.roll(numpy.where(targets == IGNORED, 0, targets), 1, axis=1)
        token_ids[:, 0] = self.start_token_id
        return Batch(token_ids, targets, source, lengths)


def _rows(tokens: numpy.ndarray, ends: numpy.ndarray, chosen: numpy.ndarray, *, fill: int) -> tuple[numpy.ndarray, numpy.ndarray]:
    """The chosen sequences as rows, filled up on the right, and their lengths."""
    starts = numpy.where(chosen == 0, 0, ends[chosen - 1])
    lengths = ends[chosen] - starts
    columns = numpy.arange(lengths.max())
    places = numpy.minimum(starts[:, None] + columns, len(tokens) - 1)
    return numpy.where(columns < lengths[:, None], tokens[places].astype(numpy.int64), fill), lengths


def encode_pairs(
    pairs: Sequence[Pair], tokenizer: Tokenizer, folder: Path, options: TrainingOptions, *, validation_share: float
) -> PairCorpus:
    """Encode the pairs, hold the last share of them back for validation, and keep both in the folder.

    tokenizer   one that ends every text, and has a token to pad with

    Errors   TrainingError for a text that is longer than the context, with its number, and for fewer pairs than one batch.
    """
    num_train = len(pairs) - max(int(len(pairs) * validation_share), 1)
    if num_train < options.batch_size:
        raise TrainingError(
            f"came: a corpus of {len(pairs)} pairs, {max(num_train, 0)} to train and {len(pairs) - num_train} to validate on; "
            f"expected: at least one batch of {options.batch_size} to train on; add pairs, or lower --batch-size"
        )
    columns: dict[str, Any] = {}
    for name, texts in (("source", [pair[0] for pair in pairs]), ("target", [pair[1] for pair in pairs])):
        encoded = [tokenizer.encode(text) for text in texts]
        _check_lengths(name, encoded, options.context)
        columns[name] = numpy.concatenate([numpy.array(each, numpy.uint32) for each in encoded])
        columns[f"{name}_ends"] = numpy.cumsum([len(each) for each in encoded])
    with replacing(folder / FILE) as temporary, temporary.open("wb") as file:
        numpy.savez(file, **columns, num_train=numpy.array(num_train), start_token_id=numpy.array(tokenizer.pad_token_id))
    return open_pairs(folder)


def _check_lengths(name: str, encoded: Sequence[Sequence[int]], context: int) -> None:
    longest = max(range(len(encoded)), key=lambda index: len(encoded[index]))
    if len(encoded[longest]) > context:
        raise TrainingError(
            f"came: pair {longest + 1} with a {name} of {len(encoded[longest])} tokens, its end included; expected: at most {context}, the "
            f"positions there are; raise --context to {len(encoded[longest])}, or shorten it"
        )


def open_pairs(folder: Path) -> PairCorpus:
    """The pairs that encode_pairs kept.

    Errors   TrainingError where they are not whole.
    """
    try:
        with (folder / FILE).open("rb") as opened, numpy.load(opened) as file:
            source, source_ends, target, target_ends = (file[name] for name in ("source", "source_ends", "target", "target_ends"))
            return PairCorpus(source, source_ends, target, target_ends, int(file["num_train"]), int(file["start_token_id"]))
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise TrainingError(
            f"came: {folder} without a whole {FILE} ({error}); expected: what the run began with; start the run anew"
        ) from error
