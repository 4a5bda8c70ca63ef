"""The state of a run: what --resume needs, in one file without code in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open

from headway.checkpoints.writing import save_tensors
from headway.errors import TrainingError
from headway.trees import leaves

MOMENTS = ("exp_avg", "exp_avg_sq")


def parameters(weights: Any) -> dict[str, torch.Tensor]:
    """Every trained tensor once, by the first path that leads to it."""
    unique = {id(leaf): (path, leaf) for path, leaf in reversed(list(leaves(weights)))}
    return dict(reversed(list(unique.values())))


def save_state(path: Path, weights: Any, optimizer: torch.optim.Optimizer, progress: dict[str, Any]) -> None:
    """Write weights, AdamW's moments and the progress, whole or not at all.

    Errors   OSError where the file cannot be written; what stood at `path` still stands.
    """
    tensors = {}
    for name, tensor in parameters(weights).items():
        tensors[f"weights.{name}"] = tensor.detach()
        for moment in MOMENTS:
            tensors[f"{moment}.{name}"] = optimizer.state[tensor][moment]
    save_tensors(path, {name: tensor.cpu().numpy() for name, tensor in tensors.items()}, {"progress": json.dumps(progress)})


def load_state(path: Path, weights: Any, optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    """Fill weights and moments in place, and return the progress.

    Errors   TrainingError where the file is broken or belongs to another model.
    """
    progress = read_progress(path)
    with safe_open(path, framework="pt") as file, torch.no_grad():
        for name, tensor in parameters(weights).items():
            try:
                tensor.copy_(file.get_tensor(f"weights.{name}"))
                moments = {moment: file.get_tensor(f"{moment}.{name}").to(tensor.device) for moment in MOMENTS}
            except (SafetensorError, RuntimeError) as error:
                raise TrainingError(f"came: {path} without a fitting {name} ({error}); expected: the state of this very model") from error
            optimizer.state[tensor] = {"step": torch.tensor(float(progress["step"])), **moments}
    return progress


def read_progress(path: Path) -> dict[str, Any]:
    """The progress that a state file holds, without its tensors."""
    try:
        with safe_open(path, framework="pt") as file:
            return json.loads(file.metadata()["progress"])
    except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
        raise TrainingError(
            f"came: {path}, which is no training state ({error}); expected: a file that headway train wrote; start the run anew"
        ) from error
