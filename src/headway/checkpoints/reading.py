"""Reading a Hugging Face folder: its architecture, config and weight tree."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy

from headway.arrays import Array, array_library, as_dtype, at_least_float32, cast, check_computing, dtype_name, from_numpy
from headway.checkpoints.safetensors_file import SafetensorsFile
from headway.errors import CheckpointError, ModelNotFoundError
from headway.json_files import read_json_object, short_repr
from headway.models import architecture
from headway.models.config import config_from
from headway.models.protocol import Architecture
from headway.models.stored import Stored
from headway.trees import tree_from_leaves

SHARD = re.compile(r"[\w .()+=,@-]{1,200}\.safetensors", re.ASCII)
"""File names, without folders, that every system can hold."""
TOKEN_KEYS = ("bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id")
GENERATION_KEYS = tuple(
    """
    bad_words_ids begin_suppress_tokens diversity_penalty do_sample early_stopping encoder_no_repeat_ngram_size
    exponential_decay_length_penalty forced_bos_token_id forced_eos_token_id length_penalty max_length min_length
    no_repeat_ngram_size num_beam_groups num_beams renormalize_logits repetition_penalty suppress_tokens temperature top_k top_p typical_p
    """.split()
)
"""Keys of generation_config.json that older folders have in config.json."""
PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")
HINT = "download the folder again"


@dataclass(frozen=True)
class Checkpoint:
    """A loaded model: the architecture's module, its config and weights, and the keys of generation_config.json."""

    architecture: Architecture
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
    """Load a Hugging Face folder: config.json, generation_config.json, model.safetensors or its sharded index.

    array     the array library of the weights
    dtype     dtype of the weights. If the file has that dtype, NumPy and torch arrays are views of the mapped file. None leaves each
              NumPy array as it is stored

    Errors   ModelNotFoundError if there is no such folder; CheckpointError for a missing or broken file, and for tensors that are
             missing, unexpected or of another shape; UnsupportedError for an architecture or a config key that is not supported.
    """
    if dtype is not None:
        check_computing(array, dtype, device)
    keys = _read_json(folder, "config.json")
    model_type = keys.get("model_type")
    if not isinstance(model_type, str):
        raise CheckpointError(
            f"got {folder / 'config.json'} with model_type={short_repr(model_type)}, expected a string, such as 'llama'",
            hint="check that this is the config.json of a Hugging Face model",
        )
    module = architecture(model_type)
    config = _config(module, keys, ignored_config_keys)
    generation_config = _generation_config(folder, keys)
    tensors = _open_tensors(folder)
    return Checkpoint(module, config, _weights(module, config, tensors, array, dtype, device), generation_config)


