"""What a sentence-transformers folder says about how a model's vectors, one per token, become one per text.

Source   sentence-transformers 6.2, and the forms of these files that versions since 2 have written
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy

from headway.checkpoints.safetensors_file import SafetensorsFile
from headway.errors import CheckpointError, UnsupportedError

POOLS = {
    "cls": "pooling_mode_cls_token",
    "max": "pooling_mode_max_tokens",
    "mean": "pooling_mode_mean_tokens",
    "mean_sqrt_len_tokens": "pooling_mode_mean_sqrt_len_tokens",
    "weightedmean": "pooling_mode_weightedmean_tokens",
    "lasttoken": "pooling_mode_lasttoken",
}
"""The ways to pool, and the keys that switched them on before version 5; in this order their vectors stand side by side."""

NOT_BUILT = ("weightedmean",)
SIMILARITIES = ("cosine", "dot", "euclidean", "manhattan")
ACTIVATIONS = {"Identity": None, "Tanh": "tanh", "ReLU": "relu", "GELU": "gelu", "SiLU": "silu", "Sigmoid": "sigmoid"}
ON_SENTENCES = {"module_input_name": "sentence_embedding", "module_output_name": "sentence_embedding"}
NO_LIMIT = 1_000_000
"""A model_max_length above this is transformers' way to write that there is none."""


@dataclass(frozen=True)
class Dense:
    """A linear map behind the pooling: weight (out_features, in_features), bias (out_features,), and an activation's name."""

    weight: numpy.ndarray
    bias: numpy.ndarray | None
    activation: str | None


@dataclass(frozen=True)
class Normalize:
    """Bringing every vector to length 1."""


@dataclass(frozen=True)
class SentenceOptions:
    """How a folder's vectors are made; the defaults are for a folder that does not say.

    pools                keys of POOLS, whose vectors stand side by side
    steps                what follows, in this order
    max_seq_length       how many tokens of a text are read, special ones included; None: as many as the model takes
    do_lower_case        whether texts are put into lower case, whatever the tokenizer does
    includes_prompt      whether a prompt's own tokens are pooled too
    prompts              what is put before a text, by name, such as "query"
    default_prompt_name  the one that is put before every text; None: none
    similarity           how two vectors are compared
    truncate_dim         how many numbers of a vector are kept; None: all
    is_declared          whether the folder has a modules.json
    """

    pools: tuple[str, ...] = ("mean",)
    steps: tuple[Dense | Normalize, ...] = (Normalize(),)
    max_seq_length: int | None = None
    do_lower_case: bool = False
    includes_prompt: bool = True
    prompts: Mapping[str, str] = field(default_factory=dict)
    default_prompt_name: str | None = None
    similarity: str = "cosine"
    truncate_dim: int | None = None
    is_declared: bool = False


def read_sentence_options(path: Path) -> SentenceOptions:
    """Read modules.json and what it names, sentence_bert_config.json and config_sentence_transformers.json.

    path   a model's folder, or a file in it; a folder without these files is pooled by the mean, and normalized

    Errors   UnsupportedError for a module or an option that is not built here; CheckpointError for a file that is broken.
    """
    folder = path.parent if path.is_file() else path
    options = {**_transformer(folder), **_model(folder)}
    modules = _read(folder / "modules.json", list)
    return SentenceOptions(**options) if modules is None else SentenceOptions(**options, **_modules(folder, modules), is_declared=True)


