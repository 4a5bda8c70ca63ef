"""Corpora of text pairs: token ids, stored in the folder of the run so that a resumed run trains on the same data."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy

from headway.errors import TrainingError, quantity
from headway.files import replacing
from headway.tokenizers import Tokenizer
from headway.train.batch import IGNORED, Batch
from headway.train.options import TrainingOptions
from headway.train.pairs import Pair

FILE = "pairs.npz"
BATCHES_PER_POOL = 64
"""Number of batches whose pairs are sorted by length together."""
LENGTH_RATIO = 4
"""Ratio of the longest to the shortest pair of a length class. Finer classes save little padding and make the batches less diverse."""
NUM_VALIDATION = 2048
"""Maximum number of pairs to validate on."""


@dataclass(frozen=True)
class PairCorpus:
    """Token ids of pairs of texts.

    source          token ids of all sources, concatenated; each source ends with the end token
    source_ends     index in `source` of the end of each source
    target          token ids of all targets, concatenated; each target ends with the end token
    target_ends     index in `target` of the end of each target
    num_train       number of pairs to train on; the rest is for validation
    start_token_id  first token of the decoder's input
    """

    source: numpy.ndarray
    source_ends: numpy.ndarray
    target: numpy.ndarray
    target_ends: numpy.ndarray
    num_train: int
    start_token_id: int

    def batch(self, step: int, options: TrainingOptions) -> Batch:
        """Return the pairs of one step, which depend on the seed and the step only; each pair is used at most once per epoch.

        Pairs of similar length share a batch, to reduce padding.
        """
        per_epoch = self.num_train // options.batch_size
        epoch, index = divmod(step, per_epoch)
        return self._padded(self._epoch(epoch, options)[index])

    def validation_batches(self, options: TrainingOptions) -> Iterator[Batch]:
        """Yield batches of the first pairs of the validation part."""
        chosen = numpy.arange(self.num_train, min(len(self.source_ends), self.num_train + NUM_VALIDATION))
        for first in range(0, len(chosen), options.batch_size):
            yield self._padded(chosen[first : first + options.batch_size])

    @cached_property
    def _epochs(self) -> dict[tuple[int, int, int], numpy.ndarray]:
        """The order of the pairs in the current epoch, by epoch, seed and batch size."""
        return {}

    def _epoch(self, epoch: int, options: TrainingOptions) -> numpy.ndarray:
        """Return the indices of an epoch's pairs, (num_batches, batch_size).

        The pairs are shuffled and then sorted by length class within pools of batches; finally the batches are shuffled.
        """
        batch_size = options.batch_size
        key = (epoch, options.seed, batch_size)
        if key not in self._epochs:
            self._epochs.clear()
            rng = numpy.random.default_rng([options.seed, epoch])
            order = rng.permutation(self.num_train)
            lengths = (numpy.diff(self.source_ends, prepend=0) + numpy.diff(self.target_ends, prepend=0))[order]
            pools = numpy.arange(self.num_train) // (BATCHES_PER_POOL * batch_size)
            classes = numpy.floor(numpy.log(lengths) / numpy.log(LENGTH_RATIO))
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
    """Return the selected sequences as rows, padded on the right, and their lengths."""
    starts = numpy.where(chosen == 0, 0, ends[chosen - 1])
    lengths = ends[chosen] - starts
    columns = numpy.arange(lengths.max())
    indices = numpy.minimum(starts[:, None] + columns, len(tokens) - 1)
    return numpy.where(columns < lengths[:, None], tokens[indices].astype(numpy.int64), fill), lengths


def encode_pairs(
    pairs: Sequence[Pair], tokenizer: Tokenizer, folder: Path, options: TrainingOptions, *, validation_share: float
) -> PairCorpus:
    """Encode the pairs, split off the last ones for validation, and write both parts into the folder.

    tokenizer         a tokenizer that adds an end token to every text and has a padding token
    validation_share  share of the pairs to validate on

    Errors   TrainingError for a text longer than the context, and for fewer training pairs than one batch.
    """
    num_train = len(pairs) - max(int(len(pairs) * validation_share), 1)
    if num_train < options.batch_size:
        raise TrainingError(
            f"got a corpus of {quantity(len(pairs), 'pair')}, {max(num_train, 0)} to train on and {len(pairs) - num_train} to validate on, "
            f"expected at least one batch of {options.batch_size} to train on",
            hint="add pairs or lower --batch-size",
        )
    columns: dict[str, numpy.ndarray] = {}
    for name, texts in (("source", [pair[0] for pair in pairs]), ("target", [pair[1] for pair in pairs])):
        encoded = [tokenizer.encode(text) for text in texts]
        _check_lengths(name, encoded, options.context)
        columns[name] = numpy.concatenate([numpy.array(each, numpy.uint32) for each in encoded])
        columns[f"{name}_ends"] = numpy.cumsum([len(each) for each in encoded])
    with replacing(folder / FILE) as temporary, temporary.open("wb") as file:
        numpy.savez(
            file,
            source=columns["source"],
            source_ends=columns["source_ends"],
            target=columns["target"],
            target_ends=columns["target_ends"],
            num_train=numpy.array(num_train),
            start_token_id=numpy.array(tokenizer.pad_token_id),
        )
    return open_pairs(folder)


def _check_lengths(name: str, encoded: Sequence[Sequence[int]], context: int) -> None:
    longest = max(range(len(encoded)), key=lambda index: len(encoded[index]))
    if len(encoded[longest]) > context:
        raise TrainingError(
            f"got pair {longest + 1} with a {name} of {len(encoded[longest])} tokens, end token included, expected at most {context}",
            hint=f"raise --context to {len(encoded[longest])} or shorten the text",
        )


def open_pairs(folder: Path) -> PairCorpus:
    """Open the pairs that encode_pairs wrote.

    Errors   TrainingError if the file is missing or corrupt.
    """
    try:
        with (folder / FILE).open("rb") as opened, numpy.load(opened) as file:
            source, source_ends, target, target_ends = (file[name] for name in ("source", "source_ends", "target", "target_ends"))
            return PairCorpus(source, source_ends, target, target_ends, int(file["num_train"]), int(file["start_token_id"]))
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise TrainingError(
            f"got {folder} without a readable {FILE} ({error}), expected the file from the start of the run", hint="start a new run"
        ) from error
