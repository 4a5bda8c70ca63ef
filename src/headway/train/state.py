"""The state of a run: what --resume needs, in one file without code in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open

from headway.checkpoints.writing import save_tensors
from headway.errors import TrainingError
from headway.train.distributed import ALONE, Processes, as_spread, whole
from headway.train.model import TrainedModel

MOMENTS = ("exp_avg", "exp_avg_sq")


def save_state(
    path: Path, model: TrainedModel, optimizer: torch.optim.Optimizer, progress: dict[str, Any], processes: Processes = ALONE
) -> None:
    """Write weights, AdamW's moments and the progress, whole or not at all: the same file for any number of processes.

    Errors   OSError where the file cannot be written; what stood at `path` still stands.
    """
    tensors = {}
    for name, tensor in model.by_path().items():
        tensors[f"weights.{name}"] = whole(tensor).cpu().numpy()
        for moment in MOMENTS:
            tensors[f"{moment}.{name}"] = whole(optimizer.state[tensor][moment]).cpu().numpy()
    metadata = {"progress": json.dumps(progress), "architecture": model.options.architecture}
    processes.once(lambda: save_tensors(path, tensors, metadata))


def load_state(path: Path, model: TrainedModel, optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    """Fill weights and moments in place, and return the progress.

    Errors   TrainingError where the file is broken or belongs to another model.
    """
    metadata = _metadata(path)
    progress = json.loads(metadata["progress"])
    came, expected = metadata.get("architecture", "gpt2"), model.options.architecture
    if came != expected:
        raise TrainingError(
            f"came: {path} of the architecture {came}; expected: the state of this run's own, {expected}; start the run anew"
        )
    with safe_open(path, framework="pt") as file, torch.no_grad():
        for name, tensor in model.by_path().items():
            try:
                arrays = {kind: file.get_tensor(f"{kind}.{name}") for kind in ("weights", *MOMENTS)}
                shapes = {tuple(array.shape) for array in arrays.values()}
                if shapes != {tuple(tensor.shape)}:
                    raise TrainingError(
                        f"came: {path} with {name} {sorted(shapes)[0]}; expected: {tuple(tensor.shape)}, the state of this very model"
                    )
            except SafetensorError as error:
                raise TrainingError(f"came: {path} without a fitting {name} ({error}); expected: the state of this very model") from error
            spread = {kind: as_spread(array, tensor) for kind, array in arrays.items()}
            tensor.copy_(spread.pop("weights"))
            optimizer.state[tensor] = {"step": torch.tensor(float(progress["step"]), device=tensor.device), **spread}
    return progress


def read_progress(path: Path) -> dict[str, Any]:
    """The progress that a state file holds, without its tensors."""
    return json.loads(_metadata(path)["progress"])


def _metadata(path: Path) -> dict[str, str]:
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata()
            json.loads(metadata["progress"])
            return metadata
    except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
        raise TrainingError(
            f"came: {path}, which is no training state ({error}); expected: a file that headway train wrote; start the run anew"
        ) from error
