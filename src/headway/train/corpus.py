"""Texts to token ids, kept beside the run so that a resumed one trains on the very same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy

from headway.errors import TrainingError
from headway.files import replacing
from headway.tokenizers import Tokenizer
from headway.train.batch import Batch
from headway.train.options import TrainingOptions

SEPARATOR = "<|endoftext|>"
NUM_WINDOWS, NUM_TOKENS = 128, 32768
"""How much is validated on at least, where there is as much: both hold."""


@dataclass(frozen=True)
class Corpus:
    """Token ids to train and to validate on, and where documents start among the first."""

    train: numpy.ndarray
    validation: numpy.ndarray
    starts: numpy.ndarray

    def batch(self, step: int, options: TrainingOptions) -> Batch:
        """The windows of one step: the same for the same seed and step, whatever ran before.

        Windows begin where documents do, if there are enough of them for that; otherwise anywhere.
        """
        context, batch_size = options.context, options.batch_size
        rng = numpy.random.default_rng([options.seed, step])
        last = len(self.train) - context - 1
        starts = self.starts[: numpy.searchsorted(self.starts, last, side="right")]
        chosen = rng.choice(starts, batch_size) if len(starts) * context > len(self.train) else rng.integers(0, last + 1, batch_size)
        return _windows(self.train, chosen, context)

    def validation_batches(self, options: TrainingOptions) -> Iterator[Batch]:
        """Windows evenly over the validation part, always the same."""
        room = len(self.validation) - 1 - options.context
        num_windows = min(room // options.context + 1, max(NUM_WINDOWS, NUM_TOKENS // options.context))
        starts = numpy.arange(num_windows) * room // max(num_windows - 1, 1)
        for first in range(0, num_windows, options.batch_size):
            yield _windows(self.validation, starts[first : first + options.batch_size], options.context)


def _windows(tokens: numpy.ndarray, starts: numpy.ndarray, context: int) -> Batch:
    windows = tokens[starts[:, None] + numpy.arange(context + 1)].astype(numpy.int64)
    return Batch(windows[:, :-1], windows[:, 1:])


def read_documents(files: Iterable[Path]) -> Iterator[str]:
    """The documents of text files: one per file, or several where <|endoftext|> stands between them.

    Errors   TrainingError for a file that is missing, empty or not UTF-8.
    """
    for path in files:
        documents = [document.strip("\n") for document in read_text(path).split(SEPARATOR)]
        documents = [document for document in documents if document.strip()]
        if not documents:
            raise TrainingError(f"came: {path}, empty; expected: a file with text")
        yield from documents


def read_text(path: Path) -> str:
    """A file's text, without a byte order mark.

    Errors   TrainingError for a file that is missing or not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise TrainingError(f"came: {path}, not UTF-8 at byte {error.start}; expected: a text file in UTF-8; convert it first") from error
    except OSError as error:
        raise TrainingError(f"came: {path}; expected: a text file that can be read ({error.strerror})") from error


def encode_corpus(documents: Iterable[str], tokenizer: Tokenizer, folder: Path, *, context: int, validation_share: float) -> Corpus:
    """Encode the documents, hold the last share of the tokens back for validation, and keep both in the folder.

    Errors   TrainingError where either part is shorter than one context.
    """
    (separator,) = tokenizer.encode(SEPARATOR)
    pieces = [numpy.array([*tokenizer.encode(document), separator], numpy.uint32) for document in documents]
    tokens = numpy.concatenate(pieces)
    boundary = int(len(tokens) * (1 - validation_share))
    starts = numpy.cumsum([0, *(len(piece) for piece in pieces)])[:-1]
    if len(pieces) > 2 and (later := starts[starts >= boundary]).size:
        boundary = int(later[0])
    if boundary <= context or len(tokens) - boundary <= context:
        raise TrainingError(
            f"came: a corpus of {len(tokens)} tokens, {boundary} to train and {len(tokens) - boundary} to validate on; "
            f"expected: more than one context of {context} in each; add text, or lower --context"
        )
    for name, array in (("train", tokens[:boundary]), ("validation", tokens[boundary:]), ("starts", starts[starts < boundary])):
        with replacing(folder / f"{name}.npy") as temporary, temporary.open("wb") as file:
            numpy.save(file, array)
    return open_corpus(folder)


def open_corpus(folder: Path) -> Corpus:
    """The corpus that encode_corpus kept, memory-mapped.

    Errors   TrainingError where it is not whole.
    """
    try:
        return Corpus(*(numpy.load(folder / f"{name}.npy", mmap_mode="r") for name in ("train", "validation", "starts")))
    except (OSError, ValueError) as error:
        raise TrainingError(
            f"came: {folder} without a whole corpus ({error}); expected: train.npy, validation.npy, starts.npy; start the run anew"
        ) from error
