"""Reading a Hugging Face folder: its architecture, config and weight tree."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.arrays import check_computing
from headway.checkpoints.mxfp4 import with_mxfp4
from headway.checkpoints.quantized_folders import refuse_quantized
from headway.checkpoints.safetensors_file import SafetensorsFile
from headway.checkpoints.weight_tree import HINT, expect_enough_tensors, read_weights, some
from headway.errors import CheckpointError, ModelNotFoundError
from headway.json_files import read_json_object, short_repr
from headway.models import architecture
from headway.models.config import config_from
from headway.models.protocol import Architecture

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
    refuse_quantized(folder, keys, read=getattr(module, "QUANTIZED", ()))
    config = read_config(module, keys, ignored_config_keys)
    generation_config = _generation_config(folder, keys)
    tensors = with_mxfp4(open_tensors(folder))
    expect_enough_tensors(config, tensors)
    table = module.stored_weights(config)
    weights = read_weights(module, config, table, tensors, array=array, dtype=dtype, device=device)
    return Checkpoint(module, config, weights, generation_config)


def _generation_config(folder: Path, keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return generation_config.json with the token ids of config.json that it omits; without the file, the keys of config.json."""
    is_there = (folder / "generation_config.json").exists()
    own = _read_json(folder, "generation_config.json") if is_there else {}
    names = TOKEN_KEYS if is_there else (*TOKEN_KEYS, *GENERATION_KEYS)
    return {**{name: keys[name] for name in names if keys.get(name) is not None}, **own}


def read_config(module: Architecture, keys: Mapping[str, Any], ignored: Collection[str]) -> Any:
    """Return the config of an architecture from the keys of config.json."""
    keys = module.config_keys(keys) if hasattr(module, "config_keys") else keys
    if "rope_parameters" in module.Config.__dataclass_fields__:
        rope = {"rope_parameters": module.Config.read_rope(keys)}
        keys = {name: value for name, value in keys.items() if name != "original_max_position_embeddings"} | rope
    return config_from(module.Config, keys, without_effect=module.WITHOUT_EFFECT, ignored=ignored)


def open_tensors(folder: Path) -> dict[str, SafetensorsFile]:
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
                f"got {folder} without {some(missing)}, expected every shard that {index.name} names", hint="download the missing files"
            )
    else:
        raise _no_weights(folder)
    files = {path.name: SafetensorsFile(path) for path in paths}
    held = [(name, shard) for shard, file in files.items() for name in file.names()]
    misplaced = sorted(f"{name} in {shard}" for name, shard in shards.items() - set(held))
    if misplaced:
        raise CheckpointError(f"got {index} with {some(misplaced)}, expected each tensor in the shard that holds it", hint=HINT)
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
            f"got {folder / name} with {some(map(short_repr, wrong))}, expected names of .safetensors files in this folder", hint=HINT
        )
    return shards


def _no_weights(folder: Path) -> CheckpointError:
    pickles = sorted(path.name for pattern in PICKLES for path in folder.glob(pattern))
    expected = "expected model.safetensors, or model.safetensors.index.json and its shards"
    if pickles:
        return CheckpointError(
            f"got {folder} with {some(pickles)}, {expected}; a pickle can run code when it is opened and is never loaded",
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
