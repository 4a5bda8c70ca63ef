"""Writing a weight tree as a Hugging Face folder."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import numpy
from safetensors import SafetensorError
from safetensors.numpy import save_file

from headway.arrays import to_numpy
from headway.errors import OptionError
from headway.files import replacing, write_text
from headway.models import ARCHITECTURES
from headway.models.protocol import Architecture
from headway.models.stored import Stored
from headway.trees import leaves

TOKEN_KEYS = ("bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id")
"""Keys of generation_config.json that config.json repeats, for readers older than that file."""


def save_checkpoint(
    folder: Path,
    architecture: Architecture | ModuleType,
    config: Any,
    weights: Any,
    *,
    dtype: str = "float32",
    generation_config: dict[str, Any] | None = None,
) -> None:
    """Write config.json, generation_config.json and model.safetensors in the layout of Hugging Face.

    dtype   dtype of the stored weights: float32, float16 or bfloat16

    Each file is written completely or left as it was.

    Errors   OptionError for another dtype; OSError if the folder cannot be written.
    """
    if dtype not in ("float32", "float16", "bfloat16"):
        raise OptionError(f"got dtype={dtype!r}, expected float32, float16 or bfloat16")
    module = cast(Architecture, architecture)
    model_type = getattr(config, "model_type", module.__name__.rpartition(".")[2])
    tensors = _tensors(module.stored_weights(config), weights)
    save_tensors(folder / "model.safetensors", {name: _stored_as(tensor, dtype) for name, tensor in tensors.items()}, {"format": "pt"})
    own_keys = dataclasses.asdict(config)
    own_keys = module.saved_keys(own_keys) if hasattr(module, "saved_keys") else own_keys
    keys = {"architectures": [ARCHITECTURES[model_type].saved_as], "model_type": model_type, "dtype": dtype, **own_keys}
    generation_config = generation_config or {}
    keys |= {name: generation_config[name] for name in TOKEN_KEYS if name in generation_config}
    write_text(folder / "generation_config.json", json.dumps(generation_config, indent=2) + "\n")
    write_text(folder / "config.json", json.dumps(keys, indent=2) + "\n")


def save_tensors(path: Path, tensors: dict[str, numpy.ndarray], metadata: dict[str, str]) -> None:
    """Write a safetensors file completely, or leave the file at `path` as it was.

    Errors   OSError if it cannot be written.
    """
    with replacing(path) as temporary:
        try:
            save_file(tensors, temporary, metadata=metadata)
        except SafetensorError as error:  # raised for a full disk
            raise OSError(str(error)) from error


def _tensors(table: Mapping[str, Stored], weights: Any) -> dict[str, numpy.ndarray]:
    """Return the tensors by name. Tied leaves are written once, unless their values differ."""
    tensors: dict[str, numpy.ndarray] = {}
    for path, leaf in leaves(weights):
        place, array = table[path], to_numpy(leaf)
        array = array - array.dtype.type(place.offset) if place.offset else array
        if place.untied_name and place.name in tensors and not numpy.array_equal(array, tensors[place.name]):
            tensors[place.untied_name] = array
            continue
        array = array.T if place.is_transposed else array
        tensor = tensors.setdefault(place.name, numpy.empty(place.shape, array.dtype))
        tensor[place.index] = array
    return tensors


def _stored_as(tensor: numpy.ndarray, dtype: str) -> numpy.ndarray:
    if dtype == "bfloat16":
        import ml_dtypes

        return tensor.astype(ml_dtypes.bfloat16)
    return tensor.astype(dtype)
