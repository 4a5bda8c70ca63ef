"""LoRA adapters in the folders of the library PEFT: adapter_config.json and adapter_model.safetensors."""

from __future__ import annotations

import math
import re
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy

from headway.arrays import to_numpy
from headway.checkpoints.reading import Checkpoint, open_tensors, read_config
from headway.checkpoints.safetensors_file import SafetensorsFile
from headway.checkpoints.weight_tree import expect_enough_tensors, some
from headway.checkpoints.writing import save_tensors
from headway.errors import CheckpointError, ModelNotFoundError, NotFiniteError, OptionError, UnsupportedError
from headway.files import new_folder
from headway.json_files import read_json_object, short_repr
from headway.models import architecture
from headway.models.adapter import Update, with_updates
from headway.models.stored import Stored
from headway.trees import leaves, replace_leaves

PREFIX = "base_model.model."
SUFFIXES = {"lora_A.weight": "down", "lora_B.weight": "up"}
TIED_HINT = "the output head is tied to the embedding, which an update of one of them would separate: load the adapter with --adapter"
COPY = ".base_layer.weight"
COPY_TOLERANCE = 0.01
"""Relative to the numbers: the copy may be rounded to bfloat16, and the base model to int8."""
ROWS_AT_ONCE = 1024
WITHOUT_EFFECT = frozenset(
    """
    alora_invocation_tokens arrow_config auto_mapping base_model_name_or_path bias corda_config ensure_weight_tying eva_config
    exclude_modules fan_in_fan_out inference_mode init_lora_weights layers_pattern layers_to_transform loftq_config lora_dropout
    megatron_config megatron_core peft_type peft_version qalora_group_size r rank_pattern revision runtime_config target_modules task_type
    """.split()
)
"""Keys that the tensors imply, and those of training; bias, peft_type and init_lora_weights are checked on their own."""
USED = frozenset(("alpha_pattern", "lora_alpha", "use_rslora"))
CHANGES_BASE = ("pissa", "olora", "corda", "loftq")
"""Values of init_lora_weights with which the training changed the weights of the base model too."""
HINT = "the adapter may belong to another base model: base_model_name_or_path in its adapter_config.json names it"


def with_adapter(
    checkpoint: Checkpoint, folder: Path, *, array: str = "numpy", device: str | None = None, merges: bool = False
) -> Checkpoint:
    """Return a checkpoint with an adapter in its weights.

    merges   True to add the updates to the matrices, False for leaves of LowRank, which leave the matrices as they are

    Errors   ModelNotFoundError for no such folder; CheckpointError for a broken adapter, and for one of another base model;
             UnsupportedError for a kind of adapter, or an option of it, that is not supported.
    """
    updates = read_adapter(checkpoint, folder)

    def merged(path: str, leaf: Any) -> Any:
        if path not in updates:
            return leaf
        dtype = numpy.asarray(leaf).dtype
        return (numpy.asarray(leaf).astype(numpy.float32) + updates[path].product()).astype(dtype)

    weights = replace_leaves(merged, checkpoint.weights) if merges else with_updates(checkpoint.weights, updates, array, device)
    return replace(checkpoint, weights=weights)


def read_adapter(checkpoint: Checkpoint, folder: Path) -> dict[str, Update]:
    """Return the updates of an adapter by the path of the weight, those of a fused matrix by the paths of its parts.

    Errors   as with_adapter.
    """
    if checkpoint.architecture.KIND != "decoder":
        raise UnsupportedError("got an adapter for a model that is not a decoder, expected a decoder")
    table = checkpoint.architecture.stored_weights(checkpoint.config)
    weights = dict(leaves(checkpoint.weights))
    whole = {place.untied_name or place.name: weights[path] for path, place in table.items() if path in weights and not place.is_part}
    by_name, updates = read_updates(folder, table, whole), {}
    for path, place in table.items():
        update = by_name.get(place.untied_name or place.name)
        if update is not None:
            first, last = place.rows or place.columns or (0, len(update.up))
            updates[path] = replace(update, up=update.up[first:last])
    return updates


def update_bytes(updates: Mapping[str, Update]) -> int:
    """Return the bytes that updates have next to a model's weights, in float32. The parts of a fused matrix share one of theirs."""
    shared = {id(each.down): each.down.size for each in updates.values()}
    return 4 * (sum(shared.values()) + sum(each.up.size for each in updates.values()))


