"""Text corpora: token ids, stored in the folder of the run so that a resumed run trains on the same data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy

from headway.errors import TrainingError
from headway.files import write_array
from headway.tokenizers import Tokenizer
from headway.train.batch import Batch
from headway.train.options import TrainingOptions

SEPARATOR = "<|endoftext|>"
NUM_WINDOWS, NUM_TOKENS = 128, 32768
"""Minimum size of the validation, in windows and in tokens, if the corpus has as many."""


@dataclass(frozen=True)
class Corpus:
    """Token ids of the training and validation parts.

    starts   index in `train` of the first token of each document
    """

    train: numpy.ndarray
    validation: numpy.ndarray
    starts: numpy.ndarray

    def batch(self, step: int, options: TrainingOptions) -> Batch:
        """Return the windows of one step, which depend on the seed and the step only.

        Windows start at random documents if the average document is shorter than the context, otherwise at random tokens.
        """
        context, batch_size = options.context, options.batch_size
        rng = numpy.random.default_rng([options.seed, step])
        last = len(self.train) - context - 1
        starts = self.starts[: numpy.searchsorted(self.starts, last, side="right")]
        chosen = rng.choice(starts, batch_size) if len(starts) * context > len(self.train) else rng.integers(0, last + 1, batch_size)
        return _windows(self.train, chosen, context)

    def validation_batches(self, options: TrainingOptions) -> Iterator[Batch]:
        """Yield batches of evenly spaced windows of the validation part, the same every time."""
        last = len(self.validation) - 1 - options.context
        num_windows = min(last // options.context + 1, max(NUM_WINDOWS, NUM_TOKENS // options.context))
        starts = numpy.arange(num_windows) * last // max(num_windows - 1, 1)
        for first in range(0, num_windows, options.batch_size):
            yield _windows(self.validation, starts[first : first + options.batch_size], options.context)


def _windows(tokens: numpy.ndarray, starts: numpy.ndarray, context: int) -> Batch:
    windows = tokens[starts[:, None] + numpy.arange(context + 1)].astype(numpy.int64)
    return Batch(windows[:, :-1], windows[:, 1:])


def read_documents(files: Iterable[Path]) -> Iterator[str]:
    """Yield the documents of text files, separated by <|endoftext|> within a file.

    Errors   TrainingError for a file that is missing, empty or not UTF-8.
    """
    for path in files:
        documents = [document.strip("\n") for document in read_text(path).split(SEPARATOR)]
        documents = [document for document in documents if document.strip()]
        if not documents:
            raise TrainingError(f"got {path} without text, expected a text file")
        yield from documents


def read_text(path: Path) -> str:
    """Read a text file, without its byte order mark.

    Errors   TrainingError for a file that is missing or not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise TrainingError(
            f"got {path} with invalid UTF-8 at byte {error.start}, expected a text file in UTF-8", hint="convert it to UTF-8 first"
        ) from error
    except OSError as error:
        raise TrainingError(f"got {path}, expected a readable text file ({error.strerror})") from error


def encode_corpus(documents: Iterable[str], tokenizer: Tokenizer, folder: Path, *, context: int, validation_share: float) -> Corpus:
    """Encode the documents, split off the last tokens for validation, and write both parts into the folder.

    validation_share   share of the tokens to validate on; the split moves to the start of the next document if there is one

    Errors   TrainingError if either part is not longer than one context.
    """
    (separator,) = tokenizer.encode(SEPARATOR)
    documents_ids = [numpy.array([*tokenizer.encode(document), separator], numpy.uint32) for document in documents]
    tokens = numpy.concatenate(documents_ids)
    boundary = int(len(tokens) * (1 - validation_share))
    starts = numpy.cumsum([0, *(len(ids) for ids in documents_ids)])[:-1]
    if len(documents_ids) > 2 and (later := starts[starts >= boundary]).size:
        boundary = int(later[0])
    if boundary <= context or len(tokens) - boundary <= context:
        raise TrainingError(
            f"got a corpus of {len(tokens)} tokens, {boundary} to train on and {len(tokens) - boundary} to validate on, "
            f"expected more than one context of {context} in each",
            hint="add text or lower --context",
        )
    for name, array in (("train", tokens[:boundary]), ("validation", tokens[boundary:]), ("starts", starts[starts < boundary])):
        write_array(folder / f"{name}.npy", array)
    return open_corpus(folder)


def open_corpus(folder: Path) -> Corpus:
    """Open the corpus that encode_corpus wrote, memory-mapped.

    Errors   TrainingError if a file is missing or corrupt.
    """
    try:
        return Corpus(*(numpy.load(folder / f"{name}.npy", mmap_mode="r") for name in ("train", "validation", "starts")))
    except (OSError, ValueError) as error:
        raise TrainingError(
            f"got {folder} without a complete corpus ({error}), expected train.npy, validation.npy and starts.npy", hint="start a new run"
        ) from error
