"""The pooling and the names of the labels in a GGUF file, for vectors and classes of texts."""

from __future__ import annotations

from pathlib import Path

from headway.checkpoints.gguf_encoder_keys import has_classifier
from headway.errors import CheckpointError, UnsupportedError
from headway.gguf_file import GGUFFile, find_gguf
from headway.json_files import short_repr

POOLINGS = {0: None, 1: ("mean",), 2: ("cls",), 3: ("lasttoken",), 4: None}
"""Poolings by llama.cpp's number; None for the vectors of tokens, and for a reranker."""


def gguf_pooling(path: Path) -> tuple[str, ...] | None:
    """Return the pooling that the file of a model names; None if it names none, or if the model is in other files.

    Errors   CheckpointError for a broken file or an unknown number.
    """
    found = find_gguf(path)
    if found is None:
        return None
    file = GGUFFile(found)
    key = f"{file.metadata.get('general.architecture')}.pooling_type"
    number = file.metadata.get(key, 0)
    if not isinstance(number, int) or number not in POOLINGS:
        raise CheckpointError(f"got {found} with {key}={short_repr(number)}, expected a number from 0 to {max(POOLINGS)}")
    return POOLINGS[number]


def gguf_labels(path: Path) -> dict[int, str]:
    """Return the names of a classifier's labels; an empty dict if the file has none, or if the model is in other files.

    Errors   UnsupportedError for a classifier without its hidden layer; CheckpointError for a broken file.
    """
    found = find_gguf(path)
    if found is None:
        return {}
    file = GGUFFile(found)
    if {"cls.weight", "cls.output.weight"} & set(file.tensors) and not has_classifier(file):
        raise UnsupportedError(
            f"got {found} with one layer of a classifier, expected its hidden layer and its output layer",
            hint="use the Hugging Face folder of the model; llama.cpp leaves out the hidden layer of a BERT, the pooler",
        )
    key = f"{file.metadata.get('general.architecture')}.classifier.output_labels"
    names = file.metadata.get(key, [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise CheckpointError(f"got {found} with {key}={short_repr(names)}, expected a list of strings")
    return dict(enumerate(names))