def merge_adapter(folder: Path, adapter: Path, target: Path) -> int:
    """Write a model folder with an adapter merged into its weights, in the dtype of each tensor; return the number of changed tensors.

    The other files of the folder are copied.

    Errors   OptionError if the target exists; else as with_adapter and load_checkpoint.
    """
    if target.exists():
        raise OptionError(f"got {target}, which exists, expected a folder to be created", hint="choose another name")
    keys = read_json_object(folder / "config.json")
    module = architecture(str(keys.get("model_type")))
    config, files = read_config(module, keys, ()), open_tensors(folder)
    expect_enough_tensors(config, files)
    table = module.stored_weights(config)
    weights = {name: file.tensor(name) for name, file in files.items()}
    tied = {place.untied_name: weights[place.name] for place in table.values() if place.untied_name and place.name in weights}
    updates = read_updates(adapter, table, tied | weights)
    is_transposed = {place.name: place.is_transposed for place in table.values()}
    unprefixed = {name.removeprefix(module.PREFIX): name for name in updates}
    tensors, changed = {}, set()
    for name, file in files.items():
        tensor = file.tensor(name)
        known = name if name in updates else unprefixed.get(name)
        if known is not None:
            product = updates[known].product()
            product = product.T if is_transposed.get(known) else product
            tensor = (tensor.astype(numpy.float32) + product).astype(tensor.dtype)
            changed.add(known)
        tensors[name] = tensor
    if missing := sorted(set(updates) - changed):
        raise CheckpointError(
            f"got an adapter of {some(missing)}, expected tensors that {folder} has", hint=TIED_HINT if missing[0] in tied else HINT
        )
    with new_folder(target) as written:
        for path in folder.iterdir():
            if path.is_file() and path.suffix in (".json", ".txt", ".model", ".jinja", ".spm") and not path.name.endswith(".index.json"):
                shutil.copyfile(path, written / path.name)
        save_tensors(written / "model.safetensors", tensors, {"format": "pt"})
    return len(changed)


def read_updates(folder: Path, table: Mapping[str, Stored], weights: Mapping[str, Any]) -> dict[str, Update]:
    """Return the updates of an adapter by the name of the checkpoint's tensor.

    table    the place of each leaf of the base model
    weights  the base model's tensors by name, with which the copies that PEFT saves with an updated output head are compared

    Errors   as with_adapter.
    """
    keys = _read_config(folder)
    path = folder / "adapter_model.safetensors"
    if not path.exists():
        raise CheckpointError(f"got {folder} without adapter_model.safetensors, expected it; a pickle can run code and is never loaded")
    file = SafetensorsFile(path)
    pairs: dict[str, dict[str, str]] = {}
    for name in file.names():
        if name.startswith(PREFIX) and name.endswith(COPY):
            _expect_copy(path, name, file.tensor(name), weights.get(f"{name.removeprefix(PREFIX).removesuffix(COPY)}.weight"))
            continue
        module, suffix = next(((name[: -len(end) - 1], end) for end in SUFFIXES if name.endswith(f".{end}")), (name, ""))
        if not suffix or not module.startswith(PREFIX):
            raise UnsupportedError(
                f"got {path} with the tensor {some([name])}, expected only lora_A and lora_B of linear layers",
                hint="adapters with embeddings, biases or whole modules are not supported; merge it with PEFT: merge_and_unload()",
            )
        pairs.setdefault(module.removeprefix(PREFIX), {})[SUFFIXES[suffix]] = name
    if not pairs:
        raise CheckpointError(f"got {path} without tensors, expected lora_A and lora_B", hint="save the adapter again with save_pretrained")
    shapes = {}
    for place in table.values():
        for name in {place.name, place.untied_name or place.name}:
            shapes[name] = place.shape[::-1] if place.is_transposed else place.shape
    return {f"{module}.weight": _update(path, file, module, names, shapes, _scale(keys, module)) for module, names in pairs.items()}


