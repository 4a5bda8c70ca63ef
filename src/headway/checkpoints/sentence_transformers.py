"""Reading the files of a sentence-transformers folder, which say how the vectors of tokens become one vector per text.

Source   sentence-transformers 6.2, and the forms of these files that versions since 2 have written
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

import numpy

from headway.checkpoints.gguf_texts import gguf_pooling
from headway.checkpoints.safetensors_file import SafetensorsFile
from headway.errors import CheckpointError, UnsupportedError
from headway.json_files import read_json_array, read_json_object, short_repr

POOLS = {
    "cls": "pooling_mode_cls_token",
    "max": "pooling_mode_max_tokens",
    "mean": "pooling_mode_mean_tokens",
    "mean_sqrt_len_tokens": "pooling_mode_mean_sqrt_len_tokens",
    "weightedmean": "pooling_mode_weightedmean_tokens",
    "lasttoken": "pooling_mode_lasttoken",
}
"""Poolings, and the keys that enabled them before version 5; the vectors of several poolings are concatenated in this order."""

NOT_SUPPORTED = ("weightedmean",)
SIMILARITIES = ("cosine", "dot", "euclidean", "manhattan")
ACTIVATIONS = {"Identity": None, "Tanh": "tanh", "ReLU": "relu", "GELU": "gelu", "SiLU": "silu", "Sigmoid": "sigmoid"}
ON_SENTENCES = {"module_input_name": "sentence_embedding", "module_output_name": "sentence_embedding"}
NO_LIMIT = 1_000_000
"""Values of model_max_length above this mean no limit in transformers."""

MAX_MODULES = 100
HINT = "download the folder again"


@dataclass(frozen=True)
class Dense:
    """A linear layer after the pooling: weight (out_features, in_features), bias (out_features,), and the name of an activation."""

    weight: numpy.ndarray
    bias: numpy.ndarray | None
    activation: str | None


@dataclass(frozen=True)
class Normalize:
    """Scaling of every vector to length 1."""


@dataclass(frozen=True)
class SentenceOptions:
    """Options for making vectors of texts; the defaults are for a folder without these files.

    pools                keys of POOLS; the vectors of several are concatenated
    steps                the steps after the pooling, in order
    max_seq_length       number of tokens of a text that are read, special ones included; None for as many as the model supports
    do_lower_case        True to lower-case texts before tokenizing
    includes_prompt      True if the tokens of a prompt are pooled too
    prompts              texts put before an input text, by name, such as "query"
    default_prompt_name  name of the prompt put before every text; None for none
    similarity           the similarity of two vectors: one of SIMILARITIES
    truncate_dim         number of elements of a vector that are kept; None for all
    is_declared          True if the folder has a modules.json, or a GGUF file names the pooling
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
    """Read modules.json and the files it names, sentence_bert_config.json and config_sentence_transformers.json.

    path   a model folder, or a file in it; a folder without these files gets the pooling that a GGUF file names, else the mean, and
           normalization

    Errors   UnsupportedError for a module or an option that is not supported; CheckpointError for a broken file.
    """
    folder = path.parent if path.is_file() else path
    max_seq_length, do_lower_case = _transformer_options(folder)
    prompts, default_prompt_name, similarity, truncate_dim = _model_options(folder)
    options = SentenceOptions(
        max_seq_length=max_seq_length,
        do_lower_case=do_lower_case,
        prompts=prompts,
        default_prompt_name=default_prompt_name,
        similarity=similarity,
        truncate_dim=truncate_dim,
    )
    modules = _modules(folder)
    if modules is None:
        pooling = gguf_pooling(path)
        return options if pooling is None else replace(options, pools=pooling, is_declared=True)
    pools, includes_prompt, steps = _modules_options(folder, modules)
    return replace(options, pools=pools, includes_prompt=includes_prompt, steps=steps, is_declared=True)


