"""Reading a classifier's labels, kind of problem, activation and maximum length from the files of its folder.

Source   transformers' PretrainedConfig and TextClassificationPipeline; sentence-transformers' CrossEncoder, versions 2 to 6
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from headway.checkpoints.gguf_texts import gguf_labels
from headway.checkpoints.sentence_transformers import ACTIVATIONS, model_max_length, read_optional
from headway.errors import CheckpointError, UnsupportedError
from headway.json_files import short_repr

OTHER_TASKS = ("ForTokenClassification", "ForMultipleChoice", "ForQuestionAnswering")
PROBLEM_TYPES = ("regression", "single_label_classification", "multi_label_classification")


@dataclass(frozen=True)
class ClassifierOptions:
    """Options of a classifier.

    names             name of each label, by its number
    problem_type      one of PROBLEM_TYPES; None if the file does not say
    score_activation  name of the function that a reranker applies to its logit, such as "sigmoid"; None for none
    max_seq_length    number of tokens of a text that are read, special ones included; None for as many as the model supports
    """

    names: Mapping[int, str]
    problem_type: str | None = None
    score_activation: str | None = "sigmoid"
    max_seq_length: int | None = None


def read_classifier_options(path: Path) -> ClassifierOptions:
    """Read the labels in config.json or a GGUF file, the activation of a CrossEncoder, and the tokenizer's maximum length.

    path   a model folder, or a file in it

    Errors   UnsupportedError for a head of another task or without its hidden layer, or an activation that is not supported;
             CheckpointError for a broken file.
    """
    folder = path.parent if path.is_file() else path
    keys, own = read_optional(folder / "config.json"), read_optional(folder / "config_sentence_transformers.json")
    classes = keys.get("architectures")
    others = [each for each in (classes if isinstance(classes, list) else []) if isinstance(each, str) and each.endswith(OTHER_TASKS)]
    if others:
        raise UnsupportedError(f"got {folder / 'config.json'} of {short_repr(others[0])}, expected a model that classifies whole texts")
    problem_type = keys.get("problem_type")
    if problem_type is not None and problem_type not in PROBLEM_TYPES:
        raise UnsupportedError(
            f"got {folder / 'config.json'} with problem_type={short_repr(problem_type)}, expected one of {', '.join(PROBLEM_TYPES)}"
        )
    if own.get("default_prompt_name"):
        raise UnsupportedError(
            f"got {folder / 'config_sentence_transformers.json'} with default_prompt_name={short_repr(own['default_prompt_name'])}, "
            "expected a reranker without prompts"
        )
    return ClassifierOptions(
        gguf_labels(path) or _names(folder, keys),
        str(problem_type) if problem_type else None,
        _activation(folder, keys, own),
        model_max_length(folder),
    )


def _names(folder: Path, keys: Mapping[str, object]) -> dict[int, str]:
    names = keys.get("id2label") or {}
    if not isinstance(names, Mapping) or not all(key.isdecimal() and len(key) < 10 for key in names):
        raise CheckpointError(f"got {folder / 'config.json'} with id2label={short_repr(names)}, expected an object of numbers and names")
    return {int(key): str(name) for key, name in names.items()}


def _activation(folder: Path, keys: Mapping[str, object], own: Mapping[str, object]) -> str | None:
    """Return the name of the activation: that of the newest of the files' three forms, else the sigmoid."""
    nested = keys.get("sentence_transformers")
    places = (
        own.get("activation_fn"),
        nested.get("activation_fn") if isinstance(nested, Mapping) else None,
        keys.get("sbert_ce_default_activation_function"),
    )
    given = next((each for each in places if each is not None), None)
    if given is None:
        return "sigmoid"
    name = given.rpartition(".")[2] if isinstance(given, str) and given.startswith("torch.nn.") else None
    if name not in ACTIVATIONS:
        raise UnsupportedError(
            f"got {folder} with the activation {short_repr(given)} of its scores, expected one of torch.nn's {', '.join(ACTIVATIONS)}"
        )
    return ACTIVATIONS[name]