def _expect_copy(path: Path, name: str, copied: numpy.ndarray, weight: Any) -> None:
    """Raise CheckpointError unless a tensor is a copy of the base model's, which PEFT saves if the adapter updates the output head."""
    shape = None if weight is None else tuple(weight.shape)
    if shape is None or copied.shape != shape:
        raise CheckpointError(f"got {path} with {some([name])} {copied.shape}, expected {shape or 'modules of the base model'}", hint=HINT)
    for start in range(0, len(copied), ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        theirs, own = copied[rows].astype(numpy.float32), to_numpy(weight[rows, ...]).astype(numpy.float32)
        if not numpy.allclose(theirs, own, rtol=COPY_TOLERANCE, atol=COPY_TOLERANCE * float(numpy.abs(own).max(initial=0))):
            raise CheckpointError(f"got {path} with {some([name])}, expected the values of the base model's tensor", hint=HINT)


def _update(
    path: Path,
    file: SafetensorsFile,
    module: str,
    names: Mapping[str, str],
    shapes: Mapping[str, tuple[int, ...]],
    alpha: tuple[float, bool],
) -> Update:
    if len(names) < 2:
        raise CheckpointError(f"got {path} with {some(names.values())} alone, expected lora_A and lora_B of each module")
    shape = shapes.get(f"{module}.weight")
    if shape is None or len(shape) != 2:
        raise CheckpointError(f"got {path} with {some(names.values())}, expected modules of the base model", hint=HINT)
    down, up = (file.tensor(names[part]) for part in ("down", "up"))
    rank = down.shape[0] if down.ndim == 2 else 0
    if rank < 1 or down.shape != (rank, shape[1]) or up.shape != (shape[0], rank):
        raise CheckpointError(
            f"got {path} with {names['down']} {down.shape} and {names['up']} {up.shape}, expected (rank, {shape[1]}) and ({shape[0]}, rank)",
            hint=HINT,
        )
    for part, tensor in (("down", down), ("up", up)):
        if not numpy.isfinite(tensor.astype(numpy.float32)).all():
            raise NotFiniteError(
                f"got {path} with NaN or infinity in {names[part]}, expected finite numbers", hint="download or train the adapter again"
            )
    factor, has_root = alpha
    return Update(down.astype(numpy.float32), up.astype(numpy.float32), factor / (math.sqrt(rank) if has_root else rank))


def _read_config(folder: Path) -> dict[str, Any]:
    """Return the checked keys of adapter_config.json."""
    path = folder / "adapter_config.json"
    if not path.is_file():
        raise ModelNotFoundError(f"got {folder} without adapter_config.json, expected the folder of a LoRA adapter")
    keys = read_json_object(path)
    if keys.get("peft_type") != "LORA":
        raise UnsupportedError(f"got {path} with peft_type={short_repr(keys.get('peft_type'))}, expected 'LORA'")
    if keys.get("use_dora"):
        raise UnsupportedError(
            f"got {path} with use_dora=true, expected LoRA; DoRA is not supported", hint="merge it with PEFT: merge_and_unload()"
        )
    if keys.get("bias", "none") != "none":
        raise UnsupportedError(
            f"got {path} with bias={short_repr(keys['bias'])}, expected 'none'", hint="merge it with PEFT: merge_and_unload()"
        )
    start = keys.get("init_lora_weights")
    if isinstance(start, str) and start.lower().startswith(CHANGES_BASE):
        raise UnsupportedError(
            f"got {path} with init_lora_weights={short_repr(start)}, which changes the base model, expected a plain LoRA adapter",
            hint="save it again with PEFT's path_initial_model_for_weight_conversion, or merge it: merge_and_unload()",
        )
    unknown = [f"{key[:80]}={short_repr(value)}" for key, value in keys.items() if value and key not in WITHOUT_EFFECT | USED]
    if unknown or keys.get("alora_invocation_tokens"):
        raise UnsupportedError(
            f"got {path} with {', '.join(unknown[:5]) or 'alora_invocation_tokens'}, expected only keys of plain LoRA",
            hint="merge the adapter with PEFT: merge_and_unload()",
        )
    return keys


def _scale(keys: Mapping[str, Any], module: str) -> tuple[float, bool]:
    """Return alpha of a module, and True if it is divided by the square root of the rank.

    Source   huggingface/peft, src/peft/utils/other.py (get_pattern_key)
    """
    patterns = keys.get("alpha_pattern") or {}
    alpha = keys.get("lora_alpha", 8)
    if not isinstance(patterns, dict):
        raise CheckpointError(f"got adapter_config.json with alpha_pattern={short_repr(patterns)}, expected an object")
    for pattern, value in patterns.items():
        # Patterns are regular expressions in PEFT; those of published adapters are names of modules.
        if not re.fullmatch(r"[\w.]+", pattern):
            raise UnsupportedError(f"got adapter_config.json with alpha_pattern {short_repr(pattern)}, expected names of modules")
        if module == pattern or module.endswith(f".{pattern}"):
            alpha = value
            break
    if not isinstance(alpha, int | float) or isinstance(alpha, bool) or not math.isfinite(alpha):
        raise CheckpointError(f"got adapter_config.json with lora_alpha={short_repr(alpha)}, expected a number")
    return float(alpha), bool(keys.get("use_rslora"))