def _generation_config(folder: Path, keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return generation_config.json with the token ids of config.json that it omits; without the file, the keys of config.json."""
    is_there = (folder / "generation_config.json").exists()
    own = _read_json(folder, "generation_config.json") if is_there else {}
    names = TOKEN_KEYS if is_there else (*TOKEN_KEYS, *GENERATION_KEYS)
    return {**{name: keys[name] for name in names if keys.get(name) is not None}, **own}


def _config(module: Architecture, keys: Mapping[str, Any], ignored: Collection[str]) -> Any:
    keys = module.config_keys(keys) if hasattr(module, "config_keys") else keys
    if "rope_parameters" in module.Config.__dataclass_fields__:
        keys = {**keys, "rope_parameters": module.Config.read_rope(keys)}
    return config_from(module.Config, keys, without_effect=module.WITHOUT_EFFECT, ignored=ignored)


def _weights(
    module: Architecture, config: Any, tensors: Mapping[str, SafetensorsFile], array: str, dtype: str | None, device: str | None
) -> Any:
    table = module.stored_weights(config)
    names = _stored_names(table, module, tensors)
    absent = _absent_parts(table, names, tensors)
    table = {path: place for path, place in table.items() if place.part not in absent}
    names = {path: names[path] for path in table}
    _check_names(module, config, set(names.values()), tensors)
    for path, place in table.items():
        shape = tensors[names[path]].shape(names[path])
        if shape != place.shape:
            raise CheckpointError(
                f"got tensor {names[path]} of shape {shape}, expected {place.shape} according to config.json",
                hint="check that config.json and the weights belong to the same model",
            )
    _unify_tied(table, names, tensors)
    converted = {name: _converted(name, tensors[name], array, dtype, device) for name in dict.fromkeys(names.values())}
    leaves = {}
    for path, place in table.items():
        leaf = converted[names[path]]
        leaf = leaf[place.index] if place.rows or place.columns else leaf
        leaf = leaf.T if place.is_transposed else leaf
        leaves[path] = at_least_float32(leaf) + place.offset if place.offset else leaf
    return tree_from_leaves(module.Weights, leaves)


def _converted(name: str, file: SafetensorsFile, array: str, dtype: str | None, device: str | None) -> Any:
    """Return a tensor as an array of a library, in a dtype (None: as it is stored) and on a device."""
    stored = file.tensor(name)
    if dtype is None:
        return stored
    if dtype_name(stored.dtype) == dtype and array in ("numpy", "torch"):
        return from_numpy(stored, array, device)
    converted: Array
    if array == "numpy":
        is_shift = dtype == "float32" and dtype_name(stored.dtype) == "bfloat16"
        converted = _bfloat16_to_float32(stored) if is_shift else stored.astype(as_dtype(dtype, numpy))
    else:
        namespace = array_library(array)
        converted = cast(from_numpy(stored, array, device), as_dtype(dtype, namespace))
        if array == "mlx":
            namespace.eval(converted)
    del stored
    file.release(name)
    return converted


def _bfloat16_to_float32(stored: numpy.ndarray) -> numpy.ndarray:
    """Convert by shifting, because bfloat16 is the upper half of float32; it is several times faster than astype."""
    bits = stored.view(numpy.uint16).astype(numpy.uint32)
    bits <<= 16
    return bits.view(numpy.float32)


def _stored_names(table: Mapping[str, Stored], module: Architecture, tensors: Collection[str]) -> dict[str, str]:
    """Return the name of each leaf's tensor in these files, or the place's own name if there is none.

    Some files omit the prefix of the names, or have another; of tied tensors, a file may have any one, or all.
    """
    found = {}
    prefix, others = module.PREFIX, getattr(module, "OTHER_PREFIXES", ())

    def forms_of(name: str) -> list[str]:
        rest = name.removeprefix(prefix)
        return [name, rest, *(other + rest for other in others if rest != name)]

    for path, place in table.items():
        candidates = [*filter(None, [place.untied_name]), place.name, *place.other_names]
        forms = [form for name in candidates for form in forms_of(name)]
        found[path] = next((name for name in forms if name in tensors), place.name)
    return found


def _unify_tied(table: Mapping[str, Stored], names: dict[str, str], tensors: Mapping[str, SafetensorsFile]) -> None:
    """Give tied leaves whose tensors are stored twice, with equal values, the same name, so that they share memory."""
    first: dict[str, str] = {}
    for path, place in table.items():
        name, other = names[path], first.setdefault(place.name, names[path])
        if name != other and _are_equal(tensors[name].tensor(name), tensors[other].tensor(other)):
            tensors[name].release(name)
            names[path] = other


def _are_equal(first: numpy.ndarray, second: numpy.ndarray) -> bool:
    if first.shape != second.shape or first.dtype != second.dtype:
        return False
    one, two, step = first.reshape(-1).view(numpy.uint8), second.reshape(-1).view(numpy.uint8), 2**20  # without large temporaries
    return all(numpy.array_equal(one[start : start + step], two[start : start + step]) for start in range(0, len(one), step))


def _absent_parts(table: Mapping[str, Stored], names: Mapping[str, str], tensors: Collection[str]) -> set[str]:
    """Return the optional parts of which no tensor is present; a tensor that another part or the rest of the model uses does not count.

    Errors   CheckpointError for a part of which some tensors are present and some are not.
    """
    parts = {place.part for place in table.values()}
    by_part = {part: {names[path] for path, place in table.items() if place.part == part} for part in parts}
    absent = set()
    for part in sorted(part for part in parts if part is not None):
        own = by_part[part] - by_part.get(None, set())
        others = set().union(*(names for other, names in by_part.items() if other not in (None, part)))
        own = own - others or own  # two heads of one architecture may share a layer
        missing = sorted(own - set(tensors))
        if missing and len(missing) < len(own):
            raise CheckpointError(
                f"got a checkpoint without {_some(missing)}, expected all or none of the tensors of its {part}", hint=HINT
            )
        absent |= {part} if missing else set()
    return absent


def _check_names(module: Architecture, config: Any, names: set[str], tensors: Mapping[str, SafetensorsFile]) -> None:
    """Raise CheckpointError for missing tensors, and for tensors that are neither used nor known to be unused."""
    missing = sorted(names - set(tensors))
    if missing:
        raise CheckpointError(
            f"got a checkpoint without {_some(missing)}, expected every tensor of {module.__name__.rpartition('.')[2]}", hint=HINT
        )
    ignored = re.compile(f"({re.escape(module.PREFIX)})?({module.IGNORED_TENSORS})")
    unexpected = sorted(name for name in set(tensors) - names if not ignored.fullmatch(name))
    unexpected = [name for name in unexpected if not _is_redundant(module, config, name, tensors[name])]
    if unexpected:
        raise CheckpointError(
            f"got a checkpoint with the additional tensors {_some(unexpected)}, expected only those that config.json implies",
            hint="the model has a part that is not supported, or config.json belongs to another model",
        )


def _is_redundant(module: Architecture, config: Any, name: str, file: SafetensorsFile) -> bool:
    """Return True for a tensor whose values the architecture fixes.

    Errors   CheckpointError if the values in the file differ.
    """
    fixed = module.redundant_tensor(name, file.shape(name), config) if hasattr(module, "redundant_tensor") else None
    if fixed is None:
        return False
    stored = file.tensor(name)
    tolerance = 1e-5 if stored.dtype.itemsize > 2 else 0.004  # bfloat16 has 8 bits
    if not numpy.allclose(stored.astype(numpy.float32), fixed, rtol=0, atol=tolerance):
        raise CheckpointError(
            f"got tensor {name} with values of its own, expected those of the definition", hint="this variant is not supported"
        )
    return True


def _open_tensors(folder: Path) -> dict[str, SafetensorsFile]:
    """Return the file of each tensor, by the tensor's name."""
    index = folder / "model.safetensors.index.json"
    shards: dict[str, str] = {}
    if (folder / "model.safetensors").exists():
        paths = [folder / "model.safetensors"]
    elif index.exists():
        shards = _weight_map(folder, index.name)
        paths = [folder / name for name in sorted(set(shards.values()))]
        missing = [path.name for path in paths if not path.exists()]
        if missing:
            raise CheckpointError(
                f"got {folder} without {_some(missing)}, expected every shard that {index.name} names", hint="download the missing files"
            )
    else:
        raise _no_weights(folder)
    files = {path.name: SafetensorsFile(path) for path in paths}
    held = [(name, shard) for shard, file in files.items() for name in file.names()]
    misplaced = sorted(f"{name} in {shard}" for name, shard in shards.items() - set(held))
    if misplaced:
        raise CheckpointError(f"got {index} with {_some(misplaced)}, expected each tensor in the shard that holds it", hint=HINT)
    return {name: files[shard] for name, shard in [*held, *shards.items()]}


def _weight_map(folder: Path, name: str) -> dict[str, str]:
    """Return the shard of each tensor, from an index."""
    shards = _read_json(folder, name).get("weight_map")
    if not isinstance(shards, dict) or not shards or not all(isinstance(shard, str) for shard in shards.values()):
        raise CheckpointError(
            f"got {folder / name} with weight_map={short_repr(shards)}, expected an object with the shard of each tensor", hint=HINT
        )
    wrong = sorted({shard for shard in shards.values() if not SHARD.fullmatch(shard)})
    if wrong:
        raise CheckpointError(
            f"got {folder / name} with {_some(map(short_repr, wrong))}, expected names of .safetensors files in this folder", hint=HINT
        )
    return shards


def _no_weights(folder: Path) -> CheckpointError:
    pickles = sorted(path.name for pattern in PICKLES for path in folder.glob(pattern))
    expected = "expected model.safetensors, or model.safetensors.index.json and its shards"
    if pickles:
        return CheckpointError(
            f"got {folder} with {_some(pickles)}, {expected}; a pickle can run code when it is opened and is never loaded",
            hint="convert the model with transformers' save_pretrained",
        )
    return CheckpointError(
        f"got {folder} without weights, {expected}", hint="the hub may have this model as a pickle only, which is not downloaded"
    )


def _read_json(folder: Path, name: str) -> dict[str, Any]:
    if not folder.is_dir():
        raise ModelNotFoundError(f"got {folder}, expected a folder with config.json and model.safetensors")
    try:
        return read_json_object(folder / name)
    except FileNotFoundError as error:
        raise CheckpointError(f"got {folder} without {name}, expected a Hugging Face model folder") from error
    except OSError as error:
        raise CheckpointError(f"got {folder / name}, which cannot be read ({error}), expected a JSON file", hint=HINT) from error


def _some(names: Iterable[str]) -> str:
    """Return the first three names, shortened, and the number of the others."""
    shown = [name if name.isprintable() and len(name) <= 200 else short_repr(name) for name in names]
    return ", ".join(shown[:3]) + (f" and {len(shown) - 3} more" if len(shown) > 3 else "")
