"""Initial weights."""

from __future__ import annotations

import torch

from headway.models.stored import Stored
from headway.train.architectures import ARCHITECTURES, Config, Weights
from headway.train.options import TrainingOptions
from headway.trees import tree_from_leaves


def initial_weights(config: Config, options: TrainingOptions) -> Weights:
    """Create initial weights: ones for norms, zeros for biases, normal random numbers for matrices; tied leaves share one tensor."""
    architecture = ARCHITECTURES[options.architecture]
    generator = torch.Generator().manual_seed(options.seed)
    arrays: dict[str, torch.Tensor] = {}
    by_stored: dict[Stored, torch.Tensor] = {}
    for path, stored in architecture.module.stored_weights(config).items():
        if stored not in by_stored:
            deviation = architecture.deviation(path, stored.leaf_shape, options)
            by_stored[stored] = _initial(path, stored.leaf_shape, deviation, generator).to(options.device)
        arrays[path] = by_stored[stored]
    return tree_from_leaves(architecture.module.Weights, arrays)


def _initial(path: str, shape: tuple[int, ...], deviation: float, generator: torch.Generator) -> torch.Tensor:
    if path.endswith("norm.weight"):
        return torch.ones(shape)
    if path.endswith("bias"):
        return torch.zeros(shape)
    return torch.normal(0.0, deviation, shape, generator=generator)
