"""A Hugging Face folder as an architecture, its config and its weight tree."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy

from headway.arrays import array_library, as_dtype, cast, check_computing, dtype_name, from_numpy
from headway.checkpoints.safetensors_file import SafetensorsFile
from headway.errors import CheckpointError, ModelNotFoundError
from headway.models import architecture
from headway.models.config import config_from
from headway.models.rope import rope_parameters
from headway.models.stored import Stored
from headway.trees import tree_from_leaves

SHARD = re.compile(r"[^/\\:]+\.safetensors")
TOKEN_KEYS = ("bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id")
GENERATION_KEYS = tuple(
    """
    bad_words_ids begin_suppress_tokens diversity_penalty do_sample early_stopping encoder_no_repeat_ngram_size
    exponential_decay_length_penalty forced_bos_token_id forced_eos_token_id length_penalty max_length min_length
    no_repeat_ngram_size num_beam_groups num_beams renormalize_logits repetition_penalty suppress_tokens temperature top_k top_p typical_p
    """.split()
)
"""Keys of generation_config.json that stand in config.json where a folder is older than that file."""
PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")


@dataclass(frozen=True)
class Checkpoint:
    """What a folder holds: the architecture's module, its config and weights, and the folder's generation_config.json."""

    architecture: ModuleType
    config: Any
    weights: Any
    generation_config: dict[str, Any]


def load_checkpoint(
    folder: Path,
    *,
    array: str = "numpy",
    dtype: str | None = "float32",
    device: str | None = None,
    ignored_config_keys: Collection[str] = (),
) -> Checkpoint:
    """Load a folder as it is: config.json, generation_config.json, model.safetensors or its sharded index.

    array     the array library of the weights
    dtype     of the weights: where the file has it already, NumPy and torch arrays lie over the mapped file itself; None leaves
              each NumPy array as it is stored

    Errors   ModelNotFoundError for no such folder; CheckpointError where a file is missing or broken, or tensors are missing,
             left over or of another shape; UnsupportedError for what is not built here.
    """
    if dtype is not None:
        check_computing(array, dtype, device)
    keys = _read_json(folder, "config.json")
    if "model_type" not in keys:
        raise CheckpointError(f"came: {folder / 'config.json'} without model_type; expected: the config.json of a Hugging Face model")
    module = architecture(keys["model_type"])
    config = _config(module, keys, ignored_config_keys)
    generation_config = _generation_config(folder, keys)
    tensors = _open_tensors(folder)
    return Checkpoint(module, config, _weights(module, config, tensors, array, dtype, device), generation_config)


def _generation_config(folder: Path, keys: dict[str, Any]) -> dict[str, Any]:
    """generation_config.json, and the token ids of config.json that it leaves out; before there was that file, config.json said it all."""
    is_there = (folder / "generation_config.json").exists()
    own = _read_json(folder, "generation_config.json") if is_there else {}
    names = TOKEN_KEYS if is_there else (*TOKEN_KEYS, *GENERATION_KEYS)
    return {**{name: keys[name] for name in names if keys.get(name) is not None}, **own}


def _config(module: ModuleType, keys: dict[str, Any], ignored: Collection[str]) -> Any:
    if "rope_parameters" in module.Config.__dataclass_fields__:
        keys = {**keys, "rope_parameters": rope_parameters(keys)}
    return config_from(module.Config, keys, without_effect=module.WITHOUT_EFFECT, ignored=ignored)


def _weights(
    module: ModuleType, config: Any, tensors: dict[str, SafetensorsFile], array: str, dtype: str | None, device: str | None
) -> Any:
    table = module.stored_weights(config)
    names = {place.name: _stored_name(place, module.PREFIX, tensors) for place in table.values()}
    absent = _absent_parts(table.values(), names, tensors)
    table = {path: place for path, place in table.items() if place.part not in absent}
    named = {names[place.name]: place for place in table.values()}
    _check_names(module, named, tensors)
    for name, place in named.items():
        if tensors[name].shape(name) != place.shape:
            raise CheckpointError(
                f"came: tensor {name} {tensors[name].shape(name)}; expected: {place.shape}, by config.json; the two files do not belong together"
            )
    whole = {place.name: _converted(name, tensors[name], array, dtype, device) for name, place in named.items()}
    leaves = {}
    for path, place in table.items():
        leaf = whole[place.name]
        leaf = leaf if place.columns is None else leaf[..., slice(*place.columns)]
        leaves[path] = leaf.T if place.is_transposed else leaf
    return tree_from_leaves(module.Weights, leaves)


def _converted(name: str, file: SafetensorsFile, array: str, dtype: str | None, device: str | None) -> Any:
    stored = file.tensor(name)
    if dtype is None:
        return stored
    if dtype_name(stored.dtype) == dtype and array in ("numpy", "torch"):
        return from_numpy(stored, array, device)
    if array == "numpy":
        converted = (
            _widened(stored) if dtype == "float32" and dtype_name(stored.dtype) == "bfloat16" else stored.astype(as_dtype(dtype, numpy))
        )
    else:
        namespace = array_library(array)
        converted = cast(from_numpy(stored, array, device), as_dtype(dtype, namespace))
        if array == "mlx":
            namespace.eval(converted)
    del stored
    file.release(name)
    return converted


def _widened(stored: numpy.ndarray) -> numpy.ndarray:
    """bfloat16 is the upper half of float32: shifting is several times faster than converting."""
    wide = stored.view(numpy.uint16).astype(numpy.uint32)
    wide <<= 16
    return wide.view(numpy.float32)


def _stored_name(place: Stored, prefix: str, tensors: dict[str, SafetensorsFile]) -> str:
    """A tensor's name in these files: some leave out the prefix of the model that the head sits on, some use an old name."""
    candidates = [form for name in (place.name, place.old_name) if name for form in (name, name.removeprefix(prefix))]
    return next((name for name in candidates if name in tensors), place.name)