def _modules(folder: Path, modules: list[Any]) -> dict[str, Any]:
    """The pooling and the steps behind it."""
    if not all(isinstance(module, dict) and isinstance(module.get("type"), str) for module in modules):
        raise CheckpointError(f"came: {folder / 'modules.json'} with {modules!r}; expected: modules with a type each; download it again")
    kinds = [module["type"].rpartition(".")[2] for module in modules]
    paths = [_inside(folder, str(module.get("path", ""))) for module in modules]
    for module, kind in zip(modules, kinds, strict=True):
        _check(folder / "modules.json", module, {"idx", "name", "path", "type"})
        if kind not in ("Transformer", "Pooling", "Dense", "Normalize") or not module["type"].startswith("sentence_transformers."):
            raise UnsupportedError(
                f"came: {folder / 'modules.json'} with a module {module['type']}; expected: Transformer, Pooling, Dense and Normalize of "
                "sentence-transformers; this model has a part that is not built here"
            )
    if kinds[:2] != ["Transformer", "Pooling"] or {"Transformer", "Pooling"} & set(kinds[2:]) or paths[0] != folder:
        raise UnsupportedError(
            f"came: {folder / 'modules.json'} with {', '.join(kinds)}; expected: a Transformer in the folder itself, then a Pooling, "
            "then Dense and Normalize"
        )
    steps = [_dense(path) if kind == "Dense" else _normalize(path) for kind, path in zip(kinds[2:], paths[2:], strict=True)]
    return {**_pooling(paths[1] / "config.json"), "steps": tuple(steps)}


def _pooling(path: Path) -> dict[str, Any]:
    keys = _needed(path)
    _check(path, keys, {"word_embedding_dimension", "embedding_dimension", "pooling_mode", "include_prompt", *POOLS.values()})
    given = keys.get("pooling_mode") or [mode for mode, key in POOLS.items() if keys.get(key)] or ["mean"]
    pools = tuple(given) if isinstance(given, list) else (given,)
    built = [each for each in POOLS if each not in NOT_BUILT]
    wrong = [each for each in pools if each not in built]
    if wrong:
        raise UnsupportedError(f"came: {path} with pooling {wrong[0]!r}; expected: {', '.join(built)}; this way to pool is not built here")
    return {"pools": pools, "includes_prompt": bool(keys.get("include_prompt", True))}


def _dense(folder: Path) -> Dense:
    path = folder / "config.json"
    keys = _needed(path)
    _check(path, keys, {"in_features", "out_features", "bias", "activation_function"}, ON_SENTENCES)
    activation = str(keys.get("activation_function", "torch.nn.modules.activation.Tanh"))
    name = activation.rpartition(".")[2]
    if not activation.startswith("torch.nn.") or name not in ACTIVATIONS:
        raise UnsupportedError(
            f"came: {path} with activation_function={activation!r}; expected: one of torch.nn's {', '.join(ACTIVATIONS)}"
        )
    shapes: dict[str, tuple[Any, ...]] = {"linear.weight": (keys.get("out_features"), keys.get("in_features"))}
    if keys.get("bias", True):
        shapes["linear.bias"] = (keys.get("out_features"),)
    if not (folder / "model.safetensors").exists():
        raise CheckpointError(
            f"came: {folder} without model.safetensors; expected: its weights, and not as a pickle, which can run code; "
            "save the model again with sentence-transformers"
        )
    file = SafetensorsFile(folder / "model.safetensors")
    came = {name: file.shape(name) for name in file.names()}
    if came != shapes:
        raise CheckpointError(f"came: {file.path} with {came}; expected: {shapes}, by its config.json; download it again")
    arrays = {name: file.tensor(name).astype(numpy.float32) for name in shapes}
    return Dense(arrays["linear.weight"], arrays.get("linear.bias"), ACTIVATIONS[name])


def _normalize(folder: Path) -> Normalize:
    path = folder / "config.json"
    _check(path, _read(path, dict) or {}, (), ON_SENTENCES)
    return Normalize()


