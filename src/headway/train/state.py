"""The state of a run, which --resume starts from: one safetensors file, without pickled code."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open

from headway.checkpoints.writing import save_tensors
from headway.errors import TrainingError
from headway.json_files import parse_json_object
from headway.train.distributed import ALONE, Processes, distribute_like, full_tensor
from headway.train.history import SavedProgress
from headway.train.model import TrainedModel

MOMENTS = ("exp_avg", "exp_avg_sq")
"""AdamW's names for its moments."""


def save_state(
    path: Path, model: TrainedModel, optimizer: torch.optim.Optimizer, progress: SavedProgress, processes: Processes = ALONE
) -> None:
    """Write weights, AdamW moments and progress atomically; the file does not depend on the number of processes.

    Errors   OSError if the file cannot be written; a previous file at `path` is then unchanged.
    """
    tensors = {}
    for name, tensor in model.by_path().items():
        tensors[f"weights.{name}"] = full_tensor(tensor).cpu().numpy()
        for moment in MOMENTS:
            tensors[f"{moment}.{name}"] = full_tensor(optimizer.state[tensor][moment]).cpu().numpy()
    metadata = {"progress": json.dumps(progress.to_dict()), "architecture": model.options.architecture}
    processes.run_on_first(lambda: save_tensors(path, tensors, metadata))


def load_state(path: Path, model: TrainedModel, optimizer: torch.optim.Optimizer) -> SavedProgress:
    """Copy weights and moments from the file into the model and the optimizer, and return the progress.

    Errors   TrainingError if the file is corrupt or belongs to another model.
    """
    metadata, progress = _metadata(path)
    architecture, expected = metadata.get("architecture", "gpt2"), model.options.architecture
    if architecture != expected:
        raise TrainingError(
            f"got {path} of the architecture {architecture}, expected the state of this run's architecture, {expected}",
            hint="start a new run",
        )
    with safe_open(path, framework="pt") as file, torch.no_grad():
        for name, tensor in model.by_path().items():
            try:
                arrays = {kind: file.get_tensor(f"{kind}.{name}") for kind in ("weights", *MOMENTS)}
            except (SafetensorError, RuntimeError, ValueError, TypeError, KeyError, AttributeError) as error:
                raise TrainingError(
                    f"got {path} without a readable {name} ({error}), expected the state of this model", hint="start a new run"
                ) from error
            for array in arrays.values():
                if array.shape != tensor.shape or array.dtype != torch.float32:
                    raise TrainingError(
                        f"got {path} with {name} {tuple(array.shape)} of dtype {array.dtype}, "
                        f"expected {tuple(tensor.shape)} of dtype torch.float32, the state of this model",
                        hint="start a new run",
                    )
            distributed = {kind: distribute_like(array, tensor) for kind, array in arrays.items()}
            tensor.copy_(distributed.pop("weights"))
            optimizer.state[tensor] = {"step": torch.tensor(float(progress.step), device=tensor.device), **distributed}
    return progress


def read_progress(path: Path) -> SavedProgress:
    """Read the progress from a state file, without its tensors.

    Errors   TrainingError if the file is corrupt.
    """
    return _metadata(path)[1]


def _metadata(path: Path) -> tuple[dict[str, str], SavedProgress]:
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
    except (OSError, SafetensorError, ValueError) as error:
        raise TrainingError(
            f"got {path}, which is not a training state ({error}), expected a file written by headway train", hint="start a new run"
        ) from error
    if "progress" not in metadata:
        raise TrainingError(f"got {path} without progress, expected a file written by headway train", hint="start a new run")
    try:
        values = parse_json_object(metadata["progress"], f"the progress in {path}", TrainingError)
    except TrainingError as error:
        raise TrainingError(str(error), hint="start a new run") from error  # the JSON reader advises to download the file again
    return metadata, SavedProgress.from_dict(values, str(path))