def _modules(folder: Path) -> list[tuple[str, str]] | None:
    """Return the type and the path of each module in modules.json; None if there is no such file."""
    path = folder / "modules.json"
    try:
        modules = read_json_array(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(path, error) from error
    found = []
    for module in modules:
        if not isinstance(module, dict) or not isinstance(module.get("type"), str) or not isinstance(module.get("path", ""), str):
            raise CheckpointError(f"got {path} with the module {short_repr(module)}, expected an object with type and path", hint=HINT)
        _check_keys(path, module, {"idx", "name", "path", "type"})
        found.append((module["type"], module.get("path", "")))
    if len(found) > MAX_MODULES:
        raise CheckpointError(f"got {path} with {len(found)} modules, expected at most {MAX_MODULES}", hint=HINT)
    return found


def _modules_options(folder: Path, modules: list[tuple[str, str]]) -> tuple[tuple[str, ...], bool, tuple[Dense | Normalize, ...]]:
    """Return the pools, includes_prompt, and the steps after the pooling."""
    path = folder / "modules.json"
    kinds = [module_type.rpartition(".")[2] for module_type, _ in modules]
    for (module_type, _), kind in zip(modules, kinds, strict=True):
        if kind not in ("Transformer", "Pooling", "Dense", "Normalize") or not module_type.startswith("sentence_transformers."):
            raise UnsupportedError(
                f"got {path} with the module {short_repr(module_type)}, "
                "expected only Transformer, Pooling, Dense and Normalize of sentence_transformers"
            )
    paths = [_inside(folder, module_path) for _, module_path in modules]
    if kinds[:2] != ["Transformer", "Pooling"] or {"Transformer", "Pooling"} & set(kinds[2:]) or paths[0] != folder:
        raise UnsupportedError(
            f"got {path} with {', '.join(kinds)}, expected a Transformer in the folder itself, then a Pooling, then Dense and Normalize"
        )
    pools, includes_prompt = _pooling_options(paths[1] / "config.json")
    steps = tuple(_dense(path) if kind == "Dense" else _normalize(path) for kind, path in zip(kinds[2:], paths[2:], strict=True))
    return pools, includes_prompt, steps


def _pooling_options(path: Path) -> tuple[tuple[str, ...], bool]:
    """Return the pools and includes_prompt."""
    keys = _read_required(path)
    _check_keys(path, keys, {"word_embedding_dimension", "embedding_dimension", "pooling_mode", "include_prompt", *POOLS.values()})
    given = keys.get("pooling_mode") or [mode for mode, key in POOLS.items() if keys.get(key)] or ["mean"]
    pools = given if isinstance(given, list) else [given]
    supported = [pool for pool in POOLS if pool not in NOT_SUPPORTED]
    for pool in pools:
        if pool not in supported:
            raise UnsupportedError(f"got {path} with pooling {short_repr(pool)}, expected one of {', '.join(supported)}")
    if len(pools) > len(set(pools)):
        raise CheckpointError(f"got {path} with pooling {short_repr(pools)}, expected each pooling once", hint=HINT)
    return tuple(pools), _flag(path, keys, "include_prompt", default=True)


def _dense(folder: Path) -> Dense:
    path = folder / "config.json"
    keys = _read_required(path)
    _check_keys(path, keys, {"in_features", "out_features", "bias", "activation_function"}, ON_SENTENCES)
    activation = keys.get("activation_function", "torch.nn.modules.activation.Tanh")
    name = activation.rpartition(".")[2] if isinstance(activation, str) and activation.startswith("torch.nn.") else None
    if name not in ACTIVATIONS:
        raise UnsupportedError(
            f"got {path} with activation_function={short_repr(activation)}, expected one of torch.nn's {', '.join(ACTIVATIONS)}"
        )
    rows, columns = _size(path, keys, "out_features"), _size(path, keys, "in_features")
    if rows is None or columns is None:
        raise CheckpointError(f"got {path} without in_features and out_features, expected both", hint=HINT)
    shapes: dict[str, tuple[int, ...]] = {"linear.weight": (rows, columns)}
    if _flag(path, keys, "bias", default=True):
        shapes["linear.bias"] = (rows,)
    if not (folder / "model.safetensors").exists():
        raise CheckpointError(
            f"got {folder} without model.safetensors, expected it; a pickle can run code and is never loaded",
            hint="save the model again with sentence-transformers",
        )
    file = SafetensorsFile(folder / "model.safetensors")
    found = {name: file.shape(name) for name in file.names()}
    if found != shapes:
        raise CheckpointError(f"got {file.path} with {short_repr(found)}, expected {shapes} according to its config.json", hint=HINT)
    arrays = {name: file.tensor(name).astype(numpy.float32) for name in shapes}
    return Dense(arrays["linear.weight"], arrays.get("linear.bias"), ACTIVATIONS[name])


def _normalize(folder: Path) -> Normalize:
    path = folder / "config.json"
    _check_keys(path, read_optional(path), (), ON_SENTENCES)
    return Normalize()


def _transformer_options(folder: Path) -> tuple[int | None, bool]:
    """Return max_seq_length and do_lower_case. Since version 6 the tokenizer's own files hold the length."""
    path = folder / "sentence_bert_config.json"
    keys = read_optional(path)
    fixed = {"transformer_task": "feature-extraction", "module_output_name": "token_embeddings"}
    _check_keys(path, keys, {"max_seq_length", "do_lower_case", "modality_config", "unpad_inputs"}, fixed)
    forward = {"method": "forward", "method_output_name": "last_hidden_state"}
    modality = keys.get("modality_config") or {"text": forward}
    if not isinstance(modality, dict) or modality.get("text") != forward:
        raise UnsupportedError(f"got {path} with modality_config={short_repr(modality)}, expected text with {forward}")
    max_seq_length = model_max_length(folder)
    return max_seq_length, _flag(path, keys, "do_lower_case", default=False)


def model_max_length(folder: Path) -> int | None:
    """Return the maximum number of tokens of a text: max_seq_length of sentence-transformers, else the tokenizer's; None for no limit."""
    path = folder / "sentence_bert_config.json"
    if (own := _size(path, read_optional(path), "max_seq_length")) is not None:
        return own
    path = folder / "tokenizer_config.json"
    longest = read_optional(path).get("model_max_length")
    is_unlimited = isinstance(longest, int | float) and not isinstance(longest, bool) and longest > NO_LIMIT
    return None if is_unlimited else _size(path, {"model_max_length": longest}, "model_max_length")


def _model_options(folder: Path) -> tuple[dict[str, str], str | None, str, int | None]:
    """Return the prompts, the name of the default one, the similarity, and truncate_dim."""
    path = folder / "config_sentence_transformers.json"
    keys = {key: value for key, value in read_optional(path).items() if value is not None}
    used = {"__version__", "requirements", "prompts", "default_prompt_name", "similarity_fn_name", "truncate_dim"}
    _check_keys(path, keys, used, {"model_type": "SentenceTransformer"})
    given, default, similarity = keys.get("prompts", {}), keys.get("default_prompt_name"), keys.get("similarity_fn_name", "cosine")
    if not isinstance(given, dict) or not all(isinstance(prompt, str | None) for prompt in given.values()):
        raise CheckpointError(f"got {path} with prompts={short_repr(given)}, expected an object of strings")
    prompts = {name: prompt for name, prompt in given.items() if prompt is not None}
    if default is not None and (not isinstance(default, str) or default not in given):
        names = ", ".join(map(short_repr, list(given)[:20]))
        raise CheckpointError(f"got {path} with default_prompt_name={short_repr(default)}, expected one of its prompts: {names}")
    if not isinstance(similarity, str) or similarity not in SIMILARITIES:
        raise UnsupportedError(f"got {path} with similarity_fn_name={short_repr(similarity)}, expected one of {', '.join(SIMILARITIES)}")
    return prompts, default, similarity, _size(path, keys, "truncate_dim")


def _check_keys(path: Path, keys: Mapping[str, object], used: Collection[str], fixed: Mapping[str, str] = MappingProxyType({})) -> None:
    """Raise UnsupportedError for a key that is neither used, nor empty, nor at its one supported value."""
    wrong = {key: value for key, value in keys.items() if key not in used and value and value != fixed.get(key)}
    if wrong:
        named = ", ".join(f"{key[:80]}={short_repr(value)}" for key, value in list(wrong.items())[:5])
        raise UnsupportedError(f"got {path} with {named}, expected supported keys and values")


def _flag(path: Path, keys: Mapping[str, object], name: str, *, default: bool) -> bool:
    value = keys.get(name)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise CheckpointError(f"got {path} with {name}={short_repr(value)}, expected true or false")
    return value


def _size(path: Path, keys: Mapping[str, object], name: str) -> int | None:
    value = keys.get(name)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
        raise CheckpointError(f"got {path} with {name}={short_repr(value)}, expected an integer of at least 1")
    return value


def _inside(folder: Path, path: str) -> Path:
    """Return the folder of a module.

    Errors   CheckpointError for a path that leaves the model folder, or that cannot be a path.
    """
    is_outside = "\\" in path or ":" in path or Path(path).is_absolute() or ".." in Path(path).parts
    if is_outside or not path.isprintable() or len(path) > 200:
        raise CheckpointError(
            f"got {folder / 'modules.json'} with the path {short_repr(path)}, expected a folder inside this one", hint=HINT
        )
    return folder / path


def _read_required(path: Path) -> dict[str, object]:
    if not path.exists():
        raise CheckpointError(f"got {path.parent} without {path.name}, expected it, because modules.json names the folder", hint=HINT)
    return read_optional(path)


def read_optional(path: Path) -> dict[str, object]:
    """Return the object in a JSON file; an empty one if there is no such file."""
    try:
        return read_json_object(path)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> CheckpointError:
    return CheckpointError(f"got {path}, which cannot be read ({error}), expected a JSON file", hint=HINT)