def _transformer(folder: Path) -> dict[str, Any]:
    """How a text is read. Since version 6 the tokenizer's own files say how much of it."""
    path = folder / "sentence_bert_config.json"
    keys = _read(path, dict) or {}
    fixed = {"transformer_task": "feature-extraction", "module_output_name": "token_embeddings"}
    _check(path, keys, {"max_seq_length", "do_lower_case", "modality_config", "unpad_inputs"}, fixed)
    forward = {"method": "forward", "method_output_name": "last_hidden_state"}
    if (keys.get("modality_config") or {"text": forward}).get("text") != forward:
        raise UnsupportedError(f"came: {path} with modality_config={keys['modality_config']!r}; expected: text by {forward}")
    longest = keys.get("max_seq_length")
    if longest is None:
        longest = (_read(folder / "tokenizer_config.json", dict) or {}).get("model_max_length")
        longest = None if isinstance(longest, int | float) and longest > NO_LIMIT else longest
    if longest is not None and not (type(longest) is int and longest > 0):
        raise CheckpointError(f"came: {path} with max_seq_length={longest!r}; expected: a whole number above 0")
    return {"max_seq_length": longest, "do_lower_case": bool(keys.get("do_lower_case"))}


def _model(folder: Path) -> dict[str, Any]:
    """Prompts, and how vectors are compared."""
    path = folder / "config_sentence_transformers.json"
    keys = {key: value for key, value in (_read(path, dict) or {}).items() if value is not None}
    used = {"__version__", "requirements", "prompts", "default_prompt_name", "similarity_fn_name", "truncate_dim"}
    _check(path, keys, used, {"model_type": "SentenceTransformer"})
    prompts, default, similarity = keys.get("prompts", {}), keys.get("default_prompt_name"), keys.get("similarity_fn_name", "cosine")
    if not isinstance(prompts, dict) or not all(isinstance(prompt, str | None) for prompt in prompts.values()):
        raise CheckpointError(f"came: {path} with prompts={prompts!r}; expected: texts by their names")
    if default is not None and default not in prompts:
        raise CheckpointError(f"came: {path} with default_prompt_name={default!r}; expected: one of its prompts, {', '.join(prompts)}")
    if similarity not in SIMILARITIES:
        raise UnsupportedError(f"came: {path} with similarity_fn_name={similarity!r}; expected one of {', '.join(SIMILARITIES)}")
    width = keys.get("truncate_dim")
    if width is not None and not (type(width) is int and width > 0):
        raise CheckpointError(f"came: {path} with truncate_dim={width!r}; expected: a whole number above 0")
    prompts = {name: prompt for name, prompt in prompts.items() if prompt is not None}
    return {"prompts": prompts, "default_prompt_name": default, "similarity": similarity, "truncate_dim": width}


def _check(path: Path, keys: Mapping[str, Any], used: Collection[str], fixed: Mapping[str, str] = MappingProxyType({})) -> None:
    """Raise UnsupportedError for a key that is neither used, nor off, nor at the one value that is built here."""
    wrong = {key: value for key, value in keys.items() if key not in used and value and value != fixed.get(key)}
    if wrong:
        named = ", ".join(f"{key}={value!r}" for key, value in wrong.items())
        raise UnsupportedError(f"came: {path} with {named}; expected: keys and values that are built here")


def _inside(folder: Path, path: str) -> Path:
    """A module's folder.

    Errors   CheckpointError for one that is not in the model's folder.
    """
    if path and ("\\" in path or ":" in path or Path(path).is_absolute() or ".." in Path(path).parts):
        raise CheckpointError(f"came: {folder / 'modules.json'} with the path {path!r}; expected: a folder inside this one")
    return folder / path


def _needed(path: Path) -> dict[str, Any]:
    keys = _read(path, dict)
    if keys is None:
        raise CheckpointError(
            f"came: {path.parent} without {path.name}, which modules.json asks for; expected: it; download the folder again"
        )
    return keys


def _read(path: Path, kind: type) -> Any:
    """A JSON file's content, or None where there is no such file."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise CheckpointError(f"came: {path}, which cannot be read ({error}); expected: JSON; download it again") from error
    if not isinstance(content, kind):
        raise CheckpointError(f"came: {path} holding a {type(content).__name__}; expected: a JSON {'object' if kind is dict else 'array'}")
    return content