def _absent_parts(places: Collection[Stored], names: dict[str, str], tensors: dict[str, SafetensorsFile]) -> set[str]:
    """The optional parts of which no tensor is here; a tensor that the rest of the model uses too says nothing.

    Errors   CheckpointError for a part of which some are here and some are not.
    """
    shared = {place.name for place in places if place.part is None}
    absent = set()
    for part in sorted({place.part for place in places if place.part is not None}):
        own = {names[place.name] for place in places if place.part == part and place.name not in shared}
        missing = sorted(own - set(tensors))
        if missing and len(missing) < len(own):
            raise CheckpointError(
                f"came: a checkpoint without {_some(missing)}; expected: all or none of the tensors of its {part}; download it again"
            )
        absent |= {part} if missing else set()
    return absent


def _check_names(module: ModuleType, named: dict[str, Any], tensors: dict[str, SafetensorsFile]) -> None:
    missing = sorted(set(named) - set(tensors))
    if missing:
        raise CheckpointError(
            f"came: a checkpoint without {_some(missing)}; expected: every tensor of {module.__name__.rpartition('.')[2]}; download it again"
        )
    ignored = re.compile(f"({re.escape(module.PREFIX)})?({module.IGNORED_TENSORS})|lm_head.weight")
    left_over = sorted(name for name in set(tensors) - set(named) if not ignored.fullmatch(name))
    if left_over:
        raise CheckpointError(
            f"came: a checkpoint with {_some(left_over)} besides; expected: only the tensors that config.json asks for; "
            "this model has a part that is not built here, or config.json belongs to another"
        )


def _open_tensors(folder: Path) -> dict[str, SafetensorsFile]:
    """The file of every tensor by the tensor's name."""
    index = folder / "model.safetensors.index.json"
    shards: dict[str, str] = {}
    if (folder / "model.safetensors").exists():
        paths = [folder / "model.safetensors"]
    elif index.exists():
        shards = _weight_map(folder, index.name)
        paths = [folder / name for name in sorted(set(shards.values()))]
        missing = [path.name for path in paths if not path.exists()]
        if missing:
            raise CheckpointError(f"came: {folder} without {_some(missing)}; expected: every shard that {index.name} names; download them")
    else:
        raise CheckpointError(
            f"came: {folder} {_instead(folder)}; expected: model.safetensors, or model.safetensors.index.json and its shards"
        )
    files = {path.name: SafetensorsFile(path) for path in paths}
    held = [(name, shard) for shard, file in files.items() for name in file.names()]
    misplaced = sorted(f"{name} in {shard}" for name, shard in shards.items() - set(held))
    if misplaced:
        raise CheckpointError(
            f"came: {index}, which puts {_some(misplaced)}; expected: each tensor in the shard that holds it; download the folder again"
        )
    return {name: files[shard] for name, shard in [*held, *shards.items()]}


def _weight_map(folder: Path, name: str) -> dict[str, str]:
    """The shard of every tensor, by an index."""
    shards = _read_json(folder, name).get("weight_map")
    if not isinstance(shards, dict) or not all(isinstance(shard, str) for shard in shards.values()):
        raise CheckpointError(
            f"came: {folder / name}, whose weight_map is no object of strings; expected: the shard of each tensor by its name"
        )
    strange = sorted({shard for shard in shards.values() if not SHARD.fullmatch(shard)})
    if strange:
        raise CheckpointError(
            f"came: {folder / name} with {_some([repr(shard) for shard in strange])}; expected: names of .safetensors files in this folder"
        )
    return shards


def _instead(folder: Path) -> str:
    pickles = sorted(path.name for pattern in PICKLES for path in folder.glob(pattern))
    if pickles:
        return f"with {_some(pickles)}, a pickle, which can run code when it is opened and never is here; convert it with transformers' save_pretrained"
    return "without weights (the hub may hold only a pickle of them, which is not downloaded)"


def _read_json(folder: Path, name: str) -> dict[str, Any]:
    if not folder.is_dir():
        raise ModelNotFoundError(f"came: {folder}; expected: a folder with config.json and model.safetensors")
    try:
        content = json.loads((folder / name).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise CheckpointError(f"came: {folder} without {name}; expected: a Hugging Face model folder") from error
    except (OSError, ValueError) as error:
        raise CheckpointError(f"came: {folder / name}, which cannot be read ({error}); expected: JSON; download it again") from error
    if not isinstance(content, dict):
        raise CheckpointError(f"came: {folder / name} holding a {type(content).__name__}; expected: a JSON object")
    if not isinstance(content.get("model_type", ""), str):
        raise CheckpointError(f"came: {folder / name} with model_type={content['model_type']!r}; expected: a string, such as 'llama'")
    return content


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
